package plan_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ops/holdfast/internal/krops/config"
	"github.com/holdfast-ops/holdfast/internal/krops/plan"
)

func factsOf(s plan.Step) []plan.Fact {
	return slices.Concat(s.Needs, s.Clear, s.Gives, s.Takes, s.Moot, s.Looks)
}

func TestTheGlossaryHasEveryFactAndNoOther(t *testing.T) {
	t.Parallel()
	used := map[string]bool{"run/acted": true}
	everything := stories(t)
	secrets := settings(t, config.VerbBootstrap, "azure")
	secrets.Environment.PivotSopsSecrets = []string{"a.sops.yaml"}
	again := settings(t, config.VerbBootstrap, "local-host")
	again.Recreate = true
	everything = append(everything, story{"", plan.Bootstrap, secrets, empty()}, story{"", plan.Bootstrap, again, empty()})
	unlisted := controlled(plan.HostKind).With("run/discovered", plan.Present()).With("run/flux-suspended", plan.Present())
	unlisted.Clusters = plan.Unlisted("forbidden")
	everything = append(everything, story{"", plan.Teardown, settings(t, config.VerbTeardown, "local-talos", "FORCE_KIND_DELETE=1"), unlisted})
	for _, c := range everything {
		for _, s := range c.by(c.settings, c.world).Steps {
			for _, f := range factsOf(s) {
				i := slices.IndexFunc(plan.Glossary(), func(term plan.Term) bool { return term.Matches(f) })
				if i < 0 {
					t.Errorf("%s: the glossary does not have %s", s.ID, string(f))
					continue
				}
				used[plan.Glossary()[i].Pattern] = true
			}
		}
	}
	for _, term := range plan.Glossary() {
		if !used[term.Pattern] {
			t.Errorf("no step speaks of %s", term.Pattern)
		}
	}
}

func TestTheReferenceOfTheStepsIsWhatTheyAre(t *testing.T) {
	t.Parallel()
	var page strings.Builder
	page.WriteString("# Steps of krops-bootstrap\n\nGenerated from `internal/krops/plan`, for the environments of its tests. A step is skipped when what it gives is there\n" +
		"and what it takes is gone. A step with conditions waits until those facts are confirmed to be absent.\n")
	for _, profile := range profiles() {
		steps(&page, "Bootstrap of "+profile, plan.Bootstrap(settings(t, config.VerbBootstrap, profile), empty()))
		w := controlled(plan.HostKind, inventory(t, profile)...)
		if p := plan.Teardown(settings(t, config.VerbTeardown, profile), w); p.Refusal == "" {
			steps(&page, "Teardown of "+profile+", controllers on kind", p)
		}
	}
	page.WriteString("\n## Facts\n\n| Fact | When it is there |\n|---|---|\n")
	for _, term := range plan.Glossary() {
		fmt.Fprintf(&page, "| `%s` | %s |\n", term.Pattern, term.Meaning)
	}
	const file = "../../../docs/reference/krops/steps.md"
	if *update {
		if err := os.WriteFile(file, []byte(page.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	committed, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v; make docs writes it", err)
	}
	if diff := cmp.Diff(string(committed), page.String()); diff != "" {
		t.Errorf("%s is not up to date (make docs rewrites it):\n%s", file, diff)
	}
}

func steps(page *strings.Builder, title string, p plan.Plan) {
	fmt.Fprintf(page, "\n## %s\n\n| Phase | Step | Kind | Gives | Takes | Needs | Confirmed gone before |\n|---|---|---|---|---|---|---|\n", title)
	for _, s := range p.Steps {
		fmt.Fprintf(page, "| %s | `%s` | %s | %s | %s | %s | %s |\n", s.Phase, s.ID, s.Kind, list(s.Gives), list(s.Takes), list(s.Needs), list(s.Clear))
	}
}

func list(facts []plan.Fact) string {
	var names []string
	for _, f := range facts {
		names = append(names, "`"+string(f)+"`")
	}
	return strings.Join(names, " ")
}
