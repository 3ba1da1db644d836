package instance

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/holdfast-ops/holdfast/internal/cli/prompt"
	"github.com/holdfast-ops/holdfast/internal/om/command/verb"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// Confirmer knows which tasks ask for a confirmation.
type Confirmer interface {
	// Confirmations lists the resources an action would run that ask for one.
	Confirmations(ctx context.Context, p object.Path, a Action) ([]string, error)
}

// ask asks the person at the terminal for the confirmations of the tasks, once for
// all. Nobody else is asked: the tasks refuse to run without --confirm.
func (a *act) ask(ctx context.Context, c *verb.Call, paths []object.Path) error {
	confirmer, ok := a.local.(Confirmer)
	if !ok || !a.confirms || a.action.Confirm || a.action.Cron || !c.Streams.InTTY {
		return nil
	}
	var tasks []string
	for _, p := range paths {
		rids, err := confirmer.Confirmations(ctx, p, a.action)
		if err != nil {
			return nil //nolint:nilerr // the run itself says what is wrong, with the object
		}
		for _, rid := range rids {
			tasks = append(tasks, rid+" of "+p.String())
		}
	}
	if len(tasks) == 0 {
		return nil
	}
	answer, err := prompt.Choose(ctx, c.Streams, fmt.Sprintf("Run %s? ", strings.Join(tasks, ", ")), []string{"no", "yes"})
	if err != nil {
		return err
	}
	if answer == 0 {
		return errors.New("not confirmed: nothing was run")
	}
	a.action.Confirm = true
	return nil
}
