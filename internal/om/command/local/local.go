// Package local is the backend of om: this host, through the instance engine
// and the configuration store, and the cluster, through the daemon of this host.
//
// Nothing is opened before a command needs it: a command costs what it does.
package local

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/holdfast-ops/holdfast/internal/cli/app"
	"github.com/holdfast-ops/holdfast/internal/cli/output"
	"github.com/holdfast-ops/holdfast/internal/host"
	"github.com/holdfast-ops/holdfast/internal/linux/journal"
	"github.com/holdfast-ops/holdfast/internal/om/client"
	"github.com/holdfast-ops/holdfast/internal/om/command/remote"
	"github.com/holdfast-ops/holdfast/internal/om/command/verb"
	"github.com/holdfast-ops/holdfast/internal/om/datastore"
	"github.com/holdfast-ops/holdfast/internal/om/instance"
	"github.com/holdfast-ops/holdfast/internal/om/logbook"
	"github.com/holdfast-ops/holdfast/internal/om/resource"
	"github.com/holdfast-ops/holdfast/internal/om/store"
)

// Options are what the main package gives.
type Options struct {
	Process  app.Process
	Registry func() *resource.Registry // the drivers of the build
	// Serve is the daemon: it returns when the daemon ends.
	Serve func(ctx context.Context, d Daemon) error
}

// Daemon is what a daemon runs with.
type Daemon struct {
	Host    host.Host
	Version string
	Log     *slog.Logger
	Args    []string // command line of the process, to restart it
	Environ []string // its environment, that actions inherit
}

// Backend acts on this host.
type Backend struct {
	*remote.Backend

	o        Options
	host     host.Host
	registry func() *resource.Registry
	store    func() *store.Store
	book     func() *logbook.Book
	journal  func() *journal.Writer
	session  func() string
	silent   atomic.Bool // the daemon did not take a notification
}

// New returns the backend of this host.
func New(o Options) *Backend {
	p := o.Process
	b := &Backend{o: o, host: host.Host{
		Runner: host.NewRunner(), Paths: host.Paths{Root: p.Env("OSVC_ROOT_PATH")}, Hostname: p.Hostname, Self: p.Self,
	}}
	b.registry = sync.OnceValue(o.Registry)
	b.store = sync.OnceValue(func() *store.Store { return store.New(b.host, b.registry().Sections) })
	b.book = sync.OnceValue(func() *logbook.Book { return logbook.Open(b.host.Paths) })
	b.journal = sync.OnceValue(b.findJournal)
	b.Backend = &remote.Backend{Env: p.Env, Connect: sync.OnceValues(func() (*client.Client, error) {
		return client.New(client.Options{Socket: b.host.Paths.Socket()})
	})}
	b.session = sync.OnceValue(b.NewSession)
	return b
}

// Check implements [command.Checker]. The daemon and the actions it starts must
// find the same files, wherever they run.
func (b *Backend) Check() error {
	if root := b.host.Paths.Root; root != "" && !filepath.IsAbs(root) {
		return app.Usage("OSVC_ROOT_PATH=%s: write an absolute path", root)
	}
	return nil
}

// Explain implements [command.Explainer]: an ordinary user has no access to the
// folders of the system, and may have an agent of its own.
func (b *Backend) Explain(err error) error {
	if b.host.Paths.Root != "" || !errors.Is(err, os.ErrPermission) || b.o.Process.UID == 0 {
		return err
	}
	return fmt.Errorf("%w\nThe agent of the system is for root. Become root, or set OSVC_ROOT_PATH to a folder of yours for an agent of your own", err)
}

// NodeName implements instance.Local.
func (b *Backend) NodeName() string { return b.host.Hostname }

// origin is who started this command: "user", or a part of the daemon.
func (b *Backend) origin() string {
	if o := b.o.Process.Env("OSVC_ACTION_ORIGIN"); o != "" {
		return o
	}
	return "user"
}

// byDaemon tells whether the daemon started this command: it then knows what
// it asked for, and must not be waited for.
func (b *Backend) byDaemon() bool { return strings.HasPrefix(b.origin(), "daemon/") }

// engine acts on the instances of this node, and logs on the console of a call.
func (b *Backend) engine(c *verb.Call) *instance.Engine {
	data := datastore.New(b.store())
	return &instance.Engine{
		Host: b.host, Store: b.store(), Registry: b.registry(), Log: b.logger(c),
		Data: data.Decode, Keys: data, Renew: b.renew, Notify: notifier{b},
	}
}

// logger writes to the store, and to the console unless it must be quiet.
func (b *Backend) logger(c *verb.Call) *slog.Logger {
	var handlers []slog.Handler
	if b.o.Process.Env("OSVC_NO_LOG_FILE") == "" {
		handlers = append(handlers, b.book().Handler(b.host.Hostname, slog.LevelDebug))
	}
	if b.journal().Exists() {
		handlers = append(handlers, journal.NewHandler(b.journal(), journal.HandlerOptions{
			Identifier: "om", Name: fieldName, Fields: []journal.Field{{Name: "NODE", Value: b.host.Hostname}},
		}))
	}
	if c != nil && !c.Quiet && !b.journalReadsConsole() {
		level := slog.LevelInfo
		if c.Debug {
			level = slog.LevelDebug
		}
		handlers = append(handlers, logbook.Console(c.Streams.Err, logbook.ConsoleOptions{Color: c.Streams.Color && c.Streams.ErrTTY, Level: level, Escape: output.EscapeLine}))
	}
	return slog.New(logbook.Tee(handlers...))
}

// warner is the logger of what only looks: people are told what goes wrong.
func (b *Backend) warner() *slog.Logger {
	console := logbook.Console(b.o.Process.Streams.Err, logbook.ConsoleOptions{Level: slog.LevelWarn, Escape: output.EscapeLine})
	return slog.New(logbook.Tee(b.logger(nil).Handler(), console))
}
