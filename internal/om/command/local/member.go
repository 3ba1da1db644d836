package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/client"
	"github.com/holdfast-ops/holdfast/internal/om/command/remote"
	"github.com/holdfast-ops/holdfast/internal/retry"
)

// JoinCluster implements cluster.Joiner.
func (b *Backend) JoinCluster(ctx context.Context, in api.JoinOrder, say func(string) error) (string, error) {
	return b.moveTo(ctx, "JoinError", "the join", func(ctx context.Context, c *client.Client) error {
		answer, err := client.Do(ctx, c, api.PostDaemonJoin, api.DaemonJoin{NodeName: api.NodeName{Node: api.Localhost}, Body: in})
		if err != nil {
			return err
		}
		return say("Node " + answer.Node + " accepted the join order")
	})
}

// LeaveCluster implements cluster.Joiner.
func (b *Backend) LeaveCluster(ctx context.Context, in api.LeaveOrder, say func(string) error) (string, error) {
	return b.moveTo(ctx, "LeaveError", "the leave", func(ctx context.Context, c *client.Client) error {
		if _, err := client.Do(ctx, c, api.PostDaemonLeave, api.DaemonLeave{NodeName: api.NodeName{Node: api.Localhost}, Body: in}); err != nil {
			return err
		}
		return say("Node " + b.host.Hostname + " accepted the leave order")
	})
}

// moveTo gives an order after which the daemon of this node is of another cluster,
// and returns its name once it is. The event called failure says that it is not.
func (b *Backend) moveTo(ctx context.Context, failure, what string, order func(context.Context, *client.Client) error) (string, error) {
	c, err := b.Connect()
	if err != nil {
		return "", err
	}
	before, err := b.clusterNow(ctx)
	if err != nil {
		return "", err
	}
	watching, stop := context.WithCancel(ctx)
	defer stop()
	failed, opened := make(chan error, 1), make(chan struct{}, 1)
	go func() { failed <- givenUp(watching, b.Backend, failure, opened) }()
	select {
	case <-opened:
	case err := <-failed:
		if err != nil {
			return "", err
		}
	}
	if err := order(ctx, c); err != nil {
		return "", err
	}
	name := ""
	err = retry.Until(ctx, soon(), func(ctx context.Context) (bool, error) {
		select {
		case err := <-failed:
			if err != nil {
				return false, err
			}
		default:
		}
		now, err := b.clusterNow(ctx)
		if err != nil {
			return false, nil //nolint:nilerr // it restarts
		}
		name = now.Name
		return now.ID != before.ID, nil
	})
	if ctx.Err() != nil && err != nil {
		return "", fmt.Errorf("%s goes on: om node logs tells of it: %w", what, err)
	}
	return name, err
}

// identity is what a cluster is known by.
type identity struct{ ID, Name string }

func (b *Backend) clusterNow(ctx context.Context) (identity, error) {
	status, err := b.ClusterStatus(ctx, "")
	return identity{status.Cluster.Config.ID, status.Cluster.Config.Name}, err
}

// givenUp returns the reason of an event of that kind; nil when the stream ends before.
func givenUp(ctx context.Context, b *remote.Backend, kind string, opened chan<- struct{}) error {
	q := api.EventQuery{NodeName: api.NodeName{Node: api.Localhost}, Filter: []string{kind}}
	for e, err := range b.EventsFrom(ctx, q, func() { opened <- struct{}{} }) {
		if err != nil {
			return nil // the daemon restarts
		}
		var said struct {
			Reason string `json:"reason"`
		}
		if json.Unmarshal(e.Data, &said) == nil && said.Reason != "" {
			return errors.New(said.Reason)
		}
	}
	return nil
}
