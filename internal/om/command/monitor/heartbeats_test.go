package monitor_test

import (
	"testing"

	"github.com/holdfast-ops/holdfast/internal/om/cluster"
)

func TestTheBoardShowsWhoBeats(t *testing.T) {
	t.Parallel()
	b := board()
	b.Sections = []string{"threads"}
	n := b.Status.Cluster.Node["node1"]
	beats := func(yes bool) map[string]cluster.HeartbeatPeer {
		return map[string]cluster.HeartbeatPeer{"node2": {IsBeating: yes}, "node3": {IsBeating: true}}
	}
	n.Heartbeat.Streams = []cluster.HeartbeatStream{
		{ID: "hb#1.rx", Type: "unicast", State: "running", Peers: beats(false)},
		{ID: "hb#1.tx", Type: "unicast", State: "running", Peers: beats(true)},
		{ID: "hb#2.rx", Type: "disk", State: "failed", Error: "open /dev/sdb: no such device"},
		{ID: "hb#2.tx", Type: "disk", State: "running", Alerts: []cluster.HeartbeatAlert{{Severity: "warning", Message: "a write hangs since 12s"}}},
	}
	b.Status.Cluster.Node["node1"] = n
	golden(t, "heartbeats.golden", draw(t, b.Rows(), nil))
}
