package monitor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/event"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/orchestrate"
)

// Goal is what an object is asked to become.
type Goal struct {
	Expect  string         // started, stopped, restarted, frozen, unfrozen, provisioned, unprovisioned, purged, deleted, aborted
	Options map[string]any // such as force for restarted
}

var errEnded = errors.New("the daemon is stopping: ask again once it is back")

// Orchestrate gives an object a goal and returns the id of the orchestration. An
// object that was just created is looked for on disk before it is not found, an
// *object.NotFoundError. A goal that cannot be accepted is an
// *orchestrate.RefusedError. The status of the instance is evaluated first: what
// is asked by hand is often asked because of what the daemon has not seen yet.
func (m *Monitor) Orchestrate(ctx context.Context, p object.Path, g Goal) (id string, err error) {
	if err := m.find(p); err != nil {
		return "", err
	}
	id = uuid.NewString()
	refusal, err := m.propose(ctx, p, g, id)
	if refusal != nil && refusal.Seen {
		if err := m.evaluated(ctx, p); err != nil {
			return "", err
		}
		refusal, err = m.propose(ctx, p, g, id)
	}
	if refusal != nil {
		m.refused(refusal, g, id)
		return "", refusal
	}
	if err != nil {
		return "", err
	}
	return id, nil
}

// propose asks for a goal, which may be refused.
func (m *Monitor) propose(ctx context.Context, p object.Path, g Goal, id string) (refusal *orchestrate.RefusedError, err error) {
	callErr := m.call(ctx, func() { err = m.accept(p, g, id) })
	if err = errors.Join(callErr, err); errors.As(err, &refusal) {
		err = nil
	}
	return refusal, err
}

// evaluated has the status of the local instance evaluated, and waits for the end
// of that. What cannot be evaluated stays as it was last seen.
func (m *Monitor) evaluated(ctx context.Context, p object.Path) error {
	done := make(chan struct{})
	m.o.Evaluate.Evaluate(p, func(error) { close(done) })
	select {
	case <-done:
		return nil
	case <-m.ended:
		return errEnded
	case <-ctx.Done():
		return fmt.Errorf("wait for the status of %s: %w", p, ctx.Err())
	}
}

// Abort gives up the orchestration in progress, if any. Its id is that of the
// abort, which is over at once.
func (m *Monitor) Abort(ctx context.Context, p object.Path) (id string, err error) {
	return m.Orchestrate(ctx, p, Goal{Expect: orchestrate.Aborted})
}

// Clear forgets the failure of the local instance, so that the daemon tries
// again. Clearing what has not failed is no error.
func (m *Monitor) Clear(ctx context.Context, p object.Path) error {
	return m.edit(ctx, p, func(w *watched, v cluster.InstanceMonitor) (cluster.InstanceMonitor, error) {
		v.Resources = maps.Clone(v.Resources)
		v, w.memory, _ = orchestrate.Clear(v, w.memory, now())
		return v, nil
	})
}

// Progress takes note of what a command says it is doing to an instance; partial
// when it acts on some of its resources.
func (m *Monitor) Progress(ctx context.Context, p object.Path, sessionID, state string, partial bool) error {
	return m.edit(ctx, p, func(_ *watched, v cluster.InstanceMonitor) (cluster.InstanceMonitor, error) {
		v, err := orchestrate.Progress(v, state, sessionID, partial, now())
		if err == nil {
			m.o.Bus.Publish(event.ProgressInstanceMonitor{Path: p, Node: m.self, State: state, SessionID: sessionID, IsPartial: partial})
		}
		return v, err
	})
}

// Explain says why the monitor does, or does not do, what it does about the
// local instance, the weightiest reason last.
func (m *Monitor) Explain(ctx context.Context, p object.Path) (why []orchestrate.Reason, err error) {
	if err := m.find(p); err != nil {
		return nil, err
	}
	err = m.call(ctx, func() {
		m.look(m.o.State.View(), p)
		if w := m.instances[p]; w != nil {
			why = w.because
		}
	})
	return why, err
}

// find makes sure that the view knows the instance as it is on disk.
func (m *Monitor) find(p object.Path) error {
	if err := m.o.Discover.Refresh(p); err != nil {
		return err
	}
	if o := m.o.State.View().Objects[p]; o != nil {
		if i, ok := o.Instances[m.self]; ok && i.Config != nil {
			return nil
		}
	}
	return &object.NotFoundError{What: p.String()}
}

// call has f run by the goroutine of Run and waits for it.
func (m *Monitor) call(ctx context.Context, f func()) error {
	done := make(chan struct{})
	m.post(func() {
		defer close(done)
		f()
	})
	select {
	case <-done:
		return nil
	case <-m.ended:
		select {
		case <-done:
			return nil
		default:
			return errEnded
		}
	case <-ctx.Done():
		// It may still be done: the answer is lost, not the request.
		return fmt.Errorf("wait for the monitor: %w", ctx.Err())
	}
}

// edit changes the monitor of an instance.
func (m *Monitor) edit(ctx context.Context, p object.Path, f func(*watched, cluster.InstanceMonitor) (cluster.InstanceMonitor, error)) (err error) {
	if err := m.find(p); err != nil {
		return err
	}
	callErr := m.call(ctx, func() {
		w, i, ok := m.instance(p)
		if !ok {
			err = &object.NotFoundError{What: p.String()}
			return
		}
		var old cluster.InstanceMonitor
		if i.Monitor != nil {
			old = *i.Monitor
		}
		v, e := f(w, old)
		if err = e; err == nil {
			m.set(w, i.Monitor, v)
			m.dirty[p] = true
		}
	})
	return errors.Join(callErr, err)
}

func (m *Monitor) instance(p object.Path) (*watched, cluster.Instance, bool) {
	o := m.o.State.View().Objects[p]
	if o == nil {
		return nil, cluster.Instance{}, false
	}
	i, ok := o.Instances[m.self]
	if !ok || i.Config == nil {
		return nil, i, false
	}
	w := m.instances[p]
	if w != nil && w.gone {
		m.farewell(w)
		w = nil
	}
	if w == nil {
		w = m.welcome(p)
	}
	return w, i, true
}

// accept gives the goal to the instance, or refuses it.
func (m *Monitor) accept(p object.Path, g Goal, id string) error {
	w, i, ok := m.instance(p)
	if !ok {
		return &object.NotFoundError{What: p.String()}
	}
	if g.Expect == orchestrate.Aborted {
		m.abort(w, i.Monitor, id)
		return nil
	}
	v, err := orchestrate.Accept(m.world(m.o.State.View(), w, i), g.Expect, g.Options, id)
	if err != nil {
		return err
	}
	m.o.Log.Info("accept", slog.String("object", p.String()), slog.String("oid", id), slog.String("reason", "asked: "+g.Expect))
	m.o.Bus.Publish(event.SetInstanceMonitor{Path: p, Node: m.self, Update: asked(g, id)})
	m.begin(p, g.Expect, id, v.GlobalExpectUpdatedAt)
	w.memory.Eviction = orchestrate.Eviction{}
	m.set(w, i.Monitor, v)
	m.dirty[p] = true
	if p.Kind.Runs() && orchestrate.ActsOnResources(g.Expect) {
		m.evaluate(w)
	}
	return nil
}

func asked(g Goal, id string) event.InstanceMonitorUpdate {
	return event.InstanceMonitorUpdate{GlobalExpect: &g.Expect, GlobalExpectOptions: g.Options, OrchestrationID: id}
}

// refused announces that a goal was not accepted.
func (m *Monitor) refused(e *orchestrate.RefusedError, g Goal, id string) {
	m.o.Bus.Publish(event.SetInstanceMonitorRefused{Path: e.Path, Node: m.self, Update: asked(g, id), Reason: e.Error()})
	m.o.Bus.Publish(event.ObjectOrchestrationRefused{ID: id, Node: m.self, Path: e.Path, Reason: e.Error(), GlobalExpect: g.Expect})
}

// abort gives up the goal of the instance.
func (m *Monitor) abort(w *watched, old *cluster.InstanceMonitor, id string) {
	var v cluster.InstanceMonitor
	if old != nil {
		v = *old
	}
	at := now()
	m.o.Log.Info("accept", slog.String("object", w.path.String()), slog.String("oid", id), slog.String("reason", "asked: "+orchestrate.Aborted))
	m.begin(w.path, orchestrate.Aborted, id, at)
	m.set(w, old, orchestrate.Abort(v, at))
	if v.OrchestrationID != "" {
		m.end(w, v, orchestrate.GivenUp, "given up on request")
	}
	aborted := v
	aborted.OrchestrationID, aborted.GlobalExpect, aborted.GlobalExpectUpdatedAt = id, orchestrate.Aborted, at
	m.end(w, aborted, orchestrate.Succeeded, "")
	m.dirty[w.path] = true
}

// begin remembers an orchestration and announces it.
func (m *Monitor) begin(p object.Path, goal, id string, at time.Time) {
	m.history.begin(Orchestration{ID: id, Path: p, GlobalExpect: goal, AcceptedBy: m.self, StartedAt: at})
	m.o.Bus.Publish(event.ObjectOrchestrationAccepted{ID: id, Node: m.self, Path: p, GlobalExpect: goal, GlobalExpectUpdatedAt: at})
}

// end announces how the orchestration of the monitor v has ended.
func (m *Monitor) end(w *watched, v cluster.InstanceMonitor, how, why string) {
	if !m.departs(w, v, how) {
		m.tellEnd(w, v, how, why)
	}
}

func (m *Monitor) tellEnd(w *watched, v cluster.InstanceMonitor, how, why string) {
	m.o.Log.Info("orchestration ended", slog.String("object", w.path.String()),
		slog.String("oid", v.OrchestrationID), slog.String("reason", strings.Trim(v.GlobalExpect+" "+how+": "+why, ": ")))
	m.o.Bus.Publish(event.ObjectOrchestrationEnd{
		ID: v.OrchestrationID, Node: m.self, Path: w.path, GlobalExpect: v.GlobalExpect, GlobalExpectUpdatedAt: v.GlobalExpectUpdatedAt,
		Aborted: how == orchestrate.GivenUp, State: how, Reason: why,
	})
	m.history.end(v.OrchestrationID, how, why, now())
}
