// Package simulate runs a whole cluster in one goroutine, in virtual time: nodes
// that crash, pause and lose sight of each other, instances that are slow or
// fail, operators that ask for things. What the nodes decide is decided by
// package orchestrate, as in the daemon: each on what it was told, late.
//
//	Setup --> World --events--> nodes decide --> actions, messages --> events ...
//
// The same seed gives the same run. A [Scenario] scripts what happens and gives
// a transcript; [Explore] tries every order of events of a small world. The laws
// of laws.go are checked while a world runs, whatever drives it.
//
// The world abstracts drivers and transports: a start is a delay and an effect, a
// message is a delay and what changed.
package simulate

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/config"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/orchestrate"
)

// Options change how a world behaves. The zero value is a quiet network.
type Options struct {
	Seed uint64
	// Delay is how long a message travels, 10 ms when zero; Jitter is added to it
	// at random.
	Delay, Jitter time.Duration
	// Loss is the part of the messages that are lost.
	Loss float64
	// Decide replaces the deciders: a law is worth something when it catches a
	// wrong one. Nil: the real ones.
	Decide     func(orchestrate.World) orchestrate.Decision
	DecideNode func(orchestrate.NodeWorld) orchestrate.NodeDecision
	// Trace is told what happens. Nil: nobody is.
	Trace func(Line)
	// Strict: nothing more happens once a law is broken.
	Strict bool
	// Gullible has the exclusive arbitrators give their vote to all who ask: a world
	// that does not keep what it promises.
	Gullible bool
}

// Line is something that happened.
type Line struct {
	At     time.Duration
	Node   string // empty: it is no matter of one node
	Object string // empty: it is no matter of an object
	Text   string
}

// World is a cluster at an instant.
type World struct {
	o    Options
	site *site
	now  time.Duration
	seq  uint64
	queue
	random  rand.PCG
	nodes   []*node
	objects []*definition
	paths   map[object.Path]int
	index   map[string]int  // nodes by name
	cuts    map[pair]uint32 // heartbeats that are cut, a bit each
	delays  map[pair]time.Duration
	losses  map[pair]float64
	votes   map[string]map[int]bool // arbitrators by the nodes that do not reach them
	leases  map[string]orchestrate.Lease
	goals   int       // orchestrations accepted
	inbox   []waiting // for nodes that are paused
	laws    laws

	commands []command // of scripts
	held     []pair    // links whose messages come last, in a search
	halted   bool      // it does not settle: nothing more happens
	flying   int       // messages on their way
	steps    int
	still    int // events of this instant
	sent     int
	decided  int
}

// pair is a direction: from a node to another.
type pair struct{ from, to int }

// waiting is an event for a node that is paused.
type waiting struct {
	node  int
	event happening
}

// definition is an object, wherever it is.
type definition struct {
	path  object.Path
	scope []int // nodes that have an instance, at first
	wide  []int // and those whose decisions depend on it
	// dependents are the objects that have this one for a parent or a child.
	dependents []int
}

// epoch is what clocks show when a world begins.
func epoch() time.Time { return time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC) }

// full is the number of nodes up to which every node hears of everything. In
// larger clusters a node only hears of what its decisions depend on, which gives
// the same decisions.
const full = 64

// New returns a world in which every node is off.
func New(s Setup, o Options) (*World, error) {
	site, err := readSite(s.Cluster)
	if err != nil {
		return nil, err
	}
	if o.Delay == 0 {
		o.Delay = 10 * time.Millisecond
	}
	if o.Decide == nil {
		o.Decide = orchestrate.Decide
	}
	if o.DecideNode == nil {
		o.DecideNode = orchestrate.DecideNode
	}
	w := &World{
		o: o, site: &site, random: *rand.NewPCG(o.Seed, 1), paths: map[object.Path]int{}, index: map[string]int{},
		cuts: map[pair]uint32{}, delays: map[pair]time.Duration{}, losses: map[pair]float64{}, votes: map[string]map[int]bool{},
		leases: map[string]orchestrate.Lease{}, commands: commands(),
	}
	var c cluster.NodeConfig
	for i, name := range site.names {
		if i == 0 || scoped(s.Cluster) {
			if c, err = site.nodeConfig(s.Cluster, name); err != nil {
				return nil, err
			}
		}
		w.index[name] = i
		w.nodes = append(w.nodes, &node{id: i, name: name, config: c, disk: map[int]*machine{}, fences: site.fences[name]})
	}
	for i, o := range s.Objects {
		w.paths[o.Path] = i
		w.objects = append(w.objects, &definition{path: o.Path})
		if err := w.install(i, o); err != nil {
			return nil, err
		}
	}
	w.widen()
	return w, nil
}

// install lays an object down on the disks of its nodes.
func (w *World) install(obj int, o Object) error {
	d := w.objects[obj]
	first, resources, err := w.site.instanceConfig(o, w.site.names[0], epoch().Add(-time.Hour))
	if err != nil {
		return err
	}
	for _, name := range first.Scope {
		n := w.node(name)
		if n == nil {
			return fmt.Errorf("%s: nodes: %q is none of the cluster: its nodes are %v", o.Path, name, w.site.names)
		}
		d.scope = append(d.scope, n.id)
	}
	for _, id := range d.scope {
		n := w.nodes[id]
		var c *cluster.InstanceConfig
		if scoped(o.Doc) || o.Doc.Mentions(config.DefaultSection, "drpnodes") {
			if c, resources, err = w.site.instanceConfig(o, n.name, epoch().Add(-time.Hour)); err != nil {
				return err
			}
		} else {
			copied := *first
			copied.Nodename = n.name
			c = &copied
		}
		n.disk[obj] = newMachine(o, c, resources)
	}
	return nil
}

// widen finds who must hear of what.
func (w *World) widen() {
	for _, d := range w.objects {
		d.wide = slices.Clone(d.scope)
	}
	for obj, d := range w.objects {
		if len(d.scope) == 0 {
			continue
		}
		c := w.nodes[d.scope[0]].disk[obj].config
		for _, r := range orchestrate.Relations(c, d.path) {
			if to, ok := w.paths[r.Path]; ok {
				w.objects[to].wide = append(w.objects[to].wide, d.scope...)
				w.objects[to].dependents = append(w.objects[to].dependents, obj)
			}
		}
	}
	near := make([]map[int]bool, len(w.nodes))
	for i := range near {
		near[i] = map[int]bool{}
	}
	for _, d := range w.objects {
		slices.Sort(d.wide)
		d.wide = slices.Compact(d.wide)
		for _, a := range d.wide {
			for _, b := range d.wide {
				near[a][b] = true
			}
		}
	}
	for i, n := range w.nodes {
		n.slot = map[int]int{}
		for j := range w.nodes {
			if j != i && (len(w.nodes) <= full || near[i][j]) {
				n.slot[j] = len(n.near)
				n.near = append(n.near, j)
			}
		}
		n.peers = make([]peer, len(n.near))
		for k, j := range n.near {
			n.peers[k].id = j
		}
	}
}

// Now is how long the world has lasted.
func (w *World) Now() time.Duration { return w.now }

// Boot switches every node on, at once.
func (w *World) Boot() {
	for _, n := range w.nodes {
		w.powerOn(n)
	}
	w.settle()
}

// Run lets time pass. What is due at its end is done.
func (w *World) Run(d time.Duration) {
	until := w.now + d
	for {
		at, ok := w.due()
		if !ok || at > until || w.halted {
			break
		}
		w.step()
	}
	w.now = until
}

// step makes the next event happen.
func (w *World) step() {
	e := w.pop()
	if e.at > w.now {
		w.now, w.still = e.at, 0
	}
	w.steps++
	if w.still++; w.still > 1000*len(w.nodes)+50000 {
		w.violate(lawSettles, w.nodes[e.node], -1, "time stands still: something happens again and again at this instant")
		w.halted = true
	}
	w.happen(e)
	w.settle()
}

// happen makes an event happen, unless its node is paused: then it waits.
func (w *World) happen(e happening) {
	if n := w.nodes[e.node]; n.paused && !e.kind.outside() {
		w.inbox = append(w.inbox, waiting{e.node, e})
		return
	}
	switch e.kind {
	case deliver:
		w.deliver(e)
	case beat:
		w.beat(e)
	case silence:
		w.silence(e)
	case wake:
		w.ring(e)
	case wakeNode:
		w.ringNode(e)
	case jobEnd:
		w.jobEnd(e)
	case look:
		w.evaluated(e)
	case notice:
		w.notice(e)
	case power:
		if n := w.nodes[e.node]; !n.power {
			w.powerOn(n)
		}
	case launch:
		w.launch(e)
	case ballot:
		w.answered(e)
	case fenced:
		w.fenceEnds(e)
	case deafness:
		w.deafened(e)
	}
}

// settle has every node decide until nothing is left to decide, and sends what
// they have to tell.
func (w *World) settle() {
	for again := true; again; {
		again = false
		for _, n := range w.touched() {
			again = true
			w.decide(n)
		}
	}
	w.check()
}

// touched are the nodes that have something to look at, or to tell.
func (w *World) touched() []*node {
	var found []*node
	for _, i := range w.touchedIDs {
		n := w.nodes[i]
		n.listed = false
		found = append(found, n)
	}
	w.touchedIDs = w.touchedIDs[:0]
	slices.SortFunc(found, func(a, b *node) int { return a.id - b.id })
	return found
}

func (w *World) touch(n *node) {
	if !n.listed {
		n.listed = true
		w.touchedIDs = append(w.touchedIDs, n.id)
	}
}

// say tells the tracer.
func (w *World) say(n *node, obj int, format string, a ...any) {
	if w.o.Trace == nil {
		return
	}
	l := Line{At: w.now, Text: fmt.Sprintf(format, a...)}
	if n != nil {
		l.Node = n.name
	}
	if obj >= 0 {
		l.Object = w.objects[obj].path.String()
	}
	w.o.Trace(l)
}

// chance is true once in a while.
func (w *World) chance(p float64) bool {
	return p > 0 && float64(w.random.Uint64()>>11)/(1<<53) < p
}

// upTo is a random duration.
func (w *World) upTo(d time.Duration) time.Duration {
	if d <= 0 {
		return 0
	}
	return time.Duration(rand.New(&w.random).Int64N(int64(d)))
}

// node finds a node by its name.
func (w *World) node(name string) *node {
	if i, ok := w.index[name]; ok {
		return w.nodes[i]
	}
	return nil
}

// Do does a line of a script. The error is that of the line, or what the world
// answers to it.
func (w *World) Do(line string) error {
	do, err := w.parse(line)
	if err != nil {
		return err
	}
	err = do()
	w.settle()
	return err
}

// Amiss tells what is not as it should be in a world that was left alone for long
// enough, every node and link being well: objects that are not up, goals that have
// not ended, nodes that do not agree about a goal.
func (w *World) Amiss() []string {
	var all []string
	for obj, d := range w.objects {
		if text, bad := w.amiss(obj, d); bad {
			all = append(all, d.path.String()+": "+text)
		}
	}
	return all
}

// Sent counts the messages sent so far, Decided the decisions taken, and Events
// what happened.
func (w *World) Sent() int { return w.sent }

// Decided counts the decisions taken so far.
func (w *World) Decided() int { return w.decided }

// Events counts what happened so far.
func (w *World) Events() int { return w.steps }

// Crash takes the power from a node; false when there is no such node.
func (w *World) Crash(name string) bool {
	n := w.node(name)
	if n == nil {
		return false
	}
	w.crash(n)
	w.settle()
	return true
}

// Running counts, for each object, the nodes it really runs on.
func (w *World) Running() []int {
	counts := make([]int, len(w.objects))
	for obj, d := range w.objects {
		for _, id := range d.scope {
			if w.nodes[id].power && w.nodes[id].disk[obj].active() {
				counts[obj]++
			}
		}
	}
	return counts
}
