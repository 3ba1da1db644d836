package simulate

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/config"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/orchestrate"
)

// unmetError is an expectation that is not met.
type unmetError struct{ text string }

func (e *unmetError) Error() string { return e.text }

// command is a word a script may begin a line with.
type command struct {
	word, usage, help string
	parse             func(*World, *words) func() error
}

// words reads the words of a line.
type words struct {
	w     *World
	all   []string
	usage string
	err   error
}

func (s *words) fail(format string, a ...any) {
	if s.err == nil {
		s.err = fmt.Errorf(format+": the usage is `%s`", append(a, s.usage)...)
	}
}

func (s *words) more() bool { return len(s.all) > 0 && s.err == nil }

func (s *words) next(what string) string {
	if len(s.all) == 0 {
		s.fail("%s is missing", what)
		return ""
	}
	word := s.all[0]
	s.all = s.all[1:]
	return word
}

// skip takes a word if it comes next.
func (s *words) skip(word string) bool {
	if len(s.all) > 0 && s.all[0] == word {
		s.all = s.all[1:]
		return true
	}
	return false
}

func (s *words) nodeNamed(word string) *node {
	n := s.w.node(word)
	if n == nil && s.err == nil {
		s.fail("%q is no node: the nodes are %s", word, strings.Join(s.w.site.names, " "))
	}
	if n == nil {
		return s.w.nodes[0]
	}
	return n
}

func (s *words) node() *node { return s.nodeNamed(s.next("a node")) }

// nodes reads the nodes up to the end, all of them when there are none.
func (s *words) nodes() []*node {
	var all []*node
	for s.more() {
		all = append(all, s.node())
	}
	return all
}

func (s *words) object() int {
	word := s.next("an object")
	if s.err != nil {
		return 0
	}
	p, err := object.Parse(word)
	if err != nil {
		s.fail("%v", err)
		return 0
	}
	obj, ok := s.w.paths[p]
	if !ok {
		s.fail("%q is no object: the objects are %s", word, s.w.objectNames())
	}
	return obj
}

func (w *World) objectNames() string {
	var names []string
	for _, d := range w.objects {
		names = append(names, d.path.String())
	}
	return strings.Join(names, " ")
}

func (s *words) duration() time.Duration {
	word := s.next("a duration")
	if s.err != nil {
		return 0
	}
	d, err := time.ParseDuration(word)
	if err != nil || d < 0 {
		s.fail("%q is no duration: write 500ms, 30s or 2m", word)
	}
	return d
}

// on reads `on NODE...`; all the nodes of the object without.
func (s *words) on(obj int) []*node {
	if s.skip("on") {
		return s.nodes()
	}
	var all []*node
	if s.err != nil { // the object too may be one that is not there
		return all
	}
	for _, id := range s.w.objects[obj].scope {
		all = append(all, s.w.nodes[id])
	}
	return all
}

func (s *words) verb() orchestrate.Verb {
	word := s.next("an action")
	verbs := []orchestrate.Verb{
		orchestrate.Start, orchestrate.StartStandby, orchestrate.Stop, orchestrate.Shutdown, orchestrate.Provision, orchestrate.Unprovision,
		orchestrate.Delete, orchestrate.Boot, orchestrate.Freeze, orchestrate.Unfreeze, orchestrate.Hold, orchestrate.Release, orchestrate.Prepare,
		orchestrate.Reboot, orchestrate.Crash, orchestrate.Fence,
	}
	if !slices.Contains(verbs, orchestrate.Verb(word)) {
		s.fail("%q is no action: use start, stop, provision, unprovision, freeze, hold, fence ...", word)
	}
	return orchestrate.Verb(word)
}

// parse reads a line, and returns what does it.
func (w *World) parse(text string) (func() error, error) {
	all := strings.Fields(text)
	commands := w.commands
	i := slices.IndexFunc(commands, func(c command) bool { return c.word == all[0] })
	if i < 0 {
		var known []string
		for _, c := range commands {
			known = append(known, c.word)
		}
		return nil, fmt.Errorf("%q: no such command: use %s", all[0], strings.Join(known, ", "))
	}
	c := commands[i]
	s := &words{w: w, all: all[1:], usage: c.usage}
	do := c.parse(w, s)
	if s.err == nil && len(s.all) > 0 {
		s.fail("%q is one word too many", s.all[0])
	}
	return do, s.err
}

// Help lists the commands of a script: how each is written, and what it does.
func Help() [][2]string {
	var all [][2]string
	for _, c := range commands() {
		all = append(all, [2]string{c.usage, c.help})
	}
	return all
}

func commands() []command {
	return slices.Concat(timeCommands(), nodeCommands(), linkCommands(), askCommands(), instanceCommands(), expectCommands())
}

func timeCommands() []command {
	return []command{
		{"cold", "cold", "first line only: the nodes are off, nothing has happened yet", func(*World, *words) func() error { return func() error { return nil } }},
		{"allow", "allow LAW", "a law that this scenario breaks on purpose, by some of its words", func(_ *World, s *words) func() error {
			s.next("a law")
			s.all = nil
			return func() error { return nil }
		}},
		{"wait", "wait 30s", "let time pass", func(w *World, s *words) func() error {
			d := s.duration()
			return func() error { w.Run(d); return nil }
		}},
	}
}

func nodeCommands() []command {
	each := func(do func(*World, *node)) func(*World, *words) func() error {
		return func(w *World, s *words) func() error {
			nodes := s.nodes()
			if len(nodes) == 0 {
				s.fail("a node is missing")
			}
			return func() error {
				for _, n := range nodes {
					do(w, n)
				}
				return nil
			}
		}
	}
	return []command{
		{"boot", "boot", "switch every node on", func(w *World, _ *words) func() error { return func() error { w.Boot(); return nil } }},
		{"crash", "crash NODE...", "the power goes, and stays away", each(func(w *World, n *node) { w.crash(n) })},
		{"power", "power NODE...", "switch nodes on", each(func(w *World, n *node) {
			if !n.power {
				w.powerOn(n)
			}
		})},
		{"reboot", "reboot NODE...", "the power goes, and the node is back 30 s later", each(func(w *World, n *node) { w.fell(n, true) })},
		{"kill", "kill NODE...", "the daemon is killed; what it had started runs on", each(func(w *World, n *node) {
			if n.daemon {
				w.say(n, -1, "its daemon is killed")
				w.stop(n)
			}
		})},
		{"shutdown", "shutdown NODE...", "om daemon shutdown: the instances are shut down, then the daemon ends", each(func(w *World, n *node) {
			if n.daemon {
				w.alter(n, func(v *cluster.Node) {
					v.Monitor.State, v.Monitor.StateUpdatedAt = orchestrate.StateShutting, w.clock(n)
				})
				n.own.ending = true
				w.shutDown(n)
			}
		})},
		{"leave", "leave NODE...", "om daemon stop: the daemon says that it ends; what it had started runs on", each(func(w *World, n *node) {
			if n.daemon {
				w.leave(n, orchestrate.StateMaintenance)
			}
		})},
		{"fence", "fence NODE fails | fence NODE works | fence NODE hangs | fence NODE takes 20s", "how the command behaves that fences a node", func(w *World, s *words) func() error {
			n, how := s.node(), s.next("fails, works, hangs or takes")
			var m manner
			switch how {
			case "fails":
				m.fails = true
			case "hangs":
				m.hangs = true
			case "takes":
				m.takes = s.duration()
			case "works":
			default:
				s.fail("%q: write fails, works, hangs or takes", how)
			}
			return func() error { n.fencing = m; return nil }
		}},
		{"confirm", "confirm NODE off at NODE", "an operator says that a lost node is off", func(w *World, s *words) func() error {
			n := s.node()
			_ = s.skip("off")
			at, _ := s.askedAt()
			if at == nil {
				s.fail("at NODE is missing")
			}
			return func() error { w.confirm(at, n.name); return nil }
		}},
		{"launch", "launch NODE...", "start the daemon", each(func(w *World, n *node) {
			if !slices.ContainsFunc(w.events, func(e happening) bool { return e.kind == launch && e.node == n.id }) {
				w.push(launchTakes, happening{kind: launch, node: n.id})
			}
		})},
		{"pause", "pause NODE...", "suspend the daemon: it does and hears nothing; what it had started runs on", each(func(w *World, n *node) { w.pause(n) })},
		{"resume", "resume NODE...", "it goes on with what it missed", each(func(w *World, n *node) { w.resume(n) })},
		{"clock", "clock NODE +1h", "step the clock of a node", func(w *World, s *words) func() error {
			n, word := s.node(), s.next("a step")
			d, err := time.ParseDuration(strings.TrimPrefix(word, "+"))
			if err != nil {
				s.fail("%q is no step of a clock: write +1h or -90s", word)
			}
			return func() error {
				n.skew += d
				if n.daemon {
					n.stirred = true
					w.touchAll(n)
				}
				return nil
			}
		}},
		{"load", "load NODE 3.5", "the load average of a node", func(w *World, s *words) func() error {
			n, word := s.node(), s.next("a load")
			f, err := strconv.ParseFloat(word, 64)
			if err != nil {
				s.fail("%q is no load", word)
			}
			return func() error { w.stats(n, func(st *cluster.NodeStats) { st.Load15M = f }); return nil }
		}},
		{"score", "score NODE 80", "the score of a node", func(w *World, s *words) func() error {
			n, word := s.node(), s.next("a score")
			u, err := strconv.ParseUint(word, 10, 32)
			if err != nil {
				s.fail("%q is no score", word)
			}
			return func() error { w.stats(n, func(st *cluster.NodeStats) { st.Score = u }); return nil }
		}},
	}
}

func (w *World) stats(n *node, change func(*cluster.NodeStats)) {
	if !n.daemon {
		return
	}
	w.alter(n, func(v *cluster.Node) { change(&v.Stats) })
}

func linkCommands() []command {
	return []command{
		{"partition", "partition n1 n2 | n3", "only the nodes of a group hear each other", func(w *World, s *words) func() error {
			groups := [][]int{{}}
			for s.more() {
				if s.skip("|") {
					groups = append(groups, nil)
					continue
				}
				groups[len(groups)-1] = append(groups[len(groups)-1], s.node().id)
			}
			return func() error { w.partition(groups); return nil }
		}},
		{"heal", "heal", "every link is as at first", func(w *World, _ *words) func() error { return func() error { w.heal(); return nil } }},
		{"cut", "cut n1 n2 [hb#1] | cut n1 -> n2", "cut a link, both ways or one; one of its heartbeats only", parseLink(func(w *World, from, to int, mask uint32) {
			w.cutLink(from, to, mask)
		})},
		{"mend", "mend n1 n2 [hb#1] | mend n1 -> n2", "mend a link", parseLink(func(w *World, from, to int, mask uint32) {
			w.cuts[pair{from, to}] &^= mask
			w.relinkPair(w.nodes[from], w.nodes[to])
		})},
		{"delay", "delay n1 n2 200ms", "messages between two nodes are late", func(w *World, s *words) func() error {
			a, b, d := s.node(), s.node(), s.duration()
			return func() error { w.delays[pair{a.id, b.id}], w.delays[pair{b.id, a.id}] = d, d; return nil }
		}},
		{"lose", "lose n1 n2 30%", "a part of the messages between two nodes is lost", func(w *World, s *words) func() error {
			a, b, word := s.node(), s.node(), s.next("a part")
			f, err := strconv.ParseFloat(strings.TrimSuffix(word, "%"), 64)
			if err != nil || f < 0 || f > 100 {
				s.fail("%q is no part: write 30%%", word)
			}
			return func() error { w.losses[pair{a.id, b.id}], w.losses[pair{b.id, a.id}] = f/100, f/100; return nil }
		}},
		{"arbitrator", "arbitrator a1 hidden from n1 | arbitrator a1 seen by n1", "who reaches an arbitrator", func(w *World, s *words) func() error {
			name, how := s.next("an arbitrator"), s.next("hidden or seen")
			if !slices.ContainsFunc(w.site.arbitrators, func(a arbitrator) bool { return a.name == name }) {
				s.fail("%q is no arbitrator: name a section [arbitrator#%s] of cluster.conf", name, name)
			}
			if how != "hidden" && how != "seen" {
				s.fail("%q: write hidden or seen", how)
			}
			_ = s.skip("from") || s.skip("by")
			nodes := s.nodes()
			return func() error {
				for _, n := range nodes {
					if w.votes[name] == nil {
						w.votes[name] = map[int]bool{}
					}
					w.votes[name][n.id] = how == "hidden"
					n.stirred = true
					w.touch(n)
				}
				return nil
			}
		}},
	}
}

func parseLink(do func(w *World, from, to int, mask uint32)) func(*World, *words) func() error {
	return func(w *World, s *words) func() error {
		a := s.node()
		oneWay := s.skip("->")
		b := s.node()
		mask := uint32(1)<<len(w.site.beats) - 1
		if s.more() {
			name := s.next("a heartbeat")
			i := slices.IndexFunc(w.site.beats, func(h heartbeat) bool { return h.name == name })
			if i < 0 {
				s.fail("%q is no heartbeat: name a section of cluster.conf, as hb#1", name)
				i = 0
			}
			mask = 1 << i
		}
		return func() error {
			do(w, a.id, b.id, mask)
			if !oneWay {
				do(w, b.id, a.id, mask)
			}
			return nil
		}
	}
}

func askCommands() []command {
	var all []command
	for word, goal := range map[string]string{
		"start": orchestrate.Started, "stop": orchestrate.Stopped, "restart": orchestrate.Restarted,
		"provision": orchestrate.Provisioned, "unprovision": orchestrate.Unprovisioned, "purge": orchestrate.Purged, "delete": orchestrate.Deleted,
	} {
		all = append(all, command{word, word + " OBJECT [force] [at NODE]", "what an operator asks the orchestrator for", func(w *World, s *words) func() error {
			obj := s.object()
			var options map[string]any
			if s.skip("force") {
				options = map[string]any{"force": true}
			}
			at, fixed := s.askedAt()
			return func() error { return w.ask(w.hearer(obj, at, fixed), obj, goal, options) }
		}})
	}
	slices.SortFunc(all, func(a, b command) int { return strings.Compare(a.word, b.word) })
	freeze := func(word, goal string, on bool) command {
		return command{word, word + " OBJECT | " + word + " node NODE... | " + word + " cluster", "an object, the nodes, or the cluster as a whole", func(w *World, s *words) func() error {
			if s.skip("cluster") {
				at, fixed := s.askedAt()
				return func() error { return w.askNode(w.anyNode(at, fixed), goal) }
			}
			if s.skip("node") {
				nodes := s.nodes()
				return func() error {
					for _, n := range nodes {
						w.freezeNode(n, on)
					}
					return nil
				}
			}
			obj := s.object()
			at, fixed := s.askedAt()
			return func() error { return w.ask(w.hearer(obj, at, fixed), obj, goal, nil) }
		}}
	}
	return append(all,
		freeze("freeze", orchestrate.Frozen, true), freeze("unfreeze", orchestrate.Unfrozen, false),
		command{"switch", "switch OBJECT to NODE [at NODE]", "move an object to a node", func(w *World, s *words) func() error {
			obj := s.object()
			_ = s.skip("to")
			var names []string
			for s.more() && s.all[0] != "at" {
				names = append(names, s.next("a node"))
			}
			at, fixed := s.askedAt()
			return func() error {
				return w.ask(w.hearer(obj, at, fixed), obj, orchestrate.PlacedAt, map[string]any{"destination": names})
			}
		}},
		command{"takeover", "takeover OBJECT at NODE", "move an object to the node where it is asked", func(w *World, s *words) func() error {
			obj := s.object()
			at, fixed := s.askedAt()
			if !fixed {
				s.fail("at NODE is missing")
				at = w.nodes[0]
			}
			return func() error {
				return w.ask(at, obj, orchestrate.PlacedAt, map[string]any{"destination": []string{at.name}})
			}
		}},
		command{"giveback", "giveback OBJECT [at NODE]", "move an object where its placement policy says", func(w *World, s *words) func() error {
			obj := s.object()
			at, fixed := s.askedAt()
			return func() error { return w.ask(w.hearer(obj, at, fixed), obj, orchestrate.Placed, nil) }
		}},
		command{"drain", "drain NODE", "freeze a node and shut its instances down", func(w *World, s *words) func() error {
			n := s.node()
			return func() error { return w.askNode(n, orchestrate.Drained) }
		}},
		command{"abort", "abort OBJECT [at NODE]", "give the orchestration up", func(w *World, s *words) func() error {
			obj := s.object()
			at, fixed := s.askedAt()
			return func() error { w.abort(w.hearer(obj, at, fixed), obj); return nil }
		}},
		command{"clear", "clear OBJECT [on NODE...]", "forget the failures, so that it is tried again", func(w *World, s *words) func() error {
			obj := s.object()
			nodes := s.on(obj)
			return func() error {
				for _, n := range nodes {
					w.clear(n, obj)
				}
				return nil
			}
		}},
		command{"set", "set OBJECT KEY=VALUE [at NODE]", "change the configuration of an object", func(w *World, s *words) func() error {
			obj := s.object()
			var pairs []string
			for s.more() && s.all[0] != "at" {
				pairs = append(pairs, s.next("KEY=VALUE"))
			}
			text := strings.Join(pairs, " ")
			key, value, ok := strings.Cut(text, "=")
			if !ok {
				s.fail("%q: write KEY=VALUE", text)
			}
			at, fixed := s.askedAt()
			return func() error { return w.edit(w.hearer(obj, at, fixed), obj, key, value) }
		}},
	)
}

// askedAt reads `at NODE`.
func (s *words) askedAt() (n *node, fixed bool) {
	if s.skip("at") {
		return s.node(), true
	}
	return nil, false
}

// hearer is the node that hears a command: the one that is named, or the first
// that has an instance and a daemon.
func (w *World) hearer(obj int, at *node, fixed bool) *node {
	if fixed {
		return at
	}
	for _, id := range w.objects[obj].scope {
		if n := w.nodes[id]; n.daemon && !n.paused {
			return n
		}
	}
	return w.nodes[w.objects[obj].scope[0]]
}

// ask gives an object a goal.
func (w *World) ask(n *node, obj int, goal string, options map[string]any) error {
	if !n.daemon || n.paused {
		return fmt.Errorf("%s does not answer", n.name)
	}
	m := n.disk[obj]
	if m == nil || m.absent {
		return fmt.Errorf("%s has no instance of %s", n.name, w.objects[obj].path)
	}
	w.goals++
	id := fmt.Sprintf("o%d", w.goals)
	world := w.worldOf(n, obj)
	v, err := orchestrate.Accept(world, goal, options, id)
	if err != nil {
		return err
	}
	w.laws.accept(n, obj, id, goal)
	l := n.watch(obj)
	l.memory.Eviction = orchestrate.Eviction{}
	w.setMonitor(n, obj, world.Nodes[n.name].Monitor, v)
	w.dirtied(n, obj)
	if w.objects[obj].path.Kind.Runs() && orchestrate.ActsOnResources(goal) {
		w.evaluate(n, obj, l)
	}
	return nil
}

// askNode gives a node, or the cluster, a goal.
func (w *World) askNode(n *node, goal string) error {
	if !n.daemon || n.paused {
		return fmt.Errorf("%s does not answer", n.name)
	}
	w.goals++
	id := fmt.Sprintf("o%d", w.goals)
	m, err := orchestrate.AcceptNode(w.nodeWorld(n), goal, id)
	if err != nil {
		return err
	}
	if goal == orchestrate.Drained {
		n.own.memory.DrainID = id
	}
	w.alter(n, func(v *cluster.Node) { v.Monitor = m })
	return nil
}

// anyNode is the node that is named, or the first that has a daemon.
func (w *World) anyNode(at *node, fixed bool) *node {
	if fixed {
		return at
	}
	for _, n := range w.nodes {
		if n.daemon && !n.paused {
			return n
		}
	}
	return w.nodes[0]
}

func (w *World) abort(n *node, obj int) {
	if !n.daemon || n.paused || n.disk[obj] == nil || n.disk[obj].absent {
		return
	}
	world := w.worldOf(n, obj)
	old := world.Nodes[n.name].Monitor
	if old == nil {
		return
	}
	w.laws.ended(old.OrchestrationID)
	if old.GlobalExpect == orchestrate.Stopped {
		delete(w.laws.stopped, obj)
		delete(w.laws.stopID, obj)
	}
	w.setMonitor(n, obj, old, orchestrate.Abort(*old, w.clock(n)))
	w.dirtied(n, obj)
}

func (w *World) clear(n *node, obj int) {
	if !n.daemon || n.paused || n.disk[obj] == nil || n.disk[obj].absent {
		return
	}
	world := w.worldOf(n, obj)
	old := world.Nodes[n.name].Monitor
	if old == nil {
		return
	}
	l := n.watch(obj)
	v, memory, _ := orchestrate.Clear(*old, l.memory, w.clock(n))
	l.memory = memory
	w.setMonitor(n, obj, old, v)
	w.dirtied(n, obj)
}

// edit changes a configuration where it is typed; the peers fetch it.
func (w *World) edit(n *node, obj int, key, value string) error {
	m := n.disk[obj]
	if m == nil || m.absent {
		return fmt.Errorf("%s has no instance of %s", n.name, w.objects[obj].path)
	}
	k, err := config.ParseKey(key)
	if err != nil {
		return err
	}
	doc := m.object.Doc.Clone()
	if err := doc.Set(k, value); err != nil {
		return err
	}
	o := Object{Path: m.object.Path, Doc: doc}
	if _, _, err := w.site.instanceConfig(o, n.name, w.clock(n)); err != nil {
		return err
	}
	w.configure(n, obj, o, w.clock(n))
	return nil
}

func instanceCommands() []command {
	manners := func(word, usage, help string, change func(s *words, m *manner)) command {
		return command{word, usage, help, func(w *World, s *words) func() error {
			obj, verb := s.object(), s.verb()
			var how manner
			change(s, &how)
			nodes := s.on(obj)
			return func() error {
				for _, n := range nodes {
					if m := n.disk[obj]; m != nil {
						m.behave(verb, how)
					}
				}
				return nil
			}
		}}
	}
	resource := func(word, help string, do func(w *World, n *node, obj int, p *part)) command {
		return command{word, word + " OBJECT RID on NODE...", help, func(w *World, s *words) func() error {
			obj, rid := s.object(), s.next("a resource")
			nodes := s.on(obj)
			return func() error {
				for _, n := range nodes {
					m := n.disk[obj]
					i := slices.IndexFunc(m.resources, func(p part) bool { return p.rid == rid })
					if i < 0 {
						return fmt.Errorf("%s has no resource %s", w.objects[obj].path, rid)
					}
					do(w, n, obj, &m.resources[i])
					if n.daemon {
						w.push(noticeTakes, happening{kind: notice, node: n.id, obj: obj, gen: n.life})
					}
				}
				return nil
			}
		}}
	}
	return []command{
		manners("fail", "fail OBJECT ACTION [on NODE...]", "the action fails from now on", func(_ *words, m *manner) { m.fails = true }),
		manners("slow", "slow OBJECT ACTION 20s [on NODE...]", "the action takes that long from now on", func(s *words, m *manner) { m.takes = s.duration() }),
		manners("hang", "hang OBJECT ACTION [on NODE...]", "the action never ends", func(_ *words, m *manner) { m.hangs = true }),
		manners("mind", "mind OBJECT ACTION [on NODE...]", "the action behaves again", func(*words, *manner) {}),
		resource("die", "a resource dies; it is seen a second later", func(_ *World, _ *node, _ int, p *part) { p.up = false }),
		resource("break", "a resource dies, and dies again whenever it is started", func(_ *World, _ *node, _ int, p *part) { p.up, p.broken = false, true }),
		resource("repair", "it stays up once it is started", func(_ *World, _ *node, _ int, p *part) { p.broken = false }),
		{"unmade", "unmade OBJECT [on NODE...]", "the instance is not provisioned", func(w *World, s *words) func() error {
			obj := s.object()
			nodes := s.on(obj)
			return func() error {
				for _, n := range nodes {
					n.disk[obj].provisioned = cluster.ProvisionedFalse
					n.disk[obj].down(true)
					if n.daemon {
						w.evaluate(n, obj, n.watch(obj))
					}
				}
				return nil
			}
		}},
		{"hand", "hand OBJECT ACTION on NODE", "a command typed on a node, past the orchestrator: om OBJECT instance ACTION", func(w *World, s *words) func() error {
			obj, verb := s.object(), s.verb()
			_ = s.skip("on")
			n := s.node()
			return func() error { return w.byHand(n, obj, verb) }
		}},
	}
}

// behave changes how an action goes from now on.
func (m *machine) behave(verb orchestrate.Verb, how manner) {
	manners := map[orchestrate.Verb]manner{verb: how}
	for v, h := range m.manners {
		if v != verb {
			manners[v] = h
		}
	}
	m.manners = manners
}

// byHand runs an action as a command typed on the node does.
func (w *World) byHand(n *node, obj int, verb orchestrate.Verb) error {
	m := n.disk[obj]
	switch {
	case m == nil || m.absent:
		return fmt.Errorf("%s has no instance of %s", n.name, w.objects[obj].path)
	case !n.power:
		return fmt.Errorf("%s is down", n.name)
	case m.process != nil:
		return fmt.Errorf("%s holds the action lock", m.process.action.Verb)
	case !verb.Forks():
		m.effect(orchestrate.Action{Verb: verb}, w.clock(n), n.bootID())
		if n.daemon {
			w.evaluate(n, obj, n.watch(obj))
		}
		return nil
	}
	if w.laws.byHand == nil {
		w.laws.byHand = map[int]bool{}
	}
	w.laws.byHand[obj] = true
	m.process = &process{action: orchestrate.Action{Verb: verb}, life: -1, gen: m.jobs + 1}
	w.spawn(n, obj, m)
	w.dirtied(n, obj)
	return nil
}

func expectCommands() []command {
	return []command{
		{"expect", "expect OBJECT (up|down|frozen|stopped|unprovisioned|absent|STATE) [on NODE...] | expect node NODE (on|off|frozen|STATE) | expect quiet", "what must be true now; up on n1 means there and nowhere else", parseExpect},
	}
}

func parseExpect(w *World, s *words) func() error {
	if s.skip("quiet") {
		return func() error { return w.expectQuiet() }
	}
	if s.skip("node") {
		n := s.node()
		what := strings.Join(s.all, " ")
		s.all = nil
		return func() error { return w.expectNode(n, what) }
	}
	obj := s.object()
	var what []string
	for s.more() && s.all[0] != "on" {
		what = append(what, s.next("a state"))
	}
	state := strings.Join(what, " ")
	exact := len(s.all) > 0
	nodes := s.on(obj)
	if state != "up" && state != "down" && state != "frozen" && state != "stopped" && state != "unprovisioned" && state != "absent" && state != "unfrozen" && !orchestrate.KnownState(state) {
		s.fail("%q is no state", state)
	}
	return func() error { return w.expect(obj, state, nodes, exact) }
}

func (w *World) expect(obj int, state string, nodes []*node, exact bool) error {
	is := func(n *node) bool { return w.is(n, obj, state) }
	var found []string
	for _, id := range w.objects[obj].scope {
		if is(w.nodes[id]) {
			found = append(found, w.nodes[id].name)
		}
	}
	if exact && state == "up" {
		var wanted []string
		for _, n := range nodes {
			wanted = append(wanted, n.name)
		}
		slices.Sort(wanted)
		if !slices.Equal(slices.Sorted(slices.Values(found)), wanted) {
			return &unmetError{fmt.Sprintf("%s on %v", state, found)}
		}
		return nil
	}
	if state == "up" {
		if len(found) == 0 {
			return &unmetError{"up nowhere"}
		}
		return nil
	}
	for _, n := range nodes {
		if !is(n) {
			return &unmetError{fmt.Sprintf("%s is %s on %v", w.objects[obj].path, state, found)}
		}
	}
	return nil
}

// is tells a state of an instance, as it really is.
func (w *World) is(n *node, obj int, state string) bool {
	m := n.disk[obj]
	if m == nil {
		return false
	}
	avail := m.status(w.objects[obj].path.Kind, time.Time{}).Avail
	switch state {
	case "up":
		return n.power && avail == cluster.Up
	case "down":
		return !n.power || avail != cluster.Up && avail != cluster.Warn
	case "frozen":
		return !m.frozenAt.IsZero()
	case "unfrozen":
		return m.frozenAt.IsZero()
	case "stopped":
		return !m.stoppedAt.IsZero()
	case "unprovisioned":
		return m.provisioned == cluster.ProvisionedFalse
	case "absent":
		return m.absent
	}
	if !n.daemon {
		return false
	}
	o := n.view.Objects[w.objects[obj].path]
	return o != nil && o.Instances[n.name].Monitor != nil && o.Instances[n.name].Monitor.State == state
}

func (w *World) expectNode(n *node, what string) error {
	is := "off"
	if n.power {
		is = "on"
	}
	switch {
	case what == is, what == "frozen" && !n.frozenAt.IsZero(), what == "unfrozen" && n.frozenAt.IsZero():
		return nil
	case n.daemon && n.view.Nodes[n.name].Monitor.State == what:
		return nil
	}
	if n.daemon {
		is += ", " + n.view.Nodes[n.name].Monitor.State
	}
	if !n.frozenAt.IsZero() {
		is += ", frozen"
	}
	return &unmetError{n.name + " is " + is}
}

// quiet is how long nothing may happen for a world to be quiet.
const quiet = 3 * time.Minute

func (w *World) expectQuiet() error {
	sent, decided := w.sent, w.decided
	w.Run(quiet)
	if w.sent != sent {
		return &unmetError{fmt.Sprintf("%d messages and %d decisions in %s", w.sent-sent, w.decided-decided, quiet)}
	}
	return nil
}
