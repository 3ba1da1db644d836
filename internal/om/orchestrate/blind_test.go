package orchestrate_test

import (
	"testing"

	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/orchestrate"
)

// No status tells the other node that the object was started: the leader does.
func TestWhereNothingTellsWhatRunsOneNodeStartsAndTheOtherWaitsForIt(t *testing.T) {
	t.Parallel()
	world := func(node string, leaderDone bool) orchestrate.World {
		w := two("no")
		w.Self = node
		accepted, err := orchestrate.Accept(w, orchestrate.Started, nil, "o1")
		if err != nil {
			t.Fatal(err)
		}
		for name, n := range w.Nodes {
			m := accepted
			n.Status.Avail = cluster.NotApplicable
			n.Status.Resources = map[string]cluster.ResourceStatus{"app#1": {Status: cluster.NotApplicable}}
			m.OrchestrationIsDone = name == "n1" && leaderDone
			n.Monitor = &m
			w.Nodes[name] = n
		}
		return w
	}

	waits := orchestrate.Decide(world("n2", false))
	follows := orchestrate.Decide(world("n2", true))
	w := world("n1", false)
	w.Now = w.Now.Add(w.ReadyPeriod)
	w.Nodes["n1"].Monitor.State = orchestrate.StateReady
	starts := orchestrate.Decide(w)

	if waits.Action.Verb != "" || waits.Monitor.OrchestrationIsDone || waits.Ended != "" {
		t.Errorf("the other node: %s, ended %q, %v", waits.Action, waits.Ended, waits.Because)
	}
	if follows.Action.Verb != "" || follows.Ended != orchestrate.Succeeded {
		t.Errorf("the other node, then: %s, ended %q, %v", follows.Action, follows.Ended, follows.Because)
	}
	if starts.Action.Verb != orchestrate.Start {
		t.Errorf("the leader: %s, %v", starts.Action, starts.Because)
	}
}
