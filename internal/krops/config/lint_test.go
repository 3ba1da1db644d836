package config_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ops/holdfast/internal/krops/config"
)

// repository is a tree that has all that a configuration names.
func repository(f *config.File) fstest.MapFS {
	tree := fstest.MapFS{}
	add := func(name, text string) { tree[name] = &fstest.MapFile{Data: []byte(text)} }
	for _, e := range f.Environments {
		add(e.SyncPath+"/kustomization.yaml", "kind: Kustomization\n")
		for _, name := range slices.Concat(e.ProviderManifests, e.PivotSopsSecrets) {
			add(name, "kind: Thing\n")
		}
		for _, name := range e.PivotManifests {
			add(name, "a: ${GCP_WIF_PROVIDER:=kind}\n")
		}
		for _, m := range e.MoveFallbacks {
			add(m.Manifest, "kind: Thing\n")
		}
		if e.PostKindCreateTask != "" {
			add("mise."+e.Name+".toml", "[tasks."+e.PostKindCreateTask+"]\nrun = 'x'\n")
		}
	}
	add("mgmt/release.yaml", `---
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata:
  name: cert-manager
spec:
  chart:
    spec:
      chart: cert-manager
      version: "1.21.2"
---
apiVersion: iam.services.k8s.aws/v1alpha1
kind: User
metadata: { name: any }
spec:
  name: krops-reader
`)
	return tree
}

func TestARightRepositoryHasNoProblems(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"checked-in.toml", "every-key.toml"} {
		f := load(t, name)
		tree := repository(f)
		if name == "every-key.toml" {
			delete(tree, "mgmt/release.yaml")
		}
		if found := f.Lint(tree); len(found) > 0 {
			t.Errorf("%s: %v", name, found)
		}
	}
}

func TestLint(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		from, to string             // in the configuration
		change   func(fstest.MapFS) // of the repository
		want     string
	}{
		"a chart of another version": {`cert-manager = "1.21.2"`, `cert-manager = "1.21.3"`, nil, "17:1: charts.cert-manager is 1.21.3, mgmt/release.yaml installs 1.21.2"},
		"a chart missing":            {"cert-manager = \"1.21.2\"\n", "", nil, "15:2: charts.cert-manager is missing: the step that installs it will fail"},
		"a directory missing":        {`sync-path = "mgmt/aws"`, `sync-path = "mgmt/awz"`, nil, "50:1: sync-path mgmt/awz is no directory of the repository"},
		"a file missing":             {"", "", func(fs fstest.MapFS) { delete(fs, "mgmt/aws/capi-providers/capi-system/providers.yaml") }, "55:1: mgmt/aws/capi-providers/capi-system/providers.yaml does not exist in the repository"},
		"a path out of the tree":     {`"mgmt/azure/infrastructure/azure-identity/aso-credentials.yaml"`, `"../aso.yaml"`, nil, "../aso.yaml is not below the root of the repository"},
		"an absolute path":           {`"mgmt/azure/infrastructure/azure-identity/aso-credentials.yaml"`, `"/aso.yaml"`, nil, "/aso.yaml is not below the root of the repository"},
		"an encrypted plain file": {`azure-identity/aso-credentials.yaml`, `azure-identity/aso.sops.yaml`, func(fs fstest.MapFS) {
			fs["mgmt/azure/infrastructure/azure-identity/aso.sops.yaml"] = &fstest.MapFile{}
		}, "mgmt/azure/infrastructure/azure-identity/aso.sops.yaml is encrypted: it belongs to pivot-sops-secrets"},
		"a plain secret":       {`post-kind-create-task = "arc-federate"`, `pivot-sops-secrets = ["mgmt/release.yaml"]`, nil, "mgmt/release.yaml does not end in .sops.yaml"},
		"a value nothing uses": {`GCP_WIF_PROVIDER = "mgmt"`, "GCP_WIF_PROVIDER = \"mgmt\"\nOTHER_1 = \"x\"", nil, "no file of pivot-manifests uses ${OTHER_1}"},
		"a value in small letters": {`GCP_WIF_PROVIDER = "mgmt"`, "gcp-wif = \"x\"", func(fs fstest.MapFS) {
			fs["mgmt/gcp/infrastructure/kcc/namespace.yaml"] = &fstest.MapFile{Data: []byte("${gcp-wif}")}
		}, "gcp-wif must be written in capitals and underscores"},
		"a task missing":               {`"wif-federate"`, `"wif"`, func(fs fstest.MapFS) { fs["mise.gcp.toml"] = &fstest.MapFile{Data: []byte("[tasks.other]")} }, "mise.gcp.toml has no task wif"},
		"a task file missing":          {"", "", func(fs fstest.MapFS) { delete(fs, "mise.gcp.toml") }, "mise.gcp.toml does not exist: task wif-federate is looked for there"},
		"a task file broken":           {"", "", func(fs fstest.MapFS) { fs["mise.gcp.toml"] = &fstest.MapFile{Data: []byte("[")} }, "mise.gcp.toml: toml: "},
		"a region":                     {`cluster-name = "eu-west-1-workload"`, `cluster-name = "eu-west-2-workload"`, nil, "cluster-name eu-west-2-workload does not begin with its region eu-west-1"},
		"a cluster of EKS":             {`"default_eu-west-1-workload-control-plane"`, `"eu-west-1-workload"`, nil, "eks-cluster-name must be default_eu-west-1-workload-control-plane, it is eu-west-1-workload"},
		"a database":                   {`"krops-eu-west-1-workload-db"`, `"eu-west-1-db"`, nil, "rds-instance must be <site>-eu-west-1-workload-db, it is eu-west-1-db"},
		"a pattern":                    {`krops-{account_id}-{cluster_name}-data`, `krops-{cluster_name}-data`, nil, "s3-bucket-pattern lacks {account_id}"},
		"another pattern":              {`krops-{account_id}-{cluster_name}-data`, `krops-{account_id}-data`, nil, "s3-bucket-pattern lacks {cluster_name}"},
		"a user missing":               {`["krops-reader"]`, `[]`, nil, "global-iam-users lacks krops-reader of mgmt/release.yaml"},
		"a region of no name":          {`"eu-north-1-management"` + "\nmgmt-ready", `"north"` + "\nmgmt-ready", nil, "mgmt-cluster 'north' does not end with '-management'"},
		"a branch Git does not take":   {`git-branch = "main"`, `git-branch = "-main"`, nil, `5:1: bootstrap.git-branch: Git takes no branch "-main"`},
		"a branch with a space":        {`git-branch = "main"`, `git-branch = "my branch"`, nil, `bootstrap.git-branch: the branch "my branch" is none that is taken`},
		"a kind cluster too long":      {`kind-cluster = "mgmt"`, `kind-cluster = "` + strings.Repeat("m", 50) + `"`, nil, "to which kind adds -control-plane for that of its node, \"" + strings.Repeat("m", 50) + "\" has 50 characters, 49 are the most"},
		"a kind cluster with a dash":   {`kind-cluster = "mgmt"`, `kind-cluster = "-mgmt"`, nil, `"-mgmt" is none that is taken`},
		"a registry that is no host":   {`"krops-registry"`, `"krops_registry"`, nil, `8:1: bootstrap.registry-name: the name of the host of the registry "krops_registry" is none that is taken`},
		"a namespace in capitals":      {`flux-namespace = "flux-system"`, `flux-namespace = "Flux"`, nil, `9:1: bootstrap.flux-namespace: the name of the namespace "Flux" is none that is taken: lower-case letters, digits, and - between them`},
		"a namespace with a dot":       {`mgmt-namespace = "default"`, `mgmt-namespace = "my.ns"`, nil, `bootstrap.mgmt-namespace: the name of the namespace "my.ns" is none that is taken`},
		"a namespace too long":         {`"capd-system"`, `"` + strings.Repeat("n", 64) + `"`, nil, "has 64 characters, 63 are the most"},
		"a Secret with an underscore":  {`"sops-age"`, `"sops_age"`, nil, `bootstrap.sops-age-secret: the name of the Secret "sops_age" is none that is taken`},
		"a Secret for two things":      {`"sops-age"`, `"flux-github-pat"`, nil, "bootstrap.sops-age-secret is the same Secret as github-pat-secret"},
		"a version that is a range":    {`flux-operator = "0.61.0"`, `flux-operator = "0.x"`, nil, `16:1: charts.flux-operator: the version "0.x"`},
		"a Cluster in capitals":        {`mgmt-cluster = "local-management"`, `mgmt-cluster = "Local"`, nil, `environments.local-host.mgmt-cluster: the name of the Cluster "Local" is none that is taken`},
		"a Cluster too long":           {`mgmt-cluster = "swedencentral-management"`, `mgmt-cluster = "` + strings.Repeat("c", 64) + `"`, nil, "has 64 characters, 63 are the most"},
		"a load balancer too long":     {`mgmt-cluster = "local-management"`, `mgmt-cluster = "` + strings.Repeat("c", 61) + `"`, nil, "the host of its load balancer: \"" + strings.Repeat("c", 61) + "-lb\" has 64 characters"},
		"no time for the cluster":      {`mgmt-ready-timeout = "15m"`, `mgmt-ready-timeout = "0m"`, nil, "environments.local-host.mgmt-ready-timeout: it is 0, so no management cluster would ever be ready in time"},
		"a resource without its group": {`"awsclustercontrolleridentities.infrastructure.cluster.x-k8s.io"`, `"identities"`, nil, `move-fallbacks[0].resource: the resource "identities" is none that is taken: the plural name, a dot, the group`},
		"an object with a slash":       {"name = \"default\"\n", "name = \"a/b\"\n", nil, `move-fallbacks[0].name: the name of the object "a/b" is none that is taken`},
		"an environment with a space": {
			"[environments.azure]\n", `[environments."my azure"]
kind = "my azure"
sync = "github"
sync-path = "mgmt/aws"
mgmt-cluster = "swedencentral-management"
mgmt-ready-timeout = "1m"
infra-provider-namespace = "a"
infra-provider-name = "a"
provider-manifests = []
[environments.azure]
`, nil, `the name of the environment "my azure" is none that is taken`,
		},
		"a workload that is the kind cluster": {`["local-workload"]`, `["mgmt"]`, nil, "environments.local-host.teardown.capi-workloads: mgmt is kind-cluster too"},
		"a workload in capitals":              {`["local-workload"]`, `["Work"]`, nil, `environments.local-host.teardown.capi-workloads: the name of the Cluster "Work"`},
		"a workload that is the management cluster": {
			`["local-workload"]`, `["local-workload", "local-management"]`, nil, "environments.local-host.teardown.capi-workloads[1]: local-management is that of mgmt-cluster too",
		},
		"a workload twice":                 {`["local-workload"]`, `["a", "a"]`, nil, "capi-workloads[1]: a is that of environments.local-host.teardown.capi-workloads[0] too"},
		"containers of others":             {`mgmt-container-prefix = "local-management"`, `mgmt-container-prefix = "local"`, nil, "mgmt-container-prefix must be mgmt-cluster, local-management, it is local"},
		"a region that is none":            {`region = "eu-west-1"`, `region = "europe"`, nil, `aws-workloads[1].region: the name of the region "europe" is none that is taken: like eu-north-1`},
		"a cluster of EKS too long":        {`"default_eu-west-1-workload-control-plane"`, `"` + strings.Repeat("e", 101) + `"`, nil, "has 101 characters, 100 are the most"},
		"a database AWS refuses":           {`"krops-eu-west-1-workload-db"`, `"krops--eu-west-1-workload-db"`, nil, `aws-workloads[1].rds-instance: the name of the database instance "krops--eu-west-1-workload-db" is none that is taken`},
		"a bucket too long":                {`krops-{account_id}-{cluster_name}-data`, strings.Repeat("k", 40) + `-{account_id}-{cluster_name}-data`, nil, "aws-workloads[0].cluster-name: s3-bucket-pattern makes the name of a bucket that"},
		"a bucket in capitals":             {`krops-{account_id}-{cluster_name}-data`, `Krops-{account_id}-{cluster_name}-data`, nil, `"Krops-123456789012-eu-north-1-management-data" is none that is taken`},
		"a role with a space":              {`"krops-eu-north-1-workload-reader"`, `"krops reader"`, nil, `teardown.global-iam-roles: the name of the role "krops reader" is none that is taken`},
		"a user with a slash":              {`["krops-reader"]`, `["krops-reader", "team/reader"]`, nil, `teardown.global-iam-users: the name of the user "team/reader" is none that is taken`},
		"a stack with an underscore":       {`"cluster-api-provider-aws-sigs-k8s-io"`, `"cluster_api"`, nil, `teardown.cfn-stack-name: the name of the stack "cluster_api" is none that is taken`},
		"the tag of another cluster":       {`mgmt-iam-role-prefix = "eu-north-1-management"`, `mgmt-iam-role-prefix = "eu-north-1"`, nil, "mgmt-iam-role-prefix must be mgmt-cluster, eu-north-1-management, it is eu-north-1"},
		"a management cluster of EKS":      {`"default_eu-north-1-management-control-plane"`, `"eu-north-1"`, nil, "mgmt-eks-cluster-name must be default_eu-north-1-management-control-plane, it is eu-north-1"},
		"a management cluster swept twice": {`cluster-name = "eu-north-1-workload"`, `cluster-name = "eu-north-1-management"`, nil, "aws-workloads[0].cluster-name: eu-north-1-management is that of mgmt-cluster too"},
		"half a management sweep":          {"mgmt-iam-role-prefix = \"eu-north-1-management\"\n", "", nil, "mgmt-eks-cluster-name and mgmt-iam-role-prefix go together"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile("testdata/checked-in.toml")
			if err != nil {
				t.Fatal(err)
			}
			changed := strings.Replace(string(text), c.from, c.to, 1)
			if c.from != "" && changed == string(text) {
				t.Fatal("nothing replaced")
			}
			f, err := parse(changed)
			if err != nil {
				t.Fatal(err)
			}
			tree := repository(checkedIn(t))
			if c.change != nil {
				c.change(tree)
			}

			found := f.Lint(tree)

			if len(found) == 0 {
				t.Fatal("no problem found")
			}
			lines := make([]string, len(found))
			for i, p := range found {
				lines[i] = fmt.Sprintf("%v: %s", p.At, p.Text)
			}
			if all := strings.Join(lines, "\n"); !strings.Contains(all, c.want) || found[0].At.Line == 0 {
				t.Errorf("found\n%s\nwant one saying %q", all, c.want)
			}
		})
	}
}

func TestAMoveFallbackMayBeOfTheCoreGroup(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/checked-in.toml")
	if err != nil {
		t.Fatal(err)
	}
	f, err := parse(strings.Replace(string(text), `"awsclustercontrolleridentities.infrastructure.cluster.x-k8s.io"`, `"secrets"`, 1))
	if err != nil {
		t.Fatal(err)
	}

	if found := f.Lint(repository(checkedIn(t))); len(found) > 0 {
		t.Error(found)
	}
}

func TestSecretsThatNothingMakesMayHaveAnyName(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../examples/site-local/bootstrap.toml")
	if err != nil {
		t.Fatal(err)
	}
	f, err := parse(strings.NewReplacer(`"flux-github-pat"`, `"(none)"`, `"sops-age"`, `"(none)"`).Replace(string(text)))
	if err != nil {
		t.Fatal(err)
	}

	if found := f.Lint(os.DirFS("../../../examples/site-local")); len(found) > 0 {
		t.Error(found)
	}
	if _, err := f.Resolve(boot, "local-host", variables("HOME=/home/op")); err != nil {
		t.Error(err)
	}
}

func TestTheReferencePagesAreWhatTheDeclarationsSay(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"bootstrap.schema.json": string(config.Schema()), "configuration.md": config.Reference(),
	} {
		file := "../../../docs/reference/krops/" + name
		if *update {
			if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		committed, err := os.ReadFile(file)
		if err != nil {
			t.Fatalf("%v; make docs writes it", err)
		}
		if diff := cmp.Diff(string(committed), text); diff != "" {
			t.Errorf("%s is not up to date (make docs rewrites it):\n%s", file, diff)
		}
	}
}
