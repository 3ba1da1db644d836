package run_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-ops/holdfast/internal/krops/plan"
	"github.com/holdfast-ops/holdfast/internal/krops/run"
)

// waiting is a plan of one wait.
func waiting(s plan.Step) func(plan.World) plan.Plan {
	s.ID, s.Kind, s.Title = "wait", plan.Wait, "Waiting..."
	return func(w plan.World) plan.Plan {
		s := s
		s.Verdict, s.Asks = plan.Ready, nil
		switch p := w.Of(s.Gives[0]); {
		case p.There():
			s.Verdict = plan.Done
		case p.Unknown():
			if _, failed := p.Failed(); !failed {
				s.Verdict, s.Asks = plan.Ask, s.Gives
			}
		}
		return plan.Plan{Verb: "bootstrap", Environment: "test", Steps: []plan.Step{s}}
	}
}

const fact = plan.Fact("source/thing")

// answering is a site that answers in turn, the last answer for ever. It tells when.
func answering(answers ...plan.Presence) (*site, *[]time.Duration) {
	var at []time.Duration
	began := time.Now()
	s := &site{lies: map[plan.Fact]plan.Presence{}}
	s.hold = func(plan.Step) (string, error) { return "", nil }
	s.asked = func(f plan.Fact) {
		s.lies[f] = answers[min(len(at), len(answers)-1)]
		at = append(at, time.Since(began))
	}
	return s, &at
}

func TestPolls(t *testing.T) {
	t.Parallel()
	no, yes, unknown := plan.Absent("looked"), plan.Present(), plan.Failed("no connection")
	const (
		budget = 30 * time.Second
		every  = 10 * time.Second
		hung   = "Cluster 'test-mgmt' was not created within 40m"
		nodes  = "management cluster nodes were not all Ready within 15m"
	)
	for name, c := range map[string]struct {
		answers  []plan.Presence
		deadline time.Duration
		overdue  string
		probes   int
		last     time.Duration
		err      string
		told     int
	}{
		"W1 immediate success":                         {[]plan.Presence{yes}, budget, "", 1, 0, "", 0},
		"W2 at the boundary":                           {[]plan.Presence{no, no, no, yes}, budget, "", 4, budget, "", 0},
		"W3 never: four probes for 30s every 10s":      {[]plan.Presence{no}, budget, hung, 4, budget, hung, 1},
		"W4 the definition comes":                      {[]plan.Presence{no, no, yes}, 40 * time.Minute, hung, 3, 20 * time.Second, "", 0},
		"W5 the definition never comes":                {[]plan.Presence{no}, 40 * time.Minute, hung, 241, 40 * time.Minute, hung, 1},
		"N2 nodeless, nodeless, pending, ready":        {[]plan.Presence{no, no, unknown, yes}, 15 * time.Minute, nodes, 4, 30 * time.Second, "", 0},
		"N3 always nodeless":                           {[]plan.Presence{no}, 15 * time.Minute, nodes, 91, 15 * time.Minute, nodes, 1},
		"a budget that is no multiple":                 {[]plan.Presence{no}, 25 * time.Second, hung, 4, 25 * time.Second, hung, 1},
		"no budget at all":                             {[]plan.Presence{no}, 0, hung, 1, 0, hung, 1},
		"what cannot be asked is waited for all along": {[]plan.Presence{unknown}, budget, hung, 4, budget, hung + ": cannot be asked: no connection", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s, at := answering(c.answers...)
				by := waiting(plan.Step{Gives: []plan.Fact{fact}, Deadline: c.deadline, Every: every, Overdue: c.overdue})
				_, heard, err := carry(t, t.Context(), by, s)
				text := ""
				if err != nil {
					text = err.Error()
				}
				same(t, text, c.err, len(*at), c.probes, (*at)[len(*at)-1], c.last, len(s.told), c.told, len(s.following), 0)
				if c.err != "" {
					same(t, heard.of(run.Trouble), []string{c.overdue + "."})
				}
			})
		})
	}
}

func TestALookThatTakesLongIsNotTheLast(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, at := answering(plan.Absent("looked"))
		answer := s.asked
		s.asked = func(f plan.Fact) {
			time.Sleep(9 * time.Second) //nolint:forbidigo // a slow server, in the time of the bubble
			answer(f)
		}
		by := waiting(plan.Step{Gives: []plan.Fact{fact}, Deadline: 30 * time.Second, Every: 10 * time.Second, Overdue: "late"})
		_, _, err := carry(t, t.Context(), by, s)
		// The probes begin with the first question, at 0, 19 and at the end of the budget.
		same(t, fmt.Sprint(err), "late", len(*at), 3)
	})
}

func TestAHopelessWaitEndsEarly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, at := answering(plan.Absent("looked"))
		s.hold = func(plan.Step) (string, error) {
			if len(*at) == 3 {
				return "", errors.New("Kustomization infrastructure is Stalled: BuildFailed")
			}
			return "", nil
		}
		by := waiting(plan.Step{Gives: []plan.Fact{fact}, Deadline: 40 * time.Minute, Every: 10 * time.Second, Overdue: "late", Help: "look there"})
		_, heard, err := carry(t, t.Context(), by, s)
		same(t, fmt.Sprint(err), "Kustomization infrastructure is Stalled: BuildFailed", len(*at), 3, s.told, []string{"wait"},
			heard.of(run.Trouble), []string{"Kustomization infrastructure is Stalled: BuildFailed."}, heard.of(run.Advice), []string{"look there"})
	})
}

func TestWhatHeldItUpIsTheCauseOfATimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, _ := answering(plan.Absent("looked"))
		s.hold = func(plan.Step) (string, error) { return "1 of 3 nodes", nil }
		by := waiting(plan.Step{Gives: []plan.Fact{fact}, Deadline: time.Minute, Every: 10 * time.Second, Overdue: "late"})
		_, heard, err := carry(t, t.Context(), by, s)
		same(t, fmt.Sprint(err), "late: 1 of 3 nodes", fmt.Sprint(errors.Unwrap(err)), "1 of 3 nodes", heard.of(run.Trouble), []string{"late."},
			len(heard.of(run.Progress)), 6)
	})
}

func TestWhyAWaitCannotSeeIsTold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, _ := answering(plan.Failed("no connection"))
		by := waiting(plan.Step{Gives: []plan.Fact{fact}, Deadline: time.Minute, Every: 30 * time.Second, Overdue: "late"})
		_, heard, err := carry(t, t.Context(), by, s)
		same(t, fmt.Sprint(err), "late: cannot be asked: no connection", heard.of(run.Progress)[0], "cannot be asked: no connection")
	})
}

func TestAWaitGoesOnWithTheTimeItHasLeft(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := tearing(t, "local-talos")
		s := &site{truth: c.world}
		began := time.Now()
		appeared := false
		s.hold = func(plan.Step) (string, error) {
			if !appeared && time.Since(began) > 10*time.Minute {
				appeared = true
				s.truth.Clusters = plan.Listed("default/local-workload", "default/new", "default/local-talos-management")
			}
			return "", nil
		}
		_, _, err := carry(t, t.Context(), c.plan, s)
		took := time.Since(began)
		if err == nil || took < 20*time.Minute || took > 21*time.Minute || s.steps[len(s.steps)-1] != "delete-cluster-default.new" {
			t.Errorf("%v after %v: %v", err, took, s.steps)
		}
	})
}

func TestWhatIsMadeAnewWhileItIsDeletedIsDeletedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := tearing(t, "local-host")
		s := &site{truth: c.world}
		looks := 0
		s.hold = func(step plan.Step) (string, error) {
			if looks++; looks == 2 {
				s.truth = s.truth.With("deleting/default/local-workload", plan.Absent("it is another one"))
			}
			if looks > 4 {
				s.truth = s.truth.After(step)
			}
			return "", nil
		}
		_, _, err := carry(t, t.Context(), c.plan, s)
		deleted := 0
		for _, id := range s.steps {
			if id == "delete-cluster-local-workload" {
				deleted++
			}
		}
		same(t, err, nil, deleted, 2)
	})
}

func TestD6ALookThatFailsEndsADeletionUnconfirmed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := tearing(t, "aws")
		s := &site{truth: c.world, lies: map[plan.Fact]plan.Presence{}}
		s.hold = func(plan.Step) (string, error) {
			for _, f := range []plan.Fact{"clusters/listed", "clusters/all", "clusters/but/default/eu-north-1-management", "cluster/default/local-workload"} {
				s.lies[f] = plan.Failed("timed out")
			}
			return "", nil
		}
		_, _, err := carry(t, t.Context(), c.plan, s)
		if err == nil || errors.Is(err, run.ErrIncomplete) {
			t.Error(err)
		}
		for _, id := range s.steps {
			if id == "delete-kind" || id == "sweep-vpcs" || id == "delete-providers" {
				t.Errorf("%s was done", id)
			}
		}
	})
}
