package network

import (
	"context"
	"net/url"
	"slices"

	"github.com/holdfast-ops/holdfast/internal/koc/cloud"
	"github.com/holdfast-ops/holdfast/internal/koc/command"
	"github.com/holdfast-ops/holdfast/internal/koc/noun"
	"github.com/holdfast-ops/holdfast/internal/koc/render"
)

func agents() noun.Noun {
	n := thing("network agent", "/agents", "agent", "")
	n.Label = "-"
	return n
}

// kinds of agents, by the short word of the flag, with the name the service has.
var agentKinds = [...][2]string{
	{"bgp", "BGP dynamic routing agent"},
	{"dhcp", "DHCP agent"},
	{"open-vswitch", "Open vSwitch agent"},
	{"linux-bridge", "Linux bridge agent"},
	{"ofa", "OFA driver agent"},
	{"l3", "L3 agent"},
	{"loadbalancer", "Loadbalancer agent"},
	{"metering", "Metering agent"},
	{"metadata", "Metadata agent"},
	{"macvtap", "Macvtap agent"},
	{"nic", "NIC Switch agent"},
	{"sriov", "SR-IOV agent"},
}

func agentCommands() []command.Entry {
	n := agents()
	words := make([]string, len(agentKinds))
	for i, k := range agentKinds {
		words[i] = k[0]
	}
	return []command.Entry{
		{Name: "network agent add network", Build: agentChange("Let a DHCP agent serve a network", "dhcp", networks(), "POST", "/dhcp-networks", "network_id")},
		{Name: "network agent add router", Build: agentChange("Let an L3 agent run a router", "l3", routers(), "POST", "/l3-routers", "router_id")},
		{Name: "network agent delete", Build: n.Delete(noun.Deleting{
			Short: "Delete network agents",
			Arg:   command.Arg{Name: "<network-agent>", Help: "Network agents to delete, by id", Many: true},
			Flags: []command.Flag{command.Parallel()},
		})},
		{Name: "network agent list", Build: n.List(noun.Listing{
			Short: "List network agents",
			Filters: []noun.Field{
				{Flag: command.Flag{Name: "agent-type", Value: "<agent-type>", Choices: words, Help: "Only agents of this kind"}, To: func(_ context.Context, c *command.Call, flag string) (any, error) {
					at := slices.IndexFunc(agentKinds[:], func(k [2]string) bool { return k[0] == c.Text(flag) })
					return agentKinds[at][1], nil
				}},
				noun.String("host", "<host>", "host", "Only agents on this host"),
			},
			Flags: []command.Flag{
				{Name: "network", Value: "<network>", Complete: "network", Help: "Only DHCP agents that serve this network, by name or id; other filters are left aside"},
				{Name: "router", Value: "<router>", Complete: "router", Help: "Only L3 agents that run this router, by name or id; other filters are left aside"},
				{Name: "long", Help: "Show the state of high availability, with --router"},
			},
			Exclusive: []string{"network router"},
			Path: func(ctx context.Context, c *command.Call) (string, error) {
				switch {
				case c.Given("network"):
					id, err := networks().Resolve(ctx, c, c.Text("network"))
					return "/networks/" + url.PathEscape(id) + "/dhcp-agents", err
				case c.Given("router"):
					id, err := routers().Resolve(ctx, c, c.Text("router"))
					return "/routers/" + url.PathEscape(id) + "/l3-agents", err
				}
				return n.Path, nil
			},
			Query: func(_ context.Context, c *command.Call, q url.Values) error {
				if c.Given("network") || c.Given("router") {
					clear(q)
				}
				return nil
			},
			Prepare: func(_ context.Context, c *command.Call, columns []noun.Column) ([]noun.Column, error) {
				if c.Given("router") && c.Is("long") {
					columns = append(columns, noun.Column{Title: "HA State", Attr: "ha_state"})
				}
				return columns, nil
			},
			Columns: []noun.Column{
				{Title: "ID", Attr: "id"},
				{Title: "Agent Type", Attr: "agent_type"},
				{Title: "Host", Attr: "host"},
				{Title: "Availability Zone", Attr: "availability_zone"},
				{Title: "Alive", Attr: "alive", Cell: alive},
				{Title: "State", Attr: "admin_state_up", Cell: upDown},
				{Title: "Binary", Attr: "binary"},
			},
		})},
		{Name: "network agent remove network", Build: agentChange("Let a DHCP agent serve a network no more", "dhcp", networks(), "DELETE", "/dhcp-networks", "")},
		{Name: "network agent remove router", Build: agentChange("Let an L3 agent run a router no more", "l3", routers(), "DELETE", "/l3-routers", "")},
		{Name: "network agent set", Build: n.Set(noun.Writing{
			Short: "Change a network agent",
			Args:  []command.Arg{{Name: "<network-agent>", Help: "The network agent to change, by id"}}, RefArg: "<network-agent>",
			Fields: []noun.Field{
				description("network agent"),
				noun.On("enable", "admin_state_up", true, "Let the agent take more work"),
				noun.On("disable", "admin_state_up", false, "Let the agent take no more work"),
			},
			Exclusive: []string{"enable disable"},
		})},
		{Name: "network agent show", Build: n.Show(noun.Showing{
			Short: "Show a network agent", Arg: command.Arg{Name: "<network-agent>", Help: "The network agent to show, by id"},
			Fields: fields(
				noun.Column{Title: "admin_state_up", Cell: upDown},
				noun.Column{Title: "agent_type"},
				noun.Column{Title: "alive", Cell: alive},
				noun.Column{Title: "availability_zone"},
				noun.Column{Title: "binary"},
				noun.Column{Title: "configuration", Attr: "configurations"},
				noun.Column{Title: "created_at"},
				noun.Column{Title: "description"},
				noun.Column{Title: "ha_state"},
				noun.Column{Title: "host"},
				noun.Column{Title: "id"},
				noun.Column{Title: "last_heartbeat_at", Attr: "heartbeat_timestamp"},
				noun.Column{Title: "resources_synced"},
				noun.Column{Title: "started_at"},
				noun.Column{Title: "topic"},
			),
		})},
	}
}

func alive(v any) any { return render.BoolCell(v, ":-)", "XXX") }

// agentChange puts a thing on an agent or takes it off. Upstream does nothing
// without the flag that says of which kind the agent is; koc needs no flag.
func agentChange(short, kind string, n noun.Noun, method, below, attr string) func() command.Command {
	return func() command.Command {
		arg := "<" + n.Name + ">"
		return command.Command{
			Short: short,
			Args: []command.Arg{
				{Name: "<agent-id>", Help: "The agent, by id"},
				{Name: arg, Help: "The " + n.Name + ", by name or id", Complete: n.Name},
			},
			Flags: []command.Flag{{Name: kind, Help: "Say that the agent is one of this kind, as is the default"}},
			Run: func(ctx context.Context, c *command.Call) error {
				agent, err := agents().Resolve(ctx, c, c.Text("<agent-id>"))
				if err != nil {
					return err
				}
				id, err := n.Resolve(ctx, c, c.Text(arg))
				if err != nil {
					return err
				}
				if c.Compat() && !c.Is(kind) {
					return nil
				}
				r := cloud.Request{Method: method, Path: "/agents/" + url.PathEscape(agent) + below}
				if attr == "" {
					r.Path += "/" + url.PathEscape(id)
				} else {
					r.Body = noun.Object{{Name: attr, Value: id}}
				}
				return n.Do(ctx, c, r)
			},
		}
	}
}
