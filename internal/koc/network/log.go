package network

import (
	"context"
	"slices"
	"strings"

	"github.com/holdfast-ops/holdfast/internal/koc/command"
	"github.com/holdfast-ops/holdfast/internal/koc/noun"
)

func logs() noun.Noun { return thing("network log", "/log/logs", "log", "") }

// logCommands are those of python-neutronclient for logs of security groups.
func logCommands() []command.Entry {
	n := logs()
	shown := fields(
		noun.Column{Title: "Description", Attr: "description"},
		noun.Column{Title: "Enabled", Attr: "enabled"},
		noun.Column{Title: "Event", Attr: "event"},
		noun.Column{Title: "ID", Attr: "id"},
		noun.Column{Title: "Name", Attr: "name"},
		noun.Column{Title: "Project", Attr: "project_id"},
		noun.Column{Title: "Resource", Attr: "resource_id"},
		noun.Column{Title: "Target", Attr: "target_id"},
		noun.Column{Title: "Type", Attr: "resource_type"},
	)
	shown.Rest = true
	common := func(of string) []noun.Field {
		return []noun.Field{
			description(of),
			noun.On("enable", "enabled", true, "Enable the log"),
			noun.On("disable", "enabled", false, "Disable the log"),
		}
	}
	loggable := thing("loggable resource type", "/log/loggable-resources", "loggable_resource", "")
	return []command.Entry{
		{Name: "network log create", Build: n.Create(extra(noun.Writing{
			Short: "Log what a security group accepts or drops",
			Args:  []command.Arg{{Name: "<name>", Help: "Name of the new log"}}, NameArg: "<name>",
			Fields: slices.Concat(common("new log"), []noun.Field{
				{Flag: command.Flag{Name: "event", Value: "<event>", Choices: []string{"ACCEPT", "DROP", "ALL"}, Fold: true, Help: "What to log"}},
				{Flag: command.Flag{Name: "resource-type", Value: "<resource-type>", Required: true, Fold: true, Help: "Kind of what is logged, as network loggable resources list names it"}},
				{Flag: command.Flag{Name: "resource", Value: "<resource>", Help: "What is logged, by id, or by name if it is a security group"}, Attr: "resource_id", To: toLogged},
				ports().Reference("target", "<target>", "target_id", "Port that the logging is confined to, by name or id"),
			}, noun.InProject("Project that owns the log")),
			Exclusive: []string{"enable disable"},
			Shown:     shown,
		}))},
		{Name: "network log delete", Build: n.Delete(noun.Deleting{
			Short: "Delete logs",
			Arg:   command.Arg{Name: "<network-log>", Help: "Logs to delete, by name or id", Many: true, Complete: n.Name},
			Flags: []command.Flag{command.Parallel()},
		})},
		{Name: "network log list", Build: n.List(noun.Listing{
			Short: "List logs",
			Columns: []noun.Column{
				{Title: "ID", Attr: "id"},
				{Title: "Description", Attr: "description", Long: true},
				{Title: "Enabled", Attr: "enabled"},
				{Title: "Name", Attr: "name"},
				{Title: "Target", Attr: "target_id", Long: true},
				{Title: "Project", Attr: "project_id", Long: true},
				{Title: "Resource", Attr: "resource_id", Long: true},
				{Title: "Type", Attr: "resource_type"},
				{Title: "Event", Attr: "event", Long: true},
				{Title: "Summary", From: logged, Needs: []string{"event", "target_id", "resource_id", "resource_type"}},
			},
			Prepare: func(_ context.Context, c *command.Call, columns []noun.Column) ([]noun.Column, error) {
				if c.Is("long") {
					columns = columns[:len(columns)-1] // the summary of the others
				}
				return columns, nil
			},
		})},
		{Name: "network log set", Build: n.Set(extra(noun.Writing{
			Short: "Change a log",
			Args:  []command.Arg{n.Ref("<network-log>", "change")}, RefArg: "<network-log>",
			Fields:    append(common("log"), noun.String("name", "<name>", "name", "Rename the log")),
			Exclusive: []string{"enable disable"},
		}))},
		{Name: "network log show", Build: n.Show(noun.Showing{
			Short: "Show a log", Arg: n.Ref("<network-log>", "show"), Fields: shown,
		})},
		{Name: "network loggable resources list", Build: loggable.List(noun.Listing{
			Short:   "List what kinds of things can be logged",
			Flags:   []command.Flag{{Name: "long", Hidden: true, Help: "Accepted, there is no more to show"}},
			NoLong:  true,
			Columns: []noun.Column{{Title: "Supported types", Attr: "type"}},
		})},
	}
}

// toLogged is the id of what is logged.
func toLogged(ctx context.Context, c *command.Call, flag string) (any, error) {
	if c.Text("resource-type") == "security_group" {
		return securityGroups().Resolve(ctx, c, c.Text(flag))
	}
	return c.Text(flag), nil
}

// logged is what a log logs, in short.
func logged(o noun.Object) any {
	var what []string
	if id := o.Text("resource_id"); id != "" {
		what = append(what, "("+o.Text("resource_type")+") "+id)
	}
	if id := o.Text("target_id"); id != "" {
		what = append(what, "(port) "+id)
	}
	if what == nil {
		what = []string{"(None specified)"}
	}
	return "Event: " + strings.ToUpper(o.Text("event")) + ",\nLogged: " + strings.Join(what, " on ")
}
