package store

import (
	"fmt"
	"strings"

	"github.com/google/uuid"

	"github.com/holdfast-ops/holdfast/internal/om/config"
	"github.com/holdfast-ops/holdfast/internal/om/keyword"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

func idKey() config.Key { return config.Key{Section: config.DefaultSection, Option: "id"} }

// idOf is the identity written in a configuration, empty when there is none.
func idOf(doc *config.Document) string {
	if doc == nil {
		return ""
	}
	id, _ := doc.Get(idKey())
	return strings.TrimSpace(id)
}

// identify gives an object its id: the one it had, unless the new configuration
// brings one, which must be a uuid no other object has.
func (s *Store) identify(p object.Path, doc, former *config.Document) error {
	id, known := idOf(doc), idOf(former)
	switch id {
	case "":
		if known == "" {
			known = uuid.NewString()
		}
		return doc.Set(idKey(), known)
	case known:
		return nil
	}
	if err := keyword.UUID(id); err != nil {
		return s.refuse(p, keyword.AlertConversion, fmt.Sprintf("id: value %q: %s", id, err))
	}
	if isSite(p) {
		return nil
	}
	paths, err := s.List()
	if err != nil {
		return err
	}
	for _, other := range paths {
		if other == p || isSite(other) {
			continue
		}
		f, err := s.load(other)
		if err != nil {
			continue // what cannot be read claims no id
		}
		if idOf(f.Doc) == id {
			return s.refuse(p, keyword.AlertDuplicate, fmt.Sprintf("id: %s is the id of %s: delete that one first, or leave the id out for the object to get its own", id, other))
		}
	}
	return nil
}

func (s *Store) refuse(p object.Path, kind, comment string) error {
	return &InvalidError{Path: p, Alerts: []keyword.Alert{{
		Level: keyword.LevelError, Kind: kind, Section: idKey().Section, Option: idKey().Option, Comment: comment,
	}}}
}

// keepsIdentity refuses a change that gives or takes an id: nothing else would
// tell that the object is still the same one.
func keepsIdentity(p object.Path, was, is string) error {
	switch is {
	case was:
		return nil
	case "":
		return fmt.Errorf("%s: the id of an object is not removed: it tells that it is the same one wherever it goes", name(p))
	default:
		return fmt.Errorf("%s: the id of an object is not chosen: it tells that it is the same one wherever it goes; create --restore brings back that of a saved configuration", name(p))
	}
}
