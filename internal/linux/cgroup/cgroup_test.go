package cgroup_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/opencontainers/cgroups"

	"github.com/holdfast-ops/holdfast/internal/linux/cgroup"
)

// TestMain lets the library work on plain directories.
func TestMain(m *testing.M) {
	cgroups.TestMode = true
	os.Exit(m.Run()) //nolint:forbidigo // how a test binary ends
}

func TestTree(t *testing.T) {
	t.Parallel()

	t.Run("groups are made with those above them and removed with those left empty", func(t *testing.T) {
		t.Parallel()
		mount := t.TempDir()
		tree := cgroup.At(mount, true)
		for _, g := range []string{"/a.slice/b.slice/c.slice", "/a.slice/d.slice"} {
			if err := tree.Create(g); err != nil {
				t.Fatal(err)
			}
		}

		if err := tree.Delete("/a.slice/b.slice"); err != nil {
			t.Fatal(err)
		}

		if _, err := os.Stat(filepath.Join(mount, "a.slice", "b.slice")); !os.IsNotExist(err) {
			t.Error("b.slice is still there:", err)
		}
		if _, err := os.Stat(filepath.Join(mount, "a.slice", "d.slice")); err != nil {
			t.Error("d.slice is gone:", err)
		}
		if err := tree.Delete("/a.slice/d.slice"); err != nil {
			t.Fatal(err)
		}
		if left, err := os.ReadDir(mount); err != nil || len(left) != 0 {
			t.Errorf("left: %v, %v, want nothing", left, err)
		}
	})

	t.Run("groups made and removed at the same time do not disturb each other", func(t *testing.T) {
		t.Parallel()
		tree := cgroup.At(t.TempDir(), true)
		var all sync.WaitGroup
		for i := range 4 {
			group := fmt.Sprintf("/top/middle/%d", i)
			all.Go(func() {
				for range 50 {
					if err := errors.Join(tree.Create(group), tree.Delete(group)); err != nil {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
	})

	t.Run("the processes of a group are those of the groups below too", func(t *testing.T) {
		t.Parallel()
		mount := t.TempDir()
		tree := cgroup.At(mount, false)
		for group, pids := range map[string]string{"/a": "1\n2\n", "/a/b": "3\n", "/c": "4\n"} {
			if err := tree.Create(group); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(mount, group, "cgroup.procs"), []byte(pids), 0o600); err != nil {
				t.Fatal(err)
			}
		}

		pids, err := tree.Procs("/a")
		slices.Sort(pids)

		if err != nil || !slices.Equal(pids, []int{1, 2, 3}) {
			t.Errorf("processes %v, %v", pids, err)
		}
		if none, err := tree.Procs("/nowhere"); err != nil || none != nil {
			t.Errorf("processes of a missing group: %v, %v", none, err)
		}
	})

	t.Run("a name cannot leave the tree", func(t *testing.T) {
		t.Parallel()
		mount := t.TempDir()
		tree := cgroup.At(filepath.Join(mount, "tree"), true)
		if got, want := tree.Dir("../../etc"), filepath.Join(mount, "tree", "etc"); got != want {
			t.Errorf("directory %s, want %s", got, want)
		}
		if err := tree.Delete("/.."); err == nil {
			t.Error("the root was deleted")
		}
	})
}
