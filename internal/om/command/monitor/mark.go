package monitor

import (
	"strings"

	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/command/grid"
)

// Marks packs the state of an instance in a few characters.
func Marks(i cluster.Instance) grid.Cell {
	var c marks
	status := cluster.InstanceStatus{}
	if i.Status != nil {
		status = *i.Status
	}
	switch status.Avail.Plain() {
	case cluster.Up:
		c.add("O", grid.Good)
	case cluster.StandbyUp:
		c.add("o", grid.Good)
	case cluster.Down:
		c.add("X", grid.Bad)
	case cluster.StandbyDown:
		c.add("x", grid.Bad)
	case cluster.Warn:
		c.add("!!", grid.Warn)
	case cluster.Undef, cluster.NotApplicable, cluster.StandbyUpWithUp, cluster.StandbyUpWithDown:
		c.add("/", grid.Faint)
	}
	if status.Overall.Plain() == cluster.Warn && status.Avail.Plain() != cluster.Warn {
		c.add("!", grid.Warn)
	}
	if i.Monitor != nil && i.Monitor.IsLeader {
		c.add("^", grid.Plain)
	}
	if !status.FrozenAt.IsZero() {
		c.add("*", grid.Title)
	}
	if !status.StoppedAt.IsZero() {
		c.add("=", grid.Plain)
	}
	if status.Provisioned == cluster.ProvisionedFalse || status.Provisioned == cluster.ProvisionedMixed {
		c.add("P", grid.Bad)
	}
	if i.Monitor == nil {
		return c.cell
	}
	if s := i.Monitor.State; s != "" && s != "idle" {
		style := grid.Plain
		if strings.HasSuffix(s, " failed") {
			style = grid.Bad
		}
		c.word(s, style)
	}
	c.expect(i.Monitor.GlobalExpect)
	return c.cell
}

// marks is a cell being made.
type marks struct{ cell grid.Cell }

func (m *marks) add(text string, style grid.Style) {
	m.cell = append(m.cell, grid.Span{Text: text, Style: style})
}

func (m *marks) word(text string, style grid.Style) {
	if len(m.cell) > 0 {
		m.add(" ", grid.Plain)
	}
	m.add(text, style)
}

// expect says what an orchestration in progress wants.
func (m *marks) expect(goal string) {
	if goal != "" && goal != "none" && goal != "init" {
		m.word(">"+goal, grid.Strong)
	}
}

// Legend explains the marks.
func Legend() []grid.Row {
	rows := []grid.Row{{Cells: []grid.Cell{grid.Text("Mark", grid.Title), grid.Text("On an instance", grid.Title), grid.Text("On an object", grid.Title), grid.Text("On a node", grid.Title)}}}
	for _, l := range [][4]string{
		{"O", "up", "", ""},
		{"o", "standby up", "", ""},
		{"X", "down", "", ""},
		{"x", "standby down", "", ""},
		{"/", "not applicable, not known", "", ""},
		{"^", "placement leader", "not where its placement wants it", ""},
		{"!", "warning", "warning on an instance", ""},
		{"!!", "not fully available", "", ""},
		{"*", "frozen", "frozen", "frozen"},
		{"P", "not fully provisioned", "not fully provisioned", ""},
		{"=", "stopped on purpose", "", ""},
		{">goal", "orchestration in progress", "", "orchestration in progress"},
	} {
		row := grid.Row{Cells: []grid.Cell{grid.Text(" "+l[0], grid.Strong)}}
		for _, text := range l[1:] {
			row.Cells = append(row.Cells, grid.Text(text, grid.Plain))
		}
		rows = append(rows, row)
	}
	return append(rows, grid.Row{}, grid.Row{Loose: true, Cells: []grid.Cell{
		grid.Text("Heartbeats: O on time, X late, / not applicable. 1/2 is the number of instances up, of those wanted.", grid.Plain),
	}})
}
