package replicate_test

import (
	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// wants gives the local instance of an object a goal.
func (n *node) wants(p object.Path, goal string) {
	n.state.SetInstanceMonitor(p, n.name, cluster.InstanceMonitor{GlobalExpect: goal})
}
