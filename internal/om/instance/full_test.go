package instance_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/instance"
)

// Where nothing can be written any more, what runs must still be seen and stopped,
// and results say what happened.
func TestAFullDisk(t *testing.T) {
	t.Parallel()
	f := faked(t, "[app#1]\n")
	f.run(instance.Start)
	dir := filepath.Join(f.Host.Paths.Var(), web.StateDir())
	lock, status := filepath.Join(dir, "lock", "generic"), filepath.Join(dir, "status.json")
	err := errors.Join(
		os.Remove(lock), os.Symlink("/dev/full", lock), // can be locked, not written
		os.Remove(status), os.MkdirAll(filepath.Join(status, "x"), 0o700), // cannot be replaced
		os.Remove(filepath.Join(dir, "last_start")), os.Symlink("/dev/full/x", filepath.Join(dir, "last_start")),
	)
	if err != nil {
		t.Fatal(err)
	}

	for range 2 {
		if s := f.status(); s.Avail != cluster.Up {
			t.Errorf("avail %s", s.Avail)
		}
	}
	if said := strings.Count(f.out.text(), "WRN web: status not kept: keep the status: "); said != 1 {
		t.Errorf("told %d times:\n%s", said, f.out.text())
	}
	f.run(instance.Freeze)
	if s := f.status(); s.FrozenAt.IsZero() {
		t.Error("not frozen")
	}
	f.run(instance.Unfreeze)
	f.run(instance.Stop)
	if s := f.status(); s.Avail != cluster.Down {
		t.Errorf("avail %s", s.Avail)
	}
	f.run(instance.Start)
	if text := f.out.text(); !strings.Contains(text, "WRN web: the time of the start is not kept: ") {
		t.Errorf("logged:\n%s", text)
	}

	// Neither can the flags be raised.
	for _, sub := range []string{"stopped", "app#1/stopped"} {
		if err := errors.Join(os.RemoveAll(filepath.Join(dir, sub)), os.MkdirAll(filepath.Join(dir, filepath.Dir(sub)), 0o700), os.Symlink("/dev/full/x", filepath.Join(dir, sub))); err != nil {
			t.Fatal(err)
		}
	}
	f.run(instance.Stop, rid("app#1"))
	if s := f.status(); s.Avail != cluster.Down {
		t.Errorf("avail %s", s.Avail)
	}
	if text := f.out.text(); !strings.Contains(text, "WRN web: app#1: stopped flag: ") {
		t.Errorf("logged:\n%s", text)
	}
}
