package tui

import (
	"maps"
	"slices"

	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/command/instance"
)

// pageKind is what a page is about.
type pageKind int

const (
	gridPage pageKind = iota
	contextsPage
	objectPage
	instancePage
	resourcePage
	nodePage
	textPage
	eventsPage
	helpPage
)

// onObject is the column of the grid that is the object itself.
const onObject = -1

// page is a page and where one is on it. What is selected is remembered by its
// name: the list may change at any moment.
type page struct {
	kind pageKind
	path string // of the object
	node string
	rid  string

	row    int // of the cursor
	name   string
	column int // of the grid

	title  string // of a text
	lines  []string
	serial int
	top    int  // first line shown
	tail   bool // it follows the end
	busy   bool
	err    error
}

// nodesRow is the name of the row of the grid that stands for the nodes.
const nodesRow = "@nodes"

// rows lists what the cursor of the page moves over.
func (m Model) rows() []string {
	p := m.page()
	switch p.kind {
	case gridPage:
		return append([]string{nodesRow}, m.objects()...)
	case contextsPage:
		names := make([]string, len(m.contexts))
		for i, c := range m.contexts {
			names[i] = c.Name
		}
		return names
	case objectPage:
		return m.instancesOf(p.path)
	case instancePage:
		return m.resourcesOf(p.path, p.node)
	case nodePage:
		return m.objectsOn(p.node)
	case resourcePage, textPage, eventsPage, helpPage:
	}
	return nil
}

// at is the row of the cursor: that of the name, else one near to where it was.
func (m Model) at() int {
	p, rows := m.page(), m.rows()
	if i := slices.Index(rows, p.name); i >= 0 {
		return i
	}
	first := 0
	if p.kind == gridPage && len(rows) > 1 {
		first = 1
	}
	return max(first, min(p.row, len(rows)-1))
}

// selection is the name of the row of the cursor, "" when there is none.
func (m Model) selection() string {
	rows := m.rows()
	if len(rows) == 0 {
		return ""
	}
	return rows[m.at()]
}

// move puts the cursor elsewhere.
func (m Model) move(to int) {
	rows := m.rows()
	if len(rows) == 0 {
		return
	}
	p := m.page()
	p.row = max(0, min(to, len(rows)-1))
	p.name = rows[p.row]
}

func (m Model) instancesOf(path string) []string {
	return slices.Sorted(maps.Keys(m.status.Cluster.Object[path].Instances))
}

func (m Model) instance(path, node string) cluster.Instance {
	return m.status.Cluster.Object[path].Instances[node]
}

func (m Model) resourcesOf(path, node string) []string {
	i := m.instance(path, node)
	if i.Status == nil {
		return nil
	}
	return slices.SortedFunc(maps.Keys(i.Status.Resources), instance.CompareRID)
}

func (m Model) objectsOn(node string) []string {
	var paths []string
	for path, o := range m.status.Cluster.Object {
		if _, ok := o.Instances[node]; ok {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	return paths
}

// target is what a command of the page is about. An empty node is every one.
type target struct{ path, node, rid string }

func (t target) String() string { return join(t.path, t.rid, onNode(t)) }

func onNode(t target) string {
	switch {
	case t.node == "":
		return ""
	case t.path == "":
		return "node " + t.node
	}
	return "on " + t.node
}

// target is what is selected.
func (m Model) target() target {
	p := m.page()
	switch p.kind {
	case gridPage:
		t := target{path: m.selection(), node: m.columnNode()}
		if t.path == nodesRow {
			t.path = ""
		}
		return t
	case objectPage:
		return target{path: p.path, node: m.selection()}
	case instancePage:
		return target{path: p.path, node: p.node, rid: m.selection()}
	case nodePage:
		return target{path: m.selection(), node: p.node}
	case resourcePage, textPage:
		return target{path: p.path, node: p.node, rid: p.rid}
	case contextsPage, eventsPage, helpPage:
	}
	return target{}
}

// columnNode is the node of the column of the cursor, "" on the object itself.
func (m Model) columnNode() string {
	p, nodes := m.page(), m.nodes()
	column := p.column
	if m.selection() == nodesRow {
		column = max(column, 0)
	}
	if column < 0 || len(nodes) == 0 {
		return ""
	}
	return nodes[min(column, len(nodes)-1)]
}
