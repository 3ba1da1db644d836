// Package instance plans and runs the actions of an object on the local node,
// and evaluates its status there.
//
//	Request -> load (configuration, resources) -> Plan (a value) -> walk
//	                                                                 |  each resource:
//	                                                                 |  requirements, triggers, driver, status
//	                                                                 v
//	                                                     rollback of what this action did, when it failed
//
// The engine does what is common to every driver: order, filters, locks,
// timeouts, "already up", undo, flags. It works without a daemon: [Notifier] is
// how it tells one what happens, when there is one.
package instance

import (
	"context"
	"log/slog"
	"sync"

	"github.com/holdfast-ops/holdfast/internal/host"
	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/resource"
	"github.com/holdfast-ops/holdfast/internal/om/store"
)

// Notifier is told what happens to the instances. The daemon is one.
type Notifier interface {
	// Progress tells the state an action puts the instance in; partial tells
	// that the action is restricted to some resources.
	Progress(ctx context.Context, p object.Path, sid, state string, partial bool)
	// Status gives a new evaluation.
	Status(ctx context.Context, p object.Path, status cluster.InstanceStatus)
	// Installed tells the files that a resource wrote.
	Installed(ctx context.Context, p object.Path, rid string, files []string)
}

// Engine acts on the local instances. It is safe for concurrent use; two
// actions on the same instance exclude each other by a lock on disk.
type Engine struct {
	Host     host.Host
	Store    *store.Store
	Registry *resource.Registry
	Log      *slog.Logger // nil: nothing is logged
	// Data reads a key of a cfg or sec object. Nil: there are none.
	Data func(p object.Path, key string) ([]byte, error)
	// Keys gives access to the keys that are laid down as files. Nil: there are none.
	Keys resource.Keys
	// Renew renews the certificate of a sec. Nil: it cannot be from here.
	Renew func(ctx context.Context, r resource.Renewal) (string, error)
	// Notify may be nil: nobody is told.
	Notify Notifier
	// Environ is the environment the commands inherit, KEY=value. Nil: a path
	// and nothing else.
	Environ []string
	// Terminal is where a shell in a resource reads and writes; TTY tells that it is a
	// terminal indeed. Zero: nobody is there.
	Terminal host.Terminal
	TTY      bool

	hanging sync.Map // since when, of what may hang
	told    sync.Map // paths whose status could not be kept, which was said
}

func (e *Engine) log() *slog.Logger {
	if e.Log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return e.Log
}

func (e *Engine) progress(ctx context.Context, p object.Path, r Request, state string) {
	// An action the daemon runs is one whose state it has set already.
	if e.Notify != nil && state != "" && r.Origin != OriginMonitor {
		e.Notify.Progress(ctx, p, r.Session, state, r.Partial())
	}
}
