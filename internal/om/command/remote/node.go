package remote

import (
	"context"
	"fmt"
	"time"

	"github.com/holdfast-ops/holdfast/internal/cli/app"
	"github.com/holdfast-ops/holdfast/internal/om/api"
	cmdnode "github.com/holdfast-ops/holdfast/internal/om/command/node"
	"github.com/holdfast-ops/holdfast/internal/om/command/verb"
)

// At implements node.Placer: the same cluster, and the configuration of a node.
func (b *Backend) At(node string) verb.Backend {
	there := *b
	there.node = node
	return &there
}

// AskDaemon implements daemon.Elsewhere.
func (b *Backend) AskDaemon(ctx context.Context, node, action string, limit time.Duration) (err error) {
	there := api.NodeName{Node: node}
	switch action {
	case "stop":
		_, err = do(ctx, b, api.PostDaemonStop, there)
	case "restart":
		_, err = do(ctx, b, api.PostDaemonRestart, there)
	case "shutdown":
		_, err = do(ctx, b, api.PostDaemonShutdown, api.DaemonShutdown{NodeName: there, Duration: limit.String()})
	default:
		err = fmt.Errorf("%s cannot be asked of a daemon", action)
	}
	return err
}

// Drivers implements node.Drivers.
func (b *Backend) Drivers(ctx context.Context) ([]cmdnode.Driver, error) {
	list, err := do(ctx, b, api.GetNodeDrivers, b.there())
	drivers := make([]cmdnode.Driver, len(list.Items))
	for i, item := range list.Items {
		drivers[i] = cmdnode.Driver{Name: item.Data.Name}
	}
	return drivers, err
}

func (b *Backend) there() api.NodeName {
	if b.node == "" {
		return here()
	}
	return api.NodeName{Node: b.node}
}

// freezeLimit bounds the run of a freeze.
const freezeLimit = time.Minute

// FreezeNode implements node.Freezer.
func (b *Backend) FreezeNode(ctx context.Context, node string, frozen bool) error {
	if node == "" {
		return app.Usage("say which nodes: --node <selector>, or --node '*' for all of them")
	}
	op := api.PostPeerActionUnfreeze
	if frozen {
		op = api.PostPeerActionFreeze
	}
	ids, err := do(ctx, b, op, api.NodeAction{NodeName: api.NodeName{Node: node}, SessionID: b.NewSession()})
	if err != nil {
		return err
	}
	return b.ended(ctx, node, ids.ExecID, freezeLimit)
}

// FreezeCluster implements cluster.Freezer.
func (b *Backend) FreezeCluster(ctx context.Context, frozen bool) (string, error) {
	op := api.PostClusterActionUnfreeze
	if frozen {
		op = api.PostClusterActionFreeze
	}
	queued, err := do(ctx, b, op, api.None{})
	return queued.OrchestrationID, err
}

// WaitCluster implements cluster.Freezer: the daemon that was asked tells the end.
func (b *Backend) WaitCluster(ctx context.Context, id string, limit time.Duration) (api.Orchestration, error) {
	return b.WaitNode(ctx, api.Localhost, id, limit)
}

// Stonith implements node.Fencer.
func (b *Backend) Stonith(ctx context.Context, node string, confirmed bool) (string, error) {
	said, err := do(ctx, b, api.PostClusterActionStonith, api.Stonith{Node: node, Confirmed: confirmed})
	return said.Detail, err
}

// ended waits for the end of a run and tells how it failed.
func (b *Backend) ended(ctx context.Context, node, exec string, limit time.Duration) error {
	run, err := b.WaitExec(ctx, node, exec, limit)
	switch {
	case err != nil:
		return fmt.Errorf("wait for exec %s: %w", exec, err)
	case run.State == api.StateFailed:
		return fmt.Errorf("exec %s failed: %s", exec, run.Error)
	case run.State == api.StateRunning:
		return fmt.Errorf("exec %s is still running after %s", exec, limit)
	}
	return nil
}
