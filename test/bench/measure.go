package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/client"
	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/retry"
)

func freePort(ctx context.Context) (int, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	address, ok := l.Addr().(*net.TCPAddr)
	if !ok {
		return 0, errors.Join(fmt.Errorf("listener on %s", l.Addr()), l.Close())
	}
	return address.Port, l.Close()
}

const runs = 21

// startUp compares a command that does nothing with a process that does nothing.
func startUp(ctx context.Context, b bench) ([]row, error) {
	return beside(ctx, b, runs, "om", b.om, "--version", "5 ms", "-", "30 MB")
}

// beside measures a command beside a process that does nothing. The goals are those
// of its processor time, its wall time and its memory.
func beside(ctx context.Context, b bench, rounds int, name, program, argument, cpu, wall, memory string) ([]row, error) {
	var ours, floor []cost
	for range rounds {
		h, err := measured(ctx, nil, b.hello)
		if err != nil {
			return nil, err
		}
		o, err := measured(ctx, nil, program, argument)
		if err != nil {
			return nil, err
		}
		floor, ours = append(floor, h), append(ours, o)
	}
	h, o := median(floor), median(ours)
	what := name + " " + argument
	return []row{
		{what + ", processor time", fmt.Sprintf("%s (%s)", milliseconds(o.cpu), ratio(o.cpu, h.cpu)), cpu},
		{what + ", wall", fmt.Sprintf("%s (%s)", milliseconds(o.wall), ratio(o.wall, h.wall)), wall},
		{what + ", memory", megabytes(o.rss), memory},
	}, nil
}

// size is that of a binary.
func size(name, program, goal string) (row, error) {
	info, err := os.Stat(program)
	if err != nil {
		return row{}, err
	}
	return row{name + ", size of the binary", fmt.Sprintf("%.1f MB", float64(info.Size())/1e6), goal}, nil
}

// grace is how long an app.simple is watched after it was started, before it is
// said to be up: not our time.
const grace = 100 * time.Millisecond

// actions measures the start and the stop of an app.simple.
func actions(ctx context.Context, b bench) ([]row, error) {
	a, err := newAgent(ctx, b, "act")
	if err != nil {
		return nil, err
	}
	if _, err := a.run(ctx, "web", "create", "--kw", "app#1.type=simple", "--kw", "app#1.start=/bin/sleep 1000"); err != nil {
		return nil, err
	}
	var starts, stops, own []cost
	for range runs {
		began, err := a.run(ctx, "web", "instance", "start", "-q")
		if err != nil {
			return nil, err
		}
		ended, err := a.run(ctx, "web", "instance", "stop", "-q")
		if err != nil {
			return nil, err
		}
		starts, stops, own = append(starts, began), append(stops, ended), append(own, cost{wall: began.wall - grace})
	}
	return []row{
		{"start of an app.simple, wall", milliseconds(median(starts).wall), "-"},
		{"... without its grace of " + grace.String(), milliseconds(median(own).wall), "25 ms"},
		{"stop of an app.simple, wall", milliseconds(median(stops).wall), "60 ms"},
	}, nil
}

// fewObjects measures the memory of a daemon with a few objects.
func fewObjects(ctx context.Context, b bench) ([]row, error) {
	var rows []row
	for _, n := range []int{1, 100} {
		a, err := newAgent(ctx, b, strconv.Itoa(n))
		if err != nil {
			return rows, err
		}
		_, memory, err := a.loaded(ctx, n)
		a.stop(ctx)
		if err != nil {
			return rows, err
		}
		rows = append(rows, row{fmt.Sprintf("daemon with %d objects, memory", n), megabytes(memory), "-"})
	}
	return rows, nil
}

// loaded starts a daemon with n objects; it returns when each has a status, how
// long that took, and the memory of the daemon.
func (a *agent) loaded(ctx context.Context, n int) (time.Duration, int64, error) {
	// The first start makes keys: it is not the one that is measured.
	if _, err := a.run(ctx, "daemon", "start"); err != nil {
		return 0, 0, err
	}
	if _, err := a.run(ctx, "daemon", "stop"); err != nil {
		return 0, 0, err
	}
	if err := a.configure(n); err != nil {
		return 0, 0, err
	}
	c, err := client.New(client.Options{Socket: a.socket()})
	if err != nil {
		return 0, 0, err
	}
	defer c.Close()
	began := time.Now()
	if _, err := a.run(ctx, "daemon", "start"); err != nil {
		return 0, 0, err
	}
	err = retry.Until(ctx, retry.Policy{Interval: 10 * time.Millisecond, Max: 10 * time.Millisecond}, func(ctx context.Context) (bool, error) {
		list, err := client.Do(ctx, c, api.GetObjects, api.ObjectQuery{Path: "*/svc/*"})
		known := 0
		for _, i := range list.Items {
			if i.Data.Avail != cluster.Undef && i.Data.Avail != cluster.NotApplicable {
				known++
			}
		}
		return known == n, err
	})
	took := time.Since(began)
	if err != nil {
		return took, 0, fmt.Errorf("wait for the status of %d objects: %w", n, err)
	}
	memory, err := a.resident()
	return took, memory, err
}

const many = 500

// manyObjects measures a daemon with many objects.
func manyObjects(ctx context.Context, b bench) ([]row, error) {
	a, err := newAgent(ctx, b, "many")
	if err != nil {
		return nil, err
	}
	defer a.stop(ctx)
	took, memory, err := a.loaded(ctx, many)
	if err != nil {
		return nil, err
	}
	rows := []row{
		{fmt.Sprintf("daemon start until %d objects have a status", many), milliseconds(took), "2000 ms"},
		{fmt.Sprintf("daemon with %d objects, memory", many), megabytes(memory), "120 MB"},
	}
	answered, err := a.rates(ctx)
	if rows = append(rows, answered...); err != nil {
		return rows, err
	}
	latency, err := a.eventLatency(ctx)
	if err != nil {
		return rows, err
	}
	rows = append(rows, row{"event after a configuration change", milliseconds(latency), "20 ms"})
	heard, err := a.audience(ctx)
	return append(rows, heard...), err
}

// eventLatency is the median time between the change of a configuration file
// and the event that tells it.
func (a *agent) eventLatency(ctx context.Context) (time.Duration, error) {
	c, err := client.New(client.Options{Socket: a.socket()})
	if err != nil {
		return 0, err
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	file := filepath.Join(a.root, "etc", "svc0001.conf")
	conf, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	// With the present state first, one knows that the stream has begun.
	q := api.EventQuery{NodeName: api.NodeName{Node: api.Localhost}, Filter: []string{"InstanceConfigUpdated,path=svc0001"}, Replay: true}
	var all []time.Duration
	var changed time.Time
	for e, err := range client.Events(ctx, c, q) {
		if err != nil {
			return 0, err
		}
		if !changed.IsZero() && !replayed(e) {
			all = append(all, time.Since(changed))
		}
		if len(all) == runs {
			break
		}
		changed = time.Now()
		next := strings.Replace(string(conf), "[fs#1]", fmt.Sprintf("[env]\nn = %d\n\n[fs#1]", len(all)), 1)
		if err := replace(file, next); err != nil {
			return 0, err
		}
	}
	if len(all) == 0 {
		return 0, errors.New("no event came after a configuration change")
	}
	slices.Sort(all)
	return all[len(all)/2], nil
}

func replayed(e api.Event) bool {
	var data struct {
		Labels map[string]string `json:"labels"`
	}
	return json.Unmarshal(e.Data, &data) == nil && data.Labels["from"] == "cache"
}

// replace puts a file in place as a commit does.
func replace(file, text string) error {
	next := filepath.Join(filepath.Dir(file), ".next")
	if err := os.WriteFile(next, []byte(text), 0o600); err != nil {
		return err
	}
	return os.Rename(next, file)
}
