package site

import (
	"context"

	"github.com/holdfast-ops/holdfast/internal/krops/kube"
	"github.com/holdfast-ops/holdfast/internal/krops/plan"
)

// nodePart is the nodes of the kind cluster.
func (s *Site) nodePart() part {
	return part{facts: map[string]func(context.Context, plan.Fact) plan.Presence{"source/nodes-ready": s.sourceNodes}}
}

func (s *Site) sourceNodes(ctx context.Context, _ plan.Fact) plan.Presence {
	c, err := s.source(ctx)
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
