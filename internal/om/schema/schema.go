// Package schema declares the keywords that belong to no resource driver: those
// of the objects themselves, of the nodes and of the cluster. Each section is a
// table; the sections the agent reads bind to the typed settings of this
// package, the others are only declared, so that they can be written, checked
// and documented. The package is pure.
package schema

import (
	"github.com/holdfast-ops/holdfast/internal/om/keyword"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// Object is the schema of the objects of a kind; drivers are the sections of
// the resources they may hold.
func Object(kind object.Kind, drivers []keyword.Section) *keyword.Schema { panic("to write") }

// Node is the schema of node.conf.
func Node() *keyword.Schema { panic("to write") }

// Cluster is the schema of cluster.conf.
func Cluster() *keyword.Schema { panic("to write") }
