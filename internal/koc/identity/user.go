package identity

import (
	"context"
	"net/http"
	"strings"

	"github.com/holdfast-ops/holdfast/internal/koc/cloud"
	"github.com/holdfast-ops/holdfast/internal/koc/command"
	"github.com/holdfast-ops/holdfast/internal/koc/noun"
)

func userFields() []noun.Field {
	pair := func(on, off, attr, yes, no string) []noun.Field {
		return []noun.Field{noun.On(on, "options."+attr, true, yes), noun.On(off, "options."+attr, false, no)}
	}
	fields := []noun.Field{
		{Flag: command.Flag{Name: "project", Value: "<project>", Help: "Project that the user works in by default, by name or id", Complete: "project"}, Attr: "default_project_id", To: noun.ToProject},
		{Flag: noun.ProjectDomainFlag(), Attr: "-"},
		noun.String("email", "<email-address>", "", "Address of the user"),
		noun.String("description", "<description>", "", "Who the user is"),
	}
	fields = append(fields, pair("ignore-lockout-failure-attempts", "no-ignore-lockout-failure-attempts", "ignore_lockout_failure_attempts",
		"Do not lock the user out after failed logins", "Lock the user out after failed logins")...)
	fields = append(fields, pair("ignore-password-expiry", "no-ignore-password-expiry", "ignore_password_expiry",
		"Let the user use an expired password", "Refuse an expired password of the user")...)
	fields = append(fields, pair("ignore-change-password-upon-first-use", "no-ignore-change-password-upon-first-use", "ignore_change_password_upon_first_use",
		"Do not make the user change the password at the first login", "Make the user change the password at the first login")...)
	fields = append(fields, pair("enable-lock-password", "disable-lock-password", "lock_password",
		"Keep the user from changing the own password", "Let the user change the own password")...)
	fields = append(fields, pair("enable-multi-factor-auth", "disable-multi-factor-auth", "multi_factor_auth_enabled",
		"Ask the user for more than one proof at login", "Ask the user for one proof at login")...)
	fields = append(fields, noun.Field{
		Flag: command.Flag{Name: "multi-factor-auth-rule", Value: "<rule>", Repeat: true, Help: "Proofs that are enough together, such as password,totp; repeatable"},
		Attr: "options.multi_factor_auth_rules",
		To: func(_ context.Context, c *command.Call, flag string) (any, error) {
			rules := [][]string{}
			for _, rule := range c.Texts(flag) {
				rules = append(rules, strings.Split(rule, ","))
			}
			return rules, nil
		},
	})
	return append(fields, enableFlags("user")...)
}

func passwordFlags() []command.Flag {
	return []command.Flag{
		{Name: "password", Value: "<password>", Help: "Password of the user; other users of this machine can see it: prefer --password-prompt"},
		{Name: "password-prompt", Help: "Ask for the password, or read it from standard input"},
	}
}

// newPassword is the password of the command line, and whether there is one.
func newPassword(c *command.Call) (string, bool, error) {
	if c.Is("password-prompt") {
		text, err := c.NewSecret("User password: ")
		return text, true, err
	}
	return c.Text("password"), c.Given("password"), nil
}

const withoutPassword = "no password was given: the user cannot log in with one\n"

func userCreate() command.Command {
	fields := userFields()
	flags := append([]command.Flag{domainFlag("Domain of the user, by name or id"), orShow("user")}, passwordFlags()...)
	flags = append(flags, flagsOf(fields)...)
	return command.Command{
		Short: "Create a user", Args: []command.Arg{{Name: "<name>", Help: "Name of the new user"}}, Flags: flags,
		Exclusive: []string{"enable disable"}, Output: command.Created,
		Run: func(ctx context.Context, c *command.Call) error {
			name := c.Text("<name>")
			body := noun.Object{{Name: "name", Value: name}, {Name: "enabled", Value: true}}
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
			password, given, err := newPassword(c)
			if err != nil {
				return err
			}
			if given && password != "" {
				body.Set("password", password)
			} else {
				c.Notef(withoutPassword)
			}
			return createOrShow(ctx, c, noun.User(), body, name)
		},
	}
}

func userDelete() command.Command {
	return noun.User().Delete(noun.Deleting{
		Short: "Delete users",
		Arg:   command.Arg{Name: "<user>", Many: true, Help: "A user to delete, by name or id", Complete: "user"},
		Flags: []command.Flag{domainFlag("Domain of the users, by name or id"), command.Parallel()}, Query: inDomain,
	})()
}

func userColumns() []noun.Column {
	return []noun.Column{
		{Title: "ID", Attr: "id"},
		{Title: "Name", Attr: "name"},
		{Title: "Project", Attr: "default_project_id", Long: true, Cell: orEmpty},
		{Title: "Domain", Attr: "domain_id", Long: true},
		{Title: "Description", Attr: "description", Long: true, Cell: orEmpty},
		{Title: "Email", Attr: "email", Long: true, Cell: orEmpty},
		{Title: "Enabled", Attr: "enabled", Long: true},
	}
}

// orEmpty shows an attribute that the service leaves out as nothing.
func orEmpty(v any) any {
	if v == nil {
		return ""
	}
	return v
}

func userList() command.Command {
	return command.Command{
		Short: "List users",
		Flags: []command.Flag{
			domainFlag("List the users of this domain, by name or id"),
			{Name: "group", Value: "<group>", Help: "List the users of this group, by name or id", Complete: "group"},
			{Name: "project", Value: "<project>", Help: "List the users with a role in this project, by name or id", Complete: "project"},
			{Name: "long", Help: "Show more columns"},
		},
		Exclusive: []string{"group project"},
		Output:    command.Listed,
		Run: func(ctx context.Context, c *command.Call) error {
			columns := noun.Pick(c, userColumns())
			n, q := noun.User(), map[string][]string{}
			if err := inDomain(ctx, c, q); err != nil {
				return err
			}
			switch {
			case c.Given("project"):
				project, err := noun.Project().In(ctx, c, c.Text("project"), c.Text("domain"))
				if err != nil {
					return err
				}
				found, err := usersOf(ctx, c, project)
				if err != nil {
					return err
				}
				return noun.PrintList(c, columns, each(found))
			case c.Given("group"):
				group, err := noun.Group().In(ctx, c, c.Text("group"), c.Text("domain"))
				if err != nil {
					return err
				}
				n = n.At("/groups/" + group + "/users")
			}
			return noun.PrintList(c, columns, n.All(ctx, c, q))
		},
	}
}

// usersOf finds the users that have a role in a project.
func usersOf(ctx context.Context, c *command.Call, project string) ([]noun.Object, error) {
	var found []noun.Object
	seen := map[string]bool{}
	for a, err := range assignments().All(ctx, c, map[string][]string{"scope.project.id": {project}}) {
		if err != nil {
			return nil, err
		}
		id := a.Text("user.id")
		if id == "" || seen[id] {
			continue
		}
		seen[id] = true
		o, err := noun.User().Get(ctx, c, id)
		if err != nil {
			return nil, err
		}
		found = append(found, o)
	}
	return found, nil
}

func userSet() command.Command {
	return noun.User().Set(noun.Writing{
		Short: "Change a user", Args: []command.Arg{noun.User().Ref("<user>", "change")}, RefArg: "<user>", Query: inDomain,
		Fields:    append([]noun.Field{noun.String("name", "<name>", "", "New name")}, userFields()...),
		Flags:     append([]command.Flag{domainFlag("Domain of the user, by name or id")}, passwordFlags()...),
		Exclusive: []string{"enable disable"},
		Body: func(_ context.Context, c *command.Call, body *noun.Object, _ noun.Object) error {
			password, given, err := newPassword(c)
			switch {
			case err != nil:
				return err
			case given && password == "":
				c.Notef(withoutPassword)
			case given:
				body.Set("password", password)
			}
			return nil
		},
	})()
}

func userShow() command.Command {
	return showOwn(noun.User(), "Show a user", "<user>", []command.Flag{domainFlag("Domain of the user, by name or id")}, theDomain, nil)
}

func userPasswordSet() command.Command {
	return command.Command{
		Short: "Change your own password",
		Long:  "What is not given as an option is asked for on the terminal, or read line by line from standard input: the present password first.",
		Flags: []command.Flag{
			{Name: "password", Value: "<new-password>", Help: "The new password; other users of this machine can see it"},
			{Name: "original-password", Value: "<original-password>", Help: "The present password; other users of this machine can see it"},
		},
		Run: func(ctx context.Context, c *command.Call) error {
			old, fresh := c.Text("original-password"), c.Text("password")
			var err error
			if !c.Given("original-password") {
				if old, err = c.Secret("Current password: "); err != nil {
					return err
				}
			}
			if !c.Given("password") {
				if fresh, err = c.NewSecret("New password: "); err != nil {
					return err
				}
			}
			if fresh == "" {
				c.Notef(withoutPassword)
			}
			token, err := c.Cloud.Token(ctx)
			if err != nil {
				return err
			}
			body := noun.Object{{Name: "password", Value: fresh}, {Name: "original_password", Value: old}}
			_, err = noun.User().Send(ctx, c, cloud.Request{Method: http.MethodPost, Path: "/users/" + token.UserID + "/password", Body: noun.User().Wrap(body)})
			return err
		},
	}
}
