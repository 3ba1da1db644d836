package heartbeat

import (
	"bytes"
	"compress/flate"
	"encoding/json"
	"fmt"
	"io"
)

const (
	// MaxMessage bounds a message as text: nothing is expanded beyond.
	MaxMessage = 4 << 20

	// MaxValue bounds what an entry holds, so that any message of one fits a frame.
	MaxValue = 700 << 10

	maxEntries = 1 << 14
	maxMarks   = 1 << 12
	maxKey     = 1 << 10
	maxKeys    = 64

	compressFrom = 512 // bytes: less is not worth it
)

// Payload is a message ready to be sealed, any number of times.
type Payload struct {
	data       []byte
	compressed bool
	message    *Message
}

// Message is the message of the payload.
func (p Payload) Message() *Message { return p.message }

// Size is what a frame of the payload holds, in bytes.
func (p Payload) Size() int { return len(p.data) }

// Encode makes the payload of a message.
func Encode(m *Message) (Payload, error) {
	text, err := json.Marshal(m)
	if err != nil {
		return Payload{}, fmt.Errorf("encode a heartbeat: %w", err)
	}
	if len(text) > MaxMessage {
		return Payload{}, fmt.Errorf("encode a heartbeat: %d bytes, more than %d", len(text), MaxMessage)
	}
	if len(text) < compressFrom {
		return Payload{data: text, message: m}, nil
	}
	var b bytes.Buffer
	w, err := flate.NewWriter(&b, flate.BestSpeed)
	if err == nil {
		_, err = w.Write(text)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		return Payload{}, fmt.Errorf("encode a heartbeat: %w", err)
	}
	return Payload{data: b.Bytes(), compressed: true, message: m}, nil
}

// decode reads what a sender sealed: it has the secret of the cluster, and is not
// believed for that.
func decode(h Header, data []byte) (*Message, error) {
	if h.compressed {
		r := io.LimitReader(flate.NewReader(bytes.NewReader(data)), MaxMessage+1)
		text, err := io.ReadAll(r)
		if err != nil {
			return nil, refusal(Malformed, h.Sender, "it does not expand")
		}
		data = text
	}
	if len(data) > MaxMessage {
		return nil, refusal(Malformed, h.Sender, "it expands to more than %d bytes", MaxMessage)
	}
	m := &Message{}
	if err := json.Unmarshal(data, m); err != nil {
		return nil, refusal(Malformed, h.Sender, "it holds no message")
	}
	if why := m.fault(); why != "" {
		return nil, refusal(Lie, h.Sender, "%s", why)
	}
	m.Node, m.Incarnation = h.Sender, h.Incarnation
	return m, nil
}

// fault says what of a message cannot be; empty is nothing.
func (m *Message) fault() string {
	switch {
	case len(m.Entries) > maxEntries:
		return fmt.Sprintf("%d entries, more than %d", len(m.Entries), maxEntries)
	case len(m.Marks) > maxMarks:
		return fmt.Sprintf("%d marks, more than %d", len(m.Marks), maxMarks)
	case len(m.Keys) > maxKeys:
		return fmt.Sprintf("%d versions of keys, more than %d", len(m.Keys), maxKeys)
	case m.Base > m.To || m.To > m.Head:
		return fmt.Sprintf("generations from %d to %d of %d", m.Base, m.To, m.Head)
	}
	last := m.Base
	for _, e := range m.Entries {
		switch {
		case e.Key == "" || len(e.Key) > maxKey:
			return fmt.Sprintf("a key of %d bytes", len(e.Key))
		case e.Gen > m.To || e.Gen <= last:
			return fmt.Sprintf("an entry of generation %d after %d in a message that goes from %d to %d", e.Gen, last, m.Base, m.To)
		}
		last = e.Gen
	}
	return ""
}
