package orchestrate

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// RefusedError says why a goal was not accepted.
type RefusedError struct {
	Path   object.Path
	Goal   string
	Reason string
	// Unsupported: objects of this kind are never given that goal.
	Unsupported bool
	// Seen: what was last seen of the instance is the reason. It may be old.
	Seen bool
	// When another orchestration is the reason:
	OrchestrationID string
	InProgress      string // its goal
	Since           time.Time
}

// Error names the object, the goal and the reason.
func (e *RefusedError) Error() string {
	return fmt.Sprintf("%s: %s refused: %s", e.Path, e.Goal, e.Reason)
}

// Accept returns the monitor that pursues goal, or says why it is refused.
func Accept(w World, goal string, options map[string]any, id string) (cluster.InstanceMonitor, error) {
	m := monitor(w.self().Monitor)
	if err := refuse(w, m, goal); err != nil {
		return cluster.InstanceMonitor{}, err
	}
	options, err := resolve(w, goal, options)
	if err != nil {
		return cluster.InstanceMonitor{}, err
	}
	m.GlobalExpect, m.GlobalExpectUpdatedAt, m.GlobalExpectOptions = goal, w.after(), options
	m.OrchestrationID, m.OrchestrationIsDone, m.OrchestrationFailure = id, false, ""
	if m.LocalExpect == Evicted {
		m.LocalExpect, m.LocalExpectUpdatedAt = None, w.Now
	}
	if lifts(goal) {
		m.Resources = nil // counted again from the full budget: somebody looks after it
	}
	if restful(goal, m.State) {
		m.State, m.StateUpdatedAt = StateIdle, w.Now
	}
	m.UpdatedAt = w.Now
	return m, nil
}

// ActsOnResources reports whether what is done about a goal depends on what the
// resources are.
func ActsOnResources(goal string) bool {
	switch goal {
	case Started, Stopped, Restarted, Provisioned, Unprovisioned, Purged, PlacedAt, Placed:
		return true
	}
	return false
}

func refuse(w World, m cluster.InstanceMonitor, goal string) error {
	refused := func(format string, a ...any) *RefusedError {
		return &RefusedError{Path: w.Path, Goal: goal, Reason: fmt.Sprintf(format, a...)}
	}
	avail := w.self().avail()
	switch {
	case !slices.Contains(Goals(), goal):
		return refused("unknown goal: use one of %s, %s", strings.Join(Goals(), ", "), Aborted)
	case m.GlobalExpect != None && !m.OrchestrationIsDone:
		e := refused("orchestration %s (%s) is in progress since %s, for %s: wait for its end, or give it up with `om %s abort`",
			m.OrchestrationID, m.GlobalExpect, m.GlobalExpectUpdatedAt.Format(time.TimeOnly),
			w.Now.Sub(m.GlobalExpectUpdatedAt).Round(time.Second), w.Path)
		e.OrchestrationID, e.InProgress, e.Since = m.OrchestrationID, m.GlobalExpect, m.GlobalExpectUpdatedAt
		return e
	case goal == Deleted || goal == Purged && !w.Path.Kind.Runs():
		return nil
	case !w.Path.Kind.Runs():
		e := refused("objects of kind %s run nothing", w.Path.Kind)
		e.Unsupported = true
		return e
	case len(w.Config.Issues) > 0:
		return refused("its configuration cannot be evaluated: %s", strings.Join(w.Config.Issues, "; "))
	case w.Config.Disabled && goal != Frozen && goal != Unfrozen:
		return refused("the instance is disabled: `om %s config update --unset disable`", w.Path)
	case w.Rejoin:
		return refused("the node is back, and does not know its peers yet: ask again, or ask another node")
	case lifts(goal) && !w.Quorum:
		return refused("the node is not in a majority%s: ask a node that is", w.Votes.words())
	case goal == Started && w.isStarted() && !w.anyHeld():
		e := refused("it is started already")
		e.Seen = true
		return e
	case goal == Restarted && w.self().Status != nil && !restartable(w.self(), true) && w.alone():
		e := refused("it is %s, there is nothing to restart: use `om %s start`", avail, w.Path)
		e.Seen = true
		return e
	}
	return nil
}

// Abort returns the monitor that pursues nothing any more. What runs goes on to
// its end; what was waited for is not any more.
func Abort(m cluster.InstanceMonitor, now time.Time) cluster.InstanceMonitor {
	m = monitor(&m)
	forgetGoal(&m, GivenUp, "given up on request", now, false)
	if IsWaiting(m.State) {
		m.State, m.StateUpdatedAt = StateIdle, now
	}
	m.UpdatedAt = now
	return m
}

// Clear returns the monitor without its failure, and the memory without what
// keeps from trying again; false when there was nothing to clear.
func Clear(m cluster.InstanceMonitor, memory Memory, now time.Time) (cluster.InstanceMonitor, Memory, bool) {
	m = monitor(&m)
	cleared := false
	if IsFailure(m.State) {
		m.State, m.StateUpdatedAt, cleared = StateIdle, now, true
	}
	if !m.MonitorActionExecutedAt.IsZero() {
		m.MonitorActionExecutedAt, cleared = time.Time{}, true
	}
	for _, r := range m.Resources {
		cleared = cleared || !r.Restart.LastAt.IsZero()
	}
	m.Resources = nil // counted again from the full budget
	memory.Eviction, memory.RetryAt = Eviction{}, time.Time{}
	if cleared {
		m.UpdatedAt = now
	}
	return m, memory, cleared
}

// Progress returns the monitor after a command said what it does to the
// instance; partial when it acts on some resources only.
func Progress(m cluster.InstanceMonitor, state, sessionID string, partial bool, now time.Time) (cluster.InstanceMonitor, error) {
	if !KnownState(state) {
		return m, fmt.Errorf("unknown instance state %q: use one of %s", state, strings.Join(States(), ", "))
	}
	m = monitor(&m)
	if IsFailure(state) && m.GlobalExpect != None {
		state = StateIdle // the failure is that of the command: the goal goes on
	}
	if m.State != state {
		m.State, m.StateUpdatedAt = state, now
	}
	m.SessionID = sessionID
	if !partial && m.LocalExpect != None {
		switch state {
		case StateStopping, StateShutting, StateUnprovisioning, StateDeleting:
			m.LocalExpect, m.LocalExpectUpdatedAt = None, now
		}
	}
	m.UpdatedAt = now
	return m, nil
}
