package watch

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// canvas is what is on the screen.
type canvas struct {
	taken bool
	size  Size
	table *layout // of the frame at hand, nil when it has to be drawn anew
	view  view
}

// layout is a drawn table with its highlights, line by line.
type layout struct{ head, body []string }

// Styles, as SGR parameters.
const (
	plain   = ""
	bold    = "1"
	faint   = "2"
	reverse = "7"
	red     = "31"
	green   = "32"
)

func (l *loop) size() Size {
	w, h := l.terminal.Size()
	return Size{Width: w, Height: h, Compact: l.o.Compact}
}

// paint writes the whole screen, in one call.
func (l *loop) paint() error {
	if l.terminal == nil {
		return nil
	}
	now := time.Now()
	l.tick.Stop()
	if l.running || l.failures > 0 {
		l.tick.Reset(time.Second)
	}
	if size := l.size(); size != l.canvas.size {
		l.canvas.size, l.canvas.table = size, nil
	}
	lines := l.compose(now)
	var b strings.Builder
	for i, line := range lines {
		fmt.Fprintf(&b, "\x1b[%d;1H%s", i+1, line)
		// Erasing behind a line that fills its row would take the last character.
		if Width(line) < l.canvas.size.Width {
			b.WriteString("\x1b[K")
		}
	}
	if len(lines) < l.canvas.size.Height {
		fmt.Fprintf(&b, "\x1b[%d;1H\x1b[J", len(lines)+1)
	}
	_, err := io.WriteString(l.streams.Out, b.String())
	return err
}

// compose is the screen, line by line.
func (l *loop) compose(now time.Time) []string {
	c := &l.canvas
	if c.table == nil {
		c.table = l.draw()
	}
	head, body := c.table.head, c.table.body
	status := !l.o.NoTitle || l.failures > 0
	if l.help {
		head, body = nil, helpText(l.streams.Color)
	}
	v := fit(c.size.Height, status, len(head), len(body))
	var place scroll
	if !l.help {
		c.view = v
		l.scroll.clamp(v)
		place = l.scroll
	}

	var lines []string
	if v.status {
		lines = append(lines, l.status(now, v))
	}
	if v.pinned {
		lines = append(lines, head...)
	} else {
		body = append(slices.Clip(head), body...)
	}
	lines = append(lines, body[place.top:min(place.top+v.window, len(body))]...)
	if v.marker {
		lines = append(lines, l.marker(place, v))
	}
	for i, line := range lines {
		lines[i] = Cut(line, c.size.Width)
	}
	return lines
}

// draw lays the frame out.
func (l *loop) draw() *layout {
	rows := l.rows
	if !l.diff {
		rows = unmarked(l.frame.Rows)
	}
	draw := l.frame.Layout
	if draw == nil {
		draw = wrapped
	}
	bare := make([]Row, len(rows))
	for i, r := range rows {
		bare[i] = r.Row
	}
	t := draw(bare, l.canvas.size)
	out := &layout{}
	for _, line := range t.Head {
		out.head = append(out.head, l.line(line, drawn{}))
	}
	for i, lines := range t.Rows {
		var row drawn
		if i < len(rows) {
			row = rows[i]
		}
		for _, line := range lines {
			out.body = append(out.body, l.line(line, row))
		}
	}
	for _, line := range t.Foot {
		out.body = append(out.body, l.line(line, drawn{}))
	}
	for _, note := range l.frame.Notes {
		for text := range strings.SplitSeq(strings.TrimRight(note, "\n"), "\n") {
			out.body = append(out.body, l.painted(text, faint))
		}
	}
	return out
}

// line is a line of a row with its highlights.
func (l *loop) line(line Line, row drawn) string {
	var b strings.Builder
	for _, s := range line {
		style := plain
		if s.Cell > 0 {
			switch row.change {
			case fresh:
				style = green
			case gone:
				style = faint
			case changed:
				if s.Cell <= len(row.cells) && row.cells[s.Cell-1] {
					style = reverse
				}
			case same:
			}
		}
		b.WriteString(l.painted(s.Text, style))
	}
	return b.String()
}

// painted is the text in the style, with what it holds made harmless. Colours of
// its own do not end the style, and end with the text.
func (l *loop) painted(text, style string) string {
	if !l.streams.Color {
		style = plain
	}
	var b strings.Builder
	on := ""
	if style != plain {
		on = "\x1b[" + style + "m"
		b.WriteString(on)
	}
	coloured := on != ""
	for text != "" {
		var p piece
		p, text = next(text)
		if !p.colour {
			b.WriteString(p.text)
		} else if l.streams.Color {
			b.WriteString(p.text)
			b.WriteString(on)
			coloured = true
		}
	}
	if coloured {
		b.WriteString("\x1b[0m")
	}
	return b.String()
}

// clean is a text on one line, without anything that acts on a terminal.
func clean(text string) string {
	var b strings.Builder
	text = strings.ReplaceAll(strings.TrimSpace(text), "\n", "; ")
	for text != "" {
		var p piece
		p, text = next(text)
		if !p.colour {
			b.WriteString(p.text)
		}
	}
	return b.String()
}
