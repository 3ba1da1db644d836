// Package stored gives renewals the objects that have a configuration on this
// node.
package stored

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/holdfast-ops/holdfast/internal/om/certificate"
	"github.com/holdfast-ops/holdfast/internal/om/datastore"
	"github.com/holdfast-ops/holdfast/internal/om/keyword"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/renewal"
	"github.com/holdfast-ops/holdfast/internal/om/schema"
	"github.com/holdfast-ops/holdfast/internal/om/store"
)

// Objects are the objects of a store.
type Objects struct {
	Store *store.Store
	Node  string // this one
}

// Describe implements [renewal.Objects].
func (o Objects) Describe(_ context.Context, p object.Path) (renewal.Description, error) {
	var d renewal.Description
	f, err := o.Store.Load(p)
	if err != nil {
		return d, err
	}
	ev, err := o.Store.Evaluator(p, f.Doc, "")
	if err != nil {
		return d, err
	}
	settings, err := o.Store.Settings(p, ev)
	if err != nil {
		return d, err
	}
	d.Certificate, d.Share = settings.Certificate, settings.Share
	if p.Kind == object.KindSec {
		t := &keyword.Table{}
		d.ACME.Keywords(t)
		if err := keyword.Decode(ev, schema.ACMESection, t, o.Store.Context()); err != nil {
			return d, fmt.Errorf("%s: %w", p, err)
		}
	}
	d.Site, err = o.Site()
	return d, err
}

// Site is what the configuration of the cluster says.
func (o Objects) Site() (renewal.Site, error) {
	s := renewal.Site{Node: o.Node}
	cluster, err := o.Store.Cluster()
	if err != nil {
		return s, err
	}
	listener, err := o.Store.Listener()
	if err != nil {
		return s, err
	}
	s.Nodes, s.Addr, s.ACMEPort = cluster.Nodes, listener.Addr, listener.ACMEPort
	if s.Authorities, err = secs("cluster.ca", cluster.CA); err != nil {
		return s, err
	}
	s.Presented, err = secs("listener.tls_secs", listener.TLSSecs)
	return s, err
}

func secs(keyword string, names []string) ([]object.Path, error) {
	var paths []object.Path
	for _, name := range names {
		p, err := certificate.Sec(name, object.SystemNamespace)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", keyword, err)
		}
		paths = append(paths, p)
	}
	return paths, nil
}

// Read implements [renewal.Objects].
func (o Objects) Read(_ context.Context, p object.Path, keys ...string) (map[string][]byte, error) {
	values := map[string][]byte{}
	data := datastore.New(o.Store)
	for _, key := range keys {
		value, err := data.Decode(p, key)
		if _, missing := errors.AsType[*datastore.KeyNotFoundError](err); missing {
			continue
		}
		if err != nil {
			return nil, err
		}
		values[key] = value
	}
	return values, nil
}

// Write implements [renewal.Objects].
func (o Objects) Write(ctx context.Context, p object.Path, values map[string][]byte) error {
	_, err := datastore.New(o.Store).Modify(ctx, p, func(tx *datastore.Tx) error {
		for _, key := range slices.Sorted(maps.Keys(values)) {
			var err error
			switch value := values[key]; {
			case value != nil:
				err = tx.Set(key, value)
			case tx.Has(key):
				err = tx.Remove(key)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	return err
}
