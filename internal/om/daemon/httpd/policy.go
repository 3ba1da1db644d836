package httpd

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/auth"
	"github.com/holdfast-ops/holdfast/internal/om/config"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/policy"
	"github.com/holdfast-ops/holdfast/internal/om/rbac"
	"github.com/holdfast-ops/holdfast/internal/om/store"
)

// writer is the store as the caller may write it: a commit that changes a keyword
// the caller has no grant for is refused. The operations have checked the role on
// the object already.
func (s *Server) writer(ctx context.Context) *store.Store {
	grants := principal(ctx).Grants
	if grants.Has(rbac.Root) {
		return s.o.Store
	}
	return s.o.Store.Guarded(func(p object.Path, former, fresh *config.Document, broken error) error {
		if broken != nil {
			return api.NewProblem(http.StatusForbidden, fmt.Sprintf("denied: %s: what its configuration says cannot be read, so that only root replaces it: %v", p, broken))
		}
		err := policy.Check(grants, policy.Write{
			Path: p, Schema: s.o.Store.Schema(p), Former: former, Fresh: fresh, Nodes: s.readers(),
			Evaluator: func(doc *config.Document, node string) (*config.Evaluator, error) {
				return s.o.Store.Evaluator(p, doc, node)
			},
		})
		if denied, ok := errors.AsType[*policy.DeniedError](err); ok {
			return api.NewProblem(http.StatusForbidden, denied.Error())
		}
		return err
	})
}

// readers lists the nodes that may read a configuration: this one, and those of
// the cluster.
func (s *Server) readers() []string {
	nodes := append([]string{s.o.Node}, s.o.Store.Nodes()...)
	slices.Sort(nodes)
	return slices.Compact(nodes)
}

// mayCreate reports whether an object would be the first of its namespace, which
// it refuses to all but those who may create namespaces.
func (s *Server) mayCreate(ctx context.Context, p object.Path) (isFirst bool, err error) {
	if p.Namespace == object.RootNamespace || p.Namespace == object.SystemNamespace {
		return false, nil
	}
	paths, err := s.o.Store.List()
	if err != nil {
		return false, err
	}
	if slices.ContainsFunc(paths, func(other object.Path) bool { return other.Namespace == p.Namespace }) {
		return false, nil
	}
	if !principal(ctx).Grants.Has(rbac.Squatter) {
		return true, api.NewProblem(http.StatusForbidden, "namespace "+p.Namespace+" does not exist: "+rbac.NeedSquatter.Refusal(""))
	}
	return true, nil
}

// settle makes who created a namespace its administrator: the grant is written in
// the user object of the caller. One who has none, as the bearer of a token made
// elsewhere, has only the grants of the token.
func (s *Server) settle(ctx context.Context, namespace string) error {
	p := principal(ctx)
	usr := auth.UserPath(p.Name)
	if p.Grants.In(namespace, rbac.Admin) || !followsUser(p) || !s.hasUser(usr) {
		return nil
	}
	op, err := config.ParseOp("grant+=" + string(rbac.Admin) + ":" + namespace)
	if err != nil {
		return err
	}
	if _, err := s.o.Store.Update(ctx, usr, config.Change{Set: []config.Op{op}}); err != nil {
		return fmt.Errorf("make %s the administrator of namespace %s: %w", usr, namespace, err)
	}
	s.refresh(usr)
	return nil
}

func (s *Server) hasUser(usr object.Path) bool { return usr.Validate() == nil && s.o.Store.Exists(usr) }

// followsUser reports whether the grants of a caller are those of the usr object
// of its name.
func followsUser(p auth.Principal) bool {
	return slices.Contains([]string{auth.MethodBasic, auth.MethodCertificate, auth.MethodToken, auth.MethodAccount}, p.Method)
}
