package inventory_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

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
