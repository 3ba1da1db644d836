package link

import (
	"net"
	"net/netip"
)

// Claimed is who has an address, by a frame.
func Claimed(frame []byte, addr netip.Addr) net.HardwareAddr { return claimed(frame, addr) }

// Probe and Announcement are the frames about an address.
func Probe(mac net.HardwareAddr, addr netip.Addr) []byte {
	if addr.Is6() {
		return ndpProbe(mac, addr)
	}
	return arpProbe(mac, addr)
}

// Announcement is the frame that tells who has an address.
func Announcement(mac net.HardwareAddr, addr netip.Addr) []byte {
	if addr.Is6() {
		return ndpAnnouncement(mac, addr)
	}
	return arpAnnouncement(arpReply, mac, addr)
}
