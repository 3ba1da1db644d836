package local

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/client"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/store"
)

// Select implements [verb.Backend]: the objects configured here, so that what
// was just created is found, and those only the daemon knows of.
func (b *Backend) Select(ctx context.Context, selector string) ([]object.Path, error) {
	parsed, err := object.ParseSelector(selector)
	if err != nil {
		return nil, err
	}
	all, err := b.store().List()
	if err != nil {
		return nil, err
	}
	parsed = parsed.Narrow(b.o.Process.Env("OSVC_NAMESPACE"), object.Kind(b.o.Process.Env("OSVC_KIND")))
	here, hereErr := parsed.Select(all, b.store().Configs())
	if b.byDaemon() || hereErr == nil && isExact(parsed, here) {
		return here, hereErr
	}
	elsewhere, err := b.Backend.Select(ctx, selector)
	switch {
	case absent(err):
		return here, b.unread(parsed, hereErr)
	case err != nil:
		return nil, err
	}
	if len(elsewhere) == 0 && hereErr != nil {
		return nil, hereErr
	}
	return union(here, elsewhere), nil
}

// unread is why an object named is not found: what is there may be no file.
func (b *Backend) unread(s *object.Selector, missing error) error {
	if missing == nil {
		return nil
	}
	named, _ := s.Exact()
	for _, p := range named {
		_, err := b.store().Load(p)
		if _, other := errors.AsType[*store.NotFileError](err); other {
			return err
		}
	}
	return missing
}

// isExact tells whether found is all that a selector made of paths names.
func isExact(s *object.Selector, found []object.Path) bool {
	named, ok := s.Exact()
	return ok && len(found) == len(named)
}

// absent tells that the daemon is not there, does not answer, or does not know
// the object.
func absent(err error) bool {
	var p *api.Problem
	return client.IsDown(err) || client.IsHung(err) || errors.As(err, &p) && p.Status == http.StatusNotFound
}

func union(a, b []object.Path) []object.Path {
	all := slices.Concat(a, b)
	slices.SortFunc(all, object.Compare)
	return slices.Compact(all)
}
