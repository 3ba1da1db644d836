package object

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/spf13/pflag"

	"github.com/holdfast-ops/holdfast/internal/cli/output"
	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/client"
	"github.com/holdfast-ops/holdfast/internal/om/command/verb"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// Orchestrator asks the cluster for states.
type Orchestrator interface {
	// Orchestrate queues an orchestration and returns its id, empty for an
	// action that ends at once.
	Orchestrate(ctx context.Context, p object.Path, action Action) (id string, err error)
	// WaitOrchestration returns once the orchestration has ended.
	WaitOrchestration(ctx context.Context, id string, limit time.Duration) (api.Orchestration, error)
}

// Watcher shows the state of objects as it changes, until ctx ends.
type Watcher interface {
	WatchObjects(ctx context.Context, c *verb.Call, selector string) error
}

// Action is an orchestrated action.
type Action struct {
	Name  string
	Force bool // restart: the standby resources too; start: whatever the affinities say
	To    []string
	Live  bool
}

// Orchestrated returns the orchestrated actions.
func Orchestrated() []verb.Verb {
	var verbs []verb.Verb
	for _, a := range actions() {
		name, runsOnly := a.name, a.runs
		v := verb.Verb{
			Path: name, Group: "orchestrated actions", Short: a.short, Long: a.long, Also: a.also, Aliases: a.aliases,
			New: func(b verb.Backend) verb.Runner {
				o, ok := b.(Orchestrator)
				if !ok {
					return nil
				}
				return &orchestrated{orchestrator: o, action: Action{Name: name}, instance: onInstance(name, b)}
			},
		}
		if runsOnly {
			v.Kinds = []object.Kind{object.KindSvc, object.KindVol}
		}
		verbs = append(verbs, v)
	}
	return verbs
}

type declared struct {
	name, short, long string
	also, aliases     []string
	runs              bool // only for kinds with resources
}

func actions() []declared {
	return []declared{
		{
			name: "start", runs: true, short: "Start the object where its placement says",
			long: "Ask the cluster to start the object. The flag left by a stop is cleared; a freeze is left as it is.",
		},
		{
			name: "stop", runs: true, short: "Stop the object wherever it runs",
			long: "Ask the cluster to stop the object, and flag it stopped on purpose so that the daemon leaves it down until a start is asked for.",
		},
		{name: "restart", runs: true, short: "Stop then start the object"},
		{
			name: "switch", runs: true, short: "Move the object to another node",
			long: "Stop the object where it runs, then start it on the node that is named, or on the next one of its placement policy. " +
				"A stop that fails keeps from the start: the object stays where it is. The flag left by a stop is cleared; freezes are left as they are, and do not keep from it.",
		},
		{
			name: "takeover", runs: true, short: "Move the object to this node",
			long: "Stop the object where it runs, then start it on this node: a switch whose destination is the node the command is run on.",
		},
		{
			name: "giveback", runs: true, short: "Move the object back to where its placement says",
			long: "Stop the object where it should not run, then start it where its placement policy says. Nodes and instances that are frozen are passed over.",
		},
		{name: "freeze", short: "Forbid the daemon to act on the object by itself"},
		{name: "unfreeze", also: []string{"thaw"}, short: "Let the daemon act on the object by itself"},
		{name: "provision", aliases: []string{"prov"}, runs: true, short: "Make what the configuration describes, and start it"},
		{name: "unprovision", aliases: []string{"unprov"}, runs: true, short: "Destroy what provisioning made: the data is lost"},
		{name: "purge", short: "Stop, unprovision and delete the object: the data is lost"},
		{
			name: "delete", aliases: []string{"del"}, short: "Delete the configuration of the object on every node",
			long: "Delete the configuration of the object on every node. Nothing is stopped nor unprovisioned: see purge.",
		},
		{name: "clear", short: "Forget a failure, so that the daemon tries again"},
		{name: "abort", short: "Abort the orchestration in progress"},
	}
}

// orchestrated asks for one action on a selection.
type orchestrated struct {
	orchestrator Orchestrator
	action       Action
	waiting      waiting
	instance     *instanceForm // nil when instances have no such action
}

// waiting is how long a command stays after the daemon accepted.
type waiting struct {
	wait  bool
	watch bool
	limit time.Duration
}

func (w *waiting) flags(f *pflag.FlagSet) {
	f.BoolVar(&w.wait, "wait", false, "wait until it is done, fail if it fails")
	f.DurationVar(&w.limit, "time", 5*time.Minute, "give up waiting after this long")
	f.BoolVarP(&w.watch, "watch", "w", false, "show the state of the objects until it is done")
}

func (o *orchestrated) Flags(f *pflag.FlagSet) {
	o.waiting.flags(f)
	if o.action.Name == "restart" {
		f.BoolVar(&o.action.Force, "force", false, "restart the standby resources too")
	}
	if o.action.Name == "start" {
		f.BoolVar(&o.action.Force, "force", false, "start it even where its affinities forbid it")
	}
	if o.action.Name == "switch" {
		f.StringSliceVar(&o.action.To, "to", nil, "the nodes to run it on: the first that can, all of them for a flex object")
		f.StringSliceVar(&o.action.To, "node", nil, "")
		f.Lookup("node").Hidden = true
	}
	if o.action.Name == "switch" || o.action.Name == "takeover" {
		f.BoolVar(&o.action.Live, "live", false, "move it without stopping it, when its resources can")
	}
	if o.instance != nil {
		o.instance.bind(f)
	}
}

func (o *orchestrated) Run(ctx context.Context, c *verb.Call) error {
	if o.instance != nil && o.instance.asked() {
		return o.instance.run(ctx, c)
	}
	paths, err := c.Objects(ctx)
	if err != nil {
		return err
	}
	return submit(ctx, c, o.orchestrator, paths, o.action, o.waiting)
}

// answer is what became of the demand on one object.
type answer struct {
	path object.Path
	id   string
	err  error
}

func (a answer) status() string {
	if a.err != nil {
		return "rejected"
	}
	return "accepted"
}

// submit asks for an action on every object, prints the answers, and waits for
// the ends when asked to.
func submit(ctx context.Context, c *verb.Call, o Orchestrator, paths []object.Path, action Action, w waiting) error {
	answers := make([]answer, len(paths))
	var group sync.WaitGroup
	for i, p := range paths {
		group.Go(func() {
			id, err := o.Orchestrate(ctx, p, action)
			answers[i] = answer{p, id, err}
		})
	}
	group.Wait()
	for _, a := range answers {
		if client.IsDown(a.err) {
			return down(a.err, a.path, action)
		}
		var missing *object.NotFoundError
		if len(answers) == 1 && errors.As(a.err, &missing) {
			return a.err
		}
	}
	if len(answers) > 0 || c.Structured() {
		if err := verb.Write(c, answerColumns(), answers, nil); err != nil {
			return err
		}
	}
	return errors.Join(ended(ctx, c, o, answers, w), rejected(answers))
}

func answerColumns() []output.Column[answer] {
	return []output.Column[answer]{
		{Name: "OBJECT", Value: func(a answer) any { return a.path.String() }},
		{Name: "ORCHESTRATION_ID", Value: func(a answer) any { return a.id }},
		{Name: "STATUS", Value: func(a answer) any { return a.status() }},
	}
}

func rejected(answers []answer) error {
	var reasons []error
	for _, a := range answers {
		if a.err != nil {
			reasons = append(reasons, verb.Of(a.path, a.err))
		}
	}
	if len(reasons) == 0 {
		return nil
	}
	return fmt.Errorf("actions rejected: %d\n%w", len(reasons), errors.Join(reasons...))
}

// ended waits for the orchestrations that were accepted.
func ended(ctx context.Context, c *verb.Call, o Orchestrator, answers []answer, w waiting) (err error) {
	if !w.wait && !w.watch {
		return nil
	}
	if watcher, ok := c.Backend.(Watcher); ok && w.watch {
		watching, stop := context.WithCancel(ctx)
		done := make(chan error, 1)
		go func() { done <- watcher.WatchObjects(watching, c, c.Selector) }()
		defer func() {
			stop()
			if seen := <-done; !errors.Is(seen, context.Canceled) {
				err = errors.Join(err, seen)
			}
		}()
	}
	errs := make([]error, len(answers))
	var group sync.WaitGroup
	for i, a := range answers {
		if a.err != nil || a.id == "" {
			continue
		}
		group.Go(func() { errs[i] = endOf(ctx, o, a, w.limit) })
	}
	group.Wait()
	return errors.Join(errs...)
}

func endOf(ctx context.Context, o Orchestrator, a answer, limit time.Duration) error {
	end, err := o.WaitOrchestration(ctx, a.id, limit)
	if err != nil {
		return fmt.Errorf("%s: wait for orchestration %s: %w", a.path, a.id, err)
	}
	switch end.State {
	case api.StateSucceeded:
		return nil
	case api.StateRunning:
		return fmt.Errorf("%s: orchestration %s is still running after %s: om daemon orchestration list %s", a.path, a.id, limit, a.id)
	default:
		if end.Reason == "" {
			return fmt.Errorf("%s: orchestration %s %s", a.path, a.id, end.State)
		}
		return fmt.Errorf("%s: orchestration %s %s: %s", a.path, a.id, end.State, end.Reason)
	}
}

// down explains what to do without a daemon.
func down(err error, p object.Path, action Action) error {
	const start = "start it with: om daemon start"
	switch action.Name {
	case "abort", "purge", "switch", "takeover", "giveback":
		return fmt.Errorf("%s: %s is done by the daemon: %w: %s", p, action.Name, err, start)
	}
	return fmt.Errorf("%s: %s is done by the daemon: %w: %s, or act on this node only: om %s instance %s",
		p, action.Name, err, start, p, action.Name)
}

// needDaemon says what to run when a command that needs the daemon found none.
func needDaemon(err error) error {
	if client.IsDown(err) {
		return fmt.Errorf("%w: start it with: om daemon start", err)
	}
	return err
}
