// Package stamp remembers on disk when the jobs of an instance, and of the node,
// last ran:
//
//	<state directory>/scheduler/last_<job>          its modification time is the last run
//	<state directory>/scheduler/last_<job>.success  and this one the last that succeeded
//
// A job is an action, or an action and a resource as run_task#1. Whoever runs it
// marks it: the scheduler before it asks for the run, so that a crash never makes
// it run twice, and the run itself, so that one asked by hand counts.
package stamp

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Stamps are those of a state directory.
type Stamps struct{ dir string }

// In returns the stamps kept below a state directory.
func In(stateDir string) Stamps { return Stamps{dir: filepath.Join(stateDir, "scheduler")} }

// Job is the name of the job of an action, on a resource when it is of one.
func Job(action, rid string) string {
	if rid == "" {
		return action
	}
	return action + "_" + rid
}

func (s Stamps) file(job string) string { return filepath.Join(s.dir, "last_"+job) }

// Last tells when a job last ran, and last succeeded; zero times for never.
func (s Stamps) Last(job string) (run, success time.Time, err error) {
	if run, err = modified(s.file(job)); err == nil {
		success, err = modified(s.file(job) + ".success")
	}
	return run, success, err
}

func modified(name string) (time.Time, error) {
	info, err := os.Stat(name)
	if errors.Is(err, os.ErrNotExist) {
		return time.Time{}, nil
	}
	if err != nil {
		return time.Time{}, err
	}
	return info.ModTime(), nil
}

// Mark records that a job begins to run.
func (s Stamps) Mark(job string, at time.Time) error { return s.touch(job, s.file(job), at) }

// Succeed records that a job has succeeded.
func (s Stamps) Succeed(job string, at time.Time) error {
	return s.touch(job, s.file(job)+".success", at)
}

func (s Stamps) touch(job, name string, at time.Time) error {
	if strings.ContainsAny(job, "/\x00") {
		return fmt.Errorf("the time of the run of %q is not kept: a job has no slash in its name", job)
	}
	f, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY, 0o644) //nolint:gosec // an empty file in a private directory
	if errors.Is(err, os.ErrNotExist) {
		if err = os.MkdirAll(s.dir, 0o700); err == nil {
			f, err = os.OpenFile(name, os.O_CREATE|os.O_WRONLY, 0o644) //nolint:gosec // as above
		}
	}
	if err == nil {
		err = errors.Join(f.Close(), os.Chtimes(name, at, at))
	}
	if err != nil {
		return fmt.Errorf("keep the time of the run of %s: %w", job, err)
	}
	return nil
}
