package orchestrate_test

import (
	"slices"
	"testing"

	"github.com/holdfast-ops/holdfast/internal/om/orchestrate"
)

func TestEveryGoalHasAStepFromEveryState(t *testing.T) {
	t.Parallel()
	for _, goal := range append(orchestrate.Goals(), orchestrate.None) {
		for _, state := range orchestrate.States() {
			if !orchestrate.StepKnown(goal, state) {
				t.Errorf("no step for goal %q from state %q", goal, state)
			}
		}
	}
}

func TestAnUnknownGoalOrStateHasNoStep(t *testing.T) {
	t.Parallel()
	if orchestrate.StepKnown("shiny", orchestrate.StateIdle) || orchestrate.StepKnown(orchestrate.Started, "shiny") {
		t.Error("the test of the table cannot fail")
	}
}

// The words of the documentation, but for those that need several nodes or a resize.
func TestTheStatesAreThoseOfTheDocumentation(t *testing.T) {
	t.Parallel()
	documented := []string{
		"init", "idle", "booting", "booted", "boot failed", "shutting", "shutdown failed", "shutdown", "starting", "start failed", "started",
		"stopping", "stop failed", "stopped", "freezing", "freeze failed", "frozen", "unfreezing", "unfreeze failed", "unfrozen",
		"provisioning", "provision failed", "provisioned", "unprovisioning", "unprovision failed", "unprovisioned",
		"deleting", "delete failed", "deleted", "wait children", "wait parents", "wait leader", "wait non-leader", "wait priors",
		"running", "syncing", "purge failed", "ready", "restarted",
	}
	for _, word := range documented {
		if !orchestrate.KnownState(word) {
			t.Errorf("state %q is documented and not known", word)
		}
	}
	for _, word := range orchestrate.States() {
		if !slices.Contains(documented, word) {
			t.Errorf("state %q is known and not documented", word)
		}
	}
}
