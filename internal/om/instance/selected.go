package instance

import "github.com/holdfast-ops/holdfast/internal/om/object"

// Selected returns the ids of the resources a request selects, in order; every one
// when it names none.
func (e *Engine) Selected(p object.Path, r Request) ([]string, error) {
	l, err := e.load(p, r.complete(p))
	if err != nil {
		return nil, err
	}
	all := make([]facts, len(l.resources))
	for i, m := range l.resources {
		all[i] = m.facts()
	}
	selected, err := choose(all, r)
	if err != nil {
		return nil, err
	}
	var rids []string
	for _, f := range all {
		if selected(f) {
			rids = append(rids, f.rid)
		}
	}
	return rids, nil
}
