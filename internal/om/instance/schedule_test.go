package instance_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/instance"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/resource/stamp"
)

func TestTheConfigurationTellsWhatRunsByItself(t *testing.T) {
	t.Parallel()
	f := native(t, "run_schedule = @1d\nstatus_schedule = @5m\n"+
		"[fs#1]\ntype = flag\nmonitor = true\n"+
		"[task#1]\ncommand = /bin/true\nrun_requires = fs#1(up)\nmax_parallel = 2\nsnooze = 5m\n"+
		"[task#2]\ncommand = /bin/true\nschedule = 04:00 sun\non = FileInstalled,rid=fs#1\nconfirmation = true\n"+
		"[task#3]\ncommand = /bin/true\ndisable = true\n")

	c, err := f.Config(web)
	if err != nil || len(c.Issues) > 0 {
		t.Fatal(err, c.Issues)
	}

	want := []cluster.ScheduleConfig{
		{Action: "status", Key: "status_schedule", Schedule: "@5m", MaxParallel: 1},
		{Action: "push_resinfo", Key: "info_schedule", Schedule: "@60m", MaxParallel: 1},
		{Action: "compliance_auto", Key: "comp_schedule", Schedule: "~00:00-06:00", MaxParallel: 1, RequireCollector: true, Unavailable: "this agent has no compliance modules"},
		{Action: "run", Key: "task#1.schedule", Schedule: "@1d", MaxParallel: 2, Require: "fs#1(up)", RequireProvisioned: true, Snooze: 5 * time.Minute},
		{Action: "run", Key: "task#2.schedule", Schedule: "04:00 sun", MaxParallel: 1, RequireProvisioned: true, On: "FileInstalled,rid=fs#1", Unavailable: "it asks for a confirmation"},
		{Action: "run", Key: "task#3.schedule", Schedule: "@1d", MaxParallel: 1, RequireProvisioned: true, Unavailable: "the resource is disabled"},
		{Action: "resource_monitor", Key: "monitor_schedule", Schedule: "@1m", MaxParallel: 1},
	}
	if diff := cmp.Diff(want, c.Schedules); diff != "" {
		t.Error(diff)
	}
	f.write(web, "[DEFAULT]\ndisable = true\n[fs#1]\ntype = flag\n")
	c, err = f.Config(web)
	if err != nil {
		t.Fatal(err)
	}
	if runs := slices.ContainsFunc(c.Schedules, func(c cluster.ScheduleConfig) bool { return c.Unavailable == "" }); runs {
		t.Errorf("of a disabled object: %+v", c.Schedules)
	}
}

// The next evaluation may find it repaired.
func TestAnInstanceThatCannotBeReadIsEvaluatedAllTheSame(t *testing.T) {
	t.Parallel()
	f := native(t, "[fs#1]\ntype = flag\n[DEFAULT]\ntopology = neither\n")

	c, err := f.Config(web)

	if err != nil || len(c.Issues) == 0 || len(c.Schedules) == 0 || c.Schedules[0].Action != "status" || c.Schedules[0].Schedule != "@10m" {
		t.Errorf("%v %+v", err, c)
	}
}

func TestARunAsTheScheduleWould(t *testing.T) {
	t.Parallel()
	f := native(t, "[task#1]\ncommand = echo ran; exit 0\nschedule = @1h\n[task#2]\ncommand = echo ran; exit 0\n[task#3]\ncommand = echo ran; exit 0\nschedule = @1h\nconfirmation = true\n")
	cron := func() string {
		f.out.reset()
		if err := f.Run(t.Context(), web, instance.Request{Action: instance.Run, Cron: true}); err != nil {
			t.Error(err)
		}
		return f.out.text()
	}

	first := cron()
	second := cron()

	for text, wants := range map[string][]string{
		first:  {"task#1: ran", "task#2: not run by the schedule: it has no schedule", "task#3: not run by the schedule: it asks for a confirmation"},
		second: {"task#1: not run by the schedule: @1h does not allow it now, it last ran at 20"},
	} {
		for _, want := range wants {
			if !strings.Contains(text, want) {
				t.Errorf("%q is not in\n%s", want, text)
			}
		}
	}
	if strings.Contains(second, "task#1: ran") {
		t.Errorf("run twice:\n%s", second)
	}
}

func TestARunIsMarkedUnlessTheSchedulerDid(t *testing.T) {
	t.Parallel()
	f := native(t, "[task#1]\ncommand = /bin/true\n[task#2]\ncommand = /bin/false\n")
	stamps := stamp.In(filepath.Join(f.Host.Paths.Var(), web.StateDir()))
	run := func(rid, origin string) (last, success time.Time) {
		_ = f.Run(t.Context(), web, instance.Request{Action: instance.Run, RID: []string{rid}, Origin: origin})
		last, success, err := stamps.Last(stamp.Job("run", rid))
		if err != nil {
			t.Error(err)
		}
		return last, success
	}

	if last, success := run("task#1", instance.OriginScheduler); !last.IsZero() || success.IsZero() {
		t.Errorf("by the scheduler: last %s, success %s", last, success)
	}
	if last, success := run("task#1", instance.OriginUser); last.IsZero() || success.IsZero() {
		t.Errorf("by hand: last %s, success %s", last, success)
	}
	if last, success := run("task#2", instance.OriginUser); last.IsZero() || !success.IsZero() {
		t.Errorf("failed: last %s, success %s", last, success)
	}
}

func TestTheScheduleOfTheNode(t *testing.T) {
	t.Parallel()
	f := native(t, "")
	conf := "[checks]\nschedule = @10m\n[switch#s1]\ntype = brocade\nusername = admin\nschedule = 02:00-04:00@120 sat,sun\n[switch#s2]\ntype = brocade\nusername = admin\nschedule = {nosuch}\n"
	if err := os.WriteFile(filepath.Join(f.Host.Paths.Etc(), "node.conf"), []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}

	list, err := instance.NodeSchedules(f.Store)
	if err != nil {
		t.Fatal(err)
	}

	found := map[string]cluster.ScheduleConfig{}
	for _, c := range list {
		found[c.Key] = c
	}
	if c := found["checks.schedule"]; c.Action != "checks" || c.Schedule != "@10m" {
		t.Errorf("%+v", c)
	}
	if c := found["asset.schedule"]; c.Action != "pushasset" || c.Schedule != "~00:00-06:00" {
		t.Errorf("%+v", c)
	}
	if c := found["switch#s1.schedule"]; c.Action != "pushswitch" || c.Schedule != "02:00-04:00@120 sat,sun" || c.Unavailable == "" {
		t.Errorf("%+v", c)
	}
	if c := found["switch#s2.schedule"]; !strings.Contains(c.Unavailable, "nosuch") {
		t.Errorf("%+v", c)
	}
	if len(instance.NodeCommands()) == len(list) {
		t.Error("this agent has no action for switches, arrays and backups")
	}
	if _, err := f.Config(object.Path{Namespace: "root", Kind: object.KindCfg, Name: "nosuch"}); err == nil {
		t.Error("an object that is not has a configuration")
	}
}
