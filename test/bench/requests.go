package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/client"
)

// question is a request whose answers are counted, and what an earlier agent was
// seen to answer in a second, on a machine of its own: 0 when that is not known.
type question struct {
	what, target string
	reference    map[int]int // by the number of clients
}

func questions() []question {
	return []question{
		{"GET /api/object", "/api/object", map[int]int{1: 5, 8: 5}},
		{"GET /api/object, one object", "/api/object?path=svc0001", map[int]int{8: 1473}},
		{"GET .../config, one keyword", "/api/object/path/root/svc/svc0001/config?kw=app%231.start", nil},
	}
}

// rates measures the questions, with one client and with eight.
func (a *agent) rates(ctx context.Context) ([]row, error) {
	var rows []row
	for _, q := range questions() {
		for _, clients := range []int{1, 8} {
			took, size, during, err := a.ask(ctx, q.target, clients)
			if err != nil {
				return rows, fmt.Errorf("%s: %w", q.what, err)
			}
			slices.Sort(took)
			rate := int(float64(len(took)) / during.Seconds())
			figure := fmt.Sprintf("%d/s, median %s, p99 %s", rate, milliseconds(took[len(took)/2]), milliseconds(took[len(took)*99/100]))
			aim := "-"
			if r := q.reference[clients]; r > 0 {
				figure += fmt.Sprintf(" (%.0fx)", float64(rate)/float64(r))
				aim = fmt.Sprintf("more than %d/s", r)
			}
			rows = append(rows, row{fmt.Sprintf("%s, %d objects, %d clients (%d B)", q.what, many, clients, size), figure, aim})
		}
	}
	return rows, nil
}

// ask repeats a request from several clients at once, through the root socket.
func (a *agent) ask(ctx context.Context, target string, clients int) (took []time.Duration, size int64, during time.Duration, err error) {
	const limit = 2 * time.Second
	each := make([][]time.Duration, clients)
	sizes := make([]int64, clients)
	began := time.Now()
	g, ctx := errgroup.WithContext(ctx)
	for i := range clients {
		g.Go(func() error {
			h := &http.Client{Transport: &http.Transport{DialContext: a.dial}}
			defer h.CloseIdleConnections()
			for time.Since(began) < limit {
				asked := time.Now()
				n, err := fetch(ctx, h, target)
				if err != nil {
					return err
				}
				each[i], sizes[i] = append(each[i], time.Since(asked)), n
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, 0, 0, err
	}
	return slices.Concat(each...), sizes[0], time.Since(began), nil
}

func (a *agent) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	return (&net.Dialer{}).DialContext(ctx, "unix", a.socket())
}

func fetch(ctx context.Context, h *http.Client, target string) (int64, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://localhost"+target, http.NoBody)
	if err != nil {
		return 0, err
	}
	response, err := h.Do(request)
	if err != nil {
		return 0, err
	}
	n, err := io.Copy(io.Discard, response.Body)
	if err = errors.Join(err, response.Body.Close()); err != nil {
		return 0, err
	}
	if response.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("GET %s: %s", target, response.Status)
	}
	return n, nil
}

const (
	subscribers = 100
	changes     = 200
)

// audience measures how soon a hundred readers of the events see a change, when one
// of them does not read at all, and what that costs.
func (a *agent) audience(ctx context.Context) ([]row, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	seen := make([]atomic.Int64, subscribers)
	for i := range subscribers {
		body, err := a.subscribe(ctx, i == 0)
		if err != nil {
			return nil, err
		}
		defer func() { _ = body.Close() }()
		if i == 0 {
			continue // it does not read
		}
		go func() {
			for lines := bufio.NewScanner(body); lines.Scan(); {
				if strings.HasPrefix(lines.Text(), "event: ") {
					seen[i].Add(1)
				}
			}
		}()
	}
	before, err := a.resident()
	if err != nil {
		return nil, err
	}
	worst, err := a.tell(ctx, seen[1:])
	if err != nil {
		return nil, err
	}
	after, err := a.resident()
	if err != nil {
		return nil, err
	}
	slices.Sort(worst)
	return []row{
		{fmt.Sprintf("change until %d readers of events saw it, one stuck, median", subscribers-1), milliseconds(worst[len(worst)/2]), "20 ms"},
		{"... p99", milliseconds(worst[len(worst)*99/100]), "-"},
		{fmt.Sprintf("... memory of the daemon before and after %d changes", changes), megabytes(before) + ", " + megabytes(after), "flat"},
	}, nil
}

// subscribe opens a stream of events: of every one, or of the changes of svc0001.
func (a *agent) subscribe(ctx context.Context, all bool) (io.ReadCloser, error) {
	target := "http://localhost/api/node/name/localhost/daemon/event"
	if !all {
		target += "?filter=InstanceConfigUpdated,path=svc0001"
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target, http.NoBody)
	if err != nil {
		return nil, err
	}
	response, err := (&http.Client{Transport: &http.Transport{DialContext: a.dial}}).Do(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		return nil, errors.Join(fmt.Errorf("subscribe: %s", response.Status), response.Body.Close())
	}
	return response.Body, nil
}

// tell changes svc0001 again and again, and returns how long the last of the
// readers took to see each change.
func (a *agent) tell(ctx context.Context, seen []atomic.Int64) ([]time.Duration, error) {
	c, err := client.New(client.Options{Socket: a.socket()})
	if err != nil {
		return nil, err
	}
	defer c.Close()
	var worst []time.Duration
	for n := range int64(changes) {
		began := time.Now()
		_, err := client.Do(ctx, c, api.PatchObjectConfig, api.ObjectConfigChange{
			ObjectName: api.ObjectName{Namespace: "root", Kind: "svc", Name: "svc0001"}, ConfigChange: api.ConfigChange{Set: []string{"env.n=" + strconv.FormatInt(n, 10)}},
		})
		if err != nil {
			return nil, err
		}
		for i := range seen {
			for seen[i].Load() <= n {
				if time.Since(began) > 10*time.Second {
					return nil, fmt.Errorf("reader %d saw %d of %d changes", i, seen[i].Load(), n+1)
				}
				yield()
			}
		}
		worst = append(worst, time.Since(began))
	}
	return worst, nil
}

// yield lets the readers of this process run.
func yield() {
	tick := time.NewTimer(100 * time.Microsecond)
	<-tick.C
}
