package output_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"math"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
	"pgregory.net/rapid"

	"github.com/holdfast-ops/holdfast/internal/cli/app"
	"github.com/holdfast-ops/holdfast/internal/cli/iostreams"
	"github.com/holdfast-ops/holdfast/internal/cli/output"
)

type server struct {
	Name string `json:"name"`
	CPUs int    `json:"cpus"`
	Up   bool   `json:"up"`
	Note string `json:"note,omitempty"`
}

func columns() []output.Column[server] {
	return []output.Column[server]{
		{Name: "name", Value: func(s server) any { return s.Name }},
		{Name: "cpus", Value: func(s server) any { return s.CPUs }},
		{Name: "note", Value: func(s server) any { return s.Note }},
		{Name: "up", Value: func(s server) any { return s.Up }, Wide: true},
	}
}

func rows() []server {
	return []server{{Name: "web", CPUs: 16, Up: true}, {Name: "db-1", CPUs: 2, Note: "a, \"b\""}}
}

func write(t *testing.T, format string, data any) (string, error) {
	t.Helper()
	s, _, out, _ := iostreams.Test()
	err := output.Write(s, format, columns(), rows(), data)
	return out.String(), err
}

// document has what rows do not: structure, and an order of its own.
func document() any {
	type inner struct {
		Zeta  int            `json:"zeta"`
		Alpha []any          `json:"alpha"`
		Mid   map[string]any `json:"mid"`
	}
	return struct {
		Kind  string  `json:"kind"`
		Items []inner `json:"items"`
		Empty []int   `json:"empty"`
		None  *int    `json:"none"`
	}{
		Kind:  "List <&>",
		Items: []inner{{1, []any{"x", 2.5, true, nil}, map[string]any{"b.c": "1", "a": "yes"}}, {Zeta: 2, Alpha: []any{}}},
		Empty: []int{},
	}
}

func TestEveryFormat(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "t")
	if err := os.WriteFile(file, []byte("{{range .items}}{{.zeta}} {{end}}"), 0o600); err != nil {
		t.Fatal(err)
	}
	table := "NAME  CPUS  NOTE\nweb   16    -\ndb-1  2     a, \"b\"\n"
	for _, c := range []struct {
		format string
		data   any
		want   string
	}{
		{"", nil, table},
		{"auto", nil, table},
		{"table", document(), table},
		{"wide", nil, "NAME  CPUS  NOTE    UP\nweb   16    -       true\ndb-1  2     a, \"b\"  false\n"},
		{"csv", nil, "name,cpus,note,up\nweb,16,,true\ndb-1,2,\"a, \"\"b\"\"\",false\n"},
		{"value", nil, "web\t16\t\ndb-1\t2\ta, \"b\"\n"},
		{"json", nil, `[
  {
    "name": "web",
    "cpus": 16,
    "note": "",
    "up": true
  },
  {
    "name": "db-1",
    "cpus": 2,
    "note": "a, \"b\"",
    "up": false
  }
]
`},
		{"json", document(), `{
  "kind": "List <&>",
  "items": [
    {
      "zeta": 1,
      "alpha": [
        "x",
        2.5,
        true,
        null
      ],
      "mid": {
        "a": "yes",
        "b.c": "1"
      }
    },
    {
      "zeta": 2,
      "alpha": [],
      "mid": null
    }
  ],
  "empty": [],
  "none": null
}
`},
		{"yaml", nil, "- name: web\n  cpus: 16\n  note: \"\"\n  up: true\n- name: db-1\n  cpus: 2\n  note: a, \"b\"\n  up: false\n"},
		{"yaml", document(), `kind: List <&>
items:
  - zeta: 1
    alpha:
      - x
      - 2.5
      - true
      - null
    mid:
      a: "yes"
      b.c: "1"
  - zeta: 2
    alpha: []
    mid: null
empty: []
none: null
`},
		{"flat", nil, "[0].name = \"web\"\n[0].cpus = 16\n[0].note = \"\"\n[0].up = true\n[1].name = \"db-1\"\n[1].cpus = 2\n[1].note = \"a, \\\"b\\\"\"\n[1].up = false\n"},
		{"flat", document(), `kind = "List <&>"
items[0].zeta = 1
items[0].alpha[0] = "x"
items[0].alpha[1] = 2.5
items[0].alpha[2] = true
items[0].alpha[3] = null
items[0].mid.a = "yes"
items[0].mid."b.c" = "1"
items[1].zeta = 2
items[1].alpha = []
items[1].mid = null
empty = []
none = null
`},
		{"flat", 3, ". = 3\n"},
		{"tab=WHO:name,N:.cpus", rows(), "WHO   N\nweb   16\ndb-1  2\n"},
		{
			"tab=Z:zeta,A:alpha[1],ALL:$.alpha.*,DOT:mid.\"b.c\",TOO:mid['b.c'],SUB:mid", document(),
			"Z  A    ALL          DOT  TOO  SUB\n1  2.5  x,2.5,true,  1    1    {\"a\":\"yes\",\"b.c\":\"1\"}\n2  -    -            -    -    -\n",
		},
		{"tab=K:a", map[string]int{"a": 1}, "K\n1\n"},
		{`template={{range .}}{{if ge .cpus 3}}{{.name}} has {{.cpus}}{{end}}{{end}}`, nil, "web has 16\n"},
		{`template={{range .items}}{{range .alpha}}{{json .}};{{end}}{{end}}`, document(), "\"x\";2.5;true;null;\n"},
		{`template={{if and (hasPrefix .k "app#") (hasSuffix .k ".timeout") (ge .v 1)}}{{.k}}{{end}}` + "\n", map[string]any{"k": "app#1.timeout", "v": 1}, "app#1.timeout\n"},
		{
			`template={{.a | join "+"}} {{split "." .b | json}} {{default "d" .c}} {{default "d" .b}} {{.b | replace "." "-" | upper | lower | trim}} {{contains .b "x"}}`,
			map[string]any{"a": []string{"1,2", "3"}, "b": "x.y"},
			"1,2+3 [\"x\",\"y\"] d x.y x-y true\n",
		},
		{"template-file=" + file, document(), "1 2 \n"},
	} {
		t.Run(c.format, func(t *testing.T) {
			t.Parallel()
			got, err := write(t, c.format, c.data)

			if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
				t.Errorf("%v\n%s", err, diff)
			}
		})
	}
}

func TestABadFormatPrintsNothingAndSaysWhatIsRight(t *testing.T) {
	t.Parallel()
	for format, want := range map[string]string{
		"xml":                  "expected one of auto, table, wide, json, yaml, csv, value, flat, tab=, template=, template-file=",
		"json=x":               "unknown output format",
		"table=x":              "unknown output format",
		"flat=":                "unknown output format",
		"tab":                  "unknown output format",
		"tab=":                 "nothing after the equal sign",
		"template=":            "nothing after the equal sign",
		"tab=A":                "expected <header>:<path>",
		"tab=A:a,:b":           "expected <header>:<path>",
		"tab=A:a[0":            "bracket left open",
		"tab=A:a..b":           "empty step",
		"tab=A:a.":             "ends with a dot",
		"tab=A:\"a":            "quote left open",
		"template={{.a":        "template",
		"template={{nope}}":    "nope",
		"template-file=/no/no": "read the template",
	} {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			got, err := write(t, format, nil)

			if err == nil || !strings.Contains(err.Error(), want) || got != "" {
				t.Errorf("printed %q, error %v, want %q", got, err, want)
			}
			if _, usage := errors.AsType[*app.UsageError](err); !usage && !strings.HasPrefix(format, "template-file") {
				t.Errorf("%v is no usage error", err)
			}
		})
	}
}

func TestATemplateThatFailsPrintsNothing(t *testing.T) {
	t.Parallel()

	got, err := write(t, `template=before {{index .a 5}}`, map[string]any{"a": []int{1}})

	if err == nil || got != "" {
		t.Errorf("printed %q, %v", got, err)
	}
}

func TestDataThatJSONCannotHoldIsAnError(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"json", "yaml", "flat", "tab=A:a"} {
		if got, err := write(t, format, math.Inf(1)); err == nil || got != "" {
			t.Errorf("%s: printed %q, %v", format, got, err)
		}
	}
}

func TestNoRowsIsAHeaderOrAnEmptyList(t *testing.T) {
	t.Parallel()
	for format, want := range map[string]string{
		"table": "NAME  CPUS  NOTE\n", "csv": "name,cpus,note,up\n", "value": "", "json": "[]\n", "yaml": "[]\n", "flat": ". = []\n",
	} {
		s, _, out, _ := iostreams.Test()

		err := output.Write(s, format, columns(), nil, nil)

		if err != nil || out.String() != want {
			t.Errorf("%s: %q, %v, want %q", format, out, err, want)
		}
	}
}

func TestColumnsAlignWhateverTheScript(t *testing.T) {
	t.Parallel()
	s, _, out, _ := iostreams.Test()
	names := []server{{Name: "日本", CPUs: 1}, {Name: "e\u0301", CPUs: 2}, {Name: "👩‍💻", CPUs: 3}, {Name: "abcd", CPUs: 4}}

	err := output.Write(s, "table", columns()[:2], names, nil)

	want := "NAME  CPUS\n日本  1\ne\u0301     2\n👩‍💻    3\nabcd  4\n"
	if diff := cmp.Diff(want, out.String()); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
}

func TestNothingInACellReachesTheTerminal(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"\x1b[31mred\x1b[0m":    `\x1b[31mred\x1b[0m`,
		"two\nlines\r":          `two\nlines\r`,
		"tab\there":             `tab\there`,
		"bell\a\x7f\u0085":      `bell\a\x7f\u0085`,
		"\u202eright to left":   `\u202eright to left`,
		"\u2028separator\ufeff": `\u2028separator\ufeff`,
		"bad \xff utf-8":        `bad \xff utf-8`,
		"fine é 日本 👩‍💻":         "fine é 日本 👩‍💻",
	} {
		for _, format := range []string{"table", "value", "tab=N:name"} {
			s, _, out, _ := iostreams.Test()

			err := output.Write(s, format, columns()[:1], []server{{Name: text}}, nil)

			if format == "tab=N:name" && !strings.Contains(text, "\xff") || format != "tab=N:name" {
				lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
				if last := lines[len(lines)-1]; err != nil || last != want {
					t.Errorf("%s of %q: %q, %v, want %q", format, text, last, err, want)
				}
			}
		}
	}
}

func TestTheStreamThatFailsIsTheError(t *testing.T) {
	t.Parallel()
	s, _, _, _ := iostreams.Test()
	s.Out = brokenPipe{}

	if err := output.Write(s, "json", columns(), rows(), nil); !errors.Is(err, os.ErrClosed) {
		t.Errorf("got %v", err)
	}
}

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, os.ErrClosed }

func TestACellIsWrittenForPeople(t *testing.T) {
	t.Parallel()
	seven, text := 7, "x"
	var none *int
	var nobody *time.Time
	at := time.Date(2026, 11, 30, 2, 3, 4, 5, time.UTC)
	for _, c := range []struct {
		value any
		want  string
	}{
		{nil, ""},
		{none, ""},
		{nobody, ""},
		{"a", "a"},
		{&text, "x"},
		{&seven, "7"},
		{true, "true"},
		{1.50, "1.5"},
		{float32(0.1), "0.1"},
		{1e9, "1000000000"},
		{at, "2026-11-30T02:03:04Z"},
		{&at, "2026-11-30T02:03:04Z"},
		{time.Time{}, ""},
		{90 * time.Second, "1m30s"},
		{[]string{"a", "b"}, "a,b"},
		{[]byte("raw"), "raw"},
		{[]any{1, nil, "x"}, "1,,x"},
		{map[string]int{"b": 2, "a": 1}, "a=1,b=2"},
		{errors.New("bad"), "bad"},
		{netip.MustParseAddr("::1"), "::1"},
		{server{Name: "a"}, `{"name":"a","cpus":0,"up":false}`},
		{json.RawMessage(`{"a":1}`), `{"a":1}`},
		{complex(1, 2), "(1+2i)"},
	} {
		if got := output.Text(c.value); got != c.want {
			t.Errorf("%#v: %q, want %q", c.value, got, c.want)
		}
	}
}

func TestNoTableLineEndsWithBlanks(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOf(rapid.Custom(func(t *rapid.T) server {
			return server{Name: rapid.String().Draw(t, "name"), Note: rapid.String().Draw(t, "note")}
		})).Draw(t, "rows")
		s, _, out, _ := iostreams.Test()

		if err := output.Write(s, "table", columns(), list, nil); err != nil {
			t.Fatal(err)
		}

		lines := strings.SplitAfter(out.String(), "\n")
		if len(lines) != len(list)+2 {
			t.Fatalf("%d lines for %d rows", len(lines), len(list))
		}
		for _, line := range lines {
			if strings.HasSuffix(line, " \n") || output.Escape(strings.TrimSuffix(line, "\n")) != strings.TrimSuffix(line, "\n") {
				t.Fatalf("line %q", line)
			}
		}
	})
}

// value is any json value.
func value() *rapid.Generator[any] {
	scalar := rapid.OneOf(
		rapid.Just[any](nil), rapid.Bool().AsAny(), rapid.Int32().AsAny(), rapid.Float64Range(-1e12, 1e12).AsAny(), rapid.String().AsAny(), blanks().AsAny(),
		rapid.SampledFrom([]string{"yes", "null", "~", "1", "0x1", "1e3", ".inf", "2026-01-01", "- a", "a: b", "#", "", " x ", "a\nb", "a\n", "\t", "|", "<<", "=", "!", "\u0085", "\x00"}).AsAny(),
	)
	var nested func(depth int) *rapid.Generator[any]
	nested = func(depth int) *rapid.Generator[any] {
		if depth == 0 {
			return scalar
		}
		return rapid.OneOf(scalar, rapid.SliceOfN(nested(depth-1), 0, 4).AsAny(), rapid.MapOfN(rapid.OneOf(rapid.String(), blanks()), nested(depth-1), 0, 4).AsAny())
	}
	return nested(3)
}

// blanks are lines that are hard to lay out.
func blanks() *rapid.Generator[string] {
	return rapid.StringOfN(rapid.RuneFrom([]rune("\t\n #a:")), 0, 6, -1)
}

// plain is what any decoder makes of a value.
func plain(t *rapid.T, v any) any {
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var p any
	if err := json.Unmarshal(b, &p); err != nil {
		t.Fatal(err)
	}
	return p
}

func TestJSONAndYAMLReadBackAsTheSameData(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		data := map[string]any{"data": value().Draw(t, "data")}
		want := plain(t, data)
		for format, decode := range map[string]func([]byte, any) error{"json": json.Unmarshal, "yaml": yaml.Unmarshal} {
			s, _, out, _ := iostreams.Test()
			if err := output.Write[server](s, format, nil, nil, data); err != nil {
				t.Fatal(err)
			}

			var got any
			if err := decode(out.Bytes(), &got); err != nil {
				t.Fatalf("%s: %v\n%s", format, err, out)
			}
			if diff := cmp.Diff(want, plain(t, got)); diff != "" {
				t.Fatalf("%s: %s\n%s", format, diff, out)
			}
		}
	})
}

func TestYAMLQuotesWhatOlderReadersTakeForSomethingElse(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"yes", "No", "ON", "off", "y", "1:20", "12:30:45", "true", "null", "~", "1", "\x1b"} {
		s, _, out, _ := iostreams.Test()

		err := output.Write[server](s, "yaml", nil, nil, map[string]string{text: text})

		if line := out.String(); err != nil || strings.Count(line, `"`) != 4 {
			t.Errorf("%q is written %s, %v", text, line, err)
		}
	}
}

func TestCSVReadsBackAsTheSameCells(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOf(rapid.StringMatching(`[a-z," \n]*`)).Draw(t, "names")
		var list []server
		for _, n := range names {
			list = append(list, server{Name: n})
		}
		s, _, out, _ := iostreams.Test()
		if err := output.Write(s, "csv", columns(), list, nil); err != nil {
			t.Fatal(err)
		}

		records, err := csv.NewReader(bytes.NewReader(out.Bytes())).ReadAll()

		if err != nil || len(records) != len(list)+1 {
			t.Fatalf("%d records, %v", len(records), err)
		}
		for i, r := range records[1:] {
			if r[0] != names[i] {
				t.Fatalf("%q, want %q", r[0], names[i])
			}
		}
	})
}

func FuzzTabPath(f *testing.F) {
	for _, seed := range []string{"a", "$.a.b[0]", "a['b'].*", `"a.b".c`, "[", "..", `"`, "a.*.*"} {
		f.Add(seed)
	}
	data := []any{map[string]any{"a": map[string]any{"b": []any{1, "x"}}}}
	f.Fuzz(func(t *testing.T, path string) {
		s, _, out, _ := iostreams.Test()
		err := output.Write[server](s, "tab=H:"+path, nil, nil, data)
		if (err == nil) != (out.Len() > 0) {
			t.Fatalf("printed %q with error %v", out, err)
		}
	})
}
