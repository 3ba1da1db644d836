package orchestrate

// StepKnown reports whether the table has a step for a goal in a state.
func StepKnown(goal, state string) bool { return transition(goal, state) != 0 }

// Change is what would change a reason.
func Change(id, path string) string { return change(id, path) }
