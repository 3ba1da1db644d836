package daemon

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/holdfast-ops/holdfast/internal/cli/output"
	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/client"
	"github.com/holdfast-ops/holdfast/internal/om/command/verb"
)

// Historian remembers what daemons ran.
type Historian interface {
	Execs(ctx context.Context, q api.ExecQuery) ([]api.Exec, error)
	Exec(ctx context.Context, q api.WaitQuery) (api.Exec, error)
	Orchestrations(ctx context.Context, q api.OrchestrationQuery) ([]api.Orchestration, error)
	Orchestration(ctx context.Context, q api.WaitQuery) (api.Orchestration, error)
	// ExpandNodes returns the nodes a node selector designates.
	ExpandNodes(ctx context.Context, selector string) ([]string, error)
}

// History returns the commands that list what the daemon runs and ran.
func History() []verb.Verb {
	const group = "query"
	return []verb.Verb{
		{
			Path: "ps", Group: group, Short: "List what the daemon runs now",
			New: verb.Needs(func(h Historian) verb.Runner {
				return &execs{historian: h, query: api.ExecQuery{State: api.StateRunning}, running: true}
			}),
		},
		{
			Path: "exec list", Aliases: []string{"ls"}, Group: group, Args: verb.Args{Use: "[EXEC_ID]", Max: 1},
			Short: "List the runs: one command, for one object, on one node",
			New:   verb.Needs(func(h Historian) verb.Runner { return &execs{historian: h} }),
		},
		{
			Path: "session list", Aliases: []string{"ls"}, Group: group, Args: verb.Args{Use: "[SESSION_ID]", Max: 1},
			Short: "List the submitted commands, each whole whatever it took",
			New: verb.Needs(func(h Historian) verb.Runner {
				return &sessions{execs{historian: h, query: api.ExecQuery{}, nodes: "*"}}
			}),
		},
		{
			Path: "orchestration list", Aliases: []string{"ls"}, Group: group, Args: verb.Args{Use: "[ORCHESTRATION_ID]", Max: 1},
			Short: "List the orchestrations",
			New:   verb.Needs(func(h Historian) verb.Runner { return &orchestrations{historian: h} }),
		},
	}
}

type execs struct {
	historian Historian
	query     api.ExecQuery
	nodes     string
	running   bool // ps: the running ones, pid in front
}

func (e *execs) Flags(f *pflag.FlagSet) {
	f.StringVar(&e.query.Origin, "origin", "", "only those submitted by this `part`: api, imon, nmon or scheduler")
	f.StringVarP(&e.query.Selector, "selector", "s", "", "only those of the objects selected")
	f.StringVar(&e.query.SessionID, "session-id", "", "only those of this session")
	f.StringVar(&e.query.OrchestrationID, "orchestration-id", "", "only those of this orchestration")
	f.StringVar(&e.nodes, "node", e.nodes, "of these `nodes`, this one by default")
	if !e.running {
		f.StringVar(&e.query.State, "state", "", "only those in this `state`: running, succeeded or failed")
	}
}

func (e *execs) Run(ctx context.Context, c *verb.Call) error {
	if len(c.Args) > 0 {
		e.query.ExecID = c.Args[0]
	}
	items, err := e.list(ctx)
	if err != nil {
		return hint(err)
	}
	if len(items) == 0 && e.query.ExecID != "" {
		return fmt.Errorf("exec %s is no longer known: it ended long enough ago to have been dropped, or never ran here", e.query.ExecID)
	}
	columns := execColumns()
	if e.running {
		columns = psColumns()
	}
	return verb.Write(c, columns, items, items)
}

// list asks every node wanted.
func (e *execs) list(ctx context.Context) ([]api.Exec, error) {
	nodes := []string{api.Localhost}
	if e.nodes != "" {
		var err error
		if nodes, err = e.historian.ExpandNodes(ctx, e.nodes); err != nil {
			return nil, err
		}
	}
	items := []api.Exec{}
	for _, n := range nodes {
		e.query.Node = n
		found, err := e.historian.Execs(ctx, e.query)
		if err != nil {
			return nil, err
		}
		items = append(items, found...)
	}
	return items, nil
}

func execColumns() []output.Column[api.Exec] {
	return []output.Column[api.Exec]{
		{Name: "NODE", Value: func(e api.Exec) any { return e.Node }},
		{Name: "STATE", Value: func(e api.Exec) any { return e.State }},
		{Name: "EXEC_ID", Value: func(e api.Exec) any { return e.ExecID }},
		{Name: "SESSION_ID", Value: func(e api.Exec) any { return e.SessionID }},
		{Name: "PATH", Value: func(e api.Exec) any { return e.Path }},
		{Name: "ORIGIN", Value: func(e api.Exec) any { return e.Origin }},
		{Name: "STARTED_AT", Value: func(e api.Exec) any { return when(e.StartedAt) }},
		{Name: "DURATION", Value: func(e api.Exec) any { return span(e.StartedAt, e.EndedAt) }},
		{Name: "COMMAND", Value: func(e api.Exec) any { return e.Command }},
	}
}

func psColumns() []output.Column[api.Exec] {
	return []output.Column[api.Exec]{
		{Name: "PID", Value: func(e api.Exec) any { return e.Pid }},
		{Name: "NODE", Value: func(e api.Exec) any { return e.Node }},
		{Name: "EXEC_ID", Value: func(e api.Exec) any { return e.ExecID }},
		{Name: "PATH", Value: func(e api.Exec) any { return e.Path }},
		{Name: "RID", Value: func(e api.Exec) any { return e.Rid }},
		{Name: "ORIGIN", Value: func(e api.Exec) any { return e.Origin }},
		{Name: "DURATION", Value: func(e api.Exec) any { return span(e.StartedAt, e.EndedAt) }},
		{Name: "COMMAND", Value: func(e api.Exec) any { return e.Command }},
	}
}

type orchestrations struct {
	historian Historian
	query     api.OrchestrationQuery
	wait      bool
	limit     time.Duration
}

func (o *orchestrations) Flags(f *pflag.FlagSet) {
	f.StringVar(&o.query.State, "state", "", "only those in this `state`: running, succeeded, failed or aborted")
	f.StringVarP(&o.query.Selector, "selector", "s", "", "only those of the objects selected")
	f.BoolVar(&o.wait, "wait", false, "with an id, wait until it ends")
	f.DurationVar(&o.limit, "time", 5*time.Minute, "give up waiting after this long")
}

func (o *orchestrations) Run(ctx context.Context, c *verb.Call) error {
	items, err := o.list(ctx, c.Args)
	if err != nil {
		return hint(err)
	}
	return verb.Write(c, []output.Column[api.Orchestration]{
		{Name: "STATE", Value: func(o api.Orchestration) any { return o.State }},
		{Name: "ORCHESTRATION_ID", Value: func(o api.Orchestration) any { return o.OrchestrationID }},
		{Name: "PATH", Value: func(o api.Orchestration) any { return o.Path }},
		{Name: "GLOBAL_EXPECT", Value: func(o api.Orchestration) any { return o.GlobalExpect }},
		{Name: "ACCEPTED_BY", Value: func(o api.Orchestration) any { return o.AcceptedBy }},
		{Name: "STARTED_AT", Value: func(o api.Orchestration) any { return when(o.StartedAt) }},
		{Name: "DURATION", Value: func(o api.Orchestration) any { return span(o.StartedAt, o.EndedAt) }},
		{Name: "REASON", Wide: true, Value: func(o api.Orchestration) any { return o.Reason }},
	}, items, items)
}

func (o *orchestrations) list(ctx context.Context, args []string) ([]api.Orchestration, error) {
	if len(args) == 0 {
		o.query.Node = api.Localhost
		return o.historian.Orchestrations(ctx, o.query)
	}
	q := api.WaitQuery{NodeName: api.NodeName{Node: api.Localhost}, ID: args[0]}
	if o.wait {
		q.Wait = o.limit.String()
	}
	one, err := o.historian.Orchestration(ctx, q)
	var p *api.Problem
	if errors.As(err, &p) && p.Status == http.StatusRequestTimeout {
		return nil, fmt.Errorf("orchestration %s is still running after %s", args[0], o.limit)
	}
	if err != nil {
		return nil, err
	}
	return []api.Orchestration{one}, nil
}

func when(t time.Time) string { return t.Local().Format(time.RFC3339) }

// span is how long something took, or has been taking.
func span(from time.Time, to *time.Time) string {
	end := time.Now()
	if to != nil {
		end = *to
	}
	d := end.Sub(from)
	switch {
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < time.Minute:
		return d.Round(100 * time.Millisecond).String()
	default:
		return strings.TrimSuffix(d.Round(time.Second).String(), "0s")
	}
}

// hint adds what to run when no daemon answers.
func hint(err error) error {
	if client.IsDown(err) {
		return fmt.Errorf("%w: start it with: om daemon start", err)
	}
	return err
}
