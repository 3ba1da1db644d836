// Package monitor turns decisions into deeds: it is the shell around
// [orchestrate.Decide].
//
//	events, ends of actions, timers, requests
//	        |
//	        v
//	  paths to look at --> World --> Decide --> monitor in the state, action, timer
//
// One goroutine does it for all the local instances: it sleeps until something
// happens, looks at what changed only, and never waits for anybody. Actions run
// in the executor; what is a matter of a file is done in place.
//
// A daemon that was killed starts from what is seen: the statuses, the flag
// files, and the action locks of the commands that are still running. Goals are
// not kept: a goal of a killed daemon is given up, but for what its flags say.
package monitor

import (
	"container/heap"
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/holdfast-ops/holdfast/internal/host"
	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/bus"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/executor"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/state"
	"github.com/holdfast-ops/holdfast/internal/om/event"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/orchestrate"
)

// Flags sets the flag files of the local instances; *instance.Engine does it.
type Flags interface {
	SetFrozen(p object.Path, frozen bool) error
	SetStopped(p object.Path, stopped bool) error
}

// Locks tells the action of the process that holds the action lock of an
// instance, empty when none does.
type Locks interface {
	LockHolder(p object.Path) (action string)
}

// Discoverer reads a configuration now; *discover.Discovery does it.
type Discoverer interface {
	Refresh(p object.Path) error
}

// Evaluator evaluates statuses; *evaluate.Pool does it.
type Evaluator interface {
	Evaluate(p object.Path, done func(error))
}

// Executor runs actions; *executor.Executor does it.
type Executor interface {
	Submit(ctx context.Context, j executor.Job) (executor.IDs, error)
}

// Power takes the node down, at once.
type Power interface {
	Reboot() error
	Crash() error
}

// Fencer takes a lost node down, before the instance it had of an object is
// started elsewhere. The error of a fencing that failed keeps from that.
type Fencer interface {
	Fence(ctx context.Context, node string, p object.Path) error
}

// Options are what a monitor works with.
type Options struct {
	Paths    host.Paths
	Runner   host.Runner // of pre_monitor_action
	State    *state.State
	Bus      *bus.Bus
	Log      *slog.Logger
	Executor Executor
	Evaluate Evaluator
	Discover Discoverer
	Flags    Flags
	Locks    Locks  // nil: there are none
	Power    Power  // nil: monitor actions never take the node down
	Fencer   Fencer // nil: no node is fenced
	// Fences tells of the lost nodes that may still run an instance of an object, and
	// how far their fencing is; nil: there are none.
	Fences func(p object.Path) map[string]orchestrate.FenceState
	// Quorum reports whether the node may act for the cluster; nil: it may.
	Quorum func() (held bool, votes orchestrate.Tally)
	// Acked reports whether a peer has taken note of the present monitor of the local
	// instance; nil: it has.
	Acked func(peer string, p object.Path) bool
	// LeftAt is when a former daemon was last alive, zero when that is not known.
	LeftAt  time.Time
	Ready   <-chan struct{} // closed once the disk was read; nil: it was
	BootID  string          // of the running kernel; empty: boots are not followed
	History string          // file that keeps the orchestrations; empty: they are kept in memory only
}

// Monitor watches over the local instances. Its methods are safe for concurrent use.
type Monitor struct {
	o       Options
	self    string
	ended   chan struct{} // closed when Run returns
	history *history

	mail struct {
		mu    sync.Mutex
		posts []func()
		c     chan struct{}
	}

	// What follows belongs to the goroutine of Run.
	spawn      func(func(context.Context)) // runs beside, until Run ends
	instances  map[object.Path]*watched
	related    map[object.Path]map[object.Path]bool // who decides by the state of whom
	dirty      map[object.Path]bool
	departures map[string]*departure // by the id of the orchestration
	timers     timers
	events     *bus.Latest
}

// watched is what the shell keeps of an instance from one decision to the next.
type watched struct {
	path       object.Path
	monitor    cluster.InstanceMonitor
	config     *cluster.InstanceConfig // the one related objects were taken from
	relations  []orchestrate.Relation
	job        *orchestrate.Job
	memory     orchestrate.Memory
	because    []orchestrate.Reason
	lastBoot   string
	lock       string
	evaluating int  // evaluations asked for, that have not ended
	gone       bool // the configuration was deleted
	wakeAt     time.Time
}

// New returns a monitor. Nothing is decided before [Monitor.Run], which follows
// events from here on.
func New(o Options) *Monitor {
	m := &Monitor{
		o: o, self: o.State.Node(), ended: make(chan struct{}), history: newHistory(o),
		instances: map[object.Path]*watched{}, related: map[object.Path]map[object.Path]bool{}, dirty: map[object.Path]bool{}, departures: map[string]*departure{},
	}
	m.mail.c = make(chan struct{}, 1)
	m.events = o.Bus.Latest("monitor", m.interest)
	return m
}

// interest keys the events that may change a decision: by object, and one key
// for the nodes.
func (m *Monitor) interest(e *event.Envelope) (string, bool) {
	switch ev := e.Event.(type) {
	case event.InstanceConfigUpdated, event.InstanceConfigDeleted, event.InstanceStatusUpdated, event.ObjectStatusUpdated, event.ObjectDeleted:
		return e.Labels["path"], true
	case event.ObjectOrchestrationAccepted:
		return "accepted " + ev.ID, ev.Node != m.self
	case event.ObjectOrchestrationEnd:
		return "ended " + ev.ID, ev.Node != m.self
	case event.InstanceMonitorUpdated:
		return e.Labels["path"], ev.Node != m.self
	case event.NodeMonitorUpdated, event.NodeStatusUpdated, event.NodeConfigUpdated, event.NodeStatsUpdated,
		event.NodeAlive, event.NodeStale, event.ForgetPeer:
		return "", true
	}
	return "", false
}

// Run decides and acts until ctx ends.
func (m *Monitor) Run(ctx context.Context) error {
	defer close(m.ended)
	defer m.events.Close()
	var beside sync.WaitGroup
	defer beside.Wait()
	m.spawn = func(f func(context.Context)) { beside.Go(func() { f(ctx) }) }
	if m.o.Ready != nil {
		select {
		case <-m.o.Ready:
		case <-ctx.Done():
			return nil
		}
	}
	if m.o.Quorum == nil { // nobody else looks after the node
		m.enterService()
	}
	m.touchAll()
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		m.settle()
		next := m.timers.next(m.instances)
		if next.IsZero() {
			timer.Stop()
		} else {
			timer.Reset(time.Until(next))
		}
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
			m.ring(time.Now())
		case <-m.events.C():
		case <-m.mail.c:
		}
	}
}

// enterService makes the node one that orchestrates.
func (m *Monitor) enterService() {
	var nm cluster.NodeMonitor
	if n := m.o.State.View().Nodes[m.self]; n != nil {
		nm = n.Monitor
	}
	if nm.State != "" && nm.State != orchestrate.StateInit {
		return
	}
	at := now()
	m.o.State.SetNodeMonitor(m.self, cluster.NodeMonitor{
		State: orchestrate.StateIdle, StateUpdatedAt: at,
		GlobalExpect: orchestrate.None, GlobalExpectUpdatedAt: at,
		LocalExpect: orchestrate.None, LocalExpectUpdatedAt: at, UpdatedAt: at,
	})
}

// settle takes in what happened, and decides until nothing is left to look at.
func (m *Monitor) settle() {
	for {
		for _, f := range m.takePosts() {
			f()
		}
		for _, e := range m.events.Take() {
			m.take(e)
		}
		m.depart()
		if len(m.dirty) == 0 {
			return
		}
		paths := make([]object.Path, 0, len(m.dirty))
		for p := range m.dirty {
			paths = append(paths, p)
		}
		clear(m.dirty)
		slices.SortFunc(paths, object.Compare)
		// One view for all of them: what the first decisions change is told by
		// events, and looked at in the next round.
		view := m.o.State.View()
		for _, p := range paths {
			m.look(view, p)
		}
	}
}

func (m *Monitor) take(e *event.Envelope) {
	switch ev := e.Event.(type) {
	case event.ObjectOrchestrationAccepted:
		m.history.begin(Orchestration{ID: ev.ID, Path: ev.Path, GlobalExpect: ev.GlobalExpect, AcceptedBy: ev.Node, StartedAt: ev.GlobalExpectUpdatedAt})
		return
	case event.ObjectOrchestrationEnd:
		m.history.end(ev.ID, ev.State, ev.Reason, now())
		return
	}
	path, ok := e.Labels["path"]
	if !ok {
		m.touchAll()
		return
	}
	p, err := object.Parse(path)
	if err != nil {
		return
	}
	m.dirty[p] = true
	for dependent := range m.related[p] {
		m.dirty[dependent] = true
	}
}

func (m *Monitor) touchAll() {
	for p, o := range m.o.State.View().Objects {
		if _, ok := o.Instances[m.self]; ok {
			m.dirty[p] = true
		}
	}
}

// Reconsider has every local instance looked at again: something its decisions
// depend on, and that no event tells, has changed.
func (m *Monitor) Reconsider() { m.post(m.touchAll) }

// post has f called by the goroutine of Run, without waiting for it.
func (m *Monitor) post(f func()) {
	m.mail.mu.Lock()
	m.mail.posts = append(m.mail.posts, f)
	m.mail.mu.Unlock()
	select {
	case m.mail.c <- struct{}{}:
	default:
	}
}

func (m *Monitor) takePosts() []func() {
	m.mail.mu.Lock()
	defer m.mail.mu.Unlock()
	posts := m.mail.posts
	m.mail.posts = nil
	return posts
}

// timers is a heap of when to look at instances again. An entry that is not the
// last one set for its instance is dropped when it comes up.
type timers []alarm

type alarm struct {
	at   time.Time
	path object.Path
}

func (t *timers) set(at time.Time, p object.Path) { heap.Push(t, alarm{at, p}) }

func (t *timers) next(instances map[object.Path]*watched) time.Time {
	for len(*t) > 0 {
		a := (*t)[0]
		if w := instances[a.path]; w != nil && w.wakeAt.Equal(a.at) {
			return a.at
		}
		heap.Pop(t)
	}
	return time.Time{}
}

// ring marks the instances that are due.
func (m *Monitor) ring(now time.Time) {
	for {
		at := m.timers.next(m.instances)
		if at.IsZero() || at.After(now) {
			return
		}
		a, _ := heap.Pop(&m.timers).(alarm)
		m.instances[a.path].wakeAt = time.Time{}
		m.dirty[a.path] = true
	}
}

func (t timers) Len() int           { return len(t) }
func (t timers) Less(i, j int) bool { return t[i].at.Before(t[j].at) }
func (t timers) Swap(i, j int)      { t[i], t[j] = t[j], t[i] }

// Push implements heap.Interface.
func (t *timers) Push(x any) {
	if a, ok := x.(alarm); ok {
		*t = append(*t, a)
	}
}

// Pop implements heap.Interface.
func (t *timers) Pop() any {
	old := *t
	a := old[len(old)-1]
	*t = old[:len(old)-1]
	return a
}

func now() time.Time { return time.Now().Round(0) }
