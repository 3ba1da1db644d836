package render

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-ops/holdfast/internal/cli/iostreams"
)

// selection is what a run shows of a listing.
type selection struct {
	titles []string
	index  []int // of the shown columns in a row
	sortBy []int
}

// cell is one shown cell of a row.
func (s *selection) cell(row []any, i int) any {
	if at := s.index[i]; at < len(row) {
		return row[at]
	}
	return nil
}

// Wants reports whether the run will look at a column of the title: whether it is
// shown or sorted by. Commands use it to fetch less.
func (o Options) Wants(c Column) bool {
	named := o.names(o.Columns, c.Title)
	sorted := o.names(o.SortBy, c.Title)
	switch {
	case named:
		return true
	case sorted:
		return o.Voice == Own || !c.Hidden
	case o.Format == "shell" && len(o.Variables) > 0:
		return slices.Contains(o.Variables, o.variable(c.Title))
	}
	return len(o.Columns) == 0 && !c.Hidden
}

// Visible returns the columns that the run shows, in the order it shows them.
// It fails when -c or --sort-column names a column that there is not.
func (o Options) Visible(columns []Column) ([]Column, error) {
	sel, err := o.choose(columns)
	if err != nil {
		return nil, err
	}
	shown := make([]Column, len(sel.index))
	for i, at := range sel.index {
		shown[i] = columns[at]
	}
	return shown, nil
}

// names reports whether one of the names means the title.
func (o Options) names(names []string, title string) bool {
	for _, name := range names {
		if name == title || o.Voice == Own && fold(name) == fold(title) {
			return true
		}
	}
	return false
}

// fold makes titles equal that koc takes for the same: any case, blanks around,
// created_at for Created At.
func fold(title string) string {
	return strings.ToLower(strings.ReplaceAll(strings.TrimSpace(title), "_", " "))
}

// find returns the position of the column a name means, exact spelling first.
func (o Options) find(columns []Column, name string) int {
	at := slices.IndexFunc(columns, func(c Column) bool { return c.Title == name })
	if at < 0 && o.Voice == Own {
		name = fold(name)
		at = slices.IndexFunc(columns, func(c Column) bool { return fold(c.Title) == name })
	}
	return at
}

func (o Options) choose(columns []Column) (*selection, error) {
	sel := new(selection)
	var err error
	if o.Voice == OpenStack {
		err = o.chooseAsCliff(columns, sel)
	} else {
		err = o.chooseOwn(columns, sel)
	}
	if err != nil {
		return nil, err
	}
	sel.titles = make([]string, len(sel.index))
	for i, at := range sel.index {
		sel.titles[i] = columns[at].Title
	}
	return sel, nil
}

// chooseOwn keeps the order of -c and refuses names it does not know.
func (o Options) chooseOwn(columns []Column, sel *selection) error {
	for _, name := range o.SortBy {
		at := o.find(columns, name)
		if at < 0 {
			return fmt.Errorf("unknown sort column %q: available columns are %s", name, available(columns))
		}
		sel.sortBy = append(sel.sortBy, at)
	}
	if len(o.Columns) == 0 {
		for i, c := range columns {
			if !c.Hidden || slices.Contains(sel.sortBy, i) {
				sel.index = append(sel.index, i)
			}
		}
		return nil
	}
	var unknown []string
	for _, name := range o.Columns {
		at := o.find(columns, name)
		switch {
		case at < 0:
			unknown = append(unknown, name)
		case !slices.Contains(sel.index, at):
			sel.index = append(sel.index, at)
		}
	}
	if len(unknown) > 0 {
		return unknownColumns(unknown, available(columns))
	}
	return nil
}

func unknownColumns(unknown []string, available string) error {
	return fmt.Errorf("unknown column(s): %s (available: %s)", strings.Join(unknown, ", "), available)
}

func available(columns []Column) string {
	titles := make([]string, len(columns))
	for i, c := range columns {
		titles[i] = c.Title
	}
	return strings.Join(titles, ", ")
}

// chooseAsCliff keeps the order of the table, drops names it does not know and
// refuses only when none is left. Hidden columns that -c names come last, in the
// order of -c: upstream's commands append them.
func (o Options) chooseAsCliff(columns []Column, sel *selection) error {
	var all []int
	for i, c := range columns {
		if !c.Hidden {
			all = append(all, i)
		}
	}
	for _, name := range o.Columns {
		if at := o.find(columns, name); at >= 0 && columns[at].Hidden && !slices.Contains(all, at) {
			all = append(all, at)
		}
	}
	for _, name := range o.SortBy {
		if at := o.find(columns, name); slices.Contains(all, at) {
			sel.sortBy = append(sel.sortBy, at)
		}
	}
	if len(o.Columns) == 0 {
		sel.index = all
		return nil
	}
	titles := make([]string, len(all))
	for i, at := range all {
		titles[i] = columns[at].Title
		if slices.Contains(o.Columns, columns[at].Title) {
			sel.index = append(sel.index, at)
		}
	}
	if len(sel.index) == 0 {
		return unrecognized(o.Columns, titles)
	}
	return nil
}

// unrecognized is cliff's message: a list of what was asked, a tuple of what there is.
func unrecognized(asked, titles []string) error {
	b := []byte("No recognized column names in ")
	b = appendRepr(b, asked)
	b = append(b, ". Recognized columns are ("...)
	for i, title := range titles {
		if i > 0 {
			b = append(b, ", "...)
		}
		b = appendReprString(b, title)
	}
	if len(titles) == 1 {
		b = append(b, ',')
	}
	return errors.New(string(append(b, ")."...)))
}

// chooseFields picks the fields that -c names, in the order of the fields.
func (o Options) chooseFields(fields []Field) ([]Field, error) {
	if len(o.Columns) == 0 {
		return fields, nil
	}
	columns := make([]Column, len(fields))
	for i, f := range fields {
		columns[i].Title = f.Name
	}
	var unknown []string
	wanted := make([]bool, len(fields))
	for _, name := range o.Columns {
		if at := o.find(columns, name); at >= 0 {
			wanted[at] = true
		} else {
			unknown = append(unknown, name)
		}
	}
	var chosen []Field
	for i, f := range fields {
		if wanted[i] {
			chosen = append(chosen, f)
		}
	}
	if o.Voice == OpenStack && len(chosen) == 0 {
		titles := make([]string, len(fields))
		for i, f := range fields {
			titles[i] = f.Name
		}
		return nil, unrecognized(o.Columns, titles)
	}
	if o.Voice == Own && len(unknown) > 0 {
		return nil, unknownColumns(unknown, available(columns))
	}
	return chosen, nil
}

// sort orders rows by the columns, the first one first; equal rows keep their order.
func (s *selection) sort(streams *iostreams.Streams, o Options, columns []Column, rows [][]any) {
	if o.Voice == Own {
		s.sortOwn(o, rows)
		return
	}
	for _, at := range slices.Backward(s.sortBy) {
		sorted := slices.Clone(rows)
		sortable := true
		slices.SortStableFunc(sorted, func(a, b []any) int {
			n, ok := compareAsPython(cellAt(a, at), cellAt(b, at))
			sortable = sortable && ok
			if o.Descending {
				n = -n
			}
			return n
		})
		if !sortable {
			_, _ = fmt.Fprintf(streams.Err, "Could not sort on field '%s'; unsortable types\n", columns[at].Title)
			continue
		}
		copy(rows, sorted)
	}
}

func cellAt(row []any, at int) any {
	if at < len(row) {
		return row[at]
	}
	return nil
}

// key is a cell made ready to be compared: numbers before texts before null.
type key struct {
	class  int
	number float64
	text   string
}

func keyOf(v any) key {
	switch t := v.(type) {
	case nil:
		return key{class: 2}
	case string:
		return keyOfText(t)
	}
	// A number that people see with a unit is still a number.
	if m := machine(v); isNumber(m) {
		v = m
	}
	if v = ownValue(v); v == nil {
		return key{class: 2}
	}
	return keyOfText(ownText(v))
}

func keyOfText(text string) key {
	if n, ok := number(text); ok {
		return key{number: n, text: text}
	}
	return key{class: 1, text: text}
}

func (s *selection) sortOwn(o Options, rows [][]any) {
	type keyed struct {
		row  []any
		keys []key
	}
	n := len(s.sortBy)
	slab := make([]key, len(rows)*n)
	all := make([]keyed, len(rows))
	for i, row := range rows {
		keys := slab[i*n : (i+1)*n]
		for j, at := range s.sortBy {
			keys[j] = keyOf(cellAt(row, at))
		}
		all[i] = keyed{row, keys}
	}
	slices.SortStableFunc(all, func(a, b keyed) int {
		for i := range a.keys {
			if c := compareKeys(a.keys[i], b.keys[i], o.Descending); c != 0 {
				return c
			}
		}
		return 0
	})
	for i, k := range all {
		rows[i] = k.row
	}
}

// compareKeys keeps null last in both directions.
func compareKeys(a, b key, descending bool) int {
	if a.class == 2 || b.class == 2 {
		return cmp.Compare(a.class, b.class)
	}
	c := cmp.Or(cmp.Compare(a.class, b.class), cmp.Compare(a.number, b.number))
	if c == 0 && a.class == 1 {
		c = strings.Compare(a.text, b.text)
	}
	if descending {
		c = -c
	}
	return c
}
