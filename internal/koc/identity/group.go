package identity

import (
	"context"
	"errors"
	"net/http"

	"github.com/holdfast-ops/holdfast/internal/cli/program"
	"github.com/holdfast-ops/holdfast/internal/koc/cloud"
	"github.com/holdfast-ops/holdfast/internal/koc/command"
	"github.com/holdfast-ops/holdfast/internal/koc/noun"
)

func groupCreate() command.Command {
	return command.Command{
		Short: "Create a group of users", Args: []command.Arg{{Name: "<group-name>", Help: "Name of the new group"}},
		Flags: []command.Flag{
			domainFlag("Domain of the group, by name or id"), {Name: "description", Value: "<description>", Help: "What the group is for"}, orShow("group"),
		},
		Output: command.Created,
		Run: func(ctx context.Context, c *command.Call) error {
			name := c.Text("<group-name>")
			body := noun.Object{{Name: "name", Value: name}}
			if c.Given("domain") {
				id, err := domainID(ctx, c)
				if err != nil {
					return err
				}
				body.Set("domain_id", id)
			}
			if c.Given("description") {
				body.Set("description", c.Text("description"))
			}
			return createOrShow(ctx, c, noun.Group(), body, name)
		},
	}
}

func groupDelete() command.Command {
	return noun.Group().Delete(noun.Deleting{
		Short: "Delete groups",
		Arg:   command.Arg{Name: "<group>", Many: true, Help: "A group to delete, by name or id", Complete: "group"},
		Flags: []command.Flag{domainFlag("Domain of the groups, by name or id"), command.Parallel()}, Query: inDomain,
	})()
}

func groupList() command.Command {
	return noun.Group().List(noun.Listing{
		Short: "List groups",
		Flags: []command.Flag{
			domainFlag("List the groups of this domain, by name or id"),
			{Name: "user", Value: "<user>", Help: "List the groups of this user, by name or id", Complete: "user"},
			userDomainFlag(),
		},
		Query: inDomain,
		Path: func(ctx context.Context, c *command.Call) (string, error) {
			if !c.Given("user") {
				return "/groups", nil
			}
			id, err := noun.User().In(ctx, c, c.Text("user"), c.Text("user-domain"))
			return "/users/" + id + "/groups", err
		},
		Columns: []noun.Column{
			{Title: "ID", Attr: "id"},
			{Title: "Name", Attr: "name"},
			{Title: "Domain ID", Attr: "domain_id", Long: true},
			{Title: "Description", Attr: "description", Long: true},
		},
	})()
}

func groupSet() command.Command {
	return noun.Group().Set(noun.Writing{
		Short: "Change a group", Args: []command.Arg{noun.Group().Ref("<group>", "change")}, RefArg: "<group>", Query: inDomain,
		Fields: []noun.Field{noun.String("name", "<name>", "", "New name"), noun.String("description", "<description>", "", "What the group is for")},
		Flags:  []command.Flag{domainFlag("Domain of the group, by name or id")},
	})()
}

func groupShow() command.Command {
	return noun.Group().Show(noun.Showing{
		Short: "Show a group", Arg: noun.Group().Ref("<group>", "show"), Fields: all(), Query: inDomain,
		Flags: []command.Flag{domainFlag("Domain of the group, by name or id")},
	})()
}

// membership does something to each user of a command line and its group.
func membership(method, verb string) func(context.Context, *command.Call) error {
	return func(ctx context.Context, c *command.Call) error {
		group, err := noun.Group().In(ctx, c, c.Text("<group>"), c.Text("group-domain"))
		if err != nil {
			return err
		}
		return command.Each(ctx, c, "user", verb, c.Texts("<user>"), func(ctx context.Context, ref string) error {
			user, err := noun.User().In(ctx, c, ref, c.Text("user-domain"))
			if err != nil {
				return err
			}
			return send(ctx, c, method, "/groups/"+group+"/users/"+user, nil, nil)
		})
	}
}

func groupAddUser() command.Command {
	return command.Command{
		Short: "Put users into a group",
		Args:  []command.Arg{noun.Group().Ref("<group>", "fill"), {Name: "<user>", Many: true, Help: "A user to put in, by name or id", Complete: "user"}},
		Flags: []command.Flag{groupDomainFlag(), userDomainFlag(), command.Parallel()},
		Run:   membership(http.MethodPut, "add"),
	}
}

func groupRemoveUser() command.Command {
	return command.Command{
		Short: "Take users out of a group",
		Args:  []command.Arg{noun.Group().Ref("<group>", "empty"), {Name: "<user>", Many: true, Help: "A user to take out, by name or id", Complete: "user"}},
		Flags: []command.Flag{groupDomainFlag(), userDomainFlag(), command.Parallel()},
		Run:   membership(http.MethodDelete, "remove"),
	}
}

func groupContainsUser() command.Command {
	return command.Command{
		Short: "Say whether a user is in a group",
		Long:  "The exit code is 1 when it is not. In the voice of the openstack client it is 0 then too, and only the message differs.",
		Args:  []command.Arg{noun.Group().Ref("<group>", "look into"), noun.User().Ref("<user>", "look for")},
		Flags: []command.Flag{groupDomainFlag(), userDomainFlag()},
		Run: func(ctx context.Context, c *command.Call) error {
			user, err := noun.User().In(ctx, c, c.Text("<user>"), c.Text("user-domain"))
			if err != nil {
				return err
			}
			group, err := noun.Group().In(ctx, c, c.Text("<group>"), c.Text("group-domain"))
			if err != nil {
				return err
			}
			err = send(ctx, c, http.MethodHead, "/groups/"+group+"/users/"+user, nil, nil)
			var fault *cloud.Fault
			switch {
			case err == nil:
				c.Printf("%s in group %s\n", c.Text("<user>"), c.Text("<group>"))
				return nil
			case errors.As(err, &fault) && (fault.Status == http.StatusNotFound || fault.Status == http.StatusForbidden && c.Compat()):
				c.Notef("%s not in group %s\n", c.Text("<user>"), c.Text("<group>"))
				if c.Compat() {
					return nil
				}
				return program.Silent(1)
			default:
				return err
			}
		},
	}
}
