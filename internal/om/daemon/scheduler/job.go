package scheduler

import (
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/event"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/resource"
	"github.com/holdfast-ops/holdfast/internal/om/resource/stamp"
	"github.com/holdfast-ops/holdfast/internal/om/schedule"
)

// job is a line of the schedule, and what is known of its runs.
type job struct {
	path     object.Path // zero for the node
	rid      string
	config   cluster.ScheduleConfig
	schedule schedule.Schedule
	random   schedule.Random
	require  []resource.Requirement
	filters  []event.Filter

	last    time.Time // the last run there was
	base    time.Time // the last run as it counts: where the phase of a job is spread, there was none
	success time.Time
	next    time.Time
	snoozed time.Time // the schedule leaves it alone until then
	trigger time.Time // the last run by an event
	running int
	gone    bool // the configuration has it no more
	place   int  // in the heap, -1 for none
}

// armed tells whether the job runs by itself at all.
func (j *job) armed() bool { return !j.gone && j.config.Unavailable == "" }

// stamped tells whether the runs of the job are marked on disk.
func (j *job) stamped() bool {
	switch j.config.Action {
	case cluster.JobStatus, cluster.JobMonitor, cluster.JobInfo:
		return false
	}
	return true
}

func (j *job) name() string { return stamp.Job(j.config.Action, j.rid) }

func (j *job) attrs(more ...any) []any {
	return append([]any{slog.String("object", j.path.String()), slog.String("resource", j.rid), slog.String("action", j.config.Action)}, more...)
}

// setNode arms the jobs of the node.
func (s *Scheduler) setNode(view *cluster.View, now time.Time) {
	n := view.Nodes[s.o.State.Node()]
	if n == nil {
		return
	}
	jobs := slices.Clone(n.Config.Schedules)
	for i := range jobs {
		if _, ok := s.o.NodeJobs[jobs[i].Action]; !ok && jobs[i].Unavailable == "" {
			jobs[i].Unavailable = "this agent has no such action"
		}
	}
	s.set(object.Path{}, jobs, s.since, now)
}

// setInstance arms the jobs of an instance as the view has them: events may be late.
func (s *Scheduler) setInstance(view *cluster.View, p object.Path, now time.Time) {
	var jobs []cluster.ScheduleConfig
	since := s.since
	if o := view.Objects[p]; o != nil {
		if c := o.Instances[s.o.State.Node()].Config; c != nil {
			jobs = c.Schedules
			if c.UpdatedAt.After(since) {
				since = c.UpdatedAt // nothing is missed of what nobody asked for
			}
		}
	}
	s.set(p, jobs, since, now)
}

// set replaces the jobs of an object. Those that did not change go on.
func (s *Scheduler) set(p object.Path, configs []cluster.ScheduleConfig, since, now time.Time) {
	old := s.jobs[p]
	var fresh []*job
	for _, c := range configs {
		same := slices.IndexFunc(old, func(j *job) bool { return j.config.Key == c.Key && j.config.Action == c.Action })
		if same >= 0 && old[same].config == c {
			fresh = append(fresh, old[same])
			continue
		}
		j := s.newJob(p, c, now)
		begin := since
		if same >= 0 {
			before := old[same]
			j.last, j.base, j.success, j.trigger, j.snoozed = before.last, before.base, before.success, before.trigger, before.snoozed
			begin = now
		}
		fresh = append(fresh, j)
		s.arm(j, begin)
	}
	for _, j := range old {
		if !slices.Contains(fresh, j) {
			j.gone = true
			s.due.remove(j)
			delete(s.waiting, j)
			delete(s.pending, j)
		}
	}
	if s.jobs[p] = fresh; len(fresh) == 0 {
		delete(s.jobs, p)
	}
	if slices.ContainsFunc(old, triggered) || slices.ContainsFunc(fresh, triggered) {
		s.indexTriggers()
	}
}

func triggered(j *job) bool { return len(j.filters) > 0 }

// newJob reads a line of the schedule. What cannot be read is said, and never runs.
func (s *Scheduler) newJob(p object.Path, c cluster.ScheduleConfig, now time.Time) *job {
	j := &job{path: p, config: c, place: -1, random: schedule.NewRandom(strings.Join([]string{s.o.State.Node(), p.FQN(), c.Key}, " "))}
	if section, _, ok := strings.Cut(c.Key, "."); ok && !p.IsZero() {
		j.rid = section
	}
	var err error
	if j.schedule, err = schedule.Parse(c.Schedule); err == nil {
		j.require, err = resource.ParseRequirements(c.Require)
	}
	for word := range strings.FieldsSeq(c.On) {
		f, ferr := event.ParseFilter(word)
		if ferr != nil {
			err = ferr
			break
		}
		j.filters = append(j.filters, f)
	}
	if err != nil {
		j.config.Unavailable = err.Error()
	}
	s.refresh(j)
	if every := j.interval(); !j.stamped() {
		// Every instance is evaluated when the daemon starts: from there on they
		// are spread over the period.
		if j.base = j.last; j.base.IsZero() || every > 0 && now.Sub(j.base) > every || c.Action != cluster.JobInfo {
			j.base = now.Add(-time.Duration(j.random.Below("phase", int64(every/time.Second))) * time.Second)
		}
	}
	if c.Snooze > 0 && j.last.After(j.success) {
		j.snoozed = j.last.Add(c.Snooze)
	}
	return j
}

// interval is how often a job runs that runs all day long, 0 for others.
func (j *job) interval() time.Duration {
	if len(j.schedule) == 1 && len(j.schedule[0].Times) == 1 && j.schedule[0].Times[0].Interval != nil {
		return *j.schedule[0].Times[0].Interval
	}
	return 0
}

// refresh reads when the job last ran: others run it, too. It tells whether that
// is news.
func (s *Scheduler) refresh(j *job) bool {
	was := j.last
	switch {
	case j.config.Action == cluster.JobInfo:
		if info, err := os.Stat(filepath.Join(s.stateDir(j.path), "resinfo.json")); err == nil && info.ModTime().After(j.last) {
			j.last = info.ModTime()
		}
	case j.stamped():
		last, success, err := s.stamps(j.path).Last(j.name())
		if err != nil {
			s.o.Log.Debug("when a job last ran", j.attrs(slog.Any("err", err))...)
			return false
		}
		if last.After(j.last) {
			j.last = last
		}
		if success.After(j.success) {
			j.success = success
		}
	}
	if j.last.After(was) && j.last.After(j.base) {
		j.base = j.last
		return true
	}
	return false
}

// arm plans the next run: the first one due since an instant.
func (s *Scheduler) arm(j *job, since time.Time) {
	if since.Before(j.snoozed) {
		since = j.snoozed
	}
	delete(s.waiting, j)
	j.next = time.Time{}
	if j.armed() {
		j.next = j.schedule.Next(since.In(s.now().Location()), j.base, j.random)
	}
	s.due.set(j)
}

// busyNode are the states of a node whose schedule stands still.
var busyNode = []string{
	"init", "rejoin", "maintenance", "upgrade", "draining", "drain failed", "drained", "shutting", "shutdown failed", "shutdown",
}

// held tells why a job that is due may not run, empty when it may.
func (s *Scheduler) held(view *cluster.View, j *job) string {
	if !j.stamped() {
		return ""
	}
	n := view.Nodes[s.o.State.Node()]
	if n == nil || slices.Contains(busyNode, n.Monitor.State) {
		state := "not known yet"
		if n != nil {
			state = n.Monitor.State
		}
		return "the node is " + state
	}
	if j.running >= max(j.config.MaxParallel, 1) {
		return "it is running"
	}
	if j.path.IsZero() {
		return ""
	}
	if why := s.busy(view, j); why != "" {
		return why
	}
	return unmet(view.Objects[j.path].Instances[s.o.State.Node()], j)
}

// busy tells what goes on with the instance of a job, to which an end will come;
// empty for nothing.
func (s *Scheduler) busy(view *cluster.View, j *job) string {
	o := view.Objects[j.path]
	if o == nil && j.path.IsZero() {
		return ""
	}
	if o == nil {
		return "the instance is not known yet"
	}
	i := o.Instances[s.o.State.Node()]
	if i.Status == nil || i.Config == nil {
		return "the status of the instance is not known yet"
	}
	if m := i.Monitor; m != nil {
		if goal := m.GlobalExpect; goal != "" && goal != "none" && goal != "init" {
			return "an orchestration is in progress, to " + goal
		}
		if strings.HasSuffix(m.State, "ing") && m.State != "running" {
			return "the instance is " + m.State
		}
	}
	return ""
}

// unmet tells which requirement of a job its instance does not meet.
func unmet(i cluster.Instance, j *job) string {
	if p := i.Status.Provisioned; j.config.RequireProvisioned && p != cluster.ProvisionedTrue && p != cluster.ProvisionedNotApplicable {
		return "the instance is not provisioned"
	}
	avail := i.Status.Avail.Plain()
	if i.Config.Topology != cluster.TopologyFlex && avail != cluster.Up && avail != cluster.NotApplicable {
		return "the object is not up here but " + avail.String()
	}
	for _, r := range j.require {
		if s := i.Status.Resources[r.RID]; !r.Met(s.Status) {
			return "it requires " + r.String() + ", which is " + s.Status.String()
		}
	}
	return ""
}
