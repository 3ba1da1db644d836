package evaluate_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/bus"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/evaluate"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/state"
	"github.com/holdfast-ops/holdfast/internal/om/instance"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

func svc(name string) object.Path {
	return object.Path{Namespace: "root", Kind: object.KindSvc, Name: name}
}

// engine takes its time to evaluate, and counts.
type engine struct {
	takes time.Duration

	mu        sync.Mutex
	full      map[object.Path]int
	monitored map[object.Path]int
	running   map[object.Path]int
	overlap   bool
	stuck     map[object.Path]bool
	fails     error
	most      int // evaluations at once
}

func newEngine(takes time.Duration) *engine {
	return &engine{takes: takes, full: map[object.Path]int{}, monitored: map[object.Path]int{}, running: map[object.Path]int{}, stuck: map[object.Path]bool{}}
}

func (e *engine) Status(ctx context.Context, p object.Path, o instance.StatusOptions) (cluster.InstanceStatus, error) {
	e.mu.Lock()
	e.running[p]++
	e.overlap = e.overlap || e.running[p] > 1
	at := 0
	for _, n := range e.running {
		at += n
	}
	e.most = max(e.most, at)
	if o.MonitoredOnly {
		e.monitored[p]++
	} else {
		e.full[p]++
	}
	n, stuck, err := e.full[p], e.stuck[p], e.fails
	e.mu.Unlock()
	defer func() {
		e.mu.Lock()
		e.running[p]--
		e.mu.Unlock()
	}()
	if stuck {
		<-ctx.Done()
		return cluster.InstanceStatus{}, ctx.Err()
	}
	timer := time.NewTimer(e.takes)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return cluster.InstanceStatus{}, ctx.Err()
	}
	return cluster.InstanceStatus{Avail: cluster.Up, Scale: n, UpdatedAt: time.Now()}, err
}

func (e *engine) count(p object.Path) (full, monitored int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.full[p], e.monitored[p]
}

func run(t *testing.T, e *engine, o evaluate.Options, names ...string) (*evaluate.Pool, *state.State) {
	t.Helper()
	s := state.New("n1", bus.New("n1"))
	for _, name := range names {
		s.SetInstanceConfig(svc(name), "n1", cluster.InstanceConfig{})
	}
	o.Evaluator, o.State, o.Log = e, s, slog.New(slog.DiscardHandler)
	p := evaluate.New(o)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := p.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() { cancel(); wg.Wait() })
	return p, s
}

func TestRequestsMadeMeanwhileAreOneMoreEvaluation(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(time.Second)
		p, _ := run(t, e, evaluate.Options{Workers: 8}, "a")
		p.Request(svc("a"))
		synctest.Wait()
		for range 100 {
			p.Request(svc("a"))
		}
		if !p.Busy(svc("a")) {
			t.Error("not busy while evaluating")
		}

		pass(10 * time.Second) // virtual

		if full, _ := e.count(svc("a")); full != 2 || e.overlap {
			t.Errorf("%d evaluations, two at once: %v", full, e.overlap)
		}
		if p.Busy(svc("a")) {
			t.Error("busy with nothing to do")
		}
	})
}

// An action that ends tells what it left, while an evaluation still shows the midst of it.
func TestAnEvaluationDoesNotReplaceWhatCameMeanwhile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(time.Second)
		p, s := run(t, e, evaluate.Options{Workers: 8}, "a")
		told := make(chan cluster.Status, 1)
		p.Evaluate(svc("a"), func(error) { told <- s.View().Objects[svc("a")].Avail })
		pass(500 * time.Millisecond) // virtual: half way
		s.SetInstanceStatus(svc("a"), "n1", cluster.InstanceStatus{Avail: cluster.Down, UpdatedAt: time.Now()})

		pass(time.Second) // virtual: the first evaluation has ended

		if got := s.View().Objects[svc("a")].Avail; got != cluster.Down {
			t.Errorf("status %s, want the one that came meanwhile", got)
		}
		pass(time.Second) // virtual: and so has the next one

		if full, _ := e.count(svc("a")); full != 2 || <-told != cluster.Up || p.Busy(svc("a")) {
			t.Errorf("%d evaluations, want another one, that is awaited", full)
		}
	})
}

func TestAwaitSeesAnEvaluationThatBeganAfterIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(time.Second)
		p, s := run(t, e, evaluate.Options{}, "a")
		p.Request(svc("a"))
		pass(500 * time.Millisecond) // virtual: the first is half way

		if err := p.Await(t.Context(), svc("a")); err != nil {
			t.Fatal(err)
		}

		if got := s.View().Objects[svc("a")].Instances["n1"].Status; got == nil || got.Scale != 2 {
			t.Errorf("the view has %+v, want the second evaluation", got)
		}
	})
}

func TestTheMonitoredResourcesAloneUnlessMoreIsAskedFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(time.Second)
		p, _ := run(t, e, evaluate.Options{}, "a", "b")
		p.RequestMonitored(svc("a"))
		synctest.Wait()
		p.RequestMonitored(svc("a"))
		p.RequestMonitored(svc("b"))
		synctest.Wait()
		p.Request(svc("b"))
		p.RequestMonitored(svc("b"))

		pass(time.Minute) // virtual

		if full, monitored := e.count(svc("a")); full != 0 || monitored != 2 {
			t.Errorf("a: %d evaluations, %d of the monitored resources", full, monitored)
		}
		if full, monitored := e.count(svc("b")); full != 1 || monitored != 1 {
			t.Errorf("b: %d evaluations, %d of the monitored resources", full, monitored)
		}
	})
}

func TestAStuckDriverHoldsUpNobodyElse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(time.Millisecond)
		e.stuck[svc("a")] = true
		p, s := run(t, e, evaluate.Options{Workers: 2, Timeout: time.Minute}, "a", "b")
		p.Request(svc("a"))
		synctest.Wait()

		if err := p.Await(t.Context(), svc("b")); err != nil {
			t.Fatal(err)
		}
		err := p.Await(t.Context(), svc("a"))

		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the stuck one: %v", err)
		}
		if s.View().Objects[svc("a")].Instances["n1"].Status != nil {
			t.Error("an evaluation that failed gave a status")
		}
	})
}

func TestAStatusOfAnUnknownInstanceIsNotKept(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, s := run(t, newEngine(0), evaluate.Options{})
		if err := p.Await(t.Context(), svc("ghost")); !errors.Is(err, evaluate.ErrUnknown) {
			t.Errorf("error %v", err)
		}
		if len(s.View().Objects) != 0 {
			t.Errorf("%v", s.View().Objects)
		}
	})
}

func TestAFailedEvaluationKeepsTheLastStatus(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(0)
		p, s := run(t, e, evaluate.Options{}, "a")
		if err := p.Await(t.Context(), svc("a")); err != nil {
			t.Fatal(err)
		}
		e.mu.Lock()
		e.fails = errors.New("cannot")
		e.mu.Unlock()
		if err := p.Await(t.Context(), svc("a")); err == nil {
			t.Error("no error")
		}
		if got := s.View().Objects[svc("a")].Instances["n1"].Status; got == nil || got.Avail != cluster.Up {
			t.Errorf("%+v", got)
		}
	})
}

func TestFiveHundredInstancesShareTheWorkers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(10 * time.Millisecond)
		var names []string
		for i := range 500 {
			names = append(names, fmt.Sprintf("s%d", i))
		}
		p, s := run(t, e, evaluate.Options{Workers: 8}, names...)
		began := time.Now()
		var wg sync.WaitGroup
		for _, name := range names {
			wg.Add(1)
			p.Evaluate(svc(name), func(err error) {
				defer wg.Done()
				if err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()

		if e.most != 8 {
			t.Errorf("%d at once, there are 8 workers", e.most)
		}
		if took := time.Since(began); took > 700*time.Millisecond {
			t.Errorf("took %s", took)
		}
		for _, o := range s.View().Objects {
			if o.Avail != cluster.Up {
				t.Fatalf("%+v", o)
			}
		}
	})
}

// pass lets virtual time go by.
func pass(d time.Duration) { <-time.NewTimer(d).C }
