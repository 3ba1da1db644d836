package httpd

import (
	"context"
	"errors"
	"net/http"

	"github.com/google/uuid"

	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/executor"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/monitor"
	"github.com/holdfast-ops/holdfast/internal/om/instance"
	"github.com/holdfast-ops/holdfast/internal/om/rbac"
)

// goal serves an operation that gives an object a goal.
func (s *Server) goal(op api.Operation[api.ObjectName, api.OrchestrationQueued], expect string) {
	handle(s, op, func(ctx context.Context, in *api.ObjectName) (api.OrchestrationQueued, error) {
		return s.orchestrate(ctx, *in, monitor.Goal{Expect: expect})
	})
}

func (s *Server) orchestrate(ctx context.Context, n api.ObjectName, g monitor.Goal) (api.OrchestrationQueued, error) {
	p, err := path(n)
	if err != nil {
		return api.OrchestrationQueued{}, err
	}
	if _, err := s.known(p); err != nil {
		return api.OrchestrationQueued{}, err
	}
	id, err := s.o.Monitor.Orchestrate(ctx, p, g)
	return api.OrchestrationQueued{OrchestrationID: id}, err
}

func (s *Server) postObjectActionRestart(ctx context.Context, in *api.ObjectRestart) (api.OrchestrationQueued, error) {
	g := monitor.Goal{Expect: "restarted"}
	if in.Body != nil && in.Body.Force {
		g.Options = map[string]any{"force": true}
	}
	return s.orchestrate(ctx, in.ObjectName, g)
}

func (s *Server) postObjectActionAbort(ctx context.Context, in *api.ObjectName) (api.OrchestrationQueued, error) {
	p, err := path(*in)
	if err != nil {
		return api.OrchestrationQueued{}, err
	}
	if _, err := s.known(p); err != nil {
		return api.OrchestrationQueued{}, err
	}
	id, err := s.o.Monitor.Abort(ctx, p)
	return api.OrchestrationQueued{OrchestrationID: id}, err
}

// actions serves the operations that run an action on the local instance.
func (s *Server) actions() {
	for _, a := range []struct {
		action instance.Action
		op     api.Operation[api.InstanceAction, api.InstanceActionAccepted]
	}{
		{instance.Start, api.PostInstanceActionStart},
		{instance.Stop, api.PostInstanceActionStop},
		{instance.Restart, api.PostInstanceActionRestart},
		{instance.Shutdown, api.PostInstanceActionShutdown},
		{instance.Boot, api.PostInstanceActionBoot},
		{instance.StartStandby, api.PostInstanceActionStartStandby},
		{instance.Provision, api.PostInstanceActionProvision},
		{instance.Unprovision, api.PostInstanceActionUnprovision},
		{instance.Run, api.PostInstanceActionRun},
		{instance.Freeze, api.PostInstanceActionFreeze},
		{instance.Unfreeze, api.PostInstanceActionUnfreeze},
		{instance.Delete, api.PostInstanceActionDelete},
	} {
		handle(s, a.op, func(ctx context.Context, in *api.InstanceAction) (api.InstanceActionAccepted, error) {
			r, err := instance.RequestOf(a.action, *in)
			if err != nil {
				return api.InstanceActionAccepted{}, badRequest(err)
			}
			if len(r.Env) > 0 && !principal(ctx).Grants.Has(rbac.Root) {
				return api.InstanceActionAccepted{}, api.NewProblem(http.StatusForbidden,
					"query.env: needs the root grant: an environment decides what the commands of root run")
			}
			return s.run(ctx, in, append([]string{"instance", string(a.action)}, r.Args()...))
		})
	}
	handle(s, api.PostInstanceActionStatus, func(ctx context.Context, in *api.InstanceAction) (api.InstanceActionAccepted, error) {
		return s.run(ctx, in, []string{"instance", "status", "--refresh"})
	})
	handle(s, api.PostInstanceActionInfo, func(ctx context.Context, in *api.InstanceAction) (api.InstanceActionAccepted, error) {
		return s.run(ctx, in, []string{"instance", "info", "--refresh"})
	})
}

// run submits a command on the local instance. The request itself may end before.
func (s *Server) run(ctx context.Context, in *api.InstanceAction, args []string) (api.InstanceActionAccepted, error) {
	p, _, err := s.local(in.ObjectName)
	if err != nil {
		return api.InstanceActionAccepted{}, err
	}
	if in.SessionID != "" {
		if _, err := uuid.Parse(in.SessionID); err != nil {
			return api.InstanceActionAccepted{}, badRequest(errors.New("query.session_id: " + in.SessionID + " is no uuid"))
		}
	}
	ids, err := s.o.Executor.Submit(context.WithoutCancel(ctx), executor.Job{
		Path: p, Args: args, RID: in.Rid, Origin: executor.OriginAPI, SessionID: in.SessionID,
	})
	return api.InstanceActionAccepted{SessionID: ids.SessionID, ExecID: ids.ExecID}, err
}
