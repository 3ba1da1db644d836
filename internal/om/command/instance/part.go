package instance

import (
	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/command/grid"
)

// The parts of the tree, for those that draw instances otherwise.

// CompareRID orders resource ids as they start, then by index.
func CompareRID(a, b string) int { return compareRID(a, b) }

// Flags draws the marks of a resource, with the restarts the monitor has left.
func Flags(i cluster.Instance, rid string) string {
	if i.Status == nil {
		return ""
	}
	return flags(i, rid, i.Status.Resources[rid])
}

// Label says what a resource is.
func Label(r cluster.ResourceStatus) string { return label(r) }

// Remarks says what the status word of an instance does not.
func Remarks(i cluster.Instance) grid.Cell {
	status := cluster.InstanceStatus{}
	if i.Status != nil {
		status = *i.Status
	}
	return remarks(i, status)
}

// StatusCell is a status in its colour.
func StatusCell(s cluster.Status) grid.Cell { return statusCell(s) }

// LogCell is a remark made while a status was evaluated.
func LogCell(entry cluster.ResourceLogEntry) grid.Cell { return logCell(entry) }
