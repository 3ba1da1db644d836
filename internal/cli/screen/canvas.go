package screen

import (
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-ops/holdfast/internal/cli/iostreams"
	"github.com/holdfast-ops/holdfast/internal/cli/watch"
)

// cell is a column of the screen. The columns a wide character takes after the
// first have no text.
type cell struct {
	text  string
	style iostreams.Style
}

// canvas is what is on the terminal.
type canvas struct {
	size   Size
	cells  []cell // line by line
	known  bool   // else the terminal holds anything
	cursor Position
	typing bool
}

// blank is a cell with nothing on it.
func blank() cell { return cell{text: " "} }

// cellsOf lays a frame out on a grid of the size.
func cellsOf(f Frame, size Size) []cell {
	cells := make([]cell, size.Width*size.Height)
	for i := range cells {
		cells[i] = blank()
	}
	for y, line := range f.Lines[:min(len(f.Lines), size.Height)] {
		row := cells[y*size.Width : (y+1)*size.Width]
		x := 0
	spans:
		for _, span := range line {
			for text, width := range watch.Pieces(span.Text) {
				if x+width > len(row) {
					break spans
				}
				if width == 0 {
					continue
				}
				// What is made visible is several characters.
				if width == len(text) && width > 1 {
					for i := range width {
						row[x+i] = cell{text[i : i+1], span.Style}
					}
				} else {
					row[x] = cell{text, span.Style}
					for i := 1; i < width; i++ {
						row[x+i] = cell{"", span.Style}
					}
				}
				x += width
			}
		}
	}
	return cells
}

// paint returns what turns the terminal into the frame: nothing when it shows it.
func (c *canvas) paint(f Frame, size Size, colour bool) string {
	next := cellsOf(f, size)
	var b strings.Builder
	if !c.known || c.size != size {
		b.WriteString("\x1b[0m\x1b[H\x1b[2J")
		c.cells = make([]cell, len(next))
		for i := range c.cells {
			c.cells[i] = blank()
		}
		c.typing = false
		b.WriteString(hideCursor)
	}
	drew := false
	for y := range size.Height {
		from, to := y*size.Width, (y+1)*size.Width
		drew = drawRow(&b, y, c.cells[from:to], next[from:to], colour) || drew
	}
	c.size, c.cells, c.known = size, next, true
	cursor := f.Cursor
	cursor.Line, cursor.Column = min(cursor.Line, size.Height-1), min(cursor.Column, size.Width-1)
	if f.Typing && (drew || !c.typing || cursor != c.cursor) {
		fmt.Fprintf(&b, "\x1b[%d;%dH", cursor.Line+1, cursor.Column+1)
	}
	switch {
	case f.Typing && !c.typing:
		b.WriteString(showCursor)
	case !f.Typing && c.typing:
		b.WriteString(hideCursor)
	}
	c.cursor, c.typing = cursor, f.Typing
	return b.String()
}

// join is how many columns that did not change are written again rather than
// jumped over: the sequence that moves the cursor is as long.
const join = 6

// drawRow writes the changes of a row. It tells whether there were any.
func drawRow(b *strings.Builder, y int, old, row []cell, colour bool) bool {
	if slices.Equal(old, row) {
		return false
	}
	end := len(row)
	// Blanks up to the edge are erased at once when that is shorter.
	tail := end
	for tail > 0 && row[tail-1] == blank() {
		tail--
	}
	erase := tail < end && slices.ContainsFunc(old[tail:], func(c cell) bool { return c != blank() })
	if erase && end-tail > 3 {
		end = tail
	} else {
		erase = false
	}
	for x := 0; x < end; {
		if old[x] == row[x] {
			x++
			continue
		}
		// The halves of a wide character change together: a change begins with a whole one.
		from, to := x, x+1
		for same := 0; x < end; x++ {
			if old[x] != row[x] {
				to, same = x+1, 0
				continue
			}
			if same++; same > join {
				break
			}
		}
		fmt.Fprintf(b, "\x1b[%d;%dH", y+1, from+1)
		drawCells(b, row[from:to], colour)
	}
	if erase {
		fmt.Fprintf(b, "\x1b[%d;%dH\x1b[K", y+1, end+1)
	}
	return true
}

func drawCells(b *strings.Builder, cells []cell, colour bool) {
	var on iostreams.Style
	for _, c := range cells {
		style := c.style
		if !colour {
			style = attributes(style)
		}
		if style != on {
			if on != "" {
				b.WriteString("\x1b[0m")
			}
			if style != "" {
				b.WriteString("\x1b[" + string(style[:len(style)-1]) + "m")
			}
			on = style
		}
		b.WriteString(c.text)
	}
	if on != "" {
		b.WriteString("\x1b[0m")
	}
}

// attributes leaves of a style what is no colour.
func attributes(s iostreams.Style) iostreams.Style {
	var kept strings.Builder
	for code := range strings.SplitSeq(strings.TrimSuffix(string(s), ";"), ";") {
		if code == "1" || code == "7" {
			kept.WriteString(code + ";")
		}
	}
	return iostreams.Style(kept.String())
}

// Text is the frame without its styles, without blanks at the ends of lines; what
// is reversed stands between ‹ and ›. It is for tests and documentation.
func (f Frame) Text(size Size) string {
	cells := cellsOf(f, size)
	var b strings.Builder
	for y := range size.Height {
		var line strings.Builder
		inside := false
		for _, c := range cells[y*size.Width : (y+1)*size.Width] {
			if selected := strings.Contains(string(";"+c.style), ";7;"); selected != inside {
				line.WriteString(map[bool]string{true: "‹", false: "›"}[selected])
				inside = selected
			}
			line.WriteString(c.text)
		}
		if inside {
			line.WriteString("›")
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}
