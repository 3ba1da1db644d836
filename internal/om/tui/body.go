package tui

import (
	"fmt"
	"strings"

	"github.com/holdfast-ops/holdfast/internal/cli/iostreams"
	"github.com/holdfast-ops/holdfast/internal/cli/screen"
	"github.com/holdfast-ops/holdfast/internal/cli/watch"
	"github.com/holdfast-ops/holdfast/internal/om/command/grid"
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
		return help(width)
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

// help explains the keys and the marks.
func help(width int) []screen.Line {
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
		for i, part := range fold(k[1], max(leastName, width-24)) {
			key := k[0]
			if i > 0 {
				key = ""
			}
			lines = append(lines, screen.Line{{Text: fmt.Sprintf("  %s%s", key, strings.Repeat(" ", max(1, 22-watch.Width(key)))), Style: iostreams.Bold}, {Text: part}})
		}
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
		for _, part := range fold(f, max(leastName, width-3)) {
			lines = append(lines, plain(part))
		}
	}
	return lines
}
