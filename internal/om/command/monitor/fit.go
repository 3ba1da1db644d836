package monitor

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/command/grid"
)

// urgency ranks an object on a screen that has no room for all: what fails
// first, what moves next, what is well last.
func urgency(o cluster.Object) int {
	moving := false
	for _, i := range o.Instances {
		switch {
		case i.Config != nil && len(i.Config.Issues) > 0:
			return 0
		case i.Monitor == nil:
		case strings.HasSuffix(i.Monitor.State, " failed"):
			return 0
		case i.Monitor.State != "" && i.Monitor.State != "idle":
			moving = true
		}
	}
	switch o.Avail.Plain() {
	case cluster.Warn:
		return 1
	case cluster.Down, cluster.StandbyDown, cluster.StandbyUp:
		if moving {
			return 2
		}
		return 3
	case cluster.Up, cluster.Undef, cluster.NotApplicable, cluster.StandbyUpWithUp, cluster.StandbyUpWithDown:
	}
	switch {
	case moving:
		return 2
	case o.Overall.Plain() == cluster.Warn, o.PlacementState == "non-optimal", o.Frozen == "frozen", o.Frozen == "mixed":
		return 4
	case o.Avail.Plain() == cluster.Up:
		return 5
	default:
		return 6
	}
}

// fit keeps the most urgent objects that have room on so many rows, in the
// order of their urgency, and says what the others are. rows gives the rows of
// an object.
func fit(objects map[string]cluster.Object, room int, rows func(path string) []grid.Row) []grid.Row {
	paths := slices.Collect(maps.Keys(objects))
	rank := make(map[string]int, len(paths))
	for p, o := range objects {
		rank[p] = urgency(o)
	}
	slices.SortFunc(paths, func(a, b string) int { return cmp.Or(rank[a]-rank[b], cmp.Compare(a, b)) })
	room = max(room-1, 0) // the last row is about the others
	var shown []grid.Row
	for i, p := range paths {
		next := rows(p)
		if len(shown)+len(next) > room {
			return append(shown, others(objects, paths[i:]))
		}
		shown = append(shown, next...)
	}
	return shown
}

// others says of what the objects without room are.
func others(objects map[string]cluster.Object, paths []string) grid.Row {
	count := map[cluster.Status]int{}
	for _, p := range paths {
		count[objects[p].Avail.Plain()]++
	}
	var words []string
	for _, s := range []cluster.Status{cluster.Warn, cluster.Down, cluster.StandbyDown, cluster.StandbyUp, cluster.Up, cluster.NotApplicable, cluster.Undef} {
		if n := count[s]; n > 0 {
			words = append(words, fmt.Sprintf("%d %s", n, s))
		}
	}
	text := fmt.Sprintf(" and %d more: %s", len(paths), strings.Join(words, ", "))
	return grid.Row{Cells: []grid.Cell{grid.Text(text, grid.Faint)}, Loose: true}
}
