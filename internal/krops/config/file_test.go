package config_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ops/holdfast/internal/cli/app"
	"github.com/holdfast-ops/holdfast/internal/krops/config"
)

const minimal = `[bootstrap]
default-environment = "local-host"
git-branch = "main"
kind-cluster = "mgmt"
kind-context = "kind-mgmt"
registry-name = "r"
flux-namespace = "flux-system"
github-pat-secret = "pat"
sops-age-secret = "age"
mgmt-namespace = "default"
mgmt-context = "m"

[charts]
flux-operator = "1"

[environments.local-host]
kind = "local-host"
sync = "oci"
sync-path = "mgmt/local-host"
mgmt-cluster = "local-management"
mgmt-ready-timeout = "15m"
infra-provider-namespace = "capd-system"
infra-provider-name = "docker"
provider-manifests = []

[environments.aws]
kind = "aws"
sync = "github"
sync-path = "mgmt/aws"
mgmt-cluster = "eu-north-1-management"
mgmt-ready-timeout = "40m"
infra-provider-namespace = "capa-system"
infra-provider-name = "aws"
provider-manifests = ["a.yaml"]
move-fallbacks = [{ resource = "r.g", name = "default", manifest = "i.yaml" }]
`

func parse(text string) (*config.File, error) {
	return config.Parse("bootstrap.toml", []byte(text), app.Nearest)
}

func TestT1AMinimalFile(t *testing.T) {
	t.Parallel()
	f, err := parse(minimal)
	if err != nil {
		t.Fatal(err)
	}
	local, aws := f.Environments[0], f.Environments[1]
	same(t, local.Name, "local-host", aws.Name, "aws", len(aws.MoveFallbacks), 1, len(local.MoveFallbacks), 0,
		local.Sync, config.SyncOCI, aws.Sync, config.SyncGithub,
		[]string{local.InfraProviderNamespace, local.InfraProviderName}, []string{"capd-system", "docker"},
		*aws.MoveFallbacks[0], config.MoveFallback{Resource: "r.g", Name: "default", Manifest: "i.yaml"})
}

func TestT2AnUnknownEnvironmentListsThoseOfTheFileInItsOrder(t *testing.T) {
	t.Parallel()
	f, err := parse(minimal)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.Environment("gcp")
	refused(t, err, "unsupported profile 'gcp' (expected 'local-host' or 'aws')")
}

func TestAWrongFile(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ from, to, want string }{
		"T3 a misspelled key":            {`git-branch =`, `git-brnach =`, "bootstrap.toml:3:1: unknown key git-brnach of [bootstrap], did you mean git-branch?"},
		"T3 in an environment":           {`sync-path = "mgmt/aws"`, `sync-pth = "mgmt/aws"`, "29:1: unknown key sync-pth of [environments.aws], did you mean sync-path?"},
		"T3 in an inline table":          {`name = "default", m`, `naem = "default", m`, "35:39: unknown key naem of [environments.aws.move-fallbacks[0]], did you mean name?"},
		"T3 of the file":                 {`[charts]`, `[chart]`, "13:2: unknown key chart of the file, did you mean charts?"},
		"T3 nothing near":                {`git-branch =`, "xyzzy = 1\ngit-branch =", "unknown key xyzzy of [bootstrap]: it knows default-environment, git-branch"},
		"T4 another kind":                {`kind = "aws"`, `kind = "local-host"`, "27:1: environments.aws kind 'local-host' must match its section name"},
		"T5 a default that is not there": {`default-environment = "local-host"`, `default-environment = "gcp"`, "2:1: bootstrap.default-environment 'gcp' is not an [environments.*] section"},
		"a missing key":                  {"git-branch = \"main\"\n", "", "1:2: bootstrap.git-branch is missing"},
		"a number for a text":            {`"kind-mgmt"`, `5`, "5:1: bootstrap.kind-context must be a string, it is an integer"},
		"an empty text":                  {`"kind-mgmt"`, `""`, "bootstrap.kind-context is empty"},
		"a text for a list":              {`["a.yaml"]`, `"a.yaml"`, "provider-manifests must be an array of strings, it is a string"},
		"a number in a list":             {`["a.yaml"]`, `["a.yaml", 3]`, "provider-manifests[1] must be a string that is not empty, it is an integer"},
		"a wrong sync":                   {`"oci"`, `"git"`, `environments.local-host.sync is "git", it must be one of github, oci`},
		"a wrong duration":               {`"40m"`, `"1h30m"`, "environments.aws.mgmt-ready-timeout: invalid duration '1h30m' (expected forms like 40m, 2h, 90s, or bare seconds)"},
		"a number for a version":         {`flux-operator = "1"`, `flux-operator = 1`, "14:1: charts.flux-operator must be a string, it is an integer"},
		"a key missing in the second of two": {
			"move-fallbacks = [{ resource = \"r.g\", name = \"default\", manifest = \"i.yaml\" }]\n",
			"[[environments.aws.move-fallbacks]]\nresource = \"r\"\nname = \"n\"\nmanifest = \"m\"\n[[environments.aws.move-fallbacks]]\nresource = \"r\"\nname = \"n\"\n",
			"39:20: environments.aws.move-fallbacks[1].manifest is missing",
		},
		"a source that is none":          {`[charts]`, "[chart-sources]\nflux = \"ghcr.io/charts\"\n[charts]", "14:1: chart-sources.flux must be oci://registry/path or https://host/path"},
		"a source with a password":       {`[charts]`, "[chart-sources]\nflux = \"https://a:b@host\"\n[charts]", "14:1: chart-sources.flux must be"},
		"no syntax":                      {`[charts]`, `[charts`, "13:8:"},
		"a key twice":                    {`git-branch =`, "git-branch = \"a\"\ngit-branch =", "bootstrap.toml:4:"},
		"a value for a table":            {"[charts]\nflux-operator = \"1\"\n", "", "charts is missing"},
		"a table for an array of tables": {`move-fallbacks = [{ resource = "r.g", name = "default", manifest = "i.yaml" }]`, `move-fallbacks = { name = "a" }`, "must be an array of tables, it is a table"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := strings.Replace(minimal, c.from, c.to, 1)
			if text == minimal {
				t.Fatal("nothing replaced")
			}
			_, err := parse(text)
			refused(t, err, "failed to parse bootstrap config 'bootstrap.toml': ")
			refused(t, err, c.want)
		})
	}
}

func TestAllProblemsAreToldAtOnceInTheOrderOfTheFile(t *testing.T) {
	t.Parallel()
	_, err := parse(strings.NewReplacer("git-branch", "git-brnach", `"oci"`, `"git"`).Replace(minimal))
	problems, ok := errors.AsType[*config.FileError](err)
	if !ok || len(problems.List) != 3 {
		t.Fatalf("%v, want three problems", err)
	}
	lines := []int{problems.List[0].At.Line, problems.List[1].At.Line, problems.List[2].At.Line}
	same(t, lines, []int{1, 3, 18})
}

func TestT6NoEnvironments(t *testing.T) {
	t.Parallel()
	head, _, _ := strings.Cut(minimal, "[environments.local-host]")
	for _, text := range []string{head, head + "[environments]\n"} {
		_, err := parse(text)
		refused(t, err, "no [environments.*] sections in bootstrap config")
	}
}

const azure = `
[environments.azure]
kind = "azure"
sync = "github"
sync-path = "mgmt/azure"
mgmt-cluster = "swedencentral-management"
mgmt-ready-timeout = "40m"
infra-provider-namespace = "capz-system"
infra-provider-name = "azure"
provider-manifests = []
`

func TestOptionalKeys(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		keys string
		got  func(e *config.Environment) any
		want any
		none any
	}{
		"T7 secrets": {
			"pivot-sops-secrets = [\"a.sops.yaml\"]", func(e *config.Environment) any { return strings.Join(e.PivotSopsSecrets, " ") }, "a.sops.yaml", "",
		},
		"T7 a manual teardown": {"[environments.azure.teardown]\nmanual = \"hand\"", func(e *config.Environment) any { return e.Teardown.Manual }, "hand", ""},
		"T8 a hook":            {"post-kind-create-task = \"federate\"", func(e *config.Environment) any { return e.PostKindCreateTask }, "federate", ""},
		"T8 manifests":         {"pivot-manifests = [\"a.yaml\"]", func(e *config.Environment) any { return strings.Join(e.PivotManifests, " ") }, "a.yaml", ""},
		"T9 values":            {"[environments.azure.pivot-manifest-vars]\nA_B = \"c\"", func(e *config.Environment) any { return e.PivotManifestVars["A_B"] }, "c", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, err := parse(minimal + azure + c.keys + "\n")
			if err != nil {
				t.Fatal(err)
			}
			same(t, c.got(f.Environments[2]), c.want, c.got(f.Environments[1]), c.none)
		})
	}
}

func TestT10TheCheckedInFile(t *testing.T) {
	t.Parallel()
	f := checkedIn(t)
	aws := f.Environments[1]
	same(t, len(f.Charts) >= 3, true, len(aws.ProviderManifests), 6, len(aws.MoveFallbacks), 1)
}

func TestEveryKeyOfTheSchemaIsRead(t *testing.T) {
	t.Parallel()
	f := load(t, "every-key.toml")
	text, err := os.ReadFile("testdata/every-key.toml")
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range config.Keys() {
		if !strings.Contains(string(text), key) {
			t.Errorf("testdata/every-key.toml does not have %s", key)
		}
	}
	laptop, aws, gcp, metal := f.Environments[0], f.Environments[1], f.Environments[2], f.Environments[3]
	same(t, laptop.Archetype, config.LocalHost, gcp.Archetype, config.GCP,
		gcp.MgmtReadyTimeout.Seconds(), 2400.0, metal.Teardown.HardwareRelease, true, aws.MgmtRegion, "eu-central-1",
		len(aws.Teardown.AWSWorkloads), 1, aws.Teardown.AWSWorkloads[0].RDSInstance, "acme-eu-central-1-workload-db")
}

func FuzzConfig(f *testing.F) {
	f.Add([]byte(minimal))
	f.Add([]byte(minimal + azure))
	f.Add([]byte("[environments.a]\nkind = \"a\"\n[[environments.a.teardown.aws-workloads]]\nregion = 1\n"))
	f.Add([]byte("a = [[{b = 1}, {c.d = 2}]]\n[[x]]\n[x.y]\n[[x.z]]\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		file, err := config.Parse("f", text, app.Nearest)
		lines := strings.Count(string(text), "\n") + 1
		if problems, ok := errors.AsType[*config.FileError](err); ok {
			for _, p := range problems.List {
				if p.At.Line < 0 || p.At.Line > lines || p.Text == "" {
					t.Errorf("a problem at %v of %d lines: %q", p.At, lines, p.Text)
				}
			}
			if len(problems.List) == 0 {
				t.Error("an error without a problem")
			}
			return
		}
		if err != nil {
			t.Fatalf("an error that is no list of problems: %v", err)
		}
		if _, err := file.Environment(file.Bootstrap.DefaultEnvironment); err != nil {
			t.Errorf("accepted, but: %v", err)
		}
		for _, e := range file.Environments {
			if e.Kind != e.Name || e.At.Line < 1 || e.At.Line > lines {
				t.Errorf("environment %q of kind %q at %v", e.Name, e.Kind, e.At)
			}
		}
	})
}

func TestChartsComeFromThePublicSourcesUnlessTheFileSaysSo(t *testing.T) {
	t.Parallel()
	plain, err := parse(minimal)
	if err != nil {
		t.Fatal(err)
	}
	mirrored, err := parse(strings.Replace(minimal, "[charts]", "[chart-sources]\nflux = \"oci+http://mirror:5000/charts/\"\n[charts]", 1))
	if err != nil {
		t.Fatal(err)
	}

	want := config.ChartSources{
		Flux: "oci://ghcr.io/controlplaneio-fluxcd/charts", CertManager: "https://charts.jetstack.io",
		CAPIOperator: "https://kubernetes-sigs.github.io/cluster-api-operator",
	}
	if diff := cmp.Diff(want, plain.ChartSources); diff != "" {
		t.Error(diff)
	}
	want.Flux = "oci+http://mirror:5000/charts"
	if diff := cmp.Diff(want, mirrored.ChartSources); diff != "" {
		t.Error(diff)
	}
}
