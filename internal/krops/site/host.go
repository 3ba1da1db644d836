package site

import (
	"context"

	"github.com/holdfast-ops/holdfast/internal/krops/kind"
)

// Kinds makes and removes kind clusters. The lab has one of its own that starts a
// real control plane without containers.
type Kinds interface {
	// Exists tells whether a cluster of exactly this name is there. A listing that
	// fails is an error.
	Exists(ctx context.Context, name string) (bool, error)
	// Create makes a cluster; one that an earlier crash left half made is replaced.
	Create(ctx context.Context, name string, c kind.Config, say func(string)) error
	// Delete removes a cluster with all its nodes; none is no error.
	Delete(ctx context.Context, name string) error
	// Kubeconfig returns how to reach a cluster, from this host or, internal, from the
	// network of the containers.
	Kubeconfig(ctx context.Context, name string, internal bool) ([]byte, error)
}
