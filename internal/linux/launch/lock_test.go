package launch_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-ops/holdfast/internal/linux/launch"
)

func TestLock(t *testing.T) {
	t.Parallel()

	t.Run("a launch whose launcher is gone is waited for, then its process is known", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		record, gate := filepath.Join(dir, "state", "process"), filepath.Join(dir, "gate")
		if err := syscall.Mkfifo(gate, 0o600); err != nil {
			t.Fatal(err)
		}
		lock, err := launch.TakeLock(t.Context(), record)
		if err != nil {
			t.Fatal(err)
		}
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		o := launch.Options{Record: record, Lock: 3, Argv: []string{"sleep", "300"}}
		// What a process does between its fork and its record takes as long as the gate.
		slow := []string{"-c", `read x < "$0" && exec "$@"`, gate, self}
		cmd := exec.CommandContext(t.Context(), "/bin/sh", append(slow, o.Args()...)...) //nolint:forbidigo // the test binary itself
		cmd.Env = append(os.Environ(), "LAUNCH_TEST=1")
		cmd.ExtraFiles = []*os.File{lock.File()}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if err := lock.Close(); err != nil { // as the end of the launcher does
			t.Fatal(err)
		}

		short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		err = launch.Settle(short, record)
		if busy, ok := errors.AsType[*launch.BusyError](err); !ok || !strings.Contains(busy.Error(), "a start is in progress") {
			t.Errorf("while it is launched: %v", err)
		}
		if _, err := launch.TakeLock(short, record); err == nil {
			t.Error("a second launch is let in")
		}

		if err := os.WriteFile(gate, []byte("go\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := launch.Settle(t.Context(), record); err != nil {
			t.Fatal(err)
		}
		if r, err := launch.ReadRecord(record); err != nil || r.Pid != cmd.Process.Pid || !r.Alive() {
			t.Errorf("the record says %+v, %v, want process %d", r, err, cmd.Process.Pid)
		}
		other, err := launch.TakeLock(t.Context(), record) // while the command runs
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(other.Close(), cmd.Process.Kill()); err != nil {
			t.Error(err)
		}
		_ = cmd.Wait()
	})

	t.Run("nothing was launched: nothing to wait for, nothing made", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		if err := launch.Settle(t.Context(), filepath.Join(dir, "state", "process")); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(filepath.Join(dir, "state")); !errors.Is(err, os.ErrNotExist) {
			t.Error(err)
		}
	})

	t.Run("a lock whose file was deleted is none", func(t *testing.T) {
		t.Parallel()
		record := filepath.Join(t.TempDir(), "process")
		lock, err := launch.TakeLock(t.Context(), record)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(record + ".lock"); err != nil {
			t.Fatal(err)
		}
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		o := launch.Options{Record: record, Lock: 3, Argv: []string{"true"}}
		cmd := exec.CommandContext(t.Context(), self, o.Args()...) //nolint:forbidigo // the test binary itself
		cmd.Env = append(os.Environ(), "LAUNCH_TEST=1")
		cmd.ExtraFiles = []*os.File{lock.File()}
		out, err := cmd.CombinedOutput()
		if err == nil || !strings.Contains(string(out), "lock of the record on descriptor 3: stat ") {
			t.Errorf("%s, %v", out, err)
		}
		if err := lock.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestARecordThatSaysNothingIsNotNobody(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]string{
		"": "it is empty", "\n": "it is empty", "{}": "it names no process", "null": "it names no process",
		`{"pid":`: "unexpected end", "\x00\x00\x00": "invalid character",
	} {
		name := filepath.Join(t.TempDir(), "process")
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := launch.ReadRecord(name)
		if _, ok := errors.AsType[*launch.RecordError](err); !ok || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", content, err, want)
		}
		if _, errs, err := run(t, launch.Options{Record: name, Argv: []string{"true"}}); err == nil || !strings.Contains(errs, want) {
			t.Errorf("launch beside %q: %s, %v", content, errs, err)
		}
	}
	if _, err := launch.ReadRecord(filepath.Join(t.TempDir(), "process")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no record: %v", err)
	}
}
