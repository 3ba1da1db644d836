package membership

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"

	"github.com/google/renameio/v2"

	"github.com/holdfast-ops/holdfast/internal/host"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// Resume is called before anything reads the configurations of a node. It puts
// those that a former daemon prepared in place, when it had come that far: each
// step may be interrupted, and is done again.
//
//	etc -> backup/.pre-cluster-join-etc-<date>, state of the objects likewise,
//	prepared files -> etc, everything else out of etc, order forgotten
func Resume(paths host.Paths, log *slog.Logger) error {
	return resume(paths, log, func(string) {})
}

func resume(paths host.Paths, log *slog.Logger, step func(string)) error {
	f := files{paths}
	o, err := f.load()
	if err != nil {
		log.Error("the order is left as it is, and nothing is done about it", slog.Any("err", err))
		return nil
	}
	if o == nil || o.State != stateReady {
		return nil
	}
	s := swap{files: f, order: o, step: step}
	if err := s.run(); err != nil {
		return fmt.Errorf("%s: %w: it goes on at the next start of the daemon", o.purpose(), err)
	}
	log.Info("the configurations of the other cluster are in place", slog.String("action", o.purpose()), slog.String("reason", "the former ones are in "+f.backup(o, "etc")))
	return nil
}

// swap replaces the configurations of the node.
type swap struct {
	files

	order *order
	step  func(name string) // called along the way, for tests to stop there
}

func (s swap) run() error {
	etc := s.paths.Etc()
	if target, err := filepath.EvalSymlinks(etc); err == nil {
		etc = target
	}
	for _, do := range []func(string) error{s.keep, s.setAside, s.install, s.thaw} {
		if err := do(etc); err != nil {
			return err
		}
	}
	s.step("installed")
	return s.forget()
}

// keep copies the configurations to the backup directory, whole or not at all.
func (s swap) keep(etc string) error {
	to := s.backup(s.order, "etc")
	if _, err := os.Lstat(to); err == nil {
		return nil // before a crash: what is in place by now may be new
	}
	part := to + ".part"
	if err := os.RemoveAll(part); err != nil {
		return fmt.Errorf("back the configurations up: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return fmt.Errorf("back the configurations up: %w", err)
	}
	s.step("backup begun")
	if err := copyTree(etc, part); err != nil {
		return fmt.Errorf("back the configurations up: %w", err)
	}
	s.step("backup written")
	if err := os.Rename(part, to); err != nil {
		return fmt.Errorf("back the configurations up: %w", err)
	}
	s.step("backup done")
	return syncDir(filepath.Dir(to))
}

// setAside moves what is known of the objects of the former cluster away: an object
// of the same name in the new one is another.
func (s swap) setAside(string) error {
	to := s.backup(s.order, "var")
	names := []string{"namespaces", "replica", "list.objects", "list.nodes", "nodes_info.json"}
	for _, kind := range object.Kinds() {
		names = append(names, string(kind))
	}
	for _, name := range names {
		from := filepath.Join(s.paths.Var(), name)
		if _, err := os.Lstat(from); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err := os.MkdirAll(to, 0o700); err != nil {
			return fmt.Errorf("set the state of the objects aside: %w", err)
		}
		move := func() error { return os.Rename(from, filepath.Join(to, name)) }
		if _, err := os.Lstat(filepath.Join(to, name)); err == nil {
			move = func() error { return os.RemoveAll(from) } // made since, between a crash and now
		}
		if err := move(); err != nil {
			return fmt.Errorf("set the state of the objects aside: %w", err)
		}
		s.step("state set aside")
	}
	return nil
}

// install puts the prepared configurations in place, then removes the others.
func (s swap) install(etc string) error {
	fresh := s.fresh().Etc()
	kept := map[string]bool{".": true}
	err := filepath.WalkDir(fresh, func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(fresh, name)
		if err != nil {
			return err
		}
		kept[rel] = true
		to := filepath.Join(etc, rel)
		switch {
		case e.IsDir():
			return installDir(name, to)
		case !e.Type().IsRegular():
			return nil
		}
		defer s.step("file installed")
		return installFile(name, to)
	})
	if err != nil {
		return fmt.Errorf("install the configurations: %w", err)
	}
	if err := s.prune(etc, kept); err != nil {
		return fmt.Errorf("remove the former configurations: %w", err)
	}
	return nil
}

// prune removes what is below etc and is not to be kept.
func (s swap) prune(etc string, kept map[string]bool) error {
	var doomed []string
	err := filepath.WalkDir(etc, func(name string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(etc, name)
		if err != nil {
			return err
		}
		if !kept[rel] {
			doomed = append(doomed, name)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, name := range slices.Backward(doomed) { // what is in a directory comes after it
		if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		s.step("former removed")
	}
	return syncDir(etc)
}

// thaw lifts the freeze that the drain put on the node. One that was there before
// stays, with the node that had it; a node that leaves begins anew.
func (s swap) thaw(string) error {
	if s.order.Kind == kindJoin && s.order.Frozen {
		return nil
	}
	return unfreeze(s.paths)
}

func frozenFile(paths host.Paths) string { return filepath.Join(paths.Var(), "node", "frozen") }

func unfreeze(paths host.Paths) error {
	if err := os.Remove(frozenFile(paths)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("unfreeze the node: %w", err)
	}
	return nil
}

func isFrozen(paths host.Paths) bool {
	_, err := os.Stat(frozenFile(paths))
	return err == nil
}

// copyTree copies the files, the directories and the links below from. Anything else
// is no configuration.
func copyTree(from, to string) error {
	return filepath.WalkDir(from, func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			if name == from && errors.Is(err, fs.ErrNotExist) {
				return os.MkdirAll(to, 0o700) // no configuration at all
			}
			return err
		}
		rel, err := filepath.Rel(from, name)
		if err != nil {
			return err
		}
		copied := filepath.Join(to, rel)
		switch {
		case e.IsDir():
			return installDir(name, copied)
		case e.Type()&fs.ModeSymlink != 0:
			target, err := os.Readlink(name)
			if err != nil {
				return err
			}
			return os.Symlink(target, copied) //nolint:gosec // nobody but root writes there
		case e.Type().IsRegular():
			return installFile(name, copied)
		}
		return nil
	})
}

func installDir(from, to string) error {
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	found, err := os.Lstat(to)
	if err == nil && !found.IsDir() {
		if err := os.Remove(to); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(to, info.Mode().Perm()); err != nil {
		return err
	}
	return syncDir(filepath.Dir(to))
}

// installFile copies a file in place of another, with its mode and its date.
func installFile(from, to string) (err error) {
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer source.Close() //nolint:errcheck // only read
	info, err := source.Stat()
	if err != nil {
		return err
	}
	if found, err := os.Lstat(to); err == nil && found.IsDir() {
		if err := os.RemoveAll(to); err != nil {
			return err
		}
	}
	pending, err := renameio.NewPendingFile(to, renameio.WithTempDir(filepath.Dir(to)), renameio.WithStaticPermissions(info.Mode().Perm()))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, pending.Cleanup()) }()
	if _, err := io.Copy(pending, source); err != nil {
		return err
	}
	if err := os.Chtimes(pending.Name(), info.ModTime(), info.ModTime()); err != nil {
		return err
	}
	if err := pending.CloseAtomicallyReplace(); err != nil {
		return err
	}
	return syncDir(filepath.Dir(to))
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
