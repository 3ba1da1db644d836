package compute

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/holdfast-ops/holdfast/internal/koc/cloud"
	"github.com/holdfast-ops/holdfast/internal/koc/command"
	"github.com/holdfast-ops/holdfast/internal/koc/noun"
	"github.com/holdfast-ops/holdfast/internal/koc/render"
)

// aggregate is a group of hosts. Its list is short and whole, and nothing else
// finds one by its name.
func aggregate() noun.Noun {
	return noun.Noun{Name: "aggregate", Service: "compute", Path: "/os-aggregates", Key: "aggregate", ByName: "-", Negotiated: "2.81"}
}

func aggregateCommands() []command.Entry {
	return []command.Entry{
		{Name: "aggregate add host", Build: aggregateHost("Add a host to an aggregate", "add", "add_host")},
		{Name: "aggregate cache image", Build: aggregateCacheImage},
		{Name: "aggregate create", Build: aggregateCreate},
		{Name: "aggregate delete", Build: aggregateDelete},
		{Name: "aggregate list", Build: aggregateList},
		{Name: "aggregate remove host", Build: aggregateHost("Remove a host from an aggregate", "remove", "remove_host")},
		{Name: "aggregate set", Build: aggregateSet},
		{Name: "aggregate show", Build: aggregateShow},
		{Name: "aggregate unset", Build: aggregateUnset},
	}
}

func aggregateArg(verb string) command.Arg { return aggregate().Ref("<aggregate>", verb) }

// findAggregate returns the aggregate that a reference, an id or a name, means.
func findAggregate(ctx context.Context, c *command.Call, ref string) (noun.Object, error) {
	n := aggregate()
	var named []noun.Object
	for o, err := range n.All(ctx, c, nil) {
		if err != nil {
			return nil, err
		}
		if o.Text("id") == ref || ref != "" && o.Text("uuid") == ref {
			return o, nil
		}
		if o.Text("name") == ref {
			named = append(named, o)
		}
	}
	switch len(named) {
	case 0:
		return nil, &noun.NotFound{Noun: n.Name, Ref: ref}
	case 1:
		return named[0], nil
	}
	several := &noun.Ambiguous{Noun: n.Name, Ref: ref}
	for _, o := range named {
		several.IDs = append(several.IDs, o.Text("id"))
	}
	return nil, several
}

func aggregatePath(o noun.Object, below string) string {
	return "/os-aggregates/" + url.PathEscape(o.Text("id")) + below
}

// aggregateAction asks for an action of an aggregate and returns what it is then.
func aggregateAction(ctx context.Context, c *command.Call, o noun.Object, action string, body noun.Object) (noun.Object, error) {
	return aggregate().Send(ctx, c, cloud.Request{
		Method: http.MethodPost, Path: aggregatePath(o, "/action"), Body: noun.Object{{Name: action, Value: body}},
	})
}

func aggregateFields(c *command.Call, o noun.Object) []render.Field {
	return noun.Fields{Columns: []noun.Column{
		{Title: "availability_zone"},
		{Title: "created_at", Cell: render.StampCell},
		{Title: "deleted_at", Cell: render.StampCell},
		{Title: "hosts", Cell: listCell},
		{Title: "id"},
		{Title: "is_deleted", Attr: "deleted"},
		{Title: "name"},
		{Title: "properties", Attr: "metadata", Cell: dictCell},
		{Title: "updated_at", Cell: render.StampCell},
		{Title: "uuid"},
	}}.Fields(c, o)
}

// withoutZone is the metadata without the availability zone, which has a field of
// its own.
func withoutZone(o noun.Object) render.Ordered {
	return slices.DeleteFunc(render.Ordered(slices.Clone(o.Object("metadata"))), func(f render.Field) bool { return f.Name == "availability_zone" })
}

func aggregateHost(short, verb, action string) func() command.Command {
	return func() command.Command {
		return command.Command{
			Short:  short,
			Args:   []command.Arg{aggregateArg("change"), {Name: "<host>", Help: "The host to " + verb, Complete: "compute service"}},
			Output: command.Created,
			Run: func(ctx context.Context, c *command.Call) error {
				o, err := findAggregate(ctx, c, c.Text("<aggregate>"))
				if err != nil {
					return err
				}
				if o, err = aggregateAction(ctx, c, o, action, object("host", c.Text("<host>"))); err != nil {
					return err
				}
				return c.Show(aggregateFields(c, o))
			},
		}
	}
}

func aggregateCacheImage() command.Command {
	return command.Command{
		Short: "Let the hosts of an aggregate fetch images before they need them",
		Args: []command.Arg{
			aggregateArg("use"),
			{Name: "<image>", Help: "The images to fetch, by name or id", Many: true, Complete: "image"},
		},
		Run: func(ctx context.Context, c *command.Call) error {
			s, err := openServers(ctx, c, "2.81")
			if err != nil {
				return err
			}
			if err := s.needs("2.81", "aggregate cache image"); err != nil {
				return err
			}
			o, err := findAggregate(ctx, c, c.Text("<aggregate>"))
			if err != nil {
				return err
			}
			ids, err := noun.Image().ResolveAll(ctx, c, c.Texts("<image>"))
			if err != nil {
				return err
			}
			images := make([]any, len(ids))
			for i, id := range ids {
				images[i] = object("id", id)
			}
			return s.tell(ctx, http.MethodPost, aggregatePath(o, "/images"), object("cache", images))
		},
	}
}

func aggregateCreate() command.Command {
	return command.Command{
		Short: "Create an aggregate of hosts",
		Args:  []command.Arg{{Name: "<name>", Help: "Name of the new aggregate"}},
		Flags: []command.Flag{
			{Name: "zone", Value: "<availability-zone>", Help: "Make its hosts an availability zone of this name"},
			{Name: "property", Value: "<key=value>", Type: command.KeyValue, Help: "Property of the aggregate; repeat for more"},
		},
		Output: command.Created,
		Run: func(ctx context.Context, c *command.Call) error {
			n := aggregate()
			body := object("name", c.Text("<name>"), "availability_zone", givenText(c, "zone"))
			o, err := n.Send(ctx, c, cloud.Request{Method: http.MethodPost, Path: n.Path, Body: n.Wrap(body)})
			if err != nil {
				return err
			}
			if metadata := properties(c, "property"); len(metadata) > 0 {
				if o, err = aggregateAction(ctx, c, o, "set_metadata", object("metadata", metadata)); err != nil {
					return err
				}
			}
			return c.Show(aggregateFields(c, o))
		},
	}
}

func aggregateDelete() command.Command {
	return command.Command{
		Short: "Delete aggregates",
		Args:  []command.Arg{{Name: "<aggregate>", Help: "The aggregates to delete, by name or id", Many: true, Complete: "aggregate"}},
		Flags: []command.Flag{command.Parallel()},
		Run: func(ctx context.Context, c *command.Call) error {
			return command.Each(ctx, c, "aggregate", "delete", c.Texts("<aggregate>"), func(ctx context.Context, ref string) error {
				o, err := findAggregate(ctx, c, ref)
				if err != nil {
					return err
				}
				return aggregate().Do(ctx, c, cloud.Request{Method: http.MethodDelete, Path: aggregatePath(o, "")})
			})
		},
	}
}

func aggregateList() command.Command {
	return aggregate().List(noun.Listing{
		Short: "List the aggregates of hosts",
		Columns: []noun.Column{
			{Title: "ID", Attr: "id"},
			{Title: "Name", Attr: "name"},
			{Title: "Availability Zone", Attr: "availability_zone"},
			{
				Title: "Properties", Long: true, Needs: []string{"metadata"},
				From: func(o noun.Object) any { return render.DictCell(withoutZone(o)) },
			},
			{Title: "Hosts", Attr: "hosts", Cell: listCell, Long: true},
		},
	})()
}

func aggregateSet() command.Command {
	return command.Command{
		Short: "Change an aggregate",
		Args:  []command.Arg{aggregateArg("change")},
		Flags: []command.Flag{
			{Name: "name", Value: "<name>", Help: "Rename it"},
			{Name: "zone", Value: "<availability-zone>", Help: "Move its hosts to this availability zone"},
			{Name: "property", Value: "<key=value>", Type: command.KeyValue, Help: "Property to set; repeat for more"},
			{Name: "no-property", Help: "Remove all properties, before --property sets others"},
		},
		Run: func(ctx context.Context, c *command.Call) error {
			n := aggregate()
			o, err := findAggregate(ctx, c, c.Text("<aggregate>"))
			if err != nil {
				return err
			}
			if body := object("name", givenText(c, "name"), "availability_zone", givenText(c, "zone")); len(body) > 0 {
				if err := n.Update(ctx, c, o.Text("id"), body); err != nil {
					return err
				}
			}
			var metadata noun.Object
			if c.Is("no-property") {
				for _, f := range withoutZone(o) {
					metadata.Set(f.Name, nil)
				}
			}
			for _, f := range properties(c, "property") {
				metadata.Set(f.Name, f.Value)
			}
			return setMetadata(ctx, c, o, metadata)
		},
	}
}

// setMetadata writes metadata of an aggregate, null for what goes away.
func setMetadata(ctx context.Context, c *command.Call, o, metadata noun.Object) error {
	if len(metadata) == 0 {
		return nil
	}
	_, err := aggregateAction(ctx, c, o, "set_metadata", noun.Object{{Name: "metadata", Value: metadata}})
	return err
}

func aggregateShow() command.Command {
	return command.Command{
		Short:  "Show an aggregate",
		Args:   []command.Arg{aggregateArg("show")},
		Output: command.Shown,
		Run: func(ctx context.Context, c *command.Call) error {
			o, err := findAggregate(ctx, c, c.Text("<aggregate>"))
			if err != nil {
				return err
			}
			o.Set("metadata", withoutZone(o))
			return c.Show(aggregateFields(c, o))
		},
	}
}

func aggregateUnset() command.Command {
	return command.Command{
		Short: "Remove properties of an aggregate",
		Args:  []command.Arg{aggregateArg("change")},
		Flags: []command.Flag{{Name: "property", Value: "<key>", Repeat: true, Help: "Property to remove; repeat for more"}},
		Run: func(ctx context.Context, c *command.Call) error {
			o, err := findAggregate(ctx, c, c.Text("<aggregate>"))
			if err != nil {
				return err
			}
			var metadata noun.Object
			for _, key := range c.Texts("property") {
				metadata.Set(strings.TrimSpace(key), nil)
			}
			return setMetadata(ctx, c, o, metadata)
		},
	}
}
