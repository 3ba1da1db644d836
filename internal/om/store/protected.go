package store

import (
	"slices"

	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// ProtectedError refuses to delete what the agent itself lives by.
type ProtectedError struct{ Path object.Path }

// Error says what depends on the object.
func (e *ProtectedError) Error() string {
	return name(e.Path) + " belongs to the agent: without it no node and no user is recognised any more: it is not deleted"
}

// Protected returns a [ProtectedError] for the configurations of the node and of
// the cluster, and for the objects the first start of a daemon makes.
func Protected(p object.Path) error {
	made := p.Namespace == object.SystemNamespace && p.Kind == object.KindSec && slices.Contains([]string{"ca", "cert", "token"}, p.Name)
	if made || isSite(p) {
		return &ProtectedError{Path: p}
	}
	return nil
}
