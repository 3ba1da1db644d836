package simulate

import (
	"maps"
	"slices"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/orchestrate"
)

// nodeMind is what a node makes of itself.
type nodeMind struct {
	began  time.Time // of the daemon
	quorum bool
	split  int // counts the splits seen
	doomed bool
	wakes  int
}

// beginMind is the node decision of a daemon that has just started.
func (w *World) beginMind(n *node) {
	n.own = nodeMind{began: w.clock(n), quorum: true, wakes: n.own.wakes, split: n.own.split}
	state := "rejoin"
	if len(w.nodes) == 1 {
		state = orchestrate.StateIdle
	}
	w.nodeState(n, state)
	w.wakeMind(n, n.config.RejoinGracePeriod)
}

func (w *World) wakeMind(n *node, d time.Duration) {
	n.own.wakes++
	w.push(d, happening{kind: wakeNode, node: n.id, gen: n.own.wakes, peer: n.life})
}

func (w *World) nodeState(n *node, state string) {
	v := *n.view.Nodes[n.name]
	old := v.Monitor.State
	if old == state {
		return
	}
	v.Monitor.State, v.Monitor.StateUpdatedAt, v.Monitor.UpdatedAt = state, w.clock(n), w.clock(n)
	w.setNode(n, v)
	w.say(n, -1, "node %s -> %s", old, state)
}

func (w *World) setNode(n *node, v cluster.Node) {
	n.view.Nodes[n.name] = &v
	w.told(n, entryKey{part: partNode})
	w.touchAll(n)
}

// freezeNode sets the flag of a node.
func (w *World) freezeNode(n *node, frozen bool) {
	n.frozenAt = time.Time{}
	if frozen {
		n.frozenAt = w.clock(n)
	}
	if !n.daemon {
		return
	}
	v := *n.view.Nodes[n.name]
	v.Status.FrozenAt = n.frozenAt
	w.setNode(n, v)
	n.stirred = true
}

// mind decides about the node.
func (w *World) mind(n *node) {
	if n.view.Nodes[n.name].Monitor.State == "rejoin" {
		all := true
		for i := range n.peers {
			all = all && n.peers[i].beating
		}
		switch {
		case all:
			w.nodeState(n, orchestrate.StateIdle)
		case !w.clock(n).Before(n.own.began.Add(n.config.RejoinGracePeriod)):
			w.say(n, -1, "freezes: its peers did not come in time")
			w.freezeNode(n, true)
			w.nodeState(n, orchestrate.StateIdle)
		}
	}
	w.mindQuorum(n)
}

func (w *World) mindQuorum(n *node) {
	if !w.site.quorum || n.view.Nodes[n.name].Monitor.State == "rejoin" {
		return
	}
	have, total := w.tally(n)
	held := 2*have > total
	if held == n.own.quorum {
		return
	}
	n.own.quorum = held
	w.touchAll(n)
	if held {
		n.own.doomed = false
		w.say(n, -1, "has the quorum again, %d votes of %d", have, total)
		return
	}
	w.say(n, -1, "lost the quorum, %d votes of %d", have, total)
	if n.frozenAt.IsZero() && n.config.SplitAction != "disabled" {
		n.own.doomed = true
		n.own.split++
		w.push(n.config.ReadyPeriod/3, happening{kind: act, node: n.id, gen: n.own.split, peer: n.life})
	}
}

// tally counts the votes a node has.
func (w *World) tally(n *node) (have, total int) {
	have, total = 1, len(w.nodes)
	for i := range n.peers {
		if n.peers[i].beating {
			have++
		}
	}
	for _, a := range w.site.arbitrators {
		total += a.weight
		if !w.votes[a.name][n.id] {
			have += a.weight
		}
	}
	return have, total
}

// splitAct takes down a node without quorum.
func (w *World) splitAct(e happening) {
	n := w.nodes[e.node]
	if !n.daemon || n.life != e.peer || !n.own.doomed || n.own.split != e.gen {
		return
	}
	have, total := w.tally(n)
	if 2*have > total {
		return
	}
	w.say(n, -1, "split action %s", n.config.SplitAction)
	w.fell(n, n.config.SplitAction == "reboot")
}

// ringNode is the timer of the node.
func (w *World) ringNode(e happening) {
	n := w.nodes[e.node]
	if n.daemon && n.life == e.peer && n.own.wakes == e.gen {
		n.stirred = true
		w.touch(n)
	}
}

// factsOf completes the world of an instance.
func (w *World) factsOf(n *node, _ int, world *orchestrate.World) {
	world.Quorum = !w.site.quorum || n.own.quorum
	world.Rejoin = n.view.Nodes[n.name].Monitor.State == "rejoin"
	for _, name := range slices.Sorted(maps.Keys(world.Nodes)) {
		if name == n.name {
			continue
		}
		p := n.peer(slices.Index(w.site.names, name))
		if p == nil {
			continue
		}
		v := world.Nodes[name]
		v.Heard, v.Stale = p.heard, p.heard && !p.beating
		world.Nodes[name] = v
	}
}
