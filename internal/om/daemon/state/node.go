package state

import (
	"reflect"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/event"
)

// SetNodeConfig replaces the evaluated configuration of a node.
func (s *State) SetNodeConfig(node string, v cluster.NodeConfig) {
	setNode(s, node, func(n *cluster.Node) *cluster.NodeConfig { return &n.Config }, v,
		event.NodeConfigUpdated{Node: node, Config: v})
}

// SetNodeMonitor replaces what the monitor of a node does and wants.
func (s *State) SetNodeMonitor(node string, v cluster.NodeMonitor) {
	setNode(s, node, func(n *cluster.Node) *cluster.NodeMonitor { return &n.Monitor }, v,
		event.NodeMonitorUpdated{Node: node, Monitor: v})
}

// SetNodeStats replaces the load of a node.
func (s *State) SetNodeStats(node string, v cluster.NodeStats) {
	setNode(s, node, func(n *cluster.Node) *cluster.NodeStats { return &n.Stats }, v,
		event.NodeStatsUpdated{Node: node, Stats: v})
}

// SetNodeListener replaces where a node serves the API.
func (s *State) SetNodeListener(node string, v cluster.Listener) {
	setNode(s, node, func(n *cluster.Node) *cluster.Listener { return &n.Listener }, v,
		event.DaemonListenerUpdated{Node: node, Listener: event.Listener{
			ID: "lsnr-inet", State: v.State, Addr: v.Addr, Port: v.Port, Error: v.Error, UpdatedAt: v.UpdatedAt,
		}})
}

// SetNodeStatus replaces the status of a node.
func (s *State) SetNodeStatus(node string, v cluster.NodeStatus) {
	s.apply(func(c *change) { s.setNodeStatus(c, node, v) })
}

// SetNodeFrozen sets since when a node is frozen, the zero time for not at all.
func (s *State) SetNodeFrozen(node string, at time.Time) {
	s.apply(func(c *change) {
		v := nodeOf(c, node).Status
		v.FrozenAt = at
		s.setNodeStatus(c, node, v)
	})
}

// EditNodeStatus changes some of the status of a node: those who own a part of it
// do not undo what another one said meanwhile.
func (s *State) EditNodeStatus(node string, edit func(*cluster.NodeStatus)) {
	s.apply(func(c *change) {
		v := nodeOf(c, node).Status
		edit(&v)
		s.setNodeStatus(c, node, v)
	})
}

func (s *State) setNodeStatus(c *change, node string, v cluster.NodeStatus) {
	n := *nodeOf(c, node)
	if reflect.DeepEqual(n.Status, v) {
		return
	}
	was := n.Status.FrozenAt
	n.Status = v
	c.setNode(node, &n)
	if was.IsZero() != v.FrozenAt.IsZero() {
		c.emit(event.NodeFrozen{Node: node, IsFrozen: !v.FrozenAt.IsZero(), FrozenAt: v.FrozenAt})
	}
	c.emit(event.NodeStatusUpdated{Node: node, Status: v})
	health := cluster.Health{IsCompat: true, IsFrozen: true}
	for _, n := range c.view.Nodes {
		health.IsFrozen = health.IsFrozen && !n.Status.FrozenAt.IsZero()
		health.IsCompat = health.IsCompat && (n.Status.Compat == v.Compat || n.Status.Compat == 0)
	}
	if health != c.view.Health {
		c.view.Health = health
		c.emit(event.ClusterStatusUpdated{Node: s.node, Status: health})
	}
}

func setNode[T any](s *State, node string, part func(*cluster.Node) *T, v T, e event.Event) {
	s.apply(func(c *change) {
		n := *nodeOf(c, node)
		if reflect.DeepEqual(*part(&n), v) {
			return
		}
		*part(&n) = v
		c.setNode(node, &n)
		c.emit(e)
	})
}

func nodeOf(c *change, node string) *cluster.Node {
	if n := c.view.Nodes[node]; n != nil {
		return n
	}
	return &cluster.Node{}
}
