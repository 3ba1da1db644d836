package volume

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-ops/holdfast/internal/koc/cloud"
	"github.com/holdfast-ops/holdfast/internal/koc/command"
	"github.com/holdfast-ops/holdfast/internal/koc/noun"
	"github.com/holdfast-ops/holdfast/internal/koc/render"
)

const hostAttr = "os-vol-host-attr:host"

func diskCommands() []command.Entry {
	n := volumes()
	return []command.Entry{
		{Name: "volume create", Build: createDisk},
		{Name: "volume delete", Build: n.Delete(noun.Deleting{
			Short: "Delete volumes",
			Arg:   refs(n, "<volume>", "delete"),
			Flags: append([]command.Flag{
				{Name: "force", Help: "Delete volumes in whatever state they are (admin only)"},
				{Name: "purge", Help: "Delete the snapshots of the volumes too"},
				{Name: "remote", Koc: true, Help: "Only forget the volumes: their data stays in the backend"},
				command.Parallel(),
			}, waitFlags("the volumes are gone", patience)...),
			Exclusive: []string{"force purge remote"},
			Request: func(_ context.Context, c *command.Call, o noun.Object, r *cloud.Request) error {
				switch {
				case c.Is("force"):
					*r = action(n, o.Text("id"), "os-force_delete", nil)
				case c.Is("remote"):
					*r = action(n, o.Text("id"), "os-unmanage", nil)
				case c.Is("purge"):
					r.Query = url.Values{"cascade": {"True"}}
				}
				return nil
			},
			Then: gone(n),
		})},
		{Name: "volume extend", Build: extendDisk},
		{Name: "volume list", Build: listDisks},
		{Name: "volume migrate", Build: migrateDisk},
		since("3.40", "volume revert", revertDisk),
		{Name: "volume set", Build: setDisk},
		{Name: "volume show", Build: n.Show(noun.Showing{
			Short: "Show a volume", Arg: ref(n, "<volume>", "show"), Fields: shownDisk(),
		})},
		since("3.12", "volume summary", summary),
		{Name: "volume unset", Build: unsetDisk},
	}
}

// action is the request of an action.
func action(n noun.Noun, id, name string, body any) cloud.Request {
	return cloud.Request{Method: "POST", Path: n.Path + "/" + url.PathEscape(id) + "/action", Body: noun.Object{{Name: name, Value: body}}}
}

func shownDisk() noun.Fields {
	return raw(noun.Column{Title: "properties", Attr: "metadata", Cell: dict}, noun.Column{Title: "type", Attr: "volume_type"})
}

func createDisk() command.Command {
	fields := createDiskFields()
	flags := make([]command.Flag, 0, len(fields)+16)
	for _, f := range fields {
		flags = append(flags, f.Flag)
	}
	flags = append(flags,
		command.Flag{Name: "source-replicated", Value: "<replicated-volume>", Hidden: true, Help: "Has no effect any more"},
		command.Flag{Name: "hint", Value: "<key=value>", Type: command.KeyList, Help: "Tell the scheduler something; repeat for more"},
		command.Flag{Name: "bootable", Help: "Mark the volume as bootable"},
		command.Flag{Name: "non-bootable", Help: "Mark the volume as not bootable, as is the default"},
		command.Flag{Name: "read-only", Help: "Let the volume only be read"},
		command.Flag{Name: "read-write", Help: "Let the volume be written, as is the default"},
		command.Flag{Name: "remote-source", Value: "<key=value>", Type: command.KeyValue, Koc: true, Help: "Take over a volume that is in a backend already, by what the backend calls it, such as source-name=vol1"},
		command.Flag{Name: "host", Value: "<host>", Koc: true, Help: "Host and backend of --remote-source"},
		command.Flag{Name: "cluster", Value: "<cluster>", Koc: true, Help: "Cluster of --remote-source (needs 3.16)"},
	)
	return command.Command{
		Short:     "Create a volume",
		Args:      []command.Arg{{Name: "<name>", Help: "Name of the new volume", Optional: true}},
		Flags:     append(flags, waitFlags("the volume is available", patience)...),
		Exclusive: []string{"image snapshot source source-replicated backup remote-source", "bootable non-bootable", "read-only read-write", "host cluster"},
		Output:    command.Created,
		Run: func(ctx context.Context, c *command.Call) error {
			r, err := toCreateDisk(ctx, c, fields)
			if err != nil {
				return err
			}
			n := volumes()
			o, err := n.Send(ctx, c, r)
			if err != nil {
				return err
			}
			if o, err = finishDisk(ctx, c, n, o); err != nil {
				return err
			}
			return c.Show(shownDisk().Fields(c, o))
		},
	}
}

func createDiskFields() []noun.Field {
	return []noun.Field{
		noun.Number("size", "<size>", "size", "Size in GiB; a volume made from a snapshot, a volume or a backup is as large as that by itself"),
		noun.String("type", "<volume-type>", "volume_type", "Type of the volume, by name or id"),
		noun.Image().Reference("image", "<image>", "imageRef", "Copy this image into the volume, by name or id"),
		{Flag: command.Flag{Name: "snapshot", Value: "<snapshot>", Help: "Make the volume from this snapshot, by name or id", Complete: "snapshot"}, Attr: "-"},
		volumes().Reference("source", "<volume>", "source_volid", "Clone this volume, by name or id"),
		koc(backups().Reference("backup", "<backup>", "backup_id", "Restore this backup into the volume, by name or id (needs 3.47)")),
		description("new volume"),
		zone("volume"),
		consistencyGroups().Reference("consistency-group", "<consistency-group>", "consistencygroup_id", "Put the volume into this consistency group, by name or id"),
		koc(groups().Reference("group", "<group>", "group_id", "Put the volume into this volume group, by name or id (needs 3.13)")),
		properties("metadata", "volume"),
	}
}

// toCreateDisk is the request that creates a volume.
func toCreateDisk(ctx context.Context, c *command.Call, fields []noun.Field) (cloud.Request, error) {
	none := cloud.Request{}
	if !c.Given("size") && !c.Given("snapshot") && !c.Given("source") && !c.Given("backup") && !c.Given("remote-source") {
		return none, wrong(c, "give --size: only a volume made from a snapshot, a volume or a backup has a size by itself")
	}
	if managed := c.Given("remote-source"); managed != (c.Given("host") || c.Given("cluster")) {
		return none, wrong(c, "--remote-source needs --host or --cluster, and they are of use only with it")
	}
	for version, flag := range map[string]string{"3.47": "backup", "3.16": "cluster", "3.13": "group"} {
		if err := guard(ctx, c, version, flag); err != nil {
			return none, err
		}
	}
	var body noun.Object
	if c.Given("<name>") {
		body.Set("name", c.Text("<name>"))
	}
	if err := noun.Fill(ctx, c, &body, fields); err != nil {
		return none, err
	}
	if c.Given("snapshot") {
		s, err := snapshots().Find(ctx, c, c.Text("snapshot"), nil)
		if err != nil {
			return none, err
		}
		body.Set("snapshot_id", s.Text("id"))
		body.Set("size", max(int64(c.Int("size")), s.Int("size")))
	}
	r := cloud.Request{Method: "POST", Path: "/volumes"}
	if c.Given("remote-source") {
		r.Path = "/os-volume-manage"
		body.Set("ref", pairs(c, "remote-source"))
		for _, flag := range []string{"host", "cluster"} {
			if c.Given(flag) {
				body.Set(flag, c.Text(flag))
			}
		}
		body.Set("bootable", c.Is("bootable"))
	}
	whole := volumes().Wrap(body)
	if hints := toHints(c); len(hints) > 0 {
		whole.Set("OS-SCH-HNT:scheduler_hints", hints)
	}
	r.Body = whole
	return r, nil
}

// toHints are the hints: a key that comes again makes a list.
func toHints(c *command.Call) render.Ordered {
	hints := noun.Object{}
	for _, p := range c.Pairs("hint") {
		switch have := hints.Get(p.Key).(type) {
		case nil:
			hints.Set(p.Key, p.Value)
		case []any:
			hints.Set(p.Key, append(have, p.Value))
		default:
			hints.Set(p.Key, []any{have, p.Value})
		}
	}
	return render.Ordered(hints)
}

// finishDisk does what a new volume must be available for.
func finishDisk(ctx context.Context, c *command.Call, n noun.Noun, o noun.Object) (noun.Object, error) {
	id := o.Text("id")
	steps := flagSteps(c, n, id)
	if c.Given("remote-source") && c.Is("bootable") {
		steps = slices.DeleteFunc(steps, func(s step) bool { return s.what == bootableStep })
	}
	if len(steps) == 0 && !c.Is("wait") {
		return o, nil
	}
	err := settle(ctx, c, n, id, "available")
	if err == nil {
		err = attempt(ctx, steps)
	}
	if err != nil {
		return nil, fmt.Errorf("volume %s was created, but: %w", id, err)
	}
	if !c.Is("wait") {
		return o, nil
	}
	return n.Get(ctx, c, id)
}

const bootableStep = "set whether the volume is bootable"

// flagSteps are the steps of --bootable and --read-only.
func flagSteps(c *command.Call, n noun.Noun, id string) []step {
	var steps []step
	if c.Is("bootable") || c.Is("non-bootable") {
		steps = append(steps, step{bootableStep, func(ctx context.Context) error {
			return act(ctx, c, n, id, "os-set_bootable", render.Ordered{{Name: "bootable", Value: c.Is("bootable")}})
		}})
	}
	if c.Is("read-only") || c.Is("read-write") {
		steps = append(steps, step{"set whether the volume is read-only", func(ctx context.Context) error {
			return act(ctx, c, n, id, "os-update_readonly_flag", render.Ordered{{Name: "readonly", Value: c.Is("read-only")}})
		}})
	}
	return steps
}

func listDisks() command.Command {
	n := volumes()
	listing := noun.Listing{
		Short: "List volumes",
		Filters: []noun.Field{
			noun.String("name", "<name>", "name", "Only volumes of exactly this name"),
			noun.String("status", "<status>", "status", "Only volumes in this status"),
			{Flag: command.Flag{Name: "user", Value: "<user>", Help: "Only volumes of this user, by name or id (admin only)", Complete: "user"}, Attr: "user_id", To: toUser},
			{Flag: command.Flag{Name: "user-domain", Value: "<user-domain>", Help: "Domain of the user, by name or id, when its name is not unique", Complete: "domain"}, Attr: "-"},
			{Flag: command.Flag{Name: "property", Value: "<key=value>", Type: command.KeyValue, Koc: true, Help: "Only volumes that have this property; repeat for more"}, Attr: "metadata", To: toMetadata},
			koc(noun.OneOf("bootable", "<true|false>", "bootable", "Only volumes that are bootable, or that are not", "true", "false")),
			koc(noun.String("availability-zone", "<availability-zone>", "availability_zone", "Only volumes of this availability zone")),
		},
		Flags: append(noun.ProjectFlags("Only volumes of this project, by name or id (admin only)"),
			allProjects("volumes"),
			command.Flag{Name: "type", Value: "<volume-type>", Koc: true, Complete: "volume type", Help: "Only volumes of this type, by name or id"},
			command.Flag{Name: "host", Value: "<host>", Koc: true, Help: "Only volumes on this host, backend or pool, as in host@backend#pool (admin only)"},
		),
		Paged: true,
		Columns: slices.Concat(
			columns("ID", "id", "Name", "name"),
			[]noun.Column{{Title: "Display Name", Attr: "name", OptIn: true, Compat: true}},
			columns("Status", "status", "Size", "size"),
			long("Type", "volume_type", "Bootable", "bootable"),
			[]noun.Column{{Title: "Attached to", Attr: "attachments"}, {Title: "Properties", Attr: "metadata", Cell: dict, Long: true}},
			optional(
				"Description", "description", "Host", hostAttr, "Availability Zone", "availability_zone", "Project ID", "os-vol-tenant-attr:tenant_id",
				"User ID", "user_id", "Encrypted", "encrypted", "Multiattach", "multiattach", "Snapshot ID", "snapshot_id",
				"Source Volume ID", "source_volid", "Migration Status", "migration_status", "Created At", "created_at", "Updated At", "updated_at",
			),
		),
		Query:   everywhere,
		Prepare: withAttachments,
	}
	cmd := n.List(listing)()
	all := cmd.Run
	listing.KeepNeeds = []string{hostAttr, "volume_type", "volume_type_id"}
	// The service does not filter by host unless its operator allowed it, and says
	// nothing: every page is read, and the limit is of what is kept.
	cmd.Run = func(ctx context.Context, c *command.Call) error {
		if !c.Given("host") && !c.Given("type") {
			return all(ctx, c)
		}
		keep, err := keepDisks(ctx, c)
		if err != nil {
			return err
		}
		listing := listing
		listing.Keep = keep
		return n.List(listing)().Run(ctx, c)
	}
	return cmd
}

// keepDisks is the filter of --host and --type.
func keepDisks(ctx context.Context, c *command.Call) (func(c *command.Call, o noun.Object) bool, error) {
	var kind noun.Object
	if c.Given("type") {
		var err error
		if kind, err = types().Find(ctx, c, c.Text("type"), nil); err != nil {
			return nil, err
		}
	}
	warned := false
	return func(c *command.Call, o noun.Object) bool {
		if c.Given("type") && o.Text("volume_type") != kind.Text("name") && o.Text("volume_type") != kind.Text("id") {
			return false
		}
		if !c.Given("host") {
			return true
		}
		at, told := o.Lookup(hostAttr)
		if !told && !warned {
			warned = true
			c.Notef("the service does not say on which hosts volumes are: that is for admins\n")
		}
		return onHost(noun.Text(at), c.Text("host"))
	}, nil
}

// onHost reports whether host@backend#pool is what is asked for: all of it, or
// without the pool, or without the backend.
func onHost(at, asked string) bool {
	rest, is := strings.CutPrefix(at, asked)
	return is && asked != "" && (rest == "" || rest[0] == '@' || rest[0] == '#')
}

func toUser(ctx context.Context, c *command.Call, flag string) (any, error) {
	return noun.User().In(ctx, c, c.Text(flag), c.Text("user-domain"))
}

// toMetadata is the filter by properties, which the service reads as Python.
func toMetadata(_ context.Context, c *command.Call, flag string) (any, error) {
	return pythonDict(c.Pairs(flag)), nil
}

func pythonDict(pairs []command.Pair) string {
	var b strings.Builder
	b.WriteByte('{')
	for i, p := range pairs {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(render.Repr(p.Key) + ": " + render.Repr(p.Value))
	}
	b.WriteByte('}')
	return b.String()
}

// withAttachments shows people the names of servers where volumes are attached.
func withAttachments(ctx context.Context, c *command.Call, columns []noun.Column) ([]noun.Column, error) {
	at := slices.IndexFunc(columns, func(col noun.Column) bool { return col.Title == "Attached to" })
	if at < 0 || !c.Output.Wants(render.Column{Title: "Attached to"}) || !human(c) {
		return nil, nil
	}
	columns = slices.Clone(columns)
	name := names(ctx, c, noun.Server(), nil)
	columns[at].Cell = func(v any) any {
		return render.Cell{Machine: v, Format: func(v any) any {
			list, _ := v.([]any)
			var b strings.Builder
			for _, item := range list {
				inner, _ := item.(render.Ordered)
				o := noun.Object(inner)
				device := o.Text("device")
				if o.Get("device") == nil {
					device = "None"
				}
				b.WriteString("Attached to " + name(o.Text("server_id")) + " on " + device + " ")
			}
			if !c.Compat() {
				return strings.TrimSuffix(b.String(), " ")
			}
			return b.String()
		}}
	}
	return columns, nil
}

func migrateDisk() command.Command {
	n := volumes()
	return command.Command{
		Short: "Move a volume to another host",
		Args:  []command.Arg{ref(n, "<volume>", "move")},
		Flags: append([]command.Flag{
			{Name: "host", Value: "<host>", Required: true, Help: "Where to move the volume, as host@backend#pool"},
			{Name: "force-host-copy", Help: "Copy by way of the host, without what the backends could do themselves"},
			{Name: "lock-volume", Help: "Lock the volume: nothing may end the move"},
		}, waitFlags("the volume is there", time.Hour)...),
		Run: func(ctx context.Context, c *command.Call) error {
			id, err := n.Resolve(ctx, c, c.Text("<volume>"))
			if err != nil {
				return err
			}
			err = act(ctx, c, n, id, "os-migrate_volume", render.Ordered{
				{Name: "host", Value: c.Text("host")},
				{Name: "force_host_copy", Value: c.Is("force-host-copy")},
				{Name: "lock_volume", Value: c.Is("lock-volume")},
			})
			if err != nil || !c.Is("wait") {
				return err
			}
			return noun.Wait{
				What: fmt.Sprintf("volume %s to move to %s", id, c.Text("host")), Timeout: time.Hour,
				Probe: func(ctx context.Context) (string, bool, error) {
					o, err := n.Get(ctx, c, id)
					if err != nil {
						return "", false, err
					}
					state, status := o.Text("migration_status"), o.Text("status")
					switch {
					case state == "success":
						return state, true, nil
					case state == "error":
						return state, false, &noun.Failed{Text: fmt.Sprintf("volume %q could not be moved to %s", id, c.Text("host"))}
					case status == "error":
						return state, false, &noun.Failed{Noun: n.Name, Ref: id, State: status}
					default:
						return state, false, nil
					}
				},
			}.Until(ctx, c)
		},
	}
}

func revertDisk() command.Command {
	n := snapshots()
	return command.Command{
		Short: "Turn a volume back to its last snapshot",
		Args:  []command.Arg{ref(n, "<snapshot>", "go back to")},
		Flags: waitFlags("the volume is available again", patience),
		Run: func(ctx context.Context, c *command.Call) error {
			o, err := n.Find(ctx, c, c.Text("<snapshot>"), nil)
			if err != nil {
				return err
			}
			id := o.Text("volume_id")
			err = act(ctx, c, volumes(), id, "revert", render.Ordered{{Name: "snapshot_id", Value: o.Text("id")}})
			if err != nil || !c.Is("wait") {
				return err
			}
			return settle(ctx, c, volumes(), id, "available", "in-use")
		},
	}
}

func summary() command.Command {
	return command.Command{
		Short: "Show how many volumes there are, and how large they are together",
		Flags: []command.Flag{allProjects("volumes")}, Output: command.Shown,
		Run: func(ctx context.Context, c *command.Call) error {
			n := volumes()
			r := cloud.Request{Path: "/volumes/summary"}
			if allOf(c) {
				r.Query = url.Values{"all_tenants": {"True"}}
			}
			n.Key = "volume-summary"
			o, err := n.Send(ctx, c, r)
			if err != nil {
				return err
			}
			fields := noun.Fields{Columns: []noun.Column{
				{Title: "Total Count", Attr: "total_count"},
				{Title: "Total Size", Attr: "total_size"},
				{Title: "Metadata", Attr: "metadata", Cell: dict},
			}, Absent: true}
			return c.Show(fields.Fields(c, o))
		},
	}
}

func extendDisk() command.Command {
	n := volumes()
	return command.Command{
		Short: "Make a volume larger",
		Args:  []command.Arg{ref(n, "<volume>", "make larger"), {Name: "<size>", Help: "New size in GiB"}},
		Flags: waitFlags("the volume has its new size", patience),
		Run: func(ctx context.Context, c *command.Call) error {
			size, err := strconv.Atoi(c.Text("<size>"))
			if err != nil || size < 1 {
				return command.Reject("the size %q is no number of GiB", c.Text("<size>"))
			}
			o, err := n.Find(ctx, c, c.Text("<volume>"), nil)
			if err != nil {
				return err
			}
			if err := checkSize(ctx, c, o, size); err != nil {
				return err
			}
			id := o.Text("id")
			if err := extend(ctx, c, id, size); err != nil || !c.Is("wait") {
				return err
			}
			return settle(ctx, c, n, id, "available", "in-use")
		},
	}
}

func extend(ctx context.Context, c *command.Call, id string, size int) error {
	return act(ctx, c, volumes(), id, "os-extend", render.Ordered{{Name: "new_size", Value: size}})
}

func checkSize(ctx context.Context, c *command.Call, o noun.Object, size int) error {
	if int64(size) <= o.Int("size") {
		return fmt.Errorf("the new size %d is not larger than that of volume %q, which is %d GiB", size, o.Text("id"), o.Int("size"))
	}
	if status := o.Text("status"); status != "available" {
		return needs(ctx, c, "3.42", fmt.Sprintf("making volume %q larger while it is %s", o.Text("id"), status))
	}
	return nil
}

func setDisk() command.Command {
	n := volumes()
	return command.Command{
		Short: "Change a volume",
		Args:  []command.Arg{ref(n, "<volume>", "change")},
		Flags: append([]command.Flag{
			{Name: "name", Value: "<name>", Help: "Rename the volume"},
			{Name: "size", Value: "<size>", Type: command.Int, Help: "Make the volume larger, to this size in GiB"},
			{Name: "description", Value: "<description>", Help: "Describe the volume"},
			{Name: "no-property", Help: "Remove all properties; together with --property, replace them"},
			propertyFlag("Give the volume this property; repeat for more"),
			{Name: "image-property", Value: "<key=value>", Type: command.KeyValue, Help: "Give the volume this property of its image; repeat for more"},
			{Name: "state", Value: "<state>", Choices: []string{"available", "error", "creating", "deleting", "in-use", "attaching", "detaching", "error_deleting", "maintenance"}, Help: "Only write this state into the database, whatever the volume is really like (admin only)"},
			{Name: "attached", Help: "Only write into the database that the volume is attached (admin only)"},
			{Name: "detached", Help: "Only write into the database that the volume is not attached (admin only)"},
			{Name: "type", Value: "<volume-type>", Help: "Change the type of the volume, by name or id", Complete: "volume type"},
			{Name: "retype-policy", Also: []string{"migration-policy"}, Value: "<retype-policy>", Choices: []string{"never", "on-demand"}, Help: "Whether the volume may move to another host for its new type (default never)"},
			{Name: "bootable", Help: "Mark the volume as bootable"},
			{Name: "non-bootable", Help: "Mark the volume as not bootable"},
			{Name: "read-only", Help: "Let the volume only be read"},
			{Name: "read-write", Help: "Let the volume be written"},
		}, waitFlags("the volume has its new type or size", time.Hour)...),
		Exclusive: []string{"attached detached", "bootable non-bootable", "read-only read-write"},
		Run: func(ctx context.Context, c *command.Call) error {
			if c.Given("retype-policy") && !c.Given("type") {
				if !c.Compat() {
					return command.Reject("--retype-policy is of use only with --type")
				}
				c.Notef("--retype-policy has no effect without --type\n")
			}
			o, err := n.Find(ctx, c, c.Text("<volume>"), nil)
			if err != nil {
				return err
			}
			if c.Int("size") != 0 {
				if err := checkSize(ctx, c, o, c.Int("size")); err != nil {
					return err
				}
			}
			var kind noun.Object
			if c.Given("type") {
				if kind, err = types().Find(ctx, c, c.Text("type"), nil); err != nil {
					return err
				}
			}
			if err := attempt(ctx, setDiskSteps(c, n, o.Text("id"), kind)); err != nil || !c.Is("wait") {
				return err
			}
			if kind != nil {
				return retyped(ctx, c, n, o, kind)
			}
			if c.Int("size") != 0 {
				return settle(ctx, c, n, o.Text("id"), "available", "in-use")
			}
			return nil
		},
	}
}

func setDiskSteps(c *command.Call, n noun.Noun, id string, kind noun.Object) []step {
	var steps []step
	add := func(what, action string, body render.Ordered) {
		steps = append(steps, step{what, func(ctx context.Context) error { return act(ctx, c, n, id, action, body) }})
	}
	if size := c.Int("size"); size != 0 {
		add("set the size", "os-extend", render.Ordered{{Name: "new_size", Value: size}})
	}
	steps = append(steps, setMetadata(c, n, id)...)
	if c.Given("image-property") {
		add("set the properties of the image", "os-set_image_metadata", render.Ordered{{Name: "metadata", Value: pairs(c, "image-property")}})
	}
	var state render.Ordered
	if c.Given("state") {
		state = append(state, render.Field{Name: "status", Value: c.Text("state")})
	}
	for _, flag := range []string{"attached", "detached"} {
		if c.Is(flag) {
			state = append(state, render.Field{Name: "attach_status", Value: flag})
		}
	}
	if state != nil {
		add("set the state", "os-reset_status", state)
	}
	steps = append(steps, flagSteps(c, n, id)...)
	if kind != nil {
		policy := c.Text("retype-policy")
		if policy == "" {
			policy = "never"
		}
		add("set the type", "os-retype", render.Ordered{{Name: "new_type", Value: kind.Text("id")}, {Name: "migration_policy", Value: policy}})
	}
	var body noun.Object
	for _, flag := range []string{"name", "description"} {
		if c.Given(flag) {
			body.Set(flag, c.Text(flag))
		}
	}
	if body != nil {
		steps = append(steps, step{"set name and description", func(ctx context.Context) error { return n.Update(ctx, c, id, body) }})
	}
	return steps
}

// retyped waits until a volume has its new type. The state alone does not tell: a
// retype that fails leaves the volume as it was.
func retyped(ctx context.Context, c *command.Call, n noun.Noun, before, kind noun.Object) error {
	id := before.Text("id")
	return noun.Wait{
		What: fmt.Sprintf("volume %s to have the type %s", id, kind.Text("name")), Timeout: time.Hour,
		Probe: func(ctx context.Context) (string, bool, error) {
			o, err := n.Get(ctx, c, id)
			if err != nil {
				return "", false, err
			}
			status, moving, has := o.Text("status"), o.Text("migration_status"), o.Text("volume_type")
			switch {
			case strings.HasPrefix(status, "error"):
				return status, false, &noun.Failed{Noun: n.Name, Ref: id, State: status}
			case moving == "error":
				return status, false, &noun.Failed{Text: fmt.Sprintf("volume %q could not be moved for its new type: it has the type %s", id, has)}
			case status == "retyping", moving != "" && moving != "none" && moving != "success":
				return status, false, nil
			case has == kind.Text("name"), has == kind.Text("id"):
				return status, true, nil
			default:
				return status, false, &noun.Failed{Text: fmt.Sprintf("volume %q was not changed: it has the type %s, not %s", id, has, kind.Text("name"))}
			}
		},
	}.Until(ctx, c)
}

func unsetDisk() command.Command {
	n := volumes()
	return command.Command{
		Short: "Remove properties of a volume",
		Args:  []command.Arg{ref(n, "<volume>", "change")},
		Flags: []command.Flag{
			dropFlag("volume"),
			{Name: "image-property", Value: "<key>", Repeat: true, Help: "Remove this property of the image of the volume; repeat for more"},
		},
		Run: func(ctx context.Context, c *command.Call) error {
			o, err := n.Find(ctx, c, c.Text("<volume>"), nil)
			if err != nil {
				return err
			}
			if _, err := without(c, n, o, "metadata", "property"); err != nil {
				return err
			}
			if _, err := without(c, n, o, "volume_image_metadata", "image-property"); err != nil {
				return err
			}
			id := o.Text("id")
			steps := unsetEach(c, n, n.Path+"/"+id+"/metadata")
			for _, key := range c.Texts("image-property") {
				steps = append(steps, step{"remove the image property " + key, func(ctx context.Context) error {
					return act(ctx, c, n, id, "os-unset_image_metadata", render.Ordered{{Name: "key", Value: key}})
				}})
			}
			return attempt(ctx, steps)
		},
	}
}
