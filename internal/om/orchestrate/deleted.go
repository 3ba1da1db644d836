package orchestrate

// purging pursues an unprovision, then a deletion. An object that runs nothing
// is deleted at once.
func (d *decider) purging() {
	d.expect(None)
	switch {
	case !d.Path.Kind.Runs() || d.state() == StateUnprovisioned || d.state() == StateDeleted:
		d.deletion()
	case d.unprovisioned():
		d.deletion()
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
