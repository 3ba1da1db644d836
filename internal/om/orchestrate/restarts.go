package orchestrate

import (
	"cmp"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/cluster"
)

// restartDelay is between two restarts of a resource that sets none.
const restartDelay = 500 * time.Millisecond

// StablePeriod is how long a resource must stay well after a restart to have its
// restarts again: one that dies over and over uses them up, and the monitor
// action comes.
const StablePeriod = time.Minute

// countRestarts keeps a counter per resource that may be restarted, full again
// once the resource has been seen well for [StablePeriod].
func (d *decider) countRestarts() {
	old := d.d.Monitor.Resources
	wellSince := d.d.Memory.WellSince
	d.d.Monitor.Resources, d.d.Memory.WellSince = nil, nil
	for rid, config := range d.Config.Resources {
		if config.Restart <= 0 || config.IsDisabled {
			continue
		}
		if d.d.Monitor.Resources == nil {
			d.d.Monitor.Resources = map[string]cluster.ResourceMonitor{}
		}
		r, known := old[rid]
		if !known || r.Restart.Remaining > config.Restart || d.stable(rid, wellSince, r.Restart.Remaining < config.Restart) {
			r.Restart.Remaining = config.Restart
		}
		d.d.Monitor.Resources[rid] = r
	}
}

// stable reports whether a resource has been well for long enough. When that is
// of use, the decision is taken again once it is.
func (d *decider) stable(rid string, wellSince map[string]time.Time, useful bool) bool {
	if !d.well(rid) {
		return false
	}
	since, ok := wellSince[rid]
	if !ok {
		since = d.Now
	}
	if d.d.Memory.WellSince == nil {
		d.d.Memory.WellSince = map[string]time.Time{}
	}
	d.d.Memory.WellSince[rid] = since
	due := since.Add(StablePeriod)
	if d.Now.Before(due) {
		if useful {
			d.wake(due)
		}
		return false
	}
	return true
}

// well reports whether there is nothing to do about a resource.
func (d *decider) well(rid string) bool {
	if d.me.Status == nil {
		return false
	}
	r, ok := d.me.Status.Resources[rid]
	if !ok {
		return true
	}
	switch r.Status.Plain() {
	case cluster.Up, cluster.StandbyUp, cluster.NotApplicable, cluster.Undef:
		return true
	case cluster.Down, cluster.StandbyDown, cluster.Warn, cluster.StandbyUpWithUp, cluster.StandbyUpWithDown:
	}
	return false
}

// restartResources restarts the resources that failed, and starts the monitor
// action when one that is monitored cannot be; true when it has something to do
// or to wait for.
func (d *decider) restartResources() bool {
	if !d.mayRestart() {
		return false
	}
	claimed := d.claimed()
	var active, standby, lost []string
	waiting := false
	for _, rid := range sortedKeys(d.Config.Resources) {
		config := d.Config.Resources[rid]
		if config.IsDisabled || d.well(rid) || d.me.Status.Resources[rid].Stopped || d.me.Status.Resources[rid].Disable {
			continue
		}
		if (d.d.Monitor.LocalExpect != Started || claimed) && !config.IsStandby {
			continue
		}
		counter := d.d.Monitor.Resources[rid]
		due := counter.Restart.LastAt.Add(cmp.Or(config.RestartDelay, restartDelay))
		switch {
		case counter.Restart.Remaining <= 0:
			if config.IsMonitored {
				lost = append(lost, rid)
			}
			d.because("restart-exhausted", "%s is %s, and no restart of it remains", rid, d.me.Status.Resources[rid].Status.Plain())
		case d.Now.Before(due) && !counter.Restart.LastAt.After(d.Now): // unless the clock was set back
			d.because("restart-delay", "%s is to be restarted in %s", rid, due.Sub(d.Now))
			d.wake(due)
			waiting = true
		case config.IsStandby:
			standby = append(standby, rid)
		default:
			active = append(active, rid)
		}
	}
	switch {
	case len(active) > 0:
		d.restart(Start, active)
	case len(standby) > 0:
		d.restart(StartStandby, standby)
	case waiting:
	case len(lost) > 0:
		return d.evictFor(lost[0])
	default:
		return false
	}
	return true
}

// claimed reports whether another node runs the object, or is about to, while nothing
// of the instance does any more: it is not to be restarted beside.
func (d *decider) claimed() bool {
	if d.Config.Topology == cluster.TopologyFlex || !isDown(d.me.avail()) || d.d.Monitor.LocalExpect != Started {
		return false
	}
	for _, name := range d.peers() {
		n := d.Nodes[name]
		switch {
		case !n.heard():
		case n.active():
			d.because("taken-over", "the object runs on node %s: nothing of this instance is restarted", name)
			d.expect(None)
			return true
		case n.Monitor != nil && n.Monitor.State == StateReady:
			d.because("peer-ready", "node %s is about to start", name)
			return true
		}
	}
	return false
}

// restartsBy reports whether a peer is going to restart what is down there.
func (d *decider) restartsBy(n Node) bool {
	if n.Monitor.LocalExpect != Started || n.frozen() || n.held() || n.provisioned() == cluster.ProvisionedFalse || IsActing(n.Monitor.State) {
		return false
	}
	for rid, r := range n.Monitor.Resources {
		s, known := n.Status.Resources[rid]
		if known && r.Restart.Remaining > 0 && counted(rid, s) && !s.Stopped && s.Status.Plain() == cluster.Down {
			return true
		}
	}
	return false
}

func (d *decider) mayRestart() bool {
	if d.me.Status == nil || d.me.frozen() || d.me.held() || d.Config.Disabled || len(d.Config.Issues) > 0 || !d.isProvisioned() || !d.Quorum {
		return false
	}
	switch d.state() {
	case StateIdle, StateStartFailed, StateStopFailed:
		return true
	}
	return false
}

func (d *decider) restart(verb Verb, rids []string) {
	for _, rid := range rids {
		counter := d.d.Monitor.Resources[rid]
		counter.Restart.Remaining--
		counter.Restart.LastAt = d.Now
		d.d.Monitor.Resources[rid] = counter
		d.because("restart", "%s is down, %d restarts remain", rid, counter.Restart.Remaining)
	}
	d.act(Action{Verb: verb, RID: rids})
}
