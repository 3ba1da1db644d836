// Package reinstall has the files of the local instances follow the keys they
// were installed from.
//
//	ConfigFileUpdated (of a cfg, sec or usr) -> which instances are outdated -> executor -> om <path> instance install
//
// What each resource read is in the record of its last install, so nothing is
// evaluated here. A change that came while the daemon was down is found when it
// starts. Only what was installed since the node booted, and not stopped since,
// is brought up to date.
package reinstall

import (
	"context"
	"log/slog"
	"strings"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/daemon/bus"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/executor"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/state"
	"github.com/holdfast-ops/holdfast/internal/om/event"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// Instances knows what the local instances installed; *instance.Engine does.
type Instances interface {
	Outdated(p object.Path) (rids []string, err error)
}

// Executor runs actions; *executor.Executor does.
type Executor interface {
	Submit(ctx context.Context, j executor.Job) (executor.IDs, error)
}

// Options are what a follower works with.
type Options struct {
	Bus       *bus.Bus
	State     *state.State
	Instances Instances
	Executor  Executor
	Log       *slog.Logger
	Ready     <-chan struct{} // closed once the instances are known
}

const (
	// coalesce is how long changes are gathered: a script changes many keys.
	coalesce = 10 * time.Millisecond
	// A failed install is tried again after firstRetry, then after twice as long
	// each time, as often as maxTries.
	firstRetry = 2 * time.Second
	maxTries   = 8
)

// Follower submits the installs.
type Follower struct {
	o      Options
	events *bus.Latest
	ended  chan object.Path

	// What follows belongs to the goroutine of Run.
	running map[object.Path]bool
	tries   map[object.Path]int
	later   map[object.Path]time.Time
}

// New returns a follower, which follows events from here on.
func New(o Options) *Follower {
	f := &Follower{
		o: o, ended: make(chan object.Path),
		running: map[object.Path]bool{}, tries: map[object.Path]int{}, later: map[object.Path]time.Time{},
	}
	f.events = o.Bus.Latest("reinstall", func(e *event.Envelope) (string, bool) {
		switch ev := e.Event.(type) {
		case event.ConfigFileUpdated:
			return e.Labels["path"], ev.Path.Kind.Stores()
		case event.ConfigFileRemoved:
			return e.Labels["path"], ev.Path.Kind.Stores()
		}
		return "", false
	})
	return f
}

// Run follows the keys until ctx ends.
func (f *Follower) Run(ctx context.Context) error {
	defer f.events.Close()
	select {
	case <-f.o.Ready:
	case <-ctx.Done():
		return nil
	}
	sweepAt := time.Now() // the first look is at what changed before
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-f.events.C():
			f.events.Take()
			clear(f.tries)
			clear(f.later)
			sweepAt = time.Now().Add(coalesce)
		case p := <-f.ended:
			delete(f.running, p)
			f.again(p)
		case <-timer.C:
			sweepAt = time.Time{}
			f.sweep(ctx)
		}
		if next := f.next(sweepAt); !next.IsZero() {
			timer.Reset(time.Until(next))
		}
	}
}

// next is when there is something to do: to look at all, or to try again.
func (f *Follower) next(next time.Time) time.Time {
	for _, at := range f.later {
		if next.IsZero() || at.Before(next) {
			next = at
		}
	}
	return next
}

func (f *Follower) sweep(ctx context.Context) {
	for p, o := range f.o.State.View().Objects {
		if _, here := o.Instances[f.o.State.Node()]; here && p.Kind.Runs() {
			f.look(ctx, p)
		}
	}
}

// look submits an install of what is outdated in an instance.
func (f *Follower) look(ctx context.Context, p object.Path) {
	if f.running[p] || ctx.Err() != nil {
		return // its end is another look
	}
	if at, waits := f.later[p]; waits && time.Now().Before(at) {
		return
	}
	delete(f.later, p)
	rids, err := f.o.Instances.Outdated(p)
	if err != nil {
		f.o.Log.Warn("the installed files do not follow their keys", slog.String("object", p.String()), slog.Any("err", err))
		return
	}
	if len(rids) == 0 || f.tries[p] >= maxTries {
		return
	}
	f.submit(ctx, p, rids)
}

// again has a look at an instance once its install ended: a key may have changed
// meanwhile, and an install that failed left everything outdated.
func (f *Follower) again(p object.Path) {
	rids, err := f.o.Instances.Outdated(p)
	if err != nil || len(rids) == 0 {
		delete(f.tries, p)
		return
	}
	f.tries[p]++
	if f.tries[p] == maxTries {
		f.o.Log.Warn("the installed files do not follow their keys: the install failed too often", slog.String("object", p.String()))
		return
	}
	f.later[p] = time.Now().Add(firstRetry << (f.tries[p] - 1))
}

func (f *Follower) submit(ctx context.Context, p object.Path, rids []string) {
	list := strings.Join(rids, ",")
	_, err := f.o.Executor.Submit(ctx, executor.Job{
		Path: p, Args: []string{"instance", "install", "--rid=" + list}, RID: list, Origin: executor.OriginInstall,
		Done: func(executor.Outcome) {
			// The callback must not wait, and the loop may have ended.
			go func() {
				select {
				case f.ended <- p:
				case <-ctx.Done():
				}
			}()
		},
	})
	if err != nil {
		f.o.Log.Warn("install the changed keys", slog.String("object", p.String()), slog.Any("err", err))
		return
	}
	f.running[p] = true
}
