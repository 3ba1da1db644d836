package monitor

import (
	"fmt"

	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/command/grid"
)

// heartbeats is a row for each direction of each heartbeat of the node that
// answered: whom it heard in time, and whom it told in time.
func (b Board) heartbeats(nodes []string) []grid.Row {
	self := b.Status.Daemon.Nodename
	var rows []grid.Row
	for _, s := range b.Status.Cluster.Node[self].Heartbeat.Streams {
		state := grid.Text(s.State, grid.Bad)
		if s.State == "running" {
			state = grid.Text(s.State, grid.Good)
		}
		rows = append(rows, line(s.ID, state, grid.Text(s.Type, grid.Plain), nodes, func(node string) grid.Cell {
			return beat(s, node)
		}))
		switch {
		case s.Error != "":
			rows = append(rows, issues(s.ID+": ", []string{s.Error})...)
		case len(s.Alerts) > 0:
			texts := make([]string, len(s.Alerts))
			for i, a := range s.Alerts {
				texts[i] = fmt.Sprintf("%s: %s", a.Severity, a.Message)
			}
			rows = append(rows, issues(s.ID+": ", texts)...)
		}
	}
	return rows
}

func beat(s cluster.HeartbeatStream, node string) grid.Cell {
	p, ok := s.Peers[node]
	switch {
	case !ok: // the node itself, or one that does not use this heartbeat
		return grid.Text("/", grid.Faint)
	case p.IsBeating:
		return grid.Text("O", grid.Good)
	default:
		return grid.Text("X", grid.Bad)
	}
}
