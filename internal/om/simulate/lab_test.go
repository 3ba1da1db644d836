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

// Long stories of large clusters.
func TestLabRandomStoriesOfLargeClustersBreakNoLaw(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]tale{
		"without quorum": {largest: 50, long: 40},
		"with quorum":    {largest: 50, long: 40, quorum: true},
	} {
		t.Run(name, func(t *testing.T) {
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
