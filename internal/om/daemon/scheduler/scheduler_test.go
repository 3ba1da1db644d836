package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
	_ "time/tzdata" // the clocks of the tests change the same way everywhere

	"github.com/holdfast-ops/holdfast/internal/host"
	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/bus"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/executor"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/scheduler"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/state"
	"github.com/holdfast-ops/holdfast/internal/om/event"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/resource/stamp"
)

// bench is a node whose clock, and what runs on it, are those of the test.
type bench struct {
	t     *testing.T
	paths host.Paths
	state *state.State
	bus   *bus.Bus
	s     *scheduler.Scheduler
	end   func()

	mu                     sync.Mutex
	offset                 time.Duration // of the clock
	loc                    *time.Location
	full, monitored, infos map[object.Path]int
	runs                   []run
	takes                  time.Duration // of a run
	fails                  error
	refused                error
}

// run is a job that was submitted.
type run struct {
	executor.Job
	at time.Time
}

func svc(name string) object.Path {
	return object.Path{Namespace: "test", Kind: object.KindSvc, Name: name}
}

// newBench returns a node whose clock shows that time of Paris.
func newBench(t *testing.T, clock string) *bench {
	t.Helper()
	loc, err := time.LoadLocation("Europe/Paris")
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{
		t: t, paths: host.Paths{Root: t.TempDir()}, bus: bus.New("n1"), loc: loc,
		full: map[object.Path]int{}, monitored: map[object.Path]int{}, infos: map[object.Path]int{},
	}
	b.state = state.New("n1", b.bus)
	b.node("idle")
	b.set(clock)
	return b
}

// set sets the clock.
func (b *bench) set(clock string) {
	at, err := time.ParseInLocation("2006-01-02 15:04:05", clock, b.loc)
	if err != nil {
		b.t.Fatal(err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.offset = time.Until(at)
}

func (b *bench) now() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return time.Now().Add(b.offset).In(b.loc)
}

func (b *bench) node(monitor string) {
	b.state.SetNodeMonitor("n1", cluster.NodeMonitor{State: monitor})
}

// start starts a scheduler, in the place of the one that runs.
func (b *bench) start() {
	b.t.Helper()
	b.stop()
	b.s = scheduler.New(scheduler.Options{
		Paths: b.paths, State: b.state, Bus: b.bus, Log: slog.New(slog.DiscardHandler), Evaluate: b, Executor: b,
		Inform: b.inform, NodeJobs: map[string][]string{"checks": {"node", "checks"}}, Now: b.now,
	})
	ctx, cancel := context.WithCancel(b.t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := b.s.Run(ctx); err != nil {
			b.t.Error(err)
		}
	})
	b.end = func() { cancel(); wg.Wait() }
	synctest.Wait()
}

func (b *bench) stop() {
	if b.end != nil {
		b.end()
		b.end = nil
	}
}

// Request implements scheduler.Evaluator.
func (b *bench) Request(p object.Path) { b.count(b.full, p) }

// RequestMonitored implements scheduler.Evaluator.
func (b *bench) RequestMonitored(p object.Path) { b.count(b.monitored, p) }

// refuse makes submissions fail with the first error, and runs with the second.
func (b *bench) refuse(refused, fails error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.refused, b.fails = refused, fails
}

func (b *bench) inform(_ context.Context, p object.Path) error { b.count(b.infos, p); return nil }

func (b *bench) count(m map[object.Path]int, p object.Path) {
	b.mu.Lock()
	defer b.mu.Unlock()
	m[p]++
}

// Submit implements scheduler.Submitter.
func (b *bench) Submit(_ context.Context, j executor.Job) (executor.IDs, error) {
	at := b.now()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.refused != nil {
		return executor.IDs{}, b.refused
	}
	b.runs = append(b.runs, run{Job: j, at: at})
	err := b.fails
	time.AfterFunc(b.takes, func() { j.Done(executor.Outcome{Err: err}) })
	return executor.IDs{}, nil
}

// ran returns when jobs ran since the last call, in the words of the clock.
func (b *bench) ran() []string {
	synctest.Wait()
	b.mu.Lock()
	defer b.mu.Unlock()
	var all []string
	for _, r := range b.runs {
		all = append(all, r.at.Format("02 15:04:05"))
	}
	b.runs = nil
	return all
}

func (b *bench) expect(want ...string) {
	b.t.Helper()
	if got := b.ran(); !slices.Equal(got, want) {
		b.t.Errorf("run at %q, want %q", got, want)
	}
}

// task gives an object a task, up and provisioned.
func (b *bench) task(when string, more ...func(*cluster.ScheduleConfig)) {
	c := cluster.ScheduleConfig{Action: "run", Key: "task#1.schedule", Schedule: when, MaxParallel: 1, RequireProvisioned: true}
	for _, f := range more {
		f(&c)
	}
	b.state.SetInstanceConfig(svc("a"), "n1", cluster.InstanceConfig{Path: svc("a"), Topology: "failover", Orchestrate: "no", Schedules: []cluster.ScheduleConfig{c}})
	b.status(cluster.Up, cluster.ProvisionedTrue, nil)
}

func (b *bench) status(avail cluster.Status, provisioned cluster.Provisioned, resources map[string]cluster.ResourceStatus) {
	b.state.SetInstanceStatus(svc("a"), "n1", cluster.InstanceStatus{Avail: avail, Provisioned: provisioned, Resources: resources, UpdatedAt: b.now()})
	synctest.Wait()
}

func (b *bench) line() cluster.Schedule {
	b.t.Helper()
	list := b.s.Schedule(svc("a"))
	if len(list) != 1 {
		b.t.Fatalf("%+v", list)
	}
	return list[0]
}

// pass lets virtual time go by.
func pass(d time.Duration) {
	<-time.NewTimer(d).C
	synctest.Wait()
}

func bubble(t *testing.T, clock string, f func(*bench)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, clock)
		defer func() { b.stop() }()
		f(b)
	})
}

func TestATaskRunsWhenItsScheduleSays(t *testing.T) {
	t.Parallel()
	bubble(t, "2026-03-02 03:00:00", func(b *bench) {
		b.task("04:00-06:00@30m")
		b.start()

		pass(2 * 24 * time.Hour)

		b.expect("02 04:00:00", "02 04:30:00", "02 05:00:00", "02 05:30:00", "03 04:00:00", "03 04:30:00", "03 05:00:00", "03 05:30:00")
		pass(time.Hour)
		if r := b.ran(); len(r) != 1 {
			t.Errorf("run %q", r)
		}
		if l := b.line(); l.LastRunAt.Format(time.DateTime) != "2026-03-04 04:00:00" || l.NextRunAt.Format(time.DateTime) != "2026-03-04 04:30:00" || l.LastSuccessAt.IsZero() {
			t.Errorf("%+v", l)
		}
	})
}

func TestWhatIsSubmittedIsTheRunOfTheTask(t *testing.T) {
	t.Parallel()
	bubble(t, "2026-03-02 03:59:59", func(b *bench) {
		b.task("04:00")
		b.start()
		pass(2 * time.Second)

		b.mu.Lock()
		defer b.mu.Unlock()
		if len(b.runs) != 1 {
			t.Fatalf("%d runs", len(b.runs))
		}
		j := b.runs[0].Job
		if got := fmt.Sprint(j.Path, j.Args, j.RID, j.Origin); got != "test/svc/a [instance run --rid=task#1]task#1daemon/scheduler" {
			t.Error(got)
		}
	})
}

func TestARestartNeitherRepeatsNorLosesARun(t *testing.T) {
	t.Parallel()
	bubble(t, "2026-03-02 03:00:00", func(b *bench) {
		b.task("04:00")
		b.start()
		pass(time.Hour + time.Second)
		b.expect("02 04:00:00")

		b.start()
		b.set("2026-03-02 04:00:00") // and the clock shows it again
		pass(10 * time.Minute)
		b.expect()
		b.stop()
		pass(24 * time.Hour) // past the next time
		b.start()
		pass(time.Second)
		b.expect("03 04:10:00")
	})
}

func TestWhatWasMissedForLongIsNotMadeUpFor(t *testing.T) {
	t.Parallel()
	bubble(t, "2026-03-02 03:00:00", func(b *bench) {
		b.task("04:00")
		b.start()
		b.stop()
		pass(3 * time.Hour)
		b.start()
		pass(time.Hour)
		b.expect()
		pass(22 * time.Hour)
		b.expect("03 04:00:00")
	})
}

func TestNothingIsMissedOfWhatNobodyAskedFor(t *testing.T) {
	t.Parallel()
	bubble(t, "2026-03-02 03:00:00", func(b *bench) {
		b.start()
		b.stop()
		pass(90 * time.Minute)
		b.task("04:00") // half an hour ago
		b.state.SetInstanceConfig(svc("a"), "n1", cluster.InstanceConfig{Path: svc("a"), UpdatedAt: b.now(), Schedules: []cluster.ScheduleConfig{{Action: "run", Key: "task#1.schedule", Schedule: "04:00"}}})
		b.start()
		pass(time.Hour)
		b.expect()
	})
}

func TestWhatWasJustWrittenIsListed(t *testing.T) {
	t.Parallel()
	bubble(t, "2026-03-02 03:00:00", func(b *bench) {
		b.start()
		b.state.SetInstanceConfig(svc("a"), "n1", cluster.InstanceConfig{Schedules: []cluster.ScheduleConfig{{Action: "run", Key: "task#1.schedule", Schedule: "@1h"}}})

		list := b.s.Schedule(svc("a")) // before anything is told

		if len(list) != 1 || list[0].Waits != "the status of the instance is not known yet" {
			t.Errorf("%+v", list)
		}
	})
}

func TestARunByHandCounts(t *testing.T) {
	t.Parallel()
	bubble(t, "2026-03-02 03:00:00", func(b *bench) {
		b.task("04:00-06:00@1h")
		b.start()
		pass(90 * time.Minute)
		b.expect("02 04:00:00")

		if err := stamp.In(b.paths.Var()+"/namespaces/test/svc/a").Mark("run_task#1", b.now()); err != nil {
			t.Fatal(err)
		}

		pass(45 * time.Minute)
		b.expect()
		pass(20 * time.Minute)
		b.expect("02 05:30:00")
	})
}

func TestADueRunWaitsUntilItMayRun(t *testing.T) {
	t.Parallel()
	require := func(c *cluster.ScheduleConfig) { c.Require = "fs#1(up)" }
	fs := func(s cluster.Status) map[string]cluster.ResourceStatus {
		return map[string]cluster.ResourceStatus{"fs#1": {Status: s}}
	}
	for name, c := range map[string]struct {
		more          func(*cluster.ScheduleConfig)
		hold, release func(*bench)
		waits         string
	}{
		"for the instance to be provisioned": {
			nil, func(b *bench) { b.status(cluster.Up, cluster.ProvisionedFalse, nil) }, func(b *bench) { b.status(cluster.Up, cluster.ProvisionedTrue, nil) },
			"the instance is not provisioned",
		},
		"for the object to be up here": {
			nil, func(b *bench) { b.status(cluster.Down, cluster.ProvisionedTrue, nil) }, func(b *bench) { b.status(cluster.Up, cluster.ProvisionedTrue, nil) },
			"the object is not up here but down",
		},
		"for what it requires": {
			require, func(b *bench) { b.status(cluster.Up, cluster.ProvisionedTrue, fs(cluster.Down)) }, func(b *bench) { b.status(cluster.Up, cluster.ProvisionedTrue, fs(cluster.Up)) },
			"it requires fs#1(up), which is down",
		},
		"for the end of an orchestration": {
			nil, func(b *bench) {
				b.state.SetInstanceMonitor(svc("a"), "n1", cluster.InstanceMonitor{State: "idle", GlobalExpect: "stopped"})
			}, func(b *bench) {
				b.state.SetInstanceMonitor(svc("a"), "n1", cluster.InstanceMonitor{State: "idle", GlobalExpect: "none"})
			},
			"an orchestration is in progress, to stopped",
		},
		"for the end of an action": {
			nil, func(b *bench) { b.state.SetInstanceMonitor(svc("a"), "n1", cluster.InstanceMonitor{State: "starting"}) },
			func(b *bench) { b.state.SetInstanceMonitor(svc("a"), "n1", cluster.InstanceMonitor{State: "idle"}) },
			"the instance is starting",
		},
		"for the end of a maintenance": {
			nil, func(b *bench) { b.node("maintenance") }, func(b *bench) { b.node("idle") }, "the node is maintenance",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, "2026-03-02 03:59:00", func(b *bench) {
				b.task("04:00-06:00", func(j *cluster.ScheduleConfig) {
					if c.more != nil {
						c.more(j)
					}
				})
				b.start()
				c.hold(b)
				pass(30 * time.Minute)
				b.expect()
				if l := b.line(); l.Waits != c.waits || !l.NextRunAt.IsZero() {
					t.Errorf("waits %q, next %s", l.Waits, l.NextRunAt)
				}

				c.release(b)
				pass(2 * time.Second)

				if r := b.ran(); len(r) != 1 {
					t.Errorf("run %q", r)
				}

				c.hold(b)
				pass(24 * time.Hour)
				c.release(b) // the range is over since long
				pass(time.Hour)
				c.hold(b)
				if r := b.ran(); len(r) > 1 {
					t.Errorf("run %q, once a range at most", r)
				}
			})
		})
	}
}

func TestAFlexObjectRunsItsTasksWhereItIsDownToo(t *testing.T) {
	t.Parallel()
	bubble(t, "2026-03-02 03:59:00", func(b *bench) {
		b.task("04:00")
		b.state.SetInstanceConfig(svc("a"), "n1", cluster.InstanceConfig{Topology: "flex", Schedules: []cluster.ScheduleConfig{{Action: "run", Key: "task#1.schedule", Schedule: "04:00"}}})
		b.status(cluster.Down, cluster.ProvisionedTrue, nil)
		b.start()
		pass(time.Hour)
		b.expect("02 04:00:00")
	})
}

func TestNoMoreRunsThanMaxParallel(t *testing.T) {
	t.Parallel()
	bubble(t, "2026-03-02 04:00:00", func(b *bench) {
		b.takes = 150 * time.Second
		b.task("@1m", func(c *cluster.ScheduleConfig) { c.MaxParallel = 2 })
		b.start()

		pass(5*time.Minute + time.Second)

		// The third is due at 04:02 and begins with the end of the first.
		b.expect("02 04:00:00", "02 04:01:00", "02 04:02:30", "02 04:03:30", "02 04:05:00")
	})
}

func TestAFailedRunIsLeftAloneForItsSnooze(t *testing.T) {
	t.Parallel()
	bubble(t, "2026-03-02 04:00:00", func(b *bench) {
		b.task("@1m", func(c *cluster.ScheduleConfig) { c.Snooze = 10 * time.Minute })
		b.refuse(nil, errors.New("exit status 1"))
		b.start()
		pass(15 * time.Minute)
		b.expect("02 04:00:00", "02 04:10:00")

		b.start() // and still, after a restart
		pass(4 * time.Minute)
		b.expect()
		b.refuse(nil, nil)
		pass(3*time.Minute + time.Second)
		b.expect("02 04:20:00", "02 04:21:00", "02 04:22:00")
	})
}

func TestAJobThatCannotBeSubmittedIsTriedAtItsNextTime(t *testing.T) {
	t.Parallel()
	bubble(t, "2026-03-02 04:00:00", func(b *bench) {
		b.task("@1m")
		b.refuse(errors.New("the daemon is stopping"), nil)
		b.start()
		pass(30 * time.Second)
		b.refuse(nil, nil)
		pass(time.Minute)
		b.expect("02 04:01:00")
	})
}

func TestAnEventRunsTheTasksThatWaitForIt(t *testing.T) {
	t.Parallel()
	on := func(text string) func(*cluster.ScheduleConfig) {
		return func(c *cluster.ScheduleConfig) { c.On = text }
	}
	frozen := func(p object.Path) event.Event { return event.InstanceFrozenFileUpdated{Path: p} }
	other := object.Path{Namespace: "other", Kind: object.KindSvc, Name: "a"}
	for name, c := range map[string]struct {
		on   string
		e    event.Event
		runs int
	}{
		"of its object":                     {"InstanceFrozenFileUpdated", frozen(svc("a")), 1},
		"not of another":                    {"InstanceFrozenFileUpdated", frozen(svc("b")), 0},
		"of another it names":               {"InstanceFrozenFileUpdated,path=test/svc/b", frozen(svc("b")), 1},
		"never of another namespace":        {"InstanceFrozenFileUpdated,path=other/svc/a", frozen(other), 0},
		"not of another kind":               {"InstanceFrozenFileRemoved", frozen(svc("a")), 0},
		"one of several":                    {"ObjectDeleted InstanceFrozenFileUpdated", frozen(svc("a")), 1},
		"of the node":                       {"NodeFrozen,.is_frozen=true", event.NodeFrozen{Node: "n1", IsFrozen: true}, 1},
		"whose conditions hold":             {"NodeFrozen,.is_frozen=true", event.NodeFrozen{Node: "n1"}, 0},
		"not of another node":               {"NodeFrozen", event.NodeFrozen{Node: "n2", IsFrozen: true}, 0},
		"of another node when it names one": {"NodeFrozen,node=n2", event.NodeFrozen{Node: "n2", IsFrozen: true}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, "2026-03-02 04:00:00", func(b *bench) {
				b.task("", on(c.on))
				b.start()

				b.bus.Publish(c.e)
				pass(2 * time.Second)

				if r := b.ran(); len(r) != c.runs {
					t.Errorf("run %q", r)
				}
			})
		})
	}
	t.Run("a burst is run once, then once more", func(t *testing.T) {
		t.Parallel()
		bubble(t, "2026-03-02 04:00:00", func(b *bench) {
			b.task("", on("InstanceFrozenFileUpdated"))
			b.start()
			for range 50 {
				b.bus.Publish(frozen(svc("a")))
				pass(10 * time.Millisecond)
			}
			pass(time.Minute)
			b.expect("02 04:00:00", "02 04:00:05")
		})
	})
	t.Run("what comes during a run is run for after it", func(t *testing.T) {
		t.Parallel()
		bubble(t, "2026-03-02 04:00:00", func(b *bench) {
			b.takes = time.Minute
			b.task("", on("InstanceFrozenFileUpdated"))
			b.start()
			b.bus.Publish(frozen(svc("a")))
			pass(30 * time.Second)
			b.bus.Publish(frozen(svc("a")))
			pass(time.Hour)
			b.expect("02 04:00:00", "02 04:01:00")
		})
	})
	t.Run("what comes during an orchestration is for after it", func(t *testing.T) {
		t.Parallel()
		bubble(t, "2026-03-02 04:00:00", func(b *bench) {
			b.task("", on("InstanceFrozenFileUpdated"))
			b.start()
			b.state.SetInstanceMonitor(svc("a"), "n1", cluster.InstanceMonitor{State: "idle", GlobalExpect: "frozen"})
			b.bus.Publish(frozen(svc("a")))
			pass(time.Minute)
			b.expect()
			b.state.SetInstanceMonitor(svc("a"), "n1", cluster.InstanceMonitor{State: "idle", GlobalExpect: "none"})
			pass(time.Hour)
			b.expect("02 04:01:00")
		})
	})
	t.Run("what comes while it may not run is forgotten", func(t *testing.T) {
		t.Parallel()
		bubble(t, "2026-03-02 04:00:00", func(b *bench) {
			b.task("", on("InstanceFrozenFileUpdated"))
			b.status(cluster.Down, cluster.ProvisionedTrue, nil)
			b.start()
			b.bus.Publish(frozen(svc("a")))
			pass(time.Minute)
			b.status(cluster.Up, cluster.ProvisionedTrue, nil)
			pass(time.Hour)
			b.expect()
		})
	})
}

func TestAClockThatIsSet(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		schedule, before, after string
		want                    []string // within an hour after
	}{
		"back, repeats nothing":                     {"04:00", "2026-03-02 04:10:00", "2026-03-02 03:30:00", nil},
		"back, keeps what was to come":              {"04:00", "2026-03-02 03:50:00", "2026-03-02 03:30:00", []string{"02 04:00:00"}},
		"back, counts intervals from there":         {"@50m", "2026-03-02 04:10:00", "2026-03-02 01:30:00", []string{"02 02:20:30"}},
		"forward, loses nothing":                    {"04:00", "2026-03-02 03:50:00", "2026-03-02 04:45:00", []string{"02 04:45:30"}},
		"forward past what may be made up for":      {"04:00", "2026-03-02 03:50:00", "2026-03-02 09:45:00", nil},
		"forward into a range":                      {"04:00-12:00", "2026-03-02 03:50:00", "2026-03-02 09:45:00", []string{"02 09:45:30"}},
		"to the right year, which was wrong before": {"04:00", "2038-01-19 03:14:07", "2026-03-02 03:30:00", []string{"02 04:00:00"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, "2026-03-01 23:00:00", func(b *bench) {
				if strings.HasPrefix(c.before, "2038") {
					b.set("2038-01-18 23:00:00")
				}
				b.task(c.schedule)
				b.start()
				at, err := time.ParseInLocation(time.DateTime, c.before, b.loc)
				if err != nil {
					t.Fatal(err)
				}
				pass(at.Sub(b.now()))
				b.ran()

				b.set(c.after)
				pass(59 * time.Minute)

				got := b.ran()
				if len(got) == 1 && len(c.want) == 1 && got[0] <= c.want[0] && got[0] >= c.want[0][:len(c.want[0])-2] {
					return // it looks at the clock every half minute
				}
				if !slices.Equal(got, c.want) {
					t.Errorf("run at %q, want %q", got, c.want)
				}
			})
		})
	}
}

func TestADailyTaskRunsOnceWhateverTheClocksDo(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		from string
		want []string
	}{
		"in spring": {"2026-03-27 12:00:00", []string{"28 02:30:00", "29 03:00:00", "30 02:30:00"}},
		"in autumn": {"2026-10-23 12:00:00", []string{"24 02:30:00", "25 02:30:00", "26 02:30:00"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, c.from, func(b *bench) {
				b.task("02:30")
				b.start()
				pass(3 * 24 * time.Hour)
				b.expect(c.want...)
			})
		})
	}
}

func TestAJobThatIsGoneRunsNoMore(t *testing.T) {
	t.Parallel()
	bubble(t, "2026-03-02 04:00:00", func(b *bench) {
		b.task("@1m")
		b.start()
		pass(time.Minute)
		if r := b.ran(); len(r) != 2 {
			t.Errorf("run %q", r)
		}
		b.task("@30m") // another schedule
		pass(10 * time.Minute)
		b.expect()
		b.state.DeleteInstance(svc("a"), "n1")
		pass(time.Hour)
		b.expect()
		if l := b.s.Schedule(svc("a")); len(l) != 0 {
			t.Errorf("%+v", l)
		}
	})
}

func TestJobsOfTheNode(t *testing.T) {
	t.Parallel()
	bubble(t, "2026-03-02 03:00:00", func(b *bench) {
		b.state.SetNodeConfig("n1", cluster.NodeConfig{Schedules: []cluster.ScheduleConfig{
			{Action: "checks", Key: "checks.schedule", Schedule: "04:00"},
			{Action: "pushpatch", Key: "patches.schedule", Schedule: "04:00"},
		}})
		b.start()
		pass(2 * time.Hour)
		b.mu.Lock()
		if len(b.runs) != 1 || !slices.Equal(b.runs[0].Args, []string{"node", "checks"}) || !b.runs[0].Path.IsZero() {
			t.Errorf("%+v", b.runs)
		}
		b.mu.Unlock()
		list := b.s.Schedule(object.Path{})
		if len(list) != 2 || list[0].LastSuccessAt.IsZero() || list[0].NextRunAt.IsZero() || list[1].Unavailable == "" || !list[1].NextRunAt.IsZero() {
			t.Errorf("%+v", list)
		}
	})
}

func TestWhatCannotBeReadIsSaid(t *testing.T) {
	t.Parallel()
	bubble(t, "2026-03-02 03:00:00", func(b *bench) {
		b.task("nightly")
		b.start()
		pass(24 * time.Hour)
		b.expect()
		if l := b.line(); !strings.Contains(l.Unavailable, "no time range") {
			t.Errorf("%+v", l)
		}
	})
}

// many gives the node that many objects, each with what objects have; every tenth
// has monitored resources.
func (b *bench) many(n int) {
	for i := range n {
		p := svc(fmt.Sprintf("s%d", i))
		jobs := []cluster.ScheduleConfig{
			{Action: cluster.JobStatus, Key: "status_schedule", Schedule: "@10m", MaxParallel: 1},
			{Action: cluster.JobInfo, Key: "info_schedule", Schedule: "@60m", MaxParallel: 1},
			{Action: cluster.JobRun, Key: "task#1.schedule", Schedule: "~01:00-05:00", MaxParallel: 1},
		}
		if i%10 == 0 {
			jobs = append(jobs, cluster.ScheduleConfig{Action: cluster.JobMonitor, Key: "monitor_schedule", Schedule: "@1m", MaxParallel: 1})
		}
		b.state.SetInstanceConfig(p, "n1", cluster.InstanceConfig{Path: p, Orchestrate: "no", Schedules: jobs})
		b.state.SetInstanceStatus(p, "n1", cluster.InstanceStatus{Avail: cluster.Up, Provisioned: cluster.ProvisionedTrue})
		if err := stamp.In(filepath.Join(b.paths.Var(), p.StateDir())).Mark("run_task#1", b.now().Add(-20*time.Hour)); err != nil {
			b.t.Fatal(err)
		}
	}
}

// It is no parallel test: it tells what the process computes meanwhile.
//
//nolint:paralleltest // see above
func TestADayOfFiveHundredObjects(t *testing.T) {
	const objects = 500
	for name, c := range map[string]struct {
		from  string
		hours int
	}{
		"of 23 hours": {"2026-03-29 00:00:00", 23},
		"of 24 hours": {"2026-04-01 00:00:00", 24},
		"of 25 hours": {"2026-10-25 00:00:00", 25},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, c.from, func(b *bench) {
				b.many(objects)
				b.start()
				before := processor(t)

				pass(time.Duration(c.hours) * time.Hour)

				took := processor(t) - before
				t.Logf("%d hours of %d objects took %s of processor", c.hours, objects, took)
				b.mu.Lock()
				defer b.mu.Unlock()
				for p, n := range b.full {
					if want := 6 * c.hours; n < want-1 || n > want || b.infos[p] < c.hours-1 || b.infos[p] > c.hours {
						t.Fatalf("%s: %d evaluations, %d of the info", p, n, b.infos[p])
					}
				}
				for p, n := range b.monitored {
					if want := 60 * c.hours; n < want-1 || n > want {
						t.Fatalf("%s: %d evaluations of the monitored resources", p, n)
					}
				}
				ran := map[object.Path]int{}
				for _, r := range b.runs {
					ran[r.Path]++
					if h := r.at.Hour(); h < 1 || h >= 5 || ran[r.Path] > 1 {
						t.Fatalf("%s: run %d at %s", r.Path, ran[r.Path], r.at)
					}
				}
				if len(b.full) != objects || len(b.monitored) != objects/10 || len(ran) != objects {
					t.Errorf("%d objects evaluated, %d of them monitored, %d tasks run", len(b.full), len(b.monitored), len(ran))
				}
			})
		})
	}
}

// processor is the time the process has computed.
func processor(t *testing.T) time.Duration {
	t.Helper()
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		t.Fatal(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
