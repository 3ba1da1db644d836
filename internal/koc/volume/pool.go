package volume

import (
	"context"
	"net/url"
	"slices"
	"strings"

	"github.com/holdfast-ops/holdfast/internal/koc/cloud"
	"github.com/holdfast-ops/holdfast/internal/koc/command"
	"github.com/holdfast-ops/holdfast/internal/koc/noun"
)

// escape makes host@backend#pool a part of a path.
func escape(host string) string { return strings.ReplaceAll(url.PathEscape(host), "/", "%2F") }

func listPools() command.Command {
	return command.Command{
		Short: "List the storage pools that the scheduler knows",
		Long: "Capacity and free space are in GiB, as the driver of the backend told the scheduler. Some drivers report the " +
			"total of all disks and the free space after replication: such a pair is no measure of how full the pool is. " +
			"Volume backend capability show tells what a driver says itself.",
		Flags: []command.Flag{
			{Name: "long", Help: "Show all that the backends report"},
			{Name: "name", Value: "<name>", Koc: true, Help: "Only the pool of this name (needs 3.28)"},
		},
		Output: command.Listed,
		Run: func(ctx context.Context, c *command.Call) error {
			q := url.Values{}
			if c.Is("long") || !c.Compat() {
				q.Set("detail", "True")
			}
			if c.Given("name") {
				if err := guard(ctx, c, "3.28", "name"); err != nil {
					return err
				}
				q.Set("name", c.Text("name"))
			}
			n := noun.Noun{Service: "volume", Key: "-"}
			answer, err := n.Send(ctx, c, cloud.Request{Path: "/scheduler-stats/get_pools", Query: q})
			if err != nil {
				return err
			}
			pools := answer.Objects("pools")
			for i, p := range pools {
				pools[i] = append(noun.Object{{Name: "name", Value: p.Get("name")}}, p.Object("capabilities")...)
			}
			return noun.PrintList(c, poolColumns(c, pools), noun.Each(pools))
		},
	}
}

func poolColumns(c *command.Call, pools []noun.Object) []noun.Column {
	all := columns("Name", "name")
	switch {
	case c.Is("long"):
		all = append(all, columns("Protocol", "storage_protocol", "Thick", "thick_provisioning_support", "Thin", "thin_provisioning_support", "Volumes", "total_volumes", "Capacity", "total_capacity_gb",
			"Allocated", "allocated_capacity_gb", "Max Over Ratio", "max_over_subscription_ratio")...)
	case !c.Compat():
		all = append(all, columns("Protocol", "storage_protocol", "Capacity", "total_capacity_gb")...)
	}
	if !c.Compat() {
		all = append(all, columns("Free", "free_capacity_gb")...)
	}
	if c.Is("long") && !c.Compat() {
		all = append(all, restOf(pools, all)...)
	}
	for i := range all {
		all[i] = or(all[i])
	}
	return all
}

// restOf are the columns of what pools report besides, by name.
func restOf(pools []noun.Object, known []noun.Column) []noun.Column {
	var names []string
	for _, p := range pools {
		for _, f := range p {
			if !slices.ContainsFunc(known, func(col noun.Column) bool { return col.Attr == f.Name }) && f.Name != "pool_name" {
				names = append(names, f.Name)
			}
		}
	}
	slices.Sort(names)
	var out []noun.Column
	for _, name := range slices.Compact(names) {
		out = append(out, noun.Column{Title: name, Attr: name})
	}
	return out
}
