package krops_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/holdfast-ops/holdfast/internal/cli/app"
	"github.com/holdfast-ops/holdfast/internal/cli/iostreams"
	"github.com/holdfast-ops/holdfast/internal/cli/program"
	"github.com/holdfast-ops/holdfast/internal/krops"
	"github.com/holdfast-ops/holdfast/internal/krops/config"
)

var update = flag.Bool("update", false, "rewrite the reference page of the commands")

const example = "../../examples/site-local/bootstrap.toml"

// krop runs the program with some variables.
func krop(t *testing.T, env []string, args ...string) (code int, out, errs string) {
	t.Helper()
	s, _, o, e := iostreams.Test()
	code = krops.Run(t.Context(), program.Process{Args: args, Environ: append(env, "HOME=/home/op"), Streams: s, Version: "v1"})
	return code, o.String(), e.String()
}

func configured(t *testing.T) []string {
	t.Helper()
	return []string{"BOOTSTRAP_CONFIG=config/testdata/checked-in.toml"}
}

func TestC1HelpAndVersionNeedNoConfiguration(t *testing.T) {
	t.Parallel()
	env := []string{"BOOTSTRAP_CONFIG=/nonexistent"}
	for _, args := range [][]string{{"--help"}, {"-h"}, {"help", "plan"}, {"config"}, {"plan", "--help"}, {"config", "schema"}} {
		if code, out, errs := krop(t, env, args...); code != 0 || out == "" || errs != "" {
			t.Errorf("%q: %d, %q", args, code, errs)
		}
	}
	for _, flag := range []string{"--version", "-V"} {
		if code, out, _ := krop(t, env, flag); code != 0 || out != "krops-bootstrap version v1\n" {
			t.Errorf("%s: %d, %q", flag, code, out)
		}
	}
}

func TestAWrongCommandLineEndsWith2(t *testing.T) {
	t.Parallel()
	for _, args := range []string{
		// C3
		"plan --registry-port 1", "plan --github-token x", "plan --oci-tag x", "plan --container-engine docker", "plan --no-pivot", "plan --pivot",
		"plan --mgmt-kubeconfig x", "plan teardown --aws-only", "plan teardown --force-kind-delete",
		"--registry-port 1", "--github-token x", "--oci-tag x", "--container-engine docker", "--no-pivot", "--pivot", "--mgmt-kubeconfig x",
		"teardown --aws-only", "teardown --force-kind-delete",
		"teardown --recreate", "teardown a b", "a b", "aws teardown", "--output yaml", "teardown --output x", "--recreate teardown",
		"plan teardown --recreate", "plan a b", "plan pivot a b", "plan --output yaml", "config lint a b", "config schema x", "config lnt",
	} {
		t.Run(args, func(t *testing.T) {
			t.Parallel()
			code, out, errs := krop(t, configured(t), strings.Fields(args)...)
			if code != 2 || out != "" || !strings.HasPrefix(errs, "Error: ") {
				t.Errorf("%d, %q, %q", code, out, errs)
			}
		})
	}
}

func TestC4RecreateBeforeOrAfterTheProfile(t *testing.T) {
	t.Parallel()
	for _, args := range []string{"plan aws --recreate", "plan --recreate aws", "plan bootstrap aws --recreate"} {
		code, out, errs := krop(t, configured(t), strings.Fields(args)...)
		if code != 0 || !strings.Contains(out, "Cluster 'mgmt' exists and --recreate was given – recreating...") {
			t.Errorf("%s: %d, %s", args, code, errs)
		}
	}
}

func TestErrorsTellTheirCauses(t *testing.T) {
	t.Parallel()
	broken := filepath.Join(t.TempDir(), "b.toml")
	if err := os.WriteFile(broken, []byte("[bootstrap]\nkid-cluster = 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		env  string
		args string
		want string
	}{
		"T11 no file": {
			"BOOTSTRAP_CONFIG=/nonexistent/b.toml", "plan",
			"Error: failed to read bootstrap config '/nonexistent/b.toml'\n\nCaused by:\n    open /nonexistent/b.toml: no such file or directory\n",
		},
		"C2 no such profile":              {configured(t)[0], "plan bogus", "Error: unsupported profile 'bogus' (expected 'local-host' or 'aws' or 'local-talos' or 'azure' or 'gcp')\n"},
		"C2 no such profile to bootstrap": {configured(t)[0], "bogus", "Error: unsupported profile 'bogus' (expected 'local-host' or 'aws' or 'local-talos' or 'azure' or 'gcp')\n"},
		"C9 no such profile to tear down": {configured(t)[0], "teardown bogus", "Error: unsupported profile 'bogus' (expected 'local-host' or 'aws' or 'local-talos' or 'azure' or 'gcp')\n"},
		"D13 a teardown by hand": {
			configured(t)[0], "teardown azure",
			"Error: teardown is manual for the 'azure' environment:\n       Delete the clusters and their resource groups by hand.\n",
		},
		"D13 by hand": {
			configured(t)[0], "plan teardown azure",
			"Error: teardown is manual for the 'azure' environment:\n       Delete the clusters and their resource groups by hand.\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, out, errs := krop(t, []string{c.env}, strings.Fields(c.args)...)
			if diff := cmp.Diff(c.want, errs); diff != "" || code != 1 || out != "" {
				t.Errorf("%d, %q\n%s", code, out, diff)
			}
		})
	}
	code, _, errs := krop(t, nil, "config", "lint", broken)
	if want := "    " + broken + ":2:1: unknown key kid-cluster of [bootstrap], did you mean kind-cluster?\n"; code != 1 || !strings.Contains(errs, want) {
		t.Errorf("%d, %s", code, errs)
	}
}

func TestTheVariableOfTheProfileWins(t *testing.T) {
	t.Parallel()
	_, out, _ := krop(t, append(configured(t), "KROPS_PROFILE=local-host"), "plan", "aws")
	if !strings.HasPrefix(out, ">>> Plan of the bootstrap of local-host: ") {
		t.Errorf("%.80s", out)
	}
}

func TestPlansAsJSONAreOneEventALine(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{"plan --output json": "plan", "plan teardown aws --output=json": "plan", "plan pivot --output json gcp": "plan", "plan teardown gcp --output json": "refused"} {
		code, out, _ := krop(t, configured(t), strings.Fields(args)...)
		lines := strings.Split(strings.TrimSpace(out), "\n")
		var last struct{ Event string }
		for _, line := range lines {
			if err := json.Unmarshal([]byte(line), &last); err != nil {
				t.Errorf("%s: %v in %s", args, err, line)
			}
		}
		if last.Event != want || (code == 0) != (want == "plan") {
			t.Errorf("%s: %d, the last event is %q", args, code, last.Event)
		}
	}
}

func TestTheExampleIsRight(t *testing.T) {
	t.Parallel()
	code, out, errs := krop(t, nil, "config", "lint", example)
	if code != 0 || out != "✓   "+example+": nothing wrong in 1 environment\n" {
		t.Errorf("%d, %q, %s", code, out, errs)
	}
	if code, _, errs := krop(t, []string{"BOOTSTRAP_CONFIG=" + example}, "plan", "teardown"); code != 0 {
		t.Error(errs)
	}
}

func TestLintFindsWhatDoesNotFitTheRepository(t *testing.T) {
	t.Parallel()
	code, out, errs := krop(t, configured(t), "config", "lint")
	if code != 1 || out != "" || !strings.Contains(errs, "checked-in.toml:29:1: sync-path mgmt/local-host is no directory of the repository") {
		t.Errorf("%d, %q, %s", code, out, errs)
	}
}

func TestTheRootOfTheRepositoryIsWhereLinksLead(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "link")
	target, err := filepath.Abs(filepath.Dir(example))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, dir); err != nil {
		t.Fatal(err)
	}
	if code, _, errs := krop(t, nil, "config", "lint", dir+"/bootstrap.toml"); code != 0 {
		t.Error(errs)
	}
}

func TestTheSchemaIsPrinted(t *testing.T) {
	t.Parallel()
	_, out, _ := krop(t, nil, "config", "schema")
	if out != string(config.Schema()) {
		t.Error("another one")
	}
}

func TestTheReferenceOfTheCommandsIsWhatTheyAre(t *testing.T) {
	t.Parallel()
	s, _, _, _ := iostreams.Test()
	root := krops.New(program.Process{Streams: s})
	app.Prepare(root)
	var page strings.Builder
	page.WriteString("# Commands of krops-bootstrap\n\nGenerated from the program. [Configuration](configuration.md) lists each key and each variable,\n[steps](steps.md) what a run does.\n\n" +
		"Exit codes: 0 done, warnings or not; 1 an error, also when it is not known whether something is left; 2 a command line that cannot be understood;\n130 interrupted.\n")
	describe(t, &page, root)
	const file = "../../docs/reference/krops/README.md"
	if *update {
		if err := os.WriteFile(file, []byte(page.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	committed, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v; make docs writes it", err)
	}
	if diff := cmp.Diff(string(committed), page.String()); diff != "" {
		t.Errorf("%s is not up to date (make docs rewrites it):\n%s", file, diff)
	}
}

func describe(t *testing.T, page *strings.Builder, cmd *cobra.Command) {
	t.Helper()
	_, out, _ := krop(t, nil, strings.Fields(cmd.CommandPath() + " --help")[1:]...)
	fmt.Fprintf(page, "\n## %s\n\n```\n%s```\n", cmd.CommandPath(), out)
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() && sub.Name() != "help" {
			describe(t, page, sub)
		}
	}
}
