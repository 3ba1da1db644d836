//go:build lab_machines

package vm_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-ops/holdfast/internal/retry"
	"github.com/holdfast-ops/holdfast/test/om/machines/vm"
)

// long is how long a condition is waited for: a machine boots in half a minute, or in
// several when the host has other work. No test measures time.
const long = 8 * time.Minute

const floating = "10.58.9.100"

const cluster = `[cluster]
name = rack
quorum = true

[hb#1]
type = unicast
interval = 1s
timeout = 15s

[node]
ready_period = 10s
rejoin_grace_period = 60s
maintenance_grace_period = 10m
split_action = crash
`

const web = `[DEFAULT]
nodes = *
orchestrate = ha
stonith = true

[ip#1]
type = host
name = ` + floating + `
dev = eth0

[app#1]
type = simple
start = /mnt/bin/beacon serve ` + floating + `:8100
`

var names = []string{"v1", "v2", "v3"} //nolint:gochecknoglobals // of the machines

// rack is three machines whose agents are one cluster, with a failover service.
type rack struct {
	*vm.Rack
	t     *testing.T
	began time.Time

	mu   sync.Mutex
	cuts []cut
}

// cut is what the power switch of the rack did.
type cut struct {
	at      time.Time
	machine string
	was     bool // on
}

// The stories go on from one another: making the cluster takes longer than any of them.
func TestMachinesWithKernelsOfTheirOwn(t *testing.T) { //nolint:paralleltest // two cores have room for three machines
	r := begin(t)
	r.story("a service outlives the power of its machine, and stays where it is when that comes back", r.powerCut)
	r.story("a machine that reboots in order finds its place", r.reboot)
	r.story("a machine that hangs is fenced before its service starts elsewhere", r.hang)
	r.story("a machine that is cut off crashes its kernel before its service starts elsewhere", r.split)
}

func (r *rack) powerCut() {
	from := r.where()
	r.Machine(from).Cut()
	to := r.leaves(from)
	r.must(r.Machine(from).Boot(r.t.Context()))
	r.step("%s booted again", from)
	r.whole()
	r.runs(to)
}

func (r *rack) reboot() {
	from := r.where()
	_, _ = r.Machine(from).Run(r.t.Context(), "systemctl", "reboot", "--no-block")
	r.until(from+" goes down by itself", func(context.Context) bool { return !r.Machine(from).On() })
	r.step("%s is down", from)
	if c := r.fenced(from); c != nil && c.was {
		r.t.Errorf("%s was fenced while it rebooted in order", from)
	}
	r.must(r.Machine(from).Boot(r.t.Context()))
	r.step("%s booted again", from)
	r.whole()
	r.step("web runs on %s", r.where())
}

func (r *rack) hang() {
	from := r.where()
	r.must(r.Machine(from).Hang())
	r.leaves(from)
	c := r.fenced(from)
	switch {
	case c == nil:
		r.t.Fatalf("%s was not fenced", from)
	case !c.was:
		r.t.Errorf("%s had no power when it was fenced", from)
	case r.started().Before(c.at):
		r.t.Errorf("web started elsewhere %s before %s was fenced", c.at.Sub(r.started()), from)
	}
	r.must(r.Machine(from).Boot(r.t.Context()))
	r.step("%s booted again", from)
	r.whole()
}

func (r *rack) split() {
	from := r.where()
	r.must(r.Machine(from).Cable(r.t.Context(), false))
	r.until(from+" goes down by itself", func(context.Context) bool { return !r.Machine(from).On() })
	r.step("%s is down", from)
	if console := r.Machine(from).Console(); !strings.Contains(console, "sysrq triggered crash") {
		r.t.Errorf("the kernel of %s did not crash:\n%s", from, console)
	}
	r.leaves(from)
	r.must(r.Machine(from).Cable(r.t.Context(), true))
	r.must(r.Machine(from).Boot(r.t.Context()))
	r.step("%s booted again", from)
	r.whole()
}

func begin(t *testing.T) *rack {
	t.Helper()
	ctx := t.Context()
	dir := os.Getenv("MACHINES_DIR")
	if dir == "" {
		dir = "/var/tmp/holdfast-machines"
	}
	r := &rack{t: t, began: time.Now()}
	image, err := exec.CommandContext(ctx, "./image", dir).Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		t.Fatalf("image: %v: %s", err, exit.Stderr)
	}
	r.must(err)
	shared := t.TempDir()
	for name, pkg := range map[string]string{"om": "cmd/om", "beacon": "test/om/machines/vm/beacon"} {
		build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", filepath.Join(shared, "bin", name), "github.com/holdfast-ops/holdfast/"+pkg)
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	unit, err := os.ReadFile("../../../../packaging/systemd/opensvc-server.service")
	r.must(err)
	r.must(os.WriteFile(filepath.Join(shared, "opensvc-server.service"), unit, 0o600))
	r.step("built")

	r.Rack, err = vm.New(ctx, strings.TrimSpace(string(image)), shared, names...)
	t.Cleanup(r.end)
	r.must(err)
	power, err := r.Listen(ctx, "9000")
	r.must(err)
	t.Cleanup(func() { _ = power.Close() })
	go r.serve(power)

	booted := make(chan error)
	for _, m := range names {
		go func() { booted <- r.Machine(m).Boot(ctx) }()
	}
	for range names {
		r.must(<-booted)
	}
	r.step("three machines booted")
	r.join()
	return r
}

// join makes one cluster of the machines, and brings web up.
func (r *rack) join() {
	ctx := r.t.Context()
	var conf strings.Builder
	conf.WriteString(cluster)
	for _, m := range names {
		fmt.Fprintf(&conf, "\n[stonith#%s]\ncommand = /mnt/bin/beacon fence %s %s\n", m, m, net.JoinHostPort(vm.Host, "9000"))
	}
	r.must(r.Machine("v1").Write(ctx, "/etc/opensvc/cluster.conf", conf.String()))
	for _, m := range names {
		r.run(m, "install", "-m", "644", "/mnt/opensvc-server.service", "/etc/systemd/system/")
		r.run(m, "systemctl", "enable", "--now", "opensvc-server")
	}
	for _, m := range names[1:] {
		token := r.run(m, "om", "daemon", "auth", "--role", "join", "--duration", "1h")
		r.must(r.Machine("v1").Write(ctx, "/root/"+m+".token", token))
		r.run("v1", "om", "cluster", "enroll", "--node", m, "--token", "/root/"+m+".token", "--wait")
	}
	r.step("one cluster")
	r.must(r.Machine("v1").Write(ctx, "/root/web.conf", web))
	r.run("v1", "om", "web", "create", "--config", "/root/web.conf")
	for _, m := range names {
		r.until(m+" knows of web", func(ctx context.Context) bool {
			_, err := r.Machine(m).Run(ctx, "om", "web", "instance", "status")
			return err == nil
		})
	}
	r.run("v1", "om", "web", "unfreeze", "--wait", "--time", "5m")
	r.step("web runs on %s", r.where())
}

func (r *rack) end() {
	if r.Rack == nil {
		return
	}
	if r.t.Failed() {
		for _, m := range names {
			r.t.Logf("the console of %s:\n%s", m, r.Machine(m).Console())
		}
	}
	if err := r.Close(); err != nil {
		r.t.Error(err)
	}
}

// serve is the power switch of the rack: it is told the name of a machine.
func (r *rack) serve(power net.Listener) {
	for {
		c, err := power.Accept()
		if err != nil {
			return
		}
		name, _ := bufio.NewReader(c).ReadString('\n')
		if m := r.Machine(strings.TrimSpace(name)); m != nil {
			was := m.On()
			m.Cut()
			r.mu.Lock()
			r.cuts = append(r.cuts, cut{time.Now(), strings.TrimSpace(name), was})
			r.mu.Unlock()
			_, _ = io.WriteString(c, "off\n")
		}
		_ = c.Close()
	}
}

// story tells one story, and that no two instances of web lived at once in it.
func (r *rack) story(name string, tell func()) {
	t := r.t
	if t.Failed() {
		return
	}
	t.Run(name, func(t *testing.T) { // each goes on from the one before
		all := r.t
		r.t, r.began = t, time.Now()
		r.mu.Lock()
		r.cuts = nil
		r.mu.Unlock()
		defer func() { r.t = all }()
		tell()
		r.alone()
	})
}

func (r *rack) step(format string, args ...any) {
	r.t.Helper()
	r.t.Logf("%4.0f s: %s", time.Since(r.began).Seconds(), fmt.Sprintf(format, args...))
}

func (r *rack) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r *rack) run(m string, argv ...string) string {
	r.t.Helper()
	out, err := r.Machine(m).Run(r.t.Context(), argv...)
	r.must(err)
	return out
}

func (r *rack) until(what string, holds func(context.Context) bool) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), long)
	defer cancel()
	err := retry.Until(ctx, retry.Policy{Interval: 500 * time.Millisecond}, func(ctx context.Context) (bool, error) { return holds(ctx), nil })
	if err != nil {
		r.t.Fatalf("%s: %v", what, err)
	}
}

// answers is the name of the machine that has the floating address, as a client sees it.
func (r *rack) answers(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	c, err := r.Dial(ctx, net.JoinHostPort(floating, "8100"))
	if err != nil {
		return ""
	}
	defer func() { _ = c.Close() }()
	defer context.AfterFunc(ctx, func() { _ = c.Close() })()
	name, err := io.ReadAll(c)
	if err != nil {
		return ""
	}
	return string(name)
}

// where waits until web answers, and says where it is.
func (r *rack) where() (name string) {
	r.t.Helper()
	r.until("web answers", func(ctx context.Context) bool {
		name = r.answers(ctx)
		return name != ""
	})
	return name
}

// runs waits until web answers from a machine.
func (r *rack) runs(where string) {
	r.t.Helper()
	r.until("web runs on "+where, func(ctx context.Context) bool { return r.answers(ctx) == where })
}

// leaves waits until web answers from another machine, and says which.
func (r *rack) leaves(from string) (to string) {
	r.t.Helper()
	r.until("web leaves "+from, func(ctx context.Context) bool {
		to = r.answers(ctx)
		return to != "" && to != from
	})
	r.step("web runs on %s", to)
	return to
}

// whole waits until every machine sees every other one, at rest.
func (r *rack) whole() {
	r.t.Helper()
	for _, by := range names {
		r.until(by+" sees the whole cluster", func(ctx context.Context) bool {
			out, err := r.Machine(by).Run(ctx, "om", "cluster", "status", "--output", "flat")
			for _, of := range names {
				if err != nil || !strings.Contains(out, fmt.Sprintf("cluster.node.%s.monitor.state = %q", of, "idle")) {
					return false
				}
			}
			return true
		})
	}
	r.step("the cluster is whole")
}

func (r *rack) fenced(machine string) *cut {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.cuts {
		if c.machine == machine {
			return &c
		}
	}
	return nil
}

// started is when web last started.
func (r *rack) started() (at time.Time) {
	for _, l := range r.Lines() {
		if l.Text == "start" {
			at = l.At
		}
	}
	return at
}

// alone proves that no two instances of web lived at once: each speaks on the serial line
// of its machine from its start to its end, whatever its network is.
func (r *rack) alone() {
	r.t.Helper()
	type life struct {
		machine  string
		from, to time.Time
	}
	var lives []life
	last := map[string]int{}
	for _, l := range r.Lines() {
		i, known := last[l.Machine]
		switch {
		case l.Text == "start":
			last[l.Machine] = len(lives)
			lives = append(lives, life{l.Machine, l.At, l.At})
		case known:
			lives[i].to = l.At
		}
	}
	for i, a := range lives {
		for _, b := range lives[:i] {
			if a.from.Before(b.to) && b.from.Before(a.to) {
				r.t.Errorf("web on %s lived from %s to %s, and on %s from %s to %s", a.machine, a.from.Format(time.StampMilli), a.to.Format(time.StampMilli),
					b.machine, b.from.Format(time.StampMilli), b.to.Format(time.StampMilli))
			}
		}
	}
	if len(lives) == 0 {
		r.t.Error("web never said that it lives")
	}
}
