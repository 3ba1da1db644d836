package orchestrate

// freezing pursues a freeze, or a thaw, asked by hand. The state of the monitor
// does not matter, and a failure of something else is left as it is.
func (d *decider) freezing(goal string) {
	if d.me.Status == nil {
		d.because("no-status", "the status is not known yet")
		return
	}
	frozen := !d.me.Status.FrozenAt.IsZero()
	switch {
	case frozen == (goal == Frozen):
		d.because(goal, "the instance is %s", goal)
		d.done(Succeeded)
	case goal == Frozen:
		d.because("freeze", "a freeze was asked for")
		d.act(Action{Verb: Freeze})
	default:
		d.because("unfreeze", "an unfreeze was asked for")
		d.act(Action{Verb: Unfreeze})
	}
}
