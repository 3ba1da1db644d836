package daemon

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/bus"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/state"
)

func TestAPeerIsReachedByItsNameWhereItListens(t *testing.T) {
	t.Parallel()
	s := state.New("node1", bus.New("node1"))
	p := peers{s}
	if _, err := p.Address("node2"); err == nil || !strings.Contains(err.Error(), "node2") {
		t.Errorf("no port is known: %v", err)
	}
	s.SetClusterConfig(cluster.Config{Nodes: []string{"node1", "node2"}, Listener: cluster.ListenerConfig{Port: 1215}})
	if diff := cmp.Diff([]string{"node1", "node2"}, p.Peers()); diff != "" {
		t.Error(diff)
	}
	if addr, err := p.Address("node2"); err != nil || addr != "node2:1215" {
		t.Errorf("by the configuration of the cluster: %s, %v", addr, err)
	}
	s.SetNodeListener("node2", cluster.Listener{State: cluster.ListenerRunning, Port: "1216"})
	if addr, err := p.Address("node2"); err != nil || addr != "node2:1216" {
		t.Errorf("by what the node says: %s, %v", addr, err)
	}
}
