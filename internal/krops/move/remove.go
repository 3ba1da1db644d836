package move

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/holdfast-ops/holdfast/internal/retry"
)

// backwards returns items with dependents before their owners.
func backwards(items []item) []item {
	list := slices.Clone(items)
	slices.SortStableFunc(list, func(a, b item) int { return b.level - a.level })
	return list
}

// remove takes an object off a cluster, without any controller seeing it go: it
// loses its finalizers, and then exactly that version of it is deleted, which has
// none and is gone at once. With a UID it must be that one.
func (s *side) remove(ctx context.Context, i item) error {
	err := retry.Until(ctx, retry.Policy{Interval: 100 * time.Millisecond, Max: 2 * time.Second}, func(ctx context.Context) (bool, error) {
		u, err := s.get(ctx, i.kind.gvr(), i.namespace, i.name)
		if err != nil || u == nil {
			return true, err
		}
		if i.uid != "" && u.GetUID() != i.uid {
			return true, fmt.Errorf("it is another one than was moved (UID %s, not %s): something makes it anew; stop that, and delete it there", u.GetUID(), i.uid)
		}
		if u, err = s.strip(ctx, i, u); err != nil || u == nil {
			return u == nil && err == nil, settle(err)
		}
		uid, version, background := u.GetUID(), u.GetResourceVersion(), metav1.DeletePropagationBackground
		err = s.persist(ctx, func(ctx context.Context) error {
			return s.in(i.kind.gvr(), i.namespace).Delete(ctx, i.name, metav1.DeleteOptions{
				Preconditions: &metav1.Preconditions{UID: &uid, ResourceVersion: &version}, PropagationPolicy: &background,
			})
		})
		if err == nil || gone(err) {
			return true, nil
		}
		return false, settle(err)
	})
	if err != nil {
		return fmt.Errorf("remove %s from the %s cluster: %w", i.key, s.name, err)
	}
	return nil
}

// settle drops the errors after which one looks again.
func settle(err error) error {
	if apierrors.IsConflict(err) {
		return nil
	}
	return err
}

// strip takes the finalizers off an object and tells the webhooks why it goes. It
// returns nil when the object went with its last finalizer.
func (s *side) strip(ctx context.Context, i item, u *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	_, told := u.GetAnnotations()[removedLabel]
	if len(u.GetFinalizers()) == 0 && (told || i.Group == "") {
		return u, nil
	}
	meta := map[string]any{"resourceVersion": u.GetResourceVersion(), "finalizers": nil}
	if i.Group != "" {
		meta["annotations"] = map[string]any{removedLabel: ""}
	}
	patch, err := json.Marshal(map[string]any{"metadata": meta})
	if err != nil {
		return nil, err
	}
	stripped, err := s.merge(ctx, i.kind.gvr(), i.namespace, i.name, patch)
	if gone(err) {
		return nil, nil //nolint:nilnil // gone is the aim
	}
	if err == nil && stripped.GetDeletionTimestamp() != nil {
		return nil, nil //nolint:nilnil // it was being deleted, and nothing holds it any more
	}
	return stripped, err
}
