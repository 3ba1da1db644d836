package orchestrate_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/orchestrate"
)

// crowd is a toy of several nodes with one object. What a node tells reaches the
// others when it is delivered: at once, unless a test says otherwise.
type crowd struct {
	t       *testing.T
	now     time.Time
	names   []string
	members map[string]*member
	config  cluster.InstanceConfig
	edit    func(*orchestrate.World) // of every world, before it is decided about
	slow    bool                     // nothing is delivered by itself
	cut     map[string]bool          // nodes that nobody hears, and that hear nobody
	ids     int
	deeds   []string
}

// member is a node of a crowd, and what it knows of the others.
type member struct {
	name    string
	frozen  bool
	load    float64
	status  cluster.InstanceStatus
	monitor cluster.InstanceMonitor
	local   orchestrate.Local
	ends    time.Time
	wake    time.Time
	failing map[orchestrate.Verb]bool
	takes   time.Duration
	version int
	known   map[string]told
	ended   []string
	because []orchestrate.Reason
}

// told is what a node was told of another one.
type told struct {
	version int
	status  *cluster.InstanceStatus
	monitor *cluster.InstanceMonitor
	acks    map[string]int // what it had been told by each node then
}

// newCrowd is n nodes, n1, n2... with an object that is down.
func newCrowd(t *testing.T, n int, edit func(*cluster.InstanceConfig)) *crowd {
	t.Helper()
	c := &crowd{
		t: t, now: time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC), members: map[string]*member{}, cut: map[string]bool{},
		config: cluster.InstanceConfig{
			Orchestrate: cluster.OrchestrateNo, Topology: cluster.TopologyFailover, PlacementPolicy: orchestrate.PolicyNodesOrder,
			Resources: map[string]cluster.ResourceConfig{"app#1": {}},
		},
	}
	for i := range n {
		name := fmt.Sprintf("n%d", i+1)
		c.names = append(c.names, name)
		c.members[name] = &member{
			name: name, takes: time.Second, failing: map[orchestrate.Verb]bool{}, known: map[string]told{},
			status: cluster.InstanceStatus{
				Avail: cluster.Down, Provisioned: cluster.ProvisionedTrue,
				Resources: map[string]cluster.ResourceStatus{"app#1": {Status: cluster.Down}},
			},
			monitor: cluster.InstanceMonitor{State: orchestrate.StateIdle, GlobalExpect: orchestrate.None, LocalExpect: orchestrate.None},
		}
	}
	c.config.Scope = c.names
	edit(&c.config)
	c.deliverAll()
	return c
}

func ha(c *cluster.InstanceConfig) { c.Orchestrate = cluster.OrchestrateHA }
func byHand(*cluster.InstanceConfig) {
}

func flex(target int) func(*cluster.InstanceConfig) {
	return func(c *cluster.InstanceConfig) {
		c.Orchestrate, c.Topology = cluster.OrchestrateHA, cluster.TopologyFlex
		c.Flex = &cluster.Flex{Min: 1, Max: len(c.Scope), Target: target}
	}
}

// up makes the instances of nodes up from the start.
func (c *crowd) up(names ...string) *crowd {
	for _, name := range names {
		c.members[name].set(cluster.Up)
	}
	c.deliverAll()
	return c
}

func (m *member) set(s cluster.Status) {
	m.status.Avail = s
	m.status.Resources = map[string]cluster.ResourceStatus{"app#1": {Status: s}}
	m.version++
}

func (m *member) tell() told {
	s, v := m.status, m.monitor
	acks := map[string]int{}
	for name, known := range m.known {
		acks[name] = known.version
	}
	return told{m.version, &s, &v, acks}
}

func (c *crowd) deliver(from, to string) {
	if from == to || c.cut[from] || c.cut[to] {
		return
	}
	c.members[to].known[from] = c.members[from].tell()
}

func (c *crowd) deliverAll() {
	for _, from := range c.names {
		for _, to := range c.names {
			c.deliver(from, to)
		}
	}
}

func (c *crowd) world(m *member) orchestrate.World {
	w := orchestrate.World{
		Now: c.now, Self: m.name, Path: object.Path{Namespace: "root", Kind: object.KindSvc, Name: "web"}, Config: c.config,
		ReadyPeriod: 5 * time.Second, Quorum: !c.cut[m.name], Nodes: map[string]orchestrate.Node{}, Local: m.local,
	}
	for _, name := range c.names {
		other := c.members[name]
		n := orchestrate.Node{State: orchestrate.StateIdle, Frozen: other.frozen, Load15M: other.load, Heard: true}
		switch known := m.known[name]; {
		case name == m.name:
			s, v := m.status, m.monitor
			n.Status, n.Monitor = &s, &v
		case c.cut[name] || c.cut[m.name]:
			n = orchestrate.Node{Heard: true, Stale: true}
		default:
			n.Status, n.Monitor = known.status, known.monitor
			n.Unacked = known.acks[m.name] < m.version
		}
		w.Nodes[name] = n
	}
	if c.edit != nil {
		c.edit(&w)
	}
	return w
}

// decide lets a node decide once; false when that changed nothing.
func (c *crowd) decide(m *member) bool {
	if job := m.local.Job; job != nil && job.State == orchestrate.JobRunning && !c.now.Before(m.ends) {
		c.finish(m)
	}
	d := orchestrate.Decide(c.world(m))
	changed := d.Action.Verb != "" || d.Ended != "" || (m.local.Job == nil) != (d.Job == nil) || told1(m.monitor) != told1(d.Monitor)
	m.because = d.Because
	if changed {
		m.version++
	}
	if d.Ended != "" {
		m.ended = append(m.ended, strings.TrimSpace(m.monitor.GlobalExpect+" "+d.Ended+" "+d.Why))
	}
	m.monitor, m.local.Memory, m.local.Job, m.wake = d.Monitor, d.Memory, d.Job, d.WakeAt
	if d.Action.Verb != "" {
		c.deeds = append(c.deeds, fmt.Sprintf("%s %s", m.name, d.Action))
		m.ends = c.now
		if d.Action.Verb.Forks() {
			m.ends = c.now.Add(m.takes)
		}
	}
	return changed
}

func told1(m cluster.InstanceMonitor) string {
	return fmt.Sprint(m.State, m.GlobalExpect, m.OrchestrationID, m.OrchestrationIsDone, m.LocalExpect, len(m.Ended), m.StateUpdatedAt)
}

func (c *crowd) finish(m *member) {
	job := *m.local.Job
	job.State = orchestrate.JobSucceeded
	m.version++
	if m.failing[job.Action.Verb] {
		job.State, job.Reason = orchestrate.JobFailed, "exit status 1"
		m.local.Job = &job
		return
	}
	switch job.Action.Verb {
	case orchestrate.Start, orchestrate.Provision:
		if job.Action.Verb == orchestrate.Provision {
			m.status.Provisioned = cluster.ProvisionedTrue
		}
		if job.Action.Verb == orchestrate.Start || job.Action.Leader {
			m.set(cluster.Up)
		}
	case orchestrate.Stop, orchestrate.Shutdown:
		m.set(cluster.Down)
	case orchestrate.Unprovision:
		m.set(cluster.Down)
		m.status.Provisioned = cluster.ProvisionedFalse
	case orchestrate.Freeze:
		m.status.FrozenAt = c.now
	case orchestrate.Unfreeze:
		m.status.FrozenAt = time.Time{}
	case orchestrate.Hold:
		m.status.StoppedAt = c.now
	case orchestrate.Release:
		m.status.StoppedAt = time.Time{}
	case orchestrate.StartStandby, orchestrate.Delete, orchestrate.Boot, orchestrate.RecordBoot, orchestrate.Prepare, orchestrate.Reboot,
		orchestrate.Crash, orchestrate.Fence, orchestrate.Drain, orchestrate.FreezeInstances:
	}
	m.local.Job = &job
}

// settle decides until nothing changes.
func (c *crowd) settle() {
	c.t.Helper()
	for range 500 {
		changed := false
		for _, name := range c.names {
			if c.decide(c.members[name]) {
				changed = true
			}
			if !c.slow {
				c.deliverAll()
			}
		}
		if !changed {
			return
		}
	}
	c.t.Fatalf("it does not settle: %v", c.deeds)
}

// pass lets time go by.
func (c *crowd) pass(d time.Duration) {
	c.t.Helper()
	until := c.now.Add(d)
	for {
		c.settle()
		next := until
		for _, m := range c.members {
			for _, at := range []time.Time{m.ends, m.wake} {
				if at.After(c.now) && at.Before(next) {
					next = at
				}
			}
		}
		if !next.After(c.now) {
			return
		}
		c.now = next
	}
}

// ask gives the object a goal, by a node, and lets the goal end.
func (c *crowd) ask(node, goal string, options map[string]any) error {
	c.t.Helper()
	m := c.members[node]
	c.ids++
	v, err := orchestrate.Accept(c.world(m), goal, options, fmt.Sprintf("o%d", c.ids))
	if err != nil {
		return err
	}
	m.monitor = v
	m.version++
	if !c.slow {
		c.deliverAll()
	}
	return nil
}

// must asks, and lets enough time go by for the goal to end.
func (c *crowd) must(node, goal string, options map[string]any) {
	c.t.Helper()
	if err := c.ask(node, goal, options); err != nil {
		c.t.Fatal(err)
	}
	c.pass(time.Minute)
}

// where are the nodes whose instance is up.
func (c *crowd) where() []string {
	var all []string
	for _, name := range c.names {
		if c.members[name].status.Avail == cluster.Up {
			all = append(all, name)
		}
	}
	return all
}

// expect checks what was done since the last time, and where the object runs.
func (c *crowd) expect(where []string, deeds ...string) {
	c.t.Helper()
	if got := c.where(); !slices.Equal(got, where) {
		c.t.Errorf("it runs on %q, want %q; %v", got, where, c.reasons())
	}
	if !slices.Equal(c.deeds, deeds) {
		c.t.Errorf("done: %q, want %q; %v", c.deeds, deeds, c.reasons())
	}
	c.deeds = nil
}

func (c *crowd) reasons() string {
	var all []string
	for _, name := range c.names {
		m := c.members[name]
		all = append(all, fmt.Sprintf("\n%s: %s %s %v", name, m.monitor.State, m.monitor.GlobalExpect, m.because))
	}
	return strings.Join(all, "")
}

// ends checks how the last orchestration ended, on every node.
func (c *crowd) ends(want string) {
	c.t.Helper()
	for _, name := range c.names {
		if c.cut[name] {
			continue
		}
		all := c.members[name].ended
		if len(all) == 0 || all[len(all)-1] != want {
			c.t.Errorf("%s: ended %q, want %q; %v", name, all, want, c.reasons())
		}
	}
}

func (c *crowd) states() map[string]string {
	all := map[string]string{}
	for name, m := range c.members {
		all[name] = m.monitor.State
	}
	return maps.Clone(all)
}
