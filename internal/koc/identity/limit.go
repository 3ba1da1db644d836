package identity

import (
	"context"
	"net/http"
	"net/url"

	"github.com/holdfast-ops/holdfast/internal/koc/cloud"
	"github.com/holdfast-ops/holdfast/internal/koc/command"
	"github.com/holdfast-ops/holdfast/internal/koc/noun"
	"github.com/holdfast-ops/holdfast/internal/koc/render"
)

// Limits: what projects may have of a resource. A registered limit is the default
// for all projects, a limit is that of one.

func limits() noun.Noun { return thing("limit", "/limits", "limit", "") }

func registered() noun.Noun {
	return thing("registered limit", "/registered_limits", "registered_limit", "")
}

// createOne creates one thing through an API that takes and gives lists.
func createOne(ctx context.Context, c *command.Call, n noun.Noun, body noun.Object) error {
	s, err := n.Open(ctx, c)
	if err != nil {
		return err
	}
	var out noun.Object
	key := n.Key + "s"
	in := noun.Object{{Name: key, Value: []any{render.Ordered(body)}}}
	if err := s.Do(ctx, cloud.Request{Method: http.MethodPost, Path: n.Path, Body: in, Into: &out}); err != nil {
		return err
	}
	created := out.Objects(key)
	if len(created) != 1 {
		created = []noun.Object{nil}
	}
	return c.Show(all().Fields(c, created[0]))
}

// toRegion writes the id of a region; None is none.
func toRegion(ctx context.Context, c *command.Call, flag string) (any, error) {
	if c.Text(flag) == "None" {
		return nil, nil //nolint:nilnil // null is the value
	}
	return regions().Resolve(ctx, c, c.Text(flag))
}

func limitFields() (service, region, description noun.Field) {
	return noun.Field{Flag: command.Flag{Name: "service", Value: "<service>", Help: "Service that the resource is of, by name, type or id", Complete: "service"}, Attr: "service_id", To: toService},
		noun.Field{Flag: command.Flag{Name: "region", Value: "<region>", Help: "Region that it is for; None is every one", Complete: "region"}, Attr: "region_id", To: toRegion},
		noun.String("description", "<description>", "", "What the limit is for")
}

func flagsOf(fields []noun.Field) []command.Flag {
	flags := make([]command.Flag, 0, len(fields))
	for _, f := range fields {
		flags = append(flags, f.Flag)
	}
	return flags
}

func required(f noun.Field) noun.Field {
	f.Flag.Required = true
	return f
}

func limitCreate() command.Command {
	service, region, description := limitFields()
	fields := []noun.Field{
		description, region, required(noun.Project().Reference("project", "<project>", "project_id", "Project that it is for, by name or id")), required(service),
		required(noun.Number("resource-limit", "<resource-limit>", "", "How much the project may have")),
	}
	return command.Command{
		Short: "Limit what a project may have of a resource", Args: []command.Arg{{Name: "<resource-name>", Help: "Name of the resource, as its service calls it"}},
		Flags: flagsOf(fields), Output: command.Created,
		Run: func(ctx context.Context, c *command.Call) error {
			body := noun.Object{{Name: "resource_name", Value: c.Text("<resource-name>")}}
			if err := noun.Fill(ctx, c, &body, fields); err != nil {
				return err
			}
			return createOne(ctx, c, limits(), body)
		},
	}
}

func limitDelete() command.Command {
	return limits().Delete(noun.Deleting{
		Short: "Delete limits of projects", Arg: command.Arg{Name: "<limit-id>", Many: true, Help: "Id of a limit to delete"}, Flags: []command.Flag{command.Parallel()},
	})()
}

func limitFilters() []noun.Field {
	service, region, _ := limitFields()
	service.Flag.Help, region.Flag.Help = "List those of this service, by name, type or id", "List those of this region"
	return []noun.Field{service, noun.String("resource-name", "<resource-name>", "resource_name", "List those of this resource"), region}
}

func limitList() command.Command {
	return limits().List(noun.Listing{
		Short:   "List the limits of projects",
		Filters: append(limitFilters(), noun.Project().Reference("project", "<project>", "project_id", "List those of this project, by name or id")),
		Columns: []noun.Column{
			{Title: "ID", Attr: "id"},
			{Title: "Project ID", Attr: "project_id"},
			{Title: "Service ID", Attr: "service_id"},
			{Title: "Resource Name", Attr: "resource_name"},
			{Title: "Resource Limit", Attr: "resource_limit"},
			{Title: "Description", Attr: "description"},
			{Title: "Region ID", Attr: "region_id"},
		},
	})()
}

// setAndShow is a set command that shows what became of the thing.
func setAndShow(n noun.Noun, short, arg string, fields []noun.Field) command.Command {
	return command.Command{
		Short: short, Args: []command.Arg{{Name: arg, Help: "Id of the " + n.Name + " to change"}}, Flags: flagsOf(fields), Output: command.Created,
		Run: func(ctx context.Context, c *command.Call) error {
			o, err := n.Find(ctx, c, c.Text(arg), nil)
			if err != nil {
				return err
			}
			body := noun.Object{}
			if err := noun.Fill(ctx, c, &body, fields); err != nil {
				return err
			}
			if len(body) > 0 {
				o, err = n.Send(ctx, c, cloud.Request{Method: http.MethodPatch, Path: n.Path + "/" + url.PathEscape(o.Text("id")), Body: n.Wrap(body)})
				if err != nil {
					return err
				}
			}
			return c.Show(all().Fields(c, o))
		},
	}
}

func limitSet() command.Command {
	_, _, description := limitFields()
	return setAndShow(limits(), "Change the limit of a project", "<limit-id>", []noun.Field{description, noun.Number("resource-limit", "<resource-limit>", "", "How much the project may have")})
}

func limitShow() command.Command {
	return limits().Show(noun.Showing{Short: "Show the limit of a project", Arg: command.Arg{Name: "<limit-id>", Help: "Id of the limit to show"}, Fields: all()})()
}

func registeredCreate() command.Command {
	service, region, description := limitFields()
	fields := []noun.Field{description, region, required(service), required(noun.Number("default-limit", "<default-limit>", "", "How much each project may have"))}
	return command.Command{
		Short: "Limit what each project may have of a resource by default", Args: []command.Arg{{Name: "<resource-name>", Help: "Name of the resource, as its service calls it"}},
		Flags: flagsOf(fields), Output: command.Created,
		Run: func(ctx context.Context, c *command.Call) error {
			body := noun.Object{{Name: "resource_name", Value: c.Text("<resource-name>")}}
			if err := noun.Fill(ctx, c, &body, fields); err != nil {
				return err
			}
			return createOne(ctx, c, registered(), body)
		},
	}
}

func registeredDelete() command.Command {
	return registered().Delete(noun.Deleting{
		Short: "Delete default limits", Arg: command.Arg{Name: "<registered-limit-id>", Many: true, Help: "Id of a default limit to delete"}, Flags: []command.Flag{command.Parallel()},
	})()
}

func registeredList() command.Command {
	return registered().List(noun.Listing{
		Short: "List default limits", Filters: limitFilters(),
		Columns: []noun.Column{
			{Title: "ID", Attr: "id"},
			{Title: "Service ID", Attr: "service_id"},
			{Title: "Resource Name", Attr: "resource_name"},
			{Title: "Default Limit", Attr: "default_limit"},
			{Title: "Description", Attr: "description"},
			{Title: "Region ID", Attr: "region_id"},
		},
	})()
}

func registeredSet() command.Command {
	service, region, description := limitFields()
	return setAndShow(registered(), "Change a default limit", "<registered-limit-id>", []noun.Field{
		service, noun.String("resource-name", "<resource-name>", "resource_name", "New name of the resource"),
		noun.Number("default-limit", "<default-limit>", "", "How much each project may have"), description, region,
	})
}

func registeredShow() command.Command {
	return registered().Show(noun.Showing{
		Short: "Show a default limit", Arg: command.Arg{Name: "<registered-limit-id>", Help: "Id of the default limit to show"}, Fields: all(),
	})()
}
