//go:build lab

package store_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/holdfast-ops/holdfast/internal/host/hosttest"
	"github.com/holdfast-ops/holdfast/internal/om/store"
)

func TestACommitOnAFullDiskLeavesTheOldFile(t *testing.T) {
	t.Parallel()
	s := open(t)
	etc := s.paths.Etc()
	if err := syscall.Mount("tmpfs", etc, "tmpfs", 0, "size=64k"); err != nil {
		hosttest.Skip(t, "mounting a small file system: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(etc, 0); err != nil {
			t.Error(err)
		}
	})
	s.write(t, "web.conf", old)
	err := os.WriteFile(filepath.Join(etc, "ballast"), []byte(strings.Repeat("x", 1<<20)), 0o600)
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("the disk is not full: %v", err)
	}

	_, errUpdate := s.Update(t.Context(), path(t, "web"), set(t, "env.a=new"))
	_, errCreate := s.Create(t.Context(), path(t, "other"), nil, store.CreateOptions{})

	for _, err := range []error{errUpdate, errCreate} {
		if !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("got %v", err)
		}
		fails(t, err, "write the configuration of", "no space left")
	}
	if got := s.read(t, "web.conf"); got != old {
		t.Errorf("got\n%s", got)
	}
	if s.Exists(path(t, "other")) {
		t.Error("half of an object exists")
	}
	if err := os.Remove(filepath.Join(etc, "ballast")); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Update(t.Context(), path(t, "web"), set(t, "env.a=new")); err != nil {
		t.Errorf("with room again: %v", err)
	}
}

func TestADeleteDoesNotEmptyWhatIsMountedInTheState(t *testing.T) {
	t.Parallel()
	s := open(t)
	p := path(t, "web")
	s.write(t, "web.conf", old)
	data := filepath.Join(s.paths.Var(), filepath.FromSlash(p.StateDir()), "fs#1", "with blank")
	if err := os.MkdirAll(data, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", data, "tmpfs", 0, "size=64k"); err != nil {
		hosttest.Skip(t, "mounting a small file system: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(data, 0) })
	precious := filepath.Join(data, "precious")
	if err := os.WriteFile(precious, nil, 0o600); err != nil {
		t.Fatal(err)
	}

	err := s.Delete(t.Context(), p)

	fails(t, err, "delete web", data, "unmount it first")
	if _, err := os.Stat(precious); err != nil || !s.Exists(p) {
		t.Errorf("it was removed: %v", err)
	}
	if err := syscall.Unmount(data, 0); err != nil {
		t.Fatal(err)
	}
	if err := s.Delete(t.Context(), p); err != nil {
		t.Error(err)
	}
}
