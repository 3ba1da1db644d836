package monitor

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/command/grid"
	"github.com/holdfast-ops/holdfast/internal/om/command/instance"
)

// Board is a picture of the cluster.
type Board struct {
	Status   api.ClusterStatus
	Selector string
	Sections []string // the parts drawn, all when empty
	Height   int      // the rows there are; 0 for as many as it takes
}

// Rows draws the picture: one column for each node, after a bar.
func (b Board) Rows() []grid.Row {
	nodes := b.nodes()
	var parts [][]grid.Row
	for _, part := range []struct {
		name string
		rows func(nodes []string) []grid.Row
	}{{"threads", b.threads}, {"arbitrators", b.arbitrators}, {"nodes", b.nodeRows}} {
		if rows := part.rows(nodes); b.shows(part.name) && len(rows) > 0 {
			parts = append(parts, append(rows, grid.Row{}))
		}
	}
	// A screen too low for all loses what is above first: the objects matter most.
	const fewest = 3 // a heading, an object, and what the others are
	for b.Height > 0 && len(parts) > 0 && len(slices.Concat(parts...))+fewest > b.Height && b.shows("objects") {
		parts = parts[1:]
	}
	rows := slices.Concat(parts...)
	if b.shows("objects") {
		return append(rows, b.objects(nodes, b.Height-len(rows))...)
	}
	return rows[:max(len(rows)-1, 0)]
}

func (b Board) shows(section string) bool {
	return len(b.Sections) == 0 || slices.Contains(b.Sections, section)
}

// nodes lists the columns: the members of the cluster, then whoever else has an instance.
func (b Board) nodes() []string {
	nodes := slices.Clone(b.Status.Cluster.Config.Nodes)
	others := map[string]bool{}
	for name := range b.Status.Cluster.Node {
		others[name] = true
	}
	for _, o := range b.Status.Cluster.Object {
		for name := range o.Instances {
			others[name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(others)) {
		if !slices.Contains(nodes, name) {
			nodes = append(nodes, name)
		}
	}
	return nodes
}

// title is a heading over the columns of the nodes.
func title(text string, nodes []string) grid.Row {
	row := grid.Row{Cells: []grid.Cell{grid.Text(text, grid.Title), nil, nil, nil}}
	for _, n := range nodes {
		row.Cells = append(row.Cells, grid.Text(n, grid.Strong))
	}
	return row
}

// line is a row: a name, its state, a detail, the bar, and a cell for each node.
func line(name string, state, detail grid.Cell, nodes []string, cell func(node string) grid.Cell) grid.Row {
	row := grid.Row{Cells: []grid.Cell{grid.Text(" "+name, grid.Strong), state, detail, grid.Text("|", grid.Faint)}}
	for _, n := range nodes {
		row.Cells = append(row.Cells, cell(n))
	}
	return row
}

func (b Board) threads(nodes []string) []grid.Row {
	listener := b.Status.Cluster.Node[b.Status.Daemon.Nodename].Listener
	state := grid.Text(cmp.Or(listener.State, "-"), grid.Bad)
	if listener.State == cluster.ListenerRunning {
		state = grid.Text(listener.State, grid.Good)
	}
	running := grid.Text("running", grid.Good)
	none := func(string) grid.Cell { return nil }
	return slices.Concat([]grid.Row{
		title("Threads", nodes),
		line("daemon", running, grid.Text("pid "+strconv.Itoa(b.Status.Daemon.Pid), grid.Plain), nodes, none),
		line("listener", state, grid.Text(":"+listener.Port, grid.Plain), nodes, none),
	}, b.heartbeats(nodes), issues("", b.Status.Cluster.Config.Issues))
}

// issues is what is wrong with a configuration, under what it is about.
func issues(of string, list []string) []grid.Row {
	if len(list) == 0 {
		return nil
	}
	text := strings.ReplaceAll(list[0], "\n", "; ")
	if more := len(list) - 1; more > 0 {
		text += fmt.Sprintf(" (and %d more)", more)
	}
	return []grid.Row{{Cells: []grid.Cell{grid.Text("  "+of+"issue: "+text, grid.Bad)}, Loose: true}}
}

func (b Board) nodeRows(nodes []string) []grid.Row {
	of := func(show func(n cluster.Node) grid.Cell) func(string) grid.Cell {
		return func(name string) grid.Cell {
			n, ok := b.Status.Cluster.Node[name]
			if !ok {
				return grid.Text("?", grid.Warn)
			}
			return show(n)
		}
	}
	heard := func(show func(n cluster.Node) grid.Cell) func(string) grid.Cell {
		return of(func(n cluster.Node) grid.Cell {
			if n.Monitor.State == "" {
				return grid.Text("-", grid.Faint) // what it told last says nothing of now
			}
			return show(n)
		})
	}
	return []grid.Row{
		title("Nodes", nodes),
		line("score", nil, nil, nodes, heard(func(n cluster.Node) grid.Cell {
			return grid.Text(strconv.FormatUint(n.Stats.Score, 10), grid.Plain)
		})),
		line(" load 15m", nil, nil, nodes, heard(func(n cluster.Node) grid.Cell {
			return grid.Text(strconv.FormatFloat(n.Stats.Load15M, 'f', 1, 64), grid.Plain)
		})),
		line(" mem", nil, nil, nodes, heard(func(n cluster.Node) grid.Cell {
			return share(n.Stats.MemAvailPct, n.Stats.MemTotalMB, uint64(max(n.Config.MinAvailMemPct, 0)))
		})),
		line(" swap", nil, nil, nodes, heard(func(n cluster.Node) grid.Cell {
			return share(n.Stats.SwapAvailPct, n.Stats.SwapTotalMB, uint64(max(n.Config.MinAvailSwapPct, 0)))
		})),
		line("state", nil, nil, nodes, of(nodeState)),
	}
}

// share is what remains of a memory, and how much there is.
func share(available, totalMB, least uint64) grid.Cell {
	if totalMB == 0 {
		return grid.Text("-", grid.Faint)
	}
	style := grid.Plain
	if available < least {
		style = grid.Bad
	}
	return grid.Text(fmt.Sprintf("%d%% of %s", available, megabytes(totalMB)), style)
}

func megabytes(n uint64) string {
	if n >= 10*1024 {
		return strconv.FormatUint(n/1024, 10) + "G"
	}
	return strconv.FormatUint(n, 10) + "M"
}

func nodeState(n cluster.Node) grid.Cell {
	var c marks
	if !n.Status.FrozenAt.IsZero() {
		c.add("*", grid.Title)
	}
	switch s := n.Monitor.State; s {
	case "": // no daemon there is heard of
		c.word("stale", grid.Bad)
	case "idle":
	default:
		c.word(s, grid.Plain)
	}
	if n.Status.IsOverloaded {
		c.word("overload", grid.Warn)
	}
	for _, peer := range slices.Sorted(maps.Keys(n.Status.Fences)) {
		if f := n.Status.Fences[peer]; f.State != "done" && f.State != "overridden" {
			c.word("fence of "+peer+" "+f.State, grid.Bad)
		}
	}
	if q := n.Status.Quorum; q != nil && !q.Held {
		c.word(fmt.Sprintf("no quorum %d/%d", q.Votes, q.Total), grid.Bad)
	}
	c.expect(n.Monitor.GlobalExpect)
	return c.cell
}

// objects is a row for each object, all of them when they have room or when the
// height is not limited.
func (b Board) objects(nodes []string, room int) []grid.Row {
	head := title("Objects matching "+b.Selector, nodes)
	var rows []grid.Row
	for _, p := range slices.Sorted(maps.Keys(b.Status.Cluster.Object)) {
		rows = append(rows, b.object(p, nodes)...)
	}
	const above = 1 // the heading
	if b.Height > 0 && len(rows) > room-above {
		rows = fit(b.Status.Cluster.Object, room-above, func(p string) []grid.Row { return b.object(p, nodes) })
	}
	return append([]grid.Row{head}, rows...)
}

func (b Board) object(p string, nodes []string) []grid.Row {
	o := b.Status.Cluster.Object[p]
	rows := []grid.Row{line(p, objectState(o), objectShape(o), nodes, func(node string) grid.Cell {
		i, ok := o.Instances[node]
		if !ok {
			return nil
		}
		return Marks(i)
	})}
	for _, node := range nodes {
		if i := o.Instances[node]; i.Config != nil {
			rows = append(rows, issues(node+": ", i.Config.Issues)...)
		}
	}
	return rows
}

// objectState is the availability of an object, with its alerts.
func objectState(o cluster.Object) grid.Cell {
	var c marks
	c.add(o.Avail.String(), instance.StatusStyle(o.Avail))
	if o.PlacementState == "non-optimal" {
		c.add("^", grid.Bad)
	}
	if o.Overall.Plain() == cluster.Warn {
		c.add("!", grid.Warn)
	}
	if o.Frozen == "frozen" || o.Frozen == "mixed" {
		c.add("*", grid.Title)
	}
	if o.Provisioned == cluster.ProvisionedFalse || o.Provisioned == cluster.ProvisionedMixed {
		c.add("P", grid.Bad)
	}
	return c.cell
}

// objectShape is who starts the object and how many instances are up, of how many.
func objectShape(o cluster.Object) grid.Cell {
	if o.Topology == "" || o.Avail.Plain() == cluster.NotApplicable && o.UpInstancesCount == 0 {
		return nil
	}
	want := "1"
	if o.Topology == "flex" && o.Flex != nil {
		want = strconv.Itoa(o.Flex.Target)
	}
	return grid.Text(strings.TrimSpace(fmt.Sprintf("%s %d/%s", o.Orchestrate, o.UpInstancesCount, want)), grid.Faint)
}
