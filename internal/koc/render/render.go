// Package render prints what koc's commands return: the rows of a listing or the
// fields of one thing, in the format and the voice the user asked for.
//
//	table   bordered, fitted to the terminal   value   bare cells, for scripts
//	json    yaml                               csv     shell (one thing only)
//
// There are two voices. The default is koc's own: JSON is the view the table
// gives, cells formatted; value cells are joined by tabs; booleans are lower case
// and null is empty. The other, OpenStack, is the output of python-openstackclient
// to the byte, so that scripts written for it go on working.
package render

import (
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
	PrintEmpty  bool     // --print-empty
	NoIndent    bool     // --noindent
	Quote       string   // --quote: all, minimal, none, nonnumeric
	Separator   string   // --value-separator; "" is the voice's own
	Variables   []string // --variable, shell only, the same as Columns
	Prefix      string   // --prefix, shell only
	ShowElision bool     // never elide long cells
}

// Column is one column of a listing.
type Column struct {
	Title string
	// Hidden columns are shown only when -c or --sort-column names them.
	Hidden bool
}

// Field is one attribute of a thing that is shown.
type Field struct {
	Name  string
	Value any
}

// List prints rows. A row has one cell for each column, hidden ones included;
// what a cell may be is told at [Cell]. Rows are printed as they come where the
// format allows it; an error of the sequence ends the printing and is returned.
func List(s *iostreams.Streams, o Options, columns []Column, rows iter.Seq2[[]any, error]) error {
	return list(s, o, columns, rows)
}

// Show prints the fields of one thing, in their order.
func Show(s *iostreams.Streams, o Options, fields []Field) error {
	return show(s, o, fields)
}

// Wants reports whether the run will look at a column of the title: whether it is
// shown or sorted by. Commands use it to fetch less.
func (o Options) Wants(c Column) bool { return o.wants(c) }

// Cell is a value that people and programs read differently: Human in table,
// value and csv (and in koc's own JSON), Machine in JSON and YAML of the
// OpenStack voice. Other cells are nil, bool, any int or float, json.Number,
// string, or native lists ([]any) and dictionaries (map[string]any, [Ordered]).
type Cell struct {
	Human   string
	Machine any
}

// Ordered is a dictionary that keeps its order.
type Ordered []Field
