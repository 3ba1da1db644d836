package monitor_test

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/monitor"
	"github.com/holdfast-ops/holdfast/internal/om/event"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/orchestrate"
)

// wire joins the benches of several nodes: what a state says of its node reaches the
// others, a little later.
type wire struct {
	names   []string
	benches map[string]*bench

	mu   sync.Mutex
	cut  map[string]bool
	mark map[string]map[string]uint64 // what a node knows of another one
}

const wireDelay = 5 * time.Millisecond

// newWire is a cluster of nodes of which some have the object a, up nowhere.
func newWire(t *testing.T, names, having []string, orchestration string) *wire {
	t.Helper()
	x := &wire{names: names, benches: map[string]*bench{}, cut: map[string]bool{}, mark: map[string]map[string]uint64{}}
	for _, name := range names {
		w, events := newWorldOn(t, name)
		x.mark[name] = map[string]uint64{}
		if slices.Contains(having, name) {
			w.create(svc("a"), orchestration, func(c *cluster.InstanceConfig) { c.Scope = having })
		}
		w.state.SetClusterConfig(cluster.Config{Nodes: names})
		w.acked = func(peer string, p object.Path) bool {
			x.mu.Lock()
			defer x.mu.Unlock()
			return x.mark[peer][name] >= w.state.MonitorGen(p)
		}
		told := events.Latest("wire", func(e *event.Envelope) (string, bool) {
			switch ev := e.Event.(type) {
			case event.ObjectOrchestrationAccepted:
				return "accepted " + ev.ID, ev.Node == name
			case event.ObjectOrchestrationEnd:
				return "ended " + ev.ID, ev.Node == name
			}
			return "", false
		})
		x.benches[name] = start(t, w, events)
		ended := x.benches[name].ended
		go func() {
			for {
				select {
				case <-told.C():
					for _, e := range told.Take() {
						w.state.Forward(e.Event)
					}
				case <-w.state.Changed():
					late := time.NewTimer(wireDelay)
					select {
					case <-late.C:
						x.tell(name)
					case <-ended:
						return
					}
				case <-ended:
					return
				}
			}
		}()
	}
	for _, from := range names {
		for _, to := range names {
			if from != to {
				x.benches[to].state.SetPeer(from, cluster.Peer{Beating: true, Heard: true, Synced: true})
			}
		}
		x.tell(from)
	}
	return x
}

// tell tells the others what is new of a node.
func (x *wire) tell(from string) {
	for _, to := range x.names {
		x.mu.Lock()
		since, cut := x.mark[to][from], x.cut[from] || x.cut[to]
		x.mu.Unlock()
		if from == to || cut {
			continue
		}
		entries, _, head, _ := x.benches[from].state.Delta(since, 1<<20)
		x.benches[to].state.Apply(from, entries)
		x.mu.Lock()
		x.mark[to][from] = head
		x.mu.Unlock()
	}
}

// lose cuts a node off: the others give it up.
func (x *wire) lose(name string) {
	x.mu.Lock()
	x.cut[name] = true
	for _, other := range x.names {
		x.mark[other][name] = 0
	}
	x.mu.Unlock()
	for _, other := range x.names {
		if other != name {
			x.benches[other].state.Forget(name)
			x.benches[other].state.SetPeer(name, cluster.Peer{Heard: true})
		}
	}
}

func (x *wire) jobs() map[string][]string {
	all := map[string][]string{}
	for name, b := range x.benches {
		if done := b.done(); len(done) > 0 {
			all[name] = done
		}
	}
	return all
}

func (x *wire) expect(t *testing.T, name string, jobs ...string) {
	t.Helper()
	if got := x.benches[name].done(); !slices.Equal(got, jobs) {
		t.Errorf("%s: %q, want %q; all: %q", name, got, jobs, x.jobs())
	}
}

func TestThreeDaemonsRunOneInstanceAndTakeItOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		x := newWire(t, []string{"n1", "n2", "n3"}, []string{"n1", "n2", "n3"}, "ha")
		pass(8 * time.Second) // virtual: the ready period and the start
		x.expect(t, "n1", "a start")
		x.expect(t, "n2")
		x.expect(t, "n3")

		began := time.Now()
		o := x.switchTo(t, "n3", "n2")
		if o.State != orchestrate.Succeeded {
			t.Errorf("%+v", o)
		}
		if took := time.Since(began); took > 2*time.Second+100*time.Millisecond {
			t.Errorf("the switch took %s, the stop and the start take 1s each", took)
		}
		x.expect(t, "n1", "a start", "a stop")
		x.expect(t, "n2", "a start")

		x.lose("n2")
		pass(10 * time.Second) // virtual
		x.expect(t, "n1", "a start", "a stop", "a start")
		x.expect(t, "n3")
	})
}

func (x *wire) switchTo(t *testing.T, from, to string) monitor.Orchestration {
	t.Helper()
	g := monitor.Goal{Expect: orchestrate.PlacedAt, Options: map[string]any{"destination": []string{to}}}
	b := x.benches[from]
	id, err := b.Orchestrate(t.Context(), svc("a"), g)
	if err != nil {
		t.Fatal(err)
	}
	o, err := b.Wait(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func TestAnyDaemonKnowsOfTheOrchestrationsOfTheOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		x := newWire(t, []string{"n1", "n2", "n3"}, []string{"n1", "n2"}, "no")
		pass(time.Second) // virtual
		id, err := x.benches["n2"].Orchestrate(t.Context(), svc("a"), monitor.Goal{Expect: orchestrate.Started})
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range x.names { // n3 has no instance, and may not have heard yet
			now, err := x.benches[name].Orchestration(id)
			if err != nil || now.State != monitor.Running || now.GlobalExpect != "started" {
				t.Errorf("%s: %+v, %v", name, now, err)
			}
		}
		for _, name := range x.names {
			end, err := x.benches[name].Wait(t.Context(), id)
			if err != nil || end.State != orchestrate.Succeeded || end.AcceptedBy != "n2" {
				t.Errorf("%s: %+v, %v", name, end, err)
			}
		}
		x.expect(t, "n1", "a start")
		var missing *object.NotFoundError
		if _, err := x.benches["n3"].Orchestrate(t.Context(), svc("a"), monitor.Goal{Expect: orchestrate.Stopped}); !errors.As(err, &missing) {
			t.Errorf("a node without an instance: %v", err)
		}
	})
}

func TestAnAbortEndsTheOrchestrationOnEveryDaemon(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		x := newWire(t, []string{"n1", "n2"}, []string{"n1", "n2"}, "no")
		pass(time.Second) // virtual
		x.benches["n1"].world.actFor(time.Minute)
		id, err := x.benches["n1"].Orchestrate(t.Context(), svc("a"), monitor.Goal{Expect: orchestrate.Started})
		if err != nil {
			t.Fatal(err)
		}
		pass(time.Second) // virtual
		if _, err := x.benches["n2"].Abort(t.Context(), svc("a")); err != nil {
			t.Fatal(err)
		}
		for name, b := range x.benches {
			if end, err := b.Wait(t.Context(), id); err != nil || end.State != orchestrate.GivenUp {
				t.Errorf("%s: %+v, %v", name, end, err)
			}
		}
	})
}

// remove asks n1 to delete a, and returns how that ended on every node.
func (x *wire) remove(t *testing.T) map[string]monitor.Orchestration {
	t.Helper()
	id, err := x.benches["n1"].Orchestrate(t.Context(), svc("a"), monitor.Goal{Expect: orchestrate.Deleted})
	if err != nil {
		t.Fatal(err)
	}
	ends := map[string]monitor.Orchestration{}
	for _, name := range x.names {
		x.benches[name].Orchestration(id) //nolint:errcheck // waits until it is known there
		if ends[name], err = x.benches[name].Wait(t.Context(), id); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	return ends
}

func TestADeletionEndsWithItsLastInstance(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		x := newWire(t, []string{"n1", "n2", "n3"}, []string{"n1", "n2", "n3"}, "no")
		pass(time.Second) // virtual
		x.benches["n2"].world.actFor(5 * time.Second)
		began := time.Now()
		for name, end := range x.remove(t) {
			if end.State != orchestrate.Succeeded {
				t.Errorf("%s: %+v", name, end)
			}
		}
		if took := time.Since(began); took < 5*time.Second {
			t.Errorf("the deletion took %s, that of n2 alone takes 5s", took)
		}
		for _, name := range x.names {
			if o := x.benches[name].state.View().Objects[svc("a")]; o != nil {
				t.Errorf("%s still knows of %+v", name, o)
			}
		}
	})
}

func TestADeletionThatFailsOnANodeHasFailed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		x := newWire(t, []string{"n1", "n2", "n3"}, []string{"n1", "n2", "n3"}, "no")
		pass(time.Second) // virtual
		x.benches["n2"].world.actFor(5 * time.Second)
		x.benches["n2"].world.fail("delete", true)
		for name, end := range x.remove(t) {
			if end.State != orchestrate.Failed || end.Reason == "" {
				t.Errorf("%s: %+v", name, end)
			}
		}
	})
}
