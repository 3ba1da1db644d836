package render

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The OpenStack voice prints in text formats what Python's str gives.

// pythonStr is str(v).
func pythonStr(v any) string {
	switch t := v.(type) {
	case string:
		return t
	case Stamp:
		return string(t)
	case nil:
		return "None"
	case bool:
		if t {
			return "True"
		}
		return "False"
	}
	return string(appendRepr(nil, v))
}

// appendRepr appends repr(v).
func appendRepr(b []byte, v any) []byte {
	switch t := v.(type) {
	case nil:
		return append(b, "None"...)
	case bool:
		return append(b, pythonStr(t)...)
	case string:
		return appendReprString(b, t)
	case Stamp:
		return appendReprString(b, string(t))
	case []byte:
		return appendReprBytes(b, t)
	case Cell, *Cell, Painted:
		return appendRepr(b, machine(t))
	}
	if isNumber(v) {
		return appendPythonNumber(b, v)
	}
	if items, ok := itemsOf(v); ok {
		b = append(b, '[')
		for i, item := range items {
			if i > 0 {
				b = append(b, ", "...)
			}
			b = appendRepr(b, item)
		}
		return append(b, ']')
	}
	pairs, _ := pairsOf(v)
	if _, ok := v.(Munch); ok {
		return append(appendRepr(append(b, "Munch("...), Ordered(pairs)), ')')
	}
	b = append(b, '{')
	for i, pair := range pairs {
		if i > 0 {
			b = append(b, ", "...)
		}
		b = appendReprString(b, pair.Name)
		b = append(b, ": "...)
		b = appendRepr(b, pair.Value)
	}
	return append(b, '}')
}

func appendReprString(b []byte, s string) []byte {
	const hex = "0123456789abcdef"
	quote := byte('\'')
	if strings.IndexByte(s, '\'') >= 0 && strings.IndexByte(s, '"') < 0 {
		quote = '"'
	}
	b = append(b, quote)
	for _, r := range s {
		switch {
		case r == rune(quote):
			b = append(b, '\\', quote)
		case r == '\\':
			b = append(b, `\\`...)
		case r == '\n':
			b = append(b, `\n`...)
		case r == '\r':
			b = append(b, `\r`...)
		case r == '\t':
			b = append(b, `\t`...)
		case unicode.IsPrint(r):
			b = utf8.AppendRune(b, r)
		case r <= 0xff:
			b = append(b, '\\', 'x', hex[r>>4], hex[r&15])
		case r <= 0xffff:
			b = append(b, '\\', 'u')
			b = appendHex(b, r, 4, hex)
		default:
			b = append(b, '\\', 'U')
			b = appendHex(b, r, 8, hex)
		}
	}
	return append(b, quote)
}

func appendReprBytes(b, s []byte) []byte {
	const hex = "0123456789abcdef"
	quote := byte('\'')
	if strings.IndexByte(string(s), '\'') >= 0 && strings.IndexByte(string(s), '"') < 0 {
		quote = '"'
	}
	b = append(b, 'b', quote)
	for _, c := range s {
		switch {
		case c == quote || c == '\\':
			b = append(b, '\\', c)
		case c == '\n':
			b = append(b, `\n`...)
		case c == '\r':
			b = append(b, `\r`...)
		case c == '\t':
			b = append(b, `\t`...)
		case c < ' ' || c > '~':
			b = append(b, '\\', 'x', hex[c>>4], hex[c&15])
		default:
			b = append(b, c)
		}
	}
	return append(b, quote)
}

func appendHex(b []byte, r rune, digits int, hex string) []byte {
	for shift := 4 * (digits - 1); shift >= 0; shift -= 4 {
		b = append(b, hex[r>>shift&15])
	}
	return b
}

// appendPythonNumber appends a number as Python prints it: a float always shows
// that it is one.
func appendPythonNumber(b []byte, v any) []byte {
	switch n := v.(type) {
	case float64:
		return appendPythonFloat(b, n)
	case float32:
		return appendPythonFloat(b, float64(n))
	case json.Number:
		if f, ok := floating(n); ok {
			return appendPythonFloat(b, f)
		}
		if n == "-0" {
			return append(b, '0')
		}
	}
	return appendNumber(b, v)
}

// floating reads a JSON number that Python would make a float.
func floating(n json.Number) (float64, bool) {
	if !strings.ContainsAny(string(n), ".eE") {
		return 0, false
	}
	f, err := strconv.ParseFloat(string(n), 64)
	return f, err == nil || math.IsInf(f, 0)
}

func appendPythonFloat(b []byte, f float64) []byte {
	switch {
	case math.IsNaN(f):
		return append(b, "nan"...)
	case math.IsInf(f, 1):
		return append(b, "inf"...)
	case math.IsInf(f, -1):
		return append(b, "-inf"...)
	case f == 0 || math.Abs(f) >= 1e-4 && math.Abs(f) < 1e16:
		start := len(b)
		b = strconv.AppendFloat(b, f, 'f', -1, 64)
		if strings.IndexByte(string(b[start:]), '.') < 0 {
			b = append(b, ".0"...)
		}
		return b
	}
	return strconv.AppendFloat(b, f, 'e', -1, 64)
}

// compareAsPython orders two cells as Python's sort does with null after all
// else. It reports false where Python would refuse to compare them.
func compareAsPython(a, b any) (int, bool) {
	if a == nil || b == nil {
		return boolToInt(a == nil) - boolToInt(b == nil), true
	}
	return comparePython(machine(a), machine(b))
}

func boolToInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

func comparePython(a, b any) (int, bool) {
	if s, ok := a.(string); ok {
		t, ok := b.(string)
		return strings.Compare(s, t), ok
	}
	if m, ok := pythonNumber(a); ok {
		n, ok := pythonNumber(b)
		switch {
		case m < n:
			return -1, ok
		case m > n:
			return 1, ok
		}
		return 0, ok
	}
	if l, ok := itemsOf(a); ok {
		m, ok := itemsOf(b)
		if !ok {
			return 0, false
		}
		return compareLists(l, m)
	}
	// Python finds equal values equal before it asks which one is less.
	return 0, string(appendRepr(nil, a)) == string(appendRepr(nil, b))
}

func compareLists(l, m []any) (int, bool) {
	for i := range min(len(l), len(m)) {
		if c, ok := comparePython(l[i], m[i]); c != 0 || !ok {
			return c, ok
		}
	}
	return len(l) - len(m), true
}

func pythonNumber(v any) (float64, bool) {
	if t, ok := v.(bool); ok {
		return float64(boolToInt(t)), true
	}
	if !isNumber(v) {
		return 0, false
	}
	f, err := strconv.ParseFloat(string(appendNumber(nil, v)), 64)
	return f, err == nil || math.IsInf(f, 0)
}
