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

var (
	nodeNow   = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	nodeStart = nodeNow.Add(-10 * time.Second)
)

// nodeWorld is that of n1 of a cluster of three, which hears the two others.
func nodeWorld(change ...func(*orchestrate.NodeWorld)) orchestrate.NodeWorld {
	idle := cluster.NodeMonitor{State: orchestrate.StateIdle, GlobalExpect: orchestrate.None, LocalExpect: orchestrate.None}
	heard := orchestrate.Peer{Beating: true, Heard: true, Synced: true, Since: nodeStart, Monitor: idle}
	w := orchestrate.NodeWorld{
		Now: nodeNow, Self: "n1", Members: []string{"n1", "n2", "n3"}, Monitor: idle, Ready: true, StartedAt: nodeStart, Quorum: true,
		Peers: map[string]orchestrate.Peer{"n2": heard, "n3": heard},
		Config: cluster.NodeConfig{
			ReadyPeriod: 5 * time.Second, RejoinGracePeriod: 90 * time.Second, MaintenanceGracePeriod: time.Minute,
			SplitAction: orchestrate.SplitCrash, MinAvailMemPct: 2, MinAvailSwapPct: 10,
		},
	}
	for _, f := range change {
		f(&w)
	}
	return w
}

func inState(s string) func(*orchestrate.NodeWorld) {
	return func(w *orchestrate.NodeWorld) { w.Monitor.State = s }
}

func peer(name string, f func(*orchestrate.Peer)) func(*orchestrate.NodeWorld) {
	return func(w *orchestrate.NodeWorld) {
		p := w.Peers[name]
		f(&p)
		w.Peers[name] = p
	}
}

func unheard(p *orchestrate.Peer) { *p = orchestrate.Peer{} }

func lost(p *orchestrate.Peer) { *p = orchestrate.Peer{Heard: true, Since: nodeNow} }

func nodeFrozen(w *orchestrate.NodeWorld) { w.FrozenAt = nodeStart }

func TestANodeDecides(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		world  orchestrate.NodeWorld
		state  string
		action orchestrate.Verb
		why    string // id of the last reason, when there is something to say
	}{
		"waits for its disk": {nodeWorld(inState("init"), func(w *orchestrate.NodeWorld) { w.Ready = false }), "init", "", "no-disk"},
		"goes to work when it is alone in its cluster": {
			nodeWorld(inState("init"), func(w *orchestrate.NodeWorld) { w.Members, w.Peers = []string{"n1"}, nil }), "idle", "", "alone",
		},
		"rejoins when all are heard":                       {nodeWorld(inState("init")), "idle", "", "rejoined"},
		"waits for a peer that was not heard":              {nodeWorld(inState("init"), peer("n3", unheard)), "rejoin", "", "rejoin"},
		"waits for a peer that has not told all":           {nodeWorld(inState("rejoin"), peer("n3", func(p *orchestrate.Peer) { p.Synced = false })), "rejoin", "", "rejoin"},
		"freezes itself when a peer stays away":            {nodeWorld(inState("rejoin"), peer("n3", unheard), late), "rejoin", orchestrate.Freeze, "rejoin-over"},
		"goes to work, nodeFrozen, when a peer stays away": {nodeWorld(inState("rejoin"), peer("n3", unheard), late, nodeFrozen), "idle", "", "rejoin-over"},
		"freezes itself when a peer was frozen while it was away": {
			nodeWorld(inState("rejoin"), leftAt(-time.Hour), peer("n2", func(p *orchestrate.Peer) { p.FrozenAt = nodeNow.Add(-time.Minute) })), "rejoin", orchestrate.Freeze, "merge-freeze",
		},
		"does not freeze itself when a peer was frozen before": {
			nodeWorld(inState("rejoin"), leftAt(-time.Minute), peer("n2", func(p *orchestrate.Peer) { p.FrozenAt = nodeNow.Add(-time.Hour) })), "idle", "", "rejoined",
		},
		"freezes the instances that were frozen while it was away": {
			nodeWorld(inState("rejoin"), leftAt(-time.Hour), func(w *orchestrate.NodeWorld) {
				w.Instances = []orchestrate.PeerFreeze{{Path: object.Path{Name: "a"}, At: nodeNow.Add(-time.Minute)}}
			}), "rejoin", orchestrate.FreezeInstances, "merge-freeze",
		},
		"freezes itself when the kernel says so": {nodeWorld(inState("init"), func(w *orchestrate.NodeWorld) { w.FreezeAtBoot = true }), "init", orchestrate.Freeze, "freeze-at-boot"},
		"joins again after a pause":              {nodeWorld(func(w *orchestrate.NodeWorld) { w.Awake = time.Minute }), "rejoin", "", "resumed"},
		"takes the freeze a peer was asked for": {
			nodeWorld(peer("n2", peerAsked(orchestrate.Frozen))), "idle", "", "adopt",
		},
		"freezes itself with the cluster": {nodeWorld(nodeGoal(orchestrate.Frozen)), "freezing", orchestrate.Freeze, "freeze"},
		"unfreezes itself with the cluster": {
			nodeWorld(nodeGoal(orchestrate.Unfrozen), nodeFrozen), "unfreezing", orchestrate.Unfreeze, "unfreeze",
		},
		"waits for the peers to be frozen": {nodeWorld(nodeGoal(orchestrate.Frozen), nodeFrozen), "idle", "", "peers-not-done"},
		"drains itself when it is asked to": {
			nodeWorld(inState("draining"), func(w *orchestrate.NodeWorld) { w.Monitor.LocalExpect = orchestrate.Drained }), "draining", orchestrate.Drain, "drain",
		},
		"does nothing while it shuts down": {nodeWorld(inState("shutting"), nodeGoal(orchestrate.Frozen)), "shutting", "", "ending"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := orchestrate.DecideNode(c.world)

			if d.Monitor.State != c.state || d.Action.Verb != c.action {
				t.Errorf("%s, %q; want %s, %q: %v", d.Monitor.State, d.Action.Verb, c.state, c.action, d.Because)
			}
			if got := d.Because[len(d.Because)-1].ID; got != c.why {
				t.Errorf("because %v, want %s", d.Because, c.why)
			}
		})
	}
}

func unheardBoth(w *orchestrate.NodeWorld) {
	w.StartedAt, w.HeardBefore = nodeNow, []string{"n2", "n3"}
	peer("n2", unheard)(w)
	peer("n3", unheard)(w)
}

func startedAgo(seconds int) func(*orchestrate.NodeWorld) {
	return func(w *orchestrate.NodeWorld) { w.StartedAt = nodeNow.Add(-time.Duration(seconds) * time.Second) }
}

func late(w *orchestrate.NodeWorld) { w.StartedAt = nodeNow.Add(-2 * time.Minute) }

func leftAt(d time.Duration) func(*orchestrate.NodeWorld) {
	return func(w *orchestrate.NodeWorld) { w.LeftAt = nodeNow.Add(d) }
}

func peerAsked(goal string) func(*orchestrate.Peer) {
	return func(p *orchestrate.Peer) {
		p.Monitor.GlobalExpect, p.Monitor.GlobalExpectUpdatedAt, p.Monitor.OrchestrationID = goal, nodeNow.Add(-time.Second), "id"
	}
}

func nodeGoal(expect string) func(*orchestrate.NodeWorld) {
	return func(w *orchestrate.NodeWorld) {
		w.Monitor.GlobalExpect, w.Monitor.GlobalExpectUpdatedAt, w.Monitor.OrchestrationID = expect, nodeNow.Add(-time.Second), "id"
	}
}

func TestANodeCountsVotes(t *testing.T) {
	t.Parallel()
	arbitrators := func(all ...orchestrate.Arbitrator) func(*orchestrate.NodeWorld) {
		return func(w *orchestrate.NodeWorld) { w.Arbitrators = all }
	}
	plain := orchestrate.Arbitrator{Name: "a", Weight: 1}
	answered := func(votes bool) func(*orchestrate.NodeWorld) {
		return func(w *orchestrate.NodeWorld) {
			w.Memory.Split = orchestrate.Split{Heard: "n1", Poll: 7, AskedAt: nodeNow, Waiting: true}
			w.Ballot = &orchestrate.Ballot{Poll: 7, Answers: map[string]orchestrate.Answer{"a": {Vote: votes}}}
		}
	}
	announced := func(w *orchestrate.NodeWorld) {
		w.Memory.Split.LostAt = nodeNow.Add(-time.Second)
	}
	alone := func(w *orchestrate.NodeWorld) {
		peer("n2", lost)(w)
		peer("n3", lost)(w)
	}
	for name, c := range map[string]struct {
		world  orchestrate.NodeWorld
		quorum bool
		action orchestrate.Verb
		defeat bool
		polls  bool
	}{
		"all are heard":                       {nodeWorld(), true, "", false, false},
		"two of three are heard":              {nodeWorld(peer("n3", lost)), true, "", false, false},
		"one of three, nobody votes":          {nodeWorld(alone), false, "", true, false},
		"one of three, a moment later":        {nodeWorld(alone, func(w *orchestrate.NodeWorld) { w.Memory.Split.Heard = "n1" }, announced), false, orchestrate.Crash, false, false},
		"one of three, it is asked to reboot": {nodeWorld(alone, func(w *orchestrate.NodeWorld) { w.Memory.Split.Heard, w.Config.SplitAction = "n1", "reboot" }, announced), false, orchestrate.Reboot, false, false},
		"one of three, it is asked to go on":  {nodeWorld(alone, func(w *orchestrate.NodeWorld) { w.Config.SplitAction = "disabled" }), false, "", true, false},
		"the quorum is not asked for":         {nodeWorld(alone, func(w *orchestrate.NodeWorld) { w.Quorum = false }), true, "", false, false},
		"a frozen node asks nobody":           {nodeWorld(alone, nodeFrozen, arbitrators(plain)), false, "", false, false},
		"the peers ended on purpose":          {nodeWorld(peer("n2", left), peer("n3", left)), false, "", false, false},
		"a peer that does not hear us counts as lost": {
			nodeWorld(peer("n2", func(p *orchestrate.Peer) { p.Deaf = true }), peer("n3", lost)), false, "", true, false,
		},
		"the peers of a former daemon, soon after its end": {nodeWorld(inState("rejoin"), unheardBoth), false, "", false, false},
		"the peers of a former daemon, later":              {nodeWorld(inState("rejoin"), unheardBoth, startedAgo(11)), false, "", true, false},
		"the peers of a former daemon, who beat now and then": {
			nodeWorld(inState("rejoin"), unheardBoth, startedAgo(11), func(w *orchestrate.NodeWorld) { w.Pace = 10 * time.Second }), false, "", false, false,
		},
		"the peers nobody has ever heard": {nodeWorld(inState("rejoin"), unheardBoth, startedAgo(11), func(w *orchestrate.NodeWorld) { w.HeardBefore = nil }), false, "", false, false},
		"arbitrators are asked":           {nodeWorld(alone, arbitrators(plain)), false, "", false, true},
		"two votes of an arbitrator are enough for one of three": {
			nodeWorld(alone, arbitrators(orchestrate.Arbitrator{Name: "a", Weight: 2}), answered(true)), true, "", false, false,
		},
		"one vote is not":              {nodeWorld(alone, arbitrators(plain), answered(true)), false, "", true, false},
		"an arbitrator does not vote":  {nodeWorld(alone, arbitrators(orchestrate.Arbitrator{Name: "a", Weight: 2}), answered(false)), false, "", true, false},
		"the majority does not wonder": {nodeWorld(peer("n3", lost), arbitrators(orchestrate.Arbitrator{Name: "a", Weight: 2})), true, "", false, false},
		"unless the others could get an exclusive vote": {
			nodeWorld(peer("n3", lost), arbitrators(orchestrate.Arbitrator{Name: "a", Weight: 2, Exclusive: true})), false, "", false, true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := orchestrate.DecideNode(c.world)

			if d.Quorum != c.quorum || d.Action.Verb != c.action || (d.Defeat != nil) != c.defeat || (d.Poll != nil) != c.polls {
				t.Errorf("quorum %t, action %q, defeat %v, poll %v: %v", d.Quorum, d.Action.Verb, d.Defeat, d.Poll, d.Because)
			}
		})
	}
}

func left(p *orchestrate.Peer) {
	p.Beating, p.Left, p.Since = false, true, nodeNow
	p.Monitor.State = orchestrate.StateMaintenance
}

func TestWhatAPeerLeavesRunningIsLeftToItForAWhile(t *testing.T) {
	t.Parallel()
	w := nodeWorld(peer("n2", left))
	if d := orchestrate.DecideNode(w); d.Forget != nil {
		t.Errorf("%v is forgotten at once", d.Forget)
	}
	w.Now = w.Now.Add(time.Minute)
	if d := orchestrate.DecideNode(w); !slices.Equal(d.Forget, []string{"n2"}) {
		t.Errorf("%v is forgotten after the grace period, want n2", d.Forget)
	}
	w = nodeWorld(peer("n2", left), peer("n2", func(p *orchestrate.Peer) { p.Monitor.State = orchestrate.StateShutdown }))
	if d := orchestrate.DecideNode(w); !slices.Equal(d.Forget, []string{"n2"}) {
		t.Errorf("%v is forgotten once its instances are down, want n2", d.Forget)
	}
}

func TestANodeThatLacksMemoryIsOverloaded(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		stats cluster.NodeStats
		want  bool
	}{
		{cluster.NodeStats{MemTotalMB: 100, MemAvailPct: 2, SwapTotalMB: 10, SwapAvailPct: 10}, false},
		{cluster.NodeStats{MemTotalMB: 100, MemAvailPct: 1, SwapTotalMB: 10, SwapAvailPct: 10}, true},
		{cluster.NodeStats{MemTotalMB: 100, MemAvailPct: 2, SwapTotalMB: 10, SwapAvailPct: 9}, true},
		{cluster.NodeStats{MemTotalMB: 100, MemAvailPct: 2}, false},
	} {
		if d := orchestrate.DecideNode(nodeWorld(func(w *orchestrate.NodeWorld) { w.Stats = &c.stats })); d.Overloaded != c.want {
			t.Errorf("%+v: overloaded %t", c.stats, d.Overloaded)
		}
	}
}

// The freeze of a cluster, from the node that is asked to the last one done.
func TestEveryNodeEndsWithTheFreezeOfItsCluster(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		names := []string{"n1", "n2", "n3"}
		nodes := map[string]*orchestrate.NodeWorld{}
		for _, name := range names {
			w := nodeWorld()
			w.Self = name
			nodes[name] = &w
		}
		ended := map[string]string{}
		v, err := orchestrate.AcceptNode(*nodes["n1"], orchestrate.Frozen, "id")
		if err != nil {
			rt.Fatal(err)
		}
		nodes["n1"].Monitor = v
		for range 60 {
			w := nodes[rapid.SampledFrom(names).Draw(rt, "node")]
			w.Now = w.Now.Add(time.Millisecond)
			w.Peers = map[string]orchestrate.Peer{}
			for _, other := range names {
				if other != w.Self {
					w.Peers[other] = orchestrate.Peer{Beating: true, Heard: true, Synced: true, Monitor: nodes[other].Monitor}
				}
			}
			d := orchestrate.DecideNode(*w)
			w.Monitor, w.Memory, w.Job = d.Monitor, d.Memory, d.Job
			if d.Action.Verb == orchestrate.Freeze {
				w.FrozenAt = w.Now
				w.Job.State = orchestrate.JobSucceeded
			}
			if d.Ended != "" {
				ended[w.Self] = d.Ended
			}
		}
		for range 4 { // and all of them once more
			for _, name := range names {
				w := nodes[name]
				w.Now = w.Now.Add(time.Millisecond)
				w.Peers = map[string]orchestrate.Peer{}
				for _, other := range names {
					if other != name {
						w.Peers[other] = orchestrate.Peer{Beating: true, Heard: true, Synced: true, Monitor: nodes[other].Monitor}
					}
				}
				d := orchestrate.DecideNode(*w)
				w.Monitor, w.Memory, w.Job = d.Monitor, d.Memory, d.Job
				if d.Action.Verb == orchestrate.Freeze {
					w.FrozenAt = w.Now
					w.Job.State = orchestrate.JobSucceeded
				}
				if d.Ended != "" {
					ended[name] = d.Ended
				}
			}
		}
		if diff := cmp.Diff(map[string]string{"n1": "succeeded", "n2": "succeeded", "n3": "succeeded"}, ended); diff != "" {
			rt.Fatal(diff)
		}
		for _, name := range names {
			if w := nodes[name]; w.FrozenAt.IsZero() || w.Monitor.GlobalExpect != orchestrate.None || w.Monitor.State != orchestrate.StateIdle {
				rt.Fatalf("%s is left as %+v", name, w.Monitor)
			}
		}
	})
}

func TestANodeRefusesGoals(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		world orchestrate.NodeWorld
		goal  string
	}{
		"a drain while it is drained":       {nodeWorld(inState("draining")), orchestrate.Drained},
		"a drain while it shuts down":       {nodeWorld(inState("shutting")), orchestrate.Drained},
		"a drain before it has rejoined":    {nodeWorld(inState("rejoin")), orchestrate.Drained},
		"a freeze while it is to unfreeze":  {nodeWorld(nodeGoal(orchestrate.Unfrozen)), orchestrate.Frozen},
		"a freeze while it is drained":      {nodeWorld(inState("draining")), orchestrate.Frozen},
		"what is no goal of a node":         {nodeWorld(), orchestrate.Started},
		"a drain while the cluster freezes": {nodeWorld(nodeGoal(orchestrate.Frozen)), orchestrate.Drained},
	} {
		if v, err := orchestrate.AcceptNode(c.world, c.goal, "new"); err == nil {
			t.Errorf("%s is accepted: %+v", name, v)
		}
	}
}

func TestAGoalIsLaterThanThoseOfNodesWhoseClockIsAhead(t *testing.T) {
	t.Parallel()
	ahead := nodeNow.Add(time.Hour)
	v, err := orchestrate.AcceptNode(nodeWorld(peer("n2", func(p *orchestrate.Peer) { p.Monitor.GlobalExpectUpdatedAt = ahead })), orchestrate.Frozen, "id")

	if err != nil || !v.GlobalExpectUpdatedAt.After(ahead) {
		t.Errorf("%s, %v: want after %s", v.GlobalExpectUpdatedAt, err, ahead)
	}
}

func TestALostNodeIsFencedOnceAndOnlyItsEndLetsOthersStart(t *testing.T) {
	t.Parallel()
	web, db := object.Path{Kind: object.KindSvc, Name: "web"}, object.Path{Kind: object.KindSvc, Name: "db"}
	var f orchestrate.Fences
	is := func(p object.Path, bestEffort bool, want orchestrate.FenceState) {
		t.Helper()
		if got := f.Of(p, bestEffort)["n2"]; got != want {
			t.Errorf("%s of %s, want %s", got, p, want)
		}
	}
	f = f.Lost("n2", map[object.Path]bool{web: true}, false, nodeNow)
	is(web, false, orchestrate.FenceDue)
	is(db, false, orchestrate.FenceNone)
	f, begun := f.Begin("n2", nodeNow)
	if _, again := f.Begin("n2", nodeNow); !begun || again {
		t.Error("it begins twice")
	}
	f = f.End("n2", "no answer", nodeNow)
	is(web, false, orchestrate.FenceFailed)
	is(web, true, orchestrate.FenceOverridden)
	f = f.Lost("n2", map[object.Path]bool{db: true}, false, nodeNow)
	is(db, false, orchestrate.FenceNone)
	if _, next := f.Tick(nodeNow); !next.After(nodeNow) {
		t.Errorf("it is due again at %s", next)
	}
	f, _ = f.Tick(nodeNow.Add(time.Minute))
	is(web, false, orchestrate.FenceDue)
	f = f.Confirm("n2", orchestrate.FenceOverridden, "said so", nodeNow)
	is(web, false, orchestrate.FenceOverridden)
	if _, begun := f.Begin("n2", nodeNow); begun {
		t.Error("a node that is off is fenced")
	}
	f = f.Back("n2")
	is(web, false, orchestrate.FenceNone)
}

// Whatever happens, a lost node blocks what it ran until its fence succeeded,
// somebody says it is off, or it is back.
func TestNothingButItsEndUnblocksALostNode(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		if err := blocksUntilOff(rt, orchestrate.Fences.End); err != nil {
			rt.Fatal(err)
		}
	})
	mutant := func(f orchestrate.Fences, node, _ string, now time.Time) orchestrate.Fences {
		return f.End(node, "", now)
	}
	broken := rapid.Custom(func(rt *rapid.T) error { return blocksUntilOff(rt, mutant) })
	for seed := range 1000 {
		if broken.Example(seed) != nil {
			return
		}
	}
	t.Error("the law holds of a fence that fails and is taken for done")
}

func blocksUntilOff(rt *rapid.T, end func(f orchestrate.Fences, node, failure string, now time.Time) orchestrate.Fences) error {
	web := object.Path{Kind: object.KindSvc, Name: "web"}
	f, now, off := orchestrate.Fences{}.Lost("n2", map[object.Path]bool{web: true}, false, nodeNow), nodeNow, false
	for range rapid.IntRange(1, 20).Draw(rt, "steps") {
		now = now.Add(time.Duration(rapid.IntRange(0, 60).Draw(rt, "seconds")) * time.Second)
		running := f["n2"].State == orchestrate.FenceRunning
		switch rapid.IntRange(0, 4).Draw(rt, "step") {
		case 0:
			f, _ = f.Begin("n2", now)
		case 1:
			failure := rapid.SampledFrom([]string{"", "no answer", "no answer"}).Draw(rt, "failure")
			f = end(f, "n2", failure, now)
			off = off || running && failure == ""
		case 2:
			f, _ = f.Tick(now)
		case 3:
			f = f.Lost("n2", nil, false, now)
		case 4:
			f = f.Lost("n3", nil, true, now)
		}
		if blocks := f.Of(web, false)["n2"].Blocks(); blocks == off {
			return fmt.Errorf("blocks %t, off %t: %+v", blocks, off, f["n2"])
		}
	}
	return nil
}

// A frame that was on its way when a node stood still comes later: the node is not
// back, and what it ran may run.
func TestALateBeatDoesNotLiftAFence(t *testing.T) {
	t.Parallel()
	web := object.Path{Kind: object.KindSvc, Name: "web"}
	view := &cluster.View{
		Config: cluster.Config{Nodes: []string{"n1", "n2"}}, Nodes: map[string]*cluster.Node{"n1": {}, "n2": {}},
		Peers: map[string]cluster.Peer{"n2": {Heard: true, Lost: map[object.Path]bool{web: true}}},
	}
	f := orchestrate.FencesOf(nil, view, "n1", nodeNow)
	view.Peers["n2"] = cluster.Peer{Beating: true, Heard: true}
	if f = orchestrate.FencesOf(f, view, "n1", nodeNow); f.Of(web, false)["n2"] != orchestrate.FenceDue {
		t.Errorf("a late beat: %+v", f)
	}
	view.Peers["n2"] = cluster.Peer{Beating: true, Heard: true, Synced: true}
	if f = orchestrate.FencesOf(f, view, "n1", nodeNow); len(f) > 0 {
		t.Errorf("it is back: %+v", f)
	}
}

func TestFencesFollowTheView(t *testing.T) {
	t.Parallel()
	web := object.Path{Kind: object.KindSvc, Name: "web"}
	up := map[object.Path]bool{web: true}
	for name, c := range map[string]struct {
		peer  cluster.Peer
		state string // of its monitor
		want  orchestrate.FenceState
	}{
		"a node that is heard":                     {cluster.Peer{Beating: true, Heard: true, Synced: true}, "idle", orchestrate.FenceNone},
		"a node that is lost with the instance":    {cluster.Peer{Heard: true, Lost: up}, "", orchestrate.FenceDue},
		"a node that is silent, not forgotten yet": {cluster.Peer{Heard: true}, "idle", orchestrate.FenceNone},
		"a node that is lost without it":           {cluster.Peer{Heard: true}, "", orchestrate.FenceNone},
		"a node that was never heard":              {cluster.Peer{}, "", orchestrate.FenceDue},
		"a node in maintenance":                    {cluster.Peer{Heard: true, Left: true}, "maintenance", orchestrate.FenceNone},
		"a node in maintenance for too long":       {cluster.Peer{Heard: true, Left: true, Lost: up}, "", orchestrate.FenceDue},
		"a node that was shut down":                {cluster.Peer{Heard: true, Left: true}, "", orchestrate.FenceNone},
		"a node that is deaf, not forgotten yet":   {cluster.Peer{Beating: true, Heard: true, Deaf: true}, "idle", orchestrate.FenceNone},
	} {
		view := &cluster.View{
			Config: cluster.Config{Nodes: []string{"n1", "n2"}}, Peers: map[string]cluster.Peer{"n2": c.peer},
			Nodes: map[string]*cluster.Node{"n1": {}, "n2": {Monitor: cluster.NodeMonitor{State: c.state}}},
		}
		if got := orchestrate.FencesOf(nil, view, "n1", nodeNow).Of(web, false)["n2"]; got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
