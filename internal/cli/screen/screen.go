// Package screen runs an interactive program on a terminal. The program is a
// value: Update takes what happened and returns the next value and what is to be
// done, View draws it. Neither acts on anything, so that both are tested without a
// terminal.
//
//	keys, resize, clock ──┐                     ┌──▶ View ──▶ canvas ──▶ what changed
//	                      ▼                     │
//	commands ─────────▶ Update ──▶ next value ──┤
//	    ▲                                       │
//	    └────────────── commands ◀──────────────┘
//
// Only the characters that changed are written: a slow link carries little, and
// what happens while it is busy is drawn once. Whichever way [Run] ends, by return,
// signal or panic of a command, the terminal is put back.
package screen

import (
	"context"
	"time"

	"github.com/holdfast-ops/holdfast/internal/cli/iostreams"
)

// Msg is something that happened: a [Key], a [Size], a [Tick], or what a command sent.
type Msg any

// Key is what was pressed: a character, or the name of a key as "up", "enter",
// "esc", "ctrl-c".
type Key string

// Size is the room there is. It is told at the start and at each change.
type Size struct{ Width, Height int }

// Tick is the clock, every second.
type Tick time.Time

// Cmd is something to do. It runs in its own goroutine.
type Cmd struct {
	// Name, when not empty, is that of the only command of that name: a former one
	// is cancelled.
	Name string
	// Run does it and sends what comes of it. Nil only cancels the former one.
	Run func(ctx context.Context, send func(Msg))

	quit bool
	err  error
}

// Quit ends the program with an error, nil for none.
func Quit(err error) Cmd { return Cmd{quit: true, err: err} }

// Model is a program. M is the type itself.
type Model[M any] interface {
	// Init is done first.
	Init() []Cmd
	// Update returns the value that follows when msg happened.
	Update(msg Msg) (M, []Cmd)
	// View draws the value, on the size it was told.
	View() Frame
}

// Frame is a drawn screen. Lines beyond the size are left out, and what is wider
// is cut.
type Frame struct {
	Lines []Line
	// Cursor is where the cursor is shown, when Typing.
	Cursor Position
	Typing bool
}

// Position counts lines and columns from 0.
type Position struct{ Line, Column int }

// Line is a line of the screen.
type Line []Span

// Span is a piece of a line in one style.
type Span struct {
	Text  string
	Style iostreams.Style
}

// Reverse shows what is selected. It is shown without colours too.
const Reverse iostreams.Style = "7;"
