// Package heartbeat is what the nodes of a cluster tell each other, and how it is
// believed: messages, the sealed frames that carry them, and what an exchange
// decides to tell and to take. The package is pure: it decides, and moves nothing.
package heartbeat

import "encoding/json"

// Message is what a node tells all of its peers at once: what of its part of the
// state changed after Base, and how far it knows the parts of the others.
//
// A message without entries is a ping. One from base 0 is full: it holds the
// beginning of everything. Any other is a patch.
type Message struct {
	Node        string      `json:"-"`      // the sender: the frame says it
	Incarnation Incarnation `json:"-"`      // of the sender: the frame says it
	Compat      uint64      `json:"compat"` // version of what the entries mean

	Base    uint64  `json:"base"`              // the receiver must know the part up to here
	To      uint64  `json:"to"`                // and knows it up to there afterwards
	Head    uint64  `json:"head"`              // where the part is now: after To when this is a piece
	Entries []Entry `json:"entries,omitempty"` // in the order of their generations

	// Beat counts the messages of the sender: what a peer echoes of it tells since when
	// that peer cannot have taken the sender for silent.
	Beat uint64 `json:"b,omitempty"`

	Marks []Mark   `json:"marks,omitempty"` // what the sender knows of the others
	Keys  []string `json:"keys,omitempty"`  // the key versions the sender can open

	// Leaving announces that the sender ends on purpose: its silence is no failure.
	Leaving bool `json:"leaving,omitempty"`
}

// The kinds of messages.
const (
	KindPing  = "ping"
	KindFull  = "full"
	KindPatch = "patch"
)

// Kind is the word for the message: ping, full or patch.
func (m *Message) Kind() string {
	switch {
	case len(m.Entries) == 0:
		return KindPing
	case m.Base == 0:
		return KindFull
	default:
		return KindPatch
	}
}

// Entry is one thing a node says of itself, under a key that names it:
//
//	node/config  node/monitor  node/status  node/stats  node/listener
//	instance/<path>/config  instance/<path>/status  instance/<path>/monitor
//	event/<number>
//
// A receiver keeps keys it does not know as they are.
type Entry struct {
	Key   string          `json:"k"`
	Gen   uint64          `json:"g"`           // of its last change
	Value json.RawMessage `json:"v,omitempty"` // empty: it is gone
}

// Incarnation tells one life of a daemon from another: 16 random bytes, in hex.
type Incarnation string

// Mark is how far a node knows the part of another one.
type Mark struct {
	Node        string      `json:"n"`
	Incarnation Incarnation `json:"i"`
	Gen         uint64      `json:"g,omitempty"` // applied up to here
	Hears       bool        `json:"h,omitempty"` // it is heard in time
	Beat        uint64      `json:"b,omitempty"` // the newest that was received of it

	// A node that is heard for the first time in this incarnation is given a
	// challenge, and is believed once it sends it back as the answer: what was
	// recorded of it before cannot.
	Challenge string `json:"c,omitempty"`
	Answer    string `json:"a,omitempty"`
}
