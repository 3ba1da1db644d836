package node

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"github.com/holdfast-ops/holdfast/internal/cli/output"
	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/command/verb"
)

// Orchestrator asks nodes for states of their own.
type Orchestrator interface {
	ExpandNodes(ctx context.Context, selector string) ([]string, error)
	// DrainNode, AbortNode and ClearNode act on a node; "" is a mistake of the caller.
	DrainNode(ctx context.Context, node string) (id string, err error)
	AbortNode(ctx context.Context, node string) (id string, err error)
	ClearNode(ctx context.Context, node string) (said string, err error)
	// WaitNode returns once the orchestration of a node has ended.
	WaitNode(ctx context.Context, node, id string, limit time.Duration) (api.Orchestration, error)
}

// orchestrated declares the commands on the monitor of nodes.
func orchestrated() []verb.Verb {
	return []verb.Verb{
		{
			Path: "drain", Group: "orchestrated actions", Short: "Freeze the node, and shut its instances down",
			Long: "Freeze the node, so that nothing starts, then shut its svc and vol instances down. The node stays frozen: unfreeze lets it take services again. " +
				"A drain that fails says which instance does not shut down; clear forgets the failure.",
			Example: "om node drain --wait\nom node unfreeze",
			New:     verb.Needs(func(o Orchestrator) verb.Runner { return &drain{orchestrator: o, ask: o.DrainNode, waits: true} }),
		},
		{
			Path: "abort", Group: "orchestrated actions", Short: "Abort the drain of the node in progress",
			Long: "Abort the drain of the node in progress. Actions already running end by themselves, and the node stays frozen.",
			New:  verb.Needs(func(o Orchestrator) verb.Runner { return &drain{orchestrator: o, ask: o.AbortNode} }),
		},
		{
			Path: "stonith", Group: "actions", Short: "Fence a node of the cluster",
			Long: "Run the command of the stonith section of a node, from this node, and wait for its end. " +
				"With --confirmed nothing is run: somebody has made sure that the node is off, and what waited for it to be fenced is started elsewhere. " +
				"A node that is not off then runs its services twice.",
			Example: "om node stonith --node node2\nom node stonith --node node2 --confirmed",
			New:     verb.Needs(func(f Fencer) verb.Runner { return &stonith{fencer: f} }),
		},
		{
			Path: "clear", Group: "actions", Short: "Forget the failure of a drain",
			New: verb.Needs(func(o Orchestrator) verb.Runner { return &clearing{orchestrator: o} }),
		},
	}
}

// drain asks nodes for a state, and may wait for it.
type drain struct {
	orchestrator Orchestrator
	ask          func(ctx context.Context, node string) (string, error)
	waits        bool
	nodes        string
	wait         bool
	limit        time.Duration
}

func (d *drain) Flags(f *pflag.FlagSet) {
	f.StringVar(&d.nodes, "node", "", "these `nodes`, this one by default")
	if d.waits {
		f.BoolVar(&d.wait, "wait", false, "wait until it is done, fail if it fails")
		f.DurationVar(&d.limit, "time", 5*time.Minute, "give up waiting after this long")
	}
}

// asked is an orchestration of a node.
type asked struct {
	Node            string `json:"node"`
	OrchestrationID string `json:"orchestration_id"`
	Status          string `json:"status"`
}

func (d *drain) Run(ctx context.Context, c *verb.Call) error {
	var rows []asked
	errs := each(ctx, d.orchestrator, d.nodes, func(node string) error {
		id, err := d.ask(ctx, node)
		if err != nil {
			return err
		}
		rows = append(rows, asked{node, id, "accepted"})
		return nil
	})
	if len(rows) == 0 {
		return errs
	}
	for i := range rows {
		if !d.wait {
			break
		}
		o, err := d.orchestrator.WaitNode(ctx, rows[i].Node, rows[i].OrchestrationID, d.limit)
		if err == nil {
			rows[i].Status = o.State
			err = unfinished(o, d.limit)
		}
		errs = errors.Join(errs, named(rows[i].Node, err))
	}
	return errors.Join(errs, verb.Write(c, []output.Column[asked]{
		{Name: "NODE", Value: func(a asked) any { return a.Node }},
		{Name: "ORCHESTRATION_ID", Value: func(a asked) any { return a.OrchestrationID }},
		{Name: "STATUS", Value: func(a asked) any { return a.Status }},
	}, rows, rows))
}

// unfinished is why an orchestration is not what was asked for.
func unfinished(o api.Orchestration, limit time.Duration) error {
	switch o.State {
	case api.StateSucceeded:
		return nil
	case api.StateRunning:
		return fmt.Errorf("orchestration %s is still running after %s", o.OrchestrationID, limit)
	}
	return fmt.Errorf("orchestration %s %s: %s", o.OrchestrationID, o.State, o.Reason)
}

// each calls f for the nodes selected; for this one, when none is and there is one.
func each(ctx context.Context, o interface {
	ExpandNodes(ctx context.Context, selector string) ([]string, error)
}, selector string, f func(node string) error,
) error {
	if selector == "" {
		if here, ok := o.(interface{ NodeName() string }); ok {
			return f(here.NodeName())
		}
		return f("") // from elsewhere, none is this one
	}
	nodes, err := o.ExpandNodes(ctx, selector)
	if err != nil {
		return err
	}
	var errs []error
	for _, node := range nodes {
		errs = append(errs, named(node, f(node)))
	}
	return errors.Join(errs...)
}

func named(node string, err error) error {
	if err == nil || node == "" {
		return err
	}
	return fmt.Errorf("node %s: %w", node, err)
}

// clearing forgets the failures of nodes.
type clearing struct {
	orchestrator Orchestrator
	nodes        string
}

func (z *clearing) Flags(f *pflag.FlagSet) {
	f.StringVar(&z.nodes, "node", "", "these `nodes`, this one by default")
}

func (z *clearing) Run(ctx context.Context, c *verb.Call) error {
	return each(ctx, z.orchestrator, z.nodes, func(node string) error {
		said, err := z.orchestrator.ClearNode(ctx, node)
		if err == nil {
			c.Say(said)
		}
		return err
	})
}
