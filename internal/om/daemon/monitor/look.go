package monitor

import (
	"cmp"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/event"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/orchestrate"
)

// relation is a parent or a child: an object, or its instance on a node.
type relation struct {
	name   string // as written
	path   object.Path
	node   string
	parent bool
}

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
	goal := w.monitor.GlobalExpect
	if w.monitor.OrchestrationID != "" {
		if goal == orchestrate.Deleted || goal == orchestrate.Purged {
			m.end(w, w.monitor, orchestrate.Succeeded, "")
		} else {
			m.end(w, w.monitor, orchestrate.Failed, "the configuration of the object was removed meanwhile")
		}
	}
	m.relate(w, nil)
	delete(m.instances, w.path)
}

func (m *Monitor) world(view *cluster.View, w *watched, i cluster.Instance) orchestrate.World {
	m.relate(w, i.Config)
	world := orchestrate.World{
		Now: now(), Self: m.self, Path: w.path, Config: *i.Config, Quorum: true,
		Nodes: map[string]orchestrate.Node{},
		Local: orchestrate.Local{
			Evaluating: w.evaluating > 0, Job: w.job, Memory: w.memory,
			BootID: m.o.BootID, LastBootID: w.lastBoot,
		},
	}
	if n := view.Nodes[m.self]; n != nil {
		world.ReadyPeriod = n.Config.ReadyPeriod
	}
	for _, name := range append(slices.Clone(i.Config.Scope), m.self) {
		var node orchestrate.Node
		if n := view.Nodes[name]; n != nil {
			node.State, node.Frozen = n.Monitor.State, !n.Status.FrozenAt.IsZero()
			node.Load15M, node.Score = n.Stats.Load15M, n.Stats.Score
		}
		if peer, ok := view.Objects[w.path].Instances[name]; ok {
			node.Status, node.Monitor = peer.Status, peer.Monitor
		}
		world.Nodes[name] = node
	}
	for _, r := range w.relations {
		if r.parent {
			world.Parents = with(world.Parents, r.name, r.avail(view))
		} else {
			world.Children = with(world.Children, r.name, r.avail(view))
		}
	}
	if m.o.Locks != nil && (w.job == nil || w.job.State != orchestrate.JobRunning) {
		world.Local.Lock = m.o.Locks.LockHolder(w.path)
	}
	return world
}

func with(m map[string]cluster.Status, name string, s cluster.Status) map[string]cluster.Status {
	if m == nil {
		m = map[string]cluster.Status{}
	}
	m[name] = s
	return m
}

func (r relation) avail(view *cluster.View) cluster.Status {
	o := view.Objects[r.path]
	if o == nil {
		return cluster.Undef
	}
	if r.node == "" {
		return o.Avail
	}
	if i := o.Instances[r.node]; i.Status != nil {
		return i.Status.Avail
	}
	return cluster.Undef
}

// relate keeps the index of who decides by whom.
func (m *Monitor) relate(w *watched, config *cluster.InstanceConfig) {
	if w.config == config {
		return
	}
	for _, r := range w.relations {
		delete(m.related[r.path], w.path)
		if len(m.related[r.path]) == 0 {
			delete(m.related, r.path)
		}
	}
	w.config, w.relations = config, nil
	if config == nil {
		return
	}
	add := func(names []string, parent bool) {
		for _, name := range names {
			path, node, _ := strings.Cut(name, "@")
			p, err := object.ParseRelative(path, w.path.Namespace)
			if err != nil {
				continue // refused where it is written
			}
			w.relations = append(w.relations, relation{name: name, path: p, node: node, parent: parent})
			if m.related[p] == nil {
				m.related[p] = map[object.Path]bool{}
			}
			m.related[p][w.path] = true
		}
	}
	add(config.Parents, true)
	add(config.Children, false)
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
	if forks(d.Action.Verb) {
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
