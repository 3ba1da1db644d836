package monitor

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/daemon/executor"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// How much of what ended is remembered.
const (
	keepAge   = 24 * time.Hour
	keepCount = 2000
)

// Running is the state of an orchestration that has not ended; the others are
// those of package orchestrate.
const Running = "running"

// Orchestration is what is remembered of a goal.
type Orchestration struct {
	ID           string      `json:"id"`
	Path         object.Path `json:"path"`
	GlobalExpect string      `json:"global_expect"`
	AcceptedBy   string      `json:"accepted_by"`
	State        string      `json:"state"` // running, succeeded, failed or aborted
	Reason       string      `json:"reason,omitempty"`
	StartedAt    time.Time   `json:"started_at"`
	EndedAt      time.Time   `json:"ended_at,omitzero"`
}

// history holds the orchestrations by id. What has not ended is never forgotten.
type history struct {
	node string

	mu  sync.Mutex
	all map[string]*entry
}

type entry struct {
	Orchestration
	ended chan struct{}
}

func newHistory(node string) *history { return &history{node: node, all: map[string]*entry{}} }

func (h *history) begin(o Orchestration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	o.State = Running
	h.all[o.ID] = &entry{Orchestration: o, ended: make(chan struct{})}
}

func (h *history) end(id, how, why string, at time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	e := h.all[id]
	if e == nil || e.State != Running {
		return
	}
	e.State, e.Reason, e.EndedAt = how, why, at
	close(e.ended)
	h.prune(at)
}

func (h *history) prune(at time.Time) {
	var ended []*entry
	for id, e := range h.all {
		switch {
		case e.State == Running:
		case at.Sub(e.EndedAt) > keepAge:
			delete(h.all, id)
		default:
			ended = append(ended, e)
		}
	}
	if len(ended) <= keepCount {
		return
	}
	slices.SortFunc(ended, func(a, b *entry) int { return a.EndedAt.Compare(b.EndedAt) })
	for _, e := range ended[:len(ended)-keepCount] {
		delete(h.all, e.ID)
	}
}

func (h *history) find(id string) (*entry, error) {
	if e := h.all[id]; e != nil {
		return e, nil
	}
	return nil, &executor.ForgottenError{What: "orchestration", ID: id, Node: h.node}
}

// Orchestration returns what is remembered of a goal, or an
// *executor.ForgottenError.
func (m *Monitor) Orchestration(id string) (Orchestration, error) {
	m.history.mu.Lock()
	defer m.history.mu.Unlock()
	e, err := m.history.find(id)
	if err != nil {
		return Orchestration{}, err
	}
	return e.Orchestration, nil
}

// Orchestrations lists what is remembered, oldest first.
func (m *Monitor) Orchestrations() []Orchestration {
	m.history.mu.Lock()
	defer m.history.mu.Unlock()
	m.history.prune(now())
	all := make([]Orchestration, 0, len(m.history.all))
	for _, e := range m.history.all {
		all = append(all, e.Orchestration)
	}
	slices.SortFunc(all, func(a, b Orchestration) int {
		return cmp.Or(a.StartedAt.Compare(b.StartedAt), cmp.Compare(a.ID, b.ID))
	})
	return all
}

// Wait returns an orchestration once it has ended, or at the end of ctx as it is
// then, with the error of ctx. An orchestration that failed is no error here.
func (m *Monitor) Wait(ctx context.Context, id string) (Orchestration, error) {
	m.history.mu.Lock()
	e, err := m.history.find(id)
	m.history.mu.Unlock()
	if err != nil {
		return Orchestration{}, err
	}
	select {
	case <-e.ended:
	case <-ctx.Done():
		err = ctx.Err()
	}
	m.history.mu.Lock()
	defer m.history.mu.Unlock()
	return e.Orchestration, err
}
