package link

import (
	"bytes"
	"encoding/binary"
	"net"
	"net/netip"
)

const (
	macLength      = 6
	ethernetHeader = 14
	typeARP        = 0x0806
	typeIPv6       = 0x86dd

	arpLength  = 28
	arpRequest = 1
	arpReply   = 2

	ipv6Header            = 40
	protocolICMPv6        = 58
	neighbourSolicitation = 135
	neighbourAdvert       = 136
	neighbourLength       = 24 // type, code, checksum, flags, target
	linkLayerOption       = 8  // type, length, an ethernet address
	sourceLinkLayer       = 1
	targetLinkLayer       = 2
	overrides             = 0x20000000
)

func ethernet(to, from net.HardwareAddr, etherType uint16) []byte {
	b := make([]byte, 0, 128)
	b = append(b, to...)
	b = append(b, from...)
	return binary.BigEndian.AppendUint16(b, etherType)
}

func everybody() net.HardwareAddr { return net.HardwareAddr{0xff, 0xff, 0xff, 0xff, 0xff, 0xff} }

// arp is a packet of the address resolution protocol of IPv4 over ethernet.
type arp struct {
	op       uint16
	mac      net.HardwareAddr // of the sender
	from, to netip.Addr
}

// probe asks who has an address, without claiming it.
func arpProbe(mac net.HardwareAddr, addr netip.Addr) []byte {
	return arp{op: arpRequest, mac: mac, from: netip.IPv4Unspecified(), to: addr}.frame()
}

// arpAnnouncement tells everybody who has an address. Some listen to requests only,
// some to replies.
func arpAnnouncement(op uint16, mac net.HardwareAddr, addr netip.Addr) []byte {
	return arp{op: op, mac: mac, from: addr, to: addr}.frame()
}

func (a arp) frame() []byte {
	b := ethernet(everybody(), a.mac, typeARP)
	b = append(b, 0, 1, 8, 0, macLength, 4)
	b = binary.BigEndian.AppendUint16(b, a.op)
	from, to := a.from.As4(), a.to.As4()
	b = append(append(b, a.mac...), from[:]...)
	target := make([]byte, macLength)
	if a.op == arpReply {
		copy(target, a.mac)
	}
	return append(append(b, target...), to[:]...)
}

// parseARP reads a frame.
func parseARP(frame []byte) (arp, bool) {
	if len(frame) < ethernetHeader+arpLength || binary.BigEndian.Uint16(frame[12:]) != typeARP {
		return arp{}, false
	}
	p := frame[ethernetHeader:]
	if !bytes.Equal(p[:6], []byte{0, 1, 8, 0, macLength, 4}) {
		return arp{}, false
	}
	return arp{
		op: binary.BigEndian.Uint16(p[6:]), mac: net.HardwareAddr(bytes.Clone(p[8:14])),
		from: netip.AddrFrom4([4]byte(p[14:18])), to: netip.AddrFrom4([4]byte(p[24:28])),
	}, true
}

// neighbour is a solicitation or an advertisement of IPv6.
type neighbour struct {
	kind   byte
	mac    net.HardwareAddr // what it says, else of the frame
	source netip.Addr
	target netip.Addr
}

// ndpProbe asks who has an address, without claiming it: as the kernel does when it
// detects duplicates.
func ndpProbe(mac net.HardwareAddr, addr netip.Addr) []byte {
	a := addr.As16()
	group := [16]byte{0xff, 2, 10: 0, 11: 1, 12: 0xff, 13: a[13], 14: a[14], 15: a[15]}
	body := append([]byte{neighbourSolicitation, 0, 0, 0, 0, 0, 0, 0}, a[:]...)
	return icmpv6(mac, net.HardwareAddr{0x33, 0x33, 0xff, a[13], a[14], a[15]}, netip.IPv6Unspecified(), netip.AddrFrom16(group), body)
}

// ndpAnnouncement tells everybody who has an address.
func ndpAnnouncement(mac net.HardwareAddr, addr netip.Addr) []byte {
	a := addr.As16()
	body := binary.BigEndian.AppendUint32([]byte{neighbourAdvert, 0, 0, 0}, overrides)
	body = append(append(body, a[:]...), targetLinkLayer, 1)
	body = append(body, mac...)
	return icmpv6(mac, net.HardwareAddr{0x33, 0x33, 0, 0, 0, 1}, addr, netip.IPv6LinkLocalAllNodes(), body)
}

func icmpv6(from, to net.HardwareAddr, source, destination netip.Addr, body []byte) []byte {
	binary.BigEndian.PutUint16(body[2:], checksum(source, destination, body))
	b := ethernet(to, from, typeIPv6)
	b = append(b, 0x60, 0, 0, 0)
	b = binary.BigEndian.AppendUint16(b, uint16(len(body))) //nolint:gosec // 24 or 32
	b = append(b, protocolICMPv6, 255)
	s, d := source.As16(), destination.As16()
	return append(append(append(b, s[:]...), d[:]...), body...)
}

// checksum is that of ICMPv6, over the body, whose own field is zero, and a header
// made of the addresses.
func checksum(source, destination netip.Addr, body []byte) uint16 {
	s, d := source.As16(), destination.As16()
	var sum uint32
	add := func(b []byte) {
		for len(b) > 1 {
			sum += uint32(binary.BigEndian.Uint16(b))
			b = b[2:]
		}
		if len(b) == 1 {
			sum += uint32(b[0]) << 8
		}
	}
	add(s[:])
	add(d[:])
	sum += uint32(len(body)) + protocolICMPv6 //nolint:gosec // bounded by a frame
	add(body)
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	return ^uint16(sum)
}

// parseNeighbour reads a frame.
func parseNeighbour(frame []byte) (neighbour, bool) {
	const least = ethernetHeader + ipv6Header + neighbourLength
	if len(frame) < least || binary.BigEndian.Uint16(frame[12:]) != typeIPv6 {
		return neighbour{}, false
	}
	ip := frame[ethernetHeader:]
	// A hop limit of 255 is one that no router has seen.
	if ip[0]>>4 != 6 || ip[6] != protocolICMPv6 || ip[7] != 255 {
		return neighbour{}, false
	}
	body := ip[ipv6Header:]
	length := int(binary.BigEndian.Uint16(ip[4:]))
	if length < neighbourLength || length > len(body) {
		return neighbour{}, false
	}
	body = body[:length]
	source, destination := netip.AddrFrom16([16]byte(ip[8:24])), netip.AddrFrom16([16]byte(ip[24:40]))
	if checksum(source, destination, body) != 0 || body[0] != neighbourSolicitation && body[0] != neighbourAdvert || body[1] != 0 {
		return neighbour{}, false
	}
	n := neighbour{kind: body[0], mac: net.HardwareAddr(bytes.Clone(frame[6:12])), source: source, target: netip.AddrFrom16([16]byte(body[8:24]))}
	if o := body[neighbourLength:]; len(o) >= linkLayerOption && o[1] == 1 && (o[0] == sourceLinkLayer || o[0] == targetLinkLayer) {
		n.mac = net.HardwareAddr(bytes.Clone(o[2:8]))
	}
	return n, true
}
