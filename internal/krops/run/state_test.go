package run_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-ops/holdfast/internal/krops/plan"
	"github.com/holdfast-ops/holdfast/internal/krops/run"
)

func TestOneRunAtATimeOnAKindCluster(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "krops")
	since := time.Date(2026, 11, 30, 12, 0, 1, 0, time.UTC)
	lock, err := run.Acquire(dir, "mgmt", run.Holder{PID: 42, Host: "box", Command: "krops-bootstrap teardown aws", Since: since})
	if err != nil {
		t.Fatal(err)
	}

	_, err = run.Acquire(dir, "mgmt", run.Holder{})
	var held *run.HeldError
	if !errors.As(err, &held) || err.Error() != "kind cluster 'mgmt' is in the hands of 'krops-bootstrap teardown aws' (process 42 on box, since 2026-11-30 12:00:01); "+
		"wait until it ends, or name another cluster with KROPS_KIND_CLUSTER" {
		t.Error(err)
	}
	other, err := run.Acquire(dir, "another/one", run.Holder{PID: 1})
	if err != nil {
		t.Fatal(err)
	}
	h, ok := run.Held(dir, "mgmt")
	same(t, h.PID, 42, ok, true)

	if err := errors.Join(lock.Release(), other.Release()); err != nil {
		t.Error(err)
	}
	if _, ok := run.Held(dir, "mgmt"); ok {
		t.Error("the lock is held after its release")
	}
	again, err := run.Acquire(dir, "mgmt", run.Holder{})
	if err != nil {
		t.Fatal(err)
	}
	_ = again.Release()
}

func TestTheStateTellsWhereARunIs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, ok, err := run.ReadState(dir, "mgmt"); ok || err != nil {
		t.Error(ok, err)
	}
	read := func() run.State {
		t.Helper()
		s, ok, err := run.ReadState(dir, "mgmt")
		if err != nil || !ok {
			t.Fatal(err, ok)
		}
		return s
	}
	about := run.State{Verb: "bootstrap", Environment: "aws", Cluster: "mgmt", Command: "krops-bootstrap aws", PID: 42, Started: time.Now().UTC()}
	book := run.NewBook(dir, about)
	same(t, read().Outcome, run.Running, read().Attempt, 1)

	step := plan.Step{ID: "move", Phase: "move", Title: "Moving..."}
	book.Event(run.Event{Name: run.Started, Step: step})
	same(t, read().Step, "move", read().Phase, "move")
	book.Event(run.Event{Name: run.Done, Step: step})
	book.Event(run.Event{Name: run.Failed, Step: plan.Step{ID: "unpause", Phase: "move"}, Message: "forbidden"})
	book.Event(run.Event{Name: run.Finished, Code: 1, Hint: "again"})
	s := read()
	same(t, s.Outcome, run.Broken, s.Last, "move", s.Step, "unpause", s.Error, "forbidden", s.Ended != nil, true, book.Err(), nil)
	info, err := os.Stat(filepath.Join(dir, "mgmt.json"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Error(info.Mode(), err)
	}

	book = run.NewBook(dir, about)
	same(t, read().Attempt, 2, read().Error, "")
	book.Event(run.Event{Name: run.Finished})
	same(t, read().Outcome, run.Complete)
	run.NewBook(dir, about)
	same(t, read().Attempt, 1)
}

func TestAStateThatCannotBeKeptIsTold(t *testing.T) {
	t.Parallel()
	book := run.NewBook(filepath.Join(t.TempDir(), "nowhere"), run.State{Cluster: "mgmt"})
	if err := book.Err(); err == nil || !strings.HasPrefix(err.Error(), "keep the state of the run: ") {
		t.Error(err)
	}
}

func TestWhereTheStateIs(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ xdg, home, want string }{
		"named":       {"/state", "/home/op", "/state/krops"},
		"usual":       {"", "/home/op", "/home/op/.local/state/krops"},
		"no absolute": {"state", "/home/op", "/home/op/.local/state/krops"},
		"nowhere":     {"", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			same(t, run.StateDir(func(v string) string { return map[string]string{"XDG_STATE_HOME": c.xdg, "HOME": c.home}[v] }), c.want)
		})
	}
}
