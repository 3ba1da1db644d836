package simulate

import (
	"slices"
	"strings"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/orchestrate"
)

// machine is an instance as it is, whatever the daemon knows of it: its
// configuration, its flags, its resources, and the process that acts on it.
type machine struct {
	object Object
	config *cluster.InstanceConfig
	absent bool // the configuration was deleted

	resources   []part
	provisioned cluster.Provisioned
	frozenAt    time.Time
	stoppedAt   time.Time
	startedAt   time.Time
	boot        string // that the boot action was run for

	process *process
	jobs    int // counts processes
	shut    int // the daemon that shut it down on its way out
	manners map[orchestrate.Verb]manner
}

// part is a resource.
type part struct {
	resource
	standby  bool
	disabled bool
	up       bool
	broken   bool // dies again as soon as it is started
	stopped  bool
}

// process is an action under way. It is replaced, never changed.
type process struct {
	action orchestrate.Action
	life   int // of the daemon that started it; -1 for a command typed by hand
	gen    int
	oid    string
}

// manner is how an action behaves.
type manner struct {
	fails bool
	takes time.Duration
	hangs bool
}

func newMachine(o Object, c *cluster.InstanceConfig, resources []resource) *machine {
	m := &machine{object: o, provisioned: cluster.ProvisionedTrue, boot: "boot0"} // the cluster has lived before the world began
	m.configure(c, resources)
	return m
}

// configure takes another configuration. What ran goes on.
func (m *machine) configure(c *cluster.InstanceConfig, resources []resource) {
	old := m.resources
	m.config, m.resources = c, nil
	for _, r := range resources {
		p := part{resource: r, standby: c.Resources[r.rid].IsStandby, disabled: c.Resources[r.rid].IsDisabled || c.Disabled}
		if i := slices.IndexFunc(old, func(p part) bool { return p.rid == r.rid }); i >= 0 {
			p.up, p.broken, p.stopped = old[i].up, old[i].broken, old[i].stopped
		}
		m.resources = append(m.resources, p)
	}
}

func (p part) status() cluster.Status {
	switch {
	case p.blind || p.disabled:
		return cluster.NotApplicable
	case p.standby && p.up:
		return cluster.StandbyUp
	case p.standby:
		return cluster.StandbyDown
	case p.up:
		return cluster.Up
	}
	return cluster.Down
}

func (p part) group() string {
	group, _, _ := strings.Cut(p.rid, "#")
	return group
}

func (p part) counts() bool { return !p.optional && p.group() != "sync" && p.group() != "task" }

// status is what an evaluation finds.
func (m *machine) status(kind object.Kind, at time.Time) *cluster.InstanceStatus {
	s := &cluster.InstanceStatus{
		Avail: cluster.NotApplicable, Overall: cluster.NotApplicable, Provisioned: m.provisioned,
		FrozenAt: m.frozenAt, StoppedAt: m.stoppedAt, LastStartedAt: m.startedAt, UpdatedAt: at,
		Resources: make(map[string]cluster.ResourceStatus, len(m.resources)),
	}
	if !kind.Runs() {
		s.Provisioned = cluster.ProvisionedNotApplicable
		return s
	}
	for _, p := range m.resources {
		status := p.status()
		s.Resources[p.rid] = cluster.ResourceStatus{Status: status, Standby: p.standby, Optional: p.optional, Disable: p.disabled, Stopped: p.stopped}
		s.Overall = cluster.Merge(s.Overall, status)
		if p.counts() {
			s.Avail = cluster.Merge(s.Avail, status)
		}
	}
	s.Avail, s.Overall = s.Avail.Plain(), s.Overall.Plain()
	return s
}

// active reports whether something of the instance runs that only one node may
// run, or is being started or stopped.
func (m *machine) active() bool {
	if m == nil {
		return false
	}
	if p := m.process; p != nil && (p.action.Verb == orchestrate.Start || p.action.Verb == orchestrate.Provision) {
		return true
	}
	return slices.ContainsFunc(m.resources, func(p part) bool { return p.up && !p.standby })
}

// fall is the end of everything that ran: the node went down.
func (m *machine) fall() {
	for i := range m.resources {
		m.resources[i].up = false
	}
	m.process = nil
}

// effect is what an action that went well leaves.
func (m *machine) effect(a orchestrate.Action, at time.Time, boot string) {
	switch a.Verb {
	case orchestrate.Start, orchestrate.StartStandby, orchestrate.Provision:
		for i := range m.resources {
			p := &m.resources[i]
			if p.disabled || !p.standby && a.Verb == orchestrate.StartStandby || len(a.RID) > 0 && !slices.Contains(a.RID, p.rid) {
				continue
			}
			p.up, p.stopped = !p.broken, false
		}
		if a.Verb != orchestrate.StartStandby && len(a.RID) == 0 {
			m.startedAt = at
		}
		if a.Verb == orchestrate.Provision {
			m.provisioned = cluster.ProvisionedTrue
			if !a.Leader {
				m.down(false)
			}
		}
	case orchestrate.Stop:
		m.down(false)
	case orchestrate.Shutdown:
		m.down(true)
	case orchestrate.Unprovision:
		m.down(true)
		m.provisioned = cluster.ProvisionedFalse
	case orchestrate.Delete:
		m.absent = true
	case orchestrate.Freeze:
		m.frozenAt = at
	case orchestrate.Unfreeze:
		m.frozenAt = time.Time{}
	case orchestrate.Hold:
		m.stoppedAt = at
	case orchestrate.Release:
		m.stoppedAt = time.Time{}
	case orchestrate.RecordBoot:
		m.boot = boot
	case orchestrate.Boot, orchestrate.Prepare, orchestrate.Reboot, orchestrate.Crash, orchestrate.Fence,
		orchestrate.Drain, orchestrate.FreezeInstances:
	}
}

func (m *machine) down(standby bool) {
	for i := range m.resources {
		if p := &m.resources[i]; standby || !p.standby {
			p.up = false
		}
	}
}

// describe is the instance in a word or two.
func (m *machine) describe() string {
	s := m.status(object.KindSvc, time.Time{}).Avail.String()
	if m.process != nil {
		s += " (" + string(m.process.action.Verb) + ")"
	}
	if !m.frozenAt.IsZero() {
		s += " frozen"
	}
	if !m.stoppedAt.IsZero() {
		s += " stopped"
	}
	return s
}

func (m *machine) clone() *machine {
	c := *m
	c.resources = slices.Clone(m.resources)
	return &c
}
