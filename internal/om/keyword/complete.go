package keyword

import (
	"slices"
	"strings"

	"github.com/holdfast-ops/holdfast/internal/om/config"
)

// Complete proposes what continues the beginning of a keyword operation:
// "ap" gives "app#1." (a section of doc) and "app#" (a new one), "app#1.st"
// gives "app#1.start=", "topology=f" gives "topology=failover".
func (s *Schema) Complete(doc *config.Document, prefix string) []string {
	v := s.view(doc)
	var all []string
	name, _, valued := strings.Cut(prefix, "=")
	section, _, dotted := strings.Cut(name, ".")
	switch {
	case valued:
		all = v.completeValue(name)
	case dotted:
		all = v.completeOption(section, section+".")
	default:
		all = append(v.completeSection(), v.completeOption(config.DefaultSection, "")...)
	}
	all = slices.DeleteFunc(all, func(p string) bool { return !strings.HasPrefix(p, prefix) })
	slices.Sort(all)
	return slices.Compact(all)
}

func (v *view) completeSection() []string {
	var out []string
	for _, name := range v.doc.Sections() {
		out = append(out, name+".")
	}
	for _, d := range v.schema.Sections {
		switch {
		case d.Name == config.DefaultSection:
		case d.Indexed:
			out = append(out, d.Name+"#")
		default:
			out = append(out, d.Name+".")
		}
	}
	return out
}

func (v *view) completeOption(section, before string) []string {
	p := v.section(section)
	var out []string
	if p.err != nil && p.declared != nil {
		return []string{before + "type="}
	}
	for _, k := range v.keywords(p) {
		if k.Deprecation == "" {
			out = append(out, before+k.Name+"=")
		}
	}
	if !v.isOpen(section) {
		return out
	}
	for _, key := range v.doc.Keys(section) {
		out = append(out, before+key.Option+"=")
	}
	return out
}

func (v *view) completeValue(name string) []string {
	key, err := config.ParseKey(strings.TrimRight(name, "+|-^"))
	if err != nil {
		return nil
	}
	k, err := v.find(key.Section, key.Option)
	if err != nil {
		return nil
	}
	values := k.named()
	if len(values) == 0 && (k.Type == TypeBool || k.Type == TypeTristate) {
		values = []string{"false", "true"}
	}
	out := make([]string, 0, len(values))
	for _, value := range values {
		out = append(out, name+"="+value)
	}
	return out
}
