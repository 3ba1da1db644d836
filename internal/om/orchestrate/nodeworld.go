package orchestrate

import (
	"maps"
	"slices"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// NodeWorldOf is what a view tells of the world of a node. The rest, which only
// its daemon knows, is left to the caller: when it started and was left, whether
// it has read its disk, the ballot, the job and the memory.
func NodeWorldOf(view *cluster.View, self string, now time.Time) NodeWorld {
	w := NodeWorld{
		Now: now, Self: self, Quorum: view.Config.Quorum, Members: view.Config.Nodes, Peers: map[string]Peer{},
	}
	if n := view.Nodes[self]; n != nil {
		w.Config, w.Monitor, w.FrozenAt = n.Config, n.Monitor, n.Status.FrozenAt
		if n.Stats.MemTotalMB > 0 {
			w.Stats = &n.Stats
		}
	}
	for _, name := range view.Config.Nodes {
		if name == self {
			continue
		}
		known := view.Peers[name]
		p := Peer{
			Beating: known.Beating, Heard: known.Heard, Left: known.Left, Deaf: known.Deaf, Synced: known.Synced, Since: known.Since,
		}
		if n := view.Nodes[name]; n != nil {
			p.Monitor, p.FrozenAt = n.Monitor, n.Status.FrozenAt
		}
		w.Peers[name] = p
	}
	for _, a := range view.Config.Arbitrators {
		w.Arbitrators = append(w.Arbitrators, Arbitrator{Name: a.Name, Weight: a.Weight, Exclusive: a.Exclusive})
	}
	if w.Monitor.State == StateRejoin {
		w.Instances = frozenElsewhere(view, self)
	}
	return w
}

// frozenElsewhere are the ha objects whose local instance is not frozen, while
// that of a peer is.
func frozenElsewhere(view *cluster.View, self string) []PeerFreeze {
	var all []PeerFreeze
	for p, o := range view.Objects {
		own, ok := o.Instances[self]
		if !ok || own.Config == nil || own.Config.Orchestrate != cluster.OrchestrateHA || own.Status == nil || !own.Status.FrozenAt.IsZero() {
			continue
		}
		var at time.Time
		for name, i := range o.Instances {
			if name != self && i.Status != nil && i.Status.FrozenAt.After(at) {
				at = i.Status.FrozenAt
			}
		}
		if !at.IsZero() {
			all = append(all, PeerFreeze{Path: p, At: at})
		}
	}
	slices.SortFunc(all, func(a, b PeerFreeze) int { return object.Compare(a.Path, b.Path) })
	return all
}

// FencesOf takes in what a view tells of the peers: those that are lost, those
// that are back, and those another node has fenced meanwhile.
func FencesOf(f Fences, view *cluster.View, self string, now time.Time) Fences {
	for name := range f {
		if !slices.Contains(view.Config.Nodes, name) {
			f = f.Back(name)
		}
	}
	for _, name := range view.Config.Nodes {
		p, n := view.Peers[name], view.Nodes[name]
		forgotten := n == nil || n.Monitor.State == ""
		switch {
		case name == self:
		case p.Beating && p.Deaf: // it is not forgotten yet: what it runs is not known to be lost
		case p.Beating && !p.Synced: // a late beat, of a node that stands still for all we know
			if !p.Heard {
				f = f.Lost(name, nil, true, now)
			}
		case p.Beating:
			f = f.Back(name)
		case !p.Heard:
			f = f.Lost(name, nil, true, now)
		case p.Left && (len(p.Lost) == 0 || !forgotten):
			f = f.Back(name) // it ended on purpose, and left nothing behind or is still preserved
		case !forgotten: // what it ran is not said yet
		default:
			f = f.Lost(name, p.Lost, false, now)
		}
	}
	for _, name := range view.Config.Nodes {
		n := view.Nodes[name]
		if name == self || n == nil || !view.Peers[name].Beating {
			continue
		}
		for node, told := range n.Status.Fences {
			state := FenceNone
			switch told.State {
			case FenceDone.String():
				state = FenceDone
			case FenceOverridden.String():
				state = FenceOverridden
			}
			if state != FenceNone {
				f = f.Confirm(node, state, "told by node "+name, now)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(f)) {
		if x := f[name]; !x.Wanted && !x.Unknown && wanted(view, self, x.Up) {
			x.Wanted = true
			f = f.with(name, x)
		}
	}
	return f
}

// wanted reports whether one of the objects has the node fenced that ran them.
func wanted(view *cluster.View, self string, up map[object.Path]bool) bool {
	for p := range up {
		o := view.Objects[p]
		if o == nil {
			continue
		}
		if c := o.Instances[self].Config; c != nil && c.Stonith && c.Topology != cluster.TopologyFlex {
			return true
		}
	}
	return false
}

// Told is what a node tells its peers of the fences.
func (f Fences) Told() map[string]cluster.FenceStatus {
	var told map[string]cluster.FenceStatus
	for name, x := range f {
		if !x.Wanted && x.State.Blocks() && x.Tries == 0 {
			continue // nobody asks for it
		}
		if told == nil {
			told = map[string]cluster.FenceStatus{}
		}
		told[name] = cluster.FenceStatus{State: x.State.String(), Reason: x.Reason, UpdatedAt: x.At, RetryAt: x.RetryAt}
	}
	return told
}

// FencesTold is what a node told of its fences, see [Fences.Told].
func FencesTold(told map[string]cluster.FenceStatus) map[string]FenceState {
	states := map[string]FenceState{}
	for node, x := range told {
		for s := FenceDue; s <= FenceOverridden; s++ {
			if x.State == s.String() {
				states[node] = s
			}
		}
	}
	return states
}
