package render_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-ops/holdfast/internal/cli/iostreams"
	"github.com/holdfast-ops/holdfast/internal/koc/render"
)

func extras() ([]render.Column, [][]any) {
	columns := append(titled("ID", "Name", "Size"), render.Column{Title: "Created At", Hidden: true}, render.Column{Title: "Host", Hidden: true})
	return columns, [][]any{
		{"1", "b", 10, "2026-01-01", nil},
		{"2", "a", 9, "2025-01-01", "n2"},
		{"3", "b", nil, "2024-01-01", "n1"},
	}
}

func TestColumnsAreChosenByTheRulesOfTheVoice(t *testing.T) {
	t.Parallel()
	columns, rows := extras()
	for _, c := range []struct {
		o    render.Options
		want string // of csv
		err  string
	}{
		{o: render.Options{}, want: "ID,Name,Size\n1,b,10\n2,a,9\n3,b,\n"},
		{o: render.Options{Columns: []string{" name", "created_at", "ID", "id"}}, want: "Name,Created At,ID\nb,2026-01-01,1\na,2025-01-01,2\nb,2024-01-01,3\n"},
		{o: render.Options{Columns: []string{"Nope", "id", "x"}}, err: "unknown column(s): Nope, x (available: ID, Name, Size, Created At, Host)"},
		{o: render.Options{SortBy: []string{"x"}}, err: `unknown sort column "x": available columns are ID, Name, Size, Created At, Host`},
		{o: render.Options{SortBy: []string{"size"}}, want: "ID,Name,Size\n2,a,9\n1,b,10\n3,b,\n"},
		{o: render.Options{SortBy: []string{"size"}, Descending: true}, want: "ID,Name,Size\n1,b,10\n2,a,9\n3,b,\n"},
		{o: render.Options{SortBy: []string{"NAME", "created at"}}, want: "ID,Name,Size,Created At\n2,a,9,2025-01-01\n3,b,,2024-01-01\n1,b,10,2026-01-01\n"},
		{o: render.Options{SortBy: []string{"host"}, Columns: []string{"id"}}, want: "ID\n3\n2\n1\n"},
		{o: render.Options{Voice: render.OpenStack, Quote: "minimal", Columns: []string{"Size", "ID", "nope", "name"}}, want: "ID,Size\n1,10\n2,9\n3,\n"},
		{o: render.Options{Voice: render.OpenStack, Quote: "minimal", Columns: []string{"Host", "Created At", "ID"}}, want: "ID,Host,Created At\n1,,2026-01-01\n2,n2,2025-01-01\n3,n1,2024-01-01\n"},
		{o: render.Options{Voice: render.OpenStack, Columns: []string{"host"}}, err: "No recognized column names in ['host']. Recognized columns are ('ID', 'Name', 'Size')."},
		{o: render.Options{Voice: render.OpenStack, Quote: "minimal", SortBy: []string{"Size", "Host", "x"}}, want: "ID,Name,Size\n2,a,9\n1,b,10\n3,b,\n"},
		{o: render.Options{Voice: render.OpenStack, Quote: "minimal", SortBy: []string{"Size"}, Descending: true}, want: "ID,Name,Size\n3,b,\n1,b,10\n2,a,9\n"},
	} {
		c.o.Format = "csv"
		s, _, out, _ := iostreams.Test()
		err := render.List(s, c.o, columns, render.Rows(rows))
		switch {
		case c.err == "" && (err != nil || out.String() != c.want):
			t.Errorf("%+v: %v\n%s", c.o, err, out)
		case c.err != "" && (err == nil || err.Error() != c.err || out.Len() > 0):
			t.Errorf("%+v: %v\n%s", c.o, err, out)
		}
		// What is wanted is what is looked at, and what is visible is wanted.
		visible, verr := c.o.Visible(columns)
		if (verr == nil) != (err == nil) {
			t.Errorf("%+v: visible: %v", c.o, verr)
		}
		for _, column := range visible {
			if !c.o.Wants(column) {
				t.Errorf("%+v: %v is visible and not wanted", c.o, column)
			}
		}
	}
}

func TestWants(t *testing.T) {
	t.Parallel()
	hidden := render.Column{Title: "Created At", Hidden: true}
	for _, c := range []struct {
		o      render.Options
		column render.Column
		want   bool
	}{
		{render.Options{}, render.Column{Title: "ID"}, true},
		{render.Options{}, hidden, false},
		{render.Options{Columns: []string{"CREATED_AT"}}, hidden, true},
		{render.Options{SortBy: []string{"created at"}}, hidden, true},
		{render.Options{Columns: []string{"ID"}}, render.Column{Title: "Name"}, false},
		{render.Options{Columns: []string{"ID"}, SortBy: []string{"name"}}, render.Column{Title: "Name"}, true},
		{render.Options{Voice: render.OpenStack, Columns: []string{"created at"}}, hidden, false},
		{render.Options{Voice: render.OpenStack, Columns: []string{"Created At"}}, hidden, true},
		{render.Options{Voice: render.OpenStack, SortBy: []string{"Created At"}}, hidden, false},
		{render.Options{Format: "shell", Variables: []string{"created_at"}}, render.Column{Title: "Created At"}, true},
		{render.Options{Format: "shell", Variables: []string{"id"}}, render.Column{Title: "Created At"}, false},
	} {
		if got := c.o.Wants(c.column); got != c.want {
			t.Errorf("%+v wants %v: %v", c.o, c.column, got)
		}
	}
}

func TestFieldsAreChosenInTheirOwnOrder(t *testing.T) {
	t.Parallel()
	fields := []render.Field{{"id", "1"}, {"created_at", nil}, {"name", "web"}}
	for _, c := range []struct {
		o         render.Options
		want, err string
	}{
		{render.Options{Columns: []string{"Name", "Created At"}}, "\nweb\n", ""},
		{render.Options{Columns: []string{"name", "x"}}, "", "unknown column(s): x (available: id, created_at, name)"},
		{render.Options{Voice: render.OpenStack, Columns: []string{"name", "created_at", "x"}}, "None\nweb\n", ""},
		{render.Options{Voice: render.OpenStack, Columns: []string{"Name"}}, "", "No recognized column names in ['Name']. Recognized columns are ('id', 'created_at', 'name')."},
	} {
		c.o.Format = "value"
		s, _, out, _ := iostreams.Test()
		err := render.Show(s, c.o, fields)
		if out.String() != c.want || (err == nil) != (c.err == "") || err != nil && err.Error() != c.err {
			t.Errorf("%+v: %q, %v", c.o, out, err)
		}
	}
}

func TestValuesInOwnText(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		v    any
		want string
	}{
		{nil, ""},
		{true, "true"},
		{1.5, "1.5"},
		{1e6, "1000000"},
		{int64(-3), "-3"},
		{[]any{"b", "a", 1, nil}, "b, a, 1, "},
		{[]string{}, ""},
		{map[string]any{"b": 1, "a": "x"}, "a='x', b='1'"},
		{render.Ordered{{"b", true}, {"a", nil}}, "b='true', a=''"},
		{[]any{map[string]any{"b": []any{1, "<"}, "a": nil}}, `[{"a":null,"b":[1,"<"]}]`},
		{render.DictCell(nil), ""},
		{render.DictCell(map[string]any{"b": true, "a": map[string]any{"c": 1}, "d": nil}), "a.c='1', b='True', d="},
		{render.ListDictCell([]any{map[string]any{"ip": "x"}, map[string]any{"ip": "y"}}), "ip='x'\nip='y'"},
		{render.SizeCell(1234567), "1.2M"},
		{render.UpDownCell(true), "UP"},
		{render.BoolCell(nil, "External", "Internal"), "Internal"},
		{render.Painted{Cell: render.TextCell("x", 1), Text: "\x1b[31mx\x1b[0m"}, "x"},
		{render.StampCell("2026-03-04T06:27:59.123000"), "2026-03-04T06:27:59.123Z"},
		{"\x1b[31mred\x1b[0m \x1b]0;title\aone\x1b(B\u009b1mtwo\u202ethree\r", "red onetwothree"},
		{"\x1b]0;never ends", "0;never ends"},
	} {
		if got := shown(t, render.Options{Format: "value"}, []render.Field{{"x", c.v}}); got != c.want+"\n" {
			t.Errorf("%#v: %q, want %q", c.v, got, c.want)
		}
	}
}

func TestStamps(t *testing.T) {
	t.Parallel()
	for from, want := range map[string]string{
		"2026-03-04T06:27:59Z":             `"2026-03-04T06:27:59Z"`,
		"2026-03-04T06:27:59+00:00":        `"2026-03-04T06:27:59+00:00"`,
		"2026-03-04T06:27:59.120000+02:00": `"2026-03-04T06:27:59.120000+02:00"`,
		"2026-03-04T06:27:59.000000":       `"2026-03-04T06:27:59Z"`,
		"2026-03-04T06:27:59":              `"2026-03-04T06:27:59Z"`,
		"2026-03-04 06:27:59.5":            `"2026-03-04T06:27:59.5Z"`,
		"2026-03-04 06:27:59+00:00":        `"2026-03-04T06:27:59+00:00"`,
		"0001-01-01T00:00:00Z":             "null",
		"":                                 "null",
		"yesterday":                        `"yesterday"`,
	} {
		if got := shown(t, render.Options{Format: "json", NoIndent: true}, []render.Field{{"at", render.StampCell(from)}}); got != `{"at": `+want+"}\n" {
			t.Errorf("%q: %s, want %s", from, got, want)
		}
		o := render.Options{Voice: render.OpenStack, Format: "value"}
		if got := shown(t, o, []render.Field{{"at", render.StampCell(from)}}); got != from+"\n" {
			t.Errorf("%q is %q in the other voice", from, got)
		}
	}
	if render.StampCell(nil) != nil {
		t.Error("an absent stamp is something")
	}
}

func TestTheTableFitsTheTerminal(t *testing.T) {
	t.Parallel()
	columns, rows := titled("ID", "Note"), [][]any{{1, strings.Repeat("word ", 40)}}
	for _, c := range []struct {
		o        render.Options
		terminal int
		want     int
	}{
		{render.Options{}, 0, 210},
		{render.Options{}, 60, 60},
		{render.Options{MaxWidth: 40}, 60, 40},
		{render.Options{MaxWidth: -1}, 60, 60},
		{render.Options{FitWidth: true}, 0, 80},
		{render.Options{FitWidth: true, TermWidth: 50}, 0, 50},
		{render.Options{Voice: render.OpenStack}, 60, 210},
		{render.Options{Voice: render.OpenStack, FitWidth: true}, 60, 60},
		{render.Options{Voice: render.OpenStack, FitWidth: true}, 0, 210},
	} {
		s, _, out, _ := iostreams.Test()
		s.Width = c.terminal
		if err := render.List(s, c.o, columns, render.Rows(rows)); err != nil {
			t.Fatal(err)
		}
		// A part may be shorter than the line by the word that did not fit.
		if n := strings.IndexByte(out.String(), '\n'); n > c.want || n < c.want-4 {
			t.Errorf("%+v on a terminal of %d: %d columns", c.o, c.terminal, n)
		}
	}
}

func TestLongCellsAreElidedInTheTableOnly(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 1025)
	fields := []render.Field{{"id", "1"}, {"user_data", long}}
	elided := "<2050 bytes; use -f yaml or -c <column> to show full value>"
	for _, c := range []struct {
		o    render.Options
		want bool
	}{
		{render.Options{}, true},
		{render.Options{Columns: []string{"user_data"}}, false},
		{render.Options{ShowElision: true}, false},
		{render.Options{Format: "json"}, false},
		{render.Options{Format: "value"}, false},
		{render.Options{Voice: render.OpenStack}, false},
	} {
		if got := shown(t, c.o, fields); strings.Contains(got, elided) != c.want || strings.Contains(got, long) == c.want && c.o.Voice == render.Own {
			t.Errorf("%+v: %s", c.o, got)
		}
	}
	if got := shown(t, render.Options{}, []render.Field{{"x", long[:2048]}}); strings.Contains(got, "bytes;") {
		t.Error("1024 characters were elided")
	}
}

func TestNothingToList(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		o    render.Options
		want string
	}{
		{render.Options{}, "\n"},
		{render.Options{PrintEmpty: true}, "+----+\n| ID |\n+----+\n+----+\n"},
		{render.Options{Format: "json"}, "[]\n"},
		{render.Options{Format: "yaml"}, "[]\n"},
		{render.Options{Format: "csv"}, "ID\n"},
		{render.Options{Format: "csv", NoHeader: true}, ""},
		{render.Options{Format: "value"}, ""},
	} {
		if got := printed(t, c.o, titled("ID"), nil); got != c.want {
			t.Errorf("%+v: %q", c.o, got)
		}
	}
}

func TestUnknownFormats(t *testing.T) {
	t.Parallel()
	s, _, _, _ := iostreams.Test()
	o := render.Options{Format: "xml"}
	if err := render.List(s, o, titled("ID"), render.Rows(nil)); err == nil ||
		err.Error() != `invalid output format "xml": must be one of table, json, yaml, value, csv` {
		t.Error(err)
	}
	if err := render.Show(s, o, nil); err == nil {
		t.Error("a format of no name was taken")
	}
}

type broken struct{ writes int }

func (b *broken) Write([]byte) (int, error) {
	b.writes++
	return 0, errors.New("broken pipe")
}

func TestAWriteThatFailsEndsTheListing(t *testing.T) {
	t.Parallel()
	columns, rows := fleet(10000)
	for _, format := range []string{"table", "json", "yaml", "csv", "value"} {
		w := &broken{}
		read := 0
		counted := func(yield func([]any, error) bool) {
			for _, row := range rows {
				if read++; !yield(row, nil) {
					return
				}
			}
		}
		err := render.List(&iostreams.Streams{Out: w}, render.Options{Format: format}, columns, counted)
		if err == nil || err.Error() != "write output: broken pipe" || w.writes != 1 {
			t.Errorf("%s: %v, %d writes", format, err, w.writes)
		}
		if format != "table" && read > 1000 {
			t.Errorf("%s went on to row %d", format, read)
		}
	}
}

func TestAnErrorOfTheRowsEndsTheListing(t *testing.T) {
	t.Parallel()
	gone := errors.New("gone")
	var rows iter.Seq2[[]any, error] = func(yield func([]any, error) bool) {
		if yield([]any{"1"}, nil) {
			yield(nil, gone)
		}
	}
	long := func(yield func([]any, error) bool) {
		for range 100_000 {
			if !yield([]any{"1"}, nil) {
				return
			}
		}
		yield(nil, gone)
	}
	for format, begins := range map[string]string{
		"table": "", "value": "1\n", "csv": "ID\n1\n", "json": "[\n  {\n    \"ID\": \"1\"\n  }", "yaml": "- ID: '1'",
	} {
		s, _, out, _ := iostreams.Test()
		if err := render.List(s, render.Options{Format: format}, titled("ID"), rows); !errors.Is(err, gone) || out.Len() > 0 {
			t.Errorf("%s: a short list that fails prints %q, %v", format, out, err)
		}
		if err := render.List(s, render.Options{Format: format}, titled("ID"), long); !errors.Is(err, gone) || !strings.HasPrefix(out.String(), begins) {
			t.Errorf("%s: a long list that fails prints %.40q, %v", format, out, err)
		}
		out.Reset()
		o := render.Options{Format: format, SortBy: []string{"ID"}}
		if err := render.List(s, o, titled("ID"), rows); !errors.Is(err, gone) || out.Len() > 0 {
			t.Errorf("%s sorted: %v, %q", format, err, out)
		}
	}
}

func TestNumbersSortAsNumbersUnderTheirUnits(t *testing.T) {
	t.Parallel()
	rows := [][]any{{render.SizeCell(2e9)}, {render.SizeCell(3e6)}, {render.SizeCell(nil)}, {"10"}, {"x"}}
	got := printed(t, render.Options{Format: "value", SortBy: []string{"Size"}}, titled("Size"), rows)
	if got != "0\n10\n3M\n2G\nx\n" {
		t.Errorf("%q", got)
	}
}

func TestCellsThatPythonCannotCompareStayInOrder(t *testing.T) {
	t.Parallel()
	s, _, out, errs := iostreams.Test()
	o := render.Options{Voice: render.OpenStack, Format: "value", SortBy: []string{"Size"}}
	if err := render.List(s, o, titled("Size"), render.Rows([][]any{{"b"}, {1}, {"a"}})); err != nil {
		t.Fatal(err)
	}
	if out.String() != "b\n1\na\n" || errs.String() != "Could not sort on field 'Size'; unsortable types\n" {
		t.Errorf("%q, %q", out, errs)
	}
}

func TestShellValuesStayValues(t *testing.T) {
	t.Parallel()
	fields := []render.Field{{"a b", "$(rm -rf /) `x` \\ \" $y"}, {"9-é", 1}}
	got := shown(t, render.Options{Format: "shell"}, fields)
	want := `a_b="\$(rm -rf /) \` + "`x\\`" + ` \\ \" \$y"` + "\n" + `_9__="1"` + "\n"
	if got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := shown(t, render.Options{Format: "shell", Prefix: "os_", Variables: []string{"9-É"}}, fields); got != `os_9__="1"`+"\n" {
		t.Error(got)
	}
}

func TestPaintIsForTheTableOnATerminal(t *testing.T) {
	t.Parallel()
	painted := render.Painted{Cell: render.TextCell("up", true), Text: "\x1b[32mup\x1b[0m"}
	for _, c := range []struct {
		o     render.Options
		color bool
		want  bool
	}{
		{render.Options{}, true, true},
		{render.Options{}, false, false},
		{render.Options{Format: "value"}, true, false},
		{render.Options{Voice: render.OpenStack}, true, false},
	} {
		s, _, out, _ := iostreams.Test()
		s.Color = c.color
		if err := render.Show(s, c.o, []render.Field{{"health", painted}}); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(out.String(), "\x1b") != c.want {
			t.Errorf("%+v: %q", c, out)
		}
		if c.want && !strings.Contains(out.String(), "| health | \x1b[32mup\x1b[0m    |\n") {
			t.Errorf("%q", out)
		}
	}
}

func TestAGridKnowsItsRows(t *testing.T) {
	t.Parallel()
	s, _, _, _ := iostreams.Test()
	columns, rows := extras()
	g, err := render.Options{Columns: []string{"Name", "Size"}, SortBy: []string{"size"}}.Grid(s, columns, render.Rows(rows))
	if err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(g.IDs, g.Rows, g.Titles) != "[2 1 3] [[a 9] [b 10] [b ]] [Name Size]" {
		t.Errorf("%v %v %v", g.IDs, g.Rows, g.Titles)
	}
	d := g.Draw(g.Rows, 80, nil, nil)
	if d.Rule != "+------+------+" || fmt.Sprintf("%q", d.Head) != `[["Name" "Size"]]` || fmt.Sprintf("%q", d.Rows[1]) != `[["b   " "  10"]]` {
		t.Errorf("%q", d)
	}
	byName, err := render.Options{}.Grid(s, titled("Size", "name"), render.Rows([][]any{{1, "x"}, {2, ""}}))
	if err != nil || !slices.Equal(byName.IDs, []string{"x", ""}) {
		t.Errorf("%v, %v", byName, err)
	}
	one, err := render.Options{}.ShowGrid([]render.Field{{"id", "1"}, {"name", "web"}})
	if err != nil || !slices.Equal(one.IDs, []string{"id", "name"}) {
		t.Errorf("%v, %v", one, err)
	}
	long, err := render.Options{}.Grid(s, titled("ID", "Note"), render.Rows([][]any{{1, strings.Repeat("word\n", 20)}}))
	if err != nil {
		t.Fatal(err)
	}
	cut := func(text string, width int) string { return text[:min(len(text), width)] }
	if d := long.Draw(long.Rows, 30, nil, cut); len(d.Rows[0]) != 1 || len(d.Rule) > 30 {
		t.Errorf("%q", d)
	}
	if d := long.Draw(long.Rows, 30, nil, nil); len(d.Rows[0]) < 20 {
		t.Errorf("%q", d)
	}
}

func TestPythonWritesValues(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		v    any
		want string
	}{
		{nil, "None"},
		{[]any{true, nil, "it's", 1}, `[True, None, "it's", 1]`},
		{[]string{}, "[]"},
		{render.Ordered{}, "{}"},
		{map[string]string{"b": "x", "a": `'"`}, `{'a': '\'"', 'b': 'x'}`},
		{[]byte("it's\n\x00\\"), `b"it's\n\x00\\"`},
		{[]byte("\t\r'\""), `b'\t\r\'"'`},
		{1.0, "1.0"},
		{float32(0.5), "0.5"},
		{1e16, "1e+16"},
		{json.Number("1.50"), "1.5"},
		{json.Number("-0"), "0"},
		{json.Number("1E400"), "inf"},
		{math.NaN(), "nan"},
		{math.Inf(-1), "-inf"},
		{[]uint8(nil), "b''"},
		{[]any{int8(1), int16(2), int32(3), int64(4), uint(5), uint16(7), uint32(8), uint64(9)}, "[1, 2, 3, 4, 5, 7, 8, 9]"},
		{render.Stamp("x"), "'x'"},
		{[]any{render.ListCell([]int{2, 1})}, "[[2, 1]]"},
	} {
		if got := render.Repr(c.v); got != c.want {
			t.Errorf("%#v is %s, want %s", c.v, got, c.want)
		}
	}
}

func TestNumbersJSONHasNoWayToWrite(t *testing.T) {
	t.Parallel()
	fields := []render.Field{{"a", math.NaN()}, {"b", math.Inf(1)}, {"c", math.Inf(-1)}}
	for _, c := range []struct {
		o    render.Options
		want string
	}{
		{render.Options{Format: "json", NoIndent: true}, `{"a": null, "b": null, "c": null}` + "\n"},
		{render.Options{Voice: render.OpenStack, Format: "json", NoIndent: true}, `{"a": NaN, "b": Infinity, "c": -Infinity}` + "\n"},
		{render.Options{Voice: render.OpenStack, Format: "yaml"}, "a: .nan\nb: .inf\nc: -.inf\n"},
	} {
		if got := shown(t, c.o, fields); got != c.want {
			t.Errorf("%+v: %s", c.o, got)
		}
	}
}

func TestBooleansAreReadAsPythonReadsThem(t *testing.T) {
	t.Parallel()
	for _, yes := range []any{true, "x", 1, -0.5, []any{0}, map[string]any{"a": nil}} {
		if got := render.BoolCell(yes, "y", "n"); got.Human != "y" {
			t.Errorf("%v is not true", yes)
		}
	}
	for _, no := range []any{nil, false, "", 0, 0.0, []any{}, []string(nil), map[string]any{}} {
		if got := render.BoolCell(no, "y", "n"); got.Human != "n" {
			t.Errorf("%v is not false", no)
		}
	}
}
