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

// body draws the page, all of it.
func (m Model) body(width int) []screen.Line {
	p := m.page()
	switch p.kind {
	case gridPage:
		return m.grid(width)
	case contextsPage:
		return m.contextLines()
	case objectPage:
		return m.object(p.path)
	case instancePage:
		return m.instanceLines(p.path, p.node)
	case resourcePage:
		return m.resource(p.path, p.node, p.rid, width)
	case nodePage:
		return m.nodeLines(p.node)
	case textPage:
		return m.textLines(width)
	case eventsPage:
		return m.eventLines()
	case helpPage:
		return help()
	}
	return nil
}

func plain(text string) screen.Line { return screen.Line{{Text: rowMark + text}} }

func heading(text string) screen.Line {
	return screen.Line{{Text: " " + text, Style: iostreams.Bold + iostreams.Blue}}
}

func faint(text string) screen.Line {
	return screen.Line{{Text: " "}, {Text: " " + text, Style: iostreams.Faint}}
}

// gone says that what a page is about is not there any more.
func (m Model) gone(what string) []screen.Line {
	if m.status.Cluster.Object == nil {
		return []screen.Line{faint("waiting for the cluster")}
	}
	return []screen.Line{faint(what + " does not exist any more")}
}

// few is the height below which the grid is about objects only.
const few = 16

// grid draws the nodes and the objects.
func (m Model) grid(width int) []screen.Line {
	if m.status.Cluster.Object == nil {
		return m.gone("")
	}
	nodes, paths := m.nodes(), m.objects()
	at := slices.Index(paths, m.page().name) + 1
	if at == 0 {
		at = m.at()
	}
	var rows [][]grid.Cell // name, state, shape, bar, a cell for each node
	for i, r := range m.board().NodeRows(nodes) {
		if i == 0 || m.size.Height >= few || strings.TrimSpace(r.Cells[0].String()) == "state" {
			rows = append(rows, r.Cells)
		}
	}
	title := fmt.Sprintf("Objects %d", len(paths))
	if m.filter != "" {
		title = fmt.Sprintf("Objects %d of %d, filter %s", len(paths), len(m.status.Cluster.Object), m.filter)
	}
	first := len(rows) + 2
	rows = append(rows, nil, []grid.Cell{grid.Text(title, grid.Title)})
	for _, path := range paths {
		o := m.status.Cluster.Object[path]
		row := []grid.Cell{grid.Text(" "+path, grid.Strong), monitor.ObjectState(o), monitor.ObjectShape(o), grid.Text("|", grid.Faint)}
		for _, n := range nodes {
			var c grid.Cell
			if i, ok := o.Instances[n]; ok {
				c = monitor.Marks(i)
			}
			row = append(row, c)
		}
		rows = append(rows, row)
	}
	return m.gridLines(rows, first, at, width)
}

// gridLines lays the grid out. The nodes that fit are those around the selected one.
func (m Model) gridLines(rows [][]grid.Cell, first, at, width int) []screen.Line {
	const fixed = 4 // columns before those of the nodes
	var widths []int
	for i, r := range rows {
		for j, c := range r {
			if j == len(widths) {
				widths = append(widths, 0)
			}
			if i == first-1 && j == 0 {
				continue // a title does not widen the names
			}
			widths[j] = max(widths[j], widthOf(c))
		}
	}
	column := m.page().column
	if at == 0 {
		column = max(column, 0)
	}
	column = min(column, len(m.nodes())-1)
	from := m.firstNode(widths, fixed, column, width)
	var lines []screen.Line
	for i, r := range rows {
		mark := " "
		chosen := i == at+first-1 && at > 0 || i == 0 && at == 0
		switch {
		case chosen:
			mark = cursorMark[:1]
		case i == 0, i == first-1, len(r) == 0:
		}
		lead := screen.Span{Text: mark}
		if i >= first {
			lead.Text = rowMark // see fixed
			if chosen {
				lead.Text = cursorMark
			}
		}
		line := screen.Line{lead}
		if i >= first && !m.inSight(i-first, len(rows)-first, at-1) {
			lines = append(lines, line)
			continue // nobody sees the rest of it
		}
		for j, c := range r {
			if j >= fixed && j < fixed+from {
				continue
			}
			here := chosen && (j == 0 && column < 0 || j == fixed+column && column >= 0)
			if here && len(c) == 0 {
				c = grid.Text(" ", grid.Plain)
			}
			if i >= first && j == 0 {
				c = grid.Text(strings.TrimPrefix(c.String(), " "), c[0].Style)
			}
			line = append(line, spans(c, here)...)
			room := widths[j] - widthOf(c)
			if i >= first && j == 0 {
				room-- // the mark is wider
			}
			if widths[j] > 0 && j < len(r)-1 {
				line = append(line, screen.Span{Text: strings.Repeat(" ", max(0, room)+grid.Gap)})
			}
		}
		lines = append(lines, line)
	}
	if m.filter != "" && len(rows) == first {
		lines = append(lines, faint("no object is left by the filter; esc drops it"))
	}
	return lines
}

// inSight tells whether a row of a list may be on the screen, wherever it is scrolled
// to around the cursor.
func (m Model) inSight(row, rows, cursor int) bool {
	room := m.room()
	return row < room || row >= rows-room || row >= cursor-room && row <= cursor+room
}

// firstNode is the first node shown so that the selected one is.
func (m Model) firstNode(widths []int, fixed, column, width int) int {
	room := width - 2
	for _, w := range widths[:min(fixed, len(widths))] {
		if w > 0 {
			room -= w + grid.Gap
		}
	}
	from := 0
	for from < column {
		need := 0
		for j := fixed + from; j <= fixed+column && j < len(widths); j++ {
			need += widths[j] + grid.Gap
		}
		if need-grid.Gap <= room {
			break
		}
		from++
	}
	return from
}

func (m Model) contextLines() []screen.Line {
	if len(m.contexts) == 0 {
		return []screen.Line{
			plain("There is no context yet. A context names a cluster and a user:"),
			{},
			plain("  ox context cluster add --name lab --server https://lab.example.com:1215"),
			plain("  ox context user add --name john"),
			plain("  ox context add --name john@lab --cluster lab --user john"),
		}
	}
	rows := make([][]grid.Cell, len(m.contexts))
	for i, c := range m.contexts {
		state := grid.Text("login needed", grid.Warn)
		if c.Authenticated {
			state = grid.Text("logged in", grid.Good)
		}
		namespace := grid.Cell(nil)
		if c.Namespace != "" {
			namespace = grid.Text("namespace "+c.Namespace, grid.Plain)
		}
		rows[i] = []grid.Cell{grid.Text(c.Name, grid.Strong), state, grid.Text(c.User, grid.Plain), grid.Text(c.Server, grid.Plain), namespace}
	}
	return append([]screen.Line{heading("Contexts"), {}}, columns(rows, m.at())...)
}

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

func (m Model) textLines(width int) []screen.Line {
	p := m.page()
	var lines []screen.Line
	for _, text := range p.lines {
		style := lineStyle(text)
		for _, part := range fold(text, width-1) {
			lines = append(lines, screen.Line{{Text: part, Style: style}})
		}
	}
	switch {
	case p.err != nil:
		for _, part := range fold(oneLine(p.err.Error()), width-2) {
			lines = append(lines, screen.Line{{Text: " " + part, Style: iostreams.Red}})
		}
	case p.busy && len(lines) == 0:
		lines = append(lines, faint("waiting for it"))
	case len(lines) == 0:
		lines = append(lines, faint("nothing"))
	}
	return lines
}

// lineStyle is the colour of a line of a log or of a configuration.
func lineStyle(text string) iostreams.Style {
	words := strings.SplitN(text, " ", 3)
	switch {
	case strings.HasPrefix(text, "["):
		return iostreams.Bold
	case strings.HasPrefix(text, "#"), strings.HasPrefix(text, ";"):
		return iostreams.Faint
	case len(words) > 1 && words[1] == "ERROR":
		return iostreams.Red
	case len(words) > 1 && words[1] == "WARN":
		return iostreams.Yellow
	}
	return ""
}

func (m Model) eventLines() []screen.Line {
	if len(m.events) == 0 {
		return []screen.Line{faint("nothing has happened yet")}
	}
	rows := make([][]grid.Cell, len(m.events))
	for i, e := range m.events {
		rows[i] = []grid.Cell{
			grid.Text(e.at.Local().Format(time.TimeOnly), grid.Faint), grid.Text(e.kind, grid.Strong), grid.Text(e.path, grid.Plain),
			grid.Text(e.node, grid.Plain), grid.Text(e.detail, grid.Plain),
		}
	}
	return columns(rows, none)
}

// help explains the keys and the marks.
func help() []screen.Line {
	lines := []screen.Line{heading("Keys")}
	for _, k := range [][2]string{
		{"↑ ↓  k j", "select a row, scroll a text"},
		{"← →  tab", "select the object, or its instance on a node"},
		{"PgUp PgDn  Home End", "go further"},
		{"enter", "look closer: object, instance, resource, node"},
		{"esc  q", "go back; q leaves the first page"},
		{"a", "act on what is selected, after a confirmation"},
		{"l", "read the log of what is selected, as it is written"},
		{"v", "read the configuration of the object"},
		{"/", "filter the objects: a part of their path, or a selector"},
		{"e", "the events, as they happen"},
		{"c", "the contexts: go to another cluster"},
		{"r", "connect again, now"},
		{"h  ?", "this page"},
		{"^L  ^Z", "paint the screen again; suspend"},
		{"Q  ^C", "quit"},
	} {
		lines = append(lines, screen.Line{{Text: fmt.Sprintf("  %s%s", k[0], strings.Repeat(" ", max(1, 22-watch.Width(k[0])))), Style: iostreams.Bold}, {Text: k[1]}})
	}
	lines = append(lines, screen.Line{}, heading("Marks"))
	rows := monitor.Legend()
	cells := make([][]grid.Cell, 0, len(rows))
	for _, r := range rows {
		if !r.Loose {
			cells = append(cells, r.Cells)
		}
	}
	lines = append(lines, columns(cells, none)...)
	lines = append(lines, heading("Flags of a resource"))
	for _, f := range []string{
		"R running · M monitored · D disabled · O optional · E encapsulated",
		"P not provisioned, p partly, / not applicable · S standby · a digit: restarts left",
	} {
		lines = append(lines, plain(f))
	}
	return lines
}
