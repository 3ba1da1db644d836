package cluster

import "time"

// ScheduleConfig is a job that runs by itself, of an instance or of a node.
type ScheduleConfig struct {
	Action             string `json:"action" example:"run"`
	Schedule           string `json:"schedule" example:"04:00-06:00@120m mon-fri" doc:"When it runs; empty is never."`
	Key                string `json:"key" example:"task#1.schedule" doc:"The keyword that says when."`
	MaxParallel        int    `json:"max_parallel" example:"1" doc:"How many runs may go on at once."`
	Require            string `json:"require" example:"container#1(up)" doc:"The states of resources without which it does not run."`
	RequireCollector   bool   `json:"require_collector" doc:"It does not run without a collector."`
	RequireProvisioned bool   `json:"require_provisioned" doc:"It does not run unless the instance is provisioned."`

	On          string        `json:"on,omitempty" example:"FileInstalled,rid=fs#1" doc:"The events it runs on, whatever the schedule."`
	Snooze      time.Duration `json:"snooze,omitempty" doc:"How long the schedule leaves it alone after a failed run, in nanoseconds."`
	Unavailable string        `json:"unavailable,omitempty" doc:"Why it never runs by itself; empty when it does."`
}

// Schedule is a job, when it ran and when it will.
type Schedule struct {
	ScheduleConfig

	LastRunAt     time.Time `json:"last_run_at" doc:"The year 1 is never."`
	LastSuccessAt time.Time `json:"last_success_at,omitzero" doc:"When it last succeeded."`
	NextRunAt     time.Time `json:"next_run_at" doc:"The year 1 is never, or not known yet: see waits."`
	Waits         string    `json:"waits,omitempty" doc:"What it waits for."`
}

// Jobs are the names of the actions that run by themselves.
const (
	JobStatus     = "status"
	JobMonitor    = "resource_monitor"
	JobInfo       = "push_resinfo"
	JobCompliance = "compliance_auto"
	JobRun        = "run"
)
