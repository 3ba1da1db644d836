package monitor_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/command/monitor"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/orchestrate"
)

func TestAnExplanationOfEachInstanceIsWritten(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	config := &cluster.InstanceConfig{
		Orchestrate: cluster.OrchestrateHA, Topology: cluster.TopologyFailover, Scope: []string{"n1", "n2"},
		PlacementPolicy: orchestrate.PolicyNodesOrder,
		Resources:       map[string]cluster.ResourceConfig{"app#1": {}},
	}
	idle := func() *cluster.InstanceMonitor {
		return &cluster.InstanceMonitor{State: orchestrate.StateIdle, GlobalExpect: orchestrate.None, LocalExpect: orchestrate.Started}
	}
	s := api.ClusterState{
		Node: map[string]cluster.Node{
			"n1": {Monitor: cluster.NodeMonitor{State: orchestrate.StateIdle}}, "n2": {Monitor: cluster.NodeMonitor{State: orchestrate.StateIdle}},
		},
		Object: map[string]cluster.Object{"web": {Instances: map[string]cluster.Instance{
			"n1": {Config: config, Monitor: idle(), Status: &cluster.InstanceStatus{
				Avail: cluster.Warn, FrozenAt: at, Provisioned: cluster.ProvisionedTrue,
				Resources: map[string]cluster.ResourceStatus{"app#1": {Status: cluster.Down, Log: []cluster.ResourceLogEntry{{Level: "warn", Message: "two\nlines"}}}},
			}},
			"n2": {Config: config, Monitor: idle(), Status: &cluster.InstanceStatus{Avail: cluster.Down, Provisioned: cluster.ProvisionedTrue}},
		}}},
	}

	got := monitor.Text(monitor.Explanations(s, object.Path{Namespace: object.RootNamespace, Kind: object.KindSvc, Name: "web"}, at))

	want := `web on n1: warn, idle
  the instance is frozen
    -> om web unfreeze
  app#1: down
    two\nlines
    its restart is 0: the daemon does not start it again
      -> om web config update --set app#1.restart=2

web on n2: down, idle
  the object runs on node n1: nothing of this instance is restarted
  the object is warn
    -> the instance that is warn, see its own explanation

web may run, by "nodes order", on n2 (leader)
  not on n1: its instance is frozen`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A start that waits for the fence of a lost node says so, and how to go on: what a
// node knows of its fences is in its status.
func TestAStartThatWaitsForAFenceSaysSo(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name     string
		stonith  bool
		topology string
		state    string
		waits    bool
	}{
		{"failed", true, cluster.TopologyFailover, "failed", true},
		{"running", true, cluster.TopologyFailover, "running", true},
		{"done", true, cluster.TopologyFailover, "done", false},
		{"overridden", true, cluster.TopologyFailover, "overridden", false},
		{"of another object", false, cluster.TopologyFailover, "failed", false},
		{"flex", true, cluster.TopologyFlex, "failed", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := api.ClusterState{
				Node: map[string]cluster.Node{"n1": {
					Monitor: cluster.NodeMonitor{State: orchestrate.StateIdle},
					Status:  cluster.NodeStatus{Fences: map[string]cluster.FenceStatus{"n2": {State: c.state}}},
				}},
				Object: map[string]cluster.Object{"web": {Instances: map[string]cluster.Instance{"n1": {
					Config: &cluster.InstanceConfig{
						Orchestrate: cluster.OrchestrateHA, Topology: c.topology, Scope: []string{"n1", "n2"},
						PlacementPolicy: orchestrate.PolicyNodesOrder, Stonith: c.stonith,
					},
					Monitor: &cluster.InstanceMonitor{State: orchestrate.StateReady, GlobalExpect: orchestrate.None, StateUpdatedAt: at.Add(-time.Hour)},
					Status:  &cluster.InstanceStatus{Avail: cluster.Down, Provisioned: cluster.ProvisionedTrue},
				}}}},
			}

			found := monitor.Explanations(s, object.Path{Namespace: object.RootNamespace, Kind: object.KindSvc, Name: "web"}, at)

			if len(found) != 1 {
				t.Fatalf("%d explanations, want 1", len(found))
			}
			waits := ""
			for _, b := range found[0].Because {
				if b.ID == "fence" {
					waits = b.Text
				}
			}
			if (waits != "") != c.waits {
				t.Errorf("waits for the fence: %q, want one: %v, next %q, because %+v", waits, c.waits, found[0].Next, found[0].Because)
			}
			if c.waits == (found[0].Next == "start") {
				t.Errorf("next is %q", found[0].Next)
			}
		})
	}
}
