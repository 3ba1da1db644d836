package tui

import (
	"strings"
	"time"

	"github.com/holdfast-ops/holdfast/internal/cli/iostreams"
	"github.com/holdfast-ops/holdfast/internal/cli/screen"
	"github.com/holdfast-ops/holdfast/internal/om/command/grid"
)

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
