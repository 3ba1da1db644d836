package noun

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdfast-ops/holdfast/internal/koc/render"
)

// decoder reads objects. A list of thousands says the same few texts again and
// again: what was read lately is taken again, and fields come out of slabs.
type decoder struct {
	*jsontext.Decoder
	in     *measured
	recent [256]recent
	fields []render.Field // what is left of a slab
	open   []render.Field // fields of the objects being read, the innermost last
	items  []any          // of the lists being read
	plain  []byte         // for texts with escapes
}

// recent is a text and the same in an interface, so that neither is made twice.
type recent struct {
	text  string
	boxed any
}

// maxItem is how large an object may be: no service has any of that size, and all
// of it is in memory at once.
const maxItem = 64 << 20

// measured is an answer that ends in an error in the middle of too large an item.
type measured struct {
	r    io.Reader
	left int
}

// Read implements [io.Reader].
func (m *measured) Read(p []byte) (int, error) {
	if m.left <= 0 {
		return 0, fmt.Errorf("one item of it is longer than %d MiB", maxItem>>20)
	}
	n, err := m.r.Read(p)
	m.left -= n
	return n, err
}

func newDecoder(r io.Reader) *decoder {
	in := &measured{r: r, left: maxItem}
	return &decoder{in: in, Decoder: jsontext.NewDecoder(in, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))}
}

// Wanted is what is decoded of an object: the attributes by their names, with
// what is wanted of theirs; nil is all there is. The name "*" stands for any.
// Lists are looked through: what is wanted of one is wanted of its items.
type Wanted map[string]Wanted

func (w Wanted) of(name string) (inner Wanted, ok bool) {
	if w == nil {
		return nil, true
	}
	if inner, ok = w[name]; !ok {
		inner, ok = w["*"]
	}
	return inner, ok
}

// value reads the next value, whatever it is.
func (d *decoder) value(w Wanted) (any, error) {
	switch d.PeekKind() { //nolint:exhaustive // the rest is read as it comes
	case '{':
		return d.object(w)
	case '[':
		return d.list(w)
	case '"':
		return d.text()
	default:
		raw, err := d.ReadValue()
		if err != nil {
			return nil, err
		}
		switch raw[0] {
		case 'n':
			return nil, nil //nolint:nilnil // null
		case 't':
			return true, nil
		case 'f':
			return false, nil
		}
		return number(string(raw)), nil
	}
}

// object reads an object.
func (d *decoder) object(w Wanted) (render.Ordered, error) {
	if _, err := d.ReadToken(); err != nil {
		return nil, err
	}
	begin := len(d.open)
	defer func() {
		clear(d.open[begin:])
		d.open = d.open[:begin]
	}()
	for d.PeekKind() != '}' {
		name, err := d.name()
		if err != nil {
			return nil, err
		}
		inner, ok := w.of(name)
		if !ok {
			if err := d.SkipValue(); err != nil {
				return nil, err
			}
			continue
		}
		v, err := d.value(inner)
		if err != nil {
			return nil, err
		}
		d.open = append(d.open, render.Field{Name: name, Value: v})
	}
	_, err := d.ReadToken()
	return d.keep(d.open[begin:]), err
}

// keep copies fields into a slab.
func (d *decoder) keep(fields []render.Field) render.Ordered {
	const slab = 256
	n := len(fields)
	if n == 0 {
		return render.Ordered{} // not nil: it is there
	}
	if n > len(d.fields) {
		d.fields = make([]render.Field, max(slab, n))
	}
	copy(d.fields, fields)
	kept := d.fields[:n:n]
	d.fields = d.fields[n:]
	return kept
}

func (d *decoder) list(w Wanted) ([]any, error) {
	if _, err := d.ReadToken(); err != nil {
		return nil, err
	}
	begin := len(d.items)
	defer func() {
		clear(d.items[begin:])
		d.items = d.items[:begin]
	}()
	for d.PeekKind() != ']' {
		v, err := d.value(w)
		if err != nil {
			return nil, err
		}
		d.items = append(d.items, v)
	}
	_, err := d.ReadToken()
	return append(make([]any, 0, len(d.items)-begin), d.items[begin:]...), err
}

// text reads a text into an interface.
func (d *decoder) text() (any, error) {
	raw, err := d.unquoted()
	if err != nil {
		return nil, err
	}
	if len(raw) > longestKept {
		return string(raw), nil
	}
	had := &d.recent[slot(raw)]
	if had.text != string(raw) || had.boxed == nil {
		had.text = string(raw)
		had.boxed = had.text
	}
	return had.boxed, nil
}

// name reads the name of an attribute.
func (d *decoder) name() (string, error) {
	raw, err := d.unquoted()
	if err != nil {
		return "", err
	}
	had := &d.recent[slot(raw)]
	if had.text != string(raw) {
		*had = recent{text: string(raw)}
	}
	return had.text, nil
}

const longestKept = 64

// slot is where a text is looked for.
func slot(text []byte) uint8 {
	h := uint32(len(text) & 0xff)
	for _, c := range text[max(0, len(text)-12):] {
		h = (h ^ uint32(c)) * 16777619
	}
	return uint8((h ^ h>>8 ^ h>>16) & 0xff)
}

// unquoted reads a text. It is good until the next one is read.
func (d *decoder) unquoted() ([]byte, error) {
	raw, err := d.ReadValue()
	if err != nil {
		return nil, err
	}
	if n := len(raw); n >= 2 && raw[0] == '"' {
		inner := raw[1 : n-1]
		if plainText(inner) {
			return inner, nil
		}
	}
	d.plain, err = jsontext.AppendUnquote(d.plain[:0], []byte(raw))
	if raw[0] == '"' {
		err = nil // half a character, replaced by one that says so: no reason to lose a list
	}
	return d.plain, err
}

// plainText reports whether a text means itself: it has no escapes, and no bytes
// that may be broken characters.
func plainText(text []byte) bool {
	for _, c := range text {
		if c == '\\' || c >= 0x80 {
			return false
		}
	}
	return true
}

func number(text string) any {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n
	}
	if !strings.ContainsAny(text, ".eE") {
		return json.Number(text)
	}
	if f, err := strconv.ParseFloat(text, 64); err == nil {
		return f
	}
	return json.Number(text)
}
