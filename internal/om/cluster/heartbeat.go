package cluster

import "time"

// Heartbeat is the state of the heartbeats of a node.
type Heartbeat struct {
	Streams       []HeartbeatStream  `json:"streams"`
	LastMessage   HeartbeatMessage   `json:"last_message" doc:"The last message this node sent."`
	LastMessages  []HeartbeatMessage `json:"last_messages" doc:"The last message of each node, this one included."`
	SecretVersion HeartbeatSecrets   `json:"secret_version"`
	UpdatedAt     time.Time          `json:"updated_at"`
}

// HeartbeatSecrets are the versions of the keys that beats are sealed with.
type HeartbeatSecrets struct {
	Main      string `json:"main" doc:"Of the key this node seals its beats with."`
	Alternate string `json:"alt,omitempty" doc:"Of the key it changes from or to; empty when there is one only."`
}

// HeartbeatMessage tells the kind of a message: ping, full or patch; unset is none.
type HeartbeatMessage struct {
	From        string `json:"from"`
	Type        string `json:"type" enum:"unset,ping,full,patch"`
	PatchLength int    `json:"patch_length" doc:"How many changes it holds."`
}

// HeartbeatStream is one direction of a heartbeat.
type HeartbeatStream struct {
	ID           string                   `json:"id" example:"hb#1.rx"`
	Type         string                   `json:"type" example:"unicast"`
	State        string                   `json:"state" doc:"running, stopped or failed."`
	Error        string                   `json:"error,omitempty" doc:"Why it failed; it is tried again."`
	ConfiguredAt time.Time                `json:"configured_at"`
	CreatedAt    time.Time                `json:"created_at"`
	UpdatedAt    time.Time                `json:"updated_at"`
	Peers        map[string]HeartbeatPeer `json:"peers"`
	Alerts       []HeartbeatAlert         `json:"alerts"`
}

// HeartbeatAlert is what is wrong with a stream.
type HeartbeatAlert struct {
	Severity string `json:"severity" example:"warning"`
	Message  string `json:"message"`
}

// HeartbeatPeer is a peer on a stream: it beats when it was heard in time, or sent
// to in time.
type HeartbeatPeer struct {
	Desc          string    `json:"desc" example:"192.0.2.2:1215"`
	IsBeating     bool      `json:"is_beating"`
	ChangedAt     time.Time `json:"changed_at"`
	LastBeatingAt time.Time `json:"last_beating_at"`
}
