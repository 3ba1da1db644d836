package cluster

// mergeTable is the table of merged statuses, lower triangle: rows and columns
// in the order of the constants from Up to StandbyUpWithDown. Undef and
// NotApplicable are neutral and stay out of it.
var mergeTable = [...][]Status{
	{Up},
	{Warn, Down},
	{Warn, Warn, Warn},
	{StandbyUpWithUp, StandbyUpWithDown, Warn, StandbyUp},
	{Warn, StandbyDown, Warn, Warn, StandbyDown},
	{StandbyUpWithUp, Warn, Warn, StandbyUpWithUp, Warn, StandbyUpWithUp},
	{Warn, StandbyUpWithDown, Warn, StandbyUpWithDown, Warn, Warn, StandbyUpWithDown},
}

// Merge combines the statuses of two resources. It is commutative and
// associative over all nine statuses, so the order of a merge never shows; every
// status is idempotent; Undef is neutral, NotApplicable is neutral too but for
// Undef, which it absorbs. The result may be one of the two internal statuses:
// merge all, then take [Status.Plain]. Plain loses the memory, so merging plain
// results again is not the same as merging what they came from.
func Merge(a, b Status) Status {
	a, b = min(a, b), max(a, b)
	switch {
	case a <= Undef || a > StandbyUpWithDown:
		return b
	case b > StandbyUpWithDown:
		return a
	case a == NotApplicable:
		return b
	}
	return mergeTable[b-Up][a-Up]
}

// MergeProvisioned combines provisioned states: Undef and NotApplicable are
// neutral, NotApplicable absorbing Undef, and different states are mixed. It is
// commutative, associative and idempotent.
func MergeProvisioned(a, b Provisioned) Provisioned {
	a, b = min(a, b), max(a, b)
	switch {
	case a <= ProvisionedNotApplicable || a == b:
		return b
	default:
		return ProvisionedMixed
	}
}
