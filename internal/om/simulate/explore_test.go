package simulate_test

import (
	"testing"

	"github.com/holdfast-ops/holdfast/internal/om/simulate"
)

const (
	two        = "[cluster]\nnodes = n1 n2\n"
	three      = "[cluster]\nnodes = n1 n2 n3\n"
	twoVoting  = two + "quorum = true\n[arbitrator#v]\nuri = https://arbitrator.example.com\nexclusive = true\n"
	threeVotes = three + "quorum = true\n"
	ha         = "[DEFAULT]\norchestrate = ha\n[app#1]\n"
	flex       = "[DEFAULT]\norchestrate = ha\ntopology = flex\nflex_min = 1\nflex_target = 2\n[app#1]\n"
	child      = "[DEFAULT]\norchestrate = ha\nparents = a\nnodes = n2 n1\n[app#1]\n"
	fenced     = "[DEFAULT]\norchestrate = ha\nstonith = true\n[app#1]\n"
	fences     = "[stonith#n1]\ncommand = /bin/true\n[stonith#n2]\ncommand = /bin/true\n"
)

// search is a world to be searched, and what may happen to it.
type search struct {
	files                 map[string]string
	faults, asks, repairs []string
	budget                [3]int // of faults, asks and delays
}

// searches are worlds of two and three nodes and one or two objects.
func searches() map[string]search {
	return map[string]search{
		"two nodes, a fault": {
			files:   map[string]string{"cluster.conf": two, "a.conf": ha},
			faults:  []string{"crash n1", "crash n2", "partition n1 | n2", "cut n1 -> n2", "cut n2 -> n1", "kill n1", "kill n2", "pause n1"},
			repairs: []string{"heal", "power n1", "power n2", "launch n1", "launch n2", "resume n1"},
			budget:  [3]int{1, 0, 2},
		},
		"two nodes, three operators": {
			files: map[string]string{"cluster.conf": two, "a.conf": ha},
			asks: []string{
				"start a at n1", "start a at n2", "stop a at n1", "stop a at n2", "switch a to n2 at n1", "switch a to n1 at n2",
				"abort a at n1", "restart a at n2", "freeze a at n1", "unfreeze a at n2", "giveback a at n2",
			},
			budget: [3]int{0, 3, 1},
		},
		"two nodes, an exclusive vote": {
			files: map[string]string{"cluster.conf": twoVoting, "a.conf": ha},
			faults: []string{
				"partition n1 | n2", "cut n1 -> n2", "cut n2 -> n1", "arbitrator v hidden from n1", "arbitrator v hidden from n2", "crash n1", "pause n1",
			},
			repairs: []string{"heal", "power n1", "power n2", "resume n1"},
			budget:  [3]int{2, 0, 1},
		},
		"two nodes, fences": {
			files:   map[string]string{"cluster.conf": two + fences, "a.conf": fenced},
			faults:  []string{"crash n1", "crash n2", "partition n1 | n2", "cut n1 -> n2", "fence n1 fails", "pause n1"},
			repairs: []string{"heal", "power n1", "power n2", "fence n1 works", "resume n1"},
			budget:  [3]int{2, 0, 1},
		},
		"three nodes, two objects, a fault and an operator": {
			files:   map[string]string{"cluster.conf": three, "a.conf": ha, "b.conf": child},
			faults:  []string{"crash n1", "partition n1 | n2 n3", "kill n2", "cut n1 n2"},
			repairs: []string{"heal", "power n1", "launch n2"},
			asks:    []string{"switch a to n2 at n3", "stop a at n2", "stop b at n1"},
			budget:  [3]int{1, 1, 0},
		},
		"three nodes with quorum": {
			files:   map[string]string{"cluster.conf": threeVotes, "a.conf": ha},
			faults:  []string{"partition n1 | n2 n3", "cut n1 -> n2", "cut n1 n3", "crash n2", "pause n1"},
			repairs: []string{"heal", "power n1", "power n2", "resume n1"},
			budget:  [3]int{2, 0, 0},
		},
		"three nodes, a flex object": {
			files:   map[string]string{"cluster.conf": three, "a.conf": flex},
			faults:  []string{"crash n1", "crash n3", "kill n2", "partition n1 | n2 n3"},
			repairs: []string{"heal", "power n1", "power n3", "launch n2"},
			asks:    []string{"stop a at n3", "start a at n1"},
			budget:  [3]int{1, 1, 0},
		},
		"two nodes, starts and stops that fail": {
			files:   map[string]string{"cluster.conf": two, "a.conf": ha},
			faults:  []string{"fail a start on n2", "fail a stop on n1", "break a app#1 on n1", "crash n1", "hang a start on n2"},
			repairs: []string{"power n1"},
			asks:    []string{"switch a to n2 at n1", "stop a at n2", "clear a", "abort a at n2", "restart a at n1"},
			budget:  [3]int{2, 2, 0},
		},
	}
}

// explore searches every world, up to so many states of each, with at most so many
// faults, and so many operators.
func explore(t *testing.T, states, most int) {
	t.Helper()
	for name, s := range searches() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			setup, err := simulate.NewSetup(s.files)
			if err != nil {
				t.Fatal(err)
			}
			r, err := simulate.Search{
				Setup: setup, Faults: s.faults, Asks: s.asks, Repairs: s.repairs,
				MaxFaults: min(s.budget[0], most), MaxAsks: min(s.budget[1], most), MaxDelays: min(s.budget[2], most-1), MaxStates: states,
			}.Explore()
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%d states, %d deep, complete: %v", r.States, r.Depth, r.Complete)
			for _, f := range r.Found {
				t.Error(f)
			}
		})
	}
}

// Every order of the events of small worlds, as far as a test may take: the lab
// goes on from there.
func TestNoOrderOfEventsBreaksALaw(t *testing.T) {
	t.Parallel()
	explore(t, 2500, 1)
}

// A search that cannot find anything proves nothing.
func TestASearchFindsAMutant(t *testing.T) {
	t.Parallel()
	for name, what := range map[string]struct{ search, mutant string }{
		"two active": {"two nodes, an exclusive vote", "an arbitrator that gives its vote to all"},
		"a fence":    {"two nodes, fences", "does not fence"},
		"a stop":     {"two nodes, three operators", "does not adopt goals"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := searches()[what.search]
			setup, err := simulate.NewSetup(s.files)
			if err != nil {
				t.Fatal(err)
			}
			r, err := simulate.Search{
				Setup: setup, Options: mutants()[what.mutant].options, Faults: s.faults, Asks: s.asks, Repairs: s.repairs,
				MaxFaults: 1, MaxAsks: 2, MaxStates: 20000,
			}.Explore()
			if err != nil || len(r.Found) == 0 {
				t.Fatalf("%d states, nothing was found, %v", r.States, err)
			}
			if len(r.Found[0].Path) == 0 {
				t.Error("no way to it is told")
			}
		})
	}
}
