package compute_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/holdfast-ops/holdfast/internal/koc/compute"
	"github.com/holdfast-ops/holdfast/internal/koc/koctest"
)

// server is what the fake service knows of a server, at any microversion.
func server(id, name, status string) string {
	return `{"id":"` + id + `","name":"` + name + `","status":"` + status + `","tenant_id":"p1","user_id":"u1","metadata":{"role":"web"},
	"image":{"id":"image-cirros","links":[]},"flavor":{"id":"2","links":[]},"created":"2026-03-04T06:27:59Z",
	"addresses":{"private":[{"version":4,"addr":"10.0.0.9","OS-EXT-IPS:type":"fixed"},{"version":4,"addr":"10.0.0.153","OS-EXT-IPS:type":"fixed"},
		{"version":4,"addr":"172.24.4.21","OS-EXT-IPS:type":"floating"}],"lan":[{"version":6,"addr":"fd00::1","OS-EXT-IPS:type":"fixed"}]},
	"links":[],"OS-EXT-STS:task_state":null,"OS-EXT-STS:power_state":1,"OS-EXT-AZ:availability_zone":"az1","OS-EXT-SRV-ATTR:host":"cmp1",
	"OS-EXT-SRV-ATTR:user_data":"aGVsbG8=","security_groups":[{"name":"default"},{"name":"web"}],"os-extended-volumes:volumes_attached":[{"id":"v1"}]}`
}

func stock() []koctest.Stock {
	return []koctest.Stock{
		{
			Service: "compute", Path: "/servers", Keys: "servers", Key: "server",
			Items: "[" + server("server-web1", "web1", "ACTIVE") + "," + server("server-web2", "web2", "SHUTOFF") + "," + server("server-shelf1", "shelf1", "SHELVED") +
				"," + server("11111111-1111-1111-1111-111111111111", "by-id", "ACTIVE") + "," + server("t1", "twin", "ACTIVE") + "," + server("t2", "twin", "ACTIVE") + "]",
		},
		{
			Service: "compute", Path: "/flavors", Keys: "flavors", Key: "flavor",
			Items: `[{"id":"2","name":"m1.tiny"},{"id":"3","name":"m1.small"}]`,
		},
		{
			Service: "compute", Path: "/os-server-groups", Keys: "server_groups", Key: "server_group",
			Items: `[{"id":"sg1","name":"pack","policy":"affinity","rules":{},"members":["b","a"],"metadata":{},"project_id":"p1","user_id":"u1"}]`,
		},
		{
			Service: "image", Path: "/images", Keys: "images",
			Items: `[{"id":"image-cirros","name":"cirros","status":"active","os_distro":"cirros","tags":["b","a"],"self":"/v2/images/image-cirros"},
				{"id":"image-tiny-raw","name":"tiny-raw","status":"active"}]`,
		},
		{
			Service: "network", Path: "/networks", Keys: "networks", Key: "network",
			Items: `[{"id":"network-private","name":"private"},{"id":"network-net-b","name":"net-b"}]`,
		},
		{
			Service: "network", Path: "/ports", Keys: "ports", Key: "port",
			Items: `[{"id":"port-port-b","name":"port-b","device_id":""},
				{"id":"port-web1","name":"","device_id":"server-web1","fixed_ips":[{"ip_address":"10.0.0.153"}]}]`,
		},
		{
			Service: "network", Path: "/security-groups", Keys: "security_groups", Key: "security_group",
			Items: `[{"id":"group-web","name":"web"},{"id":"group-db","name":"db"}]`,
		},
		{
			Service: "network", Path: "/floatingips", Keys: "floatingips", Key: "floatingip",
			Items: `[{"id":"floating-172.24.4.24","floating_ip_address":"172.24.4.24"}]`,
		},
		{
			Service: "volume", Path: "/volumes", Keys: "volumes", Key: "volume",
			Items: `[{"id":"volume-vol-data","name":"vol-data"}]`,
		},
		{
			Service: "volume", Path: "/snapshots", Keys: "snapshots", Key: "snapshot",
			Items: `[{"id":"snapshot-snap-data","name":"snap-data"}]`,
		},
		{
			Service: "identity", Path: "/projects", Keys: "projects", Key: "project",
			Items: `[{"id":"p1","name":"admin"}]`,
		},
		{
			Service: "identity", Path: "/users", Keys: "users", Key: "user",
			Items: `[{"id":"u1","name":"admin"}]`,
		},
	}
}

// TestWritesAreThoseOfTheOpenStackClient sends what was recorded of it.
func TestWritesAreThoseOfTheOpenStackClient(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/upstream.txt")
	if err != nil {
		t.Fatal(err)
	}
	var cases []koctest.Case
	for _, block := range strings.Split(string(text), "\n\n")[1:] {
		line, requests, _ := strings.Cut(strings.TrimSpace(block), "\n")
		k := koctest.Case{Line: strings.TrimPrefix(line, "# "), Compat: true}
		if version, rest, ok := strings.Cut(strings.TrimPrefix(k.Line, "@"), " "); ok && strings.HasPrefix(k.Line, "@") {
			k.Line, k.Set = rest, map[string]string{"compute_api_version": version}
		}
		for request := range strings.Lines(requests) {
			k.API += request + "\n= " + answerTo(strings.TrimSpace(request)) + "\n"
		}
		cases = append(cases, k)
	}
	if len(cases) < 80 {
		t.Fatalf("only %d cases", len(cases))
	}
	koctest.Test(t, compute.Commands(), stock(), cases)
}

// answerTo is how the service answers a write.
func answerTo(request string) string {
	words := strings.SplitN(request, " ", 4)
	path := words[2]
	var action map[string]any
	if len(words) > 3 {
		_ = json.Unmarshal([]byte(words[3]), &action)
	}
	switch {
	case path == "/servers":
		return `202 {"server":{"id":"server-web1","adminPass":"secret","links":[]}}`
	case words[0] == "DELETE":
		return "204"
	case strings.HasSuffix(path, "/os-interface"):
		return `{"interfaceAttachment":{"port_id":"p","net_id":"n","mac_addr":"m","port_state":"ACTIVE","fixed_ips":[{"ip_address":"10.0.0.9","subnet_id":"s"}]}}`
	case strings.HasSuffix(path, "/os-volume_attachments"):
		return `{"volumeAttachment":{"id":"a","volumeId":"v","serverId":"s","device":"/dev/vdb","tag":null,"delete_on_termination":false}}`
	case path == "/os-server-groups":
		return `{"server_group":{"id":"g","name":"g1","policy":"affinity","rules":{},"members":[],"project_id":"p","user_id":"u"}}`
	case action["rebuild"] != nil:
		return `202 {"server":` + server("server-web1", "web1", "REBUILD") + `}`
	case action["createImage"] != nil, action["createBackup"] != nil:
		return `202 {"image_id":"image-cirros"}`
	case strings.HasPrefix(strings.TrimPrefix(request[strings.Index(request, path)+len(path):], " "), `{"rescue"`):
		return `{"adminPass":"p"}`
	case strings.HasSuffix(path, "/action"):
		return "202"
	}
	return "200 {}"
}
