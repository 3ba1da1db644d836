package heartbeat_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/holdfast-ops/holdfast/internal/om/heartbeat"
)

// node is one end of an exchange, without media: frames are the messages themselves.
type node struct {
	name    string
	life    heartbeat.Incarnation
	x       *heartbeat.Exchange
	counter uint64
	log     heartbeat.Log
	values  map[string]string

	told    map[string]map[string]string // what is known of the others
	beating map[string]bool
	events  []string // that were delivered
}

var _ = fmt.Stringer(heartbeatFrame{})

// heartbeatFrame is a message on its way, that may arrive twice, late or never.
type heartbeatFrame struct {
	h heartbeat.Header
	m heartbeat.Message
}

func (f heartbeatFrame) String() string { return fmt.Sprintf("%s/%d", f.h.Sender, f.h.Counter) }

func newNode(name string, life heartbeat.Incarnation, others ...string) *node {
	n := &node{name: name, life: life, values: map[string]string{}, told: map[string]map[string]string{}, beating: map[string]bool{}}
	challenges := 0
	n.x = heartbeat.NewExchange(name, life, func() string {
		challenges++
		return fmt.Sprintf("%s challenge %d", life, challenges)
	})
	n.x.SetPeers(others)
	for _, o := range others {
		n.told[o] = map[string]string{}
	}
	return n
}

func (n *node) set(key, value string) {
	if value == "" {
		delete(n.values, key)
	} else {
		n.values[key] = value
	}
	n.log.Touch(key)
}

func (n *node) heard(o string) bool { return n.beating[o] }

// tell makes a message of at most some entries.
func (n *node) tell(limit int) heartbeatFrame {
	m := heartbeat.Message{Node: n.name, Incarnation: n.life, Marks: n.x.Marks(n.heard), Head: n.log.Head()}
	m.Base, m.To = m.Head, m.Head
	if base, ok := n.x.Base(n.heard); ok {
		m.Base = base
		for key, gen := range n.log.After(base) {
			if len(m.Entries) == limit {
				m.To = m.Entries[limit-1].Gen
				break
			}
			e := heartbeat.Entry{Key: key, Gen: gen}
			if v, ok := n.values[key]; ok {
				e.Value = json.RawMessage(v)
			}
			m.Entries = append(m.Entries, e)
		}
	}
	n.counter++
	return heartbeatFrame{heartbeat.Header{Sender: n.name, Heartbeat: "hb#1", Incarnation: n.life, Counter: n.counter}, m}
}

func (n *node) take(f heartbeatFrame) (heartbeat.Verdict, error) {
	v, err := n.x.Take(f.h, &f.m, n.log.Head())
	if v.Beat {
		n.beating[f.h.Sender] = true
	}
	for _, e := range v.News {
		switch {
		case len(e.Key) > 6 && e.Key[:6] == heartbeat.EventPrefix:
			n.events = append(n.events, e.Key)
		case len(e.Value) == 0:
			delete(n.told[f.h.Sender], e.Key)
		default:
			n.told[f.h.Sender][e.Key] = string(e.Value)
		}
	}
	return v, err
}

func (n *node) lose(o string) {
	n.beating[o] = false
	for _, key := range n.x.Lost(o) {
		delete(n.told[o], key)
	}
}

func TestTwoNodesComeToBelieveEachOther(t *testing.T) {
	t.Parallel()
	a, b := newNode("a", lifeA, "b"), newNode("b", lifeB, "a")
	a.set("k", "1")
	for round := 0; !a.beating["b"] || !b.beating["a"] || b.told["a"]["k"] != "1"; round++ {
		if round > 4 {
			t.Fatalf("a hears %v, b hears %v, knows %v", a.beating, b.beating, b.told)
		}
		for _, f := range []struct {
			from, to *node
		}{{a, b}, {b, a}} {
			if _, err := f.to.take(f.from.tell(10)); err != nil {
				t.Fatal(err)
			}
		}
	}
	a.set("event/1", "1")
	f := a.tell(10)
	for range 2 {
		if _, err := b.take(f); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(b.events, []string{"event/1"}) {
		t.Errorf("delivered %q", b.events)
	}
}

// meet has two nodes believe each other and know each other.
func meet(t interface{ Fatal(...any) }, a, b *node) (recorded []heartbeatFrame) {
	for range 6 {
		f, g := a.tell(1000), b.tell(1000)
		recorded = append(recorded, f, g)
		if _, err := b.take(f); err != nil {
			t.Fatal(err)
		}
		if _, err := a.take(g); err != nil {
			t.Fatal(err)
		}
	}
	return recorded
}

// Whoever records what nodes say and says it again, to the node it was for or to its
// next life, in any order, is never taken for alive and changes nothing.
func TestWhatWasRecordedIsNotBelievedAgain(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b := newNode("a", lifeA, "b"), newNode("b", lifeB, "a")
		a.set("k", "1")
		recorded := meet(t, a, b)
		a2 := newNode("a", lifeC, "b") // a restarts
		a2.set("k", "2")
		recorded = append(recorded, meet(t, a2, b)...)
		if b.told["a"]["k"] != "2" {
			t.Fatal("the next life is not believed")
		}
		if rapid.Bool().Draw(t, "b restarts") {
			b = newNode("b", "00000000000000000000000000000009", "a")
		} else {
			b.lose("a")
		}
		mine := slices.DeleteFunc(recorded, func(f heartbeatFrame) bool { return f.h.Sender != "a" })
		for range rapid.IntRange(1, 30).Draw(t, "times") {
			v, err := b.take(rapid.SampledFrom(mine).Draw(t, "frame"))
			if err != nil {
				t.Fatal(err)
			}
			if v.Beat || len(v.News) > 0 {
				t.Fatalf("it is believed: %+v", v)
			}
			b.tell(10)
		}
		meet(t, a2, b)
		if b.told["a"]["k"] != "2" || !b.beating["a"] {
			t.Fatal("the node itself is not believed any more")
		}
	})
}

// Frames are lost, doubled and late, pieces are small, nodes restart and lose each
// other: when it ends every node knows exactly what the others say of themselves.
func TestAnExchangeConverges(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		lives := 10
		life := func() heartbeat.Incarnation {
			lives++
			return heartbeat.Incarnation(fmt.Sprintf("%032d", lives))
		}
		names := []string{"a", "b", "c"}
		nodes := map[string]*node{}
		others := func(name string) []string {
			return slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n == name })
		}
		for _, name := range names {
			nodes[name] = newNode(name, life(), others(name)...)
		}
		type flight struct {
			to string
			f  heartbeatFrame
		}
		var air []flight
		send := func(name string, limit int) {
			f := nodes[name].tell(limit)
			for _, to := range others(name) {
				air = append(air, flight{to, f})
			}
		}
		deliver := func(i int) {
			if _, err := nodes[air[i].to].take(air[i].f); err != nil {
				t.Fatalf("%s to %s: %v", air[i].f, air[i].to, err)
			}
		}
		for range rapid.IntRange(1, 120).Draw(t, "steps") {
			name := rapid.SampledFrom(names).Draw(t, "node")
			switch rapid.IntRange(0, 9).Draw(t, "what") {
			case 0, 1:
				nodes[name].set(rapid.SampledFrom([]string{"x", "y", "z"}).Draw(t, "key"), rapid.SampledFrom([]string{"", "1", "2"}).Draw(t, "value"))
			case 2, 3, 4:
				send(name, rapid.IntRange(1, 3).Draw(t, "limit"))
			case 5, 6, 7:
				if len(air) > 0 {
					i := rapid.IntRange(0, len(air)-1).Draw(t, "flight")
					deliver(i)
					if rapid.Bool().Draw(t, "once") {
						air = slices.Delete(air, i, i+1)
					}
				}
			case 8:
				nodes[name].lose(rapid.SampledFrom(others(name)).Draw(t, "lost"))
			case 9:
				fresh := newNode(name, life(), others(name)...)
				fresh.set("x", "9")
				nodes[name] = fresh
			}
		}
		for range 30 {
			for _, name := range names {
				air = nil
				send(name, 3)
				for i := range air {
					deliver(i)
				}
			}
		}
		for _, name := range names {
			for _, o := range others(name) {
				if diff := cmp.Diff(nodes[o].values, nodes[name].told[o]); diff != "" {
					t.Fatalf("what %s knows of %s (-own +told):\n%s", name, o, diff)
				}
			}
		}
		for _, n := range nodes {
			if base, ok := n.x.Base(n.heard); !ok || base != n.log.Head() || n.x.Acked() != base {
				t.Fatalf("%s is at %d, the others know it up to %d", n.name, n.log.Head(), base)
			}
		}
	})
}

func TestALyingPeer(t *testing.T) {
	t.Parallel()
	met := func() (*node, *node) {
		a, b := newNode("a", lifeA, "b"), newNode("b", lifeB, "a")
		a.set("k", "1")
		meet(t, a, b)
		return a, b
	}
	for name, tt := range map[string]struct {
		lie  func(f *heartbeatFrame)
		want heartbeat.Reason
	}{
		"of no node of the cluster":       {func(f *heartbeatFrame) { f.h.Sender = "z" }, heartbeat.UnknownSender},
		"it knows the future of its peer": {func(f *heartbeatFrame) { f.m.Marks[0].Gen = 1000 }, heartbeat.Lie},
	} {
		a, b := met()
		f := a.tell(10)
		f.m.Marks = slices.Clone(f.m.Marks)
		tt.lie(&f)
		if v, err := b.take(f); reason(err) != tt.want || v.Beat {
			t.Errorf("%s: %+v, %v", name, v, err)
		}
	}
	a, b := met()
	f := a.tell(10)
	f.h.Incarnation, f.m.Incarnation = lifeC, lifeC // another life, without an answer
	if v, err := b.take(f); err != nil || v.Beat || !v.Reply {
		t.Errorf("a life that was not challenged is believed: %+v, %v", v, err)
	}
	f = a.tell(10)
	f.m.Base, f.m.To, f.m.Head = 500, 501, 501 // it skips what it never told
	f.m.Entries = []heartbeat.Entry{{Key: "k", Gen: 501, Value: json.RawMessage(`"skipped"`)}}
	if v, err := b.take(f); err != nil || !v.Missed || !v.Reply || b.told["a"]["k"] != "1" {
		t.Errorf("%+v, %v, %v", v, err, b.told)
	}
	own := b.tell(10)
	if v, err := b.take(own); err != nil || v.Beat {
		t.Errorf("a node hears itself: %+v, %v", v, err)
	}
}

// merge is what a part comes to from a set of messages in some order, as often as it
// takes until nothing is news any more.
func merge(take func(*heartbeat.Part, *heartbeat.Message) []heartbeat.Entry, order []heartbeat.Message) map[string]string {
	p := &heartbeat.Part{Incarnation: lifeA}
	values := map[string]string{}
	for range len(order) + 1 {
		for i := range order {
			for _, e := range take(p, &order[i]) {
				if len(e.Value) == 0 {
					delete(values, e.Key)
				} else {
					values[e.Key] = string(e.Value)
				}
			}
		}
	}
	return values
}

func takePart(p *heartbeat.Part, m *heartbeat.Message) []heartbeat.Entry {
	news, _ := p.Take(m)
	return news
}

// picker picks one of n.
type picker func(n int) int

func shuffled(pick picker, all []heartbeat.Message) []heartbeat.Message {
	all = slices.Clone(all)
	for i := len(all) - 1; i > 0; i-- {
		j := pick(i + 1)
		all[i], all[j] = all[j], all[i]
	}
	return all
}

// history is what a node said of some keys, message after message, from bases of its
// choice.
func history(pick picker) []heartbeat.Message {
	var log heartbeat.Log
	values := map[string]string{}
	var all []heartbeat.Message
	for i := range 1 + pick(12) {
		for range pick(4) {
			key := []string{"x", "y", "z"}[pick(3)]
			if pick(2) == 0 {
				delete(values, key)
			} else {
				values[key] = strconv.Itoa(i)
			}
			log.Touch(key)
		}
		base := uint64(pick(int(log.Head()) + 1))
		m := heartbeat.Message{Incarnation: lifeA, Base: base, To: log.Head(), Head: log.Head()}
		for key, gen := range log.After(base) {
			e := heartbeat.Entry{Key: key, Gen: gen}
			if v, ok := values[key]; ok {
				e.Value = json.RawMessage(v)
			}
			m.Entries = append(m.Entries, e)
		}
		all = append(all, m)
	}
	all[len(all)-1].Base = 0 // there is a way from nothing
	last := &all[len(all)-1]
	last.Entries = nil
	for key, gen := range log.After(0) {
		e := heartbeat.Entry{Key: key, Gen: gen}
		if v, ok := values[key]; ok {
			e.Value = json.RawMessage(v)
		}
		last.Entries = append(last.Entries, e)
	}
	return all
}

// laws returns the laws of merging that take breaks on a history.
func laws(pick picker, take func(*heartbeat.Part, *heartbeat.Message) []heartbeat.Entry) map[string]bool {
	broken := map[string]bool{}
	all := history(pick)
	want := map[string]string{}
	for _, e := range all[len(all)-1].Entries {
		if len(e.Value) > 0 {
			want[e.Key] = string(e.Value)
		}
	}
	if got := merge(take, all); !maps.Equal(got, want) {
		broken["complete"] = true
	}
	if got := merge(take, shuffled(pick, all)); !maps.Equal(got, want) {
		broken["commutative"] = true // and associative: any order is any grouping
	}
	if got := merge(take, slices.Concat(all, all)); !maps.Equal(got, want) {
		broken["idempotent"] = true
	}
	return broken
}

func TestMergingPartsIsCommutativeAndIdempotent(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		if broken := laws(func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "pick") }, takePart); len(broken) > 0 {
			t.Fatalf("broken: %v", broken)
		}
	})
}

// Each law must be able to fail.
func TestTheLawsOfMergingCatchMutants(t *testing.T) {
	t.Parallel()
	for law, mutant := range map[string]func(*heartbeat.Part, *heartbeat.Message) []heartbeat.Entry{
		// Whatever comes is applied.
		"commutative": func(_ *heartbeat.Part, m *heartbeat.Message) []heartbeat.Entry { return m.Entries },
		// Applied, and never again, from wherever it begins.
		"complete": func(p *heartbeat.Part, m *heartbeat.Message) []heartbeat.Entry {
			if m.To <= p.Gen {
				return nil
			}
			p.Gen = m.To + 1
			return m.Entries
		},
		// The last message repeated, without what is gone.
		"idempotent": func(p *heartbeat.Part, m *heartbeat.Message) []heartbeat.Entry {
			if m.To < p.Gen {
				return slices.DeleteFunc(slices.Clone(m.Entries), func(e heartbeat.Entry) bool { return len(e.Value) == 0 })
			}
			return takePart(p, m)
		},
	} {
		caught := false
		for seed := range uint64(300) {
			caught = caught || laws(rand.New(rand.NewPCG(seed, 0)).IntN, mutant)[law]
		}
		if !caught {
			t.Errorf("the mutant of %q was not caught", law)
		}
	}
}

func TestALogTellsTheLastChangeOfEachKey(t *testing.T) {
	t.Parallel()
	var log heartbeat.Log
	for i := range 1000 {
		log.Touch(fmt.Sprint("k", i%7))
	}
	var gens []uint64
	for _, gen := range log.After(0) {
		gens = append(gens, gen)
	}
	if !slices.Equal(gens, []uint64{994, 995, 996, 997, 998, 999, 1000}) || log.Head() != 1000 || log.Len() != 7 {
		t.Errorf("%v", gens)
	}
	log.Drop("k0")
	for key := range log.After(0) {
		if key == "k0" {
			t.Error("a dropped key is told")
		}
	}
}
