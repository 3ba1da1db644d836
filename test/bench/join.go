package main

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"time"

	"github.com/holdfast-ops/holdfast/internal/retry"
	"github.com/holdfast-ops/holdfast/test/om/bed"
	"github.com/holdfast-ops/holdfast/test/om/trial"
)

// joins measures a node that comes to the cluster of another one and leaves it: from
// the command to the heartbeat, and from the drain to the answer of the node alone.
func joins(ctx context.Context, b bench) (rows []row, err error) {
	nodes, err := bed.New(ctx, bed.Options{
		Dir: filepath.Join(b.work, "join"), Nodes: []string{"node1", "node2"}, Programs: map[string]string{"om": b.om},
	})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, nodes.Close()) }()
	for _, n := range nodes.Nodes() {
		if err := n.StartDaemon(ctx); err != nil {
			return nil, err
		}
	}
	one, two := nodes.Node("node1"), nodes.Node("node2")
	var came, left durations
	for range 7 {
		if _, err := two.Run(ctx, "sh", "-c", "om daemon auth --role join --duration 10m >"+bed.Mount+"/token"); err != nil {
			return nil, err
		}
		began := time.Now()
		if _, err := one.Run(ctx, "om", "cluster", "enroll", "--node", "node2", "--token", bed.Mount+"/token", "--wait", "--timeout", "2m"); err != nil {
			return nil, err
		}
		came = append(came, time.Since(began))
		if err := trial.On(nodes).AwaitAll(ctx); err != nil { // one that rejoins is not drained
			return nil, err
		}
		began = time.Now()
		if _, err := one.Run(ctx, "sh", "-c", "om node drain --node node2 --wait && om cluster evict --node node2 --wait"); err != nil {
			return nil, err
		}
		if err := isAlone(ctx, two); err != nil {
			return nil, err
		}
		left = append(left, time.Since(began))
	}
	return []row{
		{"cluster of two: enroll --wait, to the heartbeat", came.String(), "3 s (an earlier implementation: 3.0 s)"},
		{"drain and evict --wait, to the answer of the node alone", left.String(), "3 s"},
	}, nil
}

// isAlone waits until the daemon of a node is of a cluster of its own.
func isAlone(ctx context.Context, n *bed.Node) error {
	ctx, cancel := context.WithTimeout(ctx, patient)
	defer cancel()
	return retry.Until(ctx, retry.Policy{Interval: 20 * time.Millisecond}, func(ctx context.Context) (bool, error) {
		out, err := n.Run(ctx, "om", "cluster", "config", "get", "--kw", "cluster.nodes")
		if errors.Is(err, bed.ErrDown) {
			return false, err
		}
		_, answers := n.Run(ctx, "om", "daemon", "running")
		return err == nil && answers == nil && !strings.Contains(out, "node1"), nil
	})
}
