// Package cluster declares the commands on the cluster.
package cluster

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"github.com/holdfast-ops/holdfast/internal/cli/output"
	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/command/configure"
	"github.com/holdfast-ops/holdfast/internal/om/command/monitor"
	"github.com/holdfast-ops/holdfast/internal/om/command/verb"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// Verbs returns the commands on the cluster.
func Verbs() []verb.Verb {
	return append(append(configure.Verbs(this), members()...),
		rotate, simulation,
		verb.Verb{
			Path: "status", Selects: true, Group: "query", Short: "Show the state of the cluster",
			Long: "Show the state of the cluster: the same as the monitor. -o json gives everything there is to know.",
			New:  monitor.Monitor.New,
		},
		verb.Verb{
			Path: "list", Aliases: []string{"ls"}, Group: "query", Short: "Name the cluster",
			New: verb.Needs(func(l monitor.Source) verb.Runner { return &list{source: l} }),
		},
		verb.Verb{
			Path: "freeze", Group: "actions", Short: "Forbid the daemons of the cluster to act by themselves",
			Long: "Have every node of the cluster that is heard freeze itself. A node whose daemon is down does so when it rejoins.",
			New:  verb.Needs(func(f Freezer) verb.Runner { return &freeze{freezer: f, frozen: true} }),
		},
		verb.Verb{
			Path: "unfreeze", Aliases: []string{"thaw"}, Group: "actions", Short: "Let the daemons of the cluster act by themselves",
			New: verb.Needs(func(f Freezer) verb.Runner { return &freeze{freezer: f} }),
		},
		verb.Verb{
			Path: "abort", Group: "actions", Short: "Abort what the cluster is asked to do as a whole, and the drain of this node",
			New: verb.Does(func(ctx context.Context, a Aborter, c *verb.Call) error {
				id, err := a.AbortCluster(ctx)
				if err != nil {
					return err
				}
				return wrote(c, id, api.StateSucceeded)
			}),
		},
	)
}

// Freezer freezes every node of the cluster.
type Freezer interface {
	// FreezeCluster returns the id of the orchestration, "" when there was none to
	// ask and it is done.
	FreezeCluster(ctx context.Context, frozen bool) (id string, err error)
	// WaitCluster returns an orchestration once it has ended.
	WaitCluster(ctx context.Context, id string, limit time.Duration) (api.Orchestration, error)
}

// freeze freezes or unfreezes the cluster.
type freeze struct {
	freezer Freezer
	frozen  bool
	wait    bool
	limit   time.Duration
}

func (z *freeze) Flags(f *pflag.FlagSet) {
	f.BoolVar(&z.wait, "wait", true, "wait until it is done, fail if it fails")
	f.DurationVar(&z.limit, "time", 5*time.Minute, "give up waiting after this long")
}

func (z *freeze) Run(ctx context.Context, c *verb.Call) error {
	id, err := z.freezer.FreezeCluster(ctx, z.frozen)
	if err != nil || id == "" {
		return err
	}
	if !z.wait {
		return wrote(c, id, "accepted")
	}
	o, err := z.freezer.WaitCluster(ctx, id, z.limit)
	switch {
	case err != nil:
		return fmt.Errorf("wait for orchestration %s: %w", id, err)
	case o.State == api.StateRunning:
		return fmt.Errorf("orchestration %s is still running after %s: it goes on", id, z.limit)
	case o.State != api.StateSucceeded:
		return fmt.Errorf("orchestration %s %s: %s", id, o.State, o.Reason)
	}
	return wrote(c, id, o.State)
}

// Aborter aborts what the cluster does.
type Aborter interface {
	AbortCluster(ctx context.Context) (id string, err error)
}

// wrote prints an orchestration.
func wrote(c *verb.Call, id, status string) error {
	return verb.Write(c, []output.Column[string]{
		{Name: "ORCHESTRATION_ID", Value: func(id string) any { return id }},
		{Name: "STATUS", Value: func(string) any { return status }},
	}, []string{id}, nil)
}

func this(context.Context, *verb.Call) ([]object.Path, error) {
	return []object.Path{object.Cluster()}, nil
}

type list struct{ source monitor.Source }

func (*list) Flags(*pflag.FlagSet) {}

func (l *list) Run(ctx context.Context, c *verb.Call) error {
	status, err := l.source.ClusterStatus(ctx, "")
	if err != nil {
		return err
	}
	return verb.Write(c, []output.Column[api.ClusterStatus]{
		{Name: "NAME", Value: func(s api.ClusterStatus) any { return s.Cluster.Config.Name }},
		{Name: "ID", Value: func(s api.ClusterStatus) any { return s.Cluster.Config.ID }},
		{Name: "NODES", Value: func(s api.ClusterStatus) any { return len(s.Cluster.Config.Nodes) }},
		{Name: "OBJECTS", Value: func(s api.ClusterStatus) any { return len(s.Cluster.Object) }},
	}, []api.ClusterStatus{status}, nil)
}
