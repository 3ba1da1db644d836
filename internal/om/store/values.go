package store

import (
	"errors"
	"fmt"
	"strings"

	"github.com/holdfast-ops/holdfast/internal/om/config"
	"github.com/holdfast-ops/holdfast/internal/om/keyword"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// Value is a keyword of a configuration.
type Value struct {
	Key       config.Key
	Written   string // as in the file
	Evaluated string // references replaced and defaults applied, when asked for
}

// Values returns keywords of a configuration, every one that is set when none
// is named. Evaluated, they are those a node reads: none has a scope, since the
// evaluation chooses it. A keyword which is not set has an empty Written; one
// that does not exist is an error.
func (s *Store) Values(p object.Path, names []string, evaluate bool, asNode string) ([]Value, error) {
	f, err := s.Load(p)
	if err != nil {
		return nil, err
	}
	doc := f.Doc
	if p.IsZero() && evaluate {
		if doc, err = s.Merged(); err != nil {
			return nil, err
		}
	}
	keys := keysOf(f.Doc, evaluate)
	if len(names) > 0 {
		if keys, err = s.named(p, doc, names, evaluate); err != nil {
			return nil, err
		}
	}
	ev, err := s.Evaluator(p, doc, asNode)
	if err != nil {
		return nil, err
	}
	ev = ev.Pass()
	values := make([]Value, len(keys))
	var errs []error
	for i, k := range keys {
		values[i].Key = k
		values[i].Written, _ = f.Doc.Get(k)
		if evaluate {
			values[i].Written, values[i].Evaluated, err = evaluateKey(ev, k)
			errs = append(errs, err)
			if k == nodesKey() && !isSite(p) && strings.TrimSpace(values[i].Evaluated) == "" && err == nil {
				values[i].Evaluated = strings.Join(ev.Scope.Nodes, " ")
			}
		}
	}
	return values, errors.Join(errs...)
}

func nodesKey() config.Key { return config.Key{Section: config.DefaultSection, Option: "nodes"} }

// keysOf lists the keys of a document, one for all the scopes of an option when
// they are to be evaluated.
func keysOf(doc *config.Document, evaluate bool) []config.Key {
	var keys []config.Key
	seen := map[config.Key]bool{}
	for _, section := range doc.Sections() {
		for _, k := range doc.Keys(section) {
			if evaluate {
				k.Scope = ""
			}
			if !seen[k] {
				seen[k] = true
				keys = append(keys, k)
			}
		}
	}
	return keys
}

// named reads the names of keywords, and refuses those that do not exist.
func (s *Store) named(p object.Path, doc *config.Document, names []string, evaluate bool) ([]config.Key, error) {
	keys := make([]config.Key, len(names))
	errs := make([]error, len(names))
	schema := s.Schema(p)
	for i, name := range names {
		k, err := config.ParseKey(name)
		keys[i], errs[i] = k, err
		if err != nil {
			continue
		}
		if evaluate && k.Scope != "" {
			unscoped := config.Key{Section: k.Section, Option: k.Option}
			errs[i] = fmt.Errorf("%s: an evaluation chooses the scope: ask %s, and say as which node with --impersonate", k, unscoped)
			continue
		}
		errs[i] = exists(schema, doc, k, evaluate)
	}
	return keys, errors.Join(errs...)
}

// exists tells whether a key is written, or is that of a keyword. The options of
// sections open to any only exist where they are written.
func exists(schema *keyword.Schema, doc *config.Document, k config.Key, anyScope bool) error {
	if _, written := doc.Get(k); written || anyScope && doc.Mentions(k.Section, k.Option) {
		return nil
	}
	if _, err := schema.Find(doc, k.Section, k.Option); err != nil {
		return err
	}
	if schema.IsOpen(k.Section) {
		return fmt.Errorf("%s is not set", k)
	}
	return nil
}

func evaluateKey(ev *config.Evaluator, k config.Key) (written, evaluated string, err error) {
	option, known := ev.Options(k.Section, k.Option)
	if !known {
		option = config.Option{Name: k.Option, Scopable: true, Inherit: config.LeafOnly}
	}
	if written, _, _, err = ev.Raw(k.Section, option); err != nil {
		return "", "", err
	}
	evaluated, _, err = ev.Value(k.Section, option)
	return written, evaluated, err
}
