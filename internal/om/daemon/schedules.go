package daemon

import (
	"slices"
	"strings"

	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/config"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// nodeJob is a job of the node, whose schedule keyword is in a section.
type nodeJob struct {
	action, section string
	command         []string // what runs it; nil: this agent has no such action
}

func nodeJobs() []nodeJob {
	return []nodeJob{
		{"pushasset", "asset", nil},
		{"checks", "checks", nil},
		{"compliance_auto", "compliance", nil},
		{"pushdisks", "disks", nil},
		{"pushpkg", "packages", nil},
		{"pushpatch", "patches", nil},
		{"sysreport", "sysreport", nil},
		{"collect_stats", "stats", nil},
	}
}

// nodeCommands are the command lines of the jobs of the node there are, by action.
func nodeCommands() map[string][]string {
	commands := map[string][]string{}
	for _, j := range nodeJobs() {
		if j.command != nil {
			commands[j.action] = j.command
		}
	}
	return commands
}

// indexedJobs are the sections each of which is a job.
func indexedJobs() map[string]string {
	return map[string]string{"array": "pusharray", "switch": "pushswitch", "backup": "pushbackup"}
}

// schedules are the jobs of the node. What cannot be evaluated is one that never
// runs, and says why.
func (s settings) schedules() ([]cluster.ScheduleConfig, error) {
	doc, err := s.store.Merged()
	if err != nil {
		return nil, err
	}
	ev, err := s.store.Evaluator(object.Path{}, doc, "")
	if err != nil {
		return nil, err
	}
	list := []cluster.ScheduleConfig{}
	add := func(action, section string) {
		c := cluster.ScheduleConfig{Action: action, Key: section + ".schedule", MaxParallel: 1}
		o, ok := ev.Options(section, "schedule")
		if !ok {
			return
		}
		var err error
		if c.Schedule, _, err = ev.Value(section, o); err != nil {
			c.Unavailable = err.Error()
		}
		list = append(list, c)
	}
	for _, j := range nodeJobs() {
		add(j.action, j.section)
	}
	sections := doc.Sections()
	slices.Sort(sections)
	for _, section := range sections {
		group, _, _ := strings.Cut(section, "#")
		if action, ok := indexedJobs()[group]; ok && section != config.DefaultSection {
			add(action, section)
		}
	}
	return list, nil
}
