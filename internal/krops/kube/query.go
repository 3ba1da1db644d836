package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/holdfast-ops/holdfast/internal/krops/plan"
)

// page is how many objects are listed at once.
const page = "500"

// Get returns an object. namespace is "" for kinds that live in none.
func (c *Cluster) Get(ctx context.Context, kind schema.GroupKind, namespace, name string) (*unstructured.Unstructured, error) {
	if name == "" {
		return nil, fmt.Errorf("get %s: no name", kind.Kind)
	}
	var found *unstructured.Unstructured
	err := c.with(ctx, kind, func(r resource) error {
		answer, err := c.ask(ctx, c.rest.Get().AbsPath(r.path(namespace, name)...))
		if err != nil {
			return ofName(err, name)
		}
		found, err = object(answer, kind.Kind, name)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("get %s %s: %w", kind.Kind, slashed(namespace, name), err)
	}
	return found, nil
}

// ofName makes sure that a server that does not find something speaks of the
// object that was asked for.
func ofName(err error, name string) error {
	var status apierrors.APIStatus
	if !pageMissing(err) && apierrors.IsNotFound(err) && errors.As(err, &status) && status.Status().Details.Name != name {
		return &answerError{"not found is said of " + status.Status().Details.Name + ", which was not asked for"}
	}
	return err
}

// object reads an object of a kind and a name.
func object(answer []byte, kind, name string) (*unstructured.Unstructured, error) {
	u := &unstructured.Unstructured{}
	if err := utiljson.Unmarshal(answer, &u.Object); err != nil || u.Object == nil {
		return nil, &answerError{"no JSON object"}
	}
	if got := u.GetKind(); got != kind {
		return nil, &answerError{fmt.Sprintf("a %q where a %s was asked for", got, kind)}
	}
	if got := u.GetName(); got != name {
		return nil, &answerError{fmt.Sprintf("%s %q where %q was asked for", kind, got, name)}
	}
	return u, nil
}

// ListOption narrows a listing.
type ListOption func(parameters map[string]string)

// Labelled keeps the objects a label selector matches.
func Labelled(selector string) ListOption {
	return func(p map[string]string) { p["labelSelector"] = selector }
}

// List returns the objects of a kind in a namespace, in all namespaces when that
// is "". An error is never a short list: all objects are returned, or none.
func (c *Cluster) List(ctx context.Context, kind schema.GroupKind, namespace string, options ...ListOption) ([]unstructured.Unstructured, error) {
	parameters := map[string]string{"limit": page}
	for _, o := range options {
		o(parameters)
	}
	var found []unstructured.Unstructured
	err := c.with(ctx, kind, func(r resource) error {
		var err error
		found, err = c.pages(ctx, r, namespace, parameters)
		if apierrors.IsResourceExpired(err) {
			// The pages belong to a state the server has dropped: all at once then.
			delete(parameters, "limit")
			found, err = c.pages(ctx, r, namespace, parameters)
		}
		return err
	})
	if err != nil {
		if namespace == "" {
			return nil, fmt.Errorf("list %s: %w", kind.Kind, err)
		}
		return nil, fmt.Errorf("list %s in %s: %w", kind.Kind, namespace, err)
	}
	return found, nil
}

func (c *Cluster) pages(ctx context.Context, r resource, namespace string, parameters map[string]string) ([]unstructured.Unstructured, error) {
	var found []unstructured.Unstructured
	for next := ""; ; {
		request := c.rest.Get().AbsPath(r.path(namespace, "")...)
		for name, value := range parameters {
			request.Param(name, value)
		}
		if next != "" {
			request.Param("continue", next)
		}
		answer, err := c.ask(ctx, request)
		if err != nil {
			return nil, err
		}
		items, after, err := list(answer, r)
		if err != nil {
			return nil, err
		}
		found = append(found, items...)
		if after == "" {
			return found, nil
		}
		if after == next {
			return nil, &answerError{"a list that does not end"}
		}
		next = after
	}
}

// list reads a list. What has no items is none, whatever else it is.
func list(answer []byte, r resource) (items []unstructured.Unstructured, next string, err error) {
	var read struct {
		Kind       string
		APIVersion string
		Metadata   struct{ Continue string }
		Items      *[]json.RawMessage
	}
	if err := json.Unmarshal(answer, &read); err != nil {
		return nil, "", &answerError{"no JSON list"}
	}
	if !strings.HasSuffix(read.Kind, "List") || read.Items == nil {
		return nil, "", &answerError{fmt.Sprintf("a %q without items where a list of %s was asked for", read.Kind, r.kind)}
	}
	items = make([]unstructured.Unstructured, 0, len(*read.Items))
	for _, raw := range *read.Items {
		u := unstructured.Unstructured{}
		if err := utiljson.Unmarshal(raw, &u.Object); err != nil || u.Object == nil || u.GetName() == "" {
			return nil, "", &answerError{"a list with an item that is no object"}
		}
		// Lists of the oldest kinds do not repeat it in each item.
		u.SetGroupVersionKind(r.GroupVersion().WithKind(r.kind))
		items = append(items, u)
	}
	return items, read.Metadata.Continue, nil
}

// Lookup tells whether an object is there.
func (c *Cluster) Lookup(ctx context.Context, kind schema.GroupKind, namespace, name string) plan.Presence {
	_, err := c.Get(ctx, kind, namespace, name)
	a := Classify(err, false)
	if err == nil {
		a.Items = []string{slashed(namespace, name)}
	}
	return plan.Lookup(a)
}

// Listing returns the names, namespace/name, of the objects of a kind that keep
// holds for; nil keeps all. namespace "" is all of them.
func (c *Cluster) Listing(ctx context.Context, kind schema.GroupKind, namespace string, keep func(*unstructured.Unstructured) bool) plan.Listing {
	found, err := c.List(ctx, kind, namespace)
	a := Classify(err, false)
	for i := range found {
		if keep == nil || keep(&found[i]) {
			a.Items = append(a.Items, Name(&found[i]))
		}
	}
	return plan.List(a)
}

// Name is how an object is called: namespace/name, or name where it lives in no
// namespace.
func Name(u *unstructured.Unstructured) string { return slashed(u.GetNamespace(), u.GetName()) }

func slashed(namespace, name string) string {
	if namespace == "" {
		return name
	}
	return namespace + "/" + name
}
