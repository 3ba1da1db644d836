package move

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-ops/holdfast/internal/retry"
)

// blockLabel marks an object whose controller is in the middle of something.
const blockLabel = "clusterctl.cluster.x-k8s.io/block-move"

// idle waits until nothing acts on the objects of a namespace: each controller
// that tells whether it is paused says so of the present state, no object asks to
// wait, and none changes for a while.
func (m *mover) idle(ctx context.Context) (*graph, error) {
	limited, cancel := context.WithTimeout(ctx, m.IdleBudget)
	defer cancel()
	var (
		since  time.Time
		before string
		busy   []string
		last   *graph
	)
	err := retry.Until(limited, retry.Policy{Interval: m.Quiet / 4}, func(ctx context.Context) (bool, error) {
		g, err := m.source.discover(ctx, m.Namespace)
		if err != nil {
			return false, err
		}
		now := g.versions()
		if busy = g.busy(); now != before || len(busy) > 0 {
			if len(busy) == 0 {
				busy = []string{"objects still change"}
			}
			before, since = now, m.Now()
			return false, nil
		}
		last = g
		return m.Now().Sub(since) >= m.Quiet, nil
	})
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return nil, fmt.Errorf("the controllers of the source cluster did not come to rest within %v: %s", m.IdleBudget, few(busy))
	}
	return last, err
}

// versions is the same as long as nothing changes.
func (g *graph) versions() string {
	var b strings.Builder
	for _, n := range g.moved() {
		b.WriteString(string(n.uid) + "=" + n.object.GetResourceVersion() + ";")
	}
	return b.String()
}

// busy lists the objects a controller may still act on.
func (g *graph) busy() []string {
	var list []string
	for _, n := range g.moved() {
		if why := n.busy(); why != "" {
			list = append(list, n.key.String()+" "+why)
		}
	}
	slices.Sort(list)
	return list
}

func (n *node) busy() string {
	if _, ok := n.object.GetAnnotations()[blockLabel]; ok {
		return "asks moves to wait"
	}
	// What no Cluster is above is not paused with one.
	if !n.ofCluster && (n.GroupKind != classKind || n.keep) {
		return ""
	}
	c := conditionOf(n.object, "Paused")
	if c == nil {
		return ""
	}
	if c["status"] != "True" {
		return "is not paused yet"
	}
	if seen, ok := c["observedGeneration"].(int64); ok && seen > 0 && seen < n.object.GetGeneration() {
		return "is paused in an older state"
	}
	return ""
}
