package identity

import (
	"context"

	"github.com/holdfast-ops/holdfast/internal/koc/command"
	"github.com/holdfast-ops/holdfast/internal/koc/noun"
)

func domainFields() []noun.Field {
	fields := append([]noun.Field{noun.String("description", "<description>", "", "What the domain is for")}, enableFlags("domain")...)
	return append(fields, immutableFlags()...)
}

func domainCreate() command.Command {
	fields := domainFields()
	flags := []command.Flag{orShow("domain")}
	flags = append(flags, flagsOf(fields)...)
	return command.Command{
		Short: "Create a domain", Args: []command.Arg{{Name: "<domain-name>", Help: "Name of the new domain"}}, Flags: flags,
		Exclusive: []string{"enable disable", "immutable no-immutable"}, Output: command.Created,
		Run: func(ctx context.Context, c *command.Call) error {
			name := c.Text("<domain-name>")
			body := noun.Object{{Name: "name", Value: name}, {Name: "enabled", Value: true}}
			if err := noun.Fill(ctx, c, &body, fields); err != nil {
				return err
			}
			return createOrShow(ctx, c, noun.Domain(), body, name)
		},
	}
}

func domainDelete() command.Command {
	return noun.Domain().Delete(noun.Deleting{
		Short: "Delete domains; each must be disabled first",
		Arg:   command.Arg{Name: "<domain>", Many: true, Help: "A domain to delete, by name or id", Complete: "domain"},
		Flags: []command.Flag{command.Parallel()},
	})()
}

func domainList() command.Command {
	return noun.Domain().List(noun.Listing{
		Short: "List domains",
		Filters: []noun.Field{
			noun.String("name", "<name>", "name", "List the domain of this name"),
			noun.On("enabled", "enabled", true, "List the domains that are enabled"),
		},
		Columns: []noun.Column{{Title: "ID", Attr: "id"}, {Title: "Name", Attr: "name"}, {Title: "Enabled", Attr: "enabled"}, {Title: "Description", Attr: "description"}},
	})()
}

func domainSet() command.Command {
	return noun.Domain().Set(noun.Writing{
		Short: "Change a domain", Args: []command.Arg{noun.Domain().Ref("<domain>", "change")}, RefArg: "<domain>",
		Fields:    append([]noun.Field{noun.String("name", "<name>", "", "New name")}, domainFields()...),
		Exclusive: []string{"enable disable", "immutable no-immutable"},
	})()
}

func domainShow() command.Command {
	return showOwn(noun.Domain(), "Show a domain", "<domain>", nil, noDomain, nil)
}
