package monitor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/renameio/v2"

	"github.com/holdfast-ops/holdfast/internal/host"
	"github.com/holdfast-ops/holdfast/internal/om/config"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/executor"
	"github.com/holdfast-ops/holdfast/internal/om/instance"
	"github.com/holdfast-ops/holdfast/internal/om/orchestrate"
)

// prepareTimeout bounds pre_monitor_action.
const prepareTimeout = time.Minute

// act does what was decided: its end comes back as a post.
func (m *Monitor) act(w *watched, a orchestrate.Action, sid string) {
	m.o.Log.Info("act", about(w, w.monitor.OrchestrationID, slog.String("sid", sid), slog.String("reason", a.String()+": "+because(w.because)))...)
	switch a.Verb {
	case orchestrate.Freeze, orchestrate.Unfreeze:
		m.flagged(w, m.o.Flags.SetFrozen(w.path, a.Verb == orchestrate.Freeze))
	case orchestrate.Hold, orchestrate.Release:
		m.flagged(w, m.o.Flags.SetStopped(w.path, a.Verb == orchestrate.Hold))
	case orchestrate.RecordBoot:
		w.lastBoot = m.o.BootID
		m.jobEnded(w, m.recordBoot(w), false)
	case orchestrate.Prepare:
		m.prepare(w)
	case orchestrate.Reboot:
		m.jobEnded(w, m.power(Power.Reboot), false)
	case orchestrate.Crash:
		m.jobEnded(w, m.power(Power.Crash), false)
	case orchestrate.Fence:
		m.fence(w, a.Node)
	case orchestrate.Drain, orchestrate.FreezeInstances: // of a node, never of an instance
	case orchestrate.Start, orchestrate.StartStandby, orchestrate.Stop, orchestrate.Shutdown,
		orchestrate.Provision, orchestrate.Unprovision, orchestrate.Delete, orchestrate.Boot:
		m.fork(w, a, sid)
	}
}

func (m *Monitor) flagged(w *watched, err error) { m.jobEnded(w, err, err == nil) }

func (m *Monitor) recordBoot(w *watched) error {
	file := m.bootFile(w.path)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return fmt.Errorf("record the boot of %s: %w", w.path, err)
	}
	if err := renameio.WriteFile(file, []byte(m.o.BootID+"\n"), 0o644); err != nil {
		return fmt.Errorf("record the boot of %s: %w", w.path, err)
	}
	return nil
}

func (m *Monitor) power(f func(Power) error) error {
	if m.o.Power == nil {
		return errors.New("this agent may not take the node down")
	}
	return f(m.o.Power)
}

// fence has a lost node taken down, beside: its end comes back as a post.
func (m *Monitor) fence(w *watched, node string) {
	if m.o.Fencer == nil {
		m.jobEnded(w, errors.New("this agent fences no node"), false)
		return
	}
	m.spawn(func(ctx context.Context) {
		err := m.o.Fencer.Fence(ctx, node, w.path)
		m.post(func() { m.jobEnded(w, err, false) })
	})
}

// prepare runs pre_monitor_action: through a shell when it is more than a
// command and its arguments.
func (m *Monitor) prepare(w *watched) {
	command := w.config.PreMonitorAction
	argv, err := config.ParseCommand(command)
	if err != nil {
		m.jobEnded(w, fmt.Errorf("pre_monitor_action: %w", err), false)
		return
	}
	m.spawn(func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, prepareTimeout)
		defer cancel()
		_, err := m.o.Runner.Run(ctx, host.Cmd{Argv: argv})
		m.post(func() { m.jobEnded(w, err, false) })
	})
}

func (m *Monitor) fork(w *watched, a orchestrate.Action, sid string) {
	r := instance.Request{Action: instance.Action(a.Verb), RID: a.RID, Leader: a.Leader, Force: a.Force}
	job := executor.Job{
		Path: w.path, Args: append([]string{"instance", string(a.Verb)}, r.Args()...), RID: strings.Join(a.RID, ","),
		Origin: executor.OriginMonitor, SessionID: sid, OrchestrationID: w.monitor.OrchestrationID,
		Priority: w.config.Priority,
		Done: func(o executor.Outcome) {
			m.post(func() { m.jobEnded(w, o.Err, true) })
		},
	}
	m.spawn(func(ctx context.Context) {
		if _, err := m.o.Executor.Submit(ctx, job); err != nil {
			m.post(func() { m.jobEnded(w, err, false) })
		}
	})
}

// jobEnded takes note of the end of the job of an instance. What the job left is
// seen before anything is decided.
func (m *Monitor) jobEnded(w *watched, err error, evaluate bool) {
	if w.job == nil {
		return
	}
	job := *w.job
	job.State = orchestrate.JobSucceeded
	if err != nil {
		job.State, job.Reason = orchestrate.JobFailed, err.Error()
		m.o.Log.Warn("action failed", slog.String("object", w.path.String()), slog.String("action", job.Action.String()), slog.Any("err", err))
	}
	w.job = &job
	m.dirty[w.path] = true
	if job.Action.Verb == orchestrate.Delete {
		if err := m.o.Discover.Refresh(w.path); err != nil {
			m.o.Log.Debug("refresh", slog.String("object", w.path.String()), slog.Any("err", err))
		}
		return
	}
	if evaluate && !w.gone {
		m.evaluate(w)
	}
}
