package instance

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/resource"
	"github.com/holdfast-ops/holdfast/internal/om/resource/stamp"
	"github.com/holdfast-ops/holdfast/internal/om/schedule"
	"github.com/holdfast-ops/holdfast/internal/om/schema"
)

// defaultStatus is when the status is evaluated of an instance whose
// configuration cannot be read: the next one may find it repaired.
const defaultStatus = "@10m"

// jobs are what runs by itself of any instance.
func jobs(k object.Kind, s *schema.ObjectSettings) []cluster.ScheduleConfig {
	if !k.Runs() {
		return []cluster.ScheduleConfig{}
	}
	compliance := job(cluster.JobCompliance, "comp_schedule", s.CompSchedule)
	compliance.RequireCollector, compliance.Unavailable = true, "this agent has no compliance modules"
	return []cluster.ScheduleConfig{
		job(cluster.JobStatus, "status_schedule", s.StatusSchedule),
		job(cluster.JobInfo, "info_schedule", s.InfoSchedule),
		compliance,
	}
}

func job(action, key, when string) cluster.ScheduleConfig {
	return cluster.ScheduleConfig{Action: action, Key: key, Schedule: when, MaxParallel: 1}
}

// jobs are what runs by itself of a resource.
func (m *member) jobs() []cluster.ScheduleConfig {
	s, ok := m.Driver.(resource.Scheduled)
	if !ok || m.err != nil {
		return nil
	}
	var all []cluster.ScheduleConfig
	for _, j := range s.Jobs() {
		c := cluster.ScheduleConfig{
			Action: j.Action, Schedule: j.Schedule, Key: m.RID + "." + j.Option, MaxParallel: max(j.MaxParallel, 1),
			Require: m.Common.RunRequires, RequireProvisioned: true, On: j.On, Snooze: j.Snooze, Unavailable: j.Unavailable,
		}
		if j.Confirms {
			c.Unavailable = "it asks for a confirmation"
		}
		if m.Common.Disable {
			c.Unavailable = "the resource is disabled"
		}
		all = append(all, c)
	}
	return all
}

// Confirmations lists the tasks a run would run that ask for a confirmation.
func (e *Engine) Confirmations(ctx context.Context, p object.Path, r Request) ([]string, error) {
	plan, err := e.Plan(ctx, p, r)
	if err != nil {
		return nil, err
	}
	l, err := e.load(p, r)
	if err != nil {
		return nil, err
	}
	var rids []string
	for _, set := range plan.Sets {
		for _, step := range set.Steps {
			m := l.find(step.RID)
			if step.Skip != "" || step.Verb != Run || m == nil {
				continue
			}
			if s, ok := m.Driver.(resource.Scheduled); ok && m.err == nil && slices.ContainsFunc(s.Jobs(), func(j resource.Job) bool { return j.Confirms }) {
				rids = append(rids, step.RID)
			}
		}
	}
	return rids, nil
}

// notNow tells why the schedule would not run a task now; empty when it would.
func (x *execution) notNow(m *member) string {
	for _, j := range m.jobs() {
		if j.Action != cluster.JobRun {
			continue
		}
		s, err := schedule.Parse(j.Schedule)
		if err != nil {
			return err.Error()
		}
		last, _, err := stamp.In(x.flags.dir).Last(stamp.Job(j.Action, m.RID))
		switch {
		case j.Unavailable != "":
			return j.Unavailable
		case err != nil:
			return fmt.Sprintf("when it last ran is not known: %s", err)
		case len(s) == 0:
			return "it has no schedule"
		case !s.Allowed(time.Now(), last):
			ran := "it never ran"
			if !last.IsZero() {
				ran = "it last ran at " + last.Format(time.DateTime)
			}
			return fmt.Sprintf("%s does not allow it now, %s", j.Schedule, ran)
		}
		return ""
	}
	return "it has no schedule"
}
