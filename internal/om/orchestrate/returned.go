package orchestrate

import (
	"slices"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/cluster"
)

// followPeers remembers since when the peers are not heard: what was asked of them
// meanwhile was not asked of this node.
func (d *decider) followPeers() {
	if d.alone() {
		return
	}
	first := d.d.Memory.Lost == nil
	if first {
		d.d.Memory.Lost = map[string]time.Time{}
	}
	for _, name := range d.peers() {
		if _, known := d.d.Memory.Lost[name]; known {
			continue
		}
		switch {
		case first:
			d.d.Memory.Lost[name] = d.Local.LeftAt
		case !d.Nodes[name].heard():
			d.d.Memory.Lost[name] = d.Now
		}
	}
}

// learn takes note of the goals that ended without this node: the others had given
// it up. Goals are in an order that all nodes share, no clock is compared.
func (d *decider) learn() {
	m := &d.d.Monitor
	if m.GlobalExpect != None || d.d.Ended != "" {
		return
	}
	fresh := m.GlobalExpectUpdatedAt.IsZero() // the daemon, or the instance: its flags tell the rest
	known := m.GlobalExpectUpdatedAt
	for _, name := range d.peers() {
		p := d.Nodes[name].Monitor
		if p == nil || p.GlobalExpect != None || !p.GlobalExpectUpdatedAt.After(known) {
			continue
		}
		for _, e := range p.Ended {
			if ended(m.Ended, e.ID) != nil {
				continue
			}
			m.Ended = append(slices.Clone(m.Ended[max(0, len(m.Ended)-keepEnded+1):]), e)
			if !fresh || e.At.After(d.Local.LeftAt) {
				d.miss(e, fresh && d.Local.LeftAt.IsZero())
			}
		}
		if p.GlobalExpectUpdatedAt.After(m.GlobalExpectUpdatedAt) {
			m.GlobalExpectUpdatedAt = p.GlobalExpectUpdatedAt
		}
	}
}

// miss takes note of what a goal has set; only what keeps from starting when it is
// not known whether this node was told.
func (d *decider) miss(e cluster.OrchestrationEnd, doubtful bool) {
	missed := &d.d.Memory.Missed
	switch e.GlobalExpect {
	case Stopped:
		missed.Hold, missed.Lift = true, time.Time{}
	case Started, Restarted, PlacedAt, Placed, Provisioned:
		missed.Hold, missed.Lift = false, e.At
	case Frozen:
		missed.Freeze, missed.Unfreeze = !doubtful, false
	case Unfrozen:
		missed.Freeze, missed.Unfreeze = false, !doubtful
	}
}

// catchUp sets, and lifts, the flags that were asked for while the peers were not
// heard; true when it acts.
func (d *decider) catchUp() bool {
	if d.me.Status == nil {
		return false
	}
	if d.Now.Before(d.d.Memory.RetryAt) {
		d.wake(d.d.Memory.RetryAt)
		return false
	}
	return d.catchUpGoals() || d.catchUpFlags()
}

// catchUpGoals does to the flags what the goals that were missed did elsewhere.
func (d *decider) catchUpGoals() bool {
	missed := &d.d.Memory.Missed
	frozen := !d.me.Status.FrozenAt.IsZero()
	flag := func(verb Verb, what string) bool {
		d.because("catch-up", "the object was %s while this node was not heard", what)
		d.act(Action{Verb: verb})
		return true
	}
	switch {
	case missed.Hold && !d.me.held() && isDown(d.me.avail()):
		return flag(Hold, "stopped on purpose")
	case d.me.held() && missed.Lift.After(d.me.Status.StoppedAt):
		return flag(Release, "started again")
	case missed.Freeze && !frozen:
		return flag(Freeze, "frozen")
	case missed.Unfreeze && frozen:
		return flag(Unfreeze, "unfrozen")
	}
	d.d.Memory.Missed = Missed{}
	return false
}

// catchUpFlags looks at the flags of the peers that are heard again, for what no
// daemon remembers. It is done once per peer, so that what the operator does to this
// instance afterwards is left alone.
func (d *decider) catchUpFlags() bool {
	since := map[string]time.Time{} // of those that are heard again
	for _, name := range d.peers() {
		n := d.Nodes[name]
		if !n.heard() {
			continue
		}
		if n.Status == nil || n.Monitor == nil {
			return false // it has not told yet
		}
		if at, ok := d.d.Memory.Lost[name]; ok {
			since[name] = at
		}
	}
	if len(since) == 0 {
		return false
	}
	stopped, frozen := true, true
	for _, name := range d.peers() {
		n := d.Nodes[name]
		if !n.heard() {
			continue
		}
		at := since[name]
		stopped = stopped && n.held()
		frozen = frozen && !at.IsZero() && n.Status.FrozenAt.After(at) // not known since when: it may have been lifted here since
	}
	switch {
	case stopped && !d.me.held() && isDown(d.me.avail()):
		d.because("catch-up", "every other node says that the object was stopped on purpose")
		d.act(Action{Verb: Hold})
		return true
	case frozen && d.me.Status.FrozenAt.IsZero() && d.Config.Orchestrate == cluster.OrchestrateHA:
		d.because("catch-up", "the object was frozen while the other nodes were not heard")
		d.act(Action{Verb: Freeze})
		return true
	}
	for name := range since {
		delete(d.d.Memory.Lost, name)
	}
	return false
}
