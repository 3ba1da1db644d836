package krops_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ops/holdfast/internal/cli/iostreams"
	"github.com/holdfast-ops/holdfast/internal/cli/program"
	"github.com/holdfast-ops/holdfast/internal/krops"
	"github.com/holdfast-ops/holdfast/internal/krops/config"
	"github.com/holdfast-ops/holdfast/internal/krops/plan"
	"github.com/holdfast-ops/holdfast/internal/krops/run"
)

// obliging is a site on which all goes well: a step does what it says, a wait is
// over at the second look.
type obliging struct {
	truth plan.World
	fails map[string]error
}

func (o *obliging) Observe(_ context.Context, w plan.World, f plan.Fact) plan.World {
	where, _, _ := strings.Cut(string(f), "/")
	switch {
	case f == "controller/host":
		w.Host = o.truth.Host
		return w
	case where == "cluster" || where == "clusters":
		w.Clusters = o.truth.Clusters
		return w
	case where == "providers":
		w.Providers = o.truth.Providers
		return w
	case o.truth.Of(f).There():
		return w.With(f, plan.Present())
	}
	if why, failed := o.truth.Of(f).Failed(); failed {
		return w.With(f, plan.Failed(why))
	}
	return w.With(f, plan.Absent("looked"))
}

func (o *obliging) Do(_ context.Context, s plan.Step, _ run.Voice) error {
	if err := o.fails[s.ID]; err != nil {
		return err
	}
	o.truth = o.truth.After(s)
	return nil
}

func (o *obliging) Hold(_ context.Context, s plan.Step) (string, error) {
	o.truth = o.truth.After(s)
	return "", nil
}
func (o *obliging) Follow(context.Context, plan.Step, run.Voice) func() { return func() {} }
func (o *obliging) Diagnose(context.Context, plan.Step, run.Voice)      {}

// carried runs the program on an obliging site.
func carried(t *testing.T, o *obliging, env []string, args ...string) (code int, out, errs string) {
	t.Helper()
	s, _, stdout, stderr := iostreams.Test()
	env = append(env, configured(t)[0], "HOME=/home/op", "XDG_STATE_HOME="+t.TempDir(), "GIT_REPO_URL=https://github.com/polarsquad/krops", "GITHUB_TOKEN=hunter2")
	code = krops.RunWith(t.Context(), program.Process{Args: args, Environ: env, Streams: s, Version: "v1", Hostname: "box"},
		krops.Overrides{Work: func(*config.Settings) run.Site { return o }})
	return code, stdout.String(), stderr.String()
}

// inOrder fails unless the lines are in the text, one after the other.
func inOrder(t *testing.T, text string, lines ...string) {
	t.Helper()
	rest := text
	for _, line := range lines {
		_, after, ok := strings.Cut(rest, line+"\n")
		if !ok {
			t.Fatalf("no %q at its place in\n%s", line, text)
		}
		rest = after
	}
}

func TestWhatABootstrapSays(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := &obliging{}
		code, out, errs := carried(t, o, nil, "local-host")
		if code != 0 || errs != "" {
			t.Fatalf("%d: %s\n%s", code, errs, out)
		}
		inOrder(t, out,
			">>> Looking for a container engine...",
			">>> Creating kind cluster 'mgmt'...",
			">>> Creating registry container 'krops-registry'...",
			"    Registry created and running: krops-registry:5000",
			">>> Publishing initial OCI artifact from the local Git checkout...",
			">>> Initial OCI artifact is available at oci://localhost:5001/krops:latest",
			">>> Installing Flux Operator...",
			">>> Installing FluxInstance via Helm...",
			"\n>>> Step 5: Flux reconciliation progress",
			"\n>>> Bootstrap complete: Flux is reconciling from the local OCI artifact",
			">>>   OCI source: oci://krops-registry:5000/krops:latest (path: mgmt/local-host)",
			">>> No AWS resources were provisioned",
			">>> Waiting for the management cluster definition (timeout: 15m)...",
			">>> Moving the CAPI inventory to the management cluster...",
			">>> Deleting the kind bootstrap cluster...",
			">>> Pivot complete: the management cluster is self-managed.",
			">>>   or: export KUBECONFIG=/home/op/.kube/krops-mgmt.yaml",
		)

		// Again there is nothing to do, and it says how things are.
		code, out, errs = carried(t, o, nil, "local-host")
		want := ">>> Looking for a container engine...\n    Registry already running: krops-registry:5000\n" +
			">>> Pivot complete: the management cluster is self-managed.\n>>>   Kubeconfig: /home/op/.kube/krops-mgmt.yaml\n" +
			">>>   Use it with: kubectl --kubeconfig /home/op/.kube/krops-mgmt.yaml get clusters -A\n>>>   or: export KUBECONFIG=/home/op/.kube/krops-mgmt.yaml\n"
		if diff := cmp.Diff(want, out); code != 0 || errs != "" || diff != "" {
			t.Errorf("%d: %s\n%s", code, errs, diff)
		}
	})
}

func TestWhereABootstrapMayEnd(t *testing.T) {
	t.Parallel()
	for env, last := range map[string]string{
		"BOOTSTRAP_PIVOT=0":    ">>> Bootstrap complete! Flux is now reconciling from https://github.com/polarsquad/krops\n>>>   Watch it with: flux get kustomizations --watch\n",
		"PIVOT_SKIP_DELETE=1":  ">>> PIVOT_SKIP_DELETE=1: keeping the kind bootstrap cluster for inspection\n",
		"KROPS_KIND_CLUSTER=a": ">>>   or: export KUBECONFIG=/home/op/.kube/krops-mgmt.yaml\n",
	} {
		t.Run(env, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				if code, out, errs := carried(t, &obliging{}, []string{env}, "aws"); code != 0 || !strings.HasSuffix(out, last) {
					t.Errorf("%d: %s\n%s", code, errs, out)
				}
			})
		})
	}
}

func TestWhatATeardownSays(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := &obliging{truth: plan.World{Host: plan.HostKind, Clusters: plan.Listed("default/local-workload", "default/local-management")}}
		for _, f := range []plan.Fact{"host/kind-cluster", "host/registry", "controller/workload-kustomization"} {
			o.truth = o.truth.With(f, plan.Present())
		}
		code, out, errs := carried(t, o, nil, "teardown", "local-host")
		if code != 0 || errs != "" {
			t.Fatalf("%d: %s\n%s", code, errs, out)
		}
		inOrder(t, out,
			">>> Deleting CAPD workload cluster 'local-workload'...",
			"✓   CAPD workload cluster 'local-workload' deleted",
			">>> Deleting kind cluster 'mgmt'...",
			">>> Removing the local registry 'krops-registry'...",
			"✓ Teardown complete.")
	})
}

func TestAFailureSaysHowToGoOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := &obliging{fails: map[string]error{"flux-operator": os.ErrDeadlineExceeded}}
		code, _, errs := carried(t, o, nil, "--recreate", "aws")
		want := "Error: Installing Flux Operator\n\nCaused by:\n    i/o timeout\n\nOnce the cause is removed, the same command goes on where this one stopped: krops-bootstrap aws\n" // it was replaced
		if diff := cmp.Diff(want, errs); code != 1 || diff != "" {
			t.Errorf("%d\n%s", code, diff)
		}
	})
}

func TestTheSecretIsInNoOutput(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, output := range []string{"text", "json", "github"} {
			_, out, errs := carried(t, &obliging{}, nil, "aws", "--output", output)
			if strings.Contains(out+errs, "hunter2") {
				t.Errorf("--output %s shows the token", output)
			}
		}
	})
}

func TestDoctorTellsAllAtOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{"a/b.sops.yaml": "a: 1\n", ".sops.yaml": "creation_rules: []\n"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	o := &obliging{fails: map[string]error{"preflight-github": os.ErrPermission, "preflight-age": os.ErrNotExist}}
	code, out, errs := carried(t, o, nil, "doctor", "aws")
	if code != 1 || errs != "" {
		t.Errorf("%d: %s", code, errs)
	}
	for _, want := range []string{
		"✗   github: permission denied\n      → set GIT_REPO_URL", "✗   age: file does not exist\n      → set AGE_KEY_FILE", "✓   eip-quota: in order\n", "✓   aws-identity: in order\n",
		"✗   configuration: ", "✓   state: no other run works on kind cluster 'mgmt'\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	code, out, _ = carried(t, &obliging{}, []string{"REGISTRY_PORT=many"}, "doctor", "local-host", "--output", "json")
	if code != 1 || !strings.Contains(out, `{"check":"environment","severity":"error","message":"REGISTRY_PORT must be a port number (1-65535)`) {
		t.Errorf("%d: %s", code, out)
	}
	if code, _, errs := carried(t, &obliging{}, []string{"BOOTSTRAP_CONFIG=" + dir + "/none.toml"}, "doctor"); code != 1 || !strings.Contains(errs, "failed to read bootstrap config") {
		t.Errorf("%d: %s", code, errs)
	}
}
