package store

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// Delete removes the state of an object, its drafts, then its configuration.
// The configurations of the node and of the cluster are never removed.
func (s *Store) Delete(ctx context.Context, p object.Path) error {
	return s.delete(ctx, p, func() error { return nil })
}

// delete calls before under the lock, when there is something to delete.
func (s *Store) delete(ctx context.Context, p object.Path, before func() error) (err error) {
	if isSite(p) {
		return fmt.Errorf("%s: this configuration cannot be deleted", name(p))
	}
	l, err := s.lock(ctx, p)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.release()) }()
	if _, err := os.Lstat(s.FileName(p)); err != nil {
		if missing(err) {
			err = errors.Join(&object.NotFoundError{What: name(p)}, s.bury(p), l.remove())
		}
		return err
	}
	if err := before(); err != nil {
		return fmt.Errorf("delete %s: %w", name(p), err)
	}
	if err := s.remove(p); err != nil {
		return fmt.Errorf("delete %s: %w", name(p), err)
	}
	return l.remove()
}

func (s *Store) remove(p object.Path) error {
	state := s.stateDir(p)
	if mounted, err := mountsUnder(state); err != nil {
		return err
	} else if len(mounted) > 0 {
		return fmt.Errorf("%s is mounted in the state of the object, what it holds would be removed: unmount it first", mounted[0])
	}
	if err := s.bury(p); err != nil {
		return err
	}
	s.step("state removed")
	if err := s.removeDrafts(p); err != nil {
		return err
	}
	file := s.FileName(p)
	if err := os.Remove(file); err != nil {
		return err
	}
	s.step("configuration removed")
	// What was written meanwhile goes too. Who writes later finds no
	// configuration, see Bury.
	if err := errors.Join(s.bury(p), removeTemporaries(file)); err != nil {
		return err
	}
	return syncParent(file)
}

// Bury removes the state of an object that has no configuration any more. Who
// writes the state of an object without its lock calls it when the configuration
// turns out to be gone after the write: then nothing outlives a deletion.
func (s *Store) Bury(ctx context.Context, p object.Path) (err error) {
	l, err := s.lock(ctx, p)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.release()) }()
	if _, err := os.Lstat(s.FileName(p)); !missing(err) {
		return err // none: it was made again meanwhile
	}
	if err := s.bury(p); err != nil {
		return fmt.Errorf("remove the state of %s: %w", name(p), err)
	}
	return l.remove()
}

// bury takes the state of an object away from where it is looked for, at once,
// then removes it: whoever is writing in it cannot keep it there.
func (s *Store) bury(p object.Path) error {
	state := s.stateDir(p)
	tomb := filepath.Join(filepath.Dir(state), "."+filepath.Base(state)+".deleted")
	if err := removeAll(tomb); err != nil { // of a deletion that was killed
		return err
	}
	if err := os.Rename(state, tomb); err != nil {
		if missing(err) {
			return nil
		}
		return err
	}
	return removeAll(tomb)
}

// removeTries is how often a directory is emptied while somebody fills it.
const removeTries = 20

// removeAll removes a directory in which a status evaluation, which takes no lock
// of ours, may be writing a last file.
func removeAll(dir string) (err error) {
	for range removeTries {
		if err = os.RemoveAll(dir); !errors.Is(err, syscall.ENOTEMPTY) {
			return err
		}
	}
	return err
}

// mountsUnder lists what is mounted on a directory, or below.
func mountsUnder(dir string) (points []string, err error) {
	f, err := os.Open("/proc/self/mounts")
	if err != nil {
		if missing(err) {
			return nil, nil // a system that does not tell
		}
		return nil, err
	}
	defer f.Close() //nolint:errcheck // read only
	unescape := strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 2 {
			continue
		}
		if point := unescape.Replace(fields[1]); point == dir || strings.HasPrefix(point, dir+"/") {
			points = append(points, point)
		}
	}
	return points, lines.Err()
}
