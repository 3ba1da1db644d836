package event

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/cluster"
)

// NodeAlive says that another node is heard.
type NodeAlive struct {
	Node string `json:"node"`
}

// NodeStale says that no heartbeat hears another node any more.
type NodeStale struct {
	Node string `json:"node"`
}

// ForgetPeer says that what another node told does not hold any more.
type ForgetPeer struct {
	Node string `json:"node"`
}

// HeartbeatAlive says that a heartbeat hears another node.
type HeartbeatAlive struct {
	Node        string    `json:"node"`
	HeartbeatID string    `json:"hb_id"`
	At          time.Time `json:"at"`
}

// HeartbeatStale says that a heartbeat does not hear another node any more.
type HeartbeatStale struct {
	Node        string    `json:"node"`
	HeartbeatID string    `json:"hb_id"`
	At          time.Time `json:"at"`
}

// HeartbeatMessageTypeUpdated says that this node tells its peers otherwise than
// before: it pings, tells all of its state, or what changes of it.
type HeartbeatMessageTypeUpdated struct {
	Node          string            `json:"node"`
	OldType       string            `json:"old_type"`
	NewType       string            `json:"new_type"`
	Nodes         []string          `json:"nodes"`
	JoinedNodes   []string          `json:"joined_nodes"`
	InstalledGens map[string]uint64 `json:"installed_gens"`
}

// DaemonHeartbeatUpdated carries the states of the heartbeats of a node.
type DaemonHeartbeatUpdated struct {
	Node      string            `json:"node"`
	Heartbeat cluster.Heartbeat `json:"heartbeat"`
}

// HeartbeatRotateRequest says that the secret the heartbeats are sealed with is to be
// another one.
type HeartbeatRotateRequest struct {
	ID string `json:"id"`
}

// HeartbeatRotateSuccess says that every node has the new secret.
type HeartbeatRotateSuccess struct {
	ID string `json:"id"`
}

// HeartbeatRotateError says that not every node has the new secret, and why.
type HeartbeatRotateError struct {
	ID     string `json:"id"`
	Reason string `json:"reason"`
}

// forwarded is an event on its way to the peers.
type forwarded struct {
	Kind string          `json:"k"`
	Data json.RawMessage `json:"d"`
}

// Forwarded lists the kinds of events that the daemon passes on to its peers, besides
// what they see of the state themselves.
func Forwarded() []string {
	return []string{
		"ConfigFileConflict", "EnterOverloadPeriod", "HeartbeatRotateError", "HeartbeatRotateSuccess", "InstanceConfigFor",
		"JoinError", "JoinIgnored", "JoinSuccess", "LeaveError", "LeaveIgnored", "LeaveOverloadPeriod", "LeaveSuccess",
		"ObjectOrchestrationAccepted", "ObjectOrchestrationEnd", "ObjectOrchestrationRefused",
	}
}

// Forward encodes an event for the peers; an error is one they are not told of.
func Forward(e Event) ([]byte, error) {
	if !slices.Contains(Forwarded(), e.Kind()) {
		return nil, fmt.Errorf("%s is not passed on to peers", e.Kind())
	}
	data, err := json.Marshal(e)
	if err != nil {
		return nil, fmt.Errorf("pass on %s: %w", e.Kind(), err)
	}
	return json.Marshal(forwarded{e.Kind(), data})
}

// Unforward decodes what [Forward] made on a peer.
func Unforward(text []byte) (Event, error) {
	var f forwarded
	if err := json.Unmarshal(text, &f); err != nil {
		return nil, fmt.Errorf("an event of a peer: %w", err)
	}
	switch f.Kind {
	case ConfigFileConflict{}.Kind():
		return decodeAs[ConfigFileConflict](f)
	case EnterOverloadPeriod{}.Kind():
		return decodeAs[EnterOverloadPeriod](f)
	case LeaveOverloadPeriod{}.Kind():
		return decodeAs[LeaveOverloadPeriod](f)
	case InstanceConfigFor{}.Kind():
		return decodeAs[InstanceConfigFor](f)
	case HeartbeatRotateError{}.Kind():
		return decodeAs[HeartbeatRotateError](f)
	case HeartbeatRotateSuccess{}.Kind():
		return decodeAs[HeartbeatRotateSuccess](f)
	case JoinError{}.Kind():
		return decodeAs[JoinError](f)
	case JoinIgnored{}.Kind():
		return decodeAs[JoinIgnored](f)
	case JoinSuccess{}.Kind():
		return decodeAs[JoinSuccess](f)
	case LeaveError{}.Kind():
		return decodeAs[LeaveError](f)
	case LeaveIgnored{}.Kind():
		return decodeAs[LeaveIgnored](f)
	case LeaveSuccess{}.Kind():
		return decodeAs[LeaveSuccess](f)
	case ObjectOrchestrationAccepted{}.Kind():
		return decodeAs[ObjectOrchestrationAccepted](f)
	case ObjectOrchestrationEnd{}.Kind():
		return decodeAs[ObjectOrchestrationEnd](f)
	case ObjectOrchestrationRefused{}.Kind():
		return decodeAs[ObjectOrchestrationRefused](f)
	}
	return nil, fmt.Errorf("a peer tells of an event %.64q, which is not passed on", f.Kind)
}

func decodeAs[E Event](f forwarded) (Event, error) {
	var e E
	if err := json.Unmarshal(f.Data, &e); err != nil {
		return nil, fmt.Errorf("%s of a peer: %w", f.Kind, err)
	}
	return e, nil
}
