package instance

import (
	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// Last returns the last evaluation of the local instance, however old: what is
// known of it while its configuration cannot be read.
func (e *Engine) Last(p object.Path) (cluster.InstanceStatus, error) { return e.last(p) }
