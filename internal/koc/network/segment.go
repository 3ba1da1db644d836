package network

import (
	"cmp"
	"context"
	"slices"
	"strconv"

	"github.com/holdfast-ops/holdfast/internal/koc/command"
	"github.com/holdfast-ops/holdfast/internal/koc/noun"
	"github.com/holdfast-ops/holdfast/internal/koc/render"
)

func segments() noun.Noun { return thing("network segment", "/segments", "segment", "") }

func segmentRanges() noun.Noun {
	return thing("network segment range", "/network_segment_ranges", "network_segment_range", "")
}

func segmentCommands() []command.Entry {
	n := segments()
	shown := fields(asIs("description", "id", "name", "network_id", "network_type", "physical_network", "segmentation_id")...)
	return []command.Entry{
		{Name: "network segment create", Build: n.Create(extra(noun.Writing{
			Short: "Create a network segment",
			Args:  []command.Arg{{Name: "<name>", Help: "Name of the new network segment"}}, NameArg: "<name>",
			Fields: []noun.Field{
				description("new network segment"),
				noun.String("physical-network", "<physical-network>", "", "Physical network below the segment"),
				noun.Number("segment", "<segment>", "segmentation_id", "VLAN or tunnel id of the segment"),
				must(networks().Reference("network", "<network>", "network_id", "Network of the segment, by name or id")),
				must(noun.OneOf("network-type", "<network-type>", "", "How the segment is made", "flat", "geneve", "gre", "local", "vlan", "vxlan")),
			},
			Shown: shown,
		}))},
		{Name: "network segment delete", Build: n.Delete(noun.Deleting{
			Short: "Delete network segments",
			Arg:   command.Arg{Name: "<network-segment>", Help: "Network segments to delete, by name or id", Many: true, Complete: n.Name},
			Flags: []command.Flag{command.Parallel()},
		})},
		{Name: "network segment list", Build: n.List(noun.Listing{
			Short: "List network segments",
			Filters: []noun.Field{
				networks().Reference("network", "<network>", "network_id", "Only segments of this network, by name or id"),
				{Flag: command.Flag{Name: "network-type", Value: "<network-type>", Koc: true, Help: "Only segments made in this way"}},
				{Flag: command.Flag{Name: "physical-network", Value: "<physical-network>", Koc: true, Help: "Only segments over this physical network"}},
			},
			Columns: []noun.Column{
				{Title: "ID", Attr: "id"},
				{Title: "Name", Attr: "name"},
				{Title: "Network", Attr: "network_id"},
				{Title: "Network Type", Attr: "network_type"},
				{Title: "Segment", Attr: "segmentation_id"},
				{Title: "Physical Network", Attr: "physical_network", Long: true},
			},
		})},
		{Name: "network segment set", Build: n.Set(extra(noun.Writing{
			Short: "Change a network segment",
			Args:  []command.Arg{n.Ref("<network-segment>", "change")}, RefArg: "<network-segment>",
			Fields: []noun.Field{
				description("network segment"),
				noun.String("name", "<name>", "name", "Rename the network segment"),
				{Flag: command.Flag{Name: "segment", Value: "<segment>", Type: command.Int, Koc: true, Help: "VLAN or tunnel id of the segment"}, Attr: "segmentation_id"},
			},
		}))},
		{Name: "network segment show", Build: n.Show(noun.Showing{
			Short: "Show a network segment", Arg: n.Ref("<network-segment>", "show"), Fields: shown,
		})},
	}
}

func segmentRangeCommands() []command.Entry {
	n := segmentRanges()
	shown := fields(append(asIs("default", "id", "maximum", "minimum", "name", "network_type", "physical_network", "project_id", "shared"),
		noun.Column{Title: "available", Cell: ranges}, noun.Column{Title: "used", Cell: usedRanges})...)
	return []command.Entry{
		{Name: "network segment range create", Build: n.Create(extra(noun.Writing{
			Short: "Create a range of segment ids",
			Args:  []command.Arg{{Name: "<name>", Help: "Name of the new range"}}, NameArg: "<name>",
			Fields: slices.Concat([]noun.Field{
				{Flag: command.Flag{Name: "private", Help: "Keep the range for one project"}, Attr: "-"},
				{Flag: command.Flag{Name: "shared", Help: "Let all projects take from the range, as is the default"}, Attr: "-"},
				must(noun.OneOf("network-type", "<network-type>", "", "How the segments are made", "geneve", "gre", "vlan", "vxlan")),
				noun.String("physical-network", "<physical-network-name>", "", "Physical network below, for VLANs only"),
				must(noun.Number("minimum", "<minimum-segmentation-id>", "", "First VLAN or tunnel id of the range")),
				must(noun.Number("maximum", "<maximum-segmentation-id>", "", "Last VLAN or tunnel id of the range")),
			}, noun.InProject("Project that the range is for, with --private")),
			Exclusive: []string{"private shared"},
			Body: func(ctx context.Context, c *command.Call, body *noun.Object, _ noun.Object) error {
				switch {
				case c.Given("project") && !c.Is("private"):
					return command.Reject("--project is for a range of one project: give --private too")
				case c.Given("physical-network") && c.Text("network-type") != "vlan":
					return command.Reject("--physical-network is for VLANs: it does not go with --network-type %s", c.Text("network-type"))
				}
				body.Set("shared", !c.Is("private"))
				if c.Is("private") && !c.Given("project") {
					token, err := c.Cloud.Token(ctx)
					if err != nil {
						return err
					}
					body.Set("project_id", token.ProjectID)
				}
				return nil
			},
			Shown: shown,
		}))},
		{Name: "network segment range delete", Build: n.Delete(noun.Deleting{
			Short: "Delete ranges of segment ids",
			Arg:   command.Arg{Name: "<network-segment-range>", Help: "Ranges to delete, by name or id", Many: true, Complete: n.Name},
			Flags: []command.Flag{command.Parallel()},
		})},
		{Name: "network segment range list", Build: n.List(noun.Listing{
			Short: "List ranges of segment ids",
			Flags: []command.Flag{
				{Name: "used", Help: "Only ranges with ids in use; shows more columns"},
				{Name: "unused", Help: "Only ranges without ids in use; shows more columns"},
				{Name: "available", Help: "Only ranges with free ids; shows more columns"},
				{Name: "unavailable", Help: "Only ranges without free ids; shows more columns"},
				{Name: "long", Help: "Show more columns"},
			},
			NoLong:    true,
			Exclusive: []string{"used unused", "available unavailable"},
			Keep: func(c *command.Call, o noun.Object) bool {
				free, taken := len(items(o, "available")) > 0, len(o.Object("used")) > 0
				return !(c.Is("available") && !free || c.Is("unavailable") && free || c.Is("used") && !taken || c.Is("unused") && taken)
			},
			KeepNeeds: []string{"available", "used"},
			Prepare: func(_ context.Context, c *command.Call, columns []noun.Column) ([]noun.Column, error) {
				if c.Is("long") || c.Is("used") || c.Is("unused") || c.Is("available") || c.Is("unavailable") {
					columns = append(columns, noun.Column{Title: "Used", Attr: "used", Cell: usedRanges}, noun.Column{Title: "Available", Attr: "available", Cell: ranges})
				}
				return columns, nil
			},
			Columns: []noun.Column{
				{Title: "ID", Attr: "id"},
				{Title: "Name", Attr: "name"},
				{Title: "Default", Attr: "default"},
				{Title: "Shared", Attr: "shared"},
				{Title: "Project ID", Attr: "project_id"},
				{Title: "Network Type", Attr: "network_type"},
				{Title: "Physical Network", Attr: "physical_network"},
				{Title: "Minimum ID", Attr: "minimum"},
				{Title: "Maximum ID", Attr: "maximum"},
			},
		})},
		{Name: "network segment range set", Build: n.Set(extra(noun.Writing{
			Short: "Change a range of segment ids",
			Args:  []command.Arg{n.Ref("<network-segment-range>", "change")}, RefArg: "<network-segment-range>",
			Fields: []noun.Field{
				noun.String("name", "<name>", "name", "Rename the range"),
				noun.Number("minimum", "<minimum-segmentation-id>", "", "First VLAN or tunnel id of the range"),
				noun.Number("maximum", "<maximum-segmentation-id>", "", "Last VLAN or tunnel id of the range"),
			},
			Body: func(_ context.Context, c *command.Call, _ *noun.Object, _ noun.Object) error {
				if c.Given("minimum") != c.Given("maximum") {
					return command.Reject("--minimum and --maximum go together")
				}
				return nil
			},
		}))},
		{Name: "network segment range show", Build: n.Show(noun.Showing{
			Short: "Show a range of segment ids", Arg: n.Ref("<network-segment-range>", "show"), Fields: shown,
		})},
	}
}

// ranges puts ids that follow each other together: 1-5, 7.
func ranges(v any) any {
	all, isList := v.([]any)
	if !isList {
		return v
	}
	ids := make([]int64, len(all))
	for i, item := range all {
		ids[i], _ = strconv.ParseInt(noun.Text(item), 10, 64)
	}
	slices.Sort(ids)
	out := []any{}
	for i := 0; i < len(ids); {
		first := i
		for i++; i < len(ids) && ids[i] == ids[i-1]+1; i++ {
		}
		text := strconv.FormatInt(ids[first], 10)
		if i-1 > first {
			text += "-" + strconv.FormatInt(ids[i-1], 10)
		}
		out = append(out, text)
	}
	return out
}

// usedRanges turns {id: project} into {project: ranges}.
func usedRanges(v any) any {
	used, isObject := v.(render.Ordered)
	if !isObject {
		return v
	}
	by := noun.Object{}
	for _, f := range used {
		project := noun.Text(f.Value)
		by.Set(project, append(items(by, project), f.Name))
	}
	for i := range by {
		by[i].Value = ranges(by[i].Value)
	}
	slices.SortStableFunc(by, func(a, b render.Field) int { return cmp.Compare(a.Name, b.Name) })
	return render.Ordered(by)
}
