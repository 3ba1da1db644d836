package remote

import (
	"context"
	"iter"

	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/client"
)

// LoginError says that a context needs a login before anything else.
type LoginError struct {
	Context string
	Reason  string
}

// Error says what to do.
func (e *LoginError) Error() string {
	return "context " + e.Context + ": " + e.Reason + ": log in with: ox context login --context " + e.Context
}

// LoginContext names the context.
func (e *LoginError) LoginContext() string { return e.Context }

// EventsFrom is Events that calls opened once the stream is there.
func (b *Backend) EventsFrom(ctx context.Context, q api.EventQuery, opened func()) iter.Seq2[api.Event, error] {
	c, err := b.Connect()
	if err != nil {
		return func(yield func(api.Event, error) bool) { yield(api.Event{}, err) }
	}
	return client.EventsFrom(ctx, c, q, opened)
}
