package common

import (
	"cmp"
	"context"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/holdfast-ops/holdfast/internal/koc/cloud"
	"github.com/holdfast-ops/holdfast/internal/koc/command"
	"github.com/holdfast-ops/holdfast/internal/koc/noun"
	"github.com/holdfast-ops/holdfast/internal/koc/render"
)

func versionsShow() command.Command {
	return command.Command{
		Short: "Show the API versions that the services of the cloud offer",
		Flags: []command.Flag{
			{Name: "all-interfaces", Help: "Ask the endpoints of all interfaces"},
			{Name: "interface", Value: "<interface>", Default: "public", Help: "Ask the endpoints of this interface"},
			{Name: "region-name", Value: "<region_name>", Help: "Ask the endpoints of this region"},
			{Name: "service", Value: "<service>", Help: "Ask the services of this type"},
			{Name: "status", Value: "<status>", Help: "Show the versions of this status: CURRENT, SUPPORTED, DEPRECATED or EXPERIMENTAL"},
		},
		Exclusive: []string{"all-interfaces interface"},
		Output:    command.Listed,
		Run:       runVersions,
	}
}

// endpoint is an address whose versions are asked.
type endpoint struct{ region, service, face, url string }

func runVersions(ctx context.Context, c *command.Call) error {
	token, err := c.Cloud.Token(ctx)
	if err != nil {
		return err
	}
	var ends []endpoint
	for _, entry := range token.Catalog {
		if s := c.Text("service"); s != "" && s != entry.Type && s != entry.Name && noun.ServiceType(s) != noun.ServiceType(entry.Type) {
			continue
		}
		for _, e := range entry.Endpoints {
			region := cmp.Or(e.Region, e.RegionID)
			if (c.Is("all-interfaces") || e.Interface == c.Text("interface")) && (c.Text("region-name") == "" || region == c.Text("region-name")) {
				ends = append(ends, endpoint{region, noun.ServiceType(entry.Type), e.Interface, e.URL})
			}
		}
	}
	ends = grouped(ends)
	found := make([][][]any, len(ends))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(8)
	for i, e := range ends {
		group.Go(func() error {
			versions, err := versionsOf(ctx, c, e)
			if err != nil {
				if ctx.Err() != nil {
					return ctx.Err()
				}
				c.Notef("versions of the %s service not read: %v\n", e.service, err)
				versions = [][]any{versionOfAddress(e)}
			}
			found[i] = versions
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	var rows [][]any
	for _, versions := range found {
		for _, row := range versions {
			if status := c.Text("status"); status == "" || strings.EqualFold(status, noun.Text(row[3])) {
				rows = append(rows, row)
			}
		}
	}
	return c.List([]render.Column{
		{Title: "Region Name"},
		{Title: "Service Type"},
		{Title: "Version"},
		{Title: "Status"},
		{Title: "Endpoint"},
		{Title: "Min Microversion"},
		{Title: "Max Microversion"},
	}, render.Rows(rows))
}

// grouped puts endpoints by region, interface and service, each in the order in
// which the catalog first speaks of it. Of two endpoints that share all three the
// later one counts.
func grouped(ends []endpoint) []endpoint {
	first := func(same func(endpoint) bool) int { return slices.IndexFunc(ends, same) }
	order := func(e endpoint) [3]int {
		return [3]int{
			first(func(o endpoint) bool { return o.region == e.region }),
			first(func(o endpoint) bool { return o.region == e.region && o.face == e.face }),
			first(e.sameService),
		}
	}
	var groups []endpoint
	for i, e := range ends {
		if !slices.ContainsFunc(ends[i+1:], e.sameService) {
			groups = append(groups, e)
		}
	}
	slices.SortStableFunc(groups, func(a, b endpoint) int {
		x, y := order(a), order(b)
		return slices.Compare(x[:], y[:])
	})
	return groups
}

func (e endpoint) sameService(o endpoint) bool {
	return e.region == o.region && e.face == o.face && e.service == o.service
}

// versionsOf asks an endpoint, above the version in its address, for its
// versions. The documents of the services have the list at different places.
func versionsOf(ctx context.Context, c *command.Call, e endpoint) ([][]any, error) {
	s, err := c.Cloud.Service(ctx, "identity") // only carries the request: the address is that of the endpoint
	if err != nil {
		return nil, err
	}
	var o noun.Object
	root := aboveVersion(e.url)
	if err := s.At("").Do(ctx, cloud.Request{Path: root + "/", Into: &o, OK: []int{200, 300}}); err != nil {
		return nil, err
	}
	list := o.Objects("versions")
	if len(list) == 0 {
		list = o.Objects("versions.values")
	}
	var rows [][]any
	for _, v := range list {
		rows = append(rows, versionRow(e, root, v))
	}
	slices.SortStableFunc(rows, func(a, b []any) int { return compareVersions(noun.Text(a[2]), noun.Text(b[2])) })
	return rows, nil
}

func versionRow(e endpoint, root string, v noun.Object) []any {
	number := strings.TrimPrefix(v.Text("id"), "v")
	if !strings.Contains(number, ".") {
		number += ".0"
	}
	status := strings.ToUpper(v.Text("status"))
	if status == "STABLE" {
		status = "CURRENT"
	}
	href := root + "/"
	for _, link := range v.Objects("links") {
		if link.Text("rel") == "self" {
			if u, err := url.Parse(link.Text("href")); err == nil {
				if base, err := url.Parse(root + "/"); err == nil {
					href = base.ResolveReference(u).String()
				}
			}
		}
	}
	micro := func(names ...string) any {
		for _, name := range names {
			if text := v.Text(name); text != "" {
				return text
			}
		}
		return nil
	}
	return []any{e.region, e.service, number, status, href, micro("min_version"), micro("max_version", "version")}
}

// versionOfAddress is what the address of an endpoint tells of its version.
func versionOfAddress(e endpoint) []any {
	version, address := any(nil), e.url
	rest := strings.TrimPrefix(e.url, aboveVersion(e.url)+"/v")
	if number, _, _ := strings.Cut(rest, "/"); rest != e.url && number != "" {
		address = aboveVersion(e.url) + "/v" + number + "/"
		if !strings.Contains(number, ".") {
			number += ".0"
		}
		version = number
	}
	return []any{e.region, e.service, version, "CURRENT", address, nil, nil}
}

// aboveVersion is the address without the path from its version on.
func aboveVersion(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return strings.TrimRight(address, "/")
	}
	parts := strings.Split(strings.Trim(u.Path, "/"), "/")
	for i, p := range parts {
		if len(p) > 1 && p[0] == 'v' && p[1] >= '0' && p[1] <= '9' {
			parts = parts[:i]
			break
		}
	}
	u.Path = strings.TrimRight("/"+strings.Join(parts, "/"), "/")
	return u.String()
}

func compareVersions(a, b string) int {
	x, y := strings.Split(a, "."), strings.Split(b, ".")
	for i := range min(len(x), len(y)) {
		if d := cmp.Or(cmp.Compare(len(x[i]), len(y[i])), cmp.Compare(x[i], y[i])); d != 0 {
			return d
		}
	}
	return cmp.Compare(len(x), len(y))
}
