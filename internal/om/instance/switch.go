package instance

import (
	"strings"

	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// Switch returns the change of the configuration that disables what a request
// selects, or enables it: its resources, the object itself when it names none. What
// is enabled says nothing of it any more, on any node.
func (e *Engine) Switch(p object.Path, r Request, disabled bool) (set, unset []string, err error) {
	l, err := e.load(p, r.complete(p))
	if err != nil {
		return nil, nil, err
	}
	sections := []string{"DEFAULT"}
	if r.selects() {
		if sections, err = l.selected(r); err != nil {
			return nil, nil, err
		}
	}
	for _, section := range sections {
		if disabled {
			set = append(set, section+".disable=true")
		}
		for _, key := range l.file.Doc.Keys(section) {
			if strings.EqualFold(key.Option, "disable") && (!disabled || key.Scope != "") {
				unset = append(unset, key.String())
			}
		}
	}
	return set, unset, nil
}

// selected returns the ids of the resources a request selects, in order.
func (l *loaded) selected(r Request) ([]string, error) {
	all := make([]facts, len(l.resources))
	for i, m := range l.resources {
		all[i] = m.facts()
	}
	chosen, err := choose(all, r)
	if err != nil {
		return nil, err
	}
	var rids []string
	for _, f := range all {
		if chosen(f) {
			rids = append(rids, f.rid)
		}
	}
	return rids, nil
}
