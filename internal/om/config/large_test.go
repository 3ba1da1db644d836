package config_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/holdfast-ops/holdfast/internal/om/config"
)

// many is a section of n keys.
func many(n int) string {
	var b strings.Builder
	b.WriteString("[env]\n")
	for i := range n {
		fmt.Fprintf(&b, "k%d = v\n", i)
	}
	return b.String()
}

func TestAConfigurationHoldsSoManyKeys(t *testing.T) {
	t.Parallel()

	t.Run("as read", func(t *testing.T) {
		t.Parallel()
		for text, line := range map[string]int{
			many(config.MaxKeys):                              config.MaxKeys + 1,
			strings.Repeat("[a]\n", config.MaxKeys+1):         config.MaxKeys + 1,
			"[a]\nx = 1\n" + strings.Repeat("# c\n\n", 30000): 60001,
		} {
			_, err := config.Parse([]byte(text))
			var syntax *config.SyntaxError
			if !errors.As(err, &syntax) || syntax.Line != line || !strings.Contains(syntax.Reason, "more than") {
				t.Errorf("got %v, want line %d", err, line)
			}
		}
		parse(t, many(config.MaxKeys-1))
	})
	t.Run("as edited", func(t *testing.T) {
		t.Parallel()
		d := parse(t, many(config.MaxKeys-1))
		before := string(d.Bytes())

		key, section := d.Set(key(t, "env.more"), "1"), d.Set(key(t, "app#1.type"), "simple")

		if key == nil || section == nil || string(d.Bytes()) != before {
			t.Errorf("got %v, %v", key, section)
		}
		set(t, d, "env.k0", "w")
	})
	t.Run("as changed in groups", func(t *testing.T) {
		t.Parallel()
		var text strings.Builder
		for i := range 1000 {
			fmt.Fprintf(&text, "[fs#%d]\n", i)
		}
		var c config.Change
		for range 50 {
			op, err := config.ParseOp("fs.x=1")
			if err != nil {
				t.Fatal(err)
			}
			c.Set = append(c.Set, op)
		}

		_, err := c.Apply(parse(t, text.String()), nil)

		if err == nil || !strings.Contains(err.Error(), "fs.x=1") {
			t.Errorf("got %v", err)
		}
	})
}

// lawIndex: what edits keep up is what reading the file again finds.
func lawIndex(d *config.Document, read func([]byte) (*config.Document, error)) error {
	fresh, err := read(d.Bytes())
	if err != nil {
		return err
	}
	shape := func(d *config.Document) (out []string) {
		for _, s := range d.Sections() {
			out = append(out, "["+s+"]")
			for _, k := range d.Keys(s) {
				v, _ := d.Get(k)
				out = append(out, fmt.Sprintf("%s = %s %t", k, v, d.Mentions(s, k.Option)))
			}
		}
		return out
	}
	if diff := cmp.Diff(shape(fresh), shape(d)); diff != "" {
		return fmt.Errorf("%s\n%s", diff, d.Bytes())
	}
	return nil
}

func TestEditsKeepTheIndex(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		lines := rapid.SliceOf(rapid.SampledFrom([]string{"[a]", "[b]", "[DEFAULT]", "  [b]", "x = 1", "  y = 2", "x@n1 = 3", "# c", "    # d", "", "z = `1\n2`"})).Draw(t, "lines")
		text := strings.Join(lines, "\n")
		d, err := config.Parse([]byte(text))
		if err != nil {
			return
		}
		for range rapid.IntRange(1, 6).Draw(t, "edits") {
			section := rapid.SampledFrom([]string{"DEFAULT", "a", "b", "c"}).Draw(t, "section")
			k := config.Key{Section: section, Option: rapid.SampledFrom([]string{"x", "y", "z"}).Draw(t, "option")}
			switch rapid.IntRange(0, 5).Draw(t, "edit") {
			case 0:
				d.DeleteSection(section)
			case 1:
				d.Unset(k)
			case 2:
				if _, err := (config.Change{Unset: []config.Key{k}, Set: []config.Op{{Key: config.Key{Section: "a", Option: "z"}, Operator: config.OpSet, Value: "9"}}}).Apply(d, nil); err != nil {
					t.Fatal(err)
				}
			default:
				if err := d.Set(k, rapid.SampledFrom([]string{"1", "", "a\nb", " c"}).Draw(t, "value")); err != nil {
					t.Fatal(err)
				}
			}
			if err := lawIndex(d, config.Parse); err != nil {
				t.Fatal(err)
			}
		}
	})

	t.Run("reading less than what is printed breaks the law", func(t *testing.T) {
		t.Parallel()
		d := parse(t, "[a]\nx = 1\n")
		set(t, d, "a.y", "2")
		less := func(data []byte) (*config.Document, error) { return config.Parse(data[:len(data)-len("y = 2\n")]) }
		if err := lawIndex(d, less); err == nil {
			t.Error("the law holds")
		}
	})
	t.Run("a copy shares nothing", func(t *testing.T) {
		t.Parallel()
		d := parse(t, "[a]\nx = 1\n")
		set(t, d.Clone(), "a.x", "2")
		set(t, d.Clone(), "a.y", "2")
		d.Clone().DeleteSection("a")
		if err := lawIndex(d, config.Parse); err != nil || string(d.Bytes()) != "[a]\nx = 1\n" {
			t.Errorf("%q, %v", d.Bytes(), err)
		}
	})
}

// BenchmarkLarge reads, looks up and edits N keys: the time for each of them
// should not depend on N.
func BenchmarkLarge(b *testing.B) {
	for _, n := range []int{250, 1000, 4000, 16000} {
		text := []byte(many(n))
		var c config.Change
		for i := range n {
			c.Set = append(c.Set, config.Op{Key: config.Key{Section: "app#1", Option: fmt.Sprintf("k%d", i)}, Operator: config.OpSet, Value: "w"})
			c.Unset = append(c.Unset, config.Key{Section: "env", Option: fmt.Sprintf("k%d", i)})
		}
		each := func(name string, do func(*config.Document)) {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				d := parse(b, string(text))
				for b.Loop() {
					do(d)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/key")
			})
		}
		each("parse", func(*config.Document) { parse(b, string(text)) })
		each("get", func(d *config.Document) {
			for _, k := range d.Keys("env") {
				d.Get(k)
			}
		})
		each("change", func(d *config.Document) {
			if _, err := c.Apply(d.Clone(), nil); err != nil {
				b.Fatal(err)
			}
		})
	}
}
