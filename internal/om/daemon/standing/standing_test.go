package standing_test

import (
	"slices"
	"testing"

	"github.com/holdfast-ops/holdfast/internal/om/daemon/standing"
)

func TestAStandingConditionIsNewsOnceAndWhenItChanges(t *testing.T) {
	t.Parallel()
	var c standing.Conditions

	got := []bool{c.News("a", "x"), c.News("a", "x"), c.News("b", "x"), c.News("a", "y"), c.News("a", "x")}
	c.Over("a")
	got = append(got, c.News("a", "x"), c.News("b", "x"))

	if want := []bool{true, false, true, true, true, true, false}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
