package orchestrate

// The monitor actions: what to do when a monitored resource is down for good.
const (
	ActionNone       = "none"
	ActionFreezeStop = "freezestop" // freeze the instance and stop it
	ActionSwitch     = "switch"     // stop it and stay failed, for another node to take over
	ActionReboot     = "reboot"     // the node, at once
	ActionCrash      = "crash"      // the node, at once
)

func (d *decider) evicting() bool { return len(d.d.Memory.Eviction.Pending) > 0 }

// evictFor starts the monitor action, once per failure; true when it acts.
func (d *decider) evictFor(rid string) bool {
	m := &d.d.Monitor
	if !m.MonitorActionExecutedAt.IsZero() {
		d.because("monitor-action-done", "the monitor action for %s was run already", rid)
		return false
	}
	actions := append([]string(nil), d.Config.MonitorAction...)
	if len(actions) == 0 {
		actions = []string{ActionNone}
	}
	m.MonitorActionExecutedAt = d.Now
	d.d.Evict = Eviction{RID: rid, Pending: actions}
	d.because("monitor-action", "%s is down for good: %s", rid, actions[0])
	if actions[0] == ActionNone {
		return false
	}
	d.d.Memory.Eviction = Eviction{RID: rid, Pending: actions}
	d.expect(Evicted)
	d.evict()
	return true
}

// evict takes the next step of the monitor action.
func (d *decider) evict() {
	if d.me.Status == nil {
		d.because("no-status", "the status is not known yet")
		return
	}
	e := &d.d.Memory.Eviction
	action := e.Pending[0]
	if !e.Prepared {
		e.Prepared = true
		if d.Config.PreMonitorAction != "" {
			d.because("pre-monitor-action", "before %s", action)
			d.act(Action{Verb: Prepare})
			return
		}
	}
	d.because("monitor-action", "%s: %s", e.RID, action)
	switch {
	case e.Fired: // the node is on its way down
	case action == ActionReboot:
		e.Fired = true
		d.act(Action{Verb: Reboot})
	case action == ActionCrash:
		e.Fired = true
		d.act(Action{Verb: Crash})
	case action == ActionFreezeStop && d.me.Status.FrozenAt.IsZero() && !e.Frozen:
		e.Frozen = true
		d.act(Action{Verb: Freeze})
	case (action == ActionFreezeStop || action == ActionSwitch) && d.state() != StateStopped && d.runs():
		d.act(Action{Verb: Stop})
	case action == ActionSwitch:
		d.evicted(StateStartFailed)
	default: // freezestop is through; none ends the list
		d.evicted(StateIdle)
	}
}

func (d *decider) evicted(state string) {
	d.d.Memory.Eviction = Eviction{}
	d.expect(None)
	d.become(state)
}

// evictionFailed goes on with the next monitor action. What was run before the
// first is not run again, and its own failure changes nothing.
func (d *decider) evictionFailed(a Action) {
	if a.Verb == Prepare {
		return
	}
	e := &d.d.Memory.Eviction
	failed := e.Pending[0]
	e.Pending, e.Frozen, e.Fired = e.Pending[1:], false, false
	d.because("monitor-action-failed", "%s failed", failed)
	if len(e.Pending) == 0 {
		d.evicted(StateStopFailed)
		return
	}
	d.become(StateIdle)
}
