// Package render prints what koc's commands return: the rows of a listing or the
// fields of one thing, in the format and the voice the user asked for.
//
//	table   bordered, fitted to the terminal   value   bare cells, for scripts
//	json    yaml                               csv     shell (one thing only)
//
// There are two voices. The default is koc's own: JSON is the view the table
// gives, cells formatted; value cells are joined by tabs; booleans are lower case
// and null is empty; what could move the cursor or reorder a line is taken out of
// text. The other, OpenStack, is the output of python-openstackclient to the byte,
// so that scripts written for it go on working.
package render

import (
	"encoding/json"
	"fmt"
	"iter"

	"github.com/holdfast-ops/holdfast/internal/cli/iostreams"
)

// Voice says whose habits the output has.
type Voice int

// The voices.
const (
	Own       Voice = iota // koc's
	OpenStack              // python-openstackclient's
)

// Options are the formatter flags of one run.
type Options struct {
	Voice       Voice
	Format      string   // "" is table
	Columns     []string // -c
	SortBy      []string // --sort-column
	Descending  bool     // --sort-descending
	MaxWidth    int      // --max-width, CLIFF_MAX_TERM_WIDTH; 0 is no limit given
	FitWidth    bool     // --fit-width, CLIFF_FIT_WIDTH
	TermWidth   int      // $COLUMNS, for --fit-width where the output is no terminal; 0 is 80
	PrintEmpty  bool     // --print-empty
	NoIndent    bool     // --noindent
	Quote       string   // --quote: all, minimal, none, nonnumeric
	Separator   string   // --value-separator; "" is the voice's own
	Variables   []string // --variable, shell only, the same as Columns
	Prefix      string   // --prefix, shell only
	ShowElision bool     // never elide long cells
	NoHeader    bool     // no csv header: a watch prints it once
}

// Column is one column of a listing.
type Column struct {
	Title string
	// Hidden columns are shown only when -c or --sort-column names them; in the
	// OpenStack voice only -c does.
	Hidden bool
}

// Field is one attribute of a thing that is shown.
type Field struct {
	Name  string
	Value any
}

// Cell is a value that people and programs read differently. The table shows
// Human; JSON and YAML of the OpenStack voice show Machine, and so do its value,
// csv and shell formats, as Python writes it. All formats of koc's own voice show
// Human.
//
// Format, when it is not nil, makes the human form out of Machine, so that a run
// that does not look at it does not pay for it. It returns a string, or nil where
// upstream shows None.
//
// Other cells are nil, bool, any int or float, json.Number, string, [Stamp], or
// native lists ([]any, []string, []map[string]any, []Ordered) and dictionaries
// (map[string]any, map[string]string, [Ordered]).
type Cell struct {
	Human   string
	Machine any
	Format  func(machine any) any
}

// Painted is a cell that the table of koc's own voice shows in colours, where the
// output takes colours. Text is its human form with SGR sequences; foreign text in
// it has to go through [Plain] first.
type Painted struct {
	Cell

	Text string
}

// Ordered is a dictionary that keeps its order. Other dictionaries are printed in
// the order of their keys.
type Ordered []Field

// Stamp is a moment as the API spells it. koc's own voice prints it as RFC 3339,
// an absent one as null; the OpenStack voice leaves it alone.
type Stamp string

// List prints rows. A row has one cell for each column, hidden ones included;
// what a cell may be is told at [Cell]. Rows are printed as they come where the
// format allows it; an error of the sequence ends the printing and is returned.
func List(s *iostreams.Streams, o Options, columns []Column, rows iter.Seq2[[]any, error]) error {
	sel, err := o.choose(columns)
	if err != nil {
		return err
	}
	if len(sel.sortBy) > 0 {
		all, err := collect(rows)
		if err != nil {
			return err
		}
		sel.sort(s, o, columns, all)
		rows = Rows(all)
	}
	w := &writer{to: s.Out}
	switch o.Format {
	case "", "table":
		err = o.listTable(w, s, sel, rows)
	case "json":
		err = o.listJSON(w, sel, rows)
	case "yaml":
		err = o.listYAML(w, sel, rows)
	case "value":
		err = o.listValue(w, sel, rows)
	case "csv":
		err = o.listCSV(w, sel, rows)
	default:
		return fmt.Errorf("invalid output format %q: must be one of table, json, yaml, value, csv", o.Format)
	}
	if err != nil && !w.begun {
		return err // and nothing is printed
	}
	if werr := w.flush(); werr != nil {
		return fmt.Errorf("write output: %w", werr)
	}
	return err
}

// Show prints the fields of one thing, in their order.
func Show(s *iostreams.Streams, o Options, fields []Field) error {
	fields, err := o.chooseFields(fields)
	if err != nil {
		return err
	}
	w := &writer{to: s.Out}
	switch o.Format {
	case "", "table":
		o.showTable(w, s, fields)
	case "json":
		o.showJSON(w, fields)
	case "yaml":
		o.showYAML(w, fields)
	case "value":
		o.showValue(w, fields)
	case "csv":
		o.showCSV(w, fields)
	case "shell":
		o.showShell(w, fields)
	default:
		return fmt.Errorf("invalid output format %q: must be one of table, json, yaml, value, csv, shell", o.Format)
	}
	if err := w.flush(); err != nil {
		return fmt.Errorf("write output: %w", err)
	}
	return nil
}

// Rows is a sequence over rows that are all there.
func Rows(rows [][]any) iter.Seq2[[]any, error] {
	return func(yield func([]any, error) bool) {
		for _, row := range rows {
			if !yield(row, nil) {
				return
			}
		}
	}
}

func collect(rows iter.Seq2[[]any, error]) ([][]any, error) {
	var all [][]any
	for row, err := range rows {
		if err != nil {
			return nil, err
		}
		all = append(all, row)
	}
	return all, nil
}

// human is the form of a cell for people: a plain value, nil included.
func human(v any) any {
	switch c := v.(type) {
	case Cell:
		if c.Format != nil {
			return c.Format(c.Machine)
		}
		return c.Human
	case *Cell:
		return human(*c)
	case Painted:
		return human(c.Cell)
	}
	return v
}

// machine is the form of a cell for programs.
func machine(v any) any {
	switch c := v.(type) {
	case Cell:
		return c.Machine
	case *Cell:
		return c.Machine
	case Painted:
		return c.Machine
	case Stamp:
		return string(c)
	}
	return v
}

// isNumber reports whether the value is a number, as Python's int and float are;
// its booleans are none here.
func isNumber(v any) bool {
	switch v.(type) {
	case int, int8, int16, int32, int64, uint, uint8, uint16, uint32, uint64, float32, float64, json.Number:
		return true
	}
	return false
}
