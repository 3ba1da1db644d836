package simulate

import (
	"slices"

	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/orchestrate"
)

// act begins an action that was decided.
func (w *World) act(n *node, obj int, l *watched, d orchestrate.Decision) {
	m := n.disk[obj]
	a := d.Action
	how := m.manners[a.Verb]
	if a.Verb == orchestrate.Reboot || a.Verb == orchestrate.Crash {
		w.fell(n, a.Verb == orchestrate.Reboot)
		return
	}
	if a.Verb == orchestrate.Fence {
		w.fence(n, obj, a.Node)
		return
	}
	if !a.Verb.Forks() {
		if !how.fails {
			m.effect(a, w.clock(n), n.bootID())
		}
		w.jobEnded(n, obj, l, how.fails)
		return
	}
	m.process = &process{action: a, life: n.life, gen: m.jobs + 1, oid: d.Job.OrchestrationID}
	if limit := n.config.MaxParallel; limit > 0 && n.running >= limit {
		n.pending = append(n.pending, job{obj: obj, gen: m.process.gen, priority: m.config.Priority})
		return
	}
	w.fork(n, obj)
}

// fork starts the process of an action.
func (w *World) fork(n *node, obj int) {
	m := n.disk[obj]
	n.running++
	w.spawn(n, obj, m)
}

func (w *World) spawn(n *node, obj int, m *machine) {
	m.jobs = m.process.gen
	w.laws.begun(w, n, obj, m.process.action)
	how := m.manners[m.process.action.Verb]
	if how.hangs {
		return
	}
	takes := actionTakes
	if how.takes > 0 {
		takes = how.takes
	}
	w.push(takes, happening{kind: jobEnd, node: n.id, obj: obj, gen: m.process.gen})
}

// jobEnd is the end of the process of an action.
func (w *World) jobEnd(e happening) {
	n := w.nodes[e.node]
	m := n.disk[e.obj]
	if m == nil || m.process == nil || m.process.gen != e.gen || !n.power {
		return
	}
	p := m.process
	failed := m.manners[p.action.Verb].fails
	m.process = nil
	if failed {
		if p.action.Verb == orchestrate.Start {
			m.down(false) // what it had started is stopped
		}
	} else {
		m.effect(p.action, w.clock(n), n.bootID())
		w.breakDown(n, e.obj, m)
	}
	if !n.daemon {
		return
	}
	if p.life != n.life {
		w.dirtied(n, e.obj)
		if n.own.draining || n.own.ending {
			w.shutDown(n)
		}
		return
	}
	n.running--
	w.next(n)
	l := n.watch(e.obj)
	if p.action.Verb == orchestrate.Delete && !failed {
		w.deleted(n, e.obj, l)
		return
	}
	w.jobEnded(n, e.obj, l, failed)
	if n.own.draining || n.own.ending { // it had to wait for this
		w.shutDown(n)
	}
}

// breakDown has the broken resources that were started die at once.
func (w *World) breakDown(n *node, obj int, m *machine) {
	if n.daemon && slices.ContainsFunc(m.resources, func(p part) bool { return p.broken && !p.up }) {
		w.push(noticeTakes, happening{kind: notice, node: n.id, obj: obj, gen: n.life})
	}
}

// next starts the action that has waited for a slot, the most urgent first.
func (w *World) next(n *node) {
	if len(n.pending) == 0 {
		return
	}
	best := 0
	for i, j := range n.pending {
		if j.priority < n.pending[best].priority {
			best = i
		}
	}
	j := n.pending[best]
	n.pending = slices.Delete(slices.Clone(n.pending), best, best+1)
	if m := n.disk[j.obj]; m.process != nil && m.process.gen == j.gen {
		w.fork(n, j.obj)
	}
}

// jobEnded tells the daemon of the end of an action of its own.
func (w *World) jobEnded(n *node, obj int, l *watched, failed bool) {
	if l.job == nil {
		return
	}
	j := *l.job
	j.State = orchestrate.JobSucceeded
	if failed {
		j.State, j.Reason = orchestrate.JobFailed, "exit status 1"
		w.say(n, obj, "%s fails", j.Action)
	}
	l.job = &j
	if j.Action.Verb.Evaluates(failed) {
		w.evaluate(n, obj, l)
	}
	w.dirtied(n, obj)
}

// deleted ends the watch over an instance whose configuration is gone.
func (w *World) deleted(n *node, obj int, l *watched) {
	w.say(n, obj, "is deleted")
	if o := n.view.Objects[w.objects[obj].path]; o != nil {
		if m := o.Instances[n.name].Monitor; m != nil && m.OrchestrationID != "" {
			w.laws.ended(m.OrchestrationID)
		}
	}
	delete(n.local, obj)
	_ = l
	w.publish(n, obj, func(i *cluster.Instance) { *i = cluster.Instance{} })
	w.told(n, entryKey{partConfig, obj})
	w.told(n, entryKey{partStatus, obj})
	w.told(n, entryKey{partMonitor, obj})
}

// fell is a node going down by its own hand.
func (w *World) fell(n *node, again bool) {
	w.crash(n)
	if again {
		w.push(bootTakes, happening{kind: power, node: n.id})
	}
}

// launch is a daemon that is started.
func (w *World) launch(e happening) {
	if n := w.nodes[e.node]; n.power && !n.daemon {
		w.say(n, -1, "starts its daemon")
		w.start(n)
	}
}
