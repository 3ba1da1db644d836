package remote

import (
	"context"
	"iter"
	"strings"
	"time"

	"github.com/holdfast-ops/holdfast/internal/cli/app"
	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/client"
	cmdobject "github.com/holdfast-ops/holdfast/internal/om/command/object"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/sse"
)

// which refuses to act on a node nobody named: from elsewhere, none is "this one".
func which(node string) error {
	if node == "" {
		return app.Usage("say which nodes: --node <selector>, or --node '*' for all of them")
	}
	return nil
}

// DrainNode implements node.Orchestrator.
func (b *Backend) DrainNode(ctx context.Context, node string) (string, error) {
	if err := which(node); err != nil {
		return "", err
	}
	queued, err := do(ctx, b, api.PostPeerActionDrain, api.NodeName{Node: node})
	return queued.OrchestrationID, err
}

// AbortNode implements node.Orchestrator.
func (b *Backend) AbortNode(ctx context.Context, node string) (string, error) {
	if err := which(node); err != nil {
		return "", err
	}
	queued, err := do(ctx, b, api.PostPeerActionAbort, api.NodeName{Node: node})
	return queued.OrchestrationID, err
}

// ClearNode implements node.Orchestrator.
func (b *Backend) ClearNode(ctx context.Context, node string) (string, error) {
	if err := which(node); err != nil {
		return "", err
	}
	said, err := do(ctx, b, api.PostNodeActionClear, api.NodeName{Node: node})
	return said.Detail, err
}

// WaitNode implements node.Orchestrator.
func (b *Backend) WaitNode(ctx context.Context, node, id string, limit time.Duration) (api.Orchestration, error) {
	end, err := do(ctx, b, api.GetDaemonOrchestration, api.WaitQuery{NodeName: api.NodeName{Node: node}, ID: id, Wait: limit.String()})
	if stillRunning(err) {
		return api.Orchestration{OrchestrationID: id, State: api.StateRunning}, nil
	}
	return end, err
}

// AbortCluster implements cluster.Aborter.
func (b *Backend) AbortCluster(ctx context.Context) (string, error) {
	queued, err := do(ctx, b, api.PostClusterActionAbort, api.None{})
	return queued.OrchestrationID, err
}

// ControlListener implements daemon.Controller.
func (b *Backend) ControlListener(ctx context.Context, node, name, action string) (string, error) {
	op := map[string]api.Operation[api.ListenerName, api.Problem]{
		"start": api.PostDaemonListenerStart, "stop": api.PostDaemonListenerStop, "restart": api.PostDaemonListenerRestart,
	}[action]
	said, err := do(ctx, b, op, api.ListenerName{NodeName: api.NodeName{Node: node}, Name: name})
	return said.Detail, err
}

// ControlHeartbeat implements daemon.Beater.
func (b *Backend) ControlHeartbeat(ctx context.Context, node, name, action string) (string, error) {
	op := map[string]api.Operation[api.HeartbeatName, api.Problem]{
		"start": api.PostDaemonHeartbeatStart, "stop": api.PostDaemonHeartbeatStop, "restart": api.PostDaemonHeartbeatRestart,
		"sign": api.PostDaemonHeartbeatSign, "wipe": api.PostDaemonHeartbeatWipe,
	}[action]
	said, err := do(ctx, b, op, api.HeartbeatName{NodeName: api.NodeName{Node: node}, Name: name})
	return said.Detail, err
}

// RelayStatus implements daemon.Relayer.
func (b *Backend) RelayStatus(ctx context.Context, q api.RelayStatusQuery) ([]api.RelayStatus, error) {
	list, err := do(ctx, b, api.GetRelayStatus, q)
	return list.Items, err
}

// RotateHeartbeats implements daemon.Beater.
func (b *Backend) RotateHeartbeats(ctx context.Context) (string, error) {
	rotation, err := do(ctx, b, api.PostClusterHeartbeatRotate, api.None{})
	return rotation.ID, err
}

// SetLogLevel implements daemon.Controller.
func (b *Backend) SetLogLevel(ctx context.Context, node, name, level string) (string, error) {
	at, body := api.NodeName{Node: node}, api.LogLevel{Level: level}
	if name == "" {
		said, err := do(ctx, b, api.PostDaemonLogControl, api.LogControl{NodeName: at, Body: body})
		return said.Detail, err
	}
	said, err := do(ctx, b, api.PostDaemonListenerLogControl, api.ListenerLogControl{ListenerName: api.ListenerName{NodeName: at, Name: name}, Body: body})
	return said.Detail, err
}

// Audit implements daemon.Controller.
func (b *Backend) Audit(ctx context.Context, q api.AuditQuery) iter.Seq2[sse.Event, error] {
	c, err := b.Connect()
	if err != nil {
		return func(yield func(sse.Event, error) bool) { yield(sse.Event{}, err) }
	}
	return client.Audit(ctx, c, q)
}

// Disable implements object.Switcher.
func (b *Backend) Disable(ctx context.Context, p object.Path, f cmdobject.Resources, disabled bool) error {
	op := api.PostSvcEnable
	if disabled {
		op = api.PostSvcDisable
	}
	_, err := do(ctx, b, op, api.SvcResources{
		Namespace: p.Namespace, Name: p.Name, Rid: strings.Join(f.RID, ","), Subset: strings.Join(f.Subset, ","), Tag: strings.Join(f.Tag, ","),
	})
	return err
}
