package site

import (
	"context"

	"github.com/holdfast-ops/holdfast/internal/krops/kube"
	"github.com/holdfast-ops/holdfast/internal/krops/plan"
)

// nodePart is the nodes of the kind cluster.
func (s *Site) nodePart() part {
	return part{facts: map[string]func(context.Context, plan.Fact) plan.Presence{"source/nodes-ready": nodesReady(s.source)}}
}

// nodesReady tells whether a cluster has nodes and all are Ready. One that does not
// answer yet is still being made.
func nodesReady(open func(context.Context) (*kube.Cluster, error)) func(context.Context, plan.Fact) plan.Presence {
	return func(ctx context.Context, _ plan.Fact) plan.Presence {
		c, err := open(ctx)
		if err != nil {
			return plan.Failed(err.Error())
		}
		nodes, err := kube.NodesReady(ctx, c)
		if err != nil {
			return plan.Failed(err.Error())
		}
		if !nodes.Ready() {
			return plan.Absent(nodes.String())
		}
		return plan.Present()
	}
}
