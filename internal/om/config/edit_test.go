package config_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/holdfast-ops/holdfast/internal/om/config"
)

func key(t failer, s string) config.Key {
	t.Helper()
	k, err := config.ParseKey(s)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func set(t failer, d *config.Document, k, value string) {
	t.Helper()
	if err := d.Set(key(t, k), value); err != nil {
		t.Fatal(err)
	}
}

func TestSet(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ before, key, value, after string }{
		"a new document starts with DEFAULT": {"", "id", "1", "[DEFAULT]\nid = 1\n"},
		"a new section goes last": {
			"[DEFAULT]\nid = 1\n", "app#1.type", "simple",
			"[DEFAULT]\nid = 1\n\n[app#1]\ntype = simple\n",
		},
		"DEFAULT goes first":                            {"[a]\nx = 1\n", "id", "1", "[DEFAULT]\nid = 1\n\n[a]\nx = 1\n"},
		"DEFAULT goes first, after the byte order mark": {"\ufeff\n[a]\n", "id", "1", "\ufeff[DEFAULT]\nid = 1\n\n[a]\n"},
		"a new key goes after the last of its section": {
			"[a]\nx = 1\n# end of a\n\n# about b\n[b]\n", "a.y", "2",
			"[a]\nx = 1\ny = 2\n# end of a\n\n# about b\n[b]\n",
		},
		"a new key goes in the last part of its section": {"[a]\nx = 1\n[b]\n[a]\n", "a.y", "2", "[a]\nx = 1\n[b]\n[a]\ny = 2\n"},
		"a new key takes the indent of its neighbour":    {"[a]\n  x = 1\n", "a.y", "2", "[a]\n  x = 1\n  y = 2\n"},
		"a new key above an indented section stays apart": {
			"[a]\n  [b]\n", "a.x", "1", "[a]\nx = 1\n\n  [b]\n",
		},
		"spacing and comment stay":                  {"[a]\nx  =1  # one\n", "a.x", "2", "[a]\nx  =2  # one\n"},
		"an empty value gets its blank":             {"[a]\nx =\n", "a.x", "1", "[a]\nx = 1\n"},
		"a value is emptied":                        {"[a]\nx = 1\n", "a.x", "", "[a]\nx =\n"},
		"a value before a comment is emptied":       {"[a]\nx = 1 # one\n", "a.x", "", "[a]\nx = `` # one\n"},
		"the same value changes nothing":            {"[a]\nx =   1\\\n  2\n", "a.x", "12", "[a]\nx =   1\\\n  2\n"},
		"the line that is read changes":             {"[a]\nx = 1\nx = 2\n", "a.x", "3", "[a]\nx = 1\nx = 3\n"},
		"several lines go between backquotes":       {"[a]\n", "a.x", "1\n2", "[a]\nx = `1\n2`\n"},
		"backquotes go between triple quotes":       {"[a]\n", "a.x", "`1`\n2", "[a]\nx = \"\"\"`1`\n2\"\"\"\n"},
		"what would read as a comment is quoted":    {"[a]\n", "a.x", "a ; b", "[a]\nx = `a ; b`\n"},
		"a backquote inside a line needs no quotes": {"[a]\n", "a.x", "echo `date`", "[a]\nx = echo `date`\n"},
		"outer blanks are quoted":                   {"[a]\n", "a.x", " 1", "[a]\nx = ` 1`\n"},
		"a last backslash is quoted":                {"[a]\n", "a.x", `1\`, "[a]\nx = `1\\`\n"},
		"a missing line end is added":               {"[a]\nx = 1", "a.y", "2", "[a]\nx = 1\ny = 2\n"},
		"line ends are those of the file":           {"[a]\r\nx = 1\r\n", "b.y", "2\n3", "[a]\r\nx = 1\r\n\r\n[b]\r\ny = `2\r\n3`\r\n"},
		"several lines become one":                  {"[a]\nx = 1\n  2 # two\ny = 3\n", "a.x", "4", "[a]\nx = 4 # two\ny = 3\n"},
		"scopes are keys of their own":              {"[a]\nx = 1\n", "a.x@n1", "2", "[a]\nx = 1\nx@n1 = 2\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := parse(t, c.before)

			set(t, d, c.key, c.value)

			if diff := cmp.Diff(c.after, string(d.Bytes())); diff != "" {
				t.Error(diff)
			}
			again := parse(t, string(d.Bytes()))
			if diff := cmp.Diff(values(d), values(again)); diff != "" {
				t.Error("reads otherwise:", diff)
			}
		})
	}
}

func TestSetRefuses(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", config.MaxSize)
	for name, c := range map[string]struct {
		key   config.Key
		value string
		says  string
	}{
		"NUL bytes":                {config.Key{"a", "x", ""}, "1\x00", "not UTF-8 text"},
		"bytes that are not text":  {config.Key{"a", "x", ""}, "\xff", "not UTF-8 text"},
		"carriage returns":         {config.Key{"a", "x", ""}, "1\r\n2", "carriage return"},
		"values nothing encloses":  {config.Key{"a", "x", ""}, "`\n\"\"\"", "neither can enclose"},
		"options with equal signs": {config.Key{"a", "x=", ""}, "1", "equal sign"},
		"options like comments":    {config.Key{"a", "#x", ""}, "1", "as a comment"},
		"sections with brackets":   {config.Key{"a]", "x", ""}, "1", "bracket"},
		"a scope in the option":    {config.Key{"a", "x@n1", ""}, "1", "another key"},
		"a file too large":         {config.Key{"a", "x", ""}, long, "exceed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := parse(t, "[a]\nx = 1\n")

			err := d.Set(c.key, c.value)

			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v, want ... %s", err, c.says)
			}
			if string(d.Bytes()) != "[a]\nx = 1\n" {
				t.Errorf("the document changed: %s", d.Bytes())
			}
		})
	}
}

func TestUnset(t *testing.T) {
	t.Parallel()
	const text = "# top\n[a]\nx = 1\n# about y\ny = `1\n2` # y\nx@n1 = 2\nx = 3\n\n[b]\nx = 4\n"
	d := parse(t, text)

	if d.Unset(key(t, "a.z")) {
		t.Error("a missing key was removed")
	}
	if !d.Unset(key(t, "a.x")) || !d.Unset(key(t, "a.y")) {
		t.Error("a key was not found")
	}

	if diff := cmp.Diff("# top\n[a]\n# about y\nx@n1 = 2\n\n[b]\nx = 4\n", string(d.Bytes())); diff != "" {
		t.Error(diff)
	}
}

func TestDeleteSection(t *testing.T) {
	t.Parallel()
	const text = "# top\n[a]\nx = 1\n# end of a\n\n# about b\n[b]\ny = 2\n\n[c]\n\n[b]\nz = 3\n"
	for name, c := range map[string]struct{ text, section, after string }{
		"its comments go, that of the next section stays": {text, "a", "# top\n# about b\n[b]\ny = 2\n\n[c]\n\n[b]\nz = 3\n"},
		"every part goes":                       {text, "b", "# top\n[a]\nx = 1\n# end of a\n\n# about b\n[c]\n"},
		"keys above the first section go":       {"x = 1\n[a]\n[DEFAULT]\ny = 1\n", "DEFAULT", "[a]\n"},
		"what follows is not read as its value": {"[a]\nx = 1\n[b]\n  [c]\n", "b", "[a]\nx = 1\n\n  [c]\n"},
		"nor below a comment":                   {"[a]\nx = 1\n    # d\n[b]\n  [c]\n", "b", "[a]\nx = 1\n\n    # d\n  [c]\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := parse(t, c.text)

			found := d.DeleteSection(c.section)

			if !found || d.Has(c.section) || d.DeleteSection(c.section) {
				t.Error("the section is found once, and once only")
			}
			if diff := cmp.Diff(c.after, string(d.Bytes())); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// editor is what the laws of editing are about. The mutants below break it.
type editor interface {
	Bytes() []byte
	Get(config.Key) (string, bool)
	Set(config.Key, string) error
	Unset(config.Key) bool
}

// lawAsWritten: what was parsed prints back.
func lawAsWritten(text string, d editor) error {
	if diff := cmp.Diff(text, string(d.Bytes())); diff != "" {
		return fmt.Errorf("not printed as written: %s", diff)
	}
	return nil
}

// lawSet: what is set is read, after a trip through the file too, and the other
// keys and the other lines stay.
func lawSet(d editor, k config.Key, value string) error {
	before := d.Bytes()
	old, err := config.Parse(before)
	if err != nil {
		return err
	}
	if err := d.Set(k, value); err != nil {
		return fmt.Errorf("set: %w", err)
	}
	if got, ok := d.Get(k); !ok || got != value {
		return fmt.Errorf("set %q, got %q", value, got)
	}
	fresh, err := config.Parse(d.Bytes())
	if err != nil {
		return fmt.Errorf("the file no longer parses: %w\n%s", err, d.Bytes())
	}
	want := values(old)
	want[k.String()] = value
	if diff := cmp.Diff(want, values(fresh)); diff != "" {
		return fmt.Errorf("the file reads otherwise: %s", diff)
	}
	return onlyLinesOf(k, old, string(before), string(d.Bytes()))
}

// onlyLinesOf checks that the lines around those of k are the same.
func onlyLinesOf(k config.Key, old *config.Document, before, after string) error {
	a := strings.SplitAfter(strings.TrimPrefix(before, "\ufeff"), "\n")
	b := strings.SplitAfter(strings.TrimPrefix(after, "\ufeff"), "\n")
	for len(a) > 0 && len(b) > 0 && strings.TrimRight(a[0], "\r\n") == strings.TrimRight(b[0], "\r\n") {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	if _, had := old.Get(k); !had && strings.TrimSpace(strings.Join(a, "")) != "" {
		return fmt.Errorf("a new key changed lines %q", a)
	}
	return nil
}

// lawUnset: a key removed is gone, and adding a key then removing it gives the
// same values, in the same lines.
func lawUnset(d editor, k config.Key, value string) error {
	if _, ok := d.Get(k); ok {
		d.Unset(k)
	}
	if _, ok := d.Get(k); ok {
		return fmt.Errorf("%s is still there", k)
	}
	before := lines(d.Bytes())
	if err := d.Set(k, value); err != nil {
		return err
	}
	if !d.Unset(k) {
		return fmt.Errorf("%s was not found", k)
	}
	added := []string{"[" + k.Section + "]"}
	after := slices.DeleteFunc(lines(d.Bytes()), func(s string) bool { return s == added[0] && !slices.Contains(before, s) })
	if diff := cmp.Diff(before, after); diff != "" {
		return fmt.Errorf("set then unset changes lines: %s", diff)
	}
	return nil
}

// lines returns the lines that are not blank.
func lines(data []byte) []string {
	all := strings.Split(strings.ReplaceAll(strings.TrimPrefix(string(data), "\ufeff"), "\r\n", "\n"), "\n")
	return slices.DeleteFunc(all, func(s string) bool { return strings.TrimSpace(s) == "" })
}

func anyText() *rapid.Generator[string] {
	line := rapid.SampledFrom([]string{
		"[a]", "[b#1] # note", "  [c]", "[DEFAULT]", "x = 1", "y=2 ; two", "  x@n1 = a b", "\ty = {x}", "z = `1\n  2`", "z = \"\"\"`\n\"\"\" # z",
		"w = 1\\\n  2", "# comment", "  ; comment", "", "   ", "w =\n   1\n   2", "    deeper = 1", "x =", "w = `q`", "[a]",
	})
	return rapid.Custom(func(t *rapid.T) string {
		eol := rapid.SampledFrom([]string{"\n", "\n", "\r\n"}).Draw(t, "eol")
		text := strings.Join(rapid.SliceOfN(line, 0, 12).Draw(t, "lines"), "\n")
		text += rapid.SampledFrom([]string{"", "\n", "\n\n"}).Draw(t, "end")
		return rapid.SampledFrom([]string{"", "", "\ufeff"}).Draw(t, "bom") + strings.ReplaceAll(text, "\n", eol)
	})
}

func anyDocument() *rapid.Generator[*config.Document] {
	return rapid.Custom(func(t *rapid.T) *config.Document {
		text := anyText().Filter(func(s string) bool {
			_, err := config.Parse([]byte(s))
			return err == nil
		}).Draw(t, "text")
		d, _ := config.Parse([]byte(text))
		return d
	})
}

func anyKey() *rapid.Generator[config.Key] {
	return rapid.Custom(func(t *rapid.T) config.Key {
		return config.Key{
			Section: rapid.SampledFrom([]string{"DEFAULT", "a", "b#1", "new"}).Draw(t, "section"),
			Option:  rapid.SampledFrom([]string{"x", "y", "z", "w", "fresh"}).Draw(t, "option"),
			Scope:   rapid.SampledFrom([]string{"", "", "n1"}).Draw(t, "scope"),
		}
	})
}

func anyValue() *rapid.Generator[string] {
	part := rapid.SampledFrom([]string{"a", "1", " ", "#", " # ", ";", " ;", "=", "[", "]", "\\", `"`, "'", "\t", "é", "{x}", "$(1)", "\n", "\n  ", "x = 1"})
	return rapid.Custom(func(t *rapid.T) string {
		text := strings.Join(rapid.SliceOfN(part, 0, 8).Draw(t, "parts"), "")
		if rapid.Bool().Draw(t, "backquote") {
			text = strings.ReplaceAll(text, `"`, "`")
		}
		return text
	})
}

func TestEditLaws(t *testing.T) {
	t.Parallel()

	t.Run("a document prints as it was written", func(t *testing.T) {
		t.Parallel()
		rapid.Check(t, func(t *rapid.T) {
			text := anyText().Draw(t, "text")
			d, err := config.Parse([]byte(text))
			if err != nil {
				t.Skip(err)
			}
			if err := lawAsWritten(text, d); err != nil {
				t.Fatal(err)
			}
		})
	})
	t.Run("set changes one key", func(t *testing.T) {
		t.Parallel()
		rapid.Check(t, func(t *rapid.T) {
			d := anyDocument().Draw(t, "document")
			if err := lawSet(d, anyKey().Draw(t, "key"), anyValue().Draw(t, "value")); err != nil {
				t.Fatal(err)
			}
		})
	})
	t.Run("unset is the inverse of set", func(t *testing.T) {
		t.Parallel()
		rapid.Check(t, func(t *rapid.T) {
			d := anyDocument().Draw(t, "document")
			if err := lawUnset(d, anyKey().Draw(t, "key"), anyValue().Draw(t, "value")); err != nil {
				t.Fatal(err)
			}
		})
	})
	t.Run("unset and delete leave the other values", func(t *testing.T) {
		t.Parallel()
		rapid.Check(t, func(t *rapid.T) {
			d := anyDocument().Draw(t, "document")
			want := values(d)
			k := anyKey().Draw(t, "key")
			if rapid.Bool().Draw(t, "whole section") {
				d.DeleteSection(k.Section)
				maps.DeleteFunc(want, func(name, _ string) bool { return key(t, name).Section == k.Section })
			} else {
				d.Unset(k)
				delete(want, k.String())
			}
			if diff := cmp.Diff(want, values(parse(t, string(d.Bytes())))); diff != "" {
				t.Fatal(diff)
			}
		})
	})
}

// The mutants: editors with one fault each.
type (
	trimming   struct{ *config.Document } // prints without trailing blanks
	unquoted   struct{ *config.Document } // writes values as they come
	rewriting  struct{ *config.Document } // formats the whole file on each set
	forgetting struct{ *config.Document } // unset also drops the comments
)

func (m trimming) Bytes() []byte { return []byte(strings.TrimSpace(string(m.Document.Bytes()))) }

func (m unquoted) Set(k config.Key, v string) error {
	if err := m.Document.Set(k, "@@"); err != nil {
		return err
	}
	d, err := config.Parse([]byte(strings.Replace(string(m.Bytes()), "@@", v, 1)))
	if err != nil {
		return err
	}
	*m.Document = *d
	return nil
}

func (m rewriting) Set(k config.Key, v string) error {
	fresh := config.NewDocument()
	for _, s := range m.Sections() {
		for _, old := range m.Keys(s) {
			value, _ := m.Get(old)
			if err := fresh.Set(old, value); err != nil {
				return err
			}
		}
	}
	*m.Document = *fresh
	return m.Document.Set(k, v)
}

func (m forgetting) Unset(k config.Key) bool {
	found := m.Document.Unset(k)
	kept := slices.DeleteFunc(strings.Split(string(m.Bytes()), "\n"), func(s string) bool { return strings.HasPrefix(s, "#") })
	d, err := config.Parse([]byte(strings.Join(kept, "\n")))
	if err == nil {
		*m.Document = *d
	}
	return found
}

func TestEditLawsBite(t *testing.T) {
	t.Parallel()
	const text = "[a]\nx=1 # one\n# two\ny  = 2\n\n"
	for name, broken := range map[string]func(*config.Document) error{
		"printing without the trailing blanks": func(d *config.Document) error { return lawAsWritten(text, trimming{d}) },
		"writing values as they come":          func(d *config.Document) error { return lawSet(unquoted{d}, config.Key{"a", "x", ""}, "1 # 2") },
		"formatting the file":                  func(d *config.Document) error { return lawSet(rewriting{d}, config.Key{"a", "z", ""}, "1") },
		"dropping comments":                    func(d *config.Document) error { return lawUnset(forgetting{d}, config.Key{"a", "z", ""}, "1") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := broken(parse(t, text)); err == nil {
				t.Error("no law is broken")
			}
		})
	}
}
