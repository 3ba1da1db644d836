package image

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/holdfast-ops/holdfast/internal/koc/cloud"
	"github.com/holdfast-ops/holdfast/internal/koc/command"
	"github.com/holdfast-ops/holdfast/internal/koc/noun"
	"github.com/holdfast-ops/holdfast/internal/koc/render"
)

// storeOf makes a delete take the data out of one store alone.
func storeOf(_ context.Context, c *command.Call, o noun.Object, r *cloud.Request) error {
	if store := c.Text("store"); store != "" {
		r.Path = "/stores/" + url.PathEscape(store) + "/" + o.Text("id")
	}
	return nil
}

func storesList() command.Command {
	return command.Command{
		Short:  "List the stores that keep the data of images",
		Flags:  []command.Flag{{Name: "detail", Help: "Show the properties of the stores; for administrators"}},
		Output: command.Listed,
		Run: func(ctx context.Context, c *command.Call) error {
			path := "/info/stores"
			if c.Is("detail") {
				path += "/detail"
			}
			columns := []noun.Column{
				{Title: "ID", Attr: "id"},
				{Title: "Description", Attr: "description"},
				{Title: "Default", Attr: "default"},
				{Title: "Read Only", Attr: "read-only", Own: true},
			}
			if c.Is("detail") {
				columns = append(columns, noun.Column{Title: "Properties", Attr: "properties", Cell: func(v any) any { return render.DictCell(v) }})
			}
			n := noun.Noun{Name: "store", Service: "image", Path: path, Key: "store"}
			return noun.PrintList(c, noun.Pick(c, columns), n.All(ctx, c, nil))
		},
	}
}

func importInfo() command.Command {
	return command.Command{
		Short:  "Show the ways in which the service imports data",
		Output: command.Shown,
		Run: func(ctx context.Context, c *command.Call) error {
			o, err := images().Send(ctx, c, cloud.Request{Path: "/info/import"})
			if err != nil {
				return err
			}
			return c.Show([]render.Field{{Name: "import-methods", Value: render.ListCell(o.Get("import-methods.value"))}})
		},
	}
}

func tasks() noun.Noun {
	return noun.Noun{Name: "task", Service: "image", Path: "/tasks", Key: "-", Keys: "tasks", Label: "-"}
}

func taskList() command.Command {
	return tasks().List(noun.Listing{
		Short: "List the tasks of the image service",
		Flags: []command.Flag{
			{Name: "sort-key", Value: "<key>[:<field>]", Help: "Order by this attribute, created_at unless told otherwise"},
			{Name: "sort-dir", Value: "<key>[:<direction>]", Choices: []string{"asc", "desc"}, Help: "Order up or down"},
			{Name: "type", Value: "<task-type>", Choices: []string{"import"}, Help: "List the tasks of this type"},
			{Name: "status", Value: "<status>", Choices: []string{"pending", "processing", "success", "failure"}, Help: "List the tasks of this status"},
		},
		Query: func(_ context.Context, c *command.Call, q url.Values) error {
			for flag, name := range map[string]string{"sort-key": "sort_key", "sort-dir": "sort_dir", "type": "type", "status": "status"} {
				if c.Given(flag) {
					q.Set(name, c.Text(flag))
				}
			}
			return nil
		},
		Paged: true,
		Columns: []noun.Column{
			{Title: "ID", Attr: "id"},
			{Title: "Type", Attr: "type"},
			{Title: "Status", Attr: "status"},
			{Title: "Owner", Attr: "owner"},
			{Title: "Expires At", Attr: "expires_at", OptIn: true, Own: true, Cell: render.StampCell},
			{Title: "Created At", Attr: "created_at", OptIn: true, Own: true, Cell: render.StampCell},
		},
	})()
}

func taskShow() command.Command {
	return tasks().Show(noun.Showing{
		Short: "Show a task of the image service",
		Arg:   command.Arg{Name: "<task-id>", Help: "Id of the task"},
		Fields: noun.Fields{Sort: true, Columns: []noun.Column{
			{Title: "created_at", Cell: render.StampCell},
			{Title: "expires_at", Cell: render.StampCell},
			{Title: "id"},
			{Title: "input"},
			{Title: "message"},
			{Title: "owner", Attr: "owner"},
			{Title: "result"},
			{Title: "status"},
			{Title: "type"},
			{Title: "updated_at", Cell: render.StampCell},
		}},
	})()
}

func cachedList() command.Command {
	return command.Command{
		Short:  "List the images that the service keeps close, and those that wait for it",
		Output: command.Listed,
		Run: func(ctx context.Context, c *command.Call) error {
			o, err := images().Send(ctx, c, cloud.Request{Path: "/cache"})
			if err != nil {
				return err
			}
			at := func(o noun.Object, attr string) any {
				seconds, ok := o.Get(attr).(float64)
				if !ok {
					seconds = float64(o.Int(attr))
				}
				if seconds == 0 {
					return "N/A"
				}
				return time.Unix(int64(seconds), 0).UTC().Format("2006-01-02T15:04:05")
			}
			var rows [][]any
			for _, image := range o.Objects("cached_images") {
				rows = append(rows, []any{image.Get("image_id"), "cached", at(image, "last_accessed"), at(image, "last_modified"), image.Get("size"), image.Get("hits")})
			}
			for _, id := range o.Texts("queued_images") {
				rows = append(rows, []any{id, "queued", "N/A", "N/A", "N/A", "N/A"})
			}
			return c.List([]render.Column{
				{Title: "ID"}, {Title: "State"}, {Title: "Last Accessed (UTC)"}, {Title: "Last Modified (UTC)"}, {Title: "Size"}, {Title: "Hits"},
			}, render.Rows(rows))
		},
	}
}

func eachCached(verb, method string) func(context.Context, *command.Call) error {
	return func(ctx context.Context, c *command.Call) error {
		return command.Each(ctx, c, "image", verb, c.Texts("<image>"), func(ctx context.Context, ref string) error {
			id, err := images().Resolve(ctx, c, ref)
			if err != nil {
				return err
			}
			_, err = images().Send(ctx, c, cloud.Request{Method: method, Path: "/cache/" + id})
			return err
		})
	}
}

func cachedQueue() command.Command {
	return command.Command{
		Short: "Ask the service to keep images close",
		Args:  []command.Arg{{Name: "<image>", Many: true, Help: "An image to keep close, by name or id", Complete: "image"}},
		Flags: []command.Flag{command.Parallel()},
		Run:   eachCached("queue", http.MethodPut),
	}
}

func cachedDelete() command.Command {
	return command.Command{
		Short: "Make the service forget its copies of images",
		Args:  []command.Arg{{Name: "<image>", Many: true, Help: "An image to forget, by name or id", Complete: "image"}},
		Flags: []command.Flag{command.Parallel()},
		Run:   eachCached("forget", http.MethodDelete),
	}
}

func cachedClear() command.Command {
	return command.Command{
		Short: "Make the service forget all copies of images, and the queue of those that wait",
		Flags: []command.Flag{
			{Name: "cache", Help: "Forget the copies alone"},
			{Name: "queue", Help: "Forget the queue alone"},
		},
		Exclusive: []string{"cache queue"},
		Run: func(ctx context.Context, c *command.Call) error {
			header := http.Header{}
			switch {
			case c.Is("cache"):
				header.Set("X-Image-Cache-Clear-Target", "cache")
			case c.Is("queue"):
				header.Set("X-Image-Cache-Clear-Target", "queue")
			}
			_, err := images().Send(ctx, c, cloud.Request{Method: http.MethodDelete, Path: "/cache", Header: header})
			return err
		},
	}
}
