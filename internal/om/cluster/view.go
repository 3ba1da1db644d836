package cluster

import (
	"strings"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// Object is what follows, for an object, from the states of its instances.
type Object struct {
	Avail            Status              `json:"avail"`
	Overall          Status              `json:"overall"`
	Provisioned      Provisioned         `json:"provisioned"`
	Frozen           string              `json:"frozen"` // frozen, unfrozen, mixed or n/a
	Orchestrate      string              `json:"orchestrate"`
	Topology         string              `json:"topology"`
	Flex             *Flex               `json:"flex,omitempty"`
	PlacementPolicy  string              `json:"placement_policy"`
	PlacementState   string              `json:"placement_state"` // optimal, non-optimal or n/a
	UpInstancesCount int                 `json:"up_instances_count"`
	Priority         int                 `json:"priority"`
	Scope            []string            `json:"scope"`
	UpdatedAt        time.Time           `json:"updated_at"`
	Instances        map[string]Instance `json:"instances,omitzero"` // by node
}

// NodeMonitor is what a node wants of itself.
type NodeMonitor struct {
	State                 string    `json:"state"`
	StateUpdatedAt        time.Time `json:"state_updated_at"`
	GlobalExpect          string    `json:"global_expect"`
	GlobalExpectUpdatedAt time.Time `json:"global_expect_updated_at"`
	LocalExpect           string    `json:"local_expect"`
	LocalExpectUpdatedAt  time.Time `json:"local_expect_updated_at"`
	OrchestrationID       string    `json:"orchestration_id"`
	OrchestrationIsDone   bool      `json:"orchestration_is_done"`
	SessionID             string    `json:"session_id"`
	UpdatedAt             time.Time `json:"updated_at"`
}

// NodeStatus is what a node says of itself.
type NodeStatus struct {
	Agent        string                      `json:"agent"` // version of the agent
	API          string                      `json:"api"`
	Arbitrators  map[string]ArbitratorStatus `json:"arbitrators"` // by name
	Compat       uint64                      `json:"compat"`
	FrozenAt     time.Time                   `json:"frozen_at"`
	Gen          map[string]uint64           `json:"gen"`
	IsLeader     bool                        `json:"is_leader"`
	IsOverloaded bool                        `json:"is_overloaded"`
	// Hears are the other nodes this one hears in time, sorted.
	Hears []string `json:"hears,omitempty"`
	// Fences are the lost nodes this one has fenced, or is to, by name.
	Fences map[string]FenceStatus `json:"fences,omitempty"`
	// Quorum is the count of votes of this node, when there was reason to count.
	Quorum *QuorumStatus `json:"quorum,omitempty"`
}

// ArbitratorStatus is an arbitrator as a node sees it.
type ArbitratorStatus struct {
	URL    string `json:"url"`
	Status Status `json:"status"` // up or down
	Weight int    `json:"weight"`
}

// FenceStatus tells how far the fencing of a lost node is.
type FenceStatus struct {
	State     string    `json:"state"` // due, running, failed, done or overridden
	Reason    string    `json:"reason,omitempty"`
	UpdatedAt time.Time `json:"updated_at"`
	RetryAt   time.Time `json:"retry_at,omitzero"`
}

// QuorumStatus is a count of votes.
type QuorumStatus struct {
	Votes  int    `json:"votes"`
	Total  int    `json:"total"`
	Held   bool   `json:"held"` // the node may act for the cluster
	Reason string `json:"reason"`
}

// NodeConfig is the evaluated configuration of a node.
type NodeConfig struct {
	Env                    string            `json:"env"`
	Labels                 map[string]string `json:"labels"`
	MaintenanceGracePeriod time.Duration     `json:"maintenance_grace_period"`
	MaxParallel            int               `json:"max_parallel"`
	MinAvailMemPct         int               `json:"min_avail_mem_pct"`
	MinAvailSwapPct        int               `json:"min_avail_swap_pct"`
	ReadyPeriod            time.Duration     `json:"ready_period"`
	RejoinGracePeriod      time.Duration     `json:"rejoin_grace_period"`
	SplitAction            string            `json:"split_action"`
	Hooks                  []struct{}        `json:"hooks"`
	SSHKey                 string            `json:"sshkey"`
	PRKey                  string            `json:"prkey"`
	Schedules              []ScheduleConfig  `json:"schedules"`
}

// NodeStats measures the load of a node.
type NodeStats struct {
	Load15M      float64 `json:"load_15m"`
	MemTotalMB   uint64  `json:"mem_total"`
	MemAvailPct  uint64  `json:"mem_avail"`
	SwapTotalMB  uint64  `json:"swap_total"`
	SwapAvailPct uint64  `json:"swap_avail"`
	Score        uint64  `json:"score"`
}

// Node is a member of the cluster.
type Node struct {
	Config  NodeConfig  `json:"config"`
	Monitor NodeMonitor `json:"monitor"`
	Status  NodeStatus  `json:"status"`
	Stats   NodeStats   `json:"stats"`
	// Listener is where the node serves the API to the network.
	Listener Listener `json:"listener"`
	// Heartbeat is how the node hears the others, as of the last change.
	Heartbeat Heartbeat `json:"heartbeat"`
}

// The states of a listener.
const (
	ListenerRunning = "running"
	ListenerFailed  = "failed"
	ListenerStopped = "stopped"
)

// Listener is the state of the network listener of a node.
type Listener struct {
	State     string    `json:"state"` // empty: not tried yet
	Addr      string    `json:"addr"`
	Port      string    `json:"port"`
	Error     string    `json:"error,omitempty"` // why it failed; it is tried again
	UpdatedAt time.Time `json:"updated_at"`
}

// String is the address, with the state when the API is not served there.
func (l Listener) String() string {
	s := hostPort(l.Addr, l.Port)
	switch l.State {
	case ListenerRunning:
		return s
	case "":
		return s + " not tried yet"
	case ListenerFailed:
		return s + " failed: " + l.Error
	default:
		return s + " " + l.State
	}
}

// hostPort joins an address and a port as package net does, which pure packages
// leave alone.
func hostPort(addr, port string) string {
	if strings.Contains(addr, ":") {
		addr = "[" + addr + "]"
	}
	return addr + ":" + port
}

// Config is the evaluated cluster configuration, without its secret.
type Config struct {
	ID         string         `json:"id"`
	Name       string         `json:"name"`
	Nodes      []string       `json:"nodes"`
	DNS        []string       `json:"dns"`
	CASecPaths []string       `json:"ca_sec_paths"`
	Listener   ListenerConfig `json:"listener"`
	Quorum     bool           `json:"quorum"`
	Issues     []string       `json:"issues"`

	// Arbitrators are the servers that vote when the cluster is not whole.
	Arbitrators []Arbitrator `json:"-"`

	// UXOwnerGroup is the unix group the user socket is for.
	UXOwnerGroup string `json:"-"`
}

// ListenerConfig is the address of the API.
type ListenerConfig struct {
	Addr string `json:"addr"`
	Port int    `json:"port"`
}

// View is the state of the whole cluster at one instant. It is immutable:
// readers share it, the owner publishes another.
type View struct {
	Config  Config
	Health  Health
	Nodes   map[string]*Node
	Objects map[object.Path]*Object
	Peers   map[string]Peer // the other nodes, as the heartbeats know them
	Gen     uint64          // counts publications
}

// Peer is what the heartbeats know of another node. The zero Peer is a node that
// was not heard since this daemon started.
type Peer struct {
	Beating bool      `json:"beating"` // heard in time
	Since   time.Time `json:"since"`   // when Beating last changed
	Heard   bool      `json:"heard"`   // at least once since this daemon started
	Left    bool      `json:"left"`    // it announced that it ends
	Deaf    bool      `json:"deaf"`    // it is heard, and says that it does not hear this node any more
	Synced  bool      `json:"synced"`  // all of its part of the state is known

	// Lost are the instances that may have run on it when it was forgotten, until it
	// is heard again.
	Lost map[object.Path]bool `json:"-"`
}

// Same compares what the heartbeats know of a peer.
func (p Peer) Same(other Peer) bool {
	return p.Beating == other.Beating && p.Heard == other.Heard && p.Left == other.Left && p.Deaf == other.Deaf && p.Synced == other.Synced && p.Since.Equal(other.Since)
}

// Health is what follows, for the cluster, from the states of its nodes.
type Health struct {
	IsCompat bool `json:"is_compat"` // every node speaks the same protocol
	IsFrozen bool `json:"is_frozen"` // every node is frozen
}
