package network

import (
	"context"
	"net/url"
	"strconv"
	"strings"

	"github.com/holdfast-ops/holdfast/internal/koc/command"
	"github.com/holdfast-ops/holdfast/internal/koc/noun"
)

func portForwardings() noun.Noun {
	n := thing("floating ip port forwarding", "", "port_forwarding", "")
	n.Label = "-"
	return n
}

// forwardingPath is where the port forwardings of the floating address of the
// command are.
func forwardingPath(ctx context.Context, c *command.Call) (string, error) {
	id, err := floatingIPs().Resolve(ctx, c, c.Text("<floating-ip>"))
	return "/floatingips/" + url.PathEscape(id) + "/port_forwardings", err
}

func portForwardingCommands() []command.Entry {
	n := portForwardings()
	address := floatingIPArg("look into")
	one := func(verb string) command.Arg {
		return command.Arg{Name: "<port-forwarding-id>", Help: "The port forwarding to " + verb + ", by id"}
	}
	shown := fields(append(asIs("description", "external_port", "id", "internal_ip_address", "internal_port", "internal_port_id", "name", "protocol"),
		newer("external_port_range", "external_port_range"), newer("internal_port_range", "internal_port_range"))...)
	return []command.Entry{
		{Name: "floating ip port forwarding create", Build: n.Create(extra(noun.Writing{
			Short: "Lead a port of a floating ip to a port of a guest",
			Args:  []command.Arg{floatingIPArg("forward from")},
			Fields: []noun.Field{
				must(noun.String("internal-ip-address", "<internal-ip-address>", "", "Address of the guest")),
				must(ports().Reference("port", "<port>", "internal_port_id", "Network port of the guest, by name or id")),
				{Flag: command.Flag{Name: "protocol", Value: "<protocol>", Default: "tcp", Help: "Protocol: tcp or udp"}},
				description("new port forwarding"),
			},
			Flags:     forwardedFlags(),
			Exclusive: []string{"! internal-protocol-port internal-protocol-port-range", "! external-protocol-port external-protocol-port-range"},
			Path:      forwardingPath, Body: forwarded, Shown: shown,
		}))},
		{Name: "floating ip port forwarding delete", Build: n.Delete(noun.Deleting{
			Short: "Delete port forwardings of a floating ip",
			Args:  []command.Arg{address},
			Arg:   command.Arg{Name: "<port-forwarding-id>", Help: "Port forwardings to delete, by id", Many: true},
			Flags: []command.Flag{command.Parallel()},
			Path:  forwardingPath,
		})},
		{Name: "floating ip port forwarding list", Build: n.List(noun.Listing{
			Short: "List the port forwardings of a floating ip",
			Args:  []command.Arg{address},
			Filters: []noun.Field{
				ports().Reference("port", "<port>", "internal_port_id", "Only port forwardings to this network port, by name or id"),
				noun.String("external-protocol-port", "<port-number>", "-", "Only the port forwarding from this port, or range of ports as 80:90"),
				noun.String("protocol", "<protocol>", "", "Only port forwardings for this protocol"),
			},
			Query: func(_ context.Context, c *command.Call, q url.Values) error {
				port := c.Text("external-protocol-port")
				switch {
				case strings.Contains(port, ":"):
					q.Set("external_port_range", port)
				case port != "":
					q.Set("external_port", port)
				}
				return nil
			},
			Path: forwardingPath,
			Columns: []noun.Column{
				{Title: "ID", Attr: "id"},
				{Title: "Internal Port ID", Attr: "internal_port_id"},
				{Title: "Internal IP Address", Attr: "internal_ip_address"},
				{Title: "Internal Port", Attr: "internal_port"},
				{Title: "Internal Port Range", Attr: "internal_port_range", Cell: realRange, Own: true, IfSet: true},
				{Title: "External Port", Attr: "external_port"},
				{Title: "External Port Range", Attr: "external_port_range", Cell: realRange, Own: true, IfSet: true},
				{Title: "Protocol", Attr: "protocol"},
				{Title: "Description", Attr: "description"},
			},
		})},
		{Name: "floating ip port forwarding set", Build: n.Set(extra(noun.Writing{
			Short: "Change a port forwarding of a floating ip",
			Args:  []command.Arg{floatingIPArg("look into"), one("change")}, RefArg: "<port-forwarding-id>",
			Fields: []noun.Field{
				ports().Reference("port", "<port>", "internal_port_id", "Network port of the guest, by name or id"),
				noun.String("internal-ip-address", "<internal-ip-address>", "", "Address of the guest"),
				noun.OneOf("protocol", "<protocol>", "", "Protocol", "tcp", "udp"),
				description("port forwarding"),
			},
			Flags:     forwardedFlags(),
			Exclusive: []string{"internal-protocol-port internal-protocol-port-range", "external-protocol-port external-protocol-port-range"},
			Path:      forwardingPath, Body: forwarded,
		}))},
		{Name: "floating ip port forwarding show", Build: n.Show(noun.Showing{
			Short: "Show a port forwarding of a floating ip",
			Args:  []command.Arg{address}, Arg: one("show"), Path: forwardingPath, Fields: shown,
		})},
	}
}

func forwardedFlags() []command.Flag {
	return []command.Flag{
		{Name: "internal-protocol-port", Value: "<port-number>[:<port-number>]", Help: "Port of the guest, or range of ports as 80:90"},
		{Name: "external-protocol-port", Value: "<port-number>[:<port-number>]", Help: "Port of the floating ip, or range of ports as 80:90"},
		{Name: "internal-protocol-port-range", Value: "<port-number>:<port-number>", Koc: true, Help: "Ports of the guest, as 80:90"},
		{Name: "external-protocol-port-range", Value: "<port-number>:<port-number>", Koc: true, Help: "Ports of the floating ip, as 80:90"},
	}
}

// realRange is a range of ports, but of one alone.
func realRange(v any) any {
	low, high, isRange := strings.Cut(noun.Text(v), ":")
	if !isRange || low == high {
		return nil
	}
	return v
}

// forwarded writes the ports that the flags name.
func forwarded(_ context.Context, c *command.Call, body *noun.Object, _ noun.Object) error {
	counts := map[string]int{}
	for _, side := range [...]string{"internal", "external"} {
		flag := side + "-protocol-port"
		if c.Given(flag + "-range") {
			flag += "-range"
		}
		if !c.Given(flag) {
			continue
		}
		low, high, err := portsOf(c, flag)
		if err != nil {
			return err
		}
		if low < 1 || high > 65535 {
			return command.Reject("--%s %s: ports are 1 to 65535", flag, c.Text(flag))
		}
		counts[side] = high - low + 1
		if strings.Contains(c.Text(flag), ":") || strings.HasSuffix(flag, "-range") {
			body.Set(side+"_port_range", strconv.Itoa(low)+":"+strconv.Itoa(high))
		} else {
			body.Set(side+"_port", low)
		}
	}
	if counts["internal"] > 1 && counts["external"] > 0 && counts["internal"] != counts["external"] {
		return command.Reject("%d ports cannot lead to %d: give one port of the guest, or as many as of the floating ip", counts["external"], counts["internal"])
	}
	return nil
}

// portsOf reads a port, or a range of ports as 80:90.
func portsOf(c *command.Call, flag string) (low, high int, err error) {
	first, last, isRange := strings.Cut(c.Text(flag), ":")
	if !isRange {
		last = first
	}
	low, err = strconv.Atoi(first)
	high, err2 := strconv.Atoi(last)
	if err != nil || err2 != nil {
		return 0, 0, command.Reject("--%s %s: give a port or a range of ports, as 80 or 137:139", flag, c.Text(flag))
	}
	if low > high {
		return 0, 0, command.Reject("--%s %s: the range ends before it begins", flag, c.Text(flag))
	}
	return low, high, nil
}
