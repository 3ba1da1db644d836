package instance

import (
	"slices"
	"strings"

	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/store"
)

// NodeJob is a job of the node, whose schedule keyword is in a section.
type NodeJob struct {
	Action, Section string
	Command         []string // what runs it, as typed after om; nil: this agent has no such action
}

// NodeJobs are the jobs every node has.
func NodeJobs() []NodeJob {
	return []NodeJob{
		{"pushasset", "asset", []string{"node", "push", "asset"}},
		{"checks", "checks", []string{"node", "checks"}},
		{"compliance_auto", "compliance", nil},
		{"pushdisks", "disks", []string{"node", "push", "disk"}},
		{"pushpkg", "packages", []string{"node", "push", "pkg"}},
		{"pushpatch", "patches", nil},
		{"sysreport", "sysreport", []string{"node", "sysreport"}},
		{"collect_stats", "stats", nil},
	}
}

// NodeCommands are the command lines of the jobs of the node there are, by action.
func NodeCommands() map[string][]string {
	commands := map[string][]string{}
	for _, j := range NodeJobs() {
		if j.Command != nil {
			commands[j.Action] = j.Command
		}
	}
	return commands
}

// noAction is why a job of the node never runs.
const noAction = "this agent has no such action"

// NodeSchedules are the jobs of the node, as its configuration says. What cannot
// be evaluated is a job that never runs, and says why.
func NodeSchedules(s *store.Store) ([]cluster.ScheduleConfig, error) {
	doc, err := s.Merged()
	if err != nil {
		return nil, err
	}
	ev, err := s.Evaluator(object.Path{}, doc, "")
	if err != nil {
		return nil, err
	}
	list := []cluster.ScheduleConfig{}
	add := func(j NodeJob) {
		c := job(j.Action, j.Section+".schedule", "")
		o, ok := ev.Options(j.Section, "schedule")
		if !ok {
			return
		}
		if j.Command == nil {
			c.Unavailable = noAction
		}
		var err error
		if c.Schedule, _, err = ev.Value(j.Section, o); err != nil {
			c.Unavailable = err.Error()
		}
		list = append(list, c)
	}
	for _, j := range NodeJobs() {
		add(j)
	}
	of := map[string]string{"array": "pusharray", "switch": "pushswitch", "backup": "pushbackup"}
	sections := doc.Sections()
	slices.Sort(sections)
	for _, section := range sections {
		group, _, indexed := strings.Cut(section, "#")
		if action := of[group]; indexed && action != "" {
			add(NodeJob{Action: action, Section: section})
		}
	}
	return list, nil
}
