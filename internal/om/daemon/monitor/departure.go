package monitor

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/orchestrate"
)

// An object is gone when no node that is heard has an instance of it any more. The
// first node to have removed its own knows nothing of the others yet.

// linger is how long a node that does not pursue the removal any more may have an
// instance: what it says of its end comes after what it says of its instance.
const linger = 2 * time.Second

// departure is the end of a removal on this node, while other nodes are at it.
type departure struct {
	w     *watched
	v     cluster.InstanceMonitor
	since time.Time // when nobody pursued it any more; zero while somebody does
}

// removes reports whether a goal leaves no instance behind.
func removes(goal string) bool { return goal == orchestrate.Deleted || goal == orchestrate.Purged }

// others tells the nodes that have an instance still, and whether one of them is
// removing it.
func (m *Monitor) others(p object.Path, id string) (nodes []string, pursued bool) {
	o := m.o.State.View().Objects[p]
	if o == nil {
		return nil, false
	}
	for _, node := range slices.Sorted(maps.Keys(o.Instances)) {
		i := o.Instances[node]
		if node == m.self {
			continue
		}
		nodes = append(nodes, node)
		pursued = pursued || i.Monitor == nil || i.Monitor.OrchestrationID == id
	}
	return nodes, pursued
}

// departs keeps the end of a removal for later, when there are others; false when
// there are none.
func (m *Monitor) departs(w *watched, v cluster.InstanceMonitor, how string) bool {
	if how != orchestrate.Succeeded || !removes(v.GlobalExpect) {
		return false
	}
	if nodes, _ := m.others(w.path, v.OrchestrationID); len(nodes) == 0 {
		return false
	}
	m.departures[v.OrchestrationID] = &departure{w: w, v: v}
	return true
}

// depart ends the removals of which all nodes have done their part.
func (m *Monitor) depart() {
	for id, d := range m.departures {
		nodes, pursued := m.others(d.w.path, id)
		switch {
		case m.history.over(id): // another node said how it ended
			delete(m.departures, id)
		case len(nodes) == 0:
			delete(m.departures, id)
			m.tellEnd(d.w, d.v, orchestrate.Succeeded, "")
		case pursued:
			d.since = time.Time{}
		case d.since.IsZero():
			d.since = time.Now()
			m.spawn(func(ctx context.Context) {
				late := time.NewTimer(linger)
				defer late.Stop()
				select {
				case <-late.C:
					m.post(func() {})
				case <-ctx.Done():
				}
			})
		case time.Since(d.since) >= linger:
			delete(m.departures, id)
			m.tellEnd(d.w, d.v, orchestrate.Failed, "node "+nodes[0]+" still has an instance of it")
		}
	}
}
