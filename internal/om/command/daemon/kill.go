package daemon

import (
	"context"
	"errors"

	"github.com/spf13/pflag"

	"github.com/holdfast-ops/holdfast/internal/cli/app"
	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/command/verb"
)

// Kill declares the command that signals what the daemon runs. It takes no process
// id: one that was read in a list may name another process by now, where the daemon
// looks an exec up at the moment it signals.
func Kill() verb.Verb {
	return verb.Verb{
		Path: "kill", Args: verb.Args{Use: "[EXEC_ID]", Max: 1}, Short: "Send a signal to what the daemon runs",
		Long: "Send a signal to what the daemon runs, and to what that started. The options select runs as those of exec list do, and something must " +
			"narrow the selection: an id, a session, an orchestration, objects, a resource or an origin. What runs no more is selected by nothing, which is no failure.",
		Example: "om daemon kill --session-id 723906bb-5c1e-4a02-9b7e-0b1f3a8c9f11 --node '*' --dry-run\nom daemon kill -s 'pod*' --signal=term",
		New:     verb.Needs(func(h Historian) verb.Runner { return &kill{execs: execs{historian: h}} }),
	}
}

type kill struct {
	execs

	signal string
	isDry  bool
}

func (k *kill) Flags(f *pflag.FlagSet) {
	k.filters(f)
	f.StringVar(&k.signal, "signal", "TERM", "the `signal`, by name or number")
	f.BoolVar(&k.isDry, "dry-run", false, "print what would get the signal, and send none")
}

func (k *kill) Run(ctx context.Context, c *verb.Call) error {
	if len(c.Args) > 0 {
		k.query.ExecID = c.Args[0]
	}
	q := k.query
	if q.ExecID+q.SessionID+q.OrchestrationID+q.Selector+q.Rid+q.Origin == "" {
		return app.Usage("say what to signal: an EXEC_ID, --session-id, --orchestration-id, --selector, --rid or --origin")
	}
	nodes, err := k.asked(ctx)
	if err != nil {
		return hint(err)
	}
	// A node that cannot be asked does not keep the others from being told.
	var errs []error
	signaled := []api.Exec{}
	for _, n := range nodes {
		q.Node = n
		hit, err := k.historian.Kill(ctx, api.ExecKill{ExecQuery: q, Signal: k.signal, DryRun: k.isDry})
		if err != nil {
			errs = append(errs, hint(err))
			continue
		}
		signaled = append(signaled, hit...)
	}
	if len(errs) == len(nodes) {
		return errors.Join(errs...)
	}
	rows := execRows(signaled)
	return errors.Join(append(errs, verb.Write(c, psColumns(), rows, rows))...)
}
