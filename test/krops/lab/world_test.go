//go:build lab_kube

package lab_test

import (
	"context"
	"testing"
	"time"

	"github.com/holdfast-ops/holdfast/internal/krops/kind"
	"github.com/holdfast-ops/holdfast/test/krops/lab"
)

func TestAWorldIsMade(t *testing.T) {
	t.Parallel()
	began := time.Now()
	w := lab.NewWorld(t, lab.WorldOptions{})
	t.Logf("a world after %s", time.Since(began).Round(time.Millisecond))
	ctx := t.Context()

	began = time.Now()
	kinds := lab.Kinds{Socket: w.Kinds.Socket}
	if err := kinds.Create(ctx, "mgmt", kind.Config{YAML: "x"}, func(string) {}); err != nil {
		t.Fatal(err)
	}
	t.Logf("a kind cluster after %s", time.Since(began).Round(time.Millisecond))

	ready := lab.Kind("", "Node")
	lab.Until(t, "a node that is ready", func(ctx context.Context) (bool, error) {
		nodes, err := w.Kind().List(ctx, ready, "")
		return len(nodes) == 1 && lab.Condition(&nodes[0], "Ready") == "True", err
	})
	if err := kinds.Delete(ctx, "mgmt"); err != nil {
		t.Fatal(err)
	}
	if there, err := kinds.Exists(ctx, "mgmt"); there || err != nil {
		t.Error(there, err)
	}
}
