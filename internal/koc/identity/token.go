package identity

import (
	"cmp"
	"context"
	"net/http"
	"strings"

	"github.com/holdfast-ops/holdfast/internal/koc/cloud"
	"github.com/holdfast-ops/holdfast/internal/koc/command"
	"github.com/holdfast-ops/holdfast/internal/koc/noun"
	"github.com/holdfast-ops/holdfast/internal/koc/render"
)

func tokenIssue() command.Command {
	return command.Command{
		Short: "Issue a token and show it", Long: "The token is a credential: whoever has it can act as you until it expires.", Output: command.Shown, NoWatch: true,
		Run: func(ctx context.Context, c *command.Call) error {
			t, err := c.Cloud.Token(ctx)
			if err != nil {
				return err
			}
			var fields []render.Field
			add := func(name, value string) {
				if value != "" {
					fields = append(fields, render.Field{Name: name, Value: value})
				}
			}
			add("domain_id", t.DomainID)
			if !t.Expires.IsZero() {
				add("expires", t.Expires.UTC().Format("2006-01-02T15:04:05+0000"))
			}
			add("id", t.ID)
			add("project_id", t.ProjectID)
			if t.System {
				add("system", "all")
			}
			add("user_id", t.UserID)
			return c.Show(fields)
		},
	}
}

func tokenRevoke() command.Command {
	return command.Command{
		Short: "Revoke a token", Args: []command.Arg{{Name: "<token>", Help: "The token to revoke"}},
		Run: func(ctx context.Context, c *command.Call) error {
			s, err := c.Cloud.Service(ctx, "identity")
			if err != nil {
				return err
			}
			return s.Do(ctx, cloud.Request{Method: http.MethodDelete, Path: "/auth/tokens", Header: http.Header{"X-Subject-Token": {c.Text("<token>")}}})
		},
	}
}

// endpointsCell shows the endpoints of a service by their regions.
func endpointsCell(entry cloud.CatalogEntry) render.Cell {
	var text strings.Builder
	list := make([]any, 0, len(entry.Endpoints))
	for _, e := range entry.Endpoints {
		text.WriteString(cmp.Or(e.RegionID, e.Region, "<none>") + "\n  " + e.Interface + ": " + e.URL + "\n")
		list = append(list, render.Ordered{
			{Name: "id", Value: e.ID}, {Name: "interface", Value: e.Interface}, {Name: "region_id", Value: e.RegionID}, {Name: "url", Value: e.URL}, {Name: "region", Value: e.Region},
		})
	}
	return render.Cell{Human: text.String(), Machine: list}
}

func catalogList() command.Command {
	return command.Command{
		Short: "List the services that the token gives access to, with their endpoints", Output: command.Listed,
		Run: func(ctx context.Context, c *command.Call) error {
			t, err := c.Cloud.Token(ctx)
			if err != nil {
				return err
			}
			rows := make([][]any, 0, len(t.Catalog))
			for _, entry := range t.Catalog {
				rows = append(rows, []any{entry.Name, entry.Type, endpointsCell(entry)})
			}
			return c.List([]render.Column{{Title: "Name"}, {Title: "Type"}, {Title: "Endpoints"}}, render.Rows(rows))
		},
	}
}

func catalogShow() command.Command {
	return command.Command{
		Short: "Show a service that the token gives access to, with its endpoints", Args: []command.Arg{{Name: "<service>", Help: "The service to show, by name or type"}},
		Output: command.Shown,
		Run: func(ctx context.Context, c *command.Call) error {
			t, err := c.Cloud.Token(ctx)
			if err != nil {
				return err
			}
			ref := c.Text("<service>")
			for _, entry := range t.Catalog {
				if entry.Name == ref || entry.Type == ref {
					return c.Show([]render.Field{
						{Name: "endpoints", Value: endpointsCell(entry)}, {Name: "id", Value: entry.ID}, {Name: "name", Value: entry.Name}, {Name: "type", Value: entry.Type},
					})
				}
			}
			return &noun.NotFound{Noun: "service of the catalogue", Ref: ref}
		},
	}
}

// Trusts: roles that a user lends to another.

func trusts() noun.Noun { return thing("trust", "/OS-TRUST/trusts", "trust", "") }

func trustCreate() command.Command {
	return command.Command{
		Short: "Lend roles of a user to another user",
		Args: []command.Arg{
			{Name: "<trustor-user>", Help: "The user who lends, by name or id", Complete: "user"}, {Name: "<trustee-user>", Help: "The user who borrows, by name or id", Complete: "user"},
		},
		Flags: []command.Flag{
			{Name: "project", Value: "<project>", Required: true, Help: "Project of the roles, by name or id", Complete: "project"},
			{Name: "role", Value: "<role>", Repeat: true, Required: true, Help: "Role to lend, by name or id; repeatable", Complete: "role"},
			{Name: "impersonate", Help: "The borrower acts under the name of the lender"},
			{Name: "expiration", Value: "<expiration>", Help: "When the loan ends, UTC, such as 2026-12-31T18:00:00; never, when left out"},
			noun.ProjectDomainFlag(),
			{Name: "trustor-domain", Value: "<trustor-domain>", Help: "Domain of the user who lends, by name or id", Complete: "domain"},
			{Name: "trustee-domain", Value: "<trustee-domain>", Help: "Domain of the user who borrows, by name or id", Complete: "domain"},
		},
		Output: command.Created,
		Run: func(ctx context.Context, c *command.Call) error {
			trustor, err := noun.User().In(ctx, c, c.Text("<trustor-user>"), c.Text("trustor-domain"))
			if err != nil {
				return err
			}
			trustee, err := noun.User().In(ctx, c, c.Text("<trustee-user>"), c.Text("trustee-domain"))
			if err != nil {
				return err
			}
			project, err := noun.ProjectID(ctx, c)
			if err != nil {
				return err
			}
			roles, err := roleRefs(ctx, c, c.Texts("role"))
			if err != nil {
				return err
			}
			body := noun.Object{
				{Name: "trustor_user_id", Value: trustor},
				{Name: "trustee_user_id", Value: trustee},
				{Name: "project_id", Value: project},
				{Name: "impersonation", Value: c.Is("impersonate")},
				{Name: "roles", Value: roles},
			}
			if c.Given("expiration") {
				at, err := moment(c)
				if err != nil {
					return err
				}
				body.Set("expires_at", at)
			}
			o, err := trusts().Send(ctx, c, cloud.Request{Method: http.MethodPost, Path: trusts().Path, Body: trusts().Wrap(body)})
			if err != nil {
				return err
			}
			return c.Show(rolesAsNames("roles_links").Fields(c, o))
		},
	}
}

func trustDelete() command.Command {
	return trusts().Delete(noun.Deleting{
		Short: "End loans of roles", Arg: command.Arg{Name: "<trust>", Many: true, Help: "Id of a trust to delete"}, Flags: []command.Flag{command.Parallel()},
	})()
}

func trustList() command.Command {
	return trusts().List(noun.Listing{
		Short: "List loans of roles",
		Columns: []noun.Column{
			{Title: "ID", Attr: "id"},
			{Title: "Expires At", Attr: "expires_at", Cell: render.StampCell},
			{Title: "Impersonation", Attr: "impersonation"},
			{Title: "Project ID", Attr: "project_id"},
			{Title: "Trustee User ID", Attr: "trustee_user_id"},
			{Title: "Trustor User ID", Attr: "trustor_user_id"},
		},
	})()
}

func trustShow() command.Command {
	return trusts().Show(noun.Showing{Short: "Show a loan of roles", Arg: command.Arg{Name: "<trust>", Help: "Id of the trust to show"}, Fields: rolesAsNames("roles_links")})()
}
