// Package discover finds out what changes on disk: configurations, and the flag
// files of the instances and of the node.
//
//	etc/**.conf          -> evaluated configurations in the state, instances to evaluate
//	etc/{cluster,node}.conf -> settings of the cluster and the node; every object again
//	var/**/{frozen,stopped} -> instances to evaluate, freeze of the node
//
// The kernel tells what changed (inotify); what comes in a burst is handled
// once, a few milliseconds later. When the kernel says that it lost some of it,
// everything is looked at again. When it cannot watch at all, for its limits are
// reached, an error says which limit to raise, and everything is looked at every
// few seconds instead: slow, but nothing is missed.
//
// A configuration that cannot be evaluated is never taken for a deleted one: the
// last good one stays, with the issue beside.
package discover

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/fsnotify/fsnotify"
	"golang.org/x/sync/errgroup"

	"github.com/holdfast-ops/holdfast/internal/host"
	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/bus"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/state"
	"github.com/holdfast-ops/holdfast/internal/om/event"
	"github.com/holdfast-ops/holdfast/internal/om/instance"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// Loader evaluates configurations.
type Loader interface {
	// Config evaluates the configuration of the local instance of an object;
	// *instance.Engine does it.
	Config(p object.Path) (cluster.InstanceConfig, error)
}

// Evaluator evaluates instances, soon; *evaluate.Pool is one.
type Evaluator interface {
	Request(p object.Path)
}

// Options are what discovery works with.
type Options struct {
	Paths    host.Paths
	Loader   Loader
	Settings func() (cluster.Config, cluster.NodeConfig, error) // of cluster.conf and node.conf
	State    *state.State
	Bus      *bus.Bus
	Evaluate Evaluator
	Log      *slog.Logger
}

// Discovery reads the disk into the state. Its methods are safe for concurrent use.
type Discovery struct {
	o         Options
	ready     chan struct{}
	watcher   func() (*fsnotify.Watcher, error)
	pollEvery time.Duration // when it cannot be watched

	reading sync.Mutex // held while the settings are read

	mu      sync.Mutex
	objects map[object.Path]*known
	site    map[string]fs.FileInfo // cluster.conf and node.conf
	frozen  time.Time              // of the node
}

// known is what was read of an object. Its lock makes reads of one object follow
// each other, while different objects are read at once.
type known struct {
	mu    sync.Mutex
	info  fs.FileInfo // of the configuration read; nil: none was
	flags [len(flagNames)]time.Time
}

// flagNames are the flag files of an instance.
var flagNames = [...]string{"frozen", "stopped"}

// New returns a discovery. Nothing is read before [Discovery.Run] or
// [Discovery.Refresh].
func New(o Options) *Discovery {
	return &Discovery{
		o: o, ready: make(chan struct{}), watcher: newWatcher, pollEvery: pollEvery,
		objects: map[object.Path]*known{}, site: map[string]fs.FileInfo{},
	}
}

// Ready is closed once everything on disk was read.
func (d *Discovery) Ready() <-chan struct{} { return d.ready }

// Refresh reads the configuration of an object now, so that the view includes
// what was written before the call: it costs next to nothing when nothing was.
// The zero path is that of the node. An object that has no configuration is an
// *object.NotFoundError, one that cannot be evaluated is no error here.
func (d *Discovery) Refresh(p object.Path) error {
	if p.IsZero() || p == object.Cluster() {
		d.readSite(context.Background())
		if p.IsZero() {
			return nil
		}
	}
	return d.read(p)
}

func (d *Discovery) entry(p object.Path) *known {
	d.mu.Lock()
	defer d.mu.Unlock()
	k := d.objects[p]
	if k == nil {
		k = &known{}
		d.objects[p] = k
	}
	return k
}

func (d *Discovery) file(p object.Path) string {
	if p.IsZero() {
		return filepath.Join(d.o.Paths.Etc(), "node.conf")
	}
	return filepath.Join(d.o.Paths.Etc(), p.ConfigFile())
}

// read brings the state up to date with the configuration of an object.
func (d *Discovery) read(p object.Path) error {
	k := d.entry(p)
	k.mu.Lock()
	defer k.mu.Unlock()
	file := d.file(p)
	info, err := os.Stat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR):
		d.removed(p, k, file)
		return &object.NotFoundError{What: p.String()}
	case err != nil:
		d.issue(p, time.Time{}, fmt.Errorf("read %s: %w", file, err))
		return nil
	case same(k.info, info):
		return nil
	}
	k.info = info // what is written from here on is seen as another file
	d.o.Bus.Publish(event.ConfigFileUpdated{Path: p, File: file})
	config, err := d.o.Loader.Config(p)
	var elsewhere *instance.NotFoundError
	var missing *object.NotFoundError
	switch {
	case errors.As(err, &missing):
		d.removed(p, k, file)
		return missing
	case errors.As(err, &elsewhere):
		d.o.Log.Warn("no instance here", slog.String("object", p.String()), slog.Any("err", err))
		d.forget(p)
		return nil
	case err != nil:
		d.issue(p, info.ModTime(), err)
		return nil
	}
	d.o.State.SetInstanceConfig(p, d.o.State.Node(), config)
	d.o.Evaluate.Request(p)
	return nil
}

func (d *Discovery) removed(p object.Path, k *known, file string) {
	if k.info != nil {
		k.info = nil
		d.o.Bus.Publish(event.ConfigFileRemoved{Path: p, File: file})
	}
	d.forget(p)
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.objects, p)
}

func (d *Discovery) forget(p object.Path) {
	d.o.State.DeleteInstance(p, d.o.State.Node())
}

// issue keeps the last good configuration of an instance, with what is wrong
// with the file.
func (d *Discovery) issue(p object.Path, at time.Time, err error) {
	d.o.Log.Warn("configuration", slog.String("object", p.String()), slog.Any("err", err))
	node := d.o.State.Node()
	config := cluster.InstanceConfig{Path: p, Nodename: node, Scope: []string{node}, UpdatedAt: at}
	if o := d.o.State.View().Objects[p]; o != nil {
		if i := o.Instances[node]; i.Config != nil {
			config = *i.Config
		}
	}
	config.Issues = []string{err.Error()}
	d.o.State.SetInstanceConfig(p, node, config)
	d.o.Evaluate.Request(p)
}

// same reports whether two looks at a file saw the same one: a commit replaces
// the file, so it is another one even within a tick of the clock.
func same(a, b fs.FileInfo) bool {
	return a != nil && b != nil && os.SameFile(a, b) && a.ModTime().Equal(b.ModTime()) && a.Size() == b.Size()
}

// readSite brings the settings of the cluster and of the node up to date. When
// they changed, every object is evaluated again: it may refer to them.
func (d *Discovery) readSite(ctx context.Context) {
	if !d.readSettings() {
		return
	}
	d.mu.Lock()
	all := maps.Clone(d.objects)
	d.mu.Unlock()
	for _, k := range all {
		k.mu.Lock()
		k.info = nil
		k.mu.Unlock()
	}
	d.readAll(ctx, slices.Collect(maps.Keys(all)))
}

// readSettings tells whether the settings changed. Once it returns the state has
// them, whoever read them.
func (d *Discovery) readSettings() bool {
	d.reading.Lock()
	defer d.reading.Unlock()
	d.mu.Lock()
	changed := false
	for _, p := range []object.Path{{}, object.Cluster()} {
		file := d.file(p)
		info, err := os.Stat(file)
		if err != nil {
			info = nil
		}
		old, seen := d.site[file]
		if seen && (same(old, info) || old == nil && info == nil) {
			continue
		}
		d.site[file], changed = info, true
	}
	d.mu.Unlock()
	if !changed {
		return false
	}
	d.o.Bus.Publish(event.ConfigFileUpdated{File: d.file(object.Path{})})
	config, node, err := d.o.Settings()
	if err != nil {
		d.o.Log.Error("configuration of the cluster and the node: the last good one stays", slog.Any("err", err))
		config = d.o.State.View().Config
		config.Issues = []string{err.Error()}
		d.o.State.SetClusterConfig(config)
		return false
	}
	d.o.State.SetClusterConfig(config)
	d.o.State.SetNodeConfig(d.o.State.Node(), node)
	return true
}

// readAll reads objects, several at once.
func (d *Discovery) readAll(ctx context.Context, paths []object.Path) {
	var g errgroup.Group
	g.SetLimit(2 * runtime.GOMAXPROCS(0))
	for _, p := range paths {
		if ctx.Err() != nil {
			break
		}
		g.Go(func() error {
			_ = d.read(p) // not found: it is gone, and the state says so
			return nil
		})
	}
	_ = g.Wait() // never fails
}
