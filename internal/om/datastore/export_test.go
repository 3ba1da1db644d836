package datastore

import (
	"github.com/holdfast-ops/holdfast/internal/om/config"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/secret"
)

// At returns the data calling step along a rotation.
func (d *Data) At(step func(name string)) *Data {
	c := *d
	c.step = step
	return &c
}

// NewTx returns a change of a document at hand.
func NewTx(p object.Path, doc *config.Document, limit int64) *Tx {
	return &Tx{
		path: p, doc: doc,
		keys:  func() (k keyring, err error) { k.current, err = secret.Derive([]byte("s"), purpose); return k, err },
		limit: func() (int64, error) { return limit, nil },
	}
}
