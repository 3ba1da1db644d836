package instance

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// flags are what is remembered of an instance: files of its state directory,
// whose modification times are the instants they tell.
type flags struct{ dir string }

func (e *Engine) flags(p object.Path) flags {
	return flags{dir: filepath.Join(e.Host.Paths.Var(), filepath.FromSlash(p.StateDir()))}
}

func (f flags) frozen() string             { return filepath.Join(f.dir, "frozen") }
func (f flags) stopped() string            { return filepath.Join(f.dir, "stopped") }
func (f flags) lastStart() string          { return filepath.Join(f.dir, "last_start") }
func (f flags) resource(rid string) string { return filepath.Join(f.dir, rid) }
func (f flags) stoppedResource(rid string) string {
	return filepath.Join(f.resource(rid), "stopped")
}

func (f flags) provisionedResource(rid string) string {
	return filepath.Join(f.resource(rid), "provisioned")
}

// raise makes a flag, leaving one that is there with its time.
func raise(name string) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	file, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY, 0o644) //nolint:gosec // an empty file in a private directory
	if err != nil {
		return err
	}
	return file.Close()
}

// lower removes a flag.
func lower(name string) error {
	if err := os.Remove(name); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// raised tells since when a flag is there; zero when it is not.
func raised(name string) time.Time {
	info, err := os.Stat(name)
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

// touch makes a flag with the time of now.
func touch(name string) error {
	if err := raise(name); err != nil {
		return err
	}
	return os.Chtimes(name, time.Time{}, time.Now())
}

func set(name string, on bool) error {
	if on {
		return raise(name)
	}
	return lower(name)
}

// SetFrozen freezes the local instance, or unfreezes it.
func (e *Engine) SetFrozen(p object.Path, frozen bool) error {
	if err := set(e.flags(p).frozen(), frozen); err != nil {
		return fmt.Errorf("%s: frozen flag: %w", p, err)
	}
	return nil
}

// SetStopped flags the local instance stopped on purpose, or removes the flag.
func (e *Engine) SetStopped(p object.Path, stopped bool) error {
	if err := set(e.flags(p).stopped(), stopped); err != nil {
		return fmt.Errorf("%s: stopped flag: %w", p, err)
	}
	return nil
}

// provisioned reads the flag of a resource: false when it was never written.
func (f flags) provisioned(rid string) cluster.ProvisionedAt {
	name := f.provisionedResource(rid)
	b, err := os.ReadFile(name)
	if err != nil {
		return cluster.ProvisionedAt{State: cluster.ProvisionedFalse}
	}
	at := cluster.ProvisionedAt{State: cluster.ProvisionedFalse, Mtime: raised(name)}
	if strings.TrimSpace(string(b)) == "true" {
		at.State = cluster.ProvisionedTrue
	}
	return at
}

func (f flags) setProvisioned(rid string, yes bool) error {
	if err := os.MkdirAll(f.resource(rid), 0o700); err != nil {
		return err
	}
	return replaceFile(f.provisionedResource(rid), fmt.Appendf(nil, "%t\n", yes), 0o644)
}

// replaceFile puts a new content in place of a file at once. It is not made
// durable: all it is used for can be told again.
func replaceFile(name string, data []byte, mode os.FileMode) error {
	tmp, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".")
	if err != nil {
		return err
	}
	_, err = tmp.Write(data)
	if err = errors.Join(err, tmp.Chmod(mode), tmp.Close()); err == nil {
		err = os.Rename(tmp.Name(), name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(tmp.Name()))
	}
	return nil
}
