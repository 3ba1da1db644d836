package reinstall_test

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/bus"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/executor"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/reinstall"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/state"
	"github.com/holdfast-ops/holdfast/internal/om/event"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

func svc(name string) object.Path {
	return object.Path{Namespace: "root", Kind: object.KindSvc, Name: name}
}

func cfg() object.Path { return object.Path{Namespace: "root", Kind: object.KindCfg, Name: "app"} }

// node is what installs, and what is outdated of it.
type node struct {
	mu       sync.Mutex
	outdated map[object.Path][]string
	ran      []string
	fails    int // installs that fail first
	takes    time.Duration
	during   func() // called once, in the midst of an install
}

func (n *node) Outdated(p object.Path) ([]string, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.outdated[p], nil
}

func (n *node) set(p object.Path, rids ...string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.outdated[p] = rids
}

func (n *node) Submit(_ context.Context, j executor.Job) (executor.IDs, error) {
	go func() {
		n.mu.Lock()
		n.ran = append(n.ran, j.Path.String()+" "+strings.Join(j.Args, " "))
		failed := n.fails > 0
		if failed {
			n.fails--
		} else {
			delete(n.outdated, j.Path)
		}
		during := n.during
		n.during = nil
		n.mu.Unlock()
		time.Sleep(n.takes) //nolint:forbidigo // virtual
		if during != nil {
			during()
		}
		var err error
		if failed {
			err = errors.New("no luck")
		}
		j.Done(executor.Outcome{Err: err})
	}()
	return executor.IDs{}, nil
}

func (n *node) history() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	ran := n.ran
	n.ran = nil
	return ran
}

// follow runs a follower of two instances in a bubble; changed tells it that a key
// changed.
func follow(t *testing.T, n *node, f func(changed func())) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := bus.New("n1")
		s := state.New("n1", b)
		for _, p := range []object.Path{svc("a"), svc("b"), cfg()} {
			s.SetInstanceConfig(p, "n1", cluster.InstanceConfig{Path: p})
		}
		s.SetInstanceConfig(svc("elsewhere"), "n2", cluster.InstanceConfig{Path: svc("elsewhere")})
		ready := make(chan struct{})
		follower := reinstall.New(reinstall.Options{Bus: b, State: s, Instances: n, Executor: n, Log: slog.New(slog.DiscardHandler), Ready: ready})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- follower.Run(ctx) }()
		synctest.Wait()
		if n.history() != nil {
			t.Error("something ran before the instances were known")
		}
		close(ready)
		synctest.Wait()
		f(func() { b.Publish(event.ConfigFileUpdated{Path: cfg()}) })
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func pass(d time.Duration) {
	time.Sleep(d) //nolint:forbidigo // virtual
	synctest.Wait()
}

func TestWhatIsOutdatedIsInstalled(t *testing.T) {
	t.Parallel()
	n := &node{outdated: map[object.Path][]string{svc("a"): {"fs#1", "fs#2"}, svc("elsewhere"): {"fs#1"}}}
	follow(t, n, func(changed func()) {
		pass(time.Second)
		if diff := cmp.Diff([]string{"a instance install --rid=fs#1,fs#2"}, n.history()); diff != "" {
			t.Error("at the start:", diff)
		}
		n.set(svc("b"), "fs#1")
		changed()
		changed()
		pass(time.Second)
		if diff := cmp.Diff([]string{"b instance install --rid=fs#1"}, n.history()); diff != "" {
			t.Error("after a change:", diff)
		}
		changed()
		pass(time.Hour)
		if ran := n.history(); ran != nil {
			t.Errorf("nothing is outdated, %v", ran)
		}
	})
}

func TestAChangeDuringAnInstallIsAnotherInstall(t *testing.T) {
	t.Parallel()
	n := &node{outdated: map[object.Path][]string{svc("a"): {"fs#1"}}, takes: time.Minute}
	n.during = func() { n.set(svc("a"), "fs#1") }
	follow(t, n, func(changed func()) {
		pass(30 * time.Second)
		changed()
		pass(time.Second)
		if ran := n.history(); len(ran) != 1 {
			t.Errorf("two installs at once: %v", ran)
		}
		pass(5 * time.Minute)
		if ran := n.history(); len(ran) != 1 {
			t.Errorf("the change is lost, or installed for ever: %v", ran)
		}
	})
}

func TestAFailedInstallIsTriedAgainAndGivenUp(t *testing.T) {
	t.Parallel()
	n := &node{outdated: map[object.Path][]string{svc("a"): {"fs#1"}}, fails: 3}
	follow(t, n, func(changed func()) {
		pass(time.Hour)
		if ran := n.history(); len(ran) != 4 {
			t.Errorf("%d installs, want 3 that fail and one", len(ran))
		}
		n.mu.Lock()
		n.fails = 1000
		n.outdated = maps.Clone(map[object.Path][]string{svc("b"): {"fs#1"}})
		n.mu.Unlock()
		changed()
		pass(24 * time.Hour)
		tried := len(n.history())
		if tried < 2 || tried > 20 {
			t.Errorf("%d installs of what always fails", tried)
		}
		changed()
		pass(time.Second)
		if ran := n.history(); len(ran) != 1 {
			t.Errorf("another change is another try: %v", ran)
		}
	})
}
