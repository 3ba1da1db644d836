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
	"github.com/holdfast-ops/holdfast/internal/om/daemon/nodemon"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/state"
	"github.com/holdfast-ops/holdfast/internal/om/instance"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/orchestrate"
)

// ending ends the daemon when its API is asked to.
type ending struct {
	cancel   context.CancelFunc
	node     *node
	state    *state.State
	executor *executor.Executor
	nodes    *nodemon.Monitor
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

// announce says in which state the node is left.
func (e *ending) announce() {
	state := orchestrate.StateMaintenance
	switch n := e.state.View().Nodes[e.node.name]; {
	case n != nil && n.Monitor.State == orchestrate.StateShutdown:
		return
	case e.restarts.Load():
		state = orchestrate.StateUpgrade
	}
	e.nodes.Become(state)
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
// daemon stays when an instance does: somebody must watch it. One that cannot even
// be read is told, and holds nothing back: the daemon could do nothing about it.
// Meanwhile the node starts nothing.
func (e *ending) Shutdown(ctx context.Context) error {
	e.log.Info("daemon shutdown")
	e.nodes.GiveWay(ctx)
	e.nodes.Become(orchestrate.StateShutting)
	var unread []error
	for _, kind := range []object.Kind{object.KindSvc, object.KindVol} {
		broken, err := e.shutdownInstances(ctx, kind, "")
		unread = append(unread, broken)
		if err != nil {
			e.nodes.Become(orchestrate.StateIdle)
			return errors.Join(append(unread, err)...)
		}
	}
	e.nodes.Become(orchestrate.StateShutdown)
	e.cancel()
	return errors.Join(unread...)
}

// shutdownInstances stops the instances of a kind. Those whose configuration
// cannot be evaluated are told apart, whatever their stop says: it may not know
// what to stop.
func (e *ending) shutdownInstances(ctx context.Context, kind object.Kind, orchestration string) (broken, err error) {
	paths := e.instances(kind)
	ids := make([]string, len(paths))
	for i, p := range paths {
		submitted, err := e.executor.Submit(ctx, executor.Job{
			Path: p, Args: []string{"instance", string(instance.Shutdown)}, Origin: executor.OriginMonitor, OrchestrationID: orchestration,
		})
		if err != nil {
			return broken, err
		}
		ids[i] = submitted.ExecID
	}
	var failed, unread []error
	for i, id := range ids {
		r, err := e.executor.Wait(ctx, id)
		switch {
		case err != nil:
			return errors.Join(unread...), fmt.Errorf("wait for the shutdown of %s: %w", paths[i], err)
		case e.issue(paths[i]) != "":
			unread = append(unread, fmt.Errorf("%s may be left running, its configuration is broken: %s", paths[i], e.issue(paths[i])))
		case r.State == executor.Failed:
			failed = append(failed, fmt.Errorf("%s does not shut down: %s", paths[i], r.Error))
		}
	}
	return errors.Join(unread...), errors.Join(failed...)
}

// issue is why the configuration of an object cannot be evaluated, empty when it can.
func (e *ending) issue(p object.Path) string {
	o := e.state.View().Objects[p]
	if o == nil {
		return ""
	}
	i := o.Instances[e.node.name]
	if i.Config == nil || len(i.Config.Issues) == 0 {
		return ""
	}
	return i.Config.Issues[0]
}

// instances lists the instances of this node that are not known to be down. What
// is seen of one whose configuration is broken says nothing.
func (e *ending) instances(kind object.Kind) []object.Path {
	var paths []object.Path
	for p, o := range e.state.View().Objects {
		i, ok := o.Instances[e.node.name]
		if p.Kind != kind || !ok {
			continue
		}
		down := i.Status != nil && (i.Status.Avail == cluster.Down || i.Status.Avail == cluster.NotApplicable)
		if !down || e.issue(p) != "" {
			paths = append(paths, p)
		}
	}
	slices.SortFunc(paths, object.Compare)
	return paths
}
