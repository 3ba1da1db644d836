package local

import (
	"context"
	"errors"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/client"
	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// notifier tells the daemon what an action does. An action never fails, nor
// waits long, because of a daemon that is not there.
type notifier struct{ backend *Backend }

// notifyLimit bounds what a daemon that does not answer may cost a command, in
// all: one that was silent for so long is told nothing more.
const notifyLimit = time.Second

// Progress implements instance.Notifier. The monitor knows what it asked for.
func (n notifier) Progress(ctx context.Context, p object.Path, sid, state string, partial bool) {
	if n.backend.origin() == "daemon/monitor" {
		return
	}
	tell(ctx, n.backend, api.PostInstanceProgress, api.InstanceProgress{
		ObjectName: api.Named(p), Body: api.Progress{SessionID: sid, State: state, IsPartial: partial},
	})
}

// Status implements instance.Notifier.
func (n notifier) Status(ctx context.Context, p object.Path, status cluster.InstanceStatus) {
	tell(ctx, n.backend, api.PostInstanceStatus, api.InstanceStatusPost{ObjectName: api.Named(p), Body: status})
}

// Installed implements instance.Notifier.
func (n notifier) Installed(ctx context.Context, p object.Path, rid string, files []string) {
	tell(ctx, n.backend, api.PostInstanceInstalled, api.InstanceInstalled{
		ObjectName: api.Named(p), Body: api.Installed{Rid: rid, Files: files},
	})
}

func tell[In, Out any](ctx context.Context, b *Backend, op api.Operation[In, Out], in In) {
	c, err := b.Connect()
	if err != nil || b.silent.Load() {
		return
	}
	// The end of an action is told even when the action is interrupted.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), notifyLimit)
	defer cancel()
	if _, err := client.Do(ctx, c, op, in); errors.Is(err, context.DeadlineExceeded) {
		b.silent.Store(true)
	}
}
