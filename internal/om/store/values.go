package store

import (
	"errors"

	"github.com/holdfast-ops/holdfast/internal/om/config"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// Value is a keyword of a configuration.
type Value struct {
	Key       config.Key
	Written   string // as in the file
	Evaluated string // references replaced and defaults applied, when asked for
}

// Values returns keywords of a configuration, every one that is set when none
// is named, evaluated as a node does when evaluate is set. A keyword which is
// not set has an empty Written; an unknown one is an error.
func (s *Store) Values(p object.Path, names []string, evaluate bool, asNode string) ([]Value, error) {
	f, err := s.Load(p)
	if err != nil {
		return nil, err
	}
	evaluated := f.Doc
	if p.IsZero() && evaluate {
		if evaluated, err = s.Merged(); err != nil {
			return nil, err
		}
	}
	keys, err := s.keysOf(p, f.Doc, names)
	if err != nil {
		return nil, err
	}
	ev, err := s.Evaluator(p, evaluated, asNode)
	if err != nil {
		return nil, err
	}
	values := make([]Value, len(keys))
	var errs []error
	for i, k := range keys {
		values[i].Key = k
		values[i].Written, _ = f.Doc.Get(k)
		if evaluate {
			values[i].Evaluated, err = evaluateKey(ev, k)
			errs = append(errs, err)
		}
	}
	return values, errors.Join(errs...)
}

// keysOf reads the names of keywords, and refuses those that do not exist.
func (s *Store) keysOf(p object.Path, doc *config.Document, names []string) ([]config.Key, error) {
	var keys []config.Key
	var errs []error
	schema := s.Schema(p)
	for _, name := range names {
		k, err := config.ParseKey(name)
		if err == nil {
			if _, written := doc.Get(k); !written {
				_, err = schema.Find(doc, k.Section, k.Option)
			}
		}
		keys, errs = append(keys, k), append(errs, err)
	}
	if len(names) == 0 {
		for _, section := range doc.Sections() {
			keys = append(keys, doc.Keys(section)...)
		}
	}
	return keys, errors.Join(errs...)
}

func evaluateKey(ev *config.Evaluator, k config.Key) (string, error) {
	option, known := ev.Options(k.Section, k.Option)
	if !known {
		option = config.Option{Name: k.Option, Scopable: true, Inherit: config.LeafOnly}
	}
	text, _, err := ev.Value(k.Section, option)
	return text, err
}
