package orchestrate

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/cluster"
)

// keepEnded is how many ends of orchestrations a monitor tells.
const keepEnded = 4

// adopt takes the goal that was given last, whichever node was asked, and the end
// another node saw of the present one.
func (d *decider) adopt() {
	d.heardEnd()
	m := &d.d.Monitor
	for _, name := range d.peers() {
		p := d.Nodes[name].Monitor
		if p == nil || p.GlobalExpect == "" || p.GlobalExpect == None || p.OrchestrationID == m.OrchestrationID ||
			ended(m.Ended, p.OrchestrationID) != nil || !later(*p, *m) {
			continue
		}
		if m.OrchestrationID != "" && m.GlobalExpect != None {
			d.end(GivenUp, p.GlobalExpect+" was asked for later, on another node")
		}
		d.because("adopt", "node %s was asked %s later", name, p.GlobalExpect)
		m.GlobalExpect, m.GlobalExpectUpdatedAt = p.GlobalExpect, p.GlobalExpectUpdatedAt
		m.GlobalExpectOptions, m.OrchestrationID = p.GlobalExpectOptions, p.OrchestrationID
		m.OrchestrationIsDone, m.OrchestrationFailure = false, ""
		if lifts(p.GlobalExpect) {
			m.Resources = nil // counted again from the full budget: somebody looks after it
			d.countRestarts()
		}
		d.rest(p.GlobalExpect)
	}
}

// lifts reports whether a goal gives the restarts of the resources back.
func lifts(goal string) bool {
	switch goal {
	case Started, Restarted, Provisioned, PlacedAt, Placed:
		return true
	}
	return false
}

// later reports whether the goal of a is later than that of b: by time, by id when
// two nodes were asked at the same instant.
func later(a, b cluster.InstanceMonitor) bool {
	return cmp.Or(a.GlobalExpectUpdatedAt.Compare(b.GlobalExpectUpdatedAt), cmp.Compare(a.OrchestrationID, b.OrchestrationID)) > 0
}

func ended(all []cluster.OrchestrationEnd, id string) *cluster.OrchestrationEnd {
	i := slices.IndexFunc(all, func(e cluster.OrchestrationEnd) bool { return e.ID == id })
	if id == "" || i < 0 {
		return nil
	}
	return &all[i]
}

// heardEnd ends the goal as another node did.
func (d *decider) heardEnd() {
	m := &d.d.Monitor
	if m.GlobalExpect == None || m.OrchestrationID == "" {
		return
	}
	for _, name := range d.peers() {
		p := d.Nodes[name].Monitor
		if p == nil {
			continue
		}
		e := ended(p.Ended, m.OrchestrationID)
		if e == nil && p.GlobalExpect == None && p.GlobalExpectUpdatedAt.After(m.GlobalExpectUpdatedAt) {
			// It was given other goals since, while it was not heard from here.
			e = &cluster.OrchestrationEnd{State: GivenUp, Reason: "node " + name + " has given it up since"}
		}
		if e == nil || e.State != GivenUp && !m.OrchestrationIsDone {
			continue // it ended without this node, which has its part to do nevertheless
		}
		d.because("ended", "node %s saw the end of %s", name, m.GlobalExpect)
		if IsWaiting(d.state()) {
			d.become(StateIdle)
		}
		d.end(e.State, e.Reason)
		return
	}
}

// converging tells which nodes have not taken the goal yet: nothing is done about
// it before all have, so that two goals asked of two nodes are never pursued both.
func (d *decider) converging() bool {
	m := d.d.Monitor
	if m.GlobalExpect == None {
		return false
	}
	waiting := false
	for _, name := range d.peers() {
		n := d.Nodes[name]
		switch p := n.Monitor; {
		case !n.heard():
		case p == nil && (m.GlobalExpect == Deleted || m.GlobalExpect == Purged):
		case p == nil:
			d.because("converge", "node %s does not know the object yet", name)
			waiting = true
		case !d.follows(*p):
			d.because("converge", "node %s has not taken the goal yet", name)
			waiting = true
		}
	}
	return waiting
}

// follows reports whether a peer pursues the present goal, or has ended it.
func (d *decider) follows(p cluster.InstanceMonitor) bool {
	m := d.d.Monitor
	return p.OrchestrationID == m.OrchestrationID || ended(p.Ended, m.OrchestrationID) != nil
}

// done says that the local instance has done its part of the goal, and ends the
// orchestration when every node has.
func (d *decider) done(how string) {
	m := &d.d.Monitor
	m.OrchestrationIsDone = true
	why := ""
	if n := len(d.d.Because); n > 0 {
		why = d.d.Because[n-1].Text
	}
	if how == Failed && m.OrchestrationFailure == "" {
		m.OrchestrationFailure = why
	}
	for _, name := range d.peers() {
		n := d.Nodes[name]
		switch p := n.Monitor; {
		case !n.heard() || p == nil:
		case p.OrchestrationID == m.OrchestrationID && p.OrchestrationIsDone || ended(p.Ended, m.OrchestrationID) != nil:
		default:
			d.because("peers-not-done", "node %s has not done its part yet", name)
			return
		}
	}
	d.end(d.verdict(why))
}

// verdict is how the orchestration has ended, now that every node has done its part.
func (d *decider) verdict(why string) (how, reason string) {
	m := d.d.Monitor
	if d.alone() {
		if m.OrchestrationFailure != "" {
			return Failed, m.OrchestrationFailure
		}
		return Succeeded, why
	}
	var failures []string
	for _, name := range sortedKeys(d.Nodes) {
		p := d.Nodes[name].Monitor
		if name == d.Self {
			p = &m
		}
		switch {
		case p == nil:
		case p.OrchestrationID == m.OrchestrationID && p.OrchestrationFailure != "":
			failures = append(failures, name+": "+p.OrchestrationFailure)
		default:
			if e := ended(p.Ended, m.OrchestrationID); e != nil && e.State == Failed {
				failures = append(failures, e.Reason)
			}
		}
	}
	switch m.GlobalExpect {
	case Started:
		if d.isStarted() {
			return Succeeded, ""
		}
	case PlacedAt, Placed:
		failures = append(failures, d.notThere()...)
	case Stopped:
		for _, name := range d.peers() {
			if n := d.Nodes[name]; !n.heard() && n.Status != nil && !isDown(n.avail()) {
				failures = append(failures, name+": it does not answer, and its instance was "+n.avail().String())
			}
		}
	case Unprovisioned, Purged:
		for _, name := range d.peers() {
			if !d.Nodes[name].heard() && d.Path.Kind.Runs() {
				failures = append(failures, name+": it does not answer, what it has was left as it is")
			}
		}
	}
	if len(failures) > 0 {
		return Failed, strings.Join(failures, "; ")
	}
	return Succeeded, ""
}

// notThere are the destinations where the object does not run, and why.
func (d *decider) notThere() []string {
	var all []string
	for _, name := range list(d.d.Monitor.GlobalExpectOptions, optionDestination) {
		n := d.Nodes[name]
		switch {
		case name != d.Self && !n.heard():
			all = append(all, name+": it is not heard any more")
		case n.avail() != cluster.Up && n.avail() != cluster.NotApplicable:
			all = append(all, name+": the instance is "+n.avail().String())
		}
	}
	return all
}

// end ends the orchestration. It is told for a while, for the other nodes.
func (d *decider) end(how, why string) {
	d.d.Ended, d.d.Why = how, why
	forgetGoal(&d.d.Monitor, how, why, d.Now, d.alone())
}

// forgetGoal leaves a monitor without a goal. The end is remembered when there is
// somebody to tell it to.
func forgetGoal(m *cluster.InstanceMonitor, how, why string, now time.Time, alone bool) {
	if !alone && m.OrchestrationID != "" {
		end := cluster.OrchestrationEnd{ID: m.OrchestrationID, GlobalExpect: m.GlobalExpect, State: how, Reason: why, At: now}
		kept := m.Ended[max(0, len(m.Ended)-keepEnded+1):]
		m.Ended = append(slices.Clone(kept), end)
	}
	// Later than the goal, and the same on every node whatever its clock says: the
	// next goal is later than that, wherever it is asked.
	m.GlobalExpect, m.GlobalExpectUpdatedAt, m.GlobalExpectOptions = None, m.GlobalExpectUpdatedAt.Add(1), nil
	m.OrchestrationID, m.OrchestrationIsDone, m.OrchestrationFailure = "", false, ""
}

// failedPeer is a node whose part of the goal failed, and why.
func (d *decider) failedPeer(names []string) (name, why string) {
	for _, name := range names {
		p := d.Nodes[name].Monitor
		if name != d.Self && p != nil && p.OrchestrationID == d.d.Monitor.OrchestrationID && p.OrchestrationFailure != "" {
			return name, p.OrchestrationFailure
		}
	}
	return "", ""
}

// isDone reports whether a peer has done its part of the goal, or cannot be asked.
func (d *decider) isDone(name string) bool {
	n := d.Nodes[name]
	m := n.Monitor
	return !n.heard() || m == nil || ended(m.Ended, d.d.Monitor.OrchestrationID) != nil ||
		m.OrchestrationID == d.d.Monitor.OrchestrationID && m.OrchestrationIsDone
}
