package simulate_test

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/orchestrate"
	"github.com/holdfast-ops/holdfast/internal/om/simulate"
)

// mutant is a wrong decider or world, the law that must notice, and the scenario in
// which it does.
type mutant struct {
	law, scenario string
	options       simulate.Options
}

// mutants are deciders, or worlds, that are wrong in a way a law must notice. The
// law is named by some of its words.
func mutants() map[string]mutant {
	return map[string]mutant{
		"starts without quorum": {"never two active", "quorum-minority-of-three", simulate.Options{
			DecideNode: func(w orchestrate.NodeWorld) orchestrate.NodeDecision {
				w.Quorum = false
				return orchestrate.DecideNode(w)
			},
		}},
		"does not look at what the peers run": {"never two active", "resource-dies-during-a-split", simulate.Options{Decide: about(func(w *orchestrate.World) {
			peers(w, func(n *orchestrate.Node) { n.Status, n.Monitor = down(), nil })
		})}},
		"an arbitrator that gives its vote to all": {"never two active", "quorum-exclusive-arbitrator", simulate.Options{Gullible: true}},
		"does not fence": {"required fence", "fence-before-takeover", simulate.Options{Decide: about(func(w *orchestrate.World) { w.Fence = nil })}},
		"does not see freezes": {"frozen", "cluster-freeze-freezes-every-node", simulate.Options{Decide: about(func(w *orchestrate.World) {
			all(w, func(n *orchestrate.Node) {
				n.Frozen = false
				change(n, func(s *cluster.InstanceStatus) { s.FrozenAt = time.Time{} })
			})
		})}},
		"does not see what was stopped": {"operator's stop", "stop-survives-a-reboot", simulate.Options{Decide: about(func(w *orchestrate.World) {
			all(w, func(n *orchestrate.Node) {
				change(n, func(s *cluster.InstanceStatus) { s.StoppedAt = time.Time{} })
			})
		})}},
		"does not adopt goals": {"at most one orchestration", "start-and-stop-at-once", simulate.Options{Decide: about(func(w *orchestrate.World) {
			peers(w, func(n *orchestrate.Node) {
				if n.Monitor != nil {
					m := *n.Monitor
					m.GlobalExpect, m.OrchestrationID = orchestrate.None, ""
					n.Monitor = &m
				}
			})
		})}},
		"never rests": {"a world settles", "takeover", simulate.Options{Decide: func(w orchestrate.World) orchestrate.Decision {
			d := orchestrate.Decide(w)
			d.Monitor.SessionID += "x"
			return d
		}}},
	}
}

// about is Decide about another world than the real one.
func about(f func(*orchestrate.World)) func(orchestrate.World) orchestrate.Decision {
	return func(w orchestrate.World) orchestrate.Decision {
		w.Nodes = maps.Clone(w.Nodes)
		f(&w)
		return orchestrate.Decide(w)
	}
}

func all(w *orchestrate.World, f func(*orchestrate.Node)) {
	for name, n := range w.Nodes {
		f(&n)
		w.Nodes[name] = n
	}
}

func peers(w *orchestrate.World, f func(*orchestrate.Node)) {
	for name, n := range w.Nodes {
		if name != w.Self {
			f(&n)
			w.Nodes[name] = n
		}
	}
}

func change(n *orchestrate.Node, f func(*cluster.InstanceStatus)) {
	if n.Status != nil {
		s := *n.Status
		f(&s)
		n.Status = &s
	}
}

func down() *cluster.InstanceStatus {
	return &cluster.InstanceStatus{Avail: cluster.Down, Provisioned: cluster.ProvisionedTrue}
}

func scenario(t *testing.T, name string) *simulate.Scenario {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name+".txtar"))
	if err != nil {
		t.Fatal(err)
	}
	s, err := simulate.ParseScenario(data)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A law that no mistake can break says nothing.
func TestEachLawCatchesAMutant(t *testing.T) {
	t.Parallel()
	for name, m := range mutants() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m.options.Strict = true
			r, err := scenario(t, m.scenario).Run(m.options)
			if err != nil {
				t.Fatal(err)
			}
			if len(r.Violations) == 0 || !strings.Contains(r.Violations[0].Law, m.law) {
				t.Errorf("%s does not break %q: %v", m.scenario, m.law, r.Violations)
			}
		})
	}
}

func calm() story {
	return story{
		files: map[string]string{"cluster.conf": three, "a.conf": ha, "b.conf": ha},
		nodes: []string{"n1", "n2", "n3"}, lines: []string{"crash n1", "wait 1m", "stop b at n2", "wait 10s"},
	}
}

// The other laws are about a world that is left alone.
func TestConvergenceAndSilenceCatchAMutant(t *testing.T) {
	t.Parallel()
	if err := calm().broken(t, simulate.Options{}); err != nil {
		t.Fatal(err)
	}
	lazy := simulate.Options{Decide: func(w orchestrate.World) orchestrate.Decision {
		w.Quorum = false
		return orchestrate.Decide(w)
	}}
	if err := calm().broken(t, lazy); err == nil || !strings.Contains(err.Error(), "converges") {
		t.Errorf("a decider that never starts anything: %v", err)
	}
	chatty := simulate.Options{DecideNode: func(w orchestrate.NodeWorld) orchestrate.NodeDecision {
		d := orchestrate.DecideNode(w)
		d.Monitor.SessionID = w.Now.Truncate(time.Second).String()
		return d
	}}
	if err := calm().broken(t, chatty); err == nil || !strings.Contains(err.Error(), "silent") {
		t.Errorf("a decider that always has something to say: %v", err)
	}
}

func TestTheSameSeedGivesTheSameRun(t *testing.T) {
	t.Parallel()
	s := scenario(t, "lossy-links")
	o := simulate.Options{Seed: 7, Jitter: 50 * time.Millisecond, Loss: 0.1}
	one, err := s.Run(o)
	if err != nil {
		t.Fatal(err)
	}
	two, err := s.Run(o)
	if err != nil || one.Transcript != two.Transcript {
		t.Errorf("%v\n%s\n%s", err, one.Transcript, two.Transcript)
	}
	o.Seed = 8
	other, err := s.Run(o)
	if err != nil || one.Transcript == other.Transcript {
		t.Errorf("another seed gives the same run (%v)", err)
	}
}
