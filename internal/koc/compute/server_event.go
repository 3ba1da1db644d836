package compute

import (
	"context"
	"net/url"
	"strconv"

	"github.com/holdfast-ops/holdfast/internal/koc/cloud"
	"github.com/holdfast-ops/holdfast/internal/koc/command"
	"github.com/holdfast-ops/holdfast/internal/koc/noun"
)

// serverEventCommands tell what was done to a server.
func serverEventCommands() []command.Entry {
	return []command.Entry{
		{Name: "server event list", Build: serverEventList},
		{Name: "server event show", Build: serverEventShow},
	}
}

// idOfGone is the id of a server that may be deleted: an id that is not found is
// taken as it is.
func (s *servers) idOfGone(ctx context.Context, ref string) (string, error) {
	id, err := s.id(ctx, ref)
	if noun.IsNotFound(err) && noun.LooksLikeID(ref) {
		return ref, nil
	}
	return id, err
}

func serverEventList() command.Command {
	return command.Command{
		Short:  "List what was done to a server",
		Args:   []command.Arg{{Name: "<server>", Help: "The server, by name or id; a deleted one by id (microversion 2.21)", Complete: "server"}},
		Output: command.Listed,
		Flags: []command.Flag{
			{Name: "long", Help: "Show more columns"},
			{Name: "changes-since", Value: "<changes-since>", Help: "Only events that changed since this moment (microversion 2.58)"},
			{Name: "changes-before", Value: "<changes-before>", Help: "Only events that changed until this moment (microversion 2.66)"},
			{Name: "marker", Value: "<marker>", Help: "Begin after the event of this request id (microversion 2.58)"},
			{Name: "limit", Value: "<limit>", Type: command.Int, Help: "Stop after this many, all pages taken together (microversion 2.58)"},
		},
		Run: func(ctx context.Context, c *command.Call) error {
			s, err := openServers(ctx, c, "")
			if err != nil {
				return err
			}
			q, err := s.sliceQuery("2.58")
			if err != nil {
				return err
			}
			id, err := s.idOfGone(ctx, c.Text("<server>"))
			if err != nil {
				return err
			}
			columns := []noun.Column{
				{Title: "Request ID", Attr: "request_id"},
				{Title: "Server ID", Attr: "instance_uuid"},
				{Title: "Action", Attr: "action"},
				{Title: "Start Time", Attr: "start_time"},
				{Title: "Message", Attr: "message", Long: true},
				{Title: "Project ID", Attr: "project_id", Long: true},
				{Title: "User ID", Attr: "user_id", Long: true},
			}
			objects := noun.Pages(ctx, s.Service, serverPath(id, "os-instance-actions"), q, "instanceActions", max(c.Int("limit"), 0), nil)
			return noun.PrintList(c, noun.Pick(c, columns), objects)
		},
	}
}

// sliceQuery is the query of the flags that take a slice of a list, in a service
// that knows them since a microversion.
func (s *servers) sliceQuery(version string) (url.Values, error) {
	c, q := s.c, url.Values{}
	for _, f := range []struct{ version, flag string }{{version, "marker"}, {version, "limit"}, {version, "changes-since"}, {"2.66", "changes-before"}} {
		text := c.Text(f.flag)
		if text == "" || text == "0" {
			continue
		}
		if f.flag == "limit" {
			n := max(c.Int("limit"), 0)
			if n == 0 {
				continue
			}
			text = strconv.Itoa(n)
		}
		if f.flag == "changes-since" || f.flag == "changes-before" {
			if _, ok := moment(text); !ok {
				return nil, command.Reject("invalid --%s value %q: give a moment as 2016-03-04T06:27:59Z", f.flag, text)
			}
		}
		if err := s.needs(f.version, "--"+f.flag); err != nil {
			return nil, err
		}
		q.Set(f.flag, text)
	}
	return q, nil
}

func serverEventShow() command.Command {
	return command.Command{
		Short: "Show something that was done to a server",
		Args: []command.Arg{
			{Name: "<server>", Help: "The server, by name or id; a deleted one by id (microversion 2.21)", Complete: "server"},
			{Name: "<request-id>", Help: "The request id of the event"},
		},
		Output: command.Shown,
		Run: func(ctx context.Context, c *command.Call) error {
			s, err := openServers(ctx, c, "")
			if err != nil {
				return err
			}
			id, err := s.idOfGone(ctx, c.Text("<server>"))
			if err != nil {
				return err
			}
			o, err := s.ask(ctx, cloud.Request{Path: serverPath(id, "os-instance-actions", c.Text("<request-id>"))})
			if err != nil {
				return err
			}
			fields := noun.Fields{Rest: true, Sort: true}.Fields(c, o.Object("instanceAction"))
			if !c.Compat() {
				for i := range fields {
					fields[i].Value = readable(fields[i].Value)
				}
			}
			return c.Show(fields)
		},
	}
}
