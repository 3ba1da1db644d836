package httpd

import (
	"context"
	"errors"

	"github.com/google/uuid"

	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/executor"
)

// freeze serves the operations that freeze or unfreeze this node, and that have
// the whole cluster become so.
func (s *Server) freeze(
	whole api.Operation[api.None, api.OrchestrationQueued], one api.Operation[api.NodeAction, api.NodeActionAccepted], action, goal string,
) {
	handle(s, whole, func(context.Context, *api.None) (api.OrchestrationQueued, error) {
		id, err := s.o.Nodes.Ask(goal)
		return api.OrchestrationQueued{OrchestrationID: id}, err
	})
	handle(s, one, func(ctx context.Context, in *api.NodeAction) (api.NodeActionAccepted, error) {
		if in.SessionID != "" {
			if _, err := uuid.Parse(in.SessionID); err != nil {
				return api.NodeActionAccepted{}, badRequest(errors.New("query.session_id: " + in.SessionID + " is no uuid"))
			}
		}
		ids, err := s.actOnNode(ctx, action, executor.Job{SessionID: in.SessionID})
		return api.NodeActionAccepted{SessionID: ids.SessionID, ExecID: ids.ExecID}, err
	})
}

// actOnNode submits a command of the node.
func (s *Server) actOnNode(ctx context.Context, action string, j executor.Job) (executor.IDs, error) {
	j.Args, j.Origin = []string{"node", action}, executor.OriginAPI
	return s.o.Executor.Submit(context.WithoutCancel(ctx), j)
}
