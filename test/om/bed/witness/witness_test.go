package witness_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ops/holdfast/test/om/bed/witness"
)

func TestTwoInstancesAtOnceAreSeenWhereTheyAreExcluded(t *testing.T) {
	t.Parallel()
	stamps := []witness.Stamp{
		{At: 1, Node: "n1", Pid: 10, What: witness.Start},
		{At: 5, Node: "n2", Pid: 11, What: witness.Start},
		{At: 6, Node: "n2", Pid: 11, What: witness.Overlap},
		{At: 7, Node: "n2", Pid: 11, What: witness.Alone},
	}
	for name, c := range map[string]struct {
		promise witness.Promise
		broken  int
	}{
		"promised":            {witness.Promise{}, 1},
		"not promised":        {witness.Promise{Free: []witness.Window{{From: 4, To: 7}}}, 0},
		"not promised later":  {witness.Promise{Free: []witness.Window{{From: 7}}}, 1},
		"stopped by operator": {witness.Promise{Free: []witness.Window{{From: 0}}, Stopped: []witness.Window{{From: 2, Why: "stopped"}}}, 1},
		"frozen":              {witness.Promise{Free: []witness.Window{{From: 0}}, Frozen: []witness.Window{{From: 0, To: 2, Why: "frozen"}}}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := witness.Check(stamps, c.promise); len(got) != c.broken {
				t.Errorf("broken: %v", got)
			}
		})
	}
}

func TestAnOutageLastsFromTheLastAnswerToTheFirst(t *testing.T) {
	t.Parallel()
	ms := time.Millisecond
	got := witness.Outages(witness.Read[witness.Answer]([]byte(`{"at":0,"until":1000000,"who":"n1"}
{"at":10000000,"until":11000000,"who":""}
{"at":50000000,"until":51000000,"who":"n2"}
{"at":70000000,"until":71000000,"who":"n3"}
{"at":9`)))
	want := []witness.Outage{
		{From: 10 * ms, To: 51 * ms, Before: "n1", By: "n2"},
		{From: 70 * ms, To: 71 * ms, Before: "n2", By: "n3"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
