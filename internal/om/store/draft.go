package store

import (
	"context"

	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// Draft is a configuration being edited, kept beside the one in place until it
// is committed or discarded.
type Draft struct {
	Path object.Path
	Name string // the file to give to the editor
}

// Edit starts a draft from the configuration in place. An earlier draft that
// could not be committed is an error: recover or discard it.
func (s *Store) Edit(p object.Path) (*Draft, error) { panic("to write") }

// Recover returns the draft left by an edit which could not be committed.
func (s *Store) Recover(p object.Path) (*Draft, error) { panic("to write") }

// Discard removes the draft of an object.
func (s *Store) Discard(p object.Path) error { panic("to write") }

// Commit replaces the configuration by the draft, then removes the draft. When
// it is refused the draft stays, to be recovered.
func (s *Store) Commit(ctx context.Context, d *Draft) (Committed, error) { panic("to write") }
