package daemon

import (
	"context"
	"log/slog"
	"strings"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/bus"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/standing"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/state"
	"github.com/holdfast-ops/holdfast/internal/om/datastore"
	"github.com/holdfast-ops/holdfast/internal/om/event"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// resealer ends the rotations of the cluster secret: those that were interrupted
// and those that a change of the configuration begins.
type resealer struct {
	reseal func(context.Context) (datastore.Resealed, error)
	bus    *bus.Bus
	log    *slog.Logger
	again  time.Duration // after a failure

	conditions *standing.Conditions
}

// resealAgain is how long a rotation that cannot end waits: somebody must repair
// what holds it up, and both secrets are good meanwhile.
const resealAgain = 5 * time.Minute

func (r resealer) run(ctx context.Context) error {
	changes := r.bus.Latest("reseal", func(e *event.Envelope) (string, bool) {
		updated, ok := e.Event.(event.InstanceConfigUpdated)
		return "", ok && updated.Path == object.Cluster()
	})
	defer changes.Close()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-changes.C():
			changes.Take()
		case <-timer.C:
		}
		if !r.once(ctx) {
			timer.Reset(r.again) // also for what another node was to do, and did not
		}
	}
}

// once reports whether there is nothing left to try again.
func (r resealer) once(ctx context.Context) bool {
	done, err := r.reseal(ctx)
	if done.Keys > 0 {
		r.log.Info("keys sealed with the new cluster secret", slog.Int("keys", done.Keys))
	}
	if unreadable := strings.Join(done.Unreadable, ", "); unreadable != "" && r.conditions.News("unreadable", unreadable) {
		r.log.Warn("keys that no known cluster secret opens are left as they are", slog.String("reason", unreadable))
	}
	if err == nil {
		r.conditions.Over("kept")
	} else if ctx.Err() == nil && r.conditions.News("kept", err.Error()) {
		r.log.Warn("former cluster secrets are kept: keys may be sealed with them", slog.Any("err", err))
	}
	return err == nil && !done.Pending
}

// resealing seals anew what this node is to: the first live one of those that have an
// object does, and the others get it from there.
func resealing(data *datastore.Data, s *state.State) func(context.Context) (datastore.Resealed, error) {
	return func(ctx context.Context) (datastore.Resealed, error) {
		return data.ResealOf(ctx, func(p object.Path) bool { return isFirst(s.View(), s.Node(), p) })
	}
}

func isFirst(v *cluster.View, self string, p object.Path) bool {
	o := v.Objects[p]
	if o == nil {
		return true
	}
	for node := range o.Instances {
		if node < self && v.Peers[node].Beating {
			return false
		}
	}
	return true
}
