package datastore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/holdfast-ops/holdfast/internal/om/config"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/store"
	"github.com/holdfast-ops/holdfast/internal/secret/password"
)

// Tx is a change of the keys of one object, which is written as a whole or not
// at all. It is good for as long as the function it is given to.
type Tx struct {
	path  object.Path
	doc   *config.Document
	keys  func() (keyring, error)
	limit func() (int64, error)
}

// passwordKey is the key of a usr that holds a hash.
const passwordKey = "password"

// Modify lets edit change the keys of an object, under its lock and in one commit.
func (d *Data) Modify(ctx context.Context, p object.Path, edit func(*Tx) error) (store.Committed, error) {
	if err := stores(p); err != nil {
		return store.Committed{}, err
	}
	return d.store.Modify(ctx, p, func(doc *config.Document) error { return edit(d.tx(p, doc)) })
}

func (d *Data) tx(p object.Path, doc *config.Document) *Tx {
	return &Tx{path: p, doc: doc, keys: d.keyring, limit: func() (int64, error) {
		node, err := d.store.Node()
		if err != nil {
			return 0, err
		}
		return node.MaxKeySize, nil
	}}
}

// isPassword tells the key that holds a hash.
func (tx *Tx) isPassword(key string) bool {
	return tx.path.Kind == object.KindUsr && key == passwordKey
}

// Names returns the names of the keys, sorted.
func (tx *Tx) Names() []string {
	var names []string
	for _, k := range tx.doc.Keys(section) {
		names = append(names, keyName(k))
	}
	slices.Sort(names)
	return names
}

func (tx *Tx) list() []Info {
	var infos []Info
	for _, name := range tx.Names() {
		text, _ := tx.text(name)
		infos = append(infos, Info{Name: name, Size: sizeOf(text)})
	}
	return infos
}

// sel returns the names of the keys that patterns designate and that can be read.
func (tx *Tx) sel(patterns []string) ([]string, error) {
	names, wanted := tx.Names(), map[string]bool{}
	if len(patterns) == 0 {
		patterns = []string{"**"}
	}
	for _, pattern := range patterns {
		found, err := Match(pattern, names)
		if err != nil {
			return nil, err
		}
		if len(found) == 0 && !object.HasGlob(pattern) {
			return nil, &KeyNotFoundError{Path: tx.path, Key: clip(pattern)}
		}
		for _, name := range found {
			wanted[name] = wanted[name] || name == pattern || !tx.isPassword(name)
		}
	}
	return slices.DeleteFunc(names, func(name string) bool { return !wanted[name] }), nil
}

// Has reports whether there is a key.
func (tx *Tx) Has(key string) bool {
	_, ok := tx.text(key)
	return ok
}

func (tx *Tx) text(key string) (string, bool) {
	k, err := parseKey(key)
	if err != nil {
		return "", false
	}
	return tx.doc.Get(k)
}

// Decode returns the value of a key.
func (tx *Tx) Decode(key string) ([]byte, error) {
	if tx.isPassword(key) && tx.Has(key) {
		return nil, &PasswordError{Path: tx.path}
	}
	return tx.open(key)
}

// open returns what is kept for a key: its value, or the hash of a password.
func (tx *Tx) open(key string) ([]byte, error) {
	if _, err := parseKey(key); err != nil {
		return nil, err
	}
	text, ok := tx.text(key)
	if !ok {
		return nil, &KeyNotFoundError{Path: tx.path, Key: key}
	}
	value, err := tx.codec(key).decode(text)
	if err != nil {
		return nil, fmt.Errorf("%s: key %s: %w", tx.path, key, err)
	}
	return value, nil
}

// Add gives a value to a key which does not exist.
func (tx *Tx) Add(key string, value []byte) error {
	if tx.Has(key) {
		return &KeyExistsError{Path: tx.path, Key: key}
	}
	return tx.Set(key, value)
}

// Change gives a value to a key which exists.
func (tx *Tx) Change(key string, value []byte) error {
	if err := tx.mustHave(key); err != nil {
		return err
	}
	return tx.Set(key, value)
}

// Set gives a key a value, whether or not it exists. One that has it already is
// not sealed again, so that nothing is written.
func (tx *Tx) Set(key string, value []byte) error {
	limit, err := tx.limit()
	if err != nil {
		return err
	}
	if size := int64(len(value)); size > limit {
		return &KeySizeError{Path: tx.path, Key: clip(key), Size: size, Limit: limit}
	}
	if !tx.Has(key) { // what a file held already may be given another value
		if err := CheckName(key); err != nil {
			return fmt.Errorf("%s: %w", tx.path, err)
		}
	}
	known, err := tx.open(key)
	if err == nil && tx.holds(key, known, value) {
		return nil
	}
	if tx.isPassword(key) {
		hash, err := password.Hash(value)
		if err != nil {
			return fmt.Errorf("%s: key %s: %w", tx.path, key, err)
		}
		value = []byte(hash)
	}
	return tx.put(key, value)
}

// holds tells whether what is kept for a key is that value.
func (tx *Tx) holds(key string, known, value []byte) bool {
	if !tx.isPassword(key) {
		return bytes.Equal(known, value)
	}
	ok, err := password.Matches(string(known), value)
	return ok && err == nil
}

// put keeps a value, as it is.
func (tx *Tx) put(key string, value []byte) error {
	k, err := parseKey(key)
	if err != nil {
		return fmt.Errorf("%s: %w", tx.path, err)
	}
	text, err := tx.codec(key).encode(value)
	if err != nil {
		return fmt.Errorf("%s: key %s: %w", tx.path, key, err)
	}
	if err := tx.doc.Set(k, text); err != nil {
		if cause := errors.Unwrap(err); cause != nil {
			err = cause // without the name of the option, which is told
		}
		return &RefusedError{Path: tx.path, Key: key, Err: err}
	}
	return nil
}

// Remove deletes a key.
func (tx *Tx) Remove(key string) error {
	if err := tx.mustHave(key); err != nil {
		return err
	}
	k, err := parseKey(key)
	if err != nil {
		return err
	}
	tx.doc.Unset(k)
	return nil
}

// Rename gives a key another name, which must be free. A password keeps its name:
// under another one its hash would be a value to read.
func (tx *Tx) Rename(from, to string) error {
	value, err := tx.Decode(from)
	if err != nil {
		return err
	}
	if err := tx.Add(to, value); err != nil {
		return err
	}
	return tx.Remove(from)
}

func (tx *Tx) mustHave(key string) error {
	if _, err := parseKey(key); err != nil {
		return fmt.Errorf("%s: %w", tx.path, err)
	}
	if !tx.Has(key) {
		return &KeyNotFoundError{Path: tx.path, Key: key}
	}
	return nil
}
