package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// bench is what a measure works with.
type bench struct{ om, hello, work string }

// cost is what a command took.
type cost struct {
	wall, cpu time.Duration
	rss       int64 // bytes, at most
}

// measured runs a command once.
func measured(ctx context.Context, env []string, argv ...string) (cost, error) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = env
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	began := time.Now()
	if err := cmd.Run(); err != nil {
		return cost{}, fmt.Errorf("%s: %w: %s", strings.Join(argv, " "), err, stderr.String())
	}
	c := cost{wall: time.Since(began), cpu: cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()}
	if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		c.rss = usage.Maxrss << 10
	}
	return c, nil
}

// median is the middle of several costs, figure by figure.
func median(costs []cost) cost {
	middle := func(of func(cost) int64) int64 {
		values := make([]int64, len(costs))
		for i, c := range costs {
			values[i] = of(c)
		}
		slices.Sort(values)
		return values[len(values)/2]
	}
	return cost{
		wall: time.Duration(middle(func(c cost) int64 { return int64(c.wall) })),
		cpu:  time.Duration(middle(func(c cost) int64 { return int64(c.cpu) })),
		rss:  middle(func(c cost) int64 { return c.rss }),
	}
}

// agent is an agent under a root of its own.
type agent struct {
	om   string
	root string
	env  []string
}

// newAgent makes the root of an agent whose listener has a free port.
func newAgent(ctx context.Context, b bench, name string) (*agent, error) {
	a := &agent{om: b.om, root: filepath.Join(b.work, name)}
	a.env = append(os.Environ(), "OSVC_ROOT_PATH="+a.root)
	if err := os.MkdirAll(filepath.Join(a.root, "etc"), 0o700); err != nil {
		return nil, err
	}
	port, err := freePort(ctx)
	if err != nil {
		return nil, err
	}
	conf := fmt.Sprintf("[listener]\naddr = 127.0.0.1\nport = %d\n", port)
	return a, os.WriteFile(filepath.Join(a.root, "etc", "node.conf"), []byte(conf), 0o600)
}

func (a *agent) socket() string { return filepath.Join(a.root, "var", "lsnr", "http.sock") }

// run runs an om command of the agent.
func (a *agent) run(ctx context.Context, args ...string) (cost, error) {
	return measured(ctx, a.env, append([]string{a.om}, args...)...)
}

// stop ends the daemon, even when the measure was interrupted.
func (a *agent) stop(ctx context.Context) {
	_, _ = a.run(context.WithoutCancel(ctx), "daemon", "stop")
}

// resident is the memory of the daemon, in bytes.
func (a *agent) resident() (int64, error) {
	pid, err := os.ReadFile(filepath.Join(a.root, "var", "osvcd.pid"))
	if err != nil {
		return 0, err
	}
	status, err := os.ReadFile(filepath.Join("/proc", strings.TrimSpace(string(pid)), "status"))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(status)) {
		if text, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kib, err := strconv.ParseInt(strings.Fields(text)[0], 10, 64)
			return kib << 10, err
		}
	}
	return 0, fmt.Errorf("process %s says nothing of its memory", pid)
}

// configure writes the configurations of n flag services.
func (a *agent) configure(n int) error {
	for i := range n {
		name := filepath.Join(a.root, "etc", fmt.Sprintf("svc%04d.conf", i))
		conf := fmt.Sprintf("[DEFAULT]\nid = 00000000-0000-4000-8000-%012d\n\n[fs#1]\ntype = flag\n\n[app#1]\ntype = simple\nstart = /bin/sleep 1000\n", i)
		if err := os.WriteFile(name, []byte(conf), 0o600); err != nil {
			return err
		}
	}
	return nil
}

func milliseconds(d time.Duration) string {
	return strconv.FormatFloat(float64(d.Microseconds())/1000, 'f', 1, 64) + " ms"
}

func megabytes(n int64) string { return strconv.FormatInt(n>>20, 10) + " MB" }

func ratio(a, b time.Duration) string {
	if b <= 0 {
		return "-"
	}
	return strconv.FormatFloat(float64(a)/float64(b), 'f', 1, 64) + "x hello"
}
