package simulate

import (
	"maps"
	"slices"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/orchestrate"
)

// How long the arbitrators, and what fences, take.
const (
	ballotTakes = 50 * time.Millisecond
	fenceTakes  = 2 * time.Second
)

// nodeMind is what a daemon keeps of its node from one decision to the next.
type nodeMind struct {
	startedAt time.Time
	began     time.Duration
	memory    orchestrate.NodeMemory
	job       *orchestrate.NodeJob
	ballot    *orchestrate.Ballot
	quorum    bool
	tally     orchestrate.Tally
	fences    orchestrate.Fences
	wakeAt    time.Time
	wakes     int
	due       time.Duration // of the wake
	draining  bool
	ending    bool // the daemon ends once its instances are down
}

// beginMind is the node decision of a daemon that has just started.
func (w *World) beginMind(n *node) {
	n.own = nodeMind{startedAt: w.clock(n), began: w.now, wakes: n.own.wakes, quorum: true}
	n.stirred = true
}

// alter changes what a node says of itself.
func (w *World) alter(n *node, change func(*cluster.Node)) {
	v := *n.view.Nodes[n.name]
	change(&v)
	n.view.Nodes[n.name] = &v
	w.told(n, entryKey{part: partNode})
	n.stirred = true
	w.touchAll(n)
}

// freezeNode sets the flag of a node.
func (w *World) freezeNode(n *node, frozen bool) {
	n.frozenAt = time.Time{}
	if frozen {
		n.frozenAt = w.clock(n)
	}
	if n.daemon {
		w.alter(n, func(v *cluster.Node) { v.Status.FrozenAt = n.frozenAt })
	}
}

// nodeWorld is what a node knows about itself.
func (w *World) nodeWorld(n *node) orchestrate.NodeWorld {
	world := orchestrate.NodeWorldOf(n.view, n.name, w.clock(n))
	world.Ballot, world.Ready, world.Awake = n.own.ballot, true, w.now-n.own.began
	world.StartedAt, world.LeftAt = n.own.startedAt, n.leftAt
	if n.heardIn == n.boots {
		world.HeardBefore = n.heard
	}
	world.Job, world.Memory = n.own.job, n.own.memory
	return world
}

// mind decides about the node, until that changes nothing.
func (w *World) mind(n *node) {
	w.tickFences(n)
	d := w.o.DecideNode(w.nodeWorld(n))
	w.decided++
	old := n.view.Nodes[n.name].Monitor
	changed := (n.own.job == nil) != (d.Job == nil)
	n.own.memory, n.own.job, n.own.tally = d.Memory, d.Job, d.Tally
	d.Monitor.UpdatedAt = old.UpdatedAt
	if d.Monitor != old {
		if old.State != d.Monitor.State {
			w.say(n, -1, "node %s -> %s%s", orNew(old.State), d.Monitor.State, lastReason(d.Because))
		}
		d.Monitor.UpdatedAt = w.clock(n)
		w.alter(n, func(v *cluster.Node) { v.Monitor = d.Monitor })
		changed = true
	}
	if d.Quorum != n.own.quorum {
		n.own.quorum = d.Quorum
		w.touchAll(n)
		verb := "has not"
		if d.Quorum {
			verb = "has"
		}
		w.say(n, -1, "%s the quorum, %d votes of %d", verb, d.Tally.Have, d.Tally.Total)
	}
	if d.Ended != "" {
		w.say(n, -1, "%s %s", d.EndedGoal, d.Ended)
	}
	if d.Poll != nil {
		w.poll(n, *d.Poll)
	}
	if d.Release {
		w.release(n)
	}
	for _, name := range d.Forget {
		p := n.peer(w.node(name).id)
		w.forget(n, p, false)
		w.notePeer(n, p)
		n.stirred = true
	}
	n.stirred = n.stirred || changed
	w.wakeMind(n, d.WakeAt)
	if d.Action.Verb != "" {
		w.actNode(n, d)
	}
}

func orNew(state string) string {
	if state == "" {
		return orchestrate.StateInit
	}
	return state
}

func lastReason(all []orchestrate.Reason) string {
	if len(all) == 0 {
		return ""
	}
	return " because " + all[len(all)-1].ID
}

func (w *World) wakeMind(n *node, at time.Time) {
	if _, next := n.own.fences.Tick(w.clock(n)); !next.IsZero() && (at.IsZero() || next.Before(at)) {
		at = next
	}
	if at.Equal(n.own.wakeAt) {
		return
	}
	n.own.wakeAt = at
	n.own.wakes++
	n.own.due = 0
	if !at.IsZero() {
		d := max(at.Sub(w.clock(n)), 0)
		n.own.due = w.now + d
		w.push(d, happening{kind: wakeNode, node: n.id, gen: n.own.wakes, peer: n.life})
	}
}

// ringNode is the timer of the node.
func (w *World) ringNode(e happening) {
	n := w.nodes[e.node]
	if n.daemon && n.life == e.peer && n.own.wakes == e.gen {
		n.own.wakeAt, n.own.due = time.Time{}, 0
		n.stirred = true
		w.touch(n)
	}
}

// actNode does what was decided about a node.
func (w *World) actNode(n *node, d orchestrate.NodeDecision) {
	w.say(n, -1, "do %s%s", d.Action.Verb, lastReason(d.Because))
	switch d.Action.Verb {
	case orchestrate.Crash:
		w.fell(n, false)
	case orchestrate.Reboot:
		w.fell(n, true)
	case orchestrate.Freeze:
		w.freezeNode(n, true)
		w.nodeJobEnded(n, "")
	case orchestrate.Unfreeze:
		w.freezeNode(n, false)
		w.nodeJobEnded(n, "")
	case orchestrate.FreezeInstances:
		for _, p := range d.Action.Paths {
			obj := w.paths[p]
			n.disk[obj].frozenAt = w.clock(n)
			w.evaluate(n, obj, n.watch(obj))
		}
		w.nodeJobEnded(n, "")
	case orchestrate.Drain:
		w.freezeNode(n, true)
		n.own.draining = true
		w.shutDown(n)
	case orchestrate.Start, orchestrate.StartStandby, orchestrate.Stop, orchestrate.Shutdown, orchestrate.Provision, orchestrate.Unprovision,
		orchestrate.Delete, orchestrate.Boot, orchestrate.Hold, orchestrate.Release, orchestrate.RecordBoot, orchestrate.Prepare, orchestrate.Fence:
		w.nodeJobEnded(n, "a node does not do that to itself")
	}
}

func (w *World) nodeJobEnded(n *node, failure string) {
	if n.own.job == nil {
		return
	}
	j := *n.own.job
	j.State, j.Reason = orchestrate.JobSucceeded, failure
	if failure != "" {
		j.State = orchestrate.JobFailed
	}
	n.own.job = &j
	n.stirred = true
	w.touch(n)
}

// shutDown shuts the instances of a node down, one command each.
func (w *World) shutDown(n *node) {
	waiting := false
	for _, obj := range slices.Sorted(maps.Keys(n.disk)) {
		m := n.disk[obj]
		if m.absent || w.objects[obj].path.Kind != object.KindSvc {
			continue
		}
		if m.process != nil {
			waiting = true
			continue
		}
		if !slices.ContainsFunc(m.resources, func(p part) bool { return p.up }) {
			continue
		}
		if m.shut == n.life && m.manners[orchestrate.Shutdown].fails {
			continue // it was tried
		}
		waiting, m.shut = true, n.life
		m.process = &process{action: orchestrate.Action{Verb: orchestrate.Shutdown}, life: -1, gen: m.jobs + 1}
		w.spawn(n, obj, m)
		w.dirtied(n, obj)
	}
	if waiting {
		return
	}
	failure := ""
	for _, obj := range slices.Sorted(maps.Keys(n.disk)) {
		if m := n.disk[obj]; m.shut == n.life && slices.ContainsFunc(m.resources, func(p part) bool { return p.up }) {
			failure = w.objects[obj].path.String() + " is not down"
		}
	}
	if n.own.draining {
		n.own.draining = false
		w.nodeJobEnded(n, failure)
	}
	if n.own.ending && n.daemon {
		w.leave(n, orchestrate.StateShutdown)
	}
}

// leave ends a daemon that says so.
func (w *World) leave(n *node, state string) {
	w.say(n, -1, "its daemon ends: %s", state)
	for _, obj := range slices.Sorted(maps.Keys(n.disk)) {
		w.observe(n, obj)
	}
	w.alter(n, func(v *cluster.Node) { v.Monitor.State, v.Monitor.StateUpdatedAt = state, w.clock(n) })
	w.flush(n)
	m := &message{life: n.life, gen: n.gen, leaving: true, hears: n.hears()}
	for i := range n.near {
		w.send(n, w.nodes[n.near[i]], m)
	}
	w.stop(n)
}

// poll asks the arbitrators.
func (w *World) poll(n *node, p orchestrate.Poll) {
	b := &orchestrate.Ballot{Poll: p.Number, Answers: map[string]orchestrate.Answer{}}
	now := epoch().Add(w.now) // an arbitrator has a clock of its own
	for _, a := range w.site.arbitrators {
		if w.votes[a.name][n.id] {
			continue
		}
		if !a.exclusive || w.o.Gullible {
			b.Answers[a.name] = orchestrate.Answer{Vote: true}
			continue
		}
		lease, g := w.leases[a.name].Claim(now, orchestrate.Claim{Node: n.name, Members: p.Members})
		w.leases[a.name] = lease
		answer := orchestrate.Answer{Vote: g.Verdict == orchestrate.VoteGranted, Refused: g.Verdict == orchestrate.VoteRefused}
		if answer.Vote {
			answer.Until = w.clock(n).Add(orchestrate.VoteLease)
			if !g.NotBefore.IsZero() {
				answer.NotBefore = w.clock(n).Add(g.NotBefore.Sub(now))
			}
		}
		b.Answers[a.name] = answer
	}
	w.push(ballotTakes, happening{kind: ballot, node: n.id, peer: n.life, ballot: b})
}

func (w *World) release(n *node) {
	for _, a := range w.site.arbitrators {
		if a.exclusive && !w.votes[a.name][n.id] {
			w.leases[a.name] = w.leases[a.name].Release(epoch().Add(w.now), n.name)
		}
	}
}

// answered is what the arbitrators said.
func (w *World) answered(e happening) {
	if n := w.nodes[e.node]; n.daemon && n.life == e.peer {
		n.own.ballot = e.ballot
		n.stirred = true
		w.touch(n)
	}
}

// tickFences keeps the book of the nodes that were lost.
func (w *World) tickFences(n *node) {
	f := orchestrate.FencesOf(n.own.fences, n.view, n.name, w.clock(n))
	n.own.fences, _ = f.Tick(w.clock(n))
	w.tellFences(n)
}

func (w *World) tellFences(n *node) {
	told := n.own.fences.Told()
	if maps.Equal(told, n.view.Nodes[n.name].Status.Fences) {
		return
	}
	w.alter(n, func(v *cluster.Node) { v.Status.Fences = told })
}

// fence begins to fence a node.
func (w *World) fence(n *node, obj int, victim string) {
	var began bool
	n.own.fences, began = n.own.fences.Begin(victim, w.clock(n))
	w.tellFences(n)
	v := w.node(victim)
	if !began || v == nil {
		w.jobEnded(n, obj, n.watch(obj), true)
		return
	}
	takes := fenceTakes
	if v.fencing.takes > 0 {
		takes = v.fencing.takes
	}
	if !v.fencing.hangs {
		w.push(takes, happening{kind: fenced, node: n.id, obj: obj, peer: v.id, gen: n.life})
	}
}

// fenceEnds is the end of the command that fences a node.
func (w *World) fenceEnds(e happening) {
	n, v := w.nodes[e.node], w.nodes[e.peer]
	failure := ""
	if v.fencing.fails {
		failure = "exit status 1"
	} else {
		w.say(v, -1, "is fenced by %s", n.name)
		w.laws.knownOff(v.id, w.now)
		w.crash(v)
	}
	if !n.daemon || n.life != e.gen {
		return
	}
	n.own.fences = n.own.fences.End(v.name, failure, w.clock(n))
	w.tellFences(n)
	w.jobEnded(n, e.obj, n.watch(e.obj), failure != "")
}

// confirm is an operator who says that a node is off.
func (w *World) confirm(n *node, victim string) {
	w.laws.knownOff(w.node(victim).id, w.now)
	n.own.fences = n.own.fences.Confirm(victim, orchestrate.FenceOverridden, "an operator said so", w.clock(n))
	w.tellFences(n)
}
