package state_test

import (
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/bus"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/state"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

func svc(name string) object.Path {
	return object.Path{Namespace: "root", Kind: object.KindSvc, Name: name}
}

func config() cluster.InstanceConfig {
	return cluster.InstanceConfig{Topology: cluster.TopologyFailover, Orchestrate: "no", Scope: []string{"n1"}}
}

func status(avail cluster.Status) cluster.InstanceStatus {
	return cluster.InstanceStatus{Avail: avail, Overall: avail, Provisioned: cluster.ProvisionedTrue, UpdatedAt: time.Unix(100, 0)}
}

// kinds drains what was published so far.
func kinds(s *bus.Subscription) []string {
	all := []string{}
	for {
		select {
		case e := <-s.C():
			all = append(all, e.Kind)
		default:
			return all
		}
	}
}

func TestALifeInEvents(t *testing.T) {
	t.Parallel()
	b := bus.New("n1")
	s := state.New("n1", b)
	events := b.Subscribe("test", nil)
	p := svc("a")
	for _, step := range []struct {
		what string
		do   func()
		want []string
	}{
		{"a configuration makes an object", func() { s.SetInstanceConfig(p, "n1", config()) }, []string{"ObjectCreated", "InstanceConfigUpdated", "ObjectStatusUpdated"}},
		{"the same configuration is no news", func() { s.SetInstanceConfig(p, "n1", config()) }, []string{}},
		{"a status changes the object", func() { s.SetInstanceStatus(p, "n1", status(cluster.Up)) }, []string{"InstanceStatusUpdated", "ObjectStatusUpdated"}},
		{"the same status is no news", func() { s.SetInstanceStatus(p, "n1", status(cluster.Up)) }, []string{}},
		{"the same status evaluated later is no news", func() {
			v := status(cluster.Up)
			v.UpdatedAt = time.Unix(200, 0)
			s.SetInstanceStatus(p, "n1", v)
		}, []string{}},
		{"a resource that changes may not change the object", func() {
			v := status(cluster.Up)
			v.Resources = map[string]cluster.ResourceStatus{"app#1": {Status: cluster.Up}}
			s.SetInstanceStatus(p, "n1", v)
		}, []string{"InstanceStatusUpdated"}},
		{"a monitor", func() { s.SetInstanceMonitor(p, "n1", cluster.InstanceMonitor{State: "idle", IsHALeader: true}) }, []string{"InstanceMonitorUpdated", "ObjectStatusUpdated"}},
		{"the last instance takes the object along", func() { s.DeleteInstance(p, "n1") }, []string{
			"InstanceConfigDeleted", "InstanceStatusDeleted", "InstanceMonitorDeleted", "ObjectStatusDeleted", "ObjectDeleted", "ObjectStatusDone",
		}},
		{"what is gone is gone", func() { s.DeleteInstance(p, "n1") }, []string{}},
		{"a status that comes late does not bring it back", func() {
			if s.SetInstanceStatus(p, "n1", status(cluster.Up)) {
				t.Error("a status of an unknown instance is accepted")
			}
		}, []string{}},
		{"the freeze of the only node freezes the cluster", func() { s.SetNodeFrozen("n1", time.Unix(5, 0)) }, []string{"NodeFrozen", "NodeStatusUpdated", "ClusterStatusUpdated"}},
		{"a cluster of two is not frozen by one", func() { s.SetClusterConfig(cluster.Config{Nodes: []string{"n1", "n2"}}) }, []string{"ClusterConfigUpdated", "ClusterStatusUpdated"}},
	} {
		step.do()
		if diff := cmp.Diff(step.want, kinds(events)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step.what, diff)
		}
	}
	if s.View().Nodes["n2"] == nil {
		t.Error("the node that joined is not in the view")
	}
}

func TestAViewDoesNotChange(t *testing.T) {
	t.Parallel()
	s := state.New("n1", bus.New("n1"))
	s.SetInstanceConfig(svc("a"), "n1", config())
	s.SetInstanceStatus(svc("a"), "n1", status(cluster.Up))
	before := s.View()
	o := before.Objects[svc("a")]

	s.SetInstanceStatus(svc("a"), "n1", status(cluster.Down))
	s.SetInstanceConfig(svc("b"), "n1", config())
	s.DeleteInstance(svc("a"), "n1")

	if len(before.Objects) != 1 || before.Objects[svc("a")] != o || o.Instances["n1"].Status.Avail != cluster.Up || o.Avail != cluster.Up {
		t.Errorf("the view changed: %+v", o)
	}
	if s.View().Gen != before.Gen+3 {
		t.Errorf("3 changes took the view from %d to %d", before.Gen, s.View().Gen)
	}
}

func TestObjectsThatDidNotChangeKeepTheirPointer(t *testing.T) {
	t.Parallel()
	s := state.New("n1", bus.New("n1"))
	s.SetInstanceConfig(svc("a"), "n1", config())
	s.SetInstanceConfig(svc("b"), "n1", config())
	a := s.View().Objects[svc("a")]

	s.SetInstanceStatus(svc("b"), "n1", status(cluster.Up))
	s.SetInstanceConfig(svc("a"), "n1", config())

	if s.View().Objects[svc("a")] != a {
		t.Error("the pointer of an object that did not change has changed")
	}
}

// Whatever the order of changes, the objects of the view are the aggregation of
// their instances.
func TestObjectsFollowFromTheirInstances(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := state.New("n1", bus.New("n1"))
		nodes, names := []string{"n1", "n2"}, []string{"a", "b"}
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			p, node := svc(rapid.SampledFrom(names).Draw(t, "name")), rapid.SampledFrom(nodes).Draw(t, "node")
			switch rapid.IntRange(0, 4).Draw(t, "what") {
			case 0, 1:
				c := config()
				c.Priority = rapid.IntRange(0, 2).Draw(t, "priority")
				s.SetInstanceConfig(p, node, c)
			case 2:
				s.SetInstanceStatus(p, node, status(rapid.SampledFrom([]cluster.Status{cluster.Up, cluster.Down, cluster.Warn}).Draw(t, "avail")))
			case 3:
				s.SetInstanceMonitor(p, node, cluster.InstanceMonitor{State: "idle", IsHALeader: rapid.Bool().Draw(t, "leader")})
			case 4:
				s.DeleteInstance(p, node)
			}
		}
		for p, o := range s.View().Objects {
			want := cluster.Aggregate(p, o.Instances)
			want.UpdatedAt = o.UpdatedAt
			if diff := cmp.Diff(want, *o); diff != "" {
				t.Fatalf("%s (-want +got):\n%s", p, diff)
			}
			for node, i := range o.Instances {
				if i.Config == nil {
					t.Fatalf("%s on %s has no configuration", p, node)
				}
			}
		}
	})
}

func TestTheViewIsAheadOfItsEvents(t *testing.T) {
	t.Parallel()
	b := bus.New("n1")
	s := state.New("n1", b)
	events := b.Subscribe("test", nil)
	var wg sync.WaitGroup
	wg.Go(func() {
		defer events.Close()
		for i := range 100 {
			s.SetInstanceConfig(svc(fmt.Sprintf("s%d", i)), "n1", config())
		}
	})

	for e := range events.C() {
		p, err := object.Parse(e.Labels["path"])
		if err != nil {
			t.Error(err)
		}
		if s.View().Objects[p] == nil {
			t.Errorf("%s of %s came before the view had it", e.Kind, p)
		}
	}
	wg.Wait()
}

func TestNodesThatLeaveDisappear(t *testing.T) {
	t.Parallel()
	s := state.New("n1", bus.New("n1"))
	s.SetClusterConfig(cluster.Config{Nodes: []string{"n1", "n2", "n3"}})
	s.SetClusterConfig(cluster.Config{Nodes: []string{"n1", "n3"}})
	var names []string
	for name := range s.View().Nodes {
		names = append(names, name)
	}
	slices.Sort(names)
	if !slices.Equal(names, []string{"n1", "n3"}) {
		t.Errorf("nodes %q", names)
	}
}

func BenchmarkSetInstanceStatus(b *testing.B) {
	for _, n := range []int{1, 100, 1000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			s := state.New("n1", bus.New("n1"))
			for i := range n {
				s.SetInstanceConfig(svc(fmt.Sprintf("s%d", i)), "n1", config())
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				s.SetInstanceStatus(svc(fmt.Sprintf("s%d", i%n)), "n1", status([]cluster.Status{cluster.Up, cluster.Down}[(i/n)%2]))
			}
		})
	}
}
