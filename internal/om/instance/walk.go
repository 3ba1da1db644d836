package instance

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/holdfast-ops/holdfast/internal/host"
)

// walk does the steps of each set, one set after the other.
func (x *execution) walk(ctx context.Context, sets []Set) error {
	for _, s := range sets {
		if err := x.set(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// set does the steps of a set: at once, or one after the other until one fails.
func (x *execution) set(ctx context.Context, s Set) error {
	if !s.Parallel {
		for _, step := range s.Steps {
			if err := x.step(ctx, step); err != nil {
				return err
			}
		}
		return nil
	}
	errs := make([]error, len(s.Steps))
	var all sync.WaitGroup
	for i, step := range s.Steps {
		all.Go(func() { errs[i] = x.step(ctx, step) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// step does what is planned for one resource. The failure of an optional one is
// only logged.
func (x *execution) step(ctx context.Context, s Step) error {
	m := x.find(s.RID)
	if s.Skip != "" {
		switch {
		case s.Skip == "standby":
			m.env.Infof("skip '%s' on standby resource", s.Verb)
		case s.Skip != "disabled" || x.request.selects():
			m.env.Infof("%s", s.Skip)
		}
		return x.skipped(m, s)
	}
	if ctx.Err() != nil {
		return fmt.Errorf("%s %s: %w", s.Verb, s.RID, context.Cause(ctx))
	}
	err := x.perform(ctx, m, s.Verb)
	if err == nil {
		return nil
	}
	if why := context.Cause(ctx); why != nil && !strings.Contains(err.Error(), why.Error()) {
		err = fmt.Errorf("%w: %w", why, err)
	}
	if m.Common.Optional {
		m.env.Errorf("%s: %s: the resource is optional, the action goes on", s.Verb, err)
		x.warnings.Store(true)
		return nil
	}
	return fmt.Errorf("%s %s: %w", s.Verb, s.RID, err)
}

func commandLine(argv []string) string { return host.Quote(argv) }
