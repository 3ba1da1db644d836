package noun

import (
	"context"

	"github.com/holdfast-ops/holdfast/internal/koc/command"
	"github.com/holdfast-ops/holdfast/internal/koc/render"
)

// Location is the field that upstream's SDK adds to what it shows of some
// services: which cloud the thing is in. Only the OpenStack voice has it.
func Location(ctx context.Context, c *command.Call) (any, error) {
	token, err := c.Cloud.Token(ctx)
	if err != nil {
		return nil, err
	}
	text := func(s string) any {
		if s == "" {
			return nil
		}
		return s
	}
	project := render.Munch{
		{Name: "id", Value: text(token.ProjectID)},
		{Name: "name", Value: text(token.ProjectName)},
		{Name: "domain_id", Value: text(c.Cloud.Setting(ctx, "project_domain_id"))},
		{Name: "domain_name", Value: text(c.Cloud.Setting(ctx, "project_domain_name"))},
	}
	return render.Munch{
		{Name: "cloud", Value: text(c.Cloud.Name(ctx))},
		{Name: "region_name", Value: text(c.Cloud.Region(ctx))},
		{Name: "zone", Value: nil},
		{Name: "project", Value: project},
	}, nil
}
