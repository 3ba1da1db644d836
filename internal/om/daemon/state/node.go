package state

import (
	"reflect"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/event"
)

// SetNodeConfig replaces the evaluated configuration of a node.
func (s *State) SetNodeConfig(node string, v cluster.NodeConfig) {
	s.apply(func(c *change) { c.setNodeConfig(node, v) })
}

// SetNodeMonitor replaces what the monitor of a node does and wants.
func (s *State) SetNodeMonitor(node string, v cluster.NodeMonitor) {
	s.apply(func(c *change) { c.setNodeMonitor(node, v) })
}

// SetNodeStats replaces the load of a node.
func (s *State) SetNodeStats(node string, v cluster.NodeStats) {
	s.apply(func(c *change) { c.setNodeStats(node, v) })
}

// SetNodeListener replaces where a node serves the API.
func (s *State) SetNodeListener(node string, v cluster.Listener) {
	s.apply(func(c *change) { c.setNodeListener(node, v) })
}

// SetNodeHeartbeat replaces how a node hears the others.
func (s *State) SetNodeHeartbeat(node string, v cluster.Heartbeat) {
	s.apply(func(c *change) { c.setNodeHeartbeat(node, v) })
}

func (c *change) setNodeHeartbeat(node string, v cluster.Heartbeat) {
	setNode(c, node, keyHeartbeat, func(n *cluster.Node) *cluster.Heartbeat { return &n.Heartbeat }, v,
		event.DaemonHeartbeatUpdated{Node: node, Heartbeat: v})
}

func (c *change) setNodeConfig(node string, v cluster.NodeConfig) {
	setNode(c, node, keyConfig, func(n *cluster.Node) *cluster.NodeConfig { return &n.Config }, v,
		event.NodeConfigUpdated{Node: node, Config: v})
}

func (c *change) setNodeMonitor(node string, v cluster.NodeMonitor) {
	setNode(c, node, keyMonitor, func(n *cluster.Node) *cluster.NodeMonitor { return &n.Monitor }, v,
		event.NodeMonitorUpdated{Node: node, Monitor: v})
}

func (c *change) setNodeStats(node string, v cluster.NodeStats) {
	setNode(c, node, keyStats, func(n *cluster.Node) *cluster.NodeStats { return &n.Stats }, v,
		event.NodeStatsUpdated{Node: node, Stats: v})
}

func (c *change) setNodeListener(node string, v cluster.Listener) {
	setNode(c, node, keyListener, func(n *cluster.Node) *cluster.Listener { return &n.Listener }, v,
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
	c.touch(node, keyOfNode(keyStatus))
	if was.IsZero() != v.FrozenAt.IsZero() {
		c.emit(event.NodeFrozen{Node: node, IsFrozen: !v.FrozenAt.IsZero(), FrozenAt: v.FrozenAt})
	}
	c.emit(event.NodeStatusUpdated{Node: node, Status: v})
	s.assess(c)
}

// assess says what follows for the cluster from its nodes. Of a node that is not
// heard nothing is known: it makes the cluster neither frozen nor incompatible.
func (s *State) assess(c *change) {
	health := cluster.Health{IsCompat: true, IsFrozen: true}
	own := nodeOf(c, s.node).Status.Compat
	for _, n := range c.view.Nodes {
		health.IsFrozen = health.IsFrozen && !n.Status.FrozenAt.IsZero()
		health.IsCompat = health.IsCompat && (n.Status.Compat == own || n.Status.Compat == 0)
	}
	if health != c.view.Health {
		c.view.Health, c.dirty = health, true
		c.emit(event.ClusterStatusUpdated{Node: s.node, Status: health})
	}
}

func setNode[T any](c *change, node, key string, part func(*cluster.Node) *T, v T, e event.Event) {
	n := *nodeOf(c, node)
	if reflect.DeepEqual(*part(&n), v) {
		return
	}
	*part(&n) = v
	c.setNode(node, &n)
	c.touch(node, keyOfNode(key))
	c.emit(e)
}

func nodeOf(c *change, node string) *cluster.Node {
	if n := c.view.Nodes[node]; n != nil {
		return n
	}
	return &cluster.Node{}
}
