package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/renameio/v2"

	"github.com/holdfast-ops/holdfast/internal/om/config"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// Draft is a configuration being edited: a file beside the one in place, kept
// until it is committed or discarded. Its name says which version it was made
// from, so that a commit never overwrites what somebody else committed meanwhile.
type Draft struct {
	Path object.Path
	Name string // the file to give to the editor

	base string // checksum of the configuration it was made from
}

const draftMark = ".edit-"

// Edit starts a draft from the configuration in place, be it broken. A draft left by an
// earlier edit is a *[DraftError].
func (s *Store) Edit(p object.Path) (*Draft, error) {
	v, err := s.edited(p)
	if err != nil {
		return nil, err
	}
	if left, err := s.drafts(p); err != nil {
		return nil, err
	} else if len(left) > 0 {
		return nil, &DraftError{Path: p, Draft: left[0]}
	}
	d := s.draft(p, v)
	var data []byte
	if v != nil {
		data = v.data
	}
	if err := s.makeDirs(p); err != nil {
		return nil, fmt.Errorf("edit %s: %w", name(p), err)
	}
	if err := renameio.WriteFile(d.Name, data, 0, renameio.WithTempDir(filepath.Dir(d.Name)), renameio.WithStaticPermissions(0o600)); err != nil {
		return nil, fmt.Errorf("edit %s: %w", name(p), err)
	}
	return d, nil
}

// Recover returns the draft left by an edit which was not committed; without
// one the error is a *[NoDraftError]. Committing it replaces the configuration
// as it is at the time of this call.
func (s *Store) Recover(p object.Path) (*Draft, error) {
	v, err := s.edited(p)
	if err != nil {
		return nil, err
	}
	left, err := s.drafts(p)
	if err != nil {
		return nil, err
	}
	if len(left) == 0 {
		return nil, &NoDraftError{Path: p}
	}
	d := s.draft(p, v)
	if left[0] != d.Name {
		if err := os.Rename(left[0], d.Name); err != nil {
			return nil, fmt.Errorf("recover the edit of %s: %w", name(p), err)
		}
	}
	return d, nil
}

// Discard removes the draft left by an edit; without one the error is a *[NoDraftError].
func (s *Store) Discard(p object.Path) error {
	left, err := s.drafts(p)
	if err != nil {
		return err
	}
	if len(left) == 0 {
		return &NoDraftError{Path: p}
	}
	return s.removeDrafts(p)
}

// Commit replaces the configuration by the draft, then removes the draft. When
// it is refused the draft stays, to be recovered.
func (s *Store) Commit(ctx context.Context, d *Draft) (Committed, error) {
	data, err := os.ReadFile(d.Name)
	if err != nil {
		return Committed{}, fmt.Errorf("read the edit of %s: %w", name(d.Path), err)
	}
	doc, err := config.Parse(data)
	if err != nil {
		return Committed{}, fmt.Errorf("%s: %w", d.Name, err)
	}
	done, err := s.commit(ctx, d.Path, func(current *version) (*config.Document, error) {
		if err := s.mustExist(d.Path, current); err != nil {
			return nil, err
		}
		if base(current) != d.base {
			return nil, &ConflictError{Path: d.Path, File: s.FileName(d.Path), Draft: d.Name}
		}
		return doc, nil
	})
	if err != nil {
		return Committed{}, err
	}
	if err := os.Remove(d.Name); err != nil && !missing(err) {
		return done, fmt.Errorf("remove the edit of %s: %w", name(d.Path), err)
	}
	return done, nil
}

// Drop removes a draft in which nothing was typed, and reports whether it did.
func (s *Store) Drop(d *Draft) (dropped bool, err error) {
	data, err := os.ReadFile(d.Name)
	if err != nil {
		if missing(err) {
			return true, nil
		}
		return false, fmt.Errorf("read the edit of %s: %w", name(d.Path), err)
	}
	if blank := d.base == base(nil) && len(data) == 0; !blank && d.base != base(&version{checksum: checksum(data)}) {
		return false, nil
	}
	if err := os.Remove(d.Name); err != nil && !missing(err) {
		return false, fmt.Errorf("remove the edit of %s: %w", name(d.Path), err)
	}
	return true, nil
}

// edited returns the configuration to edit, nil for a missing site file.
func (s *Store) edited(p object.Path) (*version, error) {
	v, err := s.current(p)
	if err != nil {
		return nil, err
	}
	return v, s.mustExist(p, v)
}

func (s *Store) draft(p object.Path, v *version) *Draft {
	dir, file := filepath.Split(s.FileName(p))
	return &Draft{Path: p, Name: filepath.Join(dir, "."+file+draftMark+base(v)), base: base(v)}
}

// base tells versions apart, in the name of a draft.
func base(v *version) string {
	if v == nil {
		return "new"
	}
	return v.checksum[:16]
}

func (s *Store) drafts(p object.Path) ([]string, error) {
	dir, file := filepath.Split(s.FileName(p))
	names, err := entries(dir)
	if err != nil {
		return nil, err
	}
	var found []string
	for _, n := range names {
		if base, ok := strings.CutPrefix(n, "."+file+draftMark); ok && isBase(base) {
			found = append(found, filepath.Join(dir, n))
		}
	}
	return found, nil
}

// isBase leaves alone the backup and swap files of editors.
func isBase(s string) bool {
	return s == "new" || len(s) == 16 && strings.Trim(s, "0123456789abcdef") == ""
}

func (s *Store) removeDrafts(p object.Path) error {
	left, err := s.drafts(p)
	errs := []error{err}
	for _, file := range left {
		if err := os.Remove(file); err != nil && !missing(err) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
