//go:build lab

package app_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-ops/holdfast/internal/host"
	"github.com/holdfast-ops/holdfast/internal/linux/cgroup"
	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/driver/app"
	"github.com/holdfast-ops/holdfast/internal/om/driver/drivertest"
	"github.com/holdfast-ops/holdfast/internal/om/instance"
)

// lives is a command that ends by itself, once the test says so.
const lives = "until test -e {dir}/over; do sleep 0.05; done"

// over ends what lives, with a file, whose name it returns.
func over(t *testing.T, f *drivertest.Fixture) string {
	t.Helper()
	name := filepath.Join(f.Dir, "over")
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// The laws again, with the processes in control groups of the kernel.
func TestSimpleGrouped(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Fatal("the lab runs as root")
	}
	tree, err := cgroup.Open()
	if err != nil {
		t.Fatal(err)
	}
	grouped := func(config string) drivertest.Case {
		return drivertest.Case{Spec: app.Simple, Real: true, Grouped: true, Config: "start_grace = 10ms\n" + config}
	}
	drivertest.Run(t, grouped("start = /bin/sleep 300\n"))
	drivertest.Run(t, drivertest.Case{Spec: app.Forking, Real: true, Grouped: true, Config: "start = touch {dir}/up && true\nstop = rm {dir}/up && true\ncheck = test -f {dir}/up\n"})

	t.Run("what only looks needs no group: the check and the info of a stopped instance run", func(t *testing.T) {
		t.Parallel()
		f := drivertest.New(t, drivertest.Case{
			Spec: app.Forking, Real: true, Grouped: true,
			Config: "check = /bin/false\nretcodes = 0:up 1:n/a\ninfo = /bin/echo color:blue\nstop = /bin/touch {dir}/stopped\n",
		}, nil)
		if s := f.Resource(); s.Status != cluster.NotApplicable || len(s.Log) > 0 {
			t.Errorf("status %s %v", s.Status, s.Log)
		}
		info, err := f.Info(t.Context(), drivertest.Path(), instance.Request{}, true)
		if err != nil || !slices.ContainsFunc(info, func(i instance.ResourceInfo) bool { return i.Key == "color" && i.Value == "blue" }) {
			t.Errorf("info %v, %v", info, err)
		}
		f.Must(instance.Stop) // of what was not started by us: the group is made for it
		if _, err := os.Stat(filepath.Join(f.Dir, "stopped")); err != nil {
			t.Error(err)
		}
	})

	t.Run("a process is born in its group, which moves nobody", func(t *testing.T) {
		t.Parallel()
		if !tree.Unified() {
			t.Skip("only groups of version 2 can be born in")
		}
		var log strings.Builder
		f := drivertest.New(t, grouped("start = /bin/sleep 300\n"), &log)
		r := &births{Runner: f.Host.Runner}
		f.Host.Runner = r
		f.Must(instance.Start)
		_, after, _ := strings.Cut(log.String(), "--pg ")
		group, _, _ := strings.Cut(after, " ")
		if r.group != tree.Dir(group) {
			t.Errorf("started in %q, group %s", r.group, group)
		}
		if pids := procs(t, tree, group); len(pids) != 1 {
			t.Errorf("processes %v", pids)
		}
	})

	t.Run("what leaves the session stays in the group, is seen and is stopped, and the group goes", func(t *testing.T) {
		t.Parallel()
		var log strings.Builder
		f := drivertest.New(t, grouped("start = setsid sleep 304 & setsid sleep 305 & exec sleep 300 | cat\n"), &log)
		f.Must(instance.Start)
		_, after, _ := strings.Cut(log.String(), "--pg ")
		group, _, _ := strings.Cut(after, " ")
		if !strings.HasPrefix(group, "/opensvc.slice/opensvc-root.") || !strings.HasSuffix(group, "-ns.test-svc.svc-app.1.slice") {
			t.Errorf("group %q", group)
		}
		for len(procs(t, tree, group)) < 5 { // sh, cat and three sleeps
			if t.Context().Err() != nil {
				t.Fatal("the processes did not come")
			}
		}
		f.Must(instance.Stop)
		if left := procs(t, tree, group); len(left) > 0 {
			t.Errorf("left: %v", left)
		}
		if _, err := os.Stat(tree.Dir(group)); !os.IsNotExist(err) {
			t.Error("the group is left behind:", err)
		}
	})

	t.Run("nothing is left of a group whose process died by itself, or never ran", func(t *testing.T) {
		t.Parallel()
		for _, c := range []struct{ config, verb string }{
			{"start = " + lives + "\n", "dies"}, {"start = /bin/false\nstart_grace = 10s\n", "fails"},
		} {
			var log strings.Builder
			f := drivertest.New(t, grouped(c.config), &log)
			if err := f.Do(instance.Start); (err != nil) != (c.verb == "fails") {
				t.Fatalf("a start that %s: %v", c.verb, err)
			}
			over(t, f)
			_, after, _ := strings.Cut(log.String(), "--pg ")
			group, _, _ := strings.Cut(after, " ")
			for f.Resource().Status == cluster.Up {
				if t.Context().Err() != nil {
					t.Fatal("still up")
				}
			}
			f.Must(instance.Stop)
			if _, err := os.Stat(tree.Dir(group)); group == "" || !os.IsNotExist(err) {
				t.Errorf("a start that %s leaves the group %q behind: %v", c.verb, group, err)
			}
		}
	})

	t.Run("what escaped a dead process is told and ended", func(t *testing.T) {
		t.Parallel()
		f := drivertest.New(t, grouped("start = setsid sleep 306 & "+lives+" | cat\n"), nil)
		f.Must(instance.Start)
		over(t, f)
		for f.Resource().Status == cluster.Up {
			if t.Context().Err() != nil {
				t.Fatal("still up")
			}
		}
		if s := f.Resource(); s.Status != cluster.Down || len(s.Log) != 1 || !strings.Contains(s.Log[0].Message, "has ended but left process ") {
			t.Errorf("status %s %v", s.Status, s.Log)
		}
		f.Must(instance.Stop)
		if s := f.Resource(); s.Status != cluster.Down {
			t.Errorf("status %s %v", s.Status, s.Log)
		}
	})

	t.Run("a start ends what a former one left in the group, a failed one what it started", func(t *testing.T) {
		t.Parallel()
		var log strings.Builder
		// An environment that says nothing: the group alone tells.
		f := drivertest.New(t, grouped("start = true; setsid env -i /bin/sleep 307 & "+lives+"\n"), &log)
		group := func() string {
			_, after, _ := strings.Cut(log.String(), "--pg ")
			name, _, _ := strings.Cut(after, " ")
			return name
		}
		for range 3 {
			f.Must(instance.Start)
			over := over(t, f)
			for f.Resource().Status == cluster.Up {
				if t.Context().Err() != nil {
					t.Fatal("still up")
				}
			}
			if left := procs(t, tree, group()); len(left) != 1 {
				t.Errorf("left: %v", left)
			}
			if err := os.Remove(over); err != nil {
				t.Fatal(err)
			}
		}
		f.Configure(grouped("start = true; setsid env -i /bin/sleep 308 & exit 0\nstart_grace = 10s\n"))
		if err := f.Run(t.Context(), drivertest.Path(), instance.Request{Action: instance.Start, DisableRollback: true}); err == nil {
			t.Error("the start succeeded")
		}
		if left := procs(t, tree, group()); len(left) > 0 {
			t.Errorf("left by the failed start: %v", left)
		}
	})
}

// births remembers where processes are born.
type births struct {
	host.Runner

	group string
}

func (b *births) Start(c host.Cmd) (host.Process, error) {
	b.group = c.Cgroup
	return b.Runner.Start(c)
}

func procs(t *testing.T, tree *cgroup.Tree, group string) []int {
	t.Helper()
	pids, err := tree.Procs(group)
	if err != nil {
		t.Fatal(err)
	}
	return pids
}
