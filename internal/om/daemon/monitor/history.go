package monitor

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/daemon/executor"
	"github.com/holdfast-ops/holdfast/internal/om/ledger"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/orchestrate"
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
	Path         object.Path `json:"path,omitzero"`
	GlobalExpect string      `json:"global_expect"`
	AcceptedBy   string      `json:"accepted_by"`
	State        string      `json:"state"` // running, succeeded, failed or aborted
	Reason       string      `json:"reason,omitempty"`
	StartedAt    time.Time   `json:"started_at"`
	EndedAt      time.Time   `json:"ended_at,omitzero"`
}

// history holds the orchestrations by id. What has not ended is never forgotten.
// The next daemon knows of them, too.
type history struct {
	node   string
	log    *slog.Logger
	ledger *ledger.Ledger[Orchestration]

	mu    sync.Mutex
	all   map[string]*entry
	begun chan struct{} // closed, and made anew, when one begins
}

type entry struct {
	Orchestration
	ended chan struct{}
}

// interrupted is how an orchestration ended that its daemon did not see to the end:
// the goal was its own, and went with it.
const interrupted = "the daemon ended before it did; what had been started went on"

func newHistory(o Options) *history {
	h := &history{node: o.State.Node(), log: o.Log, all: map[string]*entry{}, begun: make(chan struct{})}
	if o.History == "" {
		return h
	}
	h.ledger = ledger.At[Orchestration](o.History)
	known, err := h.ledger.Load()
	if err != nil {
		h.log.Warn("the history of orchestrations is not known", slog.Any("err", err))
	}
	ended := make(chan struct{})
	close(ended)
	for _, old := range known { // the last word about each counts
		if old.State == Running {
			old.State, old.Reason, old.EndedAt = orchestrate.Failed, interrupted, now()
		}
		h.all[old.ID] = &entry{Orchestration: old, ended: ended}
	}
	h.prune(now())
	if h.ledger.Lines() > 0 {
		h.rewrite()
	}
	return h
}

// save appends an orchestration to the ledger, which is rewritten once most of it is
// of the past.
func (h *history) save(e *entry) {
	if err := h.ledger.Append(e.Orchestration); err != nil {
		h.log.Warn("the next daemon will not know of this orchestration", slog.String("object", e.Path.String()), slog.String("oid", e.ID), slog.Any("err", err))
	}
	if h.ledger.Lines() > 3*(len(h.all)+keepCount) {
		h.rewrite()
	}
}

func (h *history) rewrite() {
	all := make([]Orchestration, 0, len(h.all))
	for _, e := range h.all {
		all = append(all, e.Orchestration)
	}
	if err := h.ledger.Rewrite(all); err != nil {
		h.log.Warn("the history of orchestrations is not rewritten", slog.Any("err", err))
	}
}

// begin remembers an orchestration. What is known already is left: the node that was
// asked, and those that take the goal of it, all tell.
func (h *history) begin(o Orchestration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if known := h.all[o.ID]; known != nil {
		if known.AcceptedBy == "" {
			known.AcceptedBy = o.AcceptedBy
		}
		return
	}
	close(h.begun)
	h.begun = make(chan struct{})
	o.State = Running
	e := &entry{Orchestration: o, ended: make(chan struct{})}
	h.all[o.ID] = e
	h.save(e)
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
	h.save(e)
	h.prune(at)
}

// over reports whether an orchestration has ended.
func (h *history) over(id string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	e := h.all[id]
	return e != nil && e.State != Running
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

// toldWithin is how long an id that is not known may be on its way from the node
// that was asked.
const toldWithin = time.Second

// arrive waits for an orchestration that another node may have accepted just now.
func (h *history) arrive(id string) {
	late := time.NewTimer(toldWithin)
	defer late.Stop()
	for {
		h.mu.Lock()
		known, begun := h.all[id] != nil, h.begun
		h.mu.Unlock()
		if known {
			return
		}
		select {
		case <-begun:
		case <-late.C:
			return
		}
	}
}

// Orchestration returns what is remembered of a goal, or an
// *executor.ForgottenError. Any node knows of those of the others.
func (m *Monitor) Orchestration(id string) (Orchestration, error) {
	if len(m.o.State.View().Peers) > 0 {
		m.history.arrive(id)
	}
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
