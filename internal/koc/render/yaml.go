package render

import (
	"cmp"
	"encoding/json"
	"iter"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// yamlWriter writes block style YAML. In the OpenStack voice every choice of
// quotes and line ends is PyYAML's: keys sorted, ASCII only, lines folded after 80
// columns. koc's own voice keeps the order, writes Unicode, does not fold, and
// gives texts of several lines as blocks.
type yamlWriter struct {
	buf []byte
	own bool

	column  int
	blank   bool // the last character was a blank or a line end
	leading bool // only indentation and indicators stand on the line so far
}

const (
	yamlIndent = 2
	yamlWidth  = 80
	noIndent   = -1
)

func (o Options) listYAML(w *writer, sel *selection, rows iter.Seq2[[]any, error]) error {
	y := &yamlWriter{own: o.Voice == Own, buf: w.buf, blank: true, leading: true}
	row := make([]Field, len(sel.titles))
	order := o.yamlOrder(sel.titles)
	n := 0
	for cells, err := range rows {
		if err != nil {
			w.buf = y.buf
			return err
		}
		for i, at := range order {
			row[i] = Field{sel.titles[at], o.yamlValue(sel.cell(cells, at))}
		}
		y.item(Ordered(row), 0)
		n++
		w.buf = y.buf
		ok := w.row()
		if y.buf = w.buf; !ok {
			return nil
		}
	}
	if n == 0 {
		y.indicator("[]", true, false)
	}
	y.newline(0)
	w.buf = y.buf
	return nil
}

func (o Options) yamlOrder(titles []string) []int {
	order := make([]int, len(titles))
	for i := range order {
		order[i] = i
	}
	if o.Voice == OpenStack {
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(titles[a], titles[b]) })
	}
	return order
}

func (o Options) yamlValue(v any) any {
	if o.Voice == Own {
		return ownValue(v)
	}
	return machine(v)
}

func (o Options) showYAML(w *writer, fields []Field) {
	y := &yamlWriter{own: o.Voice == Own, buf: w.buf, blank: true, leading: true}
	if len(fields) == 0 && y.own {
		y.indicator("{}", true, false)
		y.newline(0)
	}
	for _, f := range fields {
		// Each field stands for itself, so that their order is kept.
		y.mapping([]Field{{f.Name, o.yamlValue(f.Value)}}, noIndent)
		y.newline(0)
	}
	w.buf = y.buf
}

// indicator writes a mark, apart from what stands before it. After a leading one
// more may follow on the line.
func (y *yamlWriter) indicator(text string, apart, leading bool) {
	if apart && !y.blank {
		y.buf = append(y.buf, ' ')
		y.column++
	}
	y.buf = append(y.buf, text...)
	y.column += len(text)
	y.blank = false
	y.leading = y.leading && leading
}

// newline goes to the indentation, on the same line when only indicators stand
// before it there.
func (y *yamlWriter) newline(indent int) {
	if !y.leading || y.column > indent || y.column == indent && !y.blank {
		y.end()
	}
	if y.column < indent {
		for range indent - y.column {
			y.buf = append(y.buf, ' ')
		}
		y.column = indent
		y.blank = true
	}
}

func (y *yamlWriter) end() {
	y.buf = append(y.buf, '\n')
	y.column = 0
	y.blank, y.leading = true, true
}

func (y *yamlWriter) put(text string) {
	y.buf = append(y.buf, text...)
	y.column += utf8.RuneCountInString(text)
}

// node writes a value. inMapping tells that it is the value of a key.
func (y *yamlWriter) node(v any, indent int, inMapping bool) {
	switch t := v.(type) {
	case Cell, *Cell, Painted:
		y.node(machine(v), indent, inMapping)
		return
	case string, Stamp:
		y.scalar(pythonStr(t), indent, false)
		return
	case nil:
		y.plain("null", indent, false)
		return
	case bool:
		if t {
			y.plain("true", indent, false)
		} else {
			y.plain("false", indent, false)
		}
		return
	}
	if isNumber(v) {
		y.plain(y.number(v), indent, false)
		return
	}
	if items, ok := itemsOf(v); ok {
		if len(items) == 0 {
			y.indicator("[]", true, false)
			return
		}
		if !inMapping || y.leading {
			indent += yamlIndent
		}
		for _, item := range items {
			y.item(item, indent)
		}
		return
	}
	pairs, _ := pairsOf(v)
	if len(pairs) == 0 {
		y.indicator("{}", true, false)
		return
	}
	if !y.own {
		pairs = sortedPairs(pairs)
	}
	y.mapping(pairs, indent)
}

// item writes an item of a list whose dashes stand at the indentation.
func (y *yamlWriter) item(v any, indent int) {
	y.newline(indent)
	y.indicator("-", true, true)
	y.node(v, indent, false)
}

// mapping writes pairs below the indentation of what holds them.
func (y *yamlWriter) mapping(pairs []Field, indent int) {
	if indent == noIndent {
		indent = 0
	} else {
		indent += yamlIndent
	}
	for _, pair := range pairs {
		y.newline(indent)
		if simpleKey(pair.Name) {
			y.scalar(pair.Name, indent, true)
			y.indicator(":", false, false)
		} else {
			y.indicator("?", true, true)
			y.scalar(pair.Name, indent, false)
			y.newline(indent)
			y.indicator(":", true, true)
		}
		y.node(pair.Value, indent, true)
	}
}

// simpleKey reports whether a key stands on one line with its value.
func simpleKey(key string) bool {
	const longest = 123
	return key != "" && utf8.RuneCountInString(key) < longest && !strings.ContainsAny(key, "\n\u0085\u2028\u2029")
}

func (y *yamlWriter) number(v any) string {
	var f float64
	switch n := v.(type) {
	case float64:
		f = n
	case float32:
		f = float64(n)
	case json.Number:
		var ok bool
		if f, ok = floating(n); !ok {
			return string(appendPythonNumber(nil, v))
		}
	default:
		return string(appendNumber(nil, v))
	}
	switch {
	case math.IsNaN(f):
		return ".nan"
	case math.IsInf(f, 1):
		return ".inf"
	case math.IsInf(f, -1):
		return "-.inf"
	}
	text := string(appendPythonFloat(nil, f))
	if y.own {
		text = string(appendNumber(nil, v))
	}
	if strings.IndexByte(text, '.') < 0 {
		text = strings.Replace(text, "e", ".0e", 1)
	}
	return text
}

// scalar writes a text in the plainest style that reads back as this text.
func (y *yamlWriter) scalar(text string, indent int, key bool) {
	a := y.analyze(text)
	switch {
	case a.plain && !resolves(text) && !(y.own && resolvesToday(text)):
		y.plain(text, indent, key)
	case y.own && a.block && a.multiline && !key:
		y.literal(text, indent)
	case a.single && !(key && a.multiline):
		y.single(text, indent, key)
	default:
		y.double(text, indent, key)
	}
}

type analysis struct {
	plain, single, block, multiline bool
}

func isBreak(r rune) bool { return r == '\n' || r == 0x85 || r == 0x2028 || r == 0x2029 }

// analyze tells what styles a text allows.
func (y *yamlWriter) analyze(text string) analysis {
	if text == "" {
		return analysis{plain: true, single: true}
	}
	if simple(text) {
		return analysis{plain: true, single: true, block: true}
	}
	indicators := strings.HasPrefix(text, "---") || strings.HasPrefix(text, "...")
	var multiline, special, breakSpace, spaceBreak, edge, trailing bool
	afterBlank, afterSpace, afterBreak := true, false, false
	for i, r := range text {
		next := i + utf8.RuneLen(r)
		if r == utf8.RuneError && !strings.HasPrefix(text[i:], "\uFFFD") {
			next, special = i+1, true
		}
		last := next >= len(text)
		beforeBlank := last
		if !last {
			n, _ := utf8.DecodeRuneInString(text[next:])
			beforeBlank = yamlBlank(n)
		}
		switch {
		case i == 0 && strings.IndexByte("#,[]{}&*!|>'\"%@`", text[0]) >= 0,
			i == 0 && (r == '?' || r == '-') && beforeBlank,
			r == ':' && beforeBlank,
			i > 0 && r == '#' && afterBlank:
			indicators = true
		}
		if isBreak(r) {
			multiline = true
		}
		special = special || y.special(r)
		switch {
		case r == ' ':
			edge = edge || i == 0 || last
			trailing = trailing || last
			breakSpace = breakSpace || afterBreak
			afterSpace, afterBreak = true, false
		case isBreak(r):
			edge = edge || i == 0 || last
			spaceBreak = spaceBreak || afterSpace
			afterSpace, afterBreak = false, true
		default:
			afterSpace, afterBreak = false, false
		}
		afterBlank = yamlBlank(r)
	}
	special = special || spaceBreak
	return analysis{
		plain:     !edge && !breakSpace && !special && !multiline && !indicators,
		single:    !breakSpace && !special,
		block:     !trailing && !special,
		multiline: multiline,
	}
}

// simple reports whether a text is one of the many that no style minds: letters,
// digits and a few signs, with blanks between words or colons inside one.
func simple(text string) bool {
	if c := text[0]; !alphanumeric(c) || !alphanumeric(text[len(text)-1]) {
		return false
	}
	blanks, colons := false, false
	for i := range len(text) {
		switch c := text[i]; {
		case alphanumeric(c) || c == '-' || c == '_' || c == '.' || c == '/':
		case c == ' ':
			blanks = true
		case c == ':':
			colons = true
		default:
			return false
		}
	}
	return !blanks || !colons
}

func alphanumeric(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z'
}

func yamlBlank(r rune) bool {
	return r == 0 || r == ' ' || r == '\t' || r == '\r' || isBreak(r)
}

// special characters are those that only double quotes can hold.
func (y *yamlWriter) special(r rune) bool {
	if r == '\n' || r >= ' ' && r <= '~' {
		return false
	}
	if !y.own {
		return true
	}
	return r < 0xa0 || dangerous(r) || r == 0x2028 || r == 0x2029 || r == 0xfeff || r >= 0xfffe && r <= 0xffff
}

// full reports whether the line should be folded at the next blank.
func (y *yamlWriter) full() bool { return !y.own && y.column > yamlWidth }

func (y *yamlWriter) plain(text string, indent int, key bool) {
	if text == "" {
		return
	}
	if !y.blank {
		y.put(" ")
	}
	y.blank, y.leading = false, false
	if key || y.own || y.column+len(text) <= yamlWidth {
		y.put(text)
		return
	}
	y.fold(text, indent+yamlIndent)
}

// fold writes a plain text, folded at single blanks between words.
func (y *yamlWriter) fold(text string, indent int) {
	for text != "" {
		n := strings.IndexByte(text, ' ')
		if n < 0 {
			n = len(text)
		}
		y.put(text[:n])
		text = text[n:]
		blanks := len(text) - len(strings.TrimLeft(text, " "))
		if blanks == 1 && y.full() {
			y.newline(indent)
			y.blank, y.leading = false, false
		} else {
			y.put(text[:blanks])
		}
		text = text[blanks:]
	}
}

func (y *yamlWriter) single(text string, indent int, key bool) {
	inside := indent + yamlIndent
	y.indicator("'", true, false)
	start, end := 0, 0
	spaces, breaks := false, false
	for end <= len(text) {
		c := byte(0)
		if end < len(text) {
			c = text[end]
		}
		done := end == len(text)
		switch {
		case spaces:
			if done || c != ' ' {
				if start+1 == end && y.full() && !key && start != 0 && !done {
					y.newline(inside)
				} else {
					y.put(text[start:end])
				}
				start = end
			}
		case breaks:
			if done || c != '\n' {
				y.end()
				for range end - start {
					y.end()
				}
				y.newline(inside)
				start = end
			}
		case done || c == ' ' || c == '\n' || c == '\'':
			y.put(text[start:end])
			start = end
		}
		if c == '\'' && !done {
			y.put("''")
			start = end + 1
		}
		if !done {
			spaces, breaks = c == ' ', c == '\n'
		}
		end++
	}
	y.indicator("'", false, false)
}

func (y *yamlWriter) double(text string, indent int, key bool) {
	const hex = "0123456789ABCDEF"
	inside := indent + yamlIndent
	y.indicator(`"`, true, false)
	// Positions are those of characters.
	runes := []rune(text)
	start := 0
	for end := 0; end <= len(runes); end++ {
		done := end == len(runes)
		r := rune(-1)
		if !done {
			r = runes[end]
		}
		if done || r == '"' || r == '\\' || y.special(r) || r == '\n' {
			if start < end {
				y.put(string(runes[start:end]))
				start = end
			}
			if !done {
				y.put(yamlEscape(r, hex))
				start = end + 1
			}
		}
		if 0 < end && end < len(runes)-1 && (r == ' ' || start >= end) && !y.own &&
			y.column+end-start > yamlWidth && !key {
			rest := ""
			if start < end {
				rest = string(runes[start:end])
				start = end
			}
			y.put(rest + `\`)
			y.newline(inside)
			y.blank, y.leading = false, false
			if runes[start] == ' ' {
				y.put(`\`)
			}
		}
	}
	y.indicator(`"`, false, false)
}

func yamlEscape(r rune, hex string) string {
	const named = "\x00\a\b\t\n\v\f\r\x1b\"\\\u0085\u00a0\u2028\u2029"
	const names = `0abtnvfre"\N_LP`
	n := 0
	for _, c := range named {
		if c == r {
			return `\` + names[n:n+1]
		}
		n++
	}
	switch {
	case r <= 0xff:
		return `\x` + string(appendHex(nil, r, 2, hex))
	case r <= 0xffff:
		return `\u` + string(appendHex(nil, r, 4, hex))
	}
	return `\U` + string(appendHex(nil, r, 8, hex))
}

// literal writes a text of several lines as a block.
func (y *yamlWriter) literal(text string, indent int) {
	indent = max(indent, 0) + yamlIndent
	hints := "|"
	if text[0] == ' ' || text[0] == '\n' {
		hints += "2"
	}
	switch {
	case !strings.HasSuffix(text, "\n"):
		hints += "-"
	case strings.HasSuffix(text, "\n\n") || text == "\n":
		hints += "+"
	}
	y.indicator(hints, true, false)
	y.end()
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		if line != "" {
			y.newline(indent)
			y.put(line)
		}
		y.end()
	}
}
