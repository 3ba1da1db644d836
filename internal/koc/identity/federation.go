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

// create sends the PUT by which things of federation come to be: under the id
// that the user chose.
func createAt(ctx context.Context, c *command.Call, n noun.Noun, id string, body noun.Object, fields noun.Fields) error {
	o, err := n.Send(ctx, c, cloud.Request{Method: http.MethodPut, Path: n.Path + "/" + url.PathEscape(id), Body: n.Wrap(body)})
	if err != nil {
		return err
	}
	return c.Show(fields.Fields(c, o))
}

func providers() noun.Noun {
	return thing("identity provider", "/OS-FEDERATION/identity_providers", "identity_provider", "")
}

func providerArg(verb string) command.Arg {
	return command.Arg{Name: "<identity-provider>", Help: "The identity provider to " + verb}
}

func providerShape() noun.Fields {
	return noun.Fields{Rest: true, Sort: true, Hide: []string{"links"}, Columns: []noun.Column{{Title: "remote_ids", Cell: func(v any) any {
		if v == nil {
			v = []any{}
		}
		return render.ListCell(v)
	}}}}
}

func remoteFlags() []command.Flag {
	return []command.Flag{
		{Name: "remote-id", Value: "<remote-id>", Repeat: true, Help: "Id by which the identity provider names itself; repeatable"},
		{Name: "remote-id-file", Value: "<file-name>", Help: "File with such ids, one a line"},
	}
}

func remoteIDs(c *command.Call, body *noun.Object) error {
	switch {
	case c.Given("remote-id-file"):
		lines, err := readLines(c.Text("remote-id-file"))
		body.Set("remote_ids", lines)
		return err
	case c.Given("remote-id"):
		body.Set("remote_ids", c.Texts("remote-id"))
	}
	return nil
}

func providerCreate() command.Command {
	return command.Command{
		Short: "Create an identity provider", Args: []command.Arg{{Name: "<name>", Help: "Name of the new identity provider"}},
		Flags: append(remoteFlags(),
			command.Flag{Name: "description", Value: "<description>", Help: "What it is"},
			domainFlag("Domain of its users, by name or id; a new one when left out"),
			command.Flag{Name: "enable", Help: "Enable the identity provider (the default)"}, command.Flag{Name: "disable", Help: "Disable the identity provider"}),
		Exclusive: []string{"remote-id remote-id-file", "enable disable"}, Output: command.Created,
		Run: func(ctx context.Context, c *command.Call) error {
			body := noun.Object{{Name: "enabled", Value: !c.Is("disable")}}
			if c.Given("description") {
				body.Set("description", c.Text("description"))
			}
			if err := remoteIDs(c, &body); err != nil {
				return err
			}
			if c.Given("domain") {
				id, err := domainID(ctx, c)
				if err != nil {
					return err
				}
				body.Set("domain_id", id)
			}
			return createAt(ctx, c, providers(), c.Text("<name>"), body, providerShape())
		},
	}
}

func providerDelete() command.Command {
	return providers().Delete(noun.Deleting{
		Short: "Delete identity providers", Arg: command.Arg{Name: "<identity-provider>", Many: true, Help: "An identity provider to delete"}, Flags: []command.Flag{command.Parallel()},
	})()
}

func providerList() command.Command {
	return providers().List(noun.Listing{
		Short: "List identity providers",
		Filters: []noun.Field{
			noun.String("id", "<id>", "id", "List the identity provider of this id"), noun.On("enabled", "enabled", true, "List those that are enabled"),
		},
		Columns: []noun.Column{{Title: "ID", Attr: "id"}, {Title: "Enabled", Attr: "enabled"}, {Title: "Domain ID", Attr: "domain_id"}, {Title: "Description", Attr: "description"}},
	})()
}

func providerSet() command.Command {
	return providers().Set(noun.Writing{
		Short: "Change an identity provider", Args: []command.Arg{providerArg("change")}, RefArg: "<identity-provider>",
		Fields: append([]noun.Field{noun.String("description", "<description>", "", "What it is")}, enableFlags("identity provider")...),
		Flags:  remoteFlags(), Exclusive: []string{"remote-id remote-id-file", "enable disable"},
		Body: func(_ context.Context, c *command.Call, body *noun.Object, _ noun.Object) error {
			return remoteIDs(c, body)
		},
	})()
}

func providerShow() command.Command {
	return providers().Show(noun.Showing{Short: "Show an identity provider", Arg: providerArg("show"), Fields: providerShape()})()
}

// Protocols of identity providers.

func protocols(c *command.Call) noun.Noun {
	return thing("federation protocol", "/OS-FEDERATION/identity_providers/"+url.PathEscape(c.Text("identity-provider"))+"/protocols", "protocol", "")
}

func providerFlag() command.Flag {
	return command.Flag{Name: "identity-provider", Value: "<identity-provider>", Required: true, Help: "The identity provider that speaks it"}
}

func protocolShape(c *command.Call, named bool) noun.Fields {
	f := noun.Fields{Rest: true, Sort: true, Hide: []string{"links"}, Columns: []noun.Column{{Title: "mapping", Attr: "mapping_id"}}}
	if named {
		f.Columns = append(f.Columns, noun.Column{Title: "identity_provider", From: func(noun.Object) any { return c.Text("identity-provider") }})
	}
	return f
}

func protocolCreate() command.Command {
	return command.Command{
		Short: "Create a protocol of an identity provider", Args: []command.Arg{{Name: "<name>", Help: "Name of the protocol, such as openid"}},
		Flags:  []command.Flag{providerFlag(), {Name: "mapping", Value: "<mapping>", Required: true, Help: "The mapping that makes users of its claims"}},
		Output: command.Created,
		Run: func(ctx context.Context, c *command.Call) error {
			return createAt(ctx, c, protocols(c), c.Text("<name>"), noun.Object{{Name: "mapping_id", Value: c.Text("mapping")}}, protocolShape(c, true))
		},
	}
}

func protocolDelete() command.Command {
	return command.Command{
		Short: "Delete protocols of an identity provider", Args: []command.Arg{{Name: "<federation-protocol>", Many: true, Help: "A protocol to delete"}},
		Flags: []command.Flag{providerFlag(), command.Parallel()},
		Run: func(ctx context.Context, c *command.Call) error {
			return deleteEach(ctx, c, protocols(c), "<federation-protocol>")
		},
	}
}

func protocolList() command.Command {
	return command.Command{
		Short: "List the protocols of an identity provider", Flags: []command.Flag{providerFlag()}, Output: command.Listed,
		Run: func(ctx context.Context, c *command.Call) error {
			return noun.PrintList(c, []noun.Column{{Title: "id", Attr: "id"}, {Title: "mapping", Attr: "mapping_id"}}, protocols(c).All(ctx, c, nil))
		},
	}
}

func protocolSet() command.Command {
	return command.Command{
		Short: "Change a protocol of an identity provider", Args: []command.Arg{{Name: "<name>", Help: "The protocol to change"}},
		Flags: []command.Flag{providerFlag(), {Name: "mapping", Value: "<mapping>", Help: "The mapping that makes users of its claims"}},
		Run: func(ctx context.Context, c *command.Call) error {
			n := protocols(c)
			o, err := n.Find(ctx, c, c.Text("<name>"), nil)
			if err != nil || !c.Given("mapping") {
				return err
			}
			return n.Update(ctx, c, o.Text("id"), noun.Object{{Name: "mapping_id", Value: c.Text("mapping")}})
		},
	}
}

func protocolShow() command.Command {
	return command.Command{
		Short: "Show a protocol of an identity provider", Args: []command.Arg{{Name: "<federation-protocol>", Help: "The protocol to show"}},
		Flags: []command.Flag{providerFlag()}, Output: command.Shown,
		Run: func(ctx context.Context, c *command.Call) error {
			o, err := protocols(c).Find(ctx, c, c.Text("<federation-protocol>"), nil)
			if err != nil {
				return err
			}
			return c.Show(protocolShape(c, false).Fields(c, o))
		},
	}
}

// Mappings of claims to users.

func mappings() noun.Noun { return thing("mapping", "/OS-FEDERATION/mappings", "mapping", "") }

func mappingCreate() command.Command {
	return command.Command{
		Short: "Create a mapping of claims to users", Args: []command.Arg{{Name: "<name>", Help: "Name of the new mapping"}},
		Flags:  []command.Flag{{Name: "rules", Value: "<filename>", Required: true, Help: "File with the rules, a JSON list"}},
		Output: command.Created,
		Run: func(ctx context.Context, c *command.Call) error {
			rules, err := readJSON(c.Text("rules"))
			if err != nil {
				return err
			}
			return createAt(ctx, c, mappings(), c.Text("<name>"), noun.Object{{Name: "rules", Value: rules}}, all())
		},
	}
}

func mappingDelete() command.Command {
	return mappings().Delete(noun.Deleting{
		Short: "Delete mappings", Arg: command.Arg{Name: "<mapping>", Many: true, Help: "A mapping to delete"}, Flags: []command.Flag{command.Parallel()},
	})()
}

func mappingList() command.Command {
	return mappings().List(noun.Listing{Short: "List mappings", Columns: []noun.Column{{Title: "ID", Attr: "id"}}})()
}

func mappingSet() command.Command {
	return mappings().Set(noun.Writing{
		Short: "Change a mapping", Args: []command.Arg{{Name: "<name>", Help: "The mapping to change"}}, RefArg: "<name>",
		Fields: []noun.Field{{Flag: command.Flag{Name: "rules", Value: "<filename>", Help: "File with the new rules, a JSON list"}, To: toJSON}},
	})()
}

func mappingShow() command.Command {
	return mappings().Show(noun.Showing{Short: "Show a mapping", Arg: command.Arg{Name: "<mapping>", Help: "The mapping to show"}, Fields: all()})()
}

// Service providers: other clouds that trust this one.

func serviceProviders() noun.Noun {
	return thing("service provider", "/OS-FEDERATION/service_providers", "service_provider", "")
}

func serviceProviderArg(verb string) command.Arg {
	return command.Arg{Name: "<service-provider>", Help: "The service provider to " + verb}
}

func serviceProviderCreate() command.Command {
	return command.Command{
		Short: "Create a service provider", Args: []command.Arg{{Name: "<name>", Help: "Name of the new service provider"}},
		Flags: []command.Flag{
			{Name: "auth-url", Value: "<auth-url>", Required: true, Help: "Address at which it authenticates users of ours"},
			{Name: "description", Value: "<description>", Help: "What it is"},
			{Name: "service-provider-url", Value: "<sp-url>", Required: true, Help: "Address to which our assertions go"},
			{Name: "enable", Help: "Enable the service provider (the default)"},
			{Name: "disable", Help: "Disable the service provider"},
		},
		Exclusive: []string{"enable disable"}, Output: command.Created,
		Run: func(ctx context.Context, c *command.Call) error {
			body := noun.Object{
				{Name: "auth_url", Value: c.Text("auth-url")}, {Name: "sp_url", Value: c.Text("service-provider-url")}, {Name: "enabled", Value: !c.Is("disable")},
			}
			if c.Given("description") {
				body.Set("description", c.Text("description"))
			}
			return createAt(ctx, c, serviceProviders(), c.Text("<name>"), body, all())
		},
	}
}

func serviceProviderDelete() command.Command {
	return serviceProviders().Delete(noun.Deleting{
		Short: "Delete service providers", Arg: command.Arg{Name: "<service-provider>", Many: true, Help: "A service provider to delete"}, Flags: []command.Flag{command.Parallel()},
	})()
}

func serviceProviderList() command.Command {
	return serviceProviders().List(noun.Listing{
		Short:   "List service providers",
		Columns: []noun.Column{{Title: "ID", Attr: "id"}, {Title: "Enabled", Attr: "enabled"}, {Title: "Description", Attr: "description"}, {Title: "Auth URL", Attr: "auth_url"}},
	})()
}

func serviceProviderSet() command.Command {
	return serviceProviders().Set(noun.Writing{
		Short: "Change a service provider", Args: []command.Arg{serviceProviderArg("change")}, RefArg: "<service-provider>",
		Fields: append([]noun.Field{
			noun.String("auth-url", "<auth-url>", "", "New address at which it authenticates"), noun.String("description", "<description>", "", "What it is"),
			noun.String("service-provider-url", "<sp-url>", "sp_url", "New address to which assertions go"),
		}, enableFlags("service provider")...), Exclusive: []string{"enable disable"},
	})()
}

func serviceProviderShow() command.Command {
	return serviceProviders().Show(noun.Showing{Short: "Show a service provider", Arg: serviceProviderArg("show"), Fields: all()})()
}

func federationDomainList() command.Command {
	n := noun.Domain().At("/OS-FEDERATION/domains")
	return n.List(noun.Listing{
		Short:   "List the domains that a federated user may work in",
		Columns: []noun.Column{{Title: "ID", Attr: "id"}, {Title: "Enabled", Attr: "enabled"}, {Title: "Name", Attr: "name"}, {Title: "Description", Attr: "description"}},
	})()
}

func federationProjectList() command.Command {
	n := noun.Project().At("/OS-FEDERATION/projects")
	return n.List(noun.Listing{
		Short:   "List the projects that a federated user may work in",
		Columns: []noun.Column{{Title: "ID", Attr: "id"}, {Title: "Domain ID", Attr: "domain_id"}, {Title: "Enabled", Attr: "enabled"}, {Title: "Name", Attr: "name"}},
	})()
}
