package event

import (
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/cluster"
)

// ArbitratorError says why an arbitrator does not vote.
type ArbitratorError struct {
	Node  string `json:"node"`
	Name  string `json:"name"`
	Error string `json:"error"`
}

// NodeStatusArbitratorsUpdated carries the arbitrators as a node sees them.
type NodeStatusArbitratorsUpdated struct {
	Node        string                              `json:"node"`
	Arbitrators map[string]cluster.ArbitratorStatus `json:"arbitrator_status"`
}

// NodeSplitAction says that a node found itself without quorum, and what it does
// about it at once.
type NodeSplitAction struct {
	Node            string `json:"node"`
	Action          string `json:"action"`
	NodeVotes       int    `json:"node_votes"`
	ArbitratorVotes int    `json:"arbitrator_votes"`
	Voting          int    `json:"voting"`     // votes there are
	ProVoters       int    `json:"pro_voters"` // votes the node has
}

// NodeFence tells how far the fencing of a lost node is.
type NodeFence struct {
	Node  string              `json:"node"`
	Peer  string              `json:"peer"`
	Fence cluster.FenceStatus `json:"fence"`
}

// NodeRejoin says that a node has joined its peers after a start of its daemon.
type NodeRejoin struct {
	Node           string    `json:"node"`
	IsUpgrading    bool      `json:"IsUpgrading"`
	LastShutdownAt time.Time `json:"LastShutdownAt"`
	Nodes          []string  `json:"Nodes"` // the peers that are heard
}

// EnterOverloadPeriod says that a node lacks memory, and starts nothing by itself.
type EnterOverloadPeriod struct {
	Node string `json:"node"`
}

// LeaveOverloadPeriod says that a node has memory again.
type LeaveOverloadPeriod struct {
	Node string `json:"node"`
}

// Kind implements [Event].
func (ArbitratorError) Kind() string { return "ArbitratorError" }

// Labels implements [Event].
func (e ArbitratorError) Labels() map[string]string { return nodeLabels(e.Node) }

// Kind implements [Event].
func (NodeStatusArbitratorsUpdated) Kind() string { return "NodeStatusArbitratorsUpdated" }

// Labels implements [Event].
func (e NodeStatusArbitratorsUpdated) Labels() map[string]string { return nodeLabels(e.Node) }

// Kind implements [Event].
func (NodeSplitAction) Kind() string { return "NodeSplitAction" }

// Labels implements [Event].
func (e NodeSplitAction) Labels() map[string]string { return nodeLabels(e.Node) }

// Kind implements [Event].
func (NodeFence) Kind() string { return "NodeFence" }

// Labels implements [Event].
func (e NodeFence) Labels() map[string]string { return nodeLabels(e.Node) }

// Kind implements [Event].
func (NodeRejoin) Kind() string { return "NodeRejoin" }

// Labels implements [Event].
func (e NodeRejoin) Labels() map[string]string { return nodeLabels(e.Node) }

// Kind implements [Event].
func (EnterOverloadPeriod) Kind() string { return "EnterOverloadPeriod" }

// Labels implements [Event].
func (e EnterOverloadPeriod) Labels() map[string]string { return nodeLabels(e.Node) }

// Kind implements [Event].
func (LeaveOverloadPeriod) Kind() string { return "LeaveOverloadPeriod" }

// Labels implements [Event].
func (e LeaveOverloadPeriod) Labels() map[string]string { return nodeLabels(e.Node) }
