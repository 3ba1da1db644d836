package render

import (
	"iter"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/holdfast-ops/holdfast/internal/cli/iostreams"
)

// The least width of a column that is made narrower. The table may become wider
// than the terminal for it.
const (
	leastList = 8
	leastShow = 16
)

// longest is how many characters of a cell the table shows in koc's own voice.
const longest = 1024

// table is a table laid out: its texts, how wide its columns are and where the
// texts stand.
type table struct {
	own    bool
	titles []string
	right  []bool
	cells  []string // row after row
	widths []int
	// measured is how wide a line is where the table is drawn; nil is width.
	measured func(line string) int

	physical [][]string // lines of the cells of a row, kept for the next one
}

// tableText is the text of a cell, painted where colours go.
func (o Options) tableText(v any, color bool) string {
	if p, ok := v.(Painted); ok && color && o.Voice == Own {
		return p.Text
	}
	if o.Voice == OpenStack {
		v = human(v)
		text := pythonStr(v)
		if _, ok := v.(string); ok && strings.IndexByte(text, '\r') >= 0 {
			text = strings.ReplaceAll(text, "\r\n", "\n")
			text = strings.ReplaceAll(text, "\r", " ")
		}
		return text
	}
	text := ownText(v)
	if len(text) > longest && !o.ShowElision && len(o.Columns) == 0 && utf8.RuneCountInString(text) > longest {
		return "<" + strconv.Itoa(len(text)) + " bytes; use -f yaml or -c <column> to show full value>"
	}
	text = Plain(text)
	if strings.IndexByte(text, '\t') >= 0 {
		text = strings.ReplaceAll(text, "\t", " ")
	}
	return text
}

// layList makes the table of a listing, not yet fitted.
func (o Options) layList(s *iostreams.Streams, sel *selection, rows iter.Seq2[[]any, error]) (*table, error) {
	t := &table{own: o.Voice == Own, titles: sel.titles, right: make([]bool, len(sel.titles))}
	if t.own {
		t.titles = make([]string, len(sel.titles))
		for i, title := range sel.titles {
			t.titles[i] = o.tableText(title, false)
		}
	}
	first := true
	for row, err := range rows {
		if err != nil {
			return nil, err
		}
		for i := range sel.index {
			v := sel.cell(row, i)
			if first {
				t.right[i] = isNumber(v)
			}
			t.cells = append(t.cells, o.tableText(v, s.Color))
		}
		first = false
	}
	return t, nil
}

// layShow makes the table of one thing, not yet fitted.
func (o Options) layShow(s *iostreams.Streams, fields []Field) *table {
	t := &table{own: o.Voice == Own, titles: []string{"Field", "Value"}, right: make([]bool, 2)}
	for _, f := range fields {
		t.cells = append(t.cells, o.tableText(f.Name, false), o.tableText(f.Value, s.Color))
	}
	return t
}

// limit is the width the table should have, 0 for any.
func (o Options) limit(s *iostreams.Streams) int {
	const usual = 80
	switch {
	case o.MaxWidth > 0:
		return o.MaxWidth
	case s.Width > 0 && (o.FitWidth || o.Voice == Own):
		return s.Width
	case !o.FitWidth || o.Voice == OpenStack:
		return 0
	case o.TermWidth > 0:
		return o.TermWidth
	}
	return usual
}

func (o Options) listTable(w *writer, s *iostreams.Streams, sel *selection, rows iter.Seq2[[]any, error]) error {
	t, err := o.layList(s, sel, rows)
	if err != nil {
		return err
	}
	if len(t.cells) == 0 && !o.PrintEmpty {
		w.text("\n")
		return nil
	}
	t.fit(o.limit(s), leastList)
	t.print(w)
	return nil
}

func (o Options) showTable(w *writer, s *iostreams.Streams, fields []Field) {
	if len(fields) == 0 {
		w.text("\n")
		return
	}
	t := o.layShow(s, fields)
	t.fit(o.limit(s), leastShow)
	t.print(w)
}

// width is how many columns a line takes.
func (t *table) width(line string) int {
	if t.measured != nil {
		return t.measured(line)
	}
	return width(line)
}

// size is the width of the widest line of a text.
func (t *table) size(text string) int {
	if strings.IndexByte(text, '\n') < 0 {
		return t.width(text)
	}
	n := -1
	for line := range strings.SplitSeq(text, "\n") {
		n = max(n, t.width(line))
	}
	return n
}

// fit sets the widths of the columns: the natural ones, or less where the table
// would be wider than the limit.
func (t *table) fit(limit, least int) {
	n := len(t.titles)
	t.widths = make([]int, n)
	headers := make([]int, n)
	for i, title := range t.titles {
		headers[i] = t.size(title)
		t.widths[i] = headers[i]
	}
	if n == 0 {
		return
	}
	for at := 0; at < len(t.cells); at += n {
		for i, cell := range t.cells[at : at+n] {
			t.widths[i] = max(t.widths[i], t.size(cell))
		}
	}
	for i, w := range shrink(t.widths, limit, least) {
		switch {
		case w == 0:
		case t.own:
			t.widths[i] = t.wrapped(i, w)
		default:
			t.widths[i] = max(headers[i], min(t.widths[i], w))
		}
	}
}

// shrink returns the greatest widths that columns may have for the table to fit,
// 0 for those that stay as they are. Columns no wider than an equal share keep
// their width, the others share what is left.
func shrink(widths []int, limit, least int) []int {
	if limit <= 0 {
		return nil
	}
	total, n := 1, len(widths)
	for _, w := range widths {
		total += w + 3
	}
	if total <= limit {
		return nil
	}
	left := max(0, limit-1-3*n)
	share := left / n
	var wide []int
	for i, w := range widths {
		if w <= share {
			left -= w
		} else {
			wide = append(wide, i)
		}
	}
	if len(wide) == 0 {
		return nil
	}
	most := make([]int, n)
	each := left / len(wide)
	for _, i := range wide[:len(wide)-1] {
		most[i] = max(least, each)
		left -= each
	}
	most[wide[len(wide)-1]] = max(least, left)
	return most
}

// wrapped is how wide a column becomes when its lines are broken at a limit.
func (t *table) wrapped(column, limit int) int {
	widest := 0
	measure := func(text string) {
		if t.size(text) <= limit {
			widest = max(widest, t.size(text))
			return
		}
		t.eachLine(text, limit, func(line string) { widest = max(widest, t.width(line)) })
	}
	measure(t.titles[column])
	for at := column; at < len(t.cells) && widest < limit; at += len(t.titles) {
		measure(t.cells[at])
	}
	return widest
}

// lines appends the physical lines of a cell.
func (t *table) lines(to []string, text string, limit int) []string {
	if strings.IndexByte(text, '\n') < 0 && t.width(text) <= limit {
		return append(to, text)
	}
	t.eachLine(text, limit, func(line string) { to = append(to, line) })
	return to
}

func (t *table) eachLine(text string, limit int, line func(string)) {
	measure := characters
	if t.own {
		measure = t.width
		text = Plain(text) // colours do not survive being broken
	}
	for logical := range strings.SplitSeq(text, "\n") {
		if t.width(logical) <= limit {
			line(logical)
			continue
		}
		some := false
		wrap(logical, limit, measure, func(part string) {
			some = true
			// What combines across words may be wider than the words.
			for t.measured != nil && measure(part) > limit {
				n := len(part)
				for n > 0 && measure(part[:n]) > limit {
					_, size := utf8.DecodeLastRuneInString(part[:n])
					n -= size
				}
				if n == 0 {
					break // one character that is wider than the column
				}
				line(part[:n])
				part = part[n:]
			}
			line(part)
		})
		if !some {
			line("")
		}
	}
}

func (t *table) print(w *writer) {
	rule := t.rule()
	w.text(rule)
	if t.own {
		t.row(w, t.titles)
	} else {
		t.header(w)
	}
	w.text(rule)
	n := len(t.titles)
	for at := 0; at < len(t.cells); at += n {
		t.row(w, t.cells[at:at+n])
		if !w.row() {
			return
		}
	}
	w.text(rule)
}

func (t *table) rule() string {
	var b strings.Builder
	b.WriteByte('+')
	for _, n := range t.widths {
		for range n + 2 {
			b.WriteByte('-')
		}
		b.WriteByte('+')
	}
	if len(t.widths) == 0 {
		b.WriteByte('+')
	}
	b.WriteByte('\n')
	return b.String()
}

// header prints the titles as they are, on one line.
func (t *table) header(w *writer) {
	w.text("|")
	if len(t.titles) == 0 {
		w.text("|")
	}
	for i, title := range t.titles {
		t.cell(w, i, title)
	}
	w.text("\n")
}

// row prints a row, which takes several lines when a cell does.
func (t *table) row(w *writer, cells []string) {
	start := len(w.buf)
	w.buf = append(w.buf, '|')
	for i, cell := range cells {
		n := t.cell(w, i, cell)
		if n > t.widths[i] || strings.IndexByte(cell, '\n') >= 0 {
			w.buf = w.buf[:start]
			t.rows(w, cells)
			return
		}
	}
	w.buf = append(w.buf, '\n')
}

func (t *table) rows(w *writer, cells []string) {
	if t.physical == nil {
		t.physical = make([][]string, len(cells))
	}
	lines := t.physical
	height := 0
	for i, cell := range cells {
		lines[i] = t.lines(lines[i][:0], cell, t.widths[i])
		height = max(height, len(lines[i]))
	}
	for y := range height {
		w.buf = append(w.buf, '|')
		for i := range cells {
			line := ""
			if y < len(lines[i]) {
				line = lines[i][y]
			}
			t.cell(w, i, line)
		}
		w.buf = append(w.buf, '\n')
	}
}

// cell prints one line of a cell and returns its width.
func (t *table) cell(w *writer, i int, line string) int {
	n := width(line)
	w.buf = append(w.buf, ' ')
	if t.right[i] {
		w.blanks(t.widths[i] - n)
	}
	w.buf = append(w.buf, line...)
	if !t.right[i] {
		w.blanks(t.widths[i] - n)
	}
	w.buf = append(w.buf, ' ', '|')
	return n
}
