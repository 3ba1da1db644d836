package compute

import (
	"context"
	"net/http"

	"github.com/holdfast-ops/holdfast/internal/koc/cloud"
	"github.com/holdfast-ops/holdfast/internal/koc/command"
	"github.com/holdfast-ops/holdfast/internal/koc/noun"
	"github.com/holdfast-ops/holdfast/internal/koc/render"
)

// serverVolumeCommands are about the volumes a server has.
func serverVolumeCommands() []command.Entry {
	return []command.Entry{
		{Name: "server volume list", Build: serverVolumeList},
		{Name: "server volume set", Build: serverVolumeUpdate},
		{Name: "server volume update", Build: serverVolumeUpdate},
	}
}

func serverVolumeList() command.Command {
	return command.Command{
		Short:  "List the volumes attached to a server",
		Args:   []command.Arg{serverArg("look at")},
		Output: command.Listed,
		Run: func(ctx context.Context, c *command.Call) error {
			s, err := openServers(ctx, c, "")
			if err != nil {
				return err
			}
			id, err := s.id(ctx, c.Text("<server>"))
			if err != nil {
				return err
			}
			return noun.PrintList(c, s.volumeColumns(), noun.Pages(ctx, s.Service, serverPath(id, "os-volume_attachments"), nil, "volumeAttachments", 0, nil))
		},
	}
}

func (s *servers) volumeColumns() []noun.Column {
	var columns []noun.Column
	if !s.atLeast("2.89") {
		columns = append(columns, noun.Column{Title: "ID", Attr: "id"})
	}
	columns = append(columns, noun.Column{Title: "Device", Attr: "device"}, noun.Column{Title: "Server ID", Attr: "serverId"}, noun.Column{Title: "Volume ID", Attr: "volumeId"})
	if s.atLeast("2.70") {
		columns = append(columns, noun.Column{Title: "Tag", Attr: "tag"})
	}
	if s.atLeast("2.79") {
		columns = append(columns, noun.Column{Title: "Delete On Termination?", Attr: "delete_on_termination"})
	}
	if s.atLeast("2.89") {
		columns = append(columns, noun.Column{Title: "Attachment ID", Attr: "attachment_id"}, noun.Column{Title: "BlockDeviceMapping UUID", Attr: "bdm_uuid"})
	}
	return columns
}

func serverVolumeUpdate() command.Command {
	return command.Command{
		Short: "Change how a volume is attached to a server",
		Args:  []command.Arg{serverArg("change"), noun.Volume().Ref("<volume>", "change")},
		Flags: []command.Flag{
			{Name: "delete-on-termination", Help: "Delete the volume with the server (microversion 2.85)"},
			{Name: "preserve-on-termination", Help: "Keep the volume when the server is deleted (microversion 2.85)"},
		},
		Exclusive: []string{"delete-on-termination preserve-on-termination"},
		Run: func(ctx context.Context, c *command.Call) error {
			if !c.Is("delete-on-termination") && !c.Is("preserve-on-termination") {
				return nil
			}
			s, err := openServers(ctx, c, "")
			if err != nil {
				return err
			}
			if err := s.needs("2.85", "--delete-on-termination or --preserve-on-termination"); err != nil {
				return err
			}
			id, volume, err := s.pair(ctx, noun.Volume(), "<volume>")
			if err != nil {
				return err
			}
			return s.tell(ctx, http.MethodPut, serverPath(id, "os-volume_attachments", volume), object("volumeAttachment", render.Ordered(object(
				"volumeId", volume, "delete_on_termination", c.Is("delete-on-termination")))))
		},
	}
}

// serverShareCommands are about the shared file systems a server has.
func serverShareCommands() []command.Entry {
	return []command.Entry{
		{Name: "server add share", Build: serverAddShare},
		{Name: "server remove share", Build: serverRemoveShare},
		{Name: "server share list", Build: serverShareList},
		{Name: "server share show", Build: serverShareShow},
	}
}

const shareVersion = "2.97"

// share is the argument that names a share, by its id.
func share(verb string) command.Arg {
	return command.Arg{Name: "<share>", Help: "The share to " + verb + ", by id"}
}

// openShares opens the compute service at a microversion that knows shares.
func openShares(ctx context.Context, c *command.Call) (s *servers, server string, err error) {
	if s, err = openServers(ctx, c, ""); err != nil {
		return nil, "", err
	}
	if err = s.needs(shareVersion, "shares of servers"); err != nil {
		return nil, "", err
	}
	server, err = s.id(ctx, c.Text("<server>"))
	return s, server, err
}

func shareFields() noun.Fields {
	return noun.Fields{Columns: []noun.Column{
		{Title: "uuid"}, {Title: "share_id"}, {Title: "status"}, {Title: "tag"}, {Title: "export_location"},
	}, Absent: true}
}

func serverAddShare() command.Command {
	return command.Command{
		Short:  "Attach a share to a server",
		Args:   []command.Arg{serverArg("change"), share("attach")},
		Output: command.Created,
		Flags:  []command.Flag{{Name: "tag", Value: "<tag>", Koc: true, Help: "Tag that the guest mounts the share by; else its id"}},
		Run: func(ctx context.Context, c *command.Call) error {
			s, id, err := openShares(ctx, c)
			if err != nil {
				return err
			}
			o, err := s.ask(ctx, cloud.Request{
				Method: http.MethodPost, Path: serverPath(id, "shares"),
				Body: object("share", render.Ordered(object("share_id", c.Text("<share>"), "tag", givenText(c, "tag")))),
			})
			if err != nil {
				return err
			}
			return c.Show(shareFields().Fields(c, o.Object("share")))
		},
	}
}

func serverRemoveShare() command.Command {
	return command.Command{
		Short: "Detach a share from a server",
		Args:  []command.Arg{serverArg("change"), share("detach")},
		Run: func(ctx context.Context, c *command.Call) error {
			s, id, err := openShares(ctx, c)
			if err != nil {
				return err
			}
			return s.tell(ctx, http.MethodDelete, serverPath(id, "shares", c.Text("<share>")), nil)
		},
	}
}

func serverShareList() command.Command {
	return command.Command{
		Short:  "List the shares attached to a server",
		Args:   []command.Arg{serverArg("look at")},
		Output: command.Listed,
		Run: func(ctx context.Context, c *command.Call) error {
			s, id, err := openShares(ctx, c)
			if err != nil {
				return err
			}
			columns := []noun.Column{{Title: "Share ID", Attr: "share_id"}, {Title: "Status", Attr: "status"}, {Title: "Tag", Attr: "tag"}}
			return noun.PrintList(c, columns, noun.Pages(ctx, s.Service, serverPath(id, "shares"), nil, "shares", 0, nil))
		},
	}
}

func serverShareShow() command.Command {
	return command.Command{
		Short:  "Show a share attached to a server",
		Args:   []command.Arg{serverArg("look at"), share("show")},
		Output: command.Shown,
		Run: func(ctx context.Context, c *command.Call) error {
			s, id, err := openShares(ctx, c)
			if err != nil {
				return err
			}
			o, err := s.ask(ctx, cloud.Request{Path: serverPath(id, "shares", c.Text("<share>"))})
			if err != nil {
				return err
			}
			return c.Show(shareFields().Fields(c, o.Object("share")))
		},
	}
}
