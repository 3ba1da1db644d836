package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/retry"
	"github.com/holdfast-ops/holdfast/test/om/bed"
	"github.com/holdfast-ops/holdfast/test/om/trial"
)

// patient is how long one event is waited for.
const patient = 90 * time.Second

// clusters measures three nodes, in name spaces of this host, with the periods that a
// cluster has when nobody changes them: heartbeats every 5 s, stale after 15 s, a
// ready period of 5 s. The figures after the aims are those of an earlier
// implementation, on a machine of this size under load.
func clusters(ctx context.Context, b bench) (rows []row, err error) {
	service := filepath.Join(b.work, "service")
	if err := build(ctx, service, "./test/om/bed/service"); err != nil {
		return nil, err
	}
	t, err := trial.New(ctx, bed.Options{
		Dir: filepath.Join(b.work, "bed"), Programs: map[string]string{"om": b.om, "service": service},
	}, "\n[hb#1]\ntype = unicast\n")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, t.Close()) }()
	c := &measure{t: t}
	if err := c.begin(ctx); err != nil {
		return nil, err
	}
	for _, of := range []func(context.Context) ([]row, error){
		c.switches, c.propagation, c.idle, c.deaths, c.losses, c.many,
	} {
		found, err := of(ctx)
		rows = append(rows, found...)
		if err != nil {
			return rows, err
		}
	}
	return rows, nil
}

// measure is a cluster under measurement.
type measure struct {
	t      *trial.Trial
	client *trial.Client
}

func path(name string) object.Path {
	return object.Path{Namespace: object.RootNamespace, Kind: object.KindSvc, Name: name}
}

// begin has a failover service answer a client.
func (c *measure) begin(ctx context.Context) error {
	if err := c.t.Create(ctx, path("web"), trial.Failover("web")); err != nil {
		return err
	}
	if _, err := c.t.Node("node1").Run(ctx, "om", "web", "unfreeze", "--wait", "--time", "60s"); err != nil {
		return err
	}
	var err error
	if c.client, err = c.t.Ask(ctx, trial.Port); err != nil {
		return err
	}
	return c.answered(ctx, "")
}

// answered waits until another node than the given one answers.
func (c *measure) answered(ctx context.Context, not string) error {
	return c.t.Await(ctx, patient, "the service answers", func(context.Context) (bool, error) {
		who := c.client.Who()
		return who != "" && who != not, nil
	})
}

// durations are figures of one kind.
type durations []time.Duration

func (d durations) String() string {
	if len(d) == 0 {
		return "none"
	}
	s := slices.Sorted(slices.Values(d))
	round := func(d time.Duration) string {
		if d < time.Second {
			return milliseconds(d)
		}
		return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + " s"
	}
	return fmt.Sprintf("%s (%s to %s, n=%d)", round(s[len(s)/2]), round(s[0]), round(s[len(s)-1]), len(s))
}

func (c *measure) switches(ctx context.Context) ([]row, error) {
	var outages, commands durations
	for range 9 {
		c.client.Since()
		at := c.client.Who()
		began := time.Now()
		if _, err := c.t.Node(at).Run(ctx, "om", "web", "switch", "--wait", "--time", "60s"); err != nil {
			return nil, err
		}
		commands = append(commands, time.Since(began))
		if err := c.answered(ctx, at); err != nil {
			return nil, err
		}
		for _, o := range c.client.Since() {
			outages = append(outages, o.For())
		}
	}
	return []row{
		{"switch, outage seen by a client", outages.String(), "150 ms and the service's own; was 780 ms"},
		{"switch --wait, command", commands.String(), "-; was 2.95 s"},
	}, nil
}

// propagation measures how long it takes until the peers have the file that one node
// was asked to change.
func (c *measure) propagation(ctx context.Context) ([]row, error) {
	var all durations
	for i := range 15 {
		value := []byte("n" + strconv.Itoa(i) + "x")
		began := time.Now()
		if _, err := c.t.Node("node1").Run(ctx, "om", "web", "config", "update", "--set", "env.bench="+string(value)); err != nil {
			return nil, err
		}
		for _, n := range []string{"node2", "node3"} {
			err := retry.Until(ctx, retry.Policy{Interval: time.Millisecond}, func(context.Context) (bool, error) {
				text, err := os.ReadFile(filepath.Join(c.t.Node(n).Etc(), "opensvc/web.conf"))
				return bytes.Contains(text, value), err
			})
			if err != nil {
				return nil, err
			}
			all = append(all, time.Since(began))
		}
	}
	return []row{{"change of a configuration until peers have it, command included", all.String(), "50 ms; was 300 ms"}}, nil
}

// idleness is how long a cluster is looked at while nothing happens.
const idleness = 20 * time.Second

func (c *measure) idle(ctx context.Context) ([]row, error) {
	before := c.t.Network().Sent("node3")
	used, err := c.processor(ctx)
	if err != nil {
		return nil, err
	}
	if err := pause(ctx, idleness); err != nil {
		return nil, err
	}
	after := c.t.Network().Sent("node3")
	since, err := c.processor(ctx)
	if err != nil {
		return nil, err
	}
	memory, err := c.memory(ctx)
	if err != nil {
		return nil, err
	}
	objects, err := c.t.Node("node3").Run(ctx, "om", "**", "ls")
	if err != nil {
		return nil, err
	}
	what := fmt.Sprintf("idle, %d objects, ", strings.Count(objects, "\n")-1)
	seconds := int64(idleness / time.Second)
	return []row{
		{what + "sent by a node", fmt.Sprintf("%d B/s, %.1f frames/s", (after.Bytes-before.Bytes)/seconds, float64(after.Frames-before.Frames)/float64(seconds)), "grows with changes only; was 1430 B/s with 9, 2450 B/s with 117"},
		{what + "processor of a daemon", fmt.Sprintf("%.2f %%", float64(since-used)/float64(seconds)), "-; was 0.40 %"},
		{what + "memory of a daemon", megabytes(memory), "150 MB with 500 ha; was 262 MB with 117"},
	}, nil
}

// processor is what the daemon of node3 has used, in hundredths of a second.
func (c *measure) processor(ctx context.Context) (int64, error) {
	pid, err := c.t.Node("node3").DaemonPid(ctx)
	if err != nil {
		return 0, err
	}
	text, err := c.t.Node("node3").Run(ctx, "cat", fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	var used int64
	for _, field := range strings.Fields(text[strings.LastIndex(text, ")")+1:])[11:15] {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, err
		}
		used += n
	}
	return used, nil
}

func (c *measure) memory(ctx context.Context) (int64, error) {
	pid, err := c.t.Node("node3").DaemonPid(ctx)
	if err != nil {
		return 0, err
	}
	text, err := c.t.Node("node3").Run(ctx, "grep", "VmRSS", fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	kib, err := strconv.ParseInt(strings.Fields(text)[1], 10, 64)
	return kib << 10, err
}

func (c *measure) deaths(ctx context.Context) ([]row, error) {
	d, err := c.failovers(ctx, (*bed.Node).KillAll)
	return []row{{"failover after the death of every process, outage", d.String(), "ready period (5 s) + 2 s; was 20.5 s"}}, err
}

func (c *measure) losses(ctx context.Context) ([]row, error) {
	d, err := c.failovers(ctx, (*bed.Node).PowerOff)
	return []row{{"failover after a loss of power, outage", d.String(), "timeout (15 s) + ready period (5 s); was 19.2 s"}}, err
}

func (c *measure) failovers(ctx context.Context, end func(*bed.Node) error) (durations, error) {
	var all durations
	for range 3 {
		c.client.Since()
		n := c.t.Node(c.client.Who())
		if err := end(n); err != nil {
			return all, err
		}
		if err := c.answered(ctx, n.Name); err != nil {
			return all, err
		}
		for _, o := range c.client.Since() {
			all = append(all, o.For())
		}
		if err := errors.Join(c.t.Revive(ctx, n), c.t.AwaitAll(ctx)); err != nil {
			return all, err
		}
	}
	return all, nil
}

// many measures the cluster with 500 failover objects.
func (c *measure) many(ctx context.Context) ([]row, error) {
	for _, n := range c.t.Nodes() {
		for i := range 500 {
			conf := fmt.Sprintf("[DEFAULT]\nid = 00000000-0000-4000-8000-%012d\nnodes = *\norchestrate = ha\n\n[fs#1]\ntype = flag\n", i)
			name := filepath.Join(n.Etc(), "opensvc", fmt.Sprintf("ha%04d.conf", i))
			if err := os.WriteFile(name, []byte(conf), 0o600); err != nil {
				return nil, err
			}
		}
	}
	began := time.Now()
	err := c.t.Await(ctx, 3*time.Minute, "every node knows of every object", func(ctx context.Context) (bool, error) {
		for _, n := range c.t.Nodes() {
			v, err := c.t.View(ctx, n)
			if err != nil {
				return false, err
			}
			known := 0
			for name, o := range v.Cluster.Object {
				if strings.HasPrefix(name, "ha") && o.Avail == "up" {
					known++
				}
			}
			if known < 500 {
				return false, nil
			}
		}
		return true, nil
	})
	rows := []row{{"500 ha objects dropped in, until all are up and all nodes know", strconv.FormatFloat(time.Since(began).Seconds(), 'f', 1, 64) + " s", "-"}}
	if err != nil {
		return rows, err
	}
	if err := pause(ctx, 5*time.Second); err != nil {
		return rows, err
	}
	found, err := c.idle(ctx)
	return append(rows, found...), err
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
