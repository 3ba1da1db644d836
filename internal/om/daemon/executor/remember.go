package executor

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"syscall"

	"github.com/holdfast-ops/holdfast/internal/host"
	"github.com/holdfast-ops/holdfast/internal/linux/proc"
)

// saved is a record as the next daemon finds it.
type saved struct {
	Record

	Title string        `json:"title"`
	Self  proc.Identity `json:"self,omitzero"`
}

// unseen is the exit code of what ended while nobody looked.
const unseen = -2

var (
	errUnseen = errors.New("how it ended is not known: no daemon saw it")
	errCut    = errors.New("the daemon ended before its turn came")
)

// save appends the record of a task, which the lock of the executor guards.
func (x *Executor) save(t *task) {
	if err := x.ledger.Append(t.saved()); err != nil {
		x.o.Log.Warn("the next daemon will not know of this exec", execAttrs(t.record, slog.Any("err", err))...)
	}
}

func (t *task) saved() saved { return saved{Record: t.record, Title: t.title(), Self: t.self} }

// title says what a task does, without the object.
func (t *task) title() string {
	if t.known != "" {
		return t.known
	}
	return title(t.job)
}

// compact rewrites the ledger once most of it is of the past.
func (x *Executor) compact() {
	if x.ledger.Lines() < 3*(len(x.history.tasks)+x.o.KeepCount) {
		return
	}
	x.rewrite()
}

func (x *Executor) rewrite() {
	all := make([]saved, 0, len(x.history.tasks))
	for _, t := range x.history.tasks {
		all = append(all, t.saved())
	}
	if err := x.ledger.Rewrite(all); err != nil {
		x.o.Log.Warn("the history of execs is not rewritten", slog.Any("err", err))
	}
}

// remember reads what the daemon before this one knew.
func (x *Executor) remember() {
	all, err := x.ledger.Load()
	if err != nil {
		x.o.Log.Warn("the history of execs is not known", slog.Any("err", err))
	}
	for _, s := range all { // the last word about each counts
		t := &task{record: s.Record, self: s.Self, known: s.Title, ended: make(chan struct{})}
		t.job.Path, t.job.Origin = s.Path, s.Origin
		x.history.tasks[s.ExecID] = t
	}
	var left []*task
	for _, t := range x.history.tasks {
		switch t.record.State {
		case Queued, Running:
			left = append(left, t)
		case Succeeded, Failed:
			close(t.ended)
		}
	}
	x.history.prune(now(), x.o.KeepAge, x.o.KeepCount)
	for _, t := range left {
		if t.record.State == Queued {
			x.end(t, -1, errCut)
			continue
		}
		x.left = append(x.left, t)
	}
	if x.ledger.Lines() > len(x.history.tasks) {
		x.mu.Lock()
		defer x.mu.Unlock()
		x.rewrite()
	}
}

// adopt waits for the end of what an earlier daemon started. A daemon that begins
// again in its process is still the parent, and learns how it ended. What outlives
// ctx is left to the next daemon.
func (x *Executor) adopt(ctx context.Context, t *task, child proc.Identity) {
	if status, ok := collect(child); ok {
		err := exitError(t.record.Command, status)
		x.end(t, exitCode(err), err)
		return
	}
	if handle, err := child.Open(); err == nil {
		err := handle.WaitGone(ctx)
		_ = handle.Close()
		if err != nil && ctx.Err() != nil {
			return
		}
	}
	if x.o.Outcome != nil {
		if reason, failed, known := x.o.Outcome(t.record.ExecID); known {
			err := error(nil)
			if failed {
				err = errors.New(reason)
			}
			x.end(t, unseen, err)
			return
		}
	}
	x.end(t, unseen, errUnseen)
}

// exitError is the error of a command that ended with that status, nil for success.
func exitError(command string, status syscall.WaitStatus) error {
	exit := &host.ExitError{Argv: strings.Fields(command), Code: status.ExitStatus()}
	switch {
	case status.Signaled():
		exit.Signal = status.Signal()
	case exit.Code == 0:
		return nil
	}
	return exit
}
