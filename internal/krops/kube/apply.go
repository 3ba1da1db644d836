package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/holdfast-ops/holdfast/internal/krops/plan"
	"github.com/holdfast-ops/holdfast/internal/retry"
)

// settling is how long a server may take to serve a kind it was just taught, and
// a webhook to answer that was just installed.
const settling = 3 * time.Minute

// Apply makes objects as they are described, field by field: fields that are not
// mentioned stay as they are. Namespaces come first, then definitions of kinds,
// then the others in their order.
func (c *Cluster) Apply(ctx context.Context, objects ...*unstructured.Unstructured) error {
	for _, u := range inOrder(objects) {
		if err := c.applyOne(ctx, u); err != nil {
			return fmt.Errorf("apply %s %s: %w", u.GetKind(), Name(u), guarded(u.GroupVersionKind().GroupKind(), err))
		}
	}
	return nil
}

// inOrder returns the objects in the order they are applied in.
func inOrder(objects []*unstructured.Unstructured) []*unstructured.Unstructured {
	var first, second, rest []*unstructured.Unstructured
	for _, u := range objects {
		switch u.GroupVersionKind().GroupKind() {
		case Namespace:
			first = append(first, u)
		case CustomResourceDefinition:
			second = append(second, u)
		default:
			rest = append(rest, u)
		}
	}
	return append(append(first, second...), rest...)
}

func (c *Cluster) applyOne(ctx context.Context, u *unstructured.Unstructured) error {
	ctx, cancel := context.WithTimeout(ctx, settling)
	defer cancel()
	var last error
	err := retry.Until(ctx, retry.Policy{Interval: 500 * time.Millisecond, Max: 5 * time.Second}, func(ctx context.Context) (bool, error) {
		_, err := c.patched(ctx, u, false)
		if err != nil && ctx.Err() != nil && last != nil {
			return false, ctx.Err()
		}
		last = err
		if err == nil {
			return true, nil
		}
		if passing(err) {
			return false, nil
		}
		return false, err
	})
	if err != nil && ctx.Err() != nil && last != nil {
		err = last
	}
	if pageMissing(err) {
		return fmt.Errorf("the server does not serve %s: %w", u.GetAPIVersion(), err)
	}
	return err
}

// passing tells whether a failure may be over soon: the kind is not served yet,
// or what has to admit the object does not answer yet.
func passing(err error) bool {
	switch Classify(err, false).Failure {
	case plan.NoSuchKind, plan.TimedOut, plan.Reset, plan.Undecodable:
		return true
	case plan.Unavailable:
		code, _, ok := statusOf(err)
		return ok && (code >= http.StatusInternalServerError || code == http.StatusTooManyRequests || code == http.StatusConflict)
	case plan.NoFailure, plan.NotFound, plan.Unauthorized, plan.Forbidden:
	}
	return false
}

// patched applies an object, or with dry has the server say what it would become.
func (c *Cluster) patched(ctx context.Context, u *unstructured.Unstructured, dry bool) (*unstructured.Unstructured, error) {
	kind := u.GroupVersionKind().GroupKind()
	var after *unstructured.Unstructured
	err := c.with(ctx, kind, func(r resource) error {
		u, path := located(u, r)
		body, err := json.Marshal(u.Object)
		if err != nil {
			return err
		}
		request := c.rest.Patch(types.ApplyYAMLPatchType).AbsPath(path...).Param("fieldManager", manager).Param("force", "true").Body(body)
		if dry {
			request.Param("dryRun", "All")
		}
		answer, err := c.ask(ctx, request)
		if err != nil {
			return err
		}
		after, err = object(answer, u.GetKind(), u.GetName())
		return err
	})
	return after, err
}

// located puts an object where it lives, and returns the path of it in its own
// version.
func located(u *unstructured.Unstructured, r resource) (*unstructured.Unstructured, []string) {
	u = u.DeepCopy()
	switch {
	case !r.namespaced:
		u.SetNamespace("")
	case u.GetNamespace() == "":
		u.SetNamespace("default")
	}
	r.Version = u.GroupVersionKind().Version
	return u, r.path(u.GetNamespace(), u.GetName())
}

// Differs tells whether applying objects would change anything. It asks the
// server, which changes nothing.
func (c *Cluster) Differs(ctx context.Context, objects ...*unstructured.Unstructured) (bool, error) {
	for _, u := range objects {
		differs, err := c.differs(ctx, u)
		if err != nil {
			return false, fmt.Errorf("compare %s %s: %w", u.GetKind(), Name(u), guarded(u.GroupVersionKind().GroupKind(), err))
		}
		if differs {
			return true, nil
		}
	}
	return false, nil
}

func (c *Cluster) differs(ctx context.Context, u *unstructured.Unstructured) (bool, error) {
	kind := u.GroupVersionKind().GroupKind()
	var before *unstructured.Unstructured
	err := c.with(ctx, kind, func(r resource) error {
		u, path := located(u, r)
		answer, err := c.ask(ctx, c.rest.Get().AbsPath(path...))
		if err != nil {
			return ofName(err, u.GetName())
		}
		before, err = object(answer, u.GetKind(), u.GetName())
		return err
	})
	if Gone(err) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	after, err := c.patched(ctx, u, true)
	if apierrors.IsBadRequest(err) {
		// A webhook with side effects refuses to be asked.
		return !holds(before.Object, u.Object), nil
	}
	if err != nil {
		return false, err
	}
	return !reflect.DeepEqual(essence(before, u), essence(after, u)), nil
}

// essence is an object without what the server keeps for itself.
func essence(u, described *unstructured.Unstructured) map[string]any {
	u = u.DeepCopy()
	for _, field := range []string{"managedFields", "resourceVersion", "generation", "creationTimestamp", "uid", "selfLink"} {
		unstructured.RemoveNestedField(u.Object, "metadata", field)
	}
	if _, ok := described.Object["status"]; !ok {
		delete(u.Object, "status")
	}
	return u.Object
}

// holds tells whether all that is described is in an object already.
func holds(object, described any) bool {
	switch described := described.(type) {
	case map[string]any:
		object, ok := object.(map[string]any)
		if !ok {
			return false
		}
		for key, value := range described {
			if !holds(object[key], value) {
				return false
			}
		}
		return true
	case []any:
		object, ok := object.([]any)
		if !ok || len(object) != len(described) {
			return false
		}
		for i, value := range described {
			if !holds(object[i], value) {
				return false
			}
		}
		return true
	}
	return reflect.DeepEqual(object, described)
}

// errNoObject is said of a document that describes nothing.
var errNoObject = errors.New("no object: apiVersion, kind and metadata.name are needed")
