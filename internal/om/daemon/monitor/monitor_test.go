package monitor_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/bus"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/executor"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/monitor"
	"github.com/holdfast-ops/holdfast/internal/om/event"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/orchestrate"
)

func TestAStartAskedByHandTakesNoLongerThanTheStart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, "a")
		began := time.Now()

		o := b.ask(t, "a", orchestrate.Started)

		if o.State != orchestrate.Succeeded || o.AcceptedBy != "n1" || o.GlobalExpect != "started" {
			t.Errorf("%+v", o)
		}
		if took := time.Since(began); took != time.Second {
			t.Errorf("took %s, the action takes 1s", took)
		}
		if m := b.monitor("a"); m.State != "idle" || m.GlobalExpect != "none" || m.LocalExpect != "started" || m.OrchestrationID != "" {
			t.Errorf("%+v", m)
		}
	})
}

func TestAStopIsFlaggedAndStays(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, events := newWorld(t)
		w.create(svc("a"), "ha")
		b := start(t, w, events)
		pass(10 * time.Second) // virtual: ha starts it after the ready period
		if got := b.done(); !slices.Equal(got, []string{"a start"}) {
			t.Fatalf("done %q", got)
		}

		o := b.ask(t, "a", orchestrate.Stopped)
		pass(time.Hour) // virtual

		if o.State != orchestrate.Succeeded || w.stoppedAt("a").IsZero() {
			t.Errorf("%+v", o)
		}
		if got := b.done(); !slices.Equal(got, []string{"a start", "a stop"}) {
			t.Errorf("done %q", got)
		}
		b.ask(t, "a", orchestrate.Started)
		if !w.stoppedAt("a").IsZero() || b.state.View().Objects[svc("a")].Avail != cluster.Up {
			t.Error("a start does not lift the flag")
		}
	})
}

func TestAGoalInProgressRefusesAnotherUntilItIsGivenUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, "a")
		b.world.actFor(time.Minute)
		first, err := b.Orchestrate(t.Context(), svc("a"), monitor.Goal{Expect: orchestrate.Started})
		if err != nil {
			t.Fatal(err)
		}
		pass(10 * time.Second) // virtual

		_, err = b.Orchestrate(t.Context(), svc("a"), monitor.Goal{Expect: orchestrate.Stopped})

		var refused *orchestrate.RefusedError
		if !errors.As(err, &refused) || refused.OrchestrationID != first || refused.InProgress != "started" || time.Since(refused.Since) != 10*time.Second {
			t.Fatalf("%#v", err)
		}
		for _, want := range []string{first, "started", "10s", "om a abort"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("the refusal does not name %q: %v", want, err)
			}
		}

		abort, err := b.Abort(t.Context(), svc("a"))
		if err != nil {
			t.Fatal(err)
		}
		one, _ := b.Wait(t.Context(), first)
		two, _ := b.Wait(t.Context(), abort)
		if one.State != "aborted" || two.State != "succeeded" || two.GlobalExpect != "aborted" {
			t.Errorf("given up %+v, by %+v", one, two)
		}

		b.ask(t, "a", orchestrate.Stopped) // waits for the start that still runs
		if got := b.done(); !slices.Equal(got, []string{"a start", "a stop"}) || b.world.overlapped() {
			t.Errorf("done %q, at once: %v", got, b.world.overlapped())
		}
	})
}

func TestAnObjectJustCreatedIsKnown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.world.create(svc("new"), "no")

		if o := b.ask(t, "new", orchestrate.Started); o.State != orchestrate.Succeeded {
			t.Errorf("%+v", o)
		}
		var missing *object.NotFoundError
		if _, err := b.Orchestrate(t.Context(), svc("nosuch"), monitor.Goal{Expect: orchestrate.Started}); !errors.As(err, &missing) {
			t.Errorf("an object that does not exist: %v", err)
		}
		if err := b.Clear(t.Context(), svc("nosuch")); !errors.As(err, &missing) {
			t.Errorf("clearing it: %v", err)
		}
	})
}

func TestADeletionEndsWithTheObject(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, "a", "b")
		if o := b.ask(t, "a", orchestrate.Deleted); o.State != orchestrate.Succeeded {
			t.Errorf("%+v", o)
		}
		if o := b.ask(t, "b", orchestrate.Purged); o.State != orchestrate.Succeeded {
			t.Errorf("%+v", o)
		}
		if n := len(b.state.View().Objects); n != 0 {
			t.Errorf("%d objects remain", n)
		}
		b.world.create(svc("a"), "no")
		if o := b.ask(t, "a", orchestrate.Started); o.State != orchestrate.Succeeded {
			t.Errorf("made again: %+v", o)
		}
	})
}

func TestADeletionSeenBeforeItsCommandEndsWaitsForIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, "a")
		id, err := b.Orchestrate(t.Context(), svc("a"), monitor.Goal{Expect: orchestrate.Deleted})
		if err != nil {
			t.Fatal(err)
		}
		pass(100 * time.Millisecond) // virtual: the command removes the file, then goes on
		b.world.mu.Lock()
		delete(b.world.disk, svc("a"))
		b.world.mu.Unlock()
		_ = b.world.Refresh(svc("a"))
		synctest.Wait()
		before, _ := b.Orchestration(id)
		after, _ := b.Wait(t.Context(), id)
		if before.State != monitor.Running || after.State != orchestrate.Succeeded {
			t.Errorf("before the end of the command %s, after %s", before.State, after.State)
		}
	})
}

func TestAnObjectRemovedByHandFailsItsGoal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, events := newWorld(t)
		w.create(svc("db"), "no")
		w.create(svc("a"), "no", func(c *cluster.InstanceConfig) { c.Parents = []string{"db"} })
		b := start(t, w, events)
		pass(time.Second) // virtual
		id, err := b.Orchestrate(t.Context(), svc("a"), monitor.Goal{Expect: orchestrate.Started})
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		w.mu.Lock()
		delete(w.disk, svc("a"))
		w.mu.Unlock()
		_ = w.Refresh(svc("a"))
		if o, _ := b.Wait(t.Context(), id); o.State != orchestrate.Failed || !strings.Contains(o.Reason, "removed") {
			t.Errorf("%+v", o)
		}
	})
}

func TestAChildStartsWhenItsParentIsUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, events := newWorld(t)
		w.create(svc("db"), "no")
		w.create(svc("web"), "no", func(c *cluster.InstanceConfig) { c.Parents = []string{"db"} })
		b := start(t, w, events)
		pass(time.Second) // virtual
		id, err := b.Orchestrate(t.Context(), svc("web"), monitor.Goal{Expect: orchestrate.Started})
		if err != nil {
			t.Fatal(err)
		}
		pass(time.Minute) // virtual
		if m := b.monitor("web"); m.State != "wait parents" || m.Parents["db"] != cluster.Down {
			t.Errorf("%+v", m)
		}
		why, err := b.Explain(t.Context(), svc("web"))
		if err != nil || len(why) == 0 || why[len(why)-1].String() != "wait-parents: db is down" {
			t.Errorf("explained %v, %v", why, err)
		}

		b.ask(t, "db", orchestrate.Started)
		if o, _ := b.Wait(t.Context(), id); o.State != orchestrate.Succeeded {
			t.Errorf("%+v", o)
		}
		if got := b.done(); !slices.Equal(got, []string{"db start", "web start"}) {
			t.Errorf("done %q", got)
		}
	})
}

func TestAFailureIsFinalUntilCleared(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, events := newWorld(t)
		w.create(svc("a"), "ha")
		w.fail("start", true)
		b := start(t, w, events)
		pass(time.Hour) // virtual
		if got := b.done(); len(got) != 1 || b.monitor("a").State != "start failed" {
			t.Fatalf("done %q, state %s", got, b.monitor("a").State)
		}
		w.fail("start", false)

		if err := b.Clear(t.Context(), svc("a")); err != nil {
			t.Fatal(err)
		}
		pass(time.Minute) // virtual

		if b.state.View().Objects[svc("a")].Avail != cluster.Up {
			t.Errorf("not started after a clear: %+v", b.monitor("a"))
		}
	})
}

func TestAnActionThatCannotBeStartedFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, "a")
		b.world.fail("submit", true)
		if o := b.ask(t, "a", orchestrate.Started); o.State != orchestrate.Failed || o.Reason != "start failed: no more processes" {
			t.Errorf("%+v", o)
		}
	})
}

func TestAFlagThatCannotBeWrittenFailsTheGoal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, "a")
		b.world.fail("flag", true)
		for _, goal := range []string{orchestrate.Stopped, orchestrate.Frozen} {
			if o := b.ask(t, "a", goal); o.State != orchestrate.Failed || !strings.HasSuffix(o.Reason, "no space left on device") {
				t.Errorf("%+v", o)
			}
		}
		if got := b.done(); len(got) != 0 {
			t.Errorf("done %q", got)
		}
	})
}

// A daemon that is killed during an action finds it still running: it does not
// start a second one, and takes its outcome from what it left.
func TestADaemonKilledDuringAStartDoesNotStartAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, events := newWorld(t)
		w.create(svc("a"), "ha")
		w.actFor(time.Minute)
		b := start(t, w, events)
		pass(10 * time.Second) // virtual
		if b.monitor("a").State != "starting" {
			t.Fatalf("%+v", b.monitor("a"))
		}
		b.stop()
		<-b.ended

		again := bus.New("n1")
		w.state = newState(t, again, "n1")
		b = start(t, w, again)
		pass(10 * time.Second) // virtual
		if m := b.monitor("a"); m.State != "starting" {
			t.Errorf("while the former action runs: %+v", m)
		}
		pass(time.Hour) // virtual

		if got := b.done(); !slices.Equal(got, []string{"a start"}) || w.overlapped() {
			t.Errorf("done %q", got)
		}
		if m := b.monitor("a"); m.State != "idle" || m.LocalExpect != "started" {
			t.Errorf("afterwards: %+v", m)
		}
	})
}

func TestCommandsTypedByHandAreFollowed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, events := newWorld(t)
		w.create(svc("a"), "ha")
		w.instances[svc("a")].avail = cluster.Up
		b := start(t, w, events)
		pass(time.Second) // virtual
		b.set(func(i *thing) { i.lock = "stop" })
		if err := b.Progress(t.Context(), svc("a"), "sid1", "stopping", false); err != nil {
			t.Fatal(err)
		}
		if m := b.monitor("a"); m.State != "stopping" || m.LocalExpect != "none" || m.SessionID != "sid1" {
			t.Errorf("%+v", m)
		}
		b.set(func(i *thing) { i.avail, i.stopped = cluster.Down, time.Now() })
		if err := b.Progress(t.Context(), svc("a"), "sid1", "idle", false); err != nil {
			t.Fatal(err)
		}
		b.set(func(i *thing) { i.lock = "" })
		pass(time.Hour) // virtual
		if got := b.done(); len(got) != 0 {
			t.Errorf("the daemon did %q", got)
		}
		if err := b.Progress(t.Context(), svc("a"), "sid1", "napping", false); err == nil {
			t.Error("an unknown state is accepted")
		}
	})
}

// What dies while an instance is left to its operator is looked after when it is
// not any more.
func TestAThawResumesTheWatch(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"asked", "by hand"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w, events := newWorld(t)
				w.create(svc("a"), "ha", func(c *cluster.InstanceConfig) {
					c.Resources["app#1"] = cluster.ResourceConfig{Restart: 2}
				})
				w.instances[svc("a")].avail = cluster.Up
				b := start(t, w, events)
				pass(time.Second) // virtual
				b.ask(t, "a", orchestrate.Frozen)
				b.set(func(i *thing) { i.avail = cluster.Down })
				pass(time.Minute) // virtual
				if got := b.done(); len(got) != 0 {
					t.Fatalf("frozen, and yet done %q", got)
				}

				if how == "asked" {
					b.ask(t, "a", orchestrate.Unfrozen)
				} else {
					b.set(func(i *thing) { i.frozen = time.Time{} })
				}
				pass(2 * time.Second) // virtual

				if got := b.done(); !slices.Equal(got, []string{"a start --rid=app#1"}) {
					t.Errorf("done %q", got)
				}
			})
		})
	}
}

func TestTheNodeThatShutsDownStartsNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, events := newWorld(t)
		w.create(svc("a"), "ha")
		b := start(t, w, events)
		pass(time.Second) // virtual
		b.state.SetNodeMonitor("n1", cluster.NodeMonitor{State: "shutting"})
		pass(time.Hour) // virtual
		if got := b.done(); len(got) != 0 {
			t.Errorf("done %q", got)
		}
	})
}

func TestMonitorActions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, events := newWorld(t)
		w.create(svc("a"), "no", func(c *cluster.InstanceConfig) {
			c.Resources["app#1"] = cluster.ResourceConfig{IsMonitored: true}
			c.MonitorAction, c.PreMonitorAction = []string{"crash", "reboot"}, "/bin/notify 'the end'"
		})
		w.instances[svc("a")].avail = cluster.Up
		w.fail("crash", true)
		acted := events.Subscribe("test", func(e *event.Envelope) bool { return e.Kind == event.InstanceMonitorAction{}.Kind() })
		defer acted.Close()
		b := start(t, w, events)
		pass(time.Second) // virtual
		b.set(func(i *thing) { i.avail = cluster.Down })
		pass(time.Hour) // virtual

		if e, ok := (<-acted.C()).Event.(event.InstanceMonitorAction); !ok || e.Action != "crash" || e.RID != "app#1" {
			t.Errorf("%+v", e)
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		if diff := cmp.Diff([]string{"/bin/notify the end"}, w.ran); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff([]string{"crash", "reboot"}, w.power); diff != "" {
			t.Error(diff)
		}
	})
}

func TestTheBootIsRecordedOncePerInstance(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, events := newWorld(t, "new", "old", "same")
		for name, id := range map[string]string{"old": "b0", "same": "b1"} {
			file := filepath.Join(w.root, "var", "svc", name, "last_boot_id")
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(id+"\n"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		b := start(t, w, events)
		pass(time.Minute) // virtual

		if got := b.done(); !slices.Equal(got, []string{"old boot"}) {
			t.Errorf("done %q", got)
		}
		for _, name := range []string{"new", "old", "same"} {
			data, err := os.ReadFile(filepath.Join(w.root, "var", "svc", name, "last_boot_id"))
			if err != nil || string(data) != "b1\n" {
				t.Errorf("%s: %q, %v", name, data, err)
			}
		}
	})
}

// The daemon has not noticed yet what whoever asks has seen.
func TestWhatIsAskedIsDecidedFromAFreshStatus(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		goal       string
		seen, real cluster.Status
		done       []string
	}{
		{orchestrate.Started, cluster.Up, cluster.Down, []string{"a start"}},
		{orchestrate.Stopped, cluster.Down, cluster.Up, []string{"a stop"}},
		{orchestrate.Restarted, cluster.Down, cluster.Up, []string{"a stop", "a start"}},
	} {
		t.Run(c.goal, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w, events := newWorld(t)
				w.create(svc("a"), "no")
				w.instances[svc("a")].avail = c.seen
				b := start(t, w, events)
				pass(time.Second) // virtual
				w.mu.Lock()
				w.instances[svc("a")].avail = c.real
				w.mu.Unlock()

				o := b.ask(t, "a", c.goal)

				if got := b.done(); o.State != orchestrate.Succeeded || !slices.Equal(got, c.done) {
					t.Errorf("done %q, %+v", got, o)
				}
			})
		})
	}
}

func TestWhatEndedIsForgottenInTheEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, "a")
		o := b.ask(t, "a", orchestrate.Frozen)
		if all := b.Orchestrations(); len(all) != 1 || all[0].ID != o.ID {
			t.Errorf("%+v", all)
		}
		pass(48 * time.Hour) // virtual
		if all := b.Orchestrations(); len(all) != 0 {
			t.Errorf("%+v", all)
		}
		var forgotten *executor.ForgottenError
		if _, err := b.Orchestration(o.ID); !errors.As(err, &forgotten) || !strings.Contains(err.Error(), "orchestration "+o.ID) {
			t.Errorf("%v", err)
		}
		if _, err := b.Wait(t.Context(), o.ID); !errors.As(err, &forgotten) {
			t.Errorf("%v", err)
		}
	})
}

func TestTheNextDaemonKnowsTheOrchestrationsOfThisOne(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, events := newWorld(t, "a")
		first := start(t, w, events)
		done := first.ask(t, "a", orchestrate.Frozen)
		w.actFor(time.Hour)
		running, err := first.Orchestrate(t.Context(), svc("a"), monitor.Goal{Expect: orchestrate.Started})
		if err != nil {
			t.Fatal(err)
		}
		pass(time.Second) // virtual
		first.stop()
		<-first.ended

		next := start(t, w, events)

		o, err := next.Orchestration(done.ID)
		if diff := cmp.Diff(done, o); err != nil || diff != "" {
			t.Error(err, diff)
		}
		o, err = next.Wait(t.Context(), running)
		if err != nil || o.State != orchestrate.Failed || !strings.Contains(o.Reason, "the daemon ended") || o.EndedAt.IsZero() {
			t.Errorf("%+v, %v", o, err)
		}
		pass(48 * time.Hour) // virtual
		if all := next.Orchestrations(); len(all) != 0 {
			t.Errorf("%+v", all)
		}
	})
}

func TestWaitEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, "a")
		b.world.actFor(time.Hour)
		id, err := b.Orchestrate(t.Context(), svc("a"), monitor.Goal{Expect: orchestrate.Started})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if o, err := b.Wait(ctx, id); !errors.Is(err, context.DeadlineExceeded) || o.State != monitor.Running {
			t.Errorf("%+v, %v", o, err)
		}
		pass(2 * time.Hour) // virtual
	})
}

func TestAMonitorThatHasEndedSaysSo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, "a")
		synctest.Wait()
		b.stop()
		<-b.ended
		if _, err := b.Orchestrate(t.Context(), svc("a"), monitor.Goal{Expect: orchestrate.Started}); err == nil || !strings.Contains(err.Error(), "stopping") {
			t.Errorf("%v", err)
		}
	})
}

func TestManyObjectsOneGoroutine(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, events := newWorld(t)
		for i := range 300 {
			w.create(svc(fmt.Sprintf("s%d", i)), "ha")
		}
		b := start(t, w, events)
		began := time.Now()
		pass(7 * time.Second) // virtual: ready period, and a second to start
		up := 0
		for _, o := range b.state.View().Objects {
			if o.Avail == cluster.Up {
				up++
			}
		}
		if up != 300 || w.overlapped() {
			t.Errorf("%d of 300 are up after %s", up, time.Since(began))
		}
		quiet := events.Subscribe("quiet", nil)
		defer quiet.Close()
		pass(time.Hour) // virtual
		if n := len(quiet.C()); n != 0 {
			t.Errorf("%d events in an hour in which nothing happens", n)
		}
	})
}

func TestOrchestrationsAreAnnounced(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, events := newWorld(t, "a")
		s := events.Subscribe("test", func(e *event.Envelope) bool {
			return strings.HasPrefix(e.Kind, "ObjectOrchestration") || strings.HasPrefix(e.Kind, "SetInstanceMonitor")
		})
		b := start(t, w, events)
		b.ask(t, "a", orchestrate.Started)
		if _, err := b.Orchestrate(t.Context(), svc("a"), monitor.Goal{Expect: orchestrate.Started}); err == nil {
			t.Error("a started object is started again")
		}
		s.Close()
		var got []string
		for e := range s.C() {
			got = append(got, e.Kind)
		}
		if diff := cmp.Diff([]string{
			"SetInstanceMonitor", "ObjectOrchestrationAccepted", "ObjectOrchestrationEnd", "SetInstanceMonitorRefused", "ObjectOrchestrationRefused",
		}, got); diff != "" {
			t.Error(diff)
		}
	})
}
