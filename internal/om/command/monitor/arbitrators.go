package monitor

import (
	"maps"
	"slices"

	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/command/grid"
)

// arbitrators is a row for each arbitrator: every node votes on its own, so each
// has a column. A cluster without arbitrators has no rows.
func (b Board) arbitrators(nodes []string) []grid.Row {
	names := map[string]bool{}
	for _, n := range b.Status.Cluster.Node {
		for name := range n.Status.Arbitrators {
			names[name] = true
		}
	}
	if len(names) == 0 {
		return nil
	}
	rows := []grid.Row{title("Arbitrators", nodes)}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		state, url := grid.Cell(nil), ""
		for _, n := range b.Status.Cluster.Node {
			a, ok := n.Status.Arbitrators[name]
			if !ok {
				continue
			}
			url = max(url, a.URL)
			if a.Status.Plain() != cluster.Up {
				state = grid.Text("warn", grid.Warn)
			}
		}
		rows = append(rows, line(name, state, grid.Text(url, grid.Faint), nodes, func(node string) grid.Cell {
			a, ok := b.Status.Cluster.Node[node].Status.Arbitrators[name]
			switch {
			case !ok:
				return grid.Text("/", grid.Faint)
			case a.Status.Plain() == cluster.Up:
				return grid.Text("O", grid.Good)
			default:
				return grid.Text("X", grid.Bad)
			}
		}))
	}
	return rows
}
