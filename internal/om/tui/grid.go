package tui

import (
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-ops/holdfast/internal/cli/screen"
	"github.com/holdfast-ops/holdfast/internal/cli/watch"
	"github.com/holdfast-ops/holdfast/internal/om/command/grid"
	"github.com/holdfast-ops/holdfast/internal/om/command/monitor"
)

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
	widths[0] = min(widths[0], nameRoom(widths, fixed, column, width))
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
				c = grid.Text(shortened(strings.TrimPrefix(c.String(), " "), widths[0]-1), c[0].Style)
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

// leastName is what is left of names on the narrowest screens.
const leastName = 12

// nameRoom is how wide the names may be: a long one hides no state.
func nameRoom(widths []int, fixed, column, width int) int {
	room := width - 2
	for j, w := range widths {
		if w > 0 && (j > 0 && j < fixed || j == fixed+max(column, 0)) {
			room -= w + grid.Gap
		}
	}
	return max(room, leastName)
}

// shortened cuts the middle out of a name that is wider than there is room: names
// of one place begin alike, and those of one team end so.
func shortened(name string, width int) string {
	if watch.Width(name) <= width {
		return name
	}
	var pieces []string
	for piece := range watch.Pieces(name) {
		pieces = append(pieces, piece)
	}
	room := width - 1 // for what stands for the rest
	var head, tail string
	for i := 0; i < len(pieces) && watch.Width(head+pieces[i]) <= room/3; i++ {
		head += pieces[i]
	}
	room -= watch.Width(head)
	for i := len(pieces) - 1; i >= 0 && watch.Width(pieces[i]+tail) <= room; i-- {
		tail = pieces[i] + tail
	}
	return head + "…" + tail
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
