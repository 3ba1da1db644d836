package identity

import (
	"context"
	"net/http"
	"net/url"

	"github.com/holdfast-ops/holdfast/internal/koc/cloud"
	"github.com/holdfast-ops/holdfast/internal/koc/command"
	"github.com/holdfast-ops/holdfast/internal/koc/noun"
)

func services() noun.Noun {
	return noun.Noun{Name: "service", Service: "identity", Path: "/services", Key: "service", Patch: true}
}

// findService finds a service by id, name or type.
func findService(ctx context.Context, c *command.Call, ref string) (noun.Object, error) {
	o, err := services().Find(ctx, c, ref, nil)
	if !noun.IsNotFound(err) {
		return o, err
	}
	byType := services()
	byType.Label, byType.ByName = "type", "type"
	o, typeErr := byType.Find(ctx, c, ref, nil)
	if noun.IsNotFound(typeErr) {
		return nil, err
	}
	return o, typeErr
}

func serviceArg(verb string) command.Arg {
	return command.Arg{Name: "<service>", Help: "The service to " + verb + ", by name, type or id", Complete: "service"}
}

func toService(ctx context.Context, c *command.Call, flag string) (any, error) {
	o, err := findService(ctx, c, c.Text(flag))
	return o.Get("id"), err
}

func serviceFields() []noun.Field {
	return append([]noun.Field{noun.String("description", "<description>", "", "What the service does")}, enableFlags("service")...)
}

func serviceCreate() command.Command {
	return services().Create(noun.Writing{
		Short: "Create a service in the catalogue", Args: []command.Arg{{Name: "<type>", Help: "Type of the new service, such as compute"}},
		Fields: append([]noun.Field{noun.String("name", "<name>", "", "Name of the service")}, serviceFields()...), Exclusive: []string{"enable disable"}, Shown: all(),
		Body: func(_ context.Context, c *command.Call, body *noun.Object, _ noun.Object) error {
			body.Set("type", c.Text("<type>"))
			if _, given := body.Lookup("enabled"); !given {
				body.Set("enabled", true)
			}
			return nil
		},
	})()
}

func serviceDelete() command.Command {
	return command.Command{
		Short: "Delete services from the catalogue, with their endpoints",
		Args:  []command.Arg{{Name: "<service>", Many: true, Help: "A service to delete, by name, type or id", Complete: "service"}}, Flags: []command.Flag{command.Parallel()},
		Run: func(ctx context.Context, c *command.Call) error {
			return command.Each(ctx, c, "service", "delete", c.Texts("<service>"), func(ctx context.Context, ref string) error {
				o, err := findService(ctx, c, ref)
				if err != nil {
					return err
				}
				return send(ctx, c, http.MethodDelete, "/services/"+o.Text("id"), nil, nil)
			})
		},
	}
}

func serviceList() command.Command {
	return services().List(noun.Listing{
		Short: "List the services of the catalogue",
		Columns: []noun.Column{
			{Title: "ID", Attr: "id"},
			{Title: "Name", Attr: "name", Cell: orEmpty},
			{Title: "Type", Attr: "type"},
			{Title: "Description", Attr: "description", Long: true, Cell: orEmpty},
			{Title: "Enabled", Attr: "enabled", Long: true},
		},
	})()
}

func serviceSet() command.Command {
	fields := append([]noun.Field{noun.String("type", "<type>", "", "New type"), noun.String("name", "<service-name>", "", "New name")}, serviceFields()...)
	flags := flagsOf(fields)
	return command.Command{
		Short: "Change a service of the catalogue", Args: []command.Arg{serviceArg("change")}, Flags: flags, Exclusive: []string{"enable disable"},
		Run: func(ctx context.Context, c *command.Call) error {
			o, err := findService(ctx, c, c.Text("<service>"))
			if err != nil {
				return err
			}
			var body noun.Object
			if err := noun.Fill(ctx, c, &body, fields); err != nil || len(body) == 0 {
				return err
			}
			return services().Update(ctx, c, o.Text("id"), body)
		},
	}
}

func serviceShow() command.Command {
	return command.Command{
		Short: "Show a service of the catalogue", Args: []command.Arg{serviceArg("show")}, Output: command.Shown,
		Run: func(ctx context.Context, c *command.Call) error {
			o, err := findService(ctx, c, c.Text("<service>"))
			if err != nil {
				return err
			}
			return c.Show(all().Fields(c, o))
		},
	}
}

// Endpoints.

func endpoints() noun.Noun { return thing("endpoint", "/endpoints", "endpoint", "") }

// withService adds the name and the type of its service to an endpoint.
func withService(o, service noun.Object) noun.Object {
	o.Set("service_name", orEmpty(service.Get("name")))
	o.Set("service_type", service.Get("type"))
	return o
}

func interfaces() []string { return []string{"admin", "public", "internal"} }

func endpointCreate() command.Command {
	return command.Command{
		Short: "Create an endpoint of a service",
		Args: []command.Arg{
			serviceArg("reach"), {Name: "<interface>", Choices: interfaces(), Help: "Who the endpoint is for: public, internal or admin"}, {Name: "<url>", Help: "Address of the endpoint"},
		},
		Flags: []command.Flag{
			{Name: "region", Value: "<region-id>", Help: "Region of the endpoint", Complete: "region"},
			{Name: "enable", Help: "Enable the endpoint (the default)"},
			{Name: "disable", Help: "Disable the endpoint"},
			{Name: "description", Value: "<description>", Koc: true, Help: "What the endpoint is"},
		},
		Exclusive: []string{"enable disable"}, Output: command.Created,
		Run: func(ctx context.Context, c *command.Call) error {
			service, err := findService(ctx, c, c.Text("<service>"))
			if err != nil {
				return err
			}
			body := noun.Object{
				{Name: "service_id", Value: service.Get("id")},
				{Name: "url", Value: c.Text("<url>")},
				{Name: "interface", Value: c.Text("<interface>")},
				{Name: "enabled", Value: !c.Is("disable")},
			}
			if c.Given("region") {
				body.Set("region_id", c.Text("region"))
			}
			if c.Given("description") {
				body.Set("description", c.Text("description"))
			}
			o, err := endpoints().Send(ctx, c, cloud.Request{Method: http.MethodPost, Path: "/endpoints", Body: endpoints().Wrap(body)})
			if err != nil {
				return err
			}
			return c.Show(all().Fields(c, withService(o, service)))
		},
	}
}

func endpointDelete() command.Command {
	return endpoints().Delete(noun.Deleting{
		Short: "Delete endpoints", Arg: command.Arg{Name: "<endpoint-id>", Many: true, Help: "Id of an endpoint to delete"}, Flags: []command.Flag{command.Parallel()},
	})()
}

func endpointList() command.Command {
	return command.Command{
		Short: "List endpoints, or the projects that see one",
		Flags: []command.Flag{
			{Name: "service", Value: "<service>", Help: "List the endpoints of this service, by name, type or id", Complete: "service"},
			{Name: "interface", Value: "<interface>", Choices: interfaces(), Help: "List the endpoints of this interface"},
			{Name: "region", Value: "<region-id>", Help: "List the endpoints of this region", Complete: "region"},
			{Name: "endpoint", Value: "<endpoint-group>", Help: "List the projects that see the endpoint of this id"},
			{Name: "project", Value: "<project>", Help: "List the endpoints that this project sees, by name or id", Complete: "project"},
			noun.ProjectDomainFlag(),
		},
		Exclusive: []string{"endpoint project"}, Output: command.Listed,
		Run: runEndpointList,
	}
}

func runEndpointList(ctx context.Context, c *command.Call) error {
	if c.Given("endpoint") {
		o, err := endpoints().Find(ctx, c, c.Text("endpoint"), nil)
		if err != nil {
			return err
		}
		n := noun.Project().At("/OS-EP-FILTER/endpoints/" + o.Text("id") + "/projects")
		return noun.PrintList(c, []noun.Column{{Title: "ID", Attr: "id"}, {Title: "Name", Attr: "name"}}, n.All(ctx, c, nil))
	}
	n, q := endpoints(), url.Values{}
	if c.Given("project") {
		id, err := noun.ProjectID(ctx, c)
		if err != nil {
			return err
		}
		n = n.At("/OS-EP-FILTER/projects/" + id + "/endpoints")
	}
	if c.Given("service") {
		service, err := findService(ctx, c, c.Text("service"))
		if err != nil {
			return err
		}
		q.Set("service_id", service.Text("id"))
	}
	if c.Given("interface") {
		q.Set("interface", c.Text("interface"))
	}
	if c.Given("region") {
		q.Set("region_id", c.Text("region"))
	}
	known := map[string]noun.Object{}
	for s, err := range services().All(ctx, c, nil) {
		if err != nil {
			return err
		}
		known[s.Text("id")] = s
	}
	return noun.PrintList(c, []noun.Column{
		{Title: "ID", Attr: "id"},
		{Title: "Region", Attr: "region"},
		{Title: "Service Name", Attr: "service_name"},
		{Title: "Service Type", Attr: "service_type"},
		{Title: "Enabled", Attr: "enabled"},
		{Title: "Interface", Attr: "interface"},
		{Title: "URL", Attr: "url"},
	}, func(yield func(noun.Object, error) bool) {
		for o, err := range n.All(ctx, c, q) {
			if err == nil {
				o = withService(o, known[o.Text("service_id")])
			}
			if !yield(o, err) {
				return
			}
		}
	})
}

func endpointSet() command.Command {
	return endpoints().Set(noun.Writing{
		Short: "Change an endpoint", Args: []command.Arg{{Name: "<endpoint-id>", Help: "Id of the endpoint to change"}}, RefArg: "<endpoint-id>",
		Fields: append([]noun.Field{
			noun.String("region", "<region-id>", "region_id", "New region"), noun.OneOf("interface", "<interface>", "", "New interface", interfaces()...), noun.String("url", "<url>", "", "New address"),
			{Flag: command.Flag{Name: "service", Value: "<service>", Help: "New service, by name, type or id", Complete: "service"}, Attr: "service_id", To: toService},
			{Flag: command.Flag{Name: "description", Value: "<description>", Koc: true, Help: "What the endpoint is"}},
		}, enableFlags("endpoint")...),
		Exclusive: []string{"enable disable"},
	})()
}

func endpointShow() command.Command {
	return endpoints().Show(noun.Showing{
		Short: "Show an endpoint", Arg: command.Arg{Name: "<endpoint>", Help: "Id of the endpoint to show"}, Fields: all(),
		Also: func(ctx context.Context, c *command.Call, o noun.Object) (noun.Object, error) {
			service, err := services().Get(ctx, c, o.Text("service_id"))
			return withService(o, service), err
		},
	})()
}

// seen does something to whether a project sees an endpoint or a group of them.
func seen(method string, n func() noun.Noun, path, arg string) func(context.Context, *command.Call) error {
	return func(ctx context.Context, c *command.Call) error {
		o, err := n().Find(ctx, c, c.Text(arg), nil)
		if err != nil {
			return err
		}
		project, err := noun.Project().In(ctx, c, c.Text("<project>"), c.Text("project-domain"))
		if err != nil {
			return err
		}
		if path == "endpoint_groups" {
			return send(ctx, c, method, "/OS-EP-FILTER/endpoint_groups/"+o.Text("id")+"/projects/"+project, nil, nil)
		}
		return send(ctx, c, method, "/OS-EP-FILTER/projects/"+project+"/endpoints/"+o.Text("id"), nil, nil)
	}
}

func projectArg(help string) command.Arg {
	return command.Arg{Name: "<project>", Help: help + ", by name or id", Complete: "project"}
}

func endpointAddProject() command.Command {
	return command.Command{
		Short: "Let a project see an endpoint", Args: []command.Arg{{Name: "<endpoint>", Help: "Id of the endpoint"}, projectArg("The project to show it to")},
		Flags: []command.Flag{noun.ProjectDomainFlag()}, Run: seen(http.MethodPut, endpoints, "endpoints", "<endpoint>"),
	}
}

func endpointRemoveProject() command.Command {
	return command.Command{
		Short: "Let a project see an endpoint no more", Args: []command.Arg{{Name: "<endpoint>", Help: "Id of the endpoint"}, projectArg("The project to hide it from")},
		Flags: []command.Flag{noun.ProjectDomainFlag()}, Run: seen(http.MethodDelete, endpoints, "endpoints", "<endpoint>"),
	}
}

// Groups of endpoints.

func endpointGroups() noun.Noun {
	return noun.Noun{Name: "endpoint group", Service: "identity", Path: "/OS-EP-FILTER/endpoint_groups", Key: "endpoint_group", ByName: "-", Patch: true}
}

func endpointGroupArg(verb string) command.Arg {
	return command.Arg{Name: "<endpoint-group>", Help: "The endpoint group to " + verb + ", by name or id"}
}

func endpointGroupCreate() command.Command {
	return endpointGroups().Create(noun.Writing{
		Short:   "Create a group of endpoints: those that a filter selects",
		Args:    []command.Arg{{Name: "<name>", Help: "Name of the new group"}, {Name: "<filename>", Help: "File with the filter, a JSON object"}},
		NameArg: "<name>", Fields: []noun.Field{noun.String("description", "<description>", "", "What the group is for")}, Shown: all(),
		Body: func(_ context.Context, c *command.Call, body *noun.Object, _ noun.Object) error {
			filters, err := readJSON(c.Text("<filename>"))
			body.Set("filters", filters)
			return err
		},
	})()
}

func endpointGroupDelete() command.Command {
	return endpointGroups().Delete(noun.Deleting{
		Short: "Delete groups of endpoints", Arg: command.Arg{Name: "<endpoint-group>", Many: true, Help: "A group to delete, by name or id"}, Flags: []command.Flag{command.Parallel()},
	})()
}

func endpointGroupList() command.Command {
	return command.Command{
		Short: "List the groups of endpoints, or the projects that see one",
		Flags: []command.Flag{
			{Name: "endpointgroup", Value: "<endpoint-group>", Help: "List the projects that see this group, by name or id"},
			{Name: "project", Value: "<project>", Help: "List the groups that this project sees, by name or id", Complete: "project"},
			domainFlag("Domain of the project, by name or id"),
		},
		Exclusive: []string{"endpointgroup project"}, Output: command.Listed,
		Run: func(ctx context.Context, c *command.Call) error {
			columns := []noun.Column{{Title: "ID", Attr: "id"}, {Title: "Name", Attr: "name"}, {Title: "Description", Attr: "description"}}
			switch {
			case c.Given("endpointgroup"):
				id, err := endpointGroups().Resolve(ctx, c, c.Text("endpointgroup"))
				if err != nil {
					return err
				}
				return noun.PrintList(c, columns, noun.Project().At("/OS-EP-FILTER/endpoint_groups/"+id+"/projects").All(ctx, c, nil))
			case c.Given("project"):
				id, err := noun.Project().In(ctx, c, c.Text("project"), c.Text("domain"))
				if err != nil {
					return err
				}
				return noun.PrintList(c, columns, endpointGroups().At("/OS-EP-FILTER/projects/"+id+"/endpoint_groups").All(ctx, c, nil))
			}
			return noun.PrintList(c, columns, endpointGroups().All(ctx, c, nil))
		},
	}
}

func endpointGroupSet() command.Command {
	return endpointGroups().Set(noun.Writing{
		Short: "Change a group of endpoints", Args: []command.Arg{endpointGroupArg("change")}, RefArg: "<endpoint-group>",
		Fields: []noun.Field{
			noun.String("name", "<name>", "", "New name"),
			{Flag: command.Flag{Name: "filters", Value: "<filename>", Help: "File with the new filter, a JSON object"}, To: toJSON},
			noun.String("description", "<description>", "", "What the group is for"),
		},
	})()
}

func endpointGroupShow() command.Command {
	return endpointGroups().Show(noun.Showing{
		Short: "Show a group of endpoints", Arg: command.Arg{Name: "<endpointgroup>", Help: "The endpoint group to show, by name or id"}, Fields: all(),
	})()
}

func endpointGroupAddProject() command.Command {
	return command.Command{
		Short: "Let a project see a group of endpoints", Args: []command.Arg{endpointGroupArg("show"), projectArg("The project to show it to")},
		Flags: []command.Flag{noun.ProjectDomainFlag()}, Run: seen(http.MethodPut, endpointGroups, "endpoint_groups", "<endpoint-group>"),
	}
}

func endpointGroupRemoveProject() command.Command {
	return command.Command{
		Short: "Let a project see a group of endpoints no more", Args: []command.Arg{endpointGroupArg("hide"), projectArg("The project to hide it from")},
		Flags: []command.Flag{noun.ProjectDomainFlag()}, Run: seen(http.MethodDelete, endpointGroups, "endpoint_groups", "<endpoint-group>"),
	}
}
