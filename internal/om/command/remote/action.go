package remote

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/command/instance"
	cmdobject "github.com/holdfast-ops/holdfast/internal/om/command/object"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// Orchestrate implements object.Orchestrator.
func (b *Backend) Orchestrate(ctx context.Context, p object.Path, a cmdobject.Action) (string, error) {
	switch a.Name {
	case "clear":
		return "", b.clear(ctx, p)
	case "start":
		queued, err := do(ctx, b, api.PostObjectActionStart, api.ObjectStart{ObjectName: api.Named(p), Force: a.Force})
		return queued.OrchestrationID, err
	case "switch", "takeover":
		return b.move(ctx, p, a)
	case "restart":
		queued, err := do(ctx, b, api.PostObjectActionRestart, api.ObjectRestart{ObjectName: api.Named(p), Body: &api.RestartOptions{Force: a.Force}})
		return queued.OrchestrationID, err
	}
	op, ok := orchestration(a.Name)
	if !ok {
		return "", fmt.Errorf("%s is no action of an object", a.Name)
	}
	queued, err := do(ctx, b, op, api.Named(p))
	return queued.OrchestrationID, err
}

func orchestration(name string) (api.Operation[api.ObjectName, api.OrchestrationQueued], bool) {
	op, ok := map[string]api.Operation[api.ObjectName, api.OrchestrationQueued]{
		"stop": api.PostObjectActionStop, "giveback": api.PostObjectActionGiveback,
		"freeze": api.PostObjectActionFreeze, "unfreeze": api.PostObjectActionUnfreeze,
		"provision": api.PostObjectActionProvision, "unprovision": api.PostObjectActionUnprovision,
		"purge": api.PostObjectActionPurge, "delete": api.PostObjectActionDelete, "abort": api.PostObjectActionAbort,
	}[name]
	return op, ok
}

// move places an object on the nodes that were named, in that order; on the node
// of the daemon that is asked for a takeover.
func (b *Backend) move(ctx context.Context, p object.Path, a cmdobject.Action) (string, error) {
	in := api.ObjectSwitch{ObjectName: api.Named(p), Body: api.SwitchOptions{Live: a.Live, Destination: []string{}}}
	if a.Name == "takeover" {
		status, err := b.ClusterStatus(ctx, p.FQN())
		if err != nil {
			return "", err
		}
		in.Body.Destination = []string{status.Daemon.Nodename}
	}
	for _, name := range a.To {
		names := []string{name}
		if strings.ContainsAny(name, "*?[=!") {
			var err error
			if names, err = b.ExpandNodes(ctx, name); err != nil {
				return "", err
			}
		}
		in.Body.Destination = append(in.Body.Destination, names...)
	}
	queued, err := do(ctx, b, api.PostObjectActionSwitch, in)
	return queued.OrchestrationID, err
}

// clear clears every instance: the failure is held by the monitor of each node.
func (b *Backend) clear(ctx context.Context, p object.Path) error {
	list, err := do(ctx, b, api.GetInstances, api.InstanceQuery{Path: p.FQN()})
	if err != nil {
		return err
	}
	var errs []error
	for _, i := range list.Items {
		_, err := do(ctx, b, api.PostInstanceClear, api.InstanceOf(i.Meta.Node, p))
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// WaitOrchestration implements object.Orchestrator.
func (b *Backend) WaitOrchestration(ctx context.Context, id string, limit time.Duration) (api.Orchestration, error) {
	end, err := do(ctx, b, api.GetDaemonOrchestration, api.WaitQuery{NodeName: here(), ID: id, Wait: limit.String()})
	if stillRunning(err) {
		return api.Orchestration{OrchestrationID: id, State: api.StateRunning}, nil
	}
	return end, err
}

// ActOn implements instance.Remote.
func (b *Backend) ActOn(ctx context.Context, node string, p object.Path, a instance.Action) (api.InstanceActionAccepted, error) {
	if a.Name == "clear" {
		_, err := do(ctx, b, api.PostInstanceClear, api.InstanceOf(node, p))
		return api.InstanceActionAccepted{}, err
	}
	op, ok := map[string]api.Operation[api.InstanceAction, api.InstanceActionAccepted]{
		"start": api.PostInstanceActionStart, "stop": api.PostInstanceActionStop, "restart": api.PostInstanceActionRestart,
		"shutdown": api.PostInstanceActionShutdown, "boot": api.PostInstanceActionBoot, "startstandby": api.PostInstanceActionStartStandby,
		"provision": api.PostInstanceActionProvision, "unprovision": api.PostInstanceActionUnprovision,
		"run": api.PostInstanceActionRun, "freeze": api.PostInstanceActionFreeze, "unfreeze": api.PostInstanceActionUnfreeze,
		"delete": api.PostInstanceActionDelete,
	}[a.Name]
	if !ok {
		return api.InstanceActionAccepted{}, fmt.Errorf("instance %s cannot be asked of another node", a.Name)
	}
	in := a.InstanceAction
	in.InstanceName = api.InstanceOf(node, p)
	return do(ctx, b, op, in)
}

// WaitExec implements instance.Remote.
func (b *Backend) WaitExec(ctx context.Context, node, id string, limit time.Duration) (api.Exec, error) {
	end, err := do(ctx, b, api.GetDaemonExec, api.WaitQuery{NodeName: api.NodeName{Node: node}, ID: id, Wait: limit.String()})
	if stillRunning(err) {
		return api.Exec{ExecID: id, State: api.StateRunning}, nil
	}
	return end, err
}

// Execs implements daemon.Historian.
func (b *Backend) Execs(ctx context.Context, q api.ExecQuery) ([]api.Exec, error) {
	list, err := do(ctx, b, api.GetDaemonExecs, q)
	return list.Items, err
}

// Kill implements daemon.Historian.
func (b *Backend) Kill(ctx context.Context, q api.ExecKill) ([]api.Exec, error) {
	list, err := do(ctx, b, api.DeleteDaemonExecs, q)
	return list.Items, err
}

// Exec implements daemon.Historian.
func (b *Backend) Exec(ctx context.Context, q api.WaitQuery) (api.Exec, error) {
	return do(ctx, b, api.GetDaemonExec, q)
}

// Orchestrations implements daemon.Historian.
func (b *Backend) Orchestrations(ctx context.Context, q api.OrchestrationQuery) ([]api.Orchestration, error) {
	list, err := do(ctx, b, api.GetDaemonOrchestrations, q)
	return list.Items, err
}

// Orchestration implements daemon.Historian.
func (b *Backend) Orchestration(ctx context.Context, q api.WaitQuery) (api.Orchestration, error) {
	return do(ctx, b, api.GetDaemonOrchestration, q)
}
