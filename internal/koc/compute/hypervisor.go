package compute

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/holdfast-ops/holdfast/internal/koc/cloud"
	"github.com/holdfast-ops/holdfast/internal/koc/command"
	"github.com/holdfast-ops/holdfast/internal/koc/noun"
	"github.com/holdfast-ops/holdfast/internal/koc/render"
)

func hypervisorCommands() []command.Entry {
	return []command.Entry{
		{Name: "hypervisor list", Build: hypervisorList},
		{Name: "hypervisor show", Build: hypervisorShow},
		{Name: "hypervisor stats show", Build: hypervisorStatsShow},
	}
}

// openHypervisors opens the compute service at the first microversion unless the
// user asks for another: from 2.88 on hypervisors tell nothing of their usage.
func openHypervisors(ctx context.Context, c *command.Call) (*servers, error) {
	s, err := openServers(ctx, c, "")
	if err == nil {
		s.Service = s.Default("2.1")
	}
	return s, err
}

func hypervisorList() command.Command {
	return command.Command{
		Short: "List hypervisors, or with --gauge how much of each is allocated",
		Long: "A gauge is the share of what a host has that its servers were promised, as placement counts it. Bars are yellow from --warn-pct on and red from --crit-pct on. " +
			"OC is the number of virtual processors for each real one. With --effective a host has what may be promised: all without the reserve, times the allocation ratio. " +
			"With --check-actual the node_exporter of each host is asked what is really used. In json, yaml, csv and value the numbers are there, without bars.",
		Flags: append([]command.Flag{
			{Name: "matching", Value: "<hostname>", Help: "Those whose host name contains this"},
			{Name: "marker", Value: "<marker>", Help: "Begin after the hypervisor of this id (microversion 2.33)"},
			{Name: "limit", Value: "<limit>", Type: command.Int, Help: "Stop after this many (microversion 2.33)"},
			{Name: "long", Help: "Show more columns"},
		}, gaugeFlags()...),
		Output: command.Listed,
		Run: func(ctx context.Context, c *command.Call) error {
			if c.Given("matching") && (c.Given("marker") || c.Given("limit")) {
				if c.Compat() {
					return errors.New("--matching is not compatible with --marker or --limit")
				}
				return command.Reject("--matching excludes --marker and --limit")
			}
			if c.Is("gauge") {
				return listGauges(ctx, c)
			}
			if err := gaugeOnly(c); err != nil {
				return err
			}
			return listHypervisors(ctx, c)
		},
	}
}

func hypervisorColumns() []noun.Column {
	return []noun.Column{
		{Title: "ID", Attr: "id", Cell: orEmpty},
		{Title: "Hypervisor Hostname", Attr: "hypervisor_hostname", Cell: orEmpty},
		{Title: "Hypervisor Type", Attr: "hypervisor_type", Cell: orEmpty},
		{Title: "Host IP", Attr: "host_ip", Cell: orEmpty},
		{Title: "State", Attr: "state", Cell: orEmpty},
		{Title: "vCPUs Used", Attr: "vcpus_used", Cell: orEmpty, Long: true},
		{Title: "vCPUs", Attr: "vcpus", Cell: orEmpty, Long: true},
		{Title: "Memory MB Used", Attr: "memory_mb_used", Cell: orEmpty, Long: true},
		{Title: "Memory MB", Attr: "memory_mb", Cell: orEmpty, Long: true},
	}
}

// orEmpty is the cell of an attribute that the service may not have sent.
func orEmpty(v any) any {
	if v == nil {
		return ""
	}
	return v
}

func listHypervisors(ctx context.Context, c *command.Call) error {
	s, err := openHypervisors(ctx, c)
	if err != nil {
		return err
	}
	for _, flag := range [...]string{"marker", "limit"} {
		if err := s.needsGiven("2.33", flag); err != nil {
			return err
		}
	}
	columns := noun.Pick(c, hypervisorColumns())
	q := url.Values{}
	path, matching := "/os-hypervisors/detail", c.Text("matching")
	switch {
	case matching != "" && c.Compat() && s.atLeast("2.53"):
		path = "/os-hypervisors"
		q.Set("hypervisor_hostname_pattern", matching)
	case matching != "" && c.Compat():
		path = "/os-hypervisors/" + url.PathEscape(matching) + "/search"
	}
	if marker := c.Text("marker"); marker != "" {
		q.Set("marker", marker)
	}
	limit := max(c.Int("limit"), 0)
	if limit > 0 {
		q.Set("limit", c.Text("limit"))
	}
	pages := noun.Pages(ctx, s.Service, path, q, "hypervisors", limit, nil)
	if matching == "" || c.Compat() {
		return noun.PrintList(c, columns, pages)
	}
	// The service searches without telling more than names: what it does is done here.
	var found []noun.Object
	for o, err := range pages {
		if err != nil {
			return err
		}
		if strings.Contains(strings.ToLower(o.Text("hypervisor_hostname")), strings.ToLower(matching)) {
			found = append(found, o)
		}
	}
	if len(found) == 0 {
		return fmt.Errorf("no hypervisor matches %q", matching)
	}
	return noun.PrintList(c, columns, noun.Each(found))
}

// findHypervisor returns the hypervisor that a reference, an id or a host name, means.
func (s *servers) findHypervisor(ctx context.Context, ref string) (noun.Object, error) {
	var named []noun.Object
	for o, err := range noun.Pages(ctx, s.Service, "/os-hypervisors", nil, "hypervisors", 0, nil) {
		if err != nil {
			return nil, err
		}
		if o.Text("id") == ref {
			return o, nil
		}
		if o.Text("hypervisor_hostname") == ref {
			named = append(named, o)
		}
	}
	switch len(named) {
	case 0:
		return nil, &noun.NotFound{Noun: "hypervisor", Ref: ref}
	case 1:
		return named[0], nil
	}
	several := &noun.Ambiguous{Noun: "hypervisor", Ref: ref}
	for _, o := range named {
		several.IDs = append(several.IDs, o.Text("id"))
	}
	return nil, several
}

func hypervisorShow() command.Command {
	return command.Command{
		Short:  "Show a hypervisor",
		Args:   []command.Arg{{Name: "<hypervisor>", Help: "The hypervisor to show, by host name or id", Complete: "hypervisor"}},
		Output: command.Shown,
		Run: func(ctx context.Context, c *command.Call) error {
			s, err := openHypervisors(ctx, c)
			if err != nil {
				return err
			}
			found, err := s.findHypervisor(ctx, c.Text("<hypervisor>"))
			if err != nil {
				return err
			}
			id := url.PathEscape(found.Text("id"))
			answer, err := s.ask(ctx, cloud.Request{Path: "/os-hypervisors/" + id})
			if err != nil {
				return err
			}
			o := answer.Object("hypervisor")
			if err := s.completeHypervisor(ctx, id, &o); err != nil {
				return err
			}
			return c.Show(noun.Fields{
				Columns: []noun.Column{{Title: "cpu_info", Cell: dictCell}},
				Rest:    true, Hide: []string{"service"}, Sort: true, Absent: true,
			}.Fields(c, o))
		},
	}
}

// completeHypervisor adds what other requests tell of a hypervisor, and makes of
// its attributes what is shown.
func (s *servers) completeHypervisor(ctx context.Context, id string, o *noun.Object) error {
	names, err := s.aggregatesOf(ctx, o.Text("service.host"))
	if err != nil {
		return err
	}
	o.Set("aggregates", names)
	uptime := o.Text("uptime") // part of the hypervisor from 2.88 on
	if _, there := o.Lookup("uptime"); !there {
		answer, err := s.ask(ctx, cloud.Request{Path: "/os-hypervisors/" + id + "/uptime"})
		switch {
		case isStatus(err, http.StatusNotImplemented, http.StatusBadRequest): // the driver cannot tell, or the host is down
		case err != nil:
			return err
		}
		uptime = answer.Text("hypervisor.uptime")
	}
	said := regexp.MustCompile(`^\s*(.+)\sup\s+(.+),\s+(.+)\susers?,\s+load average:\s(.+)`)
	if m := said.FindStringSubmatch(uptime); m != nil {
		for i, name := range [...]string{"host_time", "uptime", "users", "load_average"} {
			o.Set(name, m[i+1])
		}
	}
	o.Set("service_id", o.Get("service.id"))
	o.Set("service_host", o.Get("service.host"))
	if text, ok := o.Get("cpu_info").(string); ok {
		var info noun.Object
		if text != "" {
			if err := json.Unmarshal([]byte(text), &info); err != nil {
				return fmt.Errorf("read cpu_info of the hypervisor: %w", err)
			}
		}
		o.Set("cpu_info", render.Ordered(info))
	}
	return nil
}

// aggregatesOf are the names of the aggregates that a host is in. The host of a
// cell of old is written cell@host.
func (s *servers) aggregatesOf(ctx context.Context, host string) ([]any, error) {
	cell, inner, celled := strings.Cut(host, "@")
	names := []any{}
	for o, err := range noun.Pages(ctx, s.Service, "/os-aggregates", nil, "aggregates", 0, nil) {
		switch {
		case err != nil:
			return nil, err
		case celled && strings.Contains(o.Text("name"), cell) && slices.Contains(o.Texts("hosts"), inner),
			!celled && slices.Contains(o.Texts("hosts"), host):
			names = append(names, o.Get("name"))
		}
	}
	return names, nil
}

func hypervisorStatsShow() command.Command {
	return command.Command{
		Short:  "Show what all hypervisors have together",
		Output: command.Shown,
		Run: func(ctx context.Context, c *command.Call) error {
			s, err := openHypervisors(ctx, c)
			if err != nil {
				return err
			}
			if err := s.until("2.87", "hypervisor stats show"); err != nil {
				return err
			}
			o, err := s.ask(ctx, cloud.Request{Path: "/os-hypervisors/statistics"})
			if err != nil {
				return err
			}
			return c.Show(noun.Fields{Rest: true, Sort: true}.Fields(c, o.Object("hypervisor_statistics")))
		},
	}
}
