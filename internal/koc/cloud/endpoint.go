package cloud

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// kind is a type of service koc knows.
type kind struct {
	typ string // as koc calls it
	// types are what catalogues call it, the preferred first.
	types string
	// version is appended to an endpoint that has none.
	version string
	// setting begins the names of its settings: compute_api_version.
	setting string
	// def is the microversion koc asks for by itself, compat that of the openstack client.
	def, compat string
}

var kinds = [...]kind{
	{typ: "identity", types: "identity", version: "v3", setting: "identity"},
	{typ: "compute", types: "compute", version: "v2.1", setting: "compute", def: "latest", compat: "2.1"},
	{typ: "network", types: "network", version: "v2.0", setting: "network"},
	{typ: "volume", types: "volumev3 block-storage block-store volume", version: "v3", setting: "volume", def: "latest", compat: "3.0"},
	{typ: "image", types: "image", version: "v2", setting: "image"},
	{typ: "placement", types: "placement", setting: "placement", def: "latest", compat: "1.0"},
	{typ: "baremetal", types: "baremetal bare-metal", version: "v1", setting: "baremetal", def: "latest", compat: "1.78"},
	{typ: "baremetal-introspection", types: "baremetal-introspection", version: "v1", setting: "baremetal_introspection"},
	{typ: "dns", types: "dns", version: "v2", setting: "dns"},
	{typ: "load-balancer", types: "load-balancer", version: "v2.0", setting: "loadbalancer"},
	{typ: "key-manager", types: "key-manager", version: "v1", setting: "key_manager"},
	{typ: "object-store", types: "object-store", setting: "object_store"},
	{typ: "orchestration", types: "orchestration", setting: "orchestration"},
	{typ: "keyvrm", types: "keyvrm", version: "v1", setting: "keyvrm"},
}

// kindOf finds a service by its type or one of its other names.
func kindOf(typ string) kind {
	for _, k := range kinds[:] {
		if k.typ == typ || slices.Contains(strings.Fields(k.types), typ) {
			return k
		}
	}
	return kind{typ: typ, types: typ, setting: strings.ReplaceAll(typ, "-", "_")}
}

// Service finds an endpoint by its type ("compute", "network", "volume", "image",
// "identity", "placement", ...), authenticating first.
func (c *Cloud) Service(ctx context.Context, typ string) (Service, error) {
	token, err := c.current(ctx)
	if err != nil {
		return Service{}, err
	}
	k := kindOf(typ)
	found, err := c.find(token, k)
	if err != nil {
		return Service{}, err
	}
	if u, err := url.Parse(found); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return Service{}, fmt.Errorf("the address %q of the %s service, as the catalogue or the settings have it, is none of http or https", redactURLs(found), k.typ)
	}
	s := Service{Type: k.typ, Endpoint: versioned(found, k), cloud: c}
	if s.Endpoint != strings.TrimRight(found, "/") && k.typ != "identity" {
		s.base = found
		c.known.mu.Lock()
		if there := c.known.moved[found]; there != "" {
			s.Endpoint, s.base = there, ""
		}
		c.known.mu.Unlock()
	}
	s.Microversion, s.pinned = c.settings.microversion(k, c.options.Compat)
	return s, nil
}

// find returns the address of a service as the settings or the catalogue have it.
func (c *Cloud) find(token *Token, k kind) (string, error) {
	s := c.settings
	for _, t := range append([]string{k.setting, k.typ}, strings.Fields(k.types)...) {
		if u := s.text(strings.ReplaceAll(t, "-", "_") + "_endpoint_override"); u != "" {
			return fill(u, token), nil
		}
	}
	if u := s.text("endpoint"); u != "" {
		switch s.authType() {
		case "none", "http_basic", "admin_token":
			return fill(u, token), nil
		}
	}
	visible := strings.TrimSuffix(or(s.text(k.setting+"_interface"), or(s.text("interface"), "public")), "URL")
	region := or(s.text(k.setting+"_region_name"), s.text("region_name"))
	var entries []CatalogEntry
	for t := range strings.FieldsSeq(k.types) {
		for _, e := range token.Catalog {
			if e.Type == t {
				entries = append(entries, e)
			}
		}
	}
	var seen []string
	for _, entry := range entries {
		for _, e := range entry.Endpoints {
			if e.URL == "" {
				continue // which is no endpoint
			}
			if e.Interface == visible && (region == "" || e.Region == region || e.RegionID == region) {
				return e.URL, nil
			}
			seen = append(seen, e.Interface+" in "+e.Region)
		}
	}
	if k.typ == "identity" && len(entries) == 0 {
		return c.keystone(), nil
	}
	if len(entries) > 0 && len(seen) == 0 {
		return "", fmt.Errorf("the catalogue has no address of the %s service: set %s_endpoint_override", k.typ, k.setting)
	}
	return "", c.missing(token, k, visible, region, seen)
}

func (c *Cloud) missing(token *Token, k kind, visible, region string, seen []string) error {
	switch {
	case len(seen) > 0:
		slices.Sort(seen)
		where := ""
		if region != "" {
			where = fmt.Sprintf(" in region %q", region)
		}
		return fmt.Errorf("no %s endpoint of the %s service%s; the catalogue has: %s: set --os-region-name or --os-interface",
			visible, k.typ, where, strings.Join(slices.Compact(seen), ", "))
	case len(token.Catalog) == 0:
		return fmt.Errorf("no endpoint of the %s service: the token has no catalogue, as when it has no scope: "+
			"give --os-project-name, --os-domain-name or --os-system-scope, or set %s_endpoint_override", k.typ, k.setting)
	}
	var types []string
	for _, e := range token.Catalog {
		types = append(types, e.Type)
	}
	slices.Sort(types)
	return &Absent{Service: k.typ, Types: slices.Compact(types)}
}

// Absent says that the catalogue of the cloud has no service of a type.
type Absent struct { //nolint:errname // reads as cloud.Absent
	Service string
	Types   []string // of the catalogue
}

// Error implements error.
func (e *Absent) Error() string {
	return fmt.Sprintf("this cloud has no %s service: the catalogue has %s", e.Service, strings.Join(e.Types, ", "))
}

// fill replaces the marks for the project in an address.
func fill(u string, token *Token) string {
	if !strings.ContainsAny(u, "%$") {
		return u
	}
	return strings.NewReplacer("%(project_id)s", token.ProjectID, "%(tenant_id)s", token.ProjectID,
		"$(project_id)s", token.ProjectID, "$(tenant_id)s", token.ProjectID).Replace(u)
}

// versioned appends the version a service is known to have to an address without one.
func versioned(address string, k kind) string {
	address = strings.TrimRight(address, "/")
	if k.typ == "identity" {
		return identityRoot(address)
	}
	if k.version == "" || hasVersion(address) {
		return address
	}
	return address + "/" + k.version
}

// hasVersion reports whether a segment of the path is a version: /v2.1, /v3/PROJECT.
func hasVersion(address string) bool {
	_, path, ok := strings.Cut(address, "://")
	if !ok {
		path = address
	}
	for i, segment := range strings.Split(path, "/") {
		if i > 0 && isVersion(segment) {
			return true
		}
	}
	return false
}

func isVersion(segment string) bool {
	return len(segment) > 1 && segment[0] == 'v' && segment[1] >= '1' && segment[1] <= '9' &&
		strings.Trim(segment[1:], "0123456789.") == ""
}
