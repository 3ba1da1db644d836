// Package monitor turns decisions into deeds: it is the shell around
// [orchestrate.Decide].
package monitor

import (
	"context"
	"log/slog"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/daemon/bus"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/executor"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/state"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/orchestrate"
)

// Goal is what an object is asked to become.
type Goal struct {
	Expect  string         // started, stopped, frozen...
	Options map[string]any // such as force for restarted
}

// Flags sets the flag files of the local instances; *instance.Engine does it.
type Flags interface {
	SetFrozen(p object.Path, frozen bool) error
	SetStopped(p object.Path, stopped bool) error
}

// Discoverer reads a configuration now; *discover.Discovery does it.
type Discoverer interface {
	Refresh(p object.Path) error
}

// Evaluator keeps statuses fresh; *evaluate.Pool does it.
type Evaluator interface {
	Request(p object.Path)
	Busy(p object.Path) bool
}

// Executor runs actions; *executor.Executor does it.
type Executor interface {
	Submit(ctx context.Context, j executor.Job) (executor.IDs, error)
}

// Options are what a monitor works with.
type Options struct {
	State    *state.State
	Bus      *bus.Bus
	Log      *slog.Logger
	Executor Executor
	Evaluate Evaluator
	Discover Discoverer
	Flags    Flags
}

// Monitor watches over the local instances. Its methods are safe for concurrent use.
type Monitor struct{ o Options }

// New returns a monitor. Nothing is decided before [Monitor.Run].
func New(o Options) *Monitor { return &Monitor{o: o} }

// Run decides and acts until ctx ends.
func (m *Monitor) Run(ctx context.Context) error { panic("to write") }

// Orchestrate gives an object a goal and returns the id of the orchestration. An
// object that was just created is looked for on disk before it is not found. A
// goal that cannot be accepted is an [orchestrate.RefusedError].
func (m *Monitor) Orchestrate(ctx context.Context, p object.Path, g Goal) (string, error) {
	panic("to write")
}

// Abort gives up the orchestration in progress.
func (m *Monitor) Abort(ctx context.Context, p object.Path) (string, error) { panic("to write") }

// Clear forgets the failure of the local instance, so that the daemon tries again.
func (m *Monitor) Clear(ctx context.Context, p object.Path) error { panic("to write") }

// Progress takes note of what a command says it is doing to an instance.
func (m *Monitor) Progress(ctx context.Context, p object.Path, sessionID, state string, partial bool) error {
	panic("to write")
}

// Explain says why the monitor does, or does not do, what it does about the
// local instance.
func (m *Monitor) Explain(ctx context.Context, p object.Path) ([]orchestrate.Reason, error) {
	panic("to write")
}

// Orchestration is what is remembered of a goal.
type Orchestration struct {
	ID           string      `json:"id"`
	Path         object.Path `json:"path"`
	GlobalExpect string      `json:"global_expect"`
	AcceptedBy   string      `json:"accepted_by"`
	State        string      `json:"state"` // running, succeeded, failed, aborted
	Reason       string      `json:"reason,omitempty"`
	StartedAt    time.Time   `json:"started_at"`
	EndedAt      time.Time   `json:"ended_at,omitzero"`
}

// Orchestration returns what is remembered of a goal, or an
// [executor.ForgottenError].
func (m *Monitor) Orchestration(id string) (Orchestration, error) { panic("to write") }

// Orchestrations lists what is remembered, oldest first.
func (m *Monitor) Orchestrations() []Orchestration { panic("to write") }

// Wait returns an orchestration once it has ended, or at the end of ctx as it is
// then, with the error of ctx.
func (m *Monitor) Wait(ctx context.Context, id string) (Orchestration, error) { panic("to write") }
