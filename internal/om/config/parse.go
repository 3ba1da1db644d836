package config

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// SyntaxError says which line of a configuration cannot be read, and why.
type SyntaxError struct {
	Line   int
	Reason string
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Reason) }

const (
	blanks      = " \t\r\f\v"
	byteOrder   = "\ufeff"
	tripleQuote = `"""`
	backQuote   = "`"
)

// Parse reads a configuration file.
func Parse(data []byte) (*Document, error) {
	if len(data) > MaxSize {
		return nil, fmt.Errorf("configuration of %d bytes: at most %d are accepted", len(data), MaxSize)
	}
	text := string(data)
	if err := checkText(text); err != nil {
		return nil, err
	}
	d := &Document{eol: "\n"}
	if rest, ok := strings.CutPrefix(text, byteOrder); ok {
		d.bom, text = byteOrder, rest
	}
	if i := strings.IndexByte(text, '\n'); i > 0 && text[i-1] == '\r' {
		d.eol = "\r\n"
	}
	p := parser{text: text, line: 1, section: DefaultSection}
	p.items = make([]item, 0, min(strings.Count(text, "\n"), maxItems)+1)
	for p.pos < len(p.text) {
		if err := p.item(); err != nil {
			return nil, err
		}
		if err := p.bound(); err != nil {
			return nil, err
		}
	}
	d.hold(p.items)
	return d, nil
}

// checkText refuses what no text editor would write.
func checkText(text string) error {
	if i := strings.IndexByte(text, 0); i >= 0 {
		return &SyntaxError{lineOf(text, i), "a NUL byte: this is not a text file"}
	}
	if utf8.ValidString(text) {
		return nil
	}
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRuneInString(text[i:])
		if r == utf8.RuneError && n == 1 {
			return &SyntaxError{lineOf(text, i), fmt.Sprintf("byte 0x%02x is not UTF-8 text", text[i])}
		}
		i += n
	}
	return nil
}

func lineOf(text string, offset int) int { return 1 + strings.Count(text[:offset], "\n") }

type parser struct {
	text    string
	pos     int // start of the next line
	line    int // its number
	section string
	items   []item
	keys    int // entries and headers among them
}

// peek returns the line at pos, without its line end, and where the next one starts.
func (p *parser) peek(pos int) (line string, next int) {
	if i := strings.IndexByte(p.text[pos:], '\n'); i >= 0 {
		return strings.TrimSuffix(p.text[pos:pos+i], "\r"), pos + i + 1
	}
	return p.text[pos:], len(p.text)
}

func (p *parser) fail(format string, a ...any) error {
	return &SyntaxError{p.line, fmt.Sprintf(format, a...)}
}

// item reads one item, of one or more lines.
func (p *parser) item() error {
	line, next := p.peek(p.pos)
	switch text := strings.Trim(line, blanks); {
	case text == "":
		p.add(item{kind: blankLine}, next)
	case text[0] == '#' || text[0] == ';':
		p.add(item{kind: commentLine}, next)
	case text[0] == '[':
		name, err := p.header(text)
		if err != nil {
			return err
		}
		p.section = name
		p.add(item{kind: sectionHeader, key: Key{Section: name}}, next)
	default:
		return p.entry(line)
	}
	return nil
}

// add appends an item which extends to next.
func (p *parser) add(it item, next int) {
	it.raw = p.text[p.pos:next]
	it.line = p.line
	p.items = append(p.items, it)
	p.line += strings.Count(it.raw, "\n")
	p.pos = next
}

// bound ends the reading of a file that no configuration needs.
func (p *parser) bound() error {
	last := &p.items[len(p.items)-1]
	if last.kind == entry || last.kind == sectionHeader {
		p.keys++
	}
	switch {
	case p.keys > MaxKeys:
		return &SyntaxError{last.line, fmt.Sprintf("more than %d keys and sections: split the configuration", MaxKeys)}
	case len(p.items) > maxItems:
		return &SyntaxError{last.line, fmt.Sprintf("more than %d keys, comments and empty lines: split the configuration", maxItems)}
	}
	return nil
}

func (p *parser) header(text string) (string, error) {
	end := strings.IndexByte(text, ']')
	if end < 0 {
		return "", p.fail("section %q is not closed: write [name]", text)
	}
	name := strings.Trim(text[1:end], blanks)
	if name == "" {
		return "", p.fail("a section without a name: write [name]")
	}
	if rest := text[end+1:]; rest != "" && !isInlineComment(rest) {
		return "", p.fail("%q after section [%s]: a section is alone on its line", strings.Trim(rest, blanks), name)
	}
	return name, nil
}

// entry reads the key = value that starts on line, and the lines that continue it.
func (p *parser) entry(line string) error {
	equal := strings.IndexByte(line, '=')
	if equal < 0 {
		return p.fail("%q is neither [section], key = value nor a comment", clip(strings.Trim(line, blanks)))
	}
	name := strings.Trim(line[:equal], blanks)
	if name == "" {
		return p.fail("a value without a key: write key = value")
	}
	it := item{kind: entry, key: splitScope(p.section, name)}
	v := value{parser: p, indent: indentOf(line), key: name}
	v.pos = p.pos + equal + 1
	v.pos += len(line[equal+1:]) - len(strings.TrimLeft(line[equal+1:], blanks))
	it.start = v.pos - p.pos
	if err := v.read(); err != nil {
		return err
	}
	it.value, it.end = v.text, v.end-p.pos
	p.add(it, v.next)
	return nil
}

// A value reads one value, from pos.
type value struct {
	*parser

	pos    int
	indent int    // of the line of the key
	key    string // for messages

	text string
	end  int // end of the value as written
	next int // start of the line after the value
}

func (v *value) read() error {
	for _, quote := range []string{tripleQuote, backQuote} {
		if strings.HasPrefix(v.parser.text[v.pos:], quote) {
			return v.quoted(quote)
		}
	}
	parts := make([]string, 0, 4)
	part, err := v.plain(v.pos)
	if err != nil {
		return err
	}
	if part != "" {
		parts = append(parts, part)
	}
	for {
		start, ok := v.continuation()
		if !ok {
			break
		}
		if part, err = v.plain(start); err != nil {
			return err
		}
		parts = append(parts, part)
	}
	v.text = strings.Join(parts, "\n")
	return nil
}

// plain reads the text at pos up to the end of its line, and of the following
// lines as long as they end with a backslash.
func (v *value) plain(pos int) (string, error) {
	var joined strings.Builder
	for {
		line, next := v.peek(pos)
		text := cutInlineComment(line)
		whole := len(text) == len(strings.TrimRight(line, blanks))
		v.end, v.next = pos+len(text), next
		if !whole || !strings.HasSuffix(text, `\`) {
			joined.WriteString(text)
			return joined.String(), nil
		}
		if next >= len(v.parser.text) {
			return "", v.fail("the value of %s ends with a backslash, which announces a line that is not there: write it between backquotes", v.key)
		}
		joined.WriteString(text[:len(text)-1])
		line, _ = v.peek(next)
		pos = next + len(line) - len(strings.TrimLeft(line, blanks))
	}
}

// continuation returns where the text of the next indented line starts. The
// comment lines on the way to it are skipped.
func (v *value) continuation() (start int, ok bool) {
	for pos := v.next; pos < len(v.parser.text); {
		line, next := v.peek(pos)
		text := strings.TrimLeft(line, blanks)
		if strings.Trim(text, blanks) == "" || indentOf(line) <= v.indent {
			return 0, false
		}
		if text[0] != '#' && text[0] != ';' {
			return pos + len(line) - len(text), true
		}
		pos = next
	}
	return 0, false
}

// quoted reads the value between two marks.
func (v *value) quoted(mark string) error {
	from := v.pos + len(mark)
	n := strings.Index(v.parser.text[from:], mark)
	if n < 0 {
		return v.fail("the value of %s starts with %s and no %s ends it", v.key, mark, mark)
	}
	v.text = strings.ReplaceAll(v.parser.text[from:from+n], "\r\n", "\n")
	v.end = from + n + len(mark)
	rest, next := v.peek(v.end)
	v.next = next
	if strings.Trim(rest, blanks) != "" && !isInlineComment(rest) {
		return v.fail("%q after the %s that ends the value of %s: put the whole value between %s", clip(strings.Trim(rest, blanks)), mark, v.key, tripleQuote)
	}
	if pos, ok := v.continuation(); ok {
		return &SyntaxError{lineOf(v.parser.text, pos), fmt.Sprintf("an indented line after the %s that ends the value of %s", mark, v.key)}
	}
	return nil
}

// isInlineComment tells whether what follows something complete is a comment.
func isInlineComment(rest string) bool {
	text := strings.TrimLeft(rest, blanks)
	return text == "" || len(text) < len(rest) && (text[0] == '#' || text[0] == ';')
}

// cutInlineComment removes the comment that ends a line, if any, and the
// blanks before it. A value that starts with the mark is a value.
func cutInlineComment(line string) string {
	for i := 1; i < len(line); i++ {
		if (line[i] == '#' || line[i] == ';') && strings.IndexByte(blanks, line[i-1]) >= 0 {
			line = line[:i]
			break
		}
	}
	return strings.TrimRight(line, blanks)
}

// splitScope reads option@scope.
func splitScope(section, name string) Key {
	if i := strings.LastIndexByte(name, '@'); i > 0 && i < len(name)-1 {
		return Key{section, name[:i], name[i+1:]}
	}
	return Key{section, name, ""}
}

// clip keeps messages short.
func clip(s string) string {
	const most = 60
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "..."
}
