package render

import (
	"encoding/json"
	"iter"
	"math"
	"unicode/utf8"
)

// jsonWriter writes JSON the way Python's json module lays it out.
type jsonWriter struct {
	buf []byte
	// ascii escapes everything beyond ASCII.
	ascii bool
	// flat puts everything on one line; compact takes the blanks out as well.
	flat, compact bool
}

func (o Options) listJSON(w *writer, sel *selection, rows iter.Seq2[[]any, error]) error {
	j := o.jsonWriter()
	j.buf = w.buf
	keys := make([][]byte, len(sel.titles))
	for i, title := range sel.titles {
		k := o.jsonWriter()
		k.text(title)
		k.colon()
		keys[i] = k.buf
	}
	j.buf = append(j.buf, '[')
	n := 0
	for row, err := range rows {
		if err != nil {
			w.buf = j.buf
			return err
		}
		if n > 0 {
			j.comma()
		}
		n++
		j.line(1)
		j.buf = append(j.buf, '{')
		for i := range sel.index {
			if i > 0 {
				j.comma()
			}
			j.line(2)
			j.buf = append(j.buf, keys[i]...)
			j.cell(o, sel.cell(row, i), 2)
		}
		if len(sel.index) > 0 {
			j.line(1)
		}
		j.buf = append(j.buf, '}')
		w.buf = j.buf
		ok := w.row()
		if j.buf = w.buf; !ok {
			return nil
		}
	}
	if n > 0 {
		j.line(0)
	}
	w.buf = j.buf
	w.text("]\n")
	return nil
}

func (o Options) showJSON(w *writer, fields []Field) {
	j := o.jsonWriter()
	j.buf = w.buf
	j.buf = append(j.buf, '{')
	for i, f := range fields {
		if i > 0 {
			j.comma()
		}
		j.line(1)
		j.text(f.Name)
		j.colon()
		j.cell(o, f.Value, 1)
	}
	if len(fields) > 0 {
		j.line(0)
	}
	w.buf = j.buf
	w.text("}\n")
}

func (o Options) jsonWriter() jsonWriter {
	return jsonWriter{ascii: o.Voice == OpenStack, flat: o.NoIndent}
}

// cell writes a cell in the voice of the run.
func (j *jsonWriter) cell(o Options, v any, depth int) {
	if o.Voice == Own {
		v = ownValue(v)
	}
	j.value(v, depth)
}

func (j *jsonWriter) line(depth int) {
	if j.flat || j.compact {
		return
	}
	j.buf = append(j.buf, '\n')
	for range depth {
		j.buf = append(j.buf, "  "...)
	}
}

func (j *jsonWriter) comma() {
	j.buf = append(j.buf, ',')
	if j.flat && !j.compact {
		j.buf = append(j.buf, ' ')
	}
}

func (j *jsonWriter) colon() {
	j.buf = append(j.buf, ':')
	if !j.compact {
		j.buf = append(j.buf, ' ')
	}
}

func (j *jsonWriter) value(v any, depth int) {
	switch t := v.(type) {
	case nil:
		j.buf = append(j.buf, "null"...)
		return
	case bool:
		if t {
			j.buf = append(j.buf, "true"...)
		} else {
			j.buf = append(j.buf, "false"...)
		}
		return
	case string:
		j.text(t)
		return
	case Cell, *Cell, Painted, Stamp:
		j.value(machine(v), depth)
		return
	}
	if isNumber(v) {
		j.number(v)
		return
	}
	if items, ok := itemsOf(v); ok {
		j.list(items, depth)
		return
	}
	pairs, _ := pairsOf(v)
	j.object(pairs, depth)
}

func (j *jsonWriter) list(items []any, depth int) {
	j.buf = append(j.buf, '[')
	for i, item := range items {
		if i > 0 {
			j.comma()
		}
		j.line(depth + 1)
		j.value(item, depth+1)
	}
	if len(items) > 0 {
		j.line(depth)
	}
	j.buf = append(j.buf, ']')
}

func (j *jsonWriter) object(pairs []Field, depth int) {
	j.buf = append(j.buf, '{')
	for i, pair := range pairs {
		if i > 0 {
			j.comma()
		}
		j.line(depth + 1)
		j.text(pair.Name)
		j.colon()
		j.value(pair.Value, depth+1)
	}
	if len(pairs) > 0 {
		j.line(depth)
	}
	j.buf = append(j.buf, '}')
}

// number writes a number. Python has names for those JSON has no way to write;
// koc's own voice writes null.
func (j *jsonWriter) number(v any) {
	if !j.ascii {
		if f, ok := v.(float64); ok && (math.IsNaN(f) || math.IsInf(f, 0)) {
			j.buf = append(j.buf, "null"...)
			return
		}
		if n, ok := v.(json.Number); ok && n == "" {
			j.buf = append(j.buf, "null"...)
			return
		}
		j.buf = appendNumber(j.buf, v)
		return
	}
	if f, ok := v.(float64); ok {
		switch {
		case math.IsNaN(f):
			j.buf = append(j.buf, "NaN"...)
			return
		case math.IsInf(f, 1):
			j.buf = append(j.buf, "Infinity"...)
			return
		case math.IsInf(f, -1):
			j.buf = append(j.buf, "-Infinity"...)
			return
		}
	}
	j.buf = appendPythonNumber(j.buf, v)
}

// text writes a string. Markup characters stay as they are; what could move a
// terminal is escaped.
func (j *jsonWriter) text(s string) {
	const hex = "0123456789abcdef"
	j.buf = append(j.buf, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c < 0x7f && c != '"' && c != '\\' {
			i++
			continue
		}
		r, size := rune(c), 1
		if c >= utf8.RuneSelf {
			r, size = utf8.DecodeRuneInString(s[i:])
			if !j.ascii && !dangerous(r) && r != 0x2028 && r != 0x2029 && (r != utf8.RuneError || size > 1) {
				i += size
				continue
			}
		}
		j.buf = append(j.buf, s[start:i]...)
		i += size
		start = i
		switch r {
		case '"', '\\':
			j.buf = append(j.buf, '\\', c)
		case '\n':
			j.buf = append(j.buf, `\n`...)
		case '\r':
			j.buf = append(j.buf, `\r`...)
		case '\t':
			j.buf = append(j.buf, `\t`...)
		case '\b':
			j.buf = append(j.buf, `\b`...)
		case '\f':
			j.buf = append(j.buf, `\f`...)
		default:
			if r > 0xffff {
				r -= 0x10000
				j.buf = appendHex(append(j.buf, `\u`...), 0xd800+r>>10, 4, hex)
				r = 0xdc00 + r&0x3ff
			}
			j.buf = appendHex(append(j.buf, `\u`...), r, 4, hex)
		}
	}
	j.buf = append(append(j.buf, s[start:]...), '"')
}
