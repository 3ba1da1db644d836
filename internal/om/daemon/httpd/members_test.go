package httpd_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/auth"
)

// members do what they are asked.
type members struct{}

func (members) Enroll(_ context.Context, in api.EnrollOrder) (api.Enrolled, error) {
	return api.Enrolled{Node: in.Node}, nil
}
func (members) Evict(context.Context, auth.Principal, api.EvictOrder) error { return nil }
func (members) Join(context.Context, api.JoinOrder) (api.Enrolled, error)   { return api.Enrolled{}, nil }
func (members) Leave(context.Context, api.LeaveOrder) error                 { return nil }
func (members) Admit(context.Context, api.Candidate) error                  { return nil }
func (members) Dismiss(context.Context, api.Member) error                   { return nil }
func (members) Files() (api.JoinFiles, error)                               { return api.JoinFiles{Files: []api.JoinFile{}}, nil }

// The answer of an evict is that of the manual.
func TestAnEvictedNodeIsSaidToBeLeaving(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	p := do(t, f.remote(t, "root"), api.PostClusterEvict, api.Evict{Body: api.EvictOrder{Node: "node2", Credential: "admin:secret", Timeout: "1h"}})
	want := api.Problem{Title: "background cluster leave has been called", Detail: "node node2 is leaving the cluster", Status: 200}
	if diff := cmp.Diff(want, p); diff != "" {
		t.Error(diff)
	}
}
