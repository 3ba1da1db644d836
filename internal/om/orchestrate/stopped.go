package orchestrate

import "github.com/holdfast-ops/holdfast/internal/om/cluster"

// stopped pursues a stop asked by hand. The instance is flagged stopped on
// purpose first: whatever happens next, the daemon will not start it back.
func (d *decider) stopped() {
	d.expect(None)
	d.d.Memory = Memory{}
	switch {
	case !d.me.held():
		d.because("hold", "a stop was asked for: the instance is stopped on purpose")
		d.act(Action{Verb: Hold})
	case d.state() == StateStopped:
		d.because("stopped", "the instance is %s", d.me.avail())
		d.become(StateIdle)
		d.done(Succeeded)
	case !d.runs():
		d.because("down", "the instance is %s", d.me.avail())
		d.become(StateIdle)
		d.done(Succeeded)
	case d.childrenUp():
	default:
		d.because("stop", "a stop was asked for, the instance is %s", d.me.avail())
		d.act(Action{Verb: Stop})
	}
}

// runs reports whether a stop has something to do: the instance, or one of its
// optional resources, is up, or may be.
func (d *decider) runs() bool {
	if !isDown(d.me.avail()) || d.me.blind() {
		return true
	}
	if d.me.Status == nil {
		return false
	}
	for rid, r := range d.me.Status.Resources {
		if acts(rid, r) && !r.Standby && (r.Status == cluster.Up || r.Status == cluster.Warn) {
			return true
		}
	}
	return false
}
