package volume

import (
	"context"
	"net/url"

	"github.com/holdfast-ops/holdfast/internal/koc/cloud"
	"github.com/holdfast-ops/holdfast/internal/koc/command"
	"github.com/holdfast-ops/holdfast/internal/koc/noun"
	"github.com/holdfast-ops/holdfast/internal/koc/render"
)

func groupCommands() []command.Entry {
	n := groups()
	return []command.Entry{
		since("3.13", "volume group create", createGroup),
		since("3.13", "volume group delete", func() command.Command {
			return command.Command{
				Short: "Delete volume groups",
				Args:  []command.Arg{refs(n, "<group>", "delete")},
				Flags: append([]command.Flag{
					{Name: "force", Help: "Delete the volumes of the groups too"},
					command.Parallel(),
				}, waitFlags("the groups are gone", patience)...),
				Run: func(ctx context.Context, c *command.Call) error {
					return command.Each(ctx, c, n.Name, "delete", c.Texts("<group>"), func(ctx context.Context, ref string) error {
						o, err := n.Find(ctx, c, ref, nil)
						if err != nil {
							return err
						}
						body := render.Ordered{{Name: "delete-volumes", Value: c.Is("force")}}
						if err := act(ctx, c, n, o.Text("id"), "delete", body); err != nil {
							return err
						}
						return gone(n)(ctx, c, o)
					})
				},
			}
		}),
		since("3.38", "volume group failover", func() command.Command {
			return command.Command{
				Short: "Use the replicas of the volumes of a volume group",
				Args:  []command.Arg{ref(n, "<group>", "fail over")},
				Flags: []command.Flag{
					{Name: "allow-attached-volume", Help: "Fail over even when volumes are attached"},
					{Name: "disallow-attached-volume", Help: "Refuse when volumes are attached, as is the default"},
					{Name: "secondary-backend-id", Value: "<backend_id>", Help: "Id of the backend to use"},
				},
				Run: func(ctx context.Context, c *command.Call) error {
					id, err := n.Resolve(ctx, c, c.Text("<group>"))
					if err != nil {
						return err
					}
					attached := last(c, "allow-attached-volume", "disallow-attached-volume") == "allow-attached-volume"
					body := noun.Object{{Name: "allow_attached_volume", Value: attached}}
					if c.Given("secondary-backend-id") {
						body.Set("secondary_backend_id", c.Text("secondary-backend-id"))
					}
					return act(ctx, c, n, id, "failover_replication", render.Ordered(body))
				},
			}
		}),
		since("3.13", "volume group list", n.List(noun.Listing{
			Short: "List volume groups", Flags: []command.Flag{allProjects("volume groups")}, Query: everywhere,
			Columns: append(columns("ID", "id", "Status", "status", "Name", "name"),
				optional("Description", "description", "Group Type", "group_type", "Volume Types", "volume_types", "Availability Zone", "availability_zone", "Created At", "created_at")...),
		})),
		since("3.13", "volume group set", func() command.Command {
			return command.Command{
				Short: "Change a volume group",
				Args:  []command.Arg{ref(n, "<group>", "change")},
				Flags: []command.Flag{
					{Name: "name", Value: "<name>", Help: "Rename the volume group"},
					{Name: "description", Value: "<description>", Help: "Describe the volume group"},
					{Name: "enable-replication", Help: "Replicate the volumes of the group (needs 3.38)"},
					{Name: "disable-replication", Help: "Do not replicate the volumes of the group (needs 3.38)"},
				},
				Output: command.Created,
				Run: func(ctx context.Context, c *command.Call) error {
					if err := guard(ctx, c, "3.38", "enable-replication", "disable-replication"); err != nil {
						return err
					}
					o, err := n.Find(ctx, c, c.Text("<group>"), nil)
					if err != nil {
						return err
					}
					id := o.Text("id")
					var steps []step
					switch last(c, "enable-replication", "disable-replication") {
					case "enable-replication":
						steps = append(steps, step{"enable replication", func(ctx context.Context) error { return act(ctx, c, n, id, "enable_replication", render.Ordered{}) }})
					case "disable-replication":
						steps = append(steps, step{"disable replication", func(ctx context.Context) error { return act(ctx, c, n, id, "disable_replication", render.Ordered{}) }})
					}
					if steps = append(steps, nameSteps(c, n, id)...); len(steps) > 0 {
						if err := attempt(ctx, steps); err != nil {
							return err
						}
						if o, err = n.Get(ctx, c, id); err != nil {
							return err
						}
					}
					return c.Show(shownGroup().Fields(c, o))
				},
			}
		}),
		since("3.13", "volume group show", showGroup),
	}
}

func shownGroup() noun.Fields {
	all := columns("ID", "id", "Status", "status", "Name", "name", "Description", "description", "Group Type", "group_type",
		"Volume Types", "volume_types", "Availability Zone", "availability_zone", "Created At", "created_at")
	for _, col := range columns("Volumes", "volumes", "Group Snapshot ID", "group_snapshot_id", "Source Group ID", "source_group_id") {
		all = append(all, or(col))
	}
	return noun.Fields{Columns: append(all,
		noun.Column{Title: "Replication Targets", Attr: "replication_targets", Own: true, IfSet: true},
		noun.Column{Title: "Replication Status", Attr: "replication_status", Own: true, IfSet: true})}
}

func showGroup() command.Command {
	n := groups()
	return command.Command{
		Short: "Show a volume group",
		Args:  []command.Arg{ref(n, "<group>", "show")},
		Flags: []command.Flag{
			{Name: "volumes", Help: "Show the volumes of the group (needs 3.25)"},
			{Name: "no-volumes", Help: "Do not show the volumes of the group, as is the default"},
			{Name: "replication-targets", Help: "Show where the volumes of the group are replicated to (needs 3.38)"},
			{Name: "no-replication-targets", Help: "Do not show replication targets, as is the default"},
		},
		Output: command.Shown,
		Run: func(ctx context.Context, c *command.Call) error {
			if err := guard(ctx, c, "3.25", "volumes", "no-volumes"); err != nil {
				return err
			}
			if err := guard(ctx, c, "3.38", "replication-targets", "no-replication-targets"); err != nil {
				return err
			}
			o, err := n.Find(ctx, c, c.Text("<group>"), nil)
			if err != nil {
				return err
			}
			id := o.Text("id")
			if last(c, "volumes", "no-volumes") == "volumes" {
				if o, err = n.Send(ctx, c, cloud.Request{Path: n.Path + "/" + id, Query: url.Values{"list_volume": {"True"}}}); err != nil {
					return err
				}
			}
			if last(c, "replication-targets", "no-replication-targets") == "replication-targets" {
				var answer noun.Object
				r := action(n, id, "list_replication_targets", render.Ordered{})
				r.Into = &answer
				if err := n.Do(ctx, c, r); err != nil {
					return err
				}
				o.Set("replication_targets", answer.Get("replication_targets"))
			}
			return c.Show(shownGroup().Fields(c, o))
		},
	}
}

func createGroup() command.Command {
	n := groups()
	return command.Command{
		Short: "Create a volume group",
		Args: []command.Arg{
			{Name: "<volume_group_type>", Help: "Type of the volume group, by name or id", Optional: true, Complete: "volume group type"},
			{Name: "<volume_type>", Help: "Types of the volumes in the group, by name or id", Optional: true, Many: true, Complete: "volume type"},
		},
		Flags: append([]command.Flag{
			{Name: "name", Value: "<name>", Help: "Name of the new volume group"},
			{Name: "description", Value: "<description>", Help: "Describe the new volume group"},
			{Name: "availability-zone", Value: "<availability-zone>", Help: "Availability zone of the volume group"},
			{Name: "volume-group-type", Value: "<volume-group-type>", Koc: true, Help: "Type of the volume group, by name or id", Complete: "volume group type"},
			{Name: "volume-type", Value: "<volume-type>", Repeat: true, Koc: true, Help: "Type of volumes in the group, by name or id; repeat for more", Complete: "volume type"},
			{Name: "source-group", Value: "<source-group>", Koc: true, Help: "Copy this volume group, by name or id (needs 3.14)", Complete: "volume group"},
			{Name: "group-snapshot", Value: "<group-snapshot>", Koc: true, Help: "Make the group from this snapshot of one, by name or id (needs 3.14)", Complete: "volume group snapshot"},
		}, waitFlags("the volume group is available", patience)...),
		Exclusive: []string{"volume-group-type source-group group-snapshot"},
		Output:    command.Created,
		Run: func(ctx context.Context, c *command.Call) error {
			r, err := toCreateGroup(ctx, c, n)
			if err != nil {
				return err
			}
			o, err := n.Send(ctx, c, r)
			if err != nil {
				return err
			}
			if c.Is("wait") {
				if err := settle(ctx, c, n, o.Text("id"), "available"); err != nil {
					return err
				}
			}
			if o, err = n.Get(ctx, c, o.Text("id")); err != nil {
				return err
			}
			return c.Show(shownGroup().Fields(c, o))
		},
	}
}

func toCreateGroup(ctx context.Context, c *command.Call, n noun.Noun) (cloud.Request, error) {
	none := cloud.Request{}
	var body noun.Object
	for _, flag := range []string{"name", "description"} {
		if c.Given(flag) {
			body.Set(flag, c.Text(flag))
		}
	}
	kind := c.Text("<volume_group_type>")
	if c.Given("volume-group-type") {
		kind = c.Text("volume-group-type")
	}
	kindsOfVolumes := append(c.Texts("<volume_type>"), c.Texts("volume-type")...)
	if c.Given("source-group") || c.Given("group-snapshot") {
		if kind != "" || len(kindsOfVolumes) > 0 || c.Given("availability-zone") {
			return none, command.Reject("a volume group made from another one has its types and availability zone: give none")
		}
		if err := guard(ctx, c, "3.14", "source-group", "group-snapshot"); err != nil {
			return none, err
		}
		attr, from, flag := "source_group_id", groups(), "source-group"
		if c.Given("group-snapshot") {
			attr, from, flag = "group_snapshot_id", groupSnapshots(), "group-snapshot"
		}
		id, err := from.Resolve(ctx, c, c.Text(flag))
		if err != nil {
			return none, err
		}
		body.Set(attr, id)
		return cloud.Request{Method: "POST", Path: n.Path + "/action", Body: noun.Object{{Name: "create-from-src", Value: render.Ordered(body)}}}, nil
	}
	if kind == "" || len(kindsOfVolumes) == 0 {
		return none, command.Reject("give the type of the volume group and the types of its volumes, or --source-group or --group-snapshot")
	}
	id, err := groupTypes().Resolve(ctx, c, kind)
	if err != nil {
		return none, err
	}
	ids, err := types().ResolveAll(ctx, c, kindsOfVolumes)
	if err != nil {
		return none, err
	}
	list := make([]any, len(ids))
	for i := range ids {
		list[i] = ids[i]
	}
	body.Set("group_type", id)
	body.Set("volume_types", list)
	if c.Given("availability-zone") {
		body.Set("availability_zone", c.Text("availability-zone"))
	}
	return cloud.Request{Method: "POST", Path: n.Path, Body: n.Wrap(body)}, nil
}

func groupSnapshotCommands() []command.Entry {
	n := groupSnapshots()
	return []command.Entry{
		since("3.14", "volume group snapshot create", n.Create(noun.Writing{
			Short:  "Create a volume group snapshot",
			Args:   []command.Arg{ref(groups(), "<volume_group>", "take a snapshot of")},
			Fields: []noun.Field{name("new volume group snapshot"), description("new volume group snapshot")},
			Flags:  waitFlags("the volume group snapshot is available", patience),
			Body: func(ctx context.Context, c *command.Call, body *noun.Object, _ noun.Object) error {
				id, err := groups().Resolve(ctx, c, c.Text("<volume_group>"))
				body.Set("group_id", id)
				return err
			},
			// What the service answers to a create is not all that is shown.
			Then: func(ctx context.Context, c *command.Call, o noun.Object) (noun.Object, error) {
				if c.Is("wait") {
					if err := settle(ctx, c, n, o.Text("id"), "available"); err != nil {
						return nil, err
					}
				}
				return n.Get(ctx, c, o.Text("id"))
			},
			Shown: shownGroupSnapshot(),
		})),
		since("3.14", "volume group snapshot delete", n.Delete(noun.Deleting{
			Short: "Delete volume group snapshots",
			Arg:   refs(n, "<snapshot>", "delete"),
			Flags: append([]command.Flag{command.Parallel()}, waitFlags("the snapshots are gone", patience)...),
			Then:  gone(n),
		})),
		since("3.14", "volume group snapshot list", n.List(noun.Listing{
			Short: "List volume group snapshots", Flags: []command.Flag{allProjects("volume group snapshots")}, Query: everywhere,
			Columns: append(columns("ID", "id", "Status", "status", "Name", "name"),
				optional("Description", "description", "Group", "group_id", "Group Type", "group_type_id", "Created At", "created_at")...),
		})),
		since("3.14", "volume group snapshot show", n.Show(noun.Showing{
			Short: "Show a volume group snapshot", Arg: ref(n, "<snapshot>", "show"), Fields: shownGroupSnapshot(),
		})),
	}
}

func shownGroupSnapshot() noun.Fields {
	return noun.Fields{Columns: columns("ID", "id", "Status", "status", "Name", "name", "Description", "description", "Group", "group_id", "Group Type", "group_type_id")}
}

func groupTypeCommands() []command.Entry {
	n := groupTypes()
	public := []noun.Field{
		noun.On("public", "is_public", true, "Let all projects use the volume group type, as is the default"),
		noun.On("private", "is_public", false, "Keep the volume group type to those it is given to"),
	}
	return []command.Entry{
		since("3.11", "volume group type create", n.Create(noun.Writing{
			Short: "Create a volume group type",
			Args:  []command.Arg{{Name: "<name>", Help: "Name of the new volume group type"}}, NameArg: "<name>",
			Fields: append([]noun.Field{description("new volume group type")}, public...), Exclusive: []string{"public private"},
			Flags: []command.Flag{koc(properties("", "new volume group type")).Flag},
			Then: func(ctx context.Context, c *command.Call, o noun.Object) (noun.Object, error) {
				if !c.Given("property") {
					return o, nil
				}
				if err := attempt(ctx, setSpecs(c, n, o, "group_specs")); err != nil {
					return nil, err
				}
				return n.Get(ctx, c, o.Text("id"))
			},
			Shown: shownGroupType(),
		})),
		since("3.11", "volume group type delete", n.Delete(noun.Deleting{
			Short: "Delete volume group types", Arg: refs(n, "<group_type>", "delete"), Flags: []command.Flag{command.Parallel()},
		})),
		since("3.11", "volume group type list", listKinds(n, noun.Listing{
			Short: "List volume group types",
			Flags: []command.Flag{{Name: "default", Help: "Show the volume group type that is the default"}},
			Query: func(_ context.Context, _ *command.Call, q url.Values) error {
				q.Set("is_public", "None")
				return nil
			},
			Columns: []noun.Column{
				{Title: "ID", Attr: "id"},
				{Title: "Name", Attr: "name"},
				{Title: "Is Public", Attr: "is_public"},
				{Title: "Properties", Attr: "group_specs", Compat: true},
				{Title: "Properties", Attr: "group_specs", Cell: dict, Own: true},
				{Title: "Description", Attr: "description", OptIn: true, Own: true},
			},
		})),
		since("3.11", "volume group type set", func() command.Command {
			return command.Command{
				Short: "Change a volume group type",
				Args:  []command.Arg{ref(n, "<group_type>", "change")},
				Flags: []command.Flag{
					{Name: "name", Value: "<name>", Help: "Rename the volume group type"},
					{Name: "description", Value: "<description>", Help: "Describe the volume group type"},
					public[0].Flag, public[1].Flag,
					{Name: "no-property", Help: "Remove all properties; together with --property, replace them"},
					propertyFlag("Give the volume group type this property; repeat for more"),
				},
				Exclusive: []string{"public private"}, Output: command.Created,
				Run: func(ctx context.Context, c *command.Call) error {
					o, err := n.Find(ctx, c, c.Text("<group_type>"), nil)
					if err != nil {
						return err
					}
					var body noun.Object
					for _, flag := range []string{"name", "description"} {
						if c.Given(flag) {
							body.Set(flag, c.Text(flag))
						}
					}
					if c.Is("public") || c.Is("private") {
						body.Set("is_public", c.Is("public"))
					}
					var steps []step
					if body != nil {
						steps = append(steps, step{"change the volume group type", func(ctx context.Context) error { return n.Update(ctx, c, o.Text("id"), body) }})
					}
					steps = append(steps, setSpecs(c, n, o, "group_specs")...)
					if len(steps) > 0 {
						if err := attempt(ctx, steps); err != nil {
							return err
						}
						if o, err = n.Get(ctx, c, o.Text("id")); err != nil {
							return err
						}
					}
					return c.Show(shownGroupType().Fields(c, o))
				},
			}
		}),
		since("3.11", "volume group type show", n.Show(noun.Showing{
			Short: "Show a volume group type", Arg: ref(n, "<group_type>", "show"), Fields: shownGroupType(),
		})),
		since("3.11", "volume group type unset", func() command.Command {
			return command.Command{
				Short: "Remove properties of a volume group type",
				Args:  []command.Arg{ref(n, "<group_type>", "change")},
				Flags: []command.Flag{dropFlag("volume group type")}, Output: command.Created,
				Run: func(ctx context.Context, c *command.Call) error {
					o, err := n.Find(ctx, c, c.Text("<group_type>"), nil)
					if err != nil {
						return err
					}
					if _, err := without(c, n, o, "group_specs", "property"); err != nil {
						return err
					}
					if err := attempt(ctx, unsetEach(c, n, n.Path+"/"+o.Text("id")+"/group_specs")); err != nil {
						return err
					}
					if o, err = n.Get(ctx, c, o.Text("id")); err != nil {
						return err
					}
					return c.Show(shownGroupType().Fields(c, o))
				},
			}
		}),
	}
}

func shownGroupType() noun.Fields {
	return noun.Fields{Columns: append(columns("ID", "id", "Name", "name", "Description", "description", "Is Public", "is_public"),
		noun.Column{Title: "Properties", Attr: "group_specs", Cell: dict})}
}
