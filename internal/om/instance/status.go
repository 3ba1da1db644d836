package instance

import (
	"context"

	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// StatusOptions tell how fresh a status must be.
type StatusOptions struct {
	Refresh       bool // evaluate, even when the last evaluation is fresh
	MonitoredOnly bool // evaluate the monitored resources only, the others as last seen
}

// Status returns the status of the local instance: the last evaluation when
// nothing changed since, else a new one.
func (e *Engine) Status(ctx context.Context, p object.Path, o StatusOptions) (cluster.InstanceStatus, error) {
	panic("to write")
}

// Config returns the configuration of the instance as this node evaluates it.
func (e *Engine) Config(p object.Path) (cluster.InstanceConfig, error) { panic("to write") }

// Run executes an action, and waits for its end.
func (e *Engine) Run(ctx context.Context, p object.Path, r Request) error { panic("to write") }

// Plan tells what [Engine.Run] would do.
func (e *Engine) Plan(ctx context.Context, p object.Path, r Request) (Plan, error) { panic("to write") }

// Info returns the key-values of the resources; refresh asks them again, those
// selected by the request only.
func (e *Engine) Info(ctx context.Context, p object.Path, r Request, refresh bool) ([]ResourceInfo, error) {
	panic("to write")
}

// Enter opens an interactive shell in a resource.
func (e *Engine) Enter(ctx context.Context, p object.Path, rid string) error { panic("to write") }

// Frozen and stopped flags, for the daemon and the commands.

// SetFrozen freezes or unfreezes the local instance.
func (e *Engine) SetFrozen(p object.Path, frozen bool) error { panic("to write") }

// SetStopped flags the local instance stopped on purpose, or removes the flag.
func (e *Engine) SetStopped(p object.Path, stopped bool) error { panic("to write") }

// ResourceInfo is one key-value of a resource.
type ResourceInfo struct {
	Object string `json:"object"`
	Node   string `json:"node"`
	RID    string `json:"rid"`
	Key    string `json:"key"`
	Value  string `json:"value"`
}
