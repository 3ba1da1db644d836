package network

import (
	"context"
	"errors"
	"slices"

	"github.com/holdfast-ops/holdfast/internal/koc/command"
	"github.com/holdfast-ops/holdfast/internal/koc/noun"
	"github.com/holdfast-ops/holdfast/internal/koc/render"
)

// floatingIPs are found by their addresses.
func floatingIPs() noun.Noun {
	n := thing("floating ip", "/floatingips", "floatingip", "")
	n.Label, n.ByName = "floating_ip_address", "floating_ip_address"
	return n
}

// floatingIPArg is the argument of commands on one floating address.
func floatingIPArg(verb string) command.Arg {
	return command.Arg{Name: "<floating-ip>", Help: "The floating ip to " + verb + ", by address or id", Complete: "floating ip"}
}

func floatingIPCommands() []command.Entry {
	n := floatingIPs()
	return []command.Entry{
		{Name: "floating ip create", Build: createFloatingIP},
		{Name: "floating ip delete", Build: n.Delete(noun.Deleting{
			Short: "Delete floating ips",
			Arg:   command.Arg{Name: "<floating-ip>", Help: "Floating ips to delete, by address or id", Many: true, Complete: n.Name},
			Flags: []command.Flag{command.Parallel()},
		})},
		{Name: "floating ip list", Build: n.List(noun.Listing{
			Short: "List floating ips",
			Filters: slices.Concat([]noun.Field{
				networks().References("network", "<network>", "floating_network_id", "Only addresses of this external network, by name or id"),
				ports().References("port", "<port>", "port_id", "Only addresses that lead to this port, by name or id"),
				noun.String("fixed-ip-address", "<ip-address>", "", "Only addresses that lead to this one"),
				noun.String("floating-ip-address", "<ip-address>", "", "Only this address"),
				noun.OneOf("status", "<status>", "", "Only floating ips in this status", "ACTIVE", "DOWN"),
			}, noun.InProject("Only floating ips of this project"), []noun.Field{
				routers().References("router", "<router>", "router_id", "Only addresses that this router serves, by name or id"),
			}, tagFilters("floating ips")),
			Columns: []noun.Column{
				{Title: "ID", Attr: "id"},
				{Title: "Floating IP Address", Attr: "floating_ip_address"},
				{Title: "Fixed IP Address", Attr: "fixed_ip_address"},
				{Title: "Port", Attr: "port_id"},
				{Title: "Floating Network", Attr: "floating_network_id"},
				{Title: "Project", Attr: "project_id"},
				{Title: "Router", Attr: "router_id", Long: true},
				{Title: "Status", Attr: "status", Long: true},
				{Title: "Description", Attr: "description", Long: true},
				{Title: "Tags", Attr: "tags", Cell: bareTags, Long: true},
				{Title: "DNS Name", Attr: "dns_name", Long: true},
				{Title: "DNS Domain", Attr: "dns_domain", Long: true},
			},
		})},
		{Name: "floating ip set", Build: n.Set(retagged(n, extra(noun.Writing{
			Short: "Change a floating ip",
			Args:  []command.Arg{floatingIPArg("change")}, RefArg: "<floating-ip>",
			Fields: []noun.Field{
				ports().Reference("port", "<port>", "port_id", "Lead the address to this port, by name or id"),
				noun.String("fixed-ip-address", "<ip-address>", "", "Address of the port that the floating one leads to, when it has several"),
				description("floating ip"),
				qosPolicies().Reference("qos-policy", "<qos-policy>", "qos_policy_id", "QoS policy of the address, by name or id"),
				noun.On("no-qos-policy", "qos_policy_id", noun.Null{}, "Take the QoS policy off the address"),
			},
			Exclusive: []string{"qos-policy no-qos-policy"},
			Body: func(_ context.Context, c *command.Call, body *noun.Object, o noun.Object) error {
				if !c.Given("fixed-ip-address") || c.Given("port") {
					return nil
				}
				// The service wants to be told the port again.
				if o.Text("port_id") == "" {
					return errors.New("the floating ip leads to no port: give --port together with --fixed-ip-address")
				}
				body.Set("port_id", o.Text("port_id"))
				return nil
			},
		})))},
		{Name: "floating ip show", Build: n.Show(noun.Showing{
			Short: "Show a floating ip", Arg: floatingIPArg("show"), Fields: shownFloatingIP(dictText),
		})},
		{Name: "floating ip unset", Build: n.Set(untagged(n, unextra(noun.Writing{
			Short: "Take properties off a floating ip",
			Args:  []command.Arg{floatingIPArg("change")}, RefArg: "<floating-ip>",
			Fields: []noun.Field{
				noun.On("port", "port_id", noun.Null{}, "Lead the address nowhere any more"),
				noun.On("qos-policy", "qos_policy_id", noun.Null{}, "Take the QoS policy off the address"),
			},
		})))},
	}
}

// createFloatingIP shows the subnet that was asked for: the service does not tell it.
func createFloatingIP() command.Command {
	n := floatingIPs()
	var subnet any
	return n.Create(tagged(n, extra(noun.Writing{
		Short: "Create a floating ip",
		Args:  []command.Arg{{Name: "<network>", Help: "External network to take the address from, by name or id", Complete: "network"}},
		Fields: slices.Concat([]noun.Field{
			subnets().Reference("subnet", "<subnet>", "subnet_id", "Subnet to take the address from, by name or id"),
			ports().Reference("port", "<port>", "port_id", "Port that the address leads to, by name or id"),
			noun.String("floating-ip-address", "<ip-address>", "", "Take this address"),
			noun.String("fixed-ip-address", "<ip-address>", "", "Address of the port that the floating one leads to, when it has several"),
			qosPolicies().Reference("qos-policy", "<qos-policy>", "qos_policy_id", "QoS policy of the address, by name or id"),
			description("new floating ip"),
		}, noun.InProject("Project that owns the floating ip"), []noun.Field{
			noun.String("dns-domain", "<dns-domain>", "", "Domain of the name of the address in the DNS"),
			noun.String("dns-name", "<dns-name>", "", "Name of the address in the DNS"),
		}),
		Body: func(ctx context.Context, c *command.Call, body *noun.Object, _ noun.Object) error {
			subnet = body.Get("subnet_id")
			id, err := networks().Resolve(ctx, c, c.Text("<network>"))
			body.Set("floating_network_id", id)
			return err
		},
		Then: func(_ context.Context, _ *command.Call, o noun.Object) (noun.Object, error) {
			if o.Get("subnet_id") == nil {
				o.Set("subnet_id", subnet)
			}
			return o, nil
		},
		Shown: shownFloatingIP(func(v any) any { return v }),
	})))()
}

// shownFloatingIP are the fields of a floating address. Upstream shows the details
// of the port in another way after it created one.
func shownFloatingIP(details func(any) any) noun.Fields {
	return fields(append(asIs("created_at", "description", "dns_domain", "dns_name", "fixed_ip_address", "floating_ip_address", "floating_network_id",
		"id", "port_id", "project_id", "qos_policy_id", "revision_number", "router_id", "status", "subnet_id", "updated_at"),
		noun.Column{Title: "name", Attr: "floating_ip_address"},
		noun.Column{Title: "port_details", Cell: details},
		noun.Column{Title: "tags", Cell: bareTags},
		noun.Column{Title: "port_forwardings", Cell: listDict, Own: true, IfSet: true},
	)...)
}

// dictText is a dictionary as one text for people and programs alike.
func dictText(v any) any {
	if v == nil {
		return nil
	}
	cell := render.DictCell(v)
	return cell.Format(cell.Machine)
}

// floatingIPPoolCommands list the subnets that floating addresses come from, which
// upstream does for the network of the compute service alone.
func floatingIPPoolCommands() []command.Entry {
	n := thing("floating ip pool", "/floatingip_pools", "floatingip_pool", "")
	return []command.Entry{{Name: "floating ip pool list", Build: func() command.Command {
		cmd := n.List(noun.Listing{
			Short: "List the subnets that floating ips may be taken from",
			Columns: []noun.Column{
				{Title: "Name", Attr: "subnet_name"},
				{Title: "Subnet", Attr: "subnet_id"},
				{Title: "Range", Attr: "cidr"},
				{Title: "Network", Attr: "network_id"},
				{Title: "Project", Attr: "project_id"},
			},
		})()
		run := cmd.Run
		cmd.Run = func(ctx context.Context, c *command.Call) error {
			if c.Compat() {
				return errors.New("the openstack client lists no floating ip pools of the network service: floating ip create takes an external network")
			}
			return run(ctx, c)
		}
		return cmd
	}}}
}
