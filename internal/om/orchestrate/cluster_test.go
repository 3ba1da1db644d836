package orchestrate_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/orchestrate"
)

func TestALostNodeIsTakenOverAfterTheReadyPeriod(t *testing.T) {
	t.Parallel()
	c := newCrowd(t, 3, ha).up("n1")
	c.cut["n1"] = true
	c.pass(4 * time.Second)
	c.expect([]string{"n1"})
	c.pass(2 * time.Second)
	c.expect([]string{"n1", "n2"}, "n2 start") // n1 is gone, whatever it runs
}

// Story 6.
func TestAResourceThatFailsForGoodMovesTheObject(t *testing.T) {
	t.Parallel()
	c := newCrowd(t, 2, func(i *cluster.InstanceConfig) {
		ha(i)
		i.MonitorAction = []string{"switch"}
		i.Resources["app#1"] = cluster.ResourceConfig{IsMonitored: true, Restart: 1}
	}).up("n1")
	c.pass(time.Second)
	n1 := c.members["n1"]
	n1.failing[orchestrate.Start] = true
	n1.set(cluster.Down)
	c.deliverAll()
	c.pass(time.Minute)
	c.expect([]string{"n2"}, "n1 start app#1", "n2 start")
	n1.failing[orchestrate.Start] = false
	c.pass(time.Hour)
	c.expect([]string{"n2"})
}

// Story 20.
func TestAStopIsNotUndoneByTheReturnOfANode(t *testing.T) {
	t.Parallel()
	for _, restarted := range []bool{false, true} {
		c := newCrowd(t, 3, ha).up("n2")
		c.pass(time.Second)
		c.cut["n1"] = true
		c.pass(time.Second)
		c.must("n2", orchestrate.Stopped, nil)
		c.expect(nil, "n3 hold", "n2 hold", "n2 stop")
		c.cut["n1"] = false
		if restarted { // its daemon knows nothing any more
			n1 := c.members["n1"]
			n1.monitor = cluster.InstanceMonitor{State: orchestrate.StateInit}
			n1.local = orchestrate.Local{}
		}
		c.deliverAll()
		c.pass(time.Hour)
		c.expect(nil, "n1 hold")
	}
}

func TestAStartLiftsTheFlagOfANodeThatWasAway(t *testing.T) {
	t.Parallel()
	c := newCrowd(t, 3, ha)
	c.must("n1", orchestrate.Stopped, nil)
	c.cut["n3"] = true
	c.pass(time.Second)
	c.must("n1", orchestrate.Started, nil)
	c.deeds = nil
	c.cut["n3"] = false
	c.deliverAll()
	c.pass(time.Hour)
	c.expect([]string{"n1"}, "n3 release")
}

func TestWhatKeepsFromATakeover(t *testing.T) {
	t.Parallel()
	lost := func(w *orchestrate.World, edit func(*orchestrate.Node)) {
		n := w.Nodes["n1"]
		n.State, n.Stale = "", true
		edit(&n)
		w.Nodes["n1"] = n
	}
	gone := func(w *orchestrate.World) {
		lost(w, func(n *orchestrate.Node) { n.Status, n.Monitor = nil, nil })
	}
	fence := func(s orchestrate.FenceState) func(*orchestrate.World) {
		return func(w *orchestrate.World) {
			gone(w)
			w.Fence = map[string]orchestrate.FenceState{"n1": s}
		}
	}
	for _, tt := range []struct {
		what string
		edit func(*orchestrate.World)
		want string
	}{
		{"nothing", gone, "n2 start"},
		{"no quorum", func(w *orchestrate.World) { gone(w); w.Quorum = false }, ""},
		{"the rejoin", func(w *orchestrate.World) { gone(w); w.Rejoin = true }, ""},
		{"a node that another one hears", func(w *orchestrate.World) {
			lost(w, func(n *orchestrate.Node) { n.Status, n.Monitor, n.HeardBy = nil, nil, []string{"n3"} })
		}, ""},
		{"an instance preserved while its daemon is away", func(w *orchestrate.World) {
			lost(w, func(n *orchestrate.Node) {
				n.Preserved, n.Status = true, &cluster.InstanceStatus{Avail: cluster.Up}
			})
		}, ""},
		{"a node with too much load", func(w *orchestrate.World) {
			gone(w)
			n := w.Nodes[w.Self]
			n.Overloaded = true
			w.Nodes[w.Self] = n
		}, ""},
		{"a peer that may not know", func(w *orchestrate.World) {
			gone(w)
			n := w.Nodes["n3"]
			n.Unacked = true
			w.Nodes["n3"] = n
		}, ""},
		{"a fence that runs", fence(orchestrate.FenceRunning), ""},
		{"a fence that failed", fence(orchestrate.FenceFailed), ""},
		{"a fence that failed, best effort", func(w *orchestrate.World) {
			fence(orchestrate.FenceFailed)(w)
			w.Config.StonithBestEffort = true
		}, "n2 start"},
		{"a fence that is due", fence(orchestrate.FenceDue), "n2 fence n1"},
		{"a fence that is done", fence(orchestrate.FenceDone), "n2 start"},
		{"a fence that was overridden", fence(orchestrate.FenceOverridden), "n2 start"},
	} {
		c := newCrowd(t, 3, ha)
		c.names = []string{"n2", "n3"} // n1 does nothing any more
		c.config.Scope = []string{"n1", "n2", "n3"}
		c.edit = func(w *orchestrate.World) {
			w.Nodes["n1"] = orchestrate.Node{}
			tt.edit(w)
		}
		for range 20 {
			c.settle()
			c.now = c.now.Add(time.Second)
			if len(c.deeds) > 0 {
				break
			}
		}
		got := ""
		if len(c.deeds) > 0 {
			got = c.deeds[0]
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q; %v", tt.what, got, tt.want, c.reasons())
		}
	}
}

// Story 19.
func TestATakeoverFollowsAFenceThatSucceedsAtLast(t *testing.T) {
	t.Parallel()
	c := newCrowd(t, 2, ha)
	c.names, c.config.Scope = []string{"n2"}, []string{"n1", "n2"}
	state := orchestrate.FenceDue
	c.edit = func(w *orchestrate.World) {
		w.Nodes["n1"] = orchestrate.Node{Heard: true, Stale: true}
		w.Fence = map[string]orchestrate.FenceState{"n1": state}
	}
	n2 := c.members["n2"]
	n2.failing[orchestrate.Fence] = true
	c.pass(16 * time.Second)
	c.expect(nil, "n2 fence n1", "n2 fence n1")
	n2.failing[orchestrate.Fence] = false
	c.pass(10 * time.Second)
	state = orchestrate.FenceDone
	c.pass(10 * time.Second)
	c.expect([]string{"n2"}, "n2 fence n1", "n2 start")
}

func TestFlexKeepsAsManyInstancesAsWanted(t *testing.T) {
	t.Parallel()
	c := newCrowd(t, 4, flex(2))
	c.pass(time.Minute)
	c.expect([]string{"n1", "n2"}, "n1 start", "n2 start")

	c.cut["n1"] = true // one is lost
	c.pass(time.Minute)
	c.expect([]string{"n1", "n2", "n3"}, "n3 start")

	c.cut["n1"] = false // and comes back, with its instance: one is too many
	c.deliverAll()
	c.pass(time.Minute)
	c.expect([]string{"n1", "n2"}, "n3 stop")

	c = newCrowd(t, 4, flex(1)).up("n2", "n3", "n4")
	c.pass(time.Minute)
	if got := c.where(); len(got) != 1 {
		t.Errorf("%q, want one; %v", got, c.deeds)
	}
}

func TestPlacementPoliciesChooseTheNode(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		policy string
		edit   func(*orchestrate.World)
		want   string
	}{
		{orchestrate.PolicyNodesOrder, nil, "n1"},
		{orchestrate.PolicyNone, nil, "n1"},
		{orchestrate.PolicyLoadAvg, func(w *orchestrate.World) { onNode(w, "n3", func(n *orchestrate.Node) { n.Load15M = 0.1 }) }, "n3"},
		{orchestrate.PolicyScore, func(w *orchestrate.World) { onNode(w, "n2", func(n *orchestrate.Node) { n.Score = 90 }) }, "n2"},
		{orchestrate.PolicyLastStart, func(w *orchestrate.World) {
			onNode(w, "n2", func(n *orchestrate.Node) {
				s := *n.Status
				s.LastStartedAt = time.Unix(1, 0)
				n.Status = &s
			})
		}, "n2"},
		{orchestrate.PolicyShift, func(w *orchestrate.World) { w.Path.Name = "2.web" }, "n3"},
		{orchestrate.PolicySpread, func(w *orchestrate.World) { w.Path.Name = "svc7" }, spreadTo("svc7")},
	} {
		c := newCrowd(t, 3, func(i *cluster.InstanceConfig) { ha(i); i.PlacementPolicy = tt.policy })
		c.edit = func(w *orchestrate.World) {
			for _, name := range []string{"n1", "n2", "n3"} {
				onNode(w, name, func(n *orchestrate.Node) { n.Load15M, n.Score = 1, 10 })
			}
			if tt.edit != nil {
				tt.edit(w)
			}
		}
		c.pass(time.Minute)
		c.expect([]string{tt.want}, tt.want+" start")
	}
}

func spreadTo(name string) string {
	names := []string{"n1", "n2", "n3"}
	orchestrate.Rank(object.Path{Namespace: "root", Kind: object.KindSvc, Name: name}, orchestrate.PolicySpread, names, nil)
	return names[0]
}

func onNode(w *orchestrate.World, name string, edit func(*orchestrate.Node)) {
	n := w.Nodes[name]
	edit(&n)
	w.Nodes[name] = n
}

// Story 8.
func TestCompanyDecidesAboutTheNode(t *testing.T) {
	t.Parallel()
	db := func(hard, anti bool, up ...string) []orchestrate.Affinity {
		a := orchestrate.Affinity{Object: "db", Hard: hard, Anti: anti, Up: map[string]bool{}}
		for _, name := range up {
			a.Up[name] = true
		}
		return []orchestrate.Affinity{a}
	}
	for _, tt := range []struct {
		what string
		with []orchestrate.Affinity
		want []string
	}{
		{"with it", db(true, false, "n2"), []string{"n2"}},
		{"with it, and it runs nowhere", db(true, false), nil},
		{"not with it", db(true, true, "n1"), []string{"n2"}},
		{"not with it, and it runs everywhere", db(true, true, "n1", "n2", "n3"), nil},
		{"rather with it", db(false, false, "n3"), []string{"n3"}},
		{"rather with it, and it runs nowhere", db(false, false), []string{"n1"}},
		{"rather not with it", db(false, true, "n1"), []string{"n2"}},
		{"rather not with it, and it runs everywhere", db(false, true, "n1", "n2", "n3"), []string{"n1"}},
	} {
		for _, byHand := range []bool{false, true} {
			c := newCrowd(t, 3, ha)
			c.edit = func(w *orchestrate.World) { w.Affinities = tt.with }
			if byHand {
				c.config.Orchestrate = cluster.OrchestrateNo
				err := c.ask("n1", orchestrate.Started, nil)
				if (err == nil) != (len(tt.want) > 0) {
					t.Errorf("%s: %v", tt.what, err)
				}
			}
			c.pass(time.Minute)
			if got := c.where(); !slices.Equal(got, tt.want) {
				t.Errorf("%s, by hand %t: it runs on %q, want %q", tt.what, byHand, got, tt.want)
			}
		}
	}
	c := newCrowd(t, 2, byHand)
	c.edit = func(w *orchestrate.World) { w.Affinities = db(true, true, "n1", "n2") }
	want := "web: started refused: not on n1: db runs there (hard_anti_affinity); not on n2: db runs there (hard_anti_affinity): --force overrides"
	if err := c.ask("n1", orchestrate.Started, nil); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	c.must("n1", orchestrate.Started, map[string]any{"force": true})
	c.expect([]string{"n1"}, "n1 start")
}

// Story 9, and what a world is made of.
func TestAWorldTellsOfRelatedObjects(t *testing.T) {
	t.Parallel()
	web := object.Path{Namespace: "ns1", Kind: object.KindSvc, Name: "web"}
	db, lb := web, web
	db.Name, lb.Name = "db", "lb"
	up, down := &cluster.InstanceStatus{Avail: cluster.Up}, &cluster.InstanceStatus{Avail: cluster.Down}
	config := &cluster.InstanceConfig{
		Scope: []string{"n1", "n2", "n3"}, Parents: []string{"ns1/svc/db@n2", "ns1/svc/lb"}, Children: []string{"ns1/svc/db"},
		HardAffinity: []string{"ns1/svc/db"}, SoftAntiAffinity: []string{"ns1/svc/lb"},
	}
	node := func(state string, hears ...string) *cluster.Node {
		return &cluster.Node{Monitor: cluster.NodeMonitor{State: state}, Status: cluster.NodeStatus{Hears: hears}}
	}
	view := &cluster.View{
		Nodes: map[string]*cluster.Node{"n1": node("idle", "n2"), "n2": node("idle", "n1", "n3"), "n3": node("")},
		Peers: map[string]cluster.Peer{"n2": {Beating: true, Heard: true}, "n3": {Heard: true, Left: true}},
		Objects: map[object.Path]*cluster.Object{
			web: {Instances: map[string]cluster.Instance{"n1": {Config: config}}},
			db:  {Avail: cluster.Up, Instances: map[string]cluster.Instance{"n1": {Status: up}, "n2": {Status: down}}},
			lb: {
				Avail: cluster.Warn, Topology: cluster.TopologyFlex, Flex: &cluster.Flex{Min: 2, Target: 3}, UpInstancesCount: 1,
				Instances: map[string]cluster.Instance{"n2": {Status: up}},
			},
		},
	}

	w := orchestrate.Observe(view, "n1", web, orchestrate.Facts{Unacked: func(string) bool { return true }})
	view.Objects[lb].UpInstancesCount = 2
	enough := orchestrate.Observe(view, "n1", web, orchestrate.Facts{})

	want := map[string]cluster.Status{"ns1/svc/db@n2": cluster.Down, "ns1/svc/lb": cluster.Warn}
	if diff := cmp.Diff(want, w.Parents); diff != "" {
		t.Error(diff)
	}
	if enough.Parents["ns1/svc/lb"] != cluster.Up {
		t.Errorf("a flex parent with flex_min instances is %s", enough.Parents["ns1/svc/lb"])
	}
	if diff := cmp.Diff([]orchestrate.Affinity{
		{Object: "ns1/svc/db", Hard: true, Up: map[string]bool{"n1": true}},
		{Object: "ns1/svc/lb", Anti: true, Up: map[string]bool{"n2": true}},
	}, w.Affinities); diff != "" {
		t.Error(diff)
	}
	n3 := w.Nodes["n3"]
	if !w.Nodes["n2"].Unacked || n3.Unacked || !n3.Stale || !n3.Preserved || !slices.Equal(n3.HeardBy, []string{"n2"}) {
		t.Errorf("%+v", w.Nodes)
	}
}

// race runs an ha object whose nodes do not agree about who is to run it, with a
// network that delivers when it likes; it returns what was started where.
func race(t *testing.T, rt *rapid.T, mutant func(*orchestrate.World)) (violated bool) {
	t.Helper()
	c := newCrowd(t, 3, ha)
	c.slow = true
	favourite := map[string]string{}
	for _, name := range c.names {
		favourite[name] = rapid.SampledFrom(c.names).Draw(rt, "favourite of "+name)
	}
	c.edit = func(w *orchestrate.World) {
		w.Config.PlacementPolicy = orchestrate.PolicyScore
		onNode(w, favourite[w.Self], func(n *orchestrate.Node) { n.Score = 99 })
		if mutant != nil {
			mutant(w)
		}
	}
	for range 60 {
		switch rapid.IntRange(0, 5).Draw(rt, "step") {
		case 0:
			c.now = c.now.Add(rapid.SampledFrom([]time.Duration{100 * time.Millisecond, time.Second, 6 * time.Second}).Draw(rt, "time"))
		case 1:
			favourite[rapid.SampledFrom(c.names).Draw(rt, "node")] = rapid.SampledFrom(c.names).Draw(rt, "favourite")
		case 2, 3:
			c.deliver(rapid.SampledFrom(c.names).Draw(rt, "from"), rapid.SampledFrom(c.names).Draw(rt, "to"))
		default:
			c.decide(c.members[rapid.SampledFrom(c.names).Draw(rt, "node")])
		}
		active := 0
		for _, m := range c.members {
			if m.status.Avail == cluster.Up || m.monitor.State == orchestrate.StateStarting {
				active++
			}
		}
		if active > 1 {
			return true
		}
	}
	return false
}

// However late the messages, and whatever each node thinks of the order of nodes.
func TestNodesThatHearEachOtherNeverStartTwice(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		if race(t, rt, nil) {
			rt.Fatal("two instances")
		}
	})
}

func TestTheLawOfOneStartCatchesMutants(t *testing.T) {
	t.Parallel()
	for name, mutant := range map[string]func(*orchestrate.World){
		"nobody waits for the others to know": func(w *orchestrate.World) {
			for name := range w.Nodes {
				onNode(w, name, func(n *orchestrate.Node) { n.Unacked = false })
			}
		},
		"nobody yields": func(w *orchestrate.World) {
			for name := range w.Nodes {
				onNode(w, name, func(n *orchestrate.Node) {
					if name != w.Self && n.Monitor != nil && n.Monitor.State == orchestrate.StateReady {
						m := *n.Monitor
						m.State = orchestrate.StateIdle
						n.Monitor = &m
					}
				})
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			caught := rapid.Custom(func(rt *rapid.T) bool { return race(t, rt, mutant) })
			for seed := range 20000 {
				if caught.Example(seed) {
					return
				}
			}
			t.Error("the mutant was not caught")
		})
	}
}

// askAnything gives goals to nodes, aborts them and lets actions fail, at any moment, with a
// network that delivers when it likes; it returns what went wrong.
func askAnything(t *testing.T, rt *rapid.T, mutant func(*orchestrate.World)) (violated string) {
	t.Helper()
	c := newCrowd(t, 3, func(i *cluster.InstanceConfig) {
		i.Orchestrate = rapid.SampledFrom([]string{"ha", "no"}).Draw(rt, "orchestrate")
	})
	c.slow, c.edit = true, mutant
	if rapid.Bool().Draw(rt, "up") {
		c.up(rapid.SampledFrom(c.names).Draw(rt, "where"))
	}
	node := func() *member { return c.members[rapid.SampledFrom(c.names).Draw(rt, "node")] }
	twice := func() bool {
		active := 0
		for _, m := range c.members {
			if m.status.Avail == cluster.Up || m.monitor.State == orchestrate.StateStarting {
				active++
			}
		}
		return active > 1
	}
	for range 80 {
		switch rapid.IntRange(0, 9).Draw(rt, "step") {
		case 0:
			c.now = c.now.Add(rapid.SampledFrom([]time.Duration{100 * time.Millisecond, time.Second, 6 * time.Second}).Draw(rt, "time"))
		case 1:
			goal := rapid.SampledFrom([]string{
				orchestrate.Started, orchestrate.Stopped, orchestrate.Restarted, orchestrate.PlacedAt, orchestrate.Placed, orchestrate.Frozen, orchestrate.Unfrozen,
			}).Draw(rt, "goal")
			options := map[string]any{}
			if goal == orchestrate.PlacedAt {
				options = to(rapid.SampledFrom(c.names).Draw(rt, "destination"))
			}
			_ = c.ask(node().name, goal, options) // a refusal is an answer
		case 2:
			m := node()
			switch rapid.IntRange(0, 2).Draw(rt, "event") {
			case 0:
				m.monitor = orchestrate.Abort(m.monitor, c.now)
			case 1:
				m.failing[orchestrate.Start] = !m.failing[orchestrate.Start]
			default:
				m.failing[orchestrate.Stop] = !m.failing[orchestrate.Stop]
			}
			m.version++
		case 3, 4, 5:
			c.deliver(node().name, node().name)
		default:
			c.decide(node())
		}
		if twice() {
			return fmt.Sprintf("two instances: %v", c.deeds)
		}
	}
	c.slow = false
	c.deliverAll()
	c.pass(10 * time.Minute)
	if twice() {
		return fmt.Sprintf("two instances: %v", c.deeds)
	}
	for _, name := range c.names {
		if m := c.members[name].monitor; m.GlobalExpect != orchestrate.None || m.OrchestrationID != "" || orchestrate.IsWaiting(m.State) {
			return fmt.Sprintf("%s still pursues %s; %v", name, m.GlobalExpect, c.reasons())
		}
	}
	return ""
}

// Whatever is asked of whom, and however late the messages: one instance at most, and
// in the end every orchestration has ended, on every node.
func TestWhateverIsAskedEndsAndRunsOnce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		if violated := askAnything(t, rt, nil); violated != "" {
			rt.Fatal(violated)
		}
	})
}

func TestTheLawOfGoalsCatchesAMutantThatDoesNotWaitForTheOthers(t *testing.T) {
	t.Parallel()
	mutant := func(w *orchestrate.World) {
		mine := w.Nodes[w.Self].Monitor
		for name := range w.Nodes {
			onNode(w, name, func(n *orchestrate.Node) {
				if name != w.Self && n.Monitor != nil && mine.OrchestrationID != "" {
					m := *n.Monitor
					m.OrchestrationID, m.GlobalExpect, m.OrchestrationIsDone = mine.OrchestrationID, mine.GlobalExpect, true
					n.Monitor = &m
				}
			})
		}
	}
	caught := rapid.Custom(func(rt *rapid.T) bool { return askAnything(t, rt, mutant) != "" })
	for seed := range 5000 {
		if caught.Example(seed) {
			return
		}
	}
	t.Error("the mutant was not caught")
}
