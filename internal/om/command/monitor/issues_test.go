package monitor_test

import (
	"strings"
	"testing"

	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/command/monitor"
)

func TestTheBoardSaysWhatIsWrongWithConfigurations(t *testing.T) {
	t.Parallel()
	b := monitor.Board{Selector: "**"}
	b.Status.Cluster.Config = cluster.Config{Nodes: []string{"n1"}, Issues: []string{"cluster.conf sets no cluster.id any more", "another"}}
	b.Status.Cluster.Object = map[string]cluster.Object{"web": {Instances: map[string]cluster.Instance{
		"n1": {Config: &cluster.InstanceConfig{Issues: []string{"web.conf is a directory, not a file"}}},
	}}}

	got := draw(t, b.Rows(), nil)

	for _, want := range []string{
		"\n  issue: cluster.conf sets no cluster.id any more (and 1 more)\n\nNodes",
		"\n  n1: issue: web.conf is a directory, not a file\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the board does not say %q:\n%s", want, got)
		}
	}
}
