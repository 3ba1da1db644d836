package move_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ops/holdfast/internal/krops/move"
)

// options are those of a test: nobody is waited for.
func options(source, target move.Cluster) move.Options {
	return move.Options{Source: source, Target: target, Namespace: ns, IdleBudget: time.Minute, Quiet: 4 * time.Millisecond, Patience: time.Millisecond}
}

func TestMoveTakesTheInventoryOfANamespace(t *testing.T) {
	t.Parallel()
	source, target := pair(t)
	before := source.ids()

	result, err := move.Move(context.Background(), options(source, target))
	if err != nil {
		t.Fatal(err)
	}
	var left, came []string
	for _, id := range before {
		if stays(id) {
			left = append(left, id)
		}
		if !stays(id) || id == "/secrets/capd-system/identity" || id == "infrastructure.cluster.x-k8s.io/devidentities//default" {
			came = append(came, id)
		}
	}
	if diff := cmp.Diff(left, source.ids()); diff != "" {
		t.Error("left at the source (-want +got):\n", diff)
	}
	if diff := cmp.Diff(came, target.ids()); diff != "" {
		t.Error("at the target (-want +got):\n", diff)
	}
	if result.Objects != len(came) {
		t.Errorf("%d objects are reported, %d came", result.Objects, len(came))
	}
}
