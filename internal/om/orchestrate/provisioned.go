package orchestrate

import (
	"slices"

	"github.com/holdfast-ops/holdfast/internal/om/cluster"
)

// provisioning pursues a provision asked by hand: the leader first, then the
// others, then the freeze a creation has left is lifted.
func (d *decider) provisioning() {
	leader := d.provisionLeader()
	switch {
	case d.me.held() && d.state() != StateProvisioned:
		d.because("release", "a provision was asked for: the instance is not stopped on purpose any more")
		d.act(Action{Verb: Release})
	case d.state() == StateProvisioned || d.state() == StateStarted || d.isProvisioned() && !(leader && d.startable()):
		d.provisioned()
	case !leader && d.leaderFailed():
		d.become(StateIdle)
		d.done(Failed)
	case !leader && !d.leaderProvisioned():
		d.because("wait-leader", "node %s is to provision first", d.firstLeader())
		d.become(StateWaitLeader)
	case d.parentsDown():
	case d.isProvisioned() && d.guarded():
	case d.isProvisioned():
		d.because("start", "it is provisioned already: it is started")
		d.act(Action{Verb: Start})
	default:
		d.because("provision", "a provision was asked for")
		d.act(Action{Verb: Provision, Leader: leader})
	}
}

func (d *decider) provisioned() {
	if d.me.Status != nil && !d.me.Status.FrozenAt.IsZero() {
		d.because("unfreeze", "it is provisioned: the daemon may look after it")
		d.act(Action{Verb: Unfreeze})
		return
	}
	d.because("provisioned", "the instance is provisioned: %s, and %s", d.me.provisioned(), d.me.avail())
	if d.me.avail() == cluster.Up {
		d.arrived()
		return
	}
	d.arrivedElsewhere()
}

func (d *decider) isProvisioned() bool {
	switch d.me.provisioned() {
	case cluster.ProvisionedTrue, cluster.ProvisionedNotApplicable:
		return true
	case cluster.ProvisionedFalse, cluster.ProvisionedMixed, cluster.ProvisionedUndef:
	}
	return false
}

func (d *decider) startable() bool {
	switch d.me.avail() {
	case cluster.Down, cluster.StandbyDown, cluster.StandbyUp, cluster.Warn:
		return true
	case cluster.Up, cluster.NotApplicable, cluster.Undef, cluster.StandbyUpWithUp, cluster.StandbyUpWithDown:
	}
	return false
}

// unprovisioning pursues an unprovision asked by hand: the leader last.
func (d *decider) unprovisioning() {
	d.expect(None)
	switch {
	case d.state() == StateUnprovisioned:
		d.because("unprovisioned", "the instance is not provisioned any more")
		d.become(StateIdle)
		d.done(Succeeded)
	case d.unprovisioned():
		d.become(StateIdle)
		d.done(Succeeded)
	default:
		d.unprovision()
	}
}

func (d *decider) unprovisioned() bool {
	p := d.me.provisioned()
	if d.runs() || p != cluster.ProvisionedFalse && p != cluster.ProvisionedNotApplicable {
		return false
	}
	d.because("unprovisioned", "the instance is %s and provisioned is %s", d.me.avail(), p)
	return true
}

func (d *decider) unprovision() {
	leader := d.provisionLeader()
	switch {
	case d.me.provisioned() == cluster.ProvisionedNotApplicable && !d.me.held():
		// Nothing will tell that this instance was unprovisioned: only the flag
		// keeps the daemon from starting it back.
		d.because("hold", "nothing of it is ever provisioned: it is stopped on purpose instead")
		d.act(Action{Verb: Hold})
	case d.childrenUp():
	case leader && d.othersFailed():
		d.become(StateIdle)
		d.done(Failed)
	case leader && d.othersProvisioned():
		d.because("wait-non-leader", "other nodes are to unprovision first")
		d.become(StateWaitNonLeader)
	default:
		d.because("unprovision", "%s was asked for", d.d.Monitor.GlobalExpect)
		d.act(Action{Verb: Unprovision, Leader: leader})
	}
}

// provisionLeader reports whether this node does what only one node may do: the
// first candidates of a flex object, the first of them of a failover object.
func (d *decider) provisionLeader() bool {
	if d.Config.Topology == cluster.TopologyFlex {
		return slices.Contains(d.firstLeaders(), d.Self)
	}
	return d.firstLeader() == d.Self
}

func (d *decider) firstLeaders() []string {
	var names []string
	for _, name := range d.chosen() {
		if name == d.Self || d.Nodes[name].heard() {
			names = append(names, name)
		}
	}
	return names[:min(d.wanted(), len(names))]
}

func (d *decider) firstLeader() string {
	if names := d.firstLeaders(); len(names) > 0 {
		return names[0]
	}
	return d.Self
}

// leaderFailed reports whether the node that others wait for has failed.
func (d *decider) leaderFailed() bool {
	name, why := d.failedPeer([]string{d.firstLeader()})
	if name == "" {
		return false
	}
	d.because("leader-failed", "the provisioning failed on node %s, which was first: %s", name, why)
	return true
}

// othersFailed reports whether a node that is to unprovision first has failed: the
// leader would take away what that one still uses.
func (d *decider) othersFailed() bool {
	name, why := d.failedPeer(d.peers())
	if name == "" {
		return false
	}
	d.because("peer-failed", "node %s failed, what is shared is left as it is: %s", name, why)
	return true
}

func (d *decider) leaderProvisioned() bool {
	p := d.Nodes[d.firstLeader()].provisioned()
	return p == cluster.ProvisionedTrue || p == cluster.ProvisionedNotApplicable
}

func (d *decider) othersProvisioned() bool {
	for _, name := range d.peers() {
		switch d.Nodes[name].provisioned() {
		case cluster.ProvisionedTrue, cluster.ProvisionedMixed:
			return true
		case cluster.ProvisionedFalse, cluster.ProvisionedNotApplicable, cluster.ProvisionedUndef:
		}
	}
	return false
}
