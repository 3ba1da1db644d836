package config

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// Position is a place in a file, both counted from one. The zero Position is
// nowhere in particular.
type Position struct{ Line, Column int }

// String is "line:column", or "" for the zero Position.
func (p Position) String() string {
	if p.Line == 0 {
		return ""
	}
	return strconv.Itoa(p.Line) + ":" + strconv.Itoa(p.Column)
}

// A document is a TOML text: its values, where each key is first written, and
// the keys of each table in the order of the file.
type document struct {
	values    map[string]any
	positions map[string]Position // by address
	order     map[string][]string // address of a table: its keys
}

// address is how a value is found: its keys and indexes from the top.
type address []string

func (a address) child(key string) address { return append(slices.Clone(a), key) }

func (a address) id() string { return strings.Join(a, "\x00") }

// String is the address as a reader would write it.
func (a address) String() string {
	var b strings.Builder
	for i, key := range a {
		switch {
		case strings.HasPrefix(key, "["):
			b.WriteString(key)
		case i > 0:
			b.WriteString("." + key)
		default:
			b.WriteString(key)
		}
	}
	return b.String()
}

func index(i int) string { return "[" + strconv.Itoa(i) + "]" }

// readDocument decodes a text. The library decodes it twice: once for the values
// with all the rules of TOML, once as a syntax tree for positions and order.
func readDocument(text []byte) (*document, *Problem) {
	d := &document{values: map[string]any{}, positions: map[string]Position{}, order: map[string][]string{}}
	if err := toml.Unmarshal(text, &d.values); err != nil {
		p := &Problem{Text: strings.TrimPrefix(err.Error(), "toml: ")}
		if decode, ok := errors.AsType[*toml.DecodeError](err); ok {
			p.At.Line, p.At.Column = decode.Position()
		}
		return nil, p
	}
	parser := unstable.Parser{}
	parser.Reset(text)
	at := address{}
	arrays := map[string]int{} // address of an array of tables: how many it has so far
	for parser.NextExpression() {
		e := parser.Expression()
		switch e.Kind { //nolint:exhaustive // no other kind is an expression with a key
		case unstable.Table:
			at = d.walk(&parser, nil, e.Key(), arrays)
		case unstable.ArrayTable:
			at = d.walk(&parser, nil, e.Key(), arrays)
			n := arrays[at.id()]
			arrays[at.id()] = n + 1
			header := at
			at = at.child(index(n))
			d.positions[at.id()] = d.last(&parser, e.Key(), header)
		case unstable.KeyValue:
			d.pair(&parser, at, e, arrays)
		}
	}
	if err := parser.Error(); err != nil {
		return nil, &Problem{Text: err.Error()}
	}
	return d, nil
}

// last is where the last key of a header is written.
func (d *document) last(parser *unstable.Parser, keys unstable.Iterator, header address) Position {
	at := d.positions[header.id()]
	for keys.Next() {
		start := parser.Shape(keys.Node().Raw).Start
		at = Position{start.Line, start.Column}
	}
	return at
}

// walk notes the keys of a dotted name below a table and returns its address.
func (d *document) walk(parser *unstable.Parser, at address, keys unstable.Iterator, arrays map[string]int) address {
	for keys.Next() {
		node := keys.Node()
		if n := arrays[at.id()]; n > 0 {
			at = at.child(index(n - 1))
		}
		at = d.note(parser, at, node)
	}
	return at
}

func (d *document) note(parser *unstable.Parser, table address, key *unstable.Node) address {
	at := table.child(string(key.Data))
	id := at.id()
	if _, known := d.positions[id]; !known {
		start := parser.Shape(key.Raw).Start
		d.positions[id] = Position{start.Line, start.Column}
		d.order[table.id()] = append(d.order[table.id()], string(key.Data))
	}
	return at
}

func (d *document) pair(parser *unstable.Parser, table address, e *unstable.Node, arrays map[string]int) {
	d.value(parser, d.walk(parser, table, e.Key(), arrays), e.Value(), arrays)
}

func (d *document) value(parser *unstable.Parser, at address, value *unstable.Node, arrays map[string]int) {
	children := value.Children()
	switch value.Kind { //nolint:exhaustive // the others hold no keys
	case unstable.InlineTable:
		for children.Next() {
			d.pair(parser, at, children.Node(), arrays)
		}
	case unstable.Array:
		for i := 0; children.Next(); {
			child := children.Node()
			if child.Kind == unstable.Comment {
				continue
			}
			d.value(parser, at.child(index(i)), child, arrays)
			i++
		}
	}
}

// at is where a value is written, or the nearest table around it.
func (d *document) at(a address) Position {
	for ; len(a) > 0; a = a[:len(a)-1] {
		if p, ok := d.positions[a.id()]; ok {
			return p
		}
	}
	return Position{}
}

// keys are those of a table, in the order of the file.
func (d *document) keys(a address, table map[string]any) []string {
	keys := slices.Clone(d.order[a.id()])
	// A key the syntax tree does not show is still not lost.
	var rest []string
	for key := range table {
		if !slices.Contains(keys, key) {
			rest = append(rest, key)
		}
	}
	slices.Sort(rest)
	return append(keys, rest...)
}

// kindOf names the type of a TOML value.
func kindOf(value any) string {
	switch value.(type) {
	case string:
		return "a string"
	case bool:
		return "a boolean"
	case int64:
		return "an integer"
	case float64:
		return "a float"
	case []any:
		return "an array"
	case map[string]any:
		return "a table"
	default:
		return fmt.Sprintf("a %T", value)
	}
}
