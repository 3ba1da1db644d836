package instance_test

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/holdfast-ops/holdfast/internal/host"
	"github.com/holdfast-ops/holdfast/internal/om/instance"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

func TestTheHolderOfTheLockIsTold(t *testing.T) {
	t.Parallel()
	p := object.Path{Namespace: "root", Kind: object.KindSvc, Name: "hello"}
	e := &instance.Engine{Host: host.Host{Paths: host.Paths{Root: t.TempDir()}}}
	name := filepath.Join(e.Host.Paths.Var(), p.StateDir(), "lock", "generic")

	if got := e.LockHolder(p); got != "" {
		t.Errorf("without a lock file the holder is %q", got)
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(`{"pid":1,"intent":"start"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := e.LockHolder(p); got != "" {
		t.Errorf("a stale lock is held by %q", got)
	}
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	if got := e.LockHolder(p); got != "start" {
		t.Errorf("the lock is held by %q, want start", got)
	}
}
