// Package watch repeats a command that reads and shows what it returns, in place
// on a terminal, one snapshot after another elsewhere. It is the loop behind every
// --watch and knows no product: a [Source] fetches, a [Layout] draws.
//
//	          ┌── interval, space, r ──┐
//	          ▼                        │
//	source ─▶ Frame ─▶ Layout(size) ─▶ screen ◀─ keys, resize
//	             └───▶ Raw ──────────▶ stream      (plain)
//
// A refresh runs in its own goroutine, so keys are answered while it lasts; those
// that end the loop cancel its context and do not wait for it. Whichever way
// [Run] ends, by return, signal or panic of the source, the terminal is put back.
package watch

import (
	"context"
	"errors"
	"time"
)

// Limits of the interval between two refreshes.
const (
	DefaultInterval = 2 * time.Second
	MinInterval     = 250 * time.Millisecond
	MaxInterval     = 24 * time.Hour
)

// ErrInterrupted ends a watch by Ctrl-C or a signal: nothing to say, the exit code
// of an interruption. Ending by q is no error.
var ErrInterrupted = errors.New("interrupted")

// Options are the flags of a watch and what it needs to know of the command.
type Options struct {
	// Title is what is watched: the command line without its global flags.
	Title string
	// Program begins the messages about failures on the error stream when plain.
	Program  string
	Interval time.Duration // 0 is DefaultInterval, see [ParseInterval]
	Count    int           // end after so many refreshes, failures included; 0 is never
	Diff     bool          // highlight what changed; never done without colours
	Compact  bool          // one physical line a row; it is passed on to the layout
	NoTitle  bool          // no status line, but while refreshes fail
	// Plain appends snapshots, without any escape sequence. It is so anyway when
	// the output is no terminal. The caller sets it for TERM=dumb.
	Plain       bool
	UntilChange bool // end without an error at the first refresh that differs
	ExitOnError bool // end with the error of the first refresh that fails
	// Severity classifies the errors of the source; nil takes all as [Passing].
	Severity func(error) Severity
	// Terminal stands in for the one behind the streams.
	Terminal Terminal
}

// Severity says whether it makes sense to go on after an error.
type Severity int

// The severities.
const (
	Passing  Severity = iota // may be gone next time
	Settled                  // the next answer will be the same: fatal before the first frame
	Rejected                 // a credential was refused: fatal at once
)

// Source fetches what is shown. It must not write to the streams of the process
// while a screen is painted; what it has to say goes to [Frame.Notes].
type Source func(ctx context.Context, r Request) (Frame, error)

// Request is what a source may want to know.
type Request struct {
	First bool // nothing was shown so far: the time for a header
	Plain bool // Raw is wanted and Layout is not
	Size  Size // zero when plain
}

// Size is the room there is.
type Size struct {
	Width, Height int
	Compact       bool // one physical line a row, cells cut short by [Cut]
}

// Frame is the result of a refresh.
type Frame struct {
	// Rows are compared with those of the refresh before. When nil, Raw is.
	Rows []Row
	// Layout draws rows; nil prints their cells as they are, each row a line.
	Layout Layout
	// Raw is the snapshot as bytes, for plain output.
	Raw []byte
	// Count is the number of rows that the status line tells, negative for none.
	Count int
	// Notes are shown below the rows.
	Notes []string
}

// Row is what is compared. Rows with the same ID are the same thing; an empty ID
// stands for the position. Several rows of one ID are told apart by their order.
type Row struct {
	ID    string
	Cells []string // as text, may be coloured
}

// Layout draws rows on a terminal of the size. Among the rows may be some which
// are gone: they are those of the frame before.
type Layout func(rows []Row, size Size) Table

// Table is a drawn frame.
type Table struct {
	Head []Line   // stays above the rows while they scroll
	Rows [][]Line // the physical lines of each row, as many entries as rows
	Foot []Line   // scrolls with the rows
}

// Line is a physical line of a table. What is wider than the terminal is cut.
type Line []Span

// Span is a piece of a line. Text may hold colours (SGR sequences); any other
// control character is shown, not obeyed.
type Span struct {
	Text string
	Cell int // which cell of the row it shows, 1 for the first; 0 for none
}
