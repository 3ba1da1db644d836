// Package multicast carries heartbeats in datagrams to a group of addresses: one frame
// reaches all the peers of a link. A frame that does not fit a datagram is cut.
package multicast

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"golang.org/x/sync/errgroup"

	daemon "github.com/holdfast-ops/holdfast/internal/om/daemon/heartbeat"
)

const (
	// burst is how many datagrams are sent before those who listen are left a moment.
	burst     = 16
	burstGap  = time.Millisecond
	ownFrames = 64 // remembered, so that those that come back are known
)

// New makes the driver of a heartbeat.
func New(setup daemon.Setup) (daemon.Driver, error) {
	group, err := netip.ParseAddr(setup.Addr)
	if err != nil || !group.IsMulticast() {
		return nil, fmt.Errorf("%s is not a multicast address: set addr", setup.Addr)
	}
	return &driver{setup: setup, group: netip.AddrPortFrom(group, uint16(setup.Port))}, nil //nolint:gosec // the keyword is bounded
}

type driver struct {
	setup daemon.Setup
	group netip.AddrPort
}

// Run implements [daemon.Driver].
func (d *driver) Run(ctx context.Context, link daemon.Link) error {
	var intf *net.Interface
	text := d.group.String()
	if d.setup.Intf != "" {
		var err error
		if intf, err = net.InterfaceByName(d.setup.Intf); err != nil {
			return fmt.Errorf("interface %s: %w", d.setup.Intf, err)
		}
		text += " " + intf.Name
	}
	in, err := net.ListenMulticastUDP("udp", intf, net.UDPAddrFromAddrPort(d.group))
	if err != nil {
		return fmt.Errorf("join the group %s: %w", text, err)
	}
	// A frame may come as hundreds of datagrams at once.
	_ = in.SetReadBuffer(4 << 20) // as far as the system allows
	out, err := sender(ctx, d.group.Addr(), intf)
	if err != nil {
		return errors.Join(err, in.Close())
	}
	link.Describe("", text)
	own := make(chan frameID, ownFrames)
	g, ctx := errgroup.WithContext(ctx)
	stop := context.AfterFunc(ctx, func() { _, _ = in.Close(), out.Close() }) // it ends the reader
	defer stop()
	g.Go(func() error { return d.receive(ctx, in, link, own) })
	g.Go(func() error { d.send(ctx, out, link, own); return nil })
	return g.Wait()
}

// receive passes on the frames of the group.
func (d *driver) receive(ctx context.Context, in *net.UDPConn, link daemon.Link, own <-chan frameID) error {
	a := newAssembler()
	mine := newRing(ownFrames)
	datagram := make([]byte, 64<<10)
	swept := time.Now()
	for {
		n, from, err := in.ReadFromUDPAddrPort(datagram)
		switch {
		case ctx.Err() != nil:
			return nil //nolint:nilerr // it was closed for that
		case err != nil:
			return fmt.Errorf("receive from the group %s: %w", d.group, err)
		}
		for len(own) > 0 {
			mine.add(<-own)
		}
		if p, ok := parse(datagram[:n]); !ok || mine.has(p.id) {
			continue
		}
		now := time.Now()
		if now.Sub(swept) > lifetime {
			a.expire(now)
			swept = now
		}
		if frame := a.add(from.Addr().Unmap(), datagram[:n], now); frame != nil {
			link.Received(frame)
		}
	}
}

// send sends each frame to the group.
func (d *driver) send(ctx context.Context, out *net.UDPConn, link daemon.Link, own chan<- frameID) {
	box := link.Outbox()
	gap := time.NewTimer(0)
	defer gap.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-box.C():
		}
		frame := box.Take()
		if frame == nil {
			continue
		}
		if err := d.transmit(ctx, out, frame, own, gap); err != nil {
			if ctx.Err() == nil {
				link.Failed("", err)
			}
			continue
		}
		link.Sent("")
	}
}

func (d *driver) transmit(ctx context.Context, out *net.UDPConn, frame []byte, own chan<- frameID, gap *time.Timer) error {
	id := newID()
	select {
	case own <- id: // before it can come back
	default: // nobody reads: nothing comes back
	}
	for n, datagram := range cut(frame, id) {
		if n > 0 && n%burst == 0 {
			gap.Reset(burstGap)
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-gap.C:
			}
		}
		if _, err := out.WriteToUDPAddrPort(datagram, d.group); err != nil {
			return fmt.Errorf("send to the group %s: %w", d.group, err)
		}
	}
	return nil
}

// ring remembers the last frames of this node.
type ring struct {
	known map[frameID]bool
	order []frameID
	next  int
}

func newRing(size int) *ring { return &ring{known: map[frameID]bool{}, order: make([]frameID, size)} }

func (r *ring) add(id frameID) {
	delete(r.known, r.order[r.next])
	r.known[id], r.order[r.next] = true, id
	r.next = (r.next + 1) % len(r.order)
}

func (r *ring) has(id frameID) bool { return r.known[id] }
