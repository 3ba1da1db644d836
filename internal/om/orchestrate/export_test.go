package orchestrate

// StepKnown reports whether the table has a step for a goal in a state.
func StepKnown(goal, state string) bool { return transition(goal, state) != 0 }
