//go:build lab

package cgroup_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/containerd/cgroups/v3/cgroup1"
	"github.com/containerd/cgroups/v3/cgroup2"

	"github.com/holdfast-ops/holdfast/internal/linux/cgroup"
)

// Another library, containerd/cgroups, is the judge: it must see in our groups what we put there.
func TestRealTrees(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, mount string
		unified     bool
	}{
		{"version 2", cgroup.Mount, true},
		{"version 2 beside version 1", filepath.Join(cgroup.Mount, "unified"), true},
		{"version 1", filepath.Join(cgroup.Mount, "freezer"), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if b, err := os.ReadFile(filepath.Join(c.mount, "cgroup.procs")); err != nil || len(b) == 0 {
				t.Skipf("%s: no such tree on this host", c.mount)
			}
			if _, err := os.Stat(filepath.Join(c.mount, "cgroup.subtree_control")); (err == nil) != c.unified {
				t.Skipf("%s: a tree of the other version", c.mount)
			}
			tree := cgroup.At(c.mount, c.unified)
			top := fmt.Sprintf("/holdfast-test-%d.slice", os.Getpid())
			group := top + "/inner.slice"
			if err := tree.Create(group); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := tree.Delete(top); err != nil {
					t.Error(err)
				}
				if _, err := os.Stat(tree.Dir(top)); !os.IsNotExist(err) {
					t.Error("the group is left behind:", err)
				}
			})
			script := "echo 0 > " + filepath.Join(tree.Dir(group), "cgroup.procs") + " && echo in && exec sleep 60"
			cmd := exec.Command("/bin/sh", "-c", script) //nolint:noctx,forbidigo // a process to be grouped
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
				_ = cmd.Wait()
			})
			if _, err := out.Read(make([]byte, 3)); err != nil {
				t.Fatal(err)
			}

			ours, err := tree.Procs(top)
			if err != nil {
				t.Fatal(err)
			}
			if theirs := judge(t, c.mount, c.unified, top); fmt.Sprint(ours) != fmt.Sprint(theirs) || len(ours) == 0 {
				t.Errorf("we see %v, the library %v", ours, theirs)
			}
			if err := tree.Delete(top); err != nil {
				t.Error("delete of a group in use:", err)
			}
			if left, err := tree.Procs(group); err != nil || len(left) == 0 {
				t.Errorf("a group in use was deleted: %v, %v", left, err)
			}
			killed, err := tree.Kill(top)
			if err != nil || killed != c.unified {
				t.Errorf("kill: %v, %v, want %v", killed, err, c.unified)
			}
			if killed {
				if err := cmd.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
					t.Errorf("process ended with %v, want killed", err)
				}
			} else {
				_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
				_ = cmd.Wait()
			}
		})
	}
}

func judge(t *testing.T, mount string, unified bool, group string) (pids []int) {
	t.Helper()
	if unified {
		m, err := cgroup2.Load(group, cgroup2.WithMountpoint(mount))
		if err != nil {
			t.Fatal(err)
		}
		list, err := m.Procs(true)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range list {
			pids = append(pids, int(p))
		}
		return pids
	}
	cg, err := cgroup1.Load(cgroup1.StaticPath(group), cgroup1.WithHierarchy(func() ([]cgroup1.Subsystem, error) {
		return []cgroup1.Subsystem{cgroup1.NewFreezer(filepath.Dir(mount))}, nil
	}))
	if err != nil {
		t.Fatal(err)
	}
	list, err := cg.Processes(cgroup1.Freezer, true)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range list {
		pids = append(pids, p.Pid)
	}
	return pids
}
