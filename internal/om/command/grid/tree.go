package grid

// Node is a branch of a tree: the cells of its row, remarks printed under it,
// and what hangs from it.
type Node struct {
	Cells    []Cell
	Remarks  []Cell
	Children []*Node
}

// Add hangs a branch and returns it.
func (n *Node) Add(cells ...Cell) *Node {
	child := &Node{Cells: cells}
	n.Children = append(n.Children, child)
	return child
}

// Rows draws the tree: the root, then its branches.
func (n *Node) Rows() []Row { return n.rows("", "") }

func (n *Node) rows(head, tail string) []Row {
	first := append(Cell{{Text: head}}, n.first()...)
	rows := []Row{{Cells: append([]Cell{first}, n.rest()...)}}
	for _, r := range n.Remarks {
		rows = append(rows, Row{Cells: []Cell{append(Cell{{Text: tail + n.stem()}}, r...)}, Loose: true})
	}
	for i, c := range n.Children {
		if i == len(n.Children)-1 {
			rows = append(rows, c.rows(tail+"└ ", tail+"  ")...)
		} else {
			rows = append(rows, c.rows(tail+"├ ", tail+"│ ")...)
		}
	}
	return rows
}

// stem is what precedes the remarks of n: the line down to its children.
func (n *Node) stem() string {
	if len(n.Children) > 0 {
		return "│ "
	}
	return "  "
}

func (n *Node) first() Cell {
	if len(n.Cells) == 0 {
		return nil
	}
	return n.Cells[0]
}

func (n *Node) rest() []Cell {
	if len(n.Cells) == 0 {
		return nil
	}
	return n.Cells[1:]
}
