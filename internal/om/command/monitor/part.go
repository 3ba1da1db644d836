package monitor

import (
	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/command/grid"
)

// The parts of the board, for those that draw the cluster otherwise.

// Columns lists the nodes: the members of the cluster, then whoever else has an instance.
func (b Board) Columns() []string { return b.nodes() }

// NodeRows draws how the nodes are: a title, then a row for each thing known. Each
// row has a name, two cells, a bar, then a cell for each node.
func (b Board) NodeRows(nodes []string) []grid.Row { return b.nodeRows(nodes) }

// ObjectState is the availability of an object, with its alerts.
func ObjectState(o cluster.Object) grid.Cell { return objectState(o) }

// ObjectShape is who starts the object and how many instances are up, of how many.
func ObjectShape(o cluster.Object) grid.Cell { return objectShape(o) }

// NodeState packs the state of a node in a few characters.
func NodeState(n cluster.Node) grid.Cell { return nodeState(n) }
