package store

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/holdfast-ops/holdfast/internal/om/config"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// CreateOptions tell how an object is created.
type CreateOptions struct {
	Force     bool              // replace an object of that name
	Restore   bool              // the object is the one the configuration was saved from: keep what it recorded, its id too
	Change    config.Change     // applied to the configuration, in the same commit
	Env       map[string]string // options of the env section to override
	Namespace string            // instead of that of the path
}

// Create writes the configuration of a new object, in one commit. doc is that
// of another object, a manifest, or nil for an empty one; it is not changed.
func (s *Store) Create(ctx context.Context, p object.Path, doc *config.Document, o CreateOptions) (Committed, error) {
	if o.Namespace != "" {
		p.Namespace = o.Namespace
	}
	if isSite(p) {
		return Committed{}, errors.New("the node and cluster configurations are not created: change them with config update")
	}
	if err := p.Validate(); err != nil {
		return Committed{}, err
	}
	fresh := config.NewDocument()
	if doc != nil {
		if err := writtenOnce(p, doc); err != nil {
			return Committed{}, err
		}
		fresh = doc.Clone()
	}
	if !o.Restore {
		if err := s.forget(p, fresh); err != nil {
			return Committed{}, err
		}
	}
	was := idOf(fresh)
	if err := s.apply(p, fresh, o.Change); err != nil {
		return Committed{}, err
	}
	if err := keepsIdentity(p, was, idOf(fresh)); err != nil && !o.Restore {
		return Committed{}, err
	}
	for _, option := range slices.Sorted(maps.Keys(o.Env)) {
		if err := fresh.Set(config.Key{Section: "env", Option: option}, o.Env[option]); err != nil {
			return Committed{}, fmt.Errorf("%s: %w", name(p), err)
		}
	}
	return s.commit(ctx, p, func(current *version) (*config.Document, error) {
		if current != nil && !o.Force {
			return nil, &ExistsError{Path: p}
		}
		return fresh, nil
	})
}

// forget resets what the object the configuration comes from recorded of itself.
func (s *Store) forget(p object.Path, doc *config.Document) error {
	find := s.Schema(p).Finder(doc)
	var recorded []config.Key
	for _, section := range doc.Sections() {
		for _, key := range doc.Keys(section) {
			if k, err := find(section, key.Option); err == nil && k.IsRecorded && key != idKey() {
				recorded = append(recorded, key)
			}
		}
	}
	doc.UnsetAll(recorded)
	if _, ok := doc.Get(idKey()); ok {
		return doc.Set(idKey(), "") // the commit writes another one in its place
	}
	return nil
}
