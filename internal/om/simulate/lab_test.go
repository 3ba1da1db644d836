//go:build lab

package simulate_test

import (
	"flag"
	"testing"

	"pgregory.net/rapid"

	"github.com/holdfast-ops/holdfast/internal/om/simulate"
)

// As TestNoOrderOfEventsBreaksALaw, further.
func TestLabNoOrderOfEventsBreaksALaw(t *testing.T) {
	t.Parallel()
	explore(t, 15000, 3)
}

// The stories are the same each time, so that a change is judged by what it does.
// Others: -rapid.seed. Failures shrink, and are printed as a scenario.
func TestMain(m *testing.M) {
	if err := flag.Set("rapid.seed", "1"); err != nil { // before the command line is read
		panic(err)
	}
	m.Run() // the end of the process tells how it went
}

// Random stories, further.
func TestLabRandomStoriesBreakNoLaw(t *testing.T) {
	t.Parallel()
	drawStories(t, 4, 12)
}

// The same with up to fifty nodes. A story takes seconds, so that there are few of
// them unless -rapid.checks says otherwise.
func TestLabRandomStoriesOfLargeClustersBreakNoLaw(t *testing.T) { //nolint:paralleltest // it sets a flag for its time
	if checks := flag.Lookup("rapid.checks"); checks.Value.String() == checks.DefValue {
		if err := flag.Set("rapid.checks", "10"); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = flag.Set("rapid.checks", checks.DefValue) }() // what it was
	}
	drawStories(t, 50, 40)
}

func drawStories(t *testing.T, largest, long int) {
	t.Helper()
	for name, o := range tales(largest, long) {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				s := o.draw(rt)
				if err := s.broken(rt, simulate.Options{}); err != nil {
					rt.Fatalf("%v\n%s", err, s)
				}
			})
		})
	}
}
