package httpd

import (
	"context"
	"net/http"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/orchestrate"
)

// Votes gives the exclusive votes of this daemon to the parts of other clusters;
// *arbitrator.Votes does it.
type Votes interface {
	Claim(user, cluster string, c orchestrate.Claim, now time.Time) (orchestrate.Grant, error)
	Release(user, cluster, node string, now time.Time)
	Holders(user, cluster string, now time.Time) []string
}

// arbitrator serves the operations of an arbitrator of other clusters.
func (s *Server) arbitrator() {
	handle(s, api.PostArbitratorVote, func(ctx context.Context, in *api.Vote) (api.VoteGrant, error) {
		now, user, claim := time.Now(), principal(ctx).Name, in.Body
		if claim.Release {
			s.o.Votes.Release(user, claim.ClusterID, claim.Node, now)
			return api.VoteGrant{Verdict: "released", Holders: notNil(s.o.Votes.Holders(user, claim.ClusterID, now))}, nil
		}
		g, err := s.o.Votes.Claim(user, claim.ClusterID, orchestrate.Claim{Node: claim.Node, Members: claim.Members}, now)
		if err != nil {
			return api.VoteGrant{}, api.NewProblem(http.StatusServiceUnavailable, err.Error())
		}
		answer := api.VoteGrant{Verdict: string(g.Verdict), Lease: orchestrate.VoteLease.Milliseconds(), Holders: notNil(g.Holders)}
		if !g.NotBefore.IsZero() {
			answer.Wait = max(g.NotBefore.Sub(now).Milliseconds(), 0)
		}
		return answer, nil
	})
	handle(s, api.GetArbitratorVote, func(ctx context.Context, in *api.VoteQuery) (api.VoteHolders, error) {
		return api.VoteHolders{Holders: notNil(s.o.Votes.Holders(principal(ctx).Name, in.ClusterID, time.Now()))}, nil
	})
}

func notNil(names []string) []string {
	if names == nil {
		return []string{}
	}
	return names
}
