// Package grid lays out what a human reads: rows of cells aligned in columns,
// trees, and colours on terminals. It decides nothing about what is shown.
package grid

import (
	"io"
	"strings"

	"github.com/clipperhouse/displaywidth"

	"github.com/holdfast-ops/holdfast/internal/cli/iostreams"
)

// Style is the colour of a cell.
type Style = iostreams.Style

// The styles, by what they say.
const (
	Plain  Style = ""
	Strong       = iostreams.Bold
	Faint        = iostreams.Faint
	Good         = iostreams.Green
	Bad          = iostreams.Red
	Warn         = iostreams.Yellow
	Title        = iostreams.Bold + iostreams.Blue
)

// Cell is a styled word of a row. Its text is one line.
type Cell []Span

// Span is a part of a cell in one style.
type Span struct {
	Text  string
	Style Style
}

// Text makes a cell of one style.
func Text(text string, style Style) Cell {
	if text == "" {
		return nil
	}
	return Cell{{text, style}}
}

// String returns the text without its style.
func (c Cell) String() string {
	var b strings.Builder
	for _, s := range c {
		b.WriteString(s.Text)
	}
	return b.String()
}

func (c Cell) width() int { return displaywidth.String(c.String()) }

// Row is a line. Loose rows do not widen the columns: titles, remarks.
type Row struct {
	Cells []Cell
	Loose bool
}

// Gap is the number of blanks between two columns.
const Gap = 2

// Write prints the rows with aligned columns, no trailing blank, cut at the
// width of the terminal if the output is one.
func Write(s *iostreams.Streams, rows []Row) error {
	widths := columns(rows)
	limit := 0
	if s.OutTTY {
		limit = s.Width
	}
	var b strings.Builder
	for _, r := range rows {
		line := layout(r, widths)
		if limit > 0 {
			line = cut(line, limit)
		}
		for _, span := range line {
			b.WriteString(s.Paint(span.Style, span.Text))
		}
		b.WriteByte('\n')
	}
	_, err := io.WriteString(s.Out, b.String())
	return err
}

func columns(rows []Row) []int {
	var widths []int
	for _, r := range rows {
		if r.Loose {
			continue
		}
		for i, c := range r.Cells {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], c.width())
		}
	}
	return widths
}

// layout makes one cell of a row, blanks included. A column that is empty in
// every row takes no room.
func layout(r Row, widths []int) Cell {
	var line Cell
	pad := 0
	for i, c := range r.Cells {
		if len(c) > 0 {
			if pad > 0 {
				line = append(line, Span{Text: strings.Repeat(" ", pad)})
				pad = 0
			}
			line = append(line, c...)
		}
		if i < len(widths) && widths[i] > 0 {
			pad += max(widths[i]-c.width(), 0) + Gap
		}
	}
	return line
}

func cut(c Cell, limit int) Cell {
	var out Cell
	for _, s := range c {
		w := displaywidth.String(s.Text)
		if w > limit {
			s.Text = displaywidth.TruncateString(s.Text, limit, "")
			return trim(append(out, s))
		}
		limit -= w
		out = append(out, s)
	}
	return out
}

// trim drops the blanks at the end of a line that was cut.
func trim(c Cell) Cell {
	for len(c) > 0 {
		last := &c[len(c)-1]
		if last.Text = strings.TrimRight(last.Text, " "); last.Text != "" {
			break
		}
		c = c[:len(c)-1]
	}
	return c
}
