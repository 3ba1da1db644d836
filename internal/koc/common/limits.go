package common

import (
	"context"
	"net/url"

	"github.com/holdfast-ops/holdfast/internal/koc/cloud"
	"github.com/holdfast-ops/holdfast/internal/koc/command"
	"github.com/holdfast-ops/holdfast/internal/koc/noun"
	"github.com/holdfast-ops/holdfast/internal/koc/render"
)

func limitsShow() command.Command {
	return command.Command{
		Short: "Show the limits of the compute and block storage services",
		Flags: []command.Flag{
			{Name: "absolute", Help: "Show absolute limits and what is used of them"},
			{Name: "rate", Help: "Show the limits of request rates"},
			{Name: "reserved", Help: "Count what is reserved as used; with --absolute"},
			{Name: "project", Value: "<project>", Help: "Show the limits of this project, by name or id; with --absolute", Complete: "project"},
			{Name: "domain", Value: "<domain>", Help: "Domain of the project, by name or id", Complete: "domain"},
		},
		Exclusive: []string{"!absolute rate"},
		Output:    command.Listed,
		Run: func(ctx context.Context, c *command.Call) error {
			query := url.Values{}
			if c.Is("reserved") {
				query.Set("reserved", "1")
			}
			if ref := c.Text("project"); ref != "" {
				id, err := noun.Project().In(ctx, c, ref, c.Text("domain"))
				if err != nil {
					return err
				}
				query.Set("tenant_id", id)
			}
			var limits []noun.Object
			for _, service := range []string{"compute", "volume"} {
				q := query
				if service == "volume" {
					q = nil
				}
				o, err := fetch(ctx, c, service, cloud.Request{Path: "/limits", Query: q})
				switch {
				case absent(err):
				case err != nil:
					return err
				default:
					limits = append(limits, o.Object("limits"))
				}
			}
			if c.Is("rate") {
				return showRates(c, limits)
			}
			var rows [][]any
			for _, l := range limits {
				for _, f := range l.Object("absolute") {
					rows = append(rows, []any{f.Name, f.Value})
				}
			}
			return c.List([]render.Column{{Title: "Name"}, {Title: "Value"}}, render.Rows(rows))
		},
	}
}

func showRates(c *command.Call, limits []noun.Object) error {
	var rows [][]any
	for _, l := range limits {
		for _, group := range l.Objects("rate") {
			for _, rate := range group.Objects("limit") {
				rows = append(rows, []any{
					rate.Get("verb"), group.Get("uri"), rate.Get("value"), rate.Get("remaining"), rate.Get("unit"), rate.Get("next-available"),
				})
			}
		}
	}
	return c.List([]render.Column{
		{Title: "Verb"}, {Title: "URI"}, {Title: "Value"}, {Title: "Remain"}, {Title: "Unit"}, {Title: "Next Available"},
	}, render.Rows(rows))
}
