package executor_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-ops/holdfast/internal/host"
	"github.com/holdfast-ops/holdfast/internal/linux/proc"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/bus"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/executor"
)

func TestTheNextDaemonKnowsWhatThisOneRan(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "execs")
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, executor.Options{History: file, MaxParallel: 2})
		well, badly, waiting := b.submit(t, "well", 0), b.submit(t, "badly", 0), b.submit(t, "waiting", 0)
		synctest.Wait()
		pass(time.Second)
		b.end("well", nil)
		b.end("badly", &host.ExitError{Code: 3})
		synctest.Wait()
		if r, _ := b.Record(waiting.ExecID); r.State != executor.Running {
			t.Fatalf("the third one is %s", r.State)
		}

		// It is killed: nothing is written any more. The process of the third exec is a
		// fake, so it is not found either.
		next := newBench(t, executor.Options{History: file})
		synctest.Wait()

		if r, err := next.Record(well.ExecID); err != nil || r.State != executor.Succeeded || *r.ExitCode != 0 || r.EndedAt.Sub(r.StartedAt) != time.Second {
			t.Errorf("%+v, %v", r, err)
		}
		if r, err := next.Record(badly.ExecID); err != nil || r.State != executor.Failed || *r.ExitCode != 3 || r.Error == "" {
			t.Errorf("%+v, %v", r, err)
		}
		if r, err := next.Wait(t.Context(), waiting.ExecID); err != nil || r.State != executor.Failed || r.ExitCode != nil || !strings.Contains(r.Error, "is not known") {
			t.Errorf("%+v, %v", r, err)
		}
		b.end("waiting", nil)
	})
}

func TestWhatTheNextDaemonKnowsIsBounded(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "execs")
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, executor.Options{History: file, KeepCount: 5})
		var last executor.IDs
		for i := range 40 {
			name := strconv.Itoa(i)
			last = b.submit(t, name, 0)
			synctest.Wait()
			b.end(name, nil)
			synctest.Wait()
			pass(time.Millisecond)
		}
		data, err := os.ReadFile(file)
		if lines := strings.Count(string(data), "\n"); err != nil || lines > 40 {
			t.Errorf("the file has %d lines, %v", lines, err)
		}
		next := newBench(t, executor.Options{History: file, KeepCount: 5})
		if all := next.Records(nil); len(all) != 5 || all[4].ExecID != last.ExecID {
			t.Errorf("%d records are left", len(all))
		}
		pass(25 * time.Hour)
		if all := next.Records(nil); len(all) != 0 {
			t.Errorf("a day later %d records are left", len(all))
		}
		var forgotten *executor.ForgottenError
		if _, err := next.Record(last.ExecID); !errors.As(err, &forgotten) {
			t.Errorf("error %v", err)
		}
	})
}

// left is a process that is no child of the test, as those of an earlier daemon are.
func left(t *testing.T) proc.Identity {
	t.Helper()
	file := filepath.Join(t.TempDir(), "pid")
	if _, err := host.NewRunner().Run(t.Context(), host.Cmd{
		Argv: []string{"setsid", "-f", "sh", "-c", "echo $$ >" + file + ".tmp; mv " + file + ".tmp " + file + "; exec sleep 600"},
	}); err != nil {
		t.Fatal(err)
	}
	limit := time.Now().Add(time.Minute)
	for time.Now().Before(limit) {
		text, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
		if err != nil {
			t.Fatal(err)
		}
		id, err := proc.Of(pid)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if id.Alive() {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		})
		return id
	}
	t.Fatal("the process does not start")
	return proc.Identity{}
}

const execID = "0f5d7f0e-65f7-4b60-bb3c-1a1a6f1fb5a0"

// daemonAfter is an executor that finds a process running.
func daemonAfter(t *testing.T, id proc.Identity, o executor.Options) *executor.Executor {
	t.Helper()
	o.History = filepath.Join(t.TempDir(), "execs")
	boot := id.BootID
	line := `{"exec_id":"` + execID + `","session_id":"s","node":"n1","path":"web","origin":"daemon/api","command":"om web instance start","state":"running",` +
		`"pid":` + strconv.Itoa(id.Pid) + `,"queued_at":"2026-11-30T10:00:00Z","started_at":"` + time.Now().Format(time.RFC3339Nano) + `",` +
		`"title":"instance start","self":{"pid":` + strconv.Itoa(id.Pid) + `,"start_time":` + strconv.FormatUint(id.StartTime, 10) + `,"boot_id":"` + boot + `"}}` + "\n"
	if err := os.WriteFile(o.History, []byte(line), 0o600); err != nil {
		t.Fatal(err)
	}
	o.Host = host.Host{Runner: host.NewRunner(), Hostname: "n1", Self: "/bin/false"}
	o.Bus, o.Log = bus.New("n1"), slog.New(slog.DiscardHandler)
	x := executor.New(o)
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := x.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() { cancel(); running.Wait() })
	return x
}

func TestWhatStillRunsIsFoundAgain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		outcome func(string) (string, bool, bool)
		state   executor.State
		reason  string
	}{
		"nobody saw its end":              {nil, executor.Failed, "how it ended is not known"},
		"the log does not say":            {func(string) (string, bool, bool) { return "", false, false }, executor.Failed, "how it ended is not known"},
		"the log says that it went well":  {func(string) (string, bool, bool) { return "", false, true }, executor.Succeeded, ""},
		"the log says why it did not do ": {func(string) (string, bool, bool) { return "no luck", true, true }, executor.Failed, "no luck"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			id := left(t)
			x := daemonAfter(t, id, executor.Options{Outcome: c.outcome})

			if r, err := x.Record(execID); err != nil || r.State != executor.Running || r.Pid != id.Pid || r.ExitCode != nil {
				t.Fatalf("%+v, %v", r, err)
			}
			if hit, err := x.Kill(func(executor.Record) bool { return true }, syscall.SIGTERM, false); err != nil || len(hit) != 1 {
				t.Fatalf("killed %v, %v", hit, err)
			}
			r, err := x.Wait(t.Context(), execID)
			if err != nil || r.State != c.state || !strings.Contains(r.Error, c.reason) || r.ExitCode != nil || r.Pid != 0 || r.EndedAt.IsZero() {
				t.Errorf("%+v, %v", r, err)
			}
		})
	}
}

// The number of a process that ended may be another's by now.
func TestANumberThatIsAnothersByNowIsNotSignaled(t *testing.T) {
	t.Parallel()
	id := left(t)
	other := id
	other.StartTime++
	x := daemonAfter(t, other, executor.Options{})

	if hit, err := x.Kill(func(executor.Record) bool { return true }, syscall.SIGKILL, false); err != nil || len(hit) != 0 {
		t.Errorf("killed %v, %v", hit, err)
	}
	if r, err := x.Wait(t.Context(), execID); err != nil || r.State != executor.Failed {
		t.Errorf("%+v, %v", r, err)
	}
	if !id.Alive() {
		t.Error("the other process was hit")
	}
}
