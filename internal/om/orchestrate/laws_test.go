package orchestrate_test

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/orchestrate"
)

type decide func(orchestrate.World) orchestrate.Decision

// law is what must hold of any decision about any world; mutant breaks it.
type law struct {
	name   string
	check  func(decide, orchestrate.World) error
	mutant decide
}

func laws() []law {
	return []law{
		{"the same world gives the same decision", deterministic, forgetful()},
		{"deciding again about what was decided settles", settles, restless},
		{"frozen means no automatic action", frozenIsLeftAlone, change(func(w *orchestrate.World) { thaw(w) })},
		{"what was stopped on purpose is not started by itself", stoppedStays, change(func(w *orchestrate.World) { release(w) })},
		{"one action at a time", oneAtATime, change(func(w *orchestrate.World) { w.Local.Job, w.Local.Lock = nil, "" })},
		{"nothing is done while the node is busy", busyNodeDoesNothing, change(func(w *orchestrate.World) { self(w, func(n *orchestrate.Node) { n.State = "idle" }) })},
		{"a failed start is not repeated by itself", failureIsFinal, change(func(w *orchestrate.World) {
			monitorOf(w, func(m *cluster.InstanceMonitor) {
				m.State, m.StateUpdatedAt = orchestrate.StateReady, w.Now.Add(-time.Hour)
			})
		})},
		{"nothing is started before a fence that is required", fencedFirst, change(func(w *orchestrate.World) { w.Fence = nil })},
		{"nothing is started out of a majority", majority, change(func(w *orchestrate.World) { w.Quorum = true })},
		{"nothing is done before the peers are known", rejoinDoesNothing, change(func(w *orchestrate.World) { w.Rejoin = false })},
		{"nothing is started that another node may still run", notHeardElsewhere, change(func(w *orchestrate.World) {
			for name := range w.Nodes {
				onNode(w, name, func(n *orchestrate.Node) { n.HeardBy = nil })
			}
		})},
		{"nothing starts of itself before every peer knows", knownFirst, change(func(w *orchestrate.World) {
			for name := range w.Nodes {
				onNode(w, name, func(n *orchestrate.Node) { n.Unacked = false })
			}
		})},
		{"nothing starts of itself in company that is forbidden", noBadCompany, change(func(w *orchestrate.World) { w.Affinities = nil })},
		{"no node acts on a goal that another one has not taken", allTakeIt, change(func(w *orchestrate.World) {
			for name := range w.Nodes {
				if name != w.Self {
					onNode(w, name, func(n *orchestrate.Node) { *n = orchestrate.Node{} })
				}
			}
		})},
		{"what is up is not started", upIsNotStarted, change(func(w *orchestrate.World) { setAvail(w, cluster.Down) })},
		{"an orchestration ends with its goal forgotten", endForgets, func(w orchestrate.World) orchestrate.Decision {
			d := orchestrate.Decide(w)
			d.Ended = orchestrate.Succeeded
			return d
		}},
		{"it wakes up in the future only", wakesLater, func(w orchestrate.World) orchestrate.Decision {
			d := orchestrate.Decide(w)
			d.WakeAt = w.Now.Add(-time.Second)
			return d
		}},
		{"every decision has a reason", saysWhy, func(w orchestrate.World) orchestrate.Decision {
			d := orchestrate.Decide(w)
			d.Because = nil
			return d
		}},
	}
}

func TestLaws(t *testing.T) {
	t.Parallel()
	for _, l := range laws() {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(rt *rapid.T) {
				if err := l.check(orchestrate.Decide, worlds().Draw(rt, "world")); err != nil {
					rt.Fatal(err)
				}
			})
		})
	}
}

// A law that no mistake can break says nothing.
func TestEachLawCatchesAMutant(t *testing.T) {
	t.Parallel()
	for _, l := range laws() {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			for seed := range 20000 {
				if l.check(l.mutant, worlds().Example(seed)) != nil {
					return
				}
			}
			t.Error("the mutant was not caught")
		})
	}
}

func FuzzDecide(f *testing.F) {
	f.Add([]byte("seed"))
	f.Fuzz(rapid.MakeFuzz(func(rt *rapid.T) {
		w := worlds().Draw(rt, "world")
		for _, l := range laws() {
			if err := l.check(orchestrate.Decide, w); err != nil {
				rt.Fatalf("%s: %v", l.name, err)
			}
		}
	}))
}

func deterministic(f decide, w orchestrate.World) error {
	one := f(w)
	for range 3 {
		if diff := cmp.Diff(one, f(w)); diff != "" {
			return errors.New(diff)
		}
	}
	return nil
}

// applied is the world after a decision, when nothing else happened.
func applied(w orchestrate.World, d orchestrate.Decision) orchestrate.World {
	self(&w, func(n *orchestrate.Node) { n.Monitor = &d.Monitor })
	w.Local.Memory, w.Local.Job = d.Memory, d.Job
	return w
}

func settles(f decide, w orchestrate.World) error {
	var last orchestrate.Decision
	for range 8 {
		d := f(w)
		if d.Action.Verb != "" || reflect.DeepEqual(last.Monitor, d.Monitor) && reflect.DeepEqual(last.Job, d.Job) {
			return nil
		}
		last = d
		w = applied(w, d)
	}
	return fmt.Errorf("still changing after 8 decisions: %s", last.Monitor.State)
}

func frozenIsLeftAlone(f decide, w orchestrate.World) error {
	n := w.Nodes[w.Self]
	frozen := n.Frozen || n.Status != nil && !n.Status.FrozenAt.IsZero()
	if !frozen || asked(w) || len(w.Local.Memory.Eviction.Pending) > 0 {
		return nil
	}
	harmless := []orchestrate.Verb{"", orchestrate.Hold, orchestrate.Release, orchestrate.Boot, orchestrate.RecordBoot}
	if d := f(w); !slices.Contains(harmless, d.Action.Verb) {
		return fmt.Errorf("frozen, and yet: %s", d.Action)
	}
	return nil
}

func stoppedStays(f decide, w orchestrate.World) error {
	n := w.Nodes[w.Self]
	if n.Status == nil || n.Status.StoppedAt.IsZero() || asked(w) {
		return nil
	}
	if d := f(w); d.Action.Verb == orchestrate.Start || d.Action.Verb == orchestrate.Provision {
		return fmt.Errorf("stopped on purpose, and yet: %s", d.Action)
	}
	return nil
}

func oneAtATime(f decide, w orchestrate.World) error {
	busy := w.Local.Lock != "" || w.Local.Job != nil && w.Local.Job.State == orchestrate.JobRunning
	d := f(w)
	if busy && d.Action.Verb != "" {
		return fmt.Errorf("%s, while another action is under way", d.Action)
	}
	if d.Action.Verb != "" && (d.Job == nil || d.Job.State != orchestrate.JobRunning || d.Job.Action.Verb != d.Action.Verb) {
		return fmt.Errorf("%s is decided, and not remembered as running", d.Action)
	}
	return nil
}

func busyNodeDoesNothing(f decide, w orchestrate.World) error {
	if w.Nodes[w.Self].State == orchestrate.StateIdle {
		return nil
	}
	if d := f(w); d.Action.Verb != "" && d.Action.Verb != orchestrate.RecordBoot {
		return fmt.Errorf("%s, on a node that is %q", d.Action, w.Nodes[w.Self].State)
	}
	return nil
}

// failureIsFinal leaves out resource restarts, which have a budget, and what is
// seen up.
func failureIsFinal(f decide, w orchestrate.World) error {
	n := w.Nodes[w.Self]
	if asked(w) || n.Monitor == nil || n.Monitor.State != orchestrate.StateStartFailed ||
		n.Status == nil || n.Status.Avail == cluster.Up {
		return nil
	}
	if d := f(w); d.Action.Verb == orchestrate.Start && len(d.Action.RID) == 0 {
		return fmt.Errorf("%s after a failed start", d.Action)
	}
	return nil
}

// starts reports whether the decision starts the whole instance, and how: by itself,
// or because it was asked to.
func starts(d orchestrate.Decision) bool {
	return d.Action.Verb == orchestrate.Start && len(d.Action.RID) == 0
}

func fencedFirst(f decide, w orchestrate.World) error {
	if w.Nodes[w.Self].Status == nil || w.Config.StonithBestEffort || goal(w) == orchestrate.Restarted || goal(w) == orchestrate.Provisioned {
		return nil
	}
	for name, state := range w.Fence {
		if n := w.Nodes[name]; state.Blocks() && n.State == "" {
			if d := f(w); starts(d) {
				return fmt.Errorf("started, and the fence of %s is %s", name, state)
			}
		}
	}
	return nil
}

func majority(f decide, w orchestrate.World) error {
	if w.Quorum || goal(w) == orchestrate.Restarted {
		return nil
	}
	if d := f(w); d.Action.Verb == orchestrate.Start {
		return fmt.Errorf("%s, out of a majority", d.Action)
	}
	return nil
}

func rejoinDoesNothing(f decide, w orchestrate.World) error {
	if !w.Rejoin {
		return nil
	}
	if d := f(w); d.Action.Verb != "" && d.Action.Verb != orchestrate.RecordBoot {
		return fmt.Errorf("%s, before the peers are known", d.Action)
	}
	return nil
}

func notHeardElsewhere(f decide, w orchestrate.World) error {
	if goal(w) == orchestrate.Restarted || goal(w) == orchestrate.Provisioned {
		return nil
	}
	for name, n := range w.Nodes {
		if name != w.Self && n.State == "" && len(n.HeardBy) > 0 {
			if d := f(w); starts(d) {
				return fmt.Errorf("started, and %v hears %s", n.HeardBy, name)
			}
		}
	}
	return nil
}

func knownFirst(f decide, w orchestrate.World) error {
	if asked(w) {
		return nil
	}
	for name, n := range w.Nodes {
		if name != w.Self && n.State != "" && n.Unacked {
			if d := f(w); starts(d) {
				return fmt.Errorf("started, and %s may not know", name)
			}
		}
	}
	return nil
}

func noBadCompany(f decide, w orchestrate.World) error {
	if asked(w) {
		return nil
	}
	for _, a := range w.Affinities {
		if a.Hard && a.Up[w.Self] == a.Anti {
			if d := f(w); starts(d) {
				return fmt.Errorf("started with %+v", a)
			}
		}
	}
	return nil
}

func allTakeIt(f decide, w orchestrate.World) error {
	mine := w.Nodes[w.Self].Monitor
	if mine == nil || goal(w) == orchestrate.None || goal(w) == orchestrate.Deleted || goal(w) == orchestrate.Purged {
		return nil
	}
	for name, n := range w.Nodes {
		if name == w.Self || n.State == "" {
			continue
		}
		if n.Monitor != nil && (n.Monitor.OrchestrationID == mine.OrchestrationID || n.Monitor.GlobalExpect != orchestrate.None) {
			continue
		}
		d := f(w)
		if d.Monitor.OrchestrationID == mine.OrchestrationID && d.Action.Verb != "" && d.Action.Verb != orchestrate.RecordBoot && d.Action.Verb != orchestrate.Boot {
			return fmt.Errorf("%s, and %s has not taken %s", d.Action, name, goal(w))
		}
	}
	return nil
}

func upIsNotStarted(f decide, w orchestrate.World) error {
	n := w.Nodes[w.Self]
	if n.Status == nil || n.Status.Avail != cluster.Up || goal(w) == orchestrate.Restarted {
		return nil
	}
	if d := f(w); d.Action.Verb == orchestrate.Start && len(d.Action.RID) == 0 {
		return fmt.Errorf("%s of an instance that is up", d.Action)
	}
	return nil
}

func endForgets(f decide, w orchestrate.World) error {
	was := ""
	if m := w.Nodes[w.Self].Monitor; m != nil {
		was = m.OrchestrationID
	}
	if d := f(w); d.Ended != "" && (d.Monitor.OrchestrationID == was && was != "" || goal(w) == orchestrate.None && !adopts(w)) {
		return fmt.Errorf("ended %s with goal %q, asked %q", d.Ended, d.Monitor.GlobalExpect, goal(w))
	}
	return nil
}

func wakesLater(f decide, w orchestrate.World) error {
	if d := f(w); !d.WakeAt.IsZero() && !d.WakeAt.After(w.Now) {
		return fmt.Errorf("wakes at %s, it is %s", d.WakeAt, w.Now)
	}
	return nil
}

func saysWhy(f decide, w orchestrate.World) error {
	if d := f(w); len(d.Because) == 0 {
		return fmt.Errorf("no reason for %s, action %q", d.Monitor.State, d.Action)
	}
	return nil
}

func goal(w orchestrate.World) string {
	if m := w.Nodes[w.Self].Monitor; m != nil && m.GlobalExpect != "" {
		return m.GlobalExpect
	}
	return orchestrate.None
}

// asked reports whether the object has a goal, that this node knows or is about
// to adopt.
func asked(w orchestrate.World) bool {
	for _, n := range w.Nodes {
		if n.Monitor != nil && n.Monitor.GlobalExpect != orchestrate.None {
			return true
		}
	}
	return false
}

func adopts(w orchestrate.World) bool { return len(w.Nodes) > 1 }

// change is Decide about another world than the real one.
func change(f func(*orchestrate.World)) decide {
	return func(w orchestrate.World) orchestrate.Decision {
		f(&w)
		return orchestrate.Decide(w)
	}
}

func forgetful() decide {
	n := 0
	return func(w orchestrate.World) orchestrate.Decision {
		n++
		d := orchestrate.Decide(w)
		d.WakeAt = w.Now.Add(time.Duration(n))
		return d
	}
}

func restless(w orchestrate.World) orchestrate.Decision {
	d := orchestrate.Decide(w)
	if d.Action.Verb == "" {
		d.Monitor.SessionID += "x"
	}
	return d
}

func self(w *orchestrate.World, f func(*orchestrate.Node)) {
	nodes := maps.Clone(w.Nodes)
	n := nodes[w.Self]
	f(&n)
	nodes[w.Self] = n
	w.Nodes = nodes
}

func statusOf(w *orchestrate.World, f func(*cluster.InstanceStatus)) {
	self(w, func(n *orchestrate.Node) {
		if n.Status != nil {
			s := *n.Status
			f(&s)
			n.Status = &s
		}
	})
}

func monitorOf(w *orchestrate.World, f func(*cluster.InstanceMonitor)) {
	self(w, func(n *orchestrate.Node) {
		if n.Monitor != nil {
			m := *n.Monitor
			f(&m)
			n.Monitor = &m
		}
	})
}

func thaw(w *orchestrate.World) {
	self(w, func(n *orchestrate.Node) { n.Frozen = false })
	statusOf(w, func(s *cluster.InstanceStatus) { s.FrozenAt = time.Time{} })
}

func release(w *orchestrate.World) {
	statusOf(w, func(s *cluster.InstanceStatus) { s.StoppedAt = time.Time{} })
}

func setAvail(w *orchestrate.World, a cluster.Status) {
	statusOf(w, func(s *cluster.InstanceStatus) { s.Avail = a })
}

// worlds are any worlds, the likely ones more often.
func worlds() *rapid.Generator[orchestrate.World] {
	return rapid.Custom(func(t *rapid.T) orchestrate.World {
		now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
		names := []string{"n1", "n2", "n3"}[:rapid.SampledFrom([]int{1, 1, 1, 2, 3}).Draw(t, "nodes")]
		w := orchestrate.World{
			Now: now, Self: "n1", ReadyPeriod: 5 * time.Second, Quorum: rapid.SampledFrom([]bool{true, true, false}).Draw(t, "quorum"),
			Path:   object.Path{Namespace: "root", Kind: rapid.SampledFrom([]object.Kind{"svc", "svc", "svc", "vol", "cfg"}).Draw(t, "kind"), Name: "a"},
			Config: configs(now, names).Draw(t, "config"),
			Nodes:  map[string]orchestrate.Node{},
			Local:  locals().Draw(t, "local"),
		}
		for _, name := range names {
			w.Nodes[name] = nodes(now, w.Config).Draw(t, name)
		}
		if len(names) > 1 {
			w.Rejoin = rapid.IntRange(0, 9).Draw(t, "rejoin") == 0
			for _, name := range names {
				if rapid.IntRange(0, 4).Draw(t, "fence") == 0 {
					w.Fence = map[string]orchestrate.FenceState{name: rapid.SampledFrom([]orchestrate.FenceState{
						orchestrate.FenceDue, orchestrate.FenceRunning, orchestrate.FenceFailed, orchestrate.FenceDone, orchestrate.FenceOverridden,
					}).Draw(t, "fence state")}
				}
			}
			w.Config.StonithBestEffort = rapid.IntRange(0, 9).Draw(t, "best effort") == 0
		}
		if rapid.IntRange(0, 3).Draw(t, "company") == 0 {
			w.Affinities = []orchestrate.Affinity{{
				Object: "b", Hard: rapid.Bool().Draw(t, "hard"), Anti: rapid.Bool().Draw(t, "anti"),
				Up: map[string]bool{rapid.SampledFrom(names).Draw(t, "where"): true},
			}}
		}
		w.Parents = relations().Draw(t, "parents")
		w.Children = relations().Draw(t, "children")
		if rapid.IntRange(0, 2).Draw(t, "set the stage") == 0 {
			aboutToStart(t, &w)
		}
		return w
	})
}

// aboutToStart makes a world one in which all but what may forbid it is there for the
// daemon to start the instance, and the peers are idle or lost.
func aboutToStart(t *rapid.T, w *orchestrate.World) {
	w.Config.Orchestrate, w.Config.Topology, w.Config.Disabled, w.Config.Flex = cluster.OrchestrateHA, cluster.TopologyFailover, false, nil
	w.Config.PlacementPolicy = orchestrate.PolicyNodesOrder
	w.Path.Kind, w.Parents, w.Children = object.KindSvc, nil, nil
	w.Local = orchestrate.Local{BootID: "b1", LastBootID: "b1", Memory: orchestrate.Memory{Lost: map[string]time.Time{}}}
	for name := range w.Nodes {
		onNode(w, name, func(n *orchestrate.Node) {
			n.Frozen, n.Overloaded = false, false
			n.Status = &cluster.InstanceStatus{
				Avail: cluster.Down, Provisioned: cluster.ProvisionedTrue,
				Resources: map[string]cluster.ResourceStatus{"app#1": {Status: cluster.Down}},
			}
			n.Monitor = &cluster.InstanceMonitor{State: orchestrate.StateIdle, GlobalExpect: orchestrate.None, LocalExpect: orchestrate.None}
			switch {
			case name == w.Self:
				n.State = orchestrate.StateIdle
				n.Monitor.State, n.Monitor.StateUpdatedAt = orchestrate.StateReady, w.Now.Add(-time.Minute)
			case rapid.Bool().Draw(t, "lost"):
				n.State, n.Status, n.Monitor, n.Unacked = "", nil, nil, false
				n.HeardBy = nil
				if rapid.IntRange(0, 3).Draw(t, "heard by") == 0 {
					n.HeardBy = []string{"n4"}
				}
			default:
				n.State, n.HeardBy = orchestrate.StateIdle, nil
			}
		})
	}
}

func relations() *rapid.Generator[map[string]cluster.Status] {
	return rapid.Custom(func(t *rapid.T) map[string]cluster.Status {
		if rapid.IntRange(0, 3).Draw(t, "related") > 0 {
			return nil
		}
		return map[string]cluster.Status{"b": statusWords().Draw(t, "b"), "c": statusWords().Draw(t, "c")}
	})
}

func statusWords() *rapid.Generator[cluster.Status] {
	return rapid.SampledFrom([]cluster.Status{cluster.Up, cluster.Up, cluster.Down, cluster.Down, cluster.Warn, cluster.NotApplicable, cluster.Undef, cluster.StandbyUp, cluster.StandbyDown})
}

func configs(now time.Time, scope []string) *rapid.Generator[cluster.InstanceConfig] {
	return rapid.Custom(func(t *rapid.T) cluster.InstanceConfig {
		c := cluster.InstanceConfig{
			Orchestrate:     rapid.SampledFrom([]string{"ha", "ha", "ha", "no", "start", ""}).Draw(t, "orchestrate"),
			Topology:        rapid.SampledFrom([]string{"failover", "failover", "flex"}).Draw(t, "topology"),
			PlacementPolicy: rapid.SampledFrom([]string{"nodes order", "none", "spread", "shift", "score", "load avg", "last start"}).Draw(t, "policy"),
			Scope:           slices.Clone(scope), UpdatedAt: now,
			MonitorAction: rapid.SliceOfN(rapid.SampledFrom([]string{"none", "freezestop", "switch", "reboot", "crash"}), 0, 2).Draw(t, "monitor action"),
			Disabled:      rapid.IntRange(0, 9).Draw(t, "disabled") == 0,
			Resources:     map[string]cluster.ResourceConfig{},
		}
		if c.Topology == "flex" {
			c.Flex = &cluster.Flex{Min: 1, Max: 3, Target: rapid.IntRange(0, 3).Draw(t, "target")}
		}
		for _, rid := range []string{"app#1", "fs#1"} {
			c.Resources[rid] = cluster.ResourceConfig{
				IsMonitored: rapid.Bool().Draw(t, "monitored"), Restart: rapid.IntRange(0, 2).Draw(t, "restart"),
				IsStandby: rapid.IntRange(0, 4).Draw(t, "standby") == 0, IsDisabled: rapid.IntRange(0, 9).Draw(t, "disabled") == 0,
			}
		}
		return c
	})
}

func nodes(now time.Time, c cluster.InstanceConfig) *rapid.Generator[orchestrate.Node] {
	return rapid.Custom(func(t *rapid.T) orchestrate.Node {
		n := orchestrate.Node{
			State:   rapid.SampledFrom([]string{"idle", "idle", "idle", "idle", "idle", "shutting", "rejoin", "init", ""}).Draw(t, "node state"),
			Frozen:  rapid.IntRange(0, 5).Draw(t, "node frozen") == 0,
			Unacked: rapid.IntRange(0, 4).Draw(t, "unacked") == 0, Overloaded: rapid.IntRange(0, 9).Draw(t, "overloaded") == 0,
		}
		if n.State == "" && rapid.IntRange(0, 3).Draw(t, "heard by") == 0 {
			n.HeardBy = []string{"n4"}
		}
		if rapid.IntRange(0, 9).Draw(t, "status") > 0 {
			n.Status = statuses(now, c).Draw(t, "status")
		}
		if rapid.IntRange(0, 9).Draw(t, "monitor") > 0 {
			n.Monitor = monitors(now).Draw(t, "monitor")
		}
		return n
	})
}

func statuses(now time.Time, c cluster.InstanceConfig) *rapid.Generator[*cluster.InstanceStatus] {
	return rapid.Custom(func(t *rapid.T) *cluster.InstanceStatus {
		at := rapid.SampledFrom([]time.Time{{}, {}, now.Add(-time.Hour)})
		s := &cluster.InstanceStatus{
			Avail:       statusWords().Draw(t, "avail"),
			Provisioned: rapid.SampledFrom([]cluster.Provisioned{cluster.ProvisionedTrue, cluster.ProvisionedTrue, cluster.ProvisionedNotApplicable, cluster.ProvisionedFalse, cluster.ProvisionedMixed, cluster.ProvisionedUndef}).Draw(t, "provisioned"),
			FrozenAt:    at.Draw(t, "frozen"), StoppedAt: at.Draw(t, "stopped"),
			Resources: map[string]cluster.ResourceStatus{},
		}
		for rid := range c.Resources {
			if rapid.IntRange(0, 9).Draw(t, "known") > 0 {
				s.Resources[rid] = cluster.ResourceStatus{Status: statusWords().Draw(t, "resource"), Stopped: rapid.IntRange(0, 9).Draw(t, "stopped") == 0}
			}
		}
		return s
	})
}

func monitors(now time.Time) *rapid.Generator[*cluster.InstanceMonitor] {
	return rapid.Custom(func(t *rapid.T) *cluster.InstanceMonitor {
		m := &cluster.InstanceMonitor{
			State:          rapid.OneOf(rapid.SampledFrom([]string{"idle", "start failed", "ready"}), rapid.SampledFrom(orchestrate.States())).Draw(t, "state"),
			GlobalExpect:   rapid.OneOf(rapid.Just("none"), rapid.SampledFrom(orchestrate.Goals())).Draw(t, "goal"),
			LocalExpect:    rapid.SampledFrom([]string{"none", "started"}).Draw(t, "local"),
			StateUpdatedAt: now.Add(-rapid.SampledFrom([]time.Duration{0, time.Second, time.Minute}).Draw(t, "since")),
		}
		if m.GlobalExpect != "none" {
			m.OrchestrationID = rapid.SampledFrom([]string{"o1", "o2"}).Draw(t, "id")
			m.GlobalExpectUpdatedAt = now.Add(-rapid.SampledFrom([]time.Duration{0, time.Second, time.Minute}).Draw(t, "asked"))
			m.OrchestrationIsDone = rapid.IntRange(0, 9).Draw(t, "done") == 0
		}
		return m
	})
}

func locals() *rapid.Generator[orchestrate.Local] {
	return rapid.Custom(func(t *rapid.T) orchestrate.Local {
		l := orchestrate.Local{
			Evaluating: rapid.IntRange(0, 9).Draw(t, "evaluating") == 0,
			Lock:       rapid.SampledFrom([]string{"", "", "", "", "start", "stop", "nonsense"}).Draw(t, "lock"),
			BootID:     "b1", LastBootID: rapid.SampledFrom([]string{"b1", "b1", "b0", ""}).Draw(t, "boot"),
			Memory: orchestrate.Memory{Autostart: rapid.Bool().Draw(t, "autostart")},
		}
		if rapid.IntRange(0, 3).Draw(t, "job") == 0 {
			l.Job = &orchestrate.Job{
				Action: orchestrate.Action{Verb: rapid.SampledFrom([]orchestrate.Verb{
					orchestrate.Start, orchestrate.StartStandby, orchestrate.Stop, orchestrate.Shutdown, orchestrate.Provision, orchestrate.Unprovision,
					orchestrate.Delete, orchestrate.Boot, orchestrate.Freeze, orchestrate.Unfreeze, orchestrate.Hold, orchestrate.Release,
					orchestrate.RecordBoot, orchestrate.Prepare, orchestrate.Reboot, orchestrate.Crash,
				}).Draw(t, "verb")},
				State:           rapid.SampledFrom([]orchestrate.JobState{orchestrate.JobRunning, orchestrate.JobSucceeded, orchestrate.JobFailed}).Draw(t, "job state"),
				OrchestrationID: rapid.SampledFrom([]string{"", "o1", "o2"}).Draw(t, "job id"),
			}
		}
		if rapid.IntRange(0, 7).Draw(t, "eviction") == 0 {
			l.Memory.Eviction = orchestrate.Eviction{
				RID: "app#1", Pending: []string{rapid.SampledFrom([]string{"freezestop", "switch", "reboot", "crash", "none"}).Draw(t, "evict")},
				Prepared: rapid.Bool().Draw(t, "prepared"), Frozen: rapid.Bool().Draw(t, "evict frozen"), Fired: rapid.Bool().Draw(t, "fired"),
			}
		}
		return l
	})
}
