package compute

import (
	"context"
	"math"
	"net/url"
	"time"

	"github.com/holdfast-ops/holdfast/internal/koc/cloud"
	"github.com/holdfast-ops/holdfast/internal/koc/command"
	"github.com/holdfast-ops/holdfast/internal/koc/noun"
	"github.com/holdfast-ops/holdfast/internal/koc/render"
)

func usageCommands() []command.Entry {
	return []command.Entry{
		{Name: "usage list", Build: usageList},
		{Name: "usage show", Build: usageShow},
	}
}

const dateLayout = "2006-01-02"

func usageFlags() []command.Flag {
	return []command.Flag{
		{Name: "start", Value: "<start>", Help: "First day, such as 2026-01-20 (default: four weeks ago)"},
		{Name: "end", Value: "<end>", Help: "Day before which it ends, such as 2026-02-20 (default: tomorrow)"},
	}
}

// period is what of time a usage is asked for.
type period struct{ start, end time.Time }

func readPeriod(c *command.Call) (period, error) {
	now := time.Now().UTC()
	p := period{now.AddDate(0, 0, -28), now.AddDate(0, 0, 1)}
	for flag, at := range map[string]*time.Time{"start": &p.start, "end": &p.end} {
		if text := c.Text(flag); text != "" {
			t, err := time.Parse(dateLayout, text)
			if err != nil {
				return p, command.Reject("--%s %q is no date: write it as 2026-01-20", flag, text)
			}
			*at = t
		}
	}
	return p, nil
}

// query is how the service wants to be asked.
func (p period) query() url.Values {
	const layout = "2006-01-02T15:04:05.999999"
	return url.Values{"start": {p.start.Format(layout)}, "end": {p.end.Format(layout)}}
}

// announce tells of what time the usage is, where upstream prints it.
func (p period) announce(c *command.Call, of string) {
	if c.Output.Format != "" && c.Output.Format != "table" {
		return
	}
	say := c.Notef
	if c.Compat() {
		say = c.Printf
	}
	say("Usage from %s to %s%s: \n", p.start.Format(dateLayout), p.end.Format(dateLayout), of)
}

func usageColumns(names map[string]string) []noun.Column {
	return []noun.Column{
		{Title: "Project", Attr: "tenant_id", Cell: func(v any) any {
			id := noun.Text(v)
			if name := names[id]; name != "" {
				return render.TextCell(name, v)
			}
			return render.TextCell(id, v)
		}},
		{Title: "Servers", Attr: "server_usages", Cell: countCell},
		{Title: "RAM MB-Hours", Attr: "total_memory_mb_usage", Cell: hoursCell},
		{Title: "CPU Hours", Attr: "total_vcpus_usage", Cell: hoursCell},
		{Title: "Disk GB-Hours", Attr: "total_local_gb_usage", Cell: hoursCell},
	}
}

// countCell is a list by its length.
func countCell(v any) any {
	if v == nil {
		return ""
	}
	return render.Cell{Machine: v, Format: func(v any) any {
		list, _ := v.([]any)
		return len(list)
	}}
}

// hoursCell is a number to two places.
func hoursCell(v any) any {
	if v == nil {
		return ""
	}
	return render.Cell{Machine: v, Format: func(v any) any {
		switch n := v.(type) {
		case float64:
			return math.Round(n*100) / 100
		case int64:
			return float64(n)
		}
		return v
	}}
}

func usageList() command.Command {
	return command.Command{
		Short: "List what projects have used of the compute service",
		Flags: usageFlags(), Output: command.Listed,
		Run: func(ctx context.Context, c *command.Call) error {
			p, err := readPeriod(c)
			if err != nil {
				return err
			}
			s, err := openServers(ctx, c, "")
			if err != nil {
				return err
			}
			all, err := s.usages(ctx, p)
			if err != nil {
				return err
			}
			if len(all) > 0 {
				p.announce(c, "")
			}
			return noun.PrintList(c, usageColumns(projectNames(ctx, c)), noun.Each(all))
		},
	}
}

// usages are the usages of all projects. Pages come by server, so that a project
// may be in several of them, each with a part.
func (s *servers) usages(ctx context.Context, p period) ([]noun.Object, error) {
	q := p.query()
	q.Set("detailed", "1")
	var all []noun.Object
	at := map[string]int{}
	for o, err := range noun.Pages(ctx, s.Service, "/os-simple-tenant-usage", q, "tenant_usages", 0, nil) {
		if err != nil {
			return nil, err
		}
		id := o.Text("tenant_id")
		i, known := at[id]
		if !known {
			at[id] = len(all)
			all = append(all, o)
			continue
		}
		all[i] = addUsage(all[i], o)
	}
	return all, nil
}

func addUsage(sum, more noun.Object) noun.Object {
	servers, _ := sum.Get("server_usages").([]any)
	others, _ := more.Get("server_usages").([]any)
	sum.Set("server_usages", append(servers, others...))
	for _, name := range [...]string{"total_hours", "total_memory_mb_usage", "total_vcpus_usage", "total_local_gb_usage"} {
		sum.Set(name, number(sum.Get(name))+number(more.Get(name)))
	}
	return sum
}

func number(v any) float64 {
	switch n := v.(type) {
	case float64:
		return n
	case int64:
		return float64(n)
	}
	return 0
}

// projectNames are the names of projects by id, as far as the user may know them.
func projectNames(ctx context.Context, c *command.Call) map[string]string {
	names := map[string]string{}
	for o, err := range noun.Project().All(ctx, c, nil) {
		if err != nil {
			return names
		}
		names[o.Text("id")] = o.Text("name")
	}
	return names
}

func usageShow() command.Command {
	return command.Command{
		Short: "Show what a project has used of the compute service",
		Flags: append([]command.Flag{
			{Name: "project", Value: "<project>", Help: "The project, by name or id, not the own one", Complete: "project"},
		}, usageFlags()...),
		Output: command.Shown,
		Run: func(ctx context.Context, c *command.Call) error {
			p, err := readPeriod(c)
			if err != nil {
				return err
			}
			var project string
			if ref := c.Text("project"); ref != "" {
				if project, err = noun.Project().In(ctx, c, ref, ""); err != nil {
					return err
				}
			} else {
				token, err := c.Cloud.Token(ctx)
				if err != nil {
					return err
				}
				project = token.ProjectID
			}
			s, err := openServers(ctx, c, "")
			if err != nil {
				return err
			}
			sum, err := s.usage(ctx, project, p)
			if err != nil {
				return err
			}
			p.announce(c, " on project "+project)
			return c.Show(noun.Fields{Columns: usageColumns(nil)}.Fields(c, sum))
		},
	}
}

// usage is the usage of one project, all pages of it together.
func (s *servers) usage(ctx context.Context, project string, p period) (noun.Object, error) {
	var sum noun.Object
	q := p.query()
	for {
		answer, err := s.ask(ctx, cloud.Request{Path: "/os-simple-tenant-usage/" + url.PathEscape(project), Query: q})
		if err != nil {
			return nil, err
		}
		part := answer.Object("tenant_usage")
		if sum == nil {
			sum = part
		} else {
			sum = addUsage(sum, part)
		}
		servers := part.Objects("server_usages")
		if !s.atLeast("2.40") || len(servers) == 0 || len(answer.Objects("tenant_usage_links")) == 0 {
			return sum, nil
		}
		q.Set("marker", servers[len(servers)-1].Text("instance_id"))
	}
}
