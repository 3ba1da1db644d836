package render

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// ownValue is a cell in koc's own voice: nil, a boolean, a number or a text.
// Composite values come formatted.
func ownValue(v any) any {
	v = human(v)
	switch t := v.(type) {
	case nil, bool, string:
		return v
	case Stamp:
		return t.own()
	}
	if isNumber(v) {
		return v
	}
	return string(appendComposite(nil, v))
}

// ownText is a cell in koc's own text formats. Booleans are lower case, null is empty.
func ownText(v any) string {
	switch t := v.(type) {
	case string:
		return t
	case nil:
		return ""
	case bool:
		return strconv.FormatBool(t)
	case Cell, *Cell, Painted:
		return ownText(human(v))
	case Stamp:
		return ownText(t.own())
	}
	if isNumber(v) {
		return string(appendNumber(nil, v))
	}
	return string(appendComposite(nil, v))
}

// appendNumber writes a number as JSON does.
func appendNumber(b []byte, v any) []byte {
	switch n := v.(type) {
	case int:
		return strconv.AppendInt(b, int64(n), 10)
	case int8:
		return strconv.AppendInt(b, int64(n), 10)
	case int16:
		return strconv.AppendInt(b, int64(n), 10)
	case int32:
		return strconv.AppendInt(b, int64(n), 10)
	case int64:
		return strconv.AppendInt(b, n, 10)
	case uint:
		return strconv.AppendUint(b, uint64(n), 10)
	case uint8:
		return strconv.AppendUint(b, uint64(n), 10)
	case uint16:
		return strconv.AppendUint(b, uint64(n), 10)
	case uint32:
		return strconv.AppendUint(b, uint64(n), 10)
	case uint64:
		return strconv.AppendUint(b, n, 10)
	case float32:
		return appendFloat(b, float64(n), 32)
	case float64:
		return appendFloat(b, n, 64)
	case json.Number:
		return append(b, n...)
	}
	return b
}

func appendFloat(b []byte, f float64, bits int) []byte {
	form := byte('f')
	if abs := math.Abs(f); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		form = 'e'
	}
	return strconv.AppendFloat(b, f, form, -1, bits)
}

// appendComposite writes a list of plain values joined by commas, a dictionary of
// plain values as k='v' pairs, and what is deeper as JSON.
func appendComposite(b []byte, v any) []byte {
	if items, ok := itemsOf(v); ok && !slices.ContainsFunc(items, composite) {
		for i, item := range items {
			if i > 0 {
				b = append(b, ", "...)
			}
			b = append(b, ownText(item)...)
		}
		return b
	}
	deep := func(f Field) bool { return composite(f.Value) }
	if pairs, ok := pairsOf(v); ok && !slices.ContainsFunc(pairs, deep) {
		for i, pair := range pairs {
			if i > 0 {
				b = append(b, ", "...)
			}
			b = append(append(b, pair.Name...), "='"...)
			b = append(append(b, ownText(pair.Value)...), '\'')
		}
		return b
	}
	j := jsonWriter{compact: true, buf: b}
	j.value(v, 0)
	return j.buf
}

func composite(v any) bool {
	switch v.(type) {
	case nil, bool, string, Stamp, Cell, *Cell, Painted:
		return false
	}
	return !isNumber(v)
}

// itemsOf returns the items of a native list.
func itemsOf(v any) ([]any, bool) {
	switch l := v.(type) {
	case []any:
		return l, true
	case []string:
		return anys(l), true
	case []map[string]any:
		return anys(l), true
	case []Ordered:
		return anys(l), true
	case []int:
		return anys(l), true
	}
	return nil, false
}

func anys[T any](list []T) []any {
	items := make([]any, len(list))
	for i, item := range list {
		items[i] = item
	}
	return items
}

// pairsOf returns the pairs of a native dictionary: in their order when it has
// one, else sorted by key.
func pairsOf(v any) ([]Field, bool) {
	switch m := v.(type) {
	case Ordered:
		return m, true
	case []Field:
		return m, true
	case Munch:
		return m, true
	case map[string]any:
		pairs := make([]Field, 0, len(m))
		for _, k := range slices.Sorted(maps.Keys(m)) {
			pairs = append(pairs, Field{k, m[k]})
		}
		return pairs, true
	case map[string]string:
		pairs := make([]Field, 0, len(m))
		for _, k := range slices.Sorted(maps.Keys(m)) {
			pairs = append(pairs, Field{k, m[k]})
		}
		return pairs, true
	}
	return nil, false
}

// number reads a text that is a decimal number as a whole.
func number(text string) (float64, bool) {
	if text == "" || strings.Trim(text, "+-.0123456789eE") != "" {
		return 0, false
	}
	n, err := strconv.ParseFloat(text, 64)
	return n, err == nil
}

// Plain takes out of a text what could move the cursor, colour the terminal or
// reorder the line: escape sequences, control characters and the characters that
// override the direction. Tabs and line ends stay.
func Plain(text string) string {
	at := 0
	for at < len(text) {
		if c := text[at]; c >= utf8.RuneSelf || c < ' ' && c != '\n' && c != '\t' || c == 0x7f {
			break
		}
		at++
	}
	if at == len(text) {
		return text
	}
	return plainSlow(text, at)
}

func plainSlow(text string, at int) string {
	var b []byte // nil while nothing was taken out
	for at < len(text) {
		r, size := utf8.DecodeRuneInString(text[at:])
		if r == utf8.RuneError && size == 1 {
			b = append(keep(b, text, at), "\uFFFD"...)
			at++
			continue
		}
		if !dangerous(r) {
			if b != nil {
				b = append(b, text[at:at+size]...)
			}
			at += size
			continue
		}
		b = keep(b, text, at)
		at += escapeLength(text[at:], r, size)
	}
	if b == nil {
		return text
	}
	return string(b)
}

// keep starts the copy with what was harmless so far.
func keep(b []byte, text string, at int) []byte {
	if b != nil {
		return b
	}
	return append(make([]byte, 0, len(text)), text[:at]...)
}

func dangerous(r rune) bool {
	switch {
	case r < ' ':
		return r != '\n' && r != '\t'
	case r < 0x7f:
		return false
	}
	return r <= 0x9f || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069
}

// escapeLength is how much of the text goes with a dangerous character: the whole
// of an escape sequence that it begins.
func escapeLength(text string, r rune, size int) int {
	kind := byte(0)
	n := size
	switch r {
	case 0x1b:
		if n == len(text) {
			return n
		}
		kind = text[n]
		if kind < ' ' || kind > '~' {
			return n
		}
		n++
	case 0x9b:
		kind = '['
	case 0x9d:
		kind = ']'
	case 0x90, 0x98, 0x9e, 0x9f:
		kind = 'P'
	}
	switch kind {
	case '[':
		for n < len(text) && text[n] >= ' ' && text[n] <= '?' {
			n++
		}
		if n < len(text) && text[n] >= '@' && text[n] <= '~' {
			n++
		}
	case ']', 'P', 'X', '^', '_':
		return n + stringLength(text[n:])
	case ' ', '!', '"', '#', '$', '%', '&', '\'', '(', ')', '*', '+', ',', '-', '.', '/':
		for n < len(text) && text[n] >= ' ' && text[n] <= '/' {
			n++
		}
		if n < len(text) && text[n] >= '0' && text[n] <= '~' {
			n++
		}
	}
	return n
}

// stringLength is the length of the string an escape sequence carries, its end
// included. One that does not end on its line takes nothing with it: the text
// after a stray start must not vanish.
func stringLength(text string) int {
	for i := range len(text) {
		switch {
		case text[i] == '\a':
			return i + 1
		case text[i] == '\n':
			return 0
		case strings.HasPrefix(text[i:], "\x1b\\"), strings.HasPrefix(text[i:], "\u009c"):
			return i + 2
		}
	}
	return 0
}
