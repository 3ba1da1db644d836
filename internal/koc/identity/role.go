package identity

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"github.com/holdfast-ops/holdfast/internal/koc/cloud"
	"github.com/holdfast-ops/holdfast/internal/koc/command"
	"github.com/holdfast-ops/holdfast/internal/koc/noun"
)

func roleDomainFlag() command.Flag {
	return command.Flag{Name: "role-domain", Value: "<role-domain>", Help: "Domain of the role, by name or id, for the roles of one domain", Complete: "domain"}
}

func roleCreate() command.Command {
	fields := append([]noun.Field{noun.String("description", "<description>", "", "What the role is for")}, immutableFlags()...)
	flags := []command.Flag{domainFlag("Make it a role of this domain, by name or id"), orShow("role")}
	flags = append(flags, flagsOf(fields)...)
	return command.Command{
		Short: "Create a role", Args: []command.Arg{{Name: "<role-name>", Help: "Name of the new role"}}, Flags: flags,
		Exclusive: []string{"immutable no-immutable"}, Output: command.Created,
		Run: func(ctx context.Context, c *command.Call) error {
			name := c.Text("<role-name>")
			body := noun.Object{{Name: "name", Value: name}}
			if c.Given("domain") {
				id, err := domainID(ctx, c)
				if err != nil {
					return err
				}
				body.Set("domain_id", id)
			}
			if err := noun.Fill(ctx, c, &body, fields); err != nil {
				return err
			}
			return createOrShow(ctx, c, noun.Role(), body, name)
		},
	}
}

func roleDelete() command.Command {
	return noun.Role().Delete(noun.Deleting{
		Short: "Delete roles",
		Arg:   command.Arg{Name: "<role>", Many: true, Help: "A role to delete, by name or id", Complete: "role"},
		Flags: []command.Flag{domainFlag("Domain of the roles, by name or id, for the roles of one domain"), command.Parallel()}, Query: inDomain,
	})()
}

func roleList() command.Command {
	return command.Command{
		Short: "List roles", Output: command.Listed,
		Flags: []command.Flag{domainFlag("List the roles of this domain, by name or id")},
		Run: func(ctx context.Context, c *command.Call) error {
			columns := []noun.Column{{Title: "ID", Attr: "id"}, {Title: "Name", Attr: "name"}}
			q := url.Values{}
			if c.Given("domain") {
				domain, err := noun.Domain().FindIn(ctx, c, c.Text("domain"), "")
				if err != nil {
					return err
				}
				q.Set("domain_id", domain.Text("id"))
				columns = append(columns, noun.Column{Title: "Domain", From: func(noun.Object) any { return domain.Get("name") }})
			}
			return noun.PrintList(c, columns, noun.Role().All(ctx, c, q))
		},
	}
}

func roleSet() command.Command {
	return noun.Role().Set(noun.Writing{
		Short: "Change a role", Args: []command.Arg{noun.Role().Ref("<role>", "change")}, RefArg: "<role>", Query: inDomain,
		Fields: append([]noun.Field{noun.String("name", "<name>", "", "New name"), noun.String("description", "<description>", "", "What the role is for")}, immutableFlags()...),
		Flags:  []command.Flag{domainFlag("Domain of the role, by name or id, for the roles of one domain")}, Exclusive: []string{"immutable no-immutable"},
	})()
}

func roleShow() command.Command {
	return noun.Role().Show(noun.Showing{
		Short: "Show a role", Arg: noun.Role().Ref("<role>", "show"), Fields: all(), Query: inDomain,
		Flags: []command.Flag{domainFlag("Domain of the role, by name or id, for the roles of one domain")},
	})()
}

func grantFlags() []command.Flag {
	return []command.Flag{
		{Name: "system", Value: "<system>", Choices: []string{"all"}, Help: "On the whole system"},
		domainFlag("On this domain, by name or id"),
		{Name: "project", Value: "<project>", Help: "On this project, by name or id", Complete: "project"},
		{Name: "user", Value: "<user>", Help: "To this user, by name or id", Complete: "user"},
		{Name: "group", Value: "<group>", Help: "To this group, by name or id", Complete: "group"},
		groupDomainFlag(), noun.ProjectDomainFlag(), userDomainFlag(),
		{Name: "inherited", Help: "On the projects below, not on the domain or project itself"},
		roleDomainFlag(),
	}
}

// grantPath is the path of the grant that a command line names. A grant is taken
// back also from a user or group that does not exist any more: then strict is
// false, and what is not found is an id.
func grantPath(ctx context.Context, c *command.Call, strict bool) (string, error) {
	actor := func(n noun.Noun, flag, domain string) (string, error) {
		id, err := n.In(ctx, c, c.Text(flag), c.Text(domain))
		if !strict && noun.IsNotFound(err) && noun.LooksLikeID(c.Text(flag)) {
			return c.Text(flag), nil
		}
		return id, err
	}
	var scope, who string
	switch {
	case c.Given("system"):
		scope = "/system"
	case c.Given("domain"):
		id, err := domainID(ctx, c)
		if err != nil {
			return "", err
		}
		scope = "/domains/" + id
	case c.Given("project"):
		id, err := noun.ProjectID(ctx, c)
		if err != nil {
			return "", err
		}
		scope = "/projects/" + id
	default:
		return "", command.Reject("say on what the role is: --system all, --domain or --project")
	}
	switch {
	case c.Given("user"):
		id, err := actor(noun.User(), "user", "user-domain")
		if err != nil {
			return "", err
		}
		who = "/users/" + id
	case c.Given("group"):
		id, err := actor(noun.Group(), "group", "group-domain")
		if err != nil {
			return "", err
		}
		who = "/groups/" + id
	default:
		return "", command.Reject("say whose the role is: --user or --group")
	}
	if c.Is("inherited") && c.Given("system") {
		return "", command.Reject("a role on the system is not inherited: leave out --inherited")
	}
	role, err := noun.Role().In(ctx, c, c.Text("<role>"), c.Text("role-domain"))
	if err != nil {
		return "", err
	}
	if c.Is("inherited") {
		return "/OS-INHERIT" + scope + who + "/roles/" + role + "/inherited_to_projects", nil
	}
	return scope + who + "/roles/" + role, nil
}

func roleAdd() command.Command {
	return command.Command{
		Short: "Give a role to a user or a group", Args: []command.Arg{noun.Role().Ref("<role>", "give")}, Flags: grantFlags(),
		Exclusive: []string{"system domain project", "user group"},
		Run: func(ctx context.Context, c *command.Call) error {
			path, err := grantPath(ctx, c, true)
			if err != nil {
				return err
			}
			return send(ctx, c, http.MethodPut, path, nil, nil)
		},
	}
}

func roleRemove() command.Command {
	return command.Command{
		Short: "Take a role from a user or a group", Args: []command.Arg{noun.Role().Ref("<role>", "take")}, Flags: grantFlags(),
		Exclusive: []string{"system domain project", "user group"},
		Run: func(ctx context.Context, c *command.Call) error {
			path, err := grantPath(ctx, c, false)
			if err != nil {
				return err
			}
			return send(ctx, c, http.MethodDelete, path, nil, nil)
		},
	}
}

func assignments() noun.Noun {
	return noun.Noun{Name: "role assignment", Service: "identity", Path: "/role_assignments", Key: "role_assignment", Label: "-"}
}

func assignmentList() command.Command {
	return command.Command{
		Short: "List who has which roles where",
		Flags: []command.Flag{
			{Name: "effective", Help: "Show the roles that follow from groups, inheritance and implication, not these themselves"},
			{Name: "role", Value: "<role>", Help: "Show this role, by name or id", Complete: "role"},
			roleDomainFlag(),
			{Name: "names", Help: "Show names instead of ids"},
			{Name: "user", Value: "<user>", Help: "Show the roles of this user, by name or id", Complete: "user"},
			userDomainFlag(),
			{Name: "group", Value: "<group>", Help: "Show the roles of this group, by name or id", Complete: "group"},
			groupDomainFlag(),
			domainFlag("Show the roles on this domain, by name or id"),
			{Name: "project", Value: "<project>", Help: "Show the roles on this project, by name or id", Complete: "project"},
			{Name: "system", Value: "<system>", Help: "Show the roles on the system; all is the one value"},
			noun.ProjectDomainFlag(),
			{Name: "inherited", Help: "Show the roles that projects below inherit"},
			{Name: "auth-user", Help: "Show your own roles"},
			{Name: "auth-project", Help: "Show the roles on the project of your token"},
		},
		Exclusive: []string{"user group", "domain project system"},
		Output:    command.Listed,
		Run:       runAssignmentList,
	}
}

func runAssignmentList(ctx context.Context, c *command.Call) error {
	q, err := assignmentQuery(ctx, c)
	if err != nil {
		return err
	}
	names := c.Is("names")
	who := func(o noun.Object, attr string) any {
		switch {
		case o.Object(attr) == nil:
			return ""
		case !names:
			return o.Get(attr + ".id")
		case attr == "role" || attr == "scope.domain":
			return o.Get(attr + ".name")
		default:
			return o.Text(attr+".name") + "@" + o.Text(attr+".domain.name")
		}
	}
	column := func(title, attr string) noun.Column {
		return noun.Column{Title: title, From: func(o noun.Object) any { return who(o, attr) }}
	}
	columns := []noun.Column{
		column("Role", "role"), column("User", "user"), column("Group", "group"), column("Project", "scope.project"), column("Domain", "scope.domain"),
		{Title: "System", From: func(o noun.Object) any {
			if o.Object("scope.system") != nil {
				return "all"
			}
			return ""
		}},
		{Title: "Inherited", From: func(o noun.Object) any { return o.Object("scope").Text("OS-INHERIT:inherited_to") == "projects" }},
	}
	return noun.PrintList(c, columns, assignments().All(ctx, c, q))
}

func assignmentQuery(ctx context.Context, c *command.Call) (url.Values, error) {
	q := url.Values{}
	token := func() (cloud.Token, error) { return c.Cloud.Token(ctx) }
	for _, part := range []struct {
		flag, domain, name string
		noun               noun.Noun
	}{
		{"role", "role-domain", "role.id", noun.Role()},
		{"user", "user-domain", "user.id", noun.User()},
		{"group", "group-domain", "group.id", noun.Group()},
		{"project", "project-domain", "scope.project.id", noun.Project()},
	} {
		if !c.Given(part.flag) {
			continue
		}
		id, err := part.noun.In(ctx, c, c.Text(part.flag), c.Text(part.domain))
		if err != nil {
			return nil, err
		}
		q.Set(part.name, id)
	}
	if c.Given("domain") {
		id, err := domainID(ctx, c)
		if err != nil {
			return nil, err
		}
		q.Set("scope.domain.id", id)
	}
	if c.Is("auth-user") && !c.Given("user") {
		t, err := token()
		if err != nil {
			return nil, err
		}
		q.Set("user.id", t.UserID)
	}
	if c.Is("auth-project") && !c.Given("project") {
		t, err := token()
		if err != nil {
			return nil, err
		}
		if t.ProjectID == "" {
			return nil, errors.New("--auth-project: the token has no project")
		}
		q.Set("scope.project.id", t.ProjectID)
	}
	if q.Has("scope.project.id") && q.Has("scope.domain.id") {
		return nil, command.Reject("a role is on a project or on a domain: --auth-project and --domain exclude each other")
	}
	if c.Given("system") {
		q.Set("scope.system", c.Text("system"))
	}
	if c.Is("inherited") {
		q.Set("scope.OS-INHERIT:inherited_to", "projects")
	}
	if c.Is("effective") {
		q.Set("effective", "true")
	}
	if c.Is("names") {
		q.Set("include_names", "true")
	}
	return q, nil
}

func impliedFlags() []command.Flag {
	return []command.Flag{{Name: "implied-role", Value: "<role>", Required: true, Help: "The role that follows, by name or id", Complete: "role"}}
}

func impliedPath(ctx context.Context, c *command.Call) (string, error) {
	prior, err := noun.Role().Resolve(ctx, c, c.Text("<role>"))
	if err != nil {
		return "", err
	}
	implied, err := noun.Role().Resolve(ctx, c, c.Text("implied-role"))
	return "/roles/" + prior + "/implies/" + implied, err
}

func impliedCreate() command.Command {
	return command.Command{
		Short: "Let one role imply another", Args: []command.Arg{{Name: "<role>", Help: "The role that implies, by name or id", Complete: "role"}},
		Flags: impliedFlags(), Output: command.Created,
		Run: func(ctx context.Context, c *command.Call) error {
			path, err := impliedPath(ctx, c)
			if err != nil {
				return err
			}
			var o noun.Object
			if err := send(ctx, c, http.MethodPut, path, nil, &o); err != nil {
				return err
			}
			rule := o.Object("role_inference")
			return c.Show(noun.Fields{Columns: []noun.Column{{Title: "implies", Attr: "implies.id"}, {Title: "prior_role", Attr: "prior_role.id"}}}.Fields(c, rule))
		},
	}
}

func impliedDelete() command.Command {
	return command.Command{
		Short: "Let one role imply another no more", Args: []command.Arg{{Name: "<role>", Help: "The role that implies, by name or id", Complete: "role"}},
		Flags: impliedFlags(),
		Run: func(ctx context.Context, c *command.Call) error {
			path, err := impliedPath(ctx, c)
			if err != nil {
				return err
			}
			return send(ctx, c, http.MethodDelete, path, nil, nil)
		},
	}
}

func impliedList() command.Command {
	return command.Command{
		Short: "List which roles imply which", Output: command.Listed,
		Run: func(ctx context.Context, c *command.Call) error {
			n := noun.Noun{Name: "inference", Service: "identity", Path: "/role_inferences", Key: "role_inference"}
			columns := []noun.Column{
				{Title: "Prior Role ID", Attr: "prior_role.id"},
				{Title: "Prior Role Name", Attr: "prior_role.name"},
				{Title: "Implied Role ID", Attr: "implied.id"},
				{Title: "Implied Role Name", Attr: "implied.name"},
			}
			return noun.PrintList(c, columns, func(yield func(noun.Object, error) bool) {
				for rule, err := range n.All(ctx, c, nil) {
					if err != nil {
						yield(nil, err)
						return
					}
					for _, implied := range rule.Objects("implies") {
						o := noun.Object{{Name: "prior_role", Value: rule.Get("prior_role")}}
						o.Put("implied.id", implied.Get("id"))
						o.Put("implied.name", implied.Get("name"))
						if !yield(o, nil) {
							return
						}
					}
				}
			})
		},
	}
}
