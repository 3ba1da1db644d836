package orchestrate

import "github.com/holdfast-ops/holdfast/internal/om/cluster"

// restarted pursues a stop then a start asked by hand.
//
//	idle -> stopping -> stopped -> starting -> started -> restarted -> idle
func (d *decider) restarted() {
	force, _ := d.d.Monitor.GlobalExpectOptions["force"].(bool)
	stop := Action{Verb: Stop}
	if force {
		stop = Action{Verb: Shutdown, Force: true}
	}
	switch d.state() {
	case StateStopped, StateShutdown, StateWaitParents, StateReady:
		if d.parentsDown() {
			return
		}
		d.because("restart", "stopped, to be started again")
		d.act(Action{Verb: Start})
	case StateStarted:
		d.startConcluded()
	case StateRestarted:
		d.arrived()
	default:
		switch {
		case d.me.held():
			d.because("release", "a restart was asked for: the instance is not stopped on purpose any more")
			d.act(Action{Verb: Release})
		case !restartable(d.me, force) || d.me.blind() && !d.d.Monitor.IsLeader:
			d.because("not-up", "the instance is %s: there is nothing to restart", d.me.avail())
			d.become(StateIdle)
			d.done(Succeeded)
		case !d.Quorum:
			d.because("no-quorum", "the node is not in a majority%s: what is stopped could not be started again", d.Votes.words())
			d.become(StateIdle)
			d.done(Failed)
		case d.priors():
		case d.childrenUp():
		default:
			d.because("restart", "a restart was asked for")
			d.expect(None)
			d.act(stop)
		}
	}
}

// priors waits for the nodes that come first, so that the instances are restarted
// one after the other; a failure of one of them is the end of it.
func (d *decider) priors() bool {
	for _, name := range d.chosen() {
		if name == d.Self {
			break
		}
		if _, why := d.failedPeer([]string{name}); why != "" {
			d.because("prior-failed", "the restart failed on node %s, this instance is left as it is: %s", name, why)
			d.become(StateIdle)
			d.done(Failed)
			return true
		}
		if !d.isDone(name) {
			d.because("wait-priors", "node %s is restarted first", name)
			d.become(StateWaitPriors)
			return true
		}
	}
	return false
}

func restartable(n Node, force bool) bool {
	s := n.avail()
	return n.blind() || s == cluster.Up || s == cluster.Warn || force && s == cluster.StandbyUp
}
