package cloudtest

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// kind is a collection that behaves as most do: list with filters and pages,
// create, show, update, delete.
type kind struct {
	service, path string // "network", "security-groups"
	key, keys     string // JSON envelopes; "" stands alone
	name          string // for messages
	fill          func(c *Cloud, o object)
	// detail is the suffix of the path of the full list: what servers and volumes have.
	detail string
	brief  []string // attributes of the list without it
	label  string   // attribute that is the name, "" is "name"
	params []string // query parameters that are no filters
}

// kinds is the one list of collections. A cloud makes it once: kinds are told
// apart by their address.
func kinds() []*kind {
	return []*kind{
		{service: "identity", path: "projects", key: "project", name: "project", fill: func(_ *Cloud, o object) {
			defaults(o, object{"domain_id": "default", "description": "", "enabled": true, "is_domain": false, "parent_id": "default", "tags": []any{}, "options": object{}})
		}},
		{service: "identity", path: "users", key: "user", name: "user", fill: func(_ *Cloud, o object) {
			delete(o, "password")
			defaults(o, object{"domain_id": "default", "enabled": true, "options": object{}, "password_expires_at": nil})
		}},
		{service: "identity", path: "groups", key: "group", name: "group", fill: func(_ *Cloud, o object) { defaults(o, object{"domain_id": "default", "description": ""}) }},
		{service: "identity", path: "roles", key: "role", name: "role", fill: func(_ *Cloud, o object) {
			defaults(o, object{"domain_id": nil, "description": nil, "options": object{}})
		}},
		{service: "identity", path: "domains", key: "domain", name: "domain", fill: func(_ *Cloud, o object) {
			defaults(o, object{"description": "", "enabled": true, "tags": []any{}, "options": object{}})
		}},
		{service: "identity", path: "services", key: "service", name: "service", fill: func(_ *Cloud, o object) { defaults(o, object{"enabled": true}) }},
		{service: "identity", path: "endpoints", key: "endpoint", name: "endpoint", fill: func(_ *Cloud, o object) {
			defaults(o, object{"enabled": true, "region": o["region_id"], "region_id": o["region"]})
		}},
		{service: "identity", path: "regions", key: "region", name: "region", fill: func(_ *Cloud, o object) {
			defaults(o, object{"description": "", "parent_region_id": nil})
		}},
		{service: "network", path: "networks", key: "network", name: "network", fill: func(c *Cloud, o object) {
			c.owned(o)
			defaults(o, object{
				"admin_state_up": true, "availability_zone_hints": []any{}, "availability_zones": []any{"nova"}, "ipv4_address_scope": nil,
				"ipv6_address_scope": nil, "mtu": 1450, "port_security_enabled": true, "router:external": false, "shared": false, "status": "ACTIVE",
				"subnets": []any{}, "tags": []any{}, "dns_domain": "", "provider:network_type": "vxlan", "provider:physical_network": nil,
				"provider:segmentation_id": 100 + c.serial, "qos_policy_id": nil, "l2_adjacency": true,
			})
		}},
		{service: "network", path: "subnets", key: "subnet", name: "subnet", fill: func(c *Cloud, o object) {
			c.owned(o)
			defaults(o, object{
				"enable_dhcp": true, "dns_nameservers": []any{}, "allocation_pools": []any{}, "host_routes": []any{}, "gateway_ip": firstOf(str(o["cidr"])), "tags": []any{},
				"ipv6_ra_mode": nil, "ipv6_address_mode": nil, "subnetpool_id": nil, "service_types": []any{}, "segment_id": nil,
			})
			if n := c.find(c.kind("network", "networks"), str(o["network_id"])); n != nil {
				subnets, _ := n["subnets"].([]any)
				n["subnets"] = append(subnets, o["id"])
			}
		}},
		{service: "network", path: "ports", key: "port", name: "port", fill: func(c *Cloud, o object) {
			c.owned(o)
			defaults(o, object{
				"admin_state_up": true, "allowed_address_pairs": []any{}, "binding:host_id": "", "binding:profile": object{}, "binding:vif_details": object{},
				"binding:vif_type": "unbound", "binding:vnic_type": "normal", "device_id": "", "device_owner": "", "extra_dhcp_opts": []any{}, "fixed_ips": []any{},
				"mac_address": fmt.Sprintf("fa:16:3e:00:%02x:%02x", c.serial>>8&255, c.serial&255), "port_security_enabled": true, "security_groups": []any{}, "status": "DOWN", "tags": []any{},
			})
		}},
		{service: "network", path: "routers", key: "router", name: "router", fill: func(c *Cloud, o object) {
			c.owned(o)
			defaults(o, object{
				"admin_state_up": true, "availability_zone_hints": []any{}, "availability_zones": []any{}, "distributed": false, "external_gateway_info": nil,
				"ha": false, "routes": []any{}, "status": "ACTIVE", "tags": []any{}, "flavor_id": nil,
			})
		}},
		{service: "network", path: "security-groups", key: "security_group", name: "security group", fill: func(c *Cloud, o object) {
			c.owned(o)
			defaults(o, object{"security_group_rules": []any{}, "stateful": true, "tags": []any{}, "shared": false})
		}},
		{service: "network", path: "security-group-rules", key: "security_group_rule", name: "security group rule", fill: func(c *Cloud, o object) {
			c.owned(o)
			defaults(o, object{
				"direction": "ingress", "ethertype": "IPv4", "protocol": nil, "port_range_min": nil, "port_range_max": nil, "remote_ip_prefix": nil,
				"remote_group_id": nil, "remote_address_group_id": nil, "normalized_cidr": nil,
			})
		}},
		{service: "network", path: "floatingips", key: "floatingip", name: "floating ip", label: "floating_ip_address", fill: func(c *Cloud, o object) {
			c.owned(o)
			defaults(o, object{
				"floating_ip_address": fmt.Sprintf("192.0.2.%d", c.serial%250+1), "fixed_ip_address": nil, "port_id": nil, "router_id": nil, "status": "DOWN",
				"dns_domain": "", "dns_name": "", "qos_policy_id": nil, "port_details": nil, "port_forwardings": []any{}, "tags": []any{},
			})
		}},
		{service: "compute", path: "servers", key: "server", name: "server", detail: "detail", brief: []string{"id", "name", "links"}, params: []string{"all_tenants", "deleted"}, fill: newServer},
		{service: "compute", path: "flavors", key: "flavor", name: "flavor", detail: "detail", brief: []string{"id", "name", "links", "description"}, params: []string{"is_public"}, fill: func(c *Cloud, o object) {
			if o["id"] == "auto" {
				o["id"] = c.id()
			}
			defaults(o, object{
				"OS-FLV-DISABLED:disabled": false, "OS-FLV-EXT-DATA:ephemeral": 0, "os-flavor-access:is_public": true, "rxtx_factor": 1.0, "swap": 0,
				"extra_specs": object{}, "description": nil, "links": []any{},
			})
		}},
		{service: "compute", path: "os-keypairs", key: "keypair", name: "keypair", fill: func(_ *Cloud, o object) {
			o["id"] = o["name"]
			defaults(o, object{"type": "ssh", "fingerprint": "00:11:22:33", "user_id": "admin-user", "public_key": "ssh-rsa AAAA"})
		}},
		{service: "compute", path: "os-aggregates", key: "aggregate", name: "aggregate", fill: func(c *Cloud, o object) {
			o["id"] = c.serial
			defaults(o, object{"availability_zone": nil, "hosts": []any{}, "metadata": object{}, "created_at": now, "updated_at": nil, "deleted": false, "deleted_at": nil, "uuid": c.id()})
		}},
		{service: "compute", path: "os-server-groups", key: "server_group", name: "server group", params: []string{"all_projects"}, fill: func(c *Cloud, o object) {
			defaults(o, object{"members": []any{}, "metadata": object{}, "project_id": c.project(), "user_id": "admin-user", "rules": object{}})
		}},
		{service: "image", path: "images", keys: "images", name: "image", params: []string{"sort", "sort_key", "sort_dir"}, fill: func(c *Cloud, o object) {
			defaults(o, object{
				"status": "queued", "visibility": "shared", "owner": c.project(), "created_at": now, "updated_at": now, "tags": []any{}, "protected": false,
				"min_disk": 0, "min_ram": 0, "size": nil, "checksum": nil, "virtual_size": nil, "os_hidden": false, "os_hash_algo": nil, "os_hash_value": nil,
				"schema": "/v2/schemas/image", "self": "/v2/images/" + str(o["id"]), "file": "/v2/images/" + str(o["id"]) + "/file", "container_format": nil, "disk_format": nil,
			})
		}},
		{service: "volume", path: "volumes", key: "volume", name: "volume", detail: "detail", brief: []string{"id", "name", "links"}, params: []string{"all_tenants"}, fill: func(c *Cloud, o object) {
			defaults(o, object{
				"status": "creating", "attachments": []any{}, "availability_zone": "nova", "bootable": "false", "consistencygroup_id": nil, "created_at": "2026-01-02T03:04:05.000000",
				"description": nil, "encrypted": false, "metadata": object{}, "migration_status": nil, "multiattach": false, "name": nil,
				"os-vol-host-attr:host": "cmp1@fake#fake", "os-vol-mig-status-attr:migstat": nil, "os-vol-mig-status-attr:name_id": nil,
				"os-vol-tenant-attr:tenant_id": c.project(), "replication_status": nil, "snapshot_id": nil, "source_volid": nil, "updated_at": nil,
				"user_id": "admin-user", "volume_type": "__DEFAULT__", "links": []any{},
			})
		}},
		{service: "volume", path: "snapshots", key: "snapshot", name: "snapshot", detail: "detail", params: []string{"all_tenants"}, fill: func(c *Cloud, o object) {
			delete(o, "force")
			defaults(o, object{
				"status": "available", "size": 1, "metadata": object{}, "created_at": now, "updated_at": now, "description": nil, "user_id": "admin-user",
				"os-extended-snapshot-attributes:progress": "100%", "os-extended-snapshot-attributes:project_id": c.project(),
			})
		}},
		{service: "volume", path: "types", key: "volume_type", name: "volume type", params: []string{"is_public"}, fill: func(_ *Cloud, o object) {
			defaults(o, object{"description": nil, "extra_specs": object{}, "is_public": true, "os-volume-type-access:is_public": true, "qos_specs_id": nil})
		}},
	}
}

// firstOf is the first address of a prefix: where its gateway is by default.
func firstOf(cidr string) any {
	prefix, err := netip.ParsePrefix(cidr)
	if err != nil {
		return nil
	}
	return prefix.Masked().Addr().Next().String()
}

func (c *Cloud) kind(service, path string) *kind {
	for _, k := range c.kinds {
		if k.service == service && k.path == path {
			return k
		}
	}
	return nil
}

func defaults(o, d object) {
	for k, v := range d {
		if _, ok := o[k]; !ok {
			o[k] = v
		}
	}
}

func str(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	default:
		return fmt.Sprint(v)
	}
}

func (c *Cloud) project() string { return str(c.find(c.kind("identity", "projects"), Project)["id"]) }

// owned adds what all things of the network service have.
func (c *Cloud) owned(o object) {
	if o["project_id"] == nil {
		o["project_id"] = o["tenant_id"]
	}
	if o["project_id"] == nil {
		o["project_id"] = c.project()
	}
	o["tenant_id"] = o["project_id"]
	defaults(o, object{"name": "", "description": "", "created_at": now, "updated_at": now, "revision_number": 1})
}

// add creates a thing.
func (c *Cloud) add(k *kind, o object) object {
	if o["id"] == nil || o["id"] == "" {
		o["id"] = c.id()
	}
	k.fill(c, o)
	c.things[k] = append(c.things[k], o)
	return o
}

// find returns a thing by its id or name.
func (c *Cloud) find(k *kind, ref string) object {
	for _, o := range c.things[k] {
		if str(o["id"]) == ref {
			return o
		}
	}
	for _, o := range c.things[k] {
		if str(o[cmp.Or(k.label, "name")]) == ref {
			return o
		}
	}
	return nil
}

func (c *Cloud) byID(k *kind, id string) object {
	for _, o := range c.things[k] {
		if str(o["id"]) == id {
			return o
		}
	}
	return nil
}

func (c *Cloud) remove(k *kind, o object) {
	o["~removed"] = true
	c.things[k] = slices.DeleteFunc(c.things[k], func(x object) bool { return str(x["id"]) == str(o["id"]) })
}

// collection serves the ordinary requests of a kind.
func (c *Cloud) collection(r *request) answer {
	k := c.kind(r.service, r.path[0])
	if k == nil {
		return refuse(r.service, http.StatusNotFound, "The resource could not be found.")
	}
	switch {
	case len(r.path) == 1 && r.Method == http.MethodGet:
		return c.listing(r, k, k.brief)
	case len(r.path) == 2 && r.path[1] == k.detail && k.detail != "":
		return c.listing(r, k, nil)
	case len(r.path) == 1 && r.Method == http.MethodPost:
		in := r.body
		if k.key != "" {
			in, _ = r.body[k.key].(object)
		}
		if in == nil {
			return refuse(r.service, http.StatusBadRequest, "Invalid input: the body has no "+k.key)
		}
		in = maps.Clone(in)
		o := c.add(k, in)
		status := http.StatusCreated
		switch {
		case k.path == "servers" || k.service == "volume":
			status = http.StatusAccepted
		case k.service == "compute":
			status = http.StatusOK
		}
		return answer{status: status, body: wrap(k, c.visible(k, o))}
	case len(r.path) == 2:
		return c.single(r, k)
	}
	return refuse(r.service, http.StatusNotFound, "The resource could not be found.")
}

func (c *Cloud) single(r *request, k *kind) answer {
	o := c.byID(k, r.path[1])
	if o == nil {
		return refuse(r.service, http.StatusNotFound, fmt.Sprintf("%s %s could not be found.", strings.ToUpper(k.name[:1])+k.name[1:], r.path[1]))
	}
	switch r.Method {
	case http.MethodGet:
		c.advance(k, o)
		if c.byID(k, r.path[1]) == nil {
			return refuse(r.service, http.StatusNotFound, k.name+" "+r.path[1]+" could not be found.")
		}
		return answer{status: http.StatusOK, body: wrap(k, c.visible(k, o))}
	case http.MethodPut, http.MethodPatch:
		in := r.body
		if k.key != "" {
			in, _ = r.body[k.key].(object)
		}
		maps.Copy(o, in)
		delete(o, "password")
		return answer{status: http.StatusOK, body: wrap(k, c.visible(k, o))}
	case http.MethodDelete:
		if k.path == "servers" || k.path == "volumes" {
			o["status"], o["~gone"] = "deleting", 1
			if k.path == "servers" {
				o["status"], o["OS-EXT-STS:task_state"] = "ACTIVE", "deleting"
			}
		} else {
			c.remove(k, o)
		}
		status := http.StatusNoContent
		if k.service == "volume" {
			status = http.StatusAccepted
		}
		return answer{status: status}
	}
	return refuse(r.service, http.StatusMethodNotAllowed, "Method not allowed")
}

// visible is a thing as it is sent: without what only we know.
func (c *Cloud) visible(_ *kind, o object) object {
	out := make(object, len(o))
	for k, v := range o {
		if !strings.HasPrefix(k, "~") {
			out[k] = v
		}
	}
	return out
}

func wrap(k *kind, o object) any {
	if k.key == "" {
		return o
	}
	return object{k.key: o}
}

func (c *Cloud) listing(r *request, k *kind, brief []string) answer {
	var selected []object
	for _, o := range slices.Clone(c.things[k]) {
		c.advance(k, o)
		if o["~removed"] == nil && matches(k, o, r.query) {
			selected = append(selected, o)
		}
	}
	if marker := r.query.Get("marker"); marker != "" {
		at := slices.IndexFunc(selected, func(o object) bool { return str(o["id"]) == marker })
		if at < 0 {
			return refuse(r.service, http.StatusBadRequest, "marker ["+marker+"] not found")
		}
		selected = selected[at+1:]
	}
	size := c.pageSize
	if n, err := strconv.Atoi(r.query.Get("limit")); err == nil && n > 0 && n < size {
		size = n
	}
	if k.service == "identity" {
		size = len(selected) // keystone gives all
	}
	keys := cmp.Or(k.keys, k.key+"s")
	body := object{}
	if len(selected) > size {
		selected = selected[:size]
		q := r.query
		q.Set("marker", str(selected[size-1]["id"]))
		next := c.root + r.URL.Path + "?" + q.Encode()
		switch k.service {
		case "image":
			body["next"] = strings.TrimPrefix(r.URL.Path, "/image") + "?" + q.Encode()
		default:
			body[keys+"_links"] = []any{object{"rel": "next", "href": next}}
		}
	}
	list := make([]any, 0, len(selected))
	for _, o := range selected {
		o = c.visible(k, o)
		if brief != nil {
			for name := range o {
				if !slices.Contains(brief, name) {
					delete(o, name)
				}
			}
		}
		if k.path == "os-keypairs" {
			list = append(list, object{"keypair": o})
			continue
		}
		list = append(list, o)
	}
	body[keys] = list
	if k.service == "identity" {
		body["links"] = object{"next": nil, "previous": nil, "self": c.root + r.URL.Path}
	}
	return answer{status: http.StatusOK, body: body}
}

// matches applies the filters of a query: equality, except for the names of
// servers, which are regular expressions.
func matches(k *kind, o object, query map[string][]string) bool {
	for name, values := range query {
		switch {
		case name == "limit", name == "marker", name == "fields", slices.Contains(k.params, name):
			continue
		case k.path == "servers" && name == "name":
			if ok, err := regexp.MatchString(values[0], str(o["name"])); err != nil || !ok {
				return false
			}
			continue
		case k.path == "servers" && name == "host":
			if str(o["OS-EXT-SRV-ATTR:host"]) != values[0] {
				return false
			}
			continue
		}
		if k.path == "servers" && name == "status" {
			if !strings.EqualFold(str(o["status"]), values[0]) {
				return false
			}
			continue
		}
		have, known := o[name]
		if !known && name != "name" {
			if k.service == "network" || k.service == "identity" {
				return false
			}
			continue
		}
		if !slices.ContainsFunc(values, func(v string) bool { return strings.EqualFold(str(have), v) }) {
			return false
		}
	}
	return true
}
