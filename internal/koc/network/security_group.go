package network

import (
	"context"
	"slices"

	"github.com/holdfast-ops/holdfast/internal/koc/command"
	"github.com/holdfast-ops/holdfast/internal/koc/noun"
	"github.com/holdfast-ops/holdfast/internal/koc/render"
)

func securityGroupCommands() []command.Entry {
	n := securityGroups()
	state := []noun.Field{
		noun.On("stateful", "stateful", true, "Let answers through by themselves, as is the default"),
		noun.On("stateless", "stateful", false, "Look at each packet alone, so that answers need rules too"),
	}
	return []command.Entry{
		{Name: "security group create", Build: n.Create(tagged(n, extra(noun.Writing{
			Short: "Create a security group",
			Args:  []command.Arg{{Name: "<name>", Help: "Name of the new security group"}}, NameArg: "<name>",
			Fields: slices.Concat([]noun.Field{
				noun.String("description", "<description>", "description", "Describe the new security group; the default is its name"),
			}, noun.InProject("Project that owns the security group"), state),
			Exclusive: []string{"stateful stateless"},
			Body: func(_ context.Context, c *command.Call, body *noun.Object, _ noun.Object) error {
				if !c.Given("description") {
					body.Set("description", c.Text("<name>"))
				}
				return nil
			},
			Shown: shownSecurityGroup(),
		})))},
		{Name: "security group delete", Build: n.Delete(noun.Deleting{
			Short: "Delete security groups",
			Arg:   command.Arg{Name: "<group>", Help: "Security groups to delete, by name or id", Many: true, Complete: n.Name},
			Flags: []command.Flag{command.Parallel()},
		})},
		{Name: "security group list", Build: n.List(noun.Listing{
			Short: "List security groups",
			Filters: slices.Concat(noun.InProject("Only security groups of this project"), []noun.Field{
				noun.On("share", "shared", true, "Only security groups that other projects may use"),
				noun.On("no-share", "shared", false, "Only security groups that are not shared"),
			}, tagFilters("security groups")),
			Flags:     []command.Flag{{Name: "all-projects", Hidden: true, Help: "Accepted and not needed: who may see the security groups of all projects does"}},
			Exclusive: []string{"share no-share"},
			Columns: []noun.Column{
				{Title: "ID", Attr: "id"},
				{Title: "Name", Attr: "name"},
				{Title: "Description", Attr: "description"},
				{Title: "Project", Attr: "project_id"},
				{Title: "Tags", Attr: "tags", Cell: bareTags},
				{Title: "Shared", Attr: "shared", OptIn: true},
			},
		})},
		{Name: "security group set", Build: n.Set(retagged(n, extra(noun.Writing{
			Short: "Change a security group",
			Args:  []command.Arg{n.Ref("<group>", "change")}, RefArg: "<group>",
			Fields: append([]noun.Field{
				noun.String("name", "<new-name>", "name", "Rename the security group"),
				description("security group"),
			}, state...),
			Exclusive: []string{"stateful stateless"},
		})))},
		{Name: "security group show", Build: n.Show(noun.Showing{
			Short: "Show a security group", Arg: n.Ref("<group>", "show"), Fields: shownSecurityGroup(),
		})},
		{Name: "security group unset", Build: n.Set(untagged(n, noun.Writing{
			Short: "Take tags off a security group",
			Args:  []command.Arg{n.Ref("<group>", "change")}, RefArg: "<group>",
		}))},
	}
}

func shownSecurityGroup() noun.Fields {
	return fields(append(asIs("created_at", "description", "id", "name", "project_id", "revision_number", "stateful", "updated_at"),
		noun.Column{Title: "rules", Attr: "security_group_rules", Cell: func(v any) any { return rulesCell(v, false) }, Compat: true},
		noun.Column{Title: "rules", Attr: "security_group_rules", Cell: func(v any) any { return rulesCell(v, true) }, Own: true},
		noun.Column{Title: "tags", Cell: bareTags},
		newer("is_shared", "shared"),
	)...)
}

// rulesCell are the rules of a security group, to people one a line without what is
// empty or the same in all of them. With zeros they keep ICMP types and codes of 0,
// which upstream leaves out.
func rulesCell(v any, zeros bool) any {
	return render.Cell{Machine: v, Format: func(v any) any {
		rules, _ := v.([]any)
		short := make([]any, 0, len(rules))
		for _, r := range rules {
			o, isObject := r.(render.Ordered)
			if !isObject {
				continue
			}
			short = append(short, slices.DeleteFunc(slices.Clone(o), func(f render.Field) bool {
				switch f.Name {
				case "security_group_id", "tenant_id", "project_id":
					return true
				case "port_range_min", "port_range_max":
					if zeros {
						return f.Value == nil
					}
				}
				return isEmpty(f.Value)
			}))
		}
		cell := render.ListDictCell(short)
		return cell.Format(cell.Machine)
	}}
}

// isEmpty reports whether a value is nothing, false, zero or has nothing inside.
func isEmpty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case bool:
		return !v
	case string:
		return v == ""
	case int64:
		return v == 0
	case []any:
		return len(v) == 0
	case render.Ordered:
		return len(v) == 0
	default:
		return false
	}
}
