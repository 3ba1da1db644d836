// Package task has the drivers of tasks: commands run on demand or on a schedule.
package task

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/renameio/v2"

	"github.com/holdfast-ops/holdfast/internal/host"
	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/event"
	"github.com/holdfast-ops/holdfast/internal/om/keyword"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/resource"
	"github.com/holdfast-ops/holdfast/internal/om/resource/process"
	"github.com/holdfast-ops/holdfast/internal/om/resource/stamp"
	"github.com/holdfast-ops/holdfast/internal/om/schedule"
)

// Host is the driver of the tasks run on the node itself.
var Host = resource.Spec{
	Group:     "task",
	Name:      "host",
	Doc:       "A command run on the node, on demand or on a schedule. It is neither started nor stopped with the instance, and its status is n/a unless the check keyword makes it that of the last run.",
	Kinds:     []object.Kind{object.KindSvc, object.KindVol},
	Processes: true,
	New:       func(e resource.Env) resource.Driver { return &task{env: e} },
}

type task struct {
	env resource.Env
	process.Settings

	command, onError, stop string
	check, retcodes        string
	schedule, on           string
	snooze, runTimeout     time.Duration
	logs, confirmation     bool
	maxParallel            int

	do func(context.Context) error // instead of the command, for the tasks that have none
}

// Keywords implements [resource.Driver].
func (t *task) Keywords(k *keyword.Table) {
	k.String(&t.command, "command", "The command the task runs.").Check(process.Check).Scopable().Eg("/srv/shop/bin/backup --full")
	k.String(&t.onError, "on_error", "A command run when the task fails.").Check(process.Check).Scopable().Eg("/usr/bin/logger backup failed")
	k.String(&t.stop, "stop", "Accepted for configurations written for other drivers; a task on the host ends with its command.").Scopable()
	k.String(&t.check, "check", "When last_run, the status of the task is that of its last run, by retcodes; when last_run_warn, a failed last run is a warning. By default the status is n/a.").OneOf("", "last_run", "last_run_warn").Scopable()
	k.String(&t.retcodes, "retcodes", "What the exit statuses of the command mean for check = last_run, as code:status items.").Default("0:up 1:down").Check(process.CheckRetCodes).Scopable().Eg("0:up 1:down 3:n/a")
	k.Duration(&t.runTimeout, "run_timeout", "How long the command may take. By default, timeout.").Scopable().Eg("2h")
	k.Bool(&t.logs, "log", "Logs what the command prints.").Default("true").Scopable()
	k.Bool(&t.confirmation, "confirmation", "Refuses to run unless the person who asks confirms it, with --confirm. A task that asks for it never runs on a schedule.")
	k.Int(&t.maxParallel, "max_parallel", "How many runs of the task may go on at the same time.").AtLeast(1).Default("1").Scopable().Eg("2")
	k.String(&t.schedule, "schedule", "When the task runs by itself.").Check(schedule.Check).HeadName("run_schedule").Scopable().Eg("04:00-06:00@120m mon-fri")
	k.String(&t.on, "on", "The events the task runs on, whatever its schedule: Kind,label=value,.field=value items separated by blanks. Those of other namespaces are never among them. It runs where its schedule would have it run, and once for the events that come while it runs; two runs are five seconds apart at least.").Check(checkEvents).Sections(awaited).Scopable().Eg("FileInstalled,rid=fs#1")
	k.Duration(&t.snooze, "snooze", "How long the schedule leaves the task alone after a failed run.").Scopable().Eg("10m")
	t.Settings.Keywords(k)
}

// checkEvents is the rule of lists of events.
func checkEvents(text string) error {
	for word := range strings.FieldsSeq(text) {
		f, err := event.ParseFilter(word)
		if err != nil {
			return err
		}
		if word[0] == ',' {
			return fmt.Errorf("%q: no kind of event before the conditions: write it as FileInstalled,rid=fs#1", word)
		}
		if path, ok := f.Equal("path"); ok {
			if _, err := object.Parse(path); err != nil {
				return fmt.Errorf("%q: %w", word, err)
			}
		}
		if rid, ok := f.Equal("rid"); ok {
			if _, _, known := resource.SplitID(rid); !known {
				return fmt.Errorf("%q: %q is no resource: write its group and its index, as fs#1", word, rid)
			}
		}
	}
	return nil
}

// awaited lists the resources of the object itself whose events are awaited.
func awaited(text string) []string {
	var rids []string
	for word := range strings.FieldsSeq(text) {
		f, err := event.ParseFilter(word)
		if err != nil {
			continue // the rule says so
		}
		if _, other := f.Equal("path"); other {
			continue
		}
		if rid, ok := f.Equal("rid"); ok {
			rids = append(rids, rid)
		}
	}
	return rids
}

// Jobs implements [resource.Scheduled].
func (t *task) Jobs() []resource.Job {
	return []resource.Job{{
		Action: "run", Option: "schedule", Schedule: t.schedule, On: t.on, MaxParallel: t.maxParallel, Snooze: t.snooze,
		Confirms: t.confirmation,
	}}
}

// lastRun is what is kept of the last run.
type lastRun struct {
	ExitCode  int       `json:"exitcode"`
	At        time.Time `json:"at"`
	SessionID string    `json:"session_id"`
}

func (t *task) lastRunFile() string { return filepath.Join(t.env.StateDir, "last_run") }

// Status implements [resource.Driver].
func (t *task) Status(context.Context) resource.State {
	state := resource.State{Status: cluster.NotApplicable}
	b, err := os.ReadFile(t.lastRunFile())
	if errors.Is(err, os.ErrNotExist) {
		return state
	}
	var last lastRun
	if err == nil {
		err = json.Unmarshal(b, &last)
	}
	if err != nil {
		state.Log = []cluster.ResourceLogEntry{{Level: "warn", Message: "last run: " + err.Error()}}
		return state
	}
	state.Info = map[string]any{"last_run_at": last.At, "last_run_exitcode": last.ExitCode, "last_run_session_id": last.SessionID}
	switch {
	case t.check == "":
		return state
	case t.check == "last_run_warn" && last.ExitCode != 0:
		state.Status = cluster.Warn
		state.Log = []cluster.ResourceLogEntry{{Level: "warn", Message: fmt.Sprintf("the last run ended with exit status %d", last.ExitCode)}}
		return state
	}
	codes, err := process.ParseRetCodes(t.retcodes)
	if err != nil {
		state.Status = cluster.Warn
		state.Log = []cluster.ResourceLogEntry{{Level: "error", Message: err.Error()}}
		return state
	}
	status, remark := codes.Status(last.ExitCode)
	state.Status = status
	if remark != nil {
		state.Log = append(state.Log, *remark)
	}
	return state
}

// Run implements [resource.Runner].
func (t *task) Run(ctx context.Context) (err error) {
	if t.command == "" && t.do == nil {
		return errors.New("no command to run: set the command keyword")
	}
	if t.confirmation && !t.env.Confirm {
		return errors.New("this task asks for a confirmation: run it with --confirm")
	}
	done, err := t.register()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()

	at := time.Now()
	if !t.env.Scheduled {
		t.stamped(t.stamps().Mark(t.job(), at))
	}
	runErr := t.execute(ctx)
	code := 0
	var exit *host.ExitError
	switch {
	case errors.As(runErr, &exit):
		code = exit.Code
	case runErr != nil && t.do != nil:
		code = 1
	case runErr != nil:
		code = -1
	}
	if runErr == nil {
		t.stamped(t.stamps().Succeed(t.job(), at))
	}
	if err := t.keep(lastRun{ExitCode: code, At: at, SessionID: t.env.Session}); err != nil {
		runErr = errors.Join(runErr, fmt.Errorf("record the run: %w", err))
	}
	if runErr != nil && t.onError != "" && ctx.Err() == nil {
		if err := t.Settings.Run(ctx, t.env, t.onError, process.FirstOf(t.Timeout)); err != nil {
			runErr = errors.Join(runErr, fmt.Errorf("on_error: %w", err))
		}
	}
	return runErr
}

// stamps are those of the instance, whose state directory has that of the resource.
func (t *task) stamps() stamp.Stamps { return stamp.In(filepath.Dir(t.env.StateDir)) }

func (t *task) job() string { return stamp.Job("run", t.env.RID) }

// stamped tells that a stamp could not be written, which fails no run.
func (t *task) stamped(err error) {
	if err != nil {
		t.env.Warnf("%s: the schedule may run the task again too early", err)
	}
}

func (t *task) execute(ctx context.Context) error {
	if t.do != nil {
		return t.do(ctx)
	}
	timeout := process.FirstOf(t.runTimeout, t.Timeout)
	if t.logs {
		return t.Settings.Run(ctx, t.env, t.command, timeout)
	}
	_, code, err := t.Ask(ctx, t.env, t.command, timeout)
	if err == nil && code != 0 {
		return &host.ExitError{Argv: []string{t.command}, Code: code}
	}
	return err
}

func (t *task) keep(r lastRun) error {
	b, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return renameio.WriteFile(t.lastRunFile(), append(b, '\n'), 0o600)
}

var (
	_ resource.Runner    = (*task)(nil)
	_ resource.Executor  = (*task)(nil)
	_ resource.Scheduled = (*task)(nil)
)
