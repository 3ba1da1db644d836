package run_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-ops/holdfast/internal/krops/config"
	"github.com/holdfast-ops/holdfast/internal/krops/plan"
	"github.com/holdfast-ops/holdfast/internal/krops/run"
)

// made is the world in which the steps of a plan before one are done.
func made(t *testing.T, c story, until string) plan.World {
	t.Helper()
	w := c.world
	for _, s := range c.plan(w).Steps {
		if s.ID == until {
			return w.Forget()
		}
		w = w.After(s)
	}
	t.Fatalf("no step %s", until)
	return w
}

func bootstrap(t *testing.T, profile string, env ...string) story {
	t.Helper()
	return story{"", plan.Bootstrap, settings(t, config.VerbBootstrap, profile, env...), plan.World{}}
}

func tearing(t *testing.T, profile string, env ...string) story {
	t.Helper()
	s := settings(t, config.VerbTeardown, profile, env...)
	return story{"", plan.Teardown, s, controlled(plan.HostKind, "default/"+s.Environment.MgmtCluster, "default/local-workload")}
}

// frozen is a site that answers each question once and then from memory: what a
// loop would work with that does not look again.
type frozen struct {
	*site
	memory map[plan.Fact]bool
}

func (f *frozen) Observe(ctx context.Context, w plan.World, q plan.Fact) plan.World {
	if f.memory[q] && !w.Of(q).Unknown() {
		return w
	}
	f.memory[q] = true
	return f.site.Observe(ctx, w, q)
}

// overtaken is a world in which a Cluster appears on the kind cluster after it was
// seen to have none.
func overtaken(t *testing.T, looking bool) *site {
	t.Helper()
	c := bootstrap(t, "aws")
	s := &site{truth: made(t, c, "delete-kind")}
	s.acted = func(step plan.Step) {
		if step.ID == "safety-check" {
			s.truth = s.truth.With("source/inventory", plan.Present())
		}
	}
	var work run.Site = s
	if !looking {
		work = &frozen{s, map[plan.Fact]bool{}}
	}
	if _, err := run.Run(t.Context(), run.Options{Plan: c.plan, Site: work, Sink: &log{}}); looking && err != nil {
		t.Error(err)
	}
	return s
}

func TestAnOldLookPermitsNoDeletion(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		// A Cluster on both sides is a move that is taken up; then there is nothing to lose.
		if s := overtaken(t, true); !slices.Contains(s.steps, "move") || len(s.wrong) > 0 {
			t.Errorf("%v, %v", s.steps, s.wrong)
		}
	})
}

func TestALoopThatDoesNotLookAgainDeletesWhatIsThere(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		if s := overtaken(t, false); len(s.wrong) == 0 {
			t.Errorf("the test above proves nothing: %v", s.steps)
		}
	})
}

// Each fact in turn cannot be known any more: from the beginning, or from the
// second look on.
func TestWhatCannotBeKnownDeletesNothing(t *testing.T) {
	t.Parallel()
	for _, c := range telling(t) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				whole := &site{truth: c.world, slow: 1}
				if _, _, err := carry(t, t.Context(), c.plan, whole); !fine(err) {
					t.Fatal(err)
				}
				facts := slices.Compact(slices.Sorted(slices.Values(whole.asks)))
				for from, f := range facts {
					s := &site{truth: c.world, slow: 1, lies: map[plan.Fact]plan.Presence{}}
					seen := 0
					s.asked = func(asked plan.Fact) {
						if asked == f {
							if seen++; seen > from%2 {
								s.lies[f] = plan.Failed("forbidden")
							}
						}
					}
					_, _, _ = carry(t, t.Context(), c.plan, s) // it says what it did wrong
				}
			})
		})
	}
}

func TestAQuestionThatFailsForAMomentIsAskedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := tearing(t, "local-talos")
		s := &site{truth: c.world, lies: map[plan.Fact]plan.Presence{"clusters/listed": plan.Failed("no connection")}}
		s.asked = func(f plan.Fact) {
			if f == "clusters/listed" && time.Now().Second() > 3 {
				delete(s.lies, f)
			}
		}
		_, err := run.Run(t.Context(), run.Options{Plan: c.plan, Site: s, Sink: &log{}, Patience: 6 * time.Second})
		same(t, err, nil)
	})
}

func TestAStepWhoseOutcomeIsNotSeenIsAnError(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := bootstrap(t, "aws")
		s := &site{truth: c.world, lies: map[plan.Fact]plan.Presence{}}
		s.act = func(step plan.Step) error {
			if step.ID == "git-secret" {
				s.lies["source/git-secret"] = plan.Absent("looked")
			}
			return nil
		}
		_, heard, err := carry(t, t.Context(), c.plan, s)
		same(t, fmt.Sprint(err), "Creating GitHub PAT credentials secret in flux-system: it says that it is done, but git secret of the kind cluster is confirmed absent",
			heard.of(run.Failed), []string{fmt.Sprint(err)})
	})
}

func TestAnOutcomeMayTakeAMomentToBeSeen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := bootstrap(t, "aws", "BOOTSTRAP_PIVOT=0")
		s := &site{truth: c.world, lies: map[plan.Fact]plan.Presence{}}
		s.act = func(step plan.Step) error {
			if step.ID == "git-secret" {
				s.lies["source/git-secret"] = plan.Absent("looked")
			}
			return nil
		}
		looks := 0
		s.asked = func(f plan.Fact) {
			if f == "source/git-secret" {
				if looks++; looks > 3 {
					delete(s.lies, f)
				}
			}
		}
		_, _, err := carry(t, t.Context(), c.plan, s)
		same(t, err, nil)
	})
}

func TestAStepThatIsUndoneIsNotDoneForEver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := bootstrap(t, "aws")
		s := &site{truth: c.world}
		s.act = func(step plan.Step) error {
			if step.ID == "run-metadata" {
				s.truth = s.truth.With("source/flux-operator", plan.Absent("somebody removed it"))
			}
			return nil
		}
		_, _, err := carry(t, t.Context(), c.plan, s)
		if err == nil || !strings.Contains(err.Error(), "step flux-operator was done") || !strings.Contains(err.Error(), "something undoes it") {
			t.Error(err)
		}
	})
}

func TestAFailureThatIsToleratedIsAWarning(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := bootstrap(t, "aws", "BOOTSTRAP_PIVOT=0")
		s := &site{truth: c.world, slow: 1}
		s.hold = func(step plan.Step) (string, error) {
			if step.ID != "flux-controllers" {
				s.truth = s.truth.After(step)
			}
			return "", nil
		}
		report, heard, err := carry(t, t.Context(), c.plan, s)
		same(t, err, nil, report.Failed, []string{"flux-controllers"}, heard.of(run.Warning), []string{"not all Flux controllers became ready within 90s:"},
			s.told, []string{"flux-controllers"})
	})
}

func TestAnActThatMayFailIsAWarningAndNotTriedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := bootstrap(t, "aws")
		tried := 0
		s := &site{truth: c.world, act: func(step plan.Step) error {
			if step.ID == "kind-context" {
				tried++
				return errors.New("read-only file system")
			}
			return nil
		}}
		report, heard, err := carry(t, t.Context(), c.plan, s)
		same(t, err, nil, tried, 1, report.Failed, []string{"kind-context"}, len(heard.of(run.Warning)), 1, len(heard.of(run.Failed)), 0)
	})
}

func TestARunThatCouldNotAskAllEndsIncomplete(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := tearing(t, "aws")
		s := &site{truth: controlled(plan.HostUnreachable)}
		_, _, err := carry(t, t.Context(), c.plan, s)
		if !errors.Is(err, run.ErrIncomplete) || !strings.Contains(err.Error(), "AWS_ONLY=1") {
			t.Error(err)
		}
		if !slices.Contains(s.steps, "sweep-vpcs") {
			t.Errorf("AWS was not swept: %v", s.steps)
		}
	})
}

func TestAnErrorEndsTheRunAndTheNextStepIsNotBegun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := bootstrap(t, "aws")
		cause := errors.New("no such chart")
		s := &site{truth: c.world, act: func(step plan.Step) error {
			if step.ID == "flux-operator" {
				return cause
			}
			return nil
		}}
		report, heard, err := carry(t, t.Context(), c.plan, s)
		same(t, errors.Is(err, cause), true, fmt.Sprint(err), "Installing Flux Operator: no such chart", s.steps[len(s.steps)-1], "kind-context",
			report.Next, "Installing Flux Operator...", report.Last, "Adding the context of kind cluster 'mgmt' to the kubeconfig of the caller...", len(heard.of(run.Failed)), 1)
	})
}

func TestARefusalIsTold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := tearing(t, "aws")
		s := &site{truth: c.world, lies: map[plan.Fact]plan.Presence{"clusters/listed": plan.Failed("forbidden")}}
		_, _, err := carry(t, t.Context(), c.plan, s)
		if text := fmt.Sprint(err); !strings.Contains(text, "cannot list the CAPI Clusters") || !strings.HasSuffix(text, ": forbidden") {
			t.Error(text)
		}
		if slices.ContainsFunc(s.steps, func(id string) bool { return strings.HasPrefix(id, "delete") || strings.HasPrefix(id, "sweep") }) {
			t.Errorf("%v", s.steps)
		}
	})
}

func TestARefusalOnAnOldLookIsLookedAtAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const first, old, last = plan.Fact("source/first"), plan.Fact("source/old"), plan.Fact("source/last")
		by := func(w plan.World) plan.Plan {
			wait := plan.Step{ID: "wait", Kind: plan.Wait, Gives: []plan.Fact{first}, Deadline: time.Hour, Every: time.Minute, Verdict: plan.Ready}
			act := plan.Step{ID: "act", Kind: plan.Change, Needs: []plan.Fact{old}, Gives: []plan.Fact{last}, Verdict: plan.Ready}
			switch {
			case w.Of(first).There():
				wait.Verdict = plan.Done
			case w.Of(first) == plan.Presence{}:
				wait.Verdict, wait.Asks = plan.Ask, []plan.Fact{first, old}
			}
			if why, failed := w.Of(old).Failed(); failed {
				act.Verdict, act.Why = plan.Refused, why
			}
			if w.Of(last).There() {
				act.Verdict = plan.Done
			}
			return plan.Plan{Verb: "bootstrap", Steps: []plan.Step{wait, act}}
		}
		s := &site{truth: plan.World{}.With("host/kind-cluster", plan.Present()), lies: map[plan.Fact]plan.Presence{old: plan.Failed("no connection")}, slow: 1}
		s.asked = func(f plan.Fact) {
			if len(s.asks) > 2 {
				delete(s.lies, old)
				s.truth = s.truth.With(old, plan.Present())
			}
		}
		_, _, err := carry(t, t.Context(), by, s)
		same(t, err, nil, s.steps, []string{"act"})
	})
}

func TestForceGoesOnAndIsNoSuccess(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := tearing(t, "aws", "FORCE_KIND_DELETE=1")
		s := &site{truth: c.world, slow: 1000}
		_, _, err := carry(t, t.Context(), c.plan, s)
		same(t, errors.Is(err, run.ErrIncomplete), true, slices.Contains(s.steps, "delete-kind"), true)
	})
}

// A listing that came back right before the act is what counts.
func TestWhatNeedsNoForceIsASuccess(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := tearing(t, "local-host", "FORCE_KIND_DELETE=1")
		s := &site{truth: controlled(plan.HostKind), lies: map[plan.Fact]plan.Presence{}}
		silent := func(f plan.Fact) bool { return strings.HasPrefix(string(f), "cluster") }
		kind := 0
		s.asked = func(f plan.Fact) {
			if f == "host/kind-cluster" {
				kind++
			}
			if delete(s.lies, f); silent(f) && kind == 0 {
				s.lies[f] = plan.Failed("no connection")
			}
		}
		_, heard, err := carry(t, t.Context(), c.plan, s)
		same(t, err, nil, slices.Contains(s.steps, "delete-kind"), true, slices.ContainsFunc(heard.of(run.Warning), func(w string) bool { return strings.Contains(w, "forced") }), false)
	})
}

func TestAnInterruptionTellsWhereItWas(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, interrupt := context.WithCancel(t.Context())
		c := bootstrap(t, "aws")
		s := &site{truth: c.world}
		s.acted = func(step plan.Step) {
			if step.ID == "flux-operator" {
				interrupt()
			}
		}
		report, _, err := carry(t, ctx, c.plan, s)
		same(t, errors.Is(err, context.Canceled), true, report.Last, "Installing Flux Operator...", report.Next, "Tagging the run...")
	})
}

// slowly hears of an interruption for a while.
type slowly struct {
	log

	heard bool
}

func (l *slowly) Event(e run.Event) {
	if e.Name == run.Stopping {
		<-time.NewTimer(time.Second).C
		l.heard = true
	}
	l.log.Event(e)
}

func TestNothingIsToldOfARunThatHasEnded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, interrupt := context.WithCancel(t.Context())
		c := bootstrap(t, "aws")
		s := &site{truth: c.world}
		s.acted = func(plan.Step) { interrupt() }
		heard := &slowly{}
		_, err := run.Run(ctx, run.Options{Plan: c.plan, Site: s, Sink: heard})
		same(t, errors.Is(err, context.Canceled), true, heard.heard, true)
	})
}

func TestAnInterruptionEndsAWaitAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, interrupt := context.WithCancel(t.Context())
		c := bootstrap(t, "aws")
		s := &site{truth: made(t, c, "cluster-definition")}
		began := time.Now()
		s.hold = func(plan.Step) (string, error) {
			if time.Since(began) > time.Minute {
				go interrupt()
			}
			return "", nil
		}
		report, _, err := carry(t, ctx, c.plan, s)
		same(t, errors.Is(err, context.Canceled), true, report.Next, "Waiting for the management cluster definition (timeout: 40m)...", s.told, []string(nil))
		if took := time.Since(began); took > 71*time.Second {
			t.Errorf("after %v", took)
		}
		same(t, s.following, []string{})
	})
}

func TestMilestonesComeInTheirOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := bootstrap(t, "local-host")
		var reached []string
		s := &site{truth: c.world}
		_, err := run.Run(t.Context(), run.Options{Plan: c.plan, Site: s, Sink: &log{}, Milestone: func(phase string, _ run.Report, v run.Voice) {
			reached = append(reached, phase)
			v.Print(phase)
		}})
		same(t, err, nil, reached, []string{"preflight", "kind", "registry", "flux", "watch", "definition", "target", "move", "seed", "leave", "end"})
	})
}

func TestTheWorldIsObservedWithoutAnAct(t *testing.T) {
	t.Parallel()
	for _, c := range stories(t) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := &site{truth: c.world}
			w, err := run.Observe(t.Context(), c.plan, s)
			p := c.plan(w)
			if left := p.Left(); err != nil || len(s.steps) > 0 || slices.ContainsFunc(left, func(s plan.Step) bool { return len(s.Asks) > 0 }) {
				t.Errorf("%v, %v, %v", err, s.steps, left)
			}
		})
	}
}
