package orchestrate_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/orchestrate"
)

// arbiter gives exclusive votes: *referee does, and the mutants of the tests.
type arbiter interface {
	claim(now time.Time, c orchestrate.Claim) orchestrate.Grant
	release(now time.Time, node string)
}

type referee struct{ lease orchestrate.Lease }

func (r *referee) claim(now time.Time, c orchestrate.Claim) (g orchestrate.Grant) {
	r.lease, g = r.lease.Claim(now, c)
	return g
}

func (r *referee) release(now time.Time, node string) { r.lease = r.lease.Release(now, node) }

// pushover gives its vote to all who ask, as a plain server does.
type pushover struct{}

func (pushover) claim(time.Time, orchestrate.Claim) orchestrate.Grant {
	return orchestrate.Grant{Verdict: orchestrate.VoteGranted}
}
func (pushover) release(time.Time, string) {}

// nepotist gives its vote to all who were of the first part that asked, even once
// they do not hear each other any more.
type nepotist struct{ friends []string }

func (n *nepotist) claim(_ time.Time, c orchestrate.Claim) orchestrate.Grant {
	if n.friends == nil {
		n.friends = c.Members
	}
	if slices.Contains(n.friends, c.Node) {
		return orchestrate.Grant{Verdict: orchestrate.VoteGranted}
	}
	return orchestrate.Grant{Verdict: orchestrate.VoteRefused}
}

func (n *nepotist) release(time.Time, string) { n.friends = nil }

// split is a cluster whose links break and heal.
type split struct {
	nodes    []*splitNode
	arbiters []arbiter
	weights  []int
	rand     *rand.Rand
	now      time.Time
	action   string
}

type splitNode struct {
	name    string
	part    int                    // of the network
	silent  map[string]time.Time   // since when a peer cannot be heard
	notice  time.Duration          // how long it takes to notice
	reaches []bool                 // arbitrators
	memory  orchestrate.NodeMemory // what follows is its own
	monitor cluster.NodeMonitor
	ballot  *orchestrate.Ballot
	pending []delayed
	quorum  bool
	dead    bool
}

type delayed struct {
	at     time.Time
	ballot orchestrate.Ballot
}

var splitEpoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func newSplit(r *rand.Rand, nodes int, weights []int, arbiters func() arbiter) *split {
	s := &split{rand: r, now: splitEpoch, weights: weights, action: orchestrate.SplitCrash}
	for i := range nodes {
		n := &splitNode{name: fmt.Sprintf("n%d", i+1), silent: map[string]time.Time{}, monitor: cluster.NodeMonitor{State: orchestrate.StateIdle}}
		n.reaches = make([]bool, len(weights))
		for a := range n.reaches {
			n.reaches[a] = true
		}
		s.nodes = append(s.nodes, n)
	}
	for range weights {
		s.arbiters = append(s.arbiters, arbiters())
	}
	return s
}

// cut puts each node in a part of the network, and says which arbitrators it reaches.
func (s *split) cut(parts []int, reaches [][]bool) {
	for i, n := range s.nodes {
		n.part, n.reaches = parts[i], reaches[i]
		n.notice = time.Duration(s.rand.IntN(3000)) * time.Millisecond
	}
	for _, n := range s.nodes {
		for _, p := range s.nodes {
			if n.part == p.part {
				delete(n.silent, p.name)
			} else if _, ok := n.silent[p.name]; !ok {
				n.silent[p.name] = s.now
			}
		}
	}
}

func (s *split) hears(n, p *splitNode) bool {
	if n == p {
		return true
	}
	since, silent := n.silent[p.name]
	if p.dead {
		return false
	}
	return !silent || s.now.Before(since.Add(n.notice))
}

// informed reports whether a node is alive and has noticed all there is to notice.
// Until it has, the ready period of the others is what it is given.
func (s *split) informed(n *splitNode) bool {
	for _, p := range s.nodes {
		if s.hears(n, p) != (n == p || n.part == p.part && !p.dead) {
			return false
		}
	}
	return !n.dead
}

// run lets time pass, and returns what breaks the law.
func (s *split) run(d time.Duration) error {
	for end := s.now.Add(d); s.now.Before(end); s.now = s.now.Add(100 * time.Millisecond) {
		for _, i := range s.rand.Perm(len(s.nodes)) {
			if n := s.nodes[i]; !n.dead {
				s.decide(n)
			}
		}
		for i, n := range s.nodes {
			for _, p := range s.nodes[i+1:] {
				if n.quorum && p.quorum && s.informed(n) && s.informed(p) && n.part != p.part {
					return fmt.Errorf("after %s, %s and %s both have the quorum, in two parts of the cluster", s.now.Sub(splitEpoch), n.name, p.name)
				}
			}
		}
	}
	return nil
}

func (s *split) decide(n *splitNode) {
	for len(n.pending) > 0 && !s.now.Before(n.pending[0].at) {
		n.ballot = &n.pending[0].ballot
		n.pending = n.pending[1:]
	}
	d := orchestrate.DecideNode(s.world(n))
	n.memory, n.monitor = d.Memory, d.Monitor
	n.quorum = d.Quorum
	if d.Poll != nil {
		s.poll(n, *d.Poll)
	}
	if d.Release {
		for a := range s.arbiters {
			if n.reaches[a] {
				s.arbiters[a].release(s.now, n.name)
			}
		}
	}
	if d.Action.Verb == orchestrate.Crash {
		n.dead, n.quorum = true, false
	}
}

func (s *split) world(n *splitNode) orchestrate.NodeWorld {
	w := orchestrate.NodeWorld{
		Now: s.now, Self: n.name, Quorum: true, Ready: true, StartedAt: splitEpoch, Monitor: n.monitor, Memory: n.memory, Ballot: n.ballot,
		Config: cluster.NodeConfig{ReadyPeriod: 5 * time.Second, RejoinGracePeriod: time.Minute, SplitAction: s.action},
		Peers:  map[string]orchestrate.Peer{},
	}
	for _, p := range s.nodes {
		w.Members = append(w.Members, p.name)
		if p != n {
			w.Peers[p.name] = orchestrate.Peer{Heard: true, Beating: s.hears(n, p), Monitor: p.monitor}
		}
	}
	for a, weight := range s.weights {
		w.Arbitrators = append(w.Arbitrators, orchestrate.Arbitrator{Name: fmt.Sprintf("a%d", a), Weight: weight, Exclusive: true})
	}
	return w
}

func (s *split) poll(n *splitNode, p orchestrate.Poll) {
	ballot := orchestrate.Ballot{Poll: p.Number, Answers: map[string]orchestrate.Answer{}}
	for a, arbiter := range s.arbiters {
		if !n.reaches[a] {
			continue
		}
		g := arbiter.claim(s.now, orchestrate.Claim{Node: n.name, Members: p.Members})
		ballot.Answers[fmt.Sprintf("a%d", a)] = orchestrate.Answer{
			Vote: g.Verdict == orchestrate.VoteGranted, Refused: g.Verdict == orchestrate.VoteRefused,
			NotBefore: g.NotBefore, Until: s.now.Add(orchestrate.VoteLease),
		}
	}
	n.pending = append(n.pending, delayed{at: s.now.Add(time.Duration(s.rand.IntN(1000)) * time.Millisecond), ballot: ballot})
}

func (s *split) survivors() (names []string) {
	for _, n := range s.nodes {
		if n.quorum {
			names = append(names, n.name)
		}
	}
	return names
}

// broken draws a cluster, breaks it some times, and returns what breaks the law.
func broken(t *rapid.T, arbiters func() arbiter) error {
	size := rapid.IntRange(2, 5).Draw(t, "nodes")
	weights := rapid.SliceOfN(rapid.IntRange(1, 2), 1, 3).Draw(t, "weights")
	r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
	s := newSplit(r, size, weights, arbiters)
	if err := s.run(time.Second); err != nil {
		return err
	}
	for range rapid.IntRange(1, 3).Draw(t, "cuts") {
		parts := rapid.SliceOfN(rapid.IntRange(0, 2), size, size).Draw(t, "parts")
		reaches := make([][]bool, size)
		for i := range reaches {
			reaches[i] = rapid.SliceOfN(rapid.Bool(), len(weights), len(weights)).Draw(t, "reaches")
		}
		s.cut(parts, reaches)
		if err := s.run(time.Duration(rapid.IntRange(4, 30).Draw(t, "seconds")) * time.Second); err != nil {
			return err
		}
	}
	return nil
}

func TestExclusiveArbitratorsLetOnePartOfASplitClusterSurvive(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		if err := broken(rt, func() arbiter { return &referee{} }); err != nil {
			rt.Fatal(err)
		}
	})
}

// A law that no mistake can break says nothing.
func TestTheSplitLawCatchesMutants(t *testing.T) {
	t.Parallel()
	for name, arbiters := range map[string]func() arbiter{
		"an arbitrator that votes for all":                      func() arbiter { return pushover{} },
		"an arbitrator that votes for what is left of its part": func() arbiter { return &nepotist{} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			caught := false
			for seed := range 3000 {
				r := rand.New(rand.NewPCG(uint64(seed), 2))
				if brokenAt(r, arbiters) != nil {
					caught = true
					break
				}
			}
			if !caught {
				t.Error("the law holds of it")
			}
		})
	}
}

// brokenAt is broken with a plain source.
func brokenAt(r *rand.Rand, arbiters func() arbiter) error {
	size := 2 + r.IntN(3)
	weights := make([]int, 1+r.IntN(2))
	for i := range weights {
		weights[i] = 1 + r.IntN(2)
	}
	s := newSplit(r, size, weights, arbiters)
	for range 3 {
		parts, reaches := make([]int, size), make([][]bool, size)
		for i := range parts {
			parts[i], reaches[i] = r.IntN(3), make([]bool, len(weights))
			for a := range weights {
				reaches[i][a] = r.IntN(4) > 0
			}
		}
		s.cut(parts, reaches)
		if err := s.run(time.Duration(4+r.IntN(10)) * time.Second); err != nil {
			return err
		}
	}
	return nil
}

// Every split of two and three nodes in parts, each node reaching the arbitrator
// or not.
func TestEverySplitOfASmallClusterLeavesOnePartAtMost(t *testing.T) {
	t.Parallel()
	for size := 2; size <= 3; size++ {
		for parts := range pow(size, size) {
			for reach := range pow(2, size) {
				s := newSplit(rand.New(rand.NewPCG(1, 2)), size, []int{size - 1}, func() arbiter { return &referee{} })
				in, reaches := make([]int, size), make([][]bool, size)
				for i := range size {
					in[i], reaches[i] = parts/pow(size, i)%size, []bool{reach>>i&1 == 1}
				}
				s.cut(in, reaches)
				if err := s.run(12 * time.Second); err != nil {
					t.Fatalf("parts %v, reaches %v: %v", in, reaches, err)
				}
				alive := map[int]bool{}
				for _, n := range s.nodes {
					if n.quorum {
						alive[n.part] = true
					}
				}
				if len(alive) > 1 {
					t.Fatalf("parts %v, reaches %v: %v survive", in, reaches, s.survivors())
				}
				if reach == pow(2, size)-1 && len(alive) != 1 {
					t.Fatalf("parts %v: all reach the arbitrator, and nobody survives", in)
				}
			}
		}
	}
}

func pow(n, k int) int {
	p := 1
	for range k {
		p *= n
	}
	return p
}

func TestTheLastNodeOfThreeGoesOnWithTheArbitrator(t *testing.T) {
	t.Parallel()
	s := newSplit(rand.New(rand.NewPCG(1, 2)), 3, []int{2}, func() arbiter { return &referee{} })
	for _, victim := range []int{2, 1} {
		s.nodes[victim].dead, s.nodes[victim].quorum = true, false
		if err := s.run(30 * time.Second); err != nil {
			t.Fatal(err)
		}
	}

	if got := s.survivors(); !slices.Equal(got, []string{"n1"}) {
		t.Errorf("%v survive, want n1: 1 node and 2 votes of 5", got)
	}
}
