package monitor_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/holdfast-ops/holdfast/internal/host"
	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/bus"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/executor"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/monitor"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/state"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

func svc(name string) object.Path {
	return object.Path{Namespace: "root", Kind: object.KindSvc, Name: name}
}

// bench is a monitor on a node of which everything else is made up: instances
// are a few words in memory, actions take virtual time.
type bench struct {
	*monitor.Monitor

	state *state.State
	bus   *bus.Bus
	world *world
	stop  context.CancelFunc
	ended chan struct{}
}

// world is what the fakes share.
type world struct {
	node  string
	state *state.State
	root  string
	acked func(peer string, p object.Path) bool

	mu        sync.Mutex
	disk      map[object.Path]cluster.InstanceConfig // configurations
	instances map[object.Path]*thing
	takes     time.Duration // of an action
	failing   map[string]bool
	jobs      []string
	running   map[object.Path]int
	overlap   bool
	ran       []string // by the runner
	power     []string
}

type thing struct {
	avail           cluster.Status
	frozen, stopped time.Time
	lock            string
	evaluations     int
}

func newWorld(t *testing.T, names ...string) (*world, *bus.Bus) {
	t.Helper()
	return newWorldOn(t, "n1", names...)
}

func newWorldOn(t *testing.T, node string, names ...string) (*world, *bus.Bus) {
	t.Helper()
	b := bus.New(node)
	w := &world{
		node: node, state: newState(t, b, node), root: t.TempDir(), disk: map[object.Path]cluster.InstanceConfig{}, instances: map[object.Path]*thing{},
		takes: time.Second, failing: map[string]bool{}, running: map[object.Path]int{},
	}
	for _, name := range names {
		w.create(svc(name), "no")
	}
	return w, b
}

// create writes a configuration, which the daemon does not know yet.
func (w *world) create(p object.Path, orchestrate string, change ...func(*cluster.InstanceConfig)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := cluster.InstanceConfig{
		Path: p, Orchestrate: orchestrate, Topology: cluster.TopologyFailover, Scope: []string{"n1"},
		Resources: map[string]cluster.ResourceConfig{"app#1": {}},
	}
	for _, f := range change {
		f(&c)
	}
	w.disk[p] = c
	if w.instances[p] == nil {
		w.instances[p] = &thing{avail: cluster.Down}
	}
}

func start(t *testing.T, w *world, b *bus.Bus) *bench {
	t.Helper()
	w.mu.Lock()
	paths := slices.Collect(maps.Keys(w.disk))
	w.mu.Unlock()
	for _, p := range paths {
		if err := w.Refresh(p); err != nil {
			t.Fatal(err)
		}
	}
	x := &bench{state: w.state, bus: b, world: w, ended: make(chan struct{})}
	x.Monitor = monitor.New(monitor.Options{
		Paths: host.Paths{Root: w.root}, Runner: w, State: w.state, Bus: b, Log: slog.New(slog.DiscardHandler),
		Executor: w, Evaluate: w, Discover: w, Flags: w, Locks: w, Power: power{w}, BootID: "b1", Acked: w.acked,
		History: filepath.Join(w.root, "orchestrations"),
	})
	ctx, cancel := context.WithCancel(t.Context())
	x.stop = cancel
	go func() {
		defer close(x.ended)
		if err := x.Run(ctx); err != nil {
			t.Error(err)
		}
	}()
	t.Cleanup(func() { cancel(); <-x.ended })
	return x
}

func newBench(t *testing.T, names ...string) *bench {
	t.Helper()
	w, b := newWorld(t, names...)
	return start(t, w, b)
}

// Refresh implements monitor.Discoverer.
func (w *world) Refresh(p object.Path) error {
	w.mu.Lock()
	c, ok := w.disk[p]
	w.mu.Unlock()
	if !ok {
		w.state.DeleteInstance(p, w.node)
		return &object.NotFoundError{What: p.String()}
	}
	known := w.state.View().Objects[p] != nil && w.state.View().Objects[p].Instances[w.node].Config != nil
	w.state.SetInstanceConfig(p, w.node, c)
	if !known {
		w.Evaluate(p, func(error) {})
	}
	return nil
}

// Evaluate implements monitor.Evaluator.
func (w *world) Evaluate(p object.Path, done func(error)) {
	go func() {
		w.mu.Lock()
		i := w.instances[p]
		i.evaluations++
		s := cluster.InstanceStatus{
			Avail: i.avail, Overall: i.avail, Provisioned: cluster.ProvisionedNotApplicable, FrozenAt: i.frozen, StoppedAt: i.stopped,
			UpdatedAt: time.Now(), Resources: map[string]cluster.ResourceStatus{"app#1": {Status: i.avail}},
		}
		w.mu.Unlock()
		w.state.SetInstanceStatus(p, w.node, s)
		done(nil)
	}()
}

// Submit implements monitor.Executor.
func (w *world) Submit(_ context.Context, j executor.Job) (executor.IDs, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	verb := j.Args[1]
	w.jobs = append(w.jobs, j.Path.String()+" "+strings.Join(j.Args[1:], " "))
	if w.failing["submit"] {
		return executor.IDs{}, errors.New("no more processes")
	}
	w.running[j.Path]++
	w.overlap = w.overlap || w.running[j.Path] > 1
	w.instances[j.Path].lock = verb
	time.AfterFunc(w.takes, func() { w.finish(j, verb) })
	return executor.IDs{SessionID: j.SessionID, ExecID: uuid.NewString()}, nil
}

func (w *world) finish(j executor.Job, verb string) {
	w.mu.Lock()
	w.running[j.Path]--
	i := w.instances[j.Path]
	i.lock = ""
	var err error
	switch {
	case w.failing[verb]:
		err = errors.New("exit status 1")
	case verb == "start" || verb == "provision":
		i.avail = cluster.Up
	case verb == "stop" || verb == "shutdown" || verb == "unprovision":
		i.avail = cluster.Down
	case verb == "delete":
		delete(w.disk, j.Path)
	}
	w.mu.Unlock()
	j.Done(executor.Outcome{Err: err})
}

// SetFrozen and SetStopped implement monitor.Flags.
func (w *world) SetFrozen(p object.Path, on bool) error {
	return w.flag(p, on, func(i *thing) *time.Time { return &i.frozen })
}

func (w *world) SetStopped(p object.Path, on bool) error {
	return w.flag(p, on, func(i *thing) *time.Time { return &i.stopped })
}

func (w *world) flag(p object.Path, on bool, of func(*thing) *time.Time) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.failing["flag"] {
		return errors.New("no space left on device")
	}
	at := of(w.instances[p])
	*at = time.Time{}
	if on {
		*at = time.Now()
	}
	return nil
}

// LockHolder implements monitor.Locks.
func (w *world) LockHolder(p object.Path) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.instances[p].lock
}

// Run implements host.Runner.
func (w *world) Run(_ context.Context, c host.Cmd) (host.Output, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ran = append(w.ran, strings.Join(c.Argv, " "))
	return host.Output{}, nil
}

// Start implements host.Runner.
func (w *world) Start(host.Cmd) (host.Process, error) { return nil, errors.New("not used") }

type power struct{ w *world }

func (p power) Reboot() error { return p.down("reboot") }
func (p power) Crash() error  { return p.down("crash") }

func (p power) down(how string) error {
	p.w.mu.Lock()
	defer p.w.mu.Unlock()
	p.w.power = append(p.w.power, how)
	if p.w.failing[how] {
		return fmt.Errorf("%s: not permitted", how)
	}
	return nil
}

// set changes the instance a as if by itself, and has it evaluated.
func (b *bench) set(f func(*thing)) {
	b.world.mu.Lock()
	f(b.world.instances[svc("a")])
	b.world.mu.Unlock()
	b.world.Evaluate(svc("a"), func(error) {})
}

// fail makes what a verb does fail from now on, or not any more.
func (w *world) fail(verb string, yes bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.failing[verb] = yes
}

// actFor makes actions take so long from now on.
func (w *world) actFor(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.takes = d
}

func (b *bench) done() []string {
	b.world.mu.Lock()
	defer b.world.mu.Unlock()
	return append([]string{}, b.world.jobs...)
}

func (b *bench) monitor(name string) cluster.InstanceMonitor {
	if o := b.state.View().Objects[svc(name)]; o != nil && o.Instances[b.world.node].Monitor != nil {
		return *o.Instances[b.world.node].Monitor
	}
	return cluster.InstanceMonitor{}
}

// ask gives a goal and waits for its end.
func (b *bench) ask(t *testing.T, name, goal string) monitor.Orchestration {
	t.Helper()
	id, err := b.Orchestrate(t.Context(), svc(name), monitor.Goal{Expect: goal})
	if err != nil {
		t.Fatalf("%s %s: %v", name, goal, err)
	}
	o, err := b.Wait(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// newState is the state of a daemon that was just started.
func newState(t *testing.T, b *bus.Bus, node string) *state.State {
	t.Helper()
	s := state.New(node, b)
	s.SetNodeConfig(node, cluster.NodeConfig{ReadyPeriod: 5 * time.Second})
	return s
}

func (w *world) overlapped() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.overlap
}

func (w *world) stoppedAt(name string) time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.instances[svc(name)].stopped
}

// pass lets virtual time go by.
func pass(d time.Duration) { <-time.NewTimer(d).C }
