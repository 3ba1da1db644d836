package orchestrate_test

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/orchestrate"
)

// toy is a node with one object, small enough to be read: it does what is
// decided, and what happens to it is said by a script. Its transcript tells what
// changed, when and why.
type toy struct {
	begin, now time.Time
	path       object.Path
	config     cluster.InstanceConfig
	status     *cluster.InstanceStatus
	monitor    *cluster.InstanceMonitor
	node       orchestrate.Node
	parents    map[string]cluster.Status
	children   map[string]cluster.Status
	local      orchestrate.Local
	quorum     bool
	bare       bool // without resources

	up      map[string]cluster.Status // of the resources
	failing map[orchestrate.Verb]bool
	useless map[orchestrate.Verb]bool // says it went well, changes nothing
	slow    map[orchestrate.Verb]time.Duration
	ends    time.Time // of the job
	wake    time.Time
	deleted bool
	ids     int
	out     strings.Builder
}

const forkTime = 100 * time.Millisecond

func newToy(config string) *toy {
	begin := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	t := &toy{
		begin: begin, now: begin, path: object.Path{Namespace: "root", Kind: object.KindSvc, Name: "hello"},
		config: cluster.InstanceConfig{
			Orchestrate: cluster.OrchestrateNo, Topology: cluster.TopologyFailover, Scope: []string{"n1"},
			PlacementPolicy: orchestrate.PolicyNodesOrder, Resources: map[string]cluster.ResourceConfig{},
		},
		status: &cluster.InstanceStatus{Provisioned: cluster.ProvisionedTrue, Resources: map[string]cluster.ResourceStatus{}},
		node:   orchestrate.Node{State: orchestrate.StateIdle},
		quorum: true, local: orchestrate.Local{BootID: "b1", LastBootID: "b1"},
		up: map[string]cluster.Status{}, failing: map[orchestrate.Verb]bool{}, useless: map[orchestrate.Verb]bool{},
		slow: map[orchestrate.Verb]time.Duration{},
	}
	for line := range strings.Lines(config) {
		t.configure(strings.Fields(line))
	}
	if len(t.config.Resources) == 0 && !t.bare {
		t.configure([]string{"resource", "app#1"})
	}
	return t
}

func (t *toy) configure(words []string) {
	if len(words) == 0 {
		return
	}
	if words[0] != "resource" {
		key, value, _ := strings.Cut(strings.Join(words, " "), "=")
		switch key {
		case "bare":
			t.bare = true
		case "orchestrate":
			t.config.Orchestrate = value
		case "monitor_action":
			t.config.MonitorAction = strings.Fields(value)
		case "pre_monitor_action":
			t.config.PreMonitorAction = value
		case "kind":
			t.path.Kind = object.Kind(value)
		default:
			panic("unknown keyword " + key)
		}
		return
	}
	rid := words[1]
	r := cluster.ResourceConfig{}
	status := cluster.Down
	for _, word := range words[2:] {
		key, value, _ := strings.Cut(word, "=")
		switch key {
		case "restart":
			_, _ = fmt.Sscan(value, &r.Restart)
		case "monitor":
			r.IsMonitored = true
		case "standby":
			r.IsStandby, status = true, cluster.StandbyDown
		default:
			status, _ = cluster.ParseStatus(word)
		}
	}
	t.config.Resources[rid] = r
	t.up[rid] = status
}

// world is what the node knows right now.
func (t *toy) world() orchestrate.World {
	s := *t.status
	s.Avail, s.Resources = cluster.NotApplicable, map[string]cluster.ResourceStatus{}
	for rid, status := range t.up {
		old := t.status.Resources[rid]
		old.Status, old.Standby = status, t.config.Resources[rid].IsStandby
		s.Resources[rid] = old
		s.Avail = cluster.Merge(s.Avail, status)
	}
	s.Avail = s.Avail.Plain()
	n := t.node
	n.Status, n.Monitor = &s, t.monitor
	return orchestrate.World{
		Now: t.now, Self: "n1", Path: t.path, Config: t.config, ReadyPeriod: 5 * time.Second, Quorum: t.quorum,
		Nodes: map[string]orchestrate.Node{"n1": n}, Parents: t.parents, Children: t.children, Local: t.local,
	}
}

// settle decides until nothing changes, and lets quick actions end.
func (t *toy) settle() {
	for range 1000 {
		if t.deleted {
			return
		}
		if job := t.local.Job; job != nil && job.State == orchestrate.JobRunning {
			if _, slow := t.slow[job.Action.Verb]; slow && t.now.Before(t.ends) {
				return
			}
			t.now = later(t.now, t.ends)
			t.finish()
		}
		if !t.decide() {
			return
		}
	}
	t.say("does not settle")
}

// decide takes one decision; false when it changed nothing.
func (t *toy) decide() bool {
	w := t.world()
	d := orchestrate.Decide(w)
	old := cluster.InstanceMonitor{State: orchestrate.StateInit, LocalExpect: orchestrate.None, GlobalExpect: orchestrate.None}
	if t.monitor != nil {
		old = *t.monitor
	}
	changed := t.monitor == nil || d.Action.Verb != "" || d.Ended != "" || old.State != d.Monitor.State ||
		old.LocalExpect != d.Monitor.LocalExpect || (t.local.Job == nil) != (d.Job == nil)
	t.monitor, t.local.Memory, t.local.Job, t.wake = &d.Monitor, d.Memory, d.Job, d.WakeAt
	reason := ""
	if n := len(d.Because); n > 0 {
		reason = " because " + d.Because[n-1].ID
	}
	if old.State != d.Monitor.State {
		t.say("%s -> %s%s", old.State, d.Monitor.State, reason)
	}
	if old.LocalExpect != d.Monitor.LocalExpect {
		t.say("expect %s", d.Monitor.LocalExpect)
	}
	if d.Evict.RID != "" {
		t.say("monitor action %s for %s", strings.Join(d.Evict.Pending, " else "), d.Evict.RID)
	}
	if d.Ended != "" {
		t.say("%s %s%s", old.GlobalExpect, d.Ended, reason)
	}
	if d.Action.Verb != "" {
		t.say("do %s%s", d.Action, reason)
		t.ends = t.now.Add(t.takes(d.Action.Verb))
	}
	return changed
}

func (t *toy) takes(v orchestrate.Verb) time.Duration {
	if d, ok := t.slow[v]; ok {
		return d
	}
	atOnce := []orchestrate.Verb{
		orchestrate.Freeze, orchestrate.Unfreeze, orchestrate.Hold, orchestrate.Release, orchestrate.RecordBoot,
		orchestrate.Reboot, orchestrate.Crash,
	}
	if slices.Contains(atOnce, v) {
		return 0
	}
	return forkTime
}

// finish ends the running job, with its effect.
func (t *toy) finish() {
	job := *t.local.Job
	job.State = orchestrate.JobSucceeded
	switch verb := job.Action.Verb; {
	case t.failing[verb]:
		job.State, job.Reason = orchestrate.JobFailed, "exit status 1"
		t.say("%s fails", job.Action)
	case t.useless[verb]:
	default:
		t.effect(job.Action)
	}
	t.local.Job = &job
}

func (t *toy) effect(a orchestrate.Action) {
	switch a.Verb {
	case orchestrate.Start, orchestrate.StartStandby, orchestrate.Provision:
		for rid := range t.up {
			if t.up[rid] == cluster.NotApplicable {
				continue // nothing tells
			}
			if len(a.RID) == 0 || slices.Contains(a.RID, rid) {
				t.up[rid] = cluster.Up
				if t.config.Resources[rid].IsStandby {
					t.up[rid] = cluster.StandbyUp
				}
			}
		}
		if a.Verb == orchestrate.Provision {
			t.status.Provisioned = cluster.ProvisionedTrue
		}
	case orchestrate.Stop, orchestrate.Shutdown, orchestrate.Unprovision:
		for rid := range t.up {
			switch {
			case t.up[rid] == cluster.NotApplicable:
			case !t.config.Resources[rid].IsStandby:
				t.up[rid] = cluster.Down
			case a.Verb != orchestrate.Stop:
				t.up[rid] = cluster.StandbyDown
			}
		}
		if a.Verb == orchestrate.Unprovision && t.status.Provisioned != cluster.ProvisionedNotApplicable {
			t.status.Provisioned = cluster.ProvisionedFalse
		}
	case orchestrate.Delete:
		t.deleted = true
		t.say("deleted while pursuing %s", t.monitor.GlobalExpect)
	case orchestrate.Freeze:
		t.status.FrozenAt = t.now
	case orchestrate.Unfreeze:
		t.status.FrozenAt = time.Time{}
	case orchestrate.Hold:
		t.status.StoppedAt = t.now
	case orchestrate.Release:
		t.status.StoppedAt = time.Time{}
	case orchestrate.RecordBoot:
		t.local.LastBootID = t.local.BootID
	case orchestrate.Boot, orchestrate.Prepare, orchestrate.Reboot, orchestrate.Crash, orchestrate.Fence, orchestrate.Drain, orchestrate.FreezeInstances:
	}
}

// pass lets time go by, deciding when a job ends and when a decision asked to.
func (t *toy) pass(d time.Duration) {
	until := t.now.Add(d)
	for !t.deleted {
		next := until
		if job := t.local.Job; job != nil && job.State == orchestrate.JobRunning && t.ends.Before(next) {
			next = t.ends
		}
		if !t.wake.IsZero() && t.wake.Before(next) {
			next = t.wake
		}
		t.now = later(t.now, next)
		if !next.Before(until) {
			t.now = until
			t.settle()
			return
		}
		if next.Equal(t.wake) {
			t.wake = time.Time{}
		}
		t.settle()
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func (t *toy) say(format string, a ...any) {
	fmt.Fprintf(&t.out, "%8s  %s\n", t.now.Sub(t.begin).Round(time.Millisecond), fmt.Sprintf(format, a...))
}

// command runs a line of a script.
func (t *toy) command(line string) {
	words := strings.Fields(line)
	if len(words) == 0 {
		return
	}
	fmt.Fprintf(&t.out, "%8s> %s\n", t.now.Sub(t.begin).Round(time.Millisecond), line)
	arg := func(i int) string {
		if i < len(words) {
			return words[i]
		}
		return ""
	}
	switch words[0] {
	case "ask":
		t.ask(arg(1), arg(2) == "force")
	case "abort":
		m := orchestrate.Abort(*t.monitor, t.now)
		t.monitor = &m
	case "clear":
		m, memory, ok := orchestrate.Clear(*t.monitor, t.local.Memory, t.now)
		t.monitor, t.local.Memory = &m, memory
		t.say("cleared %v", ok)
	case "progress":
		m, err := orchestrate.Progress(*t.monitor, strings.ReplaceAll(arg(1), "_", " "), "sid", arg(2) == "partial", t.now)
		if err != nil {
			t.say("%v", err)
		}
		t.monitor = &m
	case "set":
		t.up[words[1]], _ = cluster.ParseStatus(strings.Join(words[2:], " "))
	case "stopped-resource":
		t.status.Resources[words[1]] = cluster.ResourceStatus{Stopped: true}
	case "flag":
		t.flag(words[1:])
	case "node":
		t.node.State = strings.Join(words[1:], " ")
	case "lock":
		t.local.Lock = arg(1)
	case "fail", "pass":
		t.failing[orchestrate.Verb(strings.Join(words[1:], " "))] = words[0] == "fail"
	case "useless":
		t.useless[orchestrate.Verb(arg(1))] = true
	case "slow":
		t.slow[orchestrate.Verb(arg(1))], _ = time.ParseDuration(arg(2))
	case "provisioned":
		_ = t.status.Provisioned.UnmarshalText([]byte(arg(1)))
	case "parent", "child":
		s, _ := cluster.ParseStatus(strings.Join(words[2:], " "))
		rel := map[string]cluster.Status{words[1]: s}
		if words[0] == "parent" {
			t.parents = rel
		} else {
			t.children = rel
		}
	case "quorum":
		t.quorum = arg(1) == "yes"
	case "boot":
		t.restartDaemon()
		t.local.BootID, t.local.Lock = arg(1), ""
		for rid := range t.up {
			t.up[rid] = cluster.Down
			if arg(2) != "" {
				t.up[rid], _ = cluster.ParseStatus(arg(2))
			}
		}
	case "restart-daemon":
		t.restartDaemon()
	case "wait":
		d, err := time.ParseDuration(arg(1))
		if err != nil {
			panic(err)
		}
		t.pass(d)
		return
	default:
		panic("unknown command " + line)
	}
	t.settle()
}

// restartDaemon forgets what only the daemon knew. A running action goes on, and
// is known by its lock.
func (t *toy) restartDaemon() {
	lock := t.local.Lock
	if job := t.local.Job; job != nil && job.State == orchestrate.JobRunning {
		lock = string(job.Action.Verb)
	}
	t.monitor = nil
	t.local = orchestrate.Local{BootID: t.local.BootID, LastBootID: t.local.LastBootID, Lock: lock}
}

func (t *toy) flag(words []string) {
	at := map[bool]time.Time{true: t.now}
	switch words[0] {
	case "frozen":
		t.status.FrozenAt = at[words[1] == "on"]
	case "stopped":
		t.status.StoppedAt = at[words[1] == "on"]
	case "node-frozen":
		t.node.Frozen = words[1] == "on"
	}
}

func (t *toy) ask(goal string, force bool) {
	t.ids++
	var options map[string]any
	if force {
		options = map[string]any{"force": true}
	}
	m, err := orchestrate.Accept(t.world(), goal, options, fmt.Sprintf("o%d", t.ids))
	if err != nil {
		t.say("%v", err)
		return
	}
	t.monitor = &m
}
