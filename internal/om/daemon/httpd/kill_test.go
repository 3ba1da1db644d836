package httpd_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-ops/holdfast/internal/om/api"
)

func TestKill(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		in   api.ExecKill
		hit  int
		done []string
	}{
		"by session, TERM when no signal is named": {api.ExecKill{ExecQuery: api.ExecQuery{SessionID: knownID}}, 1, []string{"signal 15 to " + runningID}},
		"by id, and the name of a signal":          {api.ExecKill{ExecQuery: api.ExecQuery{ExecID: runningID}, Signal: "sigint"}, 1, []string{"signal 2 to " + runningID}},
		"by object, and the number of a signal":    {api.ExecKill{ExecQuery: api.ExecQuery{Selector: "svc1"}, Signal: "9"}, 1, []string{"signal 9 to " + runningID}},
		"by origin":                                {api.ExecKill{ExecQuery: api.ExecQuery{Origin: "imon"}}, 1, []string{"signal 15 to " + runningID}},
		"only what all options select":             {api.ExecKill{ExecQuery: api.ExecQuery{SessionID: knownID, Origin: "api"}}, 0, nil},
		"what ended is hit by nothing":             {api.ExecKill{ExecQuery: api.ExecQuery{ExecID: knownID}}, 0, nil},
		"of another object":                        {api.ExecKill{ExecQuery: api.ExecQuery{Selector: "svc9"}}, 0, nil},
		"of another orchestration":                 {api.ExecKill{ExecQuery: api.ExecQuery{OrchestrationID: knownID}}, 0, nil},
		"dry, nothing is sent":                     {api.ExecKill{ExecQuery: api.ExecQuery{SessionID: knownID}, DryRun: true}, 1, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			list := do(t, f.local(t), api.DeleteDaemonExecs, c.in)
			if len(list.Items) != c.hit || list.Kind != "ExecList" || !slices.Equal(f.deeds.all(), c.done) {
				t.Errorf("hit %+v, done %q", list, f.deeds.all())
			}
		})
	}

	t.Run("what narrows nothing is refused", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		for _, in := range []api.ExecKill{{}, {Signal: "KILL"}, {ExecQuery: api.ExecQuery{State: api.StateRunning}}, {DryRun: true}} {
			if detail := refused(t, f.local(t), api.DeleteDaemonExecs, in, 400); !strings.Contains(detail, "narrows") {
				t.Errorf("detail %q", detail)
			}
		}
		if done := f.deeds.all(); len(done) > 0 {
			t.Errorf("done %q", done)
		}
	})

	t.Run("a signal that is none is refused", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		for _, name := range []string{"nosuch", "0", "-9", "4711", "TERM "} {
			in := api.ExecKill{ExecQuery: api.ExecQuery{ExecID: runningID}, Signal: name}
			if detail := refused(t, f.local(t), api.DeleteDaemonExecs, in, 400); !strings.Contains(detail, "signal") {
				t.Errorf("%q: %q", name, detail)
			}
		}
	})
}

func TestProcesses(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	c := f.local(t)

	list := do(t, c, api.GetDaemonProcesses, api.ProcessQuery{})
	if len(list.Items) != 1 || list.Items[0].Pid != 42 || list.Items[0].Object != "svc1" || list.Items[0].Sub != "imon" || list.Items[0].Sid != knownID || list.Items[0].Elapsed == "" {
		t.Errorf("%+v", list)
	}
	for name, q := range map[string]api.ProcessQuery{"sub": {Sub: "api"}, "selector": {Selector: "svc9"}, "rid": {Rid: "task#1"}} {
		if list := do(t, c, api.GetDaemonProcesses, q); len(list.Items) != 0 || list.Items == nil {
			t.Errorf("%s: %+v", name, list)
		}
	}

	refused(t, c, api.DeleteDaemonProcesses, api.ProcessKill{}, 400)
	if detail := refused(t, c, api.DeleteDaemonProcesses, api.ProcessKill{Pid: []int{42, 1}}, 409); !strings.Contains(detail, "process 1 ") {
		t.Errorf("detail %q", detail)
	}
	if done := f.deeds.all(); len(done) > 0 {
		t.Errorf("done %q", done)
	}
	do(t, c, api.DeleteDaemonProcesses, api.ProcessKill{Pid: []int{42}})
	if done := f.deeds.all(); !slices.Equal(done, []string{"signal 15 to " + runningID}) {
		t.Errorf("done %q", done)
	}
}
