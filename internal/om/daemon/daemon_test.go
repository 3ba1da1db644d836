package daemon_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/holdfast-ops/holdfast/internal/host"
	"github.com/holdfast-ops/holdfast/internal/linux/launch"
	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/client"
	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/daemon"
	"github.com/holdfast-ops/holdfast/internal/om/datastore"
	"github.com/holdfast-ops/holdfast/internal/om/driver/all"
	"github.com/holdfast-ops/holdfast/internal/om/instance"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/store"
)

const node1 = "node1"

// TestMain makes the test binary a small om: the daemon forks it to act, and
// tests start it as a daemon of its own. Any other command is refused: forked
// blindly, a test binary would run the tests again.
func TestMain(m *testing.M) {
	os.Exit(run(m)) //nolint:forbidigo // this is a main
}

func run(m *testing.M) int {
	if len(os.Args) < 2 || strings.HasPrefix(os.Args[1], "-test.") {
		return m.Run()
	}
	switch {
	case os.Args[1] == "exec":
		return code(execute(os.Args[2:]))
	case len(os.Args) > 3 && os.Args[2] == "instance":
		return code(act(os.Args[1], os.Args[3], os.Args[4:]))
	case len(os.Args) > 2 && os.Args[1] == "daemon" && os.Args[2] == "run":
		return code(serve())
	}
	return code(fmt.Errorf("unexpected command %q", os.Args))
}

// getenv reads the environment of the test binary when it is a command.
func getenv(name string) string { return os.Getenv(name) } //nolint:forbidigo // this is a main

// execute is om exec.
func execute(args []string) error {
	var o launch.Options
	flags := pflag.NewFlagSet("exec", pflag.ContinueOnError)
	o.Bind(flags)
	if err := flags.Parse(args); err != nil {
		return err
	}
	o.Argv = flags.Args()
	return launch.Exec(o, os.Environ())
}

func code(err error) int {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func newHost(root string) (host.Host, error) {
	self, err := os.Executable()
	return host.Host{Runner: host.NewRunner(), Paths: host.Paths{Root: root}, Hostname: node1, Self: self}, err
}

// serve is the daemon of the root of the environment.
func serve() error {
	h, err := newHost(getenv("OSVC_ROOT_PATH"))
	if err != nil {
		return err
	}
	// What the process says, its last words included, is for the test that failed.
	log, err := os.OpenFile(logFile(h.Paths.Root), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if err := syscall.Dup3(int(log.Fd()), int(os.Stderr.Fd()), 0); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	return daemon.Run(ctx, daemon.Options{
		Host: h, Version: "test", Log: slog.New(slog.NewTextHandler(os.Stderr, nil)), Args: os.Args, Environ: os.Environ(),
	})
}

func logFile(root string) string { return filepath.Join(root, "daemon.log") }

// act runs an action as om does, and tells the daemon.
func act(name, action string, args []string) error {
	h, err := newHost(getenv("OSVC_ROOT_PATH"))
	if err != nil {
		return err
	}
	p, err := object.Parse(name)
	if err != nil {
		return err
	}
	c, err := client.New(client.Options{Socket: h.Paths.Socket()})
	if err != nil {
		return err
	}
	drivers := all.Registry()
	configs := store.New(h, drivers.Sections)
	engine := &instance.Engine{
		Host: h, Store: configs, Registry: drivers, Log: slog.New(slog.DiscardHandler),
		Data: datastore.New(configs).Decode, Keys: datastore.New(configs), Notify: notifier{c}, Environ: os.Environ(),
	}
	r := instance.Request{
		Action: instance.Action(action), Session: getenv("OSVC_SESSION_ID"), Origin: getenv("OSVC_ACTION_ORIGIN"),
		Force: slices.Contains(args, "--force"), Leader: slices.Contains(args, "--leader"),
	}
	return engine.Run(context.Background(), p, r)
}

type notifier struct{ c *client.Client }

func (n notifier) Progress(ctx context.Context, p object.Path, sid, state string, partial bool) {
	_, _ = client.Do(ctx, n.c, api.PostInstanceProgress, api.InstanceProgress{
		ObjectName: api.Named(p), Body: api.Progress{SessionID: sid, State: state, IsPartial: partial},
	})
}

func (n notifier) Status(ctx context.Context, p object.Path, status cluster.InstanceStatus) {
	_, _ = client.Do(ctx, n.c, api.PostInstanceStatus, api.InstanceStatusPost{ObjectName: api.Named(p), Body: status})
}

func (n notifier) Installed(ctx context.Context, p object.Path, rid string, files []string) {
	_, _ = client.Do(ctx, n.c, api.PostInstanceInstalled, api.InstanceInstalled{ObjectName: api.Named(p), Body: api.Installed{Rid: rid, Files: files}})
}

// running is a daemon in this process.
type running struct {
	*client.Client
	host.Host
	log  *syncBuffer
	stop func() error
}

type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// newRoot is a root whose listener takes any free port.
func newRoot(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	configure(t, root, "cluster.conf", "[listener]\nport = "+strconv.Itoa(freePort(t))+"\n")
	return root
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func configure(t *testing.T, root, name, content string) {
	t.Helper()
	file := filepath.Join(root, "etc", name)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// start runs a daemon and returns once it is ready.
func start(t *testing.T, root string) *running {
	t.Helper()
	h, err := newHost(root)
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.New(client.Options{Socket: h.Paths.Socket()})
	if err != nil {
		t.Fatal(err)
	}
	r := &running{Client: c, Host: h, log: &syncBuffer{}}
	ctx, cancel := context.WithCancel(context.Background())
	ready, done := make(chan struct{}), make(chan error, 1)
	go func() {
		done <- daemon.Run(ctx, daemon.Options{
			Host: h, Version: "test", Log: slog.New(slog.NewTextHandler(r.log, nil)),
			Environ: []string{"PATH=" + getenv("PATH")}, Ready: func() { close(ready) },
		})
	}()
	r.stop = sync.OnceValue(func() error {
		cancel()
		return <-done
	})
	t.Cleanup(func() {
		if err := r.stop(); err != nil && !errors.Is(err, daemon.ErrRestart) {
			t.Error(err)
		}
		if t.Failed() {
			t.Log(r.log.String())
		}
	})
	select {
	case <-ready:
	case err := <-done:
		done <- err
		t.Fatalf("the daemon ended: %v\n%s", err, r.log)
	}
	return r
}

// ended waits for a daemon that was asked to end.
func (r *running) ended(t *testing.T) {
	t.Helper()
	eventually(t, func() bool {
		_, err := os.Stat(r.Paths.Pid())
		return errors.Is(err, os.ErrNotExist)
	})
}

func eventually(t *testing.T, done func() bool) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	limit := time.NewTimer(2 * time.Minute)
	defer limit.Stop()
	for !done() {
		select {
		case <-tick.C:
		case <-limit.C:
			t.Fatal("nothing happens")
		}
	}
}

func do[In, Out any](t *testing.T, c *client.Client, op api.Operation[In, Out], in In) Out {
	t.Helper()
	out, err := client.Do(context.Background(), c, op, in)
	if err != nil {
		t.Fatalf("%s: %v", op.ID, err)
	}
	return out
}

func svc(name string) object.Path {
	return object.Path{Namespace: object.RootNamespace, Kind: object.KindSvc, Name: name}
}

// create makes svc1, whose command lives until it is stopped.
func (r *running) create(t *testing.T) object.Path {
	t.Helper()
	p := svc("svc1")
	do(t, r.Client, api.PostObjectConfigFile, api.ObjectConfigCreate{ObjectName: api.Named(p), RawBody: []byte(app)})
	return p
}

func (r *running) status(t *testing.T, p object.Path) cluster.Status {
	t.Helper()
	i := do(t, r.Client, api.GetInstance, api.InstanceOf("", p))
	if i.Data.Status == nil {
		return cluster.Undef
	}
	return i.Data.Status.Avail
}

// orchestrate gives a goal and waits for its end.
func (r *running) orchestrate(t *testing.T, op api.Operation[api.ObjectName, api.OrchestrationQueued], p object.Path) {
	t.Helper()
	r.reached(t, op.ID, p, do(t, r.Client, op, api.Named(p)).OrchestrationID)
}

func (r *running) started(t *testing.T, p object.Path) {
	t.Helper()
	op := api.PostObjectActionStart
	r.reached(t, op.ID, p, do(t, r.Client, op, api.ObjectStart{ObjectName: api.Named(p)}).OrchestrationID)
}

func (r *running) reached(t *testing.T, what string, p object.Path, id string) {
	t.Helper()
	o := do(t, r.Client, api.GetDaemonOrchestration, api.WaitQuery{ID: id, Wait: "2m"})
	if o.State != api.StateSucceeded {
		t.Fatalf("%s of %s: %+v", what, p, o)
	}
}

func TestADaemonLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	root := newRoot(t)
	r := start(t, root)
	pid, err := os.ReadFile(r.Paths.Pid())
	if err != nil || strings.TrimSpace(string(pid)) != strconv.Itoa(os.Getpid()) {
		t.Errorf("pid file: %q, %v", pid, err)
	}
	do(t, r.Client, api.GetHealth, api.None{})
	node := do(t, r.Client, api.GetNodes, api.NodeQuery{}).Items[0]
	if node.Data.Status.Agent != "test" || node.Data.Monitor.State != "idle" {
		t.Errorf("node %+v", node)
	}

	if err := r.stop(); err != nil {
		t.Fatal(err)
	}

	for _, name := range []string{r.Paths.Pid(), r.Paths.Socket()} {
		if _, err := os.Stat(name); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s remains: %v", name, err)
		}
	}
	if _, err := client.Do(t.Context(), r.Client, api.GetHealth, api.None{}); !client.IsDown(err) {
		t.Errorf("somebody answers: %v", err)
	}
	start(t, root)
}

func TestASecondDaemonSaysWhoRuns(t *testing.T) {
	t.Parallel()
	r := start(t, newRoot(t))

	err := daemon.Run(t.Context(), daemon.Options{Host: r.Host, Log: slog.New(slog.DiscardHandler)})

	running, ok := errors.AsType[*daemon.RunningError](err)
	if !ok || running.Pid != strconv.Itoa(os.Getpid()) {
		t.Fatalf("got %v", err)
	}
	do(t, r.Client, api.GetHealth, api.None{})
}

// A child the former daemon has just forked holds the lock until it runs its own
// program.
func TestALockAboutToBeReleasedIsWaitedFor(t *testing.T) {
	t.Parallel()
	root := newRoot(t)
	paths := host.Paths{Root: root}
	if err := os.MkdirAll(paths.Locks(), 0o700); err != nil {
		t.Fatal(err)
	}
	held, err := os.Create(filepath.Join(paths.Locks(), "daemon"))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Flock(int(held.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(100*time.Millisecond, func() { _ = held.Close() })

	start(t, root)
}

func TestStaleFilesAreHarmless(t *testing.T) {
	t.Parallel()
	root := newRoot(t)
	paths := host.Paths{Root: root}
	for name, content := range map[string]string{
		paths.Pid(): "1\n", filepath.Join(paths.Locks(), "daemon"): "1\n", paths.Socket(): "",
	} {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}

	start(t, root)

	info, err := os.Stat(filepath.Dir(paths.Socket()))
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the directory of the socket: %v, %v", info.Mode(), err)
	}
}

const app = "[app#1]\ntype = simple\nstart = /bin/sleep 1000\n"

func TestAServiceIsStartedStoppedAndDeleted(t *testing.T) {
	t.Parallel()
	r := start(t, newRoot(t))
	p := r.create(t)

	began := time.Now()
	r.started(t, p)
	t.Logf("start took %s", time.Since(began))
	if got := r.status(t, p); got != cluster.Up {
		t.Errorf("after start: %s", got)
	}
	execs := do(t, r.Client, api.GetDaemonExecs, api.ExecQuery{Selector: "svc1", Origin: "imon"}).Items
	if len(execs) == 0 || execs[0].OrchestrationID == "" {
		t.Errorf("execs %+v", execs)
	}
	r.orchestrate(t, api.PostObjectActionStop, p)
	if got := r.status(t, p); got != cluster.Down {
		t.Errorf("after stop: %s", got)
	}
	r.orchestrate(t, api.PostObjectActionDelete, p)
	if got := do(t, r.Client, api.GetObjectPaths, api.ObjectPathQuery{Path: "svc*"}); len(got) > 0 {
		t.Errorf("after delete: %v", got)
	}
}

func TestTheEndOfAProcessIsNoticedAtOnce(t *testing.T) {
	t.Parallel()
	r := start(t, newRoot(t))
	p := r.create(t)
	r.started(t, p)
	i := do(t, r.Client, api.GetInstance, api.InstanceOf("", p))
	pid, ok := i.Data.Status.Resources["app#1"].Info["pid"].(float64)
	if !ok {
		t.Fatalf("%+v", i.Data.Status)
	}

	if err := syscall.Kill(int(pid), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}

	eventually(t, func() bool { return r.status(t, p) == cluster.Down })
}

func TestAnInstanceActionAnswersForItsRun(t *testing.T) {
	t.Parallel()
	r := start(t, newRoot(t))
	p := r.create(t)
	accepted := do(t, r.Client, api.PostInstanceActionStart, api.InstanceAction{InstanceName: api.InstanceOf("", p)})
	exec := do(t, r.Client, api.GetDaemonExec, api.WaitQuery{ID: accepted.ExecID, Wait: "2m"})
	if exec.State != api.StateSucceeded || exec.SessionID != accepted.SessionID {
		t.Errorf("exec %+v", exec)
	}
	if got := r.status(t, p); got != cluster.Up {
		t.Errorf("status %s", got)
	}
	r.orchestrate(t, api.PostObjectActionStop, p)
}

func TestServicesSurviveTheDaemonAndEndWithAShutdown(t *testing.T) {
	t.Parallel()
	root := newRoot(t)
	r := start(t, root)
	p := r.create(t)
	r.started(t, p)
	do(t, r.Client, api.PostDaemonStop, api.NodeName{})
	r.ended(t)
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}

	r = start(t, root)
	eventually(t, func() bool { return r.status(t, p) == cluster.Up })
	do(t, r.Client, api.PostDaemonShutdown, api.DaemonShutdown{Duration: "1m"})
	r.ended(t)
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}

	r = start(t, root)
	eventually(t, func() bool { return r.status(t, p) == cluster.Down })
}

func TestAShutdownStopsWhatItCan(t *testing.T) {
	t.Parallel()
	root := newRoot(t)
	r := start(t, root)
	p := r.create(t)
	r.started(t, p)
	configure(t, root, "broken.conf", "[app#1]\ntype = nosuch\n")
	eventually(t, func() bool {
		i, err := client.Do(t.Context(), r.Client, api.GetInstance, api.InstanceOf("", svc("broken")))
		return err == nil && i.Data.Config != nil && len(i.Data.Config.Issues) > 0
	})

	_, err := client.Do(t.Context(), r.Client, api.PostDaemonShutdown, api.DaemonShutdown{Duration: "1m"})

	if err == nil || !strings.Contains(err.Error(), "broken may be left running") || strings.Contains(err.Error(), "svc1") {
		t.Errorf("got %v", err)
	}
	r.ended(t)
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	r = start(t, root)
	eventually(t, func() bool { return r.status(t, p) == cluster.Down })
}

// An id that was never one is refused; one of before the daemon began is admitted
// to be forgotten.
func TestWhatIsSaidOfAnID(t *testing.T) {
	t.Parallel()
	root := newRoot(t)
	r := start(t, root)
	p := r.create(t)
	id := do(t, r.Client, api.PostObjectActionFreeze, api.Named(p)).OrchestrationID
	do(t, r.Client, api.GetDaemonOrchestration, api.WaitQuery{ID: id, Wait: "2m"})
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	r = start(t, root)
	for _, c := range []struct {
		id, words string
		status    int
	}{
		{"nosuch", "nosuch", http.StatusBadRequest},
		{"5e4ff39b-41ac-4ab5-a3ef-4a8d7e9eadc2", "no longer known", http.StatusGone},
	} {
		_, orchestration := client.Do(t.Context(), r.Client, api.GetDaemonOrchestration, api.WaitQuery{ID: c.id})
		_, exec := client.Do(t.Context(), r.Client, api.GetDaemonExec, api.WaitQuery{ID: c.id})
		for _, err := range []error{orchestration, exec} {
			problem, ok := errors.AsType[*api.Problem](err)
			if !ok || problem.Status != c.status || !strings.Contains(problem.Detail, c.words) {
				t.Errorf("%s: %v", c.id, err)
			}
		}
	}
	if known := do(t, r.Client, api.GetDaemonOrchestration, api.WaitQuery{ID: id}); known.OrchestrationID != id {
		t.Errorf("the daemon that was started again says of %s: %+v", id, known)
	}
}

func TestARestartIsAskedOfWhoeverCanDoIt(t *testing.T) {
	t.Parallel()
	r := start(t, newRoot(t))
	do(t, r.Client, api.PostDaemonRestart, api.NodeName{})
	r.ended(t)
	if err := r.stop(); !errors.Is(err, daemon.ErrRestart) {
		t.Errorf("got %v", err)
	}
}

func TestATakenPortIsAskedForAgain(t *testing.T) {
	t.Parallel()
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	configure(t, root, "cluster.conf", "[listener]\nport = "+port+"\n")
	r := start(t, root)
	if !strings.Contains(r.log.String(), port) {
		t.Error("the log does not name the port")
	}
	listener := func() cluster.Listener {
		return do(t, r.Client, api.GetClusterStatus, api.ClusterStatusQuery{}).Cluster.Node[node1].Listener
	}
	if got := listener(); got.State != cluster.ListenerFailed || got.Port != port || !strings.Contains(got.String(), "address already in use") {
		t.Errorf("while the port is taken: %s", got)
	}

	if err := l.Close(); err != nil {
		t.Fatal(err)
	}

	remote, err := client.New(client.Options{Server: "localhost:" + port, Insecure: true})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, func() bool {
		_, err := client.Do(t.Context(), remote, api.GetHealth, api.None{})
		return err == nil
	})
	if got := listener(); got.State != cluster.ListenerRunning || got.Port != port || got.Error != "" {
		t.Errorf("once it is free: %s", got)
	}
}

func TestTheListenerFollowsTheConfiguration(t *testing.T) {
	t.Parallel()
	r := start(t, newRoot(t))
	port := strconv.Itoa(freePort(t))

	do(t, r.Client, api.PatchClusterConfig, api.ConfigChange{Set: []string{"listener.port=" + port}})

	remote, err := client.New(client.Options{Server: "localhost:" + port, Insecure: true})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, func() bool {
		_, err := client.Do(t.Context(), remote, api.GetHealth, api.None{})
		return err == nil
	})
}

func TestACorruptClusterConfigurationStopsTheDaemon(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	configure(t, root, "cluster.conf", "[cluster\n")
	h, err := newHost(root)
	if err != nil {
		t.Fatal(err)
	}
	err = daemon.Run(t.Context(), daemon.Options{Host: h, Log: slog.New(slog.DiscardHandler)})
	if err == nil || !strings.Contains(err.Error(), "cluster.conf") {
		t.Errorf("got %v", err)
	}
}
