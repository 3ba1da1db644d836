package instance_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
	"pgregory.net/rapid"

	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/instance"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// show makes a configuration of apps with given statuses.
func show(states ...string) string {
	var b strings.Builder
	for i, s := range states {
		fmt.Fprintf(&b, "[app#%d]\nstate = %s\n", i, s)
	}
	return b.String()
}

func TestAggregation(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		conf           string
		avail, overall cluster.Status
	}{
		"nothing":                             {"", cluster.NotApplicable, cluster.NotApplicable},
		"all up":                              {show("up", "up"), cluster.Up, cluster.Up},
		"one down":                            {show("up", "down"), cluster.Warn, cluster.Warn},
		"n/a is neutral":                      {show("up", "n/a"), cluster.Up, cluster.Up},
		"only n/a":                            {show("n/a"), cluster.NotApplicable, cluster.NotApplicable},
		"standby up beside down":              {"[fs#1]\nstandby = true\nstate = up\n[app#1]\nstate = down\n", cluster.StandbyUp, cluster.StandbyUp},
		"standby up beside up":                {"[fs#1]\nstandby = true\nstate = up\n[app#1]\nstate = up\n", cluster.Up, cluster.Up},
		"standby down beside up":              {"[fs#1]\nstandby = true\nstate = down\n[app#1]\nstate = up\n", cluster.Warn, cluster.Warn},
		"an optional one down":                {"[app#1]\nstate = up\n[app#2]\nstate = down\noptional = true\n", cluster.Up, cluster.Warn},
		"a sync that went well is no service": {"[sync#1]\nstate = up\n", cluster.NotApplicable, cluster.NotApplicable},
		"a sync that went well, all down":     {"[sync#1]\nstate = up\n[app#1]\nstate = down\n", cluster.Down, cluster.Down},
		"a sync that is late":                 {"[sync#1]\nstate = warn\n[app#1]\nstate = up\n", cluster.Up, cluster.Warn},
		"a sync that never went":              {"[sync#1]\nstate = down\n[app#1]\nstate = up\n", cluster.Up, cluster.Warn},
		"all disabled":                        {"disable = true\n" + show("up"), cluster.NotApplicable, cluster.NotApplicable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := faked(t, c.conf).status()
			if s.Avail != c.avail || s.Overall != c.overall {
				t.Errorf("avail %s overall %s, want %s and %s", s.Avail, s.Overall, c.avail, c.overall)
			}
		})
	}
}

// availLaw: the availability is the merge of the statuses of the resources that
// count, in any order.
func availLaw(got cluster.Status, counted []cluster.Status) error {
	want := cluster.Undef
	for _, s := range counted {
		want = cluster.Merge(want, s)
	}
	if want = want.Plain(); want == cluster.Undef {
		want = cluster.NotApplicable
	}
	if got != want {
		return fmt.Errorf("avail %s, want %s of %v", got, want, counted)
	}
	return nil
}

func TestAvailLaw(t *testing.T) {
	t.Parallel()
	f := faked(t, "")
	words := []string{"up", "down", "warn", "n/a"}
	rapid.Check(t, func(rt *rapid.T) {
		var conf strings.Builder
		conf.WriteString("[DEFAULT]\nid = 11111111-2222-3333-4444-555555555555\ncreate_pg = false\n")
		var counted []cluster.Status
		for i := range rapid.IntRange(0, 6).Draw(rt, "resources") {
			group := rapid.SampledFrom([]string{"ip", "fs", "app", "sync"}).Draw(rt, "group")
			s, err := cluster.ParseStatus(rapid.SampledFrom(words).Draw(rt, "state"))
			if err != nil {
				rt.Fatal(err)
			}
			optional, standby := rapid.Bool().Draw(rt, "optional"), rapid.Bool().Draw(rt, "standby")
			fmt.Fprintf(&conf, "[%s#%d]\ntype = fake\nstate = %s\noptional = %t\nstandby = %t\n", group, i, s, optional, standby)
			if standby {
				s = map[cluster.Status]cluster.Status{cluster.Up: cluster.StandbyUp, cluster.Down: cluster.StandbyDown, cluster.Warn: s, cluster.NotApplicable: s}[s]
			}
			if group != "sync" && !optional {
				counted = append(counted, s)
			}
		}
		f.write(web, conf.String())
		got := f.status().Avail
		if err := availLaw(got, counted); err != nil {
			rt.Error(err)
		}
		slices.Reverse(counted)
		if err := availLaw(got, counted); err != nil {
			rt.Error("in reverse:", err)
		}
	})
	t.Run("the law notices an optional resource that counts", func(t *testing.T) {
		t.Parallel()
		if availLaw(cluster.Up, []cluster.Status{cluster.Up, cluster.Down}) == nil {
			t.Error("unnoticed")
		}
	})
}

func TestStatusCache(t *testing.T) {
	t.Parallel()
	ask := func(t *testing.T, f *fixture, o instance.StatusOptions) cluster.InstanceStatus {
		t.Helper()
		s, err := f.Status(t.Context(), web, o)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}

	t.Run("a fresh evaluation serves until something changes", func(t *testing.T) {
		t.Parallel()
		f := faked(t, "[app#1]\n")
		first := ask(t, f, instance.StatusOptions{})
		if again := ask(t, f, instance.StatusOptions{}); !again.UpdatedAt.Equal(first.UpdatedAt) {
			t.Error("evaluated again")
		}
		if again := ask(t, f, instance.StatusOptions{Refresh: true}); !again.UpdatedAt.After(first.UpdatedAt) {
			t.Error("not evaluated on demand")
		}
		if err := f.SetFrozen(web, true); err != nil {
			t.Fatal(err)
		}
		if s := ask(t, f, instance.StatusOptions{}); s.FrozenAt.IsZero() {
			t.Error("the freeze is not seen")
		}
		f.write(web, "[DEFAULT]\nid = 11111111-2222-3333-4444-555555555555\n[app#1]\ntype = fake\n[app#2]\ntype = fake\n")
		if s := ask(t, f, instance.StatusOptions{}); len(s.Resources) != 2 {
			t.Error("the change of configuration is not seen")
		}
	})

	t.Run("an old evaluation, or one of the future, does not serve", func(t *testing.T) {
		t.Parallel()
		f := faked(t, "[app#1]\n")
		first := ask(t, f, instance.StatusOptions{})
		name := filepath.Join(f.Host.Paths.Var(), "svc/web/status.json")
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, shift := range []time.Duration{-time.Minute, time.Hour} {
			was, err := first.UpdatedAt.MarshalText()
			if err != nil {
				t.Fatal(err)
			}
			other, err := first.UpdatedAt.Add(shift).MarshalText()
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(name, []byte(strings.ReplaceAll(string(b), string(was), string(other))), 0o600); err != nil {
				t.Fatal(err)
			}
			if s := ask(t, f, instance.StatusOptions{}); s.UpdatedAt.Equal(first.UpdatedAt.Add(shift)) {
				t.Errorf("an evaluation shifted by %s serves", shift)
			}
		}
	})

	t.Run("a damaged file does not serve", func(t *testing.T) {
		t.Parallel()
		f := faked(t, "[app#1]\n")
		ask(t, f, instance.StatusOptions{})
		if err := os.WriteFile(filepath.Join(f.Host.Paths.Var(), "svc/web/status.json"), []byte("{"), 0o600); err != nil {
			t.Fatal(err)
		}
		if s := ask(t, f, instance.StatusOptions{}); s.Avail != cluster.Down {
			t.Errorf("status %+v", s)
		}
	})

	t.Run("on demand only the monitored resources are evaluated, the others as last seen", func(t *testing.T) {
		t.Parallel()
		f := faked(t, "[app#1]\nmonitor = true\n[app#2]\n")
		ask(t, f, instance.StatusOptions{Refresh: true})
		f.fake.set("app#1", true)
		f.fake.set("app#2", true)
		s := ask(t, f, instance.StatusOptions{MonitoredOnly: true})
		if s.Resources["app#1"].Status != cluster.Up || s.Resources["app#2"].Status != cluster.Down {
			t.Errorf("statuses %s %s", s.Resources["app#1"].Status, s.Resources["app#2"].Status)
		}
	})

	t.Run("the file is private", func(t *testing.T) {
		t.Parallel()
		f := faked(t, "[app#1]\n")
		f.status()
		info, err := os.Stat(filepath.Join(f.Host.Paths.Var(), "svc/web/status.json"))
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("mode %v, %v", info.Mode(), err)
		}
	})
}

// told is a notifier that remembers.
type told struct {
	mu   sync.Mutex
	said []string
}

func (n *told) Progress(_ context.Context, p object.Path, sid, state string, partial bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.said = append(n.said, fmt.Sprintf("%s %s %s partial=%t", p, sid, state, partial))
}

func (n *told) Status(_ context.Context, p object.Path, s cluster.InstanceStatus) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.said = append(n.said, fmt.Sprintf("%s is %s", p, s.Avail))
}

func (n *told) Installed(_ context.Context, p object.Path, rid string, files []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.said = append(n.said, fmt.Sprintf("%s %s installed %s", p, rid, files))
}

func TestNotifier(t *testing.T) {
	t.Parallel()
	f := faked(t, "[app#1]\n[app#2]\nfail = start\n")
	n := &told{}
	f.Notify = n
	with := func(r *instance.Request) { r.Session = "S" }
	f.run(instance.Start, rid("app#1"), with)
	f.fails(instance.Start, "no luck", with)
	f.run(instance.Stop, with, func(r *instance.Request) { r.Origin = instance.OriginMonitor })
	want := []string{
		"web S starting partial=true", "web is warn", "web S idle partial=true",
		"web S starting partial=false", "web is warn", "web S start failed partial=false",
		"web is down",
	}
	if diff := cmp.Diff(want, n.said); diff != "" {
		t.Error(diff)
	}
}

func TestConfig(t *testing.T) {
	t.Parallel()

	t.Run("what the monitor needs is told", func(t *testing.T) {
		t.Parallel()
		f := faked(t, "nodes = n1\norchestrate = ha\npriority = 7\nmonitor_action = switch\n[subset#p]\nparallel = true\n[app#1]\nmonitor = true\nrestart = 2\nrestart_delay = 3s\nsubset = p\n[fs#1]\nstandby = true\n")
		c, err := f.Config(web)
		if err != nil {
			t.Fatal(err)
		}
		if c.Orchestrate != "ha" || c.Priority != 7 || c.Topology != "failover" || c.Nodename != "n1" || c.Checksum == "" || len(c.Issues) > 0 {
			t.Errorf("config %+v", c)
		}
		want := map[string]cluster.ResourceConfig{
			"app#1": {IsMonitored: true, Restart: 2, RestartDelay: 3 * time.Second},
			"fs#1":  {IsStandby: true, RestartDelay: 500 * time.Millisecond},
		}
		if diff := cmp.Diff(want, c.Resources); diff != "" {
			t.Error(diff)
		}
		if !c.Subsets["subset#p"].Parallel || !slices.Equal(c.Scope, []string{"n1"}) || !slices.Equal(c.MonitorAction, []string{"switch"}) {
			t.Errorf("subsets %v, scope %v, monitor action %v", c.Subsets, c.Scope, c.MonitorAction)
		}
	})

	t.Run("what cannot be evaluated is an issue, not a failure", func(t *testing.T) {
		t.Parallel()
		for _, conf := range []string{"priority = high\n", "[app#1]\nrestart = many\n", "[app#1]\nsubset = {nosuch}\n"} {
			c, err := faked(t, conf).Config(web)
			if err != nil || len(c.Issues) == 0 {
				t.Errorf("%q: issues %v, %v", conf, c.Issues, err)
			}
		}
	})
}

func TestInfo(t *testing.T) {
	t.Parallel()
	f := faked(t, "[app#1]\nrestart = 1\n[fs#1]\noptional = true\n")
	values := func(r instance.Request, refresh bool) map[string]string {
		t.Helper()
		list, err := f.Info(t.Context(), web, r, refresh)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for _, i := range list {
			got[i.RID+" "+i.Key] = i.Value
		}
		return got
	}
	if got := values(instance.Request{}, false); len(got) != 0 {
		t.Errorf("never refreshed: %v", got)
	}
	values(instance.Request{}, true)
	got := values(instance.Request{}, false)
	for key, want := range map[string]string{
		"app#1 driver": "app.fake", "app#1 restart": "1", "app#1 optional": "false", "fs#1 optional": "true", "fs#1 restart": "",
	} {
		if got[key] != want {
			t.Errorf("%s is %q, want %q", key, got[key], want)
		}
	}
	if got := values(instance.Request{RID: []string{"fs"}}, false); got["fs#1 driver"] == "" || got["app#1 driver"] != "" {
		t.Errorf("of fs: %v", got)
	}

	f.write(web, "[DEFAULT]\nid = 11111111-2222-3333-4444-555555555555\ncreate_pg = false\n[app#1]\ntype = fake\nrestart = 5\n[app#2]\ntype = fake\n")
	values(instance.Request{RID: []string{"app#2"}}, true)
	got = values(instance.Request{}, false)
	if got["app#1 restart"] != "1" || got["app#2 driver"] == "" || got["fs#1 driver"] != "" {
		t.Errorf("after the refresh of one: %v", got)
	}
	if _, err := f.Info(t.Context(), web, instance.Request{RID: []string{"nosuch"}}, false); err == nil {
		t.Error("info of a resource that does not exist")
	}
}

func TestEnter(t *testing.T) {
	t.Parallel()
	f := faked(t, "[app#1]\n")
	for rid, want := range map[string]string{
		"app#1": "driver app.fake has no shell", "app#9": "resource does not exist: app#9", "": "no resource has a shell",
	} {
		if err := f.Enter(t.Context(), web, rid); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("enter %q: %v, want %q", rid, err, want)
		}
	}
}

func TestRequestArgs(t *testing.T) {
	t.Parallel()
	word := rapid.StringMatching(`[a-z][a-z0-9#*.]{0,6}`)
	rapid.Check(t, func(rt *rapid.T) {
		action := rapid.SampledFrom(instance.Actions()).Draw(rt, "action")
		// Only what the flags of the action can say.
		declared := pflag.NewFlagSet("", pflag.ContinueOnError)
		(&instance.Request{Action: action}).Bind(declared)
		want := instance.Request{Action: action}
		has := func(name string) bool { return declared.Lookup(name) != nil && rapid.Bool().Draw(rt, name) }
		words := func() []string { return rapid.SliceOfN(word, 1, 3).Draw(rt, "words") }
		for name, set := range map[string]func(){
			"rid": func() { want.RID = words() }, "tag": func() { want.Tag = words() }, "subset": func() { want.Subset = words() },
			"to": func() { want.To = word.Draw(rt, "to") }, "force": func() { want.Force = true }, "dry-run": func() { want.DryRun = true },
			"disable-rollback": func() { want.DisableRollback = true }, "leader": func() { want.Leader = true },
			"state-only": func() { want.StateOnly = true }, "no-lock": func() { want.NoLock = true }, "confirm": func() { want.Confirm = true },
			"env": func() { want.Env = []string{"A=b c,d", "E="} },
		} {
			if has(name) {
				set()
			}
		}
		if declared.Lookup("waitlock") != nil {
			want.WaitLock = time.Duration(rapid.Int64Range(1, int64(time.Hour)).Draw(rt, "waitlock"))
		}

		got := instance.Request{Action: action}
		flags := pflag.NewFlagSet("", pflag.ContinueOnError)
		got.Bind(flags)
		if err := flags.Parse(want.Args()); err != nil {
			rt.Fatal(err)
		}

		if diff := cmp.Diff(want, got, cmp.Comparer(slices.Equal[[]string])); diff != "" {
			rt.Errorf("%v: %s", want.Args(), diff)
		}
	})
}

func TestErrors(t *testing.T) {
	t.Parallel()
	f := faked(t, "[app#1]\nfail = start\n")
	err := f.try(instance.Start)
	var failed *instance.ActionError
	if !errors.As(err, &failed) || failed.Action != instance.Start || !failed.Logged() {
		t.Errorf("start: %v", err)
	}
	if err.Error() != "web: start: start app#1: no luck" {
		t.Errorf("message %q", err.Error())
	}
}
