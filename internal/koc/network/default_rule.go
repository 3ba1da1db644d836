package network

import (
	"context"
	"strconv"
	"strings"

	"github.com/holdfast-ops/holdfast/internal/koc/command"
	"github.com/holdfast-ops/holdfast/internal/koc/noun"
)

func defaultRules() noun.Noun {
	n := thing("default security group rule", "/default-security-group-rules", "default_security_group_rule", "")
	n.Label = "-"
	return n
}

func defaultRuleCommands() []command.Entry {
	n := defaultRules()
	shown := fields(append(asIs("description", "direction", "id", "port_range_max", "port_range_min", "protocol", "remote_address_group_id",
		"remote_group_id", "remote_ip_prefix", "used_in_default_sg", "used_in_non_default_sg"),
		noun.Column{Title: "ether_type", Attr: "ethertype"})...)
	return []command.Entry{
		{Name: "default security group rule create", Build: n.Create(extra(noun.Writing{
			Short: "Add a rule that new security groups start with",
			Fields: []noun.Field{
				noun.String("description", "<description>", "description", "Describe the rule"),
				noun.String("icmp-type", "<icmp-type>", "-", "ICMP type, for ICMP only"),
				noun.String("icmp-code", "<icmp-code>", "-", "ICMP code, for ICMP only"),
				noun.On("ingress", "direction", "ingress", "For traffic to guests, as is the default"),
				noun.On("egress", "direction", "egress", "For traffic from guests"),
				noun.String("ethertype", "<ethertype>", "-", "IPv4 or IPv6; without it what the protocol or the addresses say, else IPv4"),
				noun.String("remote-ip", "<ip-address>", "remote_ip_prefix", "Addresses on the other side, in CIDR notation"),
				noun.String("remote-group", "<group>", "remote_group_id", "Security group on the other side, by name or id; PARENT is the one the rule is in"),
				addressGroups().Reference("remote-address-group", "<group>", "remote_address_group_id", "Address group on the other side, by name or id"),
				noun.String("dst-port", "<port-range>", "-", "Port or range of ports, as 80 or 137:139, for protocols that have ports"),
				noun.String("protocol", "<protocol>", "-", "Protocol by name or number, any for all"),
				noun.On("for-default-sg", "used_in_default_sg", true, "Put the rule into default security groups"),
				noun.On("for-custom-sg", "used_in_non_default_sg", true, "Put the rule into other security groups, as is the default"),
			},
			Exclusive: []string{"remote-ip remote-group remote-address-group", "ingress egress"},
			Body:      fillDefaultRule,
			Shown:     shown,
		}))},
		{Name: "default security group rule delete", Build: n.Delete(noun.Deleting{
			Short: "Delete rules that new security groups start with",
			Arg:   command.Arg{Name: "<rule>", Help: "Rules to delete, by id", Many: true},
			Flags: []command.Flag{command.Parallel()},
		})},
		{Name: "default security group rule list", Build: n.List(noun.Listing{
			Short: "List the rules that new security groups start with",
			Filters: []noun.Field{
				{Flag: command.Flag{Name: "protocol", Value: "<protocol>", Help: "Only rules for this protocol, by name or number"}, To: func(_ context.Context, c *command.Call, flag string) (any, error) {
					return strings.ToLower(c.Text(flag)), nil
				}},
				noun.On("ingress", "direction", "ingress", "Only rules for traffic to guests"),
				noun.On("egress", "direction", "egress", "Only rules for traffic from guests"),
			},
			Exclusive: []string{"ingress egress"},
			Columns: []noun.Column{
				{Title: "ID", Attr: "id"},
				{Title: "IP Protocol", Attr: "protocol"},
				{Title: "Ethertype", Attr: "ethertype"},
				{Title: "IP Range", From: ipRange, Needs: []string{"remote_ip_prefix", "ethertype"}},
				{Title: "Port Range", From: portRange, Needs: []string{"port_range_min", "port_range_max", "protocol"}},
				{Title: "Direction", Attr: "direction"},
				{Title: "Remote Security Group", Attr: "remote_group_id"},
				{Title: "Remote Address Group", Attr: "remote_address_group_id"},
				{Title: "Used in default Security Group", Attr: "used_in_default_sg"},
				{Title: "Used in custom Security Group", Attr: "used_in_non_default_sg"},
			},
		})},
		{Name: "default security group rule show", Build: n.Show(noun.Showing{
			Short: "Show a rule that new security groups start with", Arg: command.Arg{Name: "<rule>", Help: "The rule to show, by id"}, Fields: shown,
		})},
	}
}

// ipRange is the addresses of a rule, or all there are.
func ipRange(o noun.Object) any {
	switch {
	case o.Text("remote_ip_prefix") != "":
		return o.Text("remote_ip_prefix")
	case o.Text("ethertype") == "IPv6":
		return "::/0"
	default:
		return "0.0.0.0/0"
	}
}

// portRange is the ports of a rule, or the type and code of ICMP.
func portRange(o noun.Object) any {
	low, high := o.Get("port_range_min"), o.Get("port_range_max")
	if isICMP(o.Text("protocol")) {
		var parts []string
		if low != nil {
			parts = append(parts, "type="+noun.Text(low))
		}
		if high != nil {
			parts = append(parts, "code="+noun.Text(high))
		}
		return strings.Join(parts, ":")
	}
	switch {
	case low == nil && high == nil:
		return ""
	case low == nil:
		low = high
	case high == nil:
		high = low
	}
	return noun.Text(low) + ":" + noun.Text(high)
}

func isICMP(protocol string) bool {
	switch protocol {
	case "icmp", "icmpv6", "ipv6-icmp", "1", "58":
		return true
	}
	return false
}

func isIPv6(protocol string) bool {
	return strings.HasPrefix(protocol, "ipv6") || protocol == "icmpv6" || protocol == "41" || protocol == "43" || protocol == "44" ||
		protocol == "58" || protocol == "59" || protocol == "60"
}

func fillDefaultRule(ctx context.Context, c *command.Call, body *noun.Object, _ noun.Object) error {
	protocol := strings.ToLower(c.Text("protocol"))
	if protocol != "" && protocol != "any" {
		body.Set("protocol", protocol)
	}
	if body.Get("direction") == nil {
		body.Set("direction", "ingress")
	}
	switch ethertype := c.Text("ethertype"); {
	case strings.EqualFold(ethertype, "ipv4"):
		body.Set("ethertype", "IPv4")
	case strings.EqualFold(ethertype, "ipv6"):
		body.Set("ethertype", "IPv6")
	case ethertype != "":
		return command.Reject("--ethertype %s: give IPv4 or IPv6", ethertype)
	case isIPv6(protocol), strings.Contains(c.Text("remote-ip"), ":"):
		body.Set("ethertype", "IPv6")
	default:
		body.Set("ethertype", "IPv4")
	}
	if !c.Is("for-default-sg") && !c.Is("for-custom-sg") {
		body.Set("used_in_non_default_sg", true)
	}
	if group := c.Text("remote-group"); group != "" && group != "PARENT" {
		id, err := securityGroups().Resolve(ctx, c, group)
		if err != nil {
			return err
		}
		body.Set("remote_group_id", id)
	}
	return setPorts(c, protocol, body)
}

// setPorts writes what --dst-port, --icmp-type and --icmp-code say.
func setPorts(c *command.Call, protocol string, body *noun.Object) error {
	icmp := c.Given("icmp-type") || c.Given("icmp-code")
	switch {
	case icmp && !isICMP(protocol):
		return command.Reject("--icmp-type and --icmp-code are for ICMP: give --protocol icmp or ipv6-icmp")
	case c.Given("dst-port") && isICMP(protocol):
		return command.Reject("--dst-port is for protocols with ports: ICMP has --icmp-type and --icmp-code")
	case icmp:
		for _, p := range [...][2]string{{"icmp-type", "port_range_min"}, {"icmp-code", "port_range_max"}} {
			if !c.Given(p[0]) {
				continue
			}
			n, err := strconv.Atoi(c.Text(p[0]))
			if err != nil {
				return command.Reject("--%s %s: give a number", p[0], c.Text(p[0]))
			}
			body.Set(p[1], n)
		}
	case c.Given("dst-port"):
		first, last, isRange := strings.Cut(c.Text("dst-port"), ":")
		if !isRange {
			last = first
		}
		low, err := strconv.Atoi(first)
		high, err2 := strconv.Atoi(last)
		if err != nil || err2 != nil {
			return command.Reject("--dst-port %s: give a port or a range of ports, as 80 or 137:139", c.Text("dst-port"))
		}
		body.Set("port_range_min", low)
		body.Set("port_range_max", high)
	}
	return nil
}
