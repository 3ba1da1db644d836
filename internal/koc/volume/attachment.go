package volume

import (
	"context"
	"net/url"

	"github.com/holdfast-ops/holdfast/internal/koc/cloud"
	"github.com/holdfast-ops/holdfast/internal/koc/command"
	"github.com/holdfast-ops/holdfast/internal/koc/noun"
	"github.com/holdfast-ops/holdfast/internal/koc/render"
)

func attachments() noun.Noun {
	return noun.Noun{Name: "volume attachment", Service: "volume", Path: "/attachments", Key: "attachment", Label: "-"}
}

func attachmentCommands() []command.Entry {
	n := attachments()
	arg := func(verb string) command.Arg {
		return command.Arg{Name: "<attachment>", Help: "Id of the volume attachment to " + verb}
	}
	return []command.Entry{
		since("3.44", "volume attachment complete", func() command.Command {
			return command.Command{
				Short: "Say that a volume attachment is complete, so that its volume is in use",
				Args:  []command.Arg{arg("complete")},
				Run: func(ctx context.Context, c *command.Call) error {
					return act(ctx, c, n, c.Text("<attachment>"), "os-complete", nil)
				},
			}
		}),
		since("3.27", "volume attachment create", createAttachment),
		since("3.27", "volume attachment delete", n.Delete(noun.Deleting{
			Short: "Delete volume attachments",
			Long:  "The service detaches a volume from nothing: for one that a server uses, see server remove volume.",
			Arg:   command.Arg{Name: "<attachment>", Help: "Ids of the volume attachments to delete", Many: true},
			Flags: []command.Flag{command.Parallel()},
		})),
		since("3.27", "volume attachment list", n.List(noun.Listing{
			Short: "List volume attachments",
			Filters: []noun.Field{
				noun.String("volume-id", "<volume-id>", "volume_id", "Only attachments of the volume of this id"),
				{Flag: command.Flag{Name: "status", Value: "<status>", Help: "Only attachments in this status, as attached or reserved"}, Attr: "-"},
			},
			Flags:   append(noun.ProjectFlags("Only attachments of this project, by name or id (admin only)"), allProjects("volume attachments")),
			Paged:   true,
			Columns: columns("ID", "id", "Volume ID", "volume_id", "Server ID", "instance", "Status", "status"),
			Query: func(ctx context.Context, c *command.Call, q url.Values) error {
				if c.Given("status") {
					// The service takes the name that the openstack client uses, and finds nothing by it.
					attr := "attach_status"
					if c.Compat() {
						attr = "status"
					}
					q.Set(attr, c.Text("status"))
				}
				return everywhere(ctx, c, q)
			},
		})),
		since("3.27", "volume attachment set", func() command.Command {
			return command.Command{
				Short:  "Tell who uses a volume attachment",
				Args:   []command.Arg{arg("change")},
				Flags:  connectorFlags(),
				Output: command.Created,
				Run: func(ctx context.Context, c *command.Call) error {
					body := noun.Object{{Name: "connector", Value: toConnector(c)}}
					o, err := n.Send(ctx, c, cloud.Request{Method: "PUT", Path: n.Path + "/" + c.Text("<attachment>"), Body: n.Wrap(body)})
					if err != nil {
						return err
					}
					return c.Show(shownAttachment().Fields(c, o))
				},
			}
		}),
		since("3.27", "volume attachment show", n.Show(noun.Showing{
			Short: "Show a volume attachment", Arg: arg("show"), Fields: shownAttachment(),
		})),
	}
}

func createAttachment() command.Command {
	n := attachments()
	return command.Command{
		Short: "Reserve a volume for a server, or attach it",
		Long: "Without --connect the volume is only reserved. With it, the service makes the volume ready for the host that " +
			"the other flags describe; volume attachment complete is the last step then. Nothing happens in the server: " +
			"for that, see server add volume.",
		Args: []command.Arg{
			ref(volumes(), "<volume>", "attach"),
			{Name: "<server>", Help: "The server to attach it to, by name or id", Complete: "server"},
		},
		Flags: append([]command.Flag{
			{Name: "connect", Help: "Attach the volume to the host that the other flags describe"},
			{Name: "no-connect", Help: "Only reserve the volume, as is the default"},
			{Name: "mode", Value: "<mode>", Help: "Whether the volume is read and written: rw, ro, or null for what the volume says (needs 3.54)"},
		}, connectorFlags()...),
		Output: command.Created,
		Run: func(ctx context.Context, c *command.Call) error {
			if err := guard(ctx, c, "3.54", "mode"); err != nil {
				return err
			}
			connector := render.Ordered{}
			if last(c, "connect", "no-connect") == "connect" {
				connector = toConnector(c)
			} else if flag := connectorFlag(c); flag != "" {
				return wrong(c, "--%s needs --connect: without it the volume is only reserved", flag)
			}
			volume, err := volumes().Resolve(ctx, c, c.Text("<volume>"))
			if err != nil {
				return err
			}
			server, err := noun.Server().Resolve(ctx, c, c.Text("<server>"))
			if err != nil {
				return err
			}
			body := noun.Object{
				{Name: "volume_uuid", Value: volume},
				{Name: "connector", Value: connector},
				{Name: "instance_uuid", Value: server},
			}
			if mode := c.Text("mode"); mode != "" && mode != "null" {
				body.Set("mode", mode)
			}
			o, err := n.Send(ctx, c, cloud.Request{Method: "POST", Path: n.Path, Body: n.Wrap(body)})
			if err != nil {
				return err
			}
			return c.Show(shownAttachment().Fields(c, o))
		},
	}
}

func connectorFlags() []command.Flag {
	return []command.Flag{
		{Name: "initiator", Value: "<initiator>", Help: "iSCSI name of the host, as iqn.2026-08.local:node1"},
		{Name: "ip", Value: "<ip>", Help: "Address of the host"},
		{Name: "host", Value: "<host>", Help: "Name of the host"},
		{Name: "platform", Value: "<platform>", Help: "Architecture of the host, as x86_64"},
		{Name: "os-type", Value: "<ostype>", Help: "Operating system of the host, as linux2"},
		{Name: "multipath", Help: "Use several paths to the volume"},
		{Name: "no-multipath", Help: "Use one path to the volume, as is the default"},
		{Name: "mountpoint", Value: "<mountpoint>", Help: "Device of the volume in the server, as /dev/vdb"},
	}
}

// connectorFlag is one of the flags that describe a host, if one was given.
func connectorFlag(c *command.Call) string {
	for _, flag := range []string{"initiator", "ip", "host", "platform", "os-type", "multipath", "mountpoint"} {
		if c.Given(flag) {
			return flag
		}
	}
	return ""
}

func toConnector(c *command.Call) render.Ordered {
	var out noun.Object
	for _, flag := range []string{"initiator", "ip", "platform", "host"} {
		if c.Given(flag) {
			out.Set(flag, c.Text(flag))
		}
	}
	if c.Given("os-type") {
		out.Set("os_type", c.Text("os-type"))
	}
	out.Set("multipath", last(c, "multipath", "no-multipath") == "multipath")
	if c.Given("mountpoint") {
		out.Set("mountpoint", c.Text("mountpoint"))
	}
	return render.Ordered(out)
}

func shownAttachment() noun.Fields {
	all := columns("ID", "id", "Volume ID", "volume_id", "Instance ID", "instance", "Status", "status",
		"Attach Mode", "attach_mode", "Attached At", "attached_at", "Detached At", "detached_at")
	return noun.Fields{Columns: append(all, noun.Column{Title: "Properties", Attr: "connection_info", Cell: dict})}
}
