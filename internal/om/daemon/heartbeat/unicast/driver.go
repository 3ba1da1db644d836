package unicast

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	daemon "github.com/holdfast-ops/holdfast/internal/om/daemon/heartbeat"
)

// Target is where a peer is connected to.
type Target struct {
	Addr string // host:port
	Intf string // the interface to leave by; empty: the one the routes tell
	// Silence is how long what was sent may stay unanswered by the machine of the
	// peer before the connection is given up.
	Silence time.Duration
}

// Options are what the drivers share.
type Options struct {
	Hub *Hub
	// Shared is the port of the listener of the API of a node: a heartbeat on it has
	// none of its own.
	Shared func(node string) int
	// Dial opens a connection that speaks [Protocol].
	Dial func(context.Context, Target) (net.Conn, error)
	// Listen opens a listener of its own.
	Listen func(ctx context.Context, addr string, port int, intf string) (net.Listener, error)
}

const (
	dialLimit = 2 * time.Second        // for a peer to answer
	redialMin = time.Second            // after a failure
	hurry     = 250 * time.Millisecond // after a connection that was open closed
	hurries   = 7                      // how often
)

// New returns what makes the driver of a heartbeat.
func New(o Options) daemon.Maker {
	return func(setup daemon.Setup) (daemon.Driver, error) {
		return &driver{o: o, setup: setup, incoming: map[string]int{}, wake: map[string]chan struct{}{}}, nil
	}
}

type driver struct {
	o     Options
	setup daemon.Setup
	link  daemon.Link

	mu       sync.Mutex
	incoming map[string]int           // connections from each peer, as far as they say
	wake     map[string]chan struct{} // one of them opened or closed
}

// Run implements [daemon.Driver].
func (d *driver) Run(ctx context.Context, link daemon.Link) error {
	d.link = link
	for peer := range d.setup.Peers {
		d.wake[peer] = make(chan struct{}, 1)
	}
	d.o.Hub.add(d)
	defer d.o.Hub.remove(d)
	g, ctx := errgroup.WithContext(ctx)
	if port := d.setup.Port; port != 0 && port != d.o.Shared(d.setup.Self) {
		l, err := d.o.Listen(ctx, d.setup.Addr, port, d.setup.Intf)
		if err != nil {
			return err
		}
		g.Go(func() error { return d.accept(ctx, l) })
	}
	for peer := range d.setup.Peers {
		g.Go(func() error { d.send(ctx, peer); return nil })
	}
	return g.Wait()
}

// accept serves a listener of its own.
func (d *driver) accept(ctx context.Context, l net.Listener) error {
	var conns sync.WaitGroup
	defer conns.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = l.Close() }) // nothing is lost with it
	defer stop()
	for {
		conn, err := l.Accept()
		if ctx.Err() != nil {
			if err == nil {
				_ = conn.Close() // nothing was read from it
			}
			return nil
		}
		if err != nil {
			return fmt.Errorf("listen on %s: %w", l.Addr(), err)
		}
		conns.Go(func() {
			stop := context.AfterFunc(ctx, func() { _ = conn.Close() }) // it ends Serve
			defer stop()
			d.o.Hub.Serve(conn)
		})
	}
}

// entered counts a connection of a peer; what it returns counts it no more. A peer that
// comes back is called back at once: it hears nobody before that, and one whose daemon
// was killed decides soon whether it is alone.
func (d *driver) entered(peer string) (left func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	wake := d.wake[peer]
	if wake == nil {
		return func() {}
	}
	look := func() {
		select {
		case wake <- struct{}{}:
		default: // it is about to look
		}
	}
	d.incoming[peer]++
	look()
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.incoming[peer]--
		look()
	}
}

func (d *driver) isConnected(peer string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.incoming[peer] > 0
}

func (d *driver) target(peer string) Target {
	at := d.setup.Peers[peer]
	host, port := at.Addr, at.Port
	if host == "" {
		host = peer
	}
	if port == 0 {
		port = d.o.Shared(peer)
	}
	return Target{Addr: net.JoinHostPort(host, strconv.Itoa(port)), Intf: d.setup.Intf, Silence: max(d.setup.Interval, 2*time.Second)}
}

// send keeps a connection to a peer, and sends on it.
func (d *driver) send(ctx context.Context, peer string) {
	o := &out{d: d, peer: peer, box: d.link.Outbox(), timer: time.NewTimer(0)}
	defer o.timer.Stop()
	defer o.drop()
	for {
		var closed <-chan struct{}
		if o.conn != nil {
			closed = o.closed
		}
		select {
		case <-ctx.Done():
			return
		case <-closed:
			o.lost()
		case <-d.wake[peer]:
			if o.conn == nil {
				o.lost()
			}
		case <-o.timer.C:
			o.connect(ctx)
			o.send()
		case <-o.box.C():
			if o.conn == nil && o.waits {
				continue // for the next try: the newest frame is taken then
			}
			o.connect(ctx)
			o.send()
		}
	}
}

// out is the way to a peer.
type out struct {
	d    *driver
	peer string
	box  daemon.Outbox

	conn   net.Conn
	opened time.Time     // conn
	closed chan struct{} // once the peer closes conn

	timer *time.Timer
	waits bool          // the timer is set
	pause time.Duration // until the next try
	haste int           // tries in quick succession
}

func (o *out) drop() {
	if o.conn != nil {
		_ = o.conn.Close() // what was not sent is sent again
		o.conn = nil
	}
}

// lost is for a connection that was open and closed: the peer restarts, or is gone. One
// that closes at once is not for us, or not yet.
func (o *out) lost() {
	o.drop()
	o.haste, o.pause = hurries, 0
	o.again(max(0, redialMin-time.Since(o.opened)))
}

func (o *out) again(after time.Duration) {
	o.timer.Reset(after)
	o.waits = true
}

func (o *out) connect(ctx context.Context) {
	if o.conn != nil {
		return
	}
	o.waits = false
	target := o.d.target(o.peer)
	o.d.link.Describe(o.peer, target.Addr)
	began := time.Now()
	limited, cancel := context.WithTimeout(ctx, dialLimit)
	defer cancel()
	conn, err := o.d.o.Dial(limited, target)
	if err == nil {
		o.conn, o.closed, o.opened, o.pause, o.haste = conn, make(chan struct{}), time.Now(), 0, 0
		go watch(conn, o.closed)
		return
	}
	if ctx.Err() != nil {
		return
	}
	o.d.link.Failed(o.peer, err)
	if errors.Is(err, syscall.ECONNREFUSED) && !o.d.isConnected(o.peer) {
		o.d.link.Refused(o.peer)
	}
	if o.haste > 0 {
		o.haste--
		o.again(hurry)
		return
	}
	o.pause = min(max(redialMin, o.pause*3/2), max(redialMin, o.d.setup.Interval))
	o.again(max(redialMin, o.pause-time.Since(began)))
}

// watch tells of the end of a connection: a peer sends nothing on it.
func watch(conn net.Conn, closed chan struct{}) {
	defer close(closed)
	_, _ = io.Copy(io.Discard, conn) // whatever ends it
}

func (o *out) send() {
	if o.conn == nil {
		return
	}
	frame := o.box.Take()
	if frame == nil {
		return
	}
	err := o.conn.SetWriteDeadline(time.Now().Add(o.d.target(o.peer).Silence))
	if err == nil {
		err = write(o.conn, frame)
	}
	if err != nil {
		o.d.link.Failed(o.peer, err)
		o.lost()
		return
	}
	o.d.link.Sent(o.peer)
}
