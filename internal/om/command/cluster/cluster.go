// Package cluster declares the commands on the cluster.
package cluster

import (
	"context"

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
		rotate,
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
			New: verb.Does(func(ctx context.Context, f Freezer, c *verb.Call) error { return freeze(ctx, f, c, true) }),
		},
		verb.Verb{
			Path: "unfreeze", Aliases: []string{"thaw"}, Group: "actions", Short: "Let the daemons of the cluster act by themselves",
			New: verb.Does(func(ctx context.Context, f Freezer, c *verb.Call) error { return freeze(ctx, f, c, false) }),
		},
		verb.Verb{
			Path: "abort", Group: "actions", Short: "Abort what the cluster is asked to do as a whole, and the drains of its nodes",
			New: verb.Does(func(ctx context.Context, a Aborter, c *verb.Call) error {
				id, err := a.AbortCluster(ctx)
				return wrote(c, id, err)
			}),
		},
	)
}

// Freezer freezes every node of the cluster.
type Freezer interface {
	// FreezeCluster returns once it is done, with the id of the orchestration,
	// "" when there was none to ask.
	FreezeCluster(ctx context.Context, frozen bool) (id string, err error)
}

func freeze(ctx context.Context, f Freezer, c *verb.Call, frozen bool) error {
	id, err := f.FreezeCluster(ctx, frozen)
	return wrote(c, id, err)
}

// Aborter aborts what the cluster does.
type Aborter interface {
	AbortCluster(ctx context.Context) (id string, err error)
}

// wrote prints an orchestration that is over.
func wrote(c *verb.Call, id string, err error) error {
	if id == "" || err != nil {
		return err
	}
	return verb.Write(c, []output.Column[string]{
		{Name: "ORCHESTRATION_ID", Value: func(id string) any { return id }},
		{Name: "STATUS", Value: func(string) any { return api.StateSucceeded }},
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
