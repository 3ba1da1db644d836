//go:build lab

package simulate_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/holdfast-ops/holdfast/internal/om/simulate"
)

// As TestNoOrderOfEventsBreaksALaw, further.
func TestLabNoOrderOfEventsBreaksALaw(t *testing.T) {
	t.Parallel()
	explore(t, 30000, 3)
}

// Random stories, each time others: failures shrink, and are printed as a scenario
// with their seed.
func TestLabRandomStoriesBreakNoLaw(t *testing.T) {
	t.Parallel()
	for size, all := range map[string]map[string]tale{"small": tales(4, 12), "large": tales(50, 40)} {
		for name, o := range all {
			t.Run(size+" "+name, func(t *testing.T) {
				t.Parallel()
				rapid.Check(t, func(rt *rapid.T) {
					s := o.draw(rt)
					if err := s.broken(rt, simulate.Options{}); err != nil {
						rt.Fatalf("%v\n%s", err, s)
					}
				})
			})
		}
	}
}
