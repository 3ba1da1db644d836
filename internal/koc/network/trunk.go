package network

import (
	"context"
	"net/url"
	"slices"
	"strconv"

	"github.com/holdfast-ops/holdfast/internal/koc/cloud"
	"github.com/holdfast-ops/holdfast/internal/koc/command"
	"github.com/holdfast-ops/holdfast/internal/koc/noun"
	"github.com/holdfast-ops/holdfast/internal/koc/render"
)

func trunks() noun.Noun { return thing("network trunk", "/trunks", "trunk", "") }

func trunkCommands() []command.Entry {
	n := trunks()
	return []command.Entry{
		{Name: "network subport list", Build: listSubports(command.Flag{
			Name: "trunk", Value: "<trunk>", Required: true, Complete: n.Name, Help: "The network trunk, by name or id",
		}, command.Arg{})},
		{Name: "network trunk create", Build: n.Create(tagged(n, extra(noun.Writing{
			Short: "Create a network trunk",
			Args:  []command.Arg{{Name: "<name>", Help: "Name of the new network trunk"}}, NameArg: "<name>",
			Fields: slices.Concat([]noun.Field{
				description("new network trunk"),
				must(ports().Reference("parent-port", "<parent-port>", "port_id", "Port that carries the trunk, by name or id")),
				{Flag: subportFlag("Port inside the trunk"), Attr: "sub_ports", To: toSubports},
				noun.On("enable", "admin_state_up", true, "Enable the network trunk"),
				noun.On("disable", "admin_state_up", false, "Disable the network trunk"),
			}, noun.InProject("Project that owns the network trunk")),
			Exclusive: []string{"enable disable"},
			Shown:     shownTrunk(),
		})))},
		{Name: "network trunk delete", Build: n.Delete(noun.Deleting{
			Short: "Delete network trunks",
			Arg:   command.Arg{Name: "<trunk>", Help: "Network trunks to delete, by name or id", Many: true, Complete: n.Name},
			Flags: []command.Flag{command.Parallel()},
		})},
		{Name: "network trunk list", Build: n.List(noun.Listing{
			Short: "List network trunks",
			Filters: slices.Concat([]noun.Field{
				{Flag: command.Flag{Name: "name", Value: "<name>", Koc: true, Help: "Only network trunks of this name"}},
				{Flag: command.Flag{Name: "status", Value: "<status>", Koc: true, Help: "Only network trunks in this status"}},
				{Flag: command.Flag{Name: "port", Value: "<port>", Koc: true, Complete: "port", Help: "Only the network trunk that this port carries, by name or id"}, Attr: "port_id", To: ports().To},
				{Flag: command.Flag{Name: "enable", Koc: true, Help: "Only network trunks that are enabled"}, Attr: "admin_state_up", Const: true},
				{Flag: command.Flag{Name: "disable", Koc: true, Help: "Only network trunks that are disabled"}, Attr: "admin_state_up", Const: false},
			}, noun.InProject("Only network trunks of this project")),
			Exclusive: []string{"enable disable"},
			Columns: []noun.Column{
				{Title: "ID", Attr: "id"},
				{Title: "Name", Attr: "name"},
				{Title: "Parent Port", Attr: "port_id"},
				{Title: "Description", Attr: "description"},
				{Title: "Status", Attr: "status", Long: true},
				{Title: "State", Attr: "admin_state_up", Cell: upDown, Long: true},
				{Title: "Created At", Attr: "created_at", Long: true},
				{Title: "Updated At", Attr: "updated_at", Long: true},
			},
		})},
		{Name: "network trunk set", Build: func() command.Command {
			var added any // found before anything is written
			return n.Set(retagged(n, extra(noun.Writing{
				Short: "Change a network trunk",
				Args:  []command.Arg{n.Ref("<trunk>", "change")}, RefArg: "<trunk>",
				Fields: []noun.Field{
					noun.String("name", "<name>", "name", "Rename the network trunk"),
					description("network trunk"),
					noun.On("enable", "admin_state_up", true, "Enable the network trunk"),
					noun.On("disable", "admin_state_up", false, "Disable the network trunk"),
				},
				Flags:     []command.Flag{subportFlag("Add this port to the trunk")},
				Exclusive: []string{"enable disable"},
				Body: func(ctx context.Context, c *command.Call, _ *noun.Object, o noun.Object) (err error) {
					if !c.Given("subport") {
						return nil
					}
					if added, err = toSubports(ctx, c, "subport"); err != nil || !c.Is("disable") {
						return err
					}
					// A trunk that is disabled takes no ports.
					return changeSubports(ctx, c, o.Text("id"), "add_subports", added)
				},
				Then: func(ctx context.Context, c *command.Call, o noun.Object) (noun.Object, error) {
					if !c.Given("subport") || c.Is("disable") {
						return o, nil
					}
					return o, changeSubports(ctx, c, o.Text("id"), "add_subports", added)
				},
			})))()
		}},
		{Name: "network trunk show", Build: n.Show(noun.Showing{
			Short: "Show a network trunk", Arg: n.Ref("<trunk>", "show"), Fields: shownTrunk(),
		})},
		{Name: "network trunk unset", Build: n.Set(untagged(n, noun.Writing{
			Short: "Take ports out of a network trunk",
			Args:  []command.Arg{n.Ref("<trunk>", "change")}, RefArg: "<trunk>",
			Flags: []command.Flag{{Name: "subport", Value: "<subport>", Repeat: true, Complete: "port", Help: "Take this port out of the trunk, by name or id"}},
			Then: func(ctx context.Context, c *command.Call, o noun.Object) (noun.Object, error) {
				return o, removeSubports(ctx, c, o, c.Texts("subport"))
			},
		}))},
		{Name: "network trunk subport add", Build: func() command.Command {
			flag := subportFlag("Port to add")
			flag.Required = true
			return command.Command{
				Short: "Add ports to a network trunk",
				Args:  []command.Arg{n.Ref("<trunk>", "change")}, Flags: []command.Flag{flag},
				Run: func(ctx context.Context, c *command.Call) error {
					id, err := n.Resolve(ctx, c, c.Text("<trunk>"))
					if err != nil {
						return err
					}
					added, err := toSubports(ctx, c, "subport")
					if err != nil {
						return err
					}
					return changeSubports(ctx, c, id, "add_subports", added)
				},
			}
		}},
		{Name: "network trunk subport list", Build: listSubports(command.Flag{}, n.Ref("<trunk>", "look into"))},
		{Name: "network trunk subport remove", Build: func() command.Command {
			return command.Command{
				Short: "Take ports out of a network trunk",
				Args:  []command.Arg{n.Ref("<trunk>", "change")},
				Flags: []command.Flag{{Name: "subport", Value: "<subport>", Repeat: true, Required: true, Complete: "port", Help: "Port to take out, by name or id"}},
				Run: func(ctx context.Context, c *command.Call) error {
					o, err := n.Find(ctx, c, c.Text("<trunk>"), nil)
					if err != nil {
						return err
					}
					return removeSubports(ctx, c, o, c.Texts("subport"))
				},
			}
		}},
	}
}

func subportFlag(help string) command.Flag {
	return command.Flag{
		Name: "subport", Value: "port=<port>[,segmentation-type=<type>,segmentation-id=<id>]", Type: command.Records,
		Keys: []string{"!port", "segmentation-type", "segmentation-id"}, Help: help,
	}
}

func toSubports(ctx context.Context, c *command.Call, flag string) (any, error) {
	all := []any{}
	for _, r := range c.Records(flag) {
		id, err := ports().Resolve(ctx, c, r["port"])
		if err != nil {
			return nil, err
		}
		o := noun.Object{{Name: "port_id", Value: id}}
		if v, given := r["segmentation-id"]; given {
			number, err := strconv.ParseInt(v, 10, 64)
			if err != nil {
				return nil, command.Reject("--%s: segmentation-id=%s is no integer", flag, v)
			}
			o.Set("segmentation_id", number)
		}
		if v, given := r["segmentation-type"]; given {
			o.Set("segmentation_type", v)
		}
		all = append(all, render.Ordered(o))
	}
	return all, nil
}

func changeSubports(ctx context.Context, c *command.Call, trunk, verb string, subports any) error {
	body := noun.Object{{Name: "sub_ports", Value: subports}}
	return trunks().Do(ctx, c, cloud.Request{Method: "PUT", Path: "/trunks/" + url.PathEscape(trunk) + "/" + verb, Body: body})
}

func removeSubports(ctx context.Context, c *command.Call, trunk noun.Object, refs []string) error {
	if len(refs) == 0 {
		return nil
	}
	gone := []any{}
	for _, ref := range refs {
		id, err := ports().Resolve(ctx, c, ref)
		if err != nil {
			return err
		}
		gone = append(gone, render.Ordered{{Name: "port_id", Value: id}})
	}
	return changeSubports(ctx, c, trunk.Text("id"), "remove_subports", gone)
}

// listSubports lists what is in a trunk, which a flag or an argument names.
func listSubports(flag command.Flag, arg command.Arg) func() command.Command {
	return func() command.Command {
		cmd := command.Command{Short: "List the ports inside a network trunk", Output: command.Listed}
		name := arg.Name
		if name == "" {
			name = flag.Name
			cmd.Flags = []command.Flag{flag}
		} else {
			cmd.Args = []command.Arg{arg}
		}
		cmd.Run = func(ctx context.Context, c *command.Call) error {
			id, err := trunks().Resolve(ctx, c, c.Text(name))
			if err != nil {
				return err
			}
			var answer noun.Object
			if err := trunks().Do(ctx, c, cloud.Request{Path: "/trunks/" + url.PathEscape(id) + "/get_subports", Into: &answer}); err != nil {
				return err
			}
			return noun.PrintList(c, []noun.Column{
				{Title: "Port", Attr: "port_id"},
				{Title: "Segmentation Type", Attr: "segmentation_type"},
				{Title: "Segmentation ID", Attr: "segmentation_id"},
			}, noun.Each(answer.Objects("sub_ports")))
		}
		return cmd
	}
}

func shownTrunk() noun.Fields {
	return fields(append(asIs("created_at", "description", "id", "name", "port_id", "project_id", "revision_number", "status", "updated_at"),
		noun.Column{Title: "admin_state_up", Cell: upDown},
		noun.Column{Title: "tenant_id", Compat: true, IfSet: true},
		noun.Column{Title: "sub_ports", Cell: listDict},
		noun.Column{Title: "tags", Cell: bareTags})...)
}
