package replicate

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/renameio/v2"

	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/replication"
)

// record is what is kept beside a configuration: its version. The checksum tells
// whether the file is still that of the version.
//
//	edit:    the file, then the record. Killed in between, the file is another one
//	         than that of the record: it is an edit, whose version is the same.
//	install: the record with Next, the file, the record. Killed in between, the
//	         checksum of the file says which of both versions is here.
type record struct {
	Path    object.Path          `json:"path"`
	Version replication.Version  `json:"version"`
	Next    *replication.Version `json:"next,omitempty"` // of the file that is about to be installed
}

// records are the files of the records.
type records struct{ dir string }

func (r records) file(p object.Path) string {
	return filepath.Join(r.dir, strings.ReplaceAll(p.FQN(), "/", "_")+".json")
}

// maxRecord bounds what is read of a file.
const maxRecord = 256 << 10

// load reads every record. Those that cannot be read are as none, and told: what they
// were about is compared with the peers anew.
func (r records) load() (all map[object.Path]*record, damaged error) {
	all = map[object.Path]*record{}
	entries, err := os.ReadDir(r.dir)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return all, err
	}
	for _, e := range entries {
		name := filepath.Join(r.dir, e.Name())
		switch {
		case e.IsDir():
			continue
		case strings.HasPrefix(e.Name(), "."): // of a replacement that was killed
			damaged = errors.Join(damaged, os.Remove(name))
			continue
		}
		one, err := read(name)
		if err != nil || r.file(one.Path) != name {
			damaged = errors.Join(damaged, fmt.Errorf("%s: no record of a version: %w", name, err))
			continue
		}
		all[one.Path] = one
	}
	return all, damaged
}

func read(name string) (*record, error) {
	info, err := os.Stat(name)
	if err != nil {
		return &record{}, err
	}
	if info.Size() > maxRecord {
		return &record{}, fmt.Errorf("%d bytes: at most %d", info.Size(), maxRecord)
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return &record{}, err
	}
	one := &record{}
	if err := json.Unmarshal(data, one); err != nil {
		return &record{}, err
	}
	return one, nil
}

// save makes a record durable.
func (r records) save(one *record) error {
	data, err := json.Marshal(one)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(r.dir, 0o700); err != nil {
		return fmt.Errorf("record the version of %s: %w", one.Path, err)
	}
	if err := renameio.WriteFile(r.file(one.Path), data, 0, renameio.WithTempDir(r.dir), renameio.WithStaticPermissions(0o600)); err != nil {
		return fmt.Errorf("record the version of %s: %w", one.Path, err)
	}
	return nil
}

func (r records) remove(p object.Path) error {
	if err := os.Remove(r.file(p)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("forget the version of %s: %w", p, err)
	}
	return nil
}
