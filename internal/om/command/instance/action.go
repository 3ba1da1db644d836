// Package instance declares the commands on instances, which act on this node
// and now, and draws their status.
package instance

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/holdfast-ops/holdfast/internal/cli/app"
	"github.com/holdfast-ops/holdfast/internal/cli/output"
	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/command/log"
	"github.com/holdfast-ops/holdfast/internal/om/command/verb"
	"github.com/holdfast-ops/holdfast/internal/om/logbook"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// Action is an action on an instance: what the API carries, and what only the
// command line has.
type Action struct {
	Name string
	api.InstanceAction
	DryRun bool
}

// Remote acts on the instances of other nodes, through their daemons.
type Remote interface {
	// ActOn submits an action to the daemon of a node.
	ActOn(ctx context.Context, node string, p object.Path, a Action) (api.InstanceActionAccepted, error)
	// ExpandNodes returns the nodes a node selector designates.
	ExpandNodes(ctx context.Context, selector string) ([]string, error)
	// WaitExec returns once the run has ended.
	WaitExec(ctx context.Context, node, id string, limit time.Duration) (api.Exec, error)
	// NewSession returns an id for what one command submits.
	NewSession() string
}

// Local acts on the instances of this node.
type Local interface {
	// Act runs the action and returns at its end.
	Act(ctx context.Context, c *verb.Call, p object.Path, a Action) error
	// Plan tells what the action would do.
	Plan(ctx context.Context, p object.Path, a Action) ([]Step, error)
	// NodeName is the name of this node.
	NodeName() string
	// Session is the id of what this command does.
	Session() string
}

// Step is what an action does to one resource.
type Step struct {
	Object   string `json:"object"`
	Action   string `json:"action"`
	Set      string `json:"set"` // group, and subset
	Parallel bool   `json:"parallel"`
	RID      string `json:"rid"`
	Verb     string `json:"verb"`
	Skip     string `json:"skip,omitempty"` // why nothing is done
}

// Actions returns the actions on instances.
func Actions() []verb.Verb {
	var verbs []verb.Verb
	for _, d := range declarations() {
		v := verb.Verb{
			Path: "instance " + d.name, Aliases: d.aliases, Also: d.also, Group: "actions on this node", Hidden: d.hidden,
			Short: d.short, Long: d.long,
			New: func(b verb.Backend) verb.Runner {
				if _, ok := b.(Local); !ok && d.localOnly {
					return nil
				}
				return d.runner(b)
			},
		}
		if d.confirms {
			v.Args = verb.Args{Use: "[TASK]...", Max: -1}
		}
		if d.walks {
			v.Kinds = []object.Kind{object.KindSvc, object.KindVol}
		}
		verbs = append(verbs, v)
	}
	return verbs
}

// declaration is what differs between the actions.
type declaration struct {
	name, short, long string
	aliases, also     []string
	hidden            bool
	walks             bool // acts on resources
	rollback          bool
	provisions        bool
	locks             bool
	confirms          bool
	localOnly         bool // no endpoint
}

// Form returns the runner of an action for the command on objects of the same
// name, which the flags of instances restrict to them; nil when there is none.
func Form(name string, b verb.Backend) verb.Runner {
	for _, d := range declarations() {
		if d.name == name {
			return d.runner(b)
		}
	}
	return nil
}

func (d declaration) runner(b verb.Backend) verb.Runner {
	remote, ok := b.(Remote)
	if !ok {
		return nil
	}
	local, _ := b.(Local)
	return &act{declaration: d, local: local, remote: remote, action: Action{Name: d.name}}
}

func declarations() []declaration {
	return []declaration{
		{
			name: "start", walks: true, locks: true, rollback: true, short: "Start the instance on this node, now",
			long: "Start the resources of the local instance, in order, and print each step. A failure stops what this action started, unless --disable-rollback. The cluster counterpart is: om <selector> start.",
		},
		{
			name: "stop", walks: true, locks: true, short: "Stop the instance on this node, now",
			long: "Stop the resources of the local instance, in reverse order, and print each step.",
		},
		{name: "restart", walks: true, locks: true, rollback: true, short: "Stop then start the instance on this node"},
		{
			name: "provision", aliases: []string{"prov"}, walks: true, locks: true, rollback: true, provisions: true,
			short: "Make what the resources describe, and start them",
			long:  "Make what the resources describe, then start them. Without --leader, this node is a follower: what is shared between nodes is skipped. With --state-only, nothing is made: the resources are only flagged provisioned.",
		},
		{name: "unprovision", aliases: []string{"unprov"}, walks: true, locks: true, provisions: true, short: "Destroy what provisioning made: the data is lost"},
		{
			name: "run", also: []string{"run"}, walks: true, locks: true, confirms: true, short: "Run the tasks of the instance",
			long: "Run the tasks of the instance, or those named: backup is task#backup.",
		},
		{name: "freeze", short: "Forbid the daemon to act on the instance by itself"},
		{name: "unfreeze", aliases: []string{"thaw"}, short: "Let the daemon act on the instance by itself"},
		{name: "clear", short: "Forget a failure of the instance, so that the daemon tries again"},
		{name: "startstandby", also: []string{"startstandby"}, walks: true, locks: true, rollback: true, short: "Start the standby resources of the instance"},
		{name: "shutdown", also: []string{"shutdown"}, walks: true, locks: true, short: "Stop the instance, standby resources included"},
		{name: "boot", hidden: true, walks: true, locks: true, short: "Deactivate what the system activated at boot"},
		{
			name: "delete", aliases: []string{"del"}, locks: true, short: "Delete the configuration of the object on this node",
			long: "Delete the configuration of the object on this node. Nothing is stopped nor unprovisioned, see purge: an instance that runs is refused, unless --force leaves it running with nobody to look after it.",
		},
		{name: "install", hidden: true, walks: true, locks: true, localOnly: true, short: "Lay down again, as files, the keys that changed"},
		{name: "purge", locks: true, localOnly: true, short: "Unprovision the instance and delete it: the data is lost"},
	}
}

type act struct {
	declaration
	local  Local
	remote Remote
	action Action

	nodes string
	rids  []string
	tags  []string
	sets  []string
	lock  time.Duration
	wait  bool
	limit time.Duration

	follow bool
	given  *pflag.FlagSet
}

func (a *act) Flags(f *pflag.FlagSet) {
	if a.walks {
		f.StringSliceVar(&a.rids, "rid", nil, "act on these `resources`: ids, driver groups or globs")
		f.StringSliceVar(&a.tags, "tag", nil, "act on the resources having these `tags`: a+b for both, a,b for either")
		f.StringSliceVar(&a.sets, "subset", nil, "act on the resources of these `subsets`")
		f.StringVar(&a.action.To, "to", "", "stop after this `resource` or group")
		f.BoolVar(&a.action.DryRun, "dry-run", false, "print what would be done, do nothing")
		f.StringArrayVar(&a.action.Env, "env", nil, "add `KEY=value` to the environment of the commands")
		f.StringSliceVar(&a.tags, "tags", nil, "")
		f.StringSliceVar(&a.sets, "subsets", nil, "")
		f.StringVar(&a.action.To, "upto", "", "")
		f.StringVar(&a.action.To, "downto", "", "")
		hide(f, "tags", "subsets", "upto", "downto")
	}
	if a.walks || a.name == "delete" {
		f.BoolVar(&a.action.Force, "force", false, "override the safety checks")
	}
	if a.locks {
		f.BoolVar(&a.action.NoLock, "no-lock", false, "do not take the lock of the instance")
		f.DurationVar(&a.lock, "waitlock", 30*time.Second, "how long to wait for the action in progress")
	}
	if a.rollback {
		f.BoolVar(&a.action.DisableRollback, "disable-rollback", false, "on error, leave what was done in place")
	}
	if a.provisions {
		f.BoolVar(&a.action.Leader, "leader", false, "act on the shared resources too, as only one node may")
		f.BoolVar(&a.action.StateOnly, "state-only", false, "only flag the resources")
	}
	if a.confirms {
		f.BoolVar(&a.action.Confirm, "confirm", false, "answer yes to the confirmations of the tasks")
		f.BoolVar(&a.follow, "follow", false, "with --node, print the log until the end, however long it takes, as is done on this node")
		f.BoolVar(&a.action.Cron, "cron", false, "run the tasks their schedule would run now, and only those")
	}
	a.given = f
	if !a.localOnly {
		f.StringVar(&a.nodes, "node", "", "act on these `nodes` through their daemons, on this one by default")
		f.BoolVar(&a.wait, "wait", false, "with --node, wait for the end")
		f.DurationVar(&a.limit, "time", 5*time.Minute, "with --wait, give up after this long")
	}
	f.Bool("local", false, "")
	hide(f, "local")
}

func hide(f *pflag.FlagSet, names ...string) {
	for _, n := range names {
		f.Lookup(n).Hidden = true
	}
}

func (a *act) Run(ctx context.Context, c *verb.Call) error {
	for _, task := range c.Args {
		a.rids = append(a.rids, taskID(task))
	}
	a.action.Rid, a.action.Tag, a.action.Subset = strings.Join(a.rids, ","), strings.Join(a.tags, ","), strings.Join(a.sets, ",")
	if a.locks {
		a.action.WaitLock = a.lock.String()
	}
	paths, err := c.Objects(ctx)
	if err != nil {
		return err
	}
	nodes, err := a.elsewhere(ctx)
	switch {
	case err != nil:
		return err
	case len(nodes) > 0:
		return a.submit(ctx, c, nodes, paths)
	case a.local == nil && a.localOnly:
		return app.Usage("%s of an instance is done on its node: om %s instance %s", a.name, c.Selector, a.name)
	case a.local == nil:
		return app.Usage("say on which nodes: --node <selector>, or --node '*' for all of them")
	case a.action.DryRun:
		return a.plan(ctx, c, paths)
	}
	if err := a.ask(ctx, c, paths); err != nil {
		return err
	}
	return a.act(ctx, c, paths)
}

// taskID is the resource a task is named by: itself, or its name.
func taskID(task string) string {
	if task == "task" || strings.ContainsAny(task, "#*?[") {
		return task
	}
	return "task#" + task
}

// Outcome is what became of an action on the instance of this node.
type Outcome struct {
	Object    string `json:"object"`
	Node      string `json:"node"`
	SessionID string `json:"session_id"`
	ExecID    string `json:"exec_id,omitempty"` // when a daemon runs it
	Status    string `json:"status"`            // succeeded or failed
	Error     string `json:"error,omitempty"`
}

// act runs the action on this node. Its log is what people read; programs get
// the outcomes.
func (a *act) act(ctx context.Context, c *verb.Call, paths []object.Path) error {
	outcomes := make([]Outcome, len(paths))
	at := map[object.Path]int{}
	for i, p := range paths {
		at[p] = i
	}
	err := verb.Each(ctx, paths, func(ctx context.Context, p object.Path) error {
		o := Outcome{Object: p.String(), Node: a.local.NodeName(), SessionID: a.local.Session(), ExecID: c.Env("OSVC_EXEC_ID"), Status: api.StateSucceeded}
		err := a.local.Act(ctx, c, p, a.action)
		if err != nil {
			o.Status, o.Error = api.StateFailed, err.Error()
		}
		outcomes[at[p]] = o
		return err
	})
	if !c.Quiet && !strings.HasPrefix(c.Env("OSVC_ACTION_ORIGIN"), "daemon/") {
		err = app.Said(err, logged) // the daemon has no console: it reads the error
	}
	if !c.Structured() {
		return err
	}
	return errors.Join(err, verb.Write(c, []output.Column[Outcome]{
		{Name: "OBJECT", Value: func(o Outcome) any { return o.Object }},
		{Name: "NODE", Value: func(o Outcome) any { return o.Node }},
		{Name: "SESSION_ID", Value: func(o Outcome) any { return o.SessionID }},
		{Name: "EXEC_ID", Value: func(o Outcome) any { return o.ExecID }},
		{Name: "STATUS", Value: func(o Outcome) any { return o.Status }},
		{Name: "ERROR", Value: func(o Outcome) any { return o.Error }},
	}, outcomes, outcomes))
}

// logged tells whether an error ended the log of its action, which the console shows.
func logged(err error) bool {
	l, ok := err.(interface{ Logged() bool })
	return ok && l.Logged()
}

// elsewhere returns the nodes to go through the daemons for: none when the
// action is for this node only.
func (a *act) elsewhere(ctx context.Context) ([]string, error) {
	if a.nodes == "" || a.local != nil && a.nodes == a.local.NodeName() {
		return nil, nil
	}
	return a.remote.ExpandNodes(ctx, a.nodes)
}

func (a *act) plan(ctx context.Context, c *verb.Call, paths []object.Path) error {
	var steps []Step
	for _, p := range paths {
		plan, err := a.local.Plan(ctx, p, a.action)
		if err != nil {
			return err
		}
		steps = append(steps, plan...)
	}
	return verb.Write(c, []output.Column[Step]{
		{Name: "OBJECT", Value: func(s Step) any { return s.Object }},
		{Name: "SET", Value: func(s Step) any { return s.Set }},
		{Name: "MODE", Value: func(s Step) any {
			if s.Parallel {
				return "parallel"
			}
			return "serial"
		}},
		{Name: "RID", Value: func(s Step) any { return s.RID }},
		{Name: "DO", Value: func(s Step) any {
			if s.Skip != "" {
				return "skip: " + s.Skip
			}
			return s.Verb
		}},
	}, steps, steps)
}

// submitted is what became of an action sent to a node.
type submitted struct {
	path object.Path
	node string
	ids  api.InstanceActionAccepted
}

func (a *act) submit(ctx context.Context, c *verb.Call, nodes []string, paths []object.Path) error {
	a.action.SessionID = a.remote.NewSession()
	var sent []submitted
	var errs []error
	for _, p := range paths {
		for _, node := range nodes {
			ids, err := a.remote.ActOn(ctx, node, p, a.action)
			if err != nil {
				errs = append(errs, verb.Of(p, fmt.Errorf("node %s: %w", node, err)))
				continue
			}
			sent = append(sent, submitted{path: p, node: node, ids: ids})
		}
	}
	if len(sent) > 0 {
		if err := verb.Write(c, []output.Column[submitted]{
			{Name: "OBJECT", Value: func(s submitted) any { return s.path.String() }},
			{Name: "NODE", Value: func(s submitted) any { return s.node }},
			{Name: "SESSION_ID", Value: func(s submitted) any { return s.ids.SessionID }},
			{Name: "EXEC_ID", Value: func(s submitted) any { return s.ids.ExecID }},
		}, sent, nil); err != nil {
			return err
		}
	}
	ends := func(ctx context.Context) error {
		for _, s := range sent {
			errs = append(errs, a.end(ctx, s))
		}
		return errors.Join(errs...)
	}
	reader, _ := a.remote.(log.Reader)
	switch {
	case a.follow && reader != nil && len(sent) > 0:
		return log.During(ctx, c, reader, a.said(paths), ends)
	case a.wait || a.follow:
		return ends(ctx)
	}
	return errors.Join(errs...)
}

// said asks for what this command is logged with, on the nodes it acts on.
func (a *act) said(paths []object.Path) log.Query {
	q := log.Query{Objects: paths, Nodes: a.nodes, Query: logbook.Query{Level: "info", Filter: []string{"SID=" + a.action.SessionID}}}
	for _, p := range paths {
		q.Paths = append(q.Paths, p.String())
	}
	return q
}

func (a *act) end(ctx context.Context, s submitted) error {
	if s.ids.ExecID == "" {
		return nil
	}
	run, err := a.remote.WaitExec(ctx, s.node, s.ids.ExecID, a.limit)
	for endless := a.follow && !a.given.Changed("time"); endless && err == nil && run.State == api.StateRunning; {
		run, err = a.remote.WaitExec(ctx, s.node, s.ids.ExecID, a.limit)
	}
	switch {
	case err != nil:
		return fmt.Errorf("%s: node %s: wait for exec %s: %w", s.path, s.node, s.ids.ExecID, err)
	case run.State == api.StateFailed:
		return fmt.Errorf("%s: node %s: exec %s failed: %s", s.path, s.node, s.ids.ExecID, run.Error)
	case run.State == api.StateRunning:
		return fmt.Errorf("%s: node %s: exec %s is still running after %s", s.path, s.node, s.ids.ExecID, a.limit)
	}
	return nil
}
