package network

import (
	"slices"

	"github.com/holdfast-ops/holdfast/internal/koc/command"
	"github.com/holdfast-ops/holdfast/internal/koc/noun"
)

func addressScopeCommands() []command.Entry {
	n := addressScopes()
	shown := fields(asIs("id", "ip_version", "name", "project_id", "shared")...)
	share := func(yes, no string) []noun.Field {
		return []noun.Field{noun.On("share", "shared", true, yes), noun.On("no-share", "shared", false, no)}
	}
	return []command.Entry{
		{Name: "address scope create", Build: n.Create(extra(noun.Writing{
			Short: "Create an address scope",
			Args:  []command.Arg{{Name: "<name>", Help: "Name of the new address scope"}}, NameArg: "<name>",
			Fields: slices.Concat([]noun.Field{
				{Flag: command.Flag{Name: "ip-version", Value: "<ip-version>", Type: command.Int, Choices: []string{"4", "6"}, Default: "4", Help: "IP version of the addresses"}},
			}, noun.InProject("Project that owns the address scope"), share("Let all projects use the address scope", "Do not share the address scope, as is the default")),
			Exclusive: []string{"share no-share"},
			Shown:     shown,
		}))},
		{Name: "address scope delete", Build: n.Delete(noun.Deleting{
			Short: "Delete address scopes",
			Arg:   command.Arg{Name: "<address-scope>", Help: "Address scopes to delete, by name or id", Many: true, Complete: n.Name},
			Flags: []command.Flag{command.Parallel()},
		})},
		{Name: "address scope list", Build: n.List(noun.Listing{
			Short: "List address scopes",
			Filters: slices.Concat([]noun.Field{
				nameFilter("address scopes"),
				{Flag: command.Flag{Name: "ip-version", Value: "<ip-version>", Type: command.Int, Choices: []string{"4", "6"}, Help: "Only address scopes of this IP version"}},
			}, noun.InProject("Only address scopes of this project"),
				share("Only address scopes that all projects may use", "Only address scopes that are not shared")),
			Exclusive: []string{"share no-share"},
			Columns: []noun.Column{
				{Title: "ID", Attr: "id"},
				{Title: "Name", Attr: "name"},
				{Title: "IP Version", Attr: "ip_version"},
				{Title: "Shared", Attr: "shared"},
				{Title: "Project", Attr: "project_id"},
			},
		})},
		{Name: "address scope set", Build: n.Set(extra(noun.Writing{
			Short: "Change an address scope",
			Args:  []command.Arg{n.Ref("<address-scope>", "change")}, RefArg: "<address-scope>",
			Fields: append([]noun.Field{noun.String("name", "<name>", "name", "Rename the address scope")},
				share("Let all projects use the address scope", "Do not share the address scope any more")...),
			Exclusive: []string{"share no-share"},
		}))},
		{Name: "address scope show", Build: n.Show(noun.Showing{
			Short: "Show an address scope", Arg: n.Ref("<address-scope>", "show"), Fields: shown,
		})},
	}
}
