package config_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/holdfast-ops/holdfast/internal/om/config"
)

func ops(t failer, texts ...string) []config.Op {
	t.Helper()
	var out []config.Op
	for _, text := range texts {
		op, err := config.ParseOp(text)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, op)
	}
	return out
}

func isList(k config.Key) bool { return k.Option != "text" }

func TestParseOp(t *testing.T) {
	t.Parallel()
	k := config.Key{"env", "x", ""}
	for text, want := range map[string]config.Op{
		"env.x=1":        {Key: k, Operator: config.OpSet, Value: "1"},
		"env.x=":         {Key: k, Operator: config.OpSet},
		"env.x=a+=b":     {Key: k, Operator: config.OpSet, Value: "a+=b"},
		"env.x+=1":       {Key: k, Operator: config.OpAppend, Value: "1"},
		"env.x|=1":       {Key: k, Operator: config.OpAdd, Value: "1"},
		"env.x-=1":       {Key: k, Operator: config.OpRemove, Value: "1"},
		"env.x^=1":       {Key: k, Operator: config.OpToggle, Value: "1"},
		"env.x[2]=1":     {Key: k, Operator: config.OpInsert, Index: 2, Value: "1"},
		"env.x[2]=":      {Key: k, Operator: config.OpDelete, Index: 2},
		"nodes@n1=n1 n2": {Key: config.Key{"DEFAULT", "nodes", "n1"}, Operator: config.OpSet, Value: "n1 n2"},
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()

			got, err := config.ParseOp(text)

			if err != nil || got != want {
				t.Errorf("got %+v, %v", got, err)
			}
			if got.String() != text {
				t.Errorf("printed %q", got)
			}
		})
	}

	for text, says := range map[string]string{
		"env.x":       "no operator",
		"":            "no operator",
		"=1":          "option is empty",
		".x=1":        "section is empty",
		"env.x[-1]=1": "not a number",
		"env.x[a]=1":  "not a number",
		"env.x[1]+=1": "with = only",
	} {
		t.Run("refused: "+text, func(t *testing.T) {
			t.Parallel()
			op, err := config.ParseOp(text)
			if err == nil || !strings.Contains(err.Error(), says) {
				t.Errorf("got %+v, %v, want ... %s", op, err, says)
			}
		})
	}
}

func TestOps(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		before, op, after string // of env.x; "-" is not set
	}{
		"= sets":                              {"-", "env.x=a b", "a b"},
		"= empties":                           {"a", "env.x=", ""},
		"+= appends after a blank":            {"a", "env.x+=a", "a a"},
		"+= sets what is not set":             {"-", "env.x+=a", "a"},
		"|= adds what is not there":           {"a b", "env.x|=c", "a b c"},
		"|= leaves what is there":             {"a   b", "env.x|=b", "a   b"},
		"|= sets what is not set":             {"-", "env.x|=a", "a"},
		"|= adds each word":                   {"a", "env.x|=a b c", "a b c"},
		"-= removes every occurrence":         {"a b a c", "env.x-=a", "b c"},
		"-= leaves what is not there":         {"a   b", "env.x-=c", "a   b"},
		"-= does nothing when not set":        {"-", "env.x-=a", "-"},
		"-= may leave nothing":                {"a", "env.x-=a", ""},
		"^= removes what is there":            {"a b", "env.x^=a", "b"},
		"^= adds what is not there":           {"a b", "env.x^=c", "a b c"},
		"^= adds what is not set":             {"-", "env.x^=c", "c"},
		"[n]= inserts before":                 {"a b", "env.x[1]=c", "a c b"},
		"[n]= inserts at the end":             {"a b", "env.x[2]=c", "a b c"},
		"[0]= starts a list":                  {"-", "env.x[0]=c", "c"},
		"[n]= without a value removes":        {"a b c", "env.x[1]=", "a c"},
		"[n]= without a value may leave none": {"a", "env.x[0]=", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := config.NewDocument()
			set(t, d, "env.other", "1")
			if c.before != "-" {
				set(t, d, "env.x", c.before)
			}

			changed, err := config.Change{Set: ops(t, c.op)}.Apply(d, isList)
			if err != nil {
				t.Fatal(err)
			}

			got, ok := d.Get(key(t, "env.x"))
			if !ok {
				got = "-"
			}
			if got != c.after {
				t.Errorf("got %q, want %q", got, c.after)
			}
			if changed != (c.before != c.after) {
				t.Errorf("changed is %t", changed)
			}
		})
	}
}

func TestChangeRefuses(t *testing.T) {
	t.Parallel()
	const text = "[env]\nx = a b\ntext = a b\n\n[fs#1]\ntype = flag\n"
	for name, c := range map[string]struct {
		change config.Change
		says   string
	}{
		"inserting past the end":        {config.Change{Set: ops(t, "env.x[3]=c")}, "index 3 is past the end, env.x has 2 elements"},
		"inserting far in what is not":  {config.Change{Set: ops(t, "env.y[1]=c")}, "env.y has 0 elements"},
		"removing past the end":         {config.Change{Set: ops(t, "env.x[2]=")}, "nothing to remove at index 2, env.x has 2 elements"},
		"inserting outside a list":      {config.Change{Set: ops(t, "env.text[0]=c")}, "env.text is not a list"},
		"removing outside a list":       {config.Change{Set: ops(t, "env.text[0]=")}, "env.text is not a list"},
		"a group nobody is in":          {config.Change{Set: ops(t, "disk.optional=true"), Group: func(n string) bool { return n == "disk" }}, "there is no disk#... section to apply it to: name the one to add, as disk#1.optional=true"},
		"deleting a group":              {config.Change{Delete: []string{"fs"}}, "one by one: fs#1"},
		"one wrong operation of many":   {config.Change{Delete: []string{"fs#1"}, Unset: []config.Key{key(t, "env.x")}, Set: ops(t, "env.z=1", "env.text[0]=c")}, "not a list"},
		"every wrong operation is told": {config.Change{Set: ops(t, "env.text[0]=c", "env.x[9]=c")}, "past the end"},
		"an unknown operator":           {config.Change{Set: []config.Op{{Key: key(t, "env.x"), Operator: "~="}}}, "unknown operator"},
		"a value no file can hold":      {config.Change{Set: []config.Op{{Key: key(t, "env.x"), Operator: config.OpSet, Value: "\x00"}}}, "not UTF-8"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := parse(t, text)

			changed, err := c.change.Apply(d, isList)

			if err == nil || changed || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %t, %v, want ... %s", changed, err, c.says)
			}
			if diff := cmp.Diff(text, string(d.Bytes())); diff != "" {
				t.Error("something was done:", diff)
			}
		})
	}
}

func TestChange(t *testing.T) {
	t.Parallel()

	t.Run("sections are deleted, keys unset, operations done, in that order", func(t *testing.T) {
		t.Parallel()
		d := parse(t, "[fs#1]\ntype = flag\nmnt = /a\n\n[env]\nx = 1\n")

		changed, err := config.Change{
			Set:    ops(t, "env.x+=2", "fs#1.type=directory"),
			Unset:  []config.Key{key(t, "env.x")},
			Delete: []string{"fs#1", "fs#9"},
		}.Apply(d, isList)

		if !changed || err != nil {
			t.Fatal(changed, err)
		}
		if diff := cmp.Diff("[env]\nx = 2\n\n[fs#1]\ntype = directory\n", string(d.Bytes())); diff != "" {
			t.Error(diff)
		}
	})

	t.Run("a key of a group is set in every section of the group", func(t *testing.T) {
		t.Parallel()
		d := parse(t, "[fs#1]\nx = 1\n[disk#1]\n[fs#2]\n")

		if _, err := (config.Change{Set: ops(t, "fs.optional=true"), Unset: []config.Key{key(t, "fs.x")}}).Apply(d, isList); err != nil {
			t.Fatal(err)
		}

		if diff := cmp.Diff("[fs#1]\noptional = true\n[disk#1]\n[fs#2]\noptional = true\n", string(d.Bytes())); diff != "" {
			t.Error(diff)
		}
	})

	t.Run("a section that unsetting empties is removed", func(t *testing.T) {
		t.Parallel()
		for name, c := range map[string]struct{ text, set, want string }{
			"without a key left":            {"[a]\nx = 1\n\n[env]\nx = 1\n\n# of b\n[b]\ny = 2\n", "", "[a]\nx = 1\n\n# of b\n[b]\ny = 2\n"},
			"at the end":                    {"[a]\nx = 1\n\n[env]\nx = 1\n", "", "[a]\nx = 1\n"},
			"unless a key is left":          {"[env]\nx = 1\nx@n1 = 2\n", "", "[env]\nx@n1 = 2\n"},
			"unless it holds a comment":     {"[env]\n# why\nx = 1\n\n[b]\ny = 2\n", "", "[env]\n# why\n\n[b]\ny = 2\n"},
			"unless its header has one":     {"[env] # why\nx = 1\n", "", "[env] # why\n"},
			"unless something is set in it": {"[env]\nx = 1\n\n[b]\ny = 2\n", "env.z=3", "[env]\nz = 3\n\n[b]\ny = 2\n"},
			"but not one that was empty":    {"[c]\n[env]\nx = 1\n", "", "[c]\n"},
		} {
			d := parse(t, c.text)
			change := config.Change{Unset: []config.Key{key(t, "env.x"), key(t, "c.x")}}
			if c.set != "" {
				change.Set = ops(t, c.set)
			}

			if _, err := change.Apply(d, isList); err != nil {
				t.Fatal(err)
			}

			if diff := cmp.Diff(c.want, string(d.Bytes())); diff != "" {
				t.Error(name, diff)
			}
		}
	})

	t.Run("operations see those before them", func(t *testing.T) {
		t.Parallel()
		d := config.NewDocument()

		if _, err := (config.Change{Set: ops(t, "fs#1.type=flag", "fs.optional=true", "nodes=a", "nodes+=b", "nodes[0]=c")}).Apply(d, isList); err != nil {
			t.Fatal(err)
		}

		if diff := cmp.Diff("[DEFAULT]\nnodes = c a b\n\n[fs#1]\ntype = flag\noptional = true\n", string(d.Bytes())); diff != "" {
			t.Error(diff)
		}
	})

	t.Run("a change that changes nothing says so", func(t *testing.T) {
		t.Parallel()
		d := parse(t, "[env]\nx   =  1\n")

		changed, err := config.Change{Set: ops(t, "env.x=1"), Unset: []config.Key{key(t, "env.y")}, Delete: []string{"no"}}.Apply(d, isList)

		if changed || err != nil || string(d.Bytes()) != "[env]\nx   =  1\n" {
			t.Errorf("%t, %v, %s", changed, err, d.Bytes())
		}
	})
}

func TestOpLaws(t *testing.T) {
	t.Parallel()
	word := rapid.SampledFrom([]string{"a", "b", "c", "n1", "x=y"})
	words := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(word, 0, 5).Draw(t, "words"), " ")
	})
	apply := func(t failer, before, op string) string {
		d := config.NewDocument()
		set(t, d, "env.x", before)
		if _, err := (config.Change{Set: ops(t, op)}).Apply(d, isList); err != nil {
			t.Fatal(err)
		}
		v, _ := d.Get(key(t, "env.x"))
		return v
	}

	rapid.Check(t, func(t *rapid.T) {
		before, w := words.Draw(t, "before"), word.Draw(t, "word")

		if got := apply(t, apply(t, before, "env.x|="+w), "env.x|="+w); got != apply(t, before, "env.x|="+w) {
			t.Fatalf("|= twice is not |= once: %q", got)
		}
		if got := apply(t, before, "env.x-="+w); strings.Contains(" "+got+" ", " "+w+" ") {
			t.Fatalf("-= left %q in %q", w, got)
		}
		if got := apply(t, apply(t, before, "env.x[0]="+w), "env.x[0]="); got != before {
			t.Fatalf("insert then remove gives %q, want %q", got, before)
		}
		if !strings.Contains(" "+before+" ", " "+w+" ") {
			if got := apply(t, apply(t, before, "env.x^="+w), "env.x^="+w); got != before {
				t.Fatalf("^= twice gives %q, want %q", got, before)
			}
		}
	})
}

func TestKeysNobodyMeansAreRefused(t *testing.T) {
	t.Parallel()
	for op, want := range map[string]string{
		"fs#1@vm.type=flag":  "a section has no scope: write it after the option, as fs#1.type@vm",
		"fs#1@vm.type+=flag": "as fs#1.type@vm",
		"env.k v=1":          `option "k v" holds a blank`,
		"env.k@n 1=1":        `option "k@n 1" holds a blank`,
		"fs#a b.type=flag":   `section "fs#a b" holds a blank`,
	} {
		if _, err := config.ParseOp(op); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", op, err, want)
		}
	}

	// What a file holds can still be removed.
	d := parse(t, "[env]\nk v = 1\n\n[fs#1@vm]\ntype = flag\n")
	if _, err := (config.Change{Unset: []config.Key{key(t, "env.k v")}, Delete: []string{"fs#1@vm"}}).Apply(d, isList); err != nil {
		t.Fatal(err)
	}
	if got := string(d.Bytes()); got != "" {
		t.Errorf("left %q", got)
	}
}
