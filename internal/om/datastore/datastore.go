// Package datastore reads and writes the keys of the cfg, sec and usr objects.
//
// A key is an option of the data section. Those of a cfg are readable:
// "literal:<text>", or "base64:<...>" when a text could not hold the bytes.
// Those of a sec or of a usr are sealed: "crypt:1:<base64>", where 1 is the
// version of the scheme. The sealing key is derived from the cluster secret, and
// what is sealed is tied to the object and to the name of the key, so that a
// value moved elsewhere does not open.
package datastore

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/holdfast-ops/holdfast/internal/om/config"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/store"
)

// Data gives access to the keys of the objects of a store.
type Data struct{ store *store.Store }

// New returns the data of the objects of s.
func New(s *store.Store) *Data { return &Data{store: s} }

const section = "data"

// KeyNotFoundError says that an object has no such key.
type KeyNotFoundError struct {
	Path object.Path
	Key  string
}

// Error names the object and the key.
func (e *KeyNotFoundError) Error() string { return fmt.Sprintf("%s: no key %s", e.Path, e.Key) }

// KeyExistsError refuses to add a key which is there already.
type KeyExistsError struct {
	Path object.Path
	Key  string
}

// Error says what to do instead.
func (e *KeyExistsError) Error() string {
	return fmt.Sprintf("%s: key %s exists already: change it, or remove it first", e.Path, e.Key)
}

// Keys returns the names of the keys of an object, sorted.
func (d *Data) Keys(p object.Path) ([]string, error) {
	f, err := d.load(p)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, k := range f.Doc.Keys(section) {
		names = append(names, keyName(k))
	}
	slices.Sort(names)
	return names, nil
}

// Has reports whether an object has a key.
func (d *Data) Has(p object.Path, key string) (bool, error) {
	f, err := d.load(p)
	if err != nil {
		return false, err
	}
	return has(f.Doc, key), nil
}

// Decode returns the value of a key. A missing key is a *[KeyNotFoundError].
func (d *Data) Decode(p object.Path, key string) ([]byte, error) {
	f, err := d.load(p)
	if err != nil {
		return nil, err
	}
	return d.decode(p, f.Doc, key)
}

func (d *Data) decode(p object.Path, doc *config.Document, key string) ([]byte, error) {
	k, err := parseKey(key)
	if err != nil {
		return nil, err
	}
	text, ok := doc.Get(k)
	if !ok {
		return nil, &KeyNotFoundError{Path: p, Key: key}
	}
	value, err := d.codec(p, key).decode(text)
	if err != nil {
		return nil, fmt.Errorf("%s: key %s: %w", p, key, err)
	}
	return value, nil
}

// Set gives a key a value, whether or not it exists.
func (d *Data) Set(ctx context.Context, p object.Path, key string, value []byte) error {
	return d.SetAll(ctx, p, map[string][]byte{key: value})
}

// SetAll gives several keys their values, in one commit.
func (d *Data) SetAll(ctx context.Context, p object.Path, values map[string][]byte) error {
	return d.modify(ctx, p, func(doc *config.Document) error {
		for _, key := range slices.Sorted(maps.Keys(values)) {
			if err := d.set(p, doc, key, values[key]); err != nil {
				return err
			}
		}
		return nil
	})
}

// Add gives a value to a key which does not exist; else the error is a *[KeyExistsError].
func (d *Data) Add(ctx context.Context, p object.Path, key string, value []byte) error {
	return d.modify(ctx, p, func(doc *config.Document) error {
		if has(doc, key) {
			return &KeyExistsError{Path: p, Key: key}
		}
		return d.set(p, doc, key, value)
	})
}

// Remove deletes a key. A missing key is a *[KeyNotFoundError].
func (d *Data) Remove(ctx context.Context, p object.Path, key string) error {
	return d.modify(ctx, p, func(doc *config.Document) error { return remove(p, doc, key) })
}

// Rename gives a key another name, which must be free, in one commit.
func (d *Data) Rename(ctx context.Context, p object.Path, from, to string) error {
	return d.modify(ctx, p, func(doc *config.Document) error {
		value, err := d.decode(p, doc, from)
		if err != nil {
			return err
		}
		if has(doc, to) {
			return &KeyExistsError{Path: p, Key: to}
		}
		if err := remove(p, doc, from); err != nil {
			return err
		}
		return d.set(p, doc, to, value)
	})
}

func (d *Data) modify(ctx context.Context, p object.Path, edit func(*config.Document) error) error {
	if err := stores(p); err != nil {
		return err
	}
	_, err := d.store.Modify(ctx, p, edit)
	return err
}

func has(doc *config.Document, key string) bool {
	k, err := parseKey(key)
	if err != nil {
		return false
	}
	_, ok := doc.Get(k)
	return ok
}

func remove(p object.Path, doc *config.Document, key string) error {
	k, err := parseKey(key)
	if err != nil {
		return err
	}
	if !doc.Unset(k) {
		return &KeyNotFoundError{Path: p, Key: key}
	}
	return nil
}

// set gives a key a value. One that has it already is not sealed again, so that
// nothing is written.
func (d *Data) set(p object.Path, doc *config.Document, key string, value []byte) error {
	node, err := d.store.Node()
	if err != nil {
		return err
	}
	if int64(len(value)) > node.MaxKeySize {
		return fmt.Errorf("%s: key %s: %d bytes are more than node.max_key_size, %s: raise it, or keep the value in a volume",
			p, key, len(value), config.FormatSize(node.MaxKeySize))
	}
	k, err := parseKey(key)
	if err != nil {
		return err
	}
	if known, err := d.decode(p, doc, key); err == nil && slices.Equal(known, value) {
		return nil
	}
	text, err := d.codec(p, key).encode(value)
	if err != nil {
		return fmt.Errorf("%s: key %s: %w", p, key, err)
	}
	return doc.Set(k, text)
}

func (d *Data) load(p object.Path) (*store.File, error) {
	if err := stores(p); err != nil {
		return nil, err
	}
	return d.store.Load(p)
}

func stores(p object.Path) error {
	if p.Kind.Stores() {
		return nil
	}
	return fmt.Errorf("%s: objects of kind %s hold no key: only cfg, sec and usr do", p, p.Kind)
}

// parseKey reads the name of a key as the configuration file does: what follows
// an "@" is a scope there, and part of the name here.
func parseKey(name string) (config.Key, error) {
	k, err := config.ParseKey(section + "." + name)
	if err != nil {
		return config.Key{}, fmt.Errorf("key name %q cannot be used: %w", name, err)
	}
	return k, nil
}

func keyName(k config.Key) string {
	if k.Scope == "" {
		return k.Option
	}
	return strings.Join([]string{k.Option, k.Scope}, "@")
}
