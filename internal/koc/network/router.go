package network

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"

	"github.com/holdfast-ops/holdfast/internal/koc/cloud"
	"github.com/holdfast-ops/holdfast/internal/koc/command"
	"github.com/holdfast-ops/holdfast/internal/koc/noun"
	"github.com/holdfast-ops/holdfast/internal/koc/render"
)

func routerCommands() []command.Entry {
	n := routers()
	return []command.Entry{
		{Name: "router add gateway", Build: gatewayChange("Give a router an external gateway", true)},
		{Name: "router add port", Build: interfaceChange("Connect a port to a router", "add_router_interface", ports(), "port_id")},
		{Name: "router add route", Build: routeChange("Add static routes to a router", "add_extraroutes", "Route to add; one that is there is left alone")},
		{Name: "router add subnet", Build: interfaceChange("Connect a subnet to a router", "add_router_interface", subnets(), "subnet_id")},
		{Name: "router create", Build: n.Create(tagged(n, extra(noun.Writing{
			Short: "Create a router",
			Args:  []command.Arg{{Name: "<name>", Help: "Name of the new router"}}, NameArg: "<name>",
			Fields: slices.Concat(routerFields("new router"), noun.InProject("Project that owns the router"), []noun.Field{
				noun.Strings("availability-zone-hint", "<availability-zone>", "availability_zone_hints", "Prefer this availability zone"),
				noun.On("enable-ndp-proxy", "enable_ndp_proxy", true, "Let the router answer for addresses behind it"),
				noun.On("disable-ndp-proxy", "enable_ndp_proxy", false, "Do not let the router answer for addresses behind it"),
				flavors().Reference("flavor-id", "<flavor-id>", "flavor_id", "Network flavor of the router, by id"),
				flavors().Reference("flavor", "<flavor>", "flavor_id", "Network flavor of the router, by name or id"),
			}),
			Flags:     append(gatewayFlags(), command.Flag{Name: "qos-policy", Value: "<qos-policy>", Complete: "qos policy", Help: "QoS policy of the address of the gateway, by name or id"}),
			Exclusive: append(routerExclusive(), "flavor flavor-id"),
			Body: func(ctx context.Context, c *command.Call, body *noun.Object, _ noun.Object) error {
				if err := setGateway(ctx, c, body); err != nil {
					return err
				}
				return setQoS(ctx, c, body, nil, false)
			},
			Shown: shownRouter(),
		})))},
		{Name: "router delete", Build: n.Delete(noun.Deleting{
			Short: "Delete routers",
			Arg:   command.Arg{Name: "<router>", Help: "Routers to delete, by name or id", Many: true, Complete: "router"},
			Flags: []command.Flag{command.Parallel()},
		})},
		{Name: "router list", Build: listRouters},
		{Name: "router remove gateway", Build: gatewayChange("Take an external gateway off a router", false)},
		{Name: "router remove port", Build: interfaceChange("Disconnect a port from a router", "remove_router_interface", ports(), "port_id")},
		{Name: "router remove route", Build: routeChange("Remove static routes from a router", "remove_extraroutes", "Route to remove; one that is not there is left alone")},
		{Name: "router remove subnet", Build: interfaceChange("Disconnect a subnet from a router", "remove_router_interface", subnets(), "subnet_id")},
		{Name: "router set", Build: n.Set(retagged(n, extra(noun.Writing{
			Short: "Change a router",
			Args:  []command.Arg{n.Ref("<router>", "change")}, RefArg: "<router>",
			Fields: append(routerFields("router"),
				noun.String("name", "<name>", "name", "Rename the router"),
				noun.On("enable-ndp-proxy", "enable_ndp_proxy", true, "Let the router answer for addresses behind it"),
				noun.On("disable-ndp-proxy", "enable_ndp_proxy", false, "Do not let the router answer for addresses behind it"),
			),
			Flags: append(gatewayFlags(),
				routeFlag("Add this static route. router add route is safer when others change the router too"),
				command.Flag{Name: "no-route", Help: "Clear the static routes; together with --route, replace them"},
				command.Flag{Name: "qos-policy", Value: "<qos-policy>", Complete: "qos policy", Help: "QoS policy of the address of the gateway, by name or id"},
				command.Flag{Name: "no-qos-policy", Help: "Take the QoS policy off the address of the gateway"}),
			Exclusive: append(routerExclusive(), "qos-policy no-qos-policy"),
			Body:      setRouter,
		})))},
		{Name: "router show", Build: n.Show(noun.Showing{
			Short: "Show a router", Arg: n.Ref("<router>", "show"), Fields: shownRouter(), Also: interfaces,
		})},
		{Name: "router unset", Build: n.Set(untagged(n, unextra(noun.Writing{
			Short: "Take properties off a router",
			Args:  []command.Arg{n.Ref("<router>", "change")}, RefArg: "<router>",
			Flags: []command.Flag{
				routeFlag("Remove this static route"),
				{Name: "external-gateway", Help: "Take the external gateway off the router"},
				{Name: "qos-policy", Help: "Take the QoS policy off the address of the gateway"},
			},
			Body: unsetRouter,
		})))},
	}
}

// routerFields are what create and set have in common.
func routerFields(of string) []noun.Field {
	return []noun.Field{
		noun.On("enable", "admin_state_up", true, "Enable the router"),
		noun.On("disable", "admin_state_up", false, "Disable the router"),
		noun.On("distributed", "distributed", true, "Spread the router over the compute hosts"),
		noun.On("centralized", "distributed", false, "Keep the router in one place"),
		noun.On("ha", "ha", true, "Make the router highly available"),
		noun.On("no-ha", "ha", false, "Do not make the router highly available"),
		description(of),
		noun.On("enable-default-route-bfd", "enable_default_route_bfd", true, "Watch the default routes by BFD"),
		noun.On("disable-default-route-bfd", "enable_default_route_bfd", false, "Do not watch the default routes by BFD"),
		noun.On("enable-default-route-ecmp", "enable_default_route_ecmp", true, "Use all default routes at once, by ECMP"),
		noun.On("disable-default-route-ecmp", "enable_default_route_ecmp", false, "Do not use all default routes at once"),
	}
}

func routerExclusive() []string {
	return []string{
		"enable disable", "distributed centralized", "ha no-ha", "enable-snat disable-snat", "enable-ndp-proxy disable-ndp-proxy",
		"enable-default-route-bfd disable-default-route-bfd", "enable-default-route-ecmp disable-default-route-ecmp",
	}
}

func gatewayFlags() []command.Flag {
	return []command.Flag{
		{Name: "external-gateway", Value: "<network>", Repeat: true, Complete: "network", Help: "External network of the gateway, by name or id"},
		fixedIPFlag("Address of the router in the external network, by subnet (name or id), by itself, or both"),
		{Name: "enable-snat", Help: "Hide guests behind the address of the gateway"},
		{Name: "disable-snat", Help: "Do not hide guests behind the address of the gateway"},
	}
}

func routeFlag(help string) command.Flag {
	return command.Flag{
		Name: "route", Value: "destination=<subnet>,gateway=<ip-address>", Type: command.Records, Keys: []string{"!destination", "!gateway"}, Help: help,
	}
}

func routes(c *command.Call) []any {
	return records(c, "route", "destination", "destination", "gateway", "nexthop")
}

// gateways are the external gateways that the flags describe, the addresses shared
// out by the network of their subnets.
func gateways(ctx context.Context, c *command.Call, refs []string) ([]any, error) {
	ids, err := networks().ResolveAll(ctx, c, refs)
	if err != nil {
		return nil, err
	}
	ips := map[string][]any{}
	for _, r := range c.Records("fixed-ip") {
		ip, in := noun.Object{}, ids[0]
		if r["subnet"] != "" {
			subnet, err := subnets().Find(ctx, c, r["subnet"], nil)
			if err != nil {
				return nil, err
			}
			ip.Set("subnet_id", subnet.Text("id"))
			if len(ids) > 1 {
				in = subnet.Text("network_id")
			}
		} else if len(ids) > 1 {
			return nil, command.Reject("--fixed-ip needs a subnet, to tell which of the %d gateways it is for", len(ids))
		}
		if !slices.Contains(ids, in) {
			return nil, command.Reject("the subnet %q is of the network %s, which is no gateway here", r["subnet"], in)
		}
		if r["ip-address"] != "" {
			ip.Set("ip_address", r["ip-address"])
		}
		ips[in] = append(ips[in], render.Ordered(ip))
	}
	all := make([]any, len(ids))
	for i, id := range ids {
		info := noun.Object{{Name: "network_id", Value: id}}
		if c.Declares("enable-snat") && c.Is("enable-snat") {
			info.Set("enable_snat", true)
		} else if c.Declares("disable-snat") && c.Is("disable-snat") {
			info.Set("enable_snat", false)
		}
		if addresses := ips[id]; addresses != nil {
			info.Set("external_fixed_ips", addresses)
			delete(ips, id)
		}
		all[i] = render.Ordered(info)
	}
	return all, nil
}

// setGateway writes the gateways: one in the classic attribute, several in that of
// clouds that can have them.
func setGateway(ctx context.Context, c *command.Call, body *noun.Object) error {
	refs := c.Texts("external-gateway")
	if len(refs) == 0 {
		if c.Is("enable-snat") || c.Is("disable-snat") || c.Given("fixed-ip") {
			return command.Reject("--enable-snat, --disable-snat and --fixed-ip describe a gateway: give --external-gateway too")
		}
		return nil
	}
	all, err := gateways(ctx, c, refs)
	if err != nil {
		return err
	}
	if len(all) == 1 {
		body.Set("external_gateway_info", all[0])
	} else {
		body.Set("external_gateways", all)
	}
	return nil
}

func setQoS(ctx context.Context, c *command.Call, body *noun.Object, o noun.Object, cleared bool) error {
	if !c.Given("qos-policy") && !cleared {
		return nil
	}
	info := body.Object("external_gateway_info")
	if info == nil {
		network := o.Text("external_gateway_info.network_id")
		if network == "" {
			return errors.New("the QoS policy is that of the gateway, and the router has none: give --external-gateway too")
		}
		info = noun.Object{{Name: "network_id", Value: network}}
	}
	var policy any
	if !cleared {
		id, err := qosPolicies().Resolve(ctx, c, c.Text("qos-policy"))
		if err != nil {
			return err
		}
		policy = id
	}
	info.Set("qos_policy_id", policy)
	body.Set("external_gateway_info", render.Ordered(info))
	return nil
}

func setRouter(ctx context.Context, c *command.Call, body *noun.Object, o noun.Object) error {
	more := routes(c)
	switch {
	case c.Is("no-route"):
		body.Set("routes", more)
	case len(more) > 0:
		body.Set("routes", append(more, items(o, "routes")...))
	}
	if err := setGateway(ctx, c, body); err != nil {
		return err
	}
	return setQoS(ctx, c, body, o, c.Is("no-qos-policy"))
}

func unsetRouter(_ context.Context, c *command.Call, body *noun.Object, o noun.Object) error {
	if gone := routes(c); len(gone) > 0 {
		left, err := without(items(o, "routes"), gone, "the router has no route")
		if err != nil {
			return err
		}
		body.Set("routes", left)
	}
	if c.Is("qos-policy") {
		info := o.Object("external_gateway_info")
		if _, has := info.Lookup("qos_policy_id"); info.Text("network_id") == "" || !has {
			return errors.New("the router has no external gateway with a QoS policy")
		}
		body.Set("external_gateway_info", render.Ordered{{Name: "network_id", Value: info.Text("network_id")}, {Name: "qos_policy_id"}})
	}
	if c.Is("external-gateway") {
		body.Set("external_gateway_info", render.Ordered{})
	}
	return nil
}

// action sends a member action of a router and returns the router of the answer.
func action(ctx context.Context, c *command.Call, router, name string, body noun.Object) (noun.Object, error) {
	var answer noun.Object
	err := routers().Do(ctx, c, cloud.Request{Method: "PUT", Path: "/routers/" + url.PathEscape(router) + "/" + name, Body: body, Into: &answer})
	return answer.Object("router"), err
}

// interfaceChange connects or disconnects a thing.
func interfaceChange(short, verb string, n noun.Noun, attr string) func() command.Command {
	return func() command.Command {
		arg := "<" + n.Name + ">"
		return command.Command{
			Short: short,
			Args: []command.Arg{
				{Name: "<router>", Help: "The router, by name or id", Complete: "router"},
				{Name: arg, Help: "The " + n.Name + ", by name or id", Complete: n.Name},
			},
			Run: func(ctx context.Context, c *command.Call) error {
				id, err := n.Resolve(ctx, c, c.Text(arg))
				if err != nil {
					return err
				}
				router, err := routers().Resolve(ctx, c, c.Text("<router>"))
				if err != nil {
					return err
				}
				_, err = action(ctx, c, router, verb, noun.Object{{Name: attr, Value: id}})
				return err
			},
		}
	}
}

func routeChange(short, verb, help string) func() command.Command {
	return func() command.Command {
		return command.Command{
			Short: short, Output: command.Created,
			Args:  []command.Arg{{Name: "<router>", Help: "The router, by name or id", Complete: "router"}},
			Flags: []command.Flag{routeFlag(help)},
			Run: func(ctx context.Context, c *command.Call) error {
				router, err := routers().Resolve(ctx, c, c.Text("<router>"))
				if err != nil {
					return err
				}
				body := noun.Object{{Name: "router", Value: render.Ordered{{Name: "routes", Value: routes(c)}}}}
				o, err := action(ctx, c, router, verb, body)
				if err != nil {
					return err
				}
				return c.Show(shownRouter().Fields(c, o))
			},
		}
	}
}

// gatewayChange adds or removes one of several external gateways. Where a router
// can have but one, that one is set or cleared.
func gatewayChange(short string, adds bool) func() command.Command {
	return func() command.Command {
		network := command.Arg{Name: "<network>", Help: "External network of the gateway, by name or id", Complete: "network"}
		help := "Address of the router there, by subnet (name or id), by itself, or both"
		if !adds {
			network.Optional = true
			network.Help += "; may be left out when the router has but one"
			help = "Only the gateway with this address"
		}
		return command.Command{
			Short: short, Output: command.Created,
			Args:  []command.Arg{{Name: "<router>", Help: "The router, by name or id", Complete: "router"}, network},
			Flags: []command.Flag{fixedIPFlag(help)},
			Run: func(ctx context.Context, c *command.Call) error {
				o, err := routers().Find(ctx, c, c.Text("<router>"), nil)
				if err != nil {
					return err
				}
				if o, err = changeGateway(ctx, c, o, adds); err != nil {
					return err
				}
				return c.Show(shownRouter().Fields(c, o))
			},
		}
	}
}

func changeGateway(ctx context.Context, c *command.Call, router noun.Object, adds bool) (noun.Object, error) {
	var all []any
	if refs := c.Texts("<network>"); len(refs) > 0 {
		var err error
		if all, err = gateways(ctx, c, refs); err != nil {
			return nil, err
		}
	} else if len(router.Objects("external_gateways")) > 1 {
		return nil, errors.New("the router has several external gateways: give the network of one")
	}
	several, err := hasExtension(ctx, c, "external-gateway-multihoming")
	if err != nil {
		return nil, err
	}
	id, has := router.Text("id"), router.Text("external_gateway_info.network_id")
	switch {
	case several && len(all) > 0:
		verb := "remove_external_gateways"
		if adds {
			verb = "add_external_gateways"
		}
		return action(ctx, c, id, verb, noun.Object{{Name: "router", Value: render.Ordered{{Name: "external_gateways", Value: all}}}})
	case adds && has != "":
		return nil, fmt.Errorf("the router has the external gateway %s already, and this cloud gives a router no more than one", has)
	case !adds && has == "":
		return nil, errors.New("the router has no external gateway")
	case !adds && len(all) > 0 && network(all[0]) != has:
		return nil, fmt.Errorf("the external gateway of the router is the network %s, not %s", has, network(all[0]))
	}
	info := any(render.Ordered{})
	if adds {
		info = all[0]
	}
	body := routers().Wrap(noun.Object{{Name: "external_gateway_info", Value: info}})
	return routers().Send(ctx, c, cloud.Request{Method: "PUT", Path: "/routers/" + url.PathEscape(id), Body: body})
}

// network is the id of the network of a gateway.
func network(gateway any) string {
	o, _ := gateway.(render.Ordered)
	return noun.Object(o).Text("network_id")
}

// interfaces adds the addresses of the ports of a router, but those of its gateway.
func interfaces(ctx context.Context, c *command.Call, o noun.Object) (noun.Object, error) {
	all := []any{}
	for port, err := range ports().All(ctx, c, url.Values{"device_id": {o.Text("id")}}) {
		if err != nil {
			return nil, err
		}
		if port.Text("device_owner") == "network:router_gateway" {
			continue
		}
		for _, ip := range port.Objects("fixed_ips") {
			all = append(all, render.Ordered{
				{Name: "port_id", Value: port.Get("id")}, {Name: "ip_address", Value: ip.Get("ip_address")}, {Name: "subnet_id", Value: ip.Get("subnet_id")},
			})
		}
	}
	o.Set("interfaces_info", all)
	return o, nil
}

// listRouters lists routers. Two columns are there only when the service tells.
func listRouters() command.Command {
	n := routers()
	project := ""
	return n.List(noun.Listing{
		Short: "List routers",
		Filters: slices.Concat([]noun.Field{
			nameFilter("routers"),
			noun.On("enable", "admin_state_up", true, "Only routers that are enabled"),
			noun.On("disable", "admin_state_up", false, "Only routers that are disabled"),
		}, noun.InProject("Only routers of this project"), tagFilters("routers")),
		Flags:     []command.Flag{{Name: "agent", Value: "<agent-id>", Help: "Only routers that this L3 agent runs"}},
		Exclusive: []string{"enable disable"},
		Query: func(_ context.Context, c *command.Call, q url.Values) error {
			project = q.Get("project_id")
			if c.Given("agent") { // whose routers the service does not filter
				clear(q)
			}
			return nil
		},
		Path: func(_ context.Context, c *command.Call) (string, error) {
			if c.Given("agent") {
				return "/agents/" + url.PathEscape(c.Text("agent")) + "/l3-routers", nil
			}
			return n.Path, nil
		},
		Keep: func(c *command.Call, o noun.Object) bool {
			switch {
			case !c.Given("agent"):
				return true
			case c.Given("name") && o.Text("name") != c.Text("name"),
				c.Is("enable") && !o.Bool("admin_state_up"), c.Is("disable") && o.Bool("admin_state_up"),
				project != "" && o.Text("project_id") != project:
				return false
			}
			return matchesTags(c, o)
		},
		KeepNeeds: []string{"name", "admin_state_up", "project_id", "tags"},
		Columns: []noun.Column{
			{Title: "ID", Attr: "id"},
			{Title: "Name", Attr: "name"},
			{Title: "Status", Attr: "status"},
			{Title: "State", Attr: "admin_state_up", Cell: upDown},
			{Title: "Project", Attr: "project_id"},
			{Title: "Distributed", Attr: "distributed", IfSet: true},
			{Title: "HA", Attr: "ha", IfSet: true},
			{Title: "Routes", Attr: "routes", Cell: routerRoutes, Long: true},
			{Title: "External gateway info", Attr: "external_gateway_info", Cell: asJSON, Long: true, Compat: true},
			{Title: "External gateway info", Attr: "external_gateway_info", Cell: asOwnJSON, Long: true, Own: true},
			{Title: "Availability zones", Attr: "availability_zones", Cell: list, Long: true, IfSet: true},
			{Title: "Tags", Attr: "tags", Cell: tags, Long: true},
		},
	})()
}

// asJSON shows people the JSON of a value.
func asJSON(v any) any { return render.TextCell(pythonJSON(v), v) }

// asOwnJSON is asJSON with nothing for null, as koc has it everywhere.
func asOwnJSON(v any) any {
	if v == nil {
		return nil
	}
	return asJSON(v)
}

func routerRoutes(v any) any { return routesCell(v, v) }

func shownRouter() noun.Fields {
	return noun.Fields{Sort: true, Columns: []noun.Column{
		{Title: "admin_state_up", Cell: upDown},
		{Title: "availability_zone_hints", Cell: list},
		{Title: "availability_zones", Cell: list},
		{Title: "created_at"},
		{Title: "description"},
		{Title: "distributed", IfSet: true},
		{Title: "enable_ndp_proxy"},
		{Title: "external_gateway_info", Cell: asJSON, Compat: true},
		{Title: "external_gateway_info", Cell: asOwnJSON, Own: true},
		{Title: "flavor_id"},
		{Title: "ha", IfSet: true},
		{Title: "id"},
		{Title: "interfaces_info", Cell: asJSON, IfSet: true},
		{Title: "name"},
		{Title: "project_id"},
		{Title: "revision_number"},
		{Title: "routes", Cell: routerRoutes},
		{Title: "status"},
		{Title: "tags", Cell: tags},
		{Title: "tenant_id"},
		{Title: "updated_at"},
		newer("external_gateways", "external_gateways"),
		newer("enable_default_route_bfd", "enable_default_route_bfd"),
		newer("enable_default_route_ecmp", "enable_default_route_ecmp"),
	}}
}
