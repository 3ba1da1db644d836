// Package ip has the drivers of network addresses.
package ip

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-ops/holdfast/internal/linux/link"
	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/keyword"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/resource"
)

// Host is the driver of addresses on the interfaces of the node.
var Host = resource.Spec{
	Group: "ip",
	Name:  "host",
	Doc: "An address on a network interface of the node, which moves with the instance. Before a start adds it, the link is asked who has it: an address " +
		"that another host has is not added, unless --force. After, it is announced, so that the other hosts of the link send here at once. A stop removes what the start added, and nothing else.",
	Kinds: []object.Kind{object.KindSvc},
	New:   func(e resource.Env) resource.Driver { return &host{env: e} },
}

const (
	// metric is that of the default routes: above those of the node, which win.
	metric = 2048
	// longestLabel is what the kernel allows.
	longestLabel = 15
)

type host struct {
	env                         resource.Env
	name, dev, netmask, gateway string
	alias, checkCarrier         bool
}

// Keywords implements [resource.Driver].
func (h *host) Keywords(k *keyword.Table) {
	k.String(&h.name, "name", "The address, or a host name that is looked up. Of the addresses of a name, the first of IPv4 is taken, else the first of IPv6. What a name was last resolved to is used while it cannot be.").Required().Alias("ipname").Check(keyword.Host).Scopable().Eg("192.0.2.10")
	k.String(&h.dev, "dev", "The network interface that holds the address, with the label of the address behind a colon if it needs one of its own, as eth0:web.").Required().Alias("ipdev").Check(checkDev).Scopable().Eg("eth0")
	k.String(&h.netmask, "netmask", "The mask of the network, as the length of its prefix or in dotted notation. By default it is that of the address of the interface which is in the same network.").Check(checkNetmask).Scopable().Eg("24")
	k.String(&h.gateway, "gateway", "The router by which the node sends what it sends from the address. It makes a default route that every other one of the node goes before.").Check(keyword.Address).Scopable().Eg("192.0.2.1")
	k.Bool(&h.alias, "alias", "When true, an address of IPv4 has a label made of the interface and of the index of the resource, as eth0:1, which the tools of old show as an interface of its own. A label that the kernel would find too long is left out.").Default("true").Scopable()
	k.Bool(&h.checkCarrier, "check_carrier", "When true, an interface that is not connected makes the resource down, and is a reason not to start it there.").Default("true").Scopable()
}

// checkDev is the rule of an interface with a label.
func checkDev(text string) error {
	dev, label, labelled := strings.Cut(text, ":")
	if err := keyword.Interface(dev); err != nil {
		return err
	}
	if labelled && (dev == "" || label == "" || len(text) > longestLabel || strings.Contains(label, ":")) {
		return fmt.Errorf("not a label: write the interface and a word, as eth0:web, in %d characters at most", longestLabel)
	}
	return nil
}

// checkNetmask is the rule of netmasks.
func checkNetmask(text string) error {
	_, err := parseNetmask(text)
	return err
}

// parseNetmask reads the length of a prefix, or a mask in dotted notation.
func parseNetmask(text string) (bits int, err error) {
	wrong := errors.New("not a netmask: write the length of a prefix, as 24, or a mask, as 255.255.255.0")
	if n, err := strconv.ParseUint(strings.TrimPrefix(text, "/"), 10, 8); err == nil {
		if n > 128 {
			return 0, wrong
		}
		return int(n), nil
	}
	mask, err := netip.ParseAddr(text)
	if err != nil {
		return 0, wrong
	}
	hole := false
	for _, b := range mask.AsSlice() {
		for bit := 7; bit >= 0; bit-- {
			switch {
			case b>>bit&1 == 0:
				hole = true
			case hole:
				return 0, wrong
			default:
				bits++
			}
		}
	}
	return bits, nil
}

// interfaceName is the interface without the label.
func (h *host) interfaceName() string {
	dev, _, _ := strings.Cut(h.dev, ":")
	return dev
}

func (h *host) label(addr netip.Addr) string {
	_, index, _ := strings.Cut(h.env.RID, "#")
	switch {
	case addr.Is6():
		return ""
	case strings.Contains(h.dev, ":"):
		return h.dev
	case !h.alias || len(h.dev)+1+len(index) > longestLabel:
		return h.dev
	}
	return h.dev + ":" + index
}

// Status implements [resource.Driver].
func (h *host) Status(ctx context.Context) resource.State {
	s := resource.State{Status: cluster.Down, Label: h.name + " on " + h.dev, Info: map[string]any{}}
	remark := func(level, format string, a ...any) {
		s.Log = append(s.Log, cluster.ResourceLogEntry{Level: level, Message: fmt.Sprintf(format, a...)})
	}
	addr, note, err := h.known(ctx)
	if err != nil {
		if had, unread := h.recorded(); had != nil || unread != nil {
			s.Status = cluster.Warn // it may be here
		} // else no start ever added it, and a stop has nothing to remove
		remark("error", "%s", err)
		return s
	}
	if note != "" {
		remark("warn", "%s", note)
	}
	s.Info["ipaddr"] = addr.String()
	s.Label = fmt.Sprintf("%s on %s", addr, h.dev)
	seen, elsewhere, err := find(addr, h.interfaceName())
	if err != nil {
		s.Status = cluster.Warn
		remark("error", "%s", err)
		return s
	}
	for _, a := range elsewhere {
		remark("warn", "%s is on %s: the resource wants it on %s", addr, a.Interface, h.interfaceName())
	}
	i, err := link.Find(h.interfaceName())
	if err != nil {
		remark("warn", "%s", err)
		return s
	}
	if seen == nil {
		return s
	}
	s.Status, s.Label = cluster.Up, fmt.Sprintf("%s on %s", seen.Prefix, h.dev)
	if why := h.unfit(i); why != "" {
		s.Status = cluster.Down
		remark("error", "%s has the address, and %s", i.Name, why)
	}
	if seen.Duplicate {
		s.Status = cluster.Warn
		remark("error", "another host has %s: it is not used here", addr)
	}
	if bits, err := h.bits(addr, i.Name); err == nil && bits != seen.Prefix.Bits() {
		remark("warn", "the netmask is %d, should be %d", seen.Prefix.Bits(), bits)
	}
	return s
}

// unfit says why an address is of no use on an interface; "" when it is.
func (h *host) unfit(i link.Interface) string {
	switch {
	case !i.Up:
		return i.Name + " is not up"
	case h.checkCarrier && !i.Carrier:
		return i.Name + " has no carrier"
	}
	return ""
}

// find looks for an address, on an interface and on the others.
func find(addr netip.Addr, dev string) (here *link.Address, elsewhere []link.Address, err error) {
	all, err := link.Addresses()
	if err != nil {
		return nil, nil, err
	}
	for _, a := range all {
		switch {
		case a.Prefix.Addr() != addr:
		case a.Interface == dev:
			here = &a
		case !addr.IsLinkLocalUnicast(): // one of each link
			elsewhere = append(elsewhere, a)
		}
	}
	return here, elsewhere, nil
}

// bits is the length of the prefix of the address.
func (h *host) bits(addr netip.Addr, dev string) (int, error) {
	if h.netmask != "" {
		bits, err := parseNetmask(h.netmask)
		switch {
		case err == nil && bits == 0:
			err = fmt.Errorf("netmask %s would make every address of the world one of the link of %s: set it to that of the network, as 24", h.netmask, dev)
		case err == nil && bits > addr.BitLen():
			err = fmt.Errorf("netmask %s is too long for %s", h.netmask, addr)
		}
		return bits, err
	}
	all, err := link.Addresses()
	if err != nil {
		return 0, err
	}
	for _, a := range all {
		if a.Interface == dev && a.Prefix.Addr() != addr && a.Prefix.Bits() < addr.BitLen() && a.Prefix.Masked().Contains(addr) {
			return a.Prefix.Bits(), nil
		}
	}
	return 0, fmt.Errorf("no address of %s is in the network of %s: set netmask, as 24", dev, addr)
}

// Start implements [resource.Starter].
func (h *host) Start(ctx context.Context) error {
	want, i, err := h.prepare(ctx)
	if err != nil {
		return &resource.UntouchedError{Err: err}
	}
	// The address of a former configuration must not stay unrecorded.
	had, err := h.recorded()
	if err == nil && had != nil && had.place() != want.place() {
		err = h.remove(*had)
	}
	if err == nil {
		err = h.record(want)
	}
	if err != nil {
		return err
	}
	h.env.Infof("add %s", want.Address)
	if err := link.Add(want.Address); err != nil {
		return err
	}
	if want.Route != nil {
		h.env.Infof("add a default route by %s", want.Route.Gateway)
		if err := link.AddRoute(*want.Route); err != nil {
			return err
		}
	}
	if err := link.Announce(ctx, i, want.Prefix.Addr()); err != nil {
		// It is here: the others learn it as soon as they ask.
		h.env.Warnf("%s", err)
	}
	return nil
}

// prepare decides what a start adds, and refuses what it must not.
func (h *host) prepare(ctx context.Context) (added, link.Interface, error) {
	addr, note, err := h.resolve(ctx)
	if err != nil {
		return added{}, link.Interface{}, err
	}
	if note != "" {
		h.env.Warnf("%s", note)
	}
	if addr.IsUnspecified() || addr.IsMulticast() {
		return added{}, link.Interface{}, fmt.Errorf("%s is no address of a host: set name", addr)
	}
	i, err := link.Find(h.interfaceName())
	if err != nil {
		return added{}, i, err
	}
	if why := h.unfit(i); why != "" {
		return added{}, i, fmt.Errorf("%s is not added: %s", addr, why)
	}
	bits, err := h.bits(addr, i.Name)
	if err != nil {
		return added{}, i, err
	}
	want := added{Address: link.Address{Interface: i.Name, Prefix: netip.PrefixFrom(addr, bits), Label: h.label(addr)}}
	if want.Route, err = h.route(addr); err != nil {
		return added{}, i, err
	}
	_, elsewhere, err := find(addr, i.Name)
	if err != nil {
		return added{}, i, err
	}
	if len(elsewhere) > 0 {
		return added{}, i, fmt.Errorf("this node has %s already: remove it there, or set dev", elsewhere[0])
	}
	return want, i, h.refuseDuplicate(ctx, i, addr)
}

// refuseDuplicate asks the link who has the address.
func (h *host) refuseDuplicate(ctx context.Context, i link.Interface, addr netip.Addr) error {
	holder, err := link.Holder(ctx, i, addr)
	switch {
	case err != nil && !h.env.Force:
		return fmt.Errorf("%w: whether another host has the address is not known: --force adds it all the same", err)
	case err != nil:
		h.env.Warnf("forced: %s", err)
	case holder != nil && !h.env.Force:
		return fmt.Errorf("%s is not added: the host with the hardware address %s has it on the link of %s: stop it there, or --force", addr, holder, i.Name)
	case holder != nil:
		h.env.Warnf("forced: the host with the hardware address %s has %s too", holder, addr)
	}
	return nil
}

func (h *host) route(addr netip.Addr) (*link.Route, error) {
	if h.gateway == "" {
		return nil, nil //nolint:nilnil // none is wanted
	}
	gateway, err := netip.ParseAddr(h.gateway)
	if err != nil {
		return nil, fmt.Errorf("gateway %s: %w", h.gateway, err)
	}
	if gateway.Is6() != addr.Is6() {
		return nil, fmt.Errorf("gateway %s and address %s are not of one family", gateway, addr)
	}
	return &link.Route{Interface: h.interfaceName(), Gateway: gateway, Source: addr, Metric: metric}, nil
}

// Stop implements [resource.Stopper].
func (h *host) Stop(ctx context.Context) error {
	there, err := h.there(ctx)
	if err != nil {
		return err
	}
	for _, a := range there {
		if err := h.remove(a); err != nil {
			return err
		}
	}
	return h.forget()
}

// there lists what there is of the resource: what a start recorded, and the address
// of the configuration, when it is on the interface without a record.
func (h *host) there(ctx context.Context) ([]added, error) {
	had, err := h.recorded()
	if err != nil {
		return nil, err
	}
	var list []added
	if had != nil {
		here, _, err := find(had.Prefix.Addr(), had.Interface)
		if err != nil {
			return nil, err
		}
		if here != nil || had.Route != nil {
			list = append(list, *had)
		}
	}
	addr, _, err := h.known(ctx)
	if err != nil {
		return list, nil //nolint:nilerr // a name that never was known here was never added
	}
	here, _, err := find(addr, h.interfaceName())
	if err != nil {
		return nil, err
	}
	if found := (added{}); here != nil {
		found.Address = *here
		if had == nil || found.place() != had.place() {
			list = append(list, found)
		}
	}
	return list, nil
}

func (h *host) remove(a added) error {
	if a.Route != nil {
		if err := link.RemoveRoute(*a.Route); err != nil {
			return err
		}
	}
	h.env.Infof("remove %s", a.Address)
	return link.Remove(a.Address)
}

// Remains implements [resource.Remainer]: an address on an interface that is not
// connected is down, and so is that of a former configuration, and they are there.
func (h *host) Remains(ctx context.Context) (string, error) {
	there, err := h.there(ctx)
	if err != nil || len(there) == 0 {
		return "", err
	}
	return there[0].String(), nil
}

// resolveTimeout bounds the look-up of a name.
const resolveTimeout = 5 * time.Second

var (
	_ resource.Starter  = (*host)(nil)
	_ resource.Stopper  = (*host)(nil)
	_ resource.Remainer = (*host)(nil)
)
