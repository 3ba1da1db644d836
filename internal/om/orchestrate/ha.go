package orchestrate

import (
	"cmp"
	"strings"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/cluster"
)

// retryFlag is how long a flag that could not be written is left alone.
const retryFlag = time.Minute

// ackProbe is how often it is looked whether the peers took note.
const ackProbe = 50 * time.Millisecond

// unasked does what a monitor does of itself while the object has no goal: end
// what has ended, restart resources, run monitor actions, keep ha objects up.
func (d *decider) unasked() {
	if d.evicting() {
		d.evict()
		return
	}
	d.concluded()
	d.recover()
	switch {
	case d.catchUp():
	case d.releaseSeenUp():
	case d.restartResources():
	case d.autostart():
	case d.autostop():
	case IsWaiting(d.state()):
		d.become(StateIdle)
	}
}

// concluded goes from the end of an action to rest.
func (d *decider) concluded() {
	switch d.state() {
	case StateStarted, StateRestarted:
		if a := d.me.avail(); isDown(a) && a != cluster.NotApplicable {
			d.because("not-up", "the start went well, and the instance is %s", a)
			d.become(StateStartFailed)
			return
		}
		d.expect(Started)
		d.become(StateIdle)
	case StateBooted, StateShutdown, StateStopped, StateFrozen, StateUnfrozen, StateProvisioned, StateUnprovisioned, StateDeleted:
		d.become(StateIdle)
	}
}

// recover leaves the failures that what is seen proves wrong, and arms the watch
// over an instance that is up.
func (d *decider) recover() {
	m, avail := &d.d.Monitor, d.me.avail()
	switch d.state() {
	case StateStartFailed:
		if avail == cluster.Up || d.isStarted() {
			d.because("recovered", "the object is up")
			d.become(StateIdle)
		}
	case StateBootFailed:
		if isDown(avail) {
			d.because("recovered", "the instance is %s", avail)
			d.become(StateIdle)
		}
	}
	d.resume()
	if avail == cluster.Up {
		m.MonitorActionExecutedAt = time.Time{}
		if d.state() == StateIdle && !d.me.held() {
			d.expect(Started)
		}
	}
}

// resume goes on with the watch of a former daemon, as soon as the instance is not
// left to its operator. What died while no daemon ran is dealt with as if it died
// now.
func (d *decider) resume() {
	switch {
	case !d.d.Memory.Resume || d.me.frozen():
		return
	case d.state() == StateIdle && !d.me.held() && !d.Config.Disabled:
		d.because("resume", "it was up, in part at least, when the daemon started: it is to be kept started")
		d.expect(Started)
	}
	d.d.Memory.Resume = false
}

// releaseSeenUp lifts the flag of an instance stopped on purpose that somebody
// started again.
func (d *decider) releaseSeenUp() bool {
	if !d.me.held() || d.me.avail() != cluster.Up || d.state() != StateIdle {
		return false
	}
	if d.Now.Before(d.d.Memory.RetryAt) {
		d.wake(d.d.Memory.RetryAt)
		return false
	}
	d.because("release", "the instance is seen up again: it is not stopped on purpose any more")
	d.act(Action{Verb: Release})
	return true
}

// autostart starts an ha instance, after the ready period; true when it has
// something to say about it.
func (d *decider) autostart() bool {
	switch {
	case d.Config.Orchestrate == cluster.OrchestrateHA:
	case d.Config.Orchestrate == cluster.OrchestrateStart && d.d.Memory.Autostart:
	default:
		d.because("not-orchestrated", "orchestrate is %q: it is started only when asked", d.Config.Orchestrate)
		return false
	}
	if d.forbidden() {
		return false
	}
	switch d.state() {
	case StateIdle, StateReady:
		if d.notReady() {
			return true
		}
	}
	if d.unacked() || d.parentsDown() || d.fencing() {
		return true
	}
	d.because("ha-start", "the object is %s, and this node is to run it", d.object().Avail)
	d.act(Action{Verb: Start})
	return true
}

// forbidden tells why the daemon may not start the instance of itself.
func (d *decider) forbidden() bool {
	no := func(id, format string, a ...any) bool {
		d.because(id, format, a...)
		return true
	}
	o, avail := d.object(), d.me.avail()
	switch {
	case d.Config.Disabled:
		return no("disabled", "the instance is disabled")
	case len(d.Config.Issues) > 0:
		return no("config-issues", "the configuration has issues: %s", d.Config.Issues[0])
	case IsFailure(d.state()):
		return no("failed", "%s: it stays so until `om %s clear`", d.failure(), d.Path)
	case d.me.Frozen:
		return no("node-frozen", "the node is frozen")
	case d.me.frozen():
		return no("frozen", "the instance is frozen")
	case d.me.Overloaded:
		return no("node-overloaded", "the node is overloaded: it starts nothing by itself")
	case d.me.held():
		return no("stopped-on-purpose", "the instance was stopped on purpose: `om %s start` lifts that", d.Path)
	case !d.Quorum:
		return no("no-quorum", "the node is not in a majority")
	case d.me.provisioned() == cluster.ProvisionedFalse || d.me.provisioned() == cluster.ProvisionedMixed:
		return no("not-provisioned", "provisioned is %s: `om %s provision`", d.me.provisioned(), d.Path)
	case avail == cluster.Undef || avail == cluster.NotApplicable || avail == cluster.Up:
		return no("settled", "the instance is %s", avail)
	case avail == cluster.Warn:
		return no("warn", "the instance is warn: starting it could make it worse")
	case d.satisfied(o):
		d.d.Memory.Autostart = false // started elsewhere at boot: it is not to be again
		return no("object-up", "the object is %s", o.Avail)
	case d.hardUnmet(d.Self) != "":
		return no("affinity", "not here: %s", d.hardUnmet(d.Self))
	case !d.d.Monitor.IsHALeader:
		return no("not-leader", "%s is to run it", strings.Join(d.leaders(true), ", "))
	case d.elsewhere():
		return true
	}
	return d.peersForbid(no)
}

// unacked reports whether a node that is heard may not know yet that this one is
// about to start: it could be about to do the same. Once it knows, it does not get
// ready itself, and if it was before, it has said so.
func (d *decider) unacked() bool {
	for _, name := range d.peers() {
		if n := d.Nodes[name]; n.heard() && n.Unacked {
			d.because("peer-unacked", "node %s has not taken note yet that this node is about to start it", name)
			d.wake(d.Now.Add(ackProbe))
			return true
		}
	}
	return false
}

// satisfied reports whether the object has all the instances it wants.
func (d *decider) satisfied(o cluster.Object) bool {
	if o.Topology == cluster.TopologyFlex && o.Flex != nil {
		return o.UpInstancesCount >= o.Flex.Target
	}
	return o.Avail == cluster.Up || o.Avail == cluster.Warn
}

func (d *decider) peersForbid(no func(id, format string, a ...any) bool) bool {
	flex := d.Config.Topology == cluster.TopologyFlex
	active := 0
	for _, name := range d.peers() {
		n := d.Nodes[name]
		switch {
		case n.Untold:
			return no("peer-unknown", "node %s beats, and has not told its state yet", name)
		case !n.heard(): // no daemon there
		case n.Monitor == nil || n.Status == nil:
			return no("peer-unknown", "node %s has not told the state of its instance", name)
		case n.Monitor.GlobalExpect != "" && n.Monitor.GlobalExpect != None && !n.Monitor.OrchestrationIsDone:
			return no("peer-acting", "node %s pursues %s", name, n.Monitor.GlobalExpect)
		case IsActing(n.Monitor.State) && (!flex || n.Monitor.State != StateStarting):
			return no("peer-acting", "node %s is %s", name, n.Monitor.State)
		case !flex && d.restartsBy(n):
			return no("peer-restarts", "node %s is to restart what is down there", name)
		case n.Monitor.State == StateReady && d.yields(name):
			if !flex {
				return no("peer-ready", "node %s is about to start", name)
			}
			active++
		case n.active():
			active++
		}
	}
	if flex && active >= d.wanted() {
		return no("peer-ready", "as many instances as wanted run, or are about to")
	}
	return false
}

// yields reports whether this node lets one that is ready go first: always when it
// is not ready itself, else when the other was first. Both know both times: one of
// them goes, whatever either thinks of the order of nodes.
func (d *decider) yields(name string) bool {
	if d.me.Monitor == nil || d.me.Monitor.State != StateReady || d.state() != StateReady {
		return true
	}
	mine, other := d.me.Monitor.StateUpdatedAt, d.Nodes[name].Monitor.StateUpdatedAt
	return cmp.Or(other.Compare(mine), cmp.Compare(name, d.Self)) < 0
}

// autostop stops the instances a flex object has in excess: one at a time, those
// that are not where they should be first.
func (d *decider) autostop() bool {
	o := d.object()
	if d.Config.Orchestrate != cluster.OrchestrateHA || o.Topology != cluster.TopologyFlex || o.Flex == nil ||
		d.me.frozen() || d.state() != StateIdle || d.d.Monitor.IsHALeader || d.me.avail() != cluster.Up ||
		o.UpInstancesCount <= o.Flex.Target {
		return false
	}
	for _, name := range d.peers() {
		n := d.Nodes[name]
		if !n.heard() || n.Monitor == nil {
			continue
		}
		switch {
		case IsActing(n.Monitor.State):
			d.because("peer-acting", "node %s is %s", name, n.Monitor.State)
			return false
		case n.avail() == cluster.Up && !n.Monitor.IsHALeader && !n.frozen() && name > d.Self:
			d.because("peer-stops", "%d instances are up, %d are wanted: node %s is to stop its own first", o.UpInstancesCount, o.Flex.Target, name)
			return false
		}
	}
	d.because("flex-excess", "%d instances are up, %d are wanted", o.UpInstancesCount, o.Flex.Target)
	d.expect(None)
	d.act(Action{Verb: Stop})
	return true
}
