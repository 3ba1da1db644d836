// Package trial runs agents and services on the nodes of a bed, breaks them, and says
// whether what was promised was kept.
package trial

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/retry"
	"github.com/holdfast-ops/holdfast/test/om/bed"
	"github.com/holdfast-ops/holdfast/test/om/bed/witness"
)

// Short are times of heartbeats and nodes that keep a trial short.
const Short = `
[hb#1]
type = unicast
interval = 500ms
timeout = 2s

[node]
ready_period = 500ms
rejoin_grace_period = 5s
maintenance_grace_period = 3s
`

// Port is where the services of a trial answer.
const Port = "8100"

// Trial is a cluster on a bed.
type Trial struct {
	*bed.Bed

	mu      sync.Mutex
	windows map[string][]witness.Window // by what they are of
	log     bytes.Buffer
}

// Build makes the programs that a trial runs, as they are shipped.
func Build(ctx context.Context, dir string) (map[string]string, error) {
	programs := map[string]string{}
	for name, pkg := range map[string]string{"om": "cmd/om", "service": "test/om/bed/service"} {
		programs[name] = filepath.Join(dir, name)
		build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", programs[name],
			"github.com/holdfast-ops/holdfast/"+pkg)
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("build %s: %w: %s", name, err, out)
		}
	}
	return programs, nil
}

// New makes a bed whose agents are one cluster with the given configuration, besides
// the names of the nodes. Each agent runs and hears all others.
func New(ctx context.Context, o bed.Options, conf string) (t *Trial, err error) {
	b, err := bed.New(ctx, o)
	if err != nil {
		return nil, err
	}
	t = On(b)
	defer func() {
		if err != nil {
			err = errors.Join(err, b.Close())
		}
	}()
	nodes := t.Nodes()
	names := make([]string, len(nodes))
	for i, n := range nodes {
		names[i] = n.Name
	}
	first := filepath.Join(nodes[0].Etc(), "opensvc")
	if err := os.Mkdir(first, 0o700); err != nil {
		return t, err
	}
	text := "[cluster]\nname = trial\nnodes = " + strings.Join(names, " ") + strings.TrimPrefix(conf, "\n[cluster]") + "\n"
	if err := os.WriteFile(filepath.Join(first, "cluster.conf"), []byte(text), 0o600); err != nil {
		return t, err
	}
	if err := nodes[0].StartDaemon(ctx); err != nil {
		return t, err
	}
	var starting sync.WaitGroup
	errs := make([]error, len(nodes))
	for i, n := range nodes[1:] {
		if err := os.CopyFS(filepath.Join(n.Etc(), "opensvc"), os.DirFS(first)); err != nil {
			return t, err
		}
		_ = os.Remove(filepath.Join(n.Etc(), "opensvc/namespaces/system/sec/cert.conf"))
		starting.Go(func() { errs[i] = n.StartDaemon(ctx) })
	}
	starting.Wait()
	if err := errors.Join(errs...); err != nil {
		return t, err
	}
	return t, t.AwaitAll(ctx)
}

// On is a trial on a bed as it is.
func On(b *bed.Bed) *Trial { return &Trial{Bed: b, windows: map[string][]witness.Window{}} }

// Now is the clock that all nodes share.
func Now() time.Duration {
	var ts unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts)
	return time.Duration(ts.Nano())
}

// Say notes what was done, with the time.
func (t *Trial) Say(format string, a ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	fmt.Fprintf(&t.log, "%.3f "+format+"\n", append([]any{Now().Seconds()}, a...)...)
}

// Log is all that was said.
func (t *Trial) Log() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.log.String()
}

// Evidence copies what was said, by whomever, to a directory.
func (t *Trial) Evidence(dir string) error {
	return errors.Join(
		os.WriteFile(filepath.Join(dir, "trial"), []byte(t.Log()), 0o600),
		os.CopyFS(filepath.Join(dir, "data"), os.DirFS(filepath.Join(t.Shared(), "data"))),
		os.CopyFS(filepath.Join(dir, "log"), os.DirFS(filepath.Join(t.Shared(), "log"))),
	)
}

// Tails are the last lines of the logs of the daemons, and what the services said.
func (t *Trial) Tails(lines int) string {
	var text strings.Builder
	for _, pattern := range []string{"log/*", "data/*.log"} {
		files, _ := filepath.Glob(filepath.Join(t.Shared(), pattern))
		for _, f := range files {
			b, _ := os.ReadFile(f)
			all := strings.Split(strings.TrimSpace(string(b)), "\n")
			fmt.Fprintf(&text, "== %s\n%s\n", filepath.Base(f), strings.Join(all[max(0, len(all)-lines):], "\n"))
		}
	}
	return text.String()
}

// Open begins a window of something, such as a time in which two instances are not
// excluded. It ends it too, when it is called.
func (t *Trial) Open(of, why string) (end func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.windows[of] = append(t.windows[of], witness.Window{From: Now(), Why: why})
	at := len(t.windows[of]) - 1
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.windows[of][at].To = Now()
	}
}

// Windows of something.
func (t *Trial) Windows(of string) []witness.Window {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.windows[of])
}

// Stamps are what the instances of a service said.
func (t *Trial) Stamps(service string) ([]witness.Stamp, error) {
	b, err := os.ReadFile(filepath.Join(t.Shared(), "data", service+".log"))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	return witness.Read[witness.Stamp](b), err
}

// Await waits until something holds on a node; d is how long at most.
func (t *Trial) Await(ctx context.Context, d time.Duration, what string, holds func(ctx context.Context) (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	err := retry.Until(ctx, retry.Policy{Interval: 50 * time.Millisecond}, holds)
	if err != nil {
		return fmt.Errorf("wait until %s: %w", what, err)
	}
	return nil
}

// View is what a node knows of the cluster.
func (t *Trial) View(ctx context.Context, n *bed.Node) (*Status, error) {
	out, err := n.Run(ctx, "om", "cluster", "status", "-o", "json")
	if err != nil {
		return nil, err
	}
	var s Status
	return &s, json.Unmarshal([]byte(out), &s)
}

// Status is the part of the status of a cluster that trials read.
type Status struct {
	Cluster struct {
		Node   map[string]cluster.Node `json:"node"`
		Object map[string]struct {
			Avail  string `json:"avail"`
			Frozen string `json:"frozen"`
		} `json:"object"`
	} `json:"cluster"`
}

// AwaitAll waits until every node that is up hears every other.
func (t *Trial) AwaitAll(ctx context.Context) error {
	var up []*bed.Node
	for _, n := range t.Nodes() {
		if n.Up() {
			up = append(up, n)
		}
	}
	for _, n := range up {
		err := t.Await(ctx, time.Minute, n.Name+" hears all others", func(ctx context.Context) (bool, error) {
			s, err := t.View(ctx, n)
			if err != nil {
				return false, nil //nolint:nilerr // it does not answer yet
			}
			for _, o := range up {
				if m, ok := s.Cluster.Node[o.Name]; !ok || m.Monitor.State == "" || m.Monitor.State == "init" || m.Monitor.State == "rejoin" {
					return false, nil
				}
			}
			return true, nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Create makes a service, on the first node.
func (t *Trial) Create(ctx context.Context, p object.Path, conf string) error {
	_, err := t.Nodes()[0].Run(ctx, "sh", "-c", "printf '%s' \"$1\" | om "+p.String()+" create --config -", "sh", conf)
	return err
}

// Floating is the configuration of a failover service that answers on [Port] of an
// address that moves with it.
func Floating(name, address string) string {
	return Failover(name) + "\n[ip#1]\ntype = host\nname = " + address + "\ndev = eth0\nnetmask = 24\n"
}

// Failover is the configuration of a failover service that answers on [Port].
func Failover(name string) string {
	return "[DEFAULT]\nnodes = *\norchestrate = ha\n\n[app#1]\ntype = simple\nstart = /mnt/bin/service serve " + name + " :" + Port + "\n"
}
