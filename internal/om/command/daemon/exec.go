package daemon

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path"
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
	// Kill sends a signal to runs and returns those that got it.
	Kill(ctx context.Context, q api.ExecKill) ([]api.Exec, error)
	// ExpandNodes returns the nodes a node selector designates.
	ExpandNodes(ctx context.Context, selector string) ([]string, error)
}

// History returns the commands that list what the daemon runs and ran, and end it.
func History() []verb.Verb {
	const group = "query"
	return []verb.Verb{
		{
			Path: "ps", Group: group, Short: "List what the daemon runs now",
			New: verb.Needs(func(h Historian) verb.Runner {
				return &execs{historian: h, query: api.ExecQuery{State: api.StateRunning}, running: true}
			}),
		},
		Kill(),
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
	e.filters(f)
	if !e.running {
		f.StringVar(&e.query.State, "state", "", "only those in this `state`: queued, running, succeeded or failed")
	}
}

// filters are the flags that select runs, the same for those who list and for those
// who signal: what was listed is what is signaled.
func (e *execs) filters(f *pflag.FlagSet) {
	f.StringVar(&e.query.Origin, "origin", "", "only those submitted by this `part`: api, imon, nmon or scheduler")
	f.StringVar(&e.query.Origin, "sub", "", "")
	f.Lookup("sub").Hidden = true // its name in older agents
	f.StringVarP(&e.query.Selector, "selector", "s", "", "only those of the objects selected")
	f.StringVar(&e.query.Rid, "rid", "", "only those about this `resource`")
	f.StringVar(&e.query.SessionID, "session-id", "", "only those of this session")
	f.StringVar(&e.query.OrchestrationID, "orchestration-id", "", "only those of this orchestration")
	f.StringVar(&e.nodes, "node", e.nodes, "of these `nodes`, this one by default")
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
		return e.unknown(ctx)
	}
	columns := execColumns()
	if e.running {
		columns = psColumns()
	}
	rows := execRows(items)
	return verb.Write(c, columns, rows, rows)
}

// unknown says why the exec asked for is not in the list: it does not match the
// other filters, or no node that was asked knows it.
func (e *execs) unknown(ctx context.Context) error {
	nodes, err := e.asked(ctx)
	if err != nil {
		return err
	}
	var forgotten error
	for _, n := range nodes {
		_, err := e.historian.Exec(ctx, api.WaitQuery{NodeName: api.NodeName{Node: n}, ID: e.query.ExecID})
		if err == nil {
			return fmt.Errorf("exec %s is known, and the other options do not select it", e.query.ExecID)
		}
		forgotten = err
	}
	if len(nodes) == 1 {
		return forgotten // names the node
	}
	return fmt.Errorf("exec %s is no longer known on %s: it ended long enough ago to have been dropped, or never ran there",
		e.query.ExecID, strings.Join(nodes, ", "))
}

// asked are the nodes whose runs are wanted.
func (e *execs) asked(ctx context.Context) ([]string, error) {
	if e.nodes == "" {
		return []string{api.Localhost}, nil
	}
	return e.historian.ExpandNodes(ctx, e.nodes)
}

// list asks every node wanted.
func (e *execs) list(ctx context.Context) ([]api.Exec, error) {
	nodes, err := e.asked(ctx)
	if err != nil {
		return nil, err
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

// execRow is an exec as it is shown: with how long it took.
type execRow struct {
	Node            string     `json:"node"`
	State           string     `json:"state"`
	ExecID          string     `json:"exec_id"`
	SessionID       string     `json:"session_id"`
	OrchestrationID string     `json:"orchestration_id,omitempty"`
	Path            string     `json:"path"`
	Rid             string     `json:"rid,omitempty"`
	Origin          string     `json:"origin"`
	Pid             int        `json:"pid,omitempty"`
	StartedAt       time.Time  `json:"started_at"`
	EndedAt         *time.Time `json:"ended_at,omitempty"`
	Duration        string     `json:"duration"`
	ExitCode        *int       `json:"exit_code,omitempty"`
	Command         string     `json:"command"`
	Error           string     `json:"error,omitempty"`
}

func execRows(items []api.Exec) []execRow {
	rows := make([]execRow, len(items))
	for i, e := range items {
		rows[i] = execRow{
			Node: e.Node, State: e.State, ExecID: e.ExecID, SessionID: e.SessionID, OrchestrationID: e.OrchestrationID,
			Path: e.Path, Rid: e.Rid, Origin: e.Origin, Pid: e.Pid, StartedAt: e.StartedAt, EndedAt: e.EndedAt,
			Duration: span(e.StartedAt, e.EndedAt), ExitCode: e.ExitCode, Command: e.Command, Error: e.Error,
		}
	}
	return rows
}

func execColumns() []output.Column[execRow] {
	return []output.Column[execRow]{
		{Name: "NODE", Value: func(e execRow) any { return e.Node }},
		{Name: "STATE", Value: func(e execRow) any { return e.State }},
		{Name: "EXEC_ID", Value: func(e execRow) any { return e.ExecID }},
		{Name: "SESSION_ID", Value: func(e execRow) any { return e.SessionID }},
		{Name: "PATH", Value: func(e execRow) any { return e.Path }},
		{Name: "ORIGIN", Value: func(e execRow) any { return e.Origin }},
		{Name: "STARTED_AT", Value: func(e execRow) any { return when(e.StartedAt) }},
		{Name: "DURATION", Value: func(e execRow) any { return e.Duration }},
		{Name: "EXIT_CODE", Wide: true, Value: func(e execRow) any { return e.ExitCode }},
		{Name: "COMMAND", Value: func(e execRow) any { return typed(e.Command) }},
		{Name: "ERROR", Wide: true, Value: func(e execRow) any { return e.Error }},
	}
}

func psColumns() []output.Column[execRow] {
	return []output.Column[execRow]{
		{Name: "PID", Value: func(e execRow) any { return e.Pid }},
		{Name: "NODE", Value: func(e execRow) any { return e.Node }},
		{Name: "EXEC_ID", Value: func(e execRow) any { return e.ExecID }},
		{Name: "PATH", Value: func(e execRow) any { return e.Path }},
		{Name: "RID", Value: func(e execRow) any { return e.Rid }},
		{Name: "ORIGIN", Value: func(e execRow) any { return e.Origin }},
		{Name: "DURATION", Value: func(e execRow) any { return e.Duration }},
		{Name: "COMMAND", Value: func(e execRow) any { return typed(e.Command) }},
	}
}

// typed is a command as one would type it: without the folder of the program.
func typed(command string) string {
	program, rest, _ := strings.Cut(command, " ")
	return strings.TrimSuffix(path.Base(program)+" "+rest, " ")
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

// orchestrationRow is an orchestration as it is shown: with how long it took.
type orchestrationRow struct {
	api.Orchestration

	Duration string `json:"duration"`
}

func (o *orchestrations) Run(ctx context.Context, c *verb.Call) error {
	items, err := o.list(ctx, c.Args)
	if err != nil {
		return hint(err)
	}
	rows := make([]orchestrationRow, len(items))
	for i, item := range items {
		rows[i] = orchestrationRow{item, span(item.StartedAt, item.EndedAt)}
	}
	return verb.Write(c, []output.Column[orchestrationRow]{
		{Name: "STATE", Value: func(o orchestrationRow) any { return o.State }},
		{Name: "ORCHESTRATION_ID", Value: func(o orchestrationRow) any { return o.OrchestrationID }},
		{Name: "PATH", Value: func(o orchestrationRow) any { return o.Path }},
		{Name: "GLOBAL_EXPECT", Value: func(o orchestrationRow) any { return o.GlobalExpect }},
		{Name: "ACCEPTED_BY", Value: func(o orchestrationRow) any { return o.AcceptedBy }},
		{Name: "STARTED_AT", Value: func(o orchestrationRow) any { return when(o.StartedAt) }},
		{Name: "DURATION", Value: func(o orchestrationRow) any { return o.Duration }},
		{Name: "REASON", Wide: true, Value: func(o orchestrationRow) any { return o.Reason }},
	}, rows, rows)
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
