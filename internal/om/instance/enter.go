package instance

import (
	"context"
	"errors"
	"fmt"

	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/resource"
)

// Enter opens an interactive shell in a resource; in the first that has one when
// rid is empty.
func (e *Engine) Enter(ctx context.Context, p object.Path, rid string) error {
	l, err := e.load(p, Request{Action: "enter"}.complete(p))
	if err != nil {
		return err
	}
	for _, m := range l.resources {
		if rid != "" && m.RID != rid {
			continue
		}
		enterer, ok := m.Driver.(resource.Enterer)
		switch {
		case ok:
			if err := l.ready(m); err != nil {
				return fmt.Errorf("%s: %s: %w", p, m.RID, err)
			}
			return enterer.Enter(ctx)
		case rid != "":
			return fmt.Errorf("%s: %s: driver %s has no shell to enter", p, rid, m.Spec.ID())
		}
	}
	if rid != "" {
		return fmt.Errorf("%s: resource does not exist: %s", p, rid)
	}
	return fmt.Errorf("%s: %w", p, errors.New("no resource has a shell to enter"))
}
