package instance_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/instance"
	"github.com/holdfast-ops/holdfast/internal/om/resource"
)

const stack = `
[app#1]
[fs#1]
[app#0]
subset = b
[ip#1]
[app#2]
subset = a
[disk#1]
`

func TestOrder(t *testing.T) {
	t.Parallel()

	t.Run("a start goes by groups then subsets, a stop the other way", func(t *testing.T) {
		t.Parallel()
		f := faked(t, stack)
		f.run(instance.Start)
		up := f.fake.history()
		if diff := cmp.Diff([]string{"start ip#1", "start disk#1", "start fs#1", "start app#1", "start app#2", "start app#0"}, up); diff != "" {
			t.Error(diff)
		}
		f.run(instance.Stop)
		slices.Reverse(up)
		if diff := cmp.Diff(strings.ReplaceAll(strings.Join(up, ","), "start", "stop"), strings.Join(f.fake.history(), ",")); diff != "" {
			t.Error(diff)
		}
	})

	t.Run("a restart stops then starts what is selected", func(t *testing.T) {
		t.Parallel()
		f := faked(t, stack)
		f.run(instance.Start)
		f.fake.history()
		f.run(instance.Restart, rid("app#1", "fs"))
		if diff := cmp.Diff([]string{"stop app#1", "stop fs#1", "start fs#1", "start app#1"}, f.fake.history()); diff != "" {
			t.Error(diff)
		}
	})

	t.Run("what is in the wanted state is left alone", func(t *testing.T) {
		t.Parallel()
		f := faked(t, stack)
		f.run(instance.Start, rid("ip#1", "app#2"))
		f.fake.history()
		f.run(instance.Start)
		if diff := cmp.Diff([]string{"start disk#1", "start fs#1", "start app#1", "start app#0"}, f.fake.history()); diff != "" {
			t.Error(diff)
		}
		f.run(instance.Start)
		if did := f.fake.history(); did != nil {
			t.Errorf("a third start did %v", did)
		}
	})

	t.Run("the resources of a parallel subset are acted upon at once", func(t *testing.T) {
		t.Parallel()
		f := faked(t, "[subset#p]\nparallel = true\n[app#1]\nsubset = p\n[app#2]\nsubset = p\n[app#3]\n")
		begun1, open1 := f.fake.gate("start app#1")
		begun2, open2 := f.fake.gate("start app#2")
		done := make(chan error, 1)
		go func() { done <- f.try(instance.Start) }()
		<-begun1
		<-begun2 // both have begun, and neither has ended
		close(open1)
		close(open2)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if did := f.fake.history(); did[0] != "start app#3" || len(did) != 3 {
			t.Errorf("did %v, want the resource without subset first", did)
		}
	})

	t.Run("the settings of a subset of one group win over those of the name", func(t *testing.T) {
		t.Parallel()
		f := faked(t, "[subset#p]\nparallel = true\n[subset#fs:p]\nparallel = false\n[app#1]\nsubset = p\n[fs#1]\nsubset = p\n")
		plan, err := f.Plan(t.Context(), web, instance.Request{Action: instance.Start})
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range plan.Sets {
			if s.Parallel != (s.Group == "app") {
				t.Errorf("set %+v", s)
			}
		}
	})
}

func TestFilters(t *testing.T) {
	t.Parallel()
	const conf = `
[app#1]
tags = a b
[app#2]
tags = b
subset = s
[app#3]
tags = c
[fs#1]
tags = a
`
	for name, c := range map[string]struct {
		request instance.Request
		want    string
	}{
		"an id":                        {instance.Request{RID: []string{"app#2"}}, "app#2"},
		"ids and a group":              {instance.Request{RID: []string{"fs", "app#3"}}, "fs#1 app#3"},
		"a glob":                       {instance.Request{RID: []string{"app#[12]"}}, "app#1 app#2"},
		"one tag or another":           {instance.Request{Tag: []string{"a", "c"}}, "fs#1 app#1 app#3"},
		"both tags":                    {instance.Request{Tag: []string{"a+b"}}, "app#1"},
		"a subset":                     {instance.Request{Subset: []string{"s"}}, "app#2"},
		"two filters select less":      {instance.Request{RID: []string{"app"}, Tag: []string{"a"}}, "app#1"},
		"up to a resource":             {instance.Request{To: "app#1"}, "fs#1 app#1"},
		"up to the end of a group":     {instance.Request{To: "fs"}, "fs#1"},
		"up to a resource, of a group": {instance.Request{To: "app#3", RID: []string{"app"}}, "app#1 app#3"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := faked(t, conf)
			c.request.Action = instance.Start
			plan, err := f.Plan(t.Context(), web, c.request)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, strings.Join(steps(plan), " ")); diff != "" {
				t.Error(diff)
			}
		})
	}
	for name, request := range map[string]instance.Request{
		"--rid app#9":              {RID: []string{"app#9"}},
		"--rid nosuch":             {RID: []string{"nosuch"}},
		"--rid=disk":               {RID: []string{"disk"}},
		"--tag=z":                  {Tag: []string{"z"}},
		"--subset=z":               {Subset: []string{"z"}},
		"--to ip#1":                {To: "ip#1"},
		"--rid=fs --tag=c":         {RID: []string{"fs"}, Tag: []string{"c"}},
		"the object has fs#1, app": {RID: []string{"app#7"}},
	} {
		t.Run("nothing selected is an error that names "+name, func(t *testing.T) {
			t.Parallel()
			f := faked(t, conf)
			request.Action = instance.Stop
			err := f.Run(t.Context(), web, request)
			if err == nil || !strings.Contains(err.Error(), "resource does not exist") || !strings.Contains(err.Error(), name) {
				t.Errorf("stop: %v", err)
			}
		})
	}
}

func steps(p instance.Plan) (rids []string) {
	for _, s := range p.Sets {
		for _, step := range s.Steps {
			rids = append(rids, step.RID)
		}
	}
	return rids
}

// orderLaw says what is wrong in the order of a plan. subsets are those of the
// resources, by id.
func orderLaw(p instance.Plan, subsets map[string]string, descending bool) error {
	all := steps(p)
	if sorted := slices.Compact(slices.Sorted(slices.Values(all))); len(sorted) != len(all) {
		return fmt.Errorf("a resource twice in %v", all)
	}
	if descending {
		all = slices.Clone(all)
		slices.Reverse(all)
	}
	for i := 1; i < len(all); i++ {
		before, after := all[i-1], all[i]
		ga, _, _ := resource.SplitID(before)
		gb, _, _ := resource.SplitID(after)
		ra, _ := resource.Rank(ga)
		rb, _ := resource.Rank(gb)
		switch {
		case ra > rb:
			return fmt.Errorf("%s comes before %s, of an earlier group", before, after)
		case ra == rb && subsets[before] > subsets[after]:
			return fmt.Errorf("%s comes before %s, of an earlier subset", before, after)
		case ra == rb && subsets[before] == subsets[after] && before > after:
			return fmt.Errorf("%s comes before %s, against their ids", before, after)
		}
	}
	return nil
}

func TestOrderLaw(t *testing.T) {
	t.Parallel()
	f := faked(t, "")
	rapid.Check(t, func(rt *rapid.T) {
		groups := rapid.SliceOfNDistinct(rapid.Custom(func(t *rapid.T) string {
			return rapid.SampledFrom([]string{"ip", "disk", "fs", "container", "app"}).Draw(t, "group") + "#" + itoa(rapid.IntRange(0, 12).Draw(t, "index"))
		}), 1, 12, rapid.ID).Draw(rt, "rids")
		subsets := map[string]string{}
		var conf strings.Builder
		for _, rid := range groups {
			fmt.Fprintf(&conf, "[%s]\ntype = fake\n", rid)
			if s := rapid.SampledFrom([]string{"", "a", "b"}).Draw(rt, "subset"); s != "" {
				subsets[rid] = s
				fmt.Fprintf(&conf, "subset = %s\n", s)
			}
		}
		f.write(web, "[DEFAULT]\nid = 11111111-2222-3333-4444-555555555555\ncreate_pg = false\n"+conf.String())
		start, err := f.Plan(t.Context(), web, instance.Request{Action: instance.Start})
		if err != nil {
			rt.Fatal(err)
		}
		stop, err := f.Plan(t.Context(), web, instance.Request{Action: instance.Stop})
		if err != nil {
			rt.Fatal(err)
		}

		if len(steps(start)) != len(groups) {
			rt.Errorf("plan %v does not have every one of %v", steps(start), groups)
		}
		if err := orderLaw(start, subsets, false); err != nil {
			rt.Error(err)
		}
		if err := orderLaw(stop, subsets, true); err != nil {
			rt.Error(err)
		}
		back := steps(stop)
		slices.Reverse(back)
		if diff := cmp.Diff(steps(start), back); diff != "" {
			rt.Error("a stop is not a start reversed:", diff)
		}
	})

	t.Run("the law notices two sets that changed places", func(t *testing.T) {
		t.Parallel()
		f := faked(t, stack)
		plan, err := f.Plan(t.Context(), web, instance.Request{Action: instance.Start})
		if err != nil {
			t.Fatal(err)
		}
		subsets := map[string]string{"app#0": "b", "app#2": "a"}
		if err := orderLaw(plan, subsets, false); err != nil {
			t.Fatal(err)
		}
		for i := 1; i < len(plan.Sets); i++ {
			mutant := plan
			mutant.Sets = slices.Clone(plan.Sets)
			mutant.Sets[i-1], mutant.Sets[i] = mutant.Sets[i], mutant.Sets[i-1]
			if orderLaw(mutant, subsets, false) == nil {
				t.Errorf("unnoticed: %v", steps(mutant))
			}
		}
		if orderLaw(plan, subsets, true) == nil {
			t.Error("unnoticed: a stop in start order")
		}
	})
}

func TestStandbyAndDisable(t *testing.T) {
	t.Parallel()
	const conf = "[fs#1]\nstandby = true\n[app#1]\n[app#2]\ndisable = true\n"

	t.Run("startstandby starts only what is standby", func(t *testing.T) {
		t.Parallel()
		f := faked(t, conf)
		f.run(instance.StartStandby)
		if diff := cmp.Diff([]string{"start fs#1"}, f.fake.history()); diff != "" {
			t.Error(diff)
		}
		if s := f.status(); s.Resources["fs#1"].Status != cluster.StandbyUp || s.Avail != cluster.StandbyUp {
			t.Errorf("standby %s, instance %s", s.Resources["fs#1"].Status, s.Avail)
		}
	})

	t.Run("a stop leaves standby resources up, unless forced; a shutdown does not", func(t *testing.T) {
		t.Parallel()
		f := faked(t, conf)
		f.run(instance.Start)
		f.fake.history()
		f.run(instance.Stop)
		if diff := cmp.Diff([]string{"stop app#1"}, f.fake.history()); diff != "" {
			t.Error(diff)
		}
		if !strings.Contains(f.out.text(), "fs#1: skip 'stop' on standby resource") {
			t.Error("the log does not say that it is skipped")
		}
		f.run(instance.Stop, force)
		if diff := cmp.Diff([]string{"stop fs#1"}, f.fake.history()); diff != "" {
			t.Error(diff)
		}
		f.run(instance.Start)
		f.fake.history()
		f.run(instance.Shutdown)
		if diff := cmp.Diff([]string{"stop app#1", "stop fs#1"}, f.fake.history()); diff != "" {
			t.Error(diff)
		}
	})

	t.Run("a disabled resource is left alone and is n/a", func(t *testing.T) {
		t.Parallel()
		f := faked(t, conf)
		f.run(instance.Start)
		f.run(instance.Stop, force)
		if did := strings.Join(f.fake.history(), " "); strings.Contains(did, "app#2") {
			t.Errorf("did %s", did)
		}
		if s := f.status(); s.Resources["app#2"].Status != cluster.NotApplicable || !s.Resources["app#2"].Disable {
			t.Errorf("status %+v", s.Resources["app#2"])
		}
	})
}
