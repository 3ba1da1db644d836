package instance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// undoing remembers what an action did, to undo it in reverse.
type undoing struct {
	mu    sync.Mutex
	steps []*undoStep
	rids  []string
}

type undoStep struct {
	m  *member
	do func(context.Context, *member) error
	of *undoing
}

// add is called right before something is done: a half done start is undone too.
func (u *undoing) add(m *member, do func(context.Context, *member) error) *undoStep {
	step := &undoStep{m: m, do: do, of: u}
	u.mu.Lock()
	u.steps = append(u.steps, step)
	u.mu.Unlock()
	u.act(m)
	return step
}

// cancel is for what turns out not to have been done.
func (s *undoStep) cancel() {
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	s.of.steps = slices.DeleteFunc(s.of.steps, func(other *undoStep) bool { return other == s })
}

// act remembers that the action acted on a resource.
func (u *undoing) act(m *member) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if !slices.Contains(u.rids, m.RID) {
		u.rids = append(u.rids, m.RID)
	}
}

// acted lists the resources the action acted on.
func (u *undoing) acted() []string {
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.Clone(u.rids)
}

// rollbackTimeout bounds an undo when no keyword does.
const rollbackTimeout = time.Minute

// rollback undoes what a failed action did, the last thing first, and adds what
// could not be undone to the failure. It goes on after an interrupt.
func (x *execution) rollback(ctx context.Context, failure error) error {
	x.undo.mu.Lock()
	steps := slices.Clone(x.undo.steps)
	x.undo.mu.Unlock()
	slices.Reverse(steps)
	if len(steps) == 0 || !x.rollsBack() {
		return failure
	}
	limit := rollbackTimeout
	for _, t := range []time.Duration{x.settings.Timeout, x.settings.StopTimeout} {
		if t > 0 {
			limit = t
		}
	}
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	errs := []error{failure}
	for _, s := range steps {
		s.m.env.Infof("rollback")
		if err := s.do(limited, s.m); err != nil {
			errs = append(errs, fmt.Errorf("rollback %s: %w", s.m.RID, err))
		}
	}
	return errors.Join(errs...)
}

// rollsBack reports whether a failure of the action is undone.
func (x *execution) rollsBack() bool {
	r := x.request
	return x.traits.rollback && x.settings.Rollback && !r.DisableRollback && !(r.Action == Provision && r.Leader)
}
