package cluster_test

import (
	"testing"

	"github.com/holdfast-ops/holdfast/internal/om/cluster"
)

func TestWhatMayRunWhenItsNodeIsLost(t *testing.T) {
	t.Parallel()
	idle := cluster.InstanceMonitor{State: "idle", GlobalExpect: "none", LocalExpect: "none"}
	with := func(edit func(*cluster.InstanceMonitor)) *cluster.InstanceMonitor {
		m := idle
		edit(&m)
		return &m
	}
	down := &cluster.InstanceStatus{Avail: cluster.Down}
	for what, tt := range map[string]struct {
		i    cluster.Instance
		want bool
	}{
		"nothing told":           {cluster.Instance{}, true},
		"down and idle":          {cluster.Instance{Status: down, Monitor: &idle}, false},
		"standby up and idle":    {cluster.Instance{Status: &cluster.InstanceStatus{Avail: cluster.StandbyUp}, Monitor: &idle}, false},
		"up":                     {cluster.Instance{Status: &cluster.InstanceStatus{Avail: cluster.Up}, Monitor: &idle}, true},
		"warn":                   {cluster.Instance{Status: &cluster.InstanceStatus{Avail: cluster.Warn}, Monitor: &idle}, true},
		"starting":               {cluster.Instance{Status: down, Monitor: with(func(m *cluster.InstanceMonitor) { m.State = "starting" })}, true},
		"about to start":         {cluster.Instance{Status: down, Monitor: with(func(m *cluster.InstanceMonitor) { m.State = "ready" })}, true},
		"asked to start":         {cluster.Instance{Status: down, Monitor: with(func(m *cluster.InstanceMonitor) { m.GlobalExpect = "started" })}, true},
		"has done its part":      {cluster.Instance{Status: down, Monitor: with(func(m *cluster.InstanceMonitor) { m.GlobalExpect, m.OrchestrationIsDone = "started", true })}, false},
		"its restarts are going": {cluster.Instance{Status: down, Monitor: with(func(m *cluster.InstanceMonitor) { m.LocalExpect = "started" })}, true},
	} {
		if got := tt.i.MayRun(); got != tt.want {
			t.Errorf("%s: %t", what, got)
		}
	}
}
