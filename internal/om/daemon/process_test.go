package daemon_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-ops/holdfast/internal/host"
	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/client"
	"github.com/holdfast-ops/holdfast/internal/om/cluster"
)

// child is a daemon in a process of its own.
type child struct {
	*client.Client
	pid   int
	ended chan error
}

func spawn(t *testing.T, root string, environ ...string) *child {
	t.Helper()
	h, err := newHost(root)
	if err != nil {
		t.Fatal(err)
	}
	environ = append([]string{"OSVC_ROOT_PATH=" + root, "PATH=" + getenv("PATH")}, environ...)
	p, err := h.Runner.Start(host.Cmd{Argv: []string{h.Self, "daemon", "run"}, Env: environ})
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.New(client.Options{Socket: h.Paths.Socket()})
	if err != nil {
		t.Fatal(err)
	}
	d := &child{Client: c, pid: p.Pid(), ended: make(chan error, 1)}
	go func() { d.ended <- p.Wait() }()
	t.Cleanup(func() {
		d.signal(t, syscall.SIGKILL)
		if log, err := os.ReadFile(logFile(root)); err == nil && t.Failed() {
			t.Logf("%s", log)
		}
	})
	eventually(t, func() bool { return d.answers(t.Context()) })
	return d
}

func (d *child) answers(ctx context.Context) bool {
	_, err := client.Do(ctx, d.Client, api.GetHealth, api.None{})
	return err == nil
}

func (d *child) signal(t *testing.T, sig syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(d.pid, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
		t.Error(err)
	}
}

// wait returns how the daemon ended. One that does not says where it is.
func (d *child) wait(t *testing.T) error {
	t.Helper()
	limit := time.NewTimer(2 * time.Minute)
	defer limit.Stop()
	select {
	case err := <-d.ended:
		return err
	case <-limit.C:
		d.signal(t, syscall.SIGQUIT)
		err := <-d.ended
		t.Fatalf("the daemon does not end by itself: %v", err)
		return nil
	}
}

func TestAKilledDaemonIsFollowedByAnother(t *testing.T) {
	t.Parallel()
	root := newRoot(t)
	first := spawn(t, root)
	r := &running{Client: first.Client}
	p := r.create(t)
	r.started(t, p)

	first.signal(t, syscall.SIGKILL)
	_ = first.wait(t)

	paths := host.Paths{Root: root}
	for _, name := range []string{paths.Pid(), paths.Socket()} {
		if _, err := os.Stat(name); err != nil {
			t.Errorf("a killed daemon removed %s", name)
		}
	}
	second := start(t, root)
	eventually(t, func() bool { return second.status(t, p) == cluster.Up })
	second.orchestrate(t, api.PostObjectActionStop, p)
}

func TestADaemonEndsWhenItsStateDirectoryIsTakenAway(t *testing.T) {
	t.Parallel()
	root := newRoot(t)
	paths := host.Paths{Root: root}
	first := spawn(t, root)
	if err := os.Rename(paths.Var(), paths.Var()+".gone"); err != nil {
		t.Fatal(err)
	}
	second := spawn(t, root)

	if err := first.wait(t); err == nil {
		t.Error("the daemon that lost its lock ended well")
	}

	log, err := os.ReadFile(logFile(root))
	if want := filepath.Join(paths.Locks(), "daemon") + " was removed or replaced"; err != nil || !strings.Contains(string(log), want) {
		t.Errorf("the log does not say %q: %v", want, err)
	}
	if !second.answers(t.Context()) {
		t.Error("the second daemon lost its socket")
	}
	pid, err := os.ReadFile(paths.Pid())
	if err != nil || strings.TrimSpace(string(pid)) != strconv.Itoa(second.pid) {
		t.Errorf("pid file %q, want %d: %v", pid, second.pid, err)
	}
}

func TestTheServiceManagerIsTold(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "hf") //nolint:usetesting // an address is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	manager, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(dir, "n"), Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = manager.Close() }()
	told := make(chan string, 1000)
	go func() {
		buffer := make([]byte, 4096)
		for {
			n, err := manager.Read(buffer)
			if err != nil {
				close(told)
				return
			}
			told <- string(buffer[:n])
		}
	}()
	hear := func(word string) (before string) {
		limit := time.NewTimer(2 * time.Minute)
		defer limit.Stop()
		for {
			select {
			case got := <-told:
				if strings.Contains(got, word) {
					return before
				}
				before += got + "\n"
			case <-limit.C:
				t.Fatalf("%s is not told", word)
			}
		}
	}

	d := spawn(t, newRoot(t), "NOTIFY_SOCKET="+filepath.Join(dir, "n"), "WATCHDOG_USEC=200000")
	hear("READY=1")
	if !d.answers(t.Context()) {
		t.Error("ready before it answers")
	}
	hear("WATCHDOG=1")
	hear("WATCHDOG=1")
	// It begins again in its process: a service manager kills what says that it stops
	// and does not end.
	do(t, d.Client, api.PostDaemonRestart, api.NodeName{})
	if before := hear("READY=1"); strings.Contains(before, "STOPPING") {
		t.Errorf("a restart is told as a stop: %s", before)
	}
	d.signal(t, syscall.SIGTERM)
	hear("STOPPING=1")
	if err := d.wait(t); err != nil {
		t.Errorf("the daemon ended badly: %v", err)
	}
}

func TestARestartKeepsTheProcess(t *testing.T) {
	t.Parallel()
	root := newRoot(t)
	d := spawn(t, root)
	before := startedAt(t, d)

	do(t, d.Client, api.PostDaemonRestart, api.NodeName{})

	// While it ends it answers nothing, and a signal would end the restart too.
	eventually(t, func() bool {
		at := startedAt(t, d)
		return at != "" && at != before
	})
	pid, err := os.ReadFile(host.Paths{Root: root}.Pid())
	if err != nil || strings.TrimSpace(string(pid)) != strconv.Itoa(d.pid) {
		t.Errorf("pid file %q, want %d: %v", pid, d.pid, err)
	}
	d.signal(t, syscall.SIGTERM)
	if err := d.wait(t); err != nil {
		t.Errorf("the daemon ended badly: %v", err)
	}
}

func startedAt(t *testing.T, d *child) string {
	t.Helper()
	s, err := client.Do(t.Context(), d.Client, api.GetClusterStatus, api.ClusterStatusQuery{})
	if err != nil {
		return ""
	}
	return s.Daemon.StartedAt
}

// How long it takes is measured by the bench; here it only has to happen.
func TestFiveHundredObjects(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes seconds")
	}
	const n = 500
	root := newRoot(t)
	for i := range n {
		configure(t, root, fmt.Sprintf("svc%04d.conf", i), "[fs#1]\ntype = flag\n[app#1]\ntype = simple\nstart = /bin/sleep 1000\n")
	}
	began := time.Now()
	d := spawn(t, root)
	evaluated := func() int {
		count := 0
		for _, item := range do(t, d.Client, api.GetObjects, api.ObjectQuery{Path: "svc*"}).Items {
			if i, ok := item.Data.Instances[node1]; ok && i.Status != nil {
				count++
			}
		}
		return count
	}
	eventually(t, func() bool { return evaluated() == n })
	took := time.Since(began)
	rss := resident(t, d.pid)
	t.Logf("every object has a status after %s, %d MB resident", took, rss>>20)
	if rss > 120<<20 && !raceDetector() {
		t.Errorf("%d MB resident", rss>>20)
	}
}

// raceDetector tells whether this binary, which is also the daemon's, was built
// with the race detector: its shadow memory is not the daemon's.
func raceDetector() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.ContainsFunc(info.Settings, func(s debug.BuildSetting) bool {
		return s.Key == "-race" && s.Value == "true"
	})
}

func resident(t *testing.T, pid int) int {
	t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		t.Fatal(err)
	}
	var size, pages int
	if _, err := fmt.Sscan(string(data), &size, &pages); err != nil {
		t.Fatal(err)
	}
	return pages * os.Getpagesize()
}
