package orchestrate

import (
	"slices"

	"github.com/holdfast-ops/holdfast/internal/om/cluster"
)

// started pursues a start asked by hand. Freezes do not matter: they keep the
// daemon from acting by itself, not from doing what it is asked.
func (d *decider) started() {
	if d.me.held() {
		d.because("release", "a start was asked for: the instance is not stopped on purpose any more")
		d.act(Action{Verb: Release})
		return
	}
	avail := d.me.avail()
	switch {
	case d.state() == StateStarted:
		d.startConcluded()
	case avail == cluster.Up || avail == cluster.NotApplicable && !d.me.blind():
		d.because("up", "the instance is %s", avail)
		d.arrived()
	case !d.d.Monitor.IsLeader && d.object().Avail == cluster.Up:
		d.because("object-up", "the object is up elsewhere")
		d.arrivedElsewhere()
	case !d.d.Monitor.IsLeader && d.me.blind() && d.leadersDone():
		d.because("object-started", "the object was started elsewhere")
		d.arrivedElsewhere()
	case !d.d.Monitor.IsLeader:
		d.because("not-leader", "another node is to start it")
		d.become(StateIdle)
	case d.parentsDown():
	case d.mayRace() && d.notReady():
	default:
		d.because("start", "a start was asked for, the instance is %s", avail)
		d.act(Action{Verb: Start})
	}
}

// leadersDone reports whether the nodes to run the object have done their part
// of the goal.
func (d *decider) leadersDone() bool {
	leaders := d.leaders(false)
	for _, name := range leaders {
		m := d.Nodes[name].Monitor
		if m == nil || m.OrchestrationID == d.d.Monitor.OrchestrationID && !m.OrchestrationIsDone {
			return false
		}
	}
	return len(leaders) > 0
}

// startConcluded looks at what a start that says it went well has given.
func (d *decider) startConcluded() {
	switch avail := d.me.avail(); avail {
	case cluster.Down, cluster.StandbyDown, cluster.StandbyUp:
		d.because("not-up", "the start went well, and the instance is %s", avail)
		d.become(StateStartFailed)
		d.done(Failed)
	case cluster.Up, cluster.Warn, cluster.NotApplicable, cluster.Undef, cluster.StandbyUpWithUp, cluster.StandbyUpWithDown:
		d.because("up", "the instance is %s", avail)
		d.arrived()
	}
}

// arrived ends a goal that leaves the instance up, to be kept so.
func (d *decider) arrived() {
	d.expect(Started)
	d.arrivedElsewhere()
}

func (d *decider) arrivedElsewhere() {
	d.become(StateIdle)
	d.d.Memory.Autostart = false
	d.done(Succeeded)
}

// parentsDown waits for the parents; true while one of them is not up.
func (d *decider) parentsDown() bool {
	return d.waitRelations(d.Parents, StateWaitParents, func(s cluster.Status) bool {
		return s == cluster.Up || s == cluster.Undef
	})
}

// childrenUp waits for the children; true while one of them is up.
func (d *decider) childrenUp() bool {
	return d.waitRelations(d.Children, StateWaitChildren, func(s cluster.Status) bool {
		return isDown(s) || s == cluster.Undef
	})
}

func (d *decider) waitRelations(all map[string]cluster.Status, state string, fine func(cluster.Status) bool) bool {
	waiting := false
	for _, name := range sortedKeys(all) {
		if s := all[name].Plain(); !fine(s) {
			d.because(reasonID(state), "%s is %s", name, s)
			waiting = true
		}
	}
	if waiting {
		d.become(state)
	}
	return waiting
}

func reasonID(state string) string {
	if state == StateWaitParents {
		return "wait-parents"
	}
	return "wait-children"
}

// mayRace reports whether another node could start the object as well: only
// then is it worth waiting for a while before a start.
func (d *decider) mayRace() bool { return !d.alone() }

// notReady waits for the ready period to pass in state ready; true until it has.
func (d *decider) notReady() bool {
	d.become(StateReady)
	due := d.d.Monitor.StateUpdatedAt.Add(d.ReadyPeriod)
	if !d.Now.Before(due) {
		return false
	}
	d.because("ready", "starts at the end of the ready period, in %s", due.Sub(d.Now))
	d.wake(due)
	return true
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
