package network

import (
	"context"
	"net/url"
	"slices"

	"github.com/holdfast-ops/holdfast/internal/koc/cloud"
	"github.com/holdfast-ops/holdfast/internal/koc/command"
	"github.com/holdfast-ops/holdfast/internal/koc/noun"
)

func localIPs() noun.Noun { return thing("local ip", "/local_ips", "local_ip", "") }

func localIPCommands() []command.Entry {
	n := localIPs()
	shown := fields(asIs("created_at", "description", "id", "ip_mode", "local_ip_address", "local_port_id", "name", "network_id", "project_id",
		"revision_number", "updated_at")...)
	return []command.Entry{
		{Name: "local ip create", Build: n.Create(noun.Writing{
			Short: "Create a local ip, which each host serves by itself",
			Fields: slices.Concat([]noun.Field{
				noun.String("name", "<name>", "name", "Name of the new local ip"),
				description("new local ip"),
				networks().Reference("network", "<network>", "network_id", "Network of the local ip, by name or id"),
				ports().Reference("local-port", "<local-port>", "local_port_id", "Port that has the local ip, by name or id"),
				noun.String("local-ip-address", "<local-ip-address>", "", "Take this address"),
				noun.String("ip-mode", "<ip-mode>", "", "How the address is served: translate or passthrough"),
			}, noun.InProject("Project that owns the local ip")),
			Shown: shown,
		})},
		{Name: "local ip delete", Build: n.Delete(noun.Deleting{
			Short: "Delete local ips",
			Arg:   command.Arg{Name: "<local-ip>", Help: "Local ips to delete, by name or id", Many: true, Complete: n.Name},
			Flags: []command.Flag{command.Parallel()},
		})},
		{Name: "local ip list", Build: n.List(noun.Listing{
			Short: "List local ips",
			Filters: slices.Concat([]noun.Field{nameFilter("local ips")}, noun.InProject("Only local ips of this project"), []noun.Field{
				networks().Reference("network", "<network>", "network_id", "Only local ips of this network, by name or id"),
				ports().Reference("local-port", "<local-port>", "local_port_id", "Only local ips of this port, by name or id"),
				noun.String("local-ip-address", "<local-ip-address>", "", "Only this address"),
				noun.String("ip-mode", "<ip_mode>", "", "Only local ips served in this way"),
			}),
			Columns: []noun.Column{
				{Title: "ID", Attr: "id"},
				{Title: "Name", Attr: "name"},
				{Title: "Description", Attr: "description"},
				{Title: "Project", Attr: "project_id"},
				{Title: "Local Port ID", Attr: "local_port_id"},
				{Title: "Network", Attr: "network_id"},
				{Title: "Local IP address", Attr: "local_ip_address"},
				{Title: "IP mode", Attr: "ip_mode"},
			},
		})},
		{Name: "local ip set", Build: n.Set(noun.Writing{
			Short: "Change a local ip",
			Args:  []command.Arg{n.Ref("<local-ip>", "change")}, RefArg: "<local-ip>",
			Fields: []noun.Field{noun.String("name", "<name>", "name", "Rename the local ip"), description("local ip")},
		})},
		{Name: "local ip show", Build: n.Show(noun.Showing{
			Short: "Show a local ip", Arg: n.Ref("<local-ip>", "show"), Fields: shown,
		})},
	}
}

// localIPAssociations are known by the port that they give the address.
func localIPAssociations() noun.Noun {
	n := thing("local ip association", "", "port_association", "")
	n.ID, n.Label = "fixed_port_id", "-"
	return n
}

func localIPAssociationCommands() []command.Entry {
	n := localIPAssociations()
	local := localIPs().Ref("<local-ip>", "look into")
	path := func(ctx context.Context, c *command.Call) (string, error) {
		id, err := localIPs().Resolve(ctx, c, c.Text("<local-ip>"))
		return "/local_ips/" + url.PathEscape(id) + "/port_associations", err
	}
	return []command.Entry{
		{Name: "local ip association create", Build: n.Create(noun.Writing{
			Short: "Give a port a local ip",
			Args: []command.Arg{
				localIPs().Ref("<local-ip>", "give"),
				{Name: "<fixed-port>", Help: "Port that gets it, by name or id", Complete: "port"},
			},
			Fields: []noun.Field{
				noun.String("fixed-ip", "<fixed-ip>", "", "Address of the port that the local ip leads to, when it has several"),
				{Flag: noun.ProjectDomainFlag(), Attr: "-"},
			},
			Body: func(ctx context.Context, c *command.Call, body *noun.Object, _ noun.Object) error {
				id, err := ports().Resolve(ctx, c, c.Text("<fixed-port>"))
				body.Set("fixed_port_id", id)
				return err
			},
			Path:  path,
			Shown: fields(asIs("fixed_ip", "fixed_port_id", "host", "local_ip_address", "local_ip_id")...),
		})},
		{Name: "local ip association delete", Build: func() command.Command {
			return command.Command{
				Short: "Take a local ip off ports",
				Args:  []command.Arg{local, {Name: "<fixed-port-id>", Help: "Ports that lose it, by name or id", Many: true, Complete: "port"}},
				Flags: []command.Flag{command.Parallel()},
				Run: func(ctx context.Context, c *command.Call) error {
					of, err := path(ctx, c)
					if err != nil {
						return err
					}
					return command.Each(ctx, c, n.Name, "delete", c.Texts("<fixed-port-id>"), func(ctx context.Context, ref string) error {
						return dissociate(ctx, c, of, ref)
					})
				},
			}
		}},
		{Name: "local ip association list", Build: n.List(noun.Listing{
			Short: "List the ports that have a local ip",
			Args:  []command.Arg{local},
			Filters: []noun.Field{
				ports().Reference("fixed-port", "<fixed-port>", "fixed_port_id", "Only this port, by name or id"),
				noun.String("fixed-ip", "<fixed-ip>", "", "Only where the local ip leads to this address"),
				noun.String("host", "<host>", "", "Only ports on this host"),
				{Flag: noun.ProjectDomainFlag(), Attr: "-"},
			},
			Path: path,
			Columns: []noun.Column{
				{Title: "Local IP ID", Attr: "local_ip_id"},
				{Title: "Local IP Address", Attr: "local_ip_address"},
				{Title: "Fixed port ID", Attr: "fixed_port_id"},
				{Title: "Fixed IP", Attr: "fixed_ip"},
				{Title: "Host", Attr: "host"},
			},
		})},
	}
}

// dissociate takes a local ip off a port. An id is taken as it is, since the port may
// be of a project that the user cannot see.
func dissociate(ctx context.Context, c *command.Call, path, ref string) error {
	if !noun.LooksLikeID(ref) {
		id, err := ports().Resolve(ctx, c, ref)
		if err != nil {
			return err
		}
		ref = id
	}
	return localIPAssociations().Do(ctx, c, cloud.Request{Method: "DELETE", Path: path + "/" + url.PathEscape(ref)})
}
