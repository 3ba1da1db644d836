package schema

import "github.com/holdfast-ops/holdfast/internal/om/keyword"

func network() keyword.Section {
	t := newTypes()
	t.add("", func(k unread) {
		k.text("type", "bridge: addresses of one node. routed_bridge: addresses routed between the nodes, each with its subnet. lo: the loopback.").
			Default("bridge").OneOf("bridge", "routed_bridge", "lo")
		k.number("mask_per_node", "The length of the mask of the subnet of each node, within the network.").Between(0, 128).Default("0").Eg("24")
	})
	t.add("lo", func(unread) {})
	t.add("bridge", func(k unread) {
		k.text("network", "The addresses of the network.").Check(keyword.Network).Scopable().Eg("10.22.0.0/16")
	})
	t.add("bridge routed_bridge", func(k unread) {
		k.text("dev", "The name of the bridge.").Check(keyword.Interface).Eg("obr_net1")
		k.flag("public", "Do not translate the addresses of the network when they go out.")
	})
	t.add("routed_bridge", func(k unread) {
		k.text("network", "The addresses of the network, which the subnets of the nodes are taken from.").Check(keyword.Network).Eg("fd01:2345::/64")
		k.text("subnet", "The subnet of the node.").Check(keyword.Network).Scopable().Eg("10.23.1.0/24")
		k.text("gateway", "The address of the bridge in the subnet of the node.").Check(keyword.Address).Scopable().Eg("10.23.1.1")
		k.text("addr", "The address the peers reach the node by.").Check(keyword.Host).Scopable().DefaultText("That of the node name.")
		k.number("ips_per_node", "How many addresses each node has.").AtLeast(1).Default("1024").Deprecated("write mask_per_node instead")
		k.list("tables", "The routing tables the routes to the peers are written in.").Check(keyword.Each(keyword.Word)).Default("main").Eg("main custom1 100")
		k.text("tunnel", "auto: tunnel to the peers of other networks. always: to all. never: to none.").
			Default("auto").OneOf("always", "auto", "never")
		k.text("tunnel_mode", "How packets are encapsulated.").Default("ipip").OneOf("gre", "ip6ip6", "ipip")
	})
	return t.section("network", "Addresses for the objects to take.", "bridge")
}
