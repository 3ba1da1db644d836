package render_test

import (
	"cmp"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	gocmp "github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
	"pgregory.net/rapid"

	"github.com/holdfast-ops/holdfast/internal/cli/iostreams"
	"github.com/holdfast-ops/holdfast/internal/koc/render"
)

// sample is a listing to print.
type sample struct {
	titles []string
	rows   [][]any
	limit  int
}

type printer func(render.Options, sample) string

func printing(o render.Options, s sample) string {
	streams, _, out, _ := iostreams.Test()
	if err := render.List(streams, o, titled(s.titles...), render.Rows(s.rows)); err != nil {
		return "error: " + err.Error()
	}
	return out.String()
}

// law is what must hold of whatever is printed; mutant prints something wrong that
// breaks it.
type law struct {
	name   string
	check  func(printer, sample) error
	mutant func(printer) printer
}

// changed is a printer whose text went through a function.
func changed(f func(string) string) func(printer) printer {
	return func(p printer) printer {
		return func(o render.Options, s sample) string { return f(p(o, s)) }
	}
}

func replaced(old, with string) func(printer) printer {
	return changed(func(text string) string { return strings.ReplaceAll(text, old, with) })
}

// with is a printer that gets other options.
func with(f func(*render.Options)) func(printer) printer {
	return func(p printer) printer {
		return func(o render.Options, s sample) string {
			f(&o)
			return p(o, s)
		}
	}
}

func laws() []law {
	return []law{
		{"json reads back, keys in the order of the columns", jsonReadsBack, changed(func(text string) string {
			return strings.ReplaceAll(text, `\n`, "n")
		})},
		{"json of the OpenStack voice is ASCII and reads back", pythonJSONReadsBack, with(func(o *render.Options) { o.Voice = render.Own })},
		{"yaml reads back", yamlReadsBack, replaced("'", "")},
		{"csv reads back", csvReadsBack, replaced(`""`, `"`)},
		{"value has a line for each row and a tab between cells", valueSplits, with(func(o *render.Options) { o.Separator = " " })},
		{"all lines of a table are equally wide", linesAreEven, with(func(o *render.Options) { o.Voice = render.OpenStack })},
		{"a table with room for its columns is no wider than it may be", tableFits, with(func(o *render.Options) { o.MaxWidth += 8 })},
		{"a table loses no text", tableIsWhole, with(func(o *render.Options) { o.MaxWidth = 0; o.ShowElision = false; o.Columns = nil })},
		{"nothing moves the cursor", nothingDangerous, with(func(o *render.Options) { o.Voice = render.OpenStack })},
		{"rows are sorted, equal ones stay in order, null is last", sorts, with(func(o *render.Options) { o.SortBy = nil })},
	}
}

func samples() *rapid.Generator[sample] {
	piece := rapid.OneOf(
		rapid.SampledFrom([]string{
			"web", "db-1", "7c0f6ab2-5bd1-4c69-9d0c-8d8b4b9c1f0e", "ACTIVE", "10.0.0.5", "fd00::1", "2026-03-04T06:27:59Z", "2026-3-4",
			"yes", "Null", "~", "1e3", ".5", "-1_000", "0o17", "0x1F", "1:30", "+.inf", "<<", "=", "-", "? a", "a: b", "a #b", "[x]", "{y}", "&a", "*b", "!c", "%d", "@e", "`f",
			" ", "  ", "\n", "\n\n", "\t", "\r\n", "'", `"`, `\`, ",", ";", "|", "+--+", "日本語", "зона", "é", "e\u0301", "😀",
			"\x1b[31m", "\x1b]0;title\a", "\u202e", "\u2066", "\x00", "\x7f", "\u0085", "\u2028", "\ufeff", "\xff", "a--b", "long-hyphenated-word", "word word",
		}),
		rapid.String(),
		rapid.StringN(0, 30, -1),
	)
	text := rapid.Map(rapid.SliceOfN(piece, 0, 6), func(pieces []string) string { return strings.Join(pieces, "") })
	cell := rapid.OneOf(
		rapid.Map(text, func(s string) any { return s }),
		rapid.Map(rapid.SampledFrom([]string{"web", "db", "9", "10", "2.5", ""}), func(s string) any { return s }),
		rapid.Map(rapid.IntRange(-100, 100), func(n int) any { return n }),
		rapid.Map(rapid.Bool(), func(b bool) any { return b }),
		rapid.Just[any](nil),
		rapid.Map(rapid.SliceOfN(text, 0, 3), func(l []string) any { return render.ListCell(l) }),
		rapid.Map(rapid.MapOfN(text, text, 0, 3), func(m map[string]string) any { return render.DictCell(m) }),
		rapid.Map(rapid.SliceOfN(text, 0, 2), func(l []string) any { return l }),
	)
	return rapid.Custom(func(t *rapid.T) sample {
		n := rapid.IntRange(1, 4).Draw(t, "columns")
		titles := rapid.SampledFrom([][]string{{"ID", "Name", "Status", "Created At"}, {"no", "Имя", "名前", "a: b"}}).Draw(t, "titles")[:n]
		rows := rapid.SliceOfN(rapid.SliceOfN(cell, n, n), 1, 8).Draw(t, "rows")
		return sample{titles, rows, rapid.IntRange(1, 120).Draw(t, "limit")}
	})
}

func TestLaws(t *testing.T) {
	t.Parallel()
	for _, l := range laws() {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(rt *rapid.T) {
				if err := l.check(printing, samples().Draw(rt, "sample")); err != nil {
					rt.Fatal(err)
				}
			})
		})
	}
}

// A law that no mistake can break says nothing.
func TestEachLawCatchesAMutant(t *testing.T) {
	t.Parallel()
	for _, l := range laws() {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			for seed := range 5000 {
				if l.check(l.mutant(printing), samples().Example(seed)) != nil {
					return
				}
			}
			t.Error("the mutant was not caught")
		})
	}
}

func jsonReadsBack(p printer, s sample) error {
	text := p(render.Options{Format: "json"}, s)
	var rows []json.RawMessage
	if err := json.Unmarshal([]byte(text), &rows); err != nil || len(rows) != len(s.rows) {
		return fmt.Errorf("%d of %d rows, %w:\n%s", len(rows), len(s.rows), err, text)
	}
	for i, row := range rows {
		d := json.NewDecoder(strings.NewReader(string(row)))
		d.UseNumber()
		got, err := ordered(d)
		if err != nil {
			return err
		}
		want := render.Ordered{}
		for j, title := range s.titles {
			want = append(want, render.Field{Name: title, Value: jsonable(s.rows[i][j])})
		}
		if diff := gocmp.Diff(want, got); diff != "" {
			return errors.New(diff)
		}
	}
	return nil
}

// jsonable is a cell as reading JSON gives it back.
func jsonable(v any) any {
	switch v := render.OwnValue(v).(type) {
	case int:
		return json.Number(strconv.Itoa(v))
	case string:
		return strings.ToValidUTF8(replaceEach(v), "\uFFFD")
	default:
		return v
	}
}

// replaceEach puts one replacement character for each byte that is none.
func replaceEach(s string) string { return string([]rune(s)) }

func pythonJSONReadsBack(p printer, s sample) error {
	text := p(render.Options{Voice: render.OpenStack, Format: "json"}, s)
	for i := range len(text) {
		if text[i] > '~' {
			return fmt.Errorf("%q is not ASCII:\n%s", text[i], text)
		}
	}
	var rows []map[string]any
	if err := json.Unmarshal([]byte(text), &rows); err != nil || len(rows) != len(s.rows) {
		return fmt.Errorf("%d of %d rows, %w:\n%s", len(rows), len(s.rows), err, text)
	}
	for i, row := range rows {
		for j, title := range s.titles {
			if want, ok := s.rows[i][j].(string); ok && row[title] != replaceEach(want) {
				return fmt.Errorf("%q read back as %q", want, row[title])
			}
		}
	}
	return nil
}

func yamlReadsBack(p printer, s sample) error {
	text := p(render.Options{Format: "yaml"}, s)
	var rows []map[string]any
	if err := yaml.Unmarshal([]byte(text), &rows); err != nil || len(rows) != len(s.rows) {
		return fmt.Errorf("%d of %d rows, %w:\n%s", len(rows), len(s.rows), err, text)
	}
	for i, row := range rows {
		want := map[string]any{}
		for j, title := range s.titles {
			want[title] = render.OwnValue(s.rows[i][j])
			if v, ok := want[title].(string); ok {
				want[title] = replaceEach(v)
			}
		}
		if diff := gocmp.Diff(want, row); diff != "" {
			return fmt.Errorf("%s\n%s", diff, text)
		}
	}
	return nil
}

// plainText is what the text formats show of a cell.
func plainText(v any) string { return render.Plain(render.OwnText(v)) }

func csvReadsBack(p printer, s sample) error {
	text := p(render.Options{Format: "csv"}, s)
	r := csv.NewReader(strings.NewReader(text))
	rows, err := r.ReadAll()
	if err != nil {
		return fmt.Errorf("%w:\n%s", err, text)
	}
	want := [][]string{s.titles}
	for _, row := range s.rows {
		var cells []string
		for _, cell := range row {
			cells = append(cells, plainText(cell))
		}
		want = append(want, cells)
	}
	if diff := gocmp.Diff(want, rows); diff != "" {
		return errors.New(diff)
	}
	return nil
}

func valueSplits(p printer, s sample) error {
	text := p(render.Options{Format: "value"}, s)
	var want strings.Builder
	for _, row := range s.rows {
		cells := make([]string, len(row))
		for i, cell := range row {
			cells[i] = plainText(cell)
		}
		want.WriteString(strings.Join(cells, "\t") + "\n")
	}
	if text != want.String() {
		return fmt.Errorf("%q, want %q", text, want.String())
	}
	return nil
}

func tableLines(p printer, s sample, limit int) []string {
	text := p(render.Options{Format: "table", MaxWidth: limit, ShowElision: true}, s)
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

func linesAreEven(p printer, s sample) error {
	lines := tableLines(p, s, s.limit)
	for _, line := range lines {
		if n := render.Width(line); n != len(lines[0]) {
			return fmt.Errorf("%q has %d columns, the rule has %d", line, n, len(lines[0]))
		}
	}
	return nil
}

func tableFits(p printer, s sample) error {
	// Each column has its least width, and its borders.
	limit := max(s.limit, 1+(8+3)*len(s.titles))
	for _, line := range tableLines(p, s, limit) {
		if n := render.Width(line); n > limit {
			return fmt.Errorf("%q has %d columns of %d", line, n, limit)
		}
	}
	return nil
}

func tableIsWhole(p printer, s sample) error {
	s.rows[0][0] = strings.Repeat("0123456789abcdef-", 70)
	lines := tableLines(p, s, s.limit)
	widths := strings.Split(strings.Trim(lines[0], "+"), "+")
	var got, want strings.Builder
	for column := range s.titles {
		want.WriteString(squeezed(s.titles[column]))
		for _, row := range s.rows {
			want.WriteString(squeezed(plainText(row[column])))
		}
		from := 1
		for _, w := range widths[:column] {
			from += len(w) + 1
		}
		for _, line := range lines {
			if line != lines[0] {
				got.WriteString(squeezed(between(line, from, from+len(widths[column]))))
			}
		}
	}
	if got.String() != want.String() {
		return fmt.Errorf("%q, want %q:\n%s", got.String(), want.String(), strings.Join(lines, "\n"))
	}
	return nil
}

// between is what stands between two columns of a line.
func between(line string, from, to int) string {
	var b strings.Builder
	at := 0
	for _, r := range line {
		if n := render.Width(string(r)); at >= from && (at < to || n == 0) && at+n <= to {
			b.WriteRune(r)
		}
		at += render.Width(string(r))
	}
	return b.String()
}

// squeezed is a text without its blanks, which a table may move.
func squeezed(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, text)
}

func nothingDangerous(p printer, s sample) error {
	for _, format := range []string{"table", "value", "csv"} {
		for _, r := range p(render.Options{Format: format}, s) {
			if unicode.IsControl(r) && r != '\n' && r != '\t' || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 {
				return fmt.Errorf("%q in %s", r, format)
			}
		}
	}
	return nil
}

// sorts checks the order of rows by their first cells. The last column tells
// where a row was.
func sorts(p printer, s sample) error {
	for _, descending := range []bool{false, true} {
		rows := make([][]any, len(s.rows))
		for i, row := range s.rows {
			rows[i] = []any{row[0], i}
		}
		o := render.Options{Format: "json", SortBy: []string{"key"}, Columns: []string{"At"}, Descending: descending}
		var got []struct{ At int }
		if err := json.Unmarshal([]byte(p(o, sample{titles: []string{"Key", "At"}, rows: rows})), &got); err != nil {
			return err
		}
		want := make([]int, len(rows))
		for i := range want {
			want[i] = i
		}
		slices.SortStableFunc(want, func(a, b int) int { return byKey(s.rows[a][0], s.rows[b][0], descending) })
		for i, row := range got {
			if row.At != want[i] {
				return fmt.Errorf("order %v, want %v", got, want)
			}
		}
	}
	return nil
}

func byKey(a, b any, descending bool) int {
	a, b = render.OwnValue(a), render.OwnValue(b)
	if a == nil || b == nil {
		return cmp.Compare(strconv.FormatBool(a == nil), strconv.FormatBool(b == nil))
	}
	x, xok := numberOf(a)
	y, yok := numberOf(b)
	var n int
	switch {
	case xok && yok:
		n = cmp.Compare(x, y)
	case xok:
		n = -1
	case yok:
		n = 1
	default:
		n = strings.Compare(render.OwnText(a), render.OwnText(b))
	}
	if descending {
		return -n
	}
	return n
}

func numberOf(v any) (float64, bool) {
	text := render.OwnText(v)
	if strings.ContainsAny(text, "xXpPiInN_") {
		return 0, false
	}
	n, err := strconv.ParseFloat(text, 64)
	return n, err == nil
}

// readRepr reads a string as Python writes it.
func readRepr(text string) (string, error) {
	if len(text) < 2 || text[0] != text[len(text)-1] {
		return "", errors.New("no quotes")
	}
	body := text[1 : len(text)-1]
	var b strings.Builder
	for body != "" {
		// Go writes the same escapes, but for the quote that is not its own.
		if body[0] == text[0] {
			return "", errors.New("a bare quote")
		}
		r, _, rest, err := strconv.UnquoteChar(body, text[0])
		if err != nil {
			return "", err
		}
		b.WriteRune(r)
		body = rest
	}
	return b.String(), nil
}

func FuzzRepr(f *testing.F) {
	for _, s := range []string{"", "it's", `say "hi"`, `both '"`, "\n\t\r\\", "\u00a0\u200b😀\U0010ffff", "é"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		text := render.Repr(s)
		got, err := readRepr(text)
		if err != nil || got != replaceEach(s) {
			t.Errorf("%q is %s, which is %q, %v", s, text, got, err)
		}
		for _, r := range text {
			if !unicode.IsPrint(r) {
				t.Errorf("%q in %s", r, text)
			}
		}
	})
}

func FuzzTable(f *testing.F) {
	f.Add("ID,Name", "web\n\x1b[31mred\x1b[0m,日本語", uint8(20))
	f.Add("", "", uint8(0))
	f.Add("\x19", "         ", uint8(9)) // blanks that are broken into nothing
	f.Fuzz(func(t *testing.T, title, cells string, limit uint8) {
		s := sample{titles: []string{title, "b"}, limit: int(limit)}
		for row := range strings.SplitSeq(cells, ";") {
			a, b, _ := strings.Cut(row, ",")
			s.rows = append(s.rows, []any{a, b})
		}
		for _, check := range []func(printer, sample) error{linesAreEven, tableFits, nothingDangerous} {
			if err := check(printing, s); err != nil {
				t.Error(err)
			}
		}
	})
}

func FuzzStructured(f *testing.F) {
	f.Add("a: b", " x\n\n y\n")
	f.Add("2026-03-04", "\u0085\u2028\ufeff")
	f.Fuzz(func(t *testing.T, one, two string) {
		s := sample{titles: []string{"One", "Two"}, rows: [][]any{{one, two}, {two, one}}}
		for _, check := range []func(printer, sample) error{jsonReadsBack, pythonJSONReadsBack, yamlReadsBack, csvReadsBack} {
			if err := check(printing, s); err != nil {
				t.Error(err)
			}
		}
	})
}
