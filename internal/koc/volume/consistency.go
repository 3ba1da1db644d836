package volume

import (
	"context"
	"slices"
	"strings"

	"github.com/holdfast-ops/holdfast/internal/koc/cloud"
	"github.com/holdfast-ops/holdfast/internal/koc/command"
	"github.com/holdfast-ops/holdfast/internal/koc/noun"
	"github.com/holdfast-ops/holdfast/internal/koc/render"
)

func consistencyGroupCommands() []command.Entry {
	n := consistencyGroups()
	return []command.Entry{
		{Name: "consistency group add volume", Build: changeMembers("Put volumes into a consistency group", "put into it", "add_volumes")},
		{Name: "consistency group create", Build: createConsistencyGroup},
		{Name: "consistency group delete", Build: n.Delete(noun.Deleting{
			Short: "Delete consistency groups",
			Arg:   refs(n, "<consistency-group>", "delete"),
			Flags: append([]command.Flag{
				{Name: "force", Help: "Delete the volumes of the groups too"},
				command.Parallel(),
			}, waitFlags("the groups are gone", patience)...),
			Request: func(_ context.Context, c *command.Call, o noun.Object, r *cloud.Request) error {
				body := noun.Object{{Name: "force", Value: c.Is("force")}}
				*r = cloud.Request{Method: "POST", Path: n.Path + "/" + o.Text("id") + "/delete", Body: n.Wrap(body)}
				return nil
			},
			Then: gone(n),
		})},
		{Name: "consistency group list", Build: n.List(noun.Listing{
			Short: "List consistency groups", Flags: []command.Flag{allProjects("consistency groups")}, Query: everywhere,
			Columns: []noun.Column{
				{Title: "ID", Attr: "id"},
				{Title: "Status", Attr: "status"},
				{Title: "Availability Zone", Attr: "availability_zone", Long: true},
				{Title: "Name", Attr: "name"},
				{Title: "Description", Attr: "description", Long: true},
				{Title: "Volume Types", Attr: "volume_types", Cell: list, Long: true},
			},
		})},
		{Name: "consistency group remove volume", Build: changeMembers("Take volumes out of a consistency group", "take out of it", "remove_volumes")},
		{Name: "consistency group set", Build: n.Set(noun.Writing{
			Short: "Change a consistency group",
			Args:  []command.Arg{ref(n, "<consistency-group>", "change")}, RefArg: "<consistency-group>",
			Fields: []noun.Field{
				noun.String("name", "<name>", "name", "Rename the consistency group"),
				description("consistency group"),
			},
		})},
		{Name: "consistency group show", Build: n.Show(noun.Showing{
			Short: "Show a consistency group", Arg: ref(n, "<consistency-group>", "show"), Fields: noun.Fields{Rest: true, Sort: true},
		})},
	}
}

func changeMembers(short, verb, attr string) func() command.Command {
	n := consistencyGroups()
	return func() command.Command {
		return command.Command{
			Short: short,
			Args:  []command.Arg{ref(n, "<consistency-group>", "change"), refs(volumes(), "<volume>", verb)},
			Run: func(ctx context.Context, c *command.Call) error {
				id, err := n.Resolve(ctx, c, c.Text("<consistency-group>"))
				if err != nil {
					return err
				}
				ids, err := volumes().ResolveAll(ctx, c, c.Texts("<volume>"))
				if err != nil {
					return err
				}
				return n.Update(ctx, c, id, noun.Object{{Name: attr, Value: strings.Join(ids, ",")}})
			},
		}
	}
}

func createConsistencyGroup() command.Command {
	n := consistencyGroups()
	fields := []noun.Field{
		types().Reference("volume-type", "<volume-type>", "volume_types", "Type of the volumes of the group, by name or id"),
		n.Reference("consistency-group-source", "<consistency-group>", "source_cgid", "Copy this consistency group, by name or id"),
		consistencySnapshots().Reference("consistency-group-snapshot", "<consistency-group-snapshot>", "cgsnapshot_id", "Make the group from this snapshot of one, by name or id"),
		description("new consistency group"),
		zone("consistency group; not for one that is made from another"),
	}
	flags := make([]command.Flag, 0, len(fields)+2)
	for _, f := range fields {
		flags = append(flags, f.Flag)
	}
	return command.Command{
		Short:     "Create a consistency group",
		Args:      []command.Arg{{Name: "<name>", Help: "Name of the new consistency group", Optional: true}},
		Flags:     append(flags, waitFlags("the consistency group is available", patience)...),
		Exclusive: []string{"! volume-type consistency-group-source consistency-group-snapshot"},
		Output:    command.Created,
		Run: func(ctx context.Context, c *command.Call) error {
			var body noun.Object
			if c.Given("<name>") {
				body.Set("name", c.Text("<name>"))
			}
			if err := noun.Fill(ctx, c, &body, fields); err != nil {
				return err
			}
			r := cloud.Request{Method: "POST", Path: n.Path, Body: n.Wrap(body)}
			if !c.Given("volume-type") {
				if c.Given("availability-zone") {
					c.Notef("--availability-zone has no effect on a group that is made from another one\n")
				}
				r.Path += "/create_from_src"
				body = slices.DeleteFunc(body, func(f render.Field) bool { return f.Name == "availability_zone" })
				r.Body = noun.Object{{Name: "consistencygroup-from-src", Value: render.Ordered(body)}}
			}
			return create(ctx, c, n, r)
		},
	}
}

func consistencySnapshotCommands() []command.Entry {
	n := consistencySnapshots()
	return []command.Entry{
		{Name: "consistency group snapshot create", Build: func() command.Command {
			return command.Command{
				Short: "Create a consistency group snapshot",
				Args:  []command.Arg{{Name: "<snapshot-name>", Help: "Name of the new snapshot", Optional: true}},
				Flags: append([]command.Flag{
					{Name: "consistency-group", Value: "<consistency-group>", Help: "Consistency group to take the snapshot of, by name or id; by default the one that has the name of the snapshot", Complete: "consistency group"},
					{Name: "description", Value: "<description>", Help: "Describe the new snapshot"},
				}, waitFlags("the snapshot is available", patience)...),
				Output: command.Created,
				Run: func(ctx context.Context, c *command.Call) error {
					group := c.Text("consistency-group")
					if group == "" {
						group = c.Text("<snapshot-name>")
					}
					if group == "" {
						return command.Reject("give the consistency group to take the snapshot of: --consistency-group")
					}
					id, err := consistencyGroups().Resolve(ctx, c, group)
					if err != nil {
						return err
					}
					body := noun.Object{{Name: "consistencygroup_id", Value: id}}
					if c.Given("<snapshot-name>") {
						body.Set("name", c.Text("<snapshot-name>"))
					}
					if c.Given("description") {
						body.Set("description", c.Text("description"))
					}
					o, err := n.Send(ctx, c, cloud.Request{Method: "POST", Path: n.Path, Body: n.Wrap(body)})
					if err != nil {
						return err
					}
					if o, err = created(n)(ctx, c, o); err != nil {
						return err
					}
					return c.Show(noun.Fields{Rest: true, Sort: true}.Fields(c, o))
				},
			}
		}},
		{Name: "consistency group snapshot delete", Build: n.Delete(noun.Deleting{
			Short: "Delete consistency group snapshots",
			Arg:   refs(n, "<consistency-group-snapshot>", "delete"),
			Flags: append([]command.Flag{command.Parallel()}, waitFlags("the snapshots are gone", patience)...),
			Then:  gone(n),
		})},
		{Name: "consistency group snapshot list", Build: n.List(noun.Listing{
			Short: "List consistency group snapshots",
			Filters: []noun.Field{
				noun.OneOf("status", "<status>", "status", "Only snapshots in this status", snapshotStates()...),
				consistencyGroups().Reference("consistency-group", "<consistency-group>", "consistencygroup_id", "Only snapshots of this consistency group, by name or id"),
			},
			Flags: []command.Flag{allProjects("consistency group snapshots")}, Query: everywhere,
			Columns: []noun.Column{
				{Title: "ID", Attr: "id"},
				{Title: "Status", Attr: "status"},
				{Title: "ConsistencyGroup ID", Attr: "consistencygroup_id", Long: true},
				{Title: "Name", Attr: "name"},
				{Title: "Description", Attr: "description", Long: true},
				{Title: "Created At", Attr: "created_at", Long: true},
			},
		})},
		{Name: "consistency group snapshot show", Build: n.Show(noun.Showing{
			Short: "Show a consistency group snapshot", Arg: ref(n, "<consistency-group-snapshot>", "show"), Fields: noun.Fields{Rest: true, Sort: true},
		})},
	}
}
