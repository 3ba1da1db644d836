package multicast

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"

	"golang.org/x/sys/unix"
)

// hops is how many routers let a datagram pass.
const hops = 32

// sender opens a socket that sends to the group, by an interface when one is asked for.
func sender(ctx context.Context, group netip.Addr, intf *net.Interface) (*net.UDPConn, error) {
	network := "udp4"
	if group.Is6() {
		network = "udp6"
	}
	config := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
		var inner error
		err := c.Control(func(fd uintptr) { inner = leaveBy(int(fd), group, intf) })
		return errors.Join(err, inner)
	}}
	conn, err := config.ListenPacket(ctx, network, ":0")
	if err != nil {
		return nil, fmt.Errorf("send to the group %s: %w", group, err)
	}
	udp, ok := conn.(*net.UDPConn)
	if !ok {
		return nil, errors.Join(fmt.Errorf("send to the group %s: no socket of datagrams", group), conn.Close())
	}
	return udp, nil
}

func leaveBy(fd int, group netip.Addr, intf *net.Interface) error {
	if group.Is6() {
		err := unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_MULTICAST_HOPS, hops)
		if intf != nil && err == nil {
			err = unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_MULTICAST_IF, intf.Index)
		}
		return err
	}
	err := unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_MULTICAST_TTL, hops)
	if intf != nil && err == nil {
		err = unix.SetsockoptIPMreqn(fd, unix.IPPROTO_IP, unix.IP_MULTICAST_IF, &unix.IPMreqn{Ifindex: int32(intf.Index)}) //nolint:gosec // the kernel counts so
	}
	return err
}
