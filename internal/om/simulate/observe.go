package simulate

import (
	"slices"
	"strings"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/orchestrate"
)

// observe builds the world of an instance from what its node knows.
func observe(view *cluster.View, self string, c *cluster.InstanceConfig, now time.Time, local orchestrate.Local) orchestrate.World {
	world := orchestrate.World{
		Now: now, Self: self, Path: c.Path, Config: *c, Quorum: true, Nodes: make(map[string]orchestrate.Node, len(c.Scope)), Local: local,
	}
	if n := view.Nodes[self]; n != nil {
		world.ReadyPeriod = n.Config.ReadyPeriod
	}
	for _, name := range append(slices.Clone(c.Scope), self) {
		var node orchestrate.Node
		if n := view.Nodes[name]; n != nil {
			node.State, node.Frozen = n.Monitor.State, !n.Status.FrozenAt.IsZero()
			node.Load15M, node.Score = n.Stats.Load15M, n.Stats.Score
		}
		if o := view.Objects[c.Path]; o != nil {
			i := o.Instances[name]
			node.Status, node.Monitor = i.Status, i.Monitor
		}
		world.Nodes[name] = node
	}
	world.Parents = relations(view, c.Path, c.Parents)
	world.Children = relations(view, c.Path, c.Children)
	return world
}

func relations(view *cluster.View, from object.Path, names []string) map[string]cluster.Status {
	if len(names) == 0 {
		return nil
	}
	all := map[string]cluster.Status{}
	for _, name := range names {
		path, node, _ := strings.Cut(name, "@")
		p, err := object.ParseRelative(path, from.Namespace)
		if err != nil {
			continue
		}
		all[name] = cluster.Undef
		o := view.Objects[p]
		switch {
		case o == nil:
		case node == "":
			all[name] = o.Avail
		case o.Instances[node].Status != nil:
			all[name] = o.Instances[node].Status.Avail
		}
	}
	return all
}
