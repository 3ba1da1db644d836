// Package watchtest is a terminal for tests of what repaints one: a [Screen] that
// obeys the sequences a watch writes and no others, and a keyboard to press.
package watchtest

import (
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/clipperhouse/displaywidth"
)

// Screen is a grid of characters. It is safe for concurrent use.
type Screen struct {
	mu            sync.Mutex
	width, height int
	cells         []cell
	row, column   int
	style         string
	alternate     bool
	hidden        bool // the cursor
	noWrap        bool
	writes        int
	log           strings.Builder
	faults        []string
}

type cell struct {
	text  string // "" is a blank, or the right half of the wide character before
	style string
}

// NewScreen returns an empty screen.
func NewScreen(width, height int) *Screen {
	s := &Screen{}
	s.resize(width, height)
	return s
}

func (s *Screen) resize(width, height int) {
	old, oldWidth, oldHeight := s.cells, s.width, s.height
	s.width, s.height = width, height
	s.cells = make([]cell, width*height)
	for y := range min(height, oldHeight) {
		for x := range min(width, oldWidth) {
			s.cells[y*width+x] = old[y*oldWidth+x]
		}
	}
	s.row, s.column = min(s.row, height-1), min(s.column, width-1)
}

// Write implements io.Writer. A sequence must not be split over two writes.
func (s *Screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writes++
	s.log.Write(p)
	rest := string(p)
	for rest != "" {
		switch c := rest[0]; {
		case c == 0x1b:
			rest = s.sequence(rest)
		case c < ' ' || c == 0x7f:
			s.fault("control character %q", c)
			rest = rest[1:]
		default:
			g := displaywidth.StringGraphemes(rest)
			g.Next()
			s.put(g.Value(), g.Width())
			rest = rest[len(g.Value()):]
		}
	}
	return len(p), nil
}

func (s *Screen) fault(format string, a ...any) {
	s.faults = append(s.faults, fmt.Sprintf(format, a...))
}

func (s *Screen) put(text string, width int) {
	if width == 0 {
		return
	}
	if s.column+width > s.width {
		s.fault("%q beyond column %d of row %d", text, s.width, s.row+1)
		return
	}
	at := s.row*s.width + s.column
	s.cells[at] = cell{text, s.style}
	for i := 1; i < width; i++ {
		s.cells[at+i] = cell{"", s.style}
	}
	s.column += width
}

// sequence obeys the sequence that rest begins with and returns what follows.
func (s *Screen) sequence(rest string) string {
	end := 2
	for end < len(rest) && (rest[end] < 0x40 || rest[end] > 0x7e) {
		end++
	}
	if len(rest) < 3 || rest[1] != '[' || end == len(rest) {
		s.fault("sequence %q", rest)
		return ""
	}
	parameters, final := rest[2:end], rest[end]
	switch {
	case strings.HasPrefix(parameters, "?") && (final == 'h' || final == 'l'):
		s.mode(parameters[1:], final == 'h')
	case final == 'H':
		s.row, s.column = s.position(parameters)
	case final == 'm':
		s.paint(parameters)
	case final == 'K' && parameters == "":
		if s.column >= s.width {
			s.fault("erasing the last character of row %d", s.row+1)
			break
		}
		s.erase(s.row*s.width+s.column, (s.row+1)*s.width)
	case final == 'J' && parameters == "":
		s.erase(s.row*s.width+s.column, len(s.cells))
	case final == 'J' && parameters == "2":
		s.erase(0, len(s.cells))
	default:
		s.fault("sequence %q", rest[:end+1])
	}
	return rest[end+1:]
}

func (s *Screen) position(parameters string) (row, column int) {
	if parameters == "" {
		return 0, 0
	}
	y, x, _ := strings.Cut(parameters, ";")
	row, errRow := strconv.Atoi(y)
	column, errColumn := strconv.Atoi(x)
	if errRow != nil || errColumn != nil || row < 1 || row > s.height || column < 1 || column > s.width {
		s.fault("position %q on a screen of %d rows, %d columns", parameters, s.height, s.width)
		return 0, 0
	}
	return row - 1, column - 1
}

func (s *Screen) mode(name string, on bool) {
	switch name {
	case "1049":
		if s.alternate = on; on {
			s.erase(0, len(s.cells))
		}
	case "25":
		s.hidden = !on
	case "7":
		s.noWrap = !on
	default:
		s.fault("mode %s", name)
	}
}

// paint keeps the parameters in force, apart from the colours that were replaced.
func (s *Screen) paint(parameters string) {
	for p := range strings.SplitSeq(parameters, ";") {
		switch p {
		case "", "0":
			s.style = ""
		default:
			if s.style != "" {
				s.style += ";"
			}
			s.style += p
		}
	}
}

func (s *Screen) erase(from, to int) {
	for i := from; i < to; i++ {
		s.cells[i] = cell{}
	}
}

// String is what is to be seen, without blanks at the ends.
func (s *Screen) String() string { return s.render(false) }

// Marked is what is to be seen, with the styles: ‹7:reversed›.
func (s *Screen) Marked() string { return s.render(true) }

func (s *Screen) render(styles bool) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var b strings.Builder
	for y := range s.height {
		var line strings.Builder
		style := ""
		for x := 0; x < s.width; {
			c := s.cells[y*s.width+x]
			if styles && c.style != style {
				if style != "" {
					line.WriteString("›")
				}
				if c.style != "" {
					line.WriteString("‹" + c.style + ":")
				}
				style = c.style
			}
			if c.text == "" {
				line.WriteByte(' ')
				x++
				continue
			}
			line.WriteString(c.text)
			x += displaywidth.String(c.text)
		}
		if style != "" {
			line.WriteString("›")
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}

// State is what a program may forget to put back.
type State struct {
	Alternate, CursorHidden, NoWrap bool
	Style                           string
}

// State returns the modes in force.
func (s *Screen) State() State {
	s.mu.Lock()
	defer s.mu.Unlock()
	return State{s.alternate, s.hidden, s.noWrap, s.style}
}

// Writes is the number of writes so far.
func (s *Screen) Writes() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.writes
}

// Log is everything written so far.
func (s *Screen) Log() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.String()
}

// Faults are what a terminal would not have taken well: unknown sequences,
// control characters, text beyond the edge.
func (s *Screen) Faults() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.faults...)
}
