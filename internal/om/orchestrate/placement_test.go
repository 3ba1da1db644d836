package orchestrate_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/orchestrate"
)

func started(ago time.Duration) *cluster.InstanceStatus {
	return &cluster.InstanceStatus{LastStartedAt: time.Unix(1_000_000, 0).Add(-ago)}
}

func TestPlacementPoliciesOnThreeNodes(t *testing.T) {
	t.Parallel()
	nodes := map[string]orchestrate.Node{
		"n1": {Load15M: 3, Score: 10, Status: started(time.Hour)},
		"n2": {Load15M: 1, Score: 30, Status: started(time.Minute)},
		"n3": {Load15M: 2, Score: 20, Status: started(time.Second)},
	}
	for _, tt := range []struct {
		policy, name string
		want         []string
	}{
		{orchestrate.PolicyNone, "a", []string{"n1", "n2", "n3"}},
		{orchestrate.PolicyNodesOrder, "a", []string{"n1", "n2", "n3"}},
		{orchestrate.PolicyLoadAvg, "a", []string{"n2", "n3", "n1"}}, // the least loaded
		{orchestrate.PolicyScore, "a", []string{"n2", "n3", "n1"}},   // the best score
		{orchestrate.PolicyLastStart, "a", []string{"n3", "n2", "n1"}},
		{orchestrate.PolicyShift, "0.a", []string{"n1", "n2", "n3"}},
		{orchestrate.PolicyShift, "1.a", []string{"n2", "n3", "n1"}},
		{orchestrate.PolicyShift, "5.a", []string{"n3", "n1", "n2"}},
		{orchestrate.PolicyShift, "a", []string{"n1", "n2", "n3"}},
	} {
		got := []string{"n1", "n2", "n3"}
		orchestrate.Rank(object.Path{Namespace: "root", Kind: object.KindSvc, Name: tt.name}, tt.policy, got, nodes)
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s of %s: %q, want %q", tt.policy, tt.name, got, tt.want)
		}
	}
}

// Many objects are spread over the nodes, each always on the same one.
func TestSpreadUsesTheObjectAndTheNode(t *testing.T) {
	t.Parallel()
	first := map[string]int{}
	for i := range 3000 {
		p := object.Path{Namespace: "root", Kind: object.KindSvc, Name: fmt.Sprintf("svc%d", i)}
		a, b := []string{"n1", "n2", "n3"}, []string{"n3", "n1", "n2"}
		orchestrate.Rank(p, orchestrate.PolicySpread, a, nil)
		orchestrate.Rank(p, orchestrate.PolicySpread, b, nil)
		if !slices.Equal(a, b) {
			t.Fatalf("%s: %q and %q", p, a, b)
		}
		first[a[0]]++
	}
	for _, node := range []string{"n1", "n2", "n3"} {
		if first[node] < 900 || first[node] > 1100 {
			t.Errorf("%s is first for %d objects of 3000", node, first[node])
		}
	}
}

// Losing a node moves the objects it had, and no other.
func TestSpreadMovesOnlyWhatItMust(t *testing.T) {
	t.Parallel()
	for i := range 500 {
		p := object.Path{Namespace: "root", Kind: object.KindSvc, Name: fmt.Sprintf("svc%d", i)}
		all, left := []string{"n1", "n2", "n3"}, []string{"n1", "n3"}
		orchestrate.Rank(p, orchestrate.PolicySpread, all, nil)
		orchestrate.Rank(p, orchestrate.PolicySpread, left, nil)
		if all[0] != "n2" && all[0] != left[0] {
			t.Errorf("%s moves from %s to %s when n2 is lost", p, all[0], left[0])
		}
	}
}

// Whatever the world, a failover object has one ha leader at most.
func TestOneHALeaderAtMost(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		w := worlds().Draw(rt, "world")
		if w.Config.Topology != cluster.TopologyFailover {
			return
		}
		leaders := 0
		for name := range w.Nodes {
			seen := w
			seen.Self = name
			seen.Local = orchestrate.Local{}
			if orchestrate.Decide(seen).Monitor.IsHALeader {
				leaders++
			}
		}
		if leaders > 1 {
			rt.Fatalf("%d ha leaders", leaders)
		}
	})
}
