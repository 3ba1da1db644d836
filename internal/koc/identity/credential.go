package identity

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-ops/holdfast/internal/koc/cloud"
	"github.com/holdfast-ops/holdfast/internal/koc/command"
	"github.com/holdfast-ops/holdfast/internal/koc/noun"
	"github.com/holdfast-ops/holdfast/internal/koc/render"
)

func credentials() noun.Noun { return thing("credential", "/credentials", "credential", "") }

func credentialArg(verb string) command.Arg {
	return command.Arg{Name: "<credential-id>", Help: "Id of the credential to " + verb}
}

func credentialCreate() command.Command {
	return credentials().Create(noun.Writing{
		Short: "Store a credential of a user", Args: []command.Arg{noun.User().Ref("<user>", "store it for"), {Name: "<data>", Help: "The credential itself"}},
		Fields: []noun.Field{
			{Flag: command.Flag{Name: "type", Value: "<type>", Default: "cert", Help: "Type of the credential: cert, ec2, totp and so on"}},
			noun.Project().Reference("project", "<project>", "project_id", "Project that it is for, by name or id"),
		},
		Body: func(ctx context.Context, c *command.Call, body *noun.Object, _ noun.Object) error {
			user, err := noun.User().In(ctx, c, c.Text("<user>"), "")
			body.Set("user_id", user)
			body.Set("blob", c.Text("<data>"))
			return err
		},
		Shown: all(),
	})()
}

func credentialDelete() command.Command {
	return credentials().Delete(noun.Deleting{
		Short: "Delete credentials", Arg: command.Arg{Name: "<credential-id>", Many: true, Help: "Id of a credential to delete"}, Flags: []command.Flag{command.Parallel()},
	})()
}

func credentialList() command.Command {
	return credentials().List(noun.Listing{
		Short: "List credentials",
		Flags: []command.Flag{
			{Name: "user", Value: "<user>", Help: "List the credentials of this user, by name or id", Complete: "user"},
			userDomainFlag(),
			{Name: "type", Value: "<type>", Help: "List the credentials of this type"},
		},
		Query: func(ctx context.Context, c *command.Call, q url.Values) error {
			if c.Given("type") {
				q.Set("type", c.Text("type"))
			}
			return ofUser(ctx, c, q)
		},
		Columns: []noun.Column{
			{Title: "ID", Attr: "id"}, {Title: "Type", Attr: "type"}, {Title: "User ID", Attr: "user_id"}, {Title: "Data", Attr: "blob"}, {Title: "Project ID", Attr: "project_id"},
		},
	})()
}

// ofUser narrows a list to the user that --user names.
func ofUser(ctx context.Context, c *command.Call, q url.Values) error {
	if !c.Given("user") {
		return nil
	}
	id, err := noun.User().In(ctx, c, c.Text("user"), c.Text("user-domain"))
	q.Set("user_id", id)
	return err
}

func credentialSet() command.Command {
	return credentials().Set(noun.Writing{
		Short: "Change a credential", Args: []command.Arg{credentialArg("change")}, RefArg: "<credential-id>",
		Fields: []noun.Field{
			{Flag: command.Flag{Name: "user", Value: "<user>", Required: true, Help: "User it belongs to, by name or id", Complete: "user"}, Attr: "user_id", To: noun.User().To},
			{Flag: command.Flag{Name: "type", Value: "<type>", Required: true, Help: "Type of the credential"}},
			{Flag: command.Flag{Name: "data", Value: "<data>", Required: true, Help: "The credential itself"}, Attr: "blob"},
			noun.Project().Reference("project", "<project>", "project_id", "Project that it is for, by name or id"),
		},
	})()
}

func credentialShow() command.Command {
	return credentials().Show(noun.Showing{Short: "Show a credential", Arg: credentialArg("show"), Fields: all()})()
}

// Credentials of the EC2 and S3 protocols.

// ec2User is the user that a command is about: your own unless --user names one.
func ec2User(ctx context.Context, c *command.Call) (string, error) {
	if c.Given("user") {
		return noun.User().In(ctx, c, c.Text("user"), c.Text("user-domain"))
	}
	token, err := c.Cloud.Token(ctx)
	return token.UserID, err
}

func ec2Flags() []command.Flag {
	return []command.Flag{{Name: "user", Value: "<user>", Help: "User whose they are, by name or id; you, when left out", Complete: "user"}, userDomainFlag()}
}

func ec2(ctx context.Context, c *command.Call) (noun.Noun, error) {
	user, err := ec2User(ctx, c)
	n := thing("access key", "/users/"+url.PathEscape(user)+"/credentials/OS-EC2", "credential", "")
	n.ID = "access"
	return n, err
}

func ec2Shape() noun.Fields {
	return noun.Fields{Rest: true, Sort: true, Columns: []noun.Column{{Title: "project_id", Attr: "tenant_id"}}}
}

func ec2Create() command.Command {
	return command.Command{
		Short: "Create an access key for the EC2 and S3 protocols",
		Flags: append([]command.Flag{{Name: "project", Value: "<project>", Help: "Project that it is for, by name or id; that of your token, when left out", Complete: "project"}, noun.ProjectDomainFlag()}, ec2Flags()...), Output: command.Created,
		Run: func(ctx context.Context, c *command.Call) error {
			n, err := ec2(ctx, c)
			if err != nil {
				return err
			}
			project, err := noun.ProjectID(ctx, c)
			if err != nil {
				return err
			}
			if project == "" {
				token, err := c.Cloud.Token(ctx)
				if err != nil {
					return err
				}
				project = token.ProjectID
			}
			o, err := n.Send(ctx, c, cloud.Request{Method: http.MethodPost, Path: n.Path, Body: noun.Object{{Name: "tenant_id", Value: project}}})
			if err != nil {
				return err
			}
			return c.Show(ec2Shape().Fields(c, o))
		},
	}
}

func ec2Delete() command.Command {
	return command.Command{
		Short: "Delete access keys", Args: []command.Arg{{Name: "<access-key>", Many: true, Help: "An access key to delete"}}, Flags: append(ec2Flags(), command.Parallel()),
		Run: func(ctx context.Context, c *command.Call) error {
			n, err := ec2(ctx, c)
			if err != nil {
				return err
			}
			return command.Each(ctx, c, "access key", "delete", c.Texts("<access-key>"), func(ctx context.Context, key string) error {
				return send(ctx, c, http.MethodDelete, n.Path+"/"+url.PathEscape(key), nil, nil)
			})
		},
	}
}

func ec2List() command.Command {
	return command.Command{
		Short: "List access keys, with their secrets", Flags: ec2Flags(), Output: command.Listed,
		Run: func(ctx context.Context, c *command.Call) error {
			n, err := ec2(ctx, c)
			if err != nil {
				return err
			}
			return noun.PrintList(c, []noun.Column{
				{Title: "Access", Attr: "access"}, {Title: "Secret", Attr: "secret"}, {Title: "Project ID", Attr: "tenant_id"}, {Title: "User ID", Attr: "user_id"},
			}, n.All(ctx, c, nil))
		},
	}
}

func ec2Show() command.Command {
	return command.Command{
		Short: "Show an access key, with its secret", Args: []command.Arg{{Name: "<access-key>", Help: "The access key to show"}}, Flags: ec2Flags(), Output: command.Shown,
		Run: func(ctx context.Context, c *command.Call) error {
			n, err := ec2(ctx, c)
			if err != nil {
				return err
			}
			o, err := n.Find(ctx, c, c.Text("<access-key>"), nil)
			if err != nil {
				return err
			}
			return c.Show(ec2Shape().Fields(c, o))
		},
	}
}

// Application credentials, and the access rules that narrow them.

// ofOwner is a noun below a user: your own, unless a flag names another.
func ofOwner(ctx context.Context, c *command.Call, n noun.Noun) (noun.Noun, error) {
	domain := ""
	if c.Declares("user-domain") {
		domain = c.Text("user-domain")
	}
	if c.Declares("user") && c.Given("user") {
		id, err := noun.User().In(ctx, c, c.Text("user"), domain)
		return n.At("/users/" + id + n.Path), err
	}
	token, err := c.Cloud.Token(ctx)
	return n.At("/users/" + token.UserID + n.Path), err
}

func appCreds() noun.Noun {
	return noun.Noun{Name: "application credential", Service: "identity", Path: "/application_credentials", Key: "application_credential"}
}

func accessRules() noun.Noun { return thing("access rule", "/access_rules", "access_rule", "") }

func ownerFlag() command.Flag {
	return command.Flag{Name: "user", Value: "<user>", Koc: true, Help: "User whose it is, by name or id; you, when left out", Complete: "user"}
}

// rolesAsNames shows the roles of something as their names, blanks between.
func rolesAsNames(hide ...string) noun.Fields {
	return noun.Fields{Rest: true, Sort: true, Hide: append(hide, "links"), Columns: []noun.Column{{Title: "roles", From: func(o noun.Object) any {
		var names []string
		for _, r := range o.Objects("roles") {
			names = append(names, r.Text("name"))
		}
		return strings.Join(names, " ")
	}, Needs: []string{"roles"}}}}
}

// moment reads the time of --expiration.
func moment(c *command.Call) (string, error) {
	at, err := time.Parse("2006-01-02T15:04:05", strings.TrimSuffix(c.Text("expiration"), "Z"))
	if err != nil {
		return "", command.Reject("--expiration %q: expected a time in UTC such as 2026-12-31T18:00:00", c.Text("expiration"))
	}
	return at.Format("2006-01-02T15:04:05.000000Z"), nil
}

func appCredCreate() command.Command {
	return command.Command{
		Short: "Create an application credential: a login of its own with some of your roles",
		Long:  "Its secret is shown once, here.",
		Args:  []command.Arg{{Name: "<name>", Help: "Name of the new application credential"}},
		Flags: []command.Flag{
			{Name: "secret", Value: "<secret>", Help: "Its secret; one is made when left out"},
			{Name: "role", Value: "<role>", Repeat: true, Help: "Role that it has, by name or id; repeatable; all of yours when left out", Complete: "role"},
			{Name: "expiration", Value: "<expiration>", Help: "When it ends, UTC, such as 2026-12-31T18:00:00; never, when left out"},
			{Name: "description", Value: "<description>", Help: "What it is for"},
			{Name: "unrestricted", Help: "Let it create and delete application credentials and trusts"},
			{Name: "restricted", Help: "Keep it from creating and deleting application credentials and trusts (the default)"},
			{Name: "access-rules", Value: "<access-rules>", Help: "The requests it may send: a JSON list of objects with service, method and path, or a file of it"},
			ownerFlag(),
		},
		Output: command.Created,
		Run: func(ctx context.Context, c *command.Call) error {
			n, err := ofOwner(ctx, c, appCreds())
			if err != nil {
				return err
			}
			body := noun.Object{{Name: "name", Value: c.Text("<name>")}, {Name: "unrestricted", Value: c.Is("unrestricted") && !c.Is("restricted")}}
			for _, flag := range []string{"secret", "description"} {
				if c.Given(flag) {
					body.Set(flag, c.Text(flag))
				}
			}
			if c.Given("expiration") {
				at, err := moment(c)
				if err != nil {
					return err
				}
				body.Set("expires_at", at)
			}
			if c.Given("access-rules") {
				rules, err := jsonOrFile(c.Text("access-rules"))
				if err != nil {
					return err
				}
				body.Set("access_rules", rules)
			}
			roles, err := roleRefs(ctx, c, c.Texts("role"))
			if err != nil {
				return err
			}
			if len(roles) > 0 {
				body.Set("roles", roles)
			}
			o, err := n.Send(ctx, c, cloud.Request{Method: http.MethodPost, Path: n.Path, Body: n.Wrap(body)})
			if err != nil {
				return err
			}
			return c.Show(rolesAsNames().Fields(c, o))
		},
	}
}

// roleRefs are roles in a body. A user who may not list roles still names those of
// the own token, which Keystone finds by their names.
func roleRefs(ctx context.Context, c *command.Call, refs []string) ([]any, error) {
	var out []any
	for _, ref := range refs {
		o, err := noun.Role().FindIn(ctx, c, ref, "")
		if err == nil {
			out = append(out, render.Ordered{{Name: "id", Value: o.Get("id")}})
			continue
		}
		token, tokenErr := c.Cloud.Token(ctx)
		if tokenErr != nil {
			return nil, tokenErr
		}
		if noun.IsNotFound(err) || !slices.Contains(token.Roles, ref) {
			return nil, err
		}
		out = append(out, render.Ordered{{Name: "name", Value: ref}})
	}
	return out, nil
}

// jsonOrFile is a JSON text, or the text of a file of it.
func jsonOrFile(text string) (json.RawMessage, error) {
	if json.Valid([]byte(text)) {
		return json.RawMessage(text), nil
	}
	rules, err := readJSON(text)
	if err != nil {
		return nil, fmt.Errorf("--access-rules is neither JSON nor a file of it: %w", err)
	}
	return rules, nil
}

func appCredArg(verb string) command.Arg {
	return command.Arg{Name: "<application-credential>", Help: "The application credential to " + verb + ", by name or id"}
}

func appCredDelete() command.Command {
	arg := appCredArg("delete")
	arg.Many = true
	return command.Command{
		Short: "Delete application credentials", Args: []command.Arg{arg}, Flags: []command.Flag{ownerFlag(), command.Parallel()},
		Run: func(ctx context.Context, c *command.Call) error {
			n, err := ofOwner(ctx, c, appCreds())
			if err != nil {
				return err
			}
			return deleteEach(ctx, c, n, arg.Name)
		},
	}
}

func deleteEach(ctx context.Context, c *command.Call, n noun.Noun, arg string) error {
	return command.Each(ctx, c, n.Name, "delete", c.Texts(arg), func(ctx context.Context, ref string) error {
		id, err := n.Resolve(ctx, c, ref)
		if err != nil {
			return err
		}
		return send(ctx, c, http.MethodDelete, n.Path+"/"+url.PathEscape(id), nil, nil)
	})
}

func appCredList() command.Command {
	return command.Command{
		Short: "List application credentials", Output: command.Listed,
		Flags: []command.Flag{{Name: "user", Value: "<user>", Help: "List those of this user, by name or id; yours, when left out", Complete: "user"}, userDomainFlag()},
		Run: func(ctx context.Context, c *command.Call) error {
			n, err := ofOwner(ctx, c, appCreds())
			if err != nil {
				return err
			}
			return noun.PrintList(c, []noun.Column{
				{Title: "ID", Attr: "id"},
				{Title: "Name", Attr: "name"},
				{Title: "Project ID", Attr: "project_id"},
				{Title: "Description", Attr: "description"},
				{Title: "Expires At", Attr: "expires_at", Cell: render.StampCell},
			}, n.All(ctx, c, nil))
		},
	}
}

func appCredShow() command.Command {
	return command.Command{
		Short: "Show an application credential", Args: []command.Arg{appCredArg("show")}, Flags: []command.Flag{ownerFlag()}, Output: command.Shown,
		Run: func(ctx context.Context, c *command.Call) error {
			n, err := ofOwner(ctx, c, appCreds())
			if err != nil {
				return err
			}
			o, err := n.Find(ctx, c, c.Text("<application-credential>"), nil)
			if err != nil {
				return err
			}
			return c.Show(rolesAsNames().Fields(c, o))
		},
	}
}

func accessRuleDelete() command.Command {
	return command.Command{
		Short: "Delete access rules", Args: []command.Arg{{Name: "<access-rule>", Many: true, Help: "Id of an access rule to delete"}}, Flags: []command.Flag{command.Parallel()},
		Run: func(ctx context.Context, c *command.Call) error {
			n, err := ofOwner(ctx, c, accessRules())
			if err != nil {
				return err
			}
			return deleteEach(ctx, c, n, "<access-rule>")
		},
	}
}

func accessRuleList() command.Command {
	return command.Command{
		Short: "List access rules", Output: command.Listed,
		Flags: []command.Flag{{Name: "user", Value: "<user>", Help: "List those of this user, by name or id; yours, when left out", Complete: "user"}, userDomainFlag()},
		Run: func(ctx context.Context, c *command.Call) error {
			n, err := ofOwner(ctx, c, accessRules())
			if err != nil {
				return err
			}
			return noun.PrintList(c, []noun.Column{
				{Title: "ID", Attr: "id"}, {Title: "Service", Attr: "service"}, {Title: "Method", Attr: "method"}, {Title: "Path", Attr: "path"},
			}, n.All(ctx, c, nil))
		},
	}
}

func accessRuleShow() command.Command {
	return command.Command{
		Short: "Show an access rule", Args: []command.Arg{{Name: "<access-rule>", Help: "Id of the access rule to show"}}, Output: command.Shown,
		Run: func(ctx context.Context, c *command.Call) error {
			n, err := ofOwner(ctx, c, accessRules())
			if err != nil {
				return err
			}
			o, err := n.Find(ctx, c, c.Text("<access-rule>"), nil)
			if err != nil {
				return err
			}
			return c.Show(all().Fields(c, o))
		},
	}
}
