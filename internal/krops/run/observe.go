package run

import (
	"context"
	"fmt"

	"github.com/holdfast-ops/holdfast/internal/krops/plan"
)

// Observe asks all that a plan wants to know, once, and changes nothing. What
// cannot be asked is a failure in the world that it returns.
func Observe(ctx context.Context, by func(plan.World) plan.Plan, s Site) (plan.World, error) {
	var w plan.World
	asked := map[plan.Fact]bool{}
	for {
		facts := wanted(by(w), w, asked)
		if len(facts) == 0 {
			return w, nil
		}
		for _, f := range facts {
			asked[f] = true
			w = s.Observe(ctx, w, f)
			if err := ctx.Err(); err != nil {
				return w, fmt.Errorf("ask about %s: %w", f, err)
			}
		}
	}
}

// wanted are the questions of the first step that has any which were not put yet.
func wanted(p plan.Plan, w plan.World, asked map[plan.Fact]bool) []plan.Fact {
	for _, s := range p.Steps {
		var facts []plan.Fact
		for _, f := range s.Asks {
			if !asked[f] && w.Askable(f) {
				facts = append(facts, f)
			}
		}
		if len(facts) > 0 {
			return facts
		}
	}
	return nil
}
