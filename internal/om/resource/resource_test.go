package resource_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/keyword"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/resource"
)

type plain struct{}

func (plain) Keywords(*keyword.Table)               {}
func (plain) Status(context.Context) resource.State { return resource.State{} }

type starter struct{ plain }

func (starter) Start(context.Context) error { return nil }

type runner struct{ plain }

func (runner) Run(context.Context) error { return nil }

func spec(group, name string) resource.Spec {
	return resource.Spec{Group: group, Name: name, Kinds: []object.Kind{object.KindSvc}, New: func(resource.Env) resource.Driver { return starter{} }}
}

func TestRegistry(t *testing.T) {
	t.Parallel()
	r := resource.NewRegistry(spec("app", "forking"), spec("app", "simple"), spec("fs", "flag"))

	t.Run("a driver is found by group and type, the default one without a type", func(t *testing.T) {
		t.Parallel()
		for _, c := range [][3]string{{"app", "simple", "app.simple"}, {"app", "", "app.forking"}, {"fs", "flag", "fs.flag"}} {
			if s, err := r.Find(c[0], c[1]); err != nil || s.ID() != c[2] {
				t.Errorf("Find(%s, %s) = %s, %v", c[0], c[1], s.ID(), err)
			}
		}
	})

	t.Run("what is not there is told with what is", func(t *testing.T) {
		t.Parallel()
		for _, c := range [][3]string{
			{"app", "nope", "unknown driver app.nope: use one of forking, simple"},
			{"fs", "", "fs resources need a type: set one of flag"},
			{"zz", "", `unknown resource group "zz"`},
		} {
			if _, err := r.Find(c[0], c[1]); err == nil || err.Error() != c[2] {
				t.Errorf("Find(%s, %s): %v", c[0], c[1], err)
			}
		}
	})

	t.Run("two drivers of one id are a wrong program", func(t *testing.T) {
		t.Parallel()
		defer func() {
			if recover() == nil {
				t.Error("no panic")
			}
		}()
		resource.NewRegistry(spec("app", "x"), spec("app", "x"))
	})

	t.Run("the sections are those of the drivers of the kind, in start order", func(t *testing.T) {
		t.Parallel()
		var names []string
		for _, s := range r.Sections(object.KindSvc) {
			names = append(names, s.Name+":"+s.DefaultType)
			if !s.Indexed || len(s.Types) == 0 {
				t.Errorf("section %+v", s)
			}
		}
		if diff := cmp.Diff([]string{"fs:", "app:forking"}, names); diff != "" {
			t.Error(diff)
		}
		if got := r.Sections(object.KindVol); got != nil {
			t.Errorf("sections of a volume: %v", got)
		}
	})
}

func TestTable(t *testing.T) {
	t.Parallel()
	has := func(d resource.Driver, name string) bool {
		return resource.Table(&resource.Common{}, d).Find(name) != nil
	}
	for _, c := range []struct {
		name                   string
		plain, starter, runner bool
	}{
		{"tags", true, true, true},
		{"pre_provision", true, true, true},
		{"blocking_post_start", false, true, false},
		{"restart", false, true, false},
		{"stop_requires", false, true, false},
		{"pre_run", false, false, true},
		{"run_requires", false, false, true},
	} {
		if has(plain{}, c.name) != c.plain || has(starter{}, c.name) != c.starter || has(runner{}, c.name) != c.runner {
			t.Errorf("%s is not where it should be", c.name)
		}
	}

	t.Run("a trigger is found by its phase, its action and whether it blocks", func(t *testing.T) {
		t.Parallel()
		var c resource.Common
		k := resource.Table(&c, starter{}).Find("blocking_pre_start")
		if err := k.Convert("/bin/x", keyword.Context{}); err != nil {
			t.Fatal(err)
		}
		if got := c.Triggers.Command("pre", "start", true); got != "/bin/x" {
			t.Errorf("command %q", got)
		}
		if c.Triggers.Command("pre", "start", false) != "" || c.Triggers.Command("post", "run", true) != "" {
			t.Error("a trigger that is not set has a command")
		}
	})
}

func TestRequirements(t *testing.T) {
	t.Parallel()
	got, err := resource.ParseRequirements(" app#1  fs#2(up, stdby up)\tip#1(n/a,down) ")
	want := []resource.Requirement{
		{RID: "app#1", States: []cluster.Status{cluster.Up, cluster.StandbyUp}},
		{RID: "fs#2", States: []cluster.Status{cluster.Up, cluster.StandbyUp}},
		{RID: "ip#1", States: []cluster.Status{cluster.NotApplicable, cluster.Down}},
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Error(err, diff)
	}
	for _, bad := range []string{"app#1(up", "app#1)up(", "(up)", "app#1(bad)"} {
		if _, err := resource.ParseRequirements(bad); err == nil || !strings.Contains(err.Error(), bad) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestRequirementsRoundTrip(t *testing.T) {
	t.Parallel()
	statuses := []cluster.Status{cluster.Up, cluster.Down, cluster.Warn, cluster.NotApplicable, cluster.StandbyUp, cluster.StandbyDown}
	rapid.Check(t, func(rt *rapid.T) {
		var want []resource.Requirement
		var words []string
		for range rapid.IntRange(0, 4).Draw(rt, "n") {
			r := resource.Requirement{
				RID:    rapid.StringMatching(`[a-z]{1,5}#[a-z0-9.-]{1,4}`).Draw(rt, "rid"),
				States: rapid.SliceOfNDistinct(rapid.SampledFrom(statuses), 1, 3, rapid.ID).Draw(rt, "states"),
			}
			want, words = append(want, r), append(words, r.String())
		}
		got, err := resource.ParseRequirements(strings.Join(words, " "))
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			rt.Error(err, diff)
		}
		for _, r := range got {
			for _, s := range statuses {
				if r.Met(s) != slices.Contains(r.States, s) {
					rt.Errorf("%s met by %s: %v", r, s, r.Met(s))
				}
			}
		}
	})
}

func FuzzParseRequirements(f *testing.F) {
	for _, s := range []string{"app#1(up)", "a b", "a(up,down) b()", "a((", " "} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		list, err := resource.ParseRequirements(s)
		for _, r := range list {
			if err == nil && (r.RID == "" || len(r.States) == 0) {
				t.Errorf("%q gives %+v", s, r)
			}
		}
	})
}
