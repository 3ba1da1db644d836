package lab

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
)

// Difference tells how got differs from want, in a line; "" if it does not.
// What a Read marks as volatile is levelled first.
func Difference(r Read, want, got Run) string {
	if r.Broken && want.Code != 0 && got.Code == 0 && got.Out != "" {
		return ""
	}
	if want.Code != got.Code {
		return fmt.Sprintf("exit code %d, koc %d: %s", want.Code, got.Code, short(firstLine(got.Err+got.Out), 200))
	}
	if want.Code != 0 {
		return "" // what they print until they fail is chance
	}
	w, g := level(r, want.Out), level(r, got.Out)
	if w == g {
		return ""
	}
	if sorted(want.Format, w) == sorted(want.Format, g) {
		if r.Unordered {
			return ""
		}
		return "order of the rows"
	}
	if r.Unordered {
		w, g = sorted(want.Format, w), sorted(want.Format, g)
	}
	if want.Format == "json" {
		if d := jsonDifference(w, g); d != "" {
			return d
		}
	}
	return textDifference(want.Format, w, g)
}

// unorderedCells puts the members of objects inside cells in an order of our own:
// services give properties in another order each time.
func unorderedCells(s string) string {
	list, err := rows(s)
	if err != nil {
		return s
	}
	var b strings.Builder
	for _, row := range list {
		for _, m := range row {
			var v any
			cell := m.value
			d := json.NewDecoder(bytes.NewReader(cell))
			d.UseNumber()
			if bytes.IndexByte(cell, '{') >= 0 && d.Decode(&v) == nil {
				if again, err := json.Marshal(v); err == nil {
					cell = again
				}
			}
			name, _ := json.Marshal(m.key) //nolint:errchkjson // a string
			b.WriteString("," + string(name) + ":" + string(cell))
		}
		b.WriteString("\n")
	}
	lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	for i, line := range lines {
		lines[i] = "{" + strings.TrimPrefix(line, ",") + "}"
	}
	if strings.HasPrefix(strings.TrimSpace(s), "{") {
		return lines[0]
	}
	if len(list) == 0 {
		return "[]"
	}
	return "[" + strings.Join(lines, ",") + "]"
}

// level makes equal what may differ between two runs.
func level(r Read, s string) string {
	if r.Time {
		s = regexp.MustCompile(`\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?`).ReplaceAllStringFunc(s, func(t string) string {
			return strings.Repeat("T", len(t))
		})
	}
	if r.Digits {
		s = regexp.MustCompile(`[0-9]`).ReplaceAllString(s, "0")
	}
	if r.Figures {
		s = regexp.MustCompile(`[0-9]+(\.[0-9]+)?`).ReplaceAllString(s, "0")
		s = regexp.MustCompile(`([ -])[ -]+`).ReplaceAllString(s, "$1") // what pads them
	}
	return s
}

// sorted puts the rows of an output in an order of our own.
func sorted(format, s string) string {
	switch format {
	case "json":
		var rows []json.RawMessage
		if json.Unmarshal([]byte(s), &rows) != nil {
			return s
		}
		slices.SortFunc(rows, func(a, b json.RawMessage) int { return bytes.Compare(a, b) })
		return "[" + string(bytes.Join(raws(rows), []byte(","))) + "]"
	case "yaml":
		rows := strings.Split("\n"+strings.TrimSuffix(s, "\n"), "\n- ")
		slices.Sort(rows)
		return strings.Join(rows, "\n- ")
	default:
		rows := strings.Split(s, "\n")
		slices.Sort(rows)
		return strings.Join(rows, "\n")
	}
}

func raws(rows []json.RawMessage) [][]byte {
	all := make([][]byte, len(rows))
	for i, r := range rows {
		all[i] = r
	}
	return all
}

// member is a member of a JSON object, in the order of the text.
type member struct {
	key   string
	value json.RawMessage
}

func members(b json.RawMessage) ([]member, error) {
	d := json.NewDecoder(bytes.NewReader(b))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, fmt.Errorf("no object: %s", short(string(b), 40))
	}
	var all []member
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return nil, err
		}
		key, _ := t.(string)
		var v json.RawMessage
		if err := d.Decode(&v); err != nil {
			return nil, err
		}
		var c bytes.Buffer
		if err := json.Compact(&c, v); err != nil {
			return nil, err
		}
		all = append(all, member{key, c.Bytes()})
	}
	return all, nil
}

func jsonDifference(want, got string) string {
	w, werr := rows(want)
	g, gerr := rows(got)
	if gerr != nil && werr == nil {
		return fmt.Sprintf("koc's is no such JSON: %s: %s", gerr, short(got, 80))
	}
	if werr != nil || len(w) == 0 {
		return ""
	}
	if len(g) > 0 {
		if d := columns(keys(w[0]), keys(g[0])); d != "" {
			return d
		}
	}
	if len(w) != len(g) {
		return fmt.Sprintf("%d rows, koc %d", len(w), len(g))
	}
	var cells []string
	seen := map[string]bool{}
	for i := range w {
		if d := columns(keys(w[i]), keys(g[i])); d != "" {
			return fmt.Sprintf("row %d: %s", i+1, d)
		}
		for j, m := range w[i] {
			if o := g[i][j]; !bytes.Equal(m.value, o.value) && !seen[m.key] {
				seen[m.key] = true
				at := ""
				if len(w) > 1 {
					at = fmt.Sprintf(" (row %d)", i+1)
				}
				a, b := apart(string(m.value), string(o.value), 90)
				cells = append(cells, fmt.Sprintf("%s%s: %s, koc %s", m.key, at, a, b))
			}
		}
	}
	return strings.Join(cells, "; ")
}

// rows are the objects of an array, or the one object there is.
func rows(s string) ([][]member, error) {
	var raw []json.RawMessage
	d := json.NewDecoder(strings.NewReader(s))
	if strings.HasPrefix(strings.TrimSpace(s), "{") {
		raw = make([]json.RawMessage, 1)
		if err := d.Decode(&raw[0]); err != nil {
			return nil, err
		}
	} else if err := d.Decode(&raw); err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("text follows the value")
	}
	all := make([][]member, len(raw))
	for i, r := range raw {
		m, err := members(r)
		if err != nil {
			return nil, err
		}
		all[i] = m
	}
	return all, nil
}

func keys(row []member) []string {
	names := make([]string, len(row))
	for i, m := range row {
		names[i] = m.key
	}
	return names
}

// columns tells how two lists of names differ.
func columns(want, got []string) string {
	if slices.Equal(want, got) {
		return ""
	}
	var missing, more []string
	for _, w := range want {
		if !slices.Contains(got, w) {
			missing = append(missing, w)
		}
	}
	for _, g := range got {
		if !slices.Contains(want, g) {
			more = append(more, g)
		}
	}
	switch {
	case len(missing) == 0 && len(more) == 0:
		return "columns in the order " + strings.Join(want, ", ") + "; koc " + strings.Join(got, ", ")
	case len(missing) == 0:
		return "koc has more columns: " + strings.Join(more, ", ")
	case len(more) == 0:
		return "koc lacks columns: " + strings.Join(missing, ", ")
	}
	return "koc lacks columns: " + strings.Join(missing, ", ") + "; has more: " + strings.Join(more, ", ")
}

// textDifference shows the first line that differs, and counts the others.
func textDifference(format, want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	if format == "csv" && w[0] != g[0] {
		return columns(strings.Split(w[0], ","), strings.Split(g[0], ","))
	}
	first, n := -1, 0
	for i := range max(len(w), len(g)) {
		var a, b string
		if i < len(w) {
			a = w[i]
		}
		if i < len(g) {
			b = g[i]
		}
		border := format == "table" && strings.HasPrefix(a, "+-") && strings.HasPrefix(b, "+-")
		if a == b && (i < len(w)) == (i < len(g)) || border {
			continue
		}
		if n++; first < 0 {
			first = i
		}
	}
	if first < 0 {
		return "widths"
	}
	line := func(of []string) string {
		if first < len(of) {
			return of[first]
		}
		return "(no line)"
	}
	a, b := line(w), line(g)
	if format == "table" && strings.Join(strings.Fields(a), " ") != strings.Join(strings.Fields(b), " ") {
		a, b = strings.Join(strings.Fields(a), " "), strings.Join(strings.Fields(b), " ")
	}
	a, b = apart(a, b, 110)
	count := ""
	if len(w) != len(g) {
		count = fmt.Sprintf(", %d lines, koc %d", len(w), len(g))
	}
	return fmt.Sprintf("line %d (of %d that differ%s): %q, koc %q", first+1, n, count, a, b)
}

// apart cuts two texts to size around the place where they begin to differ.
func apart(a, b string, size int) (string, string) {
	if len(a) <= size && len(b) <= size {
		return a, b
	}
	x, y := []rune(a), []rune(b)
	i := 0
	for i < len(x) && i < len(y) && x[i] == y[i] {
		i++
	}
	from := max(0, i-size/3)
	cut := func(r []rune) string {
		s := string(r[min(from, len(r)):min(from+size, len(r))])
		if from > 0 {
			s = "…" + s
		}
		if from+size < len(r) {
			s += "…"
		}
		return s
	}
	return cut(x), cut(y)
}

func short(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n]) + "…"
	}
	return s
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	return s
}
