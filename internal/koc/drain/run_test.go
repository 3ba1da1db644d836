package drain_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/holdfast-ops/holdfast/internal/cli/iostreams"
	"github.com/holdfast-ops/holdfast/internal/cli/progress"
	"github.com/holdfast-ops/holdfast/internal/koc/drain"
)

// nova is a cloud in memory. Each server goes through the states of its script,
// one at each look.
type nova struct {
	mu      sync.Mutex
	servers []drain.Server
	script  map[string][]drain.Server // after the move
	settled map[string][]drain.Server // after the confirmation
	refuse  map[string]error          // of a move
	confirm map[string]error
	looks   map[string][]error // of the next looks
	late    []drain.Server     // on the host in the end
	relist  error
	reason  string
	pause   time.Duration // of a move

	calls       []string
	lists       int
	moving, top int
}

func (n *nova) call(what string) {
	n.calls = append(n.calls, what)
}

func (n *nova) Servers(context.Context) ([]drain.Server, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.lists++; n.lists > 1 {
		return n.late, n.relist
	}
	if n.servers == nil {
		return nil, errors.New("no list")
	}
	return n.servers, nil
}

func (n *nova) Move(ctx context.Context, s drain.Server) error {
	n.mu.Lock()
	n.call("move " + s.ID)
	n.moving++
	n.top = max(n.top, n.moving)
	err := n.refuse[s.ID]
	n.mu.Unlock()
	timer := time.NewTimer(n.pause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		err = ctx.Err()
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.moving--
	return err
}

func (n *nova) Look(ctx context.Context, id string) (drain.Server, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if ctx.Err() != nil {
		return drain.Server{}, ctx.Err()
	}
	if errs := n.looks[id]; len(errs) > 0 {
		n.looks[id] = errs[1:]
		if errs[0] != nil {
			return drain.Server{}, errs[0]
		}
	}
	states := n.script[id]
	if len(states) > 1 {
		n.script[id] = states[1:]
	}
	s := states[0]
	s.ID = id
	return s, nil
}

func (n *nova) Confirm(_ context.Context, id string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.call("confirm " + id)
	if err := n.confirm[id]; err != nil {
		return err
	}
	n.script[id] = n.settled[id]
	return nil
}

func (n *nova) Reason(context.Context, string) string { return n.reason }

func on(host, status, task string) drain.Server {
	return drain.Server{Host: host, Status: status, Task: task}
}

func active(id string) drain.Server {
	return drain.Server{ID: id, Name: id, Host: "cmp1", Status: "ACTIVE"}
}

// run runs in virtual time and returns the results as lines.
func run(t *testing.T, n *nova, change func(r *drain.Runner)) (results []string, progressed string, err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		streams, _, _, errs := iostreams.Test()
		r := &drain.Runner{Cloud: n, Steps: progress.New(streams), Host: "cmp1", Wait: true, Confirm: true, Timeout: time.Minute}
		if change != nil {
			change(r)
		}
		var all []drain.Result
		all, err = r.Run(t.Context())
		for _, r := range all {
			results = append(results, strings.TrimSpace(fmt.Sprintf("%s %s %s %s: %s", r.Server.ID, r.Server.Host, r.Server.Status, r.Outcome, r.Detail)))
		}
		progressed = errs.String()
	})
	return results, progressed, err
}

func wants(t *testing.T, got []string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestServersLeaveTheHost(t *testing.T) {
	t.Parallel()
	n := &nova{servers: []drain.Server{active("a")}, script: map[string][]drain.Server{
		"a": {on("cmp1", "MIGRATING", "migrating"), on("cmp1", "MIGRATING", "migrating"), on("cmp2", "ACTIVE", "")},
	}}
	got, progressed, err := run(t, n, nil)
	if err != nil {
		t.Fatal(err)
	}
	wants(t, got, "a cmp2 ACTIVE moved:")
	for _, line := range []string{"... 1/1 a\n", "... 1/1 a: MIGRATING, migrating\n", "... 1/1 a: ACTIVE\n", "ok  1/1 a: in "} {
		if strings.Count(progressed, line) != 1 {
			t.Errorf("progress has not once %q:\n%s", line, progressed)
		}
	}
}

func TestWithoutWaitingNovaAgrees(t *testing.T) {
	t.Parallel()
	n := &nova{servers: []drain.Server{active("a"), active("b")}, refuse: map[string]error{"b": errors.New("no")}}
	got, _, err := run(t, n, func(r *drain.Runner) { r.Wait = false })
	if err != nil {
		t.Fatal(err)
	}
	wants(t, got, "a cmp1 ACTIVE accepted:", "b cmp1 ACTIVE failed: no")
}

func TestAMoveFails(t *testing.T) {
	t.Parallel()
	failed := on("cmp1", "ERROR", "")
	failed.Fault = "disk full"
	again := errors.New("503")
	for _, c := range []struct {
		name   string
		n      *nova
		change func(r *drain.Runner)
		want   string
	}{
		{"into an error", &nova{script: map[string][]drain.Server{"a": {failed}}}, nil, "a cmp1 ERROR failed: disk full"},
		{
			"back to where it was", &nova{script: map[string][]drain.Server{"a": {on("cmp1", "MIGRATING", "migrating"), on("cmp1", "ACTIVE", "")}}, reason: "No valid host was found"},
			nil, "a cmp1 ACTIVE failed: No valid host was found",
		},
		{
			"without a reason", &nova{script: map[string][]drain.Server{"a": {on("cmp1", "ACTIVE", "")}}},
			nil, "a cmp1 ACTIVE failed: nova gave up: it is ACTIVE on cmp1 still",
		},
		{
			"never", &nova{script: map[string][]drain.Server{"a": {on("cmp1", "MIGRATING", "migrating")}}},
			nil, "a cmp1 MIGRATING failed: not moved after 1m0s (last MIGRATING, migrating): nova goes on",
		},
		{
			"out of sight", &nova{script: map[string][]drain.Server{"a": {on("cmp2", "ACTIVE", "")}}, looks: map[string][]error{"a": {again, again, again, again, again, again}}},
			nil, "a cmp1 ACTIVE failed: 503",
		},
		{
			"not with a short outage", &nova{script: map[string][]drain.Server{"a": {on("cmp2", "ACTIVE", "")}}, looks: map[string][]error{"a": {again, again, again, again, again, nil}}},
			nil, "a cmp2 ACTIVE moved:",
		},
		{
			"not with two of them", &nova{
				script: map[string][]drain.Server{"a": {on("cmp1", "MIGRATING", "migrating"), on("cmp2", "ACTIVE", "")}},
				looks:  map[string][]error{"a": {again, again, again, again, again, nil, again, again, again, again, again, nil}},
			},
			func(r *drain.Runner) { r.Timeout = time.Hour }, "a cmp2 ACTIVE moved:",
		},
		{
			"with the server", &nova{script: map[string][]drain.Server{"a": {on("cmp2", "ACTIVE", "")}}, looks: map[string][]error{"a": {drain.ErrGone}}},
			nil, "a cmp1 ACTIVE gone: the server was deleted",
		},
		{
			"late to begin, which is none", &nova{script: map[string][]drain.Server{"a": {
				on("cmp1", "ACTIVE", ""), on("cmp1", "ACTIVE", ""), on("cmp1", "MIGRATING", "migrating"), on("cmp1", "ACTIVE", ""), on("cmp2", "ACTIVE", ""),
			}}}, nil, "a cmp2 ACTIVE moved:",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.n.servers = []drain.Server{active("a")}
			got, _, err := run(t, c.n, c.change)
			if err != nil {
				t.Fatal(err)
			}
			wants(t, got, c.want)
		})
	}
}

func TestColdMigrationsAreConfirmed(t *testing.T) {
	t.Parallel()
	cold := func(r *drain.Runner) { r.Verb = drain.Cold }
	parked := []drain.Server{on("cmp1", "RESIZE", "resize_migrating"), on("cmp2", "VERIFY_RESIZE", "")}
	for _, c := range []struct {
		name   string
		n      *nova
		change func(r *drain.Runner)
		want   string
		calls  string
	}{
		{
			"by us", &nova{settled: map[string][]drain.Server{"a": {on("cmp2", "VERIFY_RESIZE", ""), on("cmp2", "ACTIVE", "")}}},
			cold, "a cmp2 ACTIVE moved:", "move a, confirm a",
		},
		{"by nobody", &nova{}, func(r *drain.Runner) { cold(r); r.Confirm = false }, "a cmp2 VERIFY_RESIZE unconfirmed: 'server resize confirm' or 'server resize revert' it", "move a"},
		{
			"by nova first", &nova{script: map[string][]drain.Server{"a": {on("cmp1", "RESIZE", "resize_finish"), on("cmp2", "ACTIVE", "")}}},
			cold, "a cmp2 ACTIVE moved: auto-confirmed by nova", "move a",
		},
		{
			"by nova at the same moment", &nova{
				script:  map[string][]drain.Server{"a": {on("cmp2", "VERIFY_RESIZE", ""), on("cmp2", "ACTIVE", "")}},
				confirm: map[string]error{"a": errors.New("conflict")},
			}, cold, "a cmp2 ACTIVE moved: auto-confirmed by nova", "move a, confirm a",
		},
		{"not", &nova{confirm: map[string]error{"a": errors.New("conflict")}}, cold, "a cmp2 VERIFY_RESIZE failed: confirm the migration: conflict", "move a, confirm a"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.n.servers = []drain.Server{active("a")}
			if c.n.script == nil {
				c.n.script = map[string][]drain.Server{"a": parked}
			}
			got, _, err := run(t, c.n, c.change)
			if err != nil {
				t.Fatal(err)
			}
			wants(t, got, c.want)
			if calls := strings.Join(c.n.calls, ", "); calls != c.calls {
				t.Errorf("calls %s, want %s", calls, c.calls)
			}
		})
	}
}

func TestServersInErrorAreEvacuated(t *testing.T) {
	t.Parallel()
	broken := drain.Server{ID: "a", Host: "cmp1", Status: "ERROR"}
	n := &nova{servers: []drain.Server{broken}, script: map[string][]drain.Server{
		"a": {on("cmp1", "ERROR", "rebuilding"), on("cmp2", "REBUILD", "rebuild_spawning"), on("cmp2", "ACTIVE", "")},
	}}
	got, _, _ := run(t, n, func(r *drain.Runner) { r.Verb = drain.Evacuate })
	wants(t, got, "a cmp2 ACTIVE moved:")

	// Nova is slow to begin.
	n = &nova{servers: []drain.Server{broken}, script: map[string][]drain.Server{"a": {on("cmp1", "ERROR", ""), on("cmp1", "ERROR", ""), on("cmp2", "ACTIVE", "")}}}
	got, _, _ = run(t, n, func(r *drain.Runner) { r.Verb = drain.Evacuate })
	wants(t, got, "a cmp2 ACTIVE moved:")

	n = &nova{servers: []drain.Server{broken}, script: map[string][]drain.Server{"a": {on("cmp1", "ERROR", "rebuilding"), on("cmp1", "ERROR", "")}}, reason: "no room"}
	got, _, _ = run(t, n, func(r *drain.Runner) { r.Verb = drain.Evacuate })
	wants(t, got, "a cmp1 ERROR failed: no room")
}

func TestAPlanMovesNothing(t *testing.T) {
	t.Parallel()
	off := active("c")
	off.Status = "SHUTOFF"
	n := &nova{servers: []drain.Server{active("a"), active("b"), off}}
	got, progressed, err := run(t, n, func(r *drain.Runner) { r.DryRun = true; r.Limit = 1 })
	if err != nil || progressed != "" || n.calls != nil || n.lists != 1 {
		t.Errorf("%v, %q, %v, %d lists", err, progressed, n.calls, n.lists)
	}
	wants(
		t, got, "a cmp1 ACTIVE would move:", "b cmp1 ACTIVE left: left for another run: --max-servers 1",
		"c cmp1 SHUTOFF skipped: 'compute host drain --cold' can move a server in SHUTOFF",
	)
}

func TestNewcomersAreReported(t *testing.T) {
	t.Parallel()
	n := &nova{
		servers: []drain.Server{active("a")}, late: []drain.Server{active("a"), active("b")},
		script: map[string][]drain.Server{"a": {on("cmp2", "ACTIVE", "")}},
	}
	got, _, err := run(t, n, nil)
	if err != nil {
		t.Fatal(err)
	}
	wants(t, got, "a cmp2 ACTIVE moved:", "b cmp1 ACTIVE arrived: it came to the host meanwhile: run this again")
}

func TestTheHostCannotBeLookedAt(t *testing.T) {
	t.Parallel()
	if _, _, err := run(t, &nova{}, nil); err == nil || err.Error() != "no list" {
		t.Error(err)
	}
	n := &nova{servers: []drain.Server{active("a")}, script: map[string][]drain.Server{"a": {on("cmp2", "ACTIVE", "")}}, relist: errors.New("gone")}
	got, _, err := run(t, n, nil)
	if err == nil || !strings.Contains(err.Error(), "the host cannot be looked at again: gone") {
		t.Error(err)
	}
	wants(t, got, "a cmp2 ACTIVE moved:")
}

func TestAnInterruptStopsAndTells(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := &nova{
			servers: []drain.Server{active("a"), active("b"), active("c")},
			script: map[string][]drain.Server{
				"a": {on("cmp2", "ACTIVE", "")}, "b": {on("cmp1", "MIGRATING", "migrating")},
			},
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(3500*time.Millisecond, cancel)
		streams, _, _, _ := iostreams.Test()
		r := &drain.Runner{Cloud: n, Steps: progress.New(streams), Host: "cmp1", Wait: true, Timeout: time.Hour}
		results, err := r.Run(ctx)
		if !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		var got []string
		for _, r := range results {
			got = append(got, fmt.Sprintf("%s %s: %s", r.Server.ID, r.Outcome, r.Detail))
		}
		wants(t, got, "a moved: ", "b unknown: interrupted while it was MIGRATING, migrating: nova goes on", "c not started: interrupted")
		if calls := strings.Join(n.calls, ", "); calls != "move a, move b" {
			t.Error(calls)
		}
	})
}

func TestAnInterruptedRequestIsUnknown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := &nova{servers: []drain.Server{active("a")}, pause: time.Hour}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		streams, _, _, _ := iostreams.Test()
		results, _ := (&drain.Runner{Cloud: n, Steps: progress.New(streams), Host: "cmp1"}).Run(ctx)
		if len(results) != 1 || results[0].Outcome != drain.Unknown {
			t.Errorf("%+v", results)
		}
	})
}

func TestATerminalSeesTheTimeGoBy(t *testing.T) {
	t.Parallel()
	n := &nova{servers: []drain.Server{active("a")}, script: map[string][]drain.Server{
		"a": {on("cmp1", "MIGRATING", "migrating"), on("cmp1", "MIGRATING", "migrating"), on("cmp2", "ACTIVE", "")},
	}}
	_, progressed, _ := run(t, n, func(r *drain.Runner) { r.Live = true })
	if !strings.Contains(progressed, "MIGRATING, migrating, 0s") || !strings.Contains(progressed, "MIGRATING, migrating, 1s") {
		t.Error(progressed)
	}
}

// TestEachServerIsMovedOnce runs any servers with any width. Mutants it catches: a
// server moved twice or not at all, one that is skipped moved, more at a time than
// allowed, results in another order than the plan, failures miscounted.
func TestEachServerIsMovedOnce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		servers := anyServers(rt)
		verb := rapid.SampledFrom(verbs()).Draw(rt, "verb")
		limit, width := rapid.IntRange(0, 4).Draw(rt, "limit"), rapid.IntRange(0, 4).Draw(rt, "parallel")
		n := &nova{servers: append([]drain.Server{}, servers...), script: map[string][]drain.Server{}, refuse: map[string]error{}, pause: time.Second}
		refused := 0
		steps := drain.Plan(servers, verb, limit)
		moves := map[string]bool{}
		for _, s := range steps {
			n.script[s.Server.ID] = []drain.Server{on("cmp2", "ACTIVE", "")}
			if s.Moves() {
				moves[s.Server.ID] = true
				if rapid.Bool().Draw(rt, "refused") {
					n.refuse[s.Server.ID] = errors.New("no")
					refused++
				}
			}
		}
		var results []drain.Result
		synctest.Test(t, func(t *testing.T) {
			streams, _, _, _ := iostreams.Test()
			r := &drain.Runner{Cloud: n, Steps: progress.New(streams), Host: "cmp1", Verb: verb, Limit: limit, Parallel: width, Wait: true, Timeout: time.Hour}
			results, _ = r.Run(t.Context())
		})
		if len(n.calls) != len(moves) || n.top > max(width, 1) {
			rt.Fatalf("%d moves of %d, %d at a time of %d", len(n.calls), len(moves), n.top, width)
		}
		called := map[string]bool{}
		for _, c := range n.calls {
			id := strings.TrimPrefix(c, "move ")
			if called[id] || !moves[id] {
				rt.Fatalf("%s", c)
			}
			called[id] = true
		}
		for i, r := range results {
			if r.Server.ID != steps[i].Server.ID {
				rt.Fatalf("result %d is of %s", i, r.Server.ID)
			}
			if moves[r.Server.ID] != (r.Outcome == drain.Moved || r.Outcome == drain.Failed) {
				rt.Fatalf("%+v", r)
			}
		}
		if failed, tried := drain.Failures(results); failed != refused || tried != len(moves) {
			rt.Fatalf("%d of %d failed, want %d of %d", failed, tried, refused, len(moves))
		}
	})
}
