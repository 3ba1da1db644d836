package configure

import (
	"context"

	"github.com/spf13/pflag"

	"github.com/holdfast-ops/holdfast/internal/cli/app"
	"github.com/holdfast-ops/holdfast/internal/om/command/key"
	"github.com/holdfast-ops/holdfast/internal/om/command/verb"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// edit opens configurations in the editor of the user.
type edit struct {
	target  Target
	editor  Editor
	recover bool
	discard bool
	key     string
}

func (e *edit) Flags(f *pflag.FlagSet) {
	f.BoolVar(&e.recover, "recover", false, "open again what an earlier edit could not commit")
	f.BoolVar(&e.discard, "discard", false, "drop what an earlier edit could not commit")
	f.StringVar(&e.key, "key", "", "")
	f.Lookup("key").Hidden = true
}

func (e *edit) Run(ctx context.Context, c *verb.Call) error {
	if e.recover && e.discard {
		return app.Usage("--recover and --discard exclude each other")
	}
	paths, err := e.target(ctx, c)
	if err != nil {
		return err
	}
	if e.key != "" { // a former spelling of key edit
		return e.editKey(ctx, c, paths)
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

func (e *edit) editKey(ctx context.Context, c *verb.Call, paths []object.Path) error {
	editor, ok := c.Backend.(key.Editor)
	if !ok || e.discard || e.recover {
		return app.Usage("--key: edit a key with key edit --name %s", e.key)
	}
	for _, p := range paths {
		if err := key.Edit(ctx, c, editor, p, e.key); err != nil {
			return err
		}
	}
	return nil
}
