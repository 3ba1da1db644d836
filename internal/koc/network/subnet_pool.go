package network

import (
	"context"
	"slices"

	"github.com/holdfast-ops/holdfast/internal/koc/command"
	"github.com/holdfast-ops/holdfast/internal/koc/noun"
)

func subnetPoolCommands() []command.Entry {
	n := subnetPools()
	return []command.Entry{
		{Name: "subnet pool create", Build: n.Create(tagged(n, extra(noun.Writing{
			Short: "Create a subnet pool",
			Args:  []command.Arg{{Name: "<name>", Help: "Name of the new subnet pool"}}, NameArg: "<name>",
			Fields: slices.Concat([]noun.Field{
				must(noun.Strings("pool-prefix", "<pool-prefix>", "prefixes", "Addresses of the pool in CIDR notation")),
			}, subnetPoolFields("new subnet pool"), noun.InProject("Project that owns the subnet pool"), []noun.Field{
				noun.On("share", "shared", true, "Let all projects use the subnet pool"),
				noun.On("no-share", "shared", false, "Do not share the subnet pool"),
			}),
			Exclusive: []string{"default no-default", "share no-share"},
			Shown:     shownSubnetPool(),
		})))},
		{Name: "subnet pool delete", Build: n.Delete(noun.Deleting{
			Short: "Delete subnet pools",
			Arg:   command.Arg{Name: "<subnet-pool>", Help: "Subnet pools to delete, by name or id", Many: true, Complete: "subnet pool"},
			Flags: []command.Flag{command.Parallel()},
		})},
		{Name: "subnet pool list", Build: n.List(noun.Listing{
			Short: "List subnet pools",
			Filters: slices.Concat([]noun.Field{
				noun.On("share", "shared", true, "Only subnet pools that all projects may use"),
				noun.On("no-share", "shared", false, "Only subnet pools that are not shared"),
				noun.On("default", "is_default", true, "Only the default subnet pools"),
				noun.On("no-default", "is_default", false, "Only subnet pools that are no default"),
			}, noun.InProject("Only subnet pools of this project"), []noun.Field{
				nameFilter("subnet pools"),
				addressScopes().Reference("address-scope", "<address-scope>", "address_scope_id", "Only subnet pools of this address scope, by name or id"),
				{Flag: command.Flag{Name: "ip-version", Value: "<ip-version>", Type: command.Int, Choices: []string{"4", "6"}, Koc: true, Help: "Only subnet pools of this IP version"}},
			}, tagFilters("subnet pools")),
			Exclusive: []string{"share no-share", "default no-default"},
			Columns: []noun.Column{
				{Title: "ID", Attr: "id"},
				{Title: "Name", Attr: "name"},
				{Title: "Prefixes", Attr: "prefixes", Cell: list},
				{Title: "Default Prefix Length", Attr: "default_prefixlen", Cell: number, Long: true},
				{Title: "Address Scope", Attr: "address_scope_id", Long: true},
				{Title: "Default Subnet Pool", Attr: "is_default", Long: true},
				{Title: "Shared", Attr: "shared", Long: true},
				{Title: "Tags", Attr: "tags", Cell: tags, Long: true},
			},
		})},
		{Name: "subnet pool set", Build: n.Set(retagged(n, extra(noun.Writing{
			Short: "Change a subnet pool",
			Args:  []command.Arg{n.Ref("<subnet-pool>", "change")}, RefArg: "<subnet-pool>",
			Fields: slices.Concat([]noun.Field{
				noun.String("name", "<name>", "name", "Rename the subnet pool"),
				{Flag: command.Flag{Name: "pool-prefix", Value: "<pool-prefix>", Repeat: true, Help: "Add these addresses to the pool, in CIDR notation"}, Attr: "-"},
				noun.On("no-address-scope", "address_scope_id", noun.Null{}, "Take the subnet pool out of its address scope"),
			}, subnetPoolFields("subnet pool")),
			Exclusive: []string{"address-scope no-address-scope", "default no-default"},
			Body: func(_ context.Context, c *command.Call, body *noun.Object, o noun.Object) error {
				if c.Given("pool-prefix") {
					body.Set("prefixes", append(anys(c.Texts("pool-prefix")), items(o, "prefixes")...))
				}
				return nil
			},
		})))},
		{Name: "subnet pool show", Build: n.Show(noun.Showing{
			Short: "Show a subnet pool", Arg: n.Ref("<subnet-pool>", "show"), Fields: shownSubnetPool(),
		})},
		{Name: "subnet pool unset", Build: n.Set(untagged(n, noun.Writing{
			Short: "Take properties off a subnet pool",
			Args:  []command.Arg{n.Ref("<subnet-pool>", "change")}, RefArg: "<subnet-pool>",
		}))},
	}
}

// subnetPoolFields are what create and set have in common.
func subnetPoolFields(of string) []noun.Field {
	natural := func(flag, value, attr, help string) noun.Field {
		f := noun.Number(flag, value, attr, help)
		f.Flag.Type = command.Natural
		return f
	}
	return []noun.Field{
		natural("default-prefix-length", "<default-prefix-length>", "default_prefixlen", "Length of the prefix that subnets get when they ask for none"),
		natural("min-prefix-length", "<min-prefix-length>", "min_prefixlen", "Shortest prefix that subnets may get"),
		natural("max-prefix-length", "<max-prefix-length>", "max_prefixlen", "Longest prefix that subnets may get"),
		addressScopes().Reference("address-scope", "<address-scope>", "address_scope_id", "Address scope of the subnet pool, by name or id"),
		noun.On("default", "is_default", true, "Make the subnet pool the default of its IP version"),
		noun.On("no-default", "is_default", false, "Do not make the subnet pool a default"),
		description(of),
		noun.Number("default-quota", "<num-ip-addresses>", "default_quota", "How many addresses a project may take from the pool"),
	}
}

// number is an integer that some services send as a text.
func number(v any) any {
	if text, isText := v.(string); isText {
		if o := (noun.Object{{Name: "n", Value: text}}); noun.Text(o.Int("n")) == text {
			return o.Int("n")
		}
	}
	return v
}

func shownSubnetPool() noun.Fields {
	return fields(
		noun.Column{Title: "address_scope_id"},
		noun.Column{Title: "created_at"},
		noun.Column{Title: "default_prefixlen", Cell: number},
		noun.Column{Title: "default_quota", Cell: number},
		noun.Column{Title: "description"},
		noun.Column{Title: "id"},
		noun.Column{Title: "ip_version"},
		noun.Column{Title: "is_default"},
		noun.Column{Title: "max_prefixlen", Cell: number},
		noun.Column{Title: "min_prefixlen", Cell: number},
		noun.Column{Title: "name"},
		noun.Column{Title: "prefixes", Cell: list},
		noun.Column{Title: "project_id"},
		noun.Column{Title: "revision_number"},
		noun.Column{Title: "shared"},
		noun.Column{Title: "tags", Cell: tags},
		noun.Column{Title: "updated_at"},
	)
}
