package hook_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/holdfast-ops/holdfast/internal/host"
	"github.com/holdfast-ops/holdfast/internal/host/hosttest"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/bus"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/hook"
	"github.com/holdfast-ops/holdfast/internal/om/event"
	"github.com/holdfast-ops/holdfast/internal/om/store"
)

// recorder is a runner that remembers.
type recorder struct {
	mu   sync.Mutex
	ran  []string
	hold chan struct{} // a command waits for it
}

func (r *recorder) Run(ctx context.Context, c host.Cmd) (host.Output, error) {
	r.mu.Lock()
	hold := r.hold
	r.mu.Unlock()
	if hold != nil {
		select {
		case <-hold:
		case <-ctx.Done():
			return host.Output{}, ctx.Err()
		}
	}
	var e struct {
		Kind string `json:"kind"`
		Data struct {
			Node string `json:"node"`
		} `json:"data"`
	}
	if err := json.Unmarshal(c.Stdin, &e); err != nil {
		return host.Output{}, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ran = append(r.ran, strings.Join(c.Argv, " ")+" "+e.Kind+" "+e.Data.Node)
	if !slices.Contains(c.Env, "OPENSVC_EVENT="+e.Kind) || !slices.Contains(c.Env, "PATH=/bin") {
		r.ran = append(r.ran, "environment "+strings.Join(c.Env, " "))
	}
	return host.Output{}, nil
}

func (*recorder) Start(host.Cmd) (host.Process, error) { panic("not used") }

func (r *recorder) history() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	ran := r.ran
	r.ran = nil
	return ran
}

func configure(t *testing.T, h host.Host, conf string) {
	t.Helper()
	name := filepath.Join(h.Paths.Etc(), "node.conf")
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
}

// hooked runs the hooks of a configuration in a bubble.
func hooked(t *testing.T, conf string, f func(r *recorder, b *bus.Bus, change func(string))) {
	t.Helper()
	h := host.Host{Paths: hosttest.Paths(t), Hostname: "n1", Self: "om"}
	configure(t, h, conf)
	synctest.Test(t, func(t *testing.T) {
		b, r := bus.New("n1"), &recorder{}
		hooks := hook.New(hook.Options{Store: store.New(h, nil), Bus: b, Runner: r, Env: []string{"PATH=/bin"}, Log: slog.New(slog.DiscardHandler)})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- hooks.Run(ctx) }()
		synctest.Wait()
		f(r, b, func(conf string) {
			configure(t, h, conf)
			b.Publish(event.ConfigFileUpdated{})
			synctest.Wait()
		})
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func expect(t *testing.T, r *recorder, want ...string) {
	t.Helper()
	synctest.Wait()
	got := r.history()
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("ran %q, want %q", got, want)
	}
}

func TestACommandRunsForTheEventsOfItsHook(t *testing.T) {
	t.Parallel()
	hooked(t, "[hook#1]\nevents = NodeFrozen file_installed\ncommand = /bin/one 'a b'\n\n[hook#2]\nevents = all\ncommand = /bin/two\n\n[hook#bad]\nevents = Nosuch\ncommand = /bin/never\n", func(r *recorder, b *bus.Bus, change func(string)) {
		b.Publish(event.NodeFrozen{Node: "n1"})
		expect(t, r, "/bin/one a b NodeFrozen n1", "/bin/two NodeFrozen n1")
		b.Publish(event.FileInstalled{Node: "n1"})
		expect(t, r, "/bin/one a b FileInstalled n1", "/bin/two FileInstalled n1")
		b.Publish(event.NodeStatsUpdated{Node: "n1"})
		expect(t, r, "/bin/two NodeStatsUpdated n1")

		change("[hook#1]\nevents = NodeFrozen\ncommand = /bin/three\n")
		r.history()
		b.Publish(event.NodeFrozen{Node: "n1"})
		expect(t, r, "/bin/three NodeFrozen n1")
		b.Publish(event.NodeStatsUpdated{Node: "n1"})
		expect(t, r)
		change("")
		b.Publish(event.NodeFrozen{Node: "n1"})
		expect(t, r)
	})
}

func TestASlowHookHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	hooked(t, "[hook#1]\nevents = NodeFrozen\ncommand = /bin/one\n", func(r *recorder, b *bus.Bus, _ func(string)) {
		hold := make(chan struct{})
		r.mu.Lock()
		r.hold = hold
		r.mu.Unlock()
		for range 1000 {
			b.Publish(event.NodeFrozen{Node: "n1"})
			synctest.Wait()
		}
		close(hold)
		synctest.Wait()
		if n := len(r.history()); n < 2 || n > 200 {
			t.Errorf("%d commands ran", n)
		}
	})
}
