package instance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/config"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/resource"
)

// StatusOptions tell how fresh a status must be.
type StatusOptions struct {
	Refresh       bool // evaluate, even when the last evaluation is fresh
	MonitoredOnly bool // evaluate the monitored resources only, the others as last seen
}

// Status returns the status of the local instance: the last evaluation when
// nothing changed since, else a new one.
func (e *Engine) Status(ctx context.Context, p object.Path, o StatusOptions) (cluster.InstanceStatus, error) {
	if !o.Refresh && !o.MonitoredOnly {
		if s, ok := e.cached(p); ok {
			return s, nil
		}
	}
	l, err := e.load(p, Request{Action: "status"}.complete(p))
	if err != nil {
		return cluster.InstanceStatus{}, err
	}
	var last map[string]cluster.ResourceStatus
	if o.MonitoredOnly {
		if s, err := e.last(p); err == nil {
			last = s.Resources
		}
	}
	return l.evaluate(ctx, last)
}

// freshness is how long an evaluation is worth another one: no more than it takes
// to make several commands of one look. What died since must be seen.
const freshness = time.Second

func (e *Engine) statusFile(p object.Path) string {
	return filepath.Join(e.flags(p).dir, "status.json")
}

// last reads the last evaluation.
func (e *Engine) last(p object.Path) (s cluster.InstanceStatus, err error) {
	b, err := os.ReadFile(e.statusFile(p))
	if err != nil {
		return s, err
	}
	return s, json.Unmarshal(b, &s)
}

// cached returns the last evaluation when the configuration and the flags are
// those it was made from, and it is not old.
func (e *Engine) cached(p object.Path) (s cluster.InstanceStatus, ok bool) {
	file, err := e.Store.Load(p)
	if err != nil {
		return s, false
	}
	if s, err = e.last(p); err != nil || s.Csum != file.Checksum {
		return s, false
	}
	if age := time.Since(s.UpdatedAt); age < 0 || age > freshness {
		return s, false
	}
	f := e.flags(p)
	if !s.FrozenAt.Equal(raised(f.frozen())) || !s.StoppedAt.Equal(raised(f.stopped())) {
		return s, false
	}
	return s, true
}

// evaluate asks every resource, keeps the result and tells it. Resources that are
// not monitored are not asked when last has them.
func (l *loaded) evaluate(ctx context.Context, last map[string]cluster.ResourceStatus) (cluster.InstanceStatus, error) {
	if t := l.settings.StatusTimeout; t > 0 {
		limited, cancel := context.WithTimeoutCause(ctx, t, fmt.Errorf("status_timeout %s", t))
		defer cancel()
		ctx = limited
	}
	states := make([]cluster.ResourceStatus, len(l.resources))
	var asked sync.WaitGroup
	for i, m := range l.resources {
		if s, ok := last[m.RID]; ok && !m.Common.Monitor {
			states[i] = s
			continue
		}
		if len(l.resources) == 1 {
			states[i] = l.state(ctx, m)
			continue
		}
		asked.Go(func() { states[i] = l.state(ctx, m) })
	}
	asked.Wait()
	s := l.gather(states)
	if err := l.keep(ctx, &s); err != nil {
		if _, gone := errors.AsType[*object.NotFoundError](err); gone {
			return s, err
		}
		l.engine.unkept(l.path, err) // true all the same
	} else {
		l.engine.kept(l.path)
	}
	if l.engine.Notify != nil {
		l.engine.Notify.Status(ctx, l.path, s)
	}
	return s, nil
}

// state evaluates one resource.
func (l *loaded) state(ctx context.Context, m *member) cluster.ResourceStatus {
	c := m.Common
	s := cluster.ResourceStatus{
		Type: m.Spec.ID(), Status: cluster.NotApplicable, Disable: c.Disable, Encap: c.Encap, Monitor: c.Monitor,
		Optional: c.Optional, Standby: c.Standby, Subset: c.Subset, Restart: c.Restart,
		Tags: notNil(c.Tags), Info: map[string]any{}, Files: []struct{}{}, Log: []cluster.ResourceLogEntry{},
		Provisioned: l.provisioned(ctx, m),
	}
	if c.Disable {
		return s
	}
	err := l.ready(m)
	if errors.Is(err, config.ErrPostponed) { // what it depends on is not there: neither is it
		s.Status = cluster.Down
		if c.Standby {
			s.Status = standby(s.Status)
		}
		return s
	}
	if err != nil {
		s.Log = append(s.Log, cluster.ResourceLogEntry{Level: "error", Message: err.Error()})
		return s
	}
	seen := m.Driver.Status(ctx)
	s.Label, s.Status = seen.Label, seen.Status
	s.Log = append(s.Log, seen.Log...)
	if seen.Info != nil {
		s.Info = seen.Info
	}
	l.reconcile(m, &s)
	if c.Standby {
		s.Status = standby(s.Status)
	}
	if x, ok := m.Driver.(resource.Executor); ok {
		going, err := x.Executions()
		if err != nil {
			s.Log = append(s.Log, cluster.ResourceLogEntry{Level: "warn", Message: err.Error()})
		}
		s.Running = len(going) > 0
	}
	return s
}

// reconcile makes the flags of a resource say what is seen of it: one that is up
// exists, and is not stopped any more.
func (l *loaded) reconcile(m *member, s *cluster.ResourceStatus) {
	s.Stopped = !raised(l.flags.stoppedResource(m.RID)).IsZero()
	if s.Status != cluster.Up {
		return
	}
	if s.Stopped {
		if err := lower(l.flags.stoppedResource(m.RID)); err == nil {
			s.Stopped = false
			m.env.Infof("unmanaged start")
		}
	}
	if s.Provisioned.State == cluster.ProvisionedFalse {
		if err := l.flags.setProvisioned(m.RID, true); err == nil {
			s.Provisioned = l.flags.provisioned(m.RID)
		}
	}
}

// provisioned tells whether what a resource describes was made. Nothing is made
// for a driver without a provisioner.
func (l *loaded) provisioned(ctx context.Context, m *member) cluster.ProvisionedAt {
	if _, ok := m.Driver.(resource.Provisioner); !ok {
		return cluster.ProvisionedAt{State: cluster.ProvisionedNotApplicable}
	}
	at := l.flags.provisioned(m.RID)
	knows, ok := m.Driver.(resource.Provisioneder)
	if !ok || m.err != nil || at.State != cluster.ProvisionedTrue {
		return at
	}
	// The flag says yes: whether the thing is still there wins.
	switch state, err := knows.Provisioned(ctx); {
	case err != nil:
		at.State = cluster.ProvisionedUndef
	case state == cluster.ProvisionedFalse:
		at.State = state
	}
	return at
}

func standby(s cluster.Status) cluster.Status {
	switch s {
	case cluster.Up:
		return cluster.StandbyUp
	case cluster.Down:
		return cluster.StandbyDown
	case cluster.Undef, cluster.NotApplicable, cluster.Warn, cluster.StandbyUp, cluster.StandbyDown,
		cluster.StandbyUpWithUp, cluster.StandbyUpWithDown:
	}
	return s
}

// gather makes the status of the instance out of those of its resources.
func (l *loaded) gather(states []cluster.ResourceStatus) cluster.InstanceStatus {
	s := cluster.InstanceStatus{
		Csum: l.file.Checksum, UpdatedAt: time.Now(), LastStartedAt: raised(l.flags.lastStart()),
		FrozenAt: raised(l.flags.frozen()), StoppedAt: raised(l.flags.stopped()),
		Encap: map[string]cluster.InstanceStatus{}, Running: []cluster.Running{},
		Resources: make(map[string]cluster.ResourceStatus, len(states)),
	}
	groups := make([]string, len(states))
	for i, r := range states {
		m := l.resources[i]
		groups[i] = m.Spec.Group
		s.Resources[m.RID] = r
		if x, ok := m.Driver.(resource.Executor); ok && r.Running {
			if going, err := x.Executions(); err == nil {
				s.Running = append(s.Running, going...)
			}
		}
	}
	s.Avail, s.Overall, s.Optional, s.Provisioned = aggregate(groups, states)
	if s.Avail == cluster.Up && !s.StoppedAt.IsZero() && l.wasStopped() && lower(l.flags.stopped()) == nil {
		s.StoppedAt = time.Time{}
	}
	return s
}

// wasStopped tells whether the flag did its work: the instance was seen down
// with it. Up again then, it is not stopped on purpose any more. Up still, it is
// about to be stopped.
func (l *loaded) wasStopped() bool {
	last, err := l.engine.last(l.path)
	return err == nil && last.Avail != cluster.Up && !last.StoppedAt.IsZero()
}

// aggregate merges the statuses of resources into those of the instance. groups
// are the driver groups of the resources.
func aggregate(groups []string, states []cluster.ResourceStatus) (avail, overall, optional cluster.Status, provisioned cluster.Provisioned) {
	remarks := false
	for i, r := range states {
		provisioned = cluster.MergeProvisioned(provisioned, r.Provisioned.State)
		for _, entry := range r.Log {
			remarks = remarks || entry.Level == "warn" || entry.Level == "error"
		}
		if groups[i] == "sync" || groups[i] == "task" {
			// What went well in the past makes nothing up now; what failed is a warning.
			if r.Status != cluster.Up && r.Status != cluster.StandbyUp && r.Status != cluster.NotApplicable && r.Status != cluster.Undef {
				remarks = true
			}
			continue
		}
		overall = cluster.Merge(overall, r.Status)
		if r.Optional {
			optional = cluster.Merge(optional, r.Status)
		} else {
			avail = cluster.Merge(avail, r.Status)
		}
	}
	overall = overall.Plain()
	if remarks {
		overall = cluster.Warn
	}
	if provisioned == cluster.ProvisionedUndef {
		provisioned = cluster.ProvisionedNotApplicable
	}
	return none(avail), none(overall), none(optional), provisioned
}

// none reads what was never merged as n/a.
func none(s cluster.Status) cluster.Status {
	if s = s.Plain(); s == cluster.Undef {
		return cluster.NotApplicable
	}
	return s
}

// unkept warns, once, that the status of an instance cannot be written.
func (e *Engine) unkept(p object.Path, err error) {
	if _, told := e.told.LoadOrStore(p, true); !told {
		e.log().Warn("status not kept", slog.String("object", p.String()), slog.Any("err", err))
	}
}

func (e *Engine) kept(p object.Path) { e.told.Delete(p) }

// keep writes the status for those who only want the last one. Nobody wants that
// of an object deleted meanwhile.
func (l *loaded) keep(ctx context.Context, s *cluster.InstanceStatus) error {
	name := l.engine.statusFile(l.path)
	b, err := json.Marshal(s)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	if err := replaceFile(name, append(b, '\n'), 0o600); err != nil {
		return fmt.Errorf("keep the status: %w", err)
	}
	if !l.engine.Store.Exists(l.path) {
		return errors.Join(&object.NotFoundError{What: l.path.String()}, l.engine.Store.Bury(ctx, l.path))
	}
	return nil
}

func notNil(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}
