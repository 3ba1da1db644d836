package network

import (
	"context"
	"slices"

	"github.com/holdfast-ops/holdfast/internal/koc/command"
	"github.com/holdfast-ops/holdfast/internal/koc/noun"
)

func ndpProxies() noun.Noun {
	return thing("router ndp proxy", "/ndp_proxies", "ndp_proxy", "ndp_proxies")
}

func ndpProxyCommands() []command.Entry {
	n := ndpProxies()
	shown := fields(asIs("created_at", "description", "id", "ip_address", "name", "port_id", "project_id", "revision_number", "router_id", "updated_at")...)
	return []command.Entry{
		{Name: "router ndp proxy create", Build: n.Create(noun.Writing{
			Short: "Let a router answer for an IPv6 address behind it",
			Args:  []command.Arg{{Name: "<router>", Help: "The router, by name or id", Complete: "router"}},
			Fields: []noun.Field{
				noun.String("name", "<name>", "name", "Name of the new NDP proxy"),
				must(ports().Reference("port", "<port>", "port_id", "Port that has the address, by name or id")),
				noun.String("ip-address", "<ip-address>", "", "The address, when the port has several"),
				description("new NDP proxy"),
			},
			Body: func(ctx context.Context, c *command.Call, body *noun.Object, _ noun.Object) error {
				id, err := routers().Resolve(ctx, c, c.Text("<router>"))
				body.Set("router_id", id)
				return err
			},
			Shown: shown,
		})},
		{Name: "router ndp proxy delete", Build: n.Delete(noun.Deleting{
			Short: "Delete NDP proxies of routers",
			Arg:   command.Arg{Name: "<ndp-proxy>", Help: "NDP proxies to delete, by name or id", Many: true, Complete: n.Name},
			Flags: []command.Flag{command.Parallel()},
		})},
		{Name: "router ndp proxy list", Build: n.List(noun.Listing{
			Short: "List NDP proxies of routers",
			Filters: slices.Concat([]noun.Field{
				routers().Reference("router", "<router>", "router_id", "Only NDP proxies of this router, by name or id"),
				ports().Reference("port", "<port>", "port_id", "Only NDP proxies of this port, by name or id"),
				noun.String("ip-address", "<ip-address>", "", "Only NDP proxies for this address"),
				nameFilter("NDP proxies"),
			}, noun.InProject("Only NDP proxies of this project")),
			Columns: []noun.Column{
				{Title: "ID", Attr: "id"},
				{Title: "Name", Attr: "name"},
				{Title: "Router ID", Attr: "router_id"},
				{Title: "IP Address", Attr: "ip_address"},
				{Title: "Project", Attr: "project_id"},
			},
		})},
		{Name: "router ndp proxy set", Build: n.Set(noun.Writing{
			Short: "Change an NDP proxy of a router",
			Args:  []command.Arg{n.Ref("<ndp-proxy>", "change")}, RefArg: "<ndp-proxy>",
			Fields: []noun.Field{noun.String("name", "<name>", "name", "Rename the NDP proxy"), description("NDP proxy")},
		})},
		{Name: "router ndp proxy show", Build: n.Show(noun.Showing{
			Short: "Show an NDP proxy of a router", Arg: n.Ref("<ndp-proxy>", "show"), Fields: shown,
		})},
	}
}
