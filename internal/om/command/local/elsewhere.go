package local

import (
	"context"

	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/client"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// elsewhere tells whether an object is not here, and other nodes of the cluster have
// it: the daemon passes on to them what is asked about it.
func (b *Backend) elsewhere(ctx context.Context, p object.Path) bool {
	if p.IsZero() || p == object.Cluster() || b.byDaemon() || b.store().Exists(p) {
		return false
	}
	c, err := b.Connect()
	if err != nil {
		return false
	}
	o, err := client.Do(ctx, c, api.GetObject, api.Named(p))
	if err != nil {
		return false
	}
	delete(o.Data.Instances, b.host.Hostname) // removed here this moment
	return len(o.Data.Instances) > 0
}
