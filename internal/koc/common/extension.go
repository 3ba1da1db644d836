package common

import (
	"context"
	"net/url"
	"slices"

	"github.com/holdfast-ops/holdfast/internal/koc/cloud"
	"github.com/holdfast-ops/holdfast/internal/koc/command"
	"github.com/holdfast-ops/holdfast/internal/koc/noun"
	"github.com/holdfast-ops/holdfast/internal/koc/render"
)

func extensionList() command.Command {
	return command.Command{
		Short: "List the extensions of the service APIs",
		Flags: []command.Flag{
			{Name: "compute", Help: "List the extensions of the compute service"},
			{Name: "identity", Help: "List the extensions of the identity service"},
			{Name: "network", Help: "List the extensions of the network service"},
			{Name: "volume", Help: "List the extensions of the block storage service"},
			{Name: "long", Help: "Show more columns"},
		},
		Output: command.Listed,
		Run: func(ctx context.Context, c *command.Call) error {
			columns := []render.Column{{Title: "Name"}, {Title: "Alias"}, {Title: "Description"}}
			if c.Is("long") {
				columns = append(columns, render.Column{Title: "Namespace"}, render.Column{Title: "Updated"}, render.Column{Title: "Links"})
			}
			services := []string{"identity", "compute", "volume", "network"}
			all := !slices.ContainsFunc(services, c.Is)
			found := parts{what: "extensions"}
			for _, service := range services {
				if !all && !c.Is(service) {
					continue
				}
				list, err := extensions(ctx, c, service)
				if service == "identity" && !c.Is(service) && err != nil {
					continue // its third version has none to tell
				}
				var rows [][]any
				for _, o := range list {
					rows = append(rows, extensionRow(c, service, o))
				}
				if err := found.add(c, service, rows, err); err != nil {
					return err
				}
			}
			return found.print(c, columns)
		},
	}
}

func extensions(ctx context.Context, c *command.Call, service string) ([]noun.Object, error) {
	o, err := fetch(ctx, c, service, cloud.Request{Path: "/extensions"})
	if err != nil {
		return nil, err
	}
	if service == "identity" {
		return o.Objects("extensions.values"), nil
	}
	return o.Objects("extensions"), nil
}

func extensionRow(c *command.Call, service string, o noun.Object) []any {
	text := func(attr string) any {
		if v := o.Get(attr); v != nil {
			return v
		}
		return ""
	}
	updated := text("updated")
	if c.Compat() && (service == "compute" || service == "network") {
		updated = "" // upstream looks for it under another name there
	}
	return []any{text("name"), text("alias"), text("description"), text("namespace"), updated, o.Get("links")}
}

func extensionShow() command.Command {
	return command.Command{
		Short:  "Show an extension of the network service",
		Args:   []command.Arg{{Name: "<extension>", Help: "The extension to show, by alias or name"}},
		Output: command.Shown,
		Run: func(ctx context.Context, c *command.Call) error {
			ref := c.Text("<extension>")
			found, err := fetch(ctx, c, "network", cloud.Request{Path: "/extensions/" + url.PathEscape(ref)})
			o := found.Object("extension")
			if noun.IsNotFound(err) {
				list, listErr := extensions(ctx, c, "network")
				if listErr != nil {
					return listErr
				}
				at := slices.IndexFunc(list, func(o noun.Object) bool { return o.Text("name") == ref })
				if at < 0 {
					return &noun.NotFound{Noun: "network extension", Ref: ref}
				}
				o, err = list[at], nil
			}
			if err != nil {
				return err
			}
			fields := []render.Field{
				{Name: "alias", Value: o.Get("alias")},
				{Name: "description", Value: o.Get("description")},
				{Name: "id", Value: o.Get("alias")},
				{Name: "links", Value: o.Get("links")},
				{Name: "name", Value: o.Get("name")},
				{Name: "updated_at", Value: o.Get("updated")},
			}
			if c.Compat() {
				location, err := noun.Location(ctx, c)
				if err != nil {
					return err
				}
				fields = slices.Insert(fields, 4, render.Field{Name: "location", Value: location})
			}
			return c.Show(fields)
		},
	}
}
