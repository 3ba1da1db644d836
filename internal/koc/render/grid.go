package render

import (
	"iter"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/holdfast-ops/holdfast/internal/cli/iostreams"
)

// Grid is a table as texts, for one that is drawn again and again.
type Grid struct {
	Titles []string
	IDs    []string // what tells rows apart, "" for nothing but their position
	Rows   [][]string

	own   bool
	right []bool
	least int
	fixed int // width that the user asked for, 0 for none
}

// Grid is the table of a listing that has not been drawn yet.
func (o Options) Grid(s *iostreams.Streams, columns []Column, rows iter.Seq2[[]any, error]) (*Grid, error) {
	sel, err := o.choose(columns)
	if err != nil {
		return nil, err
	}
	all, err := collect(rows)
	if err != nil {
		return nil, err
	}
	sel.sort(s, o, columns, all)
	t, err := o.layList(s, sel, Rows(all))
	if err != nil {
		return nil, err
	}
	g := o.grid(t, leastList)
	identifying := identities(columns)
	for _, row := range all {
		text := ""
		for _, at := range identifying {
			if text = ownText(cellAt(row, at)); text != "" {
				break
			}
		}
		g.IDs = append(g.IDs, text)
	}
	return g, nil
}

// identities are the columns that may tell rows apart, the best one first. They
// need not be shown.
func identities(columns []Column) []int {
	var found []int
	for _, title := range [...]string{"ID", "UUID", "Name"} {
		for i, c := range columns {
			if strings.EqualFold(c.Title, title) {
				found = append(found, i)
			}
		}
	}
	return found
}

// ShowGrid is the table of one thing.
func (o Options) ShowGrid(fields []Field) (*Grid, error) {
	fields, err := o.chooseFields(fields)
	if err != nil {
		return nil, err
	}
	g := o.grid(o.layShow(&iostreams.Streams{}, fields), leastShow)
	for _, f := range fields {
		g.IDs = append(g.IDs, f.Name)
	}
	return g, nil
}

func (o Options) grid(t *table, least int) *Grid {
	return &Grid{
		Titles: t.titles, Rows: slices.Collect(slices.Chunk(t.cells, max(1, len(t.titles)))),
		own: t.own, right: t.right, least: least, fixed: o.MaxWidth,
	}
}

// Drawn is a grid at a width: lines of padded cells.
type Drawn struct {
	Rule string
	Head [][]string
	Rows [][][]string // the physical lines of each row
}

// Draw lays rows out, which may be others than those of the grid but have as many
// cells. Widths are those of measure, since whoever paints the lines may have its own; nil
// is that of tables. With
// cut each row takes one line, and long cells are cut short by it.
func (g *Grid) Draw(rows [][]string, wide int, measure func(line string) int, cut func(text string, width int) string) Drawn {
	if g.fixed > 0 {
		wide = g.fixed
	}
	t := &table{own: true, titles: g.Titles, right: g.right, measured: measure, cells: slices.Concat(rows...)}
	if cut != nil {
		t.cells = make([]string, 0, len(rows)*len(g.Titles))
		for _, row := range rows {
			for _, cell := range row {
				t.cells = append(t.cells, strings.ReplaceAll(cell, "\n", " "))
			}
		}
	}
	if cut == nil {
		t.fit(wide, g.least)
	} else {
		t.fit(0, g.least)
		for i, w := range shrink(t.widths, wide, g.least) {
			if w > 0 {
				t.widths[i] = min(t.widths[i], w)
			}
		}
	}
	d := Drawn{Rule: strings.TrimSuffix(t.rule(), "\n"), Head: t.drawn(g.Titles, cut)}
	for row := range slices.Chunk(t.cells, max(1, len(g.Titles))) {
		d.Rows = append(d.Rows, t.drawn(row, cut))
	}
	return d
}

// drawn is one row as physical lines.
func (t *table) drawn(cells []string, cut func(string, int) string) [][]string {
	height := 1
	lines := make([][]string, len(cells))
	for i, cell := range cells {
		if cut != nil {
			lines[i] = []string{cut(cell, t.widths[i])}
			continue
		}
		lines[i] = t.lines(nil, cell, t.widths[i])
		height = max(height, len(lines[i]))
	}
	physical := make([][]string, height)
	for y := range physical {
		for i := range cells {
			text := ""
			if y < len(lines[i]) {
				text = t.apart(lines[i][y])
			}
			blanks := strings.Repeat(" ", max(0, t.widths[i]-t.width(text)))
			if t.right[i] {
				text = blanks + text
			} else {
				text += blanks
			}
			physical[y] = append(physical[y], text)
		}
	}
	return physical
}

// apart is a line without what would combine with the blank before it, and change
// its width.
func (t *table) apart(line string) string {
	for line != "" && line[0] >= utf8.RuneSelf && t.width(" "+line) != 1+t.width(line) {
		_, size := utf8.DecodeRuneInString(line)
		line = line[size:]
	}
	return line
}
