package configure

import (
	"context"

	"github.com/spf13/pflag"

	"github.com/holdfast-ops/holdfast/internal/cli/app"
	"github.com/holdfast-ops/holdfast/internal/om/command/verb"
)

// edit opens configurations in the editor of the user.
type edit struct {
	target  Target
	editor  Editor
	recover bool
	discard bool
}

func (e *edit) Flags(f *pflag.FlagSet) {
	f.BoolVar(&e.recover, "recover", false, "open again what an earlier edit could not commit")
	f.BoolVar(&e.discard, "discard", false, "drop what an earlier edit could not commit")
}

func (e *edit) Run(ctx context.Context, c *verb.Call) error {
	if e.recover && e.discard {
		return app.Usage("--recover and --discard exclude each other")
	}
	paths, err := e.target(ctx, c)
	if err != nil {
		return err
	}
	for _, p := range paths {
		if e.discard {
			if err := e.editor.DiscardEdit(ctx, p); err != nil {
				return err
			}
			continue
		}
		outcome, err := e.editor.EditConfig(ctx, c, p, e.recover)
		if err != nil {
			return err
		}
		if err := tell(c, outcome); err != nil {
			return err
		}
	}
	return nil
}
