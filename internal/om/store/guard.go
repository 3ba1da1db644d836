package store

import (
	"github.com/holdfast-ops/holdfast/internal/om/config"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// Guard refuses a commit that its writer may not make. former is nil for an
// object that is created, or whose configuration cannot be read: broken says why.
type Guard func(p object.Path, former, fresh *config.Document, broken error) error

// Guarded returns the store whose commits are those a guard lets pass. It is
// asked under the lock of the object: what it compares is what is replaced.
func (s *Store) Guarded(g Guard) *Store {
	c := *s
	c.guard = g
	return &c
}

func (s *Store) allow(p object.Path, fresh *config.Document, current *version) error {
	switch {
	case s.guard == nil:
		return nil
	case current == nil:
		return s.guard(p, nil, fresh, nil)
	default:
		return s.guard(p, current.doc, fresh, current.broken)
	}
}
