package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Patch merges a JSON document into an object.
func (c *Cluster) Patch(ctx context.Context, kind schema.GroupKind, namespace, name string, merge []byte) error {
	if name == "" {
		return fmt.Errorf("patch %s: no name", kind.Kind)
	}
	err := c.with(ctx, kind, func(r resource) error {
		_, err := c.ask(ctx, c.rest.Patch(types.MergePatchType).AbsPath(r.path(namespace, name)...).Param("fieldManager", manager).Body(merge))
		return err
	})
	if err != nil {
		return fmt.Errorf("patch %s %s: %w", kind.Kind, slashed(namespace, name), guarded(kind, err))
	}
	return nil
}

// DeleteOption is a condition of a deletion.
type DeleteOption func(*metav1.DeleteOptions)

// Only deletes the object of that UID, and not another that took its name.
func Only(uid types.UID) DeleteOption {
	return func(o *metav1.DeleteOptions) { o.Preconditions = &metav1.Preconditions{UID: &uid} }
}

// Delete removes an object, and what it owns, without waiting for the end. One
// that is confirmed to be gone is no error.
func (c *Cluster) Delete(ctx context.Context, kind schema.GroupKind, namespace, name string, options ...DeleteOption) error {
	if name == "" {
		return fmt.Errorf("delete %s: no name", kind.Kind)
	}
	background := metav1.DeletePropagationBackground
	how := metav1.DeleteOptions{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "DeleteOptions"}, PropagationPolicy: &background}
	for _, o := range options {
		o(&how)
	}
	body, err := json.Marshal(how)
	if err != nil {
		return err
	}
	err = c.with(ctx, kind, func(r resource) error {
		_, err := c.ask(ctx, c.rest.Delete().AbsPath(r.path(namespace, name)...).SetHeader("Content-Type", "application/json").Body(body))
		return ofName(err, name)
	})
	if err == nil || Gone(err) {
		return nil
	}
	return fmt.Errorf("delete %s %s: %w", kind.Kind, slashed(namespace, name), err)
}

// guarded keeps what a server says of a Secret to itself: it may quote it.
func guarded(kind schema.GroupKind, err error) error {
	if kind != Secret || err == nil {
		return err
	}
	return &secretError{err}
}

type secretError struct{ err error }

func (e *secretError) Error() string {
	answer := Classify(e.err, false)
	if code, reason, ok := statusOf(e.err); ok {
		return fmt.Sprintf("the server refused it: %s (HTTP %d)", reason, code)
	}
	return answer.Failure.String()
}

// Unwrap returns the whole error, for its type.
func (e *secretError) Unwrap() error { return e.err }

func statusOf(err error) (code int32, reason metav1.StatusReason, ok bool) {
	var status interface{ Status() metav1.Status }
	if !errors.As(err, &status) {
		return 0, "", false
	}
	return status.Status().Code, status.Status().Reason, true
}
