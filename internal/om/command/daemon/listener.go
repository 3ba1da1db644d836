package daemon

import (
	"context"
	"errors"
	"iter"

	"github.com/spf13/pflag"

	"github.com/holdfast-ops/holdfast/internal/cli/app"
	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/command/verb"
	"github.com/holdfast-ops/holdfast/internal/sse"
)

// Controller controls the listeners and the log of daemons.
type Controller interface {
	ExpandNodes(ctx context.Context, selector string) ([]string, error)
	// ControlListener starts, stops or restarts a listener, and returns what was said.
	ControlListener(ctx context.Context, node, name, action string) (said string, err error)
	// SetLogLevel sets the level of the log of a listener, of the daemon when name is "".
	SetLogLevel(ctx context.Context, node, name, level string) (said string, err error)
	// Audit streams the log of a daemon.
	Audit(ctx context.Context, q api.AuditQuery) iter.Seq2[sse.Event, error]
}

// Control returns the commands on the listeners and on the log of the daemon.
func Control() []verb.Verb {
	var verbs []verb.Verb
	for _, a := range [][2]string{
		{"start", "Start a listener that was stopped"},
		{"stop", "Stop a listener, until it is started or the daemon restarts"},
		{"restart", "Stop a listener, then start it"},
	} {
		verbs = append(verbs, verb.Verb{
			Path: "listener " + a[0], Group: "control", Short: a[1],
			Long: a[1] + ". The listener is inet, the one of the network; the root socket lives as long as the daemon.",
			New: verb.Needs(func(k Controller) verb.Runner {
				return &control{controller: k, named: true, do: func(ctx context.Context, c *control, node string) (string, error) {
					return k.ControlListener(ctx, node, c.name, a[0])
				}}
			}),
		})
	}
	setLevel := func(ctx context.Context, c *control, node string) (string, error) {
		return c.controller.SetLogLevel(ctx, node, c.name, c.level)
	}
	return append(verbs,
		verb.Verb{
			Path: "listener log", Group: "control", Short: "Set the level of what is logged of the requests of a listener",
			New: verb.Needs(func(k Controller) verb.Runner {
				return &control{controller: k, named: true, leveled: true, do: setLevel}
			}),
		},
		verb.Verb{
			Path: "log", Group: "control", Short: "Set the level of what the daemon logs, until it restarts",
			Example: "om daemon log --level info",
			New: verb.Needs(func(k Controller) verb.Runner {
				return &control{controller: k, leveled: true, do: setLevel}
			}),
		},
		verb.Verb{
			Path: "audit", Group: "control", Short: "Print what the daemon logs as it does, whatever the level of its log",
			Example: "om daemon audit --level debug --sub monitor",
			New:     verb.Needs(func(k Controller) verb.Runner { return &audit{controller: k} }),
		},
	)
}

// control does one thing to the daemons of nodes.
type control struct {
	controller     Controller
	do             func(ctx context.Context, c *control, node string) (said string, err error)
	named, leveled bool

	nodes, name, level string
}

func (k *control) Flags(f *pflag.FlagSet) {
	f.StringVar(&k.nodes, "node", "", "the daemons of these `nodes`, the one that answers by default")
	if k.named {
		f.StringVar(&k.name, "name", "inet", "the `name` of the listener")
	}
	if k.leveled {
		f.StringVar(&k.level, "level", "", "debug, info, warn, error, fatal, panic or none")
	}
}

func (k *control) Run(ctx context.Context, c *verb.Call) error {
	if k.leveled && k.level == "" {
		return app.Usage("say which level: --level debug, info, warn, error, fatal, panic or none")
	}
	nodes := []string{api.Localhost}
	if k.nodes != "" {
		var err error
		if nodes, err = k.controller.ExpandNodes(ctx, k.nodes); err != nil {
			return err
		}
	}
	var errs []error
	for _, node := range nodes {
		said, err := k.do(ctx, k, node)
		if errs = append(errs, err); err == nil {
			c.Say(said)
		}
	}
	return errors.Join(errs...)
}

// audit prints the log of a daemon.
type audit struct {
	controller Controller
	query      api.AuditQuery
}

func (a *audit) Flags(f *pflag.FlagSet) {
	f.StringVar(&a.query.Node, "node", api.Localhost, "the `node` whose daemon is listened to")
	f.StringVar(&a.query.Level, "level", "trace", "only the lines of this `level` and above: trace, debug, info, warn or error")
	f.StringSliceVar(&a.query.Sub, "sub", nil, "only the lines of these `parts` of the daemon")
	f.BoolVar(&a.query.Preempt, "preempt", false, "end the audit in progress")
}

func (a *audit) Run(ctx context.Context, c *verb.Call) error {
	for e, err := range a.controller.Audit(ctx, a.query) {
		switch {
		case ctx.Err() != nil:
			return app.Ended(ctx)
		case err != nil:
			return err
		case e.Name == api.StreamEnd:
			return errors.New("another audit took over")
		case e.Name == api.Resync:
			c.Say("lines were lost, this reader is too slow: " + string(e.Data))
			continue
		}
		if _, err := c.Streams.Out.Write(append(e.Data, '\n')); err != nil {
			return err
		}
	}
	return errors.New("the daemon ended the stream")
}
