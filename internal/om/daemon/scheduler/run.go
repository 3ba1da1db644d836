package scheduler

import (
	"context"
	"log/slog"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/executor"
	"github.com/holdfast-ops/holdfast/internal/om/event"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// tick runs what is due, and tells how long to wait for the next.
func (s *Scheduler) tick(ctx context.Context) time.Duration {
	s.mu.Lock()
	now := s.now()
	s.watchClock(now)
	if now.Sub(s.look.seen).Abs() >= seenEvery {
		s.seen(now)
		s.look.seen = now
	}
	if now.Sub(s.look.retested).Abs() >= lookEvery {
		s.look.retested = now
		for j := range s.waiting {
			s.rearm(j)
		}
	}
	runs := s.triggeredRuns(s.dueRuns(nil, now), now)
	wait := s.wait(now)
	s.mu.Unlock()

	for _, j := range runs {
		s.launch(ctx, j)
	}
	return wait
}

// watchClock plans everything again when the clock was set back: what was due at
// a time that comes again is due then. A clock that was set forward makes more due.
func (s *Scheduler) watchClock(now time.Time) {
	steady := time.Now()
	set := now.Sub(s.look.wall) - steady.Sub(s.look.steady)
	s.look.wall, s.look.steady = now, steady
	if set.Abs() < clockError {
		return
	}
	s.o.Log.Info("the clock of the node was set", slog.Duration("dur", set))
	if set > 0 {
		return
	}
	for _, jobs := range s.jobs {
		for _, j := range jobs {
			s.arm(j, now)
		}
	}
}

// dueRuns begins what is due and may run.
func (s *Scheduler) dueRuns(runs []*job, now time.Time) []*job {
	view := s.o.State.View()
	for len(s.due) > 0 && !s.due[0].next.After(now) {
		j := s.due[0]
		if j.stamped() && s.refresh(j) {
			s.arm(j, now) // somebody else ran it
			continue
		}
		run, next := j.schedule.Due(j.next, now, j.base, j.random)
		switch {
		case !run:
			j.next = next
			s.due.set(j)
		case s.held(view, j) != "":
			s.due.remove(j)
			s.waiting[j] = struct{}{} // with the time it was due at
		default:
			runs = append(runs, j)
			s.begin(j, now)
		}
	}
	return runs
}

// triggeredRuns begins what an event asked for. What may not run is forgotten,
// unless something goes on with the instance, as the former run, which may have
// been too early for the event.
func (s *Scheduler) triggeredRuns(runs []*job, now time.Time) []*job {
	view := s.o.State.View()
	for j, at := range s.pending {
		if at.After(now) && at.Sub(now) <= triggerGap || s.occupied(view, j) {
			continue
		}
		delete(s.pending, j)
		if why := s.held(view, j); why != "" {
			s.o.Log.Info("an event runs nothing", j.attrs(slog.String("reason", why))...)
			continue
		}
		j.trigger = now
		runs = append(runs, j)
		s.begin(j, now)
	}
	return runs
}

// occupied tells whether something has to end before a job that an event asked
// for is looked at.
func (s *Scheduler) occupied(view *cluster.View, j *job) bool {
	return j.running >= max(j.config.MaxParallel, 1) || s.busy(view, j) != ""
}

// begin marks a run before it is asked for.
func (s *Scheduler) begin(j *job, now time.Time) {
	j.last, j.base = now, now
	if j.stamped() {
		if err := s.stamps(j.path).Mark(j.name(), now); err != nil {
			s.o.Log.Warn("a restart of the daemon may run the job again", j.attrs(slog.Any("err", err))...)
		}
	}
	if j.config.Action != cluster.JobStatus && j.config.Action != cluster.JobMonitor {
		j.running++
	}
	s.arm(j, now)
}

// wait is how long nothing is due, to the next whole second: what is due within
// one runs together.
func (s *Scheduler) wait(now time.Time) time.Duration {
	next, view := now.Add(lookEvery), s.o.State.View()
	if len(s.due) > 0 && s.due[0].next.Before(next) {
		next = s.due[0].next
	}
	for j, at := range s.pending {
		if at.Before(next) && !s.occupied(view, j) {
			next = at
		}
	}
	whole := next.Truncate(time.Second)
	if whole.Before(next) {
		whole = whole.Add(time.Second)
	}
	return max(whole.Sub(now), 0)
}

// launch runs a job. It must not wait.
func (s *Scheduler) launch(ctx context.Context, j *job) {
	switch {
	case j.config.Action == cluster.JobStatus:
		s.o.Evaluate.Request(j.path)
	case j.config.Action == cluster.JobMonitor:
		s.o.Evaluate.RequestMonitored(j.path)
	case j.config.Action == cluster.JobInfo:
		s.informs.put(j)
	case j.path.IsZero():
		s.submit(ctx, j, s.o.NodeJobs[j.config.Action])
	default:
		s.submit(ctx, j, []string{"instance", j.config.Action, "--rid=" + j.rid})
	}
}

func (s *Scheduler) submit(ctx context.Context, j *job, args []string) {
	_, err := s.o.Executor.Submit(ctx, executor.Job{
		Path: j.path, Args: args, RID: j.rid, Origin: executor.OriginScheduler, Priority: s.priority(j.path),
		Done: func(o executor.Outcome) { s.ended(j, o.Err) },
	})
	if err != nil {
		s.o.Log.Warn("a job cannot be run", j.attrs(slog.Any("err", err))...)
		s.ended(j, err)
	}
}

func (s *Scheduler) priority(p object.Path) int {
	if o := s.o.State.View().Objects[p]; o != nil {
		return o.Priority
	}
	return 0
}

// ended takes note of the end of a run.
func (s *Scheduler) ended(j *job, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	j.running--
	if err == nil {
		j.success = j.last
		if j.path.IsZero() { // the other ones mark it themselves
			if err := s.stamps(j.path).Succeed(j.name(), j.last); err != nil {
				s.o.Log.Debug("the success of a job", j.attrs(slog.Any("err", err))...)
			}
		}
	}
	switch {
	case j.gone:
	case err != nil && j.config.Snooze > 0:
		j.snoozed = now.Add(j.config.Snooze)
		s.arm(j, now)
	default:
		if _, waits := s.waiting[j]; waits {
			s.rearm(j)
		}
	}
	poke(s.wake)
}

// wanted tells whether some job runs on events of this kind. It is called while
// publishing.
func (s *Scheduler) wanted(e *event.Envelope) bool {
	kinds := s.kinds.Load()
	return kinds != nil && (*kinds)[e.Kind]
}

// indexTriggers gathers the kinds of events that jobs run on.
func (s *Scheduler) indexTriggers() {
	kinds := map[string]bool{}
	for _, jobs := range s.jobs {
		for _, j := range jobs {
			for _, f := range j.filters {
				if j.armed() {
					kinds[f.Kind()] = true
				}
			}
		}
	}
	s.kinds.Store(&kinds)
}

// happened has the jobs run that an event is for.
func (s *Scheduler) happened(e *event.Envelope) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, lost := e.Event.(event.Gap); lost {
		s.o.Log.Warn("too many events came at once: jobs that run on events may not have")
		return
	}
	now := s.now()
	for _, jobs := range s.jobs {
		for _, j := range jobs {
			if _, already := s.pending[j]; already || !j.armed() || !s.triggers(e, j) {
				continue
			}
			at := now
			if soon := j.trigger.Add(triggerGap); soon.After(now) {
				at = soon
			}
			s.pending[j] = at
		}
	}
}

// triggers tells whether a job runs on an event: one of its object or of this
// node, unless the job names another of its namespace.
func (s *Scheduler) triggers(e *event.Envelope, j *job) bool {
	for _, f := range j.filters {
		path, ofObject := e.Labels["path"]
		switch {
		case !f.Match(e):
		case !f.Has("node") && e.Labels["node"] != s.o.State.Node():
		case !ofObject || path == "":
			return true
		case e.Labels["namespace"] != j.path.Namespace:
		case path == j.path.String() || f.Has("path"):
			return true
		}
	}
	return false
}
