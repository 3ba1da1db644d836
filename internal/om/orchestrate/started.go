package orchestrate

import (
	"slices"
	"strings"
	"time"

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
	default:
		d.startInTurn()
	}
}

// startInTurn starts the instance when it is the turn of this node, and waits for
// the others to do it until then.
func (d *decider) startInTurn() {
	mine, others := d.turn()
	o := d.object()
	switch {
	case !mine && d.isStarted():
		d.because("object-up", "the object is up elsewhere")
		d.arrivedElsewhere()
	case !mine && d.me.blind() && d.leadersDone():
		d.because("object-started", "the object was started elsewhere")
		d.arrivedElsewhere()
	case !mine && d.me.active() && len(others) > 0:
		d.because("peer-up", "it is %s here, and it runs on node %s: stop it first", d.me.avail(), strings.Join(others, ", "))
		d.done(Failed)
	case !mine && len(others) == 0:
		d.because("no-candidate", "no node can start it: the object is %s", o.Avail)
		d.become(StateIdle)
		d.done(Failed)
	case !mine:
		d.because("not-leader", "node %s is to start it", strings.Join(others, ", "))
		d.become(StateIdle)
	case d.parentsDown():
	case d.guarded():
	default:
		d.because("start", "a start was asked for, the instance is %s", d.me.avail())
		d.act(Action{Verb: Start})
	}
}

// turn reports whether this node is one of those to start the object: the first of
// the candidates that have not failed, as many as are wanted beside what runs
// already. Every node counts the same way, by what all of them share. The others
// are those that run it or are to.
func (d *decider) turn() (mine bool, others []string) {
	wanted := d.wanted()
	first := 0
	passed := false
	for _, name := range d.chosen() {
		if name == d.Self {
			passed = true
			continue
		}
		n := d.Nodes[name]
		gaveUp := n.Monitor != nil && n.Monitor.OrchestrationFailure != "" && d.isDone(name)
		switch {
		case n.active():
			if !gaveUp {
				others = append(others, name)
			}
			first++
		case gaveUp || !n.heard() || n.Monitor == nil || IsFailure(n.Monitor.State):
		case n.Monitor.OrchestrationIsDone && !n.blind(): // it is not to start it any more
		case n.avail() == cluster.NotApplicable && !n.blind():
		case !passed && !d.me.active():
			others = append(others, name)
			first++
		default:
			others = append(others, name)
		}
	}
	for _, name := range d.peers() { // what runs where it was not expected
		if d.Nodes[name].active() && !slices.Contains(d.chosen(), name) {
			others = append(others, name)
			first++
		}
	}
	return passed && first < wanted, others
}

// chosen are the candidates for the goal, the best first: those the node that was
// asked found, so that all nodes go by the same order, whatever they see.
func (d *decider) chosen() []string {
	if names := list(d.d.Monitor.GlobalExpectOptions, optionCandidates); len(names) > 0 {
		return names
	}
	return d.ranked(false)
}

// leadersDone reports whether the nodes to run the object have done their part
// of the goal.
func (d *decider) leadersDone() bool {
	leaders := d.chosen()
	leaders = leaders[:min(d.wanted(), len(leaders))]
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

// guarded tells what keeps from a start that is otherwise due: a node that could
// race it, a lost one that is to be fenced, votes.
func (d *decider) guarded() bool {
	switch {
	case !d.Quorum:
		d.because("no-quorum", "the node is not in a majority%s", d.Votes.words())
	case d.elsewhere():
	case d.mayRace() && d.notReady():
	case d.fencing():
	default:
		return false
	}
	return true
}

// mayRace reports whether another node could start the object as well: one that is
// not heard. Those that are heard go by the same order. Only then is it worth
// waiting for a while before a start.
func (d *decider) mayRace() bool {
	for _, name := range d.peers() {
		if !d.Nodes[name].heard() {
			return true
		}
	}
	return false
}

// elsewhere tells of a node that is not heard, while the instance it had may run:
// others hear it.
func (d *decider) elsewhere() bool {
	for _, name := range d.peers() {
		n := d.Nodes[name]
		if !n.heard() && len(n.HeardBy) > 0 {
			d.because("peer-heard-elsewhere", "node %s is not heard here, and %s hears it: it is not dead", name, strings.Join(n.HeardBy, ", "))
			return true
		}
	}
	return false
}

// fencing has the lost nodes fenced that have to be; true until they are.
func (d *decider) fencing() bool {
	for _, name := range sortedKeys(d.Fence) {
		state := d.Fence[name]
		if n, ok := d.Nodes[name]; ok && n.heard() {
			continue
		}
		switch {
		case !state.Blocks() || state == FenceFailed && d.Config.StonithBestEffort:
			continue
		case state != FenceDue:
			d.because("fence", "node %s was lost while its instance was up, and its fencing is %s", name, state)
		case d.Now.Before(d.d.Memory.RetryAt):
			d.because("fence", "node %s is not known to be fenced, it is tried again in %s", name, d.d.Memory.RetryAt.Sub(d.Now))
			if d.Config.StonithBestEffort {
				continue
			}
			d.wake(d.d.Memory.RetryAt)
		default:
			d.because("fence", "node %s was lost while its instance was up: it is fenced before anything is started in its stead", name)
			d.act(Action{Verb: Fence, Node: name})
		}
		return true
	}
	return false
}

// notReady waits for the ready period to pass in state ready; true until it has.
func (d *decider) notReady() bool {
	d.become(StateReady)
	if d.d.Monitor.StateUpdatedAt.After(d.Now) { // the clock was set back
		d.d.Monitor.StateUpdatedAt = d.Now
	}
	due := d.d.Monitor.StateUpdatedAt.Add(d.ReadyPeriod)
	if !d.Now.Before(due) {
		return false
	}
	d.because("ready", "starts at the end of the ready period, in %s", due.Sub(d.Now))
	d.wake(due)
	return true
}

// retryFence is how long a node whose fencing failed is left alone.
const retryFence = 10 * time.Second

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
