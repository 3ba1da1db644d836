package move

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/holdfast-ops/holdfast/internal/krops/kube"
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
		busy   = []string{"it did not answer"}
		last   *graph
	)
	err := retry.Until(limited, retry.Policy{Interval: m.Quiet / 4}, func(ctx context.Context) (bool, error) {
		g, err := m.source.discover(ctx, m.Namespace)
		if err != nil {
			return false, err
		}
		now := g.versions()
		if busy = g.busy(); len(busy) > 0 {
			stopped, err := m.source.stopped(ctx)
			if err != nil {
				return false, err
			}
			if stopped {
				busy = nil // what they say is of the time before
			}
		}
		if now != before || len(busy) > 0 {
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
		return nil, fmt.Errorf("the controllers of the source cluster did not come to rest within %v: %s; look at what they do, or scale the Deployments of the providers to 0 and run the same command again",
			m.IdleBudget, few(busy))
	}
	return last, err
}

// stopped tells whether somebody has scaled all controllers of the providers down.
func (s *side) stopped(ctx context.Context) (bool, error) {
	const ofProvider = "cluster.x-k8s.io/provider"
	var list *unstructured.UnstructuredList
	err := s.persist(ctx, func(ctx context.Context) (err error) {
		list, err = s.in(deployments, "").List(ctx, metav1.ListOptions{LabelSelector: ofProvider})
		return err
	})
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("list the controllers of the %s cluster: %w", s.name, err)
	}
	for i := range list.Items {
		wanted, set, _ := unstructured.NestedInt64(list.Items[i].Object, "spec", "replicas")
		running, _, _ := unstructured.NestedInt64(list.Items[i].Object, "status", "replicas")
		if !set || wanted > 0 || running > 0 {
			return false, nil
		}
	}
	return len(list.Items) > 0, nil
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
	if !n.ofCluster && (n.GroupKind != kube.CAPIClusterClass || n.keep) {
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
