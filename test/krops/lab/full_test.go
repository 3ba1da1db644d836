//go:build lab_kube

package lab_test

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ops/holdfast/test/krops/lab"
)

// good fails the test unless a run ended well.
func good(t *testing.T, r lab.Run) lab.Run {
	t.Helper()
	if r.Code != 0 {
		t.Fatal(r)
	}
	t.Logf("krops-bootstrap %s: %d steps in %s, %s of processor, %d MB", strings.Join(r.Args, " "), len(r.Done()),
		r.Took.Round(time.Millisecond), r.CPU.Round(time.Millisecond), r.Memory>>20)
	return r
}

// says fails the test unless a text has each of the lines.
func says(t *testing.T, text string, lines ...string) {
	t.Helper()
	for _, line := range lines {
		if !strings.Contains(text, line) {
			t.Errorf("%q is not in\n%s", line, text)
		}
	}
}

// names are the names of the objects of a kind in the namespace of the clusters.
func names(t *testing.T, p *lab.Plane, group, kind string) []string {
	t.Helper()
	list, err := p.List(t.Context(), lab.Kind(group, kind), "default")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for i := range list {
		found = append(found, list[i].GetName())
	}
	slices.Sort(found)
	return found
}

// pivoted checks that the management cluster has all and stands alone.
func pivoted(t *testing.T, w *lab.World) {
	t.Helper()
	if left := w.Kinds.Names(); len(left) > 0 {
		t.Errorf("kind clusters that are left: %v", left)
	}
	for kind, want := range map[string][]string{
		lab.CAPI + " Cluster":                     {lab.Management, lab.Workload},
		lab.CAPI + " Machine":                     {lab.Management + "-cp-0", lab.Workload + "-cp-0"},
		lab.Infra + " DevCluster":                 {lab.Management, lab.Workload},
		lab.Infra + " DevMachine":                 {lab.Management + "-cp-0", lab.Workload + "-cp-0"},
		lab.Bootstrap + " KubeadmConfig":          {lab.Management + "-cp-0", lab.Workload + "-cp-0"},
		lab.ControlPlane + " KubeadmControlPlane": {lab.Management, lab.Workload},
	} {
		group, name, _ := strings.Cut(kind, " ")
		if diff := cmp.Diff(want, names(t, w.Mgmt, group, name)); diff != "" {
			t.Errorf("%s on the management cluster (-want +got):\n%s", name, diff)
		}
	}
	for _, name := range []string{lab.Management, lab.Workload} {
		lab.Until(t, "Cluster "+name+" to be available after the move", func(ctx context.Context) (bool, error) {
			o, err := w.Mgmt.Get(ctx, lab.Kind(lab.CAPI, "Cluster"), "default", name)
			if err != nil {
				return false, err
			}
			paused, _ := o.Object["spec"].(map[string]any)["paused"].(bool)
			return !paused && lab.Condition(o, "Available") == "True", nil
		})
		if _, err := w.Mgmt.Get(t.Context(), lab.Kind("", "Secret"), "default", name+"-kubeconfig"); err != nil {
			t.Error(err)
		}
	}
	lab.Until(t, "Flux to be ready on the management cluster", func(ctx context.Context) (bool, error) {
		o, err := w.Mgmt.Get(ctx, lab.Kind("kustomize.toolkit.fluxcd.io", "Kustomization"), lab.FluxSystem, "flux-apps")
		return err == nil && lab.Condition(o, "Ready") == "True", err
	})
	info, err := os.Stat(w.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(os.FileMode(0o600), info.Mode().Perm()); diff != "" {
		t.Errorf("mode of the kubeconfig (-want +got):\n%s", diff)
	}
}

// clean checks that a teardown has left nothing.
func clean(t *testing.T, w *lab.World) {
	t.Helper()
	if left := w.Kinds.Names(); len(left) > 0 {
		t.Errorf("kind clusters that are left: %v", left)
	}
	lab.Until(t, "no container to be left", func(context.Context) (bool, error) {
		return len(w.Engine.Names()) == 0, nil
	})
}

// leftovers are files of a run that should have gone with it.
func leftovers(t *testing.T, w *lab.World) []string {
	t.Helper()
	var found []string
	for _, dir := range []string{w.Repository, filepath.Join(w.Dir, "tmp")} {
		list, err := filepath.Glob(filepath.Join(dir, "*kubeconfig*"))
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, list...)
	}
	return found
}

func TestABootstrapPivotsAndATeardownLeavesNothing(t *testing.T) {
	t.Parallel()
	w := lab.NewWorld(t, lab.WorldOptions{})

	r := good(t, w.Krops(t, nil, "local-host"))
	says(t, r.Out, ">>> Creating kind cluster 'mgmt'...", "Bootstrap complete", "Pivot complete")
	pivoted(t, w)

	again := good(t, w.Krops(t, nil, "local-host"))
	if diff := cmp.Diff([]string{"preflight-engine"}, again.Done()); diff != "" {
		t.Errorf("a rerun did something (-want +got):\n%s", diff)
	}
	if limit := time.Minute; again.Took > limit {
		t.Errorf("a rerun with nothing to do took %s", again.Took)
	}

	r = good(t, w.Krops(t, nil, "teardown", "local-host"))
	says(t, r.Out, "✓ Teardown complete.")
	clean(t, w)
	if left := leftovers(t, w); len(left) > 0 {
		t.Errorf("files that are left: %v", left)
	}
}

// Each process carries out one step, or half of it, and is killed.
func TestARunThatIsKilledAfterEveryStepGetsThere(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"done:1", "started:2"} {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			w := lab.NewWorld(t, lab.WorldOptions{})
			for _, verb := range [][]string{{"local-host"}, {"teardown", "local-host"}} {
				deaths := 0
				var r lab.Run
				for deaths = range 200 {
					r = w.Krops(t, map[string]string{lab.DieEnv: at}, verb...)
					if !r.Killed {
						break
					}
				}
				good(t, r)
				t.Logf("%v: killed %d times", verb, deaths)
				if len(verb) == 1 {
					pivoted(t, w)
				}
			}
			clean(t, w)
		})
	}
}

// Whatever a move writes is the last it does: once what was written counts, once it
// is lost with the process.
func TestAMoveThatIsKilledAtEveryWriteGetsThere(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]lab.Fault{"written": lab.Swallow, "not written": lab.Hang} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := lab.NewWorld(t, lab.WorldOptions{})
			r := w.Krops(t, map[string]string{lab.DieEnv: "started:move"}, "local-host")
			if !r.Killed {
				t.Fatal(r)
			}
			deaths := 0
			for attempt := range 300 {
				// Each run gets further than the one before, even if it did all again.
				r = killedAtWrite(t, w, 1+4*attempt, end)
				if r.Code == 0 {
					break
				}
				if r.Code != -1 {
					t.Fatal(r)
				}
				deaths++
			}
			good(t, r)
			t.Logf("killed %d times in the move", deaths)
			if deaths < 5 {
				t.Errorf("the move was killed only %d times", deaths)
			}
			pivoted(t, w)
		})
	}
}

// killedAtWrite runs a bootstrap that is killed at the n-th write of its move.
func killedAtWrite(t *testing.T, w *lab.World, n int, end lab.Fault) lab.Run {
	t.Helper()
	process, wait := w.Begin(t, nil, "local-host")
	var mu sync.Mutex
	writes := 0
	rule := func(r *http.Request) lab.Fault {
		if !lab.Writes(r) || !w.Saw("started move") || w.Saw("done move") {
			return lab.NoFault
		}
		mu.Lock()
		defer mu.Unlock()
		if writes++; writes < n {
			return lab.NoFault
		}
		_ = process.Kill() // it may have ended
		return end
	}
	w.MgmtFront.Fail(rule)
	defer w.MgmtFront.Fail(nil)
	if f := w.Kinds.Front(w.Name); f != nil {
		f.Fail(rule)
		defer f.Fail(nil)
	}
	return wait()
}

func TestAnInterruptionStopsSafelyAndTheNextRunGoesOn(t *testing.T) {
	t.Parallel()
	w := lab.NewWorld(t, lab.WorldOptions{})
	w.Hold(func(o *lab.Object) bool { return o.GetName() == lab.Management && o.GetKind() == "Cluster" })

	process, wait := w.Begin(t, nil, "local-host")
	lab.Until(t, "the run to wait for the kubeconfig", func(context.Context) (bool, error) { return w.Saw("started cluster-kubeconfig"), nil })
	if err := process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	r := wait()

	if r.Code == 0 {
		t.Error(r)
	}
	if took := time.Since(began); took > time.Minute {
		t.Errorf("it took %s to stop", took)
	}
	says(t, r.Err, "krops-bootstrap local-host")
	w.Hold(nil)
	good(t, w.Krops(t, nil, "local-host"))
	pivoted(t, w)
}

func TestTwoRunsOfOneNameDoNotMeet(t *testing.T) {
	t.Parallel()
	w := lab.NewWorld(t, lab.WorldOptions{})
	w.Hold(func(o *lab.Object) bool { return o.GetKind() == "Cluster" })

	_, wait := w.Begin(t, map[string]string{"BOOTSTRAP_PIVOT": "0"}, "local-host")
	lab.Until(t, "the first run to be under way", func(context.Context) (bool, error) { return w.Saw("done create-kind"), nil })
	second := w.Krops(t, nil, "local-host")
	down := w.Krops(t, nil, "teardown", "local-host")
	w.Hold(nil)
	first := wait()

	for _, r := range []lab.Run{second, down} {
		if r.Code == 0 || len(r.Done()) > 0 {
			t.Errorf("a second run was let in: %s", r)
		}
	}
	good(t, first)
	// What is not pivoted is torn down too.
	good(t, w.Krops(t, nil, "teardown", "local-host"))
	clean(t, w)
}

func TestTwoRunsOfDistinctNamesDoNotMind(t *testing.T) {
	t.Parallel()
	a := lab.NewWorld(t, lab.WorldOptions{Name: "a"})
	b := lab.NewWorld(t, lab.WorldOptions{Name: "b"})
	shared := map[string]string{"XDG_STATE_HOME": filepath.Join(a.Home, ".state"), "BOOTSTRAP_PIVOT": "0"}

	_, one := a.Begin(t, shared, "local-host")
	_, other := b.Begin(t, shared, "local-host")

	good(t, one())
	good(t, other())
}

func TestATeardownWhoseAPIIsSilentRemovesNothing(t *testing.T) {
	t.Parallel()
	w := lab.NewWorld(t, lab.WorldOptions{})
	good(t, w.Krops(t, nil, "local-host"))
	if err := w.Mgmt.Server().Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	before := w.Engine.Names()

	r := w.Krops(t, nil, "teardown", "local-host")

	if r.Code == 0 {
		t.Error(r)
	}
	if diff := cmp.Diff(before, w.Engine.Names()); diff != "" {
		t.Errorf("containers (-before +after):\n%s\n%s", diff, r)
	}
	if err := w.Mgmt.Server().Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	good(t, w.Krops(t, nil, "teardown", "local-host"))
	clean(t, w)
}
