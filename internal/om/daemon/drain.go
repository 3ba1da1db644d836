package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/executor"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/httpd"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/monitor"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// keepDrains is how many orchestrations of the node are remembered.
const keepDrains = 100

// drained is what a node that was drained is expected to be.
const drained = "drained"

// drainer frees the node of its services when it is asked to: it freezes the node,
// so that nothing starts, then shuts its instances down.
//
//	idle -> draining -> drained -> idle       frozen, nothing runs
//	              \---> drain failed          until it is cleared, or drained again
type drainer struct {
	node     *node
	executor *executor.Executor
	shutdown func(ctx context.Context, kind object.Kind, orchestration string) (broken, err error)
	log      *slog.Logger
	asked    chan *drain

	mu      sync.Mutex
	current *drain // in progress
	all     []*drain
}

// drain is an orchestration of the node.
type drain struct {
	monitor.Orchestration

	aborted bool
	cancel  context.CancelFunc // once it began
	ended   chan struct{}
}

var _ httpd.NodeActions = (*drainer)(nil)

func newDrainer(n *node, x *executor.Executor, e *ending, log *slog.Logger) *drainer {
	d := &drainer{node: n, executor: x, shutdown: e.shutdownInstances, log: log, asked: make(chan *drain, 1)}
	e.drains = d
	return d
}

// run does what is asked, one drain after the other.
func (d *drainer) run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case work := <-d.asked:
			d.end(work, d.empty(d.started(ctx, work), work.ID))
		}
	}
}

// started returns the context of a drain, which an abort ends.
func (d *drainer) started(ctx context.Context, work *drain) context.Context {
	d.mu.Lock()
	defer d.mu.Unlock()
	ctx, work.cancel = context.WithCancel(ctx)
	if work.aborted {
		work.cancel()
	}
	return ctx
}

// abort ends a drain, begun or not.
func (w *drain) abort() {
	w.aborted = true
	if w.cancel != nil {
		w.cancel()
	}
}

// Drain implements [httpd.NodeActions].
func (d *drainer) Drain() (string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if c := d.current; c != nil {
		return "", api.NewProblem(http.StatusConflict, fmt.Sprintf("node %s is being drained since %s, orchestration %s: wait for it, or abort it",
			d.node.name, c.StartedAt.Format(time.RFC3339), c.ID))
	}
	if state := d.state(); strings.HasPrefix(state, "shut") {
		return "", api.NewProblem(http.StatusConflict, fmt.Sprintf("node %s is %s: its instances are being stopped already", d.node.name, state))
	}
	work := d.begin(drained)
	d.current = work
	d.node.publish(cluster.NodeMonitor{State: "draining", LocalExpect: drained, OrchestrationID: work.ID})
	d.asked <- work // there is room: one at a time
	return work.ID, nil
}

// Abort implements [httpd.NodeActions]. What runs ends by itself, and the node
// stays frozen.
func (d *drainer) Abort() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.current != nil {
		d.current.abort()
	}
	work := d.begin("aborted")
	d.finish(work, api.StateSucceeded, "")
	return work.ID
}

// giveWay aborts the drain in progress, and waits for its end.
func (d *drainer) giveWay(ctx context.Context) {
	d.mu.Lock()
	work := d.current
	if work != nil {
		work.abort()
	}
	d.mu.Unlock()
	if work == nil {
		return
	}
	select {
	case <-work.ended:
	case <-ctx.Done():
	}
}

// Clear implements [httpd.NodeActions].
func (d *drainer) Clear() (was string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	state := d.state()
	if !strings.HasSuffix(state, " failed") {
		return ""
	}
	d.node.set("idle")
	return state
}

func (d *drainer) state() string {
	if n := d.node.state.View().Nodes[d.node.name]; n != nil {
		return n.Monitor.State
	}
	return ""
}

// empty freezes the node, then shuts its svc and its vol instances down.
func (d *drainer) empty(ctx context.Context, orchestration string) error {
	d.log.Info("node drain")
	ids, err := d.executor.Submit(ctx, executor.Job{Args: []string{"node", "freeze"}, Origin: executor.OriginMonitor, OrchestrationID: orchestration})
	if err != nil {
		return fmt.Errorf("freeze the node: %w", err)
	}
	r, err := d.executor.Wait(ctx, ids.ExecID)
	if err != nil {
		return fmt.Errorf("freeze the node: %w", err)
	}
	if r.State == executor.Failed {
		return fmt.Errorf("freeze the node: %s", r.Error)
	}
	var broken []error
	for _, kind := range []object.Kind{object.KindSvc, object.KindVol} {
		unread, err := d.shutdown(ctx, kind, orchestration)
		if broken = append(broken, unread); err != nil {
			return errors.Join(append(broken, err)...)
		}
	}
	return errors.Join(broken...)
}

// end records how a drain ended, and says so.
func (d *drainer) end(work *drain, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	work.cancel()
	d.current = nil
	switch {
	case work.aborted:
		d.finish(work, api.StateAborted, "aborted")
		d.node.set("idle")
	case err != nil:
		d.log.Error("node drain", slog.Any("err", err))
		d.finish(work, api.StateFailed, err.Error())
		d.node.publish(cluster.NodeMonitor{State: "drain failed", OrchestrationID: work.ID, OrchestrationIsDone: true})
	default:
		d.finish(work, api.StateSucceeded, "")
		d.node.publish(cluster.NodeMonitor{State: drained, OrchestrationID: work.ID, OrchestrationIsDone: true})
		d.node.set("idle")
	}
}

func (d *drainer) begin(expect string) *drain {
	work := &drain{ended: make(chan struct{}), Orchestration: monitor.Orchestration{
		ID: uuid.NewString(), GlobalExpect: expect, AcceptedBy: d.node.name, State: monitor.Running, StartedAt: time.Now(),
	}}
	d.all = append(d.all, work)
	if len(d.all) > keepDrains {
		d.all = slices.Delete(d.all, 0, len(d.all)-keepDrains)
	}
	return work
}

func (d *drainer) finish(work *drain, state, reason string) {
	work.State, work.Reason, work.EndedAt = state, reason, time.Now()
	close(work.ended)
}

// Orchestrations implements [httpd.NodeActions], the oldest first.
func (d *drainer) Orchestrations() []monitor.Orchestration {
	d.mu.Lock()
	defer d.mu.Unlock()
	var all []monitor.Orchestration
	for _, work := range d.all {
		all = append(all, work.Orchestration)
	}
	slices.SortStableFunc(all, func(a, b monitor.Orchestration) int {
		return cmp.Compare(a.StartedAt.UnixNano(), b.StartedAt.UnixNano())
	})
	return all
}

// Wait implements [httpd.NodeActions].
func (d *drainer) Wait(ctx context.Context, id string) (monitor.Orchestration, error) {
	d.mu.Lock()
	i := slices.IndexFunc(d.all, func(work *drain) bool { return work.ID == id })
	if i < 0 {
		d.mu.Unlock()
		return monitor.Orchestration{}, &executor.ForgottenError{What: "orchestration", ID: id, Node: d.node.name}
	}
	work := d.all[i]
	d.mu.Unlock()
	select {
	case <-work.ended:
	case <-ctx.Done():
		return monitor.Orchestration{}, ctx.Err()
	}
	return work.Orchestration, nil
}
