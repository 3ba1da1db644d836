// Package iostreams holds the three standard streams and what is known of the
// terminal behind them. Commands get a [Streams] and never reach for os.Stdout,
// so a test gives them buffers.
package iostreams

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strconv"

	"golang.org/x/term"
)

// Streams are the standard streams of a command.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer

	InTTY, OutTTY, ErrTTY bool

	Width int  // columns of the terminal; 0 when Out is none
	Color bool // whether Out takes colours

	auto bool // the value of Color that SetColor("auto") restores
}

// System returns the streams of the process. env reads its environment:
// NO_COLOR (not empty) and TERM=dumb turn colours off, COLUMNS sets the width.
func System(env func(string) string) *Streams {
	s := &Streams{
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr,
		InTTY: isTTY(os.Stdin), OutTTY: isTTY(os.Stdout), ErrTTY: isTTY(os.Stderr),
	}
	if s.OutTTY {
		s.Width = width(env("COLUMNS"))
	} else {
		s.Out = &watched{file: os.Stdout} // disks fill up, terminals do not
	}
	s.auto = s.OutTTY && env("NO_COLOR") == "" && env("TERM") != "dumb"
	s.Color = s.auto
	return s
}

// Test returns streams over buffers, none of them a terminal.
func Test() (s *Streams, in, out, err *bytes.Buffer) {
	in, out, err = new(bytes.Buffer), new(bytes.Buffer), new(bytes.Buffer)
	return &Streams{In: in, Out: out, Err: err}, in, out, err
}

// SetColor applies the value of a --color flag: auto, yes or no.
func (s *Streams) SetColor(mode string) error {
	switch mode {
	case "", "auto":
		s.Color = s.auto
	case "yes":
		s.Color = true
	case "no":
		s.Color = false
	default:
		return fmt.Errorf("--color %q: expected auto, yes or no", mode)
	}
	return nil
}

// Height is the number of rows of the terminal as it is now; 0 when Out is none.
func (s *Streams) Height() int {
	f, ok := s.Out.(*os.File)
	if !ok || !s.OutTTY {
		return 0
	}
	if _, h, err := term.GetSize(int(f.Fd())); err == nil && h > 0 {
		return h
	}
	return 0
}

func isTTY(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

func width(columns string) int {
	if n, err := strconv.Atoi(columns); err == nil && n > 0 {
		return n
	}
	if w, _, err := term.GetSize(int(os.Stdout.Fd())); err == nil && w > 0 {
		return w
	}
	return 80
}
