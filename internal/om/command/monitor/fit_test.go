package monitor_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/command/monitor"
)

// thousand is a cluster of three nodes with a thousand objects, three of which
// need somebody.
func thousand() monitor.Board {
	var b monitor.Board
	b.Selector = "**"
	b.Status.Cluster.Config.Nodes = []string{"n1", "n2", "n3"}
	b.Status.Cluster.Node = map[string]cluster.Node{}
	for _, n := range b.Status.Cluster.Config.Nodes {
		b.Status.Cluster.Node[n] = cluster.Node{Monitor: cluster.NodeMonitor{State: "idle"}}
	}
	b.Status.Cluster.Object = map[string]cluster.Object{}
	for i := range 1000 {
		o := cluster.Object{Avail: cluster.Up, Overall: cluster.Up, Orchestrate: "ha", Topology: "failover", UpInstancesCount: 1, Instances: map[string]cluster.Instance{}}
		for _, n := range b.Status.Cluster.Config.Nodes {
			o.Instances[n] = cluster.Instance{Monitor: &cluster.InstanceMonitor{State: "idle"}, Status: &cluster.InstanceStatus{Avail: cluster.Down}}
		}
		switch i {
		case 700:
			o.Avail = cluster.Down
			o.Instances["n2"].Monitor.State = "start failed"
		case 800:
			o.Avail = cluster.Warn
		case 900:
			o.Avail = cluster.Down
		}
		b.Status.Cluster.Object[fmt.Sprintf("s%03d", i)] = o
	}
	return b
}

func TestAThousandObjectsFitOnOneScreenTheUrgentOnesFirst(t *testing.T) {
	t.Parallel()
	for _, height := range []int{3, 8, 12, 20, 24, 50, 200} {
		b := thousand()
		b.Height = height
		rows := b.Rows()
		if len(rows) != height {
			t.Errorf("%d rows on a screen of %d", len(rows), height)
		}
		lines := strings.Split(strings.TrimSpace(draw(t, rows, nil)), "\n")
		first := -1
		for i, l := range lines {
			if strings.HasPrefix(l, "Objects matching") {
				first = i + 1
			}
		}
		if height < 24 || first < 0 {
			continue
		}
		for i, name := range []string{"s700", "s800", "s900", "s000"} {
			if !strings.Contains(lines[first+i], name) {
				t.Errorf("height %d, row %d of the objects is %q, want %s", height, i, lines[first+i], name)
			}
		}
		shown := len(lines) - 1 - first
		if want := fmt.Sprintf("and %d more: %d up", 1000-shown, 1000-shown); !strings.Contains(lines[len(lines)-1], want) {
			t.Errorf("height %d: the last row is %q, want %q", height, lines[len(lines)-1], want)
		}
	}
}

func TestAScreenWithoutAHeightShowsEveryObject(t *testing.T) {
	t.Parallel()
	text := draw(t, thousand().Rows(), nil)
	for i := range 1000 {
		if name := fmt.Sprintf("s%03d", i); !strings.Contains(text, name) {
			t.Fatalf("%s is not on the board", name)
		}
	}
}

func BenchmarkThousandObjectsOnOneScreen(b *testing.B) {
	board := thousand()
	board.Height = 50
	b.ReportAllocs()
	for b.Loop() {
		board.Rows()
	}
}
