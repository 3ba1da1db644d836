// Package executor runs the actions of the daemon in child processes.
//
// A child is `om <path> instance <action>`, in a session of its own: it survives
// a stop, a crash and an upgrade of the daemon. At most so many run at once; the
// others wait by priority. Nothing polls: a slot is refilled when it frees.
//
//	Submit -> queued -> running -> succeeded
//	             |         \-----> failed
//	             \---------------> failed (could not run, or the daemon stops)
//
// What ended is remembered for a while, by the next daemon too, and forgetting is
// admitted, see [ForgottenError]. A child that is left running when the daemon ends
// is found again by the next one.
package executor

import (
	"cmp"
	"container/heap"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/google/uuid"

	"github.com/holdfast-ops/holdfast/internal/host"
	"github.com/holdfast-ops/holdfast/internal/linux/proc"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/bus"
	"github.com/holdfast-ops/holdfast/internal/om/event"
	"github.com/holdfast-ops/holdfast/internal/om/ledger"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// DefaultMaxParallel is how many actions run at once when node.max_parallel is not set.
const DefaultMaxParallel = 10

// DefaultPriority is that of a job that has none; lower runs first.
const DefaultPriority = 50

// lastLines is how many lines of a failed command its error carries.
const lastLines = 5

// Origins of a job.
const (
	OriginAPI       = "daemon/api"
	OriginMonitor   = "daemon/monitor"
	OriginScheduler = "daemon/scheduler"
	OriginInstall   = "daemon/install"
)

// Job is an action to run.
type Job struct {
	Path            object.Path // the object acted on; zero for a command of the node
	Args            []string    // what follows the path on the command line: instance, start, --rid=app#1
	Shown           []string    // arguments that records show after those: what Env stands for
	RID             string      // the resource it is about, for listings
	Origin          string
	SessionID       string // made when empty
	OrchestrationID string
	Priority        int           // 0 is DefaultPriority
	Env             []string      // added to the environment, KEY=value
	Done            func(Outcome) // called once, when it ended; it must not wait
}

// IDs name a submitted job.
type IDs struct {
	SessionID string `json:"session_id"`
	ExecID    string `json:"exec_id"`
}

// Outcome is how a job ended.
type Outcome struct {
	Record
	Err error // nil when it succeeded
}

// Options are what an executor works with.
type Options struct {
	Host        host.Host
	Env         []string // environment of the daemon, that the children inherit
	Bus         *bus.Bus
	Log         *slog.Logger
	MaxParallel int // 0 is DefaultMaxParallel
	KeepAge     time.Duration
	KeepCount   int
	// History is the file that keeps what is remembered; "" keeps it in memory only.
	History string
	// Outcome tells, from elsewhere, how an exec ended that no daemon saw end: whether
	// it failed and why. Nil, or known false: nobody can tell.
	Outcome func(execID string) (reason string, failed, known bool)
}

// Executor runs jobs. Its methods are safe for concurrent use.
type Executor struct {
	o Options

	mu      sync.Mutex
	max     int
	running int
	closed  bool
	queue   queue
	order   uint64
	history history
	ledger  *ledger.Ledger[saved]
	left    []*task // running since the daemon before this one, until [Executor.Run] adopts them
}

// New returns an executor. It runs jobs as soon as they are submitted.
func New(o Options) *Executor {
	o.KeepAge = cmp.Or(o.KeepAge, defaultKeepAge)
	o.KeepCount = cmp.Or(o.KeepCount, defaultKeepCount)
	x := &Executor{o: o, max: cmp.Or(o.MaxParallel, DefaultMaxParallel), history: newHistory()}
	if o.History != "" {
		x.ledger = ledger.At[saved](o.History)
		x.remember()
	}
	return x
}

// Run returns when ctx ends: then jobs in the queue are dropped, submissions are
// refused, and what runs is left running.
func (x *Executor) Run(ctx context.Context) error {
	for _, t := range x.left {
		// Nobody waits for this goroutine, as for those that started a child.
		go x.adopt(ctx, t, t.self)
	}
	<-ctx.Done()
	x.mu.Lock()
	x.closed = true
	dropped := x.queue
	x.queue = nil
	x.mu.Unlock()
	for _, t := range dropped {
		x.end(t, -1, errStopping)
	}
	return nil
}

var errStopping = errors.New("the daemon is stopping: ask again once it is back")

// SetMaxParallel changes how many jobs run at once.
func (x *Executor) SetMaxParallel(n int) {
	x.mu.Lock()
	x.max = cmp.Or(max(n, 0), DefaultMaxParallel)
	x.mu.Unlock()
	x.dispatch()
}

// Submit queues a job and returns its ids at once.
func (x *Executor) Submit(_ context.Context, j Job) (IDs, error) {
	j.SessionID = cmp.Or(j.SessionID, uuid.NewString())
	j.Priority = cmp.Or(j.Priority, DefaultPriority)
	argv := []string{x.o.Host.Self}
	if !j.Path.IsZero() {
		argv = append(argv, j.Path.String())
	}
	argv = append(argv, j.Args...)
	t := &task{job: j, argv: argv, ended: make(chan struct{})}
	t.record = Record{
		ExecID: uuid.NewString(), SessionID: j.SessionID, OrchestrationID: j.OrchestrationID,
		Node: x.o.Host.Hostname, Path: j.Path, RID: j.RID, Origin: j.Origin,
		Command: strings.Join(slices.Concat(argv, j.Shown), " "), State: Queued, QueuedAt: now(),
	}

	x.mu.Lock()
	if x.closed {
		x.mu.Unlock()
		return IDs{}, fmt.Errorf("run %s: %w", t.record.Command, errStopping)
	}
	x.order++
	t.order = x.order
	heap.Push(&x.queue, t)
	x.history.add(t)
	x.save(t)
	x.mu.Unlock()

	x.dispatch()
	return IDs{SessionID: j.SessionID, ExecID: t.record.ExecID}, nil
}

// dispatch fills the free slots.
func (x *Executor) dispatch() {
	x.mu.Lock()
	defer x.mu.Unlock()
	for x.running < x.max && len(x.queue) > 0 {
		t, _ := heap.Pop(&x.queue).(*task)
		x.running++
		// Nobody waits for this goroutine: the child it waits for may outlive
		// the daemon, which must not.
		go x.run(t)
	}
}

func (x *Executor) run(t *task) {
	defer x.dispatch()
	output, err := newCapture()
	if err != nil {
		x.o.Log.Warn("the output of an exec is lost", slog.Any("err", err))
	}
	defer output.close()
	p, err := x.o.Host.Runner.Start(host.Cmd{Argv: t.argv, Env: x.environ(t), Capture: output.file})
	if err != nil {
		x.release()
		x.end(t, -1, fmt.Errorf("run %s: %w", t.record.Command, err))
		return
	}
	x.mu.Lock()
	t.record.State, t.record.Pid, t.record.StartedAt = Running, p.Pid(), now()
	t.self, _ = proc.Of(p.Pid()) // zero: it has ended already
	r := t.record
	x.save(t)
	x.mu.Unlock()
	x.o.Log.Debug("exec", execAttrs(r, slog.String("command", r.Command), slog.Int("pid", r.Pid))...)
	x.o.Bus.Publish(event.Exec{
		Command: r.Command, Node: r.Node, Origin: r.Origin, Title: t.title(),
		SessionID: r.SessionID, ExecID: r.ExecID, OrchestrationID: r.OrchestrationID, Path: r.Path,
	})

	err = p.Wait()
	x.release()
	var exit *host.ExitError
	if errors.As(err, &exit) && exit.Stderr == "" {
		words := output.tail()
		exit.Stderr = lastWords(words)
		if why := t.job.reason(words); why != "" {
			err = &FailedError{Reason: why, Err: err}
		}
	}
	x.end(t, exitCode(err), err)
}

func (x *Executor) release() {
	x.mu.Lock()
	x.running--
	x.mu.Unlock()
}

// end records how a task ended and tells everybody.
func (x *Executor) end(t *task, code int, err error) {
	x.mu.Lock()
	r := &t.record
	r.EndedAt, r.Pid, t.self = now(), 0, proc.Identity{}
	if code == interrupted && t.signal != 0 {
		code = 128 + int(t.signal)
	}
	if code != unseen {
		r.ExitCode = &code
	}
	if r.State == Queued {
		r.StartedAt = r.EndedAt
	}
	r.State = Succeeded
	if err != nil {
		r.State, r.Error = Failed, err.Error()
	}
	done := *r
	x.history.prune(r.EndedAt, x.o.KeepAge, x.o.KeepCount)
	x.save(t)
	x.compact()
	x.mu.Unlock()
	close(t.ended)

	took := done.EndedAt.Sub(done.StartedAt)
	if err != nil {
		x.o.Log.Warn("exec failed", execAttrs(done, slog.String("command", done.Command), slog.Duration("dur", took), slog.Any("err", err))...)
		x.o.Bus.Publish(event.ExecFailed{
			Command: done.Command, Duration: took, Error: done.Error, Node: done.Node, Origin: done.Origin, Title: t.title(),
			SessionID: done.SessionID, ExecID: done.ExecID, OrchestrationID: done.OrchestrationID, Path: done.Path,
		})
	} else {
		x.o.Log.Debug("exec done", execAttrs(done, slog.Duration("dur", took))...)
		x.o.Bus.Publish(event.ExecSuccess{
			Command: done.Command, Duration: took, Node: done.Node, Origin: done.Origin, Title: t.title(),
			SessionID: done.SessionID, ExecID: done.ExecID, OrchestrationID: done.OrchestrationID, Path: done.Path,
		})
	}
	if t.job.Done != nil {
		t.job.Done(Outcome{Record: done, Err: err})
	}
}

// lastWords are the last lines of an output, those that matter: a command ends
// with what went wrong.
func lastWords(output string) string {
	lines := strings.Split(strings.TrimSpace(output), "\n")
	if n := len(lines) - lastLines; n > 0 {
		lines = lines[n:]
	}
	return strings.Join(lines, "\n")
}

// FailedError is the end of a command that said why it fails.
type FailedError struct {
	Reason string
	Err    error // how it ended, with its command and more of its last words
}

// Error is what the command said.
func (e *FailedError) Error() string { return e.Reason }

// Unwrap returns how the command ended.
func (e *FailedError) Unwrap() error { return e.Err }

// reason is the error a command has ended with, without what a job knows: the
// object and the action. It is empty when the last words hold no error.
func (j Job) reason(words string) string {
	const mark = "Error: "
	at := strings.LastIndex("\n"+words, "\n"+mark)
	if at < 0 {
		return ""
	}
	var lines []string
	for line := range strings.Lines(words[at+len(mark):]) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	reason := strings.TrimPrefix(strings.Join(lines, "; "), j.Path.String()+": ")
	if len(j.Args) > 1 {
		reason = strings.TrimPrefix(reason, j.Args[1]+": ")
		reason = strings.TrimPrefix(reason, j.Args[1]+" ")
	}
	return reason
}

// environ is what the child learns of what it is part of.
func (x *Executor) environ(t *task) []string {
	env := slices.Clone(x.o.Env)
	if root := x.o.Host.Paths.Root; root != "" {
		env = append(env, "OSVC_ROOT_PATH="+root)
	}
	env = append(env,
		"OSVC_ACTION_ORIGIN="+t.job.Origin,
		"OSVC_SESSION_ID="+t.record.SessionID,
		"OSVC_EXEC_ID="+t.record.ExecID,
		"OSVC_ORCHESTRATION_ID="+t.record.OrchestrationID,
	)
	return append(env, t.job.Env...)
}

func title(j Job) string { return strings.Join(j.Args, " ") }

func execAttrs(r Record, more ...any) []any {
	attrs := []any{slog.String("object", r.Path.String()), slog.String("sid", r.SessionID), slog.String("eid", r.ExecID)}
	if r.OrchestrationID != "" {
		attrs = append(attrs, slog.String("oid", r.OrchestrationID))
	}
	return append(attrs, more...)
}

// interrupted is the exit code of a program of ours that a signal made end in order,
// whatever the signal.
const interrupted = 130

// exitCode is what a shell would report: the status, or 128 plus the signal.
func exitCode(err error) int {
	var exit *host.ExitError
	switch {
	case err == nil:
		return 0
	case !errors.As(err, &exit):
		return -1
	case exit.Signal != 0:
		return 128 + int(exit.Signal)
	default:
		return exit.Code
	}
}

// Kill sends sig to the running jobs that match, and returns their records as
// they were. With dry set it only tells which. A job in the queue is dropped by
// TERM and KILL.
func (x *Executor) Kill(match func(Record) bool, sig syscall.Signal, dry bool) ([]Record, error) {
	x.mu.Lock()
	var hit []Record
	var dropped []*task
	var errs []error
	for _, t := range x.history.tasks {
		switch {
		case t.record.State != Running && t.record.State != Queued || !match(t.record):
			continue
		case dry:
		case t.record.State == Running:
			// The child leads its session and group, so what it started is
			// signaled too. One that ended this very instant is no error, and its
			// number may be another's already.
			if !t.self.Alive() {
				continue
			}
			if err := syscall.Kill(-t.record.Pid, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
				errs = append(errs, fmt.Errorf("send %v to exec %s: %w", sig, t.record.ExecID, err))
				continue
			}
			t.signal = sig
		case sig == syscall.SIGTERM || sig == syscall.SIGKILL:
			if i := slices.Index(x.queue, t); i >= 0 {
				heap.Remove(&x.queue, i)
				dropped = append(dropped, t)
			} else {
				continue // starting right now
			}
		}
		hit = append(hit, t.record)
	}
	x.mu.Unlock()
	for _, t := range dropped {
		x.end(t, -1, errors.New("dropped from the queue on request"))
	}
	slices.SortFunc(hit, compareRecords)
	return hit, errors.Join(errs...)
}

func now() time.Time { return time.Now().Round(0) }
