package remote

import (
	"context"

	"github.com/holdfast-ops/holdfast/internal/om/api"
)

// EnrollNode implements cluster.Members.
func (b *Backend) EnrollNode(ctx context.Context, in api.EnrollOrder) (api.Enrolled, error) {
	return do(ctx, b, api.PostClusterEnroll, api.Enroll{Body: in})
}

// EvictNode implements cluster.Members.
func (b *Backend) EvictNode(ctx context.Context, in api.EvictOrder) error {
	_, err := do(ctx, b, api.PostClusterEvict, api.Evict{Body: in})
	return err
}
