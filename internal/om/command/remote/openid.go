package remote

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"time"

	"github.com/holdfast-ops/holdfast/internal/host"
	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/client"
	"github.com/holdfast-ops/holdfast/internal/om/config"
	"github.com/holdfast-ops/holdfast/internal/om/openid"
	"github.com/holdfast-ops/holdfast/internal/om/station"
)

// LoginOpenID logs in to a context with the OpenID provider its cluster trusts, and
// keeps the tokens. ask talks to the person, and returns what the provider gave.
func (s *Server) LoginOpenID(ctx context.Context, name string, ask func(*openid.Provider) (openid.Grant, error)) (api.UserIdentity, error) {
	who, err := s.loginOpenID(ctx, name, ask)
	if err != nil && ctx.Err() == nil {
		err = fmt.Errorf("context %s: %w", name, err)
	}
	return who, err
}

func (s *Server) loginOpenID(ctx context.Context, name string, ask func(*openid.Provider) (openid.Grant, error)) (who api.UserIdentity, err error) {
	e, err := s.Endpoint(name)
	if err != nil {
		return who, err
	}
	o, err := s.options(e)
	if err != nil {
		return who, err
	}
	settings, err := trusted(ctx, o, e)
	if err != nil {
		return who, err
	}
	provider, err := openid.Discover(ctx, nil, settings)
	if err != nil {
		return who, err
	}
	g, err := ask(provider)
	if err != nil {
		return who, err
	}
	o.Token = g.Token
	c, err := client.New(o)
	if err != nil {
		return who, err
	}
	defer c.Close()
	who, err = client.Do(ctx, c, api.GetAuthWhoAmI, api.None{})
	if isStatus(err, http.StatusUnauthorized) {
		return who, fmt.Errorf("%s does not accept the token that %s gave %s: its nodes must reach the provider, and agree with it on the time",
			e.Cluster.Server, settings.Issuer, g.Subject)
	}
	if err != nil {
		return who, err
	}
	_, err = s.Station().WithTokens(ctx, name, func(station.Tokens) (station.Tokens, error) {
		return granted(station.Tokens{
			Server: e.Cluster.Server, User: e.Login(), AuthenticatedAt: time.Now().Round(time.Second),
			Issuer: settings.Issuer, ClientID: settings.ClientID,
		}, g), nil
	})
	return who, err
}

// trusted is the provider a cluster says it trusts.
func trusted(ctx context.Context, o client.Options, e station.Endpoint) (openid.Settings, error) {
	c, err := client.New(o)
	if err != nil {
		return openid.Settings{}, err
	}
	defer c.Close()
	info, err := client.Do(ctx, c, api.GetAuthInfo, api.None{})
	if err != nil {
		return openid.Settings{}, err
	}
	if info.OpenID == nil || info.OpenID.Issuer == "" {
		return openid.Settings{}, fmt.Errorf("%s trusts no OpenID provider: an administrator sets listener.openid_issuer and listener.openid_client_id, "+
			"and a password is for a login without --openid and --device", e.Cluster.Server)
	}
	return openid.Settings{Issuer: info.OpenID.Issuer, ClientID: info.OpenID.ClientID}, nil
}

// granted puts what a provider gave in the tokens of a context.
func granted(t station.Tokens, g openid.Grant) station.Tokens {
	t.Access, t.AccessEnd, t.Refresh, t.RefreshEnd = g.Token, g.End, g.Refresh, g.RefreshEnd
	return t
}

// renewOpenID asks the provider of a login for the next tokens.
func (s *session) renewOpenID(ctx context.Context, t station.Tokens) (station.Tokens, error) {
	provider, err := openid.Discover(ctx, nil, openid.Settings{Issuer: t.Issuer, ClientID: t.ClientID})
	if err != nil {
		return t, fmt.Errorf("context %s: renew the session: %w", s.endpoint.Context, err)
	}
	g, err := provider.Renew(ctx, t.Refresh)
	if errors.Is(err, openid.ErrEnded) {
		return t, &LoginError{Context: s.endpoint.Context, Reason: err.Error(), OpenID: true}
	}
	if err != nil {
		return t, fmt.Errorf("context %s: renew the session: %w", s.endpoint.Context, err)
	}
	return granted(t, g), nil
}

// Browse opens a page in a browser of this host, in a session of its own: closing
// it is for the person who uses it. false when there is none to open.
func (s *Server) Browse(page string) bool {
	argv := browser(runtime.GOOS, s.process.Env)
	if len(argv) == 0 {
		return false
	}
	_, err := host.NewRunner().Start(host.Cmd{Argv: append(argv, page)})
	return err == nil
}

// browser is the command that opens pages, none where there is no screen.
func browser(system string, env func(string) string) []string {
	first, _, _ := strings.Cut(env("BROWSER"), ":")
	if argv, err := config.ParseShlex(first); err == nil && len(argv) > 0 {
		return argv
	}
	switch {
	case system == "darwin":
		return []string{"open"}
	case env("DISPLAY") != "" || env("WAYLAND_DISPLAY") != "":
		return []string{"xdg-open"}
	}
	return nil
}
