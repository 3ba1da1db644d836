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
	OpenID  bool // the former one was by the OpenID provider of the cluster
}

// Error says what to do.
func (e *LoginError) Error() string {
	how := ""
	if e.OpenID {
		how = " --openid"
	}
	return "context " + e.Context + ": " + e.Reason + ": log in with: ox context login --context " + e.Context + how
}

// LoginContext names the context.
func (e *LoginError) LoginContext() string { return e.Context }

// WithPassword tells that a password is what the login needs, not a browser.
func (e *LoginError) WithPassword() bool { return !e.OpenID }

// EventsFrom is Events that calls opened once the stream is there.
func (b *Backend) EventsFrom(ctx context.Context, q api.EventQuery, opened func()) iter.Seq2[api.Event, error] {
	c, err := b.Connect()
	if err != nil {
		return func(yield func(api.Event, error) bool) { yield(api.Event{}, err) }
	}
	return client.EventsFrom(ctx, c, q, opened)
}
