package instance

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/resource"
	"github.com/holdfast-ops/holdfast/internal/retry"
)

// requireTimeout is how long a requirement is waited for when the action has no
// timeout.
const requireTimeout = time.Minute

// require waits until the requirements of a resource are met, as long as the
// action may take.
func (x *execution) require(ctx context.Context, m *member, action, text string) error {
	wanted, err := x.requirements(text)
	if err != nil || len(wanted) == 0 {
		return err
	}
	if _, bounded := ctx.Deadline(); !bounded {
		limited, cancel := context.WithTimeout(ctx, requireTimeout)
		defer cancel()
		ctx = limited
	}
	for _, w := range wanted {
		unmet, waited := x.unmet(ctx, w), false
		often := retry.Policy{Interval: 50 * time.Millisecond, Max: time.Second}
		err := retry.Until(ctx, often, func(ctx context.Context) (bool, error) {
			unmet = x.unmet(ctx, w)
			if unmet != nil && !waited {
				m.env.Infof("%s waits: %s", action, unmet)
				waited = true
			}
			return unmet == nil, nil
		})
		if err != nil && unmet != nil {
			return fmt.Errorf("%w: %w", unmet, err)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// requireNow refuses at once when a requirement is not met.
func (x *execution) requireNow(ctx context.Context, _ *member, text string) error {
	wanted, err := x.requirements(text)
	for _, w := range wanted {
		err = errors.Join(err, x.unmet(ctx, w))
	}
	return err
}

// requirements reads a requires keyword, each of whose resources must exist.
func (x *execution) requirements(text string) ([]resource.Requirement, error) {
	wanted, err := resource.ParseRequirements(text)
	if err != nil {
		return nil, err
	}
	for _, w := range wanted {
		if x.find(w.RID) == nil {
			return nil, fmt.Errorf("requires %s: the object has no such resource", w.RID)
		}
	}
	return wanted, nil
}

// unmet looks at the required resource, and says what is wrong with it.
func (x *execution) unmet(ctx context.Context, w resource.Requirement) error {
	s := x.state(ctx, x.find(w.RID)).Status
	if w.Met(s) {
		return nil
	}
	return fmt.Errorf("requires %s, which is %s", w, s)
}
