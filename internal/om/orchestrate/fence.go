package orchestrate

import (
	"maps"
	"slices"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// How long a fence that failed is left alone: once more for each failure, up to
// the longest.
const (
	fenceDelay   = 10 * time.Second
	longestFence = time.Minute
)

// Fencing is what is known of a node that was lost.
type Fencing struct {
	State FenceState
	// Unknown: the node was never heard since the daemon started. What it runs is
	// not known, so that it may be anything.
	Unknown bool
	Up      map[object.Path]bool // what it ran when it was lost
	At      time.Time            // of State
	RetryAt time.Time            // once it failed
	Reason  string               // why it failed
	Tries   int
	// Wanted: an object asks for it. The others start elsewhere without.
	Wanted bool
}

// Fences are the nodes that were lost, and how far their fencing is. The methods
// return a changed copy: a value is never changed.
type Fences map[string]Fencing

// Lost notes that a node is not heard any more, while it ran what is up. A node
// that is noted already stays as it is: it is fenced once.
func (f Fences) Lost(node string, up map[object.Path]bool, unknown bool, now time.Time) Fences {
	if _, ok := f[node]; ok {
		return f
	}
	return f.with(node, Fencing{State: FenceDue, Up: up, Unknown: unknown, At: now})
}

// Back forgets a node that is heard again, or that is no member any more.
func (f Fences) Back(node string) Fences {
	if _, ok := f[node]; !ok {
		return f
	}
	c := maps.Clone(f)
	delete(c, node)
	return c
}

// Begin starts to fence a node; false when there is nothing to start.
func (f Fences) Begin(node string, now time.Time) (Fences, bool) {
	x, ok := f[node]
	if !ok || x.State != FenceDue {
		return f, false
	}
	x.State, x.At, x.Tries = FenceRunning, now, x.Tries+1
	return f.with(node, x), true
}

// End notes how a fence ended. A node that came back, or that an operator said is
// off meanwhile, stays as it is.
func (f Fences) End(node, failure string, now time.Time) Fences {
	x, ok := f[node]
	if !ok || x.State != FenceRunning {
		return f
	}
	x.At, x.Reason, x.RetryAt = now, failure, time.Time{}
	x.State = FenceDone
	if failure != "" {
		x.State = FenceFailed
		x.RetryAt = now.Add(min(time.Duration(x.Tries)*fenceDelay, longestFence))
	}
	return f.with(node, x)
}

// Confirm notes that a node is known to be off: another node fenced it, or an
// operator says so.
func (f Fences) Confirm(node string, state FenceState, reason string, now time.Time) Fences {
	x, ok := f[node]
	if !ok || !x.State.Blocks() {
		return f
	}
	x.State, x.At, x.Reason, x.RetryAt = state, now, reason, time.Time{}
	return f.with(node, x)
}

// Tick makes the fences due again that failed long enough ago, and says when to
// look again; zero for never.
func (f Fences) Tick(now time.Time) (Fences, time.Time) {
	var next time.Time
	for _, node := range slices.Sorted(maps.Keys(f)) {
		x := f[node]
		switch {
		case x.State != FenceFailed:
		case !now.Before(x.RetryAt):
			x.State, x.At = FenceDue, now
			f = f.with(node, x)
		case next.IsZero() || x.RetryAt.Before(next):
			next = x.RetryAt
		}
	}
	return f, next
}

// Of are the fences that concern an object: those of the nodes that ran it when
// they were lost, or that may have. The fence of a best effort object that failed
// holds nothing up.
func (f Fences) Of(p object.Path, bestEffort bool) map[string]FenceState {
	var states map[string]FenceState
	for node, x := range f {
		if !x.Unknown && !x.Up[p] {
			continue
		}
		if states == nil {
			states = map[string]FenceState{}
		}
		states[node] = x.State
		if bestEffort && x.Tries > 0 && x.Reason != "" && x.State.Blocks() {
			states[node] = FenceOverridden
		}
	}
	return states
}

func (f Fences) with(node string, x Fencing) Fences {
	c := maps.Clone(f)
	if c == nil {
		c = Fences{}
	}
	c[node] = x
	return c
}
