package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// File is a bootstrap.toml that was read and checked.
type File struct {
	Name         string // as the caller calls it
	Bootstrap    Bootstrap
	Charts       map[string]string
	ChartSources ChartSources
	Teardown     AccountTeardown
	Environments []*Environment // in the order of the file

	document *document
}

// Bootstrap is the table [bootstrap]: what all environments share.
type Bootstrap struct {
	DefaultEnvironment string
	GitBranch          string
	KindCluster        string
	KindContext        string
	RegistryName       string
	FluxNamespace      string
	GithubPATSecret    string
	SopsAgeSecret      string
	MgmtNamespace      string
	MgmtContext        string
}

// ChartSources is the table [chart-sources]: where the charts are pulled from.
type ChartSources struct{ Flux, CertManager, CAPIOperator string }

// AccountTeardown is the table [teardown]: what an AWS account holds outside the
// clusters.
type AccountTeardown struct {
	CFNStackName    string
	GlobalIAMRoles  []string
	GlobalIAMUsers  []string
	S3BucketPattern string
}

// Sync is where Flux reads from.
type Sync string

// The sources of Flux.
const (
	SyncGithub Sync = "github"
	SyncOCI    Sync = "oci"
)

// Archetype is which of the known lifecycles an environment follows. The text
// names are those of the environments the lifecycles were first written for.
type Archetype string

// The archetypes. Any other name is an environment without steps of its own.
const (
	LocalHost  Archetype = "local-host"
	AWS        Archetype = "aws"
	LocalTalos Archetype = "local-talos"
	Azure      Archetype = "azure"
	GCP        Archetype = "gcp"
)

// Environment is one table [environments.<name>].
type Environment struct {
	Name                   string
	At                     Position
	Kind                   string
	Archetype              Archetype
	Sync                   Sync
	SyncPath               string
	MgmtCluster            string
	MgmtRegion             string
	MgmtReadyTimeout       Duration
	InfraProviderNamespace string
	InfraProviderName      string
	ProviderManifests      []string
	MoveFallbacks          []*MoveFallback
	PivotSopsSecrets       []string
	PivotManifests         []string
	PivotManifestVars      map[string]string
	PostKindCreateTask     string
	Teardown               Teardown
}

// MoveFallback is an object that is applied from a file when the move did not
// bring it.
type MoveFallback struct{ Resource, Name, Manifest string }

// Teardown is the table [environments.<name>.teardown].
type Teardown struct {
	AWSWorkloads        []*AWSWorkload
	CAPIWorkloads       []string
	MgmtContainerPrefix string
	MgmtEKSClusterName  string
	MgmtIAMRolePrefix   string
	HardwareRelease     bool
	Manual              string
}

// AWSWorkload is a workload cluster whose AWS resources a teardown sweeps.
type AWSWorkload struct{ Region, ClusterName, EKSClusterName, RDSInstance string }

func (f *File) keys(t *table) {
	t.table("bootstrap", "Names that all environments share.", f.Bootstrap.keys).must()
	t.textMap(&f.Charts, "charts", "Versions of the Helm charts, by name: `flux-operator` (also the version of flux-instance), `cert-manager` and `capi-operator`. "+
		"A missing one is only an error of the step that installs it.").must().like(`{ cert-manager = "1.21.2" }`)
	t.table("chart-sources", "Where the charts are pulled from, for sites that mirror them. The name of a chart is added: `oci://registry/path` is a registry, "+
		"`https://host/path` a chart repository; `oci+http://` and `http://` are the same without TLS, which a registry on this host needs no mention of.",
		f.ChartSources.keys)
	t.table("teardown", "What an AWS account holds outside the clusters, for the sweep and the orphan report.", f.Teardown.keys)
	k := t.declare("environments", shapeTableMap, "The environments, by name. Messages list them in the order of the file.").must()
	k.describe = func() *table { sub := &table{}; (&Environment{}).keys(sub); return sub }
	k.add = func(o *origin) *table {
		e := &Environment{Name: o.name, At: o.at}
		f.Environments = append(f.Environments, e)
		sub := &table{}
		e.keys(sub)
		return sub
	}
}

func (b *Bootstrap) keys(t *table) {
	t.text(&b.DefaultEnvironment, "default-environment", "The environment of a command that names none.").must().like("local-host")
	t.text(&b.GitBranch, "git-branch", "The branch Flux follows; the preflight looks for it on GitHub.").must().like("main")
	t.text(&b.KindCluster, "kind-cluster", "Name of the kind cluster that bootstraps.").must().like("mgmt")
	t.text(&b.KindContext, "kind-context", "Context of the kind cluster in a kubeconfig.").must().like("kind-mgmt")
	t.text(&b.RegistryName, "registry-name", "Name of the local registry: its container, and its host inside the clusters.").must().like("krops-registry")
	t.text(&b.FluxNamespace, "flux-namespace", "Namespace of Flux, its secrets and the run metadata.").must().like("flux-system")
	t.text(&b.GithubPATSecret, "github-pat-secret", "Secret with the token Flux reads Git with.").must().like("flux-github-pat")
	t.text(&b.SopsAgeSecret, "sops-age-secret", "Secret with the age key Flux decrypts with.").must().like("sops-age")
	t.text(&b.MgmtNamespace, "mgmt-namespace", "Namespace of the Cluster objects, and of the move.").must().like("default")
	t.text(&b.MgmtContext, "mgmt-context", "Context of the management cluster in the exported kubeconfig.").must().like("krops-mgmt")
}

// The public sources of the charts.
const (
	fluxCharts = "oci://ghcr.io/controlplaneio-fluxcd/charts"
	certCharts = "https://charts.jetstack.io"
	capiCharts = "https://kubernetes-sigs.github.io/cluster-api-operator"
)

// sourcePattern is what the source of a chart looks like, for editors.
const sourcePattern = `^(oci|oci\+http|https?)://[^/?#]+[^?#]*$`

func (c *ChartSources) keys(t *table) {
	source := func(field *string, name, doc, preset string) {
		t.text(field, name, doc).orElse("`" + preset + "`").pattern = sourcePattern
	}
	source(&c.Flux, "flux", "Source of the charts flux-operator and flux-instance.", fluxCharts)
	source(&c.CertManager, "cert-manager", "Source of the chart cert-manager.", certCharts)
	source(&c.CAPIOperator, "capi-operator", "Source of the chart cluster-api-operator.", capiCharts)
}

// check fills in the public sources, and refuses what is no source.
func (c *ChartSources) check(d *decoder) {
	for _, source := range []struct {
		field        *string
		name, preset string
	}{
		{&c.Flux, "flux", fluxCharts},
		{&c.CertManager, "cert-manager", certCharts},
		{&c.CAPIOperator, "capi-operator", capiCharts},
	} {
		*source.field = strings.TrimRight(*source.field, "/")
		if *source.field == "" {
			*source.field = source.preset
		}
		scheme, rest, _ := strings.Cut(*source.field, "://")
		host, _, _ := strings.Cut(rest, "/")
		known := slices.Contains([]string{"oci", "oci+http", "https", "http"}, scheme)
		if !known || host == "" || strings.ContainsAny(rest, "?#@ ") {
			d.problem(address{"chart-sources", source.name}, "chart-sources.%s must be oci://registry/path or https://host/path; oci+http:// and http:// are without TLS", source.name)
		}
	}
}

func (a *AccountTeardown) keys(t *table) {
	t.text(&a.CFNStackName, "cfn-stack-name", "CloudFormation stack to delete.").orElse("no stack is deleted").like("cluster-api-provider-aws-sigs-k8s-io")
	t.list(&a.GlobalIAMRoles, "global-iam-roles", "IAM roles to delete that belong to no cluster.").orElse("[]")
	t.list(&a.GlobalIAMUsers, "global-iam-users", "IAM users to delete.").orElse("[]")
	t.text(&a.S3BucketPattern, "s3-bucket-pattern", "Name of the bucket of a cluster, with `{account_id}` and `{cluster_name}`.").
		orElse("no bucket is looked for").like("krops-{account_id}-{cluster_name}-data")
}

func (e *Environment) keys(t *table) {
	t.text(&e.Kind, "kind", "Repeats the name of the environment.").must().like("aws")
	t.text((*string)(&e.Archetype), "archetype", "Lifecycle to follow when the environment has a name of its own: "+
		"`local-host` runs on containers with a local registry, `aws` checks the quota of addresses and hands over credentials.").
		orElse("the name of the environment").oneOf(string(LocalHost), string(AWS), string(LocalTalos), string(Azure), string(GCP))
	t.text((*string)(&e.Sync), "sync", "Where Flux reads from: `github`, or `oci` for an artifact that is published from the checkout.").
		must().oneOf(string(SyncGithub), string(SyncOCI))
	t.text(&e.SyncPath, "sync-path", "Directory of the repository that Flux applies.").must().like("mgmt/aws")
	t.text(&e.MgmtCluster, "mgmt-cluster", "Name of the Cluster that becomes the management cluster.").must().like("eu-north-1-management")
	t.text(&e.MgmtRegion, "mgmt-region", "AWS region of the management cluster.").orElse("`mgmt-cluster` without `-management`").like("eu-north-1")
	t.duration(&e.MgmtReadyTimeout, "mgmt-ready-timeout", "How long the management cluster may take, see MGMT_READY_TIMEOUT.").must().like("40m")
	t.text(&e.InfraProviderNamespace, "infra-provider-namespace", "Namespace of the infrastructure provider.").must().like("capa-system")
	t.text(&e.InfraProviderName, "infra-provider-name", "Name of the infrastructure provider.").must().like("aws")
	t.list(&e.ProviderManifests, "provider-manifests", "Files with the Cluster API providers of the target, applied in this order.").must().
		like(`["mgmt/aws/providers.yaml"]`)
	fallbacks := t.declare("move-fallbacks", shapeTables, "Objects to apply when the move did not bring them.").orElse("none")
	fallbacks.describe = func() *table { sub := &table{}; (&MoveFallback{}).keys(sub); return sub }
	fallbacks.add = func(*origin) *table {
		m := &MoveFallback{}
		e.MoveFallbacks = append(e.MoveFallbacks, m)
		sub := &table{}
		m.keys(sub)
		return sub
	}
	t.list(&e.PivotSopsSecrets, "pivot-sops-secrets", "Files encrypted with SOPS to decrypt and apply to the target before the move.").orElse("[]")
	t.list(&e.PivotManifests, "pivot-manifests", "Plain files to apply to the target before the move; `${VAR}` and `${VAR:=default}` are filled in.").orElse("[]")
	t.textMap(&e.PivotManifestVars, "pivot-manifest-vars", "Values for `pivot-manifests` that win over the ConfigMaps of the source.").orElse("none")
	t.text(&e.PostKindCreateTask, "post-kind-create-task", "Task of `mise.<environment>.toml` to run once the kind cluster exists.").orElse("none").like("federate")
	t.table("teardown", "What a teardown has to remove.", e.Teardown.keys)
}

func (m *MoveFallback) keys(t *table) {
	t.text(&m.Resource, "resource", "Plural name of the resource with its group.").must().like("awsclustercontrolleridentities.infrastructure.cluster.x-k8s.io")
	t.text(&m.Name, "name", "Name of the object.").must().like("default")
	t.text(&m.Manifest, "manifest", "File to apply.").must().like("mgmt/aws/identity.yaml")
}

func (d *Teardown) keys(t *table) {
	workloads := t.declare("aws-workloads", shapeTables, "Workload clusters whose AWS resources are swept.").orElse("none")
	workloads.describe = func() *table { sub := &table{}; (&AWSWorkload{}).keys(sub); return sub }
	workloads.add = func(*origin) *table {
		w := &AWSWorkload{}
		d.AWSWorkloads = append(d.AWSWorkloads, w)
		sub := &table{}
		w.keys(sub)
		return sub
	}
	t.list(&d.CAPIWorkloads, "capi-workloads", "Workload clusters made of containers.").orElse("[]").like(`["local-workload"]`)
	t.text(&d.MgmtContainerPrefix, "mgmt-container-prefix", "What the names of the containers of the management cluster begin with.").orElse("no container is removed").like("local-management")
	t.text(&d.MgmtEKSClusterName, "mgmt-eks-cluster-name", "EKS name of the management cluster; with `mgmt-iam-role-prefix` it is swept too.").
		orElse("the management cluster is not swept").like("default_eu-north-1-management-control-plane")
	t.text(&d.MgmtIAMRolePrefix, "mgmt-iam-role-prefix", "What the names of the IAM roles of the management cluster begin with.").
		orElse("the management cluster is not swept").like("eu-north-1-management")
	t.boolean(&d.HardwareRelease, "hardware-release", "Teardown hands machines back instead of deleting them.").orElse("false")
	t.text(&d.Manual, "manual", "A teardown is refused with this text.").orElse("none")
}

func (w *AWSWorkload) keys(t *table) {
	t.text(&w.Region, "region", "Region of the cluster.").must().like("eu-north-1")
	t.text(&w.ClusterName, "cluster-name", "Name of the Cluster; begins with the region.").must().like("eu-north-1-workload")
	t.text(&w.EKSClusterName, "eks-cluster-name", "Name of the EKS cluster.").must().like("default_eu-north-1-workload-control-plane")
	t.text(&w.RDSInstance, "rds-instance", "Name of the database instance.").must().like("krops-eu-north-1-workload-db")
}

// Parse reads a bootstrap.toml. The error is a [*FileError] with all that is wrong.
func Parse(name string, text []byte, nearest Nearest) (*File, error) {
	f := &File{Name: name}
	fail := func(list ...Problem) (*File, error) {
		slices.SortStableFunc(list, func(a, b Problem) int {
			if a.At.Line != b.At.Line {
				return a.At.Line - b.At.Line
			}
			return a.At.Column - b.At.Column
		})
		return nil, fmt.Errorf("failed to parse bootstrap config '%s': %w", name, &FileError{Name: name, List: list})
	}
	doc, wrong := readDocument(text)
	if wrong != nil {
		return fail(*wrong)
	}
	f.document = doc
	if _, ok := doc.values["environments"]; !ok {
		doc.values["environments"] = map[string]any{}
	}
	d := &decoder{document: doc, nearest: nearest}
	top := &table{}
	f.keys(top)
	d.table(top, nil, doc.values)
	f.check(d)
	if len(d.problems) > 0 {
		return fail(d.problems...)
	}
	return f, nil
}

// check finds what the declarations cannot say.
func (f *File) check(d *decoder) {
	f.ChartSources.check(d)
	for _, e := range f.Environments {
		if e.Kind != "" && e.Kind != e.Name {
			d.problem(address{"environments", e.Name, "kind"}, "environments.%s kind '%s' must match its section name", e.Name, e.Kind)
		}
		if e.Archetype == "" {
			e.Archetype = Archetype(e.Name)
		}
	}
	if len(f.Environments) == 0 {
		d.problems = append(d.problems, Problem{At: d.at(address{"environments"}), Text: "no [environments.*] sections in bootstrap config"})
		return
	}
	if name := f.Bootstrap.DefaultEnvironment; name != "" && f.named(name) == nil {
		d.problem(address{"bootstrap", "default-environment"}, "bootstrap.default-environment '%s' is not an [environments.*] section", name)
	}
}

func (f *File) named(name string) *Environment {
	for _, e := range f.Environments {
		if e.Name == name {
			return e
		}
	}
	return nil
}

// Environment returns the environment of a name.
func (f *File) Environment(name string) (*Environment, error) {
	if e := f.named(name); e != nil {
		return e, nil
	}
	names := make([]string, len(f.Environments))
	for i, e := range f.Environments {
		names[i] = "'" + e.Name + "'"
	}
	return nil, &UnsupportedProfileError{name, strings.Join(names, " or ")}
}

// UnsupportedProfileError is a profile that is no environment of the file.
type UnsupportedProfileError struct {
	Name     string
	expected string
}

// Error implements error.
func (e *UnsupportedProfileError) Error() string {
	name := e.Name
	if strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) {
		quoted := strconv.Quote(name)
		name = quoted[1 : len(quoted)-1]
	}
	return fmt.Sprintf("unsupported profile '%s' (expected %s)", name, e.expected)
}

// Profile returns the environment that is asked for: by the variable
// KROPS_PROFILE, else by the argument of the command, else by the file.
func (f *File) Profile(variable, argument string) (*Environment, error) {
	for _, name := range []string{variable, argument} {
		if name != "" {
			return f.Environment(name)
		}
	}
	return f.Environment(f.Bootstrap.DefaultEnvironment)
}

// Chart returns the version of a chart.
func (f *File) Chart(name string) (string, error) {
	if v := f.Charts[name]; v != "" {
		return v, nil
	}
	return "", fmt.Errorf("charts.%s missing from bootstrap.toml", name)
}

// Region is the AWS region of the management cluster.
func (e *Environment) Region() (string, error) {
	if e.MgmtRegion != "" {
		return e.MgmtRegion, nil
	}
	region, ok := strings.CutSuffix(e.MgmtCluster, "-management")
	if !ok || region == "" {
		return "", fmt.Errorf("mgmt-cluster '%s' does not end with '-management'; cannot derive its AWS region", e.MgmtCluster)
	}
	return region, nil
}
