package station

import (
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

// Draft is a configuration of a cluster that is being edited here. It outlives an
// edit that could not be committed.
type Draft struct{ name string }

// DraftOf returns the draft of a configuration, which names tell apart: the cluster,
// the object.
func (s Station) DraftOf(names ...string) (Draft, error) {
	if err := s.check(); err != nil {
		return Draft{}, err
	}
	parts := make([]string, len(names))
	for i, n := range names {
		parts[i] = url.PathEscape(n)
	}
	return Draft{filepath.Join(s.home, ".cache", "opensvc", "drafts", strings.Join(parts, "_")+".conf")}, nil
}

// Name is the file to edit.
func (d Draft) Name() string { return d.name }

// Exists tells whether an earlier edit was kept.
func (d Draft) Exists() bool {
	_, err := os.Lstat(d.name)
	return err == nil
}

// Start makes the draft of what a configuration is. tag says which one that is.
func (d Draft) Start(text []byte, tag string) error {
	return errors.Join(replace(d.name+".tag", []byte(tag)), replace(d.name, text))
}

// Read returns what was typed, and which configuration it was made from.
func (d Draft) Read() (text []byte, tag string, err error) {
	text, err = os.ReadFile(d.name)
	if err != nil {
		return nil, "", err
	}
	data, err := os.ReadFile(d.name + ".tag")
	return text, string(data), err
}

// Discard drops the draft.
func (d Draft) Discard() error {
	var errs []error
	for _, name := range []string{d.name, d.name + ".tag"} {
		if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
