package network

import (
	"context"
	"slices"

	"github.com/holdfast-ops/holdfast/internal/koc/command"
	"github.com/holdfast-ops/holdfast/internal/koc/noun"
	"github.com/holdfast-ops/holdfast/internal/koc/render"
)

func tapMirrors() noun.Noun { return thing("tap mirror", "/taas/tap_mirrors", "tap_mirror", "") }

func tapMirrorCommands() []command.Entry {
	n := tapMirrors()
	shown := fields(append(asIs("description", "id", "mirror_type", "name", "port_id", "project_id", "remote_ip"), noun.Column{Title: "directions", Cell: dict})...)
	return []command.Entry{
		{Name: "tap mirror create", Build: n.Create(noun.Writing{
			Short: "Mirror the traffic of a port to a place outside of the cloud",
			Fields: slices.Concat([]noun.Field{
				noun.String("name", "<name>", "name", "Name of the new tap mirror"),
				description("new tap mirror"),
				must(ports().Reference("port", "<port>", "port_id", "Port whose traffic is mirrored, by name or id")),
				{Flag: command.Flag{
					Name: "directions", Value: "<direction>=<id>", Type: command.KeyValue, Required: true,
					Help: "Mirror traffic this way, IN or OUT, through the tunnel of this id",
				}, To: toDirections},
				must(noun.String("remote-ip", "<remote-ip>", "", "Address that the mirrored traffic goes to")),
				must(noun.OneOf("mirror-type", "<mirror-type>", "", "How the traffic travels", "erspanv1", "gre")),
			}, noun.InProject("Project that owns the tap mirror")),
			Shown: shown,
		})},
		{Name: "tap mirror delete", Build: n.Delete(noun.Deleting{
			Short: "Delete tap mirrors",
			Arg:   command.Arg{Name: "<tap-mirror>", Help: "Tap mirrors to delete, by name or id", Many: true, Complete: n.Name},
			Flags: []command.Flag{command.Parallel()},
		})},
		{Name: "tap mirror list", Build: n.List(noun.Listing{
			Short:   "List tap mirrors",
			Filters: noun.InProject("Only tap mirrors of this project"),
			Columns: []noun.Column{
				{Title: "ID", Attr: "id"},
				{Title: "Tenant", Attr: "project_id"},
				{Title: "Name", Attr: "name"},
				{Title: "Port", Attr: "port_id"},
				{Title: "Directions", Attr: "directions", Cell: dict},
				{Title: "Remote IP", Attr: "remote_ip"},
				{Title: "Mirror Type", Attr: "mirror_type"},
			},
		})},
		{Name: "tap mirror show", Build: n.Show(noun.Showing{
			Short: "Show a tap mirror", Arg: n.Ref("<tap-mirror>", "show"), Fields: shown,
		})},
		{Name: "tap mirror update", Build: n.Set(noun.Writing{
			Short: "Change a tap mirror",
			Args:  []command.Arg{n.Ref("<tap-mirror>", "change")}, RefArg: "<tap-mirror>",
			Fields: []noun.Field{noun.String("name", "<name>", "name", "Rename the tap mirror"), description("tap mirror")},
		})},
	}
}

func toDirections(_ context.Context, c *command.Call, flag string) (any, error) {
	o := noun.Object{}
	for _, p := range c.Pairs(flag) {
		if p.Key != "IN" && p.Key != "OUT" {
			return nil, command.Reject("--directions %s=%s: the direction is IN or OUT", p.Key, p.Value)
		}
		o.Set(p.Key, p.Value)
	}
	return render.Ordered(o), nil
}
