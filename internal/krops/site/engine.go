package site

import (
	"context"
	"errors"

	"github.com/holdfast-ops/holdfast/internal/krops/engine"
)

// kinds returns what makes kind clusters.
func (s *Site) kinds(context.Context) (Kinds, error) {
	if s.Kinds == nil {
		return nil, errors.New("nothing makes kind clusters")
	}
	return s.Kinds, nil
}

// engine returns the container engine.
func (s *Site) engine(ctx context.Context) (*engine.Engine, error) {
	if s.Engine == nil {
		return nil, errors.New("no container engine")
	}
	return s.Engine(ctx)
}
