package run_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/holdfast-ops/holdfast/internal/krops/plan"
)

func TestEveryVerbGetsToItsEndAndThenHasNothingToDo(t *testing.T) {
	t.Parallel()
	for _, c := range stories(t) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &site{truth: c.world, slow: 2}
				report, _, err := carry(t, t.Context(), c.plan, s)
				if !fine(err) || !report.Acted {
					t.Fatalf("%v after %v", err, s.steps)
				}
				first := s.steps

				c.settings.Recreate = false
				s.lasting = nil
				if _, _, err := carry(t, t.Context(), c.plan, s); !fine(err) {
					t.Error(err)
				}
				if len(s.lasting) > 0 {
					t.Errorf("done again: %v; before: %v", s.lasting, first)
				}
			})
		})
	}
}

// A run that is killed has done its step, or half of it, and told nobody.
func TestARunThatIsKilledAnywhereIsTakenUpByTheNext(t *testing.T) {
	t.Parallel()
	for _, c := range telling(t) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				whole := &site{truth: c.world, slow: 1}
				if _, _, err := carry(t, t.Context(), c.plan, whole); !fine(err) {
					t.Fatal(err)
				}
				for at := range whole.steps {
					killed(t, c, whole, at, at%2 == 0)
				}
			})
		})
	}
}

func killed(t *testing.T, c story, whole *site, at int, after bool) {
	t.Helper()
	c.settings.Recreate = slices.Contains(whole.steps, "recreate-kind")
	ctx, kill := context.WithCancel(t.Context())
	defer kill()
	s := &site{truth: c.world, slow: 1}
	s.act = func(plan.Step) error {
		if len(s.steps) == at && !after {
			kill()
			return errors.New("killed")
		}
		return nil
	}
	s.acted = func(plan.Step) {
		if len(s.steps) == at+1 && after {
			kill()
		}
	}
	if _, _, err := carry(t, ctx, c.plan, s); !errors.Is(err, context.Canceled) && (!after || at+1 < len(whole.steps)) {
		t.Errorf("killed at %s: %v", whole.steps[at], err)
	}
	s.act, s.acted = nil, nil
	for _, step := range s.steps {
		if step == "recreate-kind" {
			c.settings.Recreate = false // as the hint of the run says
		}
	}

	if _, _, err := carry(t, t.Context(), c.plan, s); !fine(err) {
		t.Errorf("killed at %s (after it: %v), then: %v", whole.steps[at], after, err)
	}

	want, got := whole.truth.Forget(), s.truth.Forget()
	for _, f := range slices.Concat(want.Facts(), got.Facts()) {
		if want.Of(f).There() != got.Of(f).There() {
			t.Errorf("killed at %s (after it: %v): %s is %v, not %v", whole.steps[at], after, string(f), got.Of(f), want.Of(f))
		}
	}
}
