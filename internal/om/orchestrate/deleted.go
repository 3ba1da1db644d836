package orchestrate

import "github.com/holdfast-ops/holdfast/internal/om/cluster"

// purging pursues an unprovision, then a deletion. An object that runs nothing
// is deleted at once.
func (d *decider) purging() {
	d.expect(None)
	switch {
	case !d.Path.Kind.Runs() || d.state() == StateDeleted:
		d.deletion()
	case d.state() == StateUnprovisioned || d.unprovisioned():
		// A deletion is told to every node: it must not overtake an unprovision.
		if !d.othersRemain() {
			d.deletion()
		}
	default:
		d.unprovision()
	}
}

// deleting pursues the deletion of the configuration, whatever runs.
func (d *decider) deleting() {
	d.expect(None)
	if d.state() != StateDeleted && d.childrenUp() {
		return
	}
	d.deletion()
}

func (d *decider) deletion() {
	if d.state() == StateDeleted {
		// The monitor ends with the instance. Its configuration is still there:
		// somebody made it again meanwhile, and the goal was reached.
		d.because("deleted", "the configuration was deleted")
		d.become(StateIdle)
		d.done(Succeeded)
		return
	}
	d.because("delete", "%s was asked for", d.d.Monitor.GlobalExpect)
	d.act(Action{Verb: Delete})
}

// othersRemain waits for the other nodes to unprovision, before the configuration is
// deleted everywhere.
func (d *decider) othersRemain() bool {
	if name, why := d.failedPeer(d.peers()); name != "" {
		d.because("peer-failed", "node %s failed, the configuration is kept: %s", name, why)
		d.become(StateIdle)
		d.done(Failed)
		return true
	}
	for _, name := range d.peers() {
		n := d.Nodes[name]
		if !n.heard() || n.Monitor == nil || n.Status == nil {
			continue
		}
		switch n.Monitor.State {
		case StateUnprovisioned, StateDeleting, StateDeleted:
			continue
		}
		p := n.provisioned()
		unprovisioned := isDown(n.avail()) && !n.blind() && (p == cluster.ProvisionedFalse || p == cluster.ProvisionedNotApplicable)
		if !unprovisioned || IsActing(n.Monitor.State) {
			d.because("wait-peers", "node %s is to unprovision first", name)
			if d.state() != StateUnprovisioned {
				d.become(StateWaitLeader)
			}
			return true
		}
	}
	return false
}
