package sweep_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ops/holdfast/internal/krops/sweep"
)

func TestASweepRemovesExactlyOurs(t *testing.T) {
	t.Parallel()
	a, scope := full()
	c := sweep.Open(options(a.Serve(t)), north)
	foreign, count := a.Dump(other), len(a.Owned(me))+len(a.Owned(other))
	if count < 200 {
		t.Errorf("only %d resources", count)
	}
	for _, u := range sweep.Units() {
		if found := c.Look(t.Context(), u, scope); !found.Presence().There() {
			t.Errorf("%s: %v", u, found.Presence())
		}
	}

	said, errs := sweepAll(t, c, scope)

	for _, err := range errs {
		t.Error(err)
	}
	if diff := cmp.Diff([]string(nil), a.Owned(me)); diff != "" {
		t.Errorf("left:\n%s\nsaid:\n%s", diff, said)
	}
	if diff := cmp.Diff(foreign, a.Dump(other)); diff != "" {
		t.Errorf("another's:\n%s", diff)
	}
	for _, u := range sweep.Units() {
		if found := c.Look(t.Context(), u, scope); !found.Presence().Gone() {
			t.Errorf("%s: %v", u, found.Presence())
		}
	}
	if err := c.Verify(t.Context(), scope); err != nil {
		t.Error(err)
	}
	before := len(a.Changes())
	if _, errs := sweepAll(t, c, scope); len(errs) > 0 || len(a.Changes()) != before {
		t.Errorf("a second sweep: %v, %v", errs, a.Changes()[before:])
	}
}
