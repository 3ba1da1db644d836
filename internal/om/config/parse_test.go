package config_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ops/holdfast/internal/om/config"
)

// failer is a test, ordinary or of laws.
type failer interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

func parse(t failer, text string) *config.Document {
	t.Helper()
	d, err := config.Parse([]byte(text))
	if err != nil {
		t.Fatalf("parse: %v\n%s", err, text)
	}
	return d
}

// values prints what a document reads as, one key a line.
func values(d *config.Document) map[string]string {
	out := map[string]string{}
	for _, s := range d.Sections() {
		for _, k := range d.Keys(s) {
			out[k.String()], _ = d.Get(k)
		}
	}
	return out
}

func TestParse(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text string
		want map[string]string
	}{
		"any spacing around the equal sign":                {"[a]\nx=1\ny  =  2\nz\t= 3\n", map[string]string{"a.x": "1", "a.y": "2", "a.z": "3"}},
		"keys above the first section belong to DEFAULT":   {"x = 1\n[a]\n", map[string]string{"x": "1"}},
		"a scope follows the option":                       {"[a]\nx@n1 = 1\n", map[string]string{"a.x@n1": "1"}},
		"comments start with # or ;":                       {"# x = 1\n; y = 2\n[a] # note\nz = 3\n", map[string]string{"a.z": "3"}},
		"a comment ends a value after a blank":             {"[a]\nx = 1 # one\ny = 2\t; two\n", map[string]string{"a.x": "1", "a.y": "2"}},
		"a mark inside a word is part of the value":        {"[a]\nx = disk#1 {#nodes} a;b\n", map[string]string{"a.x": "disk#1 {#nodes} a;b"}},
		"a mark that starts a value is part of it":         {"[a]\nx = #fff\n", map[string]string{"a.x": "#fff"}},
		"deeper lines continue a value":                    {"[a]\nx = 1\n  2\n\t3\ny = 4\n", map[string]string{"a.x": "1\n2\n3", "a.y": "4"}},
		"a value may start on the next line":               {"[a]\nx =\n  1\n  2\n", map[string]string{"a.x": "1\n2"}},
		"comments between continued lines are not read":    {"[a]\nx = 1\n  # no\n  2\n", map[string]string{"a.x": "1\n2"}},
		"keys indented alike are keys":                     {"[a]\n  x = 1\n  y = 2\n", map[string]string{"a.x": "1", "a.y": "2"}},
		"an empty line ends a value":                       {"[a]\nx = 1\n\n  y = 2\n", map[string]string{"a.x": "1", "a.y": "2"}},
		"a backslash joins the next line":                  {"[a]\nx = 1 \\\n    2\\\n3\ny = 4\n", map[string]string{"a.x": "1 23", "a.y": "4"}},
		"backquotes enclose lines":                         {"[a]\nx = `1\n  2 # kept\n\n[b]\n` # note\ny = 2\n", map[string]string{"a.x": "1\n  2 # kept\n\n[b]\n", "a.y": "2"}},
		"triple double quotes enclose lines":               {"[a]\nx = \"\"\"1\n`2`\"\"\"\n", map[string]string{"a.x": "1\n`2`"}},
		"plain quotes are part of the value":               {"[a]\nx = \"1\"\n", map[string]string{"a.x": `"1"`}},
		"carriage returns before line ends are not values": {"[a]\r\nx = 1\r\ny = `2\r\n3`\r\n", map[string]string{"a.x": "1", "a.y": "2\n3"}},
		"the last line may have no end":                    {"[a]\nx = 1", map[string]string{"a.x": "1"}},
		"a byte order mark is skipped":                     {"\ufeff[a]\nx = 1\n", map[string]string{"a.x": "1"}},
		"a section may come twice":                         {"[a]\nx = 1\n[b]\n[a]\ny = 2\n", map[string]string{"a.x": "1", "a.y": "2"}},
		"the last of two lines is read":                    {"[a]\nx = 1\nx = 2\n", map[string]string{"a.x": "2"}},
		"a value may be empty":                             {"[a]\nx =\ny = ``\n", map[string]string{"a.x": "", "a.y": ""}},
		"a value may hold equal signs":                     {"[a]\nx = a=b\n", map[string]string{"a.x": "a=b"}},
		"names keep their case":                            {"[A]\nX = 1\n", map[string]string{"A.X": "1"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			d := parse(t, c.text)

			if diff := cmp.Diff(c.want, values(d)); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(c.text, string(d.Bytes())); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text string
		line int
		says string
	}{
		"a line that is nothing":              {"[a]\nx = 1\nwhat\n", 3, `"what" is neither`},
		"a section that is not closed":        {"\n[a\n", 2, "not closed"},
		"a section without a name":            {"[ ]\n", 1, "without a name"},
		"text after a section":                {"[a]b\n", 1, `"b" after section [a]`},
		"a value without a key":               {"[a]\n = 1\n", 2, "without a key"},
		"backquotes left open":                {"[a]\n\nx = `1\n2\n", 3, "no ` ends it"},
		"triple quotes left open":             {"[a]\nx = \"\"\"1\n", 2, `no """ ends it`},
		"text after a closing backquote":      {"[a]\nx = `date` now\n", 2, `"now" after the `},
		"a line continuing a closed value":    {"[a]\nx = `1\n2`\n  y = 2\n", 4, "an indented line after"},
		"a backslash that joins nothing":      {"[a]\nx = 1\\", 2, "ends with a backslash"},
		"NUL bytes":                           {"[a]\nx = 1\x00\n", 2, "NUL"},
		"bytes that are not text":             {"[a]\n\nx = \xff\n", 3, "0xff is not UTF-8"},
		"the line number counts joined lines": {"[a]\nx = `1\n2`\ny = 1\\\n2\nwhat\n", 6, "neither"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			_, err := config.Parse([]byte(c.text))

			var syntax *config.SyntaxError
			if !errors.As(err, &syntax) {
				t.Fatalf("got %v, want a syntax error", err)
			}
			if syntax.Line != c.line || !strings.Contains(syntax.Reason, c.says) {
				t.Errorf("got %q, want line %d: ... %s", err, c.line, c.says)
			}
		})
	}

	t.Run("huge files", func(t *testing.T) {
		t.Parallel()
		if _, err := config.Parse([]byte(strings.Repeat("#\n", config.MaxSize/2+1))); err == nil {
			t.Error("no error")
		}
	})
}

func TestDocument(t *testing.T) {
	t.Parallel()

	t.Run("sections and keys come once, in the order of the file", func(t *testing.T) {
		t.Parallel()
		d := parse(t, "top = 1\n[b]\ny = 1\nx = 1\ny = 2\n[a]\n[b]\nz@n1 = 1\nz = 2\n")

		if diff := cmp.Diff([]string{"DEFAULT", "b", "a"}, d.Sections()); diff != "" {
			t.Error(diff)
		}
		want := []config.Key{{"b", "y", ""}, {"b", "x", ""}, {"b", "z", "n1"}, {"b", "z", ""}}
		if diff := cmp.Diff(want, d.Keys("b")); diff != "" {
			t.Error(diff)
		}
		if !d.Has("a") || d.Has("c") {
			t.Error("Has disagrees with Sections")
		}
	})

	t.Run("sections and keys written several times are reported with their lines", func(t *testing.T) {
		t.Parallel()
		d := parse(t, "[a]\nx = 1\nx@n = 1\nx = 2\n[b]\nx = 1\n[a]\nx = 3\n")

		want := []config.Duplicate{
			{Key: config.Key{Section: "a", Option: "x"}, Lines: []int{2, 4, 8}},
			{Key: config.Key{Section: "a"}, Lines: []int{1, 7}},
		}
		if diff := cmp.Diff(want, d.Duplicates()); diff != "" {
			t.Error(diff)
		}
	})

	t.Run("a clone is independent", func(t *testing.T) {
		t.Parallel()
		d := parse(t, "[a]\nx = 1\n")
		c := d.Clone()

		set(t, c, "a.x", "2")

		if diff := cmp.Diff("[a]\nx = 1\n", string(d.Bytes())); diff != "" {
			t.Error(diff)
		}
	})
}

func TestKey(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]config.Key{
		"nodes":               {"DEFAULT", "nodes", ""},
		"nodes@n1":            {"DEFAULT", "nodes", "n1"},
		"app#1.start":         {"app#1", "start", ""},
		"app#1.start@nodes":   {"app#1", "start", "nodes"},
		"data.etc/app.conf":   {"data", "etc/app.conf", ""},
		"subset#app:g.x":      {"subset#app:g", "x", ""},
		"DEFAULT.odd.name@n1": {"DEFAULT", "odd.name", "n1"},
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()

			k, err := config.ParseKey(text)

			if err != nil || k != want {
				t.Errorf("got %+v, %v", k, err)
			}
			if k.String() != text {
				t.Errorf("printed %q", k)
			}
		})
	}

	for _, text := range []string{"", ".", "a.", ".x", "a.x=", "a.[x", "#x", "a.x\ny", "a].x"} {
		t.Run("refused: "+text, func(t *testing.T) {
			t.Parallel()
			if k, err := config.ParseKey(text); err == nil {
				t.Errorf("got %+v", k)
			}
		})
	}
}
