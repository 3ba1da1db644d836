package replication_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/holdfast-ops/holdfast/internal/om/replication"
)

// drawn is a version that edits on three nodes could have led to.
func drawn(t *rapid.T, name string) replication.Version {
	nodes := []string{"n1", "n2", "n3"}
	versions := []replication.Version{{}, {}, {}}
	for i := range rapid.IntRange(1, 12).Draw(t, name) {
		at := rapid.Uint64Range(0, 30).Draw(t, fmt.Sprint(name, " at ", i))
		who := rapid.IntRange(0, 2).Draw(t, fmt.Sprint(name, " who ", i))
		switch rapid.IntRange(0, 5).Draw(t, fmt.Sprint(name, " what ", i)) {
		case 0:
			versions[who] = replication.Merge(versions[who], versions[(who+1)%3])
		case 1:
			if !versions[who].IsZero() {
				versions[who] = versions[who].Removed(nodes[who], at%2 == 0, at)
			}
		default:
			versions[who] = versions[who].Edited(nodes[who], sum(i), at)
		}
	}
	return versions[rapid.IntRange(0, 2).Draw(t, name+" of")]
}

func sum(i int) string { return fmt.Sprintf("%064d", i) }

func same(a, b replication.Version) bool {
	a2, b2 := a, b
	a2.Vector, b2.Vector = nil, nil
	return maps.Equal(a.Vector, b.Vector) && fmt.Sprint(a2) == fmt.Sprint(b2)
}

func TestAMergeIsTheUnionOfWhatWasSeen(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := drawn(t, "a"), drawn(t, "b"), drawn(t, "c")
		if ab, ba := replication.Merge(a, b), replication.Merge(b, a); !same(ab, ba) {
			t.Fatalf("not commutative: %v and %v: %v, %v", a, b, ab, ba)
		}
		if !same(replication.Merge(a, a), a) && !a.IsZero() {
			t.Fatalf("not idempotent: %v", a)
		}
		left, right := replication.Merge(replication.Merge(a, b), c), replication.Merge(a, replication.Merge(b, c))
		if !same(left, right) {
			t.Fatalf("not associative: %v, %v, %v: %v, %v", a, b, c, left, right)
		}
	})
}

func TestAnEditIsGreaterThanWhatItFollows(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a := drawn(t, "a")
		at := rapid.Uint64Range(0, 1<<63).Draw(t, "at")
		next := []replication.Version{a.Edited("n1", sum(99), at)}
		if !a.IsZero() {
			next = append(next, a.Removed("n2", true, at), a.Removed("n2", false, at).Edited("n3", sum(98), at))
		}
		for _, n := range next {
			if a.Fate == replication.Purged && n.IsGone() {
				continue // what is purged is not deleted again
			}
			if !replication.Less(a, n) || replication.Compare(a.Vector, n.Vector) != replication.Before {
				t.Fatalf("%v does not come before %v", a, n)
			}
		}
	})
}

func TestVectorsAreOrdered(t *testing.T) {
	t.Parallel()
	inverse := map[replication.Order]replication.Order{
		replication.Equal: replication.Equal, replication.Before: replication.After,
		replication.After: replication.Before, replication.Concurrent: replication.Concurrent,
	}
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawn(t, "a").Vector, drawn(t, "b").Vector
		if replication.Compare(a, b) != inverse[replication.Compare(b, a)] {
			t.Fatalf("%v and %v: %v, %v", a, b, replication.Compare(a, b), replication.Compare(b, a))
		}
		if both := replication.Join(a, b); replication.Compare(a, both) > replication.Before || replication.Compare(b, both) > replication.Before {
			t.Fatalf("%v does not hold %v and %v", both, a, b)
		}
	})
}

// The model: nodes that edit, cut from one another and healed. Each decides by what
// it was last told, which may be old. [behaviour] is what is under test, or a mutant.
type behaviour struct {
	decide func(replication.World) replication.Decision
	edited func(v replication.Version, node, checksum string, at uint64) replication.Version
	// archive what is lost, before it is replaced
	archives bool
}

type model struct {
	behaviour
	nodes   []*node
	cut     map[[2]int]bool
	edits   map[string]map[string]bool // by checksum: those an edit follows, and itself
	removed map[string]bool            // what somebody who saw it deleted
}

type node struct {
	name     string
	own      replication.Own
	told     map[string]replication.Told
	archive  map[string]bool
	announce *replication.Told
}

func newModel(b behaviour, n int) *model {
	m := &model{behaviour: b, cut: map[[2]int]bool{}, edits: map[string]map[string]bool{}, removed: map[string]bool{}}
	for i := range n {
		name := fmt.Sprint("n", i)
		m.nodes = append(m.nodes, &node{name: name, own: replication.Own{Node: name}, told: map[string]replication.Told{}, archive: map[string]bool{}})
	}
	return m
}

func (m *model) names() (names []string) {
	for _, n := range m.nodes {
		names = append(names, n.name)
	}
	return names
}

// edit writes something on a node.
func (m *model) edit(n *node, at uint64, scope []string) {
	checksum := sum(len(m.edits) + 1)
	follows := map[string]bool{checksum: true}
	if n.own.Has {
		maps.Copy(follows, m.edits[n.own.Version.Checksum])
	}
	m.edits[checksum] = follows
	n.own.Version = m.edited(n.own.Version, n.name, checksum, at)
	n.own.Has, n.own.Scope = true, scope
	n.tell()
}

func (m *model) remove(n *node, at uint64) {
	if !n.own.Has {
		return
	}
	maps.Copy(m.removed, m.edits[n.own.Version.Checksum])
	n.own.Version = n.own.Version.Removed(n.name, false, at)
	n.own.Has = false
	n.tell()
}

func (n *node) tell() {
	n.announce = nil
	if n.own.Has || n.own.Version.IsGone() {
		n.announce = &replication.Told{Version: n.own.Version, Scope: n.own.Scope}
	}
}

// hear has a node learn what another says now.
func (m *model) hear(i, j int) {
	if m.cut[[2]int{min(i, j), max(i, j)}] {
		return
	}
	n, peer := m.nodes[i], m.nodes[j]
	if peer.announce == nil {
		delete(n.told, peer.name)
	} else {
		n.told[peer.name] = *peer.announce
	}
}

// act has a node do what it decides; false when that is nothing.
func (m *model) act(t failer, i int) bool {
	n := m.nodes[i]
	d := m.decide(replication.World{Own: n.own, Peers: n.told, Nodes: m.names()})
	switch d.Verdict {
	case replication.Keep, replication.Missing, replication.Forget, replication.Bury:
		return false
	case replication.Note:
		n.own.Version = d.Version
	case replication.Fetch:
		if !m.reaches(i, d) {
			return false
		}
		m.lose(n, d)
		n.own.Version, n.own.Has, n.own.Scope = d.Version, true, d.Scope
	case replication.Delete:
		m.lose(n, d)
		n.own.Version, n.own.Has = d.Version, false
	case replication.Leave:
		m.lose(n, d)
		n.own = replication.Own{Node: n.name}
	default:
		t.Fatalf("verdict %v", d.Verdict)
	}
	n.tell()
	return true
}

// reaches tells whether a node can be reached that still has the content.
func (m *model) reaches(i int, d replication.Decision) bool {
	for j, peer := range m.nodes {
		if slices.Contains(d.From, peer.name) && !m.cut[[2]int{min(i, j), max(i, j)}] && peer.own.Has && peer.own.Version.Checksum == d.Version.Checksum {
			return true
		}
	}
	return false
}

func (m *model) lose(n *node, d replication.Decision) {
	if m.archives && d.Lost && n.own.Has {
		maps.Copy(n.archive, m.edits[n.own.Version.Checksum]) // each was seen by the next one
	}
}

type failer interface {
	Fatalf(format string, args ...any)
}

// settle has everything heard and done until nothing moves.
func (m *model) settle(t failer) {
	clear(m.cut)
	for round := range 50 {
		moved := false
		for i := range m.nodes {
			for j := range m.nodes {
				if i != j {
					m.hear(i, j)
				}
			}
			moved = m.act(t, i) || moved
		}
		if !moved {
			return
		}
		if round == 49 {
			t.Fatalf("the nodes go on and on")
		}
	}
}

// laws are what must hold once every node heard every other.
func (m *model) laws(t failer) {
	first := m.nodes[0]
	for _, n := range m.nodes[1:] {
		if !n.own.Version.Same(first.own.Version) || n.own.Has != first.own.Has {
			t.Fatalf("%s has %v (%v), %s has %v (%v)", first.name, first.own.Version, first.own.Has, n.name, n.own.Version, n.own.Has)
		}
	}
	for checksum := range m.edits {
		kept := m.removed[checksum]
		for _, n := range m.nodes {
			kept = kept || n.own.Has && m.edits[n.own.Version.Checksum][checksum] || n.archive[checksum]
		}
		if !kept {
			t.Fatalf("the edit %s led to nothing, nobody deleted it, and it is in no archive", checksum[60:])
		}
	}
}

// play draws what happens and checks the laws.
func play(t *rapid.T, b behaviour) {
	m := newModel(b, rapid.IntRange(2, 4).Draw(t, "nodes"))
	for range rapid.IntRange(1, 40).Draw(t, "steps") {
		i := rapid.IntRange(0, len(m.nodes)-1).Draw(t, "node")
		j := rapid.IntRange(0, len(m.nodes)-1).Draw(t, "peer")
		at := rapid.Uint64Range(0, 50).Draw(t, "clock") // clocks say anything
		switch rapid.IntRange(0, 6).Draw(t, "what") {
		case 0, 1:
			m.edit(m.nodes[i], at, m.names())
		case 2:
			m.remove(m.nodes[i], at)
		case 3:
			m.cut[[2]int{min(i, j), max(i, j)}] = true
		case 4:
			delete(m.cut, [2]int{min(i, j), max(i, j)})
		case 5:
			if i != j {
				m.hear(i, j)
			}
		case 6:
			m.act(t, i)
		}
	}
	m.settle(t)
	m.laws(t)
}

func ours() behaviour {
	return behaviour{decide: replication.Decide, edited: replication.Version.Edited, archives: true}
}

func TestWhateverIsEditedAndCutTheNodesAgreeAndNothingIsLost(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) { play(t, ours()) })
}

// caught plays a mutant until a law breaks.
type caught struct{}

func TestTheLawsCatchMutants(t *testing.T) {
	t.Parallel()
	mutants := map[string]func(*behaviour){
		"who wins merges, too": func(b *behaviour) {
			b.decide = func(w replication.World) replication.Decision {
				d := replication.Decide(w)
				for _, peer := range d.Overruled {
					d.Verdict, d.Version = replication.Note, replication.Merge(d.Version, w.Peers[peer].Version)
				}
				return d
			}
		},
		"nothing is archived": func(b *behaviour) { b.archives = false },
		"the file that came last wins": func(b *behaviour) {
			b.decide = func(w replication.World) replication.Decision {
				for name, peer := range w.Peers {
					if peer.At > w.Own.Version.At && peer.Fate == replication.Alive {
						return replication.Decision{Verdict: replication.Fetch, Version: peer.Version, Scope: peer.Scope, From: []string{name}}
					}
				}
				return replication.Decision{Version: w.Own.Version}
			}
		},
		"an edit is counted by the clock": func(b *behaviour) {
			b.edited = func(v replication.Version, node, checksum string, at uint64) replication.Version {
				next := v.Edited(node, checksum, at)
				next.At = at
				next.Vector[node] = max(at, 1)
				return next
			}
		},
		"an edit does not count": func(b *behaviour) {
			b.edited = func(v replication.Version, node, checksum string, at uint64) replication.Version {
				next := v.Edited(node, checksum, at)
				if !v.IsZero() {
					next.Vector = v.Vector
				}
				return next
			}
		},
	}
	for name, mutate := range mutants {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := ours()
			mutate(&b)
			for seed := range 20000 {
				if breaks(b, seed) {
					return
				}
			}
			t.Error("no law breaks")
		})
	}
}

// breaks reports whether a law breaks in the history of a seed.
func breaks(b behaviour, seed int) (broken bool) {
	c := &caught{}
	defer func() {
		if r := recover(); r != nil {
			if r != c {
				panic(r)
			}
			broken = true
		}
	}()
	random := &lcg{state: uint64(seed)*2862933555777941757 + 3037000493}
	m := newModel(b, 2+random.below(3))
	for range 1 + random.below(30) {
		i, j, at := random.below(len(m.nodes)), random.below(len(m.nodes)), uint64(random.below(50))
		switch random.below(6) {
		case 0, 1:
			m.edit(m.nodes[i], at, m.names())
		case 2:
			m.cut[[2]int{min(i, j), max(i, j)}] = true
		case 3:
			delete(m.cut, [2]int{min(i, j), max(i, j)})
		case 4:
			if i != j {
				m.hear(i, j)
			}
		case 5:
			m.act(c, i)
		}
	}
	m.settle(c)
	m.laws(c)
	return false
}

// Fatalf implements failer.
func (c *caught) Fatalf(string, ...any) { panic(c) }

// lcg draws numbers that a seed repeats.
type lcg struct{ state uint64 }

func (l *lcg) below(n int) int {
	l.state = l.state*6364136223846793005 + 1442695040888963407
	return int((l.state >> 33) % uint64(n))
}
