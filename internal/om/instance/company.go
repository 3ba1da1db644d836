package instance

import (
	"context"
	"fmt"

	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// company refuses to start an instance where its hard affinities forbid it. The
// daemon has looked at them before it decides.
func (l *loaded) company(ctx context.Context, r Request) error {
	switch r.Action {
	case Start, Restart, Provision:
	case Stop, Shutdown, Unprovision, Purge, Freeze, Unfreeze, Clear, Delete, Info, Install, StartStandby, Run, Boot:
		return nil
	}
	if r.Force || r.Origin == OriginMonitor || r.Partial() {
		return nil
	}
	for _, name := range l.settings.HardAntiAffinity {
		if up, err := l.runsHere(ctx, name); err != nil || up {
			return l.unwelcome(r.Action, name, "runs", "hard_anti_affinity", err)
		}
	}
	for _, name := range l.settings.HardAffinity {
		if up, err := l.runsHere(ctx, name); err != nil || !up {
			return l.unwelcome(r.Action, name, "does not run", "hard_affinity", err)
		}
	}
	return nil
}

func (l *loaded) unwelcome(a Action, name, what, keyword string, err error) error {
	node := l.engine.Host.Hostname
	if err != nil {
		return fmt.Errorf("%s: %s is refused on %s: whether %s runs there is not known (%s): --force overrides: %w", l.path, a, node, name, keyword, err)
	}
	return fmt.Errorf("%s: %s is refused on %s: %s %s there (%s): --force overrides", l.path, a, node, name, what, keyword)
}

// runsHere reports whether an object runs on this node. One that has no configuration
// here does not.
func (l *loaded) runsHere(ctx context.Context, name string) (bool, error) {
	p, err := object.ParseRelative(name, l.path.Namespace)
	if err != nil {
		return false, err
	}
	if !l.engine.Store.Exists(p) {
		return false, nil
	}
	s, err := l.engine.Status(ctx, p, StatusOptions{})
	return s.Avail == cluster.Up || s.Avail == cluster.Warn, err
}
