package network

import (
	"slices"

	"github.com/holdfast-ops/holdfast/internal/koc/command"
	"github.com/holdfast-ops/holdfast/internal/koc/noun"
)

func logs() noun.Noun { return thing("network log", "/log/logs", "log", "") }

// logCommands are those of python-neutronclient for logs of security groups.
func logCommands() []command.Entry {
	n := logs()
	shown := fields(append(asIs("created_at", "description", "enabled", "event", "id", "name", "resource_id", "resource_type", "revision_number", "target_id", "updated_at"),
		noun.Column{Title: "project_id"})...)
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
				must(noun.String("resource-type", "<resource-type>", "", "Kind of what is logged, as network loggable resources list names it")),
				noun.String("resource", "<resource>", "resource_id", "Id of what is logged, such as a security group"),
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
				{Title: "Enabled", Attr: "enabled"},
				{Title: "Name", Attr: "name"},
				{Title: "Type", Attr: "resource_type"},
				{Title: "Resource", Attr: "resource_id", Long: true},
				{Title: "Target", Attr: "target_id", Long: true},
				{Title: "Event", Attr: "event", Long: true},
				{Title: "Project", Attr: "project_id", Long: true},
				{Title: "Description", Attr: "description", Long: true},
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
			Columns: []noun.Column{{Title: "Supported types", Attr: "type"}},
		})},
	}
}
