package install

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// Record is what is remembered of the last install of a resource: what it read,
// so that a change of it installs again, and what it wrote. It holds no value.
type Record struct {
	// Boot is the boot of the node it was made in: later ones know nothing of it.
	Boot string `json:"boot"`
	// Sources are the objects whose keys were read, and their state then.
	Sources map[string]string `json:"sources"`
	Files   []File            `json:"files"`
	Errors  []string          `json:"errors,omitempty"`
}

// File is an installed file.
type File struct {
	Name string   `json:"name"` // absolute
	Read []Source `json:"read"` // its key first, then those its template read
	Size int64    `json:"size"`
	Mode string   `json:"mode"`
}

// Source is a key of an object.
type Source struct {
	From string `json:"from"`
	Key  string `json:"key"`
}

const recordName = "installed"

// ReadRecord reads the record of the resource whose private directory is dir. The
// error is [fs.ErrNotExist] when there is none.
func ReadRecord(dir string) (r Record, err error) {
	data, err := os.ReadFile(filepath.Join(dir, recordName))
	if err != nil {
		return r, err
	}
	if err := json.Unmarshal(data, &r); err != nil {
		return r, fmt.Errorf("%s: %w", filepath.Join(dir, recordName), err)
	}
	return r, nil
}

func (r Record) write(dir string) error {
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	// Not made durable: it is of no use after the node booted again.
	tmp, err := os.CreateTemp(dir, "."+recordName+".")
	if err != nil {
		return err
	}
	_, err = tmp.Write(append(data, '\n'))
	if err = errors.Join(err, tmp.Close()); err == nil {
		err = os.Rename(tmp.Name(), filepath.Join(dir, recordName))
	}
	if err != nil {
		return errors.Join(err, os.Remove(tmp.Name()))
	}
	return nil
}

// Forget removes the record: what is not there any more is not brought up to date.
func Forget(dir string) error {
	if err := os.Remove(filepath.Join(dir, recordName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Outdated tells whether an object that was read changed since.
func (r Record) Outdated(boot string, version func(object.Path) string) bool {
	if r.Boot != boot {
		return false
	}
	for text, was := range r.Sources {
		p, err := object.Parse(text)
		if err == nil && version(p) != was {
			return true
		}
	}
	return false
}

// Holds tells whether a key of an object that matches a glob was read.
func (r Record) Holds(from object.Path, glob string) bool {
	for _, f := range r.Files {
		for _, s := range f.Read {
			if s.From == from.FQN() && object.Glob(glob, s.Key) {
				return true
			}
		}
	}
	return false
}
