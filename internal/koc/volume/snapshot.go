package volume

import (
	"context"

	"github.com/holdfast-ops/holdfast/internal/koc/cloud"
	"github.com/holdfast-ops/holdfast/internal/koc/command"
	"github.com/holdfast-ops/holdfast/internal/koc/noun"
	"github.com/holdfast-ops/holdfast/internal/koc/render"
)

func snapshotStates() []string {
	return []string{"available", "error", "creating", "deleting", "error_deleting"}
}

func snapshotCommands() []command.Entry {
	n := snapshots()
	return []command.Entry{
		{Name: "volume snapshot create", Build: createSnapshot},
		{Name: "volume snapshot delete", Build: n.Delete(noun.Deleting{
			Short: "Delete volume snapshots",
			Arg:   refs(n, "<snapshot>", "delete"),
			Flags: append([]command.Flag{
				{Name: "force", Help: "Delete snapshots in whatever state they are (admin only)"},
				{Name: "remote", Koc: true, Help: "Only forget the snapshots: their data stays in the backend"},
				command.Parallel(),
			}, waitFlags("the snapshots are gone", patience)...),
			Exclusive: []string{"force remote"},
			Request: func(_ context.Context, c *command.Call, o noun.Object, r *cloud.Request) error {
				switch {
				case c.Is("force"):
					*r = action(n, o.Text("id"), "os-force_delete", nil)
				case c.Is("remote"):
					*r = action(n, o.Text("id"), "os-unmanage", nil)
				}
				return nil
			},
			Then: gone(n),
		})},
		{Name: "volume snapshot list", Build: n.List(noun.Listing{
			Short: "List volume snapshots",
			Filters: []noun.Field{
				noun.String("name", "<name>", "name", "Only snapshots of exactly this name"),
				noun.OneOf("status", "<status>", "status", "Only snapshots in this status", snapshotStates()...),
				volumes().Reference("volume", "<volume>", "volume_id", "Only snapshots of this volume, by name or id"),
			},
			Flags: append(noun.ProjectFlags("Only snapshots of this project, by name or id (admin only)"), allProjects("volume snapshots")),
			Paged: true,
			Columns: append(append(
				columns("ID", "id", "Name", "name", "Description", "description", "Status", "status", "Size", "size"),
				long("Created At", "created_at", "Volume", "volume_id")...),
				noun.Column{Title: "Properties", Attr: "metadata", Cell: dict, Long: true}),
			Query:   everywhere,
			Prepare: withVolumeNames("Volume"),
		})},
		{Name: "volume snapshot set", Build: func() command.Command {
			return command.Command{
				Short: "Change a volume snapshot",
				Args:  []command.Arg{ref(n, "<snapshot>", "change")},
				Flags: []command.Flag{
					{Name: "name", Value: "<name>", Help: "Rename the snapshot"},
					{Name: "description", Value: "<description>", Help: "Describe the snapshot"},
					{Name: "no-property", Help: "Remove all properties; together with --property, replace them"},
					propertyFlag("Give the snapshot this property; repeat for more"),
					{Name: "state", Value: "<state>", Choices: snapshotStates(), Help: "Only write this state into the database, whatever the snapshot is really like (admin only)"},
				},
				Run: func(ctx context.Context, c *command.Call) error {
					id, err := n.Resolve(ctx, c, c.Text("<snapshot>"))
					if err != nil {
						return err
					}
					steps := append(setMetadata(c, n, id), stateSteps(c, n, id)...)
					return attempt(ctx, append(steps, nameSteps(c, n, id)...))
				},
			}
		}},
		{Name: "volume snapshot show", Build: n.Show(noun.Showing{
			Short: "Show a volume snapshot", Arg: ref(n, "<snapshot>", "show"), Fields: shownSnapshot(),
		})},
		{Name: "volume snapshot unset", Build: func() command.Command {
			return command.Command{
				Short: "Remove properties of a volume snapshot",
				Args:  []command.Arg{ref(n, "<snapshot>", "change")},
				Flags: []command.Flag{dropFlag("snapshot")},
				Run: func(ctx context.Context, c *command.Call) error {
					o, err := n.Find(ctx, c, c.Text("<snapshot>"), nil)
					if err != nil {
						return err
					}
					if _, err := without(c, n, o, "metadata", "property"); err != nil {
						return err
					}
					return attempt(ctx, unsetEach(c, n, n.Path+"/"+o.Text("id")+"/metadata"))
				},
			}
		}},
	}
}

// stateSteps are those of --state.
func stateSteps(c *command.Call, n noun.Noun, id string) []step {
	if !c.Given("state") {
		return nil
	}
	return []step{{"set the state", func(ctx context.Context) error {
		return act(ctx, c, n, id, "os-reset_status", render.Ordered{{Name: "status", Value: c.Text("state")}})
	}}}
}

// nameSteps are those of --name and --description.
func nameSteps(c *command.Call, n noun.Noun, id string) []step {
	var body noun.Object
	for _, flag := range []string{"name", "description"} {
		if c.Given(flag) {
			body.Set(flag, c.Text(flag))
		}
	}
	if body == nil {
		return nil
	}
	return []step{{"set name and description", func(ctx context.Context) error { return n.Update(ctx, c, id, body) }}}
}

func shownSnapshot() noun.Fields {
	return noun.Fields{Columns: []noun.Column{{Title: "properties", Attr: "metadata", Cell: dict}}, Rest: true, Sort: true}
}

func createSnapshot() command.Command {
	n := snapshots()
	return command.Command{
		Short: "Create a volume snapshot",
		Args:  []command.Arg{{Name: "<snapshot-name>", Help: "Name of the new snapshot"}},
		Flags: append([]command.Flag{
			{Name: "volume", Value: "<volume>", Help: "Volume to take the snapshot of, by name or id; by default the one that has the name of the snapshot", Complete: "volume"},
			{Name: "description", Value: "<description>", Help: "Describe the new snapshot"},
			{Name: "force", Help: "Take the snapshot even when the volume is in use"},
			propertyFlag("Give the snapshot this property; repeat for more"),
			{Name: "remote-source", Value: "<key=value>", Type: command.KeyValue, Help: "Take over a snapshot that is in the backend already, by what the backend calls it, such as source-name=snap1"},
		}, waitFlags("the snapshot is available", patience)...),
		Output: command.Created,
		Run: func(ctx context.Context, c *command.Call) error {
			volume := c.Text("volume")
			if volume == "" {
				volume = c.Text("<snapshot-name>")
			}
			id, err := volumes().Resolve(ctx, c, volume)
			if err != nil {
				return err
			}
			body := noun.Object{{Name: "volume_id", Value: id}, {Name: "name", Value: c.Text("<snapshot-name>")}}
			if c.Given("description") {
				body.Set("description", c.Text("description"))
			}
			if c.Given("property") {
				body.Set("metadata", pairs(c, "property"))
			}
			path := n.Path
			switch {
			case c.Given("remote-source"):
				path = "/os-snapshot-manage"
				body.Set("ref", pairs(c, "remote-source"))
				if c.Is("force") {
					c.Notef("--force has no effect on a snapshot that is there already\n")
				}
			case c.Is("force"): // since 3.66 the service always does so, and refuses false
				body.Set("force", true)
			}
			o, err := n.Send(ctx, c, cloud.Request{Method: "POST", Path: path, Body: n.Wrap(body)})
			if err != nil {
				return err
			}
			if o, err = created(n)(ctx, c, o); err != nil {
				return err
			}
			return c.Show(shownSnapshot().Fields(c, o))
		},
	}
}
