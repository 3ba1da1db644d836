package instance

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/command/grid"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// Tree draws the instances of an object, by node, with their resources. An
// instance without a monitor is one no daemon looks after.
func Tree(p object.Path, instances map[string]cluster.Instance) *grid.Node {
	root := &grid.Node{Cells: []grid.Cell{grid.Text(p.String(), grid.Strong)}}
	list := root.Add(grid.Text("instances", grid.Plain))
	for _, node := range slices.Sorted(maps.Keys(instances)) {
		addInstance(list, node, instances[node])
	}
	return root
}

func addInstance(list *grid.Node, node string, i cluster.Instance) {
	status := cluster.InstanceStatus{}
	if i.Status != nil {
		status = *i.Status
	}
	branch := list.Add(grid.Text(node, grid.Strong), nil, statusCell(status.Avail), remarks(i, status))
	if i.Config != nil {
		for _, issue := range i.Config.Issues {
			branch.Remarks = append(branch.Remarks, grid.Text("error: "+issue, grid.Bad))
		}
	}
	if len(status.Resources) == 0 {
		return
	}
	resources := branch.Add(grid.Text("resources", grid.Plain))
	for _, rid := range slices.SortedFunc(maps.Keys(status.Resources), compareRID) {
		r := status.Resources[rid]
		row := resources.Add(
			grid.Text(rid, grid.Plain),
			grid.Text(flags(i, rid, r), grid.Plain),
			statusCell(r.Status),
			grid.Text(label(r), grid.Plain))
		for _, entry := range r.Log {
			row.Remarks = append(row.Remarks, logCell(entry))
		}
	}
}

// label says what a resource is, by the name of its driver when the driver says nothing.
func label(r cluster.ResourceStatus) string {
	if text := strings.TrimSpace(r.Label); text != "" {
		return text
	}
	_, driver, _ := strings.Cut(r.Type, ".")
	return driver
}

// remarks says what a status word does not: a warning, the flags set by hand,
// and what the monitor does.
func remarks(i cluster.Instance, status cluster.InstanceStatus) grid.Cell {
	var words grid.Cell
	say := func(text string, style grid.Style) {
		if len(words) > 0 {
			words = append(words, grid.Span{Text: " "})
		}
		words = append(words, grid.Span{Text: text, Style: style})
	}
	if status.Overall.Plain() == cluster.Warn && status.Avail.Plain() != cluster.Warn {
		say("warn", grid.Warn)
	}
	if i.Config != nil && i.Config.Disabled {
		say("disabled", grid.Warn)
	}
	if !status.FrozenAt.IsZero() {
		say("frozen", grid.Title)
	}
	if !status.StoppedAt.IsZero() {
		say("stopped", grid.Plain)
	}
	switch status.Provisioned {
	case cluster.ProvisionedFalse:
		say("not-provisioned", grid.Bad)
	case cluster.ProvisionedMixed:
		say("mixed-provisioned", grid.Bad)
	case cluster.ProvisionedUndef, cluster.ProvisionedNotApplicable, cluster.ProvisionedTrue:
	}
	if i.Monitor == nil {
		say("no-monitor", grid.Faint)
		return words
	}
	style := grid.Plain
	if strings.HasSuffix(i.Monitor.State, " failed") {
		style = grid.Bad
	}
	say(i.Monitor.State, style)
	if e := i.Monitor.GlobalExpect; e != "" && e != "none" && e != "init" {
		say(">"+e, grid.Strong)
	}
	return words
}

func statusCell(s cluster.Status) grid.Cell { return grid.Text(s.String(), StatusStyle(s)) }

// StatusStyle is the colour of a status.
func StatusStyle(s cluster.Status) grid.Style {
	switch s.Plain() {
	case cluster.Up, cluster.StandbyUp:
		return grid.Good
	case cluster.Down, cluster.StandbyDown:
		return grid.Bad
	case cluster.Warn:
		return grid.Warn
	case cluster.Undef, cluster.NotApplicable, cluster.StandbyUpWithUp, cluster.StandbyUpWithDown:
	}
	return grid.Faint
}

func logCell(entry cluster.ResourceLogEntry) grid.Cell {
	style := grid.Plain
	switch entry.Level {
	case "error":
		style = grid.Bad
	case "warn":
		style = grid.Warn
	}
	return grid.Text(entry.Level+": "+entry.Message, style)
}

// flags draws the marks of a resource, with the restarts the monitor has left
// in place of the configured ones.
func flags(i cluster.Instance, rid string, r cluster.ResourceStatus) string {
	if i.Monitor != nil {
		if m, ok := i.Monitor.Resources[rid]; ok {
			r.Restart = m.Restart.Remaining
		}
	}
	return cluster.ResourceFlags(r)
}

// groupOrder lists the resource groups in start order.
const groupOrder = "ip volume disk fs share container app sync task"

// compareRID orders resource ids as they start, then by index.
func compareRID(a, b string) int {
	groupA, indexA, _ := strings.Cut(a, "#")
	groupB, indexB, _ := strings.Cut(b, "#")
	numberA, errA := strconv.Atoi(indexA)
	numberB, errB := strconv.Atoi(indexB)
	byIndex := strings.Compare(indexA, indexB)
	if errA == nil && errB == nil {
		byIndex = cmp.Compare(numberA, numberB)
	}
	return cmp.Or(cmp.Compare(groupRank(groupA), groupRank(groupB)), strings.Compare(groupA, groupB), byIndex)
}

func groupRank(group string) int {
	if i := slices.Index(strings.Fields(groupOrder), group); i >= 0 {
		return i
	}
	return len(groupOrder)
}
