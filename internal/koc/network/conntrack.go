package network

import (
	"context"
	"net/url"

	"github.com/holdfast-ops/holdfast/internal/koc/command"
	"github.com/holdfast-ops/holdfast/internal/koc/noun"
)

func conntrackHelpers() noun.Noun {
	n := thing("l3 conntrack helper", "", "conntrack_helper", "")
	n.Label = "-"
	return n
}

func conntrackHelperCommands() []command.Entry {
	n := conntrackHelpers()
	router := command.Arg{Name: "<router>", Help: "The router, by name or id", Complete: "router"}
	path := func(ctx context.Context, c *command.Call) (string, error) {
		id, err := routers().Resolve(ctx, c, c.Text("<router>"))
		return "/routers/" + url.PathEscape(id) + "/conntrack_helpers", err
	}
	shown := fields(asIs("helper", "id", "name", "port", "protocol")...)
	return []command.Entry{
		{Name: "network l3 conntrack helper create", Build: n.Create(noun.Writing{
			Short: "Let a router follow the connections of a protocol",
			Args:  []command.Arg{router},
			Fields: []noun.Field{
				must(noun.String("helper", "<helper>", "", "Helper of the kernel, such as ftp")),
				must(noun.String("protocol", "<protocol>", "", "Protocol below: tcp or udp")),
				must(noun.Number("port", "<port>", "", "Port of the protocol")),
			},
			Path: path, Shown: shown,
		})},
		{Name: "network l3 conntrack helper delete", Build: n.Delete(noun.Deleting{
			Short: "Let a router follow the connections of a protocol no more",
			Args:  []command.Arg{router},
			Arg:   command.Arg{Name: "<conntrack-helper-id>", Help: "Conntrack helpers to delete, by id", Many: true},
			Flags: []command.Flag{command.Parallel()},
			Path:  path,
		})},
		{Name: "network l3 conntrack helper list", Build: n.List(noun.Listing{
			Short: "List the conntrack helpers of a router",
			Args:  []command.Arg{router},
			Filters: []noun.Field{
				noun.String("helper", "<helper>", "", "Only this helper"),
				noun.String("protocol", "<protocol>", "", "Only helpers for this protocol"),
				noun.String("port", "<port>", "", "Only helpers for this port"),
			},
			Path: path,
			Prepare: func(ctx context.Context, c *command.Call, columns []noun.Column) ([]noun.Column, error) {
				id, err := routers().Resolve(ctx, c, c.Text("<router>"))
				if err != nil {
					return nil, err
				}
				for i := range columns {
					if columns[i].Title == "Router ID" {
						columns[i].Cell = func(any) any { return id }
					}
				}
				return columns, nil
			},
			Columns: []noun.Column{
				{Title: "ID", Attr: "id"},
				{Title: "Router ID", Attr: "router_id"},
				{Title: "Helper", Attr: "helper"},
				{Title: "Protocol", Attr: "protocol"},
				{Title: "Port", Attr: "port"},
			},
		})},
		{Name: "network l3 conntrack helper set", Build: n.Set(noun.Writing{
			Short: "Change a conntrack helper of a router",
			Args:  []command.Arg{router, {Name: "<conntrack-helper-id>", Help: "The conntrack helper to change, by id"}}, RefArg: "<conntrack-helper-id>",
			Fields: []noun.Field{
				noun.String("helper", "<helper>", "", "Helper of the kernel, such as ftp"),
				noun.String("protocol", "<protocol>", "", "Protocol below: tcp or udp"),
				noun.Number("port", "<port>", "", "Port of the protocol"),
			},
			Path: path,
		})},
		{Name: "network l3 conntrack helper show", Build: n.Show(noun.Showing{
			Short: "Show a conntrack helper of a router",
			Args:  []command.Arg{router}, Arg: command.Arg{Name: "<conntrack-helper-id>", Help: "The conntrack helper to show, by id"},
			Path: path, Fields: shown,
		})},
	}
}
