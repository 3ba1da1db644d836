package orchestrate

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/cluster"
)

const (
	// lockProbe is how often the action lock is looked at while another process
	// holds it: nothing tells when it lets go.
	lockProbe = time.Second
	// vanishGrace is how long a state announced by a command may last without
	// the action lock being held, before the command is taken for dead.
	vanishGrace = 2 * time.Second
)

// Decide returns what to do next about the local instance.
func Decide(w World) Decision {
	d := &decider{World: w, me: w.self()}
	d.d.Memory = clone(w.Local.Memory)
	d.d.Job = w.Local.Job
	d.d.Monitor = monitor(d.me.Monitor)
	d.observe()
	if d.d.Ended != "" {
		return d.d // what comes next is another matter
	}

	switch job := w.Local.Job; {
	case job != nil && job.State == JobRunning:
		d.because("action-running", "%s is running", job.Action)
	case w.Local.Lock != "":
		d.foreign()
	case w.Local.Evaluating:
		d.because("evaluating", "the status is being evaluated")
	default:
		if job != nil {
			d.outcome(*job)
		}
		d.step()
	}
	return d.d
}

// monitor returns a copy of m that may be changed; a new one when there is none.
func monitor(m *cluster.InstanceMonitor) cluster.InstanceMonitor {
	if m == nil {
		return cluster.InstanceMonitor{State: StateInit, GlobalExpect: None, LocalExpect: None}
	}
	c := *m
	if c.State == "" {
		c.State = StateInit
	}
	if c.GlobalExpect == "" {
		c.GlobalExpect = None
	}
	if c.LocalExpect == "" {
		c.LocalExpect = None
	}
	return c
}

func clone(m Memory) Memory {
	m.Eviction.Pending = slices.Clone(m.Eviction.Pending)
	m.WellSince = maps.Clone(m.WellSince)
	m.Lost = maps.Clone(m.Lost)
	return m
}

// observe takes note of what does not depend on goals.
func (d *decider) observe() {
	m := &d.d.Monitor
	m.IsLeader, m.IsHALeader = d.leads(), d.leadsHA()
	m.Parents, m.Children = d.Parents, d.Children
	d.countRestarts()
	if d.me.avail() == cluster.Up {
		d.d.Memory.Autostart = false
	}
	d.followPeers()
	d.adopt()
	d.learn()
}

// rest leaves the states a new goal does not start from.
func (d *decider) rest(goal string) {
	if restful(goal, d.state()) {
		d.become(StateIdle)
	}
}

// restful reports whether accepting goal resets state: what was waited for is
// not any more, and a failure is tried again. Freezing concerns no failure.
func restful(goal, state string) bool {
	if goal == Frozen || goal == Unfrozen {
		return state == StateFreezeFailed || state == StateUnfreezeFailed
	}
	return IsFailure(state) || IsWaiting(state)
}

// foreign follows an action that is not ours. A command announces its states
// itself, but not to a daemon that started after it.
func (d *decider) foreign() {
	d.because("locked", "another process holds the action lock: %s", d.Local.Lock)
	if d.state() == StateInit {
		if acting, _, _ := Verb(d.Local.Lock).states(); acting != "" {
			d.become(acting)
		}
	}
	d.wake(d.Now.Add(lockProbe))
}

// outcome takes account of the end of the last action.
func (d *decider) outcome(job Job) {
	d.d.Job, d.d.Memory.Failure = nil, ""
	_, done, failed := job.Action.Verb.states()
	stale := job.OrchestrationID != d.d.Monitor.OrchestrationID // another goal was accepted, or this one given up
	switch {
	case job.State == JobFailed && stale && d.d.Monitor.GlobalExpect != None:
		d.because("action-failed", "%s, of a former goal, failed: %s", job.Action, job.Reason)
		if failed != "" {
			d.become(StateIdle)
		}
	case job.State == JobFailed:
		d.because("action-failed", "%s failed: %s", job.Action, job.Reason)
		d.d.Memory.Failure = job.Reason
		d.failed(job.Action, failed)
	default:
		d.because("action-done", "%s is done", job.Action)
		if job.Action.Verb == Fence {
			d.d.Memory.RetryAt = d.Now.Add(retryFence) // the facts follow
		}
		if stale && d.d.Monitor.GlobalExpect != None || len(job.Action.RID) > 0 {
			done = when(done != "", StateIdle)
		}
		if done != "" {
			d.become(done)
		}
	}
}

func when(c bool, s string) string {
	if c {
		return s
	}
	return ""
}

func (d *decider) failed(a Action, state string) {
	switch {
	case a.Verb == Fence:
		d.d.Memory.RetryAt = d.Now.Add(retryFence)
	case d.evicting():
		d.evictionFailed(a)
	case a.Verb == Freeze && d.d.Monitor.GlobalExpect == Frozen:
		d.become(StateFreezeFailed)
	case a.Verb == Unfreeze && d.d.Monitor.GlobalExpect == Unfrozen:
		d.become(StateUnfreezeFailed)
	case a.Verb == Delete && d.d.Monitor.GlobalExpect == Purged:
		d.become(StatePurgeFailed)
	case state != "":
		d.become(state)
	default: // a flag could not be written: what it was for does not happen
		d.d.Memory.RetryAt = d.Now.Add(retryFlag)
		if d.d.Monitor.GlobalExpect != None {
			d.because("flag-failed", "%s is given up: %s failed: %s", d.d.Monitor.GlobalExpect, a, d.d.Memory.Failure)
			d.done(Failed)
		}
	}
}

// failure is the state of the monitor, with what failed when that is known.
func (d *decider) failure() string {
	if d.d.Memory.Failure == "" {
		return d.state()
	}
	return d.state() + ": " + d.d.Memory.Failure
}

// step goes through the table.
func (d *decider) step() {
	goal := d.d.Monitor.GlobalExpect
	if d.d.Monitor.OrchestrationIsDone {
		d.because("done", "this node has done its part")
		d.done(Succeeded) // ends once the peers are done too
		return
	}
	if d.recordBoot() {
		return
	}
	switch transition(goal, d.state()) {
	case settle:
		d.settle()
	case await:
		d.vanished()
	case fail:
		d.because("failed", "%s", d.failure())
		d.done(Failed)
	case reset:
		d.become(StateIdle)
		d.pursue(goal)
	case pursue, resume, conclude:
		d.pursue(goal)
	default: // a word of a newer peer
		d.because("unknown-state", "no step is known for goal %q from state %q", goal, d.state())
	}
}

// pursue takes the next step towards the goal.
func (d *decider) pursue(goal string) {
	if why := d.nodeBusy(); why != "" {
		d.because("node-busy", "the node is %s", why)
		return
	}
	if d.converging() {
		return
	}
	switch goal {
	case None:
		d.unasked()
	case Started:
		d.started()
	case Stopped:
		d.stopped()
	case Restarted:
		d.restarted()
	case Frozen, Unfrozen:
		d.freezing(goal)
	case Provisioned:
		d.provisioning()
	case Unprovisioned:
		d.unprovisioning()
	case Purged:
		d.purging()
	case Deleted:
		d.deleting()
	case PlacedAt, Placed:
		d.placed()
	}
}

// nodeBusy is the state of the node monitor when it forbids to orchestrate.
func (d *decider) nodeBusy() string {
	if s := d.me.State; s != StateIdle {
		if s == "" {
			return StateInit
		}
		return s
	}
	if d.Rejoin {
		return "back, and does not know its peers yet"
	}
	return ""
}

// settle leaves init, once there is a status and the boot was dealt with.
func (d *decider) settle() {
	if d.me.Status == nil {
		d.because("no-status", "the status is not known yet")
		return
	}
	if why := d.nodeBusy(); why != "" && d.bootDue() {
		d.because("node-busy", "the node is %s, the boot action is run after", why)
		return
	}
	if d.boot() {
		return
	}
	d.become(StateIdle)
	d.d.Memory.Resume = d.Config.Orchestrate == cluster.OrchestrateHA && d.partlyUp()
	d.pursue(d.d.Monitor.GlobalExpect)
}

// partlyUp reports whether something that tells that the instance runs is up.
func (d *decider) partlyUp() bool {
	for rid, r := range d.me.Status.Resources {
		if counted(rid, r) && r.Status == cluster.Up {
			return true
		}
	}
	return false
}

// counted reports whether a resource tells that its instance runs.
func counted(rid string, r cluster.ResourceStatus) bool {
	group, _, _ := strings.Cut(rid, "#")
	return group != "sync" && group != "task" && !r.Standby && !r.Disable
}

// vanished deals with a state that says an action is under way while no process
// is known to do it.
func (d *decider) vanished() {
	since := d.d.Monitor.StateUpdatedAt
	if over := since.Add(vanishGrace); d.Now.Before(over) && !since.After(d.Now) {
		d.because("await", "%s", d.state())
		d.wake(over)
		return
	}
	d.because("vanished", "%s, but no process does it: it ended without a word", d.state())
	avail := d.me.avail()
	reached := false
	failed := StateIdle
	switch d.state() {
	case StateStarting:
		reached, failed = avail == cluster.Up || avail == cluster.NotApplicable && !d.me.blind(), StateStartFailed
	case StateStopping:
		reached, failed = isDown(avail) && !d.me.blind(), StateStopFailed
	case StateShutting:
		reached, failed = isDown(avail) && !d.me.blind(), StateShutdownFailed
	case StateProvisioning:
		reached, failed = d.me.provisioned() == cluster.ProvisionedTrue, StateProvisionFailed
	case StateUnprovisioning:
		reached, failed = d.me.provisioned() == cluster.ProvisionedFalse, StateUnprovisionFailed
	case StateBooting:
		failed = StateBootFailed
	case StateDeleting:
		failed = StateDeleteFailed
	}
	if reached || d.d.Monitor.GlobalExpect != None { // a goal does not fail by what came before it
		failed = StateIdle
	}
	d.become(failed)
	d.step()
}

// isDown reports whether nothing that a stop stops is up.
func isDown(s cluster.Status) bool {
	switch s.Plain() {
	case cluster.Down, cluster.StandbyUp, cluster.StandbyDown, cluster.NotApplicable:
		return true
	case cluster.Undef, cluster.Up, cluster.Warn, cluster.StandbyUpWithUp, cluster.StandbyUpWithDown:
	}
	return false
}
