package identity

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/holdfast-ops/holdfast/internal/koc/cloud"
	"github.com/holdfast-ops/holdfast/internal/koc/command"
	"github.com/holdfast-ops/holdfast/internal/koc/noun"
)

func projectFields() []noun.Field {
	fields := append([]noun.Field{noun.String("description", "<description>", "", "What the project is for")}, enableFlags("project")...)
	return append(fields, immutableFlags()...)
}

// properties writes the properties of a project beside its attributes.
func properties(c *command.Call, body *noun.Object) error {
	for _, p := range c.Pairs("property") {
		var v any = p.Value
		if p.Key == "is_domain" {
			switch strings.ToLower(p.Value) {
			case "true", "false":
				v = strings.EqualFold(p.Value, "true")
			case "none":
				v = nil
			default:
				return command.Reject("--property is_domain=%s: expected true, false or none", p.Value)
			}
		}
		body.Set(p.Key, v)
	}
	return nil
}

func propertyFlag() command.Flag {
	return command.Flag{Name: "property", Value: "<key=value>", Type: command.KeyValue, Help: "Property of the project; repeatable"}
}

func projectCreate() command.Command {
	fields := projectFields()
	flags := []command.Flag{domainFlag("Domain of the project, by name or id"), {Name: "parent", Value: "<project>", Help: "Project above this one, by name or id", Complete: "project"}}
	flags = append(flags, flagsOf(fields)...)
	flags = append(flags, propertyFlag(), orShow("project"), command.Flag{Name: "tag", Value: "<tag>", Repeat: true, Help: "Tag of the project; repeatable"})
	return command.Command{
		Short: "Create a project", Args: []command.Arg{{Name: "<project-name>", Help: "Name of the new project"}}, Flags: flags,
		Exclusive: []string{"enable disable", "immutable no-immutable"}, Output: command.Created,
		Run: func(ctx context.Context, c *command.Call) error {
			name := c.Text("<project-name>")
			body := noun.Object{{Name: "name", Value: name}, {Name: "enabled", Value: true}}
			if err := noun.Fill(ctx, c, &body, fields); err != nil {
				return err
			}
			if c.Given("domain") {
				id, err := domainID(ctx, c)
				if err != nil {
					return err
				}
				body.Set("domain_id", id)
			}
			if c.Given("parent") {
				id, err := noun.Project().In(ctx, c, c.Text("parent"), "")
				if err != nil {
					return err
				}
				body.Set("parent_id", id)
			}
			if err := properties(c, &body); err != nil {
				return err
			}
			tags := c.Texts("tag")
			slices.Sort(tags)
			body.Set("tags", append([]string{}, slices.Compact(tags)...))
			return createOrShow(ctx, c, noun.Project(), body, name)
		},
	}
}

func projectDelete() command.Command {
	return noun.Project().Delete(noun.Deleting{
		Short: "Delete projects",
		Arg:   command.Arg{Name: "<project>", Many: true, Help: "A project to delete, by name or id", Complete: "project"},
		Flags: []command.Flag{domainFlag("Domain of the projects, by name or id"), command.Parallel()}, Query: inDomain,
	})()
}

func projectColumns() []noun.Column {
	return []noun.Column{
		{Title: "ID", Attr: "id"},
		{Title: "Name", Attr: "name"},
		{Title: "Domain ID", Attr: "domain_id", Long: true},
		{Title: "Description", Attr: "description", Long: true},
		{Title: "Enabled", Attr: "enabled", Long: true},
	}
}

func projectList() command.Command {
	tags := func(name, help string) command.Flag {
		return command.Flag{Name: name, Value: "<tag>[,<tag>,...]", Type: command.Commas, Help: help}
	}
	return command.Command{
		Short: "List projects",
		Flags: []command.Flag{
			domainFlag("List the projects of this domain, by name or id"),
			{Name: "parent", Value: "<parent>", Help: "List the projects below this one, by name or id", Complete: "project"},
			{Name: "user", Value: "<user>", Help: "List the projects of this user, by name or id", Complete: "user"},
			{Name: "my-projects", Help: "List your own projects, whatever else was asked for"},
			{Name: "long", Help: "Show more columns"},
			{Name: "sort", Value: "<key>[:<direction>]", Help: "Order by these attributes, with commas between; a direction is asc or desc"},
			tags("tags", "List the projects that have all of these tags"),
			tags("tags-any", "List the projects that have any of these tags"),
			tags("not-tags", "Leave out the projects that have all of these tags"),
			tags("not-tags-any", "Leave out the projects that have any of these tags"),
		},
		Output: command.Listed,
		Run:    runProjectList,
	}
}

func runProjectList(ctx context.Context, c *command.Call) error {
	n := noun.Project()
	q := url.Values{}
	if err := inDomain(ctx, c, q); err != nil {
		return err
	}
	if c.Given("parent") {
		id, err := noun.Project().In(ctx, c, c.Text("parent"), "")
		if err != nil {
			return err
		}
		q.Set("parent_id", id)
	}
	if c.Given("user") {
		id, err := noun.User().In(ctx, c, c.Text("user"), c.Text("domain"))
		if err != nil {
			return err
		}
		n = n.At("/users/" + id + "/projects")
	}
	for _, flag := range []string{"tags", "tags-any", "not-tags", "not-tags-any"} {
		if list := c.Texts(flag); len(list) > 0 {
			q.Set(flag, strings.Join(list, ","))
		}
	}
	if c.Is("my-projects") {
		own, err := ownProjects(ctx, c)
		if err != nil {
			return err
		}
		n, q = own, nil
	}
	var found []noun.Object
	for o, err := range n.All(ctx, c, q) {
		var fault *cloud.Fault
		if errors.As(err, &fault) && fault.Status == http.StatusForbidden && len(q) == 0 && !c.Given("user") {
			own, err := ownProjects(ctx, c) // who may not list all lists the own ones
			if err != nil {
				return err
			}
			for o, err := range own.All(ctx, c, nil) {
				if err != nil {
					return err
				}
				found = append(found, o)
			}
			break
		}
		if err != nil {
			return err
		}
		found = append(found, o)
	}
	if err := sortBy(found, c.Text("sort")); err != nil {
		return err
	}
	return noun.PrintList(c, noun.Pick(c, projectColumns()), each(found))
}

func ownProjects(ctx context.Context, c *command.Call) (noun.Noun, error) {
	token, err := c.Cloud.Token(ctx)
	return noun.Project().At("/users/" + token.UserID + "/projects"), err
}

func each(list []noun.Object) func(func(noun.Object, error) bool) {
	return func(yield func(noun.Object, error) bool) {
		for _, o := range list {
			if !yield(o, nil) {
				return
			}
		}
	}
}

// sortBy orders things by key:direction,key:direction; keys are attributes or
// column titles.
func sortBy(list []noun.Object, text string) error {
	if text == "" {
		return nil
	}
	type key struct {
		attr string
		sign int
	}
	var keys []key
	for part := range strings.SplitSeq(text, ",") {
		attr, direction, _ := strings.Cut(strings.TrimSpace(part), ":")
		k := key{strings.ReplaceAll(strings.ToLower(attr), " ", "_"), 1}
		switch direction {
		case "", "asc":
		case "desc":
			k.sign = -1
		default:
			return command.Reject("--sort %q: the direction %q is neither asc nor desc", text, direction)
		}
		keys = append(keys, k)
	}
	slices.SortStableFunc(list, func(a, b noun.Object) int {
		for _, k := range keys {
			if d := strings.Compare(a.Text(k.attr), b.Text(k.attr)); d != 0 {
				return d * k.sign
			}
		}
		return 0
	})
	return nil
}

func projectSet() command.Command {
	return noun.Project().Set(noun.Writing{
		Short: "Change a project", Args: []command.Arg{noun.Project().Ref("<project>", "change")}, RefArg: "<project>", Query: inDomain,
		Fields: append([]noun.Field{noun.String("name", "<name>", "", "New name")}, projectFields()...),
		Flags: []command.Flag{
			domainFlag("Domain of the project, by name or id"), propertyFlag(),
			{Name: "tag", Value: "<tag>", Repeat: true, Help: "Tag to add; repeatable"},
			{Name: "clear-tags", Help: "Take all tags off; with --tag, replace them"},
			{Name: "remove-tag", Value: "<tag>", Help: "Tag to take off"},
		},
		Exclusive: []string{"enable disable", "immutable no-immutable"},
		Body: func(_ context.Context, c *command.Call, body *noun.Object, o noun.Object) error {
			if err := properties(c, body); err != nil {
				return err
			}
			if !c.Given("tag") && !c.Is("clear-tags") && !c.Given("remove-tag") {
				return nil
			}
			tags := o.Texts("tags")
			if c.Is("clear-tags") {
				tags = []string{}
			}
			tags = slices.DeleteFunc(append(tags, c.Texts("tag")...), func(t string) bool { return t == c.Text("remove-tag") && c.Given("remove-tag") })
			slices.Sort(tags)
			body.Set("tags", slices.Compact(tags))
			return nil
		},
	})()
}

func projectShow() command.Command {
	return showOwn(noun.Project(), "Show a project", "<project>", []command.Flag{
		domainFlag("Domain of the project, by name or id"),
		{Name: "parents", Help: "Show the projects above it too"},
		{Name: "children", Help: "Show the projects below it too"},
	}, theDomain, func(ctx context.Context, c *command.Call, o noun.Object) (noun.Object, error) {
		if !c.Is("parents") && !c.Is("children") {
			return o, nil
		}
		q := url.Values{}
		if c.Is("parents") {
			q["parents_as_ids"] = []string{""}
		}
		if c.Is("children") {
			q["subtree_as_ids"] = []string{""}
		}
		return noun.Project().Send(ctx, c, cloud.Request{Path: "/projects/" + o.Text("id"), Query: q})
	})
}
