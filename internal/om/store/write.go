package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/renameio/v2"

	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// write puts data in place of the configuration of an object: whatever happens,
// the file holds the former bytes or the new ones, and the new ones are durable
// when write returns. The caller holds the lock.
func (s *Store) write(p object.Path, data []byte, after time.Time) (modified time.Time, err error) {
	return s.writeDated(p, data, func(f *os.File) (time.Time, error) { return postdate(f, after) })
}

// writeDated is write with a modification time that date gives the file.
func (s *Store) writeDated(p object.Path, data []byte, date func(*os.File) (time.Time, error)) (modified time.Time, err error) {
	name := s.FileName(p)
	dir := filepath.Dir(name)
	if err := s.makeDirs(p); err != nil {
		return time.Time{}, err
	}
	s.step("directories")
	if err := removeTemporaries(name); err != nil {
		return time.Time{}, err
	}
	pending, err := renameio.NewPendingFile(name, renameio.WithTempDir(dir), renameio.WithStaticPermissions(0o600))
	if err != nil {
		return time.Time{}, err
	}
	defer func() {
		if cleanup := pending.Cleanup(); err == nil {
			err = cleanup
		}
	}()
	s.step("temporary created")
	if _, err := pending.Write(data); err != nil {
		return time.Time{}, err
	}
	s.step("temporary written")
	if modified, err = date(pending.File); err != nil {
		return time.Time{}, err
	}
	s.step("temporary dated")
	if err := pending.CloseAtomicallyReplace(); err != nil {
		return time.Time{}, err
	}
	s.step("replaced")
	return modified, syncDir(dir)
}

// postdate makes the modification time of f, which is the version of the
// configuration, later than the former one: clocks go back, and their ticks are
// coarser than two commits in a row.
func postdate(f *os.File, after time.Time) (time.Time, error) {
	info, err := f.Stat()
	if err != nil {
		return time.Time{}, err
	}
	modified := info.ModTime()
	if modified.After(after) {
		return modified, nil
	}
	modified = after.Add(time.Millisecond)
	return modified, os.Chtimes(f.Name(), modified, modified)
}

// makeDirs makes the directories of the configuration of an object. Their
// entries are made durable, as the file is.
func (s *Store) makeDirs(p object.Path) error {
	dir := s.host.Paths.Etc()
	if err := makeDir(dir, 0o700); err != nil {
		return err
	}
	parents := strings.Split(filepath.Dir(relativeName(p)), string(filepath.Separator))
	for i, parent := range parents {
		if parent == "." {
			continue
		}
		mode := os.FileMode(0o755)
		if i == 0 && parent == "namespaces" {
			mode = 0o700
		}
		dir = filepath.Join(dir, parent)
		if err := makeDir(dir, mode); err != nil {
			return err
		}
	}
	return nil
}

func makeDir(dir string, mode os.FileMode) error {
	if _, err := os.Stat(dir); err == nil || !missing(err) {
		return err
	}
	if parent := filepath.Dir(dir); parent != dir {
		if err := makeDir(parent, 0o755); err != nil {
			return err
		}
	}
	if err := os.Mkdir(dir, mode); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	if err := os.Chmod(dir, mode); err != nil { // whatever the umask
		return err
	}
	return syncDir(filepath.Dir(dir))
}

func syncDir(dir string) (err error) {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := f.Sync(); err != nil {
		return fmt.Errorf("sync %s: %w", dir, err)
	}
	return nil
}

// removeTemporaries removes what the commits of killed processes left. Only the
// holder of the lock writes such files, so that they are nobody's.
func removeTemporaries(name string) error {
	dir, base := filepath.Split(name)
	names, err := entries(dir)
	if err != nil {
		return err
	}
	for _, n := range names {
		suffix, ok := strings.CutPrefix(n, "."+base)
		if !ok || suffix == "" || strings.Trim(suffix, "0123456789") != "" {
			continue
		}
		if err := os.Remove(filepath.Join(dir, n)); err != nil && !missing(err) {
			return err
		}
	}
	return nil
}

func syncParent(file string) error { return syncDir(filepath.Dir(file)) }
