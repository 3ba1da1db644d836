package volume

import (
	"context"
	"net/url"
	"slices"
	"strconv"

	"github.com/holdfast-ops/holdfast/internal/koc/cloud"
	"github.com/holdfast-ops/holdfast/internal/koc/command"
	"github.com/holdfast-ops/holdfast/internal/koc/noun"
	"github.com/holdfast-ops/holdfast/internal/koc/render"
)

func qosSpecs() noun.Noun {
	return noun.Noun{Name: "qos specification", Service: "volume", Path: "/qos-specs", Key: "qos_specs", Keys: "qos_specs", ByName: "-"}
}

// associations are the names of the volume types that have a qos specification;
// nil when the service does not know it any more.
func associations(ctx context.Context, c *command.Call, id string) ([]any, error) {
	n := noun.Noun{Service: "volume", Path: "/qos-specs/" + url.PathEscape(id) + "/associations", Keys: "qos_associations"}
	names := []any{}
	for o, err := range n.All(ctx, c, nil) {
		if noun.IsNotFound(err) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		names = append(names, o.Get("name"))
	}
	return names, nil
}

func qosCommands() []command.Entry {
	n := qosSpecs()
	consumer := command.Flag{Name: "consumer", Value: "<consumer>", Choices: []string{"front-end", "back-end", "both"}, Default: "both", Help: "Who keeps to the specification: the compute host (front-end), the storage (back-end) or both (the default)"}
	return []command.Entry{
		{Name: "volume qos associate", Build: func() command.Command {
			return command.Command{
				Short: "Give a volume type a qos specification",
				Args:  []command.Arg{ref(n, "<qos-spec>", "give"), ref(types(), "<volume-type>", "change")},
				Run: func(ctx context.Context, c *command.Call) error {
					id, err := n.Resolve(ctx, c, c.Text("<qos-spec>"))
					if err != nil {
						return err
					}
					kind, err := types().Resolve(ctx, c, c.Text("<volume-type>"))
					if err != nil {
						return err
					}
					return n.Do(ctx, c, cloud.Request{Path: n.Path + "/" + id + "/associate", Query: url.Values{"vol_type_id": {kind}}})
				},
			}
		}},
		{Name: "volume qos create", Build: n.Create(noun.Writing{
			Short: "Create a qos specification",
			Args:  []command.Arg{{Name: "<name>", Help: "Name of the new qos specification"}}, NameArg: "<name>",
			Flags: []command.Flag{consumer, propertyFlag("Give the qos specification this property; repeat for more")},
			Body: func(_ context.Context, c *command.Call, body *noun.Object, _ noun.Object) error {
				body.Set("consumer", c.Text("consumer"))
				for _, p := range c.Pairs("property") {
					body.Set(p.Key, p.Value)
				}
				return nil
			},
			Shown: shownQos(),
		})},
		{Name: "volume qos delete", Build: n.Delete(noun.Deleting{
			Short: "Delete qos specifications",
			Arg:   refs(n, "<qos-spec>", "delete"),
			Flags: []command.Flag{{Name: "force", Help: "Delete qos specifications that volume types have"}, command.Parallel()},
			Request: func(_ context.Context, c *command.Call, _ noun.Object, r *cloud.Request) error {
				if c.Is("force") {
					r.Query = url.Values{"force": {"True"}}
				}
				return nil
			},
		})},
		{Name: "volume qos disassociate", Build: func() command.Command {
			return command.Command{
				Short: "Take a qos specification from volume types",
				Args:  []command.Arg{ref(n, "<qos-spec>", "take")},
				Flags: []command.Flag{
					{Name: "volume-type", Value: "<volume-type>", Help: "Volume type to take it from, by name or id", Complete: "volume type"},
					{Name: "all", Help: "Take it from all volume types"},
				},
				Exclusive: []string{"volume-type all"},
				Run: func(ctx context.Context, c *command.Call) error {
					id, err := n.Resolve(ctx, c, c.Text("<qos-spec>"))
					if err != nil {
						return err
					}
					switch {
					case c.Given("volume-type"):
						kind, err := types().Resolve(ctx, c, c.Text("volume-type"))
						if err != nil {
							return err
						}
						return n.Do(ctx, c, cloud.Request{Path: n.Path + "/" + id + "/disassociate", Query: url.Values{"vol_type_id": {kind}}})
					case c.Is("all"):
						return n.Do(ctx, c, cloud.Request{Path: n.Path + "/" + id + "/disassociate_all"})
					}
					return nil
				},
			}
		}},
		{Name: "volume qos list", Build: n.List(noun.Listing{
			Short: "List qos specifications",
			Flags: []command.Flag{
				{Name: "limit", Value: "<count>", Type: command.Natural, Koc: true, Help: "Stop after this many"},
				{Name: "marker", Value: "<id>", Koc: true, Help: "Begin after the qos specification of this id"},
			},
			Columns: []noun.Column{
				{Title: "ID", Attr: "id"},
				{Title: "Name", Attr: "name"},
				{Title: "Consumer", Attr: "consumer"},
				{Title: "Associations", Attr: "id"},
				{Title: "Properties", Attr: "specs", Cell: dict},
			},
			Query: func(_ context.Context, c *command.Call, q url.Values) error {
				if c.Int("limit") > 0 {
					q.Set("limit", strconv.Itoa(c.Int("limit")))
				}
				if c.Given("marker") {
					q.Set("marker", c.Text("marker"))
				}
				return nil
			},
			Prepare: withAssociations,
		})},
		{Name: "volume qos set", Build: func() command.Command {
			return command.Command{
				Short: "Change a qos specification",
				Args:  []command.Arg{ref(n, "<qos-spec>", "change")},
				Flags: []command.Flag{
					propertyFlag("Give the qos specification this property; repeat for more"),
					{Name: "no-property", Koc: true, Help: "Remove all properties; together with --property, replace them"},
				},
				Run: func(ctx context.Context, c *command.Call) error {
					o, err := n.Find(ctx, c, c.Text("<qos-spec>"), nil)
					if err != nil {
						return err
					}
					id, specs := o.Text("id"), pairs(c, "property")
					var steps []step
					if c.Is("no-property") {
						var keys []any
						for _, f := range o.Object("specs") {
							if !slices.ContainsFunc(specs, func(s render.Field) bool { return s.Name == f.Name }) {
								keys = append(keys, f.Name)
							}
						}
						if len(keys) > 0 {
							steps = append(steps, step{"remove the properties", func(ctx context.Context) error { return deleteKeys(ctx, c, id, keys) }})
						}
					}
					if len(specs) > 0 {
						steps = append(steps, step{"set the properties", func(ctx context.Context) error { return n.Update(ctx, c, id, noun.Object(specs)) }})
					}
					return attempt(ctx, steps)
				},
			}
		}},
		{Name: "volume qos show", Build: n.Show(noun.Showing{
			Short: "Show a qos specification", Arg: ref(n, "<qos-spec>", "show"), Fields: shownQos(),
			Also: func(ctx context.Context, c *command.Call, o noun.Object) (noun.Object, error) {
				names, err := associations(ctx, c, o.Text("id"))
				if len(names) > 0 {
					o = slices.Clone(o)
					o.Set("associations", render.ListCell(names))
				}
				return o, err
			},
		})},
		{Name: "volume qos unset", Build: func() command.Command {
			return command.Command{
				Short: "Remove properties of a qos specification",
				Args:  []command.Arg{ref(n, "<qos-spec>", "change")},
				Flags: []command.Flag{dropFlag("qos specification")},
				Run: func(ctx context.Context, c *command.Call) error {
					o, err := n.Find(ctx, c, c.Text("<qos-spec>"), nil)
					if err != nil || !c.Given("property") {
						return err
					}
					if _, err := without(c, n, o, "specs", "property"); err != nil {
						return err
					}
					var keys []any
					for _, key := range c.Texts("property") {
						keys = append(keys, key)
					}
					return deleteKeys(ctx, c, o.Text("id"), keys)
				},
			}
		}},
	}
}

func deleteKeys(ctx context.Context, c *command.Call, id string, keys []any) error {
	return qosSpecs().Do(ctx, c, cloud.Request{Method: "PUT", Path: "/qos-specs/" + id + "/delete_keys", Body: noun.Object{{Name: "keys", Value: keys}}})
}

func shownQos() noun.Fields {
	return noun.Fields{Columns: []noun.Column{{Title: "properties", Attr: "specs", Cell: dict}}, Rest: true, Sort: true}
}

// withAssociations asks for the volume types of each specification, several at a
// time, only when their column is looked at.
func withAssociations(ctx context.Context, c *command.Call, columns []noun.Column) ([]noun.Column, error) {
	const title = "Associations"
	if !c.Output.Wants(render.Column{Title: title}) {
		return nil, nil
	}
	var ids []string
	for o, err := range qosSpecs().All(ctx, c, nil) {
		if err != nil {
			return nil, err
		}
		ids = append(ids, o.Text("id"))
	}
	found := make([][]any, len(ids))
	if err := several(ctx, len(ids), func(ctx context.Context, i int) error {
		names, err := associations(ctx, c, ids[i])
		found[i] = names
		return err
	}); err != nil {
		return nil, err
	}
	columns = slices.Clone(columns)
	at := slices.IndexFunc(columns, func(col noun.Column) bool { return col.Title == title })
	columns[at].Cell = func(v any) any {
		i := slices.Index(ids, noun.Text(v))
		switch {
		case i >= 0 && len(found[i]) > 0:
			return render.ListCell(found[i])
		case i >= 0 && found[i] == nil:
			return render.ListCell(nil)
		default:
			return render.TextCell("", "")
		}
	}
	return columns, nil
}
