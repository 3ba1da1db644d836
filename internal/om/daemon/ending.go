package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os/signal"
	"slices"
	"sync/atomic"
	"syscall"

	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/executor"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/httpd"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/state"
	"github.com/holdfast-ops/holdfast/internal/om/instance"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// ending ends the daemon when its API is asked to.
type ending struct {
	cancel   context.CancelFunc
	node     *node
	state    *state.State
	executor *executor.Executor
	log      *slog.Logger
	restarts atomic.Bool
}

var _ httpd.Ending = (*ending)(nil)

// Stop ends the daemon; the services keep running.
func (e *ending) Stop() {
	e.log.Info("daemon stop")
	e.cancel()
}

// Restart ends the daemon, which then begins again.
func (e *ending) Restart() {
	e.log.Info("daemon restart")
	e.restarts.Store(true)
	e.cancel()
}

// again tells whether the daemon begins again. Signals that this process heeds so
// far end it from here on: told to end, it does, even when it was about to begin
// again.
func (e *ending) again(told context.Context) bool {
	if !e.restarts.Load() {
		return false
	}
	signal.Reset(syscall.SIGTERM, syscall.SIGINT)
	return told.Err() == nil
}

// Shutdown stops the svc then the vol instances of the node, then the daemon. The
// daemon stays when an instance does: somebody must watch it. Meanwhile the node
// starts nothing.
func (e *ending) Shutdown(ctx context.Context) (err error) {
	e.log.Info("daemon shutdown")
	e.node.set("shutting")
	defer func() {
		if err != nil {
			e.node.set("idle")
		}
	}()
	for _, kind := range []object.Kind{object.KindSvc, object.KindVol} {
		if err := e.shutdownInstances(ctx, kind); err != nil {
			return err
		}
	}
	e.cancel()
	return nil
}

func (e *ending) shutdownInstances(ctx context.Context, kind object.Kind) error {
	var ids []string
	for _, p := range e.instances(kind) {
		submitted, err := e.executor.Submit(ctx, executor.Job{
			Path: p, Args: []string{"instance", string(instance.Shutdown)}, Origin: executor.OriginMonitor,
		})
		if err != nil {
			return err
		}
		ids = append(ids, submitted.ExecID)
	}
	var errs []error
	for _, id := range ids {
		r, err := e.executor.Wait(ctx, id)
		if err != nil {
			return fmt.Errorf("wait for the shutdown of %s: %w", r.Path, err)
		}
		if r.State == executor.Failed {
			errs = append(errs, fmt.Errorf("%s does not shut down: %s", r.Path, r.Error))
		}
	}
	return errors.Join(errs...)
}

// instances lists the instances of this node that are not known to be down.
func (e *ending) instances(kind object.Kind) []object.Path {
	var paths []object.Path
	for p, o := range e.state.View().Objects {
		if p.Kind != kind {
			continue
		}
		i, ok := o.Instances[e.node.name]
		if ok && (i.Status == nil || i.Status.Avail != cluster.Down && i.Status.Avail != cluster.NotApplicable) {
			paths = append(paths, p)
		}
	}
	slices.SortFunc(paths, object.Compare)
	return paths
}
