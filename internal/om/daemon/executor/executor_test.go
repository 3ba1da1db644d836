package executor_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ops/holdfast/internal/host"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/bus"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/executor"
	"github.com/holdfast-ops/holdfast/internal/om/event"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// runner starts commands that end when they are told to.
type runner struct {
	mu      sync.Mutex
	started []host.Cmd
	running map[string]*process // by last argument
	refuse  error
}

type process struct {
	pid int
	end chan error
}

func (p *process) Pid() int    { return p.pid }
func (p *process) Wait() error { return <-p.end }

func (r *runner) Run(context.Context, host.Cmd) (host.Output, error) {
	return host.Output{}, errors.New("not used")
}

func (r *runner) Start(c host.Cmd) (host.Process, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.refuse != nil {
		return nil, r.refuse
	}
	r.started = append(r.started, c)
	p := &process{pid: 1000 + len(r.started), end: make(chan error, 1)}
	r.running[c.Argv[len(c.Argv)-1]] = p
	return p, nil
}

func (r *runner) names() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var names []string
	for _, c := range r.started {
		names = append(names, c.Argv[len(c.Argv)-1])
	}
	return names
}

func (r *runner) end(name string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.running[name].end <- err
}

type bench struct {
	*runner
	*executor.Executor

	bus  *bus.Bus
	stop context.CancelFunc
}

func newBench(t *testing.T, o executor.Options) *bench {
	t.Helper()
	b := &bench{runner: &runner{running: map[string]*process{}}, bus: bus.New("n1")}
	o.Host = host.Host{Runner: b.runner, Hostname: "n1", Self: "/usr/bin/om"}
	o.Bus, o.Log = b.bus, slog.New(slog.DiscardHandler)
	b.Executor = executor.New(o)
	ctx, cancel := context.WithCancel(t.Context())
	b.stop = cancel
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := b.Executor.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() { cancel(); wg.Wait() })
	return b
}

func (b *bench) submit(t *testing.T, name string, priority int) executor.IDs {
	t.Helper()
	ids, err := b.Submit(t.Context(), executor.Job{Args: []string{name}, Priority: priority, Origin: executor.OriginAPI})
	if err != nil {
		t.Fatal(err)
	}
	return ids
}

func TestAChildKnowsWhatItIsPartOf(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, executor.Options{Env: []string{"PATH=/bin"}})
		ids, err := b.Submit(t.Context(), executor.Job{
			Path: object.Path{Namespace: "ns1", Kind: object.KindSvc, Name: "web"}, Args: []string{"instance", "start", "--rid=app#1"},
			Origin: executor.OriginMonitor, OrchestrationID: "o1", Env: []string{"X=y"}, Shown: []string{"--env=X=***"},
		})
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()

		got := b.started[0]

		if want := "/usr/bin/om ns1/svc/web instance start --rid=app#1"; strings.Join(got.Argv, " ") != want {
			t.Errorf("command %q, want %q", got.Argv, want)
		}
		if diff := cmp.Diff([]string{
			"PATH=/bin", "OSVC_ACTION_ORIGIN=daemon/monitor", "OSVC_SESSION_ID=" + ids.SessionID,
			"OSVC_EXEC_ID=" + ids.ExecID, "OSVC_ORCHESTRATION_ID=o1", "X=y",
		}, got.Env); diff != "" {
			t.Errorf("environment (-want +got):\n%s", diff)
		}
		if r, err := b.Record(ids.ExecID); err != nil || r.Command != "/usr/bin/om ns1/svc/web instance start --rid=app#1 --env=X=***" {
			t.Errorf("the record shows %q, %v", r.Command, err)
		}
		b.end("--rid=app#1", nil)
	})
}

func TestSlotsAreBoundedAndFilledByPriority(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, executor.Options{MaxParallel: 2})
		b.submit(t, "first", 50)
		b.submit(t, "second", 50)
		b.submit(t, "late", 90)
		b.submit(t, "default", 0)
		b.submit(t, "urgent", 1)
		synctest.Wait()
		if got := len(b.names()); got != 2 {
			t.Fatalf("%d run at once, 2 may", got)
		}

		for _, name := range []string{"first", "urgent", "second", "default", "late"} {
			b.end(name, nil)
			synctest.Wait()
		}

		if got := b.names()[2:]; !slices.Equal(got, []string{"urgent", "default", "late"}) {
			t.Errorf("the queue was served in the order %q", got)
		}
	})
}

func TestMoreSlotsServeTheQueueAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, executor.Options{MaxParallel: 1})
		b.submit(t, "a", 0)
		b.submit(t, "b", 0)
		synctest.Wait()
		b.SetMaxParallel(2)
		synctest.Wait()
		if got := len(b.names()); got != 2 {
			t.Errorf("%d run, want 2", got)
		}
		b.end("a", nil)
		b.end("b", nil)
	})
}

func TestHowARunEnds(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		what  string
		err   error
		state executor.State
		code  int
	}{
		{"well", nil, executor.Succeeded, 0},
		{"with a status", &host.ExitError{Argv: []string{"om"}, Code: 3}, executor.Failed, 3},
		{"by a signal", &host.ExitError{Argv: []string{"om"}, Code: -1, Signal: syscall.SIGKILL}, executor.Failed, 137},
		{"unknown", errors.New("lost"), executor.Failed, -1},
	} {
		t.Run(tt.what, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, executor.Options{})
				events := b.bus.Subscribe("test", nil)
				defer events.Close()
				var outcome *executor.Outcome
				ids, err := b.Submit(t.Context(), executor.Job{Args: []string{"x"}, Done: func(o executor.Outcome) { outcome = &o }})
				if err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				running, _ := b.Record(ids.ExecID)
				pass(time.Minute) // virtual
				b.end("x", tt.err)

				r, err := b.Wait(t.Context(), ids.ExecID)
				synctest.Wait()

				if err != nil || r.State != tt.state || r.ExitCode == nil || *r.ExitCode != tt.code || r.EndedAt.Sub(r.StartedAt) != time.Minute {
					t.Errorf("%+v, %v", r, err)
				}
				if running.State != executor.Running || running.ExitCode != nil || running.Pid == 0 {
					t.Errorf("while it ran: %+v", running)
				}
				if outcome == nil || !errors.Is(outcome.Err, tt.err) {
					t.Errorf("told %+v", outcome)
				}
				begun, ended := (<-events.C()).Kind, (<-events.C()).Kind
				wantEnd := event.ExecSuccess{}.Kind()
				if tt.err != nil {
					wantEnd = event.ExecFailed{}.Kind()
				}
				if begun != "Exec" || ended != wantEnd {
					t.Errorf("events %s, %s", begun, ended)
				}
			})
		})
	}
}

func TestACommandThatDoesNotStartHasFailed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, executor.Options{MaxParallel: 1})
		b.refuse = errors.New("no such file")
		ids := b.submit(t, "x", 0)
		r, err := b.Wait(t.Context(), ids.ExecID)
		if err != nil || r.State != executor.Failed || *r.ExitCode != -1 || !strings.Contains(r.Error, "no such file") {
			t.Errorf("%+v, %v", r, err)
		}
		synctest.Wait()

		b.mu.Lock()
		b.refuse = nil
		b.mu.Unlock()
		b.submit(t, "y", 0)
		synctest.Wait()
		if len(b.names()) != 1 {
			t.Error("its slot was not given back")
		}
		b.end("y", nil)
	})
}

func TestADaemonThatStopsLeavesWhatRunsAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, executor.Options{MaxParallel: 1})
		first := b.submit(t, "running", 0)
		second := b.submit(t, "waiting", 0)
		synctest.Wait()

		b.stop()
		synctest.Wait()

		r, _ := b.Record(first.ExecID)
		q, _ := b.Record(second.ExecID)
		if r.State != executor.Running || q.State != executor.Failed || !strings.Contains(q.Error, "stopping") {
			t.Errorf("running %+v, waiting %+v", r, q)
		}
		if _, err := b.Submit(t.Context(), executor.Job{Args: []string{"z"}}); err == nil {
			t.Error("a job is accepted by a daemon that stops")
		}
		b.end("running", nil)
	})
}

func TestWhatIsForgottenIsAdmitted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, executor.Options{KeepCount: 2, KeepAge: time.Hour, MaxParallel: 100})
		long := b.submit(t, "long", 0)
		var ids []executor.IDs
		for i := range 4 {
			name := strconv.Itoa(i)
			ids = append(ids, b.submit(t, name, 0))
			synctest.Wait()
			b.end(name, nil)
			synctest.Wait()
			pass(time.Second) // virtual
		}

		var forgotten *executor.ForgottenError
		if _, err := b.Record(ids[0].ExecID); !errors.As(err, &forgotten) || !strings.Contains(err.Error(), "no longer known on n1") {
			t.Errorf("the oldest is %v", err)
		}
		if _, err := b.Wait(t.Context(), ids[0].ExecID); !errors.As(err, &forgotten) {
			t.Errorf("waiting for the oldest: %v", err)
		}
		if n := len(b.Records(nil)); n != 3 {
			t.Errorf("%d remembered, want 2 ended and the running one", n)
		}
		pass(2 * time.Hour) // virtual
		if r := b.Records(nil); len(r) != 1 || r[0].ExecID != long.ExecID {
			t.Errorf("after their age: %+v", r)
		}
		b.end("long", nil)
	})
}

func TestWaitEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, executor.Options{})
		ids := b.submit(t, "x", 0)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()

		r, err := b.Wait(ctx, ids.ExecID)

		if !errors.Is(err, context.DeadlineExceeded) || r.State != executor.Running {
			t.Errorf("%+v, %v", r, err)
		}
		b.end("x", nil)
	})
}

func TestKillDropsWhatWaitsAndOnlyThat(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, executor.Options{MaxParallel: 1})
		b.submit(t, "running", 0)
		waiting := b.submit(t, "waiting", 0)
		synctest.Wait()
		match := func(r executor.Record) bool { return r.ExecID == waiting.ExecID }

		dry, err := b.Kill(match, syscall.SIGTERM, true)
		still, _ := b.Record(waiting.ExecID)
		hit, err2 := b.Kill(match, syscall.SIGTERM, false)

		if err != nil || err2 != nil || len(dry) != 1 || len(hit) != 1 || still.State != executor.Queued {
			t.Errorf("dry %v %v, hit %v %v, between %s", dry, err, hit, err2, still.State)
		}
		if r, _ := b.Record(waiting.ExecID); r.State != executor.Failed {
			t.Errorf("%+v", r)
		}
		if again, _ := b.Kill(match, syscall.SIGTERM, false); len(again) != 0 {
			t.Errorf("what has ended was hit: %v", again)
		}
		b.end("running", nil)
	})
}

// With a real process: the signal reaches it and what it started.
func TestKillReachesTheSessionOfTheChild(t *testing.T) {
	t.Parallel()
	x := executor.New(executor.Options{
		Host: host.Host{Runner: host.NewRunner(), Hostname: "n1", Self: "/bin/sleep"}, Bus: bus.New("n1"), Log: slog.New(slog.DiscardHandler),
	})
	ids, err := x.Submit(t.Context(), executor.Job{Args: []string{"600"}})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan executor.Record, 1)
	go func() {
		r, _ := x.Wait(context.WithoutCancel(t.Context()), ids.ExecID)
		done <- r
	}()

	all := func(executor.Record) bool { return true }
	for {
		if hit, err := x.Kill(func(r executor.Record) bool { return r.State == executor.Running }, syscall.SIGTERM, false); err != nil {
			t.Fatal(err)
		} else if len(hit) == 1 {
			break
		}
		if len(x.Records(all)) == 0 {
			t.Fatal("the job is lost")
		}
	}

	if r := <-done; r.State != executor.Failed || *r.ExitCode != 143 {
		t.Errorf("%+v", r)
	}
}

func TestWhatEndsInOrderOnASignalIsEndedByIt(t *testing.T) {
	t.Parallel()
	x := executor.New(executor.Options{
		Host: host.Host{Runner: host.NewRunner(), Hostname: "n1", Self: "/bin/sh"}, Bus: bus.New("n1"), Log: slog.New(slog.DiscardHandler),
	})
	ready := filepath.Join(t.TempDir(), "ready")
	ids, err := x.Submit(t.Context(), executor.Job{Args: []string{"-c", "trap 'exit 130' TERM; : >" + ready + "; while :; do sleep 0.1; done"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, err := os.Stat(ready); err != nil; _, err = os.Stat(ready) {
		runtime.Gosched()
	}
	for r, err := x.Record(ids.ExecID); err == nil && r.Pid == 0; r, err = x.Record(ids.ExecID) {
		runtime.Gosched() // the process may be quicker than who notes its number
	}

	hit, err := x.Kill(func(executor.Record) bool { return true }, syscall.SIGTERM, false)

	if err != nil || len(hit) != 1 {
		t.Fatalf("%v, %v", hit, err)
	}
	if r, err := x.Wait(t.Context(), ids.ExecID); err != nil || r.State != executor.Failed || *r.ExitCode != 143 {
		t.Errorf("%v, %+v, exit code %v", err, r, *r.ExitCode)
	}
}

func TestTheLastWordsOfAFailedCommandAreKept(t *testing.T) {
	t.Parallel()
	x := executor.New(executor.Options{
		Host: host.Host{Runner: host.NewRunner(), Hostname: "n1", Self: "/bin/sh"}, Bus: bus.New("n1"), Log: slog.New(slog.DiscardHandler),
	})
	ids, err := x.Submit(t.Context(), executor.Job{Args: []string{"-c", "seq 1000; echo out of luck >&2; exit 3"}})
	if err != nil {
		t.Fatal(err)
	}
	r, err := x.Wait(t.Context(), ids.ExecID)
	if err != nil || *r.ExitCode != 3 || !strings.HasSuffix(r.Error, "exit status 3: 997\n998\n999\n1000\nout of luck") {
		t.Errorf("%v, %+v", err, r)
	}
}

func TestTheErrorOfACommandIsItsReason(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, said, want string }{
		{"its error", "12:00:00 INF run\nError: hello: start: app#1: it ended", "app#1: it ended"},
		{"the last one", "Error: of a child\nError: hello: start app#1: it ended", "app#1: it ended"},
		{"several", "Error: hello: start: app#1: it ended\n       app#2: so did this", "app#1: it ended; app#2: so did this"},
		{"something else", "out of luck", ""},
	} {
		job := executor.Job{
			Path: object.Path{Namespace: "root", Kind: object.KindSvc, Name: "hello"}, Args: []string{"instance", "start"},
		}
		if got := job.Reason(c.said); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}

	x := executor.New(executor.Options{
		Host: host.Host{Runner: host.NewRunner(), Hostname: "n1", Self: "/bin/sh"}, Bus: bus.New("n1"), Log: slog.New(slog.DiscardHandler),
	})
	ended := make(chan executor.Outcome, 1)
	if _, err := x.Submit(t.Context(), executor.Job{
		Args: []string{"-c", "seq 1000; echo Error: out of luck >&2; exit 3"}, Done: func(o executor.Outcome) { ended <- o },
	}); err != nil {
		t.Fatal(err)
	}
	if o := <-ended; o.Error != "out of luck" || o.Err == nil || o.Err.Error() != o.Error || *o.ExitCode != 3 {
		t.Errorf("got %+v", o)
	}
}

// pass lets virtual time go by.
func pass(d time.Duration) { <-time.NewTimer(d).C }
