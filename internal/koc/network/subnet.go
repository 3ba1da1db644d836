package network

import (
	"context"
	"slices"
	"strings"

	"github.com/holdfast-ops/holdfast/internal/koc/command"
	"github.com/holdfast-ops/holdfast/internal/koc/noun"
	"github.com/holdfast-ops/holdfast/internal/koc/render"
)

func subnetCommands() []command.Entry {
	n := subnets()
	return []command.Entry{
		{Name: "subnet create", Build: n.Create(tagged(n, extra(noun.Writing{
			Short: "Create a subnet",
			Args:  []command.Arg{{Name: "<name>", Help: "Name of the new subnet"}}, NameArg: "<name>",
			Fields: slices.Concat(noun.InProject("Project that owns the subnet"), []noun.Field{
				must(networks().Reference("network", "<network>", "network_id", "Network of the subnet, by name or id")),
				subnetPools().Reference("subnet-pool", "<subnet-pool>", "subnetpool_id", "Take the addresses from this subnet pool, by name or id"),
				{
					Flag: command.Flag{Name: "use-prefix-delegation", Value: "<use-prefix-delegation>", Help: "Take an IPv6 prefix that is delegated from outside"},
					Attr: "subnetpool_id", To: func(context.Context, *command.Call, string) (any, error) { return "prefix_delegation", nil },
				},
				noun.On("use-default-subnet-pool", "use_default_subnet_pool", true, "Take the addresses from the default pool of the IP version"),
				noun.String("prefix-length", "<prefix-length>", "prefixlen", "Length of the prefix to take from the pool"),
				noun.String("subnet-range", "<subnet-range>", "cidr", "Addresses of the subnet in CIDR notation; required without a pool"),
				{Flag: command.Flag{
					Name: "ip-version", Value: "<ip-version>", Type: command.Int, Choices: []string{"4", "6"}, Default: "4",
					Help: "IP version; a subnet pool decides it by itself",
				}},
				noun.OneOf("ipv6-ra-mode", "<ipv6-ra-mode>", "", "What router advertisements say", "dhcpv6-stateful", "dhcpv6-stateless", "slaac"),
				noun.OneOf("ipv6-address-mode", "<ipv6-address-mode>", "", "How guests get their IPv6 addresses", "dhcpv6-stateful", "dhcpv6-stateless", "slaac"),
				{Flag: command.Flag{Name: "gateway", Value: "<gateway>", Default: "auto", Help: "Address of the gateway; auto takes one of the subnet, none makes it have none"}, Attr: "-"},
			}, subnetFields("new subnet"), subnetLists("")),
			Exclusive: append(subnetExclusive(), "subnet-pool use-prefix-delegation use-default-subnet-pool"),
			Body: func(_ context.Context, c *command.Call, body *noun.Object, _ noun.Object) error {
				if gateway := strings.ToLower(c.Text("gateway")); gateway != "auto" {
					body.Set("gateway_ip", noneIsNull(gateway))
				}
				return nil
			},
			Shown: shownSubnet(),
		})))},
		{Name: "subnet delete", Build: n.Delete(noun.Deleting{
			Short: "Delete subnets",
			Arg:   command.Arg{Name: "<subnet>", Help: "Subnets to delete, by name or id", Many: true, Complete: "subnet"},
			Flags: []command.Flag{command.Parallel()},
		})},
		{Name: "subnet list", Build: n.List(noun.Listing{
			Short: "List subnets",
			Filters: slices.Concat([]noun.Field{
				{Flag: command.Flag{Name: "ip-version", Value: "<ip-version>", Type: command.Int, Choices: []string{"4", "6"}, Help: "Only subnets of this IP version"}},
				noun.On("dhcp", "enable_dhcp", true, "Only subnets with DHCP"),
				noun.On("no-dhcp", "enable_dhcp", false, "Only subnets without DHCP"),
				noun.Strings("service-type", "<service-type>", "-", "Only subnets for this owner of ports, such as network:floatingip_agent_gateway"),
			}, noun.InProject("Only subnets of this project"), []noun.Field{
				networks().Reference("network", "<network>", "network_id", "Only subnets of this network, by name or id"),
				noun.String("gateway", "<gateway>", "gateway_ip", "Only subnets with this gateway"),
				nameFilter("subnets"),
				noun.String("subnet-range", "<subnet-range>", "cidr", "Only subnets of exactly these addresses, in CIDR notation"),
				subnetPools().Reference("subnet-pool", "<subnet-pool>", "subnetpool_id", "Only subnets of this subnet pool, by name or id"),
			}, tagFilters("subnets")),
			Exclusive: []string{"dhcp no-dhcp"},
			Keep: func(c *command.Call, o noun.Object) bool { // the service filters by no service type
				asked := c.Texts("service-type")
				return len(asked) == 0 || slices.ContainsFunc(o.Texts("service_types"), func(t string) bool { return slices.Contains(asked, t) })
			},
			KeepNeeds: []string{"service_types"},
			Columns: []noun.Column{
				{Title: "ID", Attr: "id"},
				{Title: "Name", Attr: "name"},
				{Title: "Network", Attr: "network_id"},
				{Title: "Subnet", Attr: "cidr"},
				{Title: "Project", Attr: "project_id", Long: true},
				{Title: "DHCP", Attr: "enable_dhcp", Long: true},
				{Title: "Name Servers", Attr: "dns_nameservers", Cell: list, Long: true},
				{Title: "Allocation Pools", Attr: "allocation_pools", Cell: allocationPools, Long: true},
				{Title: "Host Routes", Attr: "host_routes", Cell: hostRoutes, Long: true},
				{Title: "IP Version", Attr: "ip_version", Long: true},
				{Title: "Gateway", Attr: "gateway_ip", Long: true},
				{Title: "Service Types", Attr: "service_types", Cell: list, Long: true},
				{Title: "Tags", Attr: "tags", Cell: tags, Long: true},
			},
		})},
		{Name: "subnet set", Build: n.Set(retagged(n, extra(noun.Writing{
			Short: "Change a subnet",
			Args:  []command.Arg{n.Ref("<subnet>", "change")}, RefArg: "<subnet>",
			Fields: slices.Concat([]noun.Field{
				noun.String("name", "<name>", "name", "Rename the subnet"),
				{Flag: command.Flag{Name: "gateway", Value: "<gateway>", Help: "Address of the gateway; none makes the subnet have none"}, Attr: "-"},
				{Flag: command.Flag{Name: "no-gateway", Koc: true, Help: "Take the gateway off the subnet"}, Attr: "gateway_ip", Const: noun.Null{}},
			}, subnetFields("subnet"), subnetLists("-")),
			Flags: []command.Flag{
				{Name: "no-allocation-pool", Help: "Clear the allocation pools; together with --allocation-pool, replace them"},
				{Name: "no-dns-nameservers", Help: "Clear the name servers; together with --dns-nameserver, replace them"},
				{Name: "no-host-route", Help: "Clear the host routes; together with --host-route, replace them"},
			},
			Exclusive: append(subnetExclusive(), "gateway no-gateway"),
			Body:      setSubnet,
		})))},
		{Name: "subnet show", Build: n.Show(noun.Showing{
			Short: "Show a subnet", Arg: n.Ref("<subnet>", "show"), Fields: shownSubnet(),
		})},
		{Name: "subnet unset", Build: n.Set(untagged(n, unextra(noun.Writing{
			Short: "Take properties off a subnet",
			Args:  []command.Arg{n.Ref("<subnet>", "change")}, RefArg: "<subnet>",
			Fields: append(subnetLists("-"), noun.On("gateway", "gateway_ip", noun.Null{}, "Take the gateway off the subnet")),
			Body:   unsetSubnet,
		})))},
	}
}

// subnetFields are what create and set have in common.
func subnetFields(of string) []noun.Field {
	return []noun.Field{
		noun.On("dhcp", "enable_dhcp", true, "Give out the addresses by DHCP"),
		noun.On("no-dhcp", "enable_dhcp", false, "Do not give out the addresses by DHCP"),
		noun.On("dns-publish-fixed-ip", "dns_publish_fixed_ip", true, "Publish the addresses of ports in DNS"),
		noun.On("no-dns-publish-fixed-ip", "dns_publish_fixed_ip", false, "Do not publish the addresses of ports in DNS"),
		segments().Reference("network-segment", "<network-segment>", "segment_id", "Network segment of the subnet, by name or id"),
		description(of),
	}
}

func subnetExclusive() []string {
	return []string{"dhcp no-dhcp", "dns-publish-fixed-ip no-dns-publish-fixed-ip"}
}

// subnetLists are the flags of lists: create writes them as they are, set adds to
// what there is and unset takes away, for which attr is "-".
func subnetLists(attr string) []noun.Field {
	pools := func(_ context.Context, c *command.Call, flag string) (any, error) {
		return records(c, flag, "start", "start", "end", "end"), nil
	}
	routes := func(_ context.Context, c *command.Call, flag string) (any, error) {
		return records(c, flag, "destination", "destination", "gateway", "nexthop"), nil
	}
	all := []noun.Field{
		{Flag: command.Flag{
			Name: "allocation-pool", Value: "start=<ip-address>,end=<ip-address>", Type: command.Records, Keys: []string{"!start", "!end"},
			Help: "Addresses that ports get theirs from",
		}, Attr: "allocation_pools", To: pools},
		noun.Strings("dns-nameserver", "<dns-nameserver>", "dns_nameservers", "Name server of the subnet"),
		{Flag: command.Flag{
			Name: "host-route", Value: "destination=<subnet>,gateway=<ip-address>", Type: command.Records, Keys: []string{"!destination", "!gateway"},
			Help: "Route that guests get",
		}, Attr: "host_routes", To: routes},
		noun.Strings("service-type", "<service-type>", "service_types", "Owner of ports that the subnet is for, such as network:floatingip_agent_gateway"),
	}
	if attr == "-" {
		for i := range all {
			all[i].Attr = attr
		}
	}
	return all
}

// givenLists are the values of the flags of lists that were given, by attribute.
func givenLists(ctx context.Context, c *command.Call) (noun.Object, error) {
	var given noun.Object
	err := noun.Fill(ctx, c, &given, subnetLists(""))
	return given, err
}

func setSubnet(ctx context.Context, c *command.Call, body *noun.Object, o noun.Object) error {
	switch gateway := strings.ToLower(c.Text("gateway")); gateway {
	case "":
	case "auto":
		return command.Reject("--gateway auto is for new subnets: give an address or none")
	default:
		body.Set("gateway_ip", noneIsNull(gateway))
	}
	given, err := givenLists(ctx, c)
	if err != nil {
		return err
	}
	for _, l := range [...]struct{ attr, clear string }{
		{"dns_nameservers", "no-dns-nameservers"}, {"host_routes", "no-host-route"}, {"allocation_pools", "no-allocation-pool"}, {"service_types", ""},
	} {
		cleared := l.clear != "" && c.Is(l.clear)
		more, has := given.Lookup(l.attr)
		if !has && !cleared {
			continue
		}
		var all []any
		if items, isList := more.([]any); isList {
			all = items
		}
		if !cleared {
			all = append(all, items(o, l.attr)...)
		}
		if all == nil {
			all = []any{}
		}
		body.Set(l.attr, all)
	}
	return nil
}

func unsetSubnet(ctx context.Context, c *command.Call, body *noun.Object, o noun.Object) error {
	given, err := givenLists(ctx, c)
	if err != nil {
		return err
	}
	for _, f := range given {
		gone, _ := f.Value.([]any)
		left, err := without(items(o, f.Name), gone, "the subnet has no "+strings.TrimSuffix(strings.ReplaceAll(f.Name, "_", " "), "s"))
		if err != nil {
			return err
		}
		body.Set(f.Name, left)
	}
	return nil
}

func noneIsNull(text string) any {
	if text == "none" {
		return nil
	}
	return text
}

func allocationPools(v any) any {
	pools, _ := v.([]any)
	texts := make([]string, len(pools))
	for i, p := range pools {
		if o, isObject := p.(render.Ordered); isObject {
			texts[i] = noun.Object(o).Text("start") + "-" + noun.Object(o).Text("end")
		}
	}
	return render.TextCell(strings.Join(texts, ","), v)
}

// hostRoutes shows people the next hop under the name of the flag.
func hostRoutes(v any) any { return routesCell(v, v) }

func routesCell(v, machine any) any {
	routes, isList := v.([]any)
	if !isList {
		return render.ListDictCell(v)
	}
	lines := make([]string, len(routes))
	for i, r := range routes {
		o, _ := r.(render.Ordered)
		lines[i] = "destination='" + noun.Object(o).Text("destination") + "', gateway='" + noun.Object(o).Text("nexthop") + "'"
	}
	return render.TextCell(strings.Join(lines, "\n"), machine)
}

func shownSubnet() noun.Fields {
	return fields(
		noun.Column{Title: "allocation_pools", Cell: allocationPools},
		noun.Column{Title: "cidr"},
		noun.Column{Title: "created_at"},
		noun.Column{Title: "description"},
		noun.Column{Title: "dns_nameservers", Cell: list},
		noun.Column{Title: "dns_publish_fixed_ip"},
		noun.Column{Title: "enable_dhcp"},
		noun.Column{Title: "gateway_ip"},
		noun.Column{Title: "host_routes", Cell: hostRoutes},
		noun.Column{Title: "id"},
		noun.Column{Title: "ip_version"},
		noun.Column{Title: "ipv6_address_mode"},
		noun.Column{Title: "ipv6_ra_mode"},
		noun.Column{Title: "name"},
		noun.Column{Title: "network_id"},
		noun.Column{Title: "project_id"},
		noun.Column{Title: "revision_number"},
		noun.Column{Title: "segment_id"},
		noun.Column{Title: "service_types", Cell: list},
		noun.Column{Title: "subnetpool_id"},
		noun.Column{Title: "tags", Cell: tags},
		noun.Column{Title: "updated_at"},
	)
}
