package output

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Text is a value as one cell: nothing for nil, RFC 3339 for a time, items
// separated by commas for a list, k=v pairs for a map.
func Text(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case []byte:
		return string(v)
	case time.Time:
		if v.IsZero() {
			return ""
		}
		return v.Format(time.RFC3339)
	case *time.Time:
		if v == nil {
			return ""
		}
		return Text(*v)
	}
	rv := reflect.ValueOf(v)
	if rv.Kind() == reflect.Pointer && rv.IsNil() {
		return ""
	}
	switch v := v.(type) {
	case error:
		return v.Error()
	case fmt.Stringer:
		return v.String()
	case encoding.TextMarshaler:
		if b, err := v.MarshalText(); err == nil {
			return string(b)
		}
	}
	return textOf(rv)
}

func textOf(v reflect.Value) string {
	switch v.Kind() { //nolint:exhaustive // fmt writes the other kinds well
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return ""
		}
		return Text(v.Elem().Interface())
	case reflect.Float32, reflect.Float64:
		return strconv.FormatFloat(v.Float(), 'f', -1, v.Type().Bits())
	case reflect.Slice, reflect.Array:
		if v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Uint8 {
			return string(v.Bytes())
		}
		items := make([]string, v.Len())
		for i := range items {
			items[i] = Text(v.Index(i).Interface())
		}
		return strings.Join(items, ",")
	case reflect.Map:
		var pairs []string
		for _, k := range v.MapKeys() {
			pairs = append(pairs, Text(k.Interface())+"="+Text(v.MapIndex(k).Interface()))
		}
		slices.Sort(pairs)
		return strings.Join(pairs, ",")
	case reflect.Struct:
		if b, err := json.Marshal(v.Interface()); err == nil {
			return string(b)
		}
	}
	return fmt.Sprint(v.Interface())
}

// Escape returns the text with everything that could move the cursor, colour
// the terminal or reorder the line written as an escape sequence.
func Escape(text string) string {
	if strings.IndexFunc(text, unsafe) < 0 && utf8.ValidString(text) {
		return text
	}
	var b strings.Builder
	for i, r := range text {
		_, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, text[i])
		case unsafe(r):
			quoted := strconv.QuoteRuneToASCII(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// unsafe tells control characters, line separators and the invisible format
// characters, which include the ones that change direction. The joiner inside
// emoji is one of these, and harmless.
func unsafe(r rune) bool {
	const joiner = '\u200d'
	return unicode.IsControl(r) || (unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp) && r != joiner)
}

// EscapeLine escapes a line of a log, all but its tabs: they are layout.
func EscapeLine(line string) string {
	cells := strings.Split(line, "\t")
	for i, cell := range cells {
		cells[i] = Escape(cell)
	}
	return strings.Join(cells, "\t")
}
