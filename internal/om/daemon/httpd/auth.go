package httpd

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/auth"
	"github.com/holdfast-ops/holdfast/internal/om/config"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/rbac"
)

func (s *Server) getAuthInfo(context.Context, *api.None) (api.AuthInfo, error) {
	info := api.AuthInfo{Methods: []string{}}
	if o := s.o.Credentials.OpenID; o != nil && o.Settings().Issuer != "" {
		info.Methods = append(info.Methods, "openid")
		info.OpenID = &api.AuthOpenID{Issuer: o.Settings().Issuer, ClientID: o.Settings().ClientID}
	}
	if s.o.Credentials.Passwords != nil {
		info.Methods = append(info.Methods, "basic")
	}
	if s.o.Credentials.Certificates != nil {
		info.Methods = append(info.Methods, "x509")
	}
	return info, nil
}

func (s *Server) getHealth(context.Context, *api.None) (api.None, error) { return api.None{}, nil }

func (s *Server) getOpenAPI(context.Context, *api.None) (api.Document, error) {
	doc, err := s.document()
	return api.Document{RawBody: doc}, err
}

func (s *Server) getAuthWhoAmI(ctx context.Context, _ *api.None) (api.UserIdentity, error) {
	p := principal(ctx)
	grant := map[string][]string{}
	for role, patterns := range p.Grants.ByRole() {
		grant[string(role)] = patterns
	}
	return api.UserIdentity{Name: p.Name, Namespace: p.Namespace, Auth: p.Method, RawGrant: p.Grants.String(), Grant: grant}, nil
}

// postAuthToken makes the tokens of a session: those of the caller, or of a
// subject root names.
func (s *Server) postAuthToken(ctx context.Context, in *api.TokenQuery) (api.AuthToken, error) {
	if err := checkScope(in.Scope); err != nil {
		return api.AuthToken{}, err
	}
	session, grants, err := s.session(principal(ctx), in)
	if err != nil {
		return api.AuthToken{}, err
	}
	now := time.Now()
	if in.AccessDuration == "" && isJoin(in.Role) {
		in.AccessDuration = joinLife
	}
	access, err := s.accessToken(session, narrow(grants, in.Role, in.Scope), in.AccessDuration, now)
	if err != nil || !in.Refresh {
		return api.AuthToken{AccessToken: access.AccessToken, AccessExpiredAt: access.AccessExpiredAt}, err
	}
	life, err := tokenLife("query.refresh_duration", in.RefreshDuration)
	if err != nil {
		return api.AuthToken{}, err
	}
	refresh, ends, err := s.o.Tokens.IssueRefresh(session, life, now)
	if err != nil {
		return api.AuthToken{}, badRequest(err)
	}
	return api.AuthToken{
		AccessToken: access.AccessToken, AccessExpiredAt: access.AccessExpiredAt,
		RefreshToken: refresh.Reveal(), RefreshExpiredAt: ends,
	}, nil
}

// session is what the tokens a caller asks for are made of, and the grants they
// may have now. Those of a user follow the user; those root gives are as given.
func (s *Server) session(caller auth.Principal, in *api.TokenQuery) (auth.Session, rbac.Grants, error) {
	session := auth.Session{Subject: caller.Name, Roles: in.Role, Scope: in.Scope, User: caller.Method == auth.MethodBasic}
	grants := caller.Grants
	if in.Subject != "" && in.Subject != caller.Name {
		if !grants.Has(rbac.Root) {
			return session, nil, api.NewProblem(http.StatusForbidden, "a token for "+in.Subject+": "+rbac.NeedRoot.Refusal(""))
		}
		session.Subject, session.User = in.Subject, len(in.Role) == 0
		if session.User {
			var err error
			if grants, err = s.grantsOf(in.Subject); err != nil {
				return session, nil, err
			}
		}
	}
	if session.User && s.o.Credentials.Users != nil {
		var err error
		if session.UserID, err = s.o.Credentials.Users.ID(session.Subject); err != nil {
			return session, nil, err
		}
		if session.Stamp, err = s.o.Credentials.Users.Stamp(session.Subject); err != nil {
			return session, nil, err
		}
	}
	session.Grants = narrow(grants, in.Role, in.Scope)
	return session, grants, nil
}

// postAuthRefresh makes an access token of the session a refresh token is of.
func (s *Server) postAuthRefresh(ctx context.Context, in *api.RefreshQuery) (api.AuthAccessToken, error) {
	if err := checkScope(in.Scope); err != nil {
		return api.AuthAccessToken{}, err
	}
	session := principal(ctx).Session
	grants := session.Grants
	if session.User {
		users := s.o.Credentials.Users
		if users == nil {
			return api.AuthAccessToken{}, unauthorized()
		}
		stamp, err := users.Stamp(session.Subject)
		if err != nil {
			return api.AuthAccessToken{}, err
		}
		current, err := users.GrantsOf(session.Subject, session.UserID)
		if _, gone := errors.AsType[*object.NotFoundError](err); gone || stamp != session.Stamp {
			s.o.Log.Info("refresh token refused: the user is gone, or has another password", slog.String("peer", session.Subject))
			return api.AuthAccessToken{}, unauthorized()
		}
		if err != nil {
			return api.AuthAccessToken{}, err
		}
		grants = narrow(current, session.Roles, session.Scope)
	}
	return s.accessToken(*session, narrow(grants, in.Role, in.Scope), in.AccessDuration, time.Now())
}

func (s *Server) accessToken(session auth.Session, grants rbac.Grants, duration string, now time.Time) (api.AuthAccessToken, error) {
	life, err := tokenLife("query.access_duration", duration)
	if err != nil {
		return api.AuthAccessToken{}, err
	}
	token, expires, err := s.o.Tokens.Issue(session.Subject, grants, life, now)
	if session.User {
		token, expires, err = s.o.Tokens.IssueUser(session.Subject, session.UserID, grants, life, now)
	}
	if err != nil {
		return api.AuthAccessToken{}, badRequest(err)
	}
	return api.AuthAccessToken{AccessToken: token.Reveal(), AccessExpiredAt: expires}, nil
}

// tokenLife reads the life of a token; zero is the default one.
func tokenLife(name, text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	life, err := config.ParseDuration(text)
	if err != nil {
		return 0, badRequest(fmt.Errorf("%s: %w", name, err))
	}
	if life == 0 {
		life = -1 // refused, not the default
	}
	return life, nil
}

// grantsOf returns the grants of a user of the cluster.
func (s *Server) grantsOf(user string) (rbac.Grants, error) {
	p := auth.UserPath(user)
	if err := p.Validate(); err != nil {
		return nil, badRequest(fmt.Errorf("query.subject: %w", err))
	}
	grants, err := (&auth.Directory{Store: s.o.Store}).Grants(user)
	if err != nil {
		return nil, fmt.Errorf("grants of %s: %w: create it, or say the roles of the token", p, err)
	}
	return grants, nil
}

// checkScope refuses a scope that names no namespace: the pattern a grant would
// make of it may match more than the grant it was narrowed from.
func checkScope(scope string) error {
	if scope == "" {
		return nil
	}
	p := object.Path{Namespace: scope, Kind: object.KindSvc, Name: "x"}
	if p.Validate() != nil {
		return badRequest(fmt.Errorf("query.scope: %q is not the name of a namespace", scope))
	}
	return nil
}

// narrow limits grants to roles and to a namespace. A role includes those it
// inherits; limited to a namespace, root is admin there.
func narrow(grants rbac.Grants, roles []string, scope string) rbac.Grants {
	if len(roles) > 0 {
		var kept rbac.Grants
		for _, role := range roles {
			kept = append(kept, grants.As(rbac.Role(role))...)
		}
		grants = kept
	}
	if scope == "" {
		return grants
	}
	var scoped rbac.Grants
	for _, r := range []rbac.Role{rbac.Guest, rbac.Operator, rbac.Admin} {
		if grants.In(scope, r) {
			scoped = rbac.Grants{{Role: r, Namespaces: scope}}
		}
	}
	return scoped
}
