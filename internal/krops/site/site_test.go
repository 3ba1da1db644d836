package site_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-ops/holdfast/internal/krops/config"
	"github.com/holdfast-ops/holdfast/internal/krops/configtest"
	"github.com/holdfast-ops/holdfast/internal/krops/plan"
	"github.com/holdfast-ops/holdfast/internal/krops/site"
)

const home = "HOME=/home/op"

// built is a site of an environment, which nothing was asked of.
func built(t *testing.T) *site.Site {
	t.Helper()
	return site.New(site.Options{Settings: configtest.Settings(t, config.VerbBootstrap, "aws", home)})
}

// everything is each step and each fact of the plans of all profiles.
func everything(t *testing.T) (steps []plan.Step, facts []plan.Fact) {
	t.Helper()
	for _, profile := range []string{"aws", "local-host", "local-talos", "azure", "gcp"} {
		for verb, build := range map[config.Verb]func(*config.Settings, plan.World) plan.Plan{config.VerbBootstrap: plan.Bootstrap, config.VerbTeardown: plan.Teardown} {
			s := configtest.Settings(t, verb, profile, home)
			s.Recreate = true
			s.Environment.PivotSopsSecrets = []string{"a.sops.yaml"}
			for _, host := range []plan.Host{plan.HostUnknown, plan.HostKind, plan.HostSelfManaged, plan.HostUnreachable} {
				w := plan.World{Host: host}
				if host != plan.HostUnknown {
					w.Clusters = plan.Listed("default/w", "default/local-workload", "default/"+s.Environment.MgmtCluster)
				}
				steps = append(steps, build(s, w).Steps...)
			}
		}
	}
	for _, s := range steps {
		facts = append(facts, slices.Concat(s.Needs, s.Clear, s.Gives, s.Takes, s.Moot, s.Looks, s.Spare)...)
	}
	return steps, facts
}

func TestEachFactAndEachStepHasOneOwner(t *testing.T) {
	t.Parallel()
	steps, facts := everything(t)
	s := built(t)
	var without []string
	about := map[string]int{}
	for _, f := range facts {
		if !strings.HasPrefix(string(f), "run/") {
			about["fact "+string(f)] = s.Owners(string(f), true)
		}
	}
	for _, step := range steps {
		if step.Kind == plan.Wait || ran(step) {
			continue
		}
		about["step "+step.ID] = s.Owners(step.ID, false)
	}
	for name, owners := range about {
		switch {
		case owners == 0:
			without = append(without, name)
		case owners > 1:
			t.Errorf("%s has %d owners", name, owners)
		}
	}
	slices.Sort(without)
	if len(without) > 0 {
		t.Errorf("without an owner: %v", without)
	}
}

// ran tells whether a step is one that observing does: nobody has to carry it out.
func ran(s plan.Step) bool {
	return s.Kind == plan.Check && !slices.ContainsFunc(s.Gives, func(f plan.Fact) bool { return strings.HasPrefix(string(f), "run/") })
}

func TestWhatNobodyAnswersIsUnknown(t *testing.T) {
	t.Parallel()
	s := built(t)
	w := s.Observe(t.Context(), plan.World{}, "host/nonsense")
	if _, failed := w.Of("host/nonsense").Failed(); !failed {
		t.Error(w.Of("host/nonsense"))
	}
	if err := s.Do(t.Context(), plan.Step{ID: "nonsense"}, nil); err == nil {
		t.Error("a step that nobody does was done")
	}
}
