package httpd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/executor"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/monitor"
	"github.com/holdfast-ops/holdfast/internal/om/instance"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/rbac"
	"github.com/holdfast-ops/holdfast/internal/om/store"
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
	if g.Expect == "purged" || g.Expect == "deleted" {
		if err := store.Protected(p); err != nil {
			return api.OrchestrationQueued{}, err
		}
	}
	if _, err := s.known(p); err != nil {
		return api.OrchestrationQueued{}, err
	}
	id, err := s.o.Monitor.Orchestrate(ctx, p, g)
	return api.OrchestrationQueued{OrchestrationID: id}, err
}

func (s *Server) postObjectActionStart(ctx context.Context, in *api.ObjectStart) (api.OrchestrationQueued, error) {
	g := monitor.Goal{Expect: "started"}
	if in.Force {
		g.Options = map[string]any{"force": true}
	}
	return s.orchestrate(ctx, in.ObjectName, g)
}

func (s *Server) postObjectActionSwitch(ctx context.Context, in *api.ObjectSwitch) (api.OrchestrationQueued, error) {
	g := monitor.Goal{Expect: "placed@", Options: map[string]any{"destination": in.Body.Destination}}
	if in.Body.Live {
		g.Options["live"] = true
	}
	return s.orchestrate(ctx, in.ObjectName, g)
}

// elsewhere is a node to pass on to what is asked of an object: one that is heard and
// has an instance, the one with the last configuration first, when this one has none.
// Empty: it is to be done here.
func (s *Server) elsewhere(c huma.Context, d api.Description) string {
	if !asksHolder(d.Path) || c.Header(proxiedHeader) != "" {
		return ""
	}
	p, err := path(api.ObjectName{Namespace: c.Param("namespace"), Kind: cmp.Or(c.Param("kind"), string(object.KindSvc)), Name: c.Param("name")})
	if err != nil {
		return ""
	}
	view := s.o.State.View()
	o := view.Objects[p]
	if o == nil || s.o.Store.Exists(p) {
		return ""
	}
	if _, ok := o.Instances[s.o.Node]; ok {
		return ""
	}
	best, of := "", time.Time{}
	for _, node := range slices.Sorted(maps.Keys(o.Instances)) {
		n, config := view.Nodes[node], o.Instances[node].Config
		if n == nil || n.Monitor.State == "" {
			continue
		}
		if best == "" || config != nil && config.UpdatedAt.After(of) {
			best = node
			if config != nil {
				of = config.UpdatedAt
			}
		}
	}
	return best
}

// asksHolder tells the operations that need the configuration, or an instance, of the
// object they are about.
func asksHolder(operation string) bool {
	rest, ok := strings.CutPrefix(operation, "/api/object/path/{namespace}/{kind}/{name}/")
	if !ok {
		rest, ok = strings.CutPrefix(operation, "/api/object/path/{namespace}/svc/{name}/")
	}
	return ok && rest != "" && !strings.HasSuffix(rest, "/keywords")
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
				return api.InstanceActionAccepted{}, badRequest(fmt.Errorf("query.%w", err))
			}
			if len(r.Env) > 0 && !principal(ctx).Grants.Has(rbac.Root) {
				return api.InstanceActionAccepted{}, api.NewProblem(http.StatusForbidden,
					"query.env: needs the root grant: an environment decides what the commands of root run")
			}
			return s.act(ctx, in, r)
		})
	}
	handle(s, api.PostInstanceActionStatus, func(ctx context.Context, in *api.InstanceAction) (api.InstanceActionAccepted, error) {
		return s.run(ctx, in, executor.Job{Args: []string{"instance", "status", "--refresh"}})
	})
	info := func(ctx context.Context, in *api.InstanceAction) (api.InstanceActionAccepted, error) {
		return s.run(ctx, in, executor.Job{Args: []string{"instance", "info", "--refresh"}})
	}
	handle(s, api.PostInstanceActionInfo, info)
	handle(s, api.PostInstanceActionPushResourceInfo, info)
}

// act submits an action, unless it is known to be refused.
func (s *Server) act(ctx context.Context, in *api.InstanceAction, r instance.Request) (api.InstanceActionAccepted, error) {
	p, _, err := s.local(in.ObjectName)
	if err != nil {
		return api.InstanceActionAccepted{}, err
	}
	if r.Action == instance.Delete {
		r.Force = false // what the agent lives by is only deleted on the node itself
	}
	if err := s.o.Instances.Check(p, r); err != nil {
		return api.InstanceActionAccepted{}, configProblem(err)
	}
	j := executor.Job{}
	if len(r.Env) > 0 {
		// Never on the command line, which every user of the node sees.
		j.Env = []string{instance.EnvVariable + "=" + instance.EncodeEnv(r.Env)}
		j.Shown = instance.Request{Env: instance.MaskEnv(r.Env)}.Args()
		r.Env = nil
	}
	j.Args = append([]string{"instance", string(r.Action)}, r.Args()...)
	return s.run(ctx, in, j)
}

// run submits a command on the local instance. The request itself may end before.
func (s *Server) run(ctx context.Context, in *api.InstanceAction, j executor.Job) (api.InstanceActionAccepted, error) {
	p, _, err := s.local(in.ObjectName)
	if err != nil {
		return api.InstanceActionAccepted{}, err
	}
	if in.SessionID != "" {
		if _, err := uuid.Parse(in.SessionID); err != nil {
			return api.InstanceActionAccepted{}, badRequest(errors.New("query.session_id: " + in.SessionID + " is no uuid"))
		}
	}
	if err := s.notOlder(p, in.ConfigUpdatedAt); err != nil {
		return api.InstanceActionAccepted{}, err
	}
	j.Path, j.RID, j.Origin, j.SessionID = p, in.Rid, executor.OriginAPI, in.SessionID
	ids, err := s.o.Executor.Submit(context.WithoutCancel(ctx), j)
	return api.InstanceActionAccepted{SessionID: ids.SessionID, ExecID: ids.ExecID}, err
}

// notOlder refuses to act by a configuration older than the one the caller knows:
// another node has a newer one, which is on its way.
func (s *Server) notOlder(p object.Path, known string) error {
	if known == "" {
		return nil
	}
	at, err := time.Parse(api.TimeHeader, known)
	if err != nil {
		return badRequest(fmt.Errorf("query.config_updated_at: %q is no time: write it as %s does", known, "OM-Last-Modified"))
	}
	f, err := s.o.Store.Load(p)
	if err != nil {
		return err
	}
	if f.ModTime.Before(at) {
		return api.NewProblem(http.StatusConflict, fmt.Sprintf("the configuration of %s on %s is of %s, older than the one of %s: ask again once it has arrived",
			p, s.o.Node, timestamp(f.ModTime), known))
	}
	return nil
}
