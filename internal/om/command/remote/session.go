package remote

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/client"
	"github.com/holdfast-ops/holdfast/internal/om/station"
	"github.com/holdfast-ops/holdfast/internal/secret"
)

// session gives the tokens of a context and renews them. Programs that run at the
// same time share the file: one renews, the others read what it got.
type session struct {
	station  station.Station
	endpoint station.Endpoint
	options  client.Options // to reach the server without a token

	mu     sync.Mutex
	tokens station.Tokens
}

// early is how long before its end a token is renewed: a request takes a while.
const early = 5 * time.Second

// Token implements client.Credential.
func (s *session) Token(ctx context.Context, refused secret.String) (secret.String, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tokens.IsZero() {
		tokens, err := s.station.Tokens(s.endpoint.Context)
		if err != nil {
			return secret.String{}, err
		}
		s.tokens = tokens
	}
	if s.good(s.tokens, refused) {
		return s.tokens.Access, nil
	}
	tokens, err := s.station.WithTokens(ctx, s.endpoint.Context, func(t station.Tokens) (station.Tokens, error) {
		if s.good(t, refused) {
			return t, nil // somebody else renewed them
		}
		return s.renew(ctx, t)
	})
	if err != nil {
		return secret.String{}, err
	}
	s.tokens = tokens
	return tokens.Access, nil
}

func (s *session) good(t station.Tokens, refused secret.String) bool {
	return s.ours(t) && t.Fresh(time.Now().Add(early)) && (refused.IsZero() || !t.Access.Equal(refused))
}

// ours tells whether the tokens are for what the context says today: they are sent
// nowhere else.
func (s *session) ours(t station.Tokens) bool {
	return t.Server == s.endpoint.Cluster.Server && t.User == s.endpoint.Login()
}

func (s *session) renew(ctx context.Context, t station.Tokens) (station.Tokens, error) {
	need := func(format string, a ...any) error {
		return &LoginError{Context: s.endpoint.Context, Reason: fmt.Sprintf(format, a...), OpenID: t.Issuer != ""}
	}
	switch {
	case t.IsZero():
		return t, need("nobody is logged in")
	case !s.ours(t):
		return t, need("the login was of %s on %s, and the context is of %s on %s now",
			t.User, t.Server, s.endpoint.Login(), s.endpoint.Cluster.Server)
	case t.Refresh.IsZero():
		return t, need("the session ended and cannot be renewed")
	case !t.Renewable(time.Now()):
		return t, need("the session ended on %s", t.RefreshEnd.Local().Format(time.DateTime))
	}
	if t.Issuer != "" {
		return s.renewOpenID(ctx, t)
	}
	o := s.options
	o.Token = t.Refresh
	c, err := client.New(o)
	if err != nil {
		return t, err
	}
	defer c.Close()
	got, err := client.Do(ctx, c, api.PostAuthRefresh, api.RefreshQuery{
		Scope: s.endpoint.Settings.Namespace, AccessDuration: life(t.AccessDuration),
	})
	if refused(err) {
		return t, need("the session is not valid any more")
	}
	if err != nil {
		return t, fmt.Errorf("context %s: renew the session: %w", s.endpoint.Context, err)
	}
	t.Access, t.AccessEnd = secret.New(got.AccessToken), got.AccessExpiredAt
	return t, nil
}

// refused tells that the server knows better than the file.
func refused(err error) bool {
	p, ok := errors.AsType[*api.Problem](err)
	return ok && (p.Status == http.StatusUnauthorized || p.Status == http.StatusForbidden)
}

// life is a duration as the API takes it, its default when none is set.
func life(d station.Duration) string {
	if d == 0 {
		return ""
	}
	return time.Duration(d).String()
}

// Life is how long the tokens of a login are valid, when not as the context says.
type Life struct{ Access, Refresh station.Duration }

// Login exchanges a password for the tokens of a context, and keeps them.
func (s *Server) Login(ctx context.Context, name string, password secret.String, l Life) (station.Tokens, error) {
	e, err := s.Endpoint(name)
	if err != nil {
		return station.Tokens{}, err
	}
	if e.Certified() {
		return station.Tokens{}, fmt.Errorf("context %s: user %s is known by its certificate: there is nothing to log in for", name, e.Settings.User)
	}
	o, err := s.options(e)
	if err != nil {
		return station.Tokens{}, fmt.Errorf("context %s: %w", name, err)
	}
	o.User, o.Password = e.Login(), password
	c, err := client.New(o)
	if err != nil {
		return station.Tokens{}, fmt.Errorf("context %s: %w", name, err)
	}
	defer c.Close()
	settings := e.Settings
	if l.Access != 0 {
		settings.AccessTokenDuration = l.Access
	}
	if l.Refresh != 0 {
		settings.RefreshTokenDuration = l.Refresh
	}
	got, err := client.Do(ctx, c, api.PostAuthToken, api.TokenQuery{
		Scope: settings.Namespace, AccessDuration: life(settings.AccessTokenDuration),
		Refresh: true, RefreshDuration: life(settings.RefreshTokenDuration),
	})
	if p, ok := errors.AsType[*api.Problem](err); ok && p.Status == http.StatusUnauthorized {
		return station.Tokens{}, fmt.Errorf("context %s: %s does not take this password of user %s", name, e.Cluster.Server, e.Login())
	}
	if err != nil {
		return station.Tokens{}, fmt.Errorf("context %s: %w", name, err)
	}
	return s.Station().WithTokens(ctx, name, func(station.Tokens) (station.Tokens, error) {
		return station.Tokens{
			Server: e.Cluster.Server, User: e.Login(), AuthenticatedAt: time.Now().Round(time.Second),
			Access: secret.New(got.AccessToken), AccessEnd: got.AccessExpiredAt,
			Refresh: secret.New(got.RefreshToken), RefreshEnd: got.RefreshExpiredAt, AccessDuration: settings.AccessTokenDuration,
		}, nil
	})
}
