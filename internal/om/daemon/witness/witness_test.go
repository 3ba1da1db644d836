package witness_test

import (
	"context"
	"log/slog"
	"syscall"
	"testing"

	"github.com/holdfast-ops/holdfast/internal/host"
	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/bus"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/witness"
	"github.com/holdfast-ops/holdfast/internal/om/event"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

type requests chan object.Path

func (r requests) Request(p object.Path) { r <- p }

func svc(name string) object.Path {
	return object.Path{Namespace: "root", Kind: object.KindSvc, Name: name}
}

// status is that of an instance whose processes have these pids.
func status(name string, pids ...any) event.InstanceStatusUpdated {
	s := cluster.InstanceStatus{Resources: map[string]cluster.ResourceStatus{"fs#1": {}}}
	for i, pid := range pids {
		s.Resources[string(rune('a'+i))] = cluster.ResourceStatus{Info: map[string]any{"pid": pid}}
	}
	return event.InstanceStatusUpdated{Path: svc(name), Node: "n1", Status: s}
}

func TestTheEndOfAProcessIsLookedAt(t *testing.T) {
	t.Parallel()
	b, asked := bus.New("n1"), make(requests)
	w := witness.New(witness.Options{Bus: b, Evaluate: asked, Log: slog.New(slog.DiscardHandler)})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	processes := make([]host.Process, 3)
	kill := func(i int) {
		if err := syscall.Kill(processes[i].Pid(), syscall.SIGKILL); err != nil {
			t.Error(err)
		}
		_ = processes[i].Wait()
	}
	for i := range processes {
		p, err := host.NewRunner().Start(host.Cmd{Argv: []string{"/bin/sleep", "1000"}})
		if err != nil {
			t.Fatal(err)
		}
		processes[i] = p
	}

	b.Publish(status("a", processes[0].Pid(), float64(processes[1].Pid())))
	b.Publish(status("b", processes[2].Pid()))
	for _, c := range []struct {
		process int
		want    string
	}{{1, "a"}, {2, "b"}, {0, "a"}} {
		kill(c.process)
		if got := <-asked; got != svc(c.want) {
			t.Errorf("the end of a process of %s: %s is looked at", c.want, got)
		}
	}

	b.Publish(status("c", processes[0].Pid())) // ended before it was followed
	if got := <-asked; got != svc("c") {
		t.Errorf("got %s", got)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestWhatAnInstanceNoLongerHasIsNotFollowed(t *testing.T) {
	t.Parallel()
	b, asked := bus.New("n1"), make(requests)
	w := witness.New(witness.Options{Bus: b, Evaluate: asked, Log: slog.New(slog.DiscardHandler)})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	var pids []int
	for range 2 {
		p, err := host.NewRunner().Start(host.Cmd{Argv: []string{"/bin/sleep", "1000"}})
		if err != nil {
			t.Fatal(err)
		}
		pids = append(pids, p.Pid())
		defer func() { _ = syscall.Kill(p.Pid(), syscall.SIGKILL); _ = p.Wait() }()
	}

	b.Publish(status("a", pids[0]))
	b.Publish(status("a"))
	b.Publish(status("b", 0, "text", nil))
	b.Publish(event.InstanceStatusDeleted{Path: svc("b"), Node: "n1"})
	cancel()
	if err := <-done; err != nil || len(asked) > 0 {
		t.Errorf("%v, asked %d", err, len(asked))
	}
}
