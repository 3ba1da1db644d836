package engine_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ops/holdfast/internal/krops/engine"
	"github.com/holdfast-ops/holdfast/internal/krops/engine/enginetest"
)

const image = "docker.io/library/registry:2"

// The table of behaviour of the registry container.
func TestTheRegistryComesToRunWhateverIsFound(t *testing.T) {
	t.Parallel()
	right := enginetest.Container{Name: "reg", Image: "registry:2", Ports: map[uint16]int{5000: 5001}, Networks: []string{"kind"}}
	run := func(c enginetest.Container) enginetest.Container { c.Running = true; return c }
	port := func(c enginetest.Container) enginetest.Container { c.Ports = map[uint16]int{5000: 5002}; return c }
	away := func(c enginetest.Container) enginetest.Container { c.Networks = []string{"bridge"}; return c }
	bare := func(c enginetest.Container) enginetest.Container { c.Ports = nil; return c }
	for name, c := range map[string]struct {
		found *enginetest.Container
		state engine.RegistryState
		fresh bool // another container afterwards
		said  []string
	}{
		"absent":                    {nil, engine.RegistryMissing, true, nil},
		"running":                   {new(run(right)), engine.RegistryRunning, false, nil},
		"stopped":                   {&right, engine.RegistryStopped, false, nil},
		"another port":              {new(run(port(right))), engine.RegistryWrong, true, []string{wrong, "it is published at port 5002, not 5001"}},
		"another port, and stopped": {new(port(right)), engine.RegistryWrong, true, []string{wrong, "it is published at port 5002, not 5001"}},
		"no port":                   {new(run(bare(right))), engine.RegistryWrong, true, []string{wrong, "it is published at port 0, not 5001"}},
		"not in the network": {
			new(run(away(right))), engine.RegistryWrong, true,
			[]string{wrong, "it is not in network kind"},
		},
		"neither": {new(port(away(right))), engine.RegistryWrong, true, []string{wrong, "it is published at port 5002, not 5001, it is not in network kind"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e, s := running(t)
			s.AddNetwork("kind")
			s.AddNetwork("bridge")
			s.AddImage(image)
			s.Add(enginetest.Container{Name: "reg-of-another", Running: true, Ports: map[uint16]int{5000: 5001}})
			id := ""
			if c.found != nil {
				id = s.Add(*c.found).ID
			}
			registry := engine.Registry{Name: "reg", Port: 5001}
			if state, _, _, err := e.Look(t.Context(), registry); err != nil || state != c.state {
				t.Fatalf("found %v, %v", state, err)
			}
			var said []string

			err := e.Run(t.Context(), registry, func(text string) { said = append(said, text) })
			if err != nil {
				t.Fatal(err)
			}
			if state, made, why, err := e.Look(t.Context(), registry); err != nil || state != engine.RegistryRunning || (made.ID != id) != c.fresh {
				t.Errorf("%v, %q, %v: %+v", state, why, err, made)
			}
			if diff := cmp.Diff(c.said, said); diff != "" {
				t.Error(diff)
			}
			if len(s.Names()) != 2 {
				t.Errorf("%q", s.Names())
			}
		})
	}
}

const wrong = "Existing registry misconfigured (port or network); recreating..."

func TestTheRegistryNeedsTheNetworkOfKind(t *testing.T) {
	t.Parallel()
	e, s := running(t)
	s.AddImage(image)

	err := e.Run(t.Context(), engine.Registry{Name: "reg", Port: 5001}, func(string) {})

	if err == nil || !strings.HasPrefix(err.Error(), "network kind does not exist") {
		t.Errorf("%v", err)
	}
}

func TestARegistryThatCannotStartIsTakenAway(t *testing.T) {
	t.Parallel()
	e, s := running(t)
	s.AddImage(image)
	s.AddNetwork("kind")
	s.OnStart(func(enginetest.Container) error { return errors.New("port is already allocated") })

	err := e.Run(t.Context(), engine.Registry{Name: "reg", Port: 5001}, func(string) {})

	if err == nil || !strings.Contains(err.Error(), "start container reg: ") || !strings.Contains(err.Error(), "port is already allocated") || len(s.Names()) != 0 {
		t.Errorf("%v, left %q", err, s.Names())
	}
}

func TestARegistryThatCannotBeLookedAtIsLeftAlone(t *testing.T) {
	t.Parallel()
	e, s := running(t)
	s.Add(enginetest.Container{Name: "reg"})
	s.Fail(func(_, path string) (int, string) {
		if strings.HasSuffix(path, "/json") && path != "/containers/json" {
			return http.StatusInternalServerError, "ill"
		}
		return 0, ""
	})
	if err := e.Run(t.Context(), engine.Registry{Name: "reg", Port: 5001}, func(string) {}); err == nil || len(s.Names()) != 1 {
		t.Errorf("%v, left %q", err, s.Names())
	}
}
