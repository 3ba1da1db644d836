package instance_test

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/instance"
)

// The main job: a process is started, watched and stopped, and each step is told.
func TestFirstService(t *testing.T) {
	t.Parallel()
	f := native(t, "\n[app#1]\ntype = simple\nstart = /bin/sleep 300\n")
	f.stopAfter()

	if s := f.status(); s.Avail != cluster.Down || s.Overall != cluster.Down {
		t.Errorf("before the start: %s, %s", s.Avail, s.Overall)
	}

	f.run(instance.Start)

	want := strings.Join([]string{
		"INF web: >>> do start [om web instance start] (origin user, sid SID)",
		"INF web: app#1: run: om exec -- /bin/sleep 300",
		"INF web: <<< done start [om web instance start] in D, instance status is now up",
		"",
	}, "\n")
	if diff := cmp.Diff(want, f.out.text()); diff != "" {
		t.Error(diff)
	}
	s := f.status()
	app := s.Resources["app#1"]
	if s.Avail != cluster.Up || app.Status != cluster.Up || app.Type != "app.simple" || app.Provisioned.State != cluster.ProvisionedNotApplicable {
		t.Errorf("after the start: %+v", s)
	}
	if s.LastStartedAt.IsZero() {
		t.Error("the start is not dated")
	}
	pid, ok := app.Info["pid"].(int)
	if !ok {
		t.Fatalf("info %v, want a pid", app.Info)
	}

	f.out.reset()
	f.run(instance.Start)
	if !strings.Contains(f.out.text(), "instance status is now up") || strings.Contains(f.out.text(), "run:") {
		t.Errorf("a second start did something:\n%s", f.out.text())
	}

	f.out.reset()
	f.run(instance.Stop)

	want = strings.Join([]string{
		"INF web: >>> do stop [om web instance stop] (origin user, sid SID)",
		"INF web: app#1: send termination signal to process N",
		"INF web: app#1: process N is now terminated",
		"INF web: <<< done stop [om web instance stop] in D, instance status is now down",
		"",
	}, "\n")
	if diff := cmp.Diff(want, f.out.text()); diff != "" {
		t.Error(diff)
	}
	if b, err := os.ReadFile("/proc/" + itoa(pid) + "/cmdline"); err == nil && strings.Contains(string(b), "sleep") {
		t.Errorf("process %d is still there: %q", pid, b)
	}
	if s := f.status(); s.Avail != cluster.Down {
		t.Errorf("after the stop: %s", s.Avail)
	}

	f.out.reset()
	f.run(instance.Delete)
	if f.Store.Exists(web) {
		t.Error("the configuration is still there")
	}
}
