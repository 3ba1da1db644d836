package network

import (
	"context"
	"slices"

	"github.com/holdfast-ops/holdfast/internal/koc/command"
	"github.com/holdfast-ops/holdfast/internal/koc/noun"
)

func rbacPolicies() noun.Noun {
	n := thing("rbac policy", "/rbac-policies", "rbac_policy", "rbac_policies")
	n.Label = "-"
	return n
}

// shareable is the noun of a type of things that a policy can share.
func shareable(typ string) noun.Noun {
	switch typ {
	case "address_group":
		return addressGroups()
	case "address_scope":
		return addressScopes()
	case "security_group":
		return securityGroups()
	case "subnetpool":
		return subnetPools()
	case "qos_policy":
		return qosPolicies()
	default:
		return networks()
	}
}

func rbacCommands() []command.Entry {
	n := rbacPolicies()
	types := []string{"address_group", "address_scope", "security_group", "subnetpool", "qos_policy", "network"}
	actions := []string{"access_as_external", "access_as_shared"}
	target := func(help string) []noun.Field {
		return []noun.Field{
			{Flag: command.Flag{Name: "target-project", Value: "<target-project>", Complete: "project", Help: help}, Attr: "target_tenant", To: toTarget},
			{Flag: command.Flag{Name: "target-project-domain", Value: "<target-project-domain>", Complete: "domain", Help: "Domain of that project, by name or id, when its name is not unique"}, Attr: "-"},
		}
	}
	shown := fields(append(asIs("action", "id", "object_id", "object_type", "project_id"), noun.Column{Title: "target_project_id", Attr: "target_tenant"})...)
	return []command.Entry{
		{Name: "network rbac create", Build: n.Create(extra(noun.Writing{
			Short: "Share a thing of the network service with a project",
			Args:  []command.Arg{{Name: "<rbac-object>", Help: "The thing to share, by name or id"}},
			Fields: slices.Concat([]noun.Field{
				must(noun.OneOf("type", "<type>", "object_type", "What kind of thing it is", types...)),
				must(noun.OneOf("action", "<action>", "action", "What the project may do with it", actions...)),
				noun.On("target-all-projects", "target_tenant", "*", "Share with all projects"),
			}, target("Project to share with, by name or id"), noun.InProject("Project that owns the policy")),
			Exclusive: []string{"! target-project target-all-projects"},
			Body: func(ctx context.Context, c *command.Call, body *noun.Object, _ noun.Object) error {
				id, err := shareable(c.Text("type")).Resolve(ctx, c, c.Text("<rbac-object>"))
				if err != nil {
					return err
				}
				body.Set("object_id", id)
				return nil
			},
			Shown: shown,
		}))},
		{Name: "network rbac delete", Build: n.Delete(noun.Deleting{
			Short: "Delete RBAC policies, which share things of the network service",
			Arg:   command.Arg{Name: "<rbac-policy>", Help: "RBAC policies to delete, by id", Many: true},
			Flags: []command.Flag{command.Parallel()},
		})},
		{Name: "network rbac list", Build: n.List(noun.Listing{
			Short: "List RBAC policies, which share things of the network service",
			Filters: []noun.Field{
				noun.OneOf("type", "<type>", "object_type", "Only policies that share this kind of things", types...),
				noun.OneOf("action", "<action>", "action", "Only policies that allow this", actions...),
				{Flag: command.Flag{Name: "target-project", Value: "<target-project>", Complete: "project", Help: "Only policies that share with this project, by name or id"}, Attr: "target_tenant", To: noun.Project().To},
			},
			Columns: []noun.Column{
				{Title: "ID", Attr: "id"},
				{Title: "Object Type", Attr: "object_type"},
				{Title: "Object ID", Attr: "object_id"},
				{Title: "Action", Attr: "action", Long: true},
			},
		})},
		{Name: "network rbac set", Build: n.Set(extra(noun.Writing{
			Short: "Change with whom an RBAC policy shares",
			Args:  []command.Arg{{Name: "<rbac-policy>", Help: "The RBAC policy to change, by id"}}, RefArg: "<rbac-policy>",
			Fields: target("Project to share with from now on, by name or id"),
		}))},
		{Name: "network rbac show", Build: n.Show(noun.Showing{
			Short: "Show an RBAC policy", Arg: command.Arg{Name: "<rbac-policy>", Help: "The RBAC policy to show, by id"}, Fields: shown,
		})},
	}
}

func toTarget(ctx context.Context, c *command.Call, flag string) (any, error) {
	return noun.Project().In(ctx, c, c.Text(flag), c.Text("target-project-domain"))
}
