package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/config"
	"github.com/holdfast-ops/holdfast/internal/om/keyword"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// Committed tells what a commit did.
type Committed struct {
	Path     object.Path
	Changed  bool // false: the configuration was that one already, nothing was written
	ModTime  time.Time
	Checksum string
	Warnings []keyword.Alert
}

const metadataSection = "metadata"

// commit locks the configuration of an object, edits it, and writes the result
// if it is valid and differs. current is nil when the object does not exist.
func (s *Store) commit(ctx context.Context, p object.Path, edit func(current *version) (*config.Document, error)) (done Committed, err error) {
	l, err := s.lock(ctx, p)
	if err != nil {
		return Committed{}, err
	}
	defer func() { err = errors.Join(err, l.release()) }()
	s.step("locked")

	current, err := s.current(p)
	if err != nil {
		return Committed{}, err
	}
	doc, err := edit(current)
	if err != nil {
		return Committed{}, err
	}
	var former *config.Document
	if current != nil {
		former = current.doc // nil when broken
	}
	doc.DeleteSection(metadataSection) // what a manifest says of the object, not a setting
	if err := s.identify(p, doc, former); err != nil {
		return Committed{}, err
	}
	if err := s.keepSecrets(p, doc, former); err != nil {
		return Committed{}, err
	}
	if err := s.allow(p, doc, current); err != nil {
		return Committed{}, err
	}
	done = Committed{Path: p}
	if done.Warnings, err = s.check(p, doc, former); err != nil {
		return Committed{}, err
	}
	s.step("validated")
	return s.put(p, doc.Bytes(), current, done)
}

// put writes data unless it is what the object holds.
func (s *Store) put(p object.Path, data []byte, current *version, done Committed) (Committed, error) {
	done.Checksum = checksum(data)
	var after time.Time
	if current != nil {
		after = current.info.ModTime()
		if bytes.Equal(data, current.data) {
			done.ModTime = after
			return done, nil
		}
	}
	modified, err := s.write(p, data, after)
	if err != nil {
		return Committed{}, fmt.Errorf("write the configuration of %s: %w", name(p), err)
	}
	done.Changed, done.ModTime = true, modified
	return done, nil
}

// check validates a configuration that is to replace another. The warnings are
// those of what it changes.
func (s *Store) check(p object.Path, doc, former *config.Document) (warnings []keyword.Alert, err error) {
	var refused []keyword.Alert
	for _, a := range s.validate(p, doc, former) {
		if a.Level == keyword.LevelError {
			refused = append(refused, a)
		} else {
			warnings = append(warnings, a)
		}
	}
	if len(refused) > 0 {
		return nil, &InvalidError{Path: p, Alerts: refused}
	}
	if former == nil || len(warnings) == 0 {
		return warnings, nil
	}
	known := map[keyword.Alert]bool{}
	for _, a := range s.validate(p, former, former) {
		known[subject(a)] = true
	}
	return slices.DeleteFunc(warnings, func(a keyword.Alert) bool { return known[subject(a)] && sameLine(a, doc, former) }), nil
}

// subject is what an alert is about: what its comment says may depend on the
// rest of the configuration.
func subject(a keyword.Alert) keyword.Alert {
	a.Comment = ""
	return a
}

// sameLine tells whether a change left alone the line an alert is about.
func sameLine(a keyword.Alert, doc, former *config.Document) bool {
	if a.Option == "" {
		return true
	}
	k, err := config.ParseKey(a.Section + "." + a.Option)
	if err != nil {
		return false
	}
	was, wasThere := former.Get(k)
	is, isThere := doc.Get(k)
	return was == is && wasThere == isThere
}

// Update applies a change to the configuration of an object, in one commit.
func (s *Store) Update(ctx context.Context, p object.Path, c config.Change) (Committed, error) {
	return s.Modify(ctx, p, func(doc *config.Document) error {
		was := idOf(doc)
		if err := s.apply(p, doc, c); err != nil {
			return err
		}
		if slices.Contains(c.Delete, config.DefaultSection) && idOf(doc) == "" {
			return nil // the commit writes it again
		}
		return keepsIdentity(p, was, idOf(doc))
	})
}

// Modify lets edit change the configuration of an object, under its lock and in
// one commit: what edit read in the document is still so when it is written.
func (s *Store) Modify(ctx context.Context, p object.Path, edit func(*config.Document) error) (Committed, error) {
	return s.commit(ctx, p, func(current *version) (*config.Document, error) {
		if err := s.mustExist(p, current); err != nil {
			return nil, err
		}
		doc := config.NewDocument()
		if current != nil {
			if current.broken != nil {
				return nil, current.broken
			}
			doc = current.doc.Clone()
		}
		return doc, edit(doc)
	})
}

func (s *Store) apply(p object.Path, doc *config.Document, c config.Change) error {
	schema := s.Schema(p)
	if c.Group == nil {
		c.Group = schema.IsGroup
	}
	if _, err := c.Apply(doc, schema.IsList(doc)); err != nil {
		return fmt.Errorf("%s: %w", name(p), err)
	}
	return nil
}

// mustExist refuses an object without configuration. The node and the cluster
// always exist: a missing file is an empty one.
func (s *Store) mustExist(p object.Path, current *version) error {
	if current == nil && !isSite(p) {
		return &object.NotFoundError{What: name(p)}
	}
	return nil
}

func isSite(p object.Path) bool { return p.IsZero() || p == object.Cluster() }

// Replace puts another configuration in place of that of an object, which
// exists, be it broken. The object keeps its id, unless the new configuration
// brings one.
func (s *Store) Replace(ctx context.Context, p object.Path, data []byte) (Committed, error) {
	return s.ReplaceIf(ctx, p, data, func(Text) error { return nil })
}

// ReplaceIf is [Store.Replace], unless accept refuses what would be replaced. It
// is called under the lock: nobody commits in between.
func (s *Store) ReplaceIf(ctx context.Context, p object.Path, data []byte, accept func(current Text) error) (Committed, error) {
	doc, err := config.Parse(data)
	if err != nil {
		return Committed{}, fmt.Errorf("%s: %w", name(p), err)
	}
	if err := writtenOnce(p, doc); err != nil {
		return Committed{}, err
	}
	return s.commit(ctx, p, func(current *version) (*config.Document, error) {
		if err := s.mustExist(p, current); err != nil {
			return nil, err
		}
		var text Text
		if current != nil {
			text = Text{Data: current.data, ModTime: current.info.ModTime()}
		}
		return doc, accept(text)
	})
}
