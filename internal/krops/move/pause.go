package move

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/holdfast-ops/holdfast/internal/krops/kube"
	"github.com/holdfast-ops/holdfast/internal/retry"
)

// oursLabel marks a Cluster or ClusterClass that a move has paused. It comes and
// goes in one write with the pause, and is copied with it: so on either side, at
// any moment, it is certain whose a pause is.
const oursLabel = "krops.io/paused-by-move"

// paused tells whether a Cluster or a ClusterClass is paused, in either way.
func paused(u *unstructured.Unstructured) bool {
	spec, _, _ := unstructured.NestedBool(u.Object, "spec", "paused")
	_, annotation := u.GetAnnotations()[pausedLabel]
	return spec || annotation
}

// ours tells whether a move has paused it.
func ours(u *unstructured.Unstructured) bool {
	_, marked := u.GetAnnotations()[oursLabel]
	return marked
}

// pausable lists the Clusters and ClusterClasses that a move pauses: those that
// leave the source.
func (g *graph) pausable() []*node {
	var list []*node
	for _, n := range g.moved() {
		if (n.GroupKind == kube.CAPICluster || n.GroupKind == kube.CAPIClusterClass) && !n.keep {
			list = append(list, n)
		}
	}
	return list
}

// pause pauses what nobody paused. It returns what its operator had paused.
func (s *side) pause(ctx context.Context, list []*node) (operator []string, err error) {
	for _, n := range list {
		var left bool
		err := s.turn(ctx, n.kind, n.namespace, n.name, func(u *unstructured.Unstructured) (on, act bool) {
			left = paused(u) && !ours(u)
			return true, !paused(u)
		})
		if err != nil {
			return nil, fmt.Errorf("pause %s of the %s cluster: %w", n.key, s.name, err)
		}
		if left {
			operator = append(operator, n.key.String())
		}
	}
	return operator, nil
}

// resume lifts the pauses of moves in a namespace, and no other.
func (s *side) resume(ctx context.Context, namespace string) error {
	marked, err := s.marked(ctx, namespace)
	if err != nil {
		return err
	}
	// Classes first: a Cluster needs its class.
	for _, m := range marked {
		err := s.turn(ctx, m.kind, m.namespace, m.name, func(u *unstructured.Unstructured) (on, act bool) { return false, ours(u) })
		if err != nil {
			return fmt.Errorf("resume %s of the %s cluster: %w", m.key, s.name, err)
		}
	}
	return nil
}

// marked lists what moves have paused in a namespace, classes first.
func (s *side) marked(ctx context.Context, namespace string) ([]item, error) {
	var list []item
	for _, of := range []key{{GroupKind: kube.CAPIClusterClass}, {GroupKind: kube.CAPICluster}} {
		k, err := s.kind(ctx, of.GroupKind)
		if err != nil {
			return nil, err
		}
		if k == nil {
			continue
		}
		err = s.each(ctx, k.gvr(), k.Kind, namespace, page, func(u *unstructured.Unstructured) error {
			if ours(u) {
				list = append(list, item{key: key{k.GroupKind(), u.GetNamespace(), u.GetName()}, kind: *k, uid: u.GetUID()})
			}
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("list %s of the %s cluster: %w", k.resource, s.name, err)
		}
	}
	return list, nil
}

// turn pauses or resumes an object as decide says of its present state. What is
// gone needs neither.
func (s *side) turn(ctx context.Context, k kind, namespace, name string, decide func(*unstructured.Unstructured) (on, act bool)) error {
	return retry.Until(ctx, retry.Policy{Interval: 100 * time.Millisecond, Max: time.Second}, func(ctx context.Context) (bool, error) {
		u, err := s.get(ctx, k.gvr(), namespace, name)
		if err != nil || u == nil {
			return true, err
		}
		on, act := decide(u)
		if !act {
			return true, nil
		}
		_, err = s.merge(ctx, k.gvr(), namespace, name, pausePatch(k, u.GetResourceVersion(), on))
		if apierrors.IsConflict(err) {
			return false, nil
		}
		if gone(err) {
			return true, nil
		}
		return true, err
	})
}

// pausePatch pauses a kind or resumes it, if it is still in the version seen.
// Resuming drops the field, so that nobody owns it.
func pausePatch(k kind, version string, on bool) []byte {
	var field, mark any
	if on {
		field, mark = true, ""
	}
	annotations := map[string]any{oursLabel: mark}
	patch := map[string]any{"metadata": map[string]any{"resourceVersion": version, "annotations": annotations}}
	if k.GroupKind() == kube.CAPIClusterClass {
		annotations[pausedLabel] = mark
	} else {
		patch["spec"] = map[string]any{"paused": field}
	}
	text, err := json.Marshal(patch)
	if err != nil {
		return nil // of strings and truths: cannot be
	}
	return text
}
