package cloudtest

import (
	"crypto/md5" //nolint:gosec // the checksum that glance has
	"crypto/sha512"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// special serves what is not ordinary about a service; nil leaves it.
type special struct {
	service string
	serve   func(c *Cloud, r *request) *answer
}

func specials() []special {
	return []special{
		{"compute", (*Cloud).compute},
		{"volume", (*Cloud).volume},
		{"image", (*Cloud).image},
		{"network", (*Cloud).network},
		{"identity", (*Cloud).identity},
	}
}

func ok(status int, body any) *answer { return &answer{status: status, body: body} }

// seed is what a new cloud has.
func (c *Cloud) seed() {
	c.add(c.kind("identity", "domains"), object{"id": "default", "name": "Default", "description": "The default domain"})
	c.add(c.kind("identity", "projects"), object{"name": Project})
	c.add(c.kind("identity", "projects"), object{"name": "demo"})
	c.add(c.kind("identity", "users"), object{"id": "admin-user", "name": Username})
	c.add(c.kind("identity", "roles"), object{"id": "admin-role", "name": "admin"})
	c.add(c.kind("identity", "roles"), object{"name": "member"})
	c.add(c.kind("identity", "regions"), object{"id": Region})
	for _, f := range []object{
		{"id": "1", "name": "m1.tiny", "ram": 512, "disk": 1, "vcpus": 1}, {"id": "2", "name": "m1.small", "ram": 2048, "disk": 20, "vcpus": 1},
	} {
		c.add(c.kind("compute", "flavors"), f)
	}
	image := c.add(c.kind("image", "images"), object{"name": "cirros", "visibility": "public", "disk_format": "qcow2", "container_format": "bare"})
	c.upload(image, []byte("not a real image\n"))
	public := c.add(c.kind("network", "networks"), object{"name": "public", "router:external": true})
	private := c.add(c.kind("network", "networks"), object{"name": "private"})
	c.add(c.kind("network", "subnets"), object{"name": "private-subnet", "network_id": private["id"], "cidr": "10.0.0.0/24", "ip_version": 4})
	c.add(c.kind("network", "subnets"), object{"name": "public-subnet", "network_id": public["id"], "cidr": "192.0.2.0/24", "ip_version": 4, "gateway_ip": "192.0.2.1"})
	c.add(c.kind("network", "security-groups"), object{"name": "default", "description": "Default security group"})
	c.add(c.kind("volume", "types"), object{"name": "__DEFAULT__", "description": "Default Volume Type"})
}

// AddServers makes servers without the API: named server-00001 and so on, all
// ACTIVE, on the network private.
func (c *Cloud) AddServers(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range n {
		o := c.add(c.kind("compute", "servers"), object{"name": fmt.Sprintf("server-%05d", i+1), "flavorRef": "1"})
		o["~polls"] = 1
		c.advance(c.kind("compute", "servers"), o)
	}
}

// newServer completes a server that is created.
func newServer(c *Cloud, o object) {
	flavor := c.find(c.kind("compute", "flavors"), str(o["flavorRef"]))
	image := any("")
	if ref := str(o["imageRef"]); ref != "" {
		image = object{"id": ref, "links": []any{}}
	}
	metadata := o["metadata"]
	if metadata == nil {
		metadata = object{}
	}
	key := o["key_name"]
	network := "private"
	switch in := o["networks"].(type) {
	case string:
		if in == "none" {
			network = ""
		}
	case []any:
		for _, nic := range in {
			if want, ok := nic.(object); ok {
				network = str(c.find(c.kind("network", "networks"), str(want["uuid"]))["name"])
			}
		}
	}
	id, name := o["id"], o["name"]
	clear(o)
	maps.Copy(o, object{
		"id": id, "name": name, "status": "BUILD", "OS-EXT-STS:task_state": "spawning", "OS-EXT-STS:vm_state": "building", "OS-EXT-STS:power_state": 0,
		"OS-EXT-AZ:availability_zone": "nova", "OS-EXT-SRV-ATTR:host": "cmp1", "OS-EXT-SRV-ATTR:hypervisor_hostname": "cmp1",
		"OS-EXT-SRV-ATTR:instance_name": fmt.Sprintf("instance-%08x", c.serial), "OS-DCF:diskConfig": "MANUAL", "OS-SRV-USG:launched_at": nil, "OS-SRV-USG:terminated_at": nil,
		"accessIPv4": "", "accessIPv6": "", "addresses": object{}, "config_drive": "", "created": now, "updated": now, "hostId": strings.Repeat("0", 56), "image": image,
		"key_name": key, "metadata": metadata, "progress": 0, "security_groups": []any{object{"name": "default"}}, "tenant_id": c.project(), "user_id": "admin-user",
		"os-extended-volumes:volumes_attached": []any{}, "locked": false, "tags": []any{}, "description": nil, "links": []any{}, "~polls": 2, "~network": network,
		"adminPass": "s3cret-of-" + str(name),
		"flavor": object{
			"original_name": flavor["name"], "ram": flavor["ram"], "vcpus": flavor["vcpus"], "disk": flavor["disk"], "ephemeral": 0, "swap": 0, "extra_specs": object{},
		},
	})
}

// advance moves a thing one step on in its life: each look at it is a moment.
func (c *Cloud) advance(k *kind, o object) {
	if gone, deleting := o["~gone"].(int); deleting {
		if gone == 0 {
			c.remove(k, o)
		}
		o["~gone"] = gone - 1
		return
	}
	polls, waiting := o["~polls"].(int)
	switch {
	case waiting && polls > 1:
		o["~polls"] = polls - 1
	case waiting:
		delete(o, "~polls")
		maps.Copy(o, object{"status": "ACTIVE", "OS-EXT-STS:task_state": nil, "OS-EXT-STS:vm_state": "active", "OS-EXT-STS:power_state": 1, "progress": 100})
		delete(o, "adminPass")
		if str(o["~network"]) == "" {
			return
		}
		o["addresses"] = object{str(o["~network"]): []any{object{
			"addr": fmt.Sprintf("10.0.%d.%d", c.serial>>8&255, c.serial&255), "version": 4, "OS-EXT-IPS:type": "fixed", "OS-EXT-IPS-MAC:mac_addr": "fa:16:3e:00:00:01",
		}}}
	case k.path == "volumes" && o["status"] == "creating":
		o["status"] = "available"
	}
}

func (c *Cloud) compute(r *request) *answer {
	servers := c.kind("compute", "servers")
	switch {
	case r.path[0] == "servers" && len(r.path) == 3 && r.path[2] == "action":
		o := c.byID(servers, r.path[1])
		if o == nil {
			return new(refuse("compute", http.StatusNotFound, "Instance "+r.path[1]+" could not be found."))
		}
		for action, in := range r.body {
			return c.act(o, action, in)
		}
	case r.path[0] == "servers" && len(r.path) == 1 && r.Method == http.MethodPost:
		in, _ := r.body["server"].(object)
		if in == nil || str(in["flavorRef"]) == "" || c.find(c.kind("compute", "flavors"), str(in["flavorRef"])) == nil {
			return new(refuse("compute", http.StatusBadRequest, "Flavor "+str(in["flavorRef"])+" could not be found."))
		}
	case r.path[0] == "os-services":
		var list []any
		for i, host := range []string{"cmp1", "cmp2", "cmp3"} {
			list = append(list, object{
				"id": fmt.Sprintf("00000000-0000-4000-9000-%012d", i+1), "binary": "nova-compute", "host": host, "zone": "nova", "status": "enabled", "state": "up",
				"updated_at": "2026-01-02T03:04:05.000000", "disabled_reason": nil, "forced_down": false,
			})
		}
		return ok(http.StatusOK, object{"services": list})
	}
	return nil
}

// act carries out a server action, when the state allows it.
func (c *Cloud) act(o object, action string, in any) *answer {
	become := map[string][2]string{ // action: needed status, status after
		"os-stop": {"ACTIVE", "SHUTOFF"}, "os-start": {"SHUTOFF", "ACTIVE"}, "pause": {"ACTIVE", "PAUSED"}, "unpause": {"PAUSED", "ACTIVE"},
		"suspend": {"ACTIVE", "SUSPENDED"}, "resume": {"SUSPENDED", "ACTIVE"}, "shelve": {"ACTIVE", "SHELVED_OFFLOADED"}, "unshelve": {"SHELVED_OFFLOADED", "ACTIVE"},
		"rescue": {"ACTIVE", "RESCUE"}, "unrescue": {"RESCUE", "ACTIVE"}, "resize": {"ACTIVE", "VERIFY_RESIZE"}, "migrate": {"ACTIVE", "VERIFY_RESIZE"},
		"confirmResize": {"VERIFY_RESIZE", "ACTIVE"}, "revertResize": {"VERIFY_RESIZE", "ACTIVE"}, "reboot": {"ACTIVE", "ACTIVE"}, "os-migrateLive": {"ACTIVE", "ACTIVE"},
	}
	step, known := become[action]
	switch {
	case action == "lock" || action == "unlock":
		o["locked"] = action == "lock"
		return ok(http.StatusAccepted, nil)
	case !known:
		return new(refuse("compute", http.StatusBadRequest, "There is no such action: "+action))
	case o["status"] != step[0]:
		return new(refuse("compute", http.StatusConflict, fmt.Sprintf("Cannot '%s' instance %s while it is in vm_state %s", action, o["id"], strings.ToLower(str(o["status"])))))
	}
	o["status"] = step[1]
	if action == "os-migrateLive" || action == "migrate" {
		host := "cmp2"
		if args, isMap := in.(object); isMap && str(args["host"]) != "" {
			host = str(args["host"])
		}
		o["OS-EXT-SRV-ATTR:host"], o["OS-EXT-SRV-ATTR:hypervisor_hostname"] = host, host
	}
	return ok(http.StatusAccepted, nil)
}

func (c *Cloud) volume(r *request) *answer {
	if r.path[0] != "volumes" || len(r.path) != 3 || r.path[2] != "action" {
		return nil
	}
	o := c.byID(c.kind("volume", "volumes"), r.path[1])
	if o == nil {
		return new(refuse("volume", http.StatusNotFound, "Volume "+r.path[1]+" could not be found."))
	}
	for action, in := range r.body {
		args, _ := in.(object)
		switch action {
		case "os-extend":
			o["size"] = args["new_size"]
		case "os-reset_status":
			maps.Copy(o, args)
		case "os-set_bootable":
			o["bootable"] = str(args["bootable"])
		case "os-force_delete":
			o["~gone"] = 0
		default:
			return new(refuse("volume", http.StatusBadRequest, "There is no such action: "+action))
		}
	}
	return ok(http.StatusAccepted, nil)
}

func (c *Cloud) upload(o object, data []byte) {
	sum, long := md5.Sum(data), sha512.Sum512(data) //nolint:gosec // the checksum that glance has
	c.blobs[str(o["id"])] = data
	maps.Copy(o, object{
		"status": "active", "size": len(data), "checksum": hex.EncodeToString(sum[:]), "os_hash_algo": "sha512", "os_hash_value": hex.EncodeToString(long[:]),
	})
}

func (c *Cloud) image(r *request) *answer {
	if r.path[0] != "images" || len(r.path) < 2 {
		return nil
	}
	o := c.byID(c.kind("image", "images"), r.path[1])
	if o == nil {
		return new(refuse("image", http.StatusNotFound, "No image found with ID "+r.path[1]))
	}
	switch {
	case len(r.path) == 3 && r.path[2] == "file" && r.Method == http.MethodPut:
		c.upload(o, r.raw)
		return ok(http.StatusNoContent, nil)
	case len(r.path) == 3 && r.path[2] == "file":
		a := ok(http.StatusOK, c.blobs[r.path[1]])
		a.header = map[string]string{"Content-MD5": str(o["checksum"])}
		return a
	case len(r.path) == 4 && r.path[2] == "tags":
		tags, _ := o["tags"].([]any)
		tags = slices.DeleteFunc(tags, func(t any) bool { return t == r.path[3] })
		if r.Method == http.MethodPut {
			tags = append(tags, r.path[3])
		}
		o["tags"] = tags
		return ok(http.StatusNoContent, nil)
	case len(r.path) == 2 && r.Method == http.MethodDelete && o["protected"] == true:
		return new(refuse("image", http.StatusForbidden, "Image "+r.path[1]+" is protected and cannot be deleted."))
	case len(r.path) == 2 && r.Method == http.MethodPatch:
		var patch []struct {
			Op, Path string
			Value    any
		}
		if err := json.Unmarshal(r.raw, &patch); err != nil {
			return new(refuse("image", http.StatusBadRequest, "Request body must be a JSON array of operations"))
		}
		for _, p := range patch {
			name := strings.NewReplacer("~1", "/", "~0", "~").Replace(strings.TrimPrefix(p.Path, "/"))
			_, have := o[name]
			switch {
			case p.Op == "remove" && have:
				delete(o, name)
			case p.Op == "add", p.Op == "replace" && have:
				o[name] = p.Value
			default:
				return new(refuse("image", http.StatusConflict, fmt.Sprintf("Property %s does not exist.", name)))
			}
		}
		return ok(http.StatusOK, c.visible(nil, o))
	}
	return nil
}

func (c *Cloud) network(r *request) *answer {
	if len(r.path) == 3 && r.path[2] == "tags" && r.Method == http.MethodPut {
		k := c.kind("network", r.path[0])
		if k == nil || c.byID(k, r.path[1]) == nil {
			return new(refuse("network", http.StatusNotFound, "The resource could not be found."))
		}
		c.byID(k, r.path[1])["tags"] = r.body["tags"]
		return ok(http.StatusOK, r.body)
	}
	if r.path[0] == "networks" && len(r.path) == 2 && r.Method == http.MethodDelete {
		for _, p := range c.things[c.kind("network", "ports")] {
			if p["network_id"] == r.path[1] {
				return new(refuse("network", http.StatusConflict, "Unable to complete operation on network "+r.path[1]+". There are one or more ports still in use on the network."))
			}
		}
	}
	return nil
}

func (c *Cloud) identity(r *request) *answer {
	p := strings.Join(r.path, "/")
	switch {
	case r.path[0] == "auth" && r.path[1] == "catalog":
		return ok(http.StatusOK, object{"catalog": c.catalog(), "links": object{}})
	case len(r.path) >= 5 && r.path[len(r.path)-2] == "roles", len(r.path) == 4 && r.path[0] == "groups" && r.path[2] == "users":
		switch r.Method {
		case http.MethodPut:
			c.grants[p] = true
		case http.MethodDelete:
			if !c.grants[p] {
				return new(refuse("identity", http.StatusNotFound, "Could not find role assignment."))
			}
			delete(c.grants, p)
		case http.MethodHead:
			if !c.grants[p] {
				return new(refuse("identity", http.StatusNotFound, "Could not find role assignment."))
			}
		}
		return ok(http.StatusNoContent, nil)
	case r.path[0] == "role_assignments":
		list := []any{}
		names := r.query.Has("include_names")
		for _, g := range slices.Sorted(maps.Keys(c.grants)) {
			w := strings.Split(g, "/") // projects/P/users/U/roles/R
			if len(w) != 6 || r.query.Has("user.id") && (w[2] != "users" || w[3] != r.query.Get("user.id")) ||
				r.query.Has("scope.project.id") && (w[0] != "projects" || w[1] != r.query.Get("scope.project.id")) {
				continue
			}
			list = append(list, object{
				"role": c.reference("roles", w[5], names), strings.TrimSuffix(w[2], "s"): c.reference(w[2], w[3], names),
				"scope": object{strings.TrimSuffix(w[0], "s"): c.reference(w[0], w[1], names)}, "links": object{},
			})
		}
		return ok(http.StatusOK, object{"role_assignments": list, "links": object{"next": nil}})
	}
	return nil
}

// reference is a thing of the identity service as others refer to it.
func (c *Cloud) reference(path, id string, names bool) object {
	o := object{"id": id}
	if thing := c.byID(c.kind("identity", path), id); names && thing != nil {
		o["name"] = thing["name"]
		if domain := c.byID(c.kind("identity", "domains"), str(thing["domain_id"])); domain != nil {
			o["domain"] = object{"id": domain["id"], "name": domain["name"]}
		}
	}
	return o
}
