package orchestrate_test

import (
	"testing"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/orchestrate"
)

// two is a world of two nodes, the object down and idle on both.
func two(orchestration string) orchestrate.World {
	node := func() orchestrate.Node {
		return orchestrate.Node{
			State:   orchestrate.StateIdle,
			Status:  &cluster.InstanceStatus{Avail: cluster.Down, Provisioned: cluster.ProvisionedTrue},
			Monitor: &cluster.InstanceMonitor{State: orchestrate.StateIdle, GlobalExpect: orchestrate.None, LocalExpect: orchestrate.None},
		}
	}
	return orchestrate.World{
		Now: time.Unix(1000, 0), Self: "n1", Path: object.Path{Namespace: "root", Kind: object.KindSvc, Name: "a"},
		ReadyPeriod: 5 * time.Second, Quorum: true,
		Config: cluster.InstanceConfig{Orchestrate: orchestration, Topology: cluster.TopologyFailover, Scope: []string{"n1", "n2"}},
		Nodes:  map[string]orchestrate.Node{"n1": node(), "n2": node()},
	}
}

func TestWhatThePeersDoKeepsFromStarting(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		what   string
		change func(*orchestrate.Node) // of the peer
		reason string
	}{
		{"idle", func(*orchestrate.Node) {}, "ready"},
		{"starting", func(n *orchestrate.Node) { n.Monitor.State = orchestrate.StateStarting }, "peer-acting"},
		{"ready", func(n *orchestrate.Node) { n.Monitor.State = orchestrate.StateReady }, "peer-ready"},
		{"up", func(n *orchestrate.Node) { n.Status.Avail = cluster.Up }, "object-up"},
		{"beating, and has told nothing yet", func(n *orchestrate.Node) { n.State, n.Status, n.Monitor, n.Untold = "", nil, nil, true }, "peer-unknown"},
		{"silent", func(n *orchestrate.Node) { n.Status, n.Monitor = nil, nil }, "peer-unknown"},
		{"dead", func(n *orchestrate.Node) { *n = orchestrate.Node{} }, "ready"},
	} {
		w := two("ha")
		peer := w.Nodes["n2"]
		tt.change(&peer)
		w.Nodes["n2"] = peer

		d := orchestrate.Decide(w)

		if len(d.Because) == 0 || d.Action.Verb != "" {
			t.Errorf("peer %s: %v, action %q", tt.what, d.Because, d.Action)
			continue
		}
		found := false
		for _, r := range d.Because {
			found = found || r.ID == tt.reason
		}
		if !found {
			t.Errorf("peer %s: reasons %v, want %s", tt.what, d.Because, tt.reason)
		}
	}
}

func TestAStartAskedByHandWaitsOnlyWhenAnotherNodeCouldRace(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		peer  string // what its monitor is
		state string
		verb  orchestrate.Verb
	}{
		{orchestrate.StateIdle, orchestrate.StateStarting, orchestrate.Start},
		{"", orchestrate.StateReady, ""}, // it is not heard: who knows
	} {
		w := two("ha")
		m, err := orchestrate.Accept(w, orchestrate.Started, nil, "o1")
		if err != nil {
			t.Fatal(err)
		}
		for name, n := range w.Nodes {
			taken := m
			n.Monitor = &taken
			if name == "n2" {
				n.State = tt.peer
			}
			w.Nodes[name] = n
		}

		d := orchestrate.Decide(w)

		if d.Monitor.State != tt.state || d.Action.Verb != tt.verb {
			t.Errorf("peer %q: %s, action %q, %v", tt.peer, d.Monitor.State, d.Action, d.Because)
		}
		if tt.verb == "" && !d.WakeAt.Equal(w.Now.Add(5*time.Second)) {
			t.Errorf("wakes at %s", d.WakeAt)
		}
	}
}

func TestTheLaterGoalOfAPeerIsAdopted(t *testing.T) {
	t.Parallel()
	w := two("no")
	peer := w.Nodes["n2"]
	peer.Monitor.GlobalExpect, peer.Monitor.OrchestrationID = orchestrate.Stopped, "o7"
	peer.Monitor.GlobalExpectUpdatedAt = w.Now.Add(-time.Second)

	d := orchestrate.Decide(w)

	if d.Monitor.GlobalExpect != orchestrate.Stopped || d.Monitor.OrchestrationID != "o7" || d.Action.Verb != orchestrate.Hold {
		t.Errorf("%+v, action %q", d.Monitor, d.Action)
	}
}

func TestAnOrchestrationEndsWhenEveryNodeHasDoneItsPart(t *testing.T) {
	t.Parallel()
	w := two("no")
	for _, name := range []string{"n1", "n2"} {
		m := w.Nodes[name].Monitor
		m.GlobalExpect, m.OrchestrationID, m.GlobalExpectUpdatedAt = orchestrate.Stopped, "o1", w.Now.Add(-time.Second)
		w.Nodes[name].Status.StoppedAt = w.Now
	}

	alone := orchestrate.Decide(w)
	w.Nodes["n2"].Monitor.OrchestrationIsDone = true
	together := orchestrate.Decide(w)

	if alone.Ended != "" || !alone.Monitor.OrchestrationIsDone {
		t.Errorf("before the peer: ended %q, %+v", alone.Ended, alone.Monitor)
	}
	if together.Ended != orchestrate.Succeeded || together.Monitor.GlobalExpect != orchestrate.None {
		t.Errorf("after the peer: ended %q, %+v", together.Ended, together.Monitor)
	}
}

func TestOnlyTheLeaderProvisionsFirst(t *testing.T) {
	t.Parallel()
	for self, want := range map[string]orchestrate.Action{
		"n1": {Verb: orchestrate.Provision, Leader: true},
		"n2": {},
	} {
		w := two("no")
		w.Self = self
		for _, n := range w.Nodes {
			n.Status.Provisioned = cluster.ProvisionedFalse
			n.Monitor.GlobalExpect, n.Monitor.OrchestrationID, n.Monitor.GlobalExpectUpdatedAt = orchestrate.Provisioned, "o1", w.Now
		}
		d := orchestrate.Decide(w)
		if d.Action.Verb != want.Verb || d.Action.Leader != want.Leader || self == "n2" && d.Monitor.State != orchestrate.StateWaitLeader {
			t.Errorf("%s: action %q, state %s", self, d.Action, d.Monitor.State)
		}
	}
}

func TestAFrozenNodeIsPassedOverWhenAnotherCanStart(t *testing.T) {
	t.Parallel()
	w := two("no")
	for name, n := range w.Nodes {
		n.Frozen = name == "n1"
		w.Nodes[name] = n
	}
	if orchestrate.Decide(w).Monitor.IsLeader {
		t.Error("the frozen node leads")
	}
	w.Self = "n2"
	if !orchestrate.Decide(w).Monitor.IsLeader {
		t.Error("the other node does not lead")
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		what   string
		goal   string
		change func(*orchestrate.World)
		want   string // empty: accepted
	}{
		{"an unknown goal", "shiny", func(*orchestrate.World) {}, "a: shiny refused: unknown goal: use one of started, stopped, restarted, frozen, unfrozen, provisioned, unprovisioned, purged, deleted, placed@, placed, aborted"},
		{"a configuration with issues", "started", func(w *orchestrate.World) { w.Config.Issues = []string{"line 3: no section"} }, "a: started refused: its configuration cannot be evaluated: line 3: no section"},
		{"deleting it", "deleted", func(w *orchestrate.World) { w.Config.Issues = []string{"line 3: no section"} }, ""},
		{"a disabled instance", "started", func(w *orchestrate.World) { w.Config.Disabled = true }, "a: started refused: the instance is disabled: `om a config update --unset disable`"},
		{"freezing it", "frozen", func(w *orchestrate.World) { w.Config.Disabled = true }, ""},
		{"a map", "started", func(w *orchestrate.World) { w.Path.Kind = object.KindCfg }, "cfg/a: started refused: objects of kind cfg run nothing"},
		{"purging it", "purged", func(w *orchestrate.World) { w.Path.Kind = object.KindCfg }, ""},
		{"a stop of what is down", "stopped", func(*orchestrate.World) {}, ""},
	} {
		w := two("no")
		tt.change(&w)
		_, err := orchestrate.Accept(w, tt.goal, nil, "o1")
		switch {
		case err == nil && tt.want == "":
		case err == nil || err.Error() != tt.want:
			t.Errorf("%s: %v, want %q", tt.what, err, tt.want)
		}
	}
}
