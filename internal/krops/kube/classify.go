package kube

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/holdfast-ops/holdfast/internal/krops/plan"
)

// Classify says what a failed query proves. Only two failures are evidence that
// something is gone: the server says that it does not have the object of that
// name, or it listed its kinds and has none of that one. incomplete tells that it
// could not list them all; a [KindError] knows that itself.
//
// Errors are told apart by their type, never by their text.
func Classify(err error, incomplete bool) plan.Answer {
	a := plan.Answer{Failure: failure(err), Incomplete: incomplete}
	var kind *KindError
	if errors.As(err, &kind) && kind.Incomplete != nil {
		a.Incomplete = true
	}
	return a
}

func failure(err error) plan.Failure {
	var (
		kind    *KindError
		garbled *answerError
		status  apierrors.APIStatus
		network net.Error
		address *url.Error
	)
	switch {
	case err == nil:
		return plan.NoFailure
	case errors.As(err, &kind):
		return plan.NoSuchKind
	case errors.As(err, &garbled):
		return plan.Undecodable
	case errors.As(err, &status):
		return refusal(err, status)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled), errors.As(err, &network) && network.Timeout():
		return plan.TimedOut
	case errors.As(err, &network), errors.As(err, &address):
		return plan.Reset
	}
	return plan.Unavailable
}

// refusal is what a server meant that answered with a status.
func refusal(err error, status apierrors.APIStatus) plan.Failure {
	switch {
	case pageMissing(err):
		return plan.Undecodable
	case status.Status().Code == http.StatusNotFound:
		return plan.NotFound
	case apierrors.IsUnauthorized(err):
		return plan.Unauthorized
	case apierrors.IsForbidden(err):
		return plan.Forbidden
	case apierrors.IsTimeout(err), apierrors.IsServerTimeout(err):
		return plan.TimedOut
	}
	return plan.Unavailable
}

// Gone tells whether an error of [Cluster.Get], [Cluster.Patch] or [Cluster.Delete]
// is evidence that the object is not there. Of the error of a listing it tells
// nothing: what a server does not find then is something else, see plan.List.
func Gone(err error) bool {
	if err == nil {
		return false
	}
	a := Classify(err, false)
	return a.Failure == plan.NotFound || a.Failure == plan.NoSuchKind && !a.Incomplete
}
