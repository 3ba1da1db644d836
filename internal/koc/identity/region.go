package identity

import (
	"context"

	"github.com/holdfast-ops/holdfast/internal/koc/command"
	"github.com/holdfast-ops/holdfast/internal/koc/noun"
)

func regions() noun.Noun { return thing("region", "/regions", "region", "") }

func regionArg(verb string) command.Arg {
	return command.Arg{Name: "<region-id>", Help: "Id of the region to " + verb, Complete: "region"}
}

func regionShape() noun.Fields {
	return noun.Fields{Rest: true, Sort: true, Hide: []string{"links"}, Columns: []noun.Column{{Title: "region", Attr: "id"}, {Title: "parent_region", Attr: "parent_region_id"}}}
}

func regionFields() []noun.Field {
	return []noun.Field{
		noun.String("parent-region", "<region-id>", "parent_region_id", "Region above this one"), noun.String("description", "<description>", "", "What the region is"),
	}
}

func regionCreate() command.Command {
	return regions().Create(noun.Writing{
		Short: "Create a region", Args: []command.Arg{{Name: "<region-id>", Help: "Id of the new region"}}, Fields: regionFields(), Shown: regionShape(),
		Body: func(_ context.Context, c *command.Call, body *noun.Object, _ noun.Object) error {
			body.Set("id", c.Text("<region-id>"))
			return nil
		},
	})()
}

func regionDelete() command.Command {
	return regions().Delete(noun.Deleting{
		Short: "Delete regions", Arg: command.Arg{Name: "<region-id>", Many: true, Help: "Id of a region to delete", Complete: "region"}, Flags: []command.Flag{command.Parallel()},
	})()
}

func regionList() command.Command {
	return regions().List(noun.Listing{
		Short: "List regions", Filters: []noun.Field{noun.String("parent-region", "<region-id>", "parent_region_id", "List the regions below this one")},
		Columns: []noun.Column{{Title: "Region", Attr: "id"}, {Title: "Parent Region", Attr: "parent_region_id"}, {Title: "Description", Attr: "description"}},
	})()
}

func regionSet() command.Command {
	return regions().Set(noun.Writing{Short: "Change a region", Args: []command.Arg{regionArg("change")}, RefArg: "<region-id>", Fields: regionFields()})()
}

func regionShow() command.Command {
	return regions().Show(noun.Showing{Short: "Show a region", Arg: regionArg("show"), Fields: regionShape()})()
}

// Policies, an old store of texts.

func policies() noun.Noun { return thing("policy", "/policies", "policy", "policies") }

func policyShape() noun.Fields {
	return noun.Fields{Rest: true, Sort: true, Hide: []string{"links"}, Columns: []noun.Column{{Title: "rules", Attr: "blob"}}}
}

func toBlob(_ context.Context, c *command.Call, flag string) (any, error) {
	return readText(c.Text(flag))
}

func policyCreate() command.Command {
	return policies().Create(noun.Writing{
		Short: "Store a policy", Args: []command.Arg{{Name: "<filename>", Help: "File with the rules"}}, Shown: policyShape(),
		Fields: []noun.Field{{Flag: command.Flag{Name: "type", Value: "<type>", Default: "application/json", Help: "Media type of the rules"}}},
		Body: func(_ context.Context, c *command.Call, body *noun.Object, _ noun.Object) error {
			text, err := readText(c.Text("<filename>"))
			body.Set("blob", text)
			return err
		},
	})()
}

func policyDelete() command.Command {
	return policies().Delete(noun.Deleting{
		Short: "Delete policies", Arg: command.Arg{Name: "<policy>", Many: true, Help: "Id of a policy to delete"}, Flags: []command.Flag{command.Parallel()},
	})()
}

func policyList() command.Command {
	return policies().List(noun.Listing{
		Short: "List policies", Columns: []noun.Column{{Title: "ID", Attr: "id"}, {Title: "Type", Attr: "type"}, {Title: "Rules", Attr: "blob", Long: true}},
	})()
}

func policySet() command.Command {
	return policies().Set(noun.Writing{
		Short: "Change a policy", Args: []command.Arg{{Name: "<policy>", Help: "Id of the policy to change"}}, RefArg: "<policy>",
		Fields: []noun.Field{
			noun.String("type", "<type>", "", "New media type of the rules"),
			{Flag: command.Flag{Name: "rules", Value: "<filename>", Help: "File with the new rules"}, Attr: "blob", To: toBlob},
		},
	})()
}

func policyShow() command.Command {
	return policies().Show(noun.Showing{Short: "Show a policy", Arg: command.Arg{Name: "<policy>", Help: "Id of the policy to show"}, Fields: policyShape()})()
}
