package network

import (
	"context"
	"net/url"
	"slices"

	"github.com/holdfast-ops/holdfast/internal/koc/cloud"
	"github.com/holdfast-ops/holdfast/internal/koc/command"
	"github.com/holdfast-ops/holdfast/internal/koc/noun"
)

func flavors() noun.Noun { return thing("network flavor", "/flavors", "flavor", "") }

func profiles() noun.Noun {
	n := thing("network flavor profile", "/service_profiles", "service_profile", "")
	n.Label = "-"
	return n
}

func flavorCommands() []command.Entry {
	n := flavors()
	return []command.Entry{
		{Name: "network flavor add profile", Build: flavorChange("Add a service profile to a network flavor", true)},
		{Name: "network flavor create", Build: n.Create(extra(noun.Writing{
			Short: "Create a network flavor",
			Args:  []command.Arg{{Name: "<name>", Help: "Name of the new network flavor"}}, NameArg: "<name>",
			Fields: slices.Concat([]noun.Field{
				must(noun.String("service-type", "<service-type>", "", "Service that the flavor is of, as network service provider list names it")),
				description("new network flavor"),
				noun.On("enable", "enabled", true, "Enable the network flavor"),
				noun.On("disable", "enabled", false, "Disable the network flavor"),
			}, noun.InProject("Project that owns the network flavor")),
			Exclusive: []string{"enable disable"},
			Shown:     shownFlavor(),
		}))},
		{Name: "network flavor delete", Build: n.Delete(noun.Deleting{
			Short: "Delete network flavors",
			Arg:   command.Arg{Name: "<flavor>", Help: "Network flavors to delete, by name or id", Many: true, Complete: n.Name},
			Flags: []command.Flag{command.Parallel()},
		})},
		{Name: "network flavor list", Build: n.List(noun.Listing{
			Short: "List network flavors",
			Columns: []noun.Column{
				{Title: "ID", Attr: "id"},
				{Title: "Name", Attr: "name"},
				{Title: "Enabled", Attr: "enabled"},
				{Title: "Service Type", Attr: "service_type"},
				{Title: "Description", Attr: "description"},
			},
		})},
		{Name: "network flavor remove profile", Build: flavorChange("Take a service profile off a network flavor", false)},
		{Name: "network flavor set", Build: n.Set(extra(noun.Writing{
			Short: "Change a network flavor",
			Args:  []command.Arg{n.Ref("<flavor>", "change")}, RefArg: "<flavor>",
			Fields: []noun.Field{
				noun.String("name", "<name>", "name", "Rename the network flavor"),
				description("network flavor"),
				noun.On("enable", "enabled", true, "Enable the network flavor"),
				noun.On("disable", "enabled", false, "Disable the network flavor"),
			},
			Exclusive: []string{"enable disable"},
		}))},
		{Name: "network flavor show", Build: n.Show(noun.Showing{
			Short: "Show a network flavor", Arg: n.Ref("<flavor>", "show"), Fields: shownFlavor(),
		})},
	}
}

func shownFlavor() noun.Fields {
	return fields(append(asIs("description", "enabled", "id", "name", "service_type"),
		noun.Column{Title: "service_profile_ids", Attr: "service_profiles"})...)
}

func flavorChange(short string, add bool) func() command.Command {
	return func() command.Command {
		return command.Command{
			Short: short,
			Args: []command.Arg{
				{Name: "<flavor>", Help: "The network flavor, by name or id", Complete: "network flavor"},
				{Name: "<service-profile>", Help: "The service profile, by id"},
			},
			Run: func(ctx context.Context, c *command.Call) error {
				flavor, err := flavors().Resolve(ctx, c, c.Text("<flavor>"))
				if err != nil {
					return err
				}
				profile, err := profiles().Resolve(ctx, c, c.Text("<service-profile>"))
				if err != nil {
					return err
				}
				path := "/flavors/" + url.PathEscape(flavor) + "/service_profiles"
				if !add {
					return flavors().Do(ctx, c, cloud.Request{Method: "DELETE", Path: path + "/" + url.PathEscape(profile)})
				}
				body := profiles().Wrap(noun.Object{{Name: "id", Value: profile}})
				return flavors().Do(ctx, c, cloud.Request{Method: "POST", Path: path, Body: body})
			},
		}
	}
}

func profileCommands() []command.Entry {
	n := profiles()
	return []command.Entry{
		{Name: "network flavor profile create", Build: n.Create(extra(noun.Writing{
			Short:     "Create a service profile of network flavors",
			Fields:    append(profileFields("new service profile"), noun.InProject("Project that owns the service profile")...),
			Exclusive: []string{"enable disable"},
			Body: func(_ context.Context, c *command.Call, _ *noun.Object, _ noun.Object) error {
				if !c.Given("driver") && !c.Given("metainfo") {
					return command.Reject("a service profile needs --driver or --metainfo, or both")
				}
				return nil
			},
			Shown: shownProfile(),
		}))},
		{Name: "network flavor profile delete", Build: n.Delete(noun.Deleting{
			Short: "Delete service profiles of network flavors",
			Arg:   command.Arg{Name: "<flavor-profile>", Help: "Service profiles to delete, by id", Many: true},
			Flags: []command.Flag{command.Parallel()},
		})},
		{Name: "network flavor profile list", Build: n.List(noun.Listing{
			Short: "List service profiles of network flavors",
			Columns: []noun.Column{
				{Title: "ID", Attr: "id"},
				{Title: "Driver", Attr: "driver"},
				{Title: "Enabled", Attr: "enabled"},
				{Title: "Metainfo", Attr: "metainfo"},
				{Title: "Description", Attr: "description"},
			},
		})},
		{Name: "network flavor profile set", Build: n.Set(extra(noun.Writing{
			Short: "Change a service profile of network flavors",
			Args:  []command.Arg{{Name: "<flavor-profile>", Help: "The service profile to change, by id"}}, RefArg: "<flavor-profile>",
			Fields:    profileFields("service profile"),
			Flags:     []command.Flag{{Name: "project-domain", Value: "<project-domain>", Hidden: true, Help: "Accepted, without meaning"}},
			Exclusive: []string{"enable disable"},
		}))},
		{Name: "network flavor profile show", Build: n.Show(noun.Showing{
			Short: "Show a service profile of network flavors", Arg: command.Arg{Name: "<flavor-profile>", Help: "The service profile to show, by id"}, Fields: shownProfile(),
		})},
	}
}

func profileFields(of string) []noun.Field {
	return []noun.Field{
		description(of),
		noun.On("enable", "enabled", true, "Enable the service profile"),
		noun.On("disable", "enabled", false, "Disable the service profile"),
		noun.String("driver", "<driver>", "", "Python module path of the driver"),
		noun.String("metainfo", "<metainfo>", "", "Data for the driver"),
	}
}

func shownProfile() noun.Fields {
	return fields(append(asIs("description", "driver", "enabled", "id", "project_id"), noun.Column{Title: "meta_info", Attr: "metainfo"})...)
}

func serviceProviderCommands() []command.Entry {
	n := thing("network service provider", "/service-providers", "service_provider", "")
	return []command.Entry{
		{Name: "network service provider list", Build: n.List(noun.Listing{
			Short: "List who provides the services of the network service",
			Columns: []noun.Column{
				{Title: "Service Type", Attr: "service_type"},
				{Title: "Name", Attr: "name"},
				{Title: "Default", Attr: "default"},
			},
		})},
	}
}

func extensions() noun.Noun {
	return noun.Noun{Name: "network extension", Service: "network", Path: "/extensions", Key: "extension", ID: "alias", Label: "alias", ByName: "-", AnyID: true}
}

func extensionCommands() []command.Entry {
	n := extensions()
	return []command.Entry{
		{Name: "network extension list", Build: n.List(noun.Listing{
			Short: "List extensions of the network service",
			Columns: []noun.Column{
				{Title: "Name", Attr: "name"},
				{Title: "Alias", Attr: "alias"},
				{Title: "Description", Attr: "description", Long: true},
				{Title: "Updated", Attr: "updated", Long: true},
			},
		})},
		{Name: "network extension show", Build: n.Show(noun.Showing{
			Short: "Show an extension of the network service", Arg: command.Arg{Name: "<alias>", Help: "The extension, by its alias"},
			Fields: noun.Fields{Columns: asIs("name", "alias", "description", "updated")},
		})},
	}
}
