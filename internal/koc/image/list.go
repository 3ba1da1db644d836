package image

import (
	"context"
	"net/url"
	"slices"
	"strings"

	"github.com/holdfast-ops/holdfast/internal/koc/command"
	"github.com/holdfast-ops/holdfast/internal/koc/noun"
	"github.com/holdfast-ops/holdfast/internal/koc/render"
)

func imageColumns() []noun.Column {
	return []noun.Column{
		{Title: "ID", Attr: "id"},
		{Title: "Name", Attr: "name"},
		{Title: "Disk Format", Attr: "disk_format", Long: true},
		{Title: "Container Format", Attr: "container_format", Long: true},
		{Title: "Size", Attr: "size", Long: true},
		{Title: "Checksum", Attr: "checksum", Long: true},
		{Title: "Status", Attr: "status"},
		{Title: "Visibility", Attr: "visibility", Long: true},
		{Title: "Protected", Attr: "protected", Long: true},
		{Title: "Project", Attr: "owner", Long: true},
		{Title: "Tags", Attr: "tags", Long: true, Cell: func(v any) any { return render.ListCell(v) }},
		{Title: "Created At", Attr: "created_at", OptIn: true, Own: true, Cell: render.StampCell},
		{Title: "Updated At", Attr: "updated_at", OptIn: true, Own: true, Cell: render.StampCell},
		{Title: "Min Disk", Attr: "min_disk", OptIn: true, Own: true},
		{Title: "Min RAM", Attr: "min_ram", OptIn: true, Own: true},
	}
}

func imageList() command.Command {
	return command.Command{
		Short: "List images",
		Flags: append(append(visibilities(),
			command.Flag{Name: "all", Help: "List the images of every visibility"}),
			command.Flag{Name: "property", Value: "<key=value>", Type: command.KeyValue, Help: "List images that have this property; repeatable"},
			command.Flag{Name: "name", Value: "<name>", Help: "List images of exactly this name, or of several: in:one,two"},
			command.Flag{Name: "name-contains", Value: "<text>", Koc: true, Help: "List images whose name has this text in it, in whatever case; koc itself compares"},
			command.Flag{Name: "status", Value: "<status>", Help: "List images of this status"},
			command.Flag{Name: "member-status", Value: "<member-status>", Choices: []string{"accepted", "pending", "rejected", "all"}, Help: "List images shared with you whose membership has this status"},
			command.Flag{Name: "project", Value: "<project>", Help: "List the images of this project, by name or id", Complete: "project"},
			noun.ProjectDomainFlag(),
			command.Flag{Name: "tag", Value: "<tag>", Repeat: true, Help: "List images with this tag; repeatable"},
			command.Flag{Name: "hidden", Help: "List the hidden images"},
			command.Flag{Name: "long", Help: "Show more columns"},
			command.Flag{Name: "page-size", Value: "<size>", Hidden: true, Help: "Accepted for old scripts, without effect"},
			command.Flag{Name: "sort", Value: "<key>[:<direction>]", Default: "name:asc", Help: "Order by these attributes, with commas between; a direction is asc or desc"},
			command.Flag{Name: "limit", Value: "<count>", Type: command.Int, Help: "Stop after this many images, all pages taken together"},
			command.Flag{Name: "marker", Value: "<image>", Help: "Begin after this image, by name or id", Complete: "image"},
		),
		Exclusive: []string{"public private community shared all", "name name-contains"},
		Output:    command.Listed,
		OptIn:     []string{"Created At", "Updated At", "Min Disk", "Min RAM"},
		Run:       runList,
	}
}

func runList(ctx context.Context, c *command.Call) error {
	keys, err := sortKeys(c.Text("sort"))
	if err != nil {
		return err
	}
	q := url.Values{}
	for flag, name := range map[string]string{"name": "name", "status": "status", "member-status": "member_status"} {
		if c.Given(flag) {
			q.Set(name, c.Text(flag))
		}
	}
	if v := visibility(c); v != "" {
		q.Set("visibility", v)
	}
	if tags := c.Texts("tag"); len(tags) > 0 {
		q["tag"] = tags
	}
	if c.Is("hidden") {
		q.Set("os_hidden", "true")
	}
	project, err := noun.ProjectID(ctx, c)
	if err != nil {
		return err
	}
	if project != "" {
		q.Set("owner", project)
	}
	if marker := c.Text("marker"); marker != "" {
		id, err := images().Resolve(ctx, c, marker)
		if err != nil {
			return err
		}
		q.Set("marker", id)
	}
	limit := max(c.Int("limit"), 0)
	contains := strings.ToLower(c.Text("name-contains"))
	wanted := c.Pairs("property")
	if limit > 0 && contains == "" && len(wanted) == 0 {
		q.Set("limit", c.Text("limit"))
	}
	var found []noun.Object
	for o, err := range images().All(ctx, c, q) {
		if err != nil {
			return err
		}
		if contains != "" && !strings.Contains(strings.ToLower(o.Text("name")), contains) || !hasAll(o, wanted) {
			continue
		}
		if found = append(found, o); limit > 0 && len(found) == limit {
			break
		}
	}
	sortBy(found, keys)
	columns := noun.Pick(c, imageColumns())
	return noun.PrintList(c, columns, func(yield func(noun.Object, error) bool) {
		for _, o := range found {
			if !yield(o, nil) {
				return
			}
		}
	})
}

func hasAll(o noun.Object, wanted []command.Pair) bool {
	for _, p := range wanted {
		v, ok := o.Lookup(p.Key)
		if !ok || noun.Text(v) != p.Value {
			return false
		}
	}
	return true
}

type sortKey struct {
	attr       string
	descending bool
}

// sortKeys reads key:direction,key:direction.
func sortKeys(text string) ([]sortKey, error) {
	var keys []sortKey
	for part := range strings.SplitSeq(text, ",") {
		attr, direction, _ := strings.Cut(strings.TrimSpace(part), ":")
		switch {
		case attr == "":
			return nil, command.Reject("--sort %q: an attribute is missing", text)
		case direction != "" && direction != "asc" && direction != "desc":
			return nil, command.Reject("--sort %q: the direction %q is neither asc nor desc", text, direction)
		}
		switch attr {
		case "is_protected":
			attr = "protected"
		case "owner_id", "project":
			attr = "owner"
		case "is_hidden":
			attr = "os_hidden"
		}
		keys = append(keys, sortKey{attr, direction == "desc"})
	}
	return keys, nil
}

// sortBy orders images by the texts of attributes, as upstream does.
func sortBy(list []noun.Object, keys []sortKey) {
	slices.SortStableFunc(list, func(a, b noun.Object) int {
		for _, k := range keys {
			d := strings.Compare(pythonText(a.Get(k.attr)), pythonText(b.Get(k.attr)))
			if k.descending {
				d = -d
			}
			if d != 0 {
				return d
			}
		}
		return 0
	})
}

func pythonText(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	return render.Repr(v)
}

func imageShow() command.Command {
	return command.Command{
		Short:  "Show an image",
		Args:   []command.Arg{ref("show")},
		Flags:  []command.Flag{{Name: "human-readable", Help: "Show the size in units that people read"}},
		Output: command.Shown,
		Run: func(ctx context.Context, c *command.Call) error {
			o, err := images().Find(ctx, c, c.Text("<image>"), nil)
			if err != nil {
				return err
			}
			return c.Show(noun.ImageFields(o, c.Is("human-readable")))
		},
	}
}

func imageDelete() command.Command {
	return images().Delete(noun.Deleting{
		Short: "Delete images",
		Arg:   command.Arg{Name: "<image>", Many: true, Help: "An image to delete, by name or id", Complete: "image"},
		Flags: []command.Flag{
			command.Parallel(),
			{Name: "store", Value: "<store>", Koc: true, Help: "Delete the data from this store alone, and keep the image"},
		},
		Request: storeOf,
	})()
}
