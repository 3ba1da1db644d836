// Package evaluate keeps the status of the local instances fresh, in the daemon
// itself: no process is started for it.
//
// A pool of workers evaluates what was requested, one evaluation at a time per
// instance: requests made meanwhile are one more evaluation. The scheduler requests
// those that are made periodically.
package evaluate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/standing"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/state"
	"github.com/holdfast-ops/holdfast/internal/om/instance"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// Defaults of [Options].
const (
	defaultTimeout = 2 * time.Minute
)

// Evaluator evaluates the status of a local instance; *instance.Engine is one.
type Evaluator interface {
	Status(ctx context.Context, p object.Path, o instance.StatusOptions) (cluster.InstanceStatus, error)
}

// Options are what a pool works with.
type Options struct {
	Evaluator Evaluator
	State     *state.State
	Log       *slog.Logger
	Workers   int           // 0: four per processor, so that slow drivers do not hold up the others
	Timeout   time.Duration // of one evaluation; 0: two minutes
}

// Pool evaluates instances. Its methods are safe for concurrent use.
type Pool struct {
	o    Options
	work chan struct{} // one token per waiting path, at most

	mu      sync.Mutex
	jobs    map[object.Path]*job
	waiting []object.Path // first come

	conditions standing.Conditions // why instances are not evaluated
}

// job is what is known of the evaluations of an instance.
type job struct {
	queued    bool
	running   bool
	again     bool // requested while running
	monitored bool // the queued evaluation may leave out what is not monitored
	waiters   []func(error)
	next      []func(error) // of the evaluation asked for while one runs
}

// New returns a pool. Nothing is evaluated before [Pool.Run].
func New(o Options) *Pool {
	o.Workers = cmp.Or(o.Workers, 4*runtime.GOMAXPROCS(0))
	o.Timeout = cmp.Or(o.Timeout, defaultTimeout)
	return &Pool{o: o, jobs: map[object.Path]*job{}, work: make(chan struct{}, o.Workers)}
}

// Run evaluates until ctx ends.
func (p *Pool) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	for range p.o.Workers {
		g.Go(func() error { p.serve(ctx); return nil })
	}
	return g.Wait()
}

// Request asks for an evaluation of the whole instance, soon.
func (p *Pool) Request(path object.Path) { p.request(path, false, nil) }

// RequestMonitored asks for an evaluation of the monitored resources, soon.
func (p *Pool) RequestMonitored(path object.Path) { p.request(path, true, nil) }

// Evaluate asks for an evaluation that begins after the call, and calls done
// once its result is in the view. The function must not wait. It is not called
// when the pool ends before.
func (p *Pool) Evaluate(path object.Path, done func(error)) { p.request(path, false, done) }

// Await is [Pool.Evaluate], waiting for the result.
func (p *Pool) Await(ctx context.Context, path object.Path) error {
	done := make(chan error, 1)
	p.Evaluate(path, func(err error) { done <- err })
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return fmt.Errorf("wait for the status of %s: %w", path, ctx.Err())
	}
}

// Busy reports whether an evaluation of the instance is due or running.
func (p *Pool) Busy(path object.Path) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	j := p.jobs[path]
	return j != nil && (j.queued || j.running)
}

func (p *Pool) request(path object.Path, monitored bool, done func(error)) {
	p.mu.Lock()
	j := p.jobs[path]
	if j == nil {
		j = &job{}
		p.jobs[path] = j
	}
	switch {
	case j.running:
		j.monitored = monitored && (j.monitored || !j.again)
		j.again = true
		if done != nil {
			j.next = append(j.next, done)
		}
	case j.queued:
		j.monitored = j.monitored && monitored
		if done != nil {
			j.waiters = append(j.waiters, done)
		}
	default:
		j.queued, j.monitored = true, monitored
		if done != nil {
			j.waiters = append(j.waiters, done)
		}
		p.waiting = append(p.waiting, path)
	}
	p.mu.Unlock()
	p.offer()
}

// offer wakes a worker, if one is idle: a busy one looks at the queue before it
// goes idle.
func (p *Pool) offer() {
	select {
	case p.work <- struct{}{}:
	default:
	}
}

func (p *Pool) serve(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.work:
		}
		for ctx.Err() == nil {
			path, j, options, ok := p.take()
			if !ok {
				break
			}
			p.finish(path, j, p.evaluate(ctx, path, options))
		}
	}
}

func (p *Pool) take() (object.Path, *job, instance.StatusOptions, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.waiting) == 0 {
		return object.Path{}, nil, instance.StatusOptions{}, false
	}
	path := p.waiting[0]
	p.waiting[0] = object.Path{}
	p.waiting = p.waiting[1:]
	j := p.jobs[path]
	j.queued, j.running = false, true
	return path, j, instance.StatusOptions{Refresh: true, MonitoredOnly: j.monitored}, true
}

func (p *Pool) evaluate(ctx context.Context, path object.Path, o instance.StatusOptions) error {
	limited, cancel := context.WithTimeout(ctx, p.o.Timeout)
	defer cancel()
	began, was := time.Now(), p.status(path)
	status, err := p.o.Evaluator.Status(limited, path, o)
	if err != nil {
		if ctx.Err() == nil && p.known(path) && p.conditions.News(path.String(), err.Error()) {
			p.o.Log.Warn("evaluate status", slog.String("object", path.String()), slog.Any("err", err))
		}
		return fmt.Errorf("evaluate the status of %s: %w", path, err)
	}
	p.conditions.Over(path.String())
	p.o.Log.Debug("evaluate status", slog.String("object", path.String()), slog.Duration("dur", time.Since(began)))
	known, overtaken := p.o.State.RenewInstanceStatus(path, p.o.State.Node(), was, status)
	switch {
	case !known:
		return fmt.Errorf("evaluate the status of %s: %w", path, ErrUnknown)
	case overtaken:
		return errOvertaken
	}
	return nil
}

// errOvertaken says that an action told the status of the instance during its
// evaluation, which may have seen it in the midst of the action: it is made again.
var errOvertaken = errors.New("another status came meanwhile")

func (p *Pool) status(path object.Path) *cluster.InstanceStatus {
	o := p.o.State.View().Objects[path]
	if o == nil {
		return nil
	}
	return o.Instances[p.o.State.Node()].Status
}

// ErrUnknown says that the daemon knows no such instance.
var ErrUnknown = errors.New("no such instance on this node")

func (p *Pool) known(path object.Path) bool {
	o := p.o.State.View().Objects[path]
	if o == nil {
		return false
	}
	_, ok := o.Instances[p.o.State.Node()]
	return ok
}

func (p *Pool) finish(path object.Path, j *job, err error) {
	p.mu.Lock()
	if errors.Is(err, errOvertaken) {
		j.again, j.monitored = true, false
		j.next, j.waiters = append(j.waiters, j.next...), nil
	}
	done := j.waiters
	j.running, j.waiters = false, nil
	if j.again {
		j.again, j.queued = false, true
		j.waiters, j.next = j.next, nil
		p.waiting = append(p.waiting, path)
	} else {
		delete(p.jobs, path)
	}
	p.mu.Unlock()
	for _, c := range done {
		c(err)
	}
}
