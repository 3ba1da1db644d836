package contexts

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"
	"github.com/spf13/pflag"

	"github.com/holdfast-ops/holdfast/internal/cli/app"
	"github.com/holdfast-ops/holdfast/internal/om/command/verb"
)

// Editor opens files in the editor of the user.
type Editor interface {
	Keeper
	// EditFile returns when the user is done.
	EditFile(ctx context.Context, c *verb.Call, name string) error
}

var edits = verb.Verb{
	Path: "edit", Group: "contexts",
	Short: "Edit the file of the contexts with $EDITOR",
	Long:  "Open the file of the contexts in $VISUAL or $EDITOR and keep it if it is valid. If it is not, what was typed is kept aside: --recover opens it again, --discard drops it.",
	New:   verb.Needs(func(e Editor) verb.Runner { return &edit{keeper: e} }),
}

type edit struct {
	keeper  Editor
	recover bool
	discard bool
}

func (e *edit) Flags(f *pflag.FlagSet) {
	f.BoolVar(&e.recover, "recover", false, "open again what an earlier edit could not keep")
	f.BoolVar(&e.discard, "discard", false, "drop what an earlier edit could not keep")
}

func (e *edit) Run(ctx context.Context, c *verb.Call) error {
	s := e.keeper.Station()
	draft := s.Draft()
	_, err := os.Stat(draft)
	kept := err == nil
	switch {
	case e.recover && e.discard:
		return app.Usage("--recover and --discard exclude each other")
	case (e.recover || e.discard) && !kept:
		return errors.New("no earlier edit is kept")
	case e.discard:
		return os.Remove(draft)
	case kept && !e.recover:
		return fmt.Errorf("%s: an earlier edit is kept: open it again with --recover, drop it with --discard", draft)
	}
	was, err := s.Text()
	if err != nil {
		return err
	}
	if !e.recover {
		if err := os.MkdirAll(filepath.Dir(draft), 0o700); err != nil {
			return err
		}
		if err := renameio.WriteFile(draft, was, 0o600); err != nil {
			return err
		}
	}
	if err := e.keeper.EditFile(ctx, c, draft); err != nil {
		return err
	}
	text, err := os.ReadFile(draft)
	if err != nil {
		return err
	}
	if string(text) != string(was) {
		if err := s.Replace(ctx, was, text); err != nil {
			return fmt.Errorf("%w\nwhat was typed is kept: open it again with --recover, drop it with --discard", err)
		}
	}
	if err := os.Remove(draft); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
