package volume

import (
	"context"
	"net/url"

	"github.com/holdfast-ops/holdfast/internal/koc/cloud"
	"github.com/holdfast-ops/holdfast/internal/koc/command"
	"github.com/holdfast-ops/holdfast/internal/koc/noun"
	"github.com/holdfast-ops/holdfast/internal/koc/render"
)

// transfers are where the microversion has them: those of 3.55 can take snapshots
// along.
func transfers(ctx context.Context, c *command.Call) (noun.Noun, error) {
	path := "/os-volume-transfer"
	newer, err := has(ctx, c, "3.55")
	if newer {
		path = "/volume-transfers"
	}
	return unnamed("transfer request", path, "transfer"), err
}

// onTransfers builds a command when it runs, since where transfers are depends on
// the microversion.
func onTransfers(name string, build func(n noun.Noun) func() command.Command) command.Entry {
	return command.Entry{Name: name, Build: func() command.Command {
		cmd := build(unnamed("transfer request", "", "transfer"))()
		cmd.Run = func(ctx context.Context, c *command.Call) error {
			n, err := transfers(ctx, c)
			if err != nil {
				return err
			}
			return build(n)().Run(ctx, c)
		}
		return cmd
	}}
}

func transferCommands() []command.Entry {
	return []command.Entry{
		onTransfers("volume transfer request accept", func(n noun.Noun) func() command.Command {
			return func() command.Command {
				return command.Command{
					Short:  "Accept a volume from another project",
					Args:   []command.Arg{{Name: "<transfer-request-id>", Help: "Id of the transfer request"}},
					Flags:  []command.Flag{{Name: "auth-key", Value: "<key>", Required: true, Help: "Key of the transfer request"}},
					Output: command.Created,
					Run: func(ctx context.Context, c *command.Call) error {
						id, err := n.Resolve(ctx, c, c.Text("<transfer-request-id>"))
						if noun.IsNotFound(err) { // that of another project cannot be looked up
							id, err = c.Text("<transfer-request-id>"), nil
						}
						if err != nil {
							return err
						}
						body := noun.Object{{Name: "accept", Value: render.Ordered{{Name: "auth_key", Value: c.Text("auth-key")}}}}
						o, err := n.Send(ctx, c, cloud.Request{Method: "POST", Path: n.Path + "/" + url.PathEscape(id) + "/accept", Body: body})
						if err != nil {
							return err
						}
						return c.Show(raw().Fields(c, o))
					},
				}
			}
		}),
		onTransfers("volume transfer request create", func(n noun.Noun) func() command.Command {
			return n.Create(noun.Writing{
				Short:  "Offer a volume to another project",
				Args:   []command.Arg{ref(volumes(), "<volume>", "offer")},
				Fields: []noun.Field{name("new transfer request")},
				Flags: []command.Flag{
					{Name: "snapshots", Help: "Offer the snapshots of the volume too, as is the default (needs 3.55)"},
					{Name: "no-snapshots", Help: "Offer the volume without its snapshots (needs 3.55)"},
				},
				Body: func(ctx context.Context, c *command.Call, body *noun.Object, _ noun.Object) error {
					if err := guard(ctx, c, "3.55", "snapshots", "no-snapshots"); err != nil {
						return err
					}
					id, err := volumes().Resolve(ctx, c, c.Text("<volume>"))
					body.Set("volume_id", id)
					if body.Get("name") == nil {
						body.Set("name", nil) // the service wants it written
					}
					if flag := last(c, "snapshots", "no-snapshots"); flag != "" {
						body.Set("no_snapshots", flag == "no-snapshots")
					}
					return err
				},
				Shown: raw(),
			})
		}),
		onTransfers("volume transfer request delete", func(n noun.Noun) func() command.Command {
			return n.Delete(noun.Deleting{
				Short: "Delete transfer requests", Arg: refs(n, "<transfer-request>", "delete"), Flags: []command.Flag{command.Parallel()},
			})
		}),
		onTransfers("volume transfer request list", func(n noun.Noun) func() command.Command {
			return n.List(noun.Listing{
				Short: "List transfer requests",
				Flags: []command.Flag{
					allProjects("transfer requests"),
					{Name: "limit", Value: "<count>", Type: command.Natural, Koc: true, Help: "Stop after this many"},
				},
				Query: func(ctx context.Context, c *command.Call, q url.Values) error {
					if c.Int("limit") > 0 {
						q.Set("limit", c.Text("limit"))
					}
					return everywhere(ctx, c, q)
				},
				Columns: append(columns("ID", "id", "Name", "name", "Volume", "volume_id"), optional("Created At", "created_at")...),
			})
		}),
		onTransfers("volume transfer request show", func(n noun.Noun) func() command.Command {
			return n.Show(noun.Showing{Short: "Show a transfer request", Arg: ref(n, "<transfer-request>", "show"), Fields: raw()})
		}),
	}
}
