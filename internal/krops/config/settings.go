package config

import (
	"errors"
	"fmt"
	"math"
	"path"
	"regexp"
	"strings"
	"time"

	"github.com/holdfast-ops/holdfast/internal/secret"
)

// Settings are all that decides what a run does: the environment of the file it
// works on, and the variables, which win over the file.
type Settings struct {
	Verb        Verb
	File        *File
	Environment *Environment
	Recreate    bool // of the command line

	KindCluster  string
	KindContext  string
	RegistryName string
	RegistryPort int

	RegistryRetries  int
	ReconcileTimeout Duration

	Engine        string
	EngineSocket  string
	Toolbox       bool
	ContainerHost string
	Kubeconfig    string

	GitRepoURL      string
	GithubToken     secret.String
	GithubUser      string
	AgeKeyFile      string
	AgePublicKey    string
	SopsAgeKeyFile  string
	OCIRepository   string
	OCITag          string
	OCIGitSHA       string
	OCIGitRef       string
	OCISourceURL    string
	Pivot           bool
	KeepKind        bool
	MgmtKubeconfig  string
	ReadyTimeout    Duration
	PollInterval    int
	Run             Run
	AWSOnly         bool
	ForceKindDelete bool
	ClusterTimeout  int
	ProviderTimeout int
	OrphanMinAge    int
	OrphanReport    string
	StepSummary     string
	OrphanSummary   bool

	profile string // KROPS_PROFILE
	config  string // BOOTSTRAP_CONFIG
	home    string
}

// NodeReadyTimeout is how long the nodes of the management cluster may take. It
// is no setting.
const NodeReadyTimeout = 15 * time.Minute

// toolboxEngine is where the engine of a toolbox listens.
const toolboxEngine = "unix:///var/run/docker.sock"

// variables declares the variables of the environment.
func (s *Settings) variables(v *variables) {
	all := []Verb{VerbBootstrap, VerbPivot, VerbTeardown, VerbOrphans}
	lifecycle := []Verb{VerbBootstrap, VerbPivot, VerbTeardown}

	v.text(&s.config, "BOOTSTRAP_CONFIG", "`bootstrap.toml`", "The configuration. Its directory is the root of the repository: "+
		"files the configuration names and tasks are looked for there.").of(all...)
	v.text(&s.profile, "KROPS_PROFILE", "the argument, then `bootstrap.default-environment`", "The environment to work on. It wins over the argument.").of(all...)
	v.text(&s.KindCluster, "KROPS_KIND_CLUSTER", "`bootstrap.kind-cluster`", "Name of the kind cluster. Runs with distinct names do not disturb each other.").of(all...)
	v.text(&s.KindContext, "BOOTSTRAP_KUBECONTEXT", "`kind-<KROPS_KIND_CLUSTER>` when that is set, else `bootstrap.kind-context`",
		"Context of the cluster that is moved from.").of(all...)
	v.text(&s.RegistryName, "KROPS_REGISTRY_NAME", "`bootstrap.registry-name`", "Name of the container of the local registry.").of(lifecycle...)
	v.number(&s.RegistryPort, "REGISTRY_PORT", "5001", "Port of the local registry on this host.", "must be a port number (1-65535)", 1, 65535)
	v.number(&s.RegistryRetries, "REGISTRY_READY_RETRIES", "120", "How often to ask a registry again that is not ready, once a second.",
		"must be a non-negative integer", 0, math.MaxInt32)
	v.span(&s.ReconcileTimeout, "LOCAL_RECONCILE_TIMEOUT", "15m", "How long Flux may take to reconcile on this host; forms like 1h30m are fine too.")

	v.text(&s.Engine, "CONTAINER_ENGINE", "docker if it answers, else podman", "The container engine: docker or podman.").of(lifecycle...)
	v.text(&s.EngineSocket, "ENGINE_SOCK", "what the engine says", "Socket of the engine as its daemon sees it; it is mounted into the kind node.").of(lifecycle...)
	v.gate(&s.Toolbox, "KROPS_TOOLBOX", "0", "1 inside the toolbox container: clusters are reached through the network of kind.").of(all...)
	v.text(&s.ContainerHost, "CONTAINER_HOST", "`"+toolboxEngine+"` in the toolbox", "Where the engine listens. Set but empty is a value here.").of(all...)
	v.text(&s.Kubeconfig, "KUBECONFIG", "the usual places", "Kubeconfig of the caller. In the toolbox it is required and names one file.").of(all...)

	v.text(&s.GitRepoURL, "GIT_REPO_URL", "required with `sync = \"github\"`", "Repository Flux reads: https://github.com/<owner>/<name>.")
	v.secret(&s.GithubToken, "GITHUB_TOKEN", "required with `sync = \"github\"`", "Token that may read the repository.")
	v.text(&s.GithubUser, "GITHUB_USER", "git", "User name that goes with the token.")
	v.text(&s.AgeKeyFile, "AGE_KEY_FILE", "age.agekey", "File with the age key, relative to the working directory.")
	v.trimmed(&s.AgePublicKey, "AGE_PUBLIC_KEY", "that of the key file", "Public age key. It must be that of the key file.")
	v.text(&s.SopsAgeKeyFile, "SOPS_AGE_KEY_FILE", "`AGE_KEY_FILE`", "Age key that decrypts `pivot-sops-secrets`.")
	v.text(&s.OCIRepository, "OCI_REPOSITORY", "krops", "Name of the artifact in the local registry.")
	v.text(&s.OCITag, "OCI_TAG", "latest", "Tag of the artifact.")
	v.text(&s.OCIGitSHA, "KROPS_OCI_GIT_SHA", "that of the checkout", "Commit the artifact is made of. This one, the ref and the source come together or not at all.")
	v.text(&s.OCIGitRef, "KROPS_OCI_GIT_REF", "that of the checkout", "Branch the artifact is made of.")
	v.text(&s.OCISourceURL, "KROPS_OCI_SOURCE_URL", "that of the checkout", "Repository the artifact is made of.")

	v.gate(&s.Pivot, "BOOTSTRAP_PIVOT", "1", "Any other value than 1 ends the run before the pivot.")
	v.gate(&s.KeepKind, "PIVOT_SKIP_DELETE", "0", "1 keeps the kind cluster after the pivot.")
	v.text(&s.MgmtKubeconfig, "MGMT_KUBECONFIG", "`$HOME/.kube/krops-mgmt.yaml`", "Kubeconfig of the management cluster, relative to the working directory.").of(lifecycle...)
	v.duration(&s.ReadyTimeout, "MGMT_READY_TIMEOUT", "`mgmt-ready-timeout` of the environment", "How long the management cluster may take to be defined, and again to be made.")
	v.number(&s.PollInterval, "MGMT_POLL_INTERVAL", "10", "Seconds between two looks at the management cluster.", positive, 1, math.MaxInt32)

	v.text(&s.Run.ID, "KROPS_RUN_ID", "`<environment>-<time>`", "Name of the run in the tags of resources.")
	v.add("KROPS_RUN_TTL", "86400s", "How long the resources of the run are meant to live: seconds, or with s, m or h; `none` is for ever.",
		s.Run.setTTL, s.Run.showTTL)
	v.text(&s.Run.Revision, "KROPS_REVISION", "commit of the branch, then `KROPS_OCI_GIT_SHA`, then unknown", "Revision in the tags of resources.")
	v.text(&s.Run.Kind, "KROPS_RUN_KIND", "manual", "What started the run: manual, scheduled, emergency.")

	v.gate(&s.AWSOnly, "AWS_ONLY", "0", "1 sweeps AWS and leaves Kubernetes alone. Refused for local-host and for released hardware.").of(VerbTeardown)
	v.gate(&s.ForceKindDelete, "FORCE_KIND_DELETE", "0", "1 removes the controller host although it is not confirmed that the clusters are gone.").of(VerbTeardown)
	v.number(&s.ClusterTimeout, "CLUSTER_DELETE_TIMEOUT", "1200", "Seconds the clusters may take to be deleted.", "must be a number of seconds", 0, math.MaxInt32).of(VerbTeardown)
	v.number(&s.ProviderTimeout, "PROVIDER_DELETE_TIMEOUT", "300", "Seconds the providers may take to be deleted.", "must be a number of seconds", 0, math.MaxInt32).of(VerbTeardown)
	v.number(&s.OrphanMinAge, "ORPHAN_MIN_AGE_HOURS", "6", "Resources younger than so many hours are recent, no orphans.", "must be a number of hours", 0, math.MaxInt32).of(VerbOrphans)
	v.text(&s.OrphanReport, "ORPHAN_REPORT_JSON", "none", "File to write the report to as JSON.").of(VerbOrphans)
	v.text(&s.StepSummary, "GITHUB_STEP_SUMMARY", "none", "File to append the report to.").of(VerbOrphans)
	v.gate(&s.OrphanSummary, "ORPHAN_STEP_SUMMARY", "1", "Any other value than 1 leaves the step summary alone: for a workflow that adds the output to it by itself.").of(VerbOrphans)
	v.text(&s.home, "HOME", "none", "Where `.kube` is.").of(lifecycle...)
}

// Profile is the variable KROPS_PROFILE.
func Profile(env Lookup) string { name, _ := env("KROPS_PROFILE"); return name }

// Path is where the configuration is: BOOTSTRAP_CONFIG, else bootstrap.toml.
func Path(env Lookup) string {
	if name, _ := env("BOOTSTRAP_CONFIG"); name != "" {
		return name
	}
	return "bootstrap.toml"
}

// Resolve returns the settings of a verb. profile is the argument of the command.
// Only the variables of the verb are read: one that matters to a bootstrap alone
// breaks no teardown.
func (f *File) Resolve(verb Verb, profile string, env Lookup) (*Settings, error) {
	e, err := f.Profile(Profile(env), profile)
	if err != nil {
		return nil, err
	}
	s := &Settings{
		Verb: verb, File: f, Environment: e,
		KindCluster: f.Bootstrap.KindCluster, RegistryName: f.Bootstrap.RegistryName, RegistryPort: 5001,
		RegistryRetries: 120, ReconcileTimeout: Duration{15 * time.Minute, "15m"},
		GithubUser: "git", AgeKeyFile: "age.agekey", OCIRepository: "krops", OCITag: "latest",
		Pivot: true, ReadyTimeout: e.MgmtReadyTimeout, PollInterval: 10,
		Run:            Run{Kind: "manual", ttl: 86400},
		ClusterTimeout: 1200, ProviderTimeout: 300, OrphanMinAge: 6, OrphanSummary: true,
	}
	v := &variables{}
	s.variables(v)
	if err := v.resolve(verb, env); err != nil {
		return nil, err
	}
	s.derive(env)
	return s, s.check()
}

// derive sets what follows from other settings.
func (s *Settings) derive(env Lookup) {
	if s.KindContext == "" {
		s.KindContext = s.File.Bootstrap.KindContext
		if name, _ := env("KROPS_KIND_CLUSTER"); name != "" {
			s.KindContext = "kind-" + name
		}
	}
	if s.SopsAgeKeyFile == "" {
		s.SopsAgeKeyFile = s.AgeKeyFile
	}
	if s.MgmtKubeconfig == "" && (s.home != "" || s.Verb == VerbOrphans) {
		s.MgmtKubeconfig = path.Join(s.home, ".kube", "krops-mgmt.yaml")
	}
	if _, set := env("CONTAINER_HOST"); s.Toolbox && !set {
		s.ContainerHost = toolboxEngine
	}
}

func (s *Settings) check() error {
	var wrong []error
	switch {
	case s.Verb != VerbOrphans && s.home == "" && s.MgmtKubeconfig == "":
		wrong = append(wrong, errors.New("HOME is not set; cannot locate the management kubeconfig: set HOME, or XDG_STATE_HOME and MGMT_KUBECONFIG"))
	case !s.Toolbox || s.Verb == VerbOrphans:
	case s.Kubeconfig == "":
		wrong = append(wrong, errors.New("KUBECONFIG must name one writable file when KROPS_TOOLBOX=1"))
	case strings.Contains(s.Kubeconfig, ":"):
		wrong = append(wrong, errors.New("KUBECONFIG must name a single file when KROPS_TOOLBOX=1"))
	}
	wrong = append(wrong, s.names()...)
	if s.Verb == VerbBootstrap || s.Verb == VerbPivot {
		// What would fail once there is a kind cluster fails before.
		wrong = append(wrong, s.made()...)
		wrong = append(wrong, s.artifact()...)
		// Whatever the clock says when the run is tagged, it is later than this.
		if _, err := s.Metadata(time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC), ""); err != nil {
			wrong = append(wrong, err)
		}
	}
	// A teardown looks for another engine when the one named does not answer.
	if s.Verb != VerbTeardown && s.Engine != "" && s.Engine != "docker" && s.Engine != "podman" {
		wrong = append(wrong, fmt.Errorf("Unsupported CONTAINER_ENGINE '%s' (expected 'docker' or 'podman')", s.Engine)) //nolint:staticcheck // ST1005: the documented text
	}
	return errors.Join(wrong...)
}

var (
	// kindName is what kind takes for the name of a cluster.
	kindName = regexp.MustCompile(`^[a-z0-9.-]+$`)
	// containerName is what engines take for the name of a container.
	containerName = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9_.-]*$`)
)

// names refuses what is no name: it would become a part of paths of the engine's
// API, and lead to things of others there.
func (s *Settings) names() []error {
	var wrong []error
	if !kindName.MatchString(s.KindCluster) {
		wrong = append(wrong, fmt.Errorf("%q is no name of a kind cluster: lower-case letters, digits, . and - (KROPS_KIND_CLUSTER, or bootstrap.kind-cluster)", s.KindCluster))
	}
	if s.Verb != VerbOrphans && !containerName.MatchString(s.RegistryName) {
		wrong = append(wrong, fmt.Errorf("%q is no name of a container: letters, digits, and _ . - after the first (KROPS_REGISTRY_NAME, or bootstrap.registry-name)", s.RegistryName))
	}
	return wrong
}

var (
	// repositoryName and tagName are what registries take, of the specification of
	// distribution.
	repositoryName = regexp.MustCompile(`^[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*)*$`)
	tagName        = regexp.MustCompile(`^\w[\w.-]{0,127}$`)
)

// artifact refuses what no artifact can be published as.
func (s *Settings) artifact() []error {
	if s.Environment.Sync != SyncOCI {
		return nil
	}
	var wrong []error
	if !repositoryName.MatchString(s.OCIRepository) {
		wrong = append(wrong, fmt.Errorf("OCI_REPOSITORY %q is no name a registry takes: lower-case letters and digits, parted by . _ - or /", s.OCIRepository))
	}
	if !tagName.MatchString(s.OCITag) {
		wrong = append(wrong, fmt.Errorf("OCI_TAG %q is no tag a registry takes: at most 128 letters, digits, and _ . - after the first", s.OCITag))
	}
	given := 0
	for _, value := range []string{s.OCIGitSHA, s.OCIGitRef, s.OCISourceURL} {
		if value != "" {
			given++
		}
	}
	if given != 0 && given != 3 {
		wrong = append(wrong, errors.New("KROPS_OCI_GIT_SHA, KROPS_OCI_GIT_REF and KROPS_OCI_SOURCE_URL must be set together or not at all"))
	}
	return wrong
}

// Local tells whether the environment lives on containers of this host.
func (s *Settings) Local() bool { return s.Environment.Archetype == LocalHost }

// RegistryEndpoint is where this process reaches the local registry.
func (s *Settings) RegistryEndpoint() (host string, port int) {
	if s.Toolbox {
		return s.RegistryName, 5000
	}
	return "localhost", s.RegistryPort
}

// RewritesEndpoints tells whether the addresses of clusters made of containers
// must be replaced by ports of this host.
func (s *Settings) RewritesEndpoints() bool { return s.Local() && !s.Toolbox }

// NeedsGithub tells whether Flux reads from GitHub.
func (s *Settings) NeedsGithub() bool { return s.Environment.Sync == SyncGithub }

// Tools are the programs the reference implementation needs for a bootstrap, in
// its order. This one needs none; doctor shows them to those who keep both.
func (e *Environment) Tools() []string {
	tools := []string{"kind", "helm", "kubectl", "clusterctl", "mise"}
	if e.Sync == SyncOCI {
		tools = append(tools, "flux", "curl")
	}
	if len(e.PivotSopsSecrets) > 0 {
		tools = append(tools, "sops")
	}
	if e.Archetype == AWS {
		tools = append(tools, "aws")
	}
	return tools
}

// Hook is the command that runs the task of an environment, nil without one.
func (e *Environment) Hook() []string {
	if e.PostKindCreateTask == "" {
		return nil
	}
	return []string{"mise", "-E", e.Name, "run", e.PostKindCreateTask}
}

// Setting is a variable as it was resolved, for people.
type Setting struct{ Name, Value string }

// Shown lists the variables of the verb with the values that hold, secrets hidden.
func (s *Settings) Shown() []Setting {
	v := &variables{}
	s.variables(v)
	var list []Setting
	for _, d := range v.list {
		if d.readBy(s.Verb) {
			list = append(list, Setting{d.name, d.show()})
		}
	}
	return list
}
