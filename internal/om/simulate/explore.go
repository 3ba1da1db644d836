package simulate

import (
	"container/heap"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/orchestrate"
)

// Search tries every order of the events of a small world, breadth first: of
// messages on different links, of the ends of actions, of faults and of what
// operators ask for. Messages are faster than timers, and an action may take any
// time. Messages arrive in the order they were sent, except that MaxDelays times
// those of a link are held back until no other is on its way. States that will do
// the same are tried once.
type Search struct {
	Setup   Setup
	Options Options
	// Faults are lines of a script that may happen at any moment, at most MaxFaults
	// of them; Asks are what operators may do, at most MaxAsks times. Repairs may
	// happen as often as they change something.
	Faults, Asks, Repairs []string
	MaxFaults, MaxAsks    int
	MaxDelays             int
	MaxStates             int
	// Allow are laws that are not looked at, by some of their words.
	Allow []string
}

// Found is a violation, and how to get to it.
type Found struct {
	Violation
	Path []string
}

// String gives the violation and the way to it.
func (f Found) String() string { return f.Violation.String() + "\n\t" + strings.Join(f.Path, "\n\t") }

// Report is what a search gives.
type Report struct {
	States, Depth int
	Complete      bool // no state was left out
	Found         []Found
	Deepest       []string // a longest way that was gone
}

// state is a world to go on from.
type state struct {
	world        *World
	faults, asks int
	delays       int
	parent       *state
	choice       string
	depth        int
}

// lawUp is what a quiet world must be like.
const lawUp = "a healed world converges"

// Explore searches until every state was seen, or MaxStates were, or a law was
// broken.
func (s Search) Explore() (Report, error) {
	s.Options.Trace = nil
	w, err := New(s.Setup, s.Options)
	if err != nil {
		return Report{}, err
	}
	w.Boot()
	w.Run(warmUp)
	if v := w.Violations(); len(v) > 0 {
		return Report{Found: []Found{{Violation: v[0]}}}, nil
	}
	r := Report{}
	seen := map[stateKey]bool{}
	queue := []*state{{world: w}}
	for len(queue) > 0 && len(r.Found) == 0 {
		st := queue[0]
		queue[0] = nil
		queue = queue[1:]
		if st.depth > r.Depth {
			r.Depth, r.Deepest = st.depth, st.path()
		}
		next, err := s.expand(st)
		if err != nil {
			return r, err
		}
		st.world = nil
		for _, n := range next {
			if v, bad := s.broken(n.world); bad {
				r.Found = append(r.Found, Found{v, n.path()})
				break
			}
			key := n.key()
			if seen[key] {
				continue
			}
			seen[key] = true
			r.States++
			if r.States >= s.MaxStates {
				return r, nil
			}
			queue = append(queue, n)
		}
	}
	r.Complete = len(r.Found) == 0
	return r, nil
}

// broken is a law that was broken, and that is looked at.
func (s Search) broken(w *World) (Violation, bool) {
	for _, v := range w.Violations() {
		if !slices.ContainsFunc(s.Allow, func(a string) bool { return strings.Contains(v.Law, a) }) {
			return v, true
		}
	}
	return Violation{}, false
}

func (st *state) key() stateKey {
	return stateKey{world: st.world.Fingerprint(), faults: st.faults, asks: st.asks, delays: st.delays}
}

// stateKey identifies a state: two with the same go on in the same ways.
type stateKey struct {
	world                [16]byte
	faults, asks, delays int
}

func (st *state) path() []string {
	var path []string
	for s := st; s.parent != nil; s = s.parent {
		path = append(path, s.choice)
	}
	slices.Reverse(path)
	return path
}

// expand returns the states one choice away.
func (s Search) expand(st *state) ([]*state, error) {
	var next []*state
	choices := st.world.choices()
	for _, seq := range choices {
		w := st.world.Clone()
		label := w.choose(seq)
		if label != "" {
			next = append(next, &state{w, st.faults, st.asks, st.delays, st, label, st.depth + 1})
		}
	}
	if link, ok := st.world.firstLink(); ok && st.delays < s.MaxDelays {
		w := st.world.Clone()
		w.held = append(w.held, link)
		label := "hold " + w.nodes[link.from].name + " -> " + w.nodes[link.to].name
		next = append(next, &state{w, st.faults, st.asks, st.delays + 1, st, label, st.depth + 1})
	}
	if len(next) == 0 {
		if v, bad := st.world.stuck(); bad {
			st.world.laws.violations = append(st.world.laws.violations, v)
			return []*state{{world: st.world, parent: st.parent, choice: st.choice, depth: st.depth}}, nil
		}
	}
	before := st.world.Fingerprint()
	try := func(lines []string, faults, asks int) error {
		for _, line := range lines {
			w := st.world.Clone()
			do, err := w.parse(line)
			if err != nil {
				return err
			}
			w.now += time.Millisecond
			if do() != nil {
				continue // refused
			}
			w.settle()
			w.eager()
			if w.Fingerprint() != before {
				next = append(next, &state{w, faults, asks, st.delays, st, "> " + line, st.depth + 1})
			}
		}
		return nil
	}
	if st.faults < s.MaxFaults {
		if err := try(s.Faults, st.faults+1, st.asks); err != nil {
			return nil, err
		}
	}
	if st.asks < s.MaxAsks {
		if err := try(s.Asks, st.faults, st.asks+1); err != nil {
			return nil, err
		}
	}
	return next, try(s.Repairs, st.faults, st.asks)
}

// spread is how far apart nodes may notice the same silence.
const spread = 5 * time.Second

// choices are the events that may be the next one.
func (w *World) choices() []uint64 {
	var seqs []uint64
	var later []happening
	for _, e := range w.events {
		switch {
		case w.stale(e), e.kind == deliver:
		case e.kind == jobEnd, e.kind == fenced, e.kind == ballot:
			seqs = append(seqs, e.seq)
		default:
			later = append(later, e)
		}
	}
	if m, ok := w.firstMessage(); ok {
		return append(seqs, m.seq)
	}
	if len(later) == 0 {
		return seqs
	}
	soonest := func(a, b happening) int { return int(a.at - b.at) }
	if i := slices.IndexFunc(later, func(e happening) bool { return e.kind != wakeNode }); i >= 0 {
		later = slices.DeleteFunc(later, func(e happening) bool { return e.kind == wakeNode }) // they are taken on the way
	}
	earliest := slices.MinFunc(later, soonest)
	for _, e := range later {
		if e.seq == earliest.seq || e.kind == silence && earliest.kind == silence && e.at <= earliest.at+spread {
			seqs = append(seqs, e.seq)
		}
	}
	return seqs
}

// firstMessage is the one that arrives next: those of links that are held come
// once no other is on its way.
func (w *World) firstMessage() (first happening, ok bool) {
	for _, held := range []bool{false, true} {
		for _, e := range w.events {
			if e.kind != deliver || w.stale(e) || slices.Contains(w.held, pair{e.peer, e.node}) != held {
				continue
			}
			if !ok || e.at < first.at || e.at == first.at && e.seq < first.seq {
				first, ok = e, true
			}
		}
		if ok {
			return first, true
		}
	}
	return first, false
}

// firstLink is the link of the message that arrives next, if another could come
// before it.
func (w *World) firstLink() (link pair, ok bool) {
	m, ok := w.firstMessage()
	link = pair{m.peer, m.node}
	if !ok || slices.Contains(w.held, link) {
		return link, false
	}
	return link, slices.ContainsFunc(w.events, func(e happening) bool {
		return e.kind == deliver && pair{e.peer, e.node} != link && !w.stale(e)
	})
}

// idleTime is how long nodes look at themselves before nothing is said to happen.
const idleTime = 2 * time.Minute

// choose makes an event the next one, and says which; "" when nothing comes of it.
// The looks that nodes take at themselves every now and then are no events unless
// something comes of them.
func (w *World) choose(seq uint64) string {
	i := slices.IndexFunc(w.events, func(e happening) bool { return e.seq == seq })
	e := w.events[i]
	switch e.kind {
	case deliver, jobEnd, fenced, ballot:
	case beat, silence, wake, wakeNode, look, notice, power, launch, deafness:
		before := w.fingerprint(false)
		for until := w.now + idleTime; ; {
			i := w.earliestTick()
			if i < 0 || e.kind != wakeNode && w.events[i].at >= e.at {
				break
			}
			tick, _ := heap.Remove(&w.events, i).(happening) // no message
			if tick.at > until {
				return ""
			}
			w.happenNow(tick)
			if w.fingerprint(false) != before {
				return w.label(tick)
			}
		}
		if e.kind == wakeNode || w.stale(e) {
			return ""
		}
	}
	w.remove(seq)
	label := w.label(e)
	w.happenNow(e)
	return label
}

func (w *World) earliestTick() int {
	best := -1
	for i, e := range w.events {
		if e.kind == wakeNode && !w.stale(e) && (best < 0 || e.at < w.events[best].at) {
			best = i
		}
	}
	return best
}

// remove takes an event out of the queue.
func (w *World) remove(seq uint64) happening {
	i := slices.IndexFunc(w.events, func(e happening) bool { return e.seq == seq })
	e, _ := heap.Remove(&w.events, i).(happening)
	w.landed(e)
	return e
}

// happenNow makes an event happen out of turn.
func (w *World) happenNow(e happening) {
	if e.kind != deliver && e.kind != beat && e.kind != jobEnd && e.kind != fenced && e.kind != ballot {
		w.now = max(w.now, e.at)
	}
	w.now += time.Millisecond // no two things happen at the same instant
	w.happen(e)
	w.settle()
	w.eager()
}

// eager ends the evaluations: what they find does not depend on when they end,
// as long as nothing else happens meanwhile.
func (w *World) eager() {
	for {
		i := slices.IndexFunc(w.events, func(e happening) bool {
			return (e.kind == look || e.kind == beat || w.bare(e)) && !w.nodes[e.node].paused
		})
		if i < 0 {
			break
		}
		e, _ := heap.Remove(&w.events, i).(happening)
		w.landed(e)
		w.happen(e)
		w.settle()
	}
	w.events = slices.DeleteFunc(w.events, func(e happening) bool {
		if w.stale(e) {
			w.landed(e)
			return true
		}
		return false
	})
	if !slices.ContainsFunc(w.events, func(e happening) bool { return e.kind == deliver }) {
		w.held = nil
	}
	heap.Init(&w.events)
}

// bare reports whether a message only says how far a peer is known, and is the
// next one of its link.
func (w *World) bare(e happening) bool {
	if e.kind != deliver || len(e.msg.entries) > 0 || e.msg.leaving {
		return false
	}
	return !slices.ContainsFunc(w.events, func(x happening) bool {
		return x.kind == deliver && x.node == e.node && x.peer == e.peer && x.seq < e.seq
	})
}

func (w *World) label(e happening) string {
	n := w.nodes[e.node].name
	names := [...]string{"message", "beat", "silence", "timer", "timer of the node", "end", "evaluation", "notice", "power", "launch", "ballot", "end of the fence", "deafness"}
	switch e.kind {
	case deliver, beat, silence, deafness:
		var text strings.Builder
		fmt.Fprintf(&text, "%s from %s to %s", names[e.kind], w.nodes[e.peer].name, n)
		if e.msg != nil {
			for _, x := range e.msg.entries {
				if m := x.instance.Monitor; x.part == partMonitor && m != nil {
					fmt.Fprintf(&text, " (%s %s %s)", w.objects[x.obj].path, m.State, m.GlobalExpect)
				}
			}
		}
		return text.String()
	case wake, look, notice:
		return fmt.Sprintf("%s of %s on %s", names[e.kind], w.objects[e.obj].path, n)
	case wakeNode, power, launch, ballot, fenced:
	case jobEnd:
		return fmt.Sprintf("end of %s of %s on %s", w.nodes[e.node].disk[e.obj].process.action, w.objects[e.obj].path, n)
	}
	return names[e.kind] + " on " + n
}

// stuck looks at a world in which nothing is going to happen any more: when every
// node is well, ha objects must be up as often as they are to be.
func (w *World) stuck() (Violation, bool) {
	if len(w.cuts) > 0 {
		for _, mask := range w.cuts {
			if mask != 0 {
				return Violation{}, false
			}
		}
	}
	for _, n := range w.nodes {
		if !n.daemon || n.paused || !n.frozenAt.IsZero() {
			return Violation{}, false
		}
	}
	for obj, d := range w.objects {
		if text, bad := w.amiss(obj, d); bad {
			return Violation{w.now, lawUp, d.path.String() + ": " + text}, true
		}
	}
	return Violation{}, false
}

// amiss tells what is wrong with an object that should be at rest.
func (w *World) amiss(obj int, d *definition) (string, bool) {
	up, free := 0, 0
	var c *cluster.InstanceConfig
	for _, id := range d.scope {
		n := w.nodes[id]
		m := n.disk[obj]
		if m.absent {
			continue
		}
		c = m.config
		if !n.daemon {
			continue
		}
		mon := n.view.Objects[d.path].Instances[n.name].Monitor
		if mon == nil {
			return n.name + " has no monitor", true
		}
		if mon.OrchestrationID != "" {
			switch mon.State {
			case orchestrate.StateWaitParents, orchestrate.StateWaitChildren:
				return "", false // as long as it takes
			}
			if orchestrate.IsActing(mon.State) {
				return "", false // something hangs on purpose
			}
			return fmt.Sprintf("%s still pursues %s, in state %s", n.name, mon.GlobalExpect, mon.State), true
		}
		if m.active() {
			up++
		}
		if n.frozenAt.IsZero() && m.frozenAt.IsZero() && m.stoppedAt.IsZero() && !orchestrate.IsFailure(mon.State) && m.provisioned != cluster.ProvisionedFalse {
			free++
		}
	}
	if c == nil || c.Orchestrate != cluster.OrchestrateHA || c.Disabled || len(w.laws.stopped[obj]) > 0 {
		return "", false
	}
	for _, r := range orchestrate.Relations(c, d.path) {
		if r.Role != orchestrate.SoftAffinity && r.Role != orchestrate.SoftAntiAffinity {
			return "", false // it may have to wait
		}
	}
	wanted := 1
	if c.Flex != nil {
		wanted = c.Flex.Target
	}
	if up < min(wanted, free) {
		return fmt.Sprintf("up %d times, wanted %d, and %d nodes could", up, wanted, free), true
	}
	return "", false
}
