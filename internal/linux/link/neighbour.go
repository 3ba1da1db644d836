package link

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// probes are sent before an address is taken for free, each after a pause: a
	// frame may be lost, and a host on the link answers within a millisecond.
	probes     = 3
	probePause = 35 * time.Millisecond
	// announcements are repeated, as a frame may be lost.
	announcements = 3
	announcePause = 10 * time.Millisecond
)

// Holder asks, on a link, who has an address, and returns the ethernet address of who
// has it, or is about to take it; nil for nobody. It claims nothing. On an interface
// that asks nobody there is no holder.
func Holder(ctx context.Context, i Interface, addr netip.Addr) (net.HardwareAddr, error) {
	if !i.Asks {
		return nil, nil //nolint:nilnil // nobody
	}
	probe := arpProbe
	if addr.Is6() {
		probe = ndpProbe
	}
	s, err := listen(i, addr)
	if err != nil {
		return nil, fmt.Errorf("ask who has %s on %s: %w", addr, i.Name, err)
	}
	defer func() { _ = s.Close() }()
	for range probes {
		if _, err := s.Write(probe(i.MAC, addr)); err != nil {
			return nil, fmt.Errorf("ask who has %s on %s: %w", addr, i.Name, err)
		}
		mac, err := hear(s, i, addr, time.Now().Add(probePause))
		if mac != nil || err != nil {
			return mac, err
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	return nil, nil //nolint:nilnil // nobody
}

// hear reads frames until one says who has an address, or a time comes.
func hear(s *os.File, i Interface, addr netip.Addr, until time.Time) (net.HardwareAddr, error) {
	if err := s.SetReadDeadline(until); err != nil {
		return nil, err
	}
	frame := make([]byte, 2048)
	for {
		n, err := s.Read(frame)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return nil, nil //nolint:nilnil // nobody
		}
		if err != nil {
			return nil, fmt.Errorf("listen on %s: %w", i.Name, err)
		}
		if mac := claimed(frame[:n], addr); mac != nil && !bytes.Equal(mac, i.MAC) {
			return mac, nil
		}
	}
}

// claimed returns who has an address, or asks for it to take it, by a frame.
func claimed(frame []byte, addr netip.Addr) net.HardwareAddr {
	if addr.Is6() {
		n, ok := parseNeighbour(frame)
		if ok && n.target == addr && (n.kind == neighbourAdvert || n.source.IsUnspecified()) {
			return n.mac
		}
		return nil
	}
	a, ok := parseARP(frame)
	if ok && (a.from == addr || a.op == arpRequest && a.from.IsUnspecified() && a.to == addr) {
		return a.mac
	}
	return nil
}

// Announce tells everybody on a link that this host has an address, so that what is
// sent to it comes here at once.
func Announce(ctx context.Context, i Interface, addr netip.Addr) error {
	if !i.Asks {
		return nil
	}
	var frames [][]byte
	if addr.Is6() {
		frames = append(frames, ndpAnnouncement(i.MAC, addr))
	} else {
		frames = append(frames, arpAnnouncement(arpRequest, i.MAC, addr), arpAnnouncement(arpReply, i.MAC, addr))
	}
	s, err := listen(i, addr)
	if err != nil {
		return fmt.Errorf("announce %s on %s: %w", addr, i.Name, err)
	}
	defer func() { _ = s.Close() }()
	tick := time.NewTicker(announcePause)
	defer tick.Stop()
	for n := range announcements {
		if n > 0 {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-tick.C:
			}
		}
		for _, frame := range frames {
			if _, err := s.Write(frame); err != nil {
				return fmt.Errorf("announce %s on %s: %w", addr, i.Name, err)
			}
		}
	}
	return nil
}

// listen opens a socket for the frames of a link that are about addresses like this one.
func listen(i Interface, addr netip.Addr) (*os.File, error) {
	protocol := uint16(typeARP)
	if addr.Is6() {
		protocol = typeIPv6
	}
	network := binary.NativeEndian.Uint16(binary.BigEndian.AppendUint16(nil, protocol))
	// No frame of another link comes in before the socket is bound to its own.
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	if err := unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: network, Ifindex: i.Index}); err != nil {
		return nil, errors.Join(os.NewSyscallError("bind", err), unix.Close(fd))
	}
	return os.NewFile(uintptr(fd), "packets of "+i.Name), nil
}
