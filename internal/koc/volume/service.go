package volume

import (
	"context"
	"net/url"

	"github.com/holdfast-ops/holdfast/internal/koc/cloud"
	"github.com/holdfast-ops/holdfast/internal/koc/command"
	"github.com/holdfast-ops/holdfast/internal/koc/noun"
	"github.com/holdfast-ops/holdfast/internal/koc/render"
)

func services() noun.Noun {
	return noun.Noun{Name: "volume service", Service: "volume", Path: "/os-services", Key: "service", Label: "-"}
}

// put changes a service, by a word in the path.
func put(ctx context.Context, c *command.Call, verb string, body noun.Object) error {
	return services().Do(ctx, c, cloud.Request{Method: "PUT", Path: "/os-services/" + verb, Body: body})
}

func serviceCommands() []command.Entry {
	hostArg := command.Arg{Name: "<host-name>", Help: "The host, as host@backend"}
	return []command.Entry{
		{Name: "volume host failover", Build: func() command.Command {
			return command.Command{
				Short: "Use the replicas of the volumes of a host",
				Args:  []command.Arg{hostArg},
				Flags: []command.Flag{{Name: "volume-backend", Value: "<backend-id>", Required: true, Help: "Id of the backend to use; default goes back to the first one"}},
				Run: func(ctx context.Context, c *command.Call) error {
					return put(ctx, c, "failover_host", noun.Object{{Name: "host", Value: c.Text("<host-name>")}, {Name: "backend_id", Value: c.Text("volume-backend")}})
				},
			}
		}},
		{Name: "volume host set", Build: func() command.Command {
			return command.Command{
				Short: "Freeze or thaw a host: a frozen one makes and deletes no volumes",
				Args:  []command.Arg{hostArg},
				Flags: []command.Flag{
					{Name: "disable", Help: "Freeze the host"},
					{Name: "enable", Help: "Thaw the host"},
				},
				Exclusive: []string{"disable enable"},
				Run: func(ctx context.Context, c *command.Call) error {
					body := noun.Object{{Name: "host", Value: c.Text("<host-name>")}}
					switch {
					case c.Is("enable"):
						return put(ctx, c, "thaw", body)
					case c.Is("disable"):
						return put(ctx, c, "freeze", body)
					}
					return nil
				},
			}
		}},
		{Name: "volume service list", Build: services().List(noun.Listing{
			Short: "List the services of the block storage service",
			Filters: []noun.Field{
				noun.String("host", "<host>", "host", "Only services on this host, as host or host@backend"),
				noun.String("service", "<service>", "binary", "Only services of this kind, as cinder-volume"),
			},
			Columns: append(append(
				columns("Binary", "binary", "Host", "host", "Zone", "zone", "Status", "status", "State", "state", "Updated At", "updated_at"),
				noun.Column{Title: "Disabled Reason", From: or(noun.Column{Attr: "disabled_reason"}).From, Needs: []string{"disabled_reason"}, Long: true}),
				optional("Cluster", "cluster", "Backend State", "backend_state", "Replication Status", "replication_status", "Active Backend ID", "active_backend_id", "Frozen", "frozen")...),
		})},
		{Name: "volume service set", Build: func() command.Command {
			return command.Command{
				Short: "Enable or disable a service of the block storage service",
				Args: []command.Arg{
					{Name: "<host>", Help: "Host of the service, as host or host@backend"},
					{Name: "<service>", Help: "Kind of the service, as cinder-volume"},
				},
				Flags: []command.Flag{
					{Name: "enable", Help: "Enable the service"},
					{Name: "disable", Help: "Disable the service: the scheduler does not use it"},
					{Name: "disable-reason", Value: "<reason>", Help: "Say why the service is disabled"},
				},
				Exclusive: []string{"enable disable"},
				Run: func(ctx context.Context, c *command.Call) error {
					if c.Given("disable-reason") && !c.Is("disable") {
						return wrong(c, "--disable-reason needs --disable")
					}
					body := noun.Object{{Name: "host", Value: c.Text("<host>")}, {Name: "binary", Value: c.Text("<service>")}}
					switch {
					case c.Is("enable"):
						return put(ctx, c, "enable", body)
					case c.Is("disable") && c.Given("disable-reason"):
						body.Set("disabled_reason", c.Text("disable-reason"))
						return put(ctx, c, "disable-log-reason", body)
					case c.Is("disable"):
						return put(ctx, c, "disable", body)
					}
					return nil
				},
			}
		}},
	}
}

func messageCommands() []command.Entry {
	n := noun.Noun{Name: "volume message", Service: "volume", Path: "/messages", Key: "message", Label: "-"}
	return []command.Entry{
		since("3.3", "volume message delete", n.Delete(noun.Deleting{
			Short: "Delete messages of the block storage service",
			Arg:   command.Arg{Name: "<message-id>", Help: "Ids of the messages to delete", Many: true},
			Flags: []command.Flag{command.Parallel()},
		})),
		since("3.3", "volume message list", n.List(noun.Listing{
			Short: "List what the block storage service could not do, and why",
			Flags: noun.ProjectFlags("Only messages of this project, by name or id (admin only)"),
			Paged: true,
			Filters: []noun.Field{
				koc(noun.String("resource", "<id>", "resource_uuid", "Only messages about the thing of this id (needs 3.5)")),
				koc(noun.String("resource-type", "<type>", "resource_type", "Only messages about things of this type, as VOLUME (needs 3.5)")),
			},
			Query: func(ctx context.Context, c *command.Call, q url.Values) error {
				id, err := noun.ProjectID(ctx, c)
				if id != "" {
					q.Set("project_id", id)
				}
				return err
			},
			Columns: columns("ID", "id", "Event ID", "event_id", "Resource Type", "resource_type", "Resource UUID", "resource_uuid", "Message Level", "message_level",
				"User Message", "user_message", "Request ID", "request_id", "Created At", "created_at", "Guaranteed Until", "guaranteed_until"),
		})),
		since("3.3", "volume message show", n.Show(noun.Showing{
			Short: "Show a message of the block storage service",
			Arg:   command.Arg{Name: "<message-id>", Help: "Id of the message to show"}, Fields: noun.Fields{Rest: true, Sort: true},
		})),
	}
}

func backendCommands() []command.Entry {
	return []command.Entry{
		{Name: "volume backend capability show", Build: func() command.Command {
			return command.Command{
				Short:  "List what a backend can do, as its driver tells",
				Args:   []command.Arg{{Name: "<host>", Help: "The backend, as host@backend"}},
				Output: command.Listed,
				Run: func(ctx context.Context, c *command.Call) error {
					n := noun.Noun{Service: "volume", Key: "-"}
					o, err := n.Send(ctx, c, cloud.Request{Path: "/capabilities/" + escape(c.Text("<host>"))})
					if err != nil {
						return err
					}
					var rows []noun.Object
					for _, f := range o.Object("properties") {
						inner, _ := f.Value.(render.Ordered)
						row := append(noun.Object{}, inner...)
						row.Set("key", f.Name)
						rows = append(rows, row)
					}
					all := columns("Title", "title", "Key", "key", "Type", "type", "Description", "description")
					for i := range all {
						all[i] = or(all[i])
					}
					return noun.PrintList(c, all, noun.Each(rows))
				},
			}
		}},
		{Name: "volume backend pool list", Build: listPools},
	}
}
