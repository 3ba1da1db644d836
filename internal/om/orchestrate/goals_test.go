package orchestrate_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/orchestrate"
)

func to(nodes ...string) map[string]any { return map[string]any{"destination": nodes} }

func TestAStartRunsOneInstanceWithoutTheReadyPeriod(t *testing.T) {
	t.Parallel()
	c := newCrowd(t, 3, byHand)
	if err := c.ask("n3", orchestrate.Started, nil); err != nil {
		t.Fatal(err)
	}
	c.pass(2 * time.Second)
	c.expect([]string{"n1"}, "n1 start")
	c.ends("started succeeded")
}

func TestAStopFlagsEveryInstanceAndAStartLiftsTheFlags(t *testing.T) {
	t.Parallel()
	c := newCrowd(t, 3, ha).up("n2")
	c.must("n1", orchestrate.Stopped, nil)
	c.expect(nil, "n3 hold", "n1 hold", "n2 hold", "n2 stop")
	c.ends("stopped succeeded")
	c.pass(time.Hour)
	c.expect(nil)

	c.must("n2", orchestrate.Started, nil)
	c.expect([]string{"n1"}, "n3 release", "n1 release", "n2 release", "n1 start")
	c.ends("started succeeded")
}

// Story 5.
func TestAStartThatFailsIsTriedOnEachCandidateInTurn(t *testing.T) {
	t.Parallel()
	for name, orchestration := range map[string]func(*cluster.InstanceConfig){"by hand": byHand, "ha": ha} {
		c := newCrowd(t, 3, orchestration)
		for _, m := range c.members {
			m.failing[orchestrate.Start] = true
		}
		if name == "by hand" {
			c.must("n2", orchestrate.Started, nil)
			c.ends("started failed n1: start failed: exit status 1; n2: start failed: exit status 1; n3: start failed: exit status 1")
		}
		c.pass(time.Hour)
		c.expect(nil, "n1 start", "n2 start", "n3 start")
		want := map[string]string{"n1": "start failed", "n2": "start failed", "n3": "start failed"}
		if diff := cmp.Diff(want, c.states()); diff != "" {
			t.Error(diff)
		}
		if name != "ha" {
			continue
		}
		for _, m := range c.members { // it is tried again in the order of the placement
			m.failing[orchestrate.Start] = false
			m.monitor, m.local.Memory, _ = orchestrate.Clear(m.monitor, m.local.Memory, c.now)
		}
		c.deliverAll()
		c.pass(time.Minute)
		c.expect([]string{"n1"}, "n1 start")
	}
}

func TestAStartThatFailedOnTheFirstNodeSucceedsOnTheNext(t *testing.T) {
	t.Parallel()
	c := newCrowd(t, 3, byHand)
	c.members["n1"].failing[orchestrate.Start] = true
	c.must("n1", orchestrate.Started, nil)
	c.expect([]string{"n2"}, "n1 start", "n2 start")
	c.ends("started succeeded")
	if got := c.members["n1"].monitor.State; got != orchestrate.StateIdle {
		t.Errorf("the failure stands while the object is up: %s", got)
	}
}

func TestAMoveStopsThenStarts(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		what    string
		goal    string
		options map[string]any
		where   string
	}{
		{"a switch", orchestrate.PlacedAt, to("n3"), "n3"},
		{"a switch to several", orchestrate.PlacedAt, to("n9", "n2", "n3"), "n2"},
		{"a switch to the next", orchestrate.PlacedAt, nil, "n2"},
		{"a giveback", orchestrate.Placed, nil, "n2"},
	} {
		c := newCrowd(t, 3, ha).up("n1")
		if tt.goal == orchestrate.Placed {
			c.config.Scope = []string{"n2", "n1", "n3"}
		}
		c.must("n3", tt.goal, tt.options)
		c.expect([]string{tt.where}, "n1 stop", tt.where+" start")
		c.ends(tt.goal + " succeeded")
		c.pass(time.Hour)
		c.expect([]string{tt.where})
	}
}

// Story 21.
func TestAMoveByNameGoesToAFrozenNodeAGivebackDoesNot(t *testing.T) {
	t.Parallel()
	c := newCrowd(t, 3, ha).up("n2")
	c.members["n1"].frozen = true
	c.must("n2", orchestrate.PlacedAt, to("n1"))
	c.expect([]string{"n1"}, "n2 stop", "n1 start")

	c = newCrowd(t, 3, ha).up("n3")
	c.members["n1"].frozen = true
	c.must("n3", orchestrate.Placed, nil)
	c.expect([]string{"n2"}, "n3 stop", "n2 start")
}

// Story 4.
func TestAStopThatFailsKeepsFromTheStart(t *testing.T) {
	t.Parallel()
	c := newCrowd(t, 2, ha).up("n1")
	c.members["n1"].failing[orchestrate.Stop] = true
	c.must("n2", orchestrate.PlacedAt, to("n2"))
	c.expect([]string{"n1"}, "n1 stop")
	c.ends("placed@ failed n1: stop failed: exit status 1; n2: it is still up on node n1: stop failed: exit status 1; n2: the instance is down")
	if got := c.members["n1"].monitor.State; got != orchestrate.StateStopFailed {
		t.Errorf("n1 is %s", got)
	}
	c.members["n1"].failing[orchestrate.Stop] = false
	c.must("n1", orchestrate.PlacedAt, to("n2"))
	c.expect([]string{"n2"}, "n1 stop", "n2 start")
}

func TestAMoveWhoseStartFailsIsFollowedByATakeover(t *testing.T) {
	t.Parallel()
	c := newCrowd(t, 3, ha).up("n1")
	c.members["n3"].failing[orchestrate.Start] = true
	c.must("n1", orchestrate.PlacedAt, to("n3"))
	c.expect([]string{"n1"}, "n1 stop", "n3 start", "n1 start")
}

func TestRestartsFollowEachOther(t *testing.T) {
	t.Parallel()
	c := newCrowd(t, 3, flex(2)).up("n1", "n2")
	c.must("n3", orchestrate.Restarted, nil)
	c.expect([]string{"n1", "n2"}, "n1 stop", "n1 start", "n2 stop", "n2 start")
	c.ends("restarted succeeded")

	c = newCrowd(t, 3, func(i *cluster.InstanceConfig) { flex(2)(i); i.Orchestrate = "no" }).up("n1", "n2")
	c.members["n1"].failing[orchestrate.Start] = true
	c.must("n2", orchestrate.Restarted, nil)
	c.expect([]string{"n2"}, "n1 stop", "n1 start")
	c.ends("restarted failed n1: start failed: exit status 1; n2: the restart failed on node n1, this instance is left as it is: start failed: exit status 1")
}

func TestTheLeaderProvisionsFirstAndUnprovisionsLast(t *testing.T) {
	t.Parallel()
	c := newCrowd(t, 3, byHand)
	for _, m := range c.members {
		m.status.Provisioned = cluster.ProvisionedFalse
	}
	c.deliverAll()
	c.must("n2", orchestrate.Provisioned, nil)
	c.expect([]string{"n1"}, "n1 provision as leader", "n2 provision", "n3 provision")
	c.ends("provisioned succeeded")
	c.must("n3", orchestrate.Unprovisioned, nil)
	c.expect(nil, "n2 unprovision", "n3 unprovision", "n1 unprovision as leader")
	c.ends("unprovisioned succeeded")
}

func TestALeaderThatFailsToProvisionEndsIt(t *testing.T) {
	t.Parallel()
	c := newCrowd(t, 2, byHand)
	for _, m := range c.members {
		m.status.Provisioned = cluster.ProvisionedFalse
	}
	c.members["n1"].failing[orchestrate.Provision] = true
	c.deliverAll()
	c.must("n1", orchestrate.Provisioned, nil)
	c.expect(nil, "n1 provision as leader")
	c.ends("provisioned failed n1: provision failed: exit status 1; n2: the provisioning failed on node n1, which was first: provision failed: exit status 1")
}

func TestAPurgeDeletesOnceAllHaveUnprovisioned(t *testing.T) {
	t.Parallel()
	c := newCrowd(t, 3, byHand).up("n1")
	c.members["n2"].takes = 10 * time.Second
	if err := c.ask("n1", orchestrate.Purged, nil); err != nil {
		t.Fatal(err)
	}
	c.pass(5 * time.Second)
	c.expect([]string{"n1"}, "n3 unprovision", "n2 unprovision")
	c.pass(20 * time.Second)
	c.expect(nil, "n1 unprovision as leader", "n1 delete", "n2 delete", "n3 delete")
}

// Story 17.
func TestAPurgeSaysWhichNodesItCouldNotReach(t *testing.T) {
	t.Parallel()
	c := newCrowd(t, 3, byHand).up("n1")
	c.cut["n3"] = true
	c.must("n1", orchestrate.Unprovisioned, nil)
	c.expect(nil, "n2 unprovision", "n1 unprovision as leader")
	c.ends("unprovisioned failed n3: it does not answer, what it has was left as it is")
}

func TestTwoGoalsAskedOfTwoNodesAreNeverPursuedBoth(t *testing.T) {
	t.Parallel()
	c := newCrowd(t, 2, byHand)
	c.slow = true
	if err := errors.Join(c.ask("n1", orchestrate.Started, nil), c.ask("n2", orchestrate.Stopped, nil)); err != nil {
		t.Fatal(err)
	}
	c.settle()
	c.expect(nil) // neither knows of the other yet: nothing is done
	c.slow = false
	c.deliverAll()
	c.pass(time.Minute)
	c.expect(nil, "n2 hold", "n1 hold")
	if got := c.members["n1"].ended[0]; got != "started aborted stopped was asked for later, on another node" {
		t.Errorf("n1: %s", got)
	}
	c.ends("stopped succeeded")
}

func TestAnAbortReachesEveryNode(t *testing.T) {
	t.Parallel()
	c := newCrowd(t, 3, byHand)
	c.members["n1"].takes = time.Minute
	if err := c.ask("n2", orchestrate.Started, nil); err != nil {
		t.Fatal(err)
	}
	c.pass(time.Second)
	m := c.members["n3"]
	m.monitor = orchestrate.Abort(m.monitor, c.now)
	m.version++
	c.deliverAll()
	c.settle()
	for _, name := range []string{"n1", "n2"} {
		if got := c.members[name]; got.monitor.GlobalExpect != orchestrate.None || got.ended[0] != "started aborted given up on request" {
			t.Errorf("%s: %s %q", name, got.monitor.GlobalExpect, got.ended)
		}
	}
}

// Story 24.
func TestAStopDuringAStartIsRefusedWithTheWayOut(t *testing.T) {
	t.Parallel()
	c := newCrowd(t, 2, byHand)
	if err := c.ask("n1", orchestrate.Started, nil); err != nil {
		t.Fatal(err)
	}
	c.settle()
	err := c.ask("n2", orchestrate.Stopped, nil)
	if err == nil || !strings.Contains(err.Error(), "give it up with `om web abort`") {
		t.Errorf("%v", err)
	}
}

func TestAGoalIsLaterThanTheOthersWhateverTheClocksSay(t *testing.T) {
	t.Parallel()
	c := newCrowd(t, 2, byHand)
	c.now = c.now.Add(time.Hour) // the clock of n1 is ahead
	c.must("n1", orchestrate.Started, nil)
	c.expect([]string{"n1"}, "n1 start")
	c.now = c.now.Add(-2 * time.Hour)
	c.must("n2", orchestrate.Stopped, nil)
	c.expect(nil, "n1 hold", "n2 hold", "n1 stop")
}

func TestRefusalsOfAMove(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		what    string
		options map[string]any
		edit    func(*crowd)
		want    string
	}{
		{"live", map[string]any{"live": true}, func(*crowd) {}, "web: placed@ refused: a live migration needs a resource that can migrate, and no driver of one is there yet: leave --live out"},
		{"an unknown node", to("n9"), func(*crowd) {}, "web: placed@ refused: it cannot be placed there: n9: it is not known"},
		{"a lost node", to("n2"), func(c *crowd) { c.cut["n2"] = true }, "web: placed@ refused: it cannot be placed there: n2: it is not heard"},
		{"nowhere to go", nil, func(c *crowd) { c.cut["n2"], c.cut["n3"] = true, true }, "web: placed@ refused: there is no other node to place it on: n1: it runs there; n2: it is not heard; n3: it is not heard"},
	} {
		c := newCrowd(t, 3, byHand).up("n1")
		tt.edit(c)
		if err := c.ask("n1", orchestrate.PlacedAt, tt.options); err == nil || err.Error() != tt.want {
			t.Errorf("%s: %v, want %s", tt.what, err, tt.want)
		}
	}
	c := newCrowd(t, 2, ha)
	c.edit = func(w *orchestrate.World) { w.Quorum, w.Votes = false, orchestrate.Tally{Have: 1, Total: 3} }
	want := "web: started refused: the node is not in a majority (1 votes of 3): ask a node that is"
	if err := c.ask("n1", orchestrate.Started, nil); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}
