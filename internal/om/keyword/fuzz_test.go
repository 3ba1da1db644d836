package keyword_test

import (
	"testing"

	"github.com/holdfast-ops/holdfast/internal/om/config"
	"github.com/holdfast-ops/holdfast/internal/om/keyword"
)

// FuzzValidate: whatever the document, validation ends, each alert names its
// place and says something, and what is valid decodes.
func FuzzValidate(f *testing.F) {
	for _, s := range []string{
		service, "", "[app#1]\ntype = simple\nstart@n1 = {env.x}\n[env]\nx = {nodename}\n", "[app#]\n[#]\n[app#1#2]\ntype = forking\n",
		"topology = flex\nflex_min = $(1 + {#nodes})\nnodes = a b\n", "optional = {rid}\n[fs#1]\n[fs#1]\n", "[DEFAULT]\n@ = 1\ntype = simple\n",
	} {
		f.Add(s, "app#1.st")
	}
	f.Fuzz(func(t *testing.T, text, prefix string) {
		d, err := config.Parse([]byte(text))
		if err != nil {
			return
		}
		s := schema()
		ev := evaluator(t, s, text)
		right := true
		for _, a := range s.Validate(ev, keyword.Context{}) {
			if a.Comment == "" || a.Key() == "" || a.Kind == "" {
				t.Fatalf("%+v", a)
			}
			right = right && a.Level == keyword.LevelWarning
		}
		for _, name := range d.Sections() {
			if _, err := s.Driver(d, name); err != nil && right {
				t.Fatalf("section %q is valid: %v", name, err)
			}
		}
		s.Complete(d, prefix)
		_, _ = s.Doc(d, keyword.Query{Keyword: prefix})
	})
}
