package compute

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/holdfast-ops/holdfast/internal/koc/cloud"
	"github.com/holdfast-ops/holdfast/internal/koc/command"
	"github.com/holdfast-ops/holdfast/internal/koc/noun"
)

// serverMigrationCommands are about migrations, those that go on and those of the past.
func serverMigrationCommands() []command.Entry {
	return []command.Entry{
		{Name: "server migration list", Build: serverMigrationList},
		{Name: "server migration show", Build: serverMigrationShow},
		{Name: "server migration abort", Build: func() command.Command {
			return liveMigration("Abort a live migration that goes on", "2.24", "abort", func(ctx context.Context, s *servers, path string) error {
				return s.tell(ctx, http.MethodDelete, path, nil)
			})
		}},
		{Name: "server migration force complete", Build: func() command.Command {
			return liveMigration("Make a live migration that goes on end, though the guest stands still for it", "2.22", "force complete",
				func(ctx context.Context, s *servers, path string) error {
					return s.tell(ctx, http.MethodPost, path+"/action", noun.Object{{Name: "force_complete"}})
				})
		}},
		{Name: "server migration confirm", Build: func() command.Command { return resizeEnd("Confirm a migration", "confirmResize") }},
		{Name: "server migration revert", Build: func() command.Command { return resizeEnd("Revert a migration", "revertResize") }},
	}
}

func serverMigrationList() command.Command {
	return command.Command{
		Short:   "List migrations of servers",
		Aliases: []string{"migration list"},
		Output:  command.Listed,
		Flags: []command.Flag{
			{Name: "server", Value: "<server>", Help: "Only migrations of this server, by name or id", Complete: "server"},
			{Name: "host", Value: "<host>", Help: "Only migrations from or to this host"},
			{Name: "status", Value: "<status>", Help: "Only migrations of this status"},
			{Name: "type", Value: "<type>", Choices: []string{"evacuation", "live-migration", "cold-migration", "resize"}, Help: "Only migrations of this type"},
			{Name: "marker", Value: "<marker>", Help: "Begin after the migration of this UUID (microversion 2.59)"},
			{Name: "limit", Value: "<limit>", Type: command.Int, Help: "Stop after this many, all pages taken together (microversion 2.59)"},
			{Name: "changes-since", Value: "<changes-since>", Help: "Only migrations that changed since this moment (microversion 2.59)"},
			{Name: "changes-before", Value: "<changes-before>", Help: "Only migrations that changed until this moment (microversion 2.66)"},
			{Name: "project", Value: "<project>", Help: "Only migrations of servers of this project, by name or id (microversion 2.80)", Complete: "project"},
			noun.ProjectDomainFlag(),
			{Name: "user", Value: "<user>", Help: "Only migrations of servers of this user, by name or id (microversion 2.80)", Complete: "user"},
			{Name: "user-domain", Value: "<user-domain>", Help: "Domain of the user, by name or id, when its name is not unique", Complete: "domain"},
			{Name: "created-before", Value: "<moment>", Koc: true, Help: "Only migrations that began until this moment (KeyStack)"},
			{Name: "created-since", Value: "<moment>", Koc: true, Help: "Only migrations that began since this moment (KeyStack)"},
			{Name: "long", Koc: true, Hidden: true, Help: "Show all columns, as is the default"},
		},
		Run: listMigrations,
	}
}

func listMigrations(ctx context.Context, c *command.Call) error {
	s, err := openServers(ctx, c, "")
	if err != nil {
		return err
	}
	q, err := s.sliceQuery("2.59")
	if err != nil {
		return err
	}
	for _, flag := range []string{"project", "user"} {
		if err := s.needsGiven("2.80", flag); err != nil {
			return err
		}
	}
	set := func(name, value string) {
		if value != "" {
			q.Set(name, value)
		}
	}
	set("host", c.Text("host"))
	set("status", c.Text("status"))
	set("created-before", c.Text("created-before"))
	set("created-since", c.Text("created-since"))
	kind := c.Text("type")
	if kind == "cold-migration" {
		kind = "migration"
	}
	set("migration_type", kind)
	if ref := c.Text("server"); ref != "" {
		id, err := s.id(ctx, ref)
		if err != nil {
			return err
		}
		set("instance_uuid", id)
	}
	project, err := noun.ProjectID(ctx, c)
	if err != nil {
		return err
	}
	set("project_id", project)
	if ref := c.Text("user"); ref != "" {
		id, err := noun.User().In(ctx, c, ref, c.Text("user-domain"))
		if err != nil {
			return err
		}
		set("user_id", id)
	}
	err = noun.PrintList(c, s.migrationColumns(), noun.Pages(ctx, s.Service, "/os-migrations", q, "migrations", max(c.Int("limit"), 0), nil))
	if err != nil && (c.Given("created-before") || c.Given("created-since")) {
		return keystack(err, "created filters")
	}
	return err
}

func (s *servers) migrationColumns() []noun.Column {
	column := func(title, attr string) noun.Column {
		return noun.Column{Title: title, From: func(o noun.Object) any {
			v, has := o.Lookup(attr)
			if !has && s.c.Compat() {
				return ""
			}
			return v
		}}
	}
	var columns []noun.Column
	if s.atLeast("2.23") {
		columns = append(columns, column("Id", "id"))
	}
	if s.atLeast("2.59") {
		columns = append(columns, column("UUID", "uuid"))
	}
	columns = append(columns,
		column("Source Node", "source_node"), column("Dest Node", "dest_node"), column("Source Compute", "source_compute"),
		column("Dest Compute", "dest_compute"), column("Dest Host", "dest_host"), column("Status", "status"),
		column("Server UUID", "instance_uuid"), column("Old Flavor", "old_instance_type_id"), column("New Flavor", "new_instance_type_id"),
	)
	if s.atLeast("2.23") {
		columns = append(columns, column("Type", "migration_type"))
	}
	if s.atLeast("2.80") && s.c.Given("project") {
		columns = append(columns, column("Project", "project_id"))
	}
	if s.atLeast("2.80") && s.c.Given("user") {
		columns = append(columns, column("User", "user_id"))
	}
	return append(columns, column("Created At", "created_at"), column("Updated At", "updated_at"))
}

func migrationArg(verb string) command.Arg {
	return command.Arg{Name: "<migration>", Help: "The migration to " + verb + ", by number or UUID"}
}

func isNumber(text string) bool {
	return text != "" && strings.Trim(text, "0123456789") == ""
}

// migrationOf resolves the server and finds the migration of it that goes on. By
// its UUID it must be looked for in the list; else only its number is known.
func (s *servers) migrationOf(ctx context.Context, version, what string) (server string, migration noun.Object, err error) {
	c, ref := s.c, s.c.Text("<migration>")
	if err := s.needs(version, what); err != nil {
		return "", nil, err
	}
	byNumber := isNumber(ref)
	switch {
	case byNumber:
	case !noun.LooksLikeID(ref):
		return "", nil, command.Reject("%q is no migration: give its number or UUID", ref)
	default:
		if err := s.needs("2.59", "the UUID of a migration"); err != nil {
			return "", nil, err
		}
	}
	if server, err = s.id(ctx, c.Text("<server>")); err != nil || byNumber {
		return server, object("id", ref), err
	}
	for o, err := range noun.Pages(ctx, s.Service, serverPath(server, "migrations"), nil, "migrations", 0, nil) {
		if err != nil {
			return "", nil, err
		}
		if o.Text("uuid") == ref {
			return server, o, nil
		}
	}
	return "", nil, fmt.Errorf("no live migration %s of server %q goes on", ref, c.Text("<server>"))
}

func migrationPath(server string, migration noun.Object) string {
	return serverPath(server, "migrations", migration.Text("id"))
}

func serverMigrationShow() command.Command {
	return command.Command{
		Short:  "Show a live migration that goes on",
		Args:   []command.Arg{serverArg("look at"), migrationArg("show")},
		Output: command.Shown,
		Run: func(ctx context.Context, c *command.Call) error {
			s, err := openServers(ctx, c, "")
			if err != nil {
				return err
			}
			server, o, err := s.migrationOf(ctx, "2.24", "server migration show")
			if err != nil {
				return err
			}
			if _, complete := o.Lookup("status"); !complete {
				found, err := s.ask(ctx, cloud.Request{Path: migrationPath(server, o)})
				if err != nil {
					return err
				}
				o = found.Object("migration")
			}
			titles := []string{
				"ID", "Server UUID", "Status", "Source Compute", "Source Node", "Dest Compute", "Dest Host", "Dest Node", "Memory Total Bytes",
				"Memory Processed Bytes", "Memory Remaining Bytes", "Disk Total Bytes", "Disk Processed Bytes", "Disk Remaining Bytes", "Created At",
				"Updated At",
			}
			if s.atLeast("2.59") {
				titles = append(titles, "UUID")
			}
			if s.atLeast("2.80") {
				titles = append(titles, "User ID", "Project ID")
			}
			columns := make([]noun.Column, len(titles))
			for i, title := range titles {
				columns[i] = noun.Column{Title: title, Attr: strings.ToLower(strings.ReplaceAll(title, " ", "_"))}
			}
			return c.Show(noun.Fields{Columns: columns}.Fields(c, o))
		},
	}
}

func liveMigration(short, version, verb string, do func(ctx context.Context, s *servers, path string) error) command.Command {
	return command.Command{
		Short: short,
		Args:  []command.Arg{serverArg("change"), migrationArg(verb)},
		Run: func(ctx context.Context, c *command.Call) error {
			s, err := openServers(ctx, c, "")
			if err != nil {
				return err
			}
			server, migration, err := s.migrationOf(ctx, version, c.Name)
			if err != nil {
				return err
			}
			return do(ctx, s, migrationPath(server, migration))
		},
	}
}
