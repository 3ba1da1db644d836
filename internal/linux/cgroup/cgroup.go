// Package cgroup puts the processes of a resource in a control group, to know
// later which processes are its own, whatever they became.
//
// Grouping uses one tree: the unified one where there is one (alone or beside
// version 1 controllers), else a version 1 tree. The work on it is done by
// opencontainers/cgroups, the library of runc: its start-up cost is 0.1 ms, that
// of containerd/cgroups is 2.5 ms and 8 MB in every command.
package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/opencontainers/cgroups"
	"golang.org/x/sys/unix"
)

// Mount is where the control group filesystems of a host are.
const Mount = "/sys/fs/cgroup"

// Tree is a control group hierarchy. Groups are named by absolute slash
// separated names, as in /proc/<pid>/cgroup.
type Tree struct {
	mount   string
	unified bool
}

// Open finds the tree of the host. The error says why there is none.
func Open() (*Tree, error) { return find(Mount) }

// At is the tree mounted on a directory.
func At(mount string, unified bool) *Tree { return &Tree{mount: mount, unified: unified} }

func find(mount string) (*Tree, error) {
	if isType(mount, unix.CGROUP2_SUPER_MAGIC) {
		return At(mount, true), nil
	}
	if sub := filepath.Join(mount, "unified"); isType(sub, unix.CGROUP2_SUPER_MAGIC) {
		return At(sub, true), nil
	}
	for _, name := range []string{"systemd", "pids", "freezer", "cpu", "memory"} {
		if sub := filepath.Join(mount, name); isType(sub, unix.CGROUP_SUPER_MAGIC) {
			return At(sub, false), nil
		}
	}
	return nil, fmt.Errorf("no control group filesystem is mounted on %s", mount)
}

func isType(dir string, magic int64) bool {
	var st unix.Statfs_t
	return unix.Statfs(dir, &st) == nil && int64(st.Type) == magic //nolint:unconvert // the width depends on the architecture
}

// Unified reports whether the tree is of version 2.
func (t *Tree) Unified() bool { return t.unified }

// Dir is the directory of a group.
func (t *Tree) Dir(group string) string { return filepath.Join(t.mount, filepath.Clean("/"+group)) }

// Usable says why the running process may not make a group; nil when it may.
func (t *Tree) Usable(group string) error {
	dir := t.Dir(group)
	for dir != filepath.Clean(t.mount) {
		if _, err := os.Stat(dir); err == nil {
			break
		}
		dir = filepath.Dir(dir)
	}
	if err := unix.Access(dir, unix.W_OK); err != nil {
		return fmt.Errorf("control group %s: %w", group, &fs.PathError{Op: "write in", Path: dir, Err: err})
	}
	return nil
}

// Create makes a group, and those above it.
func (t *Tree) Create(group string) error {
	var err error
	for range 1000 {
		err = os.MkdirAll(t.Dir(group), 0o755) //nolint:gosec // the mode of the kernel
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrExist) {
			break
		}
		// Who deletes another group removes those left empty above it, perhaps the
		// one that was just made here.
	}
	if err != nil {
		return fmt.Errorf("control group %s: %w", group, err)
	}
	return nil
}

// Join moves the running process, all its threads, into a group, which is made
// if need be.
func (t *Tree) Join(group string) error {
	if t.joined(group) {
		return nil
	}
	var err error
	for range joinTries {
		if err = t.Create(group); err == nil {
			err = cgroups.WriteCgroupProc(t.Dir(group), 0)
		}
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, unix.ENODEV) {
			break
		}
		// Who is done with the group found nobody in it, and removed it meanwhile.
	}
	if err != nil {
		return fmt.Errorf("join control group %s: %w", group, err)
	}
	return nil
}

// joined reports whether the running process was born in the group: moving it there
// again would cost as much as moving it.
func (t *Tree) joined(group string) bool {
	if !t.unified {
		return false
	}
	b, err := os.ReadFile("/proc/self/cgroup")
	return err == nil && slices.Contains(strings.Split(string(b), "\n"), "0::"+filepath.Clean("/"+group))
}

// joinTries is how often a group is made again under who removes it.
const joinTries = 50

// Procs lists the processes of a group and of those below it. A group that does
// not exist has none.
func (t *Tree) Procs(group string) ([]int, error) {
	pids, err := procs(t.Dir(group))
	if err != nil {
		return nil, fmt.Errorf("processes of control group %s: %w", group, err)
	}
	return pids, nil
}

func procs(dir string) ([]int, error) {
	pids, err := cgroups.GetAllPids(dir)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENODEV) {
		return nil, nil
	}
	return pids, err
}

// Kill sends KILL to every process of a group and of those below it, at once,
// so that none escapes by forking. It tells whether the kernel can: only trees
// of version 2 can, since Linux 5.14.
func (t *Tree) Kill(group string) (bool, error) {
	f, err := os.OpenFile(filepath.Join(t.Dir(group), "cgroup.kill"), os.O_WRONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("kill control group %s: %w", group, err)
	}
	_, err = f.WriteString("1")
	return true, errors.Join(err, f.Close())
}

// Delete removes a group and those below it when they hold no process, then the
// groups above it that became empty. Groups in use stay, without an error.
func (t *Tree) Delete(group string) error {
	dir := t.Dir(group)
	if dir == filepath.Clean(t.mount) {
		return errors.New("the root control group cannot be deleted")
	}
	if err := removeIdle(dir); err != nil {
		return fmt.Errorf("delete control group %s: %w", group, err)
	}
	up := filepath.Dir(dir)
	for up != filepath.Clean(t.mount) && unix.Rmdir(up) == nil {
		up = filepath.Dir(up)
	}
	return nil
}

// removeIdle removes the directory of a group and those below it, but not those
// that hold a process.
func removeIdle(dir string) error {
	pids, err := procs(dir)
	if err != nil {
		return err
	}
	if len(pids) == 0 {
		err := cgroups.RemovePath(dir)
		if errors.Is(err, unix.EBUSY) || errors.Is(err, unix.ENOTEMPTY) {
			return nil // a process, or a group, came meanwhile
		}
		return err
	}
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if e.IsDir() {
			err = errors.Join(err, removeIdle(filepath.Join(dir, e.Name())))
		}
	}
	return err
}
