// Package datastore reads and writes the keys of the cfg, sec and usr objects.
//
// A key is an option of the data section. Those of a cfg are readable:
// "literal:<text>", or "base64:<...>" when a text could not hold the bytes.
// Those of a sec or of a usr are sealed: "crypt:1:<base64>", where 1 is the
// version of the scheme. The sealing key is derived from the cluster secret, and
// what is sealed is tied to the object and to the name of the key, so that a
// value moved elsewhere does not open. What is sealed for the key "password" of a
// usr is a hash: nobody reads a password again.
//
// Every change is one commit of the store, made under the lock of the object:
// what a change read is still so when it is written, and all of it is written or
// nothing.
package datastore

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/store"
	"github.com/holdfast-ops/holdfast/internal/secret"
	"github.com/holdfast-ops/holdfast/internal/secret/password"
)

// Data gives access to the keys of the objects of a store.
type Data struct {
	store *store.Store
	step  func(name string) // called along a rotation, for tests to stop there
}

// New returns the data of the objects of s.
func New(s *store.Store) *Data { return &Data{store: s, step: func(string) {}} }

const section = "data"

// Info describes a key without its value.
type Info struct {
	Name string
	Size int // bytes of the value, of its hash for a password; -1 when it is damaged
}

// Keys returns the names of the keys of an object, sorted.
func (d *Data) Keys(p object.Path) ([]string, error) {
	tx, err := d.look(p)
	if err != nil {
		return nil, err
	}
	return tx.Names(), nil
}

// List describes the keys of an object, sorted by name. Nothing is opened: it
// needs no cluster secret.
func (d *Data) List(p object.Path) ([]Info, error) {
	tx, err := d.look(p)
	if err != nil {
		return nil, err
	}
	return tx.list(), nil
}

// Has reports whether an object has a key.
func (d *Data) Has(p object.Path, key string) (bool, error) {
	tx, err := d.look(p)
	if err != nil {
		return false, err
	}
	return tx.Has(key), nil
}

// Decode returns the value of a key. A missing key is a *[KeyNotFoundError], the
// password of a user a *[PasswordError].
func (d *Data) Decode(p object.Path, key string) (value []byte, err error) {
	err = d.View(p, func(tx *Tx) error {
		value, err = tx.Decode(key)
		return err
	})
	return value, err
}

// KeyValue is a key and its value.
type KeyValue struct {
	Name  string
	Value []byte
}

// DecodeAll returns the keys that patterns designate, as they are at one instant,
// sorted by name; every key when there are no patterns. A pattern without a
// wildcard is the name of a key, which must exist. A password is left out unless
// it is named, which is refused.
func (d *Data) DecodeAll(p object.Path, patterns []string) (values []KeyValue, err error) {
	err = d.View(p, func(tx *Tx) error {
		names, err := tx.sel(patterns)
		if err != nil {
			return err
		}
		values = make([]KeyValue, len(names))
		for i, name := range names {
			values[i].Name = name
			if values[i].Value, err = tx.Decode(name); err != nil {
				return err
			}
		}
		return nil
	})
	return values, err
}

// CheckPassword reports whether this is the password of a user. One that was
// never set is a *[KeyNotFoundError].
func (d *Data) CheckPassword(p object.Path, plain []byte) (bool, error) {
	var hash []byte
	err := d.View(p, func(tx *Tx) (err error) {
		hash, err = tx.open(passwordKey)
		return err
	})
	if err != nil {
		return false, err
	}
	ok, err := password.Matches(string(hash), plain)
	if err != nil {
		return false, fmt.Errorf("%s: %w", p, err)
	}
	return ok, nil
}

// MayDecode reports whether the objects of a namespace may use the keys of p: it
// is theirs, or it is shared with them. Who may read p itself is another question.
func (d *Data) MayDecode(p object.Path, namespace string) (bool, error) {
	if err := stores(p); err != nil {
		return false, err
	}
	settings, err := d.store.Object(p)
	if err != nil {
		return false, err
	}
	shared := func(with string) bool { return object.Glob(with, namespace) }
	return p.Namespace == namespace || slices.ContainsFunc(settings.Share, shared), nil
}

// Set gives a key a value, whether or not it exists.
func (d *Data) Set(ctx context.Context, p object.Path, key string, value []byte) error {
	return d.SetAll(ctx, p, map[string][]byte{key: value})
}

// SetAll gives several keys their values, in one commit.
func (d *Data) SetAll(ctx context.Context, p object.Path, values map[string][]byte) error {
	_, err := d.Modify(ctx, p, func(tx *Tx) error {
		for _, key := range slices.Sorted(maps.Keys(values)) {
			if err := tx.Set(key, values[key]); err != nil {
				return err
			}
		}
		return nil
	})
	return err
}

// Add gives a value to a key which does not exist; else the error is a *[KeyExistsError].
func (d *Data) Add(ctx context.Context, p object.Path, key string, value []byte) error {
	_, err := d.Modify(ctx, p, func(tx *Tx) error { return tx.Add(key, value) })
	return err
}

// Change gives a value to a key which exists; else the error is a *[KeyNotFoundError].
func (d *Data) Change(ctx context.Context, p object.Path, key string, value []byte) error {
	_, err := d.Modify(ctx, p, func(tx *Tx) error { return tx.Change(key, value) })
	return err
}

// Remove deletes a key. A missing key is a *[KeyNotFoundError].
func (d *Data) Remove(ctx context.Context, p object.Path, key string) error {
	_, err := d.Modify(ctx, p, func(tx *Tx) error { return tx.Remove(key) })
	return err
}

// Rename gives a key another name, which must be free, in one commit.
func (d *Data) Rename(ctx context.Context, p object.Path, from, to string) error {
	_, err := d.Modify(ctx, p, func(tx *Tx) error { return tx.Rename(from, to) })
	return err
}

// look gives the keys of an object as they are now. It opens none.
func (d *Data) look(p object.Path) (*Tx, error) {
	if err := stores(p); err != nil {
		return nil, err
	}
	f, err := d.store.Load(p)
	if err != nil {
		return nil, err
	}
	return d.tx(p, f.Doc), nil
}

// View gives use the keys of an object as they are at one instant. What it
// changes is not written. It is called again when a value does not open and the
// object is another one meanwhile: the cluster secret may change, and the keys be
// sealed anew, between the reading of an object and that of the secret.
func (d *Data) View(p object.Path, use func(*Tx) error) error {
	if err := stores(p); err != nil {
		return err
	}
	seen := ""
	for {
		f, err := d.store.Load(p)
		if err != nil {
			return err
		}
		err = use(d.tx(p, f.Doc))
		if !errors.Is(err, secret.ErrSealed) || f.Checksum == seen {
			return err
		}
		seen = f.Checksum
	}
}

func stores(p object.Path) error {
	if p.Kind.Stores() {
		return nil
	}
	return &NoKeysError{Path: p}
}
