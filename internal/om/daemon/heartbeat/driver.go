package heartbeat

import (
	"context"

	"github.com/holdfast-ops/holdfast/internal/om/schema"
)

// MaxFrame bounds what a driver sends and receives: a longer frame is not one,
// and nothing is allocated for it. A medium that carries less at once cuts it.
const MaxFrame = 1 << 20

// Setup is what a driver works with: one heartbeat as this node reads it.
type Setup struct {
	schema.HeartbeatSettings // those of this node: Name is "hb#1"

	Self    string // the name of this node
	Cluster string // the id of the cluster

	// Peers are the other nodes that use the heartbeat, each with its settings as
	// it reads them itself: its address, its port.
	Peers map[string]schema.HeartbeatSettings
}

// Driver moves the frames of one heartbeat. It does not read them: they are
// sealed and opened by the manager, which trusts no driver. What a driver knows of
// who sent a frame is a hint.
type Driver interface {
	// Run moves frames until ctx ends, then returns nil, with nothing of its own left
	// running. An error is a heartbeat that does not work at all (a device that cannot
	// be opened, an address of nobody): it is shown, and Run is called again after a
	// while. What concerns one peer is told to the link, and does not end Run.
	Run(ctx context.Context, link Link) error
}

// Maker makes the driver of a heartbeat. An error says what of its settings cannot be.
type Maker func(Setup) (Driver, error)

// Link is the other side of a driver: the manager. Its methods do not wait and are
// safe for concurrent use.
type Link interface {
	// Outbox is a new reader of what is to be sent. A driver that sends to each peer
	// by itself has one for each of them, so that none waits for another.
	Outbox() Outbox

	// Received takes a frame as it came: the manager does not keep it. A frame that
	// was already taken, as one read again from a disk, is no beat and no error.
	Received(frame []byte)

	// Sent says that a frame reached the medium towards a peer; "" is all the peers
	// at once.
	Sent(peer string)

	// Failed says that a frame could not be sent to a peer, "" for any. The manager
	// shows it, and logs what lasts once.
	Failed(peer string, err error)

	// Refused says that the machine of a peer answers and that nobody listens there:
	// again and again for a second and a half, the peer is believed gone before its
	// timeout.
	Refused(peer string)

	// Describe sets what is shown of the way to a peer, as "10.0.0.2:1215" or
	// "/dev/sdb slot 3"; "" is the way of all the peers.
	Describe(peer, text string)
}

// Outbox holds the newest frame and no other: each frame holds all that the peers
// may lack, so a slow medium skips what it was too slow for.
type Outbox interface {
	// C receives when there is a frame to take: one is made at each interval and
	// whenever something changed.
	C() <-chan struct{}

	// Take returns the frame, sealed now: it differs from every other one. It is
	// nil when there is none left to send.
	Take() []byte
}
