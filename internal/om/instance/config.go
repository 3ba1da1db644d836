package instance

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/schema"
)

// Config returns the configuration of the instance as this node evaluates it.
// Keywords that cannot be evaluated are told in its issues; only a configuration
// that cannot be read is an error.
func (e *Engine) Config(p object.Path) (cluster.InstanceConfig, error) {
	file, err := e.Store.Load(p)
	if err != nil {
		return cluster.InstanceConfig{}, err
	}
	c := cluster.InstanceConfig{
		Path: p, Nodename: e.Host.Hostname, Checksum: file.Checksum, UpdatedAt: file.ModTime,
		Children: []string{}, Parents: []string{}, MonitorAction: []string{}, Scope: []string{}, Schedules: jobs(p.Kind, &schema.ObjectSettings{StatusSchedule: defaultStatus}),
		Resources: map[string]cluster.ResourceConfig{}, Subsets: map[string]cluster.Subset{},
	}
	l, err := e.loadFrom(e.Store, p, Request{Action: "status"})
	var elsewhere *NotFoundError
	switch {
	case errors.As(err, &elsewhere):
		return c, err
	case err != nil:
		c.Issues = strings.Split(err.Error(), "\n")
		return c, nil
	}
	describe(&c, l.settings, e.Host.Hostname)
	for name, s := range l.subsets {
		c.Subsets["subset#"+name] = cluster.Subset{Parallel: s.Parallel}
	}
	c.Schedules = jobs(p.Kind, l.settings)
	monitored := false
	for _, m := range l.resources {
		monitored = monitored || m.Common.Monitor && !m.Common.Disable
		c.Schedules = append(c.Schedules, m.jobs()...)
		if m.err != nil {
			c.Issues = append(c.Issues, strings.Split(m.err.Error(), "\n")...)
		}
		c.Resources[m.RID] = cluster.ResourceConfig{
			IsDisabled: m.Common.Disable, IsMonitored: m.Common.Monitor, IsStandby: m.Common.Standby,
			Restart: m.Common.Restart, RestartDelay: m.Common.RestartDelay,
		}
	}
	if monitored && p.Kind.Runs() {
		c.Schedules = append(c.Schedules, job(cluster.JobMonitor, "monitor_schedule", l.settings.MonitorSchedule))
	}
	if c.Disabled {
		for i := range c.Schedules {
			c.Schedules[i].Unavailable = cmp.Or(c.Schedules[i].Unavailable, "the object is disabled")
		}
	}
	return c, nil
}

func describe(c *cluster.InstanceConfig, s *schema.ObjectSettings, node string) {
	c.ID, c.App, c.Env, c.Disabled = s.ID, s.App, s.Env, s.Disable
	c.Children, c.Parents = notNil(s.Children), notNil(s.Parents)
	c.MonitorAction, c.PreMonitorAction = notNil(s.MonitorAction), s.PreMonitorAction
	c.Orchestrate, c.PlacementPolicy, c.Topology, c.Priority = s.Orchestrate, s.Placement, s.Topology, s.Priority
	c.Stonith, c.StonithBestEffort = s.Stonith, s.StonithBestEffort
	c.HardAffinity, c.HardAntiAffinity = s.HardAffinity, s.HardAntiAffinity
	c.SoftAffinity, c.SoftAntiAffinity = s.SoftAffinity, s.SoftAntiAffinity
	c.Scope = slices.Concat(s.Nodes, s.DRPNodes)
	c.Drp = slices.Contains(s.DRPNodes, node)
	if s.Topology == "flex" {
		c.Flex = &cluster.Flex{Min: s.FlexMin, Max: s.FlexMax, Target: s.FlexTarget}
	}
}
