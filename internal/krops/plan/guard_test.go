package plan_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/holdfast-ops/holdfast/internal/krops/config"
	"github.com/holdfast-ops/holdfast/internal/krops/plan"
)

// scene is a world that a teardown looks at through questions that may fail, and
// that goes on living while it does.
type scene struct {
	settings *config.Settings
	host     plan.Host
	clusters map[string]bool // whether the deletion was asked for
	removed  map[plan.Fact]bool

	fails  func(f plan.Fact) bool // the question fails
	breaks func(id string) bool   // the step fails
	stirs  func() bool            // somebody makes a Cluster
	lasts  func() bool            // a Cluster that is deleted stays

	calm   bool   // nothing fails, and nobody is in the way
	broken string // what was removed that the law keeps
}

// The deviations of a mutant.
type mutant struct {
	by     planner
	answer func(w plan.World, f plan.Fact) plan.World // what a failed question is taken for
	stale  bool                                       // no fresh look before an act
}

func unknown(w plan.World, f plan.Fact) plan.World {
	switch where, _, _ := strings.Cut(string(f), "/"); where {
	case "cluster", "clusters":
		w.Clusters = plan.Unlisted("forbidden")
		return w
	case "providers":
		w.Providers = plan.Unlisted("forbidden")
		return w
	}
	return w.With(f, plan.Failed("timed out"))
}

// naive takes a failed question for an empty answer, as many programs do.
func naive(w plan.World, f plan.Fact) plan.World {
	switch where, _, _ := strings.Cut(string(f), "/"); where {
	case "cluster", "clusters":
		w.Clusters = plan.Listed()
		return w
	case "providers":
		w.Providers = plan.Listed()
		return w
	}
	return w.With(f, plan.Absent("nothing came back"))
}

func (x *scene) own() string {
	return "default/" + x.settings.Environment.MgmtCluster
}

// kept are the Clusters whose controllers must not be removed.
func (x *scene) kept() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(x.clusters)), func(name string) bool {
		return x.host == plan.HostSelfManaged && name == x.own() && !x.settings.Environment.Teardown.HardwareRelease
	})
}

// ask answers a question as the site does.
func (x *scene) ask(m mutant, w plan.World, f plan.Fact) plan.World {
	where, rest, _ := strings.Cut(string(f), "/")
	asks := where == "controller" || where == "cluster" || where == "clusters" || where == "providers" || where == "deleting"
	silent := x.removed["nodes"] || x.removed["host/kind-cluster"] || x.removed["host/mgmt-containers"]
	if x.fails(f) || asks && silent && f != "controller/host" {
		return m.answer(w, f)
	}
	there := func(yes bool) plan.World {
		if yes {
			return w.With(f, plan.Present())
		}
		return w.With(f, plan.Absent("looked"))
	}
	switch {
	case f == "controller/host":
		if w.Host != plan.HostRemoved {
			w.Host = x.host
		}
		return w
	case where == "cluster", where == "clusters":
		w.Clusters = plan.Listed(slices.Sorted(maps.Keys(x.clusters))...)
		return w
	case where == "providers":
		w.Providers = plan.Listed()
		if !x.removed[f] {
			w.Providers = plan.Listed("core/capi-system/cluster-api")
		}
		return w
	case where == "deleting":
		asked, exists := x.clusters[rest]
		return there(exists && asked)
	case f == "host/kind-cluster":
		return there(x.host == plan.HostKind && !x.removed[f])
	case f == "host/mgmt-kubeconfig", f == "host/mgmt-kubeconfig-own":
		return there(x.host == plan.HostSelfManaged && !x.removed["host/mgmt-kubeconfig-own"])
	case f == "source/inventory":
		return there(false)
	}
	return there(!x.removed[f])
}

// act does a step to the world, unless the law forbids it.
func (x *scene) act(s plan.Step) error {
	// The sweep of a cluster that manages itself begins with its nodes: the
	// controllers are gone with those.
	sweeps := x.host == plan.HostSelfManaged && strings.HasPrefix(s.ID, "sweep-") && !x.removed["nodes"]
	removesHost := s.ID == "delete-kind" || s.ID == "delete-containers" || sweeps
	if left := x.kept(); removesHost && len(left) > 0 && !x.settings.ForceKindDelete {
		x.broken = fmt.Sprintf("%s while there is %v", s.ID, left)
	}
	if x.breaks(s.ID) {
		return fmt.Errorf("%s failed", s.ID)
	}
	for _, f := range s.Gives {
		if name, ok := strings.CutPrefix(string(f), "deleting/"); ok {
			if _, exists := x.clusters[name]; exists {
				x.clusters[name] = true
			}
		}
	}
	for _, f := range s.Takes {
		x.removed[f] = true
	}
	x.removed["nodes"] = x.removed["nodes"] || sweeps
	if s.ID == "delete-providers" {
		x.removed["providers/all"] = true
	}
	return nil
}

// live lets time go by.
func (x *scene) live() {
	if x.removed["nodes"] || x.removed["host/kind-cluster"] || x.removed["host/mgmt-containers"] {
		return // there are no controllers any more, and nobody to ask
	}
	for name, deleted := range x.clusters {
		if deleted && !x.lasts() {
			delete(x.clusters, name)
		}
	}
	if x.stirs() {
		x.clusters["team-b/new"] = false
	}
}

// play runs a teardown as package run does, and tells how it ended.
func (x *scene) play(m mutant) (steps []string, err error) {
	w, refused, failed := plan.World{}, "", ""
	done := map[string]int{}
	look := func(facts []plan.Fact) {
		for _, f := range facts {
			if !strings.HasPrefix(string(f), "run/") {
				w = x.ask(m, w, f)
			}
		}
	}
	for range 300 {
		p := m.by(x.settings, w)
		s, left := p.First()
		switch {
		case p.Refusal != "":
			return steps, fmt.Errorf("refused: %s", p.Refusal)
		case !left && p.Incomplete != "":
			return steps, fmt.Errorf("incomplete: %s", p.Incomplete)
		case !left && failed != "":
			return steps, fmt.Errorf("incomplete: %s", failed)
		case !left:
			return steps, nil
		case len(s.Asks) > 0:
			look(s.Asks)
			continue
		case s.Verdict == plan.Refused && refused != s.ID:
			refused = s.ID
			look(append(s.Outcome(), s.Grounds()...))
			continue
		case s.Verdict != plan.Ready:
			return steps, fmt.Errorf("%s is %s: %s", s.ID, s.Verdict, s.Why)
		case done[s.ID] >= often(s):
			return steps, fmt.Errorf("%s was done %d times, and something undoes it", s.ID, done[s.ID])
		}
		refused = ""
		if !m.stale {
			look(s.Grounds())
		}
		again, ok := m.by(x.settings, w).First()
		if !ok || again.ID != s.ID || again.Verdict != plan.Ready {
			continue
		}
		s = again
		if s.Why != "" { // no success whatever comes of it
			failed = s.ID + ": " + s.Why
		}
		steps = append(steps, s.ID)
		over := true
		if s.Kind == plan.Wait {
			over, err = x.wait(m, s, &w)
		} else if err = x.act(s); err == nil {
			w = w.With("run/acted", plan.Present())
		}
		switch {
		case !over && err == nil: // something else comes first
		case err == nil:
			done[s.ID]++
			for _, f := range s.Gives {
				if strings.HasPrefix(string(f), "run/") {
					w = w.With(f, plan.Present())
				}
			}
		case !s.Tolerated && !s.BestEffort:
			return steps, err
		default:
			if !s.Tolerated {
				failed = s.ID + ": " + err.Error()
			}
			w = w.Waive(s.ID, err.Error())
			for _, f := range s.Gives {
				if strings.HasPrefix(string(f), "run/") && s.Kind == plan.Check {
					w = w.With(f, plan.Failed(err.Error()))
				}
			}
		}
		look(s.Outcome())
		x.live()
	}
	return steps, fmt.Errorf("no end in sight after %v", steps)
}

// often is how many times a run does a step.
func often(s plan.Step) int {
	if s.Kind == plan.Wait || slices.ContainsFunc(s.Gives, func(f plan.Fact) bool { return strings.HasPrefix(string(f), "deleting/") }) {
		return 10
	}
	return 1
}

// wait looks a few times, and does nothing else. It is not over when something
// else comes first.
func (x *scene) wait(m mutant, s plan.Step, w *plan.World) (over bool, err error) {
	for range 3 {
		x.live()
		for _, f := range s.Takes {
			*w = x.ask(m, *w, f)
		}
		if now, ok := m.by(x.settings, *w).Step(s.ID); !ok || now.Verdict == plan.Done {
			return true, nil
		}
		if first, ok := m.by(x.settings, *w).First(); !ok || first.ID != s.ID || first.Verdict != plan.Ready {
			return false, nil
		}
	}
	return false, fmt.Errorf("%s: %s", s.ID, s.Overdue)
}

// cast draws a scene.
func cast(t *rapid.T, base func(profile string, env ...string) *config.Settings) *scene {
	var env []string
	if rapid.IntRange(0, 4).Draw(t, "force") == 0 {
		env = append(env, "FORCE_KIND_DELETE=1")
	}
	profile := rapid.SampledFrom([]string{"aws", "local-host", "local-talos"}).Draw(t, "profile")
	x := &scene{
		settings: base(profile, env...),
		host:     rapid.SampledFrom([]plan.Host{plan.HostKind, plan.HostSelfManaged}).Draw(t, "host"),
		clusters: map[string]bool{}, removed: map[plan.Fact]bool{},
	}
	own := x.own()
	workload := "default/" + strings.TrimSuffix(x.settings.Environment.MgmtCluster, "management") + "workload"
	for _, name := range []string{own, workload, "team-a/w", "default/other", "team-a/" + x.settings.Environment.MgmtCluster} {
		if rapid.Bool().Draw(t, name) {
			x.clusters[name] = rapid.Bool().Draw(t, name+" is deleted")
		}
	}
	often := rapid.SampledFrom([]int{0, 0, 2, 10}).Draw(t, "failures in 20")
	odds := func(label string, in20 int) func() bool {
		return func() bool { return in20 > 0 && rapid.IntRange(0, 19).Draw(t, label) < in20 }
	}
	fails, breaks := odds("fails", often), odds("breaks", often)
	x.fails = func(plan.Fact) bool { return fails() }
	x.breaks = func(string) bool { return breaks() }
	stirs := rapid.SampledFrom([]int{0, 0, 3}).Draw(t, "new Clusters in 20")
	lasts := rapid.SampledFrom([]int{0, 0, 10}).Draw(t, "lasting in 20")
	x.stirs, x.lasts = odds("stirs", stirs), odds("lasts", lasts)
	// On this host nobody deletes a Cluster that the configuration does not declare.
	foreign := x.settings.Local() && slices.ContainsFunc(slices.Collect(maps.Keys(x.clusters)), func(name string) bool { return name != own && name != workload })
	x.calm = often+stirs+lasts == 0 && !foreign
	return x
}

func prepared(t *testing.T) func(profile string, env ...string) *config.Settings {
	t.Helper()
	made := map[string]*config.Settings{}
	for _, profile := range profiles() {
		for _, env := range [][]string{nil, {"FORCE_KIND_DELETE=1"}} {
			made[profile+strings.Join(env, "")] = settings(t, config.VerbTeardown, profile, env...)
		}
	}
	return func(profile string, env ...string) *config.Settings { return made[profile+strings.Join(env, "")] }
}

func TestTheHostIsNeverRemovedWhileAClusterIsNotConfirmedGone(t *testing.T) {
	t.Parallel()
	base := prepared(t)
	removed, forced := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		x := cast(t, base)
		steps, err := x.play(mutant{by: plan.Teardown, answer: unknown})
		if x.broken != "" {
			t.Fatalf("%s (after %v)", x.broken, steps)
		}
		if err != nil && strings.Contains(err.Error(), "no end") {
			t.Fatal(err)
		}
		if x.calm && err != nil {
			t.Fatalf("nothing was in the way, and yet: %v (after %v)", err, steps)
		}
		if slices.Contains(steps, "delete-kind") || slices.Contains(steps, "delete-containers") || slices.Contains(steps, "sweep-eks") {
			removed++
			if len(x.kept()) > 0 && x.settings.ForceKindDelete {
				forced++
				if err == nil {
					t.Fatalf("a forced removal ended well: %v", steps)
				}
			}
		}
	})
	if removed == 0 || forced == 0 {
		t.Errorf("a host was removed %d times, by force %d times: the law was not met", removed, forced)
	}
}

func TestMutantsOfTheGuardAreNoticed(t *testing.T) {
	t.Parallel()
	base := prepared(t)
	without := func(ids ...string) planner {
		return func(s *config.Settings, w plan.World) plan.Plan {
			p := plan.Teardown(s, w)
			for i, step := range p.Steps {
				if !slices.Contains(ids, step.ID) || step.Verdict != plan.Refused {
					continue
				}
				// What kept it back is not looked at.
				p.Steps[i].Verdict, p.Steps[i].Clear = plan.Ready, nil
			}
			return p
		}
	}
	// It forgets the Clusters of others: it only counts those it deleted.
	blind := func(w plan.World) plan.World {
		if names, known := w.Clusters.Names(); known {
			w.Clusters = plan.Listed(slices.DeleteFunc(names, func(name string) bool { return strings.HasPrefix(name, "team-") })...)
		}
		return w
	}
	for name, m := range map[string]mutant{
		"a failure is taken for absence":         {by: plan.Teardown, answer: naive},
		"the guard of kind is skipped":           {by: without("delete-kind"), answer: unknown},
		"the guard of the containers is skipped": {by: without("delete-containers", "forget-kubeconfig"), answer: unknown},
		"no fresh look":                          {by: plan.Teardown, answer: unknown, stale: true},
		"other namespaces are not looked at": {answer: unknown, by: func(s *config.Settings, w plan.World) plan.Plan {
			return plan.Teardown(s, blind(w))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			caught := false
			for seed := 0; seed < 3000 && !caught; seed++ {
				x := rapid.Custom(func(t *rapid.T) *scene {
					x := cast(t, base)
					_, _ = x.play(m)
					return x
				}).Example(seed)
				caught = x.broken != ""
			}
			if !caught {
				t.Error("the law did not notice")
			}
		})
	}
}
