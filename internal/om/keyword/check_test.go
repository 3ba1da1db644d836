package keyword_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ops/holdfast/internal/om/config"
	"github.com/holdfast-ops/holdfast/internal/om/keyword"
)

// ruled is a schema whose keywords have rules.
func ruled() *keyword.Schema {
	declare := func(k *keyword.Table) {
		k.Int(new(int), "port", "").Between(1, 65535)
		k.Int(new(int), "restart", "").AtLeast(0)
		k.String(new(string), "id", "").Check(keyword.UUID)
		k.String(new(string), "subset", "").Check(keyword.Word)
		k.String(new(string), "requires", "").Sections(strings.Fields)
		k.String(new(string), "placement", "").OneOf("", "spread", "none")
		k.String(new(string), "two", "").Check(keyword.Word).Check(func(text string) error {
			if text == "b" {
				return errors.New("not b")
			}
			return nil
		})
	}
	return &keyword.Schema{Sections: []keyword.Section{
		{Name: config.DefaultSection, Types: map[string]func() *keyword.Table{"": table(func(*keyword.Table) {})}},
		{Name: "fs", Indexed: true, Types: map[string]func() *keyword.Table{"": table(declare)}},
	}}
}

func TestRulesAreCheckedWhenValidatingAndWhenDecoding(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ line, want string }{
		"a number in bounds":        {"port = 65535", ""},
		"a number above":            {"port = 65536", `fs#1.port: value "65536": out of bounds: write a number from 1 to 65535`},
		"a number below":            {"restart = -1", `fs#1.restart: value "-1": too small: write 0 or more`},
		"what is no number":         {"port = x", `fs#1.port: value "x": not an integer: write digits only, as 3`},
		"a uuid":                    {"id = 0E745444-6724-48f9-8167-e865b4f9ec94", ""},
		"no uuid at all":            {"id =", ""},
		"what is no uuid":           {"id = hello", `fs#1.id: value "hello": not a uuid: write one as 0e745444-6724-48f9-8167-e865b4f9ec94`},
		"a uuid without its dashes": {"id = 0e745444a6724a48f9a8167ae865b4f9ec94", `fs#1.id: value "0e745444a6724a48f9a8167ae865b4f9ec94": not a uuid: write one as 0e745444-6724-48f9-8167-e865b4f9ec94`},
		"a word":                    {"subset = a:b", ""},
		"two words":                 {"subset = a b", `fs#1.subset: value "a b": not one word: write it without blanks`},
		"a word of brackets":        {"subset = a[", `fs#1.subset: value "a[": not a plain word: write it without brackets, commas and equal signs`},
		"the second rule":           {"two = b", `fs#1.two: value "b": not b`},
		"a candidate":               {"placement =", ""},
		"no candidate":              {"placement = nosuch", `"nosuch" is not one of spread, none`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := ruled()
			ev := evaluator(t, s, "[fs#1]\n"+c.line+"\n")

			var told []string
			for _, a := range s.Validate(ev, keyword.Context{}) {
				told = append(told, a.Comment)
			}
			decoded := ""
			if err := keyword.Decode(ev, "fs#1", s.Sections[1].Types[""](), keyword.Context{}); err != nil {
				decoded = err.Error()
			}

			if got := strings.Join(told, "\n"); !strings.HasSuffix(got, c.want) || c.want == "" && got != "" {
				t.Errorf("validated: %q, want %q", got, c.want)
			}
			if !strings.HasSuffix(decoded, c.want) || c.want == "" && decoded != "" {
				t.Errorf("decoded: %q, want %q", decoded, c.want)
			}
		})
	}
}

func TestSectionsAValueNamesMustExist(t *testing.T) {
	t.Parallel()
	s := ruled()
	ev := evaluator(t, s, "[fs#1]\nrequires = fs#2 fs#12\n[fs#2]\nrequires = fs#1 fs#2\n")

	got := s.Validate(ev, keyword.Context{})

	want := []keyword.Alert{
		{keyword.LevelError, "no such section", "fs#1", "requires", "", `fs#1.requires: value "fs#2 fs#12": the configuration has no section fs#12: did you mean fs#1?`},
		{keyword.LevelError, "no such section", "fs#2", "requires", "", `fs#2.requires: value "fs#1 fs#2": fs#2 cannot be its own requirement`},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
