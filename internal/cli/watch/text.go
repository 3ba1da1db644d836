package watch

import (
	"fmt"
	"iter"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/displaywidth"
)

// Text is a frame of lines of text that nobody laid out: JSON, YAML. What is
// wider than the terminal goes on on the next line. See [Frame.Count] for count.
func Text(raw []byte, count int) Frame {
	f := Frame{Raw: raw, Count: count, Rows: []Row{}, Layout: wrapped}
	text := strings.TrimSuffix(string(raw), "\n")
	if text == "" {
		return f
	}
	for line := range strings.SplitSeq(text, "\n") {
		f.Rows = append(f.Rows, Row{Cells: []string{expand(line)}})
	}
	return f
}

// wrapped is the layout of plain text.
func wrapped(rows []Row, size Size) Table {
	t := Table{Rows: make([][]Line, len(rows))}
	for i, row := range rows {
		text := strings.Join(row.Cells, "  ")
		for !size.Compact && size.Width > 0 && Width(text) > size.Width {
			head, rest := split(text, size.Width)
			if head == "" {
				break // a terminal of one column and a wide character
			}
			t.Rows[i] = append(t.Rows[i], Line{{Text: head, Cell: 1}})
			text = rest
		}
		t.Rows[i] = append(t.Rows[i], Line{{Text: text, Cell: 1}})
	}
	return t
}

// expand replaces tabs by blanks up to the next of the stops, eight columns apart.
func expand(line string) string {
	if !strings.Contains(line, "\t") {
		return line
	}
	var b strings.Builder
	column := 0
	for i, piece := range strings.Split(line, "\t") {
		if i > 0 {
			n := 8 - column%8
			b.WriteString(strings.Repeat(" ", n))
			column += n
		}
		b.WriteString(piece)
		column += Width(piece)
	}
	return b.String()
}

// Pieces are the characters of a text as a terminal may be given them, each with
// the columns it takes: what moves the cursor is made visible, colours are dropped.
func Pieces(text string) iter.Seq2[string, int] {
	return func(yield func(string, int) bool) {
		for text != "" {
			var p piece
			p, text = next(text)
			if !p.colour && !yield(p.text, p.width) {
				return
			}
		}
	}
}

// Width is the number of columns the text takes on the screen of a watch.
func Width(text string) int {
	width := 0
	for text != "" {
		var p piece
		p, text = next(text)
		width += p.width
	}
	return width
}

// Cut is the text in at most width columns, with an ellipsis when it lost some.
// Colours are kept.
func Cut(text string, width int) string {
	if width <= 0 {
		return ""
	}
	if Width(text) <= width {
		return text
	}
	head, rest := split(text, width-1)
	var colours strings.Builder // those behind the cut may end what began before it
	for rest != "" {
		var p piece
		p, rest = next(rest)
		if p.colour {
			colours.WriteString(p.text)
		}
	}
	return head + "…" + colours.String()
}

// split cuts the text after at most width columns.
func split(text string, width int) (head, rest string) {
	rest = text
	for rest != "" {
		p, after := next(rest)
		if p.width > width {
			break
		}
		width -= p.width
		rest = after
	}
	return text[:len(text)-len(rest)], rest
}

// piece is the smallest part of a text that may be shown by itself.
type piece struct {
	text   string // as it is written to the terminal
	width  int
	colour bool // a sequence that sets colours
}

// next takes the first piece off the text. Control characters become visible
// ones, so whatever a text holds, it moves the cursor by its width and no more.
func next(text string) (p piece, rest string) {
	if n := colour(text); n > 0 {
		return piece{text: text[:n], colour: true}, text[n:]
	}
	if plain := printable(text); plain > 0 {
		return piece{text: text[:plain], width: 1}, text[plain:]
	}
	r, size := utf8.DecodeRuneInString(text)
	if r == utf8.RuneError && size == 1 {
		return visible(fmt.Sprintf(`\x%02x`, text[0])), text[1:]
	}
	if unsafe(r) {
		quoted := strconv.QuoteRuneToASCII(r)
		return visible(quoted[1 : len(quoted)-1]), text[size:]
	}
	cluster := displaywidth.StringGraphemes(text)
	cluster.Next()
	whole := cluster.Value()
	// A cluster may hold what is not to be obeyed: it ends before that.
	for i, r := range whole {
		if i > 0 && (unsafe(r) || r == utf8.RuneError) {
			whole = whole[:i]
			break
		}
	}
	return piece{text: whole, width: displaywidth.String(whole)}, text[len(whole):]
}

func visible(text string) piece { return piece{text: text, width: len(text)} }

// printable is 1 when the text begins with an ASCII character that stands for
// itself, whatever follows.
func printable(text string) int {
	if text[0] < ' ' || text[0] > '~' {
		return 0
	}
	if len(text) == 1 || text[1] < utf8.RuneSelf {
		return 1
	}
	return 0 // something may combine with it
}

// colour is the length of the SGR sequence the text begins with: ESC [ 1 ; 31 m.
func colour(text string) int {
	if !strings.HasPrefix(text, "\x1b[") {
		return 0
	}
	for i := 2; i < len(text) && i < 64; i++ {
		switch c := text[i]; {
		case c == 'm':
			return i + 1
		case (c < '0' || c > '9') && c != ';' && c != ':':
			return 0
		}
	}
	return 0
}

// unsafe tells characters that could move the cursor or reorder the line. The
// joiner inside emoji is a format character as well, and harmless.
func unsafe(r rune) bool {
	const joiner = '\u200d'
	return unicode.IsControl(r) || (unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp) && r != joiner)
}
