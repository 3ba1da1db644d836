package instance

import (
	"context"
	"fmt"
	"strings"

	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/resource"
)

// Enter opens an interactive shell in a resource; in the first that has one when
// rid is empty.
func (e *Engine) Enter(ctx context.Context, p object.Path, rid string) error {
	return e.talk(p, rid, "a shell to enter", func(d resource.Driver) (func() error, bool) {
		enterer, ok := d.(resource.Enterer)
		return func() error { return enterer.Enter(ctx) }, ok
	})
}

// Printed shows the last lines of what a resource has printed, and, to follow,
// those that come until ctx ends; the first that prints when rid is empty.
func (e *Engine) Printed(ctx context.Context, p object.Path, rid string, lines int, follow bool) error {
	return e.talk(p, rid, "logs of its own", func(d resource.Driver) (func() error, bool) {
		printer, ok := d.(resource.Printer)
		return func() error { return printer.Printed(ctx, lines, follow) }, ok
	})
}

// talk does something with the first resource that can.
func (e *Engine) talk(p object.Path, rid, what string, can func(resource.Driver) (func() error, bool)) error {
	l, err := e.load(p, Request{Action: "enter"}.complete(p))
	if err != nil {
		return err
	}
	for _, m := range l.resources {
		if rid != "" && m.RID != rid {
			continue
		}
		_, ok := can(m.Driver)
		switch {
		case ok:
			if err := l.ready(m); err != nil {
				return fmt.Errorf("%s: %s: %w", p, m.RID, err)
			}
			do, _ := can(m.Driver) // another one, when it was configured again
			if err := do(); err != nil {
				return fmt.Errorf("%s: %s: %w", p, m.RID, err)
			}
			return nil
		case rid != "":
			return fmt.Errorf("%s: %s: driver %s has no %s", p, rid, m.Spec.ID(), strings.TrimPrefix(what, "a "))
		}
	}
	if rid != "" {
		return fmt.Errorf("%s: resource does not exist: %s", p, rid)
	}
	return fmt.Errorf("%s: no resource has %s", p, what)
}
