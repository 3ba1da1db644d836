package simulate

import (
	"cmp"
	"hash/fnv"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/orchestrate"
)

// Clone returns a world that goes its own way from here.
func (w *World) Clone() *World {
	c := *w
	c.events = slices.Clone(w.events)
	c.touchedIDs = slices.Clone(w.touchedIDs)
	c.inbox = slices.Clone(w.inbox)
	c.cuts, c.delays, c.losses = maps.Clone(w.cuts), maps.Clone(w.delays), maps.Clone(w.losses)
	c.held = slices.Clone(w.held)
	c.leases = maps.Clone(w.leases)
	c.votes = make(map[string]map[int]bool, len(w.votes))
	for name, hidden := range w.votes {
		c.votes[name] = maps.Clone(hidden)
	}
	c.laws.violations = slices.Clone(w.laws.violations)
	c.laws.asked, c.laws.over = maps.Clone(w.laws.asked), maps.Clone(w.laws.over)
	c.laws.byHand, c.laws.stopID = maps.Clone(w.laws.byHand), maps.Clone(w.laws.stopID)
	c.laws.stopped = make(map[int]map[int]bool, len(w.laws.stopped))
	maps.Copy(c.laws.stopped, w.laws.stopped) // what it holds is replaced, never changed
	c.nodes = make([]*node, len(w.nodes))
	for i, n := range w.nodes {
		c.nodes[i] = n.clone()
	}
	return &c
}

func (n *node) clone() *node {
	c := *n
	c.disk = make(map[int]*machine, len(n.disk))
	for obj, m := range n.disk {
		c.disk[obj] = m.clone()
	}
	if n.view != nil {
		v := *n.view
		v.Nodes, v.Objects, v.Peers = maps.Clone(v.Nodes), maps.Clone(v.Objects), maps.Clone(v.Peers)
		c.view = &v
	}
	c.peers = slices.Clone(n.peers)
	if n.local != nil {
		c.local = make(map[int]*watched, len(n.local))
		for obj, l := range n.local {
			x := *l
			c.local[obj] = &x
		}
	}
	c.dirty, c.unsent, c.pending = slices.Clone(n.dirty), slices.Clone(n.unsent), slices.Clone(n.pending)
	return &c
}

// writer writes a state down, such that two worlds that will do the same are
// written the same: instants count by their order and their age, not by their date.
type writer struct {
	b     []byte
	w     *World
	goals map[time.Time]int // instants of goals, by rank
	ids   map[string]int    // orchestrations, by first sight
	ages  bool
}

// Fingerprint identifies what a world will do.
func (w *World) Fingerprint() [16]byte { return w.fingerprint(true) }

// fingerprint leaves out how old things are, unless ages are asked for.
func (w *World) fingerprint(ages bool) [16]byte {
	p := &writer{w: w, b: make([]byte, 0, 4096), ids: map[string]int{}, ages: ages}
	p.rank()
	for _, n := range w.nodes {
		p.node(n)
	}
	p.queue()
	for _, n := range w.nodes {
		for _, other := range w.nodes {
			p.num(int(w.cuts[pair{n.id, other.id}]))
		}
	}
	for _, l := range w.held {
		p.num(l.from)
		p.num(l.to)
	}
	h := fnv.New128a()
	_, _ = h.Write(p.b) // never fails
	var sum [16]byte
	h.Sum(sum[:0])
	return sum
}

func (p *writer) num(i int)     { p.b = append(strconv.AppendInt(p.b, int64(i), 36), ' ') }
func (p *writer) text(s string) { p.b = append(append(p.b, s...), ' ') }

func (p *writer) flag(all ...bool) {
	for _, b := range all {
		if b {
			p.b = append(p.b, '1')
		} else {
			p.b = append(p.b, '0')
		}
	}
	p.b = append(p.b, ' ')
}

// age writes how long ago something was: what is older than any period is old.
func (p *writer) age(n *node, t time.Time) {
	const old = 6 * time.Second
	if !p.ages {
		return
	}
	switch d := p.w.clock(n).Sub(t); {
	case t.IsZero():
		p.b = append(p.b, '-')
	case d > old:
		p.b = append(p.b, 'o')
	default:
		p.num(int(d / (100 * time.Millisecond)))
	}
}

func (p *writer) rank() {
	var all []time.Time
	for _, n := range p.w.nodes {
		if n.view == nil {
			continue
		}
		for _, o := range n.view.Objects {
			for _, i := range o.Instances {
				if i.Monitor != nil {
					all = append(all, i.Monitor.GlobalExpectUpdatedAt)
				}
			}
		}
	}
	slices.SortFunc(all, time.Time.Compare)
	p.goals = map[time.Time]int{}
	for _, t := range slices.Compact(all) {
		p.goals[t] = len(p.goals)
	}
}

func (p *writer) oid(id string) {
	if id == "" {
		p.b = append(p.b, '-')
		return
	}
	if _, ok := p.ids[id]; !ok {
		p.ids[id] = len(p.ids)
	}
	p.num(p.ids[id])
}

func (p *writer) node(n *node) {
	p.text(n.name)
	p.flag(n.power, n.paused, n.daemon, !n.frozenAt.IsZero(), n.own.quorum, n.own.draining, n.own.ending, n.own.memory.Split.Waiting, n.own.memory.Split.Acted)
	for _, obj := range slices.Sorted(maps.Keys(n.disk)) {
		p.machine(n, n.disk[obj])
		if l := n.local[obj]; l != nil {
			p.watched(n, l)
		}
	}
	if n.view == nil || !n.daemon {
		return
	}
	p.text(n.own.memory.Split.Heard)
	p.flag(!n.own.memory.Split.LostAt.IsZero(), n.own.job != nil)
	for _, name := range slices.Sorted(maps.Keys(n.own.fences)) {
		p.text(name)
		p.num(int(n.own.fences[name].State))
	}
	for i := range n.peers {
		q := &n.peers[i]
		p.flag(q.ok, q.beating, q.heard, q.left, q.hearsUs, q.unheard, q.proved, q.deafDue > 0, q.gap, q.took == p.w.nodes[q.id].gen)
		p.num(len(q.lost))
	}
	for _, other := range p.w.nodes {
		v := n.view.Nodes[other.name]
		if v == nil {
			continue
		}
		p.text(v.Monitor.State)
		p.text(v.Monitor.GlobalExpect)
		p.flag(!v.Status.FrozenAt.IsZero())
		p.num(len(v.Status.Hears))
	}
	for _, d := range p.w.objects {
		o := n.view.Objects[d.path]
		if o == nil {
			continue
		}
		for _, id := range d.scope {
			p.instance(p.w.nodes[id], o.Instances[p.w.nodes[id].name])
		}
	}
}

func (p *writer) machine(n *node, m *machine) {
	for _, r := range m.resources {
		p.flag(r.up, r.broken, r.stopped)
	}
	p.flag(m.absent, m.frozenAt.IsZero(), m.stoppedAt.IsZero(), m.boot == n.bootID())
	p.num(int(m.provisioned))
	if m.process != nil {
		p.text(string(m.process.action.Verb))
		p.oid(m.process.oid)
		p.flag(m.process.life == n.life)
	}
}

func (p *writer) watched(n *node, l *watched) {
	if l.job != nil {
		p.text(string(l.job.Action.Verb))
		p.num(int(l.job.State))
		p.oid(l.job.OrchestrationID)
	}
	m := l.memory
	p.flag(m.Autostart, m.Booted, m.Recorded, m.Resume, l.evaluating > 0, m.Eviction.Prepared, m.Eviction.Frozen, m.Eviction.Fired)
	p.text(m.Failure)
	p.text(l.lock)
	p.num(len(m.Eviction.Pending))
	p.age(n, l.wakeAt)
}

func (p *writer) instance(of *node, i cluster.Instance) {
	if s := i.Status; s != nil {
		p.num(int(s.Avail))
		p.num(int(s.Provisioned))
		p.flag(s.FrozenAt.IsZero(), s.StoppedAt.IsZero())
	}
	m := i.Monitor
	if m == nil {
		return
	}
	p.text(m.State)
	if orchestrate.IsWaiting(m.State) || orchestrate.IsActing(m.State) {
		p.age(of, m.StateUpdatedAt)
	}
	p.text(m.GlobalExpect)
	p.text(m.LocalExpect)
	p.num(p.goals[m.GlobalExpectUpdatedAt])
	p.oid(m.OrchestrationID)
	p.flag(m.OrchestrationIsDone, m.IsHALeader)
}

// queue writes what is due: by its order within a link, by its age otherwise.
func (p *writer) queue() {
	all := slices.Clone(p.w.events)
	slices.SortFunc(all, func(a, b happening) int {
		for _, d := range []int{int(a.kind) - int(b.kind), a.node - b.node, a.peer - b.peer, a.obj - b.obj} {
			if d != 0 {
				return d
			}
		}
		if a.at != b.at {
			return int(a.at - b.at)
		}
		return cmp.Compare(a.seq, b.seq)
	})
	for _, e := range all {
		if p.w.stale(e) || e.kind == wakeNode {
			continue
		}
		p.num(int(e.kind))
		p.num(e.node)
		p.num(e.peer)
		p.num(e.obj)
		if e.kind == deliver {
			p.message(e)
			continue
		}
		if p.ages && e.kind != jobEnd && e.kind != beat && e.kind != wakeNode {
			p.num(int((e.at - p.w.now) / (100 * time.Millisecond)))
		}
	}
	for _, x := range p.w.inbox {
		p.num(x.node)
		p.num(int(x.event.kind))
		p.num(x.event.peer)
		p.num(x.event.obj)
	}
}

func (p *writer) message(e happening) {
	from := p.w.nodes[e.peer]
	p.flag(e.msg.full, e.msg.leaving, e.msg.life == from.life)
	for _, x := range e.msg.entries {
		p.num(int(x.part))
		if x.part == partNode {
			if x.node != nil {
				p.text(x.node.Monitor.State)
			}
			continue
		}
		p.num(x.obj)
		p.instance(from, x.instance)
	}
}

// stale reports whether an event will do nothing when it comes.
func (w *World) stale(e happening) bool {
	n := w.nodes[e.node]
	switch e.kind {
	case wake:
		l := n.local[e.obj]
		return !n.daemon || n.life != e.peer || l == nil || l.wakes != e.gen
	case wakeNode:
		return !n.daemon || n.life != e.peer || n.own.wakes != e.gen
	case silence:
		p := n.peer(e.peer)
		return !n.daemon || !p.beating || p.ok || p.cuts != e.gen
	case ballot:
		return !n.daemon || n.life != e.peer
	case deafness:
		p := n.peer(e.peer)
		return !n.daemon || !p.beating || p.unheard || p.deafDue == 0 || e.at < p.deafDue
	case fenced:
		return false
	case jobEnd:
		m := n.disk[e.obj]
		return !n.power || m.process == nil || m.process.gen != e.gen
	case deliver:
		p := n.peer(e.peer)
		return !n.daemon || e.msg.life < p.life
	case beat:
		p := n.peer(e.peer)
		return !n.daemon || !p.ok || p.cuts != e.gen
	case look, notice:
		return !n.daemon || n.life != e.gen
	case power:
		return n.power
	case launch:
		return n.daemon || !n.power
	}
	return false
}
