package monitor

import (
	"cmp"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	"github.com/google/uuid"

	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/event"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/orchestrate"
)

// look decides about an instance and applies the decision.
func (m *Monitor) look(view *cluster.View, p object.Path) {
	var i cluster.Instance
	if o := view.Objects[p]; o != nil {
		i = o.Instances[m.self]
	}
	w := m.instances[p]
	switch {
	case i.Config == nil && w == nil:
		return
	case i.Config == nil:
		m.vanished(w)
		return
	case w == nil:
		w = m.welcome(p)
	case w.gone: // deleted, and made again before the deletion had ended
		m.farewell(w)
		w = m.welcome(p)
	}
	if i.Monitor != nil {
		w.monitor = *i.Monitor
	}
	world := m.world(view, w, i)
	if world.Local.Lock == "" && w.lock != "" {
		// Whoever held the lock may have ended without telling what it left.
		w.lock = ""
		m.evaluate(w)
		world.Local.Evaluating = true
	}
	w.lock = world.Local.Lock
	m.apply(w, i.Monitor, orchestrate.Decide(world))
}

// welcome begins to watch an instance.
func (m *Monitor) welcome(p object.Path) *watched {
	w := &watched{path: p}
	if b, err := os.ReadFile(m.bootFile(p)); err == nil {
		w.lastBoot = strings.TrimSpace(string(b))
	}
	m.instances[p] = w
	return w
}

// vanished ends the watch over an instance whose configuration is gone: at once,
// or when the action that removed it has ended.
func (m *Monitor) vanished(w *watched) {
	w.gone = true
	if w.job == nil || w.job.State != orchestrate.JobRunning {
		m.farewell(w)
	}
}

// farewell ends the watch over an instance, and its goal with it.
func (m *Monitor) farewell(w *watched) {
	if how, why := orchestrate.Gone(w.monitor); how != "" {
		m.end(w, w.monitor, how, why)
	}
	m.relate(w, nil)
	delete(m.instances, w.path)
}

func (m *Monitor) world(view *cluster.View, w *watched, i cluster.Instance) orchestrate.World {
	m.relate(w, i.Config)
	f := orchestrate.Facts{
		Now: now(), Relations: w.relations, Local: orchestrate.Local{
			Evaluating: w.evaluating > 0, Job: w.job, Memory: w.memory,
			BootID: m.o.BootID, LastBootID: w.lastBoot, LeftAt: m.o.LeftAt,
		},
	}
	if m.o.Quorum != nil {
		held, votes := m.o.Quorum()
		f.NoQuorum, f.Votes = !held, votes
	}
	if m.o.Fences != nil && i.Config.Stonith && i.Config.Topology == cluster.TopologyFailover {
		f.Fence = m.o.Fences(w.path)
	}
	if m.o.Acked != nil {
		f.Unacked = func(peer string) bool { return !m.o.Acked(peer, w.path) }
	}
	if m.o.Locks != nil && (w.job == nil || w.job.State != orchestrate.JobRunning) {
		f.Local.Lock = m.o.Locks.LockHolder(w.path)
	}
	return orchestrate.Observe(view, m.self, w.path, f)
}

// relate keeps the index of who decides by whom.
func (m *Monitor) relate(w *watched, config *cluster.InstanceConfig) {
	if w.config == config {
		return
	}
	for _, r := range w.relations {
		delete(m.related[r.Path], w.path)
		if len(m.related[r.Path]) == 0 {
			delete(m.related, r.Path)
		}
	}
	w.config, w.relations = config, nil
	if config == nil {
		return
	}
	w.relations = orchestrate.Relations(config, w.path)
	for _, r := range w.relations {
		if m.related[r.Path] == nil {
			m.related[r.Path] = map[object.Path]bool{}
		}
		m.related[r.Path][w.path] = true
	}
}

// apply makes a decision true. One that changed something is decided about again:
// what it changed may be what the next step waited for, and nothing else tells.
func (m *Monitor) apply(w *watched, old *cluster.InstanceMonitor, d orchestrate.Decision) {
	ending := w.monitor
	jobOver := w.job != nil && d.Job == nil
	if old != nil {
		ending = *old
	}
	w.memory, w.job, w.because = d.Memory, d.Job, d.Because
	sid := ""
	if d.Action.Verb.Forks() {
		sid = uuid.NewString()
		d.Monitor.SessionID = sid
	}
	if m.set(w, old, d.Monitor) || jobOver {
		m.dirty[w.path] = true
	}
	if d.Evict.RID != "" {
		m.o.Log.Warn("monitor action", slog.String("object", w.path.String()), slog.String("resource", d.Evict.RID),
			slog.String("action", d.Evict.Pending[0]))
		m.o.Bus.Publish(event.InstanceMonitorAction{Path: w.path, Node: m.self, Action: d.Evict.Pending[0], RID: d.Evict.RID})
	}
	if id := d.Monitor.OrchestrationID; id != "" && id != ending.OrchestrationID {
		m.o.Log.Info("accept", slog.String("object", w.path.String()), slog.String("oid", id), slog.String("reason", "asked of another node: "+d.Monitor.GlobalExpect))
		m.history.begin(Orchestration{ID: id, Path: w.path, GlobalExpect: d.Monitor.GlobalExpect, StartedAt: d.Monitor.GlobalExpectUpdatedAt})
	}
	if d.Ended != "" {
		why := ""
		if d.Ended != orchestrate.Succeeded {
			why = d.Why
		}
		m.end(w, ending, d.Ended, why)
	}
	if d.Action.Verb != "" {
		m.act(w, d.Action, sid)
	}
	if !d.WakeAt.Equal(w.wakeAt) {
		w.wakeAt = d.WakeAt
		if !d.WakeAt.IsZero() {
			m.timers.set(d.WakeAt, w.path)
		}
	}
}

// set publishes the monitor of an instance, if it changed.
func (m *Monitor) set(w *watched, old *cluster.InstanceMonitor, v cluster.InstanceMonitor) (changed bool) {
	if old != nil {
		v.UpdatedAt = old.UpdatedAt
		if reflect.DeepEqual(*old, v) {
			w.monitor = v
			return false
		}
		if old.State != v.State {
			say := m.o.Log.Info
			if old.State == orchestrate.StateInit {
				say = m.o.Log.Debug // every instance, at each start of the daemon
			}
			say("state", about(w, cmp.Or(v.OrchestrationID, old.OrchestrationID),
				slog.String("from", old.State), slog.String("to", v.State), slog.String("reason", because(w.because)))...)
		}
	}
	v.UpdatedAt = now()
	w.monitor = v
	m.o.State.SetInstanceMonitor(w.path, m.self, v)
	return true
}

// about are the attributes of a line about an instance, and about its orchestration
// if it is part of one: the log of that is found by its id.
func about(w *watched, orchestration string, more ...any) []any {
	attrs := []any{slog.String("object", w.path.String())}
	if orchestration != "" {
		attrs = append(attrs, slog.String("oid", orchestration))
	}
	return append(attrs, more...)
}

// because is the weightiest reason, in words.
func because(all []orchestrate.Reason) string {
	if len(all) == 0 {
		return ""
	}
	return all[len(all)-1].Text
}

func (m *Monitor) bootFile(p object.Path) string {
	return filepath.Join(m.o.Paths.Var(), p.StateDir(), "last_boot_id")
}

// evaluate has the status of the instance evaluated; nothing is decided by the
// former one meanwhile.
func (m *Monitor) evaluate(w *watched) {
	w.evaluating++
	m.o.Evaluate.Evaluate(w.path, func(error) {
		m.post(func() {
			w.evaluating--
			m.dirty[w.path] = true
		})
	})
}
