package screen_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-ops/holdfast/internal/cli/iostreams"
	"github.com/holdfast-ops/holdfast/internal/cli/screen"
	"github.com/holdfast-ops/holdfast/internal/cli/watch"
	"github.com/holdfast-ops/holdfast/internal/cli/watch/watchtest"
)

// program is a program for tests: it shows what it was told.
type program struct {
	size screen.Size
	told string
	n    int
}

var errEnd = errors.New("the end")

func (p program) Init() []screen.Cmd { return nil }

func (p program) Update(msg screen.Msg) (program, []screen.Cmd) {
	switch msg := msg.(type) {
	case screen.Size:
		p.size = msg
	case string:
		p.told += msg
		p.n++
	case screen.Key:
		p.told += string(msg)
		switch msg {
		case "q":
			return p, []screen.Cmd{screen.Quit(nil)}
		case "e":
			return p, []screen.Cmd{screen.Quit(errEnd)}
		case "p":
			return p, []screen.Cmd{{Run: func(context.Context, func(screen.Msg)) { panic("out of range") }}}
		case "1", "2":
			return p, []screen.Cmd{{Name: "work", Run: func(ctx context.Context, send func(screen.Msg)) {
				time.Sleep(time.Second) //nolint:forbidigo // virtual
				send("[" + string(msg) + " done]")
			}}}
		case "0":
			return p, []screen.Cmd{{Name: "work"}}
		case "f":
			return p, []screen.Cmd{{Run: func(_ context.Context, send func(screen.Msg)) {
				for range 1000 {
					send(".")
				}
			}}}
		}
	}
	return p, nil
}

func (p program) View() screen.Frame {
	return screen.Frame{Lines: []screen.Line{{{Text: fmt.Sprintf("%dx%d %d", p.size.Width, p.size.Height, p.n)}}, {{Text: p.told[max(0, len(p.told)-30):]}}}}
}

// drive runs the program in a bubble, with somebody at the keyboard.
func drive(t *testing.T, someone func(term *watchtest.Terminal, s *iostreams.Streams), want error) *watchtest.Terminal {
	t.Helper()
	var term *watchtest.Terminal
	synctest.Test(t, func(t *testing.T) {
		term = watchtest.New(40, 4)
		s := term.Streams()
		ended := make(chan error, 1)
		go func() {
			defer func() {
				if r := recover(); r != nil {
					ended <- fmt.Errorf("panic: %v", r)
				}
			}()
			ended <- screen.Run(t.Context(), s, term, program{})
		}()
		synctest.Wait()
		someone(term, s)
		synctest.Wait()
		err := <-ended
		if want != nil && strings.HasPrefix(want.Error(), "panic") {
			if err == nil || !strings.HasPrefix(err.Error(), want.Error()) {
				t.Errorf("ended with %v", err)
			}
		} else if !errors.Is(err, want) {
			t.Errorf("ended with %v, want %v", err, want)
		}
		if term.IsRaw() || term.State() != (watchtest.State{}) {
			t.Errorf("left as %+v, raw %v", term.State(), term.IsRaw())
		}
		if faults := term.Faults(); len(faults) > 0 {
			t.Errorf("%v", faults)
		}
		term.Close()
	})
	return term
}

func TestAProgramIsDrawnAndEnds(t *testing.T) {
	t.Parallel()
	drive(t, func(term *watchtest.Terminal, _ *iostreams.Streams) {
		if got := term.String(); got != "40x4 0\n" {
			t.Errorf("%q", got)
		}
		term.Press("ab")
		synctest.Wait()
		if got := term.String(); got != "40x4 0\nab\n" {
			t.Errorf("%q", got)
		}
		term.Resize(20, 3)
		synctest.Wait()
		if got := term.String(); got != "20x3 0\nab\n" {
			t.Errorf("%q", got)
		}
		term.Press("q")
	}, nil)
}

func TestAProgramMayEndWithAnError(t *testing.T) {
	t.Parallel()
	drive(t, func(term *watchtest.Terminal, _ *iostreams.Streams) { term.Press("e") }, errEnd)
}

func TestASignalIsAnInterruption(t *testing.T) {
	t.Parallel()
	drive(t, func(term *watchtest.Terminal, _ *iostreams.Streams) { term.Signal(syscall.SIGTERM) }, watch.ErrInterrupted)
}

func TestThePanicOfACommandComesOutWhereTheTerminalIsPutBack(t *testing.T) {
	t.Parallel()
	drive(t, func(term *watchtest.Terminal, _ *iostreams.Streams) { term.Press("p") }, errors.New("panic: out of range"))
}

func TestACommandTakesThePlaceOfTheOneOfItsName(t *testing.T) {
	t.Parallel()
	drive(t, func(term *watchtest.Terminal, _ *iostreams.Streams) {
		term.Press("1")
		time.Sleep(500 * time.Millisecond) //nolint:forbidigo // virtual
		term.Press("2")
		time.Sleep(5 * time.Second) //nolint:forbidigo // virtual
		if got := term.String(); got != "40x4 1\n12[2 done]\n" {
			t.Errorf("%q", got)
		}
		term.Press("10")
		time.Sleep(5 * time.Second) //nolint:forbidigo // virtual
		if got := term.String(); got != "40x4 1\n12[2 done]10\n" {
			t.Errorf("%q", got)
		}
		term.Press("q")
	}, nil)
}

func TestNewsAreDrawnTogether(t *testing.T) {
	t.Parallel()
	drive(t, func(term *watchtest.Terminal, _ *iostreams.Streams) {
		before := term.Writes()
		term.Press("f")
		time.Sleep(time.Second) //nolint:forbidigo // virtual
		if got := term.String(); !strings.HasPrefix(got, "40x4 1000\n") {
			t.Errorf("%q", got)
		}
		if n := term.Writes() - before; n > 4 {
			t.Errorf("%d writes", n)
		}
		before = term.Writes()
		time.Sleep(time.Minute) //nolint:forbidigo // virtual
		if n := term.Writes() - before; n > 0 {
			t.Errorf("%d writes while nothing happened", n)
		}
		term.Press("q")
	}, nil)
}

func TestASuspendedProgramGivesTheTerminalBack(t *testing.T) {
	t.Parallel()
	term := drive(t, func(term *watchtest.Terminal, _ *iostreams.Streams) {
		term.Press("\x1a")
		synctest.Wait()
		if got := term.String(); got != "40x4 0\n" {
			t.Errorf("%q", got)
		}
		term.Press("q")
	}, nil)
	if term.Suspended() != 1 {
		t.Errorf("suspended %d times", term.Suspended())
	}
}

func TestALoneEscapeIsAKey(t *testing.T) {
	t.Parallel()
	drive(t, func(term *watchtest.Terminal, _ *iostreams.Streams) {
		term.Press("\x1b")
		time.Sleep(time.Second) //nolint:forbidigo // virtual
		if got := term.String(); got != "40x4 0\nesc\n" {
			t.Errorf("%q", got)
		}
		term.Press("\x1b[")
		time.Sleep(time.Millisecond) //nolint:forbidigo // virtual
		term.Press("A")
		synctest.Wait()
		if got := term.String(); got != "40x4 0\nescup\n" {
			t.Errorf("%q", got)
		}
		term.Press("q")
	}, nil)
}

func TestWithoutATerminalThereIsNoProgram(t *testing.T) {
	t.Parallel()
	s, _, _, _ := iostreams.Test()
	if err := screen.Run(t.Context(), s, nil, program{}); !errors.Is(err, screen.ErrNoTerminal) {
		t.Errorf("got %v", err)
	}
}
