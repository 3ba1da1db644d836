// Package scheduler runs by itself what configurations say to run at some time,
// or when something happens: the jobs of the node and those of its instances.
//
//	state (configurations) -> jobs -> heap of what is due -> run -> stamps on disk
//	bus   (events)         -> triggered ------------------/    \-> executor, evaluate
//
// When a job is due is for package schedule to say. What this one adds:
//
//   - a job is marked before it runs, on disk, so that a restart never runs it
//     twice; what came due while nobody was there is made up for, see
//     [schedule.Schedule.Due]. The statuses are not marked: a daemon that starts
//     evaluates them all;
//   - a job that is due and may not run waits, and says what for: the instance is
//     not provisioned, a task of a failover object runs where the object is up,
//     run_requires, an action or an orchestration in progress, as many runs as
//     max_parallel, a node that is in maintenance, drained, or ends;
//   - a failed run is left alone as long as snooze says;
//   - a job with events runs when one comes, two runs five seconds apart at
//     least. What comes during an action or an orchestration is for after it; what
//     comes while the job may not run for another reason is forgotten.
//
// There is one goroutine. It wakes up when the next job is due, to the second, and
// every half minute to see whether the clock was set.
package scheduler

import (
	"context"
	"log/slog"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-ops/holdfast/internal/host"
	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/bus"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/executor"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/standing"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/state"
	"github.com/holdfast-ops/holdfast/internal/om/event"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/resource/stamp"
)

const (
	lookEvery   = 30 * time.Second // however far the next job is
	seenEvery   = time.Minute      // how often it is written down that the daemon looks
	triggerGap  = 5 * time.Second  // between two runs by events
	informLimit = 5 * time.Minute  // of one collection of resource info
	informers   = 2                // collections at once
	clockError  = time.Second      // less is no clock that was set
)

// Evaluator evaluates instances, soon; *evaluate.Pool is one.
type Evaluator interface {
	Request(p object.Path)
	RequestMonitored(p object.Path)
}

// Submitter runs actions in child processes; *executor.Executor is one.
type Submitter interface {
	Submit(ctx context.Context, j executor.Job) (executor.IDs, error)
}

// Options are what a scheduler works with.
type Options struct {
	Paths    host.Paths
	State    *state.State
	Bus      *bus.Bus
	Log      *slog.Logger
	Evaluate Evaluator
	Executor Submitter
	// Inform collects the key-values of the resources of an instance.
	Inform func(ctx context.Context, p object.Path) error
	// NodeJobs are the command lines of the jobs of the node, by action. A job
	// without one is not run.
	NodeJobs map[string][]string
	// Now tells the time of the clock; time.Now when nil.
	Now func() time.Time
}

// Scheduler runs jobs. Its methods are safe for concurrent use.
type Scheduler struct {
	o    Options
	wake chan struct{}

	informs    *queue
	uninformed standing.Conditions             // why resource info is not collected
	kinds      atomic.Pointer[map[string]bool] // of the events that trigger jobs

	mu      sync.Mutex
	jobs    map[object.Path][]*job // the zero path is the node
	due     dues
	waiting map[*job]struct{}  // due, and held back
	pending map[*job]time.Time // triggered, and when it may run
	since   time.Time          // what was due before was looked after before
	look    struct {           // the last one
		wall, steady   time.Time
		seen, retested time.Time
	}
}

// New returns a scheduler. Nothing runs before [Scheduler.Run].
func New(o Options) *Scheduler {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Scheduler{
		o: o, wake: make(chan struct{}, 1), informs: newQueue(),
		jobs: map[object.Path][]*job{}, waiting: map[*job]struct{}{}, pending: map[*job]time.Time{},
	}
}

// Run runs jobs until ctx ends. What runs then is left running.
func (s *Scheduler) Run(ctx context.Context) error {
	changes := s.o.Bus.Latest("scheduler", changed)
	defer changes.Close()
	happened := s.o.Bus.Subscribe("scheduler triggers", s.wanted)
	defer happened.Close()
	var workers sync.WaitGroup
	defer workers.Wait()
	for range informers {
		workers.Go(func() { s.inform(ctx) })
	}
	s.start()

	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		timer.Reset(s.tick(ctx))
		select {
		case <-ctx.Done():
			s.seen(s.now())
			return nil
		case <-timer.C:
		case <-s.wake:
		case <-changes.C():
			s.take(changes.Take())
		case e := <-happened.C():
			s.happened(e)
		}
	}
}

func (s *Scheduler) now() time.Time { return s.o.Now().Round(0) }

// changed are the events that change what is due, or may run.
func changed(e *event.Envelope) (string, bool) {
	switch e.Event.(type) {
	case event.InstanceConfigUpdated, event.InstanceConfigDeleted:
		return "config " + e.Labels["node"] + " " + e.Labels["path"], true
	case event.InstanceStatusUpdated:
		return "status " + e.Labels["node"] + " " + e.Labels["path"], true
	case event.InstanceMonitorUpdated:
		return "monitor " + e.Labels["node"] + " " + e.Labels["path"], true
	case event.NodeConfigUpdated:
		return "node config " + e.Labels["node"], true
	case event.NodeMonitorUpdated:
		return "node monitor " + e.Labels["node"], true
	}
	return "", false
}

// start arms what the view has already.
func (s *Scheduler) start() {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	s.since = s.lastSeen(now)
	s.look.wall, s.look.steady = now, time.Now()
	view := s.o.State.View()
	s.setNode(view, now)
	for p := range view.Objects {
		s.setInstance(view, p, now)
	}
}

// take takes note of changes.
func (s *Scheduler) take(events []*event.Envelope) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now, self := s.now(), s.o.State.Node()
	view := s.o.State.View()
	for _, e := range events {
		if e.Labels["node"] != self {
			continue
		}
		switch ev := e.Event.(type) {
		case event.InstanceConfigUpdated:
			s.setInstance(view, ev.Path, now)
		case event.InstanceConfigDeleted:
			s.setInstance(view, ev.Path, now)
		case event.NodeConfigUpdated:
			s.setNode(view, now)
		case event.InstanceStatusUpdated:
			s.retry(ev.Path)
		case event.InstanceMonitorUpdated:
			s.retry(ev.Path)
		case event.NodeMonitorUpdated:
			for j := range s.waiting {
				s.rearm(j)
			}
		}
	}
}

// retry looks again at the jobs of an instance that wait.
func (s *Scheduler) retry(p object.Path) {
	for _, j := range s.jobs[p] {
		if _, waits := s.waiting[j]; waits {
			s.rearm(j)
		}
	}
}

// rearm puts a job that waits back among what is due: it was.
func (s *Scheduler) rearm(j *job) {
	delete(s.waiting, j)
	s.due.set(j)
}

// stamps are those of an object, of the node for the zero path.
func (s *Scheduler) stamps(p object.Path) stamp.Stamps { return stamp.In(s.stateDir(p)) }

func (s *Scheduler) stateDir(p object.Path) string {
	if p.IsZero() {
		return filepath.Join(s.o.Paths.Var(), "node")
	}
	return filepath.Join(s.o.Paths.Var(), filepath.FromSlash(p.StateDir()))
}

// seenJob is the stamp of the last look: what came due since was missed.
const seenJob = "look"

func (s *Scheduler) seen(now time.Time) {
	if err := s.stamps(object.Path{}).Mark(seenJob, now); err != nil {
		s.o.Log.Debug("the last look of the scheduler", slog.Any("err", err))
	}
}

// lastSeen is when a daemon last looked, now when none ever did.
func (s *Scheduler) lastSeen(now time.Time) time.Time {
	at, _, err := s.stamps(object.Path{}).Last(seenJob)
	if err != nil || at.IsZero() || at.After(now) {
		return now
	}
	return at
}

// Schedule lists the jobs of an object on this node, those of the node for the
// zero path.
func (s *Scheduler) Schedule(p object.Path) []cluster.Schedule {
	s.mu.Lock()
	defer s.mu.Unlock()
	view := s.o.State.View()
	switch {
	case s.since.IsZero(): // not started
	case p.IsZero():
		s.setNode(view, s.now())
	default:
		s.setInstance(view, p, s.now()) // what was just written may not have been told yet
	}
	list := make([]cluster.Schedule, 0, len(s.jobs[p]))
	for _, j := range s.jobs[p] {
		if s.refresh(j) {
			s.arm(j, s.now())
		}
		last := j.last
		if at := evaluated(view, j, s.o.State.Node()); at.After(last) {
			last = at
		}
		item := cluster.Schedule{ScheduleConfig: j.config, LastRunAt: last, LastSuccessAt: j.success, NextRunAt: j.next}
		if at, triggered := s.pending[j]; triggered {
			item.NextRunAt = at
		}
		switch {
		case j.config.Unavailable != "":
			item.NextRunAt = time.Time{}
		case j.armed():
			if item.Waits = s.held(view, j); item.Waits != "" {
				item.NextRunAt = time.Time{}
			}
		}
		list = append(list, item)
	}
	return list
}

// evaluated is when the status was last evaluated, for the jobs that do it:
// whoever did.
func evaluated(view *cluster.View, j *job, node string) time.Time {
	if j.config.Action != cluster.JobStatus && j.config.Action != cluster.JobMonitor {
		return time.Time{}
	}
	if o := view.Objects[j.path]; o != nil {
		if status := o.Instances[node].Status; status != nil {
			return status.UpdatedAt
		}
	}
	return time.Time{}
}
