package resource

import (
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/config"
	"github.com/holdfast-ops/holdfast/internal/om/keyword"
)

// Common are the settings every resource has, whatever its driver.
type Common struct {
	Desc         string
	Tags         []string
	Subset       string
	Disable      bool
	Optional     bool
	Monitor      bool
	Standby      bool
	Shared       bool
	Encap        bool
	Restart      int
	RestartDelay time.Duration

	Provision   bool // false: the resource is made by hand
	Unprovision bool // false: the resource is destroyed by hand

	StartRequires       string
	StopRequires        string
	ProvisionRequires   string
	UnprovisionRequires string
	RunRequires         string

	Triggers Triggers
}

// Triggers are the commands run around an action, by the word of their keyword:
// "blocking_pre_start", "post_stop"... Those not set are empty.
type Triggers map[string]*string

// Command returns the trigger of a phase ("pre" or "post") of an action.
func (t Triggers) Command(phase, action string, blocking bool) string {
	name := phase + "_" + action
	if blocking {
		name = "blocking_" + name
	}
	if command := t[name]; command != nil {
		return *command
	}
	return ""
}

// Table binds the settings of a resource: those common to all that make sense
// for what the driver can do, then those of the driver.
func Table(c *Common, d Driver) *keyword.Table {
	t := &keyword.Table{}
	c.declare(t, d)
	d.Keywords(t)
	return t
}

func (c *Common) declare(t *keyword.Table, d Driver) {
	if _, ok := d.(Starter); ok {
		t.String(&c.Desc, "desc", "Says in a few words what the resource is for. It is shown in the resource info.").Scopable().Eg("front end of the shop")
	}
	t.Set(&c.Tags, "tags", "Words that designate the resource in the --tag option of the actions.").Scopable().Eg("web critical")
	t.String(&c.Subset, "subset", "The subset the resource belongs to. The resources of a group that share a subset are acted upon together, and at the same time when the subset says parallel.").Scopable().Eg("workers").Check(keyword.Word)
	t.Bool(&c.Disable, "disable", "A disabled resource is left alone by every action, and its status is n/a.").Scopable()
	t.Bool(&c.Optional, "optional", "The failure of an optional resource neither stops nor undoes an action, and its status does not count in the availability of the instance.").Scopable().Inherit(config.HeadToLeaf)
	t.Bool(&c.Encap, "encap", "The resource lives inside the container of the service, where another agent manages it.")
	t.Bool(&c.Shared, "shared", "The resource is the same thing on every node: it is provisioned and unprovisioned once, by the leader.").Scopable()
	t.Bool(&c.Provision, "provision", "When false, the resource is made by hand: provisioning the object checks that it is flagged provisioned.").Default("true")
	t.Bool(&c.Unprovision, "unprovision", "When false, the resource is left in place when the object is unprovisioned.").Default("true")
	requires := func(p *string, name, help string) *keyword.Keyword {
		return t.String(p, name, help).Check(checkRequirements).Sections(required)
	}
	requires(&c.ProvisionRequires, "provision_requires", requiresHelp("provision")).Eg("disk#1(up)")
	requires(&c.UnprovisionRequires, "unprovision_requires", requiresHelp("unprovision")).Eg("app#1(down)")
	t.Bool(&c.Monitor, "monitor", "When a monitored resource is down and its restarts are used up, the monitor_action of the object is executed.").Scopable()
	t.Bool(&c.Standby, "standby", "A standby resource is up on every node of the object, whether the instance is started there or not.").Scopable()
	c.trigger(t, "provision")
	c.trigger(t, "unprovision")
	if _, ok := d.(Starter); ok {
		t.Int(&c.Restart, "restart", "How many times the daemon starts the resource again when it is seen down, before it gives up and runs monitor_action if the resource is monitored. The count starts again once the resource has stayed up for a minute, or when somebody asks for a start.").AtLeast(0).Default("0").Scopable().Eg("2")
		t.Duration(&c.RestartDelay, "restart_delay", "The least time between two restarts of the resource by the daemon.").Default("500ms").Scopable()
		requires(&c.StartRequires, "start_requires", requiresHelp("start")).Eg("ip#1 fs#1(up)")
		requires(&c.StopRequires, "stop_requires", requiresHelp("stop")).Eg("app#1(down,n/a)")
		c.trigger(t, "start")
		c.trigger(t, "stop")
	}
	if _, ok := d.(Runner); ok {
		requires(&c.RunRequires, "run_requires", "The states of other resources without which the task refuses to run, as rid(state,...) separated by blanks. States left out mean up or stdby up.").Eg("fs#1(up)")
		c.trigger(t, "run")
	}
}

func requiresHelp(action string) string {
	return "The states of other resources the " + action + " of this one waits for, as rid(state,...) separated by blanks. States left out mean up or stdby up."
}

// trigger declares the four commands run around an action.
func (c *Common) trigger(t *keyword.Table, action string) {
	for _, phase := range []string{"pre", "post"} {
		when := map[string]string{"pre": "before", "post": "after"}[phase]
		bind := func(name, failure string) {
			command := new(string)
			if c.Triggers == nil {
				c.Triggers = Triggers{}
			}
			c.Triggers[name] = command
			t.String(command, name, "A command run "+when+" the "+action+" of the resource. "+failure+
				" It is executed without a shell, unless it holds a pipe, && or ;.").Check(keyword.Command).Scopable().Eg("/usr/bin/logger " + action)
		}
		bind("blocking_"+phase+"_"+action, "Its failure fails the action.")
		bind(phase+"_"+action, "Its failure is only logged.")
	}
}
