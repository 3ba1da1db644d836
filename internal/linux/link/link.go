// Package link looks at and changes the addresses of the network interfaces of the
// host, and speaks with who else is on a link: it asks who has an address, and
// tells that this host has one now. It is the only user of netlink.
package link

import (
	"errors"
	"fmt"
	"net"
	"net/netip"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// Interface is a network interface of the host.
type Interface struct {
	Index   int
	Name    string
	MAC     net.HardwareAddr
	Up      bool // its administrator wants it up
	Carrier bool // it is connected to something
	Asks    bool // it has neighbours that are found by ARP or NDP
}

// Address is an address on an interface.
type Address struct {
	Interface string
	Prefix    netip.Prefix // the address, with the length of its mask
	Label     string       // as "eth0:web", of IPv4
	Doubted   bool         // IPv6: not used while the kernel looks for another holder
	Duplicate bool         // IPv6: the kernel found another holder
}

// String writes the address as a person does.
func (a Address) String() string { return a.Prefix.String() + " on " + a.Interface }

// NotFoundError tells that the host has no such interface.
type NotFoundError struct{ Name string }

// Error names the interface.
func (e *NotFoundError) Error() string { return "this host has no network interface " + e.Name }

// Find returns an interface by its name.
func Find(name string) (Interface, error) {
	l, err := netlink.LinkByName(name)
	if _, missing := errors.AsType[netlink.LinkNotFoundError](err); missing {
		return Interface{}, &NotFoundError{Name: name}
	}
	if err != nil {
		return Interface{}, fmt.Errorf("look up interface %s: %w", name, err)
	}
	a := l.Attrs()
	return Interface{
		Index: a.Index, Name: a.Name, MAC: a.HardwareAddr,
		Up: a.Flags&net.FlagUp != 0, Carrier: a.RawFlags&unix.IFF_LOWER_UP != 0,
		Asks: a.RawFlags&(unix.IFF_NOARP|unix.IFF_LOOPBACK|unix.IFF_POINTOPOINT) == 0 && len(a.HardwareAddr) == macLength,
	}, nil
}

// Addresses lists the addresses of all interfaces.
func Addresses() ([]Address, error) {
	names := map[int]string{}
	links, err := netlink.LinkList()
	if err != nil {
		return nil, fmt.Errorf("list the network interfaces: %w", err)
	}
	for _, l := range links {
		names[l.Attrs().Index] = l.Attrs().Name
	}
	seen, err := netlink.AddrList(nil, netlink.FAMILY_ALL)
	if err != nil {
		return nil, fmt.Errorf("list the addresses: %w", err)
	}
	list := make([]Address, 0, len(seen))
	for _, a := range seen {
		ip, ok := netip.AddrFromSlice(a.IP)
		if !ok {
			continue
		}
		bits, _ := a.Mask.Size()
		list = append(list, Address{
			Interface: names[a.LinkIndex], Prefix: netip.PrefixFrom(ip.Unmap(), bits), Label: a.Label,
			Doubted: a.Flags&unix.IFA_F_TENTATIVE != 0, Duplicate: a.Flags&unix.IFA_F_DADFAILED != 0,
		})
	}
	return list, nil
}

// Add puts an address on its interface. Whether another host has it is asked
// before, by [Holder]: the kernel does not look again.
func Add(a Address) error {
	l, addr, err := a.kernel()
	if err != nil {
		return err
	}
	if a.Prefix.Addr().Is6() {
		addr.Flags = unix.IFA_F_NODAD
	} else {
		addr.Broadcast = broadcast(a.Prefix)
	}
	if err := netlink.AddrAdd(l, addr); err != nil {
		return fmt.Errorf("add %s: %w", a, err)
	}
	return nil
}

// Remove takes an address off its interface, and nothing else: the kernel drops the
// other addresses of a network with the first of them, which are kept here. An address
// or an interface that is not there is no error.
func Remove(a Address) error {
	l, addr, err := a.kernel()
	if _, missing := errors.AsType[*NotFoundError](err); missing {
		return nil
	}
	if err != nil {
		return err
	}
	addr.Label = "" // an address is known without it
	before, err := netlink.AddrList(l, family(a.Prefix.Addr()))
	if err != nil {
		return fmt.Errorf("list the addresses of %s: %w", a.Interface, err)
	}
	if err := netlink.AddrDel(l, addr); err != nil && !errors.Is(err, unix.EADDRNOTAVAIL) {
		return fmt.Errorf("remove %s: %w", a, err)
	}
	return restore(l, a, before)
}

// restore puts back what the kernel dropped beside an address.
func restore(l netlink.Link, removed Address, before []netlink.Addr) error {
	if removed.Prefix.Addr().Is6() {
		return nil
	}
	after, err := netlink.AddrList(l, netlink.FAMILY_V4)
	if err != nil {
		return fmt.Errorf("list the addresses of %s: %w", removed.Interface, err)
	}
	there := map[string]bool{}
	for _, a := range after {
		there[a.IPNet.String()] = true
	}
	var errs []error
	for _, a := range before {
		ip, ok := netip.AddrFromSlice(a.IP)
		if !ok || there[a.IPNet.String()] || ip.Unmap() == removed.Prefix.Addr() {
			continue
		}
		a.Flags &^= unix.IFA_F_SECONDARY | unix.IFA_F_PERMANENT
		if err := netlink.AddrAdd(l, &a); err != nil && !errors.Is(err, unix.EEXIST) {
			errs = append(errs, fmt.Errorf("put back %s on %s, which went with %s: %w", a.IPNet, removed.Interface, removed.Prefix, err))
		}
	}
	return errors.Join(errs...)
}

func (a Address) kernel() (netlink.Link, *netlink.Addr, error) {
	l, err := netlink.LinkByName(a.Interface)
	if _, missing := errors.AsType[netlink.LinkNotFoundError](err); missing {
		return nil, nil, &NotFoundError{Name: a.Interface}
	}
	if err != nil {
		return nil, nil, fmt.Errorf("look up interface %s: %w", a.Interface, err)
	}
	return l, &netlink.Addr{
		IPNet: &net.IPNet{IP: a.Prefix.Addr().AsSlice(), Mask: net.CIDRMask(a.Prefix.Bits(), a.Prefix.Addr().BitLen())},
		Label: a.Label,
	}, nil
}

// broadcast is the last address of an IPv4 network, nil where there is none.
func broadcast(p netip.Prefix) net.IP {
	if p.Bits() >= 31 {
		return nil
	}
	ip := p.Masked().Addr().As4()
	for bit := p.Bits(); bit < 32; bit++ {
		ip[bit/8] |= 0x80 >> (bit % 8)
	}
	return ip[:]
}

func family(a netip.Addr) int {
	if a.Is6() {
		return netlink.FAMILY_V6
	}
	return netlink.FAMILY_V4
}

// Route is a way out by a gateway, for what is sent from an address.
type Route struct {
	Interface string
	Gateway   netip.Addr
	Source    netip.Addr
	Metric    int // the kernel prefers the least
}

// AddRoute adds a default route. One that is there already is no error.
func AddRoute(r Route) error {
	route, err := r.kernel()
	if err != nil {
		return err
	}
	if err := netlink.RouteAdd(route); err != nil && !errors.Is(err, unix.EEXIST) {
		return fmt.Errorf("add a default route by %s on %s: %w", r.Gateway, r.Interface, err)
	}
	return nil
}

// RemoveRoute removes a default route. One that is not there is no error.
func RemoveRoute(r Route) error {
	route, err := r.kernel()
	if _, missing := errors.AsType[*NotFoundError](err); missing {
		return nil
	}
	if err != nil {
		return err
	}
	if err := netlink.RouteDel(route); err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("remove the default route by %s on %s: %w", r.Gateway, r.Interface, err)
	}
	return nil
}

func (r Route) kernel() (*netlink.Route, error) {
	i, err := Find(r.Interface)
	if err != nil {
		return nil, err
	}
	everything := &net.IPNet{IP: net.IPv4zero.To4(), Mask: net.CIDRMask(0, 32)}
	if r.Gateway.Is6() {
		everything = &net.IPNet{IP: net.IPv6zero, Mask: net.CIDRMask(0, 128)}
	}
	return &netlink.Route{
		LinkIndex: i.Index, Family: family(r.Gateway), Dst: everything, Gw: r.Gateway.AsSlice(), Src: r.Source.AsSlice(), Priority: r.Metric,
	}, nil
}
