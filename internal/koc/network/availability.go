package network

import (
	"context"
	"slices"

	"github.com/holdfast-ops/holdfast/internal/koc/command"
	"github.com/holdfast-ops/holdfast/internal/koc/noun"
)

func availabilities() noun.Noun {
	return thing("ip availability", "/network-ip-availabilities", "network_ip_availability", "network_ip_availabilities")
}

func availabilityCommands() []command.Entry {
	n := availabilities()
	return []command.Entry{
		{Name: "ip availability list", Build: n.List(noun.Listing{
			Short: "List how many addresses networks have left",
			Filters: slices.Concat([]noun.Field{
				{Flag: command.Flag{Name: "ip-version", Value: "<ip-version>", Type: command.Int, Choices: []string{"4", "6"}, Default: "4", Help: "Count addresses of this IP version"}},
			}, noun.InProject("Only networks of this project")),
			Columns: []noun.Column{
				{Title: "Network ID", Attr: "network_id"},
				{Title: "Network Name", Attr: "network_name"},
				{Title: "Total IPs", Attr: "total_ips"},
				{Title: "Used IPs", Attr: "used_ips"},
			},
		})},
		{Name: "ip availability show", Build: func() command.Command {
			return command.Command{
				Short: "Show how many addresses a network has left", Output: command.Shown,
				Args: []command.Arg{{Name: "<network>", Help: "The network, by name or id", Complete: "network"}},
				Run: func(ctx context.Context, c *command.Call) error {
					id, err := networks().Resolve(ctx, c, c.Text("<network>"))
					if err != nil {
						return err
					}
					o, err := n.Get(ctx, c, id)
					if err != nil {
						return err
					}
					return c.Show(fields(append(asIs("network_id", "network_name", "project_id", "total_ips", "used_ips"),
						noun.Column{Title: "subnet_ip_availability", Cell: listDict})...).Fields(c, o))
				},
			}
		}},
	}
}
