package krops_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-ops/holdfast/internal/cli/iostreams"
	"github.com/holdfast-ops/holdfast/internal/cli/program"
	"github.com/holdfast-ops/holdfast/internal/krops"
	"github.com/holdfast-ops/holdfast/internal/krops/plan"
	"github.com/holdfast-ops/holdfast/internal/krops/run"
)

func TestAnEmptyProfileIsNotTheDefault(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"", "teardown", "plan", "plan teardown", "status", "doctor", "orphans"} {
		code, out, errs := krop(t, configured(t), append(strings.Fields(command), "")...)
		if code != 2 || out != "" || !strings.Contains(errs, "PROFILE is empty") {
			t.Errorf("%q: %d, %q, %q", command, code, out, errs)
		}
	}
}

func TestAMistypedCommandIsHinted(t *testing.T) {
	t.Parallel()
	code, _, errs := krop(t, configured(t), "teardwn")
	want := "Error: unsupported profile 'teardwn' (expected 'local-host' or 'aws' or 'local-talos' or 'azure' or 'gcp')\n\ndid you mean the command teardown?\n"
	if code != 1 || errs != want {
		t.Errorf("%d, %q", code, errs)
	}
	if _, _, errs := krop(t, configured(t), "a\x1b[2Jb"); !strings.HasPrefix(errs, `Error: unsupported profile 'a\x1b[2Jb' (`) {
		t.Errorf("%q", errs)
	}
}

func TestWithoutAHomeNothingIsBegun(t *testing.T) {
	t.Parallel()
	for _, verb := range []string{"", "teardown"} {
		for _, env := range []string{"XDG_STATE_HOME=" + t.TempDir(), "MGMT_KUBECONFIG=/tmp/m.yaml", "A=b"} {
			s, _, o, e := iostreams.Test()
			code := krops.Run(t.Context(), program.Process{Args: append(strings.Fields(verb), "local-host"), Environ: append(configured(t), env), Streams: s})
			if code != 1 || o.String() != "" || !strings.Contains(e.String(), "HOME") || !strings.Contains(e.String(), "set HOME, or XDG_STATE_HOME and MGMT_KUBECONFIG") {
				t.Errorf("%s with %s: %d, %q, %q", verb, env, code, o, e)
			}
		}
	}
}

func TestDoctorFailsWhereARunIsRefused(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "mgmt.yaml")
	if err := os.WriteFile(file, []byte("garbage"), 0o600); err != nil {
		t.Fatal(err)
	}
	silent := &obliging{truth: plan.World{}.With("target/inventory", plan.Failed("no kubeconfig"))}
	code, out, _ := carried(t, silent, []string{"MGMT_KUBECONFIG=" + file}, "doctor", "local-host")
	if code != 1 || !strings.Contains(out, "✗   mgmt-kubeconfig: "+file) || !strings.Contains(out, "move the file away") {
		t.Errorf("%d: %s", code, out)
	}
	young := &obliging{truth: silent.truth.With("host/kind-cluster", plan.Present()).With("source/inventory", plan.Present())}
	if _, out, _ := carried(t, young, []string{"MGMT_KUBECONFIG=" + file}, "doctor", "local-host"); !strings.Contains(out, "!   mgmt-kubeconfig: "+file) {
		t.Error(out)
	}

	state := t.TempDir()
	lock, err := run.Acquire(filepath.Join(state, "krops"), "mgmt", run.Holder{PID: 1, Host: "box", Command: "x", Since: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = lock.Release() }()
	if code, out, _ := carried(t, &obliging{}, []string{"XDG_STATE_HOME=" + state}, "doctor", "local-host"); code != 1 || !strings.Contains(out, "✗   state: ") {
		t.Errorf("held: %d: %s", code, out)
	}
	state = t.TempDir()
	if err := os.MkdirAll(filepath.Join(state, "krops", "mgmt.lock"), 0o700); err != nil {
		t.Fatal(err)
	}
	if code, out, _ := carried(t, &obliging{}, []string{"XDG_STATE_HOME=" + state}, "doctor", "local-host"); code != 1 || !strings.Contains(out, "✗   state: ") || !strings.Contains(out, "is a directory") {
		t.Errorf("directory: %d: %s", code, out)
	}
}
