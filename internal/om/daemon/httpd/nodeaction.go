package httpd

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/executor"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/monitor"
	"github.com/holdfast-ops/holdfast/internal/om/orchestrate"
)

// NodeActions acts on this node as a whole.
type NodeActions interface {
	// Ask gives a goal: drained to this node, frozen or unfrozen to the whole cluster.
	Ask(expect string) (id string, err error)
	// Abort gives up what this node, and the cluster as a whole, are asked.
	Abort() (id string)
	// Clear forgets a failure, and returns the state it left; empty when there was none.
	Clear() (was string)
	// Stonith fences a lost node, or takes note that somebody says it is off.
	Stonith(ctx context.Context, node string, confirmed bool) error
	Orchestrations() []monitor.Orchestration
	Wait(ctx context.Context, id string) (monitor.Orchestration, error)
}

func (s *Server) postPeerActionDrain(context.Context, *api.NodeName) (api.OrchestrationQueued, error) {
	id, err := s.o.Nodes.Ask(orchestrate.Drained)
	return api.OrchestrationQueued{OrchestrationID: id}, err
}

func (s *Server) postPeerActionAbort(context.Context, *api.NodeName) (api.OrchestrationQueued, error) {
	return api.OrchestrationQueued{OrchestrationID: s.o.Nodes.Abort()}, nil
}

// postClusterActionAbort aborts what the cluster does as a whole: the other nodes
// follow.
func (s *Server) postClusterActionAbort(context.Context, *api.None) (api.OrchestrationQueued, error) {
	return api.OrchestrationQueued{OrchestrationID: s.o.Nodes.Abort()}, nil
}

func (s *Server) postNodeActionClear(context.Context, *api.NodeName) (api.Problem, error) {
	if was := s.o.Nodes.Clear(); was != "" {
		return said("the monitor of " + s.o.Node + " is idle again, it was " + was), nil
	}
	return said("the monitor of " + s.o.Node + " has not failed"), nil
}

func (s *Server) postClusterActionStonith(ctx context.Context, in *api.Stonith) (api.Problem, error) {
	// The command goes on when the caller does not wait for it.
	if err := s.o.Nodes.Stonith(context.WithoutCancel(ctx), in.Node, in.Confirmed); err != nil {
		return api.Problem{}, api.NewProblem(http.StatusConflict, err.Error())
	}
	if in.Confirmed {
		return said("node " + in.Node + " is taken for off: what it ran may be started elsewhere"), nil
	}
	return said("node " + in.Node + " is fenced"), nil
}

// said is the answer of what has nothing more to say than that it was done.
func said(detail string) api.Problem { return *api.NewProblem(http.StatusOK, detail) }

// orchestrations are those of the objects and of the node, the oldest first.
func (s *Server) orchestrations() []monitor.Orchestration {
	all := s.o.Monitor.Orchestrations()
	if s.o.Nodes != nil {
		all = append(slices.Clip(all), s.o.Nodes.Orchestrations()...)
	}
	slices.SortStableFunc(all, func(a, b monitor.Orchestration) int { return a.StartedAt.Compare(b.StartedAt) })
	return all
}

// orchestrationNow returns an orchestration as it is.
func (s *Server) orchestrationNow(id string) (monitor.Orchestration, error) {
	o, err := s.o.Monitor.Orchestration(id)
	if forgotten := new(executor.ForgottenError); s.o.Nodes == nil || !errors.As(err, &forgotten) {
		return o, err
	}
	for _, o := range s.o.Nodes.Orchestrations() {
		if o.ID == id {
			return o, nil
		}
	}
	return o, err
}

// orchestrationEnd waits for the end of an orchestration.
func (s *Server) orchestrationEnd(ctx context.Context, id string) (monitor.Orchestration, error) {
	if s.o.Nodes != nil {
		o, err := s.o.Nodes.Wait(ctx, id)
		if forgotten := new(executor.ForgottenError); !errors.As(err, &forgotten) {
			return o, err
		}
	}
	return s.o.Monitor.Wait(ctx, id)
}
