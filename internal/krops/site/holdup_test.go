package site_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/holdfast-ops/holdfast/internal/krops/site"
)

func TestWhatHoldsADeletionUp(t *testing.T) {
	t.Parallel()
	condition := func(kind, status, reason, message, since string) any {
		return map[string]any{"type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": since}
	}
	object := func(meta, spec map[string]any, conditions ...any) map[string]any {
		return map[string]any{"metadata": meta, "spec": spec, "status": map[string]any{"conditions": conditions}}
	}
	going := map[string]any{"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": []any{"a", "b"}}
	for name, c := range map[string]struct {
		object map[string]any
		want   string
	}{
		"what is being deleted says why": {
			object(going, nil, condition("Deleting", "True", "WaitingForControlPlane", "* Control plane deletion\n  in progress", "3"), condition("Ready", "False", "x", "y", "4")),
			"waiting for finalizer a, b; * Control plane deletion in progress",
		},
		"else what went wrong last": {
			object(going, nil, condition("InfrastructureReady", "False", "NoAccess", "", "2"), condition("Available", "Unknown", "r", "older", "1"), condition("Paused", "False", "NotPaused", "", "3"),
				condition("Good", "True", "Fine", "well", "9")),
			"waiting for finalizer a, b; InfrastructureReady: NoAccess",
		},
		"a paused one": {
			object(going, map[string]any{"paused": true}),
			"it is paused, so its controllers leave it alone (set spec.paused to false); waiting for finalizer a, b",
		},
		"one that came meanwhile": {object(map[string]any{}, nil), "its deletion is not asked for yet"},
		"one that says nothing":   {object(map[string]any{"deletionTimestamp": "2026-01-01T00:00:00Z"}, nil, "nonsense"), "no reason is given"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			same(t, site.Holdup(&unstructured.Unstructured{Object: c.object}), c.want)
		})
	}
}
