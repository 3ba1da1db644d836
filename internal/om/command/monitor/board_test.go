package monitor_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ops/holdfast/internal/cli/iostreams"
	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/command/grid"
	"github.com/holdfast-ops/holdfast/internal/om/command/monitor"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s: run make docs if it is meant\n%s", file, diff)
	}
}

func at() time.Time { return time.Date(2026, 11, 30, 10, 0, 0, 0, time.UTC) }

func board() monitor.Board {
	leader := &cluster.InstanceMonitor{State: "idle", IsLeader: true, GlobalExpect: "none"}
	idle := &cluster.InstanceMonitor{State: "idle", GlobalExpect: "none"}
	status := func(avail, overall cluster.Status) *cluster.InstanceStatus {
		return &cluster.InstanceStatus{Avail: avail, Overall: overall, Provisioned: cluster.ProvisionedTrue}
	}
	var s api.ClusterStatus
	s.Daemon = api.DaemonLocal{Nodename: "node1", Pid: 2615}
	s.Cluster.Config = cluster.Config{Name: "lab", Nodes: []string{"node1", "node2"}, Listener: cluster.ListenerConfig{Port: 1215}}
	s.Cluster.Node = map[string]cluster.Node{
		"node1": {
			Monitor: cluster.NodeMonitor{State: "idle"},
			Stats:   cluster.NodeStats{Load15M: 0.25, Score: 70, MemTotalMB: 24 << 10, MemAvailPct: 96, SwapTotalMB: 512, SwapAvailPct: 5},
			Config:  cluster.NodeConfig{MinAvailSwapPct: 10},

			Listener: cluster.Listener{State: cluster.ListenerRunning, Port: "1215"},
		},
		"node2": {
			Status: cluster.NodeStatus{FrozenAt: at()}, Monitor: cluster.NodeMonitor{State: "draining", GlobalExpect: "frozen"},
			Stats: cluster.NodeStats{MemTotalMB: 900, MemAvailPct: 10},
		},
	}
	frozen := status(cluster.Down, cluster.Down)
	frozen.FrozenAt, frozen.StoppedAt, frozen.Provisioned = at(), at(), cluster.ProvisionedFalse
	s.Cluster.Object = map[string]cluster.Object{
		"web": {
			Avail: cluster.Up, Overall: cluster.Warn, Orchestrate: "ha", Topology: "failover", UpInstancesCount: 1, Frozen: "mixed",
			PlacementState: "non-optimal", Provisioned: cluster.ProvisionedMixed,
			Instances: map[string]cluster.Instance{
				"node1": {Status: status(cluster.Up, cluster.Warn), Monitor: leader},
				"node2": {Status: frozen, Monitor: &cluster.InstanceMonitor{State: "start failed", GlobalExpect: "started"}},
			},
		},
		"ns1/svc/flex": {
			Avail: cluster.Warn, Overall: cluster.Warn, Orchestrate: "ha", Topology: "flex", UpInstancesCount: 1, Flex: &cluster.Flex{Target: 2},
			Instances: map[string]cluster.Instance{
				"node1": {Status: status(cluster.StandbyUp, cluster.StandbyUp), Monitor: idle},
				"node2": {Status: status(cluster.StandbyDown, cluster.StandbyDown), Monitor: idle},
			},
		},
		"half": {
			Avail: cluster.Warn, Overall: cluster.Warn, Orchestrate: "no", Topology: "failover",
			Instances: map[string]cluster.Instance{"node3": {Status: status(cluster.Warn, cluster.Warn), Monitor: idle}},
		},
		"sec/keys": {Avail: cluster.NotApplicable, Overall: cluster.NotApplicable, Instances: map[string]cluster.Instance{"node1": {}}},
	}
	return monitor.Board{Status: s, Selector: "**"}
}

func draw(t *testing.T, rows []grid.Row, set func(*iostreams.Streams)) string {
	t.Helper()
	s, _, out, _ := iostreams.Test()
	if set != nil {
		set(s)
	}
	if err := grid.Write(s, rows); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestTheBoardPacksTheCluster(t *testing.T) {
	t.Parallel()
	golden(t, "board.golden", draw(t, board().Rows(), nil))
}

func TestTheBoardIsColouredOnTerminals(t *testing.T) {
	t.Parallel()
	golden(t, "colour.golden", draw(t, board().Rows(), func(s *iostreams.Streams) { s.OutTTY, s.Width, s.Color = true, 60, true }))
}

func TestTheBoardShowsTheSectionsAskedFor(t *testing.T) {
	t.Parallel()
	b := board()
	b.Sections = []string{"nodes"}
	golden(t, "nodes.golden", draw(t, b.Rows(), nil))
}

func TestTheLegendExplainsTheMarks(t *testing.T) {
	t.Parallel()
	golden(t, "legend.golden", draw(t, monitor.Legend(), nil))
}

func TestAListenerThatFailedIsShown(t *testing.T) {
	t.Parallel()
	b := board()
	n := b.Status.Cluster.Node["node1"]
	n.Listener = cluster.Listener{State: cluster.ListenerFailed, Port: "1215", Error: "address already in use"}
	b.Status.Cluster.Node["node1"] = n
	for _, row := range b.Rows() {
		if words := strings.Fields(text(row)); len(words) > 2 && words[0] == "listener" {
			if words[1] != "failed" || words[2] != ":1215" {
				t.Errorf("%q", words)
			}
			return
		}
	}
	t.Error("no listener on the board")
}

func text(r grid.Row) string {
	var s strings.Builder
	for _, c := range r.Cells {
		for _, span := range c {
			s.WriteString(span.Text)
		}
		s.WriteByte(' ')
	}
	return s.String()
}
