package network

import (
	"context"
	"net/url"
	"slices"
	"strings"

	"github.com/holdfast-ops/holdfast/internal/koc/command"
	"github.com/holdfast-ops/holdfast/internal/koc/noun"
)

func securityGroupRules() noun.Noun {
	n := thing("security group rule", "/security-group-rules", "security_group_rule", "")
	n.Label = "-"
	return n
}

func securityGroupRuleCommands() []command.Entry {
	n := securityGroupRules()
	return []command.Entry{
		{Name: "security group rule create", Build: n.Create(extra(noun.Writing{
			Short: "Add a rule to a security group",
			Args:  []command.Arg{securityGroups().Ref("<group>", "add the rule to")},
			Fields: slices.Concat([]noun.Field{
				noun.String("remote-ip", "<ip-address>", "remote_ip_prefix", "Addresses on the other side, in CIDR notation; all there are is the default"),
				securityGroups().Reference("remote-group", "<group>", "remote_group_id", "Security group on the other side, by name or id"),
				addressGroups().Reference("remote-address-group", "<group>", "remote_address_group_id", "Address group on the other side, by name or id"),
				noun.String("dst-port", "<port-range>", "-", "Port or range of ports, as 80 or 137:139, for protocols that have ports; ICMP ignores it"),
				lowerCase("protocol", "<protocol>", "Protocol by name or number, any for all, as is the default"),
				lowerCase("proto", "<proto>", "Old name of --protocol"),
				noun.String("description", "<description>", "description", "Describe the rule"),
				noun.Number("icmp-type", "<icmp-type>", "-", "ICMP type, for ICMP only"),
				noun.Number("icmp-code", "<icmp-code>", "-", "ICMP code, for ICMP only"),
				noun.On("ingress", "direction", "ingress", "For traffic to guests, as is the default"),
				noun.On("egress", "direction", "egress", "For traffic from guests"),
				{Flag: command.Flag{Name: "ethertype", Value: "<ethertype>", Choices: []string{"IPv4", "IPv6"}, Fold: true, Help: "IPv4 or IPv6; without it what the protocol or the addresses say, else IPv4"}, Attr: "-"},
			}, noun.InProject("Project that owns the rule")),
			Exclusive: []string{"remote-ip remote-group remote-address-group", "protocol proto", "ingress egress"},
			Body:      fillRule,
			Shown:     shownGroupRule(noun.Column{Title: "remote_ip_prefix"}),
		}))},
		{Name: "security group rule delete", Build: n.Delete(noun.Deleting{
			Short: "Delete rules of security groups",
			Arg:   command.Arg{Name: "<rule>", Help: "Rules to delete, by id", Many: true},
			Flags: []command.Flag{command.Parallel()},
		})},
		{Name: "security group rule list", Build: n.List(noun.Listing{
			Short: "List the rules of security groups",
			Args:  []command.Arg{{Name: "<group>", Help: "Only rules of this security group, by name or id", Optional: true, Complete: "security group"}},
			Filters: []noun.Field{
				lowerCase("protocol", "<protocol>", "Only rules for this protocol, by name or number; any is no filter"),
				lowerCase("ethertype", "<ethertype>", "Only rules for this ethertype: IPv4 or IPv6"),
				noun.On("ingress", "direction", "ingress", "Only rules for traffic to guests"),
				noun.On("egress", "direction", "egress", "Only rules for traffic from guests"),
			},
			Flags: []command.Flag{
				{Name: "all-projects", Hidden: true, Help: "Accepted and not needed: who may see the rules of all projects does"},
				{Name: "long", Help: "Accepted and not needed: all columns are shown without it"},
			},
			Exclusive: []string{"ingress egress"},
			Columns: []noun.Column{
				{Title: "ID", Attr: "id"},
				{Title: "IP Protocol", Attr: "protocol"},
				{Title: "Ethertype", Attr: "ethertype"},
				{Title: "IP Range", From: ipRange, Needs: []string{"remote_ip_prefix", "ethertype"}},
				{Title: "Port Range", From: portRange, Needs: []string{"port_range_min", "port_range_max", "protocol"}, Own: true},
				{Title: "Port Range", From: upstreamPortRange, Needs: []string{"port_range_min", "port_range_max", "protocol"}, Compat: true},
				{Title: "Direction", Attr: "direction"},
				{Title: "Remote Security Group", Attr: "remote_group_id"},
				{Title: "Remote Address Group", Attr: "remote_address_group_id"},
				{Title: "Security Group", Attr: "security_group_id"},
			},
			Query: queryRules,
			Prepare: func(_ context.Context, c *command.Call, columns []noun.Column) ([]noun.Column, error) {
				if c.Given("<group>") {
					columns = columns[:len(columns)-1]
				}
				return columns, nil
			},
		})},
		{Name: "security group rule show", Build: n.Show(noun.Showing{
			Short: "Show a rule of a security group", Arg: command.Arg{Name: "<rule>", Help: "The rule to show, by id"},
			Fields: shownGroupRule(noun.Column{Title: "remote_ip_prefix", From: ipRange}),
		})},
	}
}

// lowerCase is a flag whose text is made lower case, for Body or Query.
func lowerCase(flag, value, help string) noun.Field {
	return noun.Field{Flag: command.Flag{Name: flag, Value: value, Fold: true, Hidden: flag == "proto", Help: help}, Attr: "-"}
}

func shownGroupRule(addresses noun.Column) noun.Fields {
	return fields(append(asIs("created_at", "description", "direction", "id", "name", "port_range_max", "port_range_min", "project_id", "protocol",
		"remote_address_group_id", "remote_group_id", "revision_number", "security_group_id", "updated_at"),
		addresses,
		noun.Column{Title: "ether_type", Attr: "ethertype"},
		noun.Column{Title: "tags", Cell: bareTags},
		newer("belongs_to_default_sg", "belongs_to_default_sg"),
		newer("normalized_cidr", "normalized_cidr"),
	)...)
}

// fillRule completes a new rule.
func fillRule(ctx context.Context, c *command.Call, body *noun.Object, _ noun.Object) error {
	protocol := c.Text("protocol")
	if c.Given("proto") {
		protocol = c.Text("proto")
	}
	body.Set("protocol", nil)
	if protocol != "" && protocol != "any" {
		body.Set("protocol", protocol)
	}
	if body.Get("direction") == nil {
		body.Set("direction", "ingress")
	}
	ethertype := c.Text("ethertype")
	if ethertype == "" {
		ethertype = "IPv4"
		if isIPv6(protocol) || strings.Contains(c.Text("remote-ip"), ":") {
			ethertype = "IPv6"
		}
	}
	body.Set("ethertype", ethertype)
	if err := setRulePorts(c, protocol, body); err != nil {
		return err
	}
	if !c.Given("remote-ip") && !c.Given("remote-group") && !c.Given("remote-address-group") {
		body.Set("remote_ip_prefix", ipRange(*body))
	}
	id, err := securityGroups().Resolve(ctx, c, c.Text("<group>"))
	body.Set("security_group_id", id)
	return err
}

// setRulePorts writes the ports of a new rule, or the type and code of ICMP.
func setRulePorts(c *command.Call, protocol string, body *noun.Object) error {
	icmp := c.Given("icmp-type") || c.Given("icmp-code")
	switch {
	case icmp && c.Given("dst-port"):
		return command.Reject("--dst-port does not go with --icmp-type and --icmp-code: ICMP has no ports")
	case c.Given("icmp-code") && !c.Given("icmp-type"):
		return command.Reject("--icmp-code is the code of an ICMP type: give --icmp-type too")
	case icmp && !isICMP(protocol):
		return command.Reject("--icmp-type and --icmp-code are for ICMP: give --protocol icmp or ipv6-icmp")
	case icmp:
		// A negative number stands for all, as in the rules of old.
		for _, p := range [...][2]string{{"icmp-type", "port_range_min"}, {"icmp-code", "port_range_max"}} {
			if c.Given(p[0]) && c.Int(p[0]) >= 0 {
				body.Set(p[1], c.Int(p[0]))
			}
		}
	case c.Given("dst-port"):
		low, high, err := portsOf(c, "dst-port")
		if err != nil || isICMP(protocol) {
			return err
		}
		body.Set("port_range_min", low)
		body.Set("port_range_max", high)
	}
	return nil
}

func queryRules(ctx context.Context, c *command.Call, q url.Values) error {
	if c.Given("<group>") {
		id, err := securityGroups().Resolve(ctx, c, c.Text("<group>"))
		if err != nil {
			return err
		}
		q.Set("security_group_id", id)
	}
	if protocol := c.Text("protocol"); protocol != "" && (protocol != "any" || c.Compat()) {
		q.Set("protocol", protocol)
	}
	switch ethertype := c.Text("ethertype"); {
	case c.Compat(): // where the openstack client takes the flag and forgets it
	case ethertype == "ipv4":
		q.Set("ethertype", "IPv4")
	case ethertype == "ipv6":
		q.Set("ethertype", "IPv6")
	case ethertype != "":
		return command.Reject("--ethertype %s: give IPv4 or IPv6", ethertype)
	}
	return nil
}

// upstreamPortRange is portRange as the openstack client has it: 0 is nothing to it.
func upstreamPortRange(o noun.Object) any {
	low, high := o.Get("port_range_min"), o.Get("port_range_max")
	if !isICMP(o.Text("protocol")) {
		if isEmpty(low) && isEmpty(high) {
			return ""
		}
		return portRange(o)
	}
	text := ""
	if !isEmpty(low) {
		text = "type=" + noun.Text(low)
	}
	if !isEmpty(high) {
		text += ":code=" + noun.Text(high)
	}
	return text
}
