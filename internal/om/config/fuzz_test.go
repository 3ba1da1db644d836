package config_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ops/holdfast/internal/om/config"
)

func addFiles(f *testing.F) {
	f.Helper()
	for _, s := range []string{
		"", "[DEFAULT]\nid = 1\n\n[app#1]\ntype = simple\nstart@n1 = /bin/x {rid} # y\n", "\ufeff[a]\r\nx = `1\r\n2`\r\n", "[a]\nx = \"\"\"1\n`2`\"\"\"\n",
		"x = 1\n  2\n  # c\n  3\n\n  y = 4", "[a]\nx = 1\\\n  2\nx = 3\n[a]\n", "[a]\n  [b]\n", "[a] ; c\n=", "a@ = 1\n@b = 2\n", "x = `", "x = 1\\", "x = ``` # y",
	} {
		f.Add(s)
	}
}

// FuzzParse: what parses prints back, and reads the same again.
func FuzzParse(f *testing.F) {
	addFiles(f)
	f.Fuzz(func(t *testing.T, text string) {
		d, err := config.Parse([]byte(text))
		if err != nil {
			return
		}
		if err := lawAsWritten(text, d); err != nil {
			t.Fatal(err)
		}
		for _, s := range d.Sections() {
			if !d.Has(s) {
				t.Fatalf("section %q is listed, and is not there", s)
			}
			for _, k := range d.Keys(s) {
				if _, ok := d.Get(k); !ok {
					t.Fatalf("key %+v is listed, and is not there", k)
				}
			}
		}
		d.Duplicates()
	})
}

// FuzzEdit: an edit changes one key, whatever the file.
func FuzzEdit(f *testing.F) {
	for _, s := range []string{"", "[a]\nx = 1\n", "[a]\n  x = 1 # c\n\n  [b]\ny = `\n`", "x = 1\\\n 2\n# c\n   z = 3"} {
		f.Add(s, "a", "x", "n1", "v\n# w")
		f.Add(s, "DEFAULT", "z", "", "`")
		f.Add(s, "b", "y", "", " \"\"\"")
	}
	f.Fuzz(func(t *testing.T, text, section, option, scope, value string) {
		d, err := config.Parse([]byte(text))
		if err != nil {
			return
		}
		k := config.Key{Section: section, Option: option, Scope: scope}
		want := entries(d)
		if err := d.Set(k, value); err != nil {
			if diff := cmp.Diff(text, string(d.Bytes())); diff != "" {
				t.Fatalf("refused (%v), yet changed: %s", err, diff)
			}
			return
		}
		want[k] = value
		check := func(after string) {
			fresh, err := config.Parse(d.Bytes())
			if err != nil {
				t.Fatalf("after %s: %v\n%q", after, err, d.Bytes())
			}
			if diff := cmp.Diff(want, entries(fresh)); diff != "" {
				t.Fatalf("after %s: %s\n%q", after, diff, d.Bytes())
			}
			if diff := cmp.Diff(want, entries(d)); diff != "" {
				t.Fatalf("after %s, in memory: %s", after, diff)
			}
		}
		check("set")
		d.Unset(k)
		delete(want, k)
		check("unset")
		for _, s := range d.Sections() {
			d.DeleteSection(s)
			for k := range want {
				if k.Section == s {
					delete(want, k)
				}
			}
			check("delete")
		}
	})
}

func entries(d *config.Document) map[config.Key]string {
	out := map[config.Key]string{}
	for _, s := range d.Sections() {
		for _, k := range d.Keys(s) {
			out[k], _ = d.Get(k)
		}
	}
	return out
}

// FuzzExpand: expansion ends, gives text or an error, and text without braces
// nor dollars stays.
func FuzzExpand(f *testing.F) {
	for _, s := range []string{
		"{env.a}", "{#nodes}", "{upper:env.list[1]}", "${x} {{y}} %{z}", "$(50% * {size} + (1 - 2))", "$(date)", "{env.loop1}", "$($($(1)))", "{disk#2.exposed_devs[0]}", "{env.scoped@n1}", "$(1/3)",
	} {
		f.Add(s, s)
	}
	f.Fuzz(func(t *testing.T, text, option string) {
		ev := evaluator(t)
		_ = ev.Doc.Set(config.Key{Section: "env", Option: "a"}, option)
		got, err := ev.Expand("app#1", text)
		if err == nil && utf8.ValidString(text) && utf8.ValidString(option) && !utf8.ValidString(got) {
			t.Fatalf("%q gives %q, which is not text", text, got)
		}
		if !strings.ContainsAny(text, "{$") && (err != nil || got != text) {
			t.Fatalf("%q gives %q, %v", text, got, err)
		}
	})
}

// FuzzParseOp: an operation prints as it was written, and applies or is refused
// without leaving traces.
func FuzzParseOp(f *testing.F) {
	for _, s := range []string{"env.x=1", "env.x+=1", "env.x|=1", "env.x-=1", "env.x^=1", "env.x[1]=a", "env.x[0]=", "nodes@n1=a b", "fs.x=1", "a=", "x", "=", "[0]=1", "DEFAULT.x=1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		op, err := config.ParseOp(text)
		if err != nil {
			return
		}
		again, err := config.ParseOp(op.String())
		if err != nil || again != op {
			t.Fatalf("%q is %+v, prints %q, which is %+v, %v", text, op, op, again, err)
		}
		const before = "[env]\nx = a b\n[fs#1]\n[fs#2]\nx = 1\n"
		d := parse(t, before)
		if changed, err := (config.Change{Set: []config.Op{op}}).Apply(d, nil); (err != nil || !changed) && string(d.Bytes()) != before {
			t.Fatalf("%q: %t, %v, yet the document changed", text, changed, err)
		}
		parse(t, string(d.Bytes()))
	})
}

// FuzzConvert: converters give a value or an error, and what they accept prints
// back to the same.
func FuzzConvert(f *testing.F) {
	for _, s := range []string{"", "10m", "1.5gib", "1h30m", "0.1s", "022", "4755", "true", `a 'b c' "d\"e"`, "9223372036854775807", "50%", "1e9", "-1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if n, err := config.ParseSize(text); err == nil && (n < 0 || !lawInverse(n, config.FormatSize, config.ParseSize)) {
			t.Fatalf("size %q is %d, prints %q", text, n, config.FormatSize(n))
		}
		if d, err := config.ParseDuration(text); err == nil && (d < 0 || !lawInverse(d, config.FormatDuration, config.ParseDuration)) {
			t.Fatalf("duration %q is %d, prints %q", text, d, config.FormatDuration(d))
		}
		if m, err := config.ParseUmask(text); err == nil && m > 0o777 {
			t.Fatalf("umask %q is %o", text, m)
		}
		_, _ = config.ParseFileMode(text)
		_, _ = config.ParseBool(text)
		words, err := config.ParseShlex(text)
		// Only the blanks of a shell separate, not all those of Unicode.
		fields := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" \t\n\r\v\f", r) })
		if err == nil && !strings.ContainsAny(text, `'"\`) && len(words) != len(fields) {
			t.Fatalf("%q has %d shell words and %d fields", text, len(words), len(fields))
		}
	})
}
