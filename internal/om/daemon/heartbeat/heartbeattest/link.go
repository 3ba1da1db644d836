// Package heartbeattest has the other side of a driver of heartbeats, for its tests.
package heartbeattest

import (
	"sync"

	daemon "github.com/holdfast-ops/holdfast/internal/om/daemon/heartbeat"
)

// Link records what a driver tells, and has it send what a test says.
type Link struct {
	mu       sync.Mutex
	boxes    []*outbox
	frame    []byte
	received [][]byte
	sent     int
	failures map[string]error
	ways     map[string]string
}

var _ daemon.Link = (*Link)(nil)

// Tell has the driver send a frame.
func (l *Link) Tell(frame []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.frame = frame
	for _, o := range l.boxes {
		o.offer()
	}
}

// Heard are the frames that were received, the oldest first.
func (l *Link) Heard() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []string
	for _, f := range l.received {
		all = append(all, string(f))
	}
	return all
}

// SentCount is how often a frame was sent.
func (l *Link) SentCount() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sent
}

// Failure is why a frame could not be sent to a peer last.
func (l *Link) Failure(peer string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.failures[peer]
}

// Way is what is shown of the way to a peer.
func (l *Link) Way(peer string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ways[peer]
}

// Outbox implements [daemon.Link].
func (l *Link) Outbox() daemon.Outbox {
	l.mu.Lock()
	defer l.mu.Unlock()
	o := &outbox{l: l, c: make(chan struct{}, 1)}
	l.boxes = append(l.boxes, o)
	if l.frame != nil {
		o.offer()
	}
	return o
}

// Received implements [daemon.Link].
func (l *Link) Received(frame []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.received = append(l.received, append([]byte(nil), frame...))
}

// Sent implements [daemon.Link].
func (l *Link) Sent(string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sent++
	l.failures = nil
}

// Failed implements [daemon.Link].
func (l *Link) Failed(peer string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failures == nil {
		l.failures = map[string]error{}
	}
	l.failures[peer] = err
}

// Refused implements [daemon.Link].
func (*Link) Refused(string) {}

// Describe implements [daemon.Link].
func (l *Link) Describe(peer, text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ways == nil {
		l.ways = map[string]string{}
	}
	l.ways[peer] = text
}

type outbox struct {
	l       *Link
	c       chan struct{}
	pending bool
}

func (o *outbox) offer() {
	o.pending = true
	select {
	case o.c <- struct{}{}:
	default: // it was not taken yet
	}
}

// C implements [daemon.Outbox].
func (o *outbox) C() <-chan struct{} { return o.c }

// Take implements [daemon.Outbox].
func (o *outbox) Take() []byte {
	o.l.mu.Lock()
	defer o.l.mu.Unlock()
	if !o.pending {
		return nil
	}
	o.pending = false
	return o.l.frame
}
