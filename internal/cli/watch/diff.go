package watch

import (
	"bytes"
	"slices"
)

// change is what became of a row since the refresh before.
type change int

const (
	same change = iota
	changed
	fresh
	gone
)

// drawn is a row with what is highlighted of it.
type drawn struct {
	Row

	change change
	cells  []bool // of a changed row, the cells that did
}

// identity tells rows apart: those of one ID by their order, those without one by
// their position.
type identity struct {
	id string
	n  int
}

func identities(rows []Row) []identity {
	ids := make([]identity, len(rows))
	seen := make(map[string]int, len(rows))
	for i, row := range rows {
		n := i
		if row.ID != "" {
			n = seen[row.ID]
			seen[row.ID]++
		}
		ids[i] = identity{row.ID, n}
	}
	return ids
}

// unmarked are rows with nothing highlighted.
func unmarked(rows []Row) []drawn {
	all := make([]drawn, len(rows))
	for i, row := range rows {
		all[i] = drawn{Row: row}
	}
	return all
}

// compare marks what changed from the old rows to the new ones. Rows that are gone
// stand after the row they stood after.
func compare(old, rows []Row) []drawn {
	oldIDs, ids := identities(old), identities(rows)
	was := make(map[identity]int, len(old))
	for i, id := range oldIDs {
		was[id] = i
	}
	is := make(map[identity]bool, len(rows))
	for _, id := range ids {
		is[id] = true
	}
	behind := make(map[identity][]drawn) // rows that are gone, by the one before them
	var before identity
	first := true
	var top []drawn
	for i, id := range oldIDs {
		switch {
		case is[id]:
			before, first = id, false
		case first:
			top = append(top, drawn{Row: old[i], change: gone})
		default:
			behind[before] = append(behind[before], drawn{Row: old[i], change: gone})
		}
	}
	all := slices.Grow(top, len(rows))
	for i, id := range ids {
		d := drawn{Row: rows[i], change: fresh}
		if at, known := was[id]; known {
			d.change, d.cells = compareCells(old[at].Cells, rows[i].Cells)
		}
		all = append(append(all, d), behind[id]...)
	}
	return all
}

func compareCells(old, cells []string) (change, []bool) {
	if slices.Equal(old, cells) {
		return same, nil
	}
	marks := make([]bool, len(cells))
	for i, cell := range cells {
		marks[i] = i >= len(old) || old[i] != cell
	}
	return changed, marks
}

// differs reports whether two frames hold different things. The order of rows that
// have an identity is none: a listing without a sort may come in any.
func differs(old, frame Frame) bool {
	if frame.Rows == nil {
		return !bytes.Equal(old.Raw, frame.Raw)
	}
	if len(old.Rows) != len(frame.Rows) {
		return true
	}
	for _, d := range compare(old.Rows, frame.Rows) {
		if d.change != same {
			return true
		}
	}
	return false
}
