package nodemon

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/executor"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/monitor"
	"github.com/holdfast-ops/holdfast/internal/om/event"
	"github.com/holdfast-ops/holdfast/internal/om/orchestrate"
)

// keepGoals is how many orchestrations of the node are remembered.
const keepGoals = 100

// goals are the orchestrations of the node, and of the cluster as it sees them.
type goals struct {
	mu  sync.Mutex
	all []*goal
}

type goal struct {
	monitor.Orchestration

	over   chan struct{}
	cancel context.CancelFunc
}

func (g *goals) begin(id, expect, node string, at time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.all = append(g.all, &goal{over: make(chan struct{}), Orchestration: monitor.Orchestration{
		ID: id, GlobalExpect: expect, AcceptedBy: node, State: monitor.Running, StartedAt: at,
	}})
	if len(g.all) > keepGoals {
		g.all = slices.Delete(g.all, 0, len(g.all)-keepGoals)
	}
}

func (g *goals) end(id, how, why string, at time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	x := g.find(id)
	if x == nil || !x.EndedAt.IsZero() {
		return
	}
	if how == orchestrate.Succeeded {
		why = ""
	}
	x.State, x.Reason, x.EndedAt = how, why, at
	if x.cancel != nil {
		x.cancel()
	}
	close(x.over)
}

func (g *goals) find(id string) *goal {
	i := slices.IndexFunc(g.all, func(x *goal) bool { return x.ID == id })
	if i < 0 {
		return nil
	}
	return g.all[i]
}

// context is that of an action of an orchestration: it ends with it.
func (g *goals) context(ctx context.Context, id string) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	g.mu.Lock()
	defer g.mu.Unlock()
	if x := g.find(id); x != nil {
		x.cancel = cancel
		if !x.EndedAt.IsZero() {
			cancel()
		}
	}
	return ctx, cancel
}

// Orchestrations lists the orchestrations of the node, the oldest first.
func (m *Monitor) Orchestrations() []monitor.Orchestration {
	m.goals.mu.Lock()
	defer m.goals.mu.Unlock()
	var all []monitor.Orchestration
	for _, x := range m.goals.all {
		all = append(all, x.Orchestration)
	}
	slices.SortStableFunc(all, func(a, b monitor.Orchestration) int { return a.StartedAt.Compare(b.StartedAt) })
	return all
}

// Wait returns an orchestration once it has ended.
func (m *Monitor) Wait(ctx context.Context, id string) (monitor.Orchestration, error) {
	m.goals.mu.Lock()
	x := m.goals.find(id)
	m.goals.mu.Unlock()
	if x == nil {
		return monitor.Orchestration{}, &executor.ForgottenError{What: "orchestration", ID: id, Node: m.self}
	}
	select {
	case <-x.over:
	case <-ctx.Done():
		return monitor.Orchestration{}, ctx.Err()
	}
	m.goals.mu.Lock()
	defer m.goals.mu.Unlock()
	return x.Orchestration, nil
}

// Drain asks for the node to be freed of its services.
func (m *Monitor) Drain() (id string, err error) { return m.Ask(orchestrate.Drained) }

// Ask gives a goal: frozen or unfrozen to the whole cluster, drained to this node.
func (m *Monitor) Ask(expect string) (id string, err error) {
	id = uuid.NewString()
	m.mu.Lock()
	defer m.mu.Unlock()
	w := m.world(m.o.State.View())
	v, err := orchestrate.AcceptNode(w, expect, id)
	if err != nil {
		return "", api.NewProblem(http.StatusConflict, err.Error())
	}
	if expect == orchestrate.Drained {
		m.memory.DrainID = id
	}
	m.goals.begin(id, expect, m.self, w.Now)
	m.o.Bus.Publish(event.SetNodeMonitor{Node: m.self, Update: asked(expect, id)})
	m.o.State.SetNodeMonitor(m.self, v)
	m.wake()
	return id, nil
}

func asked(expect, id string) event.NodeMonitorUpdate {
	if expect == orchestrate.Drained {
		return event.NodeMonitorUpdate{LocalExpect: &expect, OrchestrationID: id}
	}
	return event.NodeMonitorUpdate{GlobalExpect: &expect, OrchestrationID: id}
}

// Abort gives up what the node, and the cluster as a whole, are asked. What runs
// ends by itself.
func (m *Monitor) Abort() (id string) {
	id = uuid.NewString()
	m.mu.Lock()
	defer m.mu.Unlock()
	w := m.world(m.o.State.View())
	expect := orchestrate.Aborted
	m.o.Bus.Publish(event.SetNodeMonitor{Node: m.self, Update: event.NodeMonitorUpdate{GlobalExpect: &expect, OrchestrationID: id}})
	m.o.State.SetNodeMonitor(m.self, orchestrate.AbortNode(w))
	for _, given := range []string{w.Monitor.OrchestrationID, m.memory.DrainID} {
		m.goals.end(given, orchestrate.GivenUp, "aborted", w.Now)
	}
	m.memory.DrainID = ""
	m.goals.begin(id, expect, m.self, w.Now)
	m.goals.end(id, orchestrate.Succeeded, "", w.Now)
	m.wake()
	return id
}

// GiveWay gives up the drain in progress, and waits for its end.
func (m *Monitor) GiveWay(ctx context.Context) {
	m.mu.Lock()
	id := m.memory.DrainID
	m.mu.Unlock()
	if id == "" {
		return
	}
	m.Abort()
	for {
		m.mu.Lock()
		running := m.job != nil && m.job.State == orchestrate.JobRunning
		m.mu.Unlock()
		if !running || !m.pause(ctx) {
			return
		}
	}
}

// pause waits for something to happen to the node; false when there is no time.
func (m *Monitor) pause(ctx context.Context) bool {
	changes := m.o.Bus.Latest("node monitor wait", nodeEvents)
	defer changes.Close()
	timer := time.NewTimer(100 * time.Millisecond)
	defer timer.Stop()
	select {
	case <-changes.C():
	case <-timer.C:
	case <-ctx.Done():
		return false
	}
	return true
}

func nodeEvents(e *event.Envelope) (string, bool) {
	_, ok := e.Event.(event.NodeMonitorUpdated)
	return "", ok
}

// Clear forgets a failure, and returns the state it left; empty when there was none.
func (m *Monitor) Clear() (was string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	v := m.own()
	if !strings.HasSuffix(v.State, " failed") {
		return ""
	}
	was = v.State
	v.State, v.StateUpdatedAt = orchestrate.StateIdle, time.Now().Round(0)
	v.UpdatedAt = v.StateUpdatedAt
	m.o.State.SetNodeMonitor(m.self, v)
	m.wake()
	return was
}

// Become announces what the node is about to do that is not decided here: to shut
// its instances down, to end its daemon.
func (m *Monitor) Become(state string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.leaving = state == orchestrate.StateMaintenance || state == orchestrate.StateUpgrade || state == orchestrate.StateShutdown
	v := m.own()
	v.State, v.StateUpdatedAt = state, time.Now().Round(0)
	v.UpdatedAt = v.StateUpdatedAt
	m.o.State.SetNodeMonitor(m.self, v)
	m.wake()
}

func (m *Monitor) own() (v cluster.NodeMonitor) {
	if n := m.o.State.View().Nodes[m.self]; n != nil {
		v = n.Monitor
	}
	return v
}

// adopted remembers the orchestration of a peer that this node takes part in.
func (m *Monitor) adopted(was, is cluster.NodeMonitor) {
	id := is.OrchestrationID
	if id == "" || id == was.OrchestrationID || is.GlobalExpect == orchestrate.None {
		return
	}
	m.goals.begin(id, is.GlobalExpect, "", is.GlobalExpectUpdatedAt)
}
