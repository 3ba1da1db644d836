// Package witness has an instance evaluated at once when one of its processes
// ends, rather than at the next periodic evaluation.
//
//	InstanceStatusUpdated (info.pid of its resources) -> pidfd -> its end -> Request
//
// What tells no process is left to the periodic evaluations.
package witness

import (
	"context"
	"errors"
	"log/slog"
	"slices"

	"github.com/holdfast-ops/holdfast/internal/linux/proc"
	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/bus"
	"github.com/holdfast-ops/holdfast/internal/om/event"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// Evaluator evaluates instances; *evaluate.Pool is one.
type Evaluator interface {
	Request(p object.Path)
}

// Options are what a witness works with.
type Options struct {
	Bus      *bus.Bus
	Evaluate Evaluator
	Log      *slog.Logger
}

// Witness follows the processes of the local instances.
type Witness struct {
	o      Options
	events *bus.Latest

	// What follows belongs to the goroutine of Run.
	pids  map[object.Path][]int
	users map[int]map[object.Path]bool
}

// New returns a witness, which follows events from here on.
func New(o Options) *Witness {
	w := &Witness{o: o, pids: map[object.Path][]int{}, users: map[int]map[object.Path]bool{}}
	w.events = o.Bus.Latest("witness", func(e *event.Envelope) (string, bool) {
		switch e.Event.(type) {
		case event.InstanceStatusUpdated, event.InstanceStatusDeleted:
			return e.Labels["path"], e.Labels["node"] == o.Bus.Node()
		}
		return "", false
	})
	return w
}

// Run follows processes until ctx ends. A kernel that cannot tell their ends is no
// failure: the periodic evaluations notice them, later.
func (w *Witness) Run(ctx context.Context) error {
	defer w.events.Close()
	if err := w.run(ctx); err != nil {
		w.o.Log.Warn("the ends of processes are noticed by the periodic evaluations only", slog.Any("err", err))
	}
	<-ctx.Done()
	return nil
}

func (w *Witness) run(ctx context.Context) error {
	deaths, err := proc.NewDeaths()
	if err != nil {
		return err
	}
	ended := make(chan []int)
	failed := make(chan error, 1)
	go func() { failed <- tell(ctx, deaths, ended) }()
	for {
		select {
		case <-ctx.Done():
			return errors.Join(<-failed, deaths.Close())
		case err := <-failed:
			return errors.Join(err, deaths.Close())
		case <-w.events.C():
			for _, e := range w.events.Take() {
				w.take(deaths, e)
			}
		case pids := <-ended:
			for _, pid := range pids {
				w.died(pid)
			}
		}
	}
}

// tell sends what ended until ctx ends, which is no failure.
func tell(ctx context.Context, deaths *proc.Deaths, ended chan<- []int) error {
	for ctx.Err() == nil {
		pids, err := deaths.Next(ctx)
		switch {
		case errors.Is(err, context.Canceled):
			return nil
		case err != nil:
			return err
		}
		select {
		case ended <- pids:
		case <-ctx.Done():
		}
	}
	return nil
}

// take follows the processes a status tells, and no others of that instance.
func (w *Witness) take(deaths *proc.Deaths, e *event.Envelope) {
	switch ev := e.Event.(type) {
	case event.InstanceStatusUpdated:
		w.follow(deaths, ev.Path, processes(ev.Status))
	case event.InstanceStatusDeleted:
		w.follow(deaths, ev.Path, nil)
	}
}

func (w *Witness) follow(deaths *proc.Deaths, p object.Path, pids []int) {
	old := w.pids[p]
	if w.pids[p] = pids; len(pids) == 0 {
		delete(w.pids, p)
	}
	for _, pid := range old {
		if slices.Contains(pids, pid) {
			continue
		}
		if delete(w.users[pid], p); len(w.users[pid]) == 0 {
			delete(w.users, pid)
			deaths.Remove(pid)
		}
	}
	for _, pid := range pids {
		if w.users[pid] == nil {
			w.users[pid] = map[object.Path]bool{}
		}
		w.users[pid][p] = true
		switch err := deaths.Add(pid); {
		case errors.Is(err, proc.ErrGone): // between its evaluation and here
			w.died(pid)
		case err != nil:
			w.o.Log.Debug("follow a process", slog.String("object", p.String()), slog.Any("err", err))
		}
	}
}

// died has the instances of a process evaluated.
func (w *Witness) died(pid int) {
	for p := range w.users[pid] {
		w.o.Log.Debug("a process ended", slog.String("object", p.String()), slog.Int("pid", pid))
		w.o.Evaluate.Request(p)
	}
	delete(w.users, pid)
}

// processes are the main processes of the resources of an instance.
func processes(s cluster.InstanceStatus) []int {
	var pids []int
	for _, r := range s.Resources {
		pid := 0
		switch v := r.Info["pid"].(type) {
		case int:
			pid = v
		case float64: // told by a command
			pid = int(v)
		}
		if pid > 0 {
			pids = append(pids, pid)
		}
	}
	return pids
}
