//go:build lab_machines

package machines_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-ops/holdfast/internal/retry"
	"github.com/holdfast-ops/holdfast/test/om/bed/witness"
	"github.com/holdfast-ops/holdfast/test/om/machines"
)

// long is how long a condition is waited for: no test measures time.
const long = 2 * time.Minute

const cluster = `[cluster]
name = rack

[hb#1]
type = unicast
interval = 500ms
timeout = 3s

[node]
ready_period = 3s
rejoin_grace_period = 10s
maintenance_grace_period = 5s
`

const web = `[DEFAULT]
nodes = *
orchestrate = ha
%s
[app#1]
type = simple
start = /mnt/bin/service serve web :8100
`

// rack is three machines whose agents are one cluster, with a failover service that
// runs on m1.
type rack struct {
	*machines.Rack
	t *testing.T
}

func begin(t *testing.T, conf, keywords string) *rack {
	t.Helper()
	ctx := t.Context()
	root, err := exec.CommandContext(ctx, "./rootfs", or(os.Getenv("MACHINES_DIR"), "/var/tmp/holdfast-machines")).Output()
	if err != nil {
		t.Fatalf("rootfs: %v: %s", err, stderr(err))
	}
	// An overlay cannot be over an overlay: the disks are beside the system.
	dir, err := os.MkdirTemp("/var/tmp", "holdfast-rack.") //nolint:usetesting // see above
	if err != nil {
		t.Fatal(err)
	}
	r := &rack{t: t}
	r.Rack, err = machines.New(ctx, dir, strings.TrimSpace(string(root)), "m1", "m2", "m3")
	t.Cleanup(func() {
		if r.Rack == nil {
			return
		}
		if t.Failed() {
			for _, m := range []string{"m1", "m2", "m3"} {
				out, _ := r.Machine(m).Run(context.Background(), "journalctl", "-u", "opensvc-server", "-n", "40", "--no-pager", "-o", "cat")
				t.Logf("%s:\n%s", m, out)
			}
		}
		if err := errors.Join(r.Close(), os.RemoveAll(dir)); err != nil {
			t.Error(err)
		}
	})
	r.must(err)
	bin := filepath.Join(r.Shared(), "bin")
	for name, pkg := range map[string]string{"om": "cmd/om", "service": "test/om/bed/service"} {
		build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", filepath.Join(bin, name), "github.com/holdfast-ops/holdfast/"+pkg)
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	unit, err := os.ReadFile("../../../packaging/systemd/opensvc-server.service")
	r.must(err)
	for _, m := range []string{"m1", "m2", "m3"} {
		r.must(r.Machine(m).Install(ctx, func(root string) error {
			etc := filepath.Join(root, "etc")
			return errors.Join(
				os.WriteFile(filepath.Join(etc, "systemd/system/opensvc-server.service"), unit, 0o644),
				os.Symlink("/mnt/bin/om", filepath.Join(root, "usr/bin/om")),
				os.MkdirAll(filepath.Join(etc, "opensvc"), 0o700),
				os.Symlink("/etc/systemd/system/opensvc-server.service", filepath.Join(etc, "systemd/system/multi-user.target.wants/opensvc-server.service")),
				cond(m == "m1", func() error {
					return os.WriteFile(filepath.Join(etc, "opensvc/cluster.conf"), []byte(cluster+conf), 0o600)
				}),
			)
		}))
		r.must(r.Machine(m).Boot(ctx))
	}
	for _, m := range []string{"m2", "m3"} {
		r.until("the agent of "+m+" answers", r.succeeds(m, "om", "daemon", "running"))
		token, err := r.Machine(m).Run(ctx, "om", "daemon", "auth", "--role", "join", "--duration", "10m")
		r.must(err)
		r.must(os.WriteFile(filepath.Join(r.Shared(), m+".token"), []byte(token), 0o600))
		r.om("m1", "cluster", "enroll", "--node", m, "--token", "/mnt/"+m+".token", "--wait")
	}
	r.must(os.WriteFile(filepath.Join(r.Shared(), "web.conf"), fmt.Appendf(nil, web, keywords), 0o600))
	r.om("m1", "web", "create", "--config", "/mnt/web.conf")
	for _, m := range []string{"m1", "m2", "m3"} {
		r.until(m+" knows of web", r.succeeds(m, "om", "web", "instance", "status"))
	}
	r.om("m1", "web", "unfreeze", "--wait", "--time", "60s")
	r.runs("m1")
	return r
}

func (r *rack) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r *rack) om(m string, argv ...string) string {
	r.t.Helper()
	out, err := r.Machine(m).Run(r.t.Context(), append([]string{"om"}, argv...)...)
	r.must(err)
	return out
}

func (r *rack) succeeds(m string, argv ...string) func(context.Context) bool {
	return func(ctx context.Context) bool {
		_, err := r.Machine(m).Run(ctx, argv...)
		return err == nil
	}
}

func (r *rack) until(what string, holds func(context.Context) bool) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), long)
	defer cancel()
	err := retry.Until(ctx, retry.Policy{Interval: 100 * time.Millisecond}, func(ctx context.Context) (bool, error) { return holds(ctx), nil })
	if err != nil {
		r.t.Fatalf("%s: %v", what, err)
	}
}

// stamps are what the instances of web said, in their order.
func (r *rack) stamps() []witness.Stamp {
	r.t.Helper()
	files, err := filepath.Glob(filepath.Join(r.Shared(), "data", "web.log"))
	r.must(err)
	var all []witness.Stamp
	for _, f := range files {
		b, err := os.ReadFile(f)
		r.must(err)
		all = append(all, witness.Read[witness.Stamp](b)...)
	}
	return all
}

// runs waits until web is up on a machine, and nowhere else.
func (r *rack) runs(where string) {
	r.t.Helper()
	r.until("web runs on "+where, func(ctx context.Context) bool {
		for _, m := range []string{"m1", "m2", "m3"} {
			if !r.Machine(m).On() {
				continue
			}
			_, err := r.Machine(m).Run(ctx, "pgrep", "-f", "^/mnt/bin/service serve web")
			if (err == nil) != (m == where) {
				return false
			}
		}
		return true
	})
}

// alone proves that no two instances of web lived at once.
func (r *rack) alone() {
	r.t.Helper()
	if broken := witness.Check(r.stamps(), witness.Promise{}); len(broken) > 0 {
		r.t.Errorf("web: %v", broken)
	}
}

// state waits until a machine is seen in a state by another one.
func (r *rack) state(by, of, want string) {
	r.t.Helper()
	r.until(fmt.Sprintf("%s sees %s %s", by, of, want), func(ctx context.Context) bool {
		out, err := r.Machine(by).Run(ctx, "om", "cluster", "status", "--output", "flat")
		return err == nil && strings.Contains(out, fmt.Sprintf("cluster.node.%s.monitor.state = %q", of, want))
	})
}

func TestAServiceOutlivesItsMachine(t *testing.T) { //nolint:paralleltest // two cores have room for three machines
	r := begin(t, "", "")

	r.must(r.Machine("m1").Cut(t.Context()))
	r.runs("m2")

	// Power comes back: the unit starts the agent, which finds its place.
	r.must(r.Machine("m1").Boot(t.Context()))
	r.state("m2", "m1", "idle")
	r.runs("m2")

	// An orderly reboot takes the service down; it comes up where it may.
	_, _ = r.Machine("m2").Run(t.Context(), "systemctl", "reboot", "--no-block")
	r.until("m2 is down", func(context.Context) bool { return !r.Machine("m2").On() })
	r.must(r.Machine("m2").Rebooted(t.Context()))
	r.state("m1", "m2", "idle")
	r.until("web runs somewhere", func(ctx context.Context) bool {
		out, err := r.Machine("m1").Run(ctx, "om", "web", "ls")
		return err == nil && out != "" && r.up(ctx) == 1
	})
	r.alone()
}

func (r *rack) up(ctx context.Context) int {
	n := 0
	for _, m := range []string{"m1", "m2", "m3"} {
		if _, err := r.Machine(m).Run(ctx, "pgrep", "-f", "^/mnt/bin/service serve web"); err == nil {
			n++
		}
	}
	return n
}

func TestTheUnitBringsAKilledDaemonBackAndTheServiceStays(t *testing.T) { //nolint:paralleltest // two cores have room for three machines
	r := begin(t, "", "")
	before, err := r.Machine("m1").Run(t.Context(), "pgrep", "-f", "^/mnt/bin/service serve web")
	r.must(err)

	_, err = r.Machine("m1").Run(t.Context(), "systemctl", "kill", "--signal=KILL", "--kill-whom=main", "opensvc-server")
	r.must(err)
	r.until("the unit is active again", func(ctx context.Context) bool {
		out, err := r.Machine("m1").Run(ctx, "systemctl", "show", "-P", "NRestarts", "opensvc-server")
		return err == nil && strings.TrimSpace(out) == "1"
	})
	r.state("m2", "m1", "idle")

	after, err := r.Machine("m1").Run(t.Context(), "pgrep", "-f", "^/mnt/bin/service serve web")
	r.must(err)
	if before != after {
		t.Errorf("the service was process %s, and is %s", before, after)
	}
	r.alone()
}

func TestAMachineThatHangsIsFencedBeforeItsServiceStartsElsewhere(t *testing.T) { //nolint:paralleltest // two cores have room for three machines
	r := begin(t, "\n[stonith#m1]\ncommand = /mnt/bin/service fence m1\n", "stonith = true\n")
	fenced := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() { fenced <- r.fence(ctx) }()

	r.must(r.Machine("m1").Freeze(true)) // its service holds the lock as long as it lives
	r.until("m1 is fenced", func(context.Context) bool {
		select {
		case err := <-fenced:
			r.must(err)
			return true
		default:
			return false
		}
	})
	r.runs("m2")
	r.alone()
}

// fence cuts the power of the machine that a fence asks for.
func (r *rack) fence(ctx context.Context) error {
	return retry.Until(ctx, retry.Policy{Interval: 20 * time.Millisecond}, func(context.Context) (bool, error) {
		files, err := filepath.Glob(filepath.Join(r.Shared(), "data", "fence-*"))
		if err != nil || len(files) == 0 {
			return false, err
		}
		name, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(files[0]), "fence-"), "-")
		return true, errors.Join(r.Machine(name).Cut(ctx), os.Remove(files[0]))
	})
}

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

func cond(yes bool, f func() error) error {
	if yes {
		return f()
	}
	return nil
}

func stderr(err error) string {
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return string(exit.Stderr)
	}
	return ""
}
