package simulate_test

import (
	"testing"

	"github.com/holdfast-ops/holdfast/internal/om/simulate"
)

const three = `[cluster]
nodes = n1 n2 n3
`

const ha = `[DEFAULT]
orchestrate = ha
[app#1]
`

func setup(t *testing.T, files map[string]string) simulate.Setup {
	t.Helper()
	s, err := simulate.NewSetup(files)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestExploreTwoNodes(t *testing.T) {
	t.Parallel()
	s := simulate.Search{
		Setup:  setup(t, map[string]string{"cluster.conf": "[cluster]\nnodes = n1 n2\n", "web.conf": ha}),
		Faults: []string{"crash n1", "crash n2", "partition n1 | n2", "cut n1 -> n2", "kill n1", "kill n2"},
		Repairs: []string{"heal", "power n1", "power n2", "launch n1", "launch n2"},
		Asks: []string{"start web at n1", "start web at n2", "stop web at n1", "stop web at n2"},
		MaxFaults: 1, MaxAsks: 1, MaxStates: 20000,
	}
	r, err := s.Explore()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d states, depth %d, complete %v", r.States, r.Depth, r.Complete)
	for _, f := range r.Found {
		t.Error(f)
	}
}
