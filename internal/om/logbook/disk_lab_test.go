//go:build lab

package logbook_test

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/holdfast-ops/holdfast/internal/host"
	"github.com/holdfast-ops/holdfast/internal/om/logbook"
)

// On a real file system that is full: what cannot be written is told afterwards, and
// nothing that could be is damaged.
//
//nolint:paralleltest // it mounts
func TestADiskThatIsFull(t *testing.T) {
	root := t.TempDir()
	if err := unix.Mount("tmpfs", root, "tmpfs", 0, "size=256k"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(root, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	book := logbook.Open(host.Paths{Root: root})
	log := slog.New(book.Handler("n1", slog.LevelInfo))
	log.Info("before")
	filler := filepath.Join(root, "filler")
	if err := os.WriteFile(filler, bytes.Repeat([]byte{1}, 1<<20), 0o600); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("the disk is not full: %v", err)
	}
	long := slog.String("reason", strings.Repeat("x", 1000))
	for range 100 { // until what is left of the last page is used, too
		log.Info("during", long)
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	log.Info("after")

	lines, err := book.Read(logbook.Filter{}, 0)
	if err != nil || len(lines) < 3 {
		t.Fatalf("%d lines, %v", len(lines), err)
	}
	first, told, last := lines[0], lines[len(lines)-2], lines[len(lines)-1]
	if first.Message != "before" || last.Message != "after" || told.Level != "warn" || !strings.Contains(told.Err, "no space left") || !strings.Contains(string(told.Raw), `"lost":`) {
		t.Errorf("first %q, told %s, last %q", first.Message, told.Raw, last.Message)
	}
}
