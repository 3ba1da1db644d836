package httpd

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/config"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/rbac"
)

func (s *Server) getAuthInfo(context.Context, *api.None) (api.AuthInfo, error) {
	return api.AuthInfo{Methods: []string{}}, nil
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

func (s *Server) postAuthToken(ctx context.Context, in *api.TokenQuery) (api.AuthToken, error) {
	subject, grants := principal(ctx).Name, principal(ctx).Grants
	if in.Subject != "" {
		var err error
		if subject = in.Subject; len(in.Role) == 0 {
			if grants, err = s.grantsOf(subject); err != nil {
				return api.AuthToken{}, err
			}
		}
	}
	grants = narrow(grants, in.Role, in.Scope)
	var life time.Duration
	if in.AccessDuration != "" {
		var err error
		if life, err = config.ParseDuration(in.AccessDuration); err != nil {
			return api.AuthToken{}, badRequest(err)
		}
		if life == 0 {
			life = -1 // refused, not the default
		}
	}
	token, expires, err := s.o.Tokens.Issue(subject, grants, life, time.Now())
	if err != nil {
		return api.AuthToken{}, badRequest(err)
	}
	return api.AuthToken{AccessToken: token.Reveal(), AccessExpiredAt: expires}, nil
}

// grantsOf returns the grants of a user of the cluster.
func (s *Server) grantsOf(user string) (rbac.Grants, error) {
	p := object.Path{Namespace: object.SystemNamespace, Kind: object.KindUsr, Name: user}
	if err := p.Validate(); err != nil {
		return nil, badRequest(fmt.Errorf("query.subject: %w", err))
	}
	settings, err := s.o.Store.Object(p)
	if err != nil {
		return nil, fmt.Errorf("grants of %s: %w: create it, or say the roles of the token", p, err)
	}
	return rbac.Parse(strings.Join(settings.Grant, " "))
}

// narrow limits grants to roles and to a namespace. Root includes every role;
// limited to a namespace it is admin there.
func narrow(grants rbac.Grants, roles []string, scope string) rbac.Grants {
	if len(roles) > 0 {
		var kept rbac.Grants
		for _, role := range roles {
			switch r := rbac.Role(role); {
			case grants.Has(rbac.Root):
				kept = append(kept, rbac.Grant{Role: r})
			default:
				kept = append(kept, ofRole(grants, r)...)
			}
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

func ofRole(grants rbac.Grants, r rbac.Role) rbac.Grants {
	return slices.DeleteFunc(slices.Clone(grants), func(g rbac.Grant) bool { return g.Role != r })
}
