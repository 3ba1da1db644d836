package plan_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/holdfast-ops/holdfast/internal/krops/config"
	"github.com/holdfast-ops/holdfast/internal/krops/plan"
)

// A planner makes the plan of a verb. Mutants are planners too.
type planner func(*config.Settings, plan.World) plan.Plan

// A doer leads a world through a step. Mutants are doers too.
type doer func(plan.World, plan.Step) plan.World

func do(w plan.World, s plan.Step) plan.World { return w.After(s) }

// drive runs a verb as the program does: plan, do the next step, plan again. A
// run that stops after some steps begins again as another one.
func drive(by planner, act doer, s *config.Settings, w plan.World, stop int) (steps []plan.Step, end plan.World, err error) {
	for range 200 {
		p := by(s, w)
		next, left := p.First()
		if !left {
			return steps, w, nil
		}
		if next.Verdict != plan.Ready {
			return steps, w, fmt.Errorf("stuck at %s: %s, %s", next.ID, next.Verdict, next.Why)
		}
		if err := permitted(next, w); err != nil {
			return steps, w, err
		}
		steps = append(steps, next)
		w = act(w, next)
		if len(steps) == stop {
			w = w.Forget()
		}
	}
	return steps, w, errors.New("no end in sight")
}

// permitted fails on a step whose grounds the true world does not give.
func permitted(s plan.Step, truth plan.World) error {
	for _, f := range s.Needs {
		if !truth.Of(f).There() {
			return fmt.Errorf("%s is done without %s, which is %v", s.ID, f, truth.Of(f))
		}
	}
	if s.Kind != plan.Delete && s.Kind != plan.Move {
		return nil
	}
	for _, f := range s.Clear {
		if !truth.Of(f).Gone() && !s.Forced {
			return fmt.Errorf("%s deletes although %s is %v", s.ID, f, truth.Of(f))
		}
	}
	for _, f := range s.Takes {
		if truth.Of(f).Unknown() {
			return fmt.Errorf("%s deletes %s, which is %v", s.ID, f, truth.Of(f))
		}
	}
	return nil
}

// story is a verb on a world.
type story struct {
	name     string
	by       planner
	settings *config.Settings
	world    plan.World
}

func stories(t *testing.T) []story {
	t.Helper()
	var list []story
	for _, profile := range profiles() {
		s := settings(t, config.VerbBootstrap, profile)
		list = append(list, story{"bootstrap " + profile, plan.Bootstrap, s, empty()},
			story{"bootstrap without pivot " + profile, plan.Bootstrap, settings(t, config.VerbBootstrap, profile, "BOOTSTRAP_PIVOT=0"), empty()},
			story{"bootstrap that keeps kind " + profile, plan.Bootstrap, settings(t, config.VerbBootstrap, profile, "PIVOT_SKIP_DELETE=1"), empty()},
			story{"pivot " + profile, plan.Pivot, settings(t, config.VerbPivot, profile), built(t, profile, "BOOTSTRAP_PIVOT=0")})
		if s.Environment.Teardown.Manual != "" {
			continue
		}
		for _, host := range []plan.Host{plan.HostKind, plan.HostSelfManaged, plan.HostUnreachable} {
			w := controlled(host, "default/local-workload", "default/"+s.Environment.MgmtCluster)
			if !s.Local() {
				w = controlled(host, "default/local-workload", "default/eu-north-1-workload", "other/w", "default/eu-north-1-management")
			}
			if host == plan.HostUnreachable {
				w.Clusters, w.Providers = plan.Listing{}, plan.Listing{}
				w = w.With("host/mgmt-containers", plan.Absent("looked"))
			}
			list = append(list, story{fmt.Sprintf("teardown %s on %v", profile, host), plan.Teardown, settings(t, config.VerbTeardown, profile), w})
		}
	}
	return append(list, story{"sweep", plan.Teardown, settings(t, config.VerbTeardown, "aws", "AWS_ONLY=1"), controlled(plan.HostKind, "default/w")})
}

// rerun is the law that a run which is complete leaves nothing to do, wherever it
// was interrupted.
func rerun(by planner, act doer, s *config.Settings, w plan.World) error {
	whole, _, err := drive(by, act, s, w, 0)
	if err != nil {
		return err
	}
	for stop := range len(whole) + 1 {
		steps, end, err := drive(by, act, s, w, stop)
		if err != nil {
			return fmt.Errorf("interrupted after %d steps: %w", stop, err)
		}
		if left := by(s, end.Forget()).Left(); len(left) > 0 {
			return fmt.Errorf("interrupted after %d of %d steps, left at the end: %v", stop, len(steps), ids(left))
		}
	}
	return nil
}

func TestAFinishedRunLeavesNothingToDo(t *testing.T) {
	t.Parallel()
	for _, c := range stories(t) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if err := rerun(c.by, do, c.settings, c.world); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestTheRunGoesAsThePlanSaid(t *testing.T) {
	t.Parallel()
	for _, c := range stories(t) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			steps, _, err := drive(c.by, do, c.settings, c.world, 0)
			same(t, ids(steps), ids(c.by(c.settings, c.world).Left()))
			if err != nil {
				t.Error(err)
			}
		})
	}
}

func TestStepsHaveNamesOfTheirOwn(t *testing.T) {
	t.Parallel()
	for _, c := range stories(t) {
		names := ids(c.by(c.settings, c.world).Steps)
		sorted := slices.Sorted(slices.Values(names))
		if len(slices.Compact(sorted)) != len(names) {
			t.Errorf("%s: a name twice in %v", c.name, names)
		}
	}
}

// anyWorld draws a world: that of a run that got so far, in which some facts are
// something else, unknown among them. Half of them are right before a deletion.
func anyWorld(t *rapid.T, c story) plan.World {
	answers := []plan.Presence{{}, plan.Failed("forbidden"), plan.Absent("looked"), plan.Present()}
	listings := []plan.Listing{
		{},
		plan.List(plan.Answer{Failure: plan.TimedOut}), plan.Listed(),
		plan.Listed("default/eu-north-1-management"), plan.Listed("default/local-workload", "default/eu-north-1-management", "other/w"),
	}
	w := c.world
	steps := c.by(c.settings, w).Left()
	var deletions []int
	for i, s := range steps {
		if s.Kind == plan.Delete || s.Kind == plan.Move {
			deletions = append(deletions, i)
		}
	}
	done := rapid.IntRange(0, len(steps)).Draw(t, "done")
	if len(deletions) > 0 && rapid.Bool().Draw(t, "before a deletion") {
		done = rapid.SampledFrom(deletions).Draw(t, "deletion")
	}
	var facts []plan.Fact
	for i, s := range steps {
		facts = append(facts, factsOf(s)...)
		if i < done {
			w = w.After(s)
		}
	}
	if len(facts) == 0 {
		return w
	}
	for range rapid.IntRange(0, 3).Draw(t, "changes") {
		w = w.With(rapid.SampledFrom(facts).Draw(t, "fact"), rapid.SampledFrom(answers).Draw(t, "answer"))
	}
	switch rapid.IntRange(0, 9).Draw(t, "also") {
	case 0:
		w.Clusters = rapid.SampledFrom(listings).Draw(t, "clusters")
	case 1:
		w.Providers = rapid.SampledFrom(listings[:3]).Draw(t, "providers")
	case 2:
		w.Host = rapid.SampledFrom([]plan.Host{plan.HostUnknown, plan.HostKind, plan.HostSelfManaged, plan.HostUnreachable}).Draw(t, "host")
	case 3:
		w = w.Forget()
	}
	return w
}

// unknownNeverDeletes is the law that nothing is deleted on the ground of what is
// not known.
func unknownNeverDeletes(by planner, s *config.Settings, truth plan.World) error {
	for _, step := range by(s, truth).Steps {
		if step.Verdict == plan.Ready {
			if err := permitted(step, truth); err != nil {
				return err
			}
		}
	}
	return nil
}

// A law that never meets a deletion proves nothing, nor one that mutants keep.
func TestUnknownNeverPermitsADeletion(t *testing.T) {
	t.Parallel()
	for _, c := range stories(t) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			removes := func(s plan.Step) bool { return s.Kind == plan.Delete || s.Kind == plan.Move }
			met, caught := 0, 0
			rapid.Check(t, func(t *rapid.T) {
				w := anyWorld(t, c)
				if err := unknownNeverDeletes(c.by, c.settings, w); err != nil {
					t.Fatal(err)
				}
				for _, step := range c.by(c.settings, w).Steps {
					if step.Verdict == plan.Ready && removes(step) {
						met++
					}
				}
				for _, mutant := range []planner{guessing(c.by, plan.Absent("nothing came back")), guessing(c.by, plan.Present())} {
					if unknownNeverDeletes(mutant, c.settings, w) != nil {
						caught++
					}
				}
			})
			left := c.by(c.settings, c.world).Left()
			// What is deleted by the name a listing gave cannot be guessed.
			guessable := slices.ContainsFunc(left, func(s plan.Step) bool { return removes(s) && len(s.Clear)+len(s.Takes) > 0 })
			if slices.ContainsFunc(left, removes) && met == 0 || guessable && caught == 0 {
				t.Errorf("%d deletions were permitted, and the mutants were caught %d times", met, caught)
			}
		})
	}
}

func TestNoStepIsReadyBehindOneThatIsRefused(t *testing.T) {
	t.Parallel()
	for _, c := range stories(t) {
		rapid.Check(t, func(t *rapid.T) {
			refused := ""
			for _, step := range c.by(c.settings, anyWorld(t, c)).Steps {
				if refused != "" && step.Verdict != plan.Done && step.Verdict != plan.Blocked {
					t.Errorf("%s is %s behind %s", step.ID, step.Verdict, refused)
				}
				if step.Verdict == plan.Refused && !step.BestEffort {
					refused = step.ID
				}
			}
		})
	}
}

// guessing is a planner that takes what is not known for something else: for gone,
// as others do, or for there.
func guessing(by planner, guess plan.Presence) planner {
	return func(s *config.Settings, w plan.World) plan.Plan {
		for _, f := range w.Facts() {
			if w.Of(f).Unknown() {
				w = w.With(f, guess)
			}
		}
		for _, l := range []*plan.Listing{&w.Clusters, &w.Providers} {
			if l.Known().Unknown() {
				*l = plan.Listed()
			}
		}
		return by(s, w)
	}
}

func TestAMutantThatTakesFailuresForAbsenceDeletesOnUnknownGrounds(t *testing.T) {
	t.Parallel()
	s := settings(t, config.VerbTeardown, "aws")
	w := controlled(plan.HostKind)
	w.Clusters = plan.List(plan.Answer{Failure: plan.Forbidden})

	if err := unknownNeverDeletes(guessing(plan.Teardown, plan.Absent("nothing came back")), s, w); err == nil {
		t.Error("the law did not notice")
	}
	if err := unknownNeverDeletes(plan.Teardown, s, w); err != nil {
		t.Error(err)
	}
}

func TestMutantsOfTheOrderBreakTheLaws(t *testing.T) {
	t.Parallel()
	s := settings(t, config.VerbBootstrap, "local-host")
	for _, moved := range []string{"move", "delete-kind", "flux-instance", "target-providers", "export-kubeconfig"} {
		early := func(s *config.Settings, w plan.World) plan.Plan {
			p := plan.Bootstrap(s, w)
			for i, step := range p.Steps {
				if step.ID == moved && step.Verdict == plan.After {
					step.Verdict = plan.Ready
					p.Steps = slices.Insert(slices.Delete(slices.Clone(p.Steps), i, i+1), 0, step)
				}
			}
			return p
		}
		if _, _, err := drive(early, do, s, empty(), 0); err == nil {
			t.Errorf("%s first, and nothing noticed", moved)
		}
	}
}

func TestMutantsOfTheWorldLeaveSomethingToDo(t *testing.T) {
	t.Parallel()
	for name, act := range map[string]doer{
		"a move that leaves the source": func(w plan.World, s plan.Step) plan.World {
			if s.ID == "move" {
				s.Takes = nil
			}
			return w.After(s)
		},
		"a deletion that does nothing": func(w plan.World, s plan.Step) plan.World {
			if s.ID == "delete-kind" {
				return w
			}
			return w.After(s)
		},
		"an installation that is lost": func(w plan.World, s plan.Step) plan.World {
			if s.ID == "target-flux-operator" {
				return w
			}
			return w.After(s)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := rerun(plan.Bootstrap, act, settings(t, config.VerbBootstrap, "aws"), empty()); err == nil {
				t.Error("the law did not notice")
			}
		})
	}
}
