package simulate

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/orchestrate"
)

// The laws.
const (
	lawOnce    = "never two active instances of a failover object among nodes that share a quorum"
	lawFence   = "nothing starts before a required fence"
	lawFrozen  = "frozen means no automatic action"
	lawStopped = "an operator's stop is never undone"
	lawOneGoal = "at most one orchestration per object"
	lawSettles = "a world settles"
)

// Violation is a law that was broken.
type Violation struct {
	At   time.Duration
	Law  string
	Text string
}

// String names the law, and what broke it.
func (v Violation) String() string {
	return fmt.Sprintf("%s: %s: %s", v.At, v.Law, v.Text)
}

// laws is what the laws remember.
type laws struct {
	violations []Violation
	asked      map[string]int // goals accepted, by id: the object
	over       map[string]bool
	stopped    map[int]map[int]bool // objects stopped on request, and not started on request since, by the nodes that heard of it
	stopID     map[int]string       // the orchestration that stopped them
	off        map[int]bool         // nodes that were fenced, or said to be off
	offAt      map[int]time.Duration
	byHand     map[int]bool // objects somebody started by hand, past the orchestrator
}

// Violations are the laws that were broken so far.
func (w *World) Violations() []Violation { return w.laws.violations }

func (w *World) violate(law string, n *node, obj int, format string, a ...any) {
	text := fmt.Sprintf(format, a...)
	if n != nil {
		text = n.name + ": " + text
	}
	if obj >= 0 {
		text = w.objects[obj].path.String() + ": " + text
	}
	for _, v := range w.laws.violations {
		if v.Law == law && v.Text == text {
			return
		}
	}
	w.laws.violations = append(w.laws.violations, Violation{w.now, law, text})
	w.halted = w.halted || w.o.Strict
	w.say(n, obj, "VIOLATION %s: %s", law, text)
}

// judge looks at a decision, before it is done.
func (w *World) judge(n *node, obj int, world orchestrate.World, d orchestrate.Decision) {
	a := d.Action
	if a.Verb == "" {
		return
	}
	asked := d.Monitor.GlobalExpect != orchestrate.None || d.Job != nil && d.Job.OrchestrationID != ""
	m := n.disk[obj]
	if !asked && acts(a.Verb) && len(world.Local.Memory.Eviction.Pending) == 0 && (!n.frozenAt.IsZero() || !m.frozenAt.IsZero()) {
		w.violate(lawFrozen, n, obj, "%s of a frozen instance", a)
	}
	if why := w.stoppedFor(n, obj); !asked && a.Verb == orchestrate.Start && why != "" {
		w.violate(lawStopped, n, obj, "%s, but %s", a, why)
	}
	if victim := w.unfenced(n, obj); victim != "" && a.Verb == orchestrate.Start && len(a.RID) == 0 {
		w.violate(lawFence, n, obj, "%s, but %s was lost while it ran it, and was not fenced", a, victim)
	}
}

// unfenced is a node that must be fenced before an object is started on another.
func (w *World) unfenced(n *node, obj int) string {
	c := n.disk[obj].config
	if !c.Stonith || c.StonithBestEffort || c.Topology == cluster.TopologyFlex {
		return ""
	}
	for i := range n.peers {
		p := &n.peers[i]
		v := w.nodes[p.id]
		if v.fences && !p.beating && slices.Contains(p.lost, obj) && !(w.laws.off[p.id] && w.laws.offAt[p.id] >= p.lastIn) {
			return v.name
		}
	}
	return ""
}

// knownOff notes that a node was fenced, or that an operator said so.
func (l *laws) knownOff(id int, at time.Duration) {
	off, offAt := map[int]bool{id: true}, map[int]time.Duration{id: at}
	for k, v := range l.off { // they are replaced, never changed
		if k != id {
			off[k], offAt[k] = v, l.offAt[k]
		}
	}
	l.off, l.offAt = off, offAt
}

// stoppedFor says why a node must know that an object was stopped on purpose.
func (w *World) stoppedFor(n *node, obj int) string {
	if !n.disk[obj].stoppedAt.IsZero() {
		return "it was stopped on purpose here"
	}
	if w.laws.stopped[obj][n.id] && w.laws.over[w.laws.stopID[obj]] {
		return "the stop was heard here"
	}
	if !w.laws.over[w.laws.stopID[obj]] {
		return "" // it was given up, or its node died before it was done
	}
	if o := n.view.Objects[w.objects[obj].path]; o != nil {
		for _, name := range slices.Sorted(keys(o.Instances)) {
			if s := o.Instances[name].Status; s != nil && !s.StoppedAt.IsZero() {
				return name + " tells that it was stopped on purpose"
			}
		}
	}
	return ""
}

// acts reports whether a verb starts or stops something.
func acts(v orchestrate.Verb) bool {
	return slices.Contains([]orchestrate.Verb{
		orchestrate.Start, orchestrate.StartStandby, orchestrate.Stop, orchestrate.Shutdown, orchestrate.Provision, orchestrate.Unprovision,
	}, v)
}

// begun looks at an action that begins.
func (l *laws) begun(w *World, n *node, obj int, a orchestrate.Action) {
	m := n.disk[obj]
	if a.Verb != orchestrate.Start && !(a.Verb == orchestrate.Provision && a.Leader) || m.config.Topology == cluster.TopologyFlex || l.byHand[obj] {
		return
	}
	for _, id := range w.objects[obj].scope {
		other := w.nodes[id]
		if other == n || !other.disk[obj].active() || !w.share(n, other) {
			continue
		}
		w.violate(lawOnce, n, obj, "%s while it is active on %s", a, other.name)
	}
}

// share reports whether two nodes are to be of one mind about who runs an object:
// both have a daemon that can act, and they hear each other, or the cluster keeps
// a quorum that only one of them may have.
func (w *World) share(a, b *node) bool {
	if !a.daemon || !b.daemon || a.paused || b.paused {
		return false
	}
	for _, n := range []*node{a, b} { // one that wakes up is given the time to notice
		if n.resumedAt > 0 && w.now < n.resumedAt+n.config.ReadyPeriod {
			return false
		}
	}
	if !w.cut(a.id, b.id) && !w.cut(b.id, a.id) {
		return w.settledPair(a, b)
	}
	if !w.site.quorum || !a.frozenAt.IsZero() || !b.frozenAt.IsZero() ||
		a.config.SplitAction == "disabled" || b.config.SplitAction == "disabled" {
		return false
	}
	for _, arb := range w.site.arbitrators { // a plain one in sight of both counts for both, as documented
		if !arb.exclusive && !w.votes[arb.name][a.id] && !w.votes[arb.name][b.id] {
			return false
		}
	}
	return true
}

// settledPair reports whether two nodes hear each other: not so for a while after
// a heal.
func (w *World) settledPair(a, b *node) bool {
	p, q := a.peer(b.id), b.peer(a.id)
	return p != nil && q != nil && p.beating && q.beating
}

func (l *laws) ended(id string) {
	if id == "" {
		return
	}
	if l.over == nil {
		l.over = map[string]bool{}
	}
	l.over[id] = true
}

// small is up to how many objects goals are compared all the time.
const small = 64

// check looks at the world between two events, when no message is on its way.
func (w *World) check() {
	if w.flying == 0 && len(w.objects) <= small {
		w.checkGoals()
	}
}

// checkGoals looks whether the nodes that hear each other agree on one goal.
func (w *World) checkGoals() {
	for obj, d := range w.objects {
		var first *node
		firstID := ""
		for _, id := range d.scope {
			n := w.nodes[id]
			oid := w.goalOf(n, d)
			switch {
			case oid == "":
			case first == nil:
				first, firstID = n, oid
			case oid != firstID && w.agreeing(first, n):
				w.violate(lawOneGoal, nil, obj, "%s on %s, %s on %s", firstID, first.name, oid, n.name)
			}
		}
	}
}

// goalOf is the orchestration a node pursues for an object.
func (w *World) goalOf(n *node, d *definition) string {
	if !n.daemon || n.paused {
		return ""
	}
	o := n.view.Objects[d.path]
	if o == nil || o.Instances[n.name].Monitor == nil {
		return ""
	}
	return o.Instances[n.name].Monitor.OrchestrationID
}

// agreeing reports whether two nodes hear each other, and no cut keeps them from it.
func (w *World) agreeing(a, b *node) bool {
	p, q := a.peer(b.id), b.peer(a.id)
	return p != nil && q != nil && p.ok && q.ok && p.beating && q.beating && !p.deaf() && !q.deaf()
}

// accept takes note of what an operator asked a node for.
func (l *laws) accept(n *node, obj int, id, goal string) {
	if l.asked == nil {
		l.asked, l.stopped, l.stopID = map[string]int{}, map[int]map[int]bool{}, map[int]string{}
	}
	l.asked[id] = obj
	switch goal {
	case orchestrate.Stopped:
		l.stopped[obj], l.stopID[obj] = map[int]bool{n.id: true}, id
	case orchestrate.Frozen, orchestrate.Unfrozen:
	default:
		delete(l.stopped, obj)
		delete(l.stopID, obj)
	}
}

// hears notes that a node has taken a goal.
func (l *laws) hears(n *node, obj int, id string) {
	if id == "" || l.stopID[obj] != id || l.stopped[obj][n.id] {
		return
	}
	nodes := maps.Clone(l.stopped[obj])
	nodes[n.id] = true
	l.stopped[obj] = nodes
}
