package network

import (
	"context"
	"slices"

	"github.com/holdfast-ops/holdfast/internal/koc/command"
	"github.com/holdfast-ops/holdfast/internal/koc/noun"
)

func meters() noun.Noun {
	return thing("network meter", "/metering/metering-labels", "metering_label", "")
}

func meterRules() noun.Noun {
	n := thing("network meter rule", "/metering/metering-label-rules", "metering_label_rule", "")
	n.Label = "-"
	return n
}

// forgotten is a cell for which upstream reads an attribute that is not there.
func forgotten(noun.Object) any { return "" }

func meterCommands() []command.Entry {
	n := meters()
	shown := fields(asIs("description", "id", "name", "project_id", "shared")...)
	return []command.Entry{
		{Name: "network meter create", Build: n.Create(extra(noun.Writing{
			Short: "Create a network meter",
			Args:  []command.Arg{{Name: "<name>", Help: "Name of the new network meter"}}, NameArg: "<name>",
			Fields: slices.Concat([]noun.Field{
				description("new network meter"),
				noun.On("share", "shared", true, "Count for all projects"),
				noun.On("no-share", "shared", false, "Count for the project of the meter"),
			}, noun.InProject("Project that owns the network meter")),
			Exclusive: []string{"share no-share"},
			Shown:     shown,
		}))},
		{Name: "network meter delete", Build: n.Delete(noun.Deleting{
			Short: "Delete network meters",
			Arg:   command.Arg{Name: "<meter>", Help: "Network meters to delete, by name or id", Many: true, Complete: n.Name},
			Flags: []command.Flag{command.Parallel()},
		})},
		{Name: "network meter list", Build: n.List(noun.Listing{
			Short: "List network meters",
			Columns: []noun.Column{
				{Title: "ID", Attr: "id"},
				{Title: "Name", Attr: "name"},
				{Title: "Description", Attr: "description"},
				{Title: "Shared", Attr: "shared", Own: true},
				{Title: "Shared", From: forgotten, Needs: []string{}, Compat: true},
			},
		})},
		{Name: "network meter show", Build: n.Show(noun.Showing{
			Short: "Show a network meter", Arg: n.Ref("<meter>", "show"), Fields: shown,
		})},
	}
}

func meterRuleCommands() []command.Entry {
	n := meterRules()
	shown := fields(append(asIs("destination_ip_prefix", "direction", "id", "metering_label_id", "name", "project_id", "remote_ip_prefix", "source_ip_prefix"),
		noun.Column{Title: "is_excluded", Attr: "excluded"})...)
	return []command.Entry{
		{Name: "network meter rule create", Build: n.Create(extra(noun.Writing{
			Short: "Say what a network meter counts",
			Args:  []command.Arg{{Name: "<meter>", Help: "The network meter, by name or id", Complete: "network meter"}},
			Fields: slices.Concat([]noun.Field{
				noun.On("exclude", "excluded", true, "Do not count this traffic"),
				noun.On("include", "excluded", false, "Count this traffic, as is the default"),
				noun.On("ingress", "direction", "ingress", "The rule is for incoming traffic, as is the default"),
				noun.On("egress", "direction", "egress", "The rule is for outgoing traffic"),
				noun.String("remote-ip-prefix", "<remote-ip-prefix>", "", "Addresses on the other side, in CIDR notation"),
				noun.String("source-ip-prefix", "<remote-ip-prefix>", "", "Addresses the traffic comes from, in CIDR notation"),
				noun.String("destination-ip-prefix", "<remote-ip-prefix>", "", "Addresses the traffic goes to, in CIDR notation"),
			}, noun.InProject("Project that owns the rule")),
			Exclusive: []string{"exclude include", "ingress egress"},
			Body: func(ctx context.Context, c *command.Call, body *noun.Object, _ noun.Object) error {
				id, err := meters().Resolve(ctx, c, c.Text("<meter>"))
				if err != nil {
					return err
				}
				body.Set("metering_label_id", id)
				if body.Get("direction") == nil {
					body.Set("direction", "ingress")
				}
				return nil
			},
			Shown: shown,
		}))},
		{Name: "network meter rule delete", Build: n.Delete(noun.Deleting{
			Short: "Delete rules of network meters",
			Arg:   command.Arg{Name: "<meter-rule-id>", Help: "Rules to delete, by id", Many: true},
			Flags: []command.Flag{command.Parallel()},
		})},
		{Name: "network meter rule list", Build: n.List(noun.Listing{
			Short: "List rules of network meters",
			Columns: []noun.Column{
				{Title: "ID", Attr: "id"},
				{Title: "Excluded", Attr: "excluded", Own: true},
				{Title: "Excluded", From: forgotten, Needs: []string{}, Compat: true},
				{Title: "Direction", Attr: "direction"},
				{Title: "Remote IP Prefix", Attr: "remote_ip_prefix"},
				{Title: "Source IP Prefix", Attr: "source_ip_prefix"},
				{Title: "Destination IP Prefix", Attr: "destination_ip_prefix"},
			},
		})},
		{Name: "network meter rule show", Build: n.Show(noun.Showing{
			Short: "Show a rule of a network meter", Arg: command.Arg{Name: "<meter-rule-id>", Help: "The rule to show, by id"}, Fields: shown,
		})},
	}
}
