package tui

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-ops/holdfast/internal/cli/iostreams"
	"github.com/holdfast-ops/holdfast/internal/cli/screen"
	"github.com/holdfast-ops/holdfast/internal/cli/watch"
	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/command/grid"
	"github.com/holdfast-ops/holdfast/internal/om/command/instance"
	"github.com/holdfast-ops/holdfast/internal/om/command/monitor"
)

func (m Model) object(path string) []screen.Line {
	o, ok := m.status.Cluster.Object[path]
	if !ok {
		return m.gone(path)
	}
	lines := facts([][2]string{
		{"available", o.Avail.String()},
		{"overall", o.Overall.String()},
		{"provisioned", o.Provisioned.String()},
		{"frozen", o.Frozen},
		{"orchestrate", o.Orchestrate},
		{"topology", shape(o)},
		{"placement", join(o.PlacementPolicy, o.PlacementState)},
		{"priority", strconv.Itoa(o.Priority)},
		{"nodes", strings.Join(o.Scope, " ")},
	})
	lines = append(lines, screen.Line{}, heading("Instances"))
	nodes := m.instancesOf(path)
	rows := make([][]grid.Cell, len(nodes))
	for i, n := range nodes {
		inst := o.Instances[n]
		rows[i] = []grid.Cell{grid.Text(n, grid.Strong), monitor.Marks(inst), avail(inst), instance.Remarks(inst), grid.Text(m.age(inst), grid.Faint)}
	}
	lines = append(lines, columns(rows, m.at())...)
	if node := m.selection(); node != "" {
		lines = append(lines, screen.Line{}, heading("Resources on "+node))
		lines = append(lines, m.resources(path, node, none)...)
	}
	return lines
}

// none is no selected row.
const none = -1

func shape(o cluster.Object) string {
	text := o.Topology
	if o.Topology == "flex" && o.Flex != nil {
		text += fmt.Sprintf(" %d to %d, %d wanted", o.Flex.Min, o.Flex.Max, o.Flex.Target)
	}
	if o.Topology != "" {
		text += fmt.Sprintf(", %d up", o.UpInstancesCount)
	}
	return text
}

func avail(i cluster.Instance) grid.Cell {
	if i.Status == nil {
		return grid.Text("not known", grid.Faint)
	}
	return instance.StatusCell(i.Status.Avail)
}

// age is how old what is known of an instance is.
func (m Model) age(i cluster.Instance) string {
	if i.Status == nil || i.Status.UpdatedAt.IsZero() {
		return ""
	}
	return ago(m.now.Sub(i.Status.UpdatedAt)) + " ago"
}

// facts are lines of a name and a value, without those that are not known.
func facts(list [][2]string) []screen.Line {
	var lines []screen.Line
	for _, f := range list {
		if f[1] != "" {
			lines = append(lines, screen.Line{{Text: fmt.Sprintf("  %-14s", f[0]), Style: iostreams.Faint}, {Text: f[1]}})
		}
	}
	return lines
}

func (m Model) instanceLines(path, node string) []screen.Line {
	i, ok := m.status.Cluster.Object[path].Instances[node]
	if !ok {
		return m.gone("the instance of " + path + " on " + node)
	}
	var list [][2]string
	if s := i.Status; s != nil {
		list = append(
			list,
			[2]string{"available", s.Avail.String()}, [2]string{"overall", s.Overall.String()}, [2]string{"provisioned", s.Provisioned.String()},
			[2]string{"frozen", m.moment(s.FrozenAt)}, [2]string{"stopped", m.moment(s.StoppedAt)}, [2]string{"started", m.moment(s.LastStartedAt)},
			[2]string{"evaluated", m.moment(s.UpdatedAt)})
	}
	if mon := i.Monitor; mon != nil {
		list = append(
			list,
			[2]string{"monitor", join(mon.State, expectation(mon.GlobalExpect))}, [2]string{"local goal", join(mon.LocalExpect)},
			[2]string{"leader", yes(mon.IsLeader)})
	}
	lines := facts(list)
	if i.Config != nil {
		for _, issue := range i.Config.Issues {
			lines = append(lines, screen.Line{{Text: "  error: " + oneLine(issue), Style: iostreams.Red}})
		}
	}
	return append(append(lines, screen.Line{}, heading("Resources")), m.resources(path, node, m.at())...)
}

func expectation(goal string) string {
	if goal == "" || goal == "none" || goal == "init" {
		return ""
	}
	return ">" + goal
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return ""
}

// moment is a time and how long ago it was.
func (m Model) moment(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Local().Format(time.DateTime) + ", " + ago(m.now.Sub(t)) + " ago"
}

// resources draws the resources of an instance, with what they say.
func (m Model) resources(path, node string, at int) []screen.Line {
	i := m.instance(path, node)
	rids := m.resourcesOf(path, node)
	if len(rids) == 0 {
		return []screen.Line{faint("none")}
	}
	rows := make([][]grid.Cell, len(rids))
	for n, rid := range rids {
		r := i.Status.Resources[rid]
		rows[n] = []grid.Cell{
			grid.Text(rid, grid.Strong), grid.Text(instance.Flags(i, rid), grid.Plain), instance.StatusCell(r.Status), grid.Text(instance.Label(r), grid.Plain),
		}
	}
	drawn := columns(rows, at)
	if at == none {
		for n := range drawn {
			drawn[n][0].Text = "   " // no row of a list
		}
	}
	var lines []screen.Line
	for n, rid := range rids {
		lines = append(lines, drawn[n])
		for _, entry := range i.Status.Resources[rid].Log {
			line := screen.Line{{Text: "    "}}
			lines = append(lines, append(line, spans(instance.LogCell(entry), false)...))
		}
	}
	return lines
}

func (m Model) resource(path, node, rid string, width int) []screen.Line {
	i := m.instance(path, node)
	if i.Status == nil {
		return m.gone("the instance of " + path + " on " + node)
	}
	r, ok := i.Status.Resources[rid]
	if !ok {
		return m.gone(rid + " of " + path + " on " + node)
	}
	var flags []string
	for _, f := range []struct {
		set  bool
		name string
	}{
		{r.Running, "running"},
		{r.Monitor, "monitored"},
		{r.Disable, "disabled"},
		{r.Optional, "optional"},
		{r.Encap, "encapsulated"},
		{r.Standby, "standby"},
		{r.Stopped, "stopped on purpose"},
	} {
		if f.set {
			flags = append(flags, f.name)
		}
	}
	list := [][2]string{
		{"status", r.Status.String()},
		{"type", r.Type},
		{"label", r.Label},
		{"flags", strings.Join(flags, ", ")},
		{"provisioned", join(r.Provisioned.State.String(), m.moment(r.Provisioned.Mtime))},
		{"subset", r.Subset},
		{"tags", strings.Join(r.Tags, " ")},
	}
	if r.Restart > 0 {
		left := r.Restart
		if i.Monitor != nil {
			if mon, ok := i.Monitor.Resources[rid]; ok {
				left = mon.Restart.Remaining
			}
		}
		list = append(list, [2]string{"restarts", fmt.Sprintf("%d left of %d", left, r.Restart)})
	}
	lines := facts(list)
	if len(r.Log) > 0 {
		lines = append(lines, screen.Line{}, heading("What it says"))
		for _, entry := range r.Log {
			lines = append(lines, wrapped(instance.LogCell(entry), width)...)
		}
	}
	if len(r.Info) > 0 {
		lines = append(lines, screen.Line{}, heading("What it is made of"))
		for _, key := range slices.Sorted(maps.Keys(r.Info)) {
			lines = append(lines, wrapped(grid.Text(key+"  "+value(r.Info[key]), grid.Plain), width)...)
		}
	}
	return lines
}

// value prints what a resource publishes.
func value(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(text)
}

// wrapped folds a cell at the width.
func wrapped(c grid.Cell, width int) []screen.Line {
	style := grid.Plain
	if len(c) > 0 {
		style = c[0].Style
	}
	var lines []screen.Line
	for _, text := range fold(c.String(), width-4) {
		lines = append(lines, screen.Line{{Text: rowMark}, {Text: text, Style: style}})
	}
	return lines
}

// fold cuts a text into lines of a width.
func fold(text string, width int) []string {
	width = max(width, 8)
	var lines []string
	var line strings.Builder
	at := 0
	for piece, w := range watch.Pieces(text) {
		if at+w > width {
			lines = append(lines, line.String())
			line.Reset()
			at = 0
		}
		line.WriteString(piece)
		at += w
	}
	return append(lines, line.String())
}

func (m Model) nodeLines(name string) []screen.Line {
	n, ok := m.status.Cluster.Node[name]
	if !ok {
		return m.gone("node " + name)
	}
	var labels []string
	for _, k := range slices.Sorted(maps.Keys(n.Config.Labels)) {
		labels = append(labels, k+"="+n.Config.Labels[k])
	}
	lines := facts([][2]string{
		{"agent", n.Status.Agent},
		{"state", join(n.Monitor.State, expectation(n.Monitor.GlobalExpect))},
		{"frozen", m.moment(n.Status.FrozenAt)},
		{"environment", n.Config.Env},
		{"labels", strings.Join(labels, " ")},
		{"listener", n.Listener.String()},
		{"load 15m", strconv.FormatFloat(n.Stats.Load15M, 'f', 2, 64)},
		{"memory", memory(n.Stats.MemAvailPct, n.Stats.MemTotalMB)},
		{"swap", memory(n.Stats.SwapAvailPct, n.Stats.SwapTotalMB)},
		{"score", strconv.FormatUint(n.Stats.Score, 10)},
	})
	lines = append(lines, screen.Line{}, heading("Instances"))
	paths := m.objectsOn(name)
	if len(paths) == 0 {
		return append(lines, faint("none"))
	}
	rows := make([][]grid.Cell, len(paths))
	for i, path := range paths {
		inst := m.instance(path, name)
		rows[i] = []grid.Cell{grid.Text(path, grid.Strong), monitor.Marks(inst), avail(inst), instance.Remarks(inst), grid.Text(m.age(inst), grid.Faint)}
	}
	return append(lines, columns(rows, m.at())...)
}

func memory(available, totalMB uint64) string {
	if totalMB == 0 {
		return ""
	}
	return fmt.Sprintf("%d%% of %d MB available", available, totalMB)
}
