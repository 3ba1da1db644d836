// Package discover finds out what changes on disk: configurations, and the flag
// files of the instances and of the node.
package discover

import (
	"context"
	"log/slog"

	"github.com/holdfast-ops/holdfast/internal/host"
	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/bus"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/state"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// Loader evaluates configurations.
type Loader interface {
	// Config evaluates the configuration of the local instance of an object;
	// *instance.Engine does it.
	Config(p object.Path) (cluster.InstanceConfig, error)
}

// Watcher is told which instances to keep evaluated; *evaluate.Pool is one.
type Watcher interface {
	Watch(p object.Path, monitored bool)
	Forget(p object.Path)
	Request(p object.Path)
}

// Options are what discovery works with.
type Options struct {
	Paths    host.Paths
	Loader   Loader
	Settings func() (cluster.Config, cluster.NodeConfig, error) // cluster.conf and node.conf, evaluated
	State    *state.State
	Bus      *bus.Bus
	Evaluate Watcher
	Log      *slog.Logger
}

// Discovery watches the disk.
type Discovery struct{ o Options }

// New returns a discovery. Nothing is read before [Discovery.Run].
func New(o Options) *Discovery { return &Discovery{o: o} }

// Run watches until ctx ends.
func (d *Discovery) Run(ctx context.Context) error { panic("to write") }

// Ready is closed once everything on disk was read.
func (d *Discovery) Ready() <-chan struct{} { panic("to write") }

// Refresh reads the configuration of an object now, so that the view includes
// what was written before the call. The zero path is that of the node.
func (d *Discovery) Refresh(p object.Path) error { panic("to write") }
