package key

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"

	"github.com/spf13/pflag"

	"github.com/holdfast-ops/holdfast/internal/om/command/verb"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// edit opens values in the editor of the user.
type edit struct {
	editor Editor
	name   string
}

func (e *edit) Flags(f *pflag.FlagSet) { nameFlag(f, &e.name, "the `key`") }

func (e *edit) Run(ctx context.Context, c *verb.Call) error {
	if err := needName(e.name); err != nil {
		return err
	}
	paths, err := c.Objects(ctx)
	if err != nil {
		return err
	}
	for _, p := range paths {
		if err := Edit(ctx, c, e.editor, p, e.name); err != nil {
			return err
		}
	}
	return nil
}

// Edit opens the value of a key in the editor of the user, and gives the key what
// was typed. What could not be committed is kept, and said where.
func Edit(ctx context.Context, c *verb.Call, e Editor, p object.Path, name string) error {
	seen, err := e.KeyContent(ctx, p, name)
	if err != nil {
		return err
	}
	// A directory only the user can enter, in memory where there is one: a secret
	// is best not written on a disk.
	dir, err := os.MkdirTemp(c.Env("XDG_RUNTIME_DIR"), "om-key-")
	if err != nil {
		return fmt.Errorf("edit key %s of %s: %w", name, p, err)
	}
	file := filepath.Join(dir, path.Base(name))
	typed, err := edited(ctx, c, e, file, seen.RawBody)
	if err == nil && bytes.Equal(typed, seen.RawBody) {
		c.Say("%s: key %s is not changed", p, name)
		return os.RemoveAll(dir)
	}
	if err == nil {
		err = e.ReplaceKey(ctx, p, name, seen, typed)
	}
	if err != nil && typed != nil {
		return fmt.Errorf("%w\nwhat was typed is kept in %s: remove it when it is of no use any more", err, file)
	}
	return errors.Join(err, os.RemoveAll(dir))
}

// edited returns what the user made of a value; nil when the editor failed.
func edited(ctx context.Context, c *verb.Call, e Editor, file string, value []byte) ([]byte, error) {
	if err := os.WriteFile(file, value, 0o600); err != nil {
		return nil, err
	}
	if err := e.EditFile(ctx, c, file); err != nil {
		return nil, err
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // only read
	typed, err := bounded(f, file)
	if typed == nil && err == nil {
		typed = []byte{}
	}
	return typed, err
}
