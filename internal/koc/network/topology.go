package network

import (
	"cmp"
	"context"
	"net/url"

	"github.com/holdfast-ops/holdfast/internal/koc/cloud"
	"github.com/holdfast-ops/holdfast/internal/koc/command"
	"github.com/holdfast-ops/holdfast/internal/koc/noun"
	"github.com/holdfast-ops/holdfast/internal/koc/render"
)

func topologies() noun.Noun {
	n := thing("auto allocated topology", "/auto-allocated-topology", "auto_allocated_topology", "")
	n.Label = "-"
	return n
}

func topologyCommands() []command.Entry {
	return []command.Entry{
		{Name: "network auto allocated topology create", Build: createTopology},
		{Name: "network auto allocated topology delete", Build: deleteTopology},
	}
}

// topologyOf is the project of the flags, as the path of the API has it.
func topologyOf(ctx context.Context, c *command.Call) (string, error) {
	id, err := noun.ProjectID(ctx, c)
	return topologies().Path + "/" + url.PathEscape(cmp.Or(id, "None")), err
}

func createTopology() command.Command {
	return command.Command{
		Short:  "Create the network, subnets and router that a project starts with, or show them",
		Output: command.Created,
		Flags: append(noun.ProjectFlags("Project of the topology, by name or id; that of the token is the default"),
			command.Flag{Name: "check-resources", Help: "Create nothing, only tell whether it could be created"},
			command.Flag{Name: "or-show", Help: "Show the topology if it exists, as is the default"}),
		Run: func(ctx context.Context, c *command.Call) error {
			path, err := topologyOf(ctx, c)
			if err != nil {
				return err
			}
			r := cloud.Request{Path: path}
			if c.Is("check-resources") {
				r.Query = url.Values{"fields": {"dry-run"}}
			}
			o, err := topologies().Send(ctx, c, r)
			if err != nil {
				return err
			}
			if c.Is("check-resources") {
				result := o.Get("dry_run")
				if o.Text("id") == "dry-run=pass" && !c.Compat() { // where upstream reads another attribute
					result = "pass"
				}
				return c.Show([]render.Field{{Name: "dry_run", Value: result}})
			}
			return c.Show(fields(asIs("id", "project_id")...).Fields(c, o))
		},
	}
}

func deleteTopology() command.Command {
	return command.Command{
		Short: "Delete the network, subnets and router that a project started with",
		Flags: noun.ProjectFlags("Project of the topology, by name or id; that of the token is the default"),
		Run: func(ctx context.Context, c *command.Call) error {
			path, err := topologyOf(ctx, c)
			if err != nil {
				return err
			}
			return topologies().Do(ctx, c, cloud.Request{Method: "DELETE", Path: path})
		},
	}
}
