package compute

import (
	"context"
	"net/url"
	"strconv"

	"github.com/holdfast-ops/holdfast/internal/koc/command"
	"github.com/holdfast-ops/holdfast/internal/koc/noun"
	"github.com/holdfast-ops/holdfast/internal/koc/render"
)

func serverGroup() noun.Noun {
	return noun.Noun{Name: "server group", Service: "compute", Path: "/os-server-groups", Key: "server_group", ByName: "-"}
}

func serverGroupCommands() []command.Entry {
	n := serverGroup()
	return []command.Entry{
		{Name: "server group create", Build: serverGroupCreate},
		{Name: "server group delete", Build: n.Delete(noun.Deleting{
			Short: "Delete server groups",
			Arg:   command.Arg{Name: "<server-group>", Help: "The server groups to delete, by name or id", Many: true, Complete: "server group"},
			Flags: []command.Flag{command.Parallel()},
		})},
		{Name: "server group list", Build: serverGroupList},
		{Name: "server group show", Build: serverGroupShow},
	}
}

// groupFields are what is shown of a server group: one policy and its rules, or
// the policies of old.
func (s *servers) groupFields(o noun.Object) []render.Field {
	columns := []noun.Column{{Title: "id"}, {Title: "members", Cell: listCell}, {Title: "name"}}
	if s.atLeast("2.64") {
		columns = append(columns, noun.Column{Title: "policy"}, noun.Column{Title: "project_id"}, noun.Column{Title: "rules", Cell: dictCell})
	} else {
		columns = append(columns, noun.Column{Title: "policies", Cell: listCell}, noun.Column{Title: "project_id"})
	}
	columns = append(columns, noun.Column{Title: "user_id"})
	return noun.Fields{Columns: columns}.Fields(s.c, o)
}

func listCell(v any) any { return render.ListCell(v) }
func dictCell(v any) any { return render.DictCell(v) }

func serverGroupCreate() command.Command {
	return command.Command{
		Short:  "Create a server group",
		Args:   []command.Arg{{Name: "<name>", Help: "Name of the new server group"}},
		Output: command.Created,
		Flags: []command.Flag{
			{
				Name: "policy", Value: "<policy>", Choices: []string{"affinity", "anti-affinity", "soft-affinity", "soft-anti-affinity"}, Default: "affinity",
				Help: "Whether members are together on a host, must they (affinity) or should they (soft-affinity), or apart",
			},
			{Name: "rule", Value: "<key=value>", Type: command.KeyValue, Help: "Rule of the policy, as max_server_per_host=2 for anti-affinity; repeat for more (microversion 2.64)"},
		},
		Run: func(ctx context.Context, c *command.Call) error {
			s, err := openServers(ctx, c, "2.64")
			if err != nil {
				return err
			}
			policy := c.Text("policy")
			if policy == "soft-affinity" || policy == "soft-anti-affinity" {
				if err := s.needs("2.15", "--policy "+policy); err != nil {
					return err
				}
			}
			if err := s.needsGiven("2.64", "rule"); err != nil {
				return err
			}
			body := object("name", c.Text("<name>"))
			if s.atLeast("2.64") {
				body.Set("policy", policy)
				if rules := properties(c, "rule"); len(rules) > 0 {
					body.Set("rules", rules)
				}
			} else {
				body.Set("policies", []any{policy})
			}
			o, err := s.ask(ctx, s.post("/os-server-groups", "server_group", body))
			if err != nil {
				return err
			}
			return c.Show(s.groupFields(o.Object("server_group")))
		},
	}
}

func serverGroupShow() command.Command {
	return command.Command{
		Short:  "Show a server group",
		Args:   []command.Arg{serverGroup().Ref("<server-group>", "show")},
		Output: command.Shown,
		Run: func(ctx context.Context, c *command.Call) error {
			s, err := openServers(ctx, c, "2.64")
			if err != nil {
				return err
			}
			n := serverGroup()
			n.Microversion = s.Microversion
			o, err := n.Find(ctx, c, c.Text("<server-group>"), nil)
			if err != nil {
				return err
			}
			return c.Show(s.groupFields(o))
		},
	}
}

func serverGroupList() command.Command {
	return command.Command{
		Short:  "List server groups",
		Output: command.Listed,
		Flags: []command.Flag{
			{Name: "all-projects", Help: "List the server groups of all projects (admin only)"},
			{Name: "long", Help: "Show more columns"},
			{Name: "offset", Value: "<offset>", Type: command.Int, Help: "Begin after so many"},
			{Name: "limit", Value: "<limit>", Type: command.Int, Help: "Stop after so many"},
		},
		Run: func(ctx context.Context, c *command.Call) error {
			s, err := openServers(ctx, c, "2.64")
			if err != nil {
				return err
			}
			q := url.Values{}
			if c.Is("all-projects") {
				q.Set("all_projects", "True")
			}
			limit := max(c.Int("limit"), 0)
			for name, n := range map[string]int{"offset": c.Int("offset"), "limit": limit} {
				if n > 0 {
					q.Set(name, strconv.Itoa(n))
				}
			}
			columns := []noun.Column{{Title: "ID", Attr: "id"}, {Title: "Name", Attr: "name"}}
			if s.atLeast("2.64") {
				columns = append(columns, noun.Column{Title: "Policy", Attr: "policy"})
			} else {
				columns = append(columns, noun.Column{Title: "Policies", Attr: "policies", Cell: listCell})
			}
			if c.Is("long") {
				columns = append(columns, noun.Column{Title: "Members", Attr: "members", Cell: listCell},
					noun.Column{Title: "Project Id", Attr: "project_id"}, noun.Column{Title: "User Id", Attr: "user_id"})
			}
			return noun.PrintList(c, columns, noun.Pages(ctx, s.Service, "/os-server-groups", q, "server_groups", limit, nil))
		},
	}
}
