package proc_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-ops/holdfast/internal/linux/proc"
)

// spawn runs a shell script in a session of its own and returns its identity.
// The process is killed and collected at the end of the test.
func spawn(t *testing.T, script string, env ...string) (proc.Identity, *exec.Cmd) {
	t.Helper()
	cmd := exec.Command("/bin/sh", "-c", script) //nolint:noctx,forbidigo // the process must outlive nothing but the test
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Env = append(os.Environ(), env...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait()
	})
	id, err := proc.Of(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	return id, cmd
}

func open(t *testing.T, id proc.Identity) *proc.Handle {
	t.Helper()
	h, err := id.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close() })
	return h
}

func TestIdentity(t *testing.T) {
	t.Parallel()

	t.Run("the running process is alive", func(t *testing.T) {
		t.Parallel()
		self, err := proc.Self()
		if err != nil {
			t.Fatal(err)
		}
		if self.Pid != os.Getpid() || !self.Alive() {
			t.Errorf("self = %+v, alive %v", self, self.Alive())
		}
	})

	t.Run("a process of the same number that started at another time is another process", func(t *testing.T) {
		t.Parallel()
		self, err := proc.Self()
		if err != nil {
			t.Fatal(err)
		}
		self.StartTime--
		if self.Alive() {
			t.Error("alive in spite of the start time")
		}
		if _, err := self.Open(); !errors.Is(err, proc.ErrGone) {
			t.Errorf("open: %v, want gone", err)
		}
	})

	t.Run("a process of another boot is another process", func(t *testing.T) {
		t.Parallel()
		self, err := proc.Self()
		if err != nil {
			t.Fatal(err)
		}
		self.BootID = "11111111-2222-3333-4444-555555555555"
		if self.Alive() {
			t.Error("alive in spite of the boot id")
		}
	})

	t.Run("a process that ended is not alive even before its parent collects it", func(t *testing.T) {
		t.Parallel()
		id, _ := spawn(t, "sleep 60")
		h := open(t, id)
		if err := h.Signal(syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		if err := h.WaitGone(t.Context()); err != nil {
			t.Fatal(err)
		}
		if id.Alive() {
			t.Error("alive after its end")
		}
	})
}

func TestWaitGone(t *testing.T) {
	t.Parallel()

	t.Run("a wait ends with its context and can be taken again", func(t *testing.T) {
		t.Parallel()
		id, cmd := spawn(t, "sleep 60")
		h := open(t, id)
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()

		if err := h.WaitGone(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("wait: %v, want deadline exceeded", err)
		}
		if err := syscall.Kill(cmd.Process.Pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		if err := h.WaitGone(t.Context()); err != nil {
			t.Fatal(err)
		}
	})

	t.Run("a signal to a collected process says it is gone", func(t *testing.T) {
		t.Parallel()
		id, cmd := spawn(t, "sleep 60")
		h := open(t, id)
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		if err := h.Signal(syscall.SIGTERM); !errors.Is(err, proc.ErrGone) {
			t.Errorf("signal: %v, want gone", err)
		}
	})
}

func TestSession(t *testing.T) {
	t.Parallel()
	id, _ := spawn(t, "sleep 61 & sleep 62 & wait", "PROC_TEST=yes")
	var members []proc.Identity
	deadline := time.Now().Add(time.Minute)
	for len(members) < 3 && time.Now().Before(deadline) {
		table, err := proc.List(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		members = id.Session(table)
	}
	if len(members) != 3 || !slices.Contains(members, id) {
		t.Fatalf("members %v, want three with the leader %v", members, id)
	}

	t.Run("a number taken by another process leads no session of ours", func(t *testing.T) {
		t.Parallel()
		table := []proc.Process{{Pid: 10, Session: 10, StartTime: 99}, {Pid: 11, Session: 10, StartTime: 100}}
		if got := (proc.Identity{Pid: 10, StartTime: 5}).Session(table); got != nil {
			t.Errorf("members %v, want none", got)
		}
	})

	t.Run("members survive their leader", func(t *testing.T) {
		t.Parallel()
		table := []proc.Process{{Pid: 11, Session: 10, StartTime: 7}, {Pid: 12, Session: 10, StartTime: 8, State: 'Z'}, {Pid: 13, Session: 9, StartTime: 8}}
		got := (proc.Identity{Pid: 10, StartTime: 5, BootID: "b"}).Session(table)
		if want := []proc.Identity{{Pid: 11, StartTime: 7, BootID: "b"}}; !slices.Equal(got, want) {
			t.Errorf("members %v, want %v", got, want)
		}
	})
}

func TestSearch(t *testing.T) {
	t.Parallel()
	tag := "PROC_TEST_SEARCH=" + t.TempDir()
	leader, _ := spawn(t, "setsid sleep 63 & exec sleep 64", tag, "PROC_OTHER=a", "PROC_OTHER=b")
	spawn(t, "exec sleep 65", tag+"x")
	search := func(vars ...string) []proc.Found {
		t.Helper()
		found, err := proc.Search(t.Context(), vars...)
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	var found []proc.Found
	for deadline := time.Now().Add(time.Minute); len(found) < 2 && time.Now().Before(deadline); {
		found = search(tag)
	}
	if len(found) != 2 || !slices.ContainsFunc(found, func(f proc.Found) bool { return f.Identity == leader }) {
		t.Errorf("found %v, want %v and the one that left its session", found, leader)
	}
	for _, f := range found {
		if f.Env("PROC_OTHER") != "b" || f.Env("PROC") != "" {
			t.Errorf("environment of %v: %q", f.Identity, f.Env("PROC_OTHER"))
		}
		h, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = h.Close() }()
		if err := errors.Join(h.Signal(syscall.SIGKILL), h.WaitGone(t.Context())); err != nil {
			t.Error(err)
		}
	}
	if found := search(tag); len(found) > 0 {
		t.Errorf("dead and found: %v", found)
	}
}

func TestNobodyEscapes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, script := range map[string]string{
		"by executing itself again and again": `exec "$0"`,
		"by leaving a child and ending":       `"$0" & exit 0`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(dir, strconv.Itoa(len(script)))
			if err := os.WriteFile(file, []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
				t.Fatal(err)
			}
			tag := "PROC_TEST_ESCAPE=" + file
			leader, _ := spawn(t, `exec "$PROC_TEST_FILE"`, tag, "PROC_TEST_FILE="+file)

			for i := range 20 {
				found, err := proc.Search(t.Context(), tag)
				if err != nil || len(found) == 0 {
					t.Fatalf("search %d: nothing found, %v", i, err)
				}
				table, err := proc.List(t.Context())
				if err != nil || !slices.ContainsFunc(table, func(p proc.Process) bool { return p.Session == leader.Pid && !p.Ended() }) {
					t.Fatalf("list %d: nothing listed, %v", i, err)
				}
			}
		})
	}
}

func TestEnviron(t *testing.T) {
	t.Parallel()
	id, _ := spawn(t, "exec env -i sleep 66")
	for deadline := time.Now().Add(time.Minute); ; {
		env, err := proc.Environ(t.Context(), id.Pid)
		if err != nil {
			t.Fatal(err)
		}
		if len(env) == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("environment %q, want none", env)
		}
	}
	h := open(t, id)
	if err := errors.Join(h.Signal(syscall.SIGKILL), h.WaitGone(t.Context())); err != nil {
		t.Fatal(err)
	}
	if env, err := proc.Environ(t.Context(), id.Pid); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("environment of who ended: %q, %v", env, err)
	}
}
