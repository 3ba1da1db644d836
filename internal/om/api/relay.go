package api

import (
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/rbac"
)

// RelayPost is what a node of another cluster leaves for its peers.
type RelayPost struct {
	_           struct{} `additionalProperties:"false"`
	ClusterID   string   `json:"cluster_id" minLength:"1" maxLength:"128" doc:"Id of the cluster of the node."`
	ClusterName string   `json:"cluster_name" maxLength:"255" doc:"Name of the cluster, for people." example:"east"`
	Node        string   `json:"nodename" minLength:"1" maxLength:"255" doc:"The node." example:"node1"`
	Message     string   `json:"msg" minLength:"1" maxLength:"1500000" doc:"What it tells, sealed for its peers: the relay cannot read it." example:"SEZIQg=="`
}

// RelayMessagePost leaves a message.
type RelayMessagePost struct{ Body RelayPost }

// RelayMessageQuery names a message.
type RelayMessageQuery struct {
	ClusterID string `query:"cluster_id" required:"true" maxLength:"128" doc:"Id of the cluster."`
	Node      string `query:"nodename" required:"true" maxLength:"255" doc:"Node that left it." example:"node1"`
	User      string `query:"username" maxLength:"255" doc:"User that left it, for root. By default the caller."`
}

// RelaySlot is where a relay keeps the last message of a node.
type RelaySlot struct {
	Relay       string    `json:"relay" doc:"The relay that has it." example:"relay.example.com"`
	User        string    `json:"username" doc:"User that left it." example:"relay"`
	ClusterID   string    `json:"cluster_id"`
	ClusterName string    `json:"cluster_name" example:"east"`
	Node        string    `json:"nodename" example:"node1"`
	NodeAddr    string    `json:"node_addr" doc:"Address it came from." example:"192.0.2.1"`
	UpdatedAt   time.Time `json:"updated_at"`
}

// RelayMessage is the last message of a node.
type RelayMessage struct {
	RelaySlot
	Message string `json:"msg" doc:"What it tells, sealed for its peers."`
}

// RelayStatusQuery says which relays are looked at.
type RelayStatusQuery struct {
	Relay  []string `query:"relay,explode" doc:"Only these relays; repeat it for more." example:"relay.example.com"`
	Remote bool     `query:"remote" doc:"Ask the relays of the heartbeats of this node, rather than tell what it relays itself."`
}

// RelayStatus is a slot of a relay, without its message.
type RelayStatus struct {
	Status string `json:"status" doc:"ok, or why the relay could not be asked." example:"ok"`
	Length int    `json:"msg_len" doc:"Length of the message, in bytes." example:"1204"`
	RelaySlot
}

// RelayStatusList is a list of slots.
type RelayStatusList = List[RelayStatus]

func exampleSlot() RelaySlot {
	return RelaySlot{
		Relay: "relay.example.com", User: "relay", ClusterID: exampleSession, ClusterName: "east", Node: "node1", NodeAddr: "192.0.2.1", UpdatedAt: time.Date(2026, 11, 30, 9, 51, 50, 0, time.UTC),
	}
}

// PostRelayMessage leaves a message at a relay.
var PostRelayMessage = Operation[RelayMessagePost, Problem]{
	ID: "PostRelayMessage", Method: "POST", Path: "/api/relay/message", Tag: "relay", Need: rbac.NeedHeartbeat, Max: 2 << 20, Errors: []int{507},
	Doc: "Leave a message for the peers of a node of another cluster, in place of the one before. Messages are kept by user, cluster and node, in memory: they are gone when the daemon restarts. 507 when the user has too many.",
	Example: func() (RelayMessagePost, Problem) {
		return RelayMessagePost{Body: RelayPost{ClusterID: exampleSession, ClusterName: "east", Node: "node1", Message: "SEZIQg=="}},
			*NewProblem(200, "the message of node1 is kept")
	},
}

// GetRelayMessage reads a message of a relay.
var GetRelayMessage = Operation[RelayMessageQuery, RelayMessage]{
	ID: "GetRelayMessage", Method: "GET", Path: "/api/relay/message", Tag: "relay", Need: rbac.NeedHeartbeat, Errors: []int{404},
	Doc: "Read the last message of a node of another cluster, which the same user left. 404 when there is none.",
	Example: func() (RelayMessageQuery, RelayMessage) {
		return RelayMessageQuery{ClusterID: exampleSession, Node: "node1"}, RelayMessage{RelaySlot: exampleSlot(), Message: "SEZIQg=="}
	},
}

// GetRelayStatus lists the messages of a relay.
var GetRelayStatus = Operation[RelayStatusQuery, RelayStatusList]{
	ID: "GetRelayStatus", Method: "GET", Path: "/api/relay/status", Tag: "relay", Need: rbac.NeedHeartbeat,
	Doc: "List the messages this daemon relays, those of the caller, of every user for root; or, with remote, those that the relays of its own heartbeats have of its cluster.",
	Example: func() (RelayStatusQuery, RelayStatusList) {
		return RelayStatusQuery{}, RelayStatusList{Kind: "RelayStatusList", Items: []RelayStatus{{RelaySlot: exampleSlot(), Length: 1204, Status: "ok"}}}
	},
}

// PostDaemonHeartbeatSign makes the disk of a heartbeat.
var PostDaemonHeartbeatSign = heartbeatAction("Sign", "sign", "Sign the device of a disk heartbeat, on one node, before it is used. A device that holds anything known is refused: 409.", "has its device signed")

// PostDaemonHeartbeatWipe clears the disk of a heartbeat.
var PostDaemonHeartbeatWipe = heartbeatAction("Wipe", "wipe", "Clear the device of a disk heartbeat, which no node can use then. A device that is not one of heartbeats is refused: 409.", "has its device wiped")
