package image

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"github.com/holdfast-ops/holdfast/internal/koc/cloud"
	"github.com/holdfast-ops/holdfast/internal/koc/command"
	"github.com/holdfast-ops/holdfast/internal/koc/noun"
	"github.com/holdfast-ops/holdfast/internal/koc/render"
)

// Metadata definitions: namespaces of objects, properties and resource types that
// describe what metadata means.

func metadefCommands() []command.Entry {
	return []command.Entry{
		{Name: "image metadef namespace list", Build: namespaceList},
		{Name: "image metadef namespace show", Build: namespaceShow},
		{Name: "image metadef namespace create", Build: namespaceCreate},
		{Name: "image metadef namespace set", Build: namespaceSet},
		{Name: "image metadef namespace delete", Build: namespaceDelete},
		{Name: "image metadef object list", Build: objectList},
		{Name: "image metadef object show", Build: objectShow},
		{Name: "image metadef object create", Build: objectCreate},
		{Name: "image metadef object update", Build: objectUpdate},
		{Name: "image metadef object delete", Build: objectDelete},
		{Name: "image metadef object property show", Build: objectPropertyShow},
		{Name: "image metadef property list", Build: propertyList},
		{Name: "image metadef property show", Build: propertyShow},
		{Name: "image metadef property create", Build: propertyCreate},
		{Name: "image metadef property set", Build: propertySet},
		{Name: "image metadef property delete", Build: propertyDelete},
		{Name: "image metadef resource type list", Build: resourceTypeList},
		{Name: "image metadef resource type association list", Build: associationList},
		{Name: "image metadef resource type association create", Build: associationCreate},
		{Name: "image metadef resource type association delete", Build: associationDelete},
	}
}

const namespacePath = "/metadefs/namespaces"

func namespaces() noun.Noun {
	return noun.Noun{Name: "metadef namespace", Service: "image", Path: namespacePath, Key: "-", Keys: "namespaces", ID: "namespace", Label: "-"}
}

// within is the path of what belongs to the namespace of a command line.
func within(c *command.Call, rest ...string) string {
	parts := []string{namespacePath, url.PathEscape(c.Text("<namespace>"))}
	for _, part := range rest {
		parts = append(parts, url.PathEscape(part))
	}
	return strings.Join(parts, "/")
}

func namespaceArg(verb string) command.Arg {
	return command.Arg{Name: "<namespace>", Help: "The namespace " + verb}
}

// everything shows an object as it is, sorted.
func everything() noun.Fields { return noun.Fields{Rest: true, Sort: true, Hide: []string{"self"}} }

func namespaceFlags() []command.Flag {
	return []command.Flag{
		{Name: "display-name", Value: "<display-name>", Help: "Name that people read"},
		{Name: "description", Value: "<description>", Help: "What the namespace is for"},
		{Name: "public", Help: "All projects see the namespace"},
		{Name: "private", Help: "Only its own project sees the namespace"},
		{Name: "protected", Help: "The namespace cannot be deleted"},
		{Name: "unprotected", Help: "The namespace can be deleted"},
	}
}

func namespaceBody(c *command.Call, body *noun.Object) {
	for flag, attr := range map[string]string{"display-name": "display_name", "description": "description"} {
		if c.Given(flag) {
			body.Set(attr, c.Text(flag))
		}
	}
	if v := visibility(c); v != "" {
		body.Set("visibility", v)
	}
	if c.Is("protected") || c.Is("unprotected") {
		body.Set("protected", c.Is("protected"))
	}
}

func namespaceList() command.Command {
	return namespaces().List(noun.Listing{
		Short: "List the namespaces of metadata definitions",
		Flags: []command.Flag{
			{Name: "resource-types", Value: "<resource_types>", Help: "List the namespaces of these resource types, with commas between"},
			{Name: "visibility", Value: "<visibility>", Help: "List the namespaces of this visibility"},
		},
		Query: func(_ context.Context, c *command.Call, q url.Values) error {
			for flag, name := range map[string]string{"resource-types": "resource_types", "visibility": "visibility"} {
				if c.Given(flag) {
					q.Set(name, c.Text(flag))
				}
			}
			return nil
		},
		Columns: []noun.Column{{Title: "namespace", Attr: "namespace"}},
	})()
}

func namespaceShow() command.Command {
	return namespaces().Show(noun.Showing{Short: "Show a namespace of metadata definitions", Arg: namespaceArg("to show"), Fields: everything()})()
}

func namespaceCreate() command.Command {
	return command.Command{
		Short: "Create a namespace of metadata definitions", Args: []command.Arg{namespaceArg("to create")}, Flags: namespaceFlags(),
		Exclusive: []string{"public private", "protected unprotected"}, Output: command.Created,
		Run: func(ctx context.Context, c *command.Call) error {
			body := noun.Object{{Name: "namespace", Value: c.Text("<namespace>")}}
			namespaceBody(c, &body)
			return sendAndShow(ctx, c, cloud.Request{Method: http.MethodPost, Path: namespacePath, Body: body})
		},
	}
}

func sendAndShow(ctx context.Context, c *command.Call, r cloud.Request) error {
	o, err := namespaces().Send(ctx, c, r)
	if err != nil {
		return err
	}
	return c.Show(everything().Fields(c, o))
}

func namespaceSet() command.Command {
	return command.Command{
		Short: "Change a namespace of metadata definitions", Args: []command.Arg{namespaceArg("to change")}, Flags: namespaceFlags(),
		Exclusive: []string{"public private", "protected unprotected"},
		Run: func(ctx context.Context, c *command.Call) error {
			old, err := namespaces().Get(ctx, c, c.Text("<namespace>"))
			if err != nil {
				return err
			}
			body := noun.Object{} // the service takes the whole of it
			for _, attr := range []string{"namespace", "display_name", "description", "visibility", "protected", "owner"} {
				if v, ok := old.Lookup(attr); ok {
					body.Set(attr, v)
				}
			}
			namespaceBody(c, &body)
			_, err = namespaces().Send(ctx, c, cloud.Request{Method: http.MethodPut, Path: within(c), Body: body})
			return err
		},
	}
}

func namespaceDelete() command.Command {
	return namespaces().Delete(noun.Deleting{
		Short: "Delete namespaces of metadata definitions, and all that is in them",
		Arg:   command.Arg{Name: "<namespace>", Many: true, Help: "A namespace to delete"},
		Flags: []command.Flag{command.Parallel()},
	})()
}

func objectArg(verb string) command.Arg {
	return command.Arg{Name: "<object>", Help: "The object to " + verb + ", by name"}
}

func objectList() command.Command {
	return noun.Noun{Name: "metadef object", Service: "image", Key: "-", Keys: "objects"}.List(noun.Listing{
		Short:   "List the objects of a namespace",
		Args:    []command.Arg{namespaceArg("to list the objects of")},
		Path:    func(_ context.Context, c *command.Call) (string, error) { return within(c, "objects"), nil },
		Columns: []noun.Column{{Title: "name", Attr: "name"}, {Title: "description", Attr: "description"}},
	})()
}

func objectShow() command.Command {
	return command.Command{
		Short: "Show an object of a namespace", Args: []command.Arg{namespaceArg("it is in"), objectArg("show")}, Output: command.Shown,
		Run: func(ctx context.Context, c *command.Call) error {
			return sendAndShow(ctx, c, cloud.Request{Path: within(c, "objects", c.Text("<object>"))})
		},
	}
}

func objectCreate() command.Command {
	return command.Command{
		Short:  "Create an object in a namespace",
		Args:   []command.Arg{{Name: "<metadef-object-name>", Help: "Name of the new object"}},
		Flags:  []command.Flag{{Name: "namespace", Value: "<namespace>", Required: true, Help: "The namespace it is in"}},
		Output: command.Created,
		Run: func(ctx context.Context, c *command.Call) error {
			return sendAndShow(ctx, c, cloud.Request{
				Method: http.MethodPost, Path: namespacePath + "/" + url.PathEscape(c.Text("namespace")) + "/objects",
				Body: noun.Object{{Name: "name", Value: c.Text("<metadef-object-name>")}},
			})
		},
	}
}

func objectUpdate() command.Command {
	return command.Command{
		Short: "Rename an object of a namespace", Args: []command.Arg{namespaceArg("it is in"), objectArg("change")},
		Flags: []command.Flag{{Name: "name", Value: "<name>", Help: "New name"}},
		Run: func(ctx context.Context, c *command.Call) error {
			path := within(c, "objects", c.Text("<object>"))
			old, err := namespaces().Send(ctx, c, cloud.Request{Path: path})
			if err != nil || !c.Given("name") {
				return err
			}
			body := noun.Object{{Name: "name", Value: c.Text("name")}}
			for _, attr := range []string{"description", "properties", "required"} {
				if v := old.Get(attr); v != nil {
					body.Set(attr, v)
				}
			}
			_, err = namespaces().Send(ctx, c, cloud.Request{Method: http.MethodPut, Path: path, Body: body})
			return err
		},
	}
}

func objectDelete() command.Command {
	return command.Command{
		Short: "Delete objects of a namespace",
		Args:  []command.Arg{namespaceArg("they are in"), {Name: "<object>", Many: true, Help: "An object to delete, by name"}},
		Flags: []command.Flag{command.Parallel()},
		Run:   deleteWithin("objects", "metadef object", "<object>"),
	}
}

// deleteWithin deletes what belongs to a namespace: those that are named, else all.
func deleteWithin(part, name, arg string) func(context.Context, *command.Call) error {
	return func(ctx context.Context, c *command.Call) error {
		if len(c.Texts(arg)) == 0 {
			_, err := namespaces().Send(ctx, c, cloud.Request{Method: http.MethodDelete, Path: within(c, part)})
			return err
		}
		return command.Each(ctx, c, name, "delete", c.Texts(arg), func(ctx context.Context, ref string) error {
			_, err := namespaces().Send(ctx, c, cloud.Request{Method: http.MethodDelete, Path: within(c, part, ref)})
			return err
		})
	}
}

func propertyArg(verb string) command.Arg {
	return command.Arg{Name: "<property>", Help: "The property to " + verb + ", by name"}
}

func objectPropertyShow() command.Command {
	return command.Command{
		Short: "Show a property of an object of a namespace",
		Args:  []command.Arg{namespaceArg("it is in"), objectArg("look into"), propertyArg("show")}, Output: command.Shown,
		Run: func(ctx context.Context, c *command.Call) error {
			o, err := namespaces().Send(ctx, c, cloud.Request{Path: within(c, "objects", c.Text("<object>"))})
			if err != nil {
				return err
			}
			for _, p := range o.Object("properties") {
				if definition, ok := p.Value.(render.Ordered); ok && p.Name == c.Text("<property>") {
					named := append(noun.Object(definition), render.Field{Name: "name", Value: p.Name})
					return c.Show(everything().Fields(c, named))
				}
			}
			return &noun.NotFound{Noun: "property of the object " + c.Text("<object>"), Ref: c.Text("<property>")}
		},
	}
}

func propertyList() command.Command {
	return command.Command{
		Short: "List the properties of a namespace", Args: []command.Arg{namespaceArg("to list the properties of")}, Output: command.Listed,
		Run: func(ctx context.Context, c *command.Call) error {
			o, err := namespaces().Send(ctx, c, cloud.Request{Path: within(c, "properties")})
			if err != nil {
				return err
			}
			var rows [][]any
			for _, p := range o.Object("properties") {
				definition, _ := p.Value.(render.Ordered)
				rows = append(rows, []any{p.Name, noun.Object(definition).Get("title"), noun.Object(definition).Get("type")})
			}
			return c.List([]render.Column{{Title: "name"}, {Title: "title"}, {Title: "type"}}, render.Rows(rows))
		},
	}
}

func propertyShow() command.Command {
	return command.Command{
		Short: "Show a property of a namespace", Args: []command.Arg{namespaceArg("it is in"), propertyArg("show")}, Output: command.Shown,
		Run: func(ctx context.Context, c *command.Call) error {
			return sendAndShow(ctx, c, cloud.Request{Path: within(c, "properties", c.Text("<property>"))})
		},
	}
}

func propertyFlags(required bool) []command.Flag {
	return []command.Flag{
		{Name: "name", Value: "<name>", Required: required, Help: "Name that programs use"},
		{Name: "title", Value: "<title>", Required: required, Help: "Name that people read"},
		{Name: "type", Value: "<type>", Required: required, Choices: []string{"string", "integer", "number", "boolean", "array"}, Help: "Type of its values"},
		{Name: "schema", Value: "<schema>", Help: "More of the definition, as a JSON object"},
	}
}

func propertyBody(c *command.Call, body *noun.Object) error {
	if c.Given("schema") {
		var more noun.Object
		if err := json.Unmarshal([]byte(c.Text("schema")), &more); err != nil {
			return command.Reject("--schema is no JSON object: %v", err)
		}
		for _, f := range more {
			body.Set(f.Name, f.Value)
		}
	}
	for _, flag := range []string{"name", "title", "type"} {
		if c.Given(flag) {
			body.Set(flag, c.Text(flag))
		}
	}
	return nil
}

func propertyCreate() command.Command {
	return command.Command{
		Short: "Create a property in a namespace", Args: []command.Arg{namespaceArg("it is in")}, Flags: propertyFlags(true), Output: command.Created,
		Run: func(ctx context.Context, c *command.Call) error {
			var body noun.Object
			if err := propertyBody(c, &body); err != nil {
				return err
			}
			return sendAndShow(ctx, c, cloud.Request{Method: http.MethodPost, Path: within(c, "properties"), Body: body})
		},
	}
}

func propertySet() command.Command {
	return command.Command{
		Short: "Change a property of a namespace", Args: []command.Arg{namespaceArg("it is in"), propertyArg("change")}, Flags: propertyFlags(false),
		Run: func(ctx context.Context, c *command.Call) error {
			path := within(c, "properties", c.Text("<property>"))
			body, err := namespaces().Send(ctx, c, cloud.Request{Path: path})
			if err != nil {
				return err
			}
			if err := propertyBody(c, &body); err != nil {
				return err
			}
			_, err = namespaces().Send(ctx, c, cloud.Request{Method: http.MethodPut, Path: path, Body: body})
			return err
		},
	}
}

func propertyDelete() command.Command {
	return command.Command{
		Short: "Delete properties of a namespace, or all of them",
		Args:  []command.Arg{namespaceArg("they are in"), {Name: "<property>", Many: true, Optional: true, Help: "A property to delete, by name; all of them when left out"}},
		Flags: []command.Flag{command.Parallel()},
		Run:   deleteWithin("properties", "metadef property", "<property>"),
	}
}

func resourceTypeList() command.Command {
	return noun.Noun{Name: "resource type", Service: "image", Path: "/metadefs/resource_types", Key: "resource_type"}.List(noun.Listing{
		Short: "List the types of resources that metadata definitions are for", Columns: []noun.Column{{Title: "Name", Attr: "name"}},
	})()
}

func associationList() command.Command {
	return noun.Noun{Name: "association", Service: "image", Key: "-", Keys: "resource_type_associations"}.List(noun.Listing{
		Short:   "List the types of resources that a namespace is for",
		Args:    []command.Arg{namespaceArg("to ask about")},
		Path:    func(_ context.Context, c *command.Call) (string, error) { return within(c, "resource_types"), nil },
		Columns: []noun.Column{{Title: "name", Attr: "name"}},
	})()
}

func associationCreate() command.Command {
	return command.Command{
		Short:  "Say that a namespace is for a type of resources",
		Args:   []command.Arg{namespaceArg("to extend"), {Name: "<resource type association>", Help: "The type of resources, such as OS::Nova::Flavor"}},
		Output: command.Created,
		Run: func(ctx context.Context, c *command.Call) error {
			return sendAndShow(ctx, c, cloud.Request{
				Method: http.MethodPost, Path: within(c, "resource_types"), Body: noun.Object{{Name: "name", Value: c.Text("<resource type association>")}},
			})
		},
	}
}

func associationDelete() command.Command {
	return command.Command{
		Short: "Say that a namespace is not for types of resources any more",
		Args:  []command.Arg{namespaceArg("to narrow"), {Name: "<resource type association>", Many: true, Help: "A type of resources"}},
		Flags: []command.Flag{command.Parallel()},
		Run: func(ctx context.Context, c *command.Call) error {
			return command.Each(ctx, c, "resource type association", "delete", c.Texts("<resource type association>"), func(ctx context.Context, ref string) error {
				_, err := namespaces().Send(ctx, c, cloud.Request{Method: http.MethodDelete, Path: within(c, "resource_types", ref)})
				return err
			})
		},
	}
}
