package orchestrate

import (
	"slices"
	"strings"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// Facts are what a node knows about an instance beside the view it shares.
type Facts struct {
	Now    time.Time
	Local  Local
	Rejoin bool
	// NoQuorum: the node may not act for the cluster, Votes says why.
	NoQuorum bool
	Votes    Tally
	Fence    map[string]FenceState
	// Unacked reports whether a peer that is heard may not know the present monitor of
	// the instance yet. Nil: all know.
	Unacked func(peer string) bool
	// Relations are those of the configuration, see [Relations]. Nil: they are read
	// again.
	Relations []Relation
}

// Observe returns the world of the instance of p on node self: what the view tells
// of its scope, and the facts. The instance must have a configuration.
func Observe(view *cluster.View, self string, p object.Path, f Facts) World {
	o := view.Objects[p]
	config := o.Instances[self].Config
	w := World{
		Now: f.Now, Self: self, Path: p, Config: *config, Quorum: !f.NoQuorum, Votes: f.Votes,
		Rejoin: f.Rejoin, Fence: f.Fence, Local: f.Local, Nodes: make(map[string]Node, len(config.Scope)),
	}
	if n := view.Nodes[self]; n != nil {
		w.ReadyPeriod = n.Config.ReadyPeriod
	}
	for _, name := range append(slices.Clone(config.Scope), self) {
		if _, known := w.Nodes[name]; !known {
			w.Nodes[name] = node(view, name, o.Instances[name])
		}
	}
	for name, n := range w.Nodes {
		if name == self {
			continue
		}
		if n.heard() {
			n.Unacked = f.Unacked != nil && f.Unacked(name)
		} else {
			n.HeardBy = heardBy(view, self, name)
		}
		w.Nodes[name] = n
	}
	relations := f.Relations
	if relations == nil {
		relations = Relations(config, p)
	}
	for _, r := range relations {
		switch r.Role {
		case Parent:
			w.Parents = with(w.Parents, r.Name, r.avail(view))
		case Child:
			w.Children = with(w.Children, r.Name, r.avail(view))
		case HardAffinity, HardAntiAffinity, SoftAffinity, SoftAntiAffinity:
			w.Affinities = append(w.Affinities, Affinity{
				Object: r.Name, Hard: r.Role == HardAffinity || r.Role == HardAntiAffinity,
				Anti: r.Role == HardAntiAffinity || r.Role == SoftAntiAffinity, Up: r.up(view, p),
			})
		}
	}
	return w
}

// node is a node of the scope as the view knows it.
func node(view *cluster.View, name string, i cluster.Instance) Node {
	n := Node{Status: i.Status, Monitor: i.Monitor, Drp: i.Config != nil && i.Config.Drp}
	if known := view.Nodes[name]; known != nil {
		n.State, n.Frozen = known.Monitor.State, !known.Status.FrozenAt.IsZero()
		n.Load15M, n.Score, n.Overloaded = known.Stats.Load15M, known.Stats.Score, known.Status.IsOverloaded
	}
	if p, ok := view.Peers[name]; ok {
		n.Heard, n.Stale, n.Preserved = p.Heard, p.Heard && !p.Beating, !p.Beating && p.Left
		n.Untold = p.Beating && !p.Synced
	}
	return n
}

// heardBy are the nodes that are heard and that say they hear name themselves.
func heardBy(view *cluster.View, self, name string) []string {
	var all []string
	for other, n := range view.Nodes {
		if other != self && other != name && n.Monitor.State != "" && slices.Contains(n.Status.Hears, name) {
			all = append(all, other)
		}
	}
	slices.Sort(all)
	return all
}

func with(m map[string]cluster.Status, name string, s cluster.Status) map[string]cluster.Status {
	if m == nil {
		m = map[string]cluster.Status{}
	}
	m[name] = s
	return m
}

// Role is what an object is to another one.
type Role int

// The roles of related objects.
const (
	Parent Role = iota // to be up before
	Child              // to be down before
	HardAffinity
	HardAntiAffinity
	SoftAffinity
	SoftAntiAffinity
)

// Relation is an object another one names, or its instance on a node.
type Relation struct {
	Role Role
	Name string // as written
	Path object.Path
	Node string
}

// Relations reads what an object says of others. What cannot be read is left out:
// it is refused where it is written.
func Relations(c *cluster.InstanceConfig, p object.Path) []Relation {
	all := []Relation{}
	add := func(role Role, names []string) {
		for _, name := range names {
			path, node, _ := strings.Cut(name, "@")
			to, err := object.ParseRelative(path, p.Namespace)
			if err == nil {
				all = append(all, Relation{Role: role, Name: name, Path: to, Node: node})
			}
		}
	}
	add(Parent, c.Parents)
	add(Child, c.Children)
	add(HardAffinity, c.HardAffinity)
	add(HardAntiAffinity, c.HardAntiAffinity)
	add(SoftAffinity, c.SoftAffinity)
	add(SoftAntiAffinity, c.SoftAntiAffinity)
	return all
}

// avail is the availability of a related object. A flex parent is up as soon as it
// has the instances it needs.
func (r Relation) avail(view *cluster.View) cluster.Status {
	o := view.Objects[r.Path]
	switch {
	case o == nil:
		return cluster.Undef
	case r.Node != "":
		if i := o.Instances[r.Node]; i.Status != nil {
			return i.Status.Avail
		}
		return cluster.Undef
	case r.Role == Parent && o.Topology == cluster.TopologyFlex && o.Flex != nil && o.UpInstancesCount >= max(1, o.Flex.Min):
		return cluster.Up
	}
	return o.Avail
}

// up are the nodes where a related object runs, or is about to. Of two objects that
// are about to start, the one whose path is first counts.
func (r Relation) up(view *cluster.View, p object.Path) map[string]bool {
	o := view.Objects[r.Path]
	if o == nil {
		return nil
	}
	all := map[string]bool{}
	for name, i := range o.Instances {
		n := Node{Status: i.Status, Monitor: i.Monitor}
		ready := i.Monitor != nil && i.Monitor.State == StateReady && object.Compare(r.Path, p) < 0
		if n.active() || ready {
			all[name] = true
		}
	}
	return all
}
