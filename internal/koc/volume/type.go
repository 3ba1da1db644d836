package volume

import (
	"context"
	"net/url"
	"slices"
	"strings"

	"github.com/holdfast-ops/holdfast/internal/koc/cloud"
	"github.com/holdfast-ops/holdfast/internal/koc/command"
	"github.com/holdfast-ops/holdfast/internal/koc/noun"
	"github.com/holdfast-ops/holdfast/internal/koc/render"
)

const publicAttr = "os-volume-type-access:is_public"

func typeCommands() []command.Entry {
	n := types()
	return []command.Entry{
		{Name: "volume type create", Build: createType},
		{Name: "volume type delete", Build: n.Delete(noun.Deleting{
			Short: "Delete volume types", Arg: refs(n, "<volume-type>", "delete"), Flags: []command.Flag{command.Parallel()},
		})},
		{Name: "volume type list", Build: listTypes},
		{Name: "volume type set", Build: setType},
		{Name: "volume type show", Build: n.Show(noun.Showing{
			Short: "Show a volume type", Arg: ref(n, "<volume-type>", "show"),
			Flags: []command.Flag{{Name: "encryption-type", Help: "Show how volumes of the type are encrypted"}},
			Also: func(ctx context.Context, c *command.Call, o noun.Object) (noun.Object, error) {
				o = slices.Clone(o)
				id := o.Text("id")
				projects := any(nil)
				if !isPublic(o) {
					access := noun.Noun{Service: "volume", Path: n.Path + "/" + id + "/os-volume-type-access", Keys: "volume_type_access"}
					ids := []any{}
					for a, err := range access.All(ctx, c, nil) {
						if err != nil {
							return nil, err
						}
						ids = append(ids, a.Get("project_id"))
					}
					projects = render.ListCell(ids)
				}
				o.Set("access_project_ids", projects)
				if c.Is("encryption-type") {
					e, err := encryption(ctx, c, id)
					if err != nil {
						return nil, err
					}
					o.Set("encryption", render.DictCell(render.Ordered(e)))
				}
				return o, nil
			},
			Fields: noun.Fields{Columns: []noun.Column{{Title: "properties", Attr: "extra_specs", Cell: dict}}, Rest: true, Sort: true, Hide: []string{publicAttr}},
		})},
		{Name: "volume type unset", Build: unsetType},
	}
}

func isPublic(o noun.Object) bool {
	if v, told := o.Lookup(publicAttr); told {
		return v == true
	}
	return o.Bool("is_public")
}

// encryption is how volumes of a type are encrypted, empty when they are not.
func encryption(ctx context.Context, c *command.Call, id string) (noun.Object, error) {
	alone := noun.Noun{Service: "volume", Key: "-"}
	o, err := alone.Send(ctx, c, cloud.Request{Path: "/types/" + id + "/encryption"})
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(append(noun.Object{}, o...), func(f render.Field) bool { return f.Name == "volume_type_id" }), nil
}

// listKinds lists types, or the default one alone.
func listKinds(n noun.Noun, l noun.Listing) func() command.Command {
	return func() command.Command {
		cmd := n.List(l)()
		all := cmd.Run
		cmd.Run = func(ctx context.Context, c *command.Call) error {
			if !c.Is("default") {
				return all(ctx, c)
			}
			o, err := n.Send(ctx, c, cloud.Request{Path: n.Path + "/default"})
			if err != nil {
				return err
			}
			columns := noun.Pick(c, l.Columns)
			if l.Prepare != nil {
				changed, err := l.Prepare(ctx, c, columns)
				if err != nil {
					return err
				}
				if changed != nil {
					columns = changed
				}
			}
			return noun.PrintList(c, columns, noun.Each([]noun.Object{o}))
		}
		return cmd
	}
}

func listTypes() command.Command {
	n := types()
	return listKinds(n, noun.Listing{
		Short: "List volume types",
		Flags: append([]command.Flag{
			{Name: "default", Help: "Show the volume type that is the default"},
			{Name: "public", Help: "Only volume types for all projects"},
			{Name: "private", Help: "Only volume types for some projects (admin only)"},
			{Name: "encryption-type", Help: "Show how volumes of the types are encrypted (admin only)"},
			{Name: "property", Value: "<key=value>", Type: command.KeyValue, Koc: true, Help: "Only volume types that have this property; repeat for more (needs 3.52)"},
		}, abilityFlags("Only volume types")...),
		Exclusive: []string{"default public private"},
		Query: func(ctx context.Context, c *command.Call, q url.Values) error {
			q.Set("is_public", "None")
			if c.Is("public") || c.Is("private") {
				q.Set("is_public", map[bool]string{true: "True", false: "False"}[c.Is("public")])
			}
			specs := abilities(c)
			for _, p := range c.Pairs("property") {
				specs = append(specs, render.Field{Name: p.Key, Value: p.Value})
			}
			if len(specs) == 0 {
				return nil
			}
			wanted := make([]command.Pair, len(specs))
			for i, f := range specs {
				wanted[i] = command.Pair{Key: f.Name, Value: noun.Text(f.Value)}
			}
			q.Set("extra_specs", pythonDict(wanted))
			return needs(ctx, c, "3.52", "looking for volume types by their properties")
		},
		Columns: []noun.Column{
			{Title: "ID", Attr: "id"},
			{Title: "Name", Attr: "name"},
			{Title: "Is Public", From: publicCell, Needs: []string{publicAttr, "is_public"}},
			{Title: "Description", Attr: "description", Long: true},
			{Title: "Properties", Attr: "extra_specs", Cell: dict, Long: true},
			{Title: "QoS Spec ID", Attr: "qos_specs_id", OptIn: true, Own: true},
		},
		Prepare: withEncryption,
	})()
}

func publicCell(o noun.Object) any {
	if v, told := o.Lookup(publicAttr); told {
		return v
	}
	if v, told := o.Lookup("is_public"); told {
		return v
	}
	return "N/A"
}

// withEncryption adds the column of --encryption-type. The service tells of one
// type at a time.
func withEncryption(ctx context.Context, c *command.Call, columns []noun.Column) ([]noun.Column, error) {
	const title = "Encryption"
	if !c.Is("encryption-type") {
		return nil, nil
	}
	known := map[string]render.Ordered{}
	if c.Output.Wants(render.Column{Title: title}) {
		var ids []string
		for o, err := range types().All(ctx, c, url.Values{"is_public": {"None"}}) {
			if err != nil {
				return nil, err
			}
			ids = append(ids, o.Text("id"))
		}
		found := make([]noun.Object, len(ids))
		if err := several(ctx, len(ids), func(ctx context.Context, i int) error {
			e, err := encryption(ctx, c, ids[i])
			found[i] = e
			return err
		}); err != nil {
			return nil, err
		}
		for i, e := range found {
			e = slices.DeleteFunc(e, func(f render.Field) bool {
				return slices.Contains([]string{"deleted", "created_at", "updated_at", "deleted_at"}, f.Name)
			})
			if len(e) > 0 {
				known[ids[i]] = render.Ordered(e)
			}
		}
	}
	cell := func(v any) any {
		e, is := known[noun.Text(v)]
		if !is {
			return render.TextCell("-", nil)
		}
		return render.DictCell(e)
	}
	return append(slices.Clip(columns), noun.Column{Title: title, Attr: "id", Cell: cell}), nil
}

// Flags of create and set.

func encryptionFlags(of string) []command.Flag {
	return []command.Flag{
		{Name: "encryption-provider", Value: "<provider>", Help: "Encrypt volumes of the " + of + " by this provider, as luks (admin only)"},
		{Name: "encryption-cipher", Value: "<cipher>", Help: "Algorithm of the encryption, as aes-xts-plain64"},
		{Name: "encryption-key-size", Value: "<key-size>", Type: command.Int, Help: "Bits of the key, as 256"},
		{Name: "encryption-control-location", Value: "<control-location>", Choices: []string{"front-end", "back-end"}, Help: "Who encrypts: the compute host (front-end, the default) or the storage (back-end)"},
	}
}

func toEncryption(c *command.Call) noun.Object {
	var out noun.Object
	for _, attr := range []string{"provider", "cipher", "key_size", "control_location"} {
		flag := "encryption-" + strings.ReplaceAll(attr, "_", "-")
		switch {
		case !c.Given(flag):
		case attr == "key_size":
			out.Set(attr, c.Int(flag))
		default:
			out.Set(attr, c.Text(flag))
		}
	}
	return out
}

// newEncryption sends how volumes of a type are encrypted from now on.
func newEncryption(ctx context.Context, c *command.Call, id string, body noun.Object) (noun.Object, error) {
	if body.Get("control_location") == nil {
		body.Set("control_location", "front-end")
	}
	n := noun.Noun{Service: "volume", Key: "encryption"}
	return n.Send(ctx, c, cloud.Request{Method: "POST", Path: "/types/" + id + "/encryption", Body: n.Wrap(body)})
}

// abilityFlags are the flags for the properties that all backends know.
func abilityFlags(what string) []command.Flag {
	return []command.Flag{
		{Name: "multiattach", Koc: true, Help: what + " whose volumes several servers may use at once"},
		{Name: "cacheable", Koc: true, Help: what + " whose volumes may be cached on the compute host"},
		{Name: "replicated", Koc: true, Help: what + " whose volumes are replicated"},
		{Name: "availability-zone", Value: "<zone>", Repeat: true, Koc: true, Help: what + " for volumes of this availability zone; repeat for more"},
	}
}

// abilities are the properties that those flags stand for.
func abilities(c *command.Call) render.Ordered {
	out := render.Ordered{}
	for _, p := range [][2]string{{"multiattach", "multiattach"}, {"cacheable", "cacheable"}, {"replicated", "replication_enabled"}} {
		if c.Is(p[0]) {
			out = append(out, render.Field{Name: p[1], Value: "<is> True"})
		}
	}
	if zones := c.Texts("availability-zone"); zones != nil {
		out = append(out, render.Field{Name: "RESKEY:availability_zones", Value: strings.Join(zones, ",")})
	}
	return out
}

// setSpecs are the steps that write the properties of a type.
func setSpecs(c *command.Call, n noun.Noun, o noun.Object, attr string) []step {
	path := n.Path + "/" + o.Text("id") + "/" + attr
	specs := pairs(c, "property")
	if c.Declares("multiattach") {
		specs = append(abilities(c), specs...)
	}
	var steps []step
	if c.Declares("no-property") && c.Is("no-property") {
		for _, f := range o.Object(attr) {
			if slices.ContainsFunc(specs, func(s render.Field) bool { return s.Name == f.Name }) {
				continue
			}
			steps = append(steps, step{"remove the property " + f.Name, func(ctx context.Context) error {
				return n.Do(ctx, c, cloud.Request{Method: "DELETE", Path: path + "/" + url.PathEscape(f.Name)})
			}})
		}
	}
	if len(specs) == 0 {
		return steps
	}
	return append(steps, step{"set the properties", func(ctx context.Context) error {
		return n.Do(ctx, c, cloud.Request{Method: "POST", Path: path, Body: noun.Object{{Name: attr, Value: specs}}})
	}})
}

// accessStep gives a project access to a type, or takes it.
func accessStep(c *command.Call, n noun.Noun, id, action, project string) step {
	return step{action + " " + project, func(ctx context.Context) error {
		return act(ctx, c, n, id, action, render.Ordered{{Name: "project", Value: project}})
	}}
}

func createType() command.Command {
	n := types()
	fields := []noun.Field{
		description("new volume type"),
		noun.On("public", publicAttr, true, "Let all projects use the volume type, as is the default"),
		noun.On("private", publicAttr, false, "Keep the volume type to those projects that are given access"),
	}
	flags := []command.Flag{fields[0].Flag, fields[1].Flag, fields[2].Flag, propertyFlag("Give the volume type this property; repeat for more")}
	flags = append(append(flags, noun.ProjectFlags("Give this project access, by name or id; with --private")...), encryptionFlags("new volume type")...)
	return command.Command{
		Short:     "Create a volume type",
		Args:      []command.Arg{{Name: "<name>", Help: "Name of the new volume type"}},
		Flags:     append(flags, abilityFlags("Make it a volume type")...),
		Exclusive: []string{"public private"},
		Output:    command.Created,
		Run: func(ctx context.Context, c *command.Call) error {
			if c.Given("project") && !c.Is("private") {
				return wrong(c, "--project needs --private: a public volume type is for all projects")
			}
			encrypted := toEncryption(c)
			if encrypted != nil && encrypted.Text("provider") == "" {
				return wrong(c, "--encryption-provider is missing: it is needed where volumes are encrypted")
			}
			project, err := noun.ProjectID(ctx, c)
			if err != nil {
				return err
			}
			body := noun.Object{{Name: "name", Value: c.Text("<name>")}}
			if err := noun.Fill(ctx, c, &body, fields); err != nil {
				return err
			}
			o, err := n.Send(ctx, c, cloud.Request{Method: "POST", Path: n.Path, Body: n.Wrap(body)})
			if err != nil {
				return err
			}
			id := o.Text("id")
			var steps []step
			if project != "" {
				steps = append(steps, accessStep(c, n, id, "addProjectAccess", project))
			}
			if specs := setSpecs(c, n, o, "extra_specs"); specs != nil {
				steps = append(steps, specs...)
				o.Set("properties", render.DictCell(append(abilities(c), pairs(c, "property")...)))
			}
			if encrypted != nil {
				steps = append(steps, step{"set the encryption", func(ctx context.Context) error {
					e, err := newEncryption(ctx, c, id, encrypted)
					e = slices.DeleteFunc(e, func(f render.Field) bool { return f.Name == "volume_type_id" })
					o.Set("encryption", render.DictCell(render.Ordered(e)))
					return err
				}})
			}
			if err := attempt(ctx, steps); err != nil {
				c.Notef("the volume type %s was created, but not all of it\n", id)
				return err
			}
			return c.Show(noun.Fields{Rest: true, Sort: true, Hide: []string{"extra_specs", publicAttr}}.Fields(c, o))
		},
	}
}

func setType() command.Command {
	n := types()
	flags := []command.Flag{
		{Name: "name", Value: "<name>", Help: "Rename the volume type"},
		{Name: "description", Value: "<description>", Help: "Describe the volume type"},
		propertyFlag("Give the volume type this property; repeat for more"),
	}
	flags = append(append(flags, noun.ProjectFlags("Give this project access, by name or id")...), encryptionFlags("volume type")...)
	return command.Command{
		Short: "Change a volume type",
		Args:  []command.Arg{ref(n, "<volume-type>", "change")},
		Flags: append(flags, abilityFlags("Make it a volume type")...),
		Run: func(ctx context.Context, c *command.Call) error {
			o, err := n.Find(ctx, c, c.Text("<volume-type>"), nil)
			if err != nil {
				return err
			}
			project, err := noun.ProjectID(ctx, c)
			if err != nil {
				return err
			}
			id := o.Text("id")
			steps := append(nameSteps(c, n, id), setSpecs(c, n, o, "extra_specs")...)
			if project != "" {
				steps = append(steps, accessStep(c, n, id, "addProjectAccess", project))
			}
			if encrypted := toEncryption(c); encrypted != nil {
				have, err := encryption(ctx, c, id)
				if err != nil {
					return err
				}
				if len(have) == 0 && encrypted.Text("provider") == "" {
					return wrong(c, "--encryption-provider is missing: volumes of this type are not encrypted yet")
				}
				steps = append(steps, step{"set the encryption", func(ctx context.Context) error {
					if len(have) == 0 {
						_, err := newEncryption(ctx, c, id, encrypted)
						return err
					}
					return n.Do(ctx, c, cloud.Request{Method: "PUT", Path: n.Path + "/" + id + "/encryption/provider", Body: noun.Object{{Name: "encryption", Value: render.Ordered(encrypted)}}})
				}})
			}
			return attempt(ctx, steps)
		},
	}
}

func unsetType() command.Command {
	n := types()
	return command.Command{
		Short: "Take properties, a project or the encryption from a volume type",
		Args:  []command.Arg{ref(n, "<volume-type>", "change")},
		Flags: append(append([]command.Flag{dropFlag("volume type")}, noun.ProjectFlags("Take the access of this project, by name or id")...),
			command.Flag{Name: "encryption-type", Help: "Do not encrypt volumes of the type any more (admin only)"}),
		Run: func(ctx context.Context, c *command.Call) error {
			o, err := n.Find(ctx, c, c.Text("<volume-type>"), nil)
			if err != nil {
				return err
			}
			if _, err := without(c, n, o, "extra_specs", "property"); err != nil {
				return err
			}
			project, err := noun.ProjectID(ctx, c)
			if err != nil {
				return err
			}
			id := o.Text("id")
			steps := unsetEach(c, n, n.Path+"/"+id+"/extra_specs")
			if project != "" {
				steps = append(steps, accessStep(c, n, id, "removeProjectAccess", project))
			}
			if c.Is("encryption-type") {
				steps = append(steps, step{"remove the encryption", func(ctx context.Context) error {
					return n.Do(ctx, c, cloud.Request{Method: "DELETE", Path: n.Path + "/" + id + "/encryption/provider"})
				}})
			}
			return attempt(ctx, steps)
		},
	}
}
