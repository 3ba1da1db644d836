// Package datastore reads and writes the keys of the cfg, sec and usr objects.
package datastore

import (
	"context"

	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/store"
)

// Data gives access to the keys of the objects of a store.
type Data struct{ store *store.Store }

// New returns the data of the objects of s.
func New(s *store.Store) *Data { return &Data{store: s} }

// Keys returns the names of the keys of an object, sorted.
func (d *Data) Keys(p object.Path) ([]string, error) { panic("to write") }

// Decode returns the value of a key.
func (d *Data) Decode(p object.Path, key string) ([]byte, error) { panic("to write") }

// Set writes a key, adding or replacing it.
func (d *Data) Set(ctx context.Context, p object.Path, key string, value []byte) error {
	panic("to write")
}

// SetAll writes several keys in one commit.
func (d *Data) SetAll(ctx context.Context, p object.Path, values map[string][]byte) error {
	panic("to write")
}

// Add writes a key which does not exist.
func (d *Data) Add(ctx context.Context, p object.Path, key string, value []byte) error {
	panic("to write")
}

// Remove deletes a key.
func (d *Data) Remove(ctx context.Context, p object.Path, key string) error { panic("to write") }

// Rename gives a key another name.
func (d *Data) Rename(ctx context.Context, p object.Path, from, to string) error { panic("to write") }
