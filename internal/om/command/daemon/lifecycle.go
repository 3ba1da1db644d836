// Package daemon declares the commands on the daemon: its life, what it runs
// and ran, its events, its tokens and its logs.
package daemon

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"github.com/holdfast-ops/holdfast/internal/cli/app"
	"github.com/holdfast-ops/holdfast/internal/cli/output"
	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/client"
	"github.com/holdfast-ops/holdfast/internal/om/command/verb"
)

// Host is a machine on which a daemon may run.
type Host interface {
	Stater
	// RunDaemon is the daemon: it returns when the daemon ends.
	RunDaemon(ctx context.Context, c *verb.Call) error
	// StartDaemon starts the daemon in the background and returns once it
	// answers; started is false when one was running already.
	StartDaemon(ctx context.Context, limit time.Duration) (started bool, err error)
	// StopDaemon stops the daemon and returns once it has ended; stopped is
	// false when none was running.
	StopDaemon(ctx context.Context, limit time.Duration) (stopped bool, err error)
}

// Elsewhere asks the daemons of nodes.
type Elsewhere interface {
	// AskDaemon has the daemon of a node stop, restart or shutdown.
	AskDaemon(ctx context.Context, node, action string, limit time.Duration) error
	ExpandNodes(ctx context.Context, selector string) ([]string, error)
}

// Answerer tells whether a daemon answers.
type Answerer interface {
	Alive(ctx context.Context) error
}

// Shutter stops what a daemon looks after, then the daemon.
type Shutter interface {
	ShutdownDaemon(ctx context.Context, limit time.Duration) error
}

// Stater describes the daemon that answers.
type Stater interface {
	DaemonState(ctx context.Context) (State, error)
}

// State describes a daemon.
type State struct {
	Node     string `json:"node"`
	State    string `json:"state"`
	Pid      int    `json:"pid"`
	Version  string `json:"version"`
	Cluster  string `json:"cluster"`
	Listener string `json:"listener"`
	// ListenerError is why the network gets no answer.
	ListenerError string `json:"listener_error,omitempty"`
	StartedAt     string `json:"started_at"`
	Objects       int    `json:"objects"`
	// Issues are why the configuration of the cluster is not obeyed.
	Issues []string `json:"issues,omitempty"`
}

const lifecycle = "life of the daemon"

// Lifecycle returns the commands that start and stop the daemon.
func Lifecycle() []verb.Verb {
	return []verb.Verb{
		{
			Path: "run", Group: lifecycle, Short: "Be the daemon, in the foreground",
			New: verb.Needs(func(h Host) verb.Runner { return &run{host: h} }),
		},
		{
			Path: "start", Aliases: []string{"star"}, Group: lifecycle, Short: "Start the daemon, return once it answers",
			New: verb.Needs(func(h Host) verb.Runner {
				return &command{do: func(ctx context.Context, c *verb.Call, limit time.Duration) error {
					started, err := h.StartDaemon(ctx, limit)
					if err == nil && !started {
						c.Say("the daemon is already running")
					}
					if err == nil {
						warn(ctx, h, c)
					}
					return err
				}, usage: "give up after this long", limit: 30 * time.Second}
			}),
		},
		{
			Path: "stop", Group: lifecycle, Short: "Stop the daemon, services keep running",
			New: onNodes("stop", func(h Host) *command {
				return &command{do: func(ctx context.Context, c *verb.Call, limit time.Duration) error {
					stopped, err := h.StopDaemon(ctx, limit)
					if err == nil && !stopped {
						c.Say("the daemon is not running")
					}
					return err
				}, usage: "give up after this long", limit: 30 * time.Second}
			}),
		},
		{
			Path: "restart", Group: lifecycle, Short: "Stop then start the daemon, services keep running",
			New: onNodes("restart", func(h Host) *command {
				return &command{do: func(ctx context.Context, c *verb.Call, limit time.Duration) error {
					if _, err := h.StopDaemon(ctx, limit); err != nil {
						return err
					}
					_, err := h.StartDaemon(ctx, limit)
					if err == nil {
						warn(ctx, h, c)
					}
					return err
				}, usage: "give up after this long, twice", limit: 30 * time.Second}
			}),
		},
		{
			Path: "shutdown", Group: lifecycle, Short: "Stop the services of the node, then the daemon",
			New: onNodes("shutdown", func(s Shutter) *command {
				return &command{do: func(ctx context.Context, _ *verb.Call, limit time.Duration) error {
					return hint(s.ShutdownDaemon(ctx, limit))
				}, usage: "give up after this long", limit: 5 * time.Minute}
			}),
		},
		{
			Path: "running", Group: lifecycle, Short: "Tell by the exit code whether the daemon answers: 0 or 1",
			New: verb.Does(func(ctx context.Context, a Answerer, _ *verb.Call) error {
				err := a.Alive(ctx)
				if err != nil && !client.IsHung(err) {
					return app.Silent(1)
				}
				return err
			}),
		},
		{
			Path: "status", Aliases: []string{"statu"}, Group: "query", Short: "Describe the daemon that answers",
			New: verb.Does(status),
		},
	}
}

// warn tells what a daemon that answers does not do.
func warn(ctx context.Context, s Stater, c *verb.Call) {
	state, err := s.DaemonState(ctx)
	if err == nil && state.ListenerError != "" {
		c.Say("warning: the API is only served on the unix socket: %s; it is tried again until it works", state.ListenerError)
	}
}

func status(ctx context.Context, s Stater, c *verb.Call) error {
	state, err := s.DaemonState(ctx)
	if err != nil {
		return hint(err)
	}
	for _, issue := range state.Issues {
		c.Say("warning: the daemon goes on with the last good configuration of the cluster: %s", issue)
	}
	return verb.Write(c, []output.Column[State]{
		{Name: "NODE", Value: func(s State) any { return s.Node }},
		{Name: "STATE", Value: func(s State) any { return s.State }},
		{Name: "PID", Value: func(s State) any { return s.Pid }},
		{Name: "VERSION", Value: func(s State) any { return s.Version }},
		{Name: "CLUSTER", Value: func(s State) any { return s.Cluster }},
		{Name: "LISTENER", Value: func(s State) any { return s.Listener }},
		{Name: "OBJECTS", Value: func(s State) any { return s.Objects }},
		{Name: "STARTED_AT", Value: func(s State) any { return s.StartedAt }},
	}, []State{state}, state)
}

// onNodes builds a command on the daemon of this host, or on those of nodes. Where
// there is no host, it is about the one that answers.
func onNodes[C any](action string, here func(C) *command) func(verb.Backend) verb.Runner {
	return func(b verb.Backend) verb.Runner {
		m := &command{usage: "give up after this long", limit: 30 * time.Second}
		if c, ok := b.(C); ok {
			m = here(c)
		}
		m.action = action
		m.elsewhere, _ = b.(Elsewhere)
		if m.do == nil && m.elsewhere == nil {
			return nil
		}
		return m
	}
}

// command is a command with a time limit, and the nodes it is about.
type command struct {
	do        func(ctx context.Context, c *verb.Call, limit time.Duration) error // on this host
	elsewhere Elsewhere
	action    string
	usage     string
	limit     time.Duration
	nodes     string
}

func (m *command) Flags(f *pflag.FlagSet) {
	f.DurationVar(&m.limit, "time", m.limit, m.usage)
	f.DurationVar(&m.limit, "duration", m.limit, "")
	f.StringVar(&m.nodes, "node", "", "the daemons of these `nodes`, this one by default")
	f.Lookup("duration").Hidden = true
	f.Lookup("node").Hidden = m.elsewhere == nil
}

func (m *command) Run(ctx context.Context, c *verb.Call) error {
	if m.do != nil && (m.nodes == "" || m.elsewhere == nil) {
		return m.do(ctx, c, m.limit)
	}
	nodes := []string{api.Localhost}
	if m.nodes != "" {
		var err error
		if nodes, err = m.elsewhere.ExpandNodes(ctx, m.nodes); err != nil {
			return err
		}
	}
	var errs []error
	for _, n := range nodes {
		if err := m.elsewhere.AskDaemon(ctx, n, m.action, m.limit); err != nil {
			errs = append(errs, fmt.Errorf("node %s: %w", n, err))
		}
	}
	return errors.Join(errs...)
}

type run struct{ host Host }

func (*run) Flags(*pflag.FlagSet) {}

func (r *run) Run(ctx context.Context, c *verb.Call) error { return r.host.RunDaemon(ctx, c) }
