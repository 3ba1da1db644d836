package event

import (
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/cluster"
)

// NodeConfigUpdated carries the evaluated configuration of a node.
type NodeConfigUpdated struct {
	Node   string             `json:"node"`
	Config cluster.NodeConfig `json:"node_config"`
}

// NodeStatusUpdated carries the status of a node.
type NodeStatusUpdated struct {
	Node   string             `json:"node"`
	Status cluster.NodeStatus `json:"node_status"`
}

// NodeMonitorUpdated carries what the monitor of a node does and wants.
type NodeMonitorUpdated struct {
	Node    string              `json:"node"`
	Monitor cluster.NodeMonitor `json:"node_monitor"`
}

// NodeStatsUpdated carries the load of a node.
type NodeStatsUpdated struct {
	Node  string            `json:"node"`
	Stats cluster.NodeStats `json:"node_stats"`
}

// NodeFrozen says that the freeze of a node changed.
type NodeFrozen struct {
	Node     string    `json:"node"`
	IsFrozen bool      `json:"is_frozen"`
	FrozenAt time.Time `json:"frozen_at"`
}

// NodeFrozenFileUpdated says that the freeze flag of the node was set.
type NodeFrozenFileUpdated struct {
	File string    `json:"file"`
	At   time.Time `json:"at"`
}

// NodeFrozenFileRemoved says that the freeze flag of the node was lifted.
type NodeFrozenFileRemoved struct {
	File string `json:"file"`
}

// NodeMonitorUpdate is a change asked of the monitor of a node; a nil member is
// left as it is.
type NodeMonitorUpdate struct {
	State           *string `json:"state,omitempty"`
	LocalExpect     *string `json:"local_expect,omitempty"`
	GlobalExpect    *string `json:"global_expect,omitempty"`
	OrchestrationID string  `json:"orchestration_id,omitempty"`
}

// SetNodeMonitor says that a change was asked of the monitor of a node.
type SetNodeMonitor struct {
	Node   string            `json:"node"`
	Update NodeMonitorUpdate `json:"node_monitor_update"`
}

// ClusterConfigUpdated carries the evaluated configuration of the cluster.
type ClusterConfigUpdated struct {
	Node           string         `json:"node"`
	Config         cluster.Config `json:"cluster_config"`
	NodesAdded     []string       `json:"nodes_added"`
	NodesRemoved   []string       `json:"nodes_removed"`
	NetworkChanged []string       `json:"network_changed"`
}

// ClusterStatusUpdated carries what follows for the cluster from its nodes.
type ClusterStatusUpdated struct {
	Node   string         `json:"node"`
	Status cluster.Health `json:"cluster_status"`
}

// DaemonStatusUpdated says that a daemon starts, is ready or stops.
type DaemonStatusUpdated struct {
	Node    string `json:"node"`
	Version string `json:"version"`
	Status  string `json:"status"`
}

// DaemonListenerUpdated says where the API listens.
type DaemonListenerUpdated struct {
	Node     string   `json:"node"`
	Listener Listener `json:"listener"`
}

// Listener is the state of the API listener.
type Listener struct {
	ID        string    `json:"id"`
	State     string    `json:"state"`
	Addr      string    `json:"addr"`
	Port      string    `json:"port"`
	Error     string    `json:"error,omitempty"`
	UpdatedAt time.Time `json:"updated_at"`
}
