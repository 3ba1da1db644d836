// Package unicast carries heartbeats over TLS connections that stay open, one from
// each node to each of its peers. By default they arrive on the listener of the API,
// where the name of the protocol tells them from requests; a heartbeat with a port of
// its own has a listener of its own.
//
//	conn:  length 4, frame | length 4, frame | ...
//
// TLS is only the carrier: frames are sealed, and nothing is believed for the
// connection it came on. That one closes, or is refused, is a hint.
package unicast

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	daemon "github.com/holdfast-ops/holdfast/internal/om/daemon/heartbeat"
	"github.com/holdfast-ops/holdfast/internal/om/heartbeat"
)

// Protocol is the name of heartbeats in the negotiation of TLS (ALPN).
const Protocol = "holdfast-hb/1"

const (
	firstFrame = 10 * time.Second // to say something at all
	maxConns   = 1024             // a cluster has fewer; whoever connects more is not of it
)

// Hub gives what arrives to the heartbeat it is for.
type Hub struct {
	mu      sync.Mutex
	drivers map[string]*driver
	conns   int
}

// NewHub returns a hub that knows no heartbeat yet.
func NewHub() *Hub { return &Hub{drivers: map[string]*driver{}} }

func (h *Hub) add(d *driver) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.drivers[d.setup.Name] = d
}

func (h *Hub) remove(d *driver) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.drivers[d.setup.Name] == d {
		delete(h.drivers, d.setup.Name)
	}
}

func (h *Hub) driver(name string) *driver {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.drivers[name]
}

func (h *Hub) enter(n int) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if n > 0 && h.conns >= maxConns {
		return false
	}
	h.conns += n
	return true
}

// Serve reads the frames of a connection until it closes, or says what no peer
// would.
func (h *Hub) Serve(conn net.Conn) {
	defer func() { _ = conn.Close() }() // what it held is read
	if !h.enter(1) {
		return
	}
	defer h.enter(-1)
	left := func() {}
	defer func() { left() }()
	idle, known := firstFrame, false
	var buffer bytes.Buffer
	for {
		if conn.SetReadDeadline(time.Now().Add(idle)) != nil {
			return
		}
		if read(conn, &buffer) != nil {
			return
		}
		head, err := heartbeat.Parse(buffer.Bytes())
		if err != nil {
			return
		}
		d := h.driver(head.Heartbeat)
		if d == nil {
			return // a heartbeat that this node does not have, or not yet
		}
		if !known {
			known, idle = true, max(2*d.setup.Timeout, firstFrame)
			left = d.entered(head.Sender)
		}
		d.link.Received(buffer.Bytes())
	}
}

// read reads a frame. What is kept grows with what arrives, not with what is
// announced.
func read(r io.Reader, buffer *bytes.Buffer) error {
	var length [4]byte
	if _, err := io.ReadFull(r, length[:]); err != nil {
		return err
	}
	n := binary.BigEndian.Uint32(length[:])
	if n == 0 || n > daemon.MaxFrame {
		return fmt.Errorf("a frame of %d bytes", n)
	}
	buffer.Reset()
	if got, err := io.CopyN(buffer, r, int64(n)); err != nil {
		return errors.Join(fmt.Errorf("%d bytes of %d", got, n), err)
	}
	return nil
}

// write writes a frame, in one piece.
func write(w io.Writer, frame []byte) error {
	b := make([]byte, 4, 4+len(frame))
	binary.BigEndian.PutUint32(b, uint32(len(frame))) //nolint:gosec // at most MaxFrame
	_, err := w.Write(append(b, frame...))
	return err
}
