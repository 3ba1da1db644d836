package simulate

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/orchestrate"
)

// How long things take when nobody says otherwise.
const (
	actionTakes   = 100 * time.Millisecond
	evaluateTakes = 20 * time.Millisecond
	noticeTakes   = time.Second      // until a resource that died is seen
	bootTakes     = 30 * time.Second // of a node
	launchTakes   = 200 * time.Millisecond
)

// node is a member of the cluster: a machine, its disk, and the daemon on it.
type node struct {
	id     int
	name   string
	config cluster.NodeConfig
	fences bool  // there is a command that fences it
	near   []int // the nodes it hears of, and that hear of it
	slot   map[int]int

	power     bool
	paused    bool
	resumedAt time.Duration // after a pause; 0: it was never paused
	boots     int
	skew      time.Duration // of its clock

	disk     map[int]*machine
	frozenAt time.Time
	leftAt   time.Time // when a daemon was last alive
	heard    []string  // the peers it heard then
	heardIn  int       // the boot it was of
	fencing  manner

	daemon          bool
	life            int // counts daemons
	view            *cluster.View
	peers           []peer // as near
	local           map[int]*watched
	dirty           []int
	stirred, listed bool // something may change the node decision; in the list of those touched
	unsent          []entryKey
	gen             int // of the last message
	own             nodeMind

	running int // children
	pending []job
}

// watched is what the daemon keeps of an instance from one decision to the next.
type watched struct {
	job        *orchestrate.Job
	memory     orchestrate.Memory
	lock       string
	evaluating int
	told       int // the message that told the monitor
	wakeAt     time.Time
	wakes      int
	because    []orchestrate.Reason
}

// job is an action that waits for a slot.
type job struct {
	obj, gen int
	priority int
}

func (w *World) clock(n *node) time.Time { return epoch().Add(w.now + n.skew) }

// powerOn boots a node, and starts its daemon.
func (w *World) powerOn(n *node) {
	n.power, n.paused = true, false
	n.boots++
	w.say(n, -1, "boots")
	w.start(n)
}

func (n *node) bootID() string { return fmt.Sprintf("boot%d", n.boots) }

// start starts the daemon.
func (w *World) start(n *node) {
	if n.daemon || !n.power {
		return
	}
	n.daemon = true
	n.life++
	n.local, n.dirty, n.unsent, n.running, n.pending = map[int]*watched{}, nil, nil, 0, nil
	n.view = &cluster.View{Nodes: map[string]*cluster.Node{}, Objects: map[object.Path]*cluster.Object{}, Peers: map[string]cluster.Peer{}}
	n.view.Config = w.configOf(n)
	for i := range n.peers {
		p := &n.peers[i]
		*p = peer{id: p.id, ok: p.ok, cuts: p.cuts, last: p.last}
		n.view.Nodes[w.nodes[p.id].name] = &cluster.Node{}
		n.view.Peers[w.nodes[p.id].name] = cluster.Peer{}
	}
	n.view.Nodes[n.name] = &cluster.Node{Config: n.config, Status: cluster.NodeStatus{FrozenAt: n.frozenAt}}
	w.beginMind(n)
	w.told(n, entryKey{part: partNode})
	for _, obj := range slices.Sorted(maps.Keys(n.disk)) {
		m := n.disk[obj]
		if m.absent {
			continue
		}
		w.publish(n, obj, func(i *cluster.Instance) { i.Config = m.config })
		w.told(n, entryKey{partConfig, obj})
		w.evaluate(n, obj, n.watch(obj))
	}
	w.relink(n)
	for i := range n.peers { // what the others have is sent at once: they notice a new life
		p := &n.peers[i]
		if p.ok {
			w.push(w.o.Delay, happening{kind: beat, node: n.id, peer: p.id, gen: p.cuts})
		}
		other := w.nodes[p.id]
		if back := other.peer(n.id); back != nil && back.ok && other.daemon {
			w.push(w.o.Delay, happening{kind: beat, node: other.id, peer: n.id, gen: back.cuts})
		}
	}
	n.stirred = true
	w.touch(n)
}

// configOf is the configuration of the cluster. In a large one a node only counts
// those it hears of.
func (w *World) configOf(n *node) cluster.Config {
	c := cluster.Config{Nodes: w.site.names, Quorum: w.site.quorum}
	if len(w.nodes) > full {
		c.Nodes = []string{n.name}
		for _, id := range n.near {
			c.Nodes = append(c.Nodes, w.nodes[id].name)
		}
	}
	for _, a := range w.site.arbitrators {
		c.Arbitrators = append(c.Arbitrators, cluster.Arbitrator{Name: a.name, Weight: a.weight, Exclusive: a.exclusive})
	}
	return c
}

// stop ends the daemon. What it started goes on.
func (w *World) stop(n *node) {
	if !n.daemon {
		return
	}
	n.daemon = false
	n.leftAt, n.heardIn, n.heard = w.clock(n), n.boots, nil
	for _, id := range n.hears() {
		n.heard = append(n.heard, w.nodes[id].name)
	}
	n.local, n.dirty, n.unsent, n.pending, n.stirred = nil, nil, nil, nil, false
	for obj, m := range n.disk { // what had not begun never will
		if m.process != nil && m.process.life == n.life && m.process.gen > m.jobs {
			n.disk[obj].process = nil
		}
	}
	w.relink(n)
}

// crash is the end of everything on a node but its disk.
func (w *World) crash(n *node) {
	if !n.power {
		return
	}
	w.say(n, -1, "is down")
	n.power, n.paused = false, false
	w.stop(n)
	for _, m := range n.disk {
		m.fall()
	}
	w.inbox = slices.DeleteFunc(w.inbox, func(x waiting) bool { return x.node == n.id })
	w.relink(n)
}

func (n *node) watch(obj int) *watched {
	l := n.local[obj]
	if l == nil {
		l = &watched{}
		n.local[obj] = l
	}
	return l
}

func (n *node) peer(id int) *peer {
	if i, ok := n.slot[id]; ok {
		return &n.peers[i]
	}
	return nil
}

// publish changes what a node knows of its instance, or of that of a peer.
func (w *World) publish(n *node, obj int, change func(*cluster.Instance)) {
	w.publishOf(n, n.name, obj, change)
}

func (w *World) publishOf(n *node, of string, obj int, change func(*cluster.Instance)) {
	p := w.objects[obj].path
	old := n.view.Objects[p]
	instances := map[string]cluster.Instance{}
	if old != nil {
		maps.Copy(instances, old.Instances)
	}
	i := instances[of]
	change(&i)
	if i == (cluster.Instance{}) {
		delete(instances, of)
	} else {
		instances[of] = i
	}
	if len(instances) == 0 {
		delete(n.view.Objects, p)
	} else {
		o := cluster.Aggregate(p, instances)
		n.view.Objects[p] = &o
	}
	w.dirtied(n, obj)
}

// dirtied has a node look at an instance of its own, and at those that depend on it.
func (w *World) dirtied(n *node, obj int) {
	mark := func(obj int) {
		if n.disk[obj] != nil && !slices.Contains(n.dirty, obj) {
			n.dirty = append(n.dirty, obj)
		}
	}
	mark(obj)
	for _, other := range w.objects[obj].dependents {
		mark(other)
	}
	w.touch(n)
}

// decide has a node look at what changed, until nothing does.
func (w *World) decide(n *node) {
	if !n.daemon || n.paused {
		return
	}
	for round := 0; n.stirred || len(n.dirty) > 0; round++ {
		if round > 200 {
			w.violate(lawSettles, n, -1, "still deciding after 200 rounds")
			n.dirty, n.stirred = nil, false
			w.halted = true
			break
		}
		if n.own.due > 0 && w.now >= n.own.due {
			n.stirred = true // nothing is decided before the node knows what time it is
		}
		if n.stirred {
			n.stirred = false
			w.mind(n)
			if !n.daemon {
				return
			}
		}
		todo := n.dirty
		n.dirty = nil
		slices.Sort(todo)
		for _, obj := range todo {
			w.lookAt(n, obj)
			if !n.daemon {
				return
			}
		}
	}
	w.flush(n)
}

// lookAt decides about an instance and applies the decision.
func (w *World) lookAt(n *node, obj int) {
	m := n.disk[obj]
	if m == nil || m.absent {
		return
	}
	l := n.watch(obj)
	world := w.worldOf(n, obj)
	if world.Local.Lock == "" && l.lock != "" {
		l.lock = ""
		w.evaluate(n, obj, l)
		world.Local.Evaluating = true
	}
	l.lock = world.Local.Lock
	d := w.o.Decide(world)
	w.decided++
	w.apply(n, obj, l, world, d)
}

// worldOf is what the node knows about an object.
func (w *World) worldOf(n *node, obj int) orchestrate.World {
	m, l := n.disk[obj], n.watch(obj)
	local := orchestrate.Local{
		Evaluating: l.evaluating > 0, Job: l.job, Memory: l.memory, BootID: n.bootID(), LastBootID: m.boot, LeftAt: n.leftAt,
	}
	if p := m.process; p != nil && (l.job == nil || l.job.State != orchestrate.JobRunning) {
		local.Lock = string(p.action.Verb)
	}
	return orchestrate.Observe(n.view, n.name, w.objects[obj].path, orchestrate.Facts{
		Now: w.clock(n), Local: local, Rejoin: n.view.Nodes[n.name].Monitor.State == orchestrate.StateRejoin,
		NoQuorum: !n.own.quorum, Votes: n.own.tally, Fence: w.fencesOf(n, m),
		Unacked: func(name string) bool { return w.unacked(n, obj, l, name) },
	})
}

func (w *World) fencesOf(n *node, m *machine) map[string]orchestrate.FenceState {
	if !m.config.Stonith || m.config.Topology == cluster.TopologyFlex {
		return nil
	}
	return n.own.fences.Of(m.config.Path, m.config.StonithBestEffort)
}

// unacked reports whether a peer may not know the monitor of an instance.
func (w *World) unacked(n *node, obj int, l *watched, name string) bool {
	other := w.node(name)
	if other == nil {
		return false
	}
	p := n.peer(other.id)
	return p != nil && (l.told > p.acked || slices.Contains(n.unsent, entryKey{partMonitor, obj}))
}

// apply makes a decision true.
func (w *World) apply(n *node, obj int, l *watched, world orchestrate.World, d orchestrate.Decision) {
	var old cluster.InstanceMonitor
	if mon := world.Nodes[n.name].Monitor; mon != nil {
		old = *mon
	}
	jobOver := l.job != nil && d.Job == nil
	l.memory, l.job, l.because = d.Memory, d.Job, d.Because
	if w.setMonitor(n, obj, world.Nodes[n.name].Monitor, d.Monitor) || jobOver {
		w.dirtied(n, obj)
	}
	w.tell(n, obj, old, d)
	w.judge(n, obj, world, d)
	if d.Ended != "" {
		w.laws.ended(old.OrchestrationID)
	}
	if d.Action.Verb != "" {
		w.act(n, obj, l, d)
	}
	if !d.WakeAt.Equal(l.wakeAt) {
		l.wakeAt = d.WakeAt
		l.wakes++
		if !d.WakeAt.IsZero() {
			w.push(d.WakeAt.Sub(w.clock(n)), happening{kind: wake, node: n.id, obj: obj, gen: l.wakes, peer: n.life})
		}
	}
}

// tell writes a decision down.
func (w *World) tell(n *node, obj int, old cluster.InstanceMonitor, d orchestrate.Decision) {
	if w.o.Trace == nil {
		return
	}
	reason := ""
	if k := len(d.Because); k > 0 {
		reason = " because " + d.Because[k-1].ID
	}
	from := cmp.Or(old.State, orchestrate.StateInit)
	if from != d.Monitor.State {
		w.say(n, obj, "%s -> %s%s", from, d.Monitor.State, reason)
	}
	if d.Evict.RID != "" {
		w.say(n, obj, "monitor action %s for %s", strings.Join(d.Evict.Pending, " else "), d.Evict.RID)
	}
	if d.Ended != "" {
		w.say(n, obj, "%s %s%s", old.GlobalExpect, d.Ended, reason)
	}
	if d.Action.Verb != "" {
		w.say(n, obj, "do %s%s", d.Action, reason)
	}
}

func (w *World) setMonitor(n *node, obj int, old *cluster.InstanceMonitor, v cluster.InstanceMonitor) bool {
	if old != nil {
		v.UpdatedAt = old.UpdatedAt
		if reflect.DeepEqual(*old, v) {
			return false
		}
	}
	v.UpdatedAt = w.clock(n)
	w.laws.hears(n, obj, v.OrchestrationID)
	w.publish(n, obj, func(i *cluster.Instance) { i.Monitor = &v })
	w.told(n, entryKey{partMonitor, obj})
	return true
}

// ring is a timer that is due.
func (w *World) ring(e happening) {
	n := w.nodes[e.node]
	if !n.daemon || n.life != e.peer {
		return
	}
	if l := n.local[e.obj]; l != nil && l.wakes == e.gen {
		l.wakeAt = time.Time{}
		w.dirtied(n, e.obj)
	}
}

// evaluate has the status of an instance evaluated.
func (w *World) evaluate(n *node, obj int, l *watched) {
	l.evaluating++
	w.push(evaluateTakes, happening{kind: look, node: n.id, obj: obj, gen: n.life})
}

// evaluated is the end of an evaluation.
func (w *World) evaluated(e happening) {
	n := w.nodes[e.node]
	if !n.daemon || n.life != e.gen {
		return
	}
	l := n.watch(e.obj)
	l.evaluating--
	w.observe(n, e.obj)
	w.dirtied(n, e.obj)
}

// observe publishes the status of an instance as it is.
func (w *World) observe(n *node, obj int) {
	m := n.disk[obj]
	if m == nil || m.absent {
		return
	}
	s := m.status(w.objects[obj].path.Kind, w.clock(n))
	var old *cluster.InstanceStatus
	if o := n.view.Objects[w.objects[obj].path]; o != nil {
		old = o.Instances[n.name].Status
	}
	if old != nil {
		s.UpdatedAt = old.UpdatedAt
		if reflect.DeepEqual(s, old) {
			return
		}
		s.UpdatedAt = w.clock(n)
		if old.Avail != s.Avail {
			w.say(n, obj, "is %s", s.Avail)
		}
	}
	w.publish(n, obj, func(i *cluster.Instance) { i.Status = s })
	w.told(n, entryKey{partStatus, obj})
}

// notice is when something that happened to an instance is seen.
func (w *World) notice(e happening) {
	n := w.nodes[e.node]
	if n.daemon && n.life == e.gen {
		w.evaluate(n, e.obj, n.watch(e.obj))
	}
}
