package httpd

import (
	"context"
	"slices"
	"strings"

	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/auth"
	"github.com/holdfast-ops/holdfast/internal/om/rbac"
)

// Members are the nodes of the cluster; *membership.Manager has them come and go.
type Members interface {
	// Enroll and Evict order another node to join or to leave.
	Enroll(ctx context.Context, in api.EnrollOrder) (api.Enrolled, error)
	Evict(ctx context.Context, who auth.Principal, in api.EvictOrder) error
	// Join and Leave order this node to.
	Join(ctx context.Context, in api.JoinOrder) (api.Enrolled, error)
	Leave(ctx context.Context, in api.LeaveOrder) error
	// Admit and Dismiss change the nodes of the cluster; Files is what the new one needs.
	Admit(ctx context.Context, in api.Candidate) error
	Dismiss(ctx context.Context, in api.Member) error
	Files() (api.JoinFiles, error)
}

// members serves the operations on the nodes of the cluster. They are not handed to
// the manager before the caller is known to be allowed, and what it does outlives
// the request: it decides itself how long.
func (s *Server) members() {
	handle(s, api.PostClusterEnroll, func(ctx context.Context, in *api.Enroll) (api.Enrolled, error) {
		return s.o.Members.Enroll(ctx, in.Body)
	})
	handle(s, api.PostClusterEvict, func(ctx context.Context, in *api.Evict) (api.Problem, error) {
		return leaving(in.Body.Node), s.o.Members.Evict(ctx, principal(ctx), in.Body)
	})
	handle(s, api.PostClusterJoin, func(ctx context.Context, in *api.Candidate) (api.None, error) {
		return api.None{}, s.o.Members.Admit(context.WithoutCancel(ctx), *in)
	})
	handle(s, api.GetClusterJoin, func(context.Context, *api.None) (api.JoinFiles, error) { return s.o.Members.Files() })
	handle(s, api.PostClusterLeave, func(ctx context.Context, in *api.Member) (api.None, error) {
		return api.None{}, s.o.Members.Dismiss(context.WithoutCancel(ctx), *in)
	})
	handle(s, api.PostDaemonJoin, func(ctx context.Context, in *api.DaemonJoin) (api.Enrolled, error) {
		return s.o.Members.Join(ctx, in.Body)
	})
	handle(s, api.PostDaemonLeave, func(ctx context.Context, in *api.DaemonLeave) (api.Problem, error) {
		return leaving(s.o.Node), s.o.Members.Leave(ctx, in.Body)
	})
}

func leaving(node string) api.Problem {
	p := said("node " + strings.ToLower(node) + " is leaving the cluster")
	p.Title = "background cluster leave has been called"
	return p
}

// joinLife is the life of a token that lets a node join, unless told: it is copied
// to another node, and good for more than others.
const joinLife = "60s"

// isJoin tells whether a token is asked to let a node join.
func isJoin(roles []string) bool { return slices.Contains(roles, string(rbac.Join)) }
