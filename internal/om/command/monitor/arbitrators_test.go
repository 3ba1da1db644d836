package monitor_test

import (
	"testing"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/command/monitor"
)

func TestEveryNodeHasItsViewOfTheArbitrators(t *testing.T) {
	t.Parallel()
	up := cluster.ArbitratorStatus{URL: "https://a1.example.com:1215", Status: cluster.Up, Weight: 1}
	down := up
	down.Status = cluster.Down
	var b monitor.Board
	b.Sections = []string{"arbitrators", "nodes"}
	b.Status.Cluster.Config.Nodes = []string{"n1", "n2", "n3"}
	b.Status.Cluster.Node = map[string]cluster.Node{
		"n1": {Monitor: cluster.NodeMonitor{State: "idle"}, Status: cluster.NodeStatus{
			Arbitrators: map[string]cluster.ArbitratorStatus{"a1": up, "a2": down}, IsOverloaded: true,
			Fences: map[string]cluster.FenceStatus{"n3": {State: "failed", UpdatedAt: time.Unix(0, 0)}},
		}},
		"n2": {Monitor: cluster.NodeMonitor{State: "rejoin"}, Status: cluster.NodeStatus{
			Arbitrators: map[string]cluster.ArbitratorStatus{"a1": up, "a2": up},
			Quorum:      &cluster.QuorumStatus{Votes: 1, Total: 4},
		}},
		"n3": {},
	}
	golden(t, "arbitrators.golden", draw(t, b.Rows(), nil))
}
