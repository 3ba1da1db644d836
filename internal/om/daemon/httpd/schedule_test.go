package httpd_test

import (
	"testing"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// jobs has one job for the node and one for each object.
type jobs struct{}

func (jobs) Schedule(p object.Path) []cluster.Schedule {
	at := time.Date(2026, 3, 2, 4, 0, 0, 0, time.UTC)
	if p.IsZero() {
		return []cluster.Schedule{{ScheduleConfig: cluster.ScheduleConfig{Action: "checks", Key: "checks.schedule"}, NextRunAt: at}}
	}
	return []cluster.Schedule{{ScheduleConfig: cluster.ScheduleConfig{Action: "run", Key: p.Name}, LastRunAt: at}}
}

func TestSchedulesOfTheNodeAndOfInstances(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	p := f.create(t, "web1", "[app#1]\ntype = simple\nstart = /bin/true\n")
	c := f.local(t)

	ofNode := do(t, c, api.GetNodeSchedule, api.NodeName{Node: api.Localhost})
	ofObject := do(t, c, api.GetObjectSchedule, api.Named(p))
	ofInstance := do(t, c, api.GetInstanceSchedule, api.InstanceOf(node1, p))

	if len(ofNode.Items) != 1 || ofNode.Items[0].Meta != (api.InstanceMeta{Node: node1}) || ofNode.Items[0].Data.NextRunAt.IsZero() {
		t.Errorf("%+v", ofNode)
	}
	for _, list := range []api.ScheduleList{ofObject, ofInstance} {
		if list.Kind != "ScheduleList" || len(list.Items) != 1 || list.Items[0].Meta != (api.InstanceMeta{Object: "web1", Node: node1}) || list.Items[0].Data.Key != "web1" {
			t.Errorf("%+v", list)
		}
	}
}
