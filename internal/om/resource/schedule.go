package resource

import "time"

// Scheduled is a driver that has jobs: what the scheduler of the daemon runs by
// itself.
type Scheduled interface {
	Jobs() []Job
}

// Job is an action of a resource that runs by itself.
type Job struct {
	Action      string        // "run"
	Option      string        // the keyword that says when: "schedule"
	Schedule    string        // when, empty for never
	On          string        // the events it runs on too, see [event.Filter], separated by blanks
	MaxParallel int           // how many runs may go on at once, 0 for one
	Snooze      time.Duration // how long it is left alone after a failed run
	Confirms    bool          // it asks for a confirmation: it never runs by itself
	Unavailable string        // why it never runs by itself otherwise; empty when it does
}
