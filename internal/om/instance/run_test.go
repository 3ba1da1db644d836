package instance_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/instance"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

func TestOptional(t *testing.T) {
	t.Parallel()
	for name, subset := range map[string]string{
		"in a serial walk": "",
		"in parallel":      "[subset#p]\nparallel = true\n[DEFAULT]\nsubset = p\n",
	} {
		t.Run("an optional failure neither stops nor undoes a start "+name, func(t *testing.T) {
			t.Parallel()
			f := faked(t, "[app#1]\noptional = true\nfail = start\n[app#2]\n")
			if subset != "" {
				f = faked(t, "subset = p\n[subset#p]\nparallel = true\n[app#1]\noptional = true\nfail = start\n[app#2]\n")
			}
			f.run(instance.Start)
			did := f.fake.history()
			slices.Sort(did)
			if diff := cmp.Diff([]string{"start app#1", "start app#2"}, did); diff != "" {
				t.Error(diff)
			}
			if !strings.Contains(f.out.text(), "instance status is now up, with warnings") {
				t.Errorf("logged:\n%s", f.out.text())
			}
		})
	}
}

func TestRollback(t *testing.T) {
	t.Parallel()
	const conf = "[ip#1]\n[disk#1]\n[fs#1]\nfail = start\n[app#1]\n"

	t.Run("a failed start undoes what it did, in reverse, and nothing else", func(t *testing.T) {
		t.Parallel()
		f := faked(t, conf)
		f.run(instance.Start, rid("ip#1"))
		f.fake.history()
		f.fails(instance.Start, "start fs#1: no luck")
		if diff := cmp.Diff([]string{"start disk#1", "start fs#1", "stop fs#1", "stop disk#1"}, f.fake.history()); diff != "" {
			t.Error(diff)
		}
		if s := f.status(); s.Resources["ip#1"].Status != cluster.Up {
			t.Error("what was up before was undone")
		}
		if text := f.out.text(); !strings.Contains(text, "ERR web: <<< failed start [om web instance start] in D, instance status is now warn: start fs#1: no luck") {
			t.Errorf("logged:\n%s", text)
		}
	})

	for name, change := range map[string]func(*instance.Request){
		"with --disable-rollback": func(r *instance.Request) { r.DisableRollback = true },
	} {
		t.Run("a failed start leaves all in place "+name, func(t *testing.T) {
			t.Parallel()
			f := faked(t, conf)
			f.fails(instance.Start, "no luck", change)
			if diff := cmp.Diff([]string{"start ip#1", "start disk#1", "start fs#1"}, f.fake.history()); diff != "" {
				t.Error(diff)
			}
		})
	}

	t.Run("a failed start leaves all in place with rollback = false", func(t *testing.T) {
		t.Parallel()
		f := faked(t, "rollback = false\n"+conf)
		f.fails(instance.Start, "no luck")
		if did := f.fake.history(); len(did) != 3 {
			t.Errorf("did %v", did)
		}
	})

	t.Run("a failed stop undoes nothing", func(t *testing.T) {
		t.Parallel()
		f := faked(t, "[fs#1]\nfail = stop\n[app#1]\n")
		f.run(instance.Start)
		f.fake.history()
		f.fails(instance.Stop, "stop fs#1: no luck")
		if diff := cmp.Diff([]string{"stop app#1", "stop fs#1"}, f.fake.history()); diff != "" {
			t.Error(diff)
		}
	})

	t.Run("what cannot be undone is told with the failure", func(t *testing.T) {
		t.Parallel()
		f := faked(t, "[ip#1]\nfail = stop\n[fs#1]\nfail = start\n")
		f.fails(instance.Start, "rollback ip#1: no luck")
	})

	t.Run("a failed provision is undone, unless by the leader", func(t *testing.T) {
		t.Parallel()
		f := faked(t, "[disk#1]\n[fs#1]\nfail = provision\n")
		f.fails(instance.Provision, "provision fs#1: no luck")
		want := []string{"provision disk#1", "start disk#1", "provision fs#1", "unprovision fs#1", "stop disk#1", "unprovision disk#1"}
		if diff := cmp.Diff(want, f.fake.history()); diff != "" {
			t.Error(diff)
		}
		f.fails(instance.Provision, "no luck", leader)
		if diff := cmp.Diff(want[:3], f.fake.history()); diff != "" {
			t.Error(diff)
		}
	})
}

// rollbackLaw says what is wrong in the history of a failed start: everything it
// started must be stopped, in reverse, and what was up must not be touched.
func rollbackLaw(did []string, before map[string]bool) error {
	var started, stopped []string
	for _, d := range did {
		verb, rid, _ := strings.Cut(d, " ")
		if before[rid] {
			return errors.New(rid + " was up and was touched: " + d)
		}
		if verb == "start" {
			if stopped != nil {
				return errors.New(rid + " is started during the rollback")
			}
			started = append(started, rid)
			continue
		}
		stopped = append(stopped, rid)
	}
	slices.Reverse(stopped)
	if diff := cmp.Diff(started, stopped); diff != "" {
		return errors.New("started and undone differ: " + diff)
	}
	return nil
}

func TestRollbackLaw(t *testing.T) {
	t.Parallel()
	f := faked(t, "")
	rids := []string{"ip#1", "disk#1", "disk#2", "fs#1", "share#1", "container#1", "app#1", "app#2"}
	rapid.Check(t, func(rt *rapid.T) {
		bad := rapid.SampledFrom(rids).Draw(rt, "failing")
		before := map[string]bool{}
		var conf strings.Builder
		for _, r := range rids {
			conf.WriteString("[" + r + "]\ntype = fake\n")
			if r == bad {
				conf.WriteString("fail = start\n")
			} else if rapid.Bool().Draw(rt, r) {
				before[r] = true
			}
		}
		f.write(web, "[DEFAULT]\nid = 11111111-2222-3333-4444-555555555555\ncreate_pg = false\n"+conf.String())
		f.fake.mu.Lock()
		clear(f.fake.up)
		for r := range before {
			f.fake.up[r] = true
		}
		f.fake.mu.Unlock()
		f.fake.history()

		if err := f.try(instance.Start); err == nil {
			rt.Fatal("the start succeeded")
		}

		if err := rollbackLaw(f.fake.history(), before); err != nil {
			rt.Error(err)
		}
	})

	t.Run("the law notices a rollback in the wrong order, too short, or too large", func(t *testing.T) {
		t.Parallel()
		for _, mutant := range [][]string{
			{"start a", "start b", "stop a", "stop b"},
			{"start a", "start b", "stop b"},
			{"start a", "stop a", "stop c"},
			{"start a", "stop a", "stop up"},
		} {
			if rollbackLaw(mutant, map[string]bool{"up": true}) == nil {
				t.Errorf("unnoticed: %v", mutant)
			}
		}
	})
}

func TestTriggers(t *testing.T) {
	t.Parallel()

	t.Run("triggers run around the action, with the environment of the resource", func(t *testing.T) {
		t.Parallel()
		f := faked(t, `[app#1]
blocking_pre_start = echo 1 $OPENSVC_RID $OPENSVC_ACTION | cat
pre_start = /bin/echo 2 a  'b  c' > x
blocking_post_start = echo 3; echo oops >&2
post_start = /bin/echo 4
`)
		f.run(instance.Start)
		want := []string{
			"INF web: app#1: blocking_pre_start: run: /bin/sh -c 'echo 1 $OPENSVC_RID $OPENSVC_ACTION | cat'",
			"INF web: app#1: blocking_pre_start: 1 app#1 start",
			"INF web: app#1: pre_start: run: /bin/echo 2 a 'b  c' '>' x",
			"INF web: app#1: pre_start: 2 a b  c > x",
			"INF web: app#1: blocking_post_start: run: /bin/sh -c 'echo 3; echo oops >&2'",
			"INF web: app#1: blocking_post_start: 3",
			"ERR web: app#1: blocking_post_start: oops",
			"INF web: app#1: post_start: run: /bin/echo 4",
			"INF web: app#1: post_start: 4",
		}
		got := strings.Split(strings.TrimSpace(f.out.text()), "\n")
		slices.Sort(want)
		got = got[1 : len(got)-1]
		slices.Sort(got) // the two streams of one command come in any order
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})

	t.Run("a blocking trigger that fails fails the action", func(t *testing.T) {
		t.Parallel()
		f := faked(t, "[app#1]\nblocking_pre_start = /bin/false\n")
		f.fails(instance.Start, "start app#1: blocking_pre_start: /bin/false: exit status 1")
		if did := f.fake.history(); did != nil {
			t.Errorf("did %v", did)
		}
	})

	t.Run("a blocking trigger that fails after a start undoes it", func(t *testing.T) {
		t.Parallel()
		f := faked(t, "[app#1]\nblocking_post_start = /bin/false\n")
		f.fails(instance.Start, "blocking_post_start")
		if diff := cmp.Diff([]string{"start app#1", "stop app#1"}, f.fake.history()); diff != "" {
			t.Error(diff)
		}
	})

	t.Run("another trigger that fails is only a warning", func(t *testing.T) {
		t.Parallel()
		f := faked(t, "[app#1]\npre_start = /bin/false\npost_start = /no/such/command\n")
		f.run(instance.Start)
		text := f.out.text()
		if !strings.Contains(text, "WRN web: app#1: pre_start: /bin/false: exit status 1") || !strings.Contains(text, "now up, with warnings") {
			t.Errorf("logged:\n%s", text)
		}
	})

	t.Run("nothing is triggered when nothing is done", func(t *testing.T) {
		t.Parallel()
		f := faked(t, "[app#1]\npre_start = /bin/echo again\n")
		f.run(instance.Start)
		f.out.reset()
		f.run(instance.Start)
		if strings.Contains(f.out.text(), "again") {
			t.Errorf("logged:\n%s", f.out.text())
		}
	})

	t.Run("provision, unprovision, stop and run have theirs", func(t *testing.T) {
		t.Parallel()
		f := faked(t, "[fs#1]\npre_provision = /bin/echo P\npost_unprovision = /bin/echo U\npre_stop = /bin/echo S\n[task#1]\nblocking_pre_run = /bin/echo R\n")
		f.run(instance.Provision)
		f.run(instance.Run)
		f.run(instance.Unprovision)
		text := f.out.text()
		for _, want := range []string{"pre_provision: P", "post_unprovision: U", "pre_stop: S", "blocking_pre_run: R"} {
			if !strings.Contains(text, want) {
				t.Errorf("no %q in:\n%s", want, text)
			}
		}
	})
}

func TestRequirements(t *testing.T) {
	t.Parallel()

	t.Run("a start waits for the state it requires", func(t *testing.T) {
		t.Parallel()
		f := faked(t, "[subset#p]\nparallel = true\n[app#1]\nsubset = p\nstart_requires = app#2(up)\n[app#2]\nsubset = p\n")
		begun, open := f.fake.gate("start app#2")
		done := make(chan error, 1)
		go func() { done <- f.try(instance.Start) }()
		<-begun
		close(open)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"start app#2", "start app#1"}, f.fake.history()); diff != "" {
			t.Error(diff)
		}
	})

	t.Run("a wait ends with the timeout of the action, and says what it waited for", func(t *testing.T) {
		t.Parallel()
		f := faked(t, "start_timeout = 50ms\n[ip#1]\nstart_requires = app#1(up,stdby up)\n[app#1]\n")
		f.fails(instance.Start, "requires app#1(up,stdby up), which is down")
		f.fails(instance.Start, "start_timeout of 50ms is over")
		if did := f.fake.history(); did != nil {
			t.Errorf("did %v", did)
		}
	})

	t.Run("a stop waits too", func(t *testing.T) {
		t.Parallel()
		f := faked(t, "stop_timeout = 1s\n[ip#1]\n[app#1]\nstop_requires = ip#1(down)\n")
		f.run(instance.Start)
		f.fails(instance.Stop, "requires ip#1(down), which is up")
		f.run(instance.Stop, rid("ip#1"))
		f.run(instance.Stop)
	})

	t.Run("a task does not wait", func(t *testing.T) {
		t.Parallel()
		f := faked(t, "[app#1]\n[task#1]\nrun_requires = app#1\n")
		f.fails(instance.Run, "run task#1: requires app#1(up,stdby up), which is down")
		f.run(instance.Start)
		f.run(instance.Run)
	})

	t.Run("a requirement on nothing is an error", func(t *testing.T) {
		t.Parallel()
		f := faked(t, "[app#1]\nstart_requires = app#9(up)\n")
		f.fails(instance.Start, "requires app#9: the object has no such resource")
	})

	t.Run("a requirement on no status is an error", func(t *testing.T) {
		t.Parallel()
		f := faked(t, "[app#1]\nstart_requires = app#1(happy)\n")
		f.fails(instance.Start, `unknown status "happy"`)
	})
}

func TestTimeouts(t *testing.T) {
	t.Parallel()
	f := faked(t, "timeout = 1h\nstart_timeout = 2s\n[ip#1]\n[app#1]\n")
	_, open := f.fake.gate("start app#1")
	defer close(open)
	f.fails(instance.Start, "start app#1: start_timeout of 2s is over")
	if diff := cmp.Diff([]string{"start ip#1", "start app#1 cut", "stop app#1", "stop ip#1"}, f.fake.history()); diff != "" {
		t.Error(diff)
	}
}

func TestInterrupt(t *testing.T) {
	t.Parallel()
	f := faked(t, "[ip#1]\n[app#1]\n[app#2]\n")
	ctx, interrupt := context.WithCancel(t.Context())
	begun, _ := f.fake.gate("start app#1")
	done := make(chan error, 1)
	go func() { done <- f.tryWith(ctx, instance.Start) }()
	<-begun
	interrupt()
	err := <-done
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "interrupted, what was left to do was not done: run `om web instance start` again") {
		t.Errorf("start: %v", err)
	}
	if diff := cmp.Diff([]string{"start ip#1", "start app#1 cut", "stop app#1", "stop ip#1"}, f.fake.history()); diff != "" {
		t.Error(diff)
	}
	if s := f.status(); s.Avail != cluster.Down {
		t.Errorf("instance %s", s.Avail)
	}
}

func TestVerdict(t *testing.T) {
	t.Parallel()

	t.Run("a start that ends without the instance up is a failure", func(t *testing.T) {
		t.Parallel()
		f := faked(t, "[app#1]\nstate = warn\n")
		f.fails(instance.Start, "the start returned no error but end avail status is warn")
	})

	t.Run("a stop that ends with the instance up is a failure", func(t *testing.T) {
		t.Parallel()
		f := faked(t, "[app#1]\nstate = up\n")
		f.fails(instance.Stop, "the stop returned no error but end avail status is up")
	})

	t.Run("the stop of one resource is judged on that resource", func(t *testing.T) {
		t.Parallel()
		f := faked(t, "[app#1]\nstate = up\n[app#2]\n")
		f.run(instance.Start)
		f.run(instance.Stop, rid("app#2"))
		f.fails(instance.Stop, "the stop of app#1 returned no error but its end status is up", rid("app#1"))
	})

	t.Run("an object without resources starts and stops", func(t *testing.T) {
		t.Parallel()
		f := faked(t, "")
		f.run(instance.Start)
		f.run(instance.Stop)
		if s := f.status(); s.Avail != cluster.NotApplicable || s.Overall != cluster.NotApplicable || s.Optional != cluster.NotApplicable {
			t.Errorf("statuses %s %s %s, want n/a", s.Avail, s.Overall, s.Optional)
		}
	})
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	code := func(err error) int {
		var coded interface{ ExitCode() int }
		if errors.As(err, &coded) {
			return coded.ExitCode()
		}
		return 0
	}

	t.Run("an object that does not exist is exit status 2", func(t *testing.T) {
		t.Parallel()
		f := faked(t, "")
		err := f.Run(t.Context(), object.Path{Namespace: "root", Kind: "svc", Name: "nosuch"}, instance.Request{Action: instance.Start})
		if code(err) != 2 || !strings.Contains(err.Error(), "nosuch") {
			t.Errorf("start: %v, code %d", err, code(err))
		}
	})

	t.Run("an object that has no instance here is exit status 3", func(t *testing.T) {
		t.Parallel()
		f := faked(t, "nodes = n2 n3\n[app#1]\n")
		err := f.try(instance.Start)
		if code(err) != 3 || !strings.Contains(err.Error(), "no instance on node n1") {
			t.Errorf("start: %v, code %d", err, code(err))
		}
		if _, err := f.Status(t.Context(), web, instance.StatusOptions{}); code(err) != 3 {
			t.Errorf("status: %v", err)
		}
	})

	t.Run("an action that objects of the kind do not have is exit status 4", func(t *testing.T) {
		t.Parallel()
		f := faked(t, "")
		sec := object.Path{Namespace: "root", Kind: object.KindSec, Name: "s"}
		f.write(sec, "[DEFAULT]\nid = 11111111-2222-3333-4444-555555555556\n")
		err := f.Run(t.Context(), sec, instance.Request{Action: instance.Start})
		if code(err) != 4 || !strings.Contains(err.Error(), "action start is not supported on objects of kind sec") {
			t.Errorf("start: %v, code %d", err, code(err))
		}
		if err := f.Run(t.Context(), sec, instance.Request{Action: instance.Delete}); err != nil || f.Store.Exists(sec) {
			t.Errorf("delete: %v, exists %v", err, f.Store.Exists(sec))
		}
	})

	t.Run("an unknown action is named", func(t *testing.T) {
		t.Parallel()
		f := faked(t, "")
		f.fails("dance", `unknown instance action "dance"`)
	})

	t.Run("a disabled object is not acted upon", func(t *testing.T) {
		t.Parallel()
		f := faked(t, "disable = true\n[app#1]\n")
		f.fails(instance.Start, "web: start is refused: the object is disabled")
	})

	t.Run("an object of another environment does not start on a node of production, and stops there", func(t *testing.T) {
		t.Parallel()
		f := faked(t, "env = DEV\n[app#1]\n")
		node := filepath.Join(f.Host.Paths.Etc(), "node.conf")
		if err := os.WriteFile(node, []byte("[node]\nenv = PRD\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		f.fails(instance.Start, "the environment of the object is DEV and that of node n1 is PRD")
		f.run(instance.Stop)
	})

	t.Run("an object that does not say its environment has that of the node", func(t *testing.T) {
		t.Parallel()
		f := faked(t, "[app#1]\n")
		if err := os.WriteFile(filepath.Join(f.Host.Paths.Etc(), "node.conf"), []byte("[node]\nenv = PRD\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		f.run(instance.Start)
	})

	t.Run("a resource that cannot be configured fails a start, and a stop that did stop the others", func(t *testing.T) {
		t.Parallel()
		f := faked(t, "[app#1]\n[app#2]\nsubset = {nosuch}\n")
		f.fails(instance.Start, "nosuch")
		f.run(instance.Start, rid("app#1"))
		f.fake.history()
		f.fails(instance.Stop, "app#2 was not stopped, whether it runs is not known")
		if diff := cmp.Diff([]string{"stop app#1"}, f.fake.history()); diff != "" {
			t.Error(diff)
		}
		if s := f.status(); len(s.Resources["app#2"].Log) != 1 || s.Overall != cluster.Warn {
			t.Errorf("status %s, log %v", s.Overall, s.Resources["app#2"].Log)
		}
	})

	t.Run("an index that is a path is refused", func(t *testing.T) {
		t.Parallel()
		f := faked(t, "")
		f.write(web, "[DEFAULT]\nid = 11111111-2222-3333-4444-555555555555\n[app#../../x]\ntype = fake\n")
		f.fails(instance.Start, "may not hold a slash")
	})
}

func TestLock(t *testing.T) {
	t.Parallel()

	t.Run("of two actions at once, the second waits for the first", func(t *testing.T) {
		t.Parallel()
		f := faked(t, "[app#1]\n")
		begun, open := f.fake.gate("start app#1")
		first, second := make(chan error, 1), make(chan error, 1)
		go func() { first <- f.try(instance.Start) }()
		<-begun
		go func() { second <- f.try(instance.Start) }()
		close(open)
		if err := errors.Join(<-first, <-second); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"start app#1"}, f.fake.history()); diff != "" {
			t.Error(diff)
		}
	})

	t.Run("a wait that is over says who holds the lock, what for and since when", func(t *testing.T) {
		t.Parallel()
		f := faked(t, "[app#1]\n")
		begun, open := f.fake.gate("start app#1")
		first := make(chan error, 1)
		go func() { first <- f.try(instance.Start, func(r *instance.Request) { r.Session = "the-first" }) }()
		<-begun

		err := f.try(instance.Stop, func(r *instance.Request) { r.WaitLock = 20 * time.Millisecond })

		var locked *instance.LockedError
		if !errors.As(err, &locked) || locked.Pid != os.Getpid() || locked.Intent != "start" || locked.Session != "the-first" || locked.At.IsZero() {
			t.Errorf("stop: %v", err)
		}
		f.run(instance.Start, func(r *instance.Request) { r.NoLock = true; r.RID = []string{"app#1"}; r.DryRun = true })
		close(open)
		if err := <-first; err != nil {
			t.Fatal(err)
		}
	})

	t.Run("a file left by a crash holds nobody", func(t *testing.T) {
		t.Parallel()
		f := faked(t, "[app#1]\n")
		name := filepath.Join(f.Host.Paths.Var(), "svc", "web", "lock", "generic")
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(`{"pid":1,"intent":"stop"}`), 0o600); err != nil {
			t.Fatal(err)
		}
		f.run(instance.Start, func(r *instance.Request) { r.WaitLock = time.Nanosecond })
	})

	t.Run("a task that runs does not prevent a stop", func(t *testing.T) {
		t.Parallel()
		f := faked(t, "[app#1]\n[task#1]\n")
		f.run(instance.Start)
		begun, open := f.fake.gate("run task#1")
		task := make(chan error, 1)
		go func() { task <- f.try(instance.Run) }()
		<-begun
		f.run(instance.Stop, func(r *instance.Request) { r.WaitLock = 20 * time.Millisecond })
		close(open)
		if err := <-task; err != nil {
			t.Fatal(err)
		}
	})
}

func TestDryRun(t *testing.T) {
	t.Parallel()
	f := faked(t, "[subset#p]\nparallel = true\n[fs#1]\n[app#1]\nsubset = p\n[app#2]\nsubset = p\ndisable = true\n")
	f.run(instance.Start, rid("fs#1"))
	f.fake.history()

	f.run(instance.Start, func(r *instance.Request) { r.DryRun = true })

	if did := f.fake.history(); did != nil {
		t.Errorf("a dry run did %v", did)
	}
	plan, err := f.Plan(t.Context(), web, instance.Request{Action: instance.Start})
	want := `web start
  fs
    start fs#1 (skipped: already up)
  app:p (parallel)
    start app#1
    start app#2 (skipped: disabled)
`
	if diff := cmp.Diff(want, plan.String()); err != nil || diff != "" {
		t.Error(err, diff)
	}
	restart, err := f.Plan(t.Context(), web, instance.Request{Action: instance.Restart, RID: []string{"fs"}})
	want = "web restart\n  fs\n    stop fs#1\n  fs\n    start fs#1\n"
	if diff := cmp.Diff(want, restart.String()); err != nil || diff != "" {
		t.Error(err, diff)
	}
	if empty := (instance.Plan{Path: web, Action: instance.Stop}).String(); empty != "web stop\n  nothing to do\n" {
		t.Errorf("empty plan %q", empty)
	}
}

func TestProvision(t *testing.T) {
	t.Parallel()

	t.Run("provision makes and starts, unprovision stops and destroys, in reverse", func(t *testing.T) {
		t.Parallel()
		f := faked(t, "[fs#1]\n[app#1]\n")
		if s := f.status(); s.Provisioned != cluster.ProvisionedFalse {
			t.Errorf("before: %s", s.Provisioned)
		}
		f.run(instance.Provision, leader)
		if diff := cmp.Diff([]string{"provision fs#1", "start fs#1", "provision app#1", "start app#1"}, f.fake.history()); diff != "" {
			t.Error(diff)
		}
		if s := f.status(); s.Provisioned != cluster.ProvisionedTrue || s.Avail != cluster.Up {
			t.Errorf("after: %s, %s", s.Provisioned, s.Avail)
		}
		f.run(instance.Provision, leader)
		if did := f.fake.history(); did != nil {
			t.Errorf("a second provision did %v", did)
		}
		f.run(instance.Unprovision, leader)
		if diff := cmp.Diff([]string{"stop app#1", "unprovision app#1", "stop fs#1", "unprovision fs#1"}, f.fake.history()); diff != "" {
			t.Error(diff)
		}
		if s := f.status(); s.Provisioned != cluster.ProvisionedFalse {
			t.Errorf("in the end: %s", s.Provisioned)
		}
	})

	t.Run("a follower leaves the shared resources to the leader", func(t *testing.T) {
		t.Parallel()
		f := faked(t, "[disk#1]\nshared = true\n[fs#1]\n")
		f.run(instance.Provision)
		if diff := cmp.Diff([]string{"provision fs#1", "start fs#1"}, f.fake.history()); diff != "" {
			t.Error(diff)
		}
		if s := f.status(); s.Provisioned != cluster.ProvisionedTrue {
			t.Errorf("what the leader makes for it: provisioned %s", s.Provisioned)
		}
		f.run(instance.Provision, leader)
		f.fake.history()
		f.run(instance.Unprovision)
		if diff := cmp.Diff([]string{"stop fs#1", "unprovision fs#1", "stop disk#1"}, f.fake.history()); diff != "" {
			t.Error(diff)
		}
	})

	t.Run("--state-only only flags", func(t *testing.T) {
		t.Parallel()
		f := faked(t, "[fs#1]\n[fs#2]\n")
		only := func(r *instance.Request) { r.StateOnly = true }
		f.run(instance.Provision, only, rid("fs#1"))
		if s := f.status(); s.Resources["fs#1"].Provisioned.State != cluster.ProvisionedTrue || s.Resources["fs#2"].Provisioned.State != cluster.ProvisionedFalse {
			t.Errorf("flags %v %v", s.Resources["fs#1"].Provisioned, s.Resources["fs#2"].Provisioned)
		}
		if s := f.status(); s.Resources["fs#1"].Provisioned.Mtime.IsZero() {
			t.Error("the flag is not dated")
		}
		f.run(instance.Unprovision, only)
		if s := f.status(); s.Provisioned != cluster.ProvisionedFalse {
			t.Errorf("provisioned %s", s.Provisioned)
		}
		if did := f.fake.history(); did != nil {
			t.Errorf("did %v", did)
		}
	})

	t.Run("what was never flagged survives an unprovision", func(t *testing.T) {
		t.Parallel()
		f := faked(t, "[fs#1]\n")
		f.run(instance.Unprovision, leader)
		if did := f.fake.history(); slices.Contains(did, "unprovision fs#1") {
			t.Errorf("did %v", did)
		}
	})

	t.Run("what starts, or is seen up, exists: it is flagged", func(t *testing.T) {
		t.Parallel()
		f := faked(t, "[fs#1]\n[fs#2]\nstate = up\n")
		f.run(instance.Start)
		if s := f.status(); s.Provisioned != cluster.ProvisionedTrue {
			t.Errorf("provisioned %s", s.Provisioned)
		}
	})

	t.Run("provision = false wants the flag, and says how to set it", func(t *testing.T) {
		t.Parallel()
		f := faked(t, "[fs#1]\nprovision = false\n")
		f.fails(instance.Provision, "`om web instance provision --state-only --rid fs#1`")
		f.run(instance.Provision, rid("fs#1"), func(r *instance.Request) { r.StateOnly = true })
		f.run(instance.Provision)
		if diff := cmp.Diff([]string{"start fs#1"}, f.fake.history()); diff != "" {
			t.Error(diff)
		}
	})

	t.Run("unprovision = false leaves the thing in place", func(t *testing.T) {
		t.Parallel()
		f := faked(t, "[fs#1]\nunprovision = false\n")
		f.run(instance.Provision)
		f.fake.history()
		f.run(instance.Unprovision)
		if diff := cmp.Diff([]string{"stop fs#1"}, f.fake.history()); diff != "" {
			t.Error(diff)
		}
	})

	t.Run("a purge unprovisions, then deletes", func(t *testing.T) {
		t.Parallel()
		f := faked(t, "[fs#1]\n")
		f.run(instance.Provision, leader)
		f.fake.history()
		f.run(instance.Purge, leader)
		if diff := cmp.Diff([]string{"stop fs#1", "unprovision fs#1"}, f.fake.history()); diff != "" {
			t.Error(diff)
		}
		if f.Store.Exists(web) {
			t.Error("the object is still there")
		}
	})

	t.Run("a purge that fails deletes nothing", func(t *testing.T) {
		t.Parallel()
		f := faked(t, "[fs#1]\nfail = unprovision\n")
		f.run(instance.Provision, leader)
		f.fails(instance.Purge, "no luck", leader)
		if !f.Store.Exists(web) {
			t.Error("the object is gone")
		}
	})

	t.Run("a delete by hand of what is up is refused, unless it is forced: then it says what it leaves running", func(t *testing.T) {
		t.Parallel()
		f := faked(t, "[app#1]\n")
		f.run(instance.Start)
		err := f.try(instance.Delete)
		if err == nil || !strings.Contains(err.Error(), "web: delete is refused: app#1 is up: stop it first with `om web instance stop`, or leave it running, with nobody to look after it, with --force") {
			t.Errorf("delete: %v", err)
		}
		if !f.Store.Exists(web) || strings.Contains(f.out.text(), "do delete") {
			t.Errorf("something was done:\n%s", f.out.text())
		}
		if err := f.Run(t.Context(), web, instance.Request{Action: instance.Delete, Force: true}); err != nil {
			t.Fatal(err)
		}
		if text := f.out.text(); f.Store.Exists(web) || !strings.Contains(text, "WRN web: app#1 is up: left running, and nobody looks after it any more") {
			t.Errorf("logged:\n%s", text)
		}
	})

	t.Run("a delete by the daemon is for the whole cluster: it only says what it leaves running", func(t *testing.T) {
		t.Parallel()
		f := faked(t, "[app#1]\n")
		f.run(instance.Start)
		if err := f.Run(t.Context(), web, instance.Request{Action: instance.Delete, Origin: instance.OriginMonitor}); err != nil {
			t.Fatal(err)
		}
		if text := f.out.text(); f.Store.Exists(web) || !strings.Contains(text, "WRN web: app#1 is up: left running, and nobody looks after it any more") {
			t.Errorf("logged:\n%s", text)
		}
	})
}

func TestFlags(t *testing.T) {
	t.Parallel()

	t.Run("freeze and unfreeze set and remove the flag, and do nothing else", func(t *testing.T) {
		t.Parallel()
		f := faked(t, "[app#1]\n")
		f.run(instance.Freeze)
		frozen := f.status().FrozenAt
		if frozen.IsZero() {
			t.Fatal("not frozen")
		}
		f.run(instance.Freeze)
		if again := f.status().FrozenAt; !again.Equal(frozen) {
			t.Error("a second freeze changed the time of the first")
		}
		f.run(instance.Start)
		if f.status().FrozenAt.IsZero() {
			t.Error("the start unfroze")
		}
		f.run(instance.Unfreeze)
		if !f.status().FrozenAt.IsZero() {
			t.Error("still frozen")
		}
	})

	t.Run("a stop does not freeze; by hand, of an orchestrated object, it flags the instance stopped", func(t *testing.T) {
		t.Parallel()
		f := faked(t, "orchestrate = ha\n[app#1]\n")
		f.run(instance.Start)
		f.run(instance.Stop)
		if s := f.status(); s.StoppedAt.IsZero() || !s.FrozenAt.IsZero() {
			t.Errorf("stopped at %v, frozen at %v", s.StoppedAt, s.FrozenAt)
		}
		f.run(instance.Start)
		if s := f.status(); !s.StoppedAt.IsZero() {
			t.Error("the start left the flag")
		}
		f.run(instance.Stop, func(r *instance.Request) { r.Origin = instance.OriginMonitor })
		if s := f.status(); !s.StoppedAt.IsZero() {
			t.Error("a stop by the monitor set the flag")
		}
	})

	t.Run("an instance seen up again is not stopped on purpose any more; one that is up still is about to stop", func(t *testing.T) {
		t.Parallel()
		f := faked(t, "[app#1]\n")
		f.run(instance.Start)
		if err := f.SetStopped(web, true); err != nil {
			t.Fatal(err)
		}
		if s := f.status(); s.StoppedAt.IsZero() {
			t.Error("the flag is lost before the stop")
		}
		f.fake.set("app#1", false)
		if s := f.status(); s.StoppedAt.IsZero() {
			t.Error("the flag is lost with the stop")
		}
		f.fake.set("app#1", true)
		if s := f.status(); !s.StoppedAt.IsZero() {
			t.Error("still flagged")
		}
	})

	t.Run("a resource stopped by its name is flagged until it is started or all is stopped", func(t *testing.T) {
		t.Parallel()
		f := faked(t, "[app#1]\n[app#2]\n")
		f.run(instance.Start)
		f.run(instance.Stop, rid("app#1"))
		if s := f.status(); !s.Resources["app#1"].Stopped || s.Resources["app#2"].Stopped || !s.StoppedAt.IsZero() {
			t.Errorf("flags %v %v", s.Resources["app#1"].Stopped, s.Resources["app#2"].Stopped)
		}
		f.run(instance.Start, rid("app#1"))
		if f.status().Resources["app#1"].Stopped {
			t.Error("the start left the flag")
		}
		f.run(instance.Stop, rid("app#1"))
		f.run(instance.Stop)
		if f.status().Resources["app#1"].Stopped {
			t.Error("the stop of all left the flag")
		}
	})

	t.Run("a resource seen up in spite of its flag was started by somebody else", func(t *testing.T) {
		t.Parallel()
		f := faked(t, "[app#1]\n")
		f.run(instance.Start)
		f.run(instance.Stop, rid("app#1"))
		f.fake.set("app#1", true)
		if f.status().Resources["app#1"].Stopped || !strings.Contains(f.out.text(), "app#1: unmanaged start") {
			t.Errorf("logged:\n%s", f.out.text())
		}
	})
}

// An action killed at any point leaves a state from which the same action works.
func TestKilledAction(t *testing.T) {
	t.Parallel()
	f := native(t, "\n[app#1]\ntype = simple\nstart = /bin/sleep 301\nstart_grace = 10m\n")
	f.stopAfter()
	ctx, kill := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- f.tryWith(ctx, instance.Start, func(r *instance.Request) { r.DisableRollback = true })
	}()
	for f.status().Avail != cluster.Up { // the process is known as soon as it runs
		if err := ctx.Err(); err != nil {
			t.Fatal(err)
		}
	}
	kill()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Fatalf("start: %v", err)
	}
	if got := f.status(); got.Avail != cluster.Up {
		t.Fatalf("the process is lost: %s", got.Avail)
	}
	f.run(instance.Start)
	f.run(instance.Stop)
	out, _ := exec.Command("pgrep", "-f", "^/bin/sleep 301$").Output() //nolint:forbidigo,noctx // an independent witness
	if len(out) > 0 {
		t.Errorf("processes left: %s", out)
	}
}
