package inventory_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-ops/holdfast/internal/host"
	"github.com/holdfast-ops/holdfast/internal/om/inventory"
)

// Some files of the kernel, as /proc/kmsg, say they are regular and have a reader
// wait for ever.
func TestATrackedFileWithoutEnd(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := os.OpenFile(name, os.O_RDWR|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	ended := make(chan error, 1)
	go func() {
		_, err := inventory.ReadWithin(file, time.Millisecond)
		ended <- err
	}()
	late := time.NewTimer(time.Minute)
	defer late.Stop()
	select {
	case err := <-ended:
		if err == nil || !strings.Contains(err.Error(), "no end") {
			t.Errorf("a file without end is read: %v", err)
		}
	case <-late.C:
		t.Fatal("the report waits for a file that has no end")
	}
}

// A command whose output has no end is ended once it has printed too much, long
// before the limit of its time, and the report says so.
func TestATrackedCommandWithoutEnd(t *testing.T) {
	t.Parallel()
	n := machine(t, nil, "")
	n.Host.Runner = host.NewRunner()
	write(t, filepath.Join(n.Host.Paths.Etc(), "sysreport.conf.d/system"), "CMD sh -c 'while :; do echo 0123456789012345678901234567890123456789012345678901234567890123456789; done'\nCMD echo there\n", 0o600)

	r, err := n.Report(t.Context(), true)
	if err != nil {
		t.Fatal(err)
	}

	if len(r.Errors) != 1 || !strings.Contains(r.Errors[0], "ended: it prints more than 1048576 bytes") && !strings.Contains(r.Errors[0], "ended: it still ran after") {
		t.Errorf("errors %q", r.Errors)
	}
	if !strings.Contains(strings.Join(changed(r), "\n"), "CMD echo there") {
		t.Errorf("what follows is not tracked: %v", changed(r))
	}
}
