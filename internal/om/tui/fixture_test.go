package tui_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ops/holdfast/internal/cli/screen"
	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/command/configure"
	"github.com/holdfast-ops/holdfast/internal/om/command/instance"
	cmdobject "github.com/holdfast-ops/holdfast/internal/om/command/object"
	"github.com/holdfast-ops/holdfast/internal/om/command/remote"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/tui"
	"github.com/holdfast-ops/holdfast/internal/secret"
)

var update = flag.Bool("update", false, "rewrite the golden frames")

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s: run the tests with -update if it is meant\n%s", file, diff)
	}
}

func at() time.Time { return time.Date(2026, 11, 30, 10, 0, 0, 0, time.Local) }

// lab is a cluster of two nodes.
func lab() api.ClusterStatus {
	idle := &cluster.InstanceMonitor{State: "idle", GlobalExpect: "none", LocalExpect: "none"}
	leader := &cluster.InstanceMonitor{State: "idle", IsLeader: true, GlobalExpect: "none", LocalExpect: "started"}
	status := func(avail, overall cluster.Status, resources map[string]cluster.ResourceStatus) *cluster.InstanceStatus {
		return &cluster.InstanceStatus{
			Avail: avail, Overall: overall, Provisioned: cluster.ProvisionedTrue, Resources: resources,
			UpdatedAt: at().Add(-90 * time.Second), LastStartedAt: at().Add(-3 * time.Hour),
		}
	}
	made := cluster.ProvisionedAt{State: cluster.ProvisionedTrue, Mtime: at().Add(-72 * time.Hour)}
	web := map[string]cluster.ResourceStatus{
		"fs#1": {Type: "fs.flag", Label: "flag", Status: cluster.Up, Provisioned: made, Info: map[string]any{"path": "/run/web", "size": 4096}},
		"app#1": {
			Type: "app.simple", Label: "simple: sleep 1000", Status: cluster.Warn, Provisioned: made, Monitor: true, Restart: 2, Tags: []string{"front"},
			Log: []cluster.ResourceLogEntry{{Level: "warn", Message: "the check takes 3s of the 5s it has"}},
		},
	}
	var s api.ClusterStatus
	s.Daemon = api.DaemonLocal{Nodename: "node1", Pid: 2615}
	s.Cluster.Config = cluster.Config{Name: "lab", Nodes: []string{"node1", "node2"}}
	s.Cluster.Node = map[string]cluster.Node{
		"node1": {
			Status: cluster.NodeStatus{Agent: "0.5.0"}, Monitor: cluster.NodeMonitor{State: "idle"},
			Stats:    cluster.NodeStats{Load15M: 0.25, Score: 70, MemTotalMB: 24 << 10, MemAvailPct: 96, SwapTotalMB: 512, SwapAvailPct: 5},
			Config:   cluster.NodeConfig{MinAvailSwapPct: 10, Env: "PRD", Labels: map[string]string{"room": "12", "floor": "2"}},
			Listener: cluster.Listener{State: cluster.ListenerRunning, Addr: "192.0.2.1", Port: "1215"},
		},
		"node2": {
			Status:  cluster.NodeStatus{FrozenAt: at().Add(-time.Hour), Agent: "0.5.0"},
			Monitor: cluster.NodeMonitor{State: "draining", GlobalExpect: "frozen"},
			Stats:   cluster.NodeStats{MemTotalMB: 900, MemAvailPct: 10},
		},
	}
	s.Cluster.Object = map[string]cluster.Object{
		"web": {
			Avail: cluster.Up, Overall: cluster.Warn, Frozen: "mixed", Provisioned: cluster.ProvisionedTrue, Orchestrate: "ha", Topology: "failover",
			PlacementPolicy: "nodes order", PlacementState: "optimal", UpInstancesCount: 1, Priority: 50, Scope: []string{"node1", "node2"},
			Instances: map[string]cluster.Instance{
				"node1": {Monitor: leader, Status: status(cluster.Up, cluster.Warn, web)},
				"node2": {Monitor: idle, Status: &cluster.InstanceStatus{Avail: cluster.Down, Overall: cluster.Down, FrozenAt: at().Add(-time.Hour), Provisioned: cluster.ProvisionedTrue, UpdatedAt: at()}},
			},
		},
		"prod/svc/db": {
			Avail: cluster.Down, Overall: cluster.Down, Provisioned: cluster.ProvisionedTrue, Orchestrate: "no", Topology: "failover", Scope: []string{"node2"},
			Instances: map[string]cluster.Instance{"node2": {Monitor: &cluster.InstanceMonitor{State: "start failed"}, Status: status(cluster.Down, cluster.Down, nil)}},
		},
		"prod/cfg/settings": {
			Avail: cluster.NotApplicable, Overall: cluster.NotApplicable, Provisioned: cluster.ProvisionedNotApplicable, Scope: []string{"node1"},
			Instances: map[string]cluster.Instance{"node1": {Status: &cluster.InstanceStatus{Avail: cluster.NotApplicable, UpdatedAt: at()}}},
		},
	}
	return s
}

// event makes an event of the stream of a daemon.
func event(t *testing.T, kind, data string) api.Event {
	t.Helper()
	if !json.Valid([]byte(data)) {
		t.Fatalf("%s is no JSON", data)
	}
	return api.Event{Kind: kind, At: at(), Data: json.RawMessage(data)}
}

var errCut = errors.New("no daemon answers on lab:1215: connection refused")

// world is a station with clusters for tests.
type world struct {
	mu       sync.Mutex
	contexts []tui.Context
	err      error // of opening
	status   api.ClusterStatus
	events   chan api.Event // nil: the stream is silent
	did      []string
	logins   []string
	refuse   error
	locked   bool // until a login
}

func (w *world) Contexts() ([]tui.Context, error) { return w.contexts, nil }

func (w *world) Open(context string) (tui.Cluster, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.locked {
		return nil, &remote.LoginError{Context: context, Reason: "nobody is logged in"}
	}
	return w, w.err
}

func (w *world) Login(_ context.Context, context string, password secret.String) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.logins = append(w.logins, context+" "+password.Reveal())
	if password.Reveal() != "right" {
		return errors.New("context " + context + ": this is not the password")
	}
	w.locked = false
	return nil
}

func (w *world) note(format string, a ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.did = append(w.did, fmt.Sprintf(format, a...))
}

func (w *world) done() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Join(w.did, "\n")
}

func (w *world) set(s api.ClusterStatus) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.status = s
}

func (w *world) ClusterStatus(context.Context, string) (api.ClusterStatus, error) {
	w.note("status")
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.status, nil
}

func (w *world) EventsFrom(ctx context.Context, _ api.EventQuery, opened func()) iter.Seq2[api.Event, error] {
	w.note("events")
	w.mu.Lock()
	events := w.events
	w.mu.Unlock()
	return func(yield func(api.Event, error) bool) {
		opened()
		for {
			select {
			case e, open := <-events:
				if !open {
					yield(api.Event{}, errors.New("the link is cut"))
					return
				}
				if !yield(e, nil) {
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}
}

func (w *world) ConfigFile(_ context.Context, p object.Path) (configure.File, error) {
	return configure.File{Data: []byte("# " + p.String() + "\n[DEFAULT]\nid = 1\n\n[app#1]\ntype = simple\nstart = /bin/sleep 1000\n")}, nil
}

func (w *world) Orchestrate(_ context.Context, p object.Path, a cmdobject.Action) (string, error) {
	w.note("%s %s", a.Name, p)
	return "oid", w.refuse
}

func (w *world) WaitOrchestration(context.Context, string, time.Duration) (api.Orchestration, error) {
	return api.Orchestration{State: api.StateSucceeded}, nil
}

func (w *world) ActOn(_ context.Context, node string, p object.Path, a instance.Action) (api.InstanceActionAccepted, error) {
	w.note("%s %s on %s, rid %q", a.Name, p, node, a.Rid)
	return api.InstanceActionAccepted{ExecID: "eid"}, w.refuse
}

func (w *world) WaitExec(context.Context, string, string, time.Duration) (api.Exec, error) {
	return api.Exec{State: api.StateFailed, Error: "exit status 1"}, nil
}

func (w *world) FreezeNode(_ context.Context, node string, frozen bool) error {
	w.note("freeze node %s %v", node, frozen)
	return w.refuse
}

func (w *world) NewSession() string { return "sid" }

func (w *world) Wanted(p object.Path) bool { return p.Namespace != "foreign" }

func (w *world) Logs(_ context.Context, node string, p object.Path) iter.Seq2[tui.LogLine, error] {
	return func(yield func(tui.LogLine, error) bool) {
		for i, l := range []tui.LogLine{
			{Level: "info", Object: "web", Rid: "app#1", Message: "run /bin/sleep 1000"},
			{Level: "warn", Object: "web", Rid: "app#1", Message: "the check takes 3s of the 5s it has, " + strings.Repeat("which is long ", 8)},
			{Level: "error", Object: "other", Message: "\x1b[31mno\x07pe"},
		} {
			l.At = at().Add(time.Duration(i) * time.Second)
			if !yield(l, nil) {
				return
			}
		}
	}
}

// driver is somebody at the terminal.
type driver struct {
	*testing.T

	model tui.Model
	size  screen.Size
	quit  bool
	film  strings.Builder
}

func drive(t *testing.T, w *world, o tui.Options) *driver {
	t.Helper()
	o.Now = at()
	d := &driver{T: t, model: tui.New(w, o), size: screen.Size{Width: 100, Height: 24}}
	d.run(d.model.Init())
	d.tell(d.size)
	return d
}

// live is somebody in front of the lab.
func live(t *testing.T, w *world) *driver {
	t.Helper()
	d := drive(t, w, tui.Options{})
	d.tell(tui.Live(at()))
	d.tell(tui.News(lab(), nil, at()))
	return d
}

func (d *driver) tell(msg screen.Msg) {
	var cmds []screen.Cmd
	d.model, cmds = d.model.Update(msg)
	d.run(cmds)
}

// run does what commands do, but for the connection.
func (d *driver) run(cmds []screen.Cmd) {
	for _, c := range cmds {
		if c.Run == nil {
			d.quit = d.quit || c.Name == ""
			continue
		}
		if c.Name == tui.LinkCommand {
			continue
		}
		var sent []screen.Msg
		c.Run(d.Context(), func(msg screen.Msg) { sent = append(sent, msg) })
		for _, msg := range sent {
			d.tell(msg)
		}
	}
}

// press presses keys, by their names.
func (d *driver) press(keys ...screen.Key) *driver {
	for _, k := range keys {
		d.tell(k)
	}
	return d
}

// typed types a text.
func (d *driver) typed(text string) *driver {
	for _, r := range text {
		d.tell(screen.Key(string(r)))
	}
	return d
}

func (d *driver) frame() string { return d.model.View().Text(d.size) }

func (d *driver) lastLine() string {
	lines := strings.Split(strings.TrimRight(d.frame(), "\n"), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}

// shoot adds what is shown to the film.
func (d *driver) shoot(what string) *driver {
	fmt.Fprintf(&d.film, "== %s\n%s", what, d.frame())
	return d
}
