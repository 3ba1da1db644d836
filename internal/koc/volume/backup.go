package volume

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"time"

	"github.com/holdfast-ops/holdfast/internal/koc/cloud"
	"github.com/holdfast-ops/holdfast/internal/koc/command"
	"github.com/holdfast-ops/holdfast/internal/koc/noun"
	"github.com/holdfast-ops/holdfast/internal/koc/render"
)

func backupCommands() []command.Entry {
	n := backups()
	return []command.Entry{
		{Name: "volume backup create", Build: createBackup},
		{Name: "volume backup delete", Build: n.Delete(noun.Deleting{
			Short: "Delete volume backups",
			Arg:   refs(n, "<backup>", "delete"),
			Flags: append([]command.Flag{
				{Name: "force", Help: "Delete backups in whatever state they are (admin only)"},
				command.Parallel(),
			}, waitFlags("the backups are gone", time.Hour)...),
			Request: func(_ context.Context, c *command.Call, o noun.Object, r *cloud.Request) error {
				if c.Is("force") {
					*r = action(n, o.Text("id"), "os-force_delete", nil)
				}
				return nil
			},
			Then: gone(n),
		})},
		{Name: "volume backup list", Build: n.List(noun.Listing{
			Short: "List volume backups",
			Filters: []noun.Field{
				noun.String("name", "<name>", "name", "Only backups of exactly this name"),
				noun.OneOf("status", "<status>", "status", "Only backups in this status", "creating", "available", "deleting", "error", "restoring", "error_restoring"),
				{Flag: command.Flag{Name: "volume", Value: "<volume>", Help: "Only backups of this volume, by name or id; the id may be of one that is gone", Complete: "volume"}, Attr: "volume_id", To: toPastVolume},
			},
			Flags: []command.Flag{
				{Name: "project", Value: "<project>", Koc: true, Help: "Only backups of this project, by name or id (admin only)", Complete: "project"},
				{Name: "project-domain", Value: "<project-domain>", Koc: true, Help: "Domain of the project, by name or id, when its name is not unique", Complete: "domain"},
				allProjects("volume backups"),
			},
			Paged:  true,
			Marker: n.Resolve,
			Columns: slices.Concat(
				columns("ID", "id", "Name", "name", "Description", "description", "Status", "status", "Size", "size"),
				long("Availability Zone", "availability_zone", "Volume", "volume_id", "Container", "container"),
				optional("Incremental", "is_incremental", "Dependents", "has_dependent_backups", "Snapshot ID", "snapshot_id", "Project ID", "os-backup-project-attr:project_id",
					"Fail Reason", "fail_reason", "Created At", "created_at", "Updated At", "updated_at"),
			),
			Query:   everywhere,
			Prepare: withVolumeNames("Volume"),
		})},
		{Name: "volume backup record export", Build: exportRecord},
		{Name: "volume backup record import", Build: importRecord},
		{Name: "volume backup restore", Build: restoreBackup},
		{Name: "volume backup set", Build: setBackup},
		{Name: "volume backup show", Build: n.Show(noun.Showing{
			Short: "Show a volume backup", Arg: ref(n, "<backup>", "show"), Fields: raw(),
		})},
		since("3.43", "volume backup unset", unsetBackup),
	}
}

// toPastVolume is the id of a volume that may be gone.
func toPastVolume(ctx context.Context, c *command.Call, flag string) (any, error) {
	id, err := volumes().Resolve(ctx, c, c.Text(flag))
	if noun.IsNotFound(err) && (noun.LooksLikeID(c.Text(flag)) || c.Compat()) {
		return c.Text(flag), nil
	}
	return id, err
}

func createBackup() command.Command {
	n := backups()
	fields := []noun.Field{
		name("new backup"), description("new backup"),
		noun.String("container", "<container>", "container", "Where the backup goes: what this is depends on the backup service"),
		snapshots().Reference("snapshot", "<snapshot>", "snapshot_id", "Back up this snapshot of the volume, by name or id"),
		noun.On("force", "force", true, "Back up the volume even when it is in use"),
		noun.On("incremental", "incremental", true, "Only back up what changed since the last backup"),
		properties("metadata", "new backup (needs 3.43)"),
		noun.String("availability-zone", "<zone-name>", "availability_zone", "Availability zone that keeps the backup (needs 3.51)"),
	}
	flags := make([]command.Flag, 0, len(fields)+3)
	for _, f := range fields {
		flags = append(flags, f.Flag)
	}
	flags = append(flags, command.Flag{Name: "no-incremental", Help: "Back up all of the volume, as is the default"})
	return command.Command{
		Short:  "Back up a volume",
		Args:   []command.Arg{ref(volumes(), "<volume>", "back up")},
		Flags:  append(flags, waitFlags("the backup is done", time.Hour)...),
		Output: command.Created,
		Run: func(ctx context.Context, c *command.Call) error {
			if err := guard(ctx, c, "3.43", "property"); err != nil {
				return err
			}
			if err := guard(ctx, c, "3.51", "availability-zone"); err != nil {
				return err
			}
			id, err := volumes().Resolve(ctx, c, c.Text("<volume>"))
			if err != nil {
				return err
			}
			body := noun.Object{{Name: "volume_id", Value: id}}
			if err := noun.Fill(ctx, c, &body, fields); err != nil {
				return err
			}
			return create(ctx, c, n, cloud.Request{Method: "POST", Path: n.Path, Body: n.Wrap(body)})
		},
	}
}

func exportRecord() command.Command {
	n := backups()
	return command.Command{
		Short: "Show what another cloud needs to know of a volume backup",
		Args:  []command.Arg{ref(n, "<backup>", "export")}, Output: command.Shown,
		Run: func(ctx context.Context, c *command.Call) error {
			id, err := n.Resolve(ctx, c, c.Text("<backup>"))
			if err != nil {
				return err
			}
			record := n
			record.Key = "backup-record"
			o, err := record.Send(ctx, c, cloud.Request{Path: n.Path + "/" + id + "/export_record"})
			if err != nil {
				return err
			}
			if c.Output.Format == "" || c.Output.Format == "table" {
				return c.Show(noun.Fields{Columns: columns("Backup Service", "backup_service", "Metadata", "backup_url"), Rest: true, Sort: true}.Fields(c, o))
			}
			return c.Show(raw().Fields(c, o))
		},
	}
}

func importRecord() command.Command {
	n := backups()
	return command.Command{
		Short: "Make a volume backup known that another cloud, or this one before, exported",
		Args: []command.Arg{
			{Name: "<backup_service>", Help: "The backup service of the exported record"},
			{Name: "<backup_metadata>", Help: "The metadata of the exported record"},
		},
		Output: command.Created,
		Run: func(ctx context.Context, c *command.Call) error {
			body := noun.Object{{Name: "backup-record", Value: render.Ordered{
				{Name: "backup_service", Value: c.Text("<backup_service>")},
				{Name: "backup_url", Value: c.Text("<backup_metadata>")},
			}}}
			o, err := n.Send(ctx, c, cloud.Request{Method: "POST", Path: n.Path + "/import_record", Body: body})
			if err != nil {
				return err
			}
			return c.Show(raw().Fields(c, o))
		},
	}
}

func restoreBackup() command.Command {
	n := backups()
	return command.Command{
		Short: "Restore a volume backup into a volume",
		Args: []command.Arg{
			ref(n, "<backup>", "restore"),
			{Name: "<volume>", Help: "Volume to restore into, by name or id (see --force), or the name of a new one", Optional: true, Complete: "volume"},
		},
		Flags: append([]command.Flag{
			{Name: "force", Help: "Restore into a volume that exists: what is in it is lost"},
			{Name: "volume", Value: "<volume>", Koc: true, Help: "The same as the argument <volume>", Complete: "volume"},
		}, waitFlags("the volume is restored", time.Hour)...),
		Output: command.Created,
		Run: func(ctx context.Context, c *command.Call) error {
			target := c.Text("<volume>")
			if c.Given("volume") {
				if target != "" {
					return command.Reject("the volume is given twice: as an argument and as --volume")
				}
				target = c.Text("volume")
			}
			id, err := n.Resolve(ctx, c, c.Text("<backup>"))
			if err != nil {
				return err
			}
			body := noun.Object{}
			if target != "" {
				volume, err := volumes().Resolve(ctx, c, target)
				switch {
				case noun.IsNotFound(err) && !noun.LooksLikeID(target):
					body.Set("name", target)
				case err != nil:
					return err
				case !c.Is("force"):
					return fmt.Errorf("volume %q exists: give --force to overwrite what is in it", target)
				default:
					body.Set("volume_id", volume)
				}
			}
			restore := n
			restore.Key = "restore"
			o, err := restore.Send(ctx, c, cloud.Request{Method: "POST", Path: n.Path + "/" + id + "/restore", Body: restore.Wrap(body)})
			if err != nil {
				return err
			}
			if c.Is("wait") {
				if err := restored(ctx, c, o); err != nil {
					return err
				}
			}
			return c.Show(raw().Fields(c, o))
		},
	}
}

// restored waits until the backup is free again and its volume can be used.
func restored(ctx context.Context, c *command.Call, o noun.Object) error {
	volume := o.Text("volume_id")
	return noun.Wait{
		What: fmt.Sprintf("volume %s to be restored", volume), Timeout: time.Hour,
		Probe: func(ctx context.Context) (string, bool, error) {
			v, err := volumes().Get(ctx, c, volume)
			if err != nil {
				return "", false, err
			}
			b, err := backups().Get(ctx, c, o.Text("backup_id"))
			if err != nil {
				return "", false, err
			}
			status := v.Text("status")
			switch {
			case status == "error", status == "error_restoring":
				return status, false, &noun.Failed{Noun: "volume", Ref: volume, State: status, Reason: c.Cloud.Mask(b.Text("fail_reason"))}
			case (status == "available" || status == "in-use") && b.Text("status") != "restoring":
				return status, true, nil
			default:
				return status, false, nil
			}
		},
	}.Until(ctx, c)
}

func setBackup() command.Command {
	n := backups()
	return command.Command{
		Short: "Change a volume backup",
		Args:  []command.Arg{ref(n, "<backup>", "change")},
		Flags: []command.Flag{
			{Name: "name", Value: "<name>", Help: "Rename the backup (needs 3.9)"},
			{Name: "description", Value: "<description>", Help: "Describe the backup (needs 3.9)"},
			{Name: "state", Value: "<state>", Choices: []string{"available", "error"}, Help: "Only write this state into the database, whatever the backup is really like (admin only)"},
			{Name: "no-property", Help: "Remove all properties; together with --property, replace them (needs 3.43)"},
			propertyFlag("Give the backup this property; repeat for more (needs 3.43)"),
		},
		Run: func(ctx context.Context, c *command.Call) error {
			if err := guard(ctx, c, "3.9", "name", "description"); err != nil {
				return err
			}
			if err := guard(ctx, c, "3.43", "no-property", "property"); err != nil {
				return err
			}
			o, err := n.Find(ctx, c, c.Text("<backup>"), nil)
			if err != nil {
				return err
			}
			id := o.Text("id")
			var body noun.Object
			for _, flag := range []string{"name", "description"} {
				if c.Given(flag) {
					body.Set(flag, c.Text(flag))
				}
			}
			if c.Is("no-property") || c.Given("property") {
				body.Set("metadata", merged(c, o.Object("metadata")))
			}
			steps := stateSteps(c, n, id)
			if body != nil {
				steps = append(steps, step{"change the backup", func(ctx context.Context) error { return n.Update(ctx, c, id, body) }})
			}
			return attempt(ctx, steps)
		},
	}
}

func unsetBackup() command.Command {
	n := backups()
	return command.Command{
		Short: "Remove properties of a volume backup",
		Args:  []command.Arg{ref(n, "<backup>", "change")},
		Flags: []command.Flag{dropFlag("backup")},
		Run: func(ctx context.Context, c *command.Call) error {
			o, err := n.Find(ctx, c, c.Text("<backup>"), url.Values{})
			if err != nil || !c.Given("property") {
				return err
			}
			left, err := without(c, n, o, "metadata", "property")
			if err != nil {
				return err
			}
			return n.Update(ctx, c, o.Text("id"), noun.Object{{Name: "metadata", Value: render.Ordered(append(noun.Object{}, left...))}})
		},
	}
}
