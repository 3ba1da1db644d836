package executor

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"syscall"
	"time"

	"github.com/holdfast-ops/holdfast/internal/linux/proc"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// How much of what ended is remembered.
const (
	defaultKeepAge   = 24 * time.Hour
	defaultKeepCount = 2000
)

// State tells how far a job is.
type State string

// The states.
const (
	Queued    State = "queued"
	Running   State = "running"
	Succeeded State = "succeeded"
	Failed    State = "failed"
)

// Record is what is remembered of a job.
type Record struct {
	ExecID          string      `json:"exec_id"`
	SessionID       string      `json:"session_id"`
	OrchestrationID string      `json:"orchestration_id,omitempty"`
	Node            string      `json:"node"`
	Path            object.Path `json:"path,omitzero"`
	RID             string      `json:"rid,omitempty"`
	Origin          string      `json:"origin"`
	Command         string      `json:"command"`
	State           State       `json:"state"`
	Pid             int         `json:"pid,omitempty"` // while running
	QueuedAt        time.Time   `json:"queued_at"`
	StartedAt       time.Time   `json:"started_at,omitzero"`
	EndedAt         time.Time   `json:"ended_at,omitzero"`
	ExitCode        *int        `json:"exit_code,omitempty"` // 128 plus the signal, -1 when it never ran; none while running, or when nobody saw its end
	Error           string      `json:"error,omitempty"`
}

// ForgottenError says that an id is not known, or not any more.
type ForgottenError struct {
	What, ID, Node string
}

// Error names what was asked for.
func (e *ForgottenError) Error() string {
	return fmt.Sprintf("%s %s is no longer known on %s: it ended long enough ago to have been dropped, or never ran there", e.What, e.ID, e.Node)
}

// task is a job and what became of it, guarded by the lock of the executor.
type task struct {
	job    Job
	argv   []string
	order  uint64
	record Record
	self   proc.Identity  // of the child, while it runs
	signal syscall.Signal // the last one sent on request
	known  string         // title, of a task of an earlier daemon
	ended  chan struct{}
}

// queue is a heap of tasks: lower priority first, then first come.
type queue []*task

func (q queue) Len() int { return len(q) }

func (q queue) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(q[i].job.Priority, q[j].job.Priority), cmp.Compare(q[i].order, q[j].order)) < 0
}

func (q queue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }

// Push implements heap.Interface.
func (q *queue) Push(x any) {
	if t, ok := x.(*task); ok {
		*q = append(*q, t)
	}
}

// Pop implements heap.Interface.
func (q *queue) Pop() any {
	old := *q
	t := old[len(old)-1]
	old[len(old)-1] = nil
	*q = old[:len(old)-1]
	return t
}

// history holds the tasks by exec id.
type history struct{ tasks map[string]*task }

func newHistory() history { return history{tasks: map[string]*task{}} }

func (h history) add(t *task) { h.tasks[t.record.ExecID] = t }

// prune forgets what ended before the limit of age, then the oldest above the
// limit of count. What has not ended is never forgotten.
func (h history) prune(now time.Time, age time.Duration, count int) {
	var ended []*task
	for id, t := range h.tasks {
		switch {
		case t.record.State == Queued || t.record.State == Running:
		case now.Sub(t.record.EndedAt) > age:
			delete(h.tasks, id)
		default:
			ended = append(ended, t)
		}
	}
	if len(ended) <= count {
		return
	}
	slices.SortFunc(ended, func(a, b *task) int { return a.record.EndedAt.Compare(b.record.EndedAt) })
	for _, t := range ended[:len(ended)-count] {
		delete(h.tasks, t.record.ExecID)
	}
}

// Records returns what is remembered, oldest first. A nil match takes all.
func (x *Executor) Records(match func(Record) bool) []Record {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.history.prune(now(), x.o.KeepAge, x.o.KeepCount)
	var all []Record
	for _, t := range x.history.tasks {
		if match == nil || match(t.record) {
			all = append(all, t.record)
		}
	}
	slices.SortFunc(all, compareRecords)
	return all
}

func compareRecords(a, b Record) int {
	return cmp.Or(a.QueuedAt.Compare(b.QueuedAt), cmp.Compare(a.ExecID, b.ExecID))
}

// Record returns what is remembered of a job, or a [ForgottenError].
func (x *Executor) Record(execID string) (Record, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	t := x.history.tasks[execID]
	if t == nil {
		return Record{}, &ForgottenError{What: "exec", ID: execID, Node: x.o.Host.Hostname}
	}
	return t.record, nil
}

// Wait returns the record of a job once it has ended, or at the end of ctx its
// record as it is then, with the error of ctx.
func (x *Executor) Wait(ctx context.Context, execID string) (Record, error) {
	x.mu.Lock()
	t := x.history.tasks[execID]
	x.mu.Unlock()
	if t == nil {
		return Record{}, &ForgottenError{What: "exec", ID: execID, Node: x.o.Host.Hostname}
	}
	var err error
	select {
	case <-t.ended:
	case <-ctx.Done():
		err = ctx.Err()
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	return t.record, err
}
