package simulate

import (
	"maps"
	"slices"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// peer is what a node has of another one.
type peer struct {
	id   int
	ok   bool          // its messages arrive
	cuts int           // counts the times they ceased to
	last time.Duration // when the last message is due: they arrive in order

	beating bool          // it is heard
	heard   bool          // ever, since the start of the daemon
	left    bool          // it has said that it ends on purpose
	since   time.Duration // of beating
	life    int           // of its daemon
	hearsUs bool          // by what it told last
	didHear bool          // it has heard us in this life
	acked   int           // our last message it has taken in
	took    int           // its last message that we have taken in
	owed    bool          // it was not told so yet
	gap     bool          // a message of it was lost: the next one holds everything
	unheard bool          // none of our beats came back in time
	deafDue time.Duration // when none of our beats will have come back in time; 0: they do
	proved  bool          // one of our beats came back since a link between us broke
	broke   time.Duration // when one did last
	lastIn  time.Duration // when its last message came
	lost    []int         // objects that were up on it when it was lost
}

// deaf reports whether the peer has ceased to hear us: it says so, or none of our
// beats came back for the timeout. The latter is never later than the moment the
// peer gives us up.
func (p *peer) deaf() bool { return p.beating && (p.unheard || p.didHear && !p.hearsUs) }

// What a node tells of itself.
type entryKey struct {
	part part8
	obj  int
}

type part8 uint8

const (
	partNode part8 = iota
	partConfig
	partStatus
	partMonitor
)

// message is what a node tells. It is never changed.
type message struct {
	life    int
	gen     int
	full    bool
	leaving bool
	entries []entry
	hears   []int // the peers it hears
	marks   []mark
}

// mark is how far a node knows a peer, and when it heard it last.
type mark struct {
	peer, took int
	in         time.Duration
}

type entry struct {
	entryKey
	node     *cluster.Node
	instance cluster.Instance
	object   *Object // the configuration itself
	absent   bool
}

// told notes that a part of a node changed.
func (w *World) told(n *node, k entryKey) {
	if !slices.Contains(n.unsent, k) {
		n.unsent = append(n.unsent, k)
	}
	w.touch(n)
}

// entryOf is a part of a node as it is now.
func (w *World) entryOf(n *node, k entryKey) entry {
	e := entry{entryKey: k}
	if k.part == partNode {
		e.node = n.view.Nodes[n.name]
		return e
	}
	if o := n.view.Objects[w.objects[k.obj].path]; o != nil {
		e.instance = o.Instances[n.name]
	}
	if m := n.disk[k.obj]; m != nil {
		e.object, e.absent = &m.object, m.absent
	}
	return e
}

// flush sends what changed to the peers, and to each how far it is known.
func (w *World) flush(n *node) {
	if !n.daemon {
		return
	}
	if len(n.unsent) == 0 {
		for i := range n.peers {
			if p := &n.peers[i]; p.owed {
				p.owed = false
				w.send(n, w.nodes[p.id], &message{life: n.life, gen: n.gen, hears: n.hears(), marks: n.marks()})
			}
		}
		return
	}
	n.gen++
	m := &message{life: n.life, gen: n.gen, hears: n.hears(), marks: n.marks()}
	for _, k := range n.unsent {
		m.entries = append(m.entries, w.entryOf(n, k))
		if l := n.local[k.obj]; k.part == partMonitor && l != nil {
			l.told = n.gen
		}
	}
	n.unsent = nil
	for i := range n.peers {
		n.peers[i].owed = n.peers[i].owed && len(w.nodes) > full
		w.send(n, w.nodes[n.peers[i].id], m)
	}
}

func (n *node) marks() []mark {
	all := make([]mark, len(n.peers))
	for i := range n.peers {
		all[i] = mark{n.peers[i].id, n.peers[i].took, n.peers[i].lastIn}
	}
	return all
}

// hears lists the peers that are heard.
func (n *node) hears() []int {
	var ids []int
	for i := range n.peers {
		if n.peers[i].beating {
			ids = append(ids, n.peers[i].id)
		}
	}
	return ids
}

// send sends a message to a node, if the way is open. What is lost is sent again,
// with all the rest, by the next message, or at the next beat.
func (w *World) send(from, to *node, m *message) {
	p := to.peer(from.id)
	if p == nil || !p.ok || !to.daemon {
		return
	}
	if len(w.nodes) > full && !w.concerns(to, m) {
		return
	}
	if p.gap && !m.full {
		leaving := m.leaving
		m = w.everything(from, to)
		m.leaving = leaving
	}
	if w.chance(max(w.o.Loss, w.losses[pair{from.id, to.id}])) {
		if !p.gap || m.full {
			w.push(w.site.beats[0].interval, happening{kind: beat, node: to.id, peer: from.id, gen: p.cuts})
		}
		p.gap = true
		return
	}
	p.gap = false
	delay := w.o.Delay + w.upTo(w.o.Jitter) + w.delays[pair{from.id, to.id}]
	p.last = max(p.last, w.now+delay)
	w.sent++
	w.push(p.last-w.now, happening{kind: deliver, node: to.id, peer: from.id, gen: p.cuts, msg: m})
}

// concerns reports whether a message says something a node decides by.
func (w *World) concerns(to *node, m *message) bool {
	return m.full || m.leaving || len(m.entries) == 0 || slices.ContainsFunc(m.entries, func(e entry) bool {
		return e.part == partNode || slices.Contains(w.objects[e.obj].wide, to.id)
	})
}

// beat sends all that a node has to another one.
func (w *World) beat(e happening) {
	to, from := w.nodes[e.node], w.nodes[e.peer]
	p := to.peer(from.id)
	if p == nil || !p.ok || p.cuts != e.gen || !from.daemon {
		return
	}
	w.send(from, to, w.everything(from, to))
}

// everything is all that a node has to tell another one.
func (w *World) everything(from, to *node) *message {
	m := &message{life: from.life, gen: from.gen, full: true, hears: from.hears(), marks: from.marks()}
	m.entries = append(m.entries, w.entryOf(from, entryKey{part: partNode}))
	for _, obj := range slices.Sorted(maps.Keys(from.disk)) {
		if len(w.nodes) <= full || slices.Contains(w.objects[obj].wide, to.id) {
			for _, part := range []part8{partConfig, partStatus, partMonitor} {
				m.entries = append(m.entries, w.entryOf(from, entryKey{part, obj}))
			}
		}
	}
	return m
}

// deliver is a message that arrives.
func (w *World) deliver(e happening) {
	n, from := w.nodes[e.node], w.nodes[e.peer]
	p := n.peer(e.peer)
	if !n.daemon || e.msg.life < p.life || p.cuts != e.gen && !p.ok && w.severed(from, n) {
		return
	}
	m := e.msg
	if m.life > p.life || !p.beating {
		if !m.full {
			if m.leaving && m.life == p.life {
				p.left = true
			}
			return // what it builds upon is not known
		}
		w.forget(n, p, true)
		p.life, p.didHear, p.acked, p.took = m.life, false, 0, 0
	}
	hears := slices.Contains(m.hears, n.id)
	if hears != p.hearsUs || m.leaving != p.left {
		p.hearsUs, p.didHear, p.left = hears, p.didHear || hears, m.leaving
		n.stirred = true
		w.touchAll(n)
		w.notePeer(n, p)
	}
	if !p.beating {
		p.beating, p.heard, p.left, p.lost, p.since = true, true, m.leaving, nil, w.now
		w.peerChanged(n, p)
	}
	p.owed = p.owed || len(m.entries) > 0
	p.took, p.lastIn = max(p.took, m.gen), w.now
	for _, k := range m.marks {
		if k.peer == n.id {
			w.acked(n, p, k.took)
			w.echoed(n, p, k.in)
		}
	}
	for _, x := range m.entries {
		w.take(n, from, x)
	}
	w.touch(n)
}

// acked is a peer that says how far it knows us.
func (w *World) acked(n *node, p *peer, took int) {
	before := p.acked
	if took <= before {
		return
	}
	p.acked = took
	for obj, l := range n.local {
		if l.told > before && l.told <= took && !l.wakeAt.IsZero() {
			w.dirtied(n, obj)
		}
	}
}

// severed reports whether what is on its way is lost too.
func (w *World) severed(from, to *node) bool { return w.cut(from.id, to.id) }

// take takes an entry in.
func (w *World) take(n, from *node, x entry) {
	if x.part == partNode {
		if x.node == nil {
			return
		}
		n.view.Nodes[from.name] = x.node
		n.stirred = true
		w.touchAll(n)
		return
	}
	if !w.wants(n, x.obj) {
		return
	}
	w.publishOf(n, from.name, x.obj, func(i *cluster.Instance) {
		switch x.part {
		case partConfig:
			i.Config = x.instance.Config
		case partStatus:
			i.Status = x.instance.Status
		case partMonitor:
			i.Monitor = x.instance.Monitor
		case partNode:
		}
	})
	if x.part == partConfig && x.object != nil && !x.absent {
		w.fetch(n, x)
	}
}

func (w *World) wants(n *node, obj int) bool {
	return len(w.nodes) <= full || slices.Contains(w.objects[obj].wide, n.id)
}

// fetch installs a configuration that is newer than the one at hand.
func (w *World) fetch(n *node, x entry) {
	m := n.disk[x.obj]
	if m == nil || m.absent || x.instance.Config == nil || !x.instance.Config.UpdatedAt.After(m.config.UpdatedAt) {
		return
	}
	w.configure(n, x.obj, *x.object, x.instance.Config.UpdatedAt)
}

// configure gives an instance another configuration.
func (w *World) configure(n *node, obj int, o Object, at time.Time) {
	c, resources, err := w.site.instanceConfig(o, n.name, at)
	if err != nil {
		return // it was evaluated where it was written
	}
	m := n.disk[obj]
	m.object = o
	m.configure(c, resources)
	if !n.daemon {
		return
	}
	w.publish(n, obj, func(i *cluster.Instance) { i.Config = c })
	w.told(n, entryKey{partConfig, obj})
	w.evaluate(n, obj, n.watch(obj))
}

// forget drops what is known of a peer.
func (w *World) forget(n *node, p *peer, quiet bool) {
	from := w.nodes[p.id]
	p.beating, p.hearsUs = false, false
	if !quiet {
		p.lost = nil
	}
	for _, obj := range slices.Sorted(maps.Keys(from.disk)) {
		o := n.view.Objects[w.objects[obj].path]
		if o == nil {
			continue
		}
		i, ok := o.Instances[from.name]
		if !ok {
			continue
		}
		if !quiet && i.Status != nil && i.Status.Avail != cluster.Down && i.Status.Avail != cluster.NotApplicable &&
			i.Status.Avail != cluster.StandbyDown && i.Status.Avail != cluster.StandbyUp {
			p.lost = append(p.lost, obj)
		}
		w.publishOf(n, from.name, obj, func(i *cluster.Instance) { *i = cluster.Instance{} })
	}
	n.view.Nodes[from.name] = &cluster.Node{}
	w.touchAll(n)
}

// peerChanged is a peer that is heard again, or not any more.
func (w *World) peerChanged(n *node, p *peer) {
	if p.beating {
		w.say(n, -1, "hears %s", w.nodes[p.id].name)
	} else {
		w.say(n, -1, "lost %s", w.nodes[p.id].name)
	}
	w.notePeer(n, p)
	var hears []string
	for _, id := range n.hears() {
		hears = append(hears, w.nodes[id].name)
	}
	slices.Sort(hears)
	w.alter(n, func(v *cluster.Node) { v.Status.Hears = hears })
}

// notePeer puts what the heartbeats know of a peer in the view.
func (w *World) notePeer(n *node, p *peer) {
	var lost map[object.Path]bool
	for _, obj := range p.lost {
		if lost == nil {
			lost = map[object.Path]bool{}
		}
		lost[w.objects[obj].path] = true
	}
	n.view.Peers[w.nodes[p.id].name] = cluster.Peer{
		Lost:    lost,
		Beating: p.beating, Since: epoch().Add(p.since + n.skew), Heard: p.heard, Left: p.left, Deaf: p.deaf(), Synced: p.beating,
	}
}

// touchAll has a node look at everything.
func (w *World) touchAll(n *node) {
	for obj, m := range n.disk {
		if !m.absent && !slices.Contains(n.dirty, obj) {
			n.dirty = append(n.dirty, obj)
		}
	}
	w.touch(n)
}

// silence is when a node gives a peer up.
func (w *World) silence(e happening) {
	n := w.nodes[e.node]
	p := n.peer(e.peer)
	if !n.daemon || !p.beating || p.ok || p.cuts != e.gen {
		return
	}
	p.since = w.now
	if p.left {
		p.beating, p.hearsUs = false, false // what it runs is left to it
		w.peerChanged(n, p)
		return
	}
	w.forget(n, p, false)
	w.peerChanged(n, p)
}

// cut reports whether no heartbeat goes from a node to another.
func (w *World) cut(from, to int) bool {
	all := uint32(1)<<len(w.site.beats) - 1
	return w.cuts[pair{from, to}]&all == all
}

// relink sees to the links of a node after something changed.
func (w *World) relink(n *node) {
	for _, id := range n.near {
		w.relinkPair(n, w.nodes[id])
		w.relinkPair(w.nodes[id], n)
	}
}

func (w *World) relinkPair(from, to *node) {
	p := to.peer(from.id)
	ok := from.power && from.daemon && !from.paused && !w.cut(from.id, to.id)
	if p == nil || ok == p.ok {
		return
	}
	p.ok = ok
	p.cuts++
	w.echo(from, to)
	w.echo(to, from)
	if ok {
		// It is heard at the next beat, or at once when a connection is made.
		w.push(w.o.Delay, happening{kind: beat, node: to.id, peer: from.id, gen: p.cuts})
		return
	}
	if !p.beating {
		return
	}
	w.push(w.patience(from, to), happening{kind: silence, node: to.id, peer: from.id, gen: p.cuts})
}

// echo sees to it that a node notices when its beats do not come back.
func (w *World) echo(n, other *node) {
	p, out := n.peer(other.id), other.peer(n.id)
	if p.ok && out.ok {
		return // once a beat has come back
	}
	p.broke, p.proved = w.now, false
	if !n.daemon || !p.beating || p.unheard {
		return
	}
	ago := w.phase(n, other)
	if out.ok { // our beats arrive, and what came back last was an older one
		ago += w.phase(other, n)
	}
	// What broke before stays broken: the first deadline holds.
	due := w.now + max(w.timeout(n, other)-ago-w.o.Delay, 0)
	if p.deafDue == 0 || due < p.deafDue {
		p.deafDue = due
		w.push(due-w.now, happening{kind: deafness, node: n.id, peer: other.id})
	}
}

// echoed is a beat of ours that came back: one the peer heard after a link broke.
func (w *World) echoed(n *node, p *peer, in time.Duration) {
	if p.proved || in < p.broke || in == 0 {
		return
	}
	p.proved, p.deafDue = true, 0
	if p.unheard {
		p.unheard = false
		n.stirred = true
		w.notePeer(n, p)
		w.touchAll(n)
	}
}

// deafened is when none of our beats came back in time.
func (w *World) deafened(e happening) {
	n := w.nodes[e.node]
	p := n.peer(e.peer)
	if !n.daemon || !p.beating || p.deafDue == 0 || w.now < p.deafDue {
		return
	}
	p.unheard = true
	w.notePeer(n, p)
	n.stirred = true
	w.touchAll(n)
}

// patience is how long a peer that went silent is still believed alive. The
// process of a daemon that is gone refuses connections, which is known at once;
// a node that has said that it leaves is let go.
func (w *World) patience(from, to *node) time.Duration {
	if from.power && !from.daemon && !w.cut(from.id, to.id) {
		return time.Second
	}
	// The last beat came some time ago.
	return w.timeout(from, to) - w.phase(from, to)
}

// timeout is how long a peer is believed that is silent: that of the heartbeat
// which was cut last, the longest when all were.
func (w *World) timeout(from, to *node) (longest time.Duration) {
	for i, h := range w.site.beats {
		if w.cuts[pair{from.id, to.id}]&(1<<i) == 0 {
			longest = max(longest, h.timeout)
		}
	}
	if longest > 0 {
		return longest
	}
	for _, h := range w.site.beats {
		longest = max(longest, h.timeout)
	}
	return longest
}

// phase is how long ago the last beat came.
func (w *World) phase(from, to *node) time.Duration {
	interval := w.site.beats[0].interval
	if w.o.Jitter > 0 {
		return w.upTo(interval)
	}
	return interval * time.Duration((from.id*7+to.id*3)%10) / 10
}

// Partition leaves only the links within each group. A node in no group is alone.
func (w *World) partition(groups [][]int) {
	group := map[int]int{}
	for i, g := range groups {
		for _, id := range g {
			group[id] = i + 1
		}
	}
	all := uint32(1)<<len(w.site.beats) - 1
	for a := range w.nodes {
		for b := range w.nodes {
			if a == b {
				continue
			}
			if group[a] == 0 || group[a] != group[b] {
				w.cuts[pair{a, b}] = all
			} else {
				delete(w.cuts, pair{a, b})
			}
		}
	}
	for _, n := range w.nodes {
		w.relink(n)
	}
}

// heal mends every link.
func (w *World) heal() {
	clear(w.cuts)
	clear(w.delays)
	clear(w.losses)
	for _, n := range w.nodes {
		w.relink(n)
	}
}

// cutLink cuts one direction; a mask of heartbeats, or all of them.
func (w *World) cutLink(from, to int, mask uint32) {
	w.cuts[pair{from, to}] |= mask
	w.relinkPair(w.nodes[from], w.nodes[to])
}

// pause suspends a node; resume has it go on with what it missed.
func (w *World) pause(n *node) {
	n.paused = true
	w.relink(n)
}

func (w *World) resume(n *node) {
	if !n.paused {
		return
	}
	n.paused, n.resumedAt = false, w.now
	w.touch(n)
	var late []happening
	w.inbox = slices.DeleteFunc(w.inbox, func(x waiting) bool {
		if x.node == n.id {
			late = append(late, x.event)
		}
		return x.node == n.id
	})
	// Timers come before what the network has kept: nobody promises otherwise.
	slices.SortStableFunc(late, func(a, b happening) int {
		return boolInt(a.kind == deliver) - boolInt(b.kind == deliver)
	})
	for _, e := range late {
		w.push(0, e)
	}
	w.relink(n)
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}
