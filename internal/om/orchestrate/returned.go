package orchestrate

import (
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

// catchUp sets, and lifts, the flags that were asked for while the peers were not
// heard; true when it acts. It is done once per peer that is heard again, so that
// what the operator does to this instance afterwards is left alone.
func (d *decider) catchUp() bool {
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
	if len(since) == 0 || d.me.Status == nil {
		return false
	}
	if d.Now.Before(d.d.Memory.RetryAt) {
		d.wake(d.d.Memory.RetryAt)
		return false
	}
	stopped, frozen, lifted := true, true, false
	for _, name := range d.peers() {
		n := d.Nodes[name]
		if !n.heard() {
			continue
		}
		at := since[name]
		stopped = stopped && n.Status.StoppedAt.After(at)
		frozen = frozen && !at.IsZero() && n.Status.FrozenAt.After(at) // not known since when: it may have been lifted here since
		if _, again := since[name]; again && n.avail() == cluster.Up && !n.held() && n.Status.LastStartedAt.After(at) &&
			n.Status.LastStartedAt.After(d.me.Status.StoppedAt) {
			lifted = true
		}
	}
	switch {
	case stopped && !d.me.held() && isDown(d.me.avail()):
		d.because("catch-up", "the object was stopped on purpose while the other nodes were not heard")
		d.act(Action{Verb: Hold})
		return true
	case lifted && d.me.held():
		d.because("catch-up", "the object was started again while the other nodes were not heard: it is not stopped on purpose any more")
		d.act(Action{Verb: Release})
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
