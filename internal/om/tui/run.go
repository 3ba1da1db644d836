package tui

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/spf13/pflag"

	"github.com/holdfast-ops/holdfast/internal/cli/app"
	"github.com/holdfast-ops/holdfast/internal/cli/screen"
	"github.com/holdfast-ops/holdfast/internal/cli/watch"
	"github.com/holdfast-ops/holdfast/internal/om/command/contexts"
	"github.com/holdfast-ops/holdfast/internal/om/command/grid"
	"github.com/holdfast-ops/holdfast/internal/om/command/monitor"
	"github.com/holdfast-ops/holdfast/internal/om/command/remote"
	"github.com/holdfast-ops/holdfast/internal/om/command/verb"
	"github.com/holdfast-ops/holdfast/internal/secret"
)

// Name is the word of the command.
const Name = "tui"

// Verb declares the terminal interface. It is what a program with contexts opens
// when nothing else is asked.
var Verb = verb.Verb{
	Path: Name, Group: "query", Selects: true,
	Short: "Open the terminal interface: look at the cluster and act on it",
	Long: "Show the cluster on the terminal, live, and act on it: move with the arrows, look closer with enter, act with a, h explains the rest. " +
		"A selector narrows it to objects. Without a context in force it begins with the choice of one. --legend explains the marks and opens nothing.",
	Example: "OSVC_CONTEXT=john@dreamy-leopard ox\nox tui --server https://mycluster.example.com:1215",
	New:     verb.Needs(func(h Host) verb.Runner { return &open{host: h} }),
}

// Host is a backend with contexts, and the clusters behind them.
type Host interface {
	contexts.Authenticator
	Of(context string) *remote.Backend
	Direct() bool
}

type open struct {
	host   Host
	legend bool
}

func (o *open) Flags(f *pflag.FlagSet) {
	f.BoolVar(&o.legend, "legend", false, "explain the marks")
}

func (o *open) Run(ctx context.Context, c *verb.Call) error {
	if o.legend {
		return grid.Write(c.Streams, monitor.Legend())
	}
	if c.Env("TERM") == "dumb" {
		return app.Usage("the terminal interface needs a terminal that can move its cursor, and TERM is dumb: ox monitor prints the cluster")
	}
	filter, err := c.Selection()
	if err != nil {
		return err
	}
	options := Options{Context: o.host.Current(), Now: time.Now(), Filter: filter}
	if options.Context == "" && !o.host.Direct() {
		f, err := o.host.Station().Load()
		if err != nil {
			return err
		}
		options.Choose = len(f.Names()) > 0
	}
	err = screen.Run(ctx, c.Streams, nil, New(&hosted{host: o.host}, options))
	switch {
	case errors.Is(err, screen.ErrNoTerminal):
		return app.Usage("the terminal interface needs a terminal, and %v: ox monitor prints the cluster, ox --help lists the commands", err)
	case errors.Is(err, watch.ErrInterrupted):
		return app.Silent(app.Interrupted)
	}
	return err
}

// hosted is the world behind a backend.
type hosted struct {
	host Host

	mu       sync.Mutex
	backends map[string]*remote.Backend
}

// Contexts implements World.
func (h *hosted) Contexts() ([]Context, error) {
	s := h.host.Station()
	f, err := s.Load()
	if err != nil {
		return nil, err
	}
	now := time.Now()
	var list []Context
	for _, name := range f.Names() {
		e, err := f.Resolve(name)
		if err != nil {
			return nil, err
		}
		t, err := s.Tokens(name)
		list = append(list, Context{
			Name: name, Server: e.Cluster.Server, User: e.Login(), Namespace: e.Settings.Namespace,
			Authenticated: e.Certified() || err == nil && (t.Fresh(now) || t.Renewable(now)),
		})
	}
	return list, nil
}

// Open implements World. What is said to a cluster goes through one client.
func (h *hosted) Open(name string) (Cluster, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	b := h.backends[name]
	if b == nil {
		b = h.host.Of(name)
		if _, err := b.Connect(); err != nil {
			return nil, err
		}
		if h.backends == nil {
			h.backends = map[string]*remote.Backend{}
		}
		h.backends[name] = b
	}
	return distant{b}, nil
}

// Login implements World.
func (h *hosted) Login(ctx context.Context, name string, password secret.String) error {
	_, err := h.host.Login(ctx, name, password, remote.Life{})
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.backends, name)
	return err
}

// distant is a cluster behind a backend.
type distant struct{ *remote.Backend }
