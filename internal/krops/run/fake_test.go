package run_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ops/holdfast/internal/krops/config"
	"github.com/holdfast-ops/holdfast/internal/krops/configtest"
	"github.com/holdfast-ops/holdfast/internal/krops/plan"
	"github.com/holdfast-ops/holdfast/internal/krops/run"
)

func same(t *testing.T, pairs ...any) {
	t.Helper()
	for i := 0; i+1 < len(pairs); i += 2 {
		if diff := cmp.Diff(pairs[i+1], pairs[i]); diff != "" {
			t.Errorf("value %d (-want +got):\n%s", i/2, diff)
		}
	}
}

// site is a world that can be asked and changed.
type site struct {
	truth   plan.World
	lies    map[plan.Fact]plan.Presence // answers that are not the truth
	asked   func(f plan.Fact)           // called before an answer
	act     func(s plan.Step) error     // called before a step changes the truth
	acted   func(s plan.Step)           // called afterwards
	hold    func(s plan.Step) (string, error)
	slow    int      // after how many looks a wait is over
	steps   []string // that were carried out
	lasting []string // those of them that leave something
	asks    []plan.Fact
	wrong   []error // what must not happen
	told    []string
	holding map[string]int

	following []string
}

var _ run.Site = (*site)(nil)

func (s *site) Observe(ctx context.Context, w plan.World, f plan.Fact) plan.World {
	s.asks = append(s.asks, f)
	if s.asked != nil {
		s.asked(f)
	}
	if ctx.Err() != nil {
		return w.With(f, plan.Failed("context canceled"))
	}
	if lie, ok := s.lies[f]; ok {
		return s.lie(w, f, lie)
	}
	where, _, _ := strings.Cut(string(f), "/")
	switch {
	case where == "run":
		s.wrong = append(s.wrong, fmt.Errorf("the site is asked about %s", string(f)))
		return w
	case f == "controller/host":
		w.Host = s.truth.Host
		if w.Host == plan.HostRemoved {
			w.Host = plan.HostUnreachable
		}
		return w
	case where == "cluster" || where == "clusters":
		w.Clusters = s.truth.Clusters
		return w
	case where == "providers":
		w.Providers = s.truth.Providers
		return w
	}
	return w.With(f, known(s.truth.Of(f)))
}

// known is the truth: what was never made is not there.
func known(p plan.Presence) plan.Presence {
	if p.There() {
		return p
	}
	return plan.Absent("looked")
}

func (s *site) lie(w plan.World, f plan.Fact, p plan.Presence) plan.World {
	why, _ := p.Failed()
	switch where, _, _ := strings.Cut(string(f), "/"); where {
	case "cluster", "clusters":
		w.Clusters = plan.Unlisted(why)
	case "providers":
		w.Providers = plan.Unlisted(why)
	default:
		return w.With(f, p)
	}
	return w
}

func (s *site) Do(ctx context.Context, step plan.Step, _ run.Voice) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := s.permitted(step); err != nil {
		s.wrong = append(s.wrong, err)
	}
	if s.act != nil {
		if err := s.act(step); err != nil {
			return err
		}
	}
	s.steps = append(s.steps, step.ID)
	if slices.ContainsFunc(slices.Concat(step.Gives, step.Takes), func(f plan.Fact) bool { return !strings.HasPrefix(string(f), "run/") }) && !step.EachRun {
		s.lasting = append(s.lasting, step.ID)
	}
	s.truth = s.truth.After(step)
	if s.acted != nil {
		s.acted(step)
	}
	return nil
}

// permitted fails on a deletion whose grounds the truth does not give.
func (s *site) permitted(step plan.Step) error {
	if step.Kind == plan.Wait {
		return fmt.Errorf("%s is a wait", step.ID)
	}
	if step.Kind != plan.Delete && step.Kind != plan.Move {
		return nil
	}
	for _, f := range step.Clear {
		if s.truth.Of(f).There() && !step.Forced {
			return fmt.Errorf("%s deletes although %s is there", step.ID, f)
		}
	}
	for _, f := range slices.Concat(step.Clear, step.Takes) {
		if _, lie := s.lies[f]; lie && !step.Forced {
			return fmt.Errorf("%s deletes although %s is not known", step.ID, f)
		}
	}
	for _, f := range step.Needs {
		if !strings.HasPrefix(string(f), "run/") && known(s.truth.Of(f)).Gone() && f != "controller/host" && f != "clusters/listed" {
			return fmt.Errorf("%s deletes without %s", step.ID, f)
		}
	}
	return nil
}

func (s *site) Hold(_ context.Context, step plan.Step) (string, error) {
	if s.hold != nil {
		return s.hold(step)
	}
	if s.holding == nil {
		s.holding = map[string]int{}
	}
	s.holding[step.ID]++
	if s.holding[step.ID] > s.slow {
		s.truth = s.truth.After(step)
	}
	return fmt.Sprintf("look %d", s.holding[step.ID]), nil
}

func (s *site) Follow(_ context.Context, step plan.Step, _ run.Voice) func() {
	s.following = append(s.following, step.ID)
	return func() { s.following = slices.DeleteFunc(s.following, func(id string) bool { return id == step.ID }) }
}

func (s *site) Diagnose(_ context.Context, step plan.Step, v run.Voice) {
	s.told = append(s.told, step.ID)
	v.Print("diagnosis of " + step.ID)
}

// story is a verb on a world.
type story struct {
	name     string
	by       func(*config.Settings, plan.World) plan.Plan
	settings *config.Settings
	world    plan.World
}

func (c story) plan(w plan.World) plan.Plan { return c.by(c.settings, w) }

func settings(t *testing.T, verb config.Verb, profile string, env ...string) *config.Settings {
	t.Helper()
	return configtest.Settings(t, verb, profile, append(env, "HOME=/home/op", "GITHUB_TOKEN=hunter2")...)
}

// controlled is the world of a teardown: clusters and providers on a host.
func controlled(host plan.Host, names ...string) plan.World {
	w := plan.World{Host: host, Clusters: plan.Listed(names...), Providers: plan.Listed("core/capi-system/cluster-api")}
	for _, f := range []plan.Fact{
		"controller/kustomizations", "controller/workload-kustomization", "controller/flux", "controller/flux-operator", "controller/secrets",
		"aws/nodegroups", "aws/eks", "aws/rds", "aws/vpcs", "aws/eips", "aws/s3", "aws/iam", "aws/cloudformation", "host/registry",
	} {
		w = w.With(f, plan.Present())
	}
	switch host {
	case plan.HostKind:
		w = w.With("host/kind-cluster", plan.Present())
	case plan.HostSelfManaged:
		w = w.With("host/mgmt-kubeconfig", plan.Present()).With("host/mgmt-kubeconfig-own", plan.Present()).With("host/mgmt-containers", plan.Present())
	case plan.HostUnknown, plan.HostUnreachable, plan.HostRemoved:
		w.Clusters, w.Providers = plan.Unlisted("no connection"), plan.Unlisted("no connection")
	}
	return w
}

func stories(t *testing.T) []story {
	t.Helper()
	var list []story
	for _, profile := range []string{"aws", "local-host", "local-talos", "azure", "gcp"} {
		s := settings(t, config.VerbBootstrap, profile)
		again := settings(t, config.VerbBootstrap, profile)
		again.Recreate = true
		list = append(list, story{"bootstrap " + profile, plan.Bootstrap, s, plan.World{}},
			story{"bootstrap without pivot " + profile, plan.Bootstrap, settings(t, config.VerbBootstrap, profile, "BOOTSTRAP_PIVOT=0"), plan.World{}},
			story{"bootstrap that keeps kind " + profile, plan.Bootstrap, settings(t, config.VerbBootstrap, profile, "PIVOT_SKIP_DELETE=1"), plan.World{}},
			story{"bootstrap beside the file of another cluster " + profile, plan.Bootstrap, settings(t, config.VerbBootstrap, profile), plan.World{}.With("host/mgmt-kubeconfig", plan.Present())},
			story{"bootstrap again " + profile, plan.Bootstrap, again, plan.World{}.With("host/kind-cluster", plan.Present())})
		if s.Environment.Teardown.Manual != "" {
			continue
		}
		own := []string{"default/" + s.Environment.MgmtCluster, "default/local-workload"}
		if !s.Local() {
			own = append(own, "other/w")
		}
		for _, host := range []plan.Host{plan.HostKind, plan.HostSelfManaged} {
			list = append(list, story{fmt.Sprintf("teardown %s on %v", profile, host), plan.Teardown, settings(t, config.VerbTeardown, profile), controlled(host, own...)})
		}
	}
	return append(list, story{"sweep", plan.Teardown, settings(t, config.VerbTeardown, "aws", "AWS_ONLY=1"), controlled(plan.HostUnreachable)})
}

// telling are the stories whose steps no other has; those that drive a run many
// times do with them.
func telling(t *testing.T) []story {
	t.Helper()
	return slices.DeleteFunc(stories(t), func(c story) bool {
		switch c.settings.Environment.Name {
		case "aws":
			return strings.HasPrefix(c.name, "bootstrap without") || strings.HasPrefix(c.name, "bootstrap again")
		case "local-host":
			return strings.HasPrefix(c.name, "bootstrap that") || strings.HasPrefix(c.name, "bootstrap beside")
		case "local-talos":
			return strings.HasPrefix(c.name, "bootstrap")
		}
		return true
	})
}

// log is a sink that keeps what it hears.
type log struct {
	mu     sync.Mutex
	events []run.Event
}

func (l *log) Event(e run.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events = append(l.events, e)
}

// of lists the messages of one kind.
func (l *log) of(name run.Name) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	texts := []string{}
	for _, e := range l.events {
		if e.Name == name {
			texts = append(texts, e.Message)
		}
	}
	return texts
}

// carry runs a plan on a site, in a time of its own.
func carry(t *testing.T, ctx context.Context, by func(plan.World) plan.Plan, s *site) (run.Report, *log, error) {
	t.Helper()
	heard := &log{}
	report, err := run.Run(ctx, run.Options{Plan: by, Site: s, Sink: heard})
	for _, wrong := range s.wrong {
		t.Error(wrong)
	}
	return report, heard, err
}

// fine tells whether an error ends a run well enough for a story.
func fine(err error) bool { return err == nil || errors.Is(err, run.ErrIncomplete) }
