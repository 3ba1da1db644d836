package network

import (
	"context"
	"net/url"
	"slices"

	"github.com/holdfast-ops/holdfast/internal/koc/command"
	"github.com/holdfast-ops/holdfast/internal/koc/noun"
	"github.com/holdfast-ops/holdfast/internal/koc/render"
)

func netCommands() []command.Entry {
	n := networks()
	return []command.Entry{
		{Name: "network create", Build: n.Create(tagged(n, extra(noun.Writing{
			Short: "Create a network",
			Args:  []command.Arg{{Name: "<name>", Help: "Name of the new network"}}, NameArg: "<name>",
			Fields: slices.Concat(netFields("new network"), noun.InProject("Project that owns the network"), []noun.Field{
				noun.Strings("availability-zone-hint", "<availability-zone>", "availability_zone_hints", "Prefer this availability zone"),
				qosPolicies().Reference("qos-policy", "<qos-policy>", "qos_policy_id", "QoS policy of the network, by name or id"),
				noun.On("transparent-vlan", "vlan_transparent", true, "Let guests of the network use VLAN tags"),
				noun.On("no-transparent-vlan", "vlan_transparent", false, "Do not let guests of the network use VLAN tags"),
				noun.On("qinq-vlan", "vlan_qinq", true, "Let guests of the network use VLAN tags by QinQ"),
				noun.On("no-qinq-vlan", "vlan_qinq", false, "Do not use QinQ for the network"),
			}),
			Exclusive: append(netExclusive(), "transparent-vlan no-transparent-vlan", "qinq-vlan no-qinq-vlan"),
			Shown:     shownNet(),
		})))},
		{Name: "network delete", Build: n.Delete(noun.Deleting{
			Short: "Delete networks",
			Arg:   command.Arg{Name: "<network>", Help: "Networks to delete, by name or id", Many: true, Complete: "network"},
			Flags: []command.Flag{command.Parallel()},
		})},
		{Name: "network list", Build: n.List(noun.Listing{
			Short: "List networks",
			Filters: slices.Concat([]noun.Field{
				noun.On("external", "router:external", true, "Only external networks"),
				noun.On("internal", "router:external", false, "Only networks that are not external"),
				nameFilter("networks"),
				noun.On("enable", "admin_state_up", true, "Only networks that are enabled"),
				noun.On("disable", "admin_state_up", false, "Only networks that are disabled"),
			}, noun.InProject("Only networks of this project"), []noun.Field{
				noun.On("share", "shared", true, "Only networks that all projects may use"),
				noun.On("no-share", "shared", false, "Only networks that are not shared"),
				noun.OneOf("status", "<status>", "status", "Only networks in this status", "ACTIVE", "BUILD", "DOWN", "ERROR"),
				noun.OneOf("provider-network-type", "<provider-network-type>", "provider:network_type", "Only networks made in this way",
					"flat", "geneve", "gre", "local", "vlan", "vxlan"),
				noun.String("provider-physical-network", "<provider-physical-network>", "provider:physical_network", "Only networks over this physical network"),
				noun.String("provider-segment", "<provider-segment>", "provider:segmentation_id", "Only networks of this VLAN or tunnel id"),
			}, tagFilters("networks")),
			Flags:     []command.Flag{{Name: "agent", Value: "<agent-id>", Help: "Only networks that this DHCP agent serves; other filters are left aside"}},
			Exclusive: []string{"external internal", "enable disable", "share no-share"},
			Path: func(_ context.Context, c *command.Call) (string, error) {
				agent := c.Text("agent")
				if c.Compat() && c.Is("long") { // upstream forgets the agent then
					agent = ""
				}
				if agent != "" {
					return "/agents/" + url.PathEscape(agent) + "/dhcp-networks", nil
				}
				return n.Path, nil
			},
			Columns: []noun.Column{
				{Title: "ID", Attr: "id"},
				{Title: "Name", Attr: "name"},
				{Title: "Status", Attr: "status", Long: true},
				{Title: "Project", Attr: "project_id", Long: true},
				{Title: "State", Attr: "admin_state_up", Cell: upDown, Long: true},
				{Title: "Shared", Attr: "shared", Long: true},
				{Title: "Subnets", Attr: "subnets", Cell: list},
				{Title: "Network Type", Attr: "provider:network_type", Long: true},
				{Title: "Router Type", Attr: "router:external", Cell: routerExternal, Long: true},
				{Title: "Availability Zones", Attr: "availability_zones", Cell: list, Long: true},
				{Title: "Tags", Attr: "tags", Cell: tags, Long: true},
			},
		})},
		{Name: "network set", Build: n.Set(retagged(n, extra(noun.Writing{
			Short: "Change a network",
			Args:  []command.Arg{n.Ref("<network>", "change")}, RefArg: "<network>",
			Fields: slices.Concat([]noun.Field{noun.String("name", "<name>", "name", "Rename the network")}, netFields("network"), []noun.Field{
				qosPolicies().Reference("qos-policy", "<qos-policy>", "qos_policy_id", "QoS policy of the network, by name or id"),
				noun.On("no-qos-policy", "qos_policy_id", noun.Null{}, "Take the QoS policy off the network"),
			}),
			Exclusive: append(netExclusive(), "qos-policy no-qos-policy"),
		})))},
		{Name: "network show", Build: n.Show(noun.Showing{
			Short: "Show a network", Arg: n.Ref("<network>", "show"), Fields: shownNet(),
		})},
		{Name: "network unset", Build: n.Set(untagged(n, unextra(noun.Writing{
			Short: "Take properties off a network",
			Args:  []command.Arg{n.Ref("<network>", "change")}, RefArg: "<network>",
			Fields: []noun.Field{{Flag: command.Flag{Name: "share", Koc: true, Help: "Share the network no more"}, Attr: "shared", Const: false}},
		})))},
	}
}

// netFields are what create and set have in common.
func netFields(of string) []noun.Field {
	return []noun.Field{
		noun.On("share", "shared", true, "Let all projects use the network"),
		noun.On("no-share", "shared", false, "Do not share the network"),
		noun.On("enable", "admin_state_up", true, "Enable the network"),
		noun.On("disable", "admin_state_up", false, "Disable the network"),
		description(of),
		noun.String("mtu", "<mtu>", "mtu", "Largest packet the network carries, in bytes"),
		noun.On("enable-port-security", "port_security_enabled", true, "Secure the ports of the network unless they say otherwise"),
		noun.On("disable-port-security", "port_security_enabled", false, "Do not secure the ports of the network unless they say otherwise"),
		noun.On("external", "router:external", true, "Make the network an external one"),
		noun.On("internal", "router:external", false, "Make the network an internal one"),
		noun.On("default", "is_default", true, "Make the network the default external one"),
		noun.On("no-default", "is_default", false, "Do not use the network as the default external one"),
		noun.String("provider-network-type", "<provider-network-type>", "provider:network_type", "How the network is made: flat, geneve, gre, local, vlan or vxlan"),
		noun.String("provider-physical-network", "<provider-physical-network>", "provider:physical_network", "Physical network below the network"),
		noun.String("provider-segment", "<provider-segment>", "provider:segmentation_id", "VLAN or tunnel id of the network"),
		noun.String("dns-domain", "<dns-domain>", "dns_domain", "DNS domain of the ports of the network"),
	}
}

func netExclusive() []string {
	return []string{"share no-share", "enable disable", "enable-port-security disable-port-security", "external internal", "default no-default"}
}

func routerExternal(v any) any { return render.BoolCell(orFalse(v), "External", "Internal") }

func shownNet() noun.Fields {
	return fields(
		noun.Column{Title: "admin_state_up", Cell: upDown},
		noun.Column{Title: "availability_zone_hints", Cell: list},
		noun.Column{Title: "availability_zones", Cell: list},
		noun.Column{Title: "created_at"},
		noun.Column{Title: "description"},
		noun.Column{Title: "dns_domain"},
		noun.Column{Title: "id"},
		noun.Column{Title: "ipv4_address_scope"},
		noun.Column{Title: "ipv6_address_scope"},
		noun.Column{Title: "is_default"},
		noun.Column{Title: "is_vlan_transparent", Attr: "vlan_transparent"},
		noun.Column{Title: "mtu"},
		noun.Column{Title: "name"},
		noun.Column{Title: "port_security_enabled", Cell: orFalse},
		noun.Column{Title: "project_id"},
		noun.Column{Title: "provider:network_type"},
		noun.Column{Title: "provider:physical_network"},
		noun.Column{Title: "provider:segmentation_id"},
		noun.Column{Title: "qos_policy_id"},
		noun.Column{Title: "revision_number"},
		noun.Column{Title: "router:external", Cell: routerExternal},
		noun.Column{Title: "segments"},
		noun.Column{Title: "shared"},
		noun.Column{Title: "status"},
		noun.Column{Title: "subnets", Cell: list},
		noun.Column{Title: "tags", Cell: tags},
		noun.Column{Title: "updated_at"},
		newer("is_vlan_qinq", "vlan_qinq"),
	)
}
