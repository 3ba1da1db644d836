package render

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// The constructors below are the columns of upstream that have a form for people
// and another for programs. Their human forms are made when they are printed.

// TextCell is a value with its own text for people.
func TextCell(human string, machine any) Cell { return Cell{Human: human, Machine: machine} }

// ListCell is a list of texts: sorted, joined by ", ".
func ListCell(v any) Cell { return Cell{Machine: v, Format: formatList} }

// DictCell is a dictionary: k='v', k2='v2', sorted by key; nested keys are joined
// by dots.
func DictCell(v any) Cell { return ofDict(v, formatDict) }

// DictListCell is a dictionary of lists: k=v1, v2; k2=v3.
func DictListCell(v any) Cell { return ofDict(v, formatDictList) }

// ListDictCell is a list of dictionaries, one a line.
func ListDictCell(v any) Cell { return Cell{Machine: v, Format: formatListDict} }

// SizeCell is a number of bytes in units of a thousand: 1.2G.
func SizeCell(v any) Cell { return Cell{Machine: v, Format: formatSize} }

// BoolCell is a boolean with a word for each state: UP and DOWN. A value that is
// no boolean counts as true when Python would take it so.
func BoolCell(v any, yes, no string) Cell {
	if truthy(v) {
		return Cell{Human: yes, Machine: v}
	}
	return Cell{Human: no, Machine: v}
}

// UpDownCell is an administrative state.
func UpDownCell(v any) Cell { return BoolCell(v, "UP", "DOWN") }

// StampCell is a moment of the API, nil when it is absent. See [Stamp].
func StampCell(v any) any {
	switch t := v.(type) {
	case nil:
		return nil
	case string:
		return Stamp(t)
	case *string:
		if t == nil {
			return nil
		}
		return Stamp(*t)
	}
	return v
}

// ofDict shows an absent dictionary as None to people, as an empty one to programs.
func ofDict(v any, format func(any) any) Cell {
	if isNil(v) {
		return Cell{Machine: Ordered(nil), Format: func(any) any { return nil }}
	}
	return Cell{Machine: v, Format: format}
}

func isNil(v any) bool {
	switch t := v.(type) {
	case nil:
		return true
	case map[string]any:
		return t == nil
	case map[string]string:
		return t == nil
	case Ordered:
		return t == nil
	}
	return false
}

func formatList(v any) any {
	if v == nil {
		return nil
	}
	if l, ok := v.([]string); ok {
		if !slices.IsSorted(l) {
			l = slices.Sorted(slices.Values(l))
		}
		return strings.Join(l, ", ")
	}
	items, ok := itemsOf(v)
	if !ok {
		return pythonStr(v)
	}
	texts := make([]string, len(items))
	for i, item := range items {
		texts[i] = pythonStr(item)
	}
	slices.Sort(texts)
	return strings.Join(texts, ", ")
}

func formatDict(v any) any {
	pairs, ok := pairsOf(v)
	if !ok {
		return pythonStr(v)
	}
	return string(appendDict(nil, "", pairs))
}

// appendDict appends the pairs sorted by key.
func appendDict(b []byte, prefix string, pairs []Field) []byte {
	for i, pair := range sortedPairs(pairs) {
		if i > 0 {
			b = append(b, ", "...)
		}
		name := pair.Name
		if prefix != "" {
			name = prefix + "." + name
		}
		if nested, ok := pairsOf(pair.Value); ok {
			b = appendDict(b, name, nested)
			continue
		}
		b = append(append(b, name...), '=')
		if pair.Value == nil {
			continue
		}
		b = append(b, '\'')
		b = append(b, pythonStr(machine(pair.Value))...)
		b = append(b, '\'')
	}
	return b
}

func sortedByName(pairs []Field) bool {
	return slices.IsSortedFunc(pairs, func(a, b Field) int { return strings.Compare(a.Name, b.Name) })
}

func sortedPairs(pairs []Field) []Field {
	if sortedByName(pairs) {
		return pairs
	}
	return slices.SortedStableFunc(slices.Values(pairs), func(a, b Field) int { return strings.Compare(a.Name, b.Name) })
}

func formatDictList(v any) any {
	pairs, ok := pairsOf(v)
	if !ok {
		return pythonStr(v)
	}
	var b strings.Builder
	for _, pair := range sortedPairs(pairs) {
		if pair.Value == nil {
			continue
		}
		if b.Len() > 0 {
			b.WriteString("; ")
		}
		b.WriteString(pair.Name)
		b.WriteByte('=')
		b.WriteString(pythonStr(formatList(pair.Value)))
	}
	return b.String()
}

func formatListDict(v any) any {
	if v == nil {
		return nil
	}
	items, ok := itemsOf(v)
	if !ok {
		return pythonStr(v)
	}
	lines := make([]string, len(items))
	for i, item := range items {
		lines[i] = pythonStr(formatDict(item))
	}
	return strings.Join(lines, "\n")
}

func formatSize(v any) any {
	const suffixes = " KMGTPEZ"
	size, _ := pythonNumber(v)
	at := 0
	for size >= 1000 && at < len(suffixes)-1 {
		size /= 1000
		at++
	}
	text := strings.TrimSuffix(strings.TrimRight(strconv.FormatFloat(size, 'f', 1, 64), "0"), ".")
	if at > 0 {
		text += suffixes[at : at+1]
	}
	return text
}

// truthy reports whether Python takes the value for true.
func truthy(v any) bool {
	switch t := v.(type) {
	case nil:
		return false
	case bool:
		return t
	case string:
		return t != ""
	}
	if n, ok := pythonNumber(v); ok {
		return n != 0 && !math.IsNaN(n)
	}
	if items, ok := itemsOf(v); ok {
		return len(items) > 0
	}
	pairs, ok := pairsOf(v)
	return !ok || len(pairs) > 0
}

// own is the moment in koc's own voice: what is RFC 3339 stays, a zone that is
// missing is UTC, an absent moment is nil.
func (s Stamp) own() any {
	t := string(s)
	const day, second = len("2006-01-02"), len("2006-01-02T15:04:05")
	if strings.TrimSpace(t) == "" || strings.HasPrefix(t, "0001-01-01") {
		return nil
	}
	if len(t) < second || !resolvesTime(t) || t[4] != '-' || t[7] != '-' || (t[day] != 'T' && t[day] != ' ') {
		return t
	}
	rest := scan(t[second:])
	fraction := ""
	if rest.one(".") {
		n := rest.any(digits)
		fraction = strings.TrimRight(t[second:second+1+n], "0")
		if fraction == "." {
			fraction = ""
		}
	}
	switch {
	case rest == "":
		return t[:day] + "T" + t[day+1:second] + fraction + "Z"
	case t[day] == ' ' && (rest[0] == 'Z' || len(rest) == len("+00:00") && rest[3] == ':'):
		return t[:day] + "T" + t[day+1:]
	}
	return t
}
