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

// run runs cases. In their scripts an answer may stand behind its request.
func run(t *testing.T, cases []koctest.Case) {
	t.Helper()
	for i := range cases {
		cases[i].API = strings.ReplaceAll(cases[i].API, " = ", "\n= ")
	}
	koctest.Test(t, compute.Commands(), stock(), cases)
}

const (
	flavors = ` = {"flavors":[{"id":"2","name":"m1.tiny"}]}`
	none    = ` = {"servers":[]}`
	images  = ` = {"images":[{"id":"image-cirros","name":"cirros"}]}`
)

func TestServerList(t *testing.T) {
	t.Parallel()
	list := `{"servers":[` + server("server-web1", "web1", "ACTIVE") + `,{"id":"vol","name":"from-volume","status":"ERROR","image":"","flavor":{"id":"gone"},"addresses":{}}]}`
	run(t, []koctest.Case{
		{
			Line: "server list",
			API: `GET compute /servers/detail
				H X-OpenStack-Nova-API-Version: 2.1
				= ` + list + `
				GET compute /flavors?is_public=None` + flavors,
			Out: `
				+-------------+-------------+--------+--------------------------------------------------------+---------+
				| ID          | Name        | Status | Networks                                               | Flavor  |
				+-------------+-------------+--------+--------------------------------------------------------+---------+
				| server-web1 | web1        | ACTIVE | lan=fd00::1; private=10.0.0.9, 10.0.0.153, 172.24.4.21 | m1.tiny |
				| vol         | from-volume | ERROR  |                                                        | gone    |
				+-------------+-------------+--------+--------------------------------------------------------+---------+`,
		},
		{Line: "server list -f value -c ID -c Name --sort-column Name", API: `GET compute /servers = ` + list, Out: "vol\tfrom-volume\nserver-web1\tweb1"},
		{
			Line: "server list -f json -c 'Created At' -c 'Image ID' -c 'Flavor ID' -c Host -c 'Task State' -c 'Power State' -c 'Project ID' -c 'Security Groups' -c Properties -c 'Availability Zone' -c 'User ID' --limit 1",
			API:  `GET compute /servers/detail?limit=1 = {"servers":[` + server("server-web1", "web1", "ACTIVE") + `]}`,
		},
		{
			Line: "server list -f csv", Compat: true,
			API: `GET compute /servers/detail = ` + list + `
				GET compute /flavors?is_public=None` + flavors + `
				GET image /images?limit=1000` + images,
			Out: `
				"ID","Name","Status","Networks","Image","Flavor"
				"server-web1","web1","ACTIVE","{'lan': ['fd00::1'], 'private': ['10.0.0.9', '10.0.0.153', '172.24.4.21']}","cirros","m1.tiny"
				"vol","from-volume","ERROR","{}","N/A (booted from volume)",""`,
		},
		{
			Line: "server list --long -n -f value", Compat: true, API: `GET compute /servers/detail = ` + list,
			Out: `
				server-web1 web1 ACTIVE None 1 {'lan': ['fd00::1'], 'private': ['10.0.0.9', '10.0.0.153', '172.24.4.21']}  image-cirros  2 az1 cmp1 {'role': 'web'}
				vol from-volume ERROR   {} N/A (booted from volume) N/A (booted from volume)  gone   {}`,
		},
		{
			Line: "server list --long -f value -c 'Image Name' -c 'Flavor Name'", API: `GET compute /servers/detail = ` + list + `
				GET compute /flavors?is_public=None` + flavors + `
				GET image /images?limit=1000` + images,
			Out: "cirros\tm1.tiny\nN/A (booted from volume)\tgone",
		},
		{
			Line: "server list --name-lookup-one-by-one -f value -c Flavor", API: `GET compute /servers/detail = ` + list,
			Out: "m1.tiny\ngone",
		},
		{
			Line: "server list --long -f value -c 'Host Status' -c Flavor", Set: map[string]string{"compute_api_version": "2.90"},
			API: `GET compute /servers/detail
				H X-OpenStack-Nova-API-Version: 2.90
				= {"servers":[{"id":"a","name":"b","flavor":{"original_name":"small"},"host_status":"UP"}]}`,
			Out: "UP\tsmall",
		},
		{
			Line: "server list -c ID --project admin --status active --ip 10 --ip6 fd --name ^w --instance-name i --host cmp1 --reservation-id r --deleted --flavor m1.tiny --image cirros --tags a --tags b --not-tags c --locked --changes-since 2020-01-01 --changes-before 2021-01-01T00:00:00Z --marker web2 --limit -1 --deleted",
			API: `GET compute /servers?all_tenants=True&changes-before=2021-01-01T00:00:00Z&changes-since=2020-01-01&deleted=True&flavor=2&host=cmp1&image=image-cirros&instance_name=i&ip=10&ip6=fd&locked=True&marker=web2&name=%5Ew&not-tags=c&reservation_id=r&status=ACTIVE&tags=a%2Cb&tenant_id=p1
				H X-OpenStack-Nova-API-Version: 2.73
				` + none,
		},
		{
			Line: "server list -c ID --user admin --availability-zone az --key-name k --no-config-drive --progress 5 --vm-state active --task-state migrating --power-state running --unlocked --marker web1",
			API: `GET compute /servers?all_tenants=True&availability_zone=az&config_drive=False&key_name=k&locked=False&marker=server-web1&power_state=1&progress=5&task_state=migrating&user_id=u1&vm_state=active
				H X-OpenStack-Nova-API-Version: 2.83
				` + none,
		},
		{Line: "server list -c ID", Env: map[string]string{"ALL_PROJECTS": "yes"}, API: `GET compute /servers?all_tenants=True` + none},
		{Line: "server list -c ID --all-projects=false", Env: map[string]string{"ALL_PROJECTS": "yes"}, API: `GET compute /servers` + none},
		{
			Line: "server list -f value -c Name --created-since 2026-01-01 --created-before 2026-02-01", Out: "new",
			API: `GET compute /servers/detail?created-before=2026-02-01&created-since=2026-01-01
				H X-OpenStack-Nova-API-Version: 2.66
				= {"servers":[{"id":"a","name":"old","created":"2025-12-31T23:59:59Z"},{"id":"b","name":"new","created":"2026-01-15T00:00:00Z"},{"id":"c","name":"late","created":"2026-02-02T00:00:00Z"}]}`,
		},
		{
			Line: "server list --deleted-since 2026-01-01 -c ID", Err: "confirm you are pointed at a KeyStack deployment",
			API: `GET compute /servers?deleted-since=2026-01-01 = 400 {"badRequest":{"code":400,"message":"Additional properties are not allowed"}}`,
		},
		{Line: "server list --changes-since yesterday", Err: "give a moment as"},
		{Line: "server list --progress 101", Err: "must be between 1 and 100"},
		{Line: "server list --tags a", Set: map[string]string{"compute_api_version": "2.1"}, Err: "--tags requires compute API microversion 2.26 or later"},
		{Line: "server list --locked", Compat: true, Err: "--locked requires compute API microversion 2.73 or later"},
	})
}

func TestServersAreFound(t *testing.T) {
	t.Parallel()
	run(t, []koctest.Case{
		{Line: "server pause by-id", API: `POST compute /servers/11111111-1111-1111-1111-111111111111/action {"pause":null} = 202`},
		{Line: "server pause 11111111-1111-1111-1111-111111111111", API: `POST compute /servers/11111111-1111-1111-1111-111111111111/action {"pause":null} = 202`},
		{Line: "server pause twin", Err: "2 servers have the name"},
		{Line: "server pause nobody", Err: `no server has the name or id "nobody"`},
		{
			Line: "server pause strange", API: `GET compute /servers?name=%5Estrange%24 = {"servers":[]}
				GET compute /servers?all_tenants=True&name=%5Estrange%24 = {"servers":[{"id":"x","name":"strange"}]}
				POST compute /servers/x/action {"pause":null} = 202`,
		},
		{Line: "server delete strange", API: `GET compute /servers?name=%5Estrange%24 = {"servers":[]}`, Err: "no server has the name"},
		{
			Line: "server delete --all-projects strange", API: `GET compute /servers?all_tenants=True&name=%5Estrange%24 = {"servers":[{"id":"x","name":"strange"}]}
				DELETE compute /servers/x`,
		},
		{
			Line: "server pause 'a.b (c)'", API: `GET compute /servers?name=%5Ea%5C.b+%5C%28c%5C%29%24 = {"servers":[{"id":"x","name":"a.b (c)"},{"id":"y","name":"A.b (c)"}]}
				POST compute /servers/x/action {"pause":null} = 202`,
		},
		{
			Line: "server stop web1 nobody web2 web1", Err: "1 of 3",
			API: `POST compute /servers/server-web1/action {"os-stop":null} = 202
				POST compute /servers/server-web2/action {"os-stop":null} = 202`,
		},
	})
}

func TestServerWaits(t *testing.T) {
	t.Parallel()
	get := "GET compute /servers/server-web1 = "
	run(t, []koctest.Case{
		{
			Line: "server stop --wait web1",
			API: `POST compute /servers/server-web1/action {"os-stop":null} = 202
				` + get + `{"server":{"status":"ACTIVE","OS-EXT-STS:task_state":"powering-off"}}
				` + get + `{"server":{"status":"SHUTOFF","OS-EXT-STS:task_state":null}}`,
			Out: "-",
		},
		{
			Line: "server reboot --wait web1", Compat: true, Out: "Complete",
			API: `POST compute /servers/server-web1/action {"reboot":{"type":"SOFT"}} = 202
				` + get + `{"server":{"status":"REBOOT"}}
				` + get + `{"server":{"status":"ACTIVE"}}`,
		},
		{
			Line: "server resize --flavor m1.small --wait web1", Err: "no valid host",
			API: `POST compute /servers/server-web1/action {"resize":{"flavorRef":"3"}} = 202
				` + get + `{"server":{"status":"ERROR","fault":{"message":"no valid host"}}}`,
		},
		{
			Line: "server rebuild --password hush-hush --wait web1", Err: "hosts say <redacted> for <redacted>",
			API: `POST compute /servers/server-web1/action {"rebuild":{"imageRef":"image-cirros","adminPass":"hush-hush"}} = 202 {"server":{"id":"server-web1"}}
				` + get + `{"server":{"status":"ERROR","fault":{"message":"hosts say hush-hush for token-1"}}}`,
		},
		{
			Line: "server shelve --offload --wait web1",
			API: `POST compute /servers/server-web1/action {"shelve":null} = 202
				` + get + server1("ACTIVE") + `
				` + get + server1("SHELVED") + `
				POST compute /servers/server-web1/action {"shelveOffload":null} = 202
				` + get + server1("SHELVED_OFFLOADED"),
		},
		{Line: "server unshelve web1", Out: "-"},
		{
			Line: "server unshelve --wait --no-availability-zone --host cmp2 shelf1",
			API: `POST compute /servers/server-shelf1/action {"unshelve":{"availability_zone":null,"host":"cmp2"}} = 202
				GET compute /servers/server-shelf1 = ` + server1("SHELVED") + `
				GET compute /servers/server-shelf1 = ` + server1("ACTIVE"),
		},
		{
			Line: "server delete --wait web1",
			API: `DELETE compute /servers/server-web1
				` + get + server1("ACTIVE") + `
				` + get + `404 {"itemNotFound":{"message":"gone"}}`,
		},
		{
			Line: "server create --flavor 2 --image cirros --network private --wait -f value -c id -c adminPass -c status new",
			API: `POST compute /servers {"server":{"name":"new","imageRef":"image-cirros","flavorRef":"2","min_count":1,"max_count":1,"networks":[{"uuid":"network-private"}]}}
				= 202 {"server":{"id":"n1","adminPass":"pw"}}
				GET compute /servers/n1 = {"server":{"id":"n1","status":"BUILD","OS-EXT-STS:task_state":"spawning"}}
				GET compute /servers/n1 = {"server":{"id":"n1","status":"ACTIVE"}}
				GET compute /servers/n1 = {"server":{"id":"n1","status":"ACTIVE","flavor":{"original_name":"x"},"image":""}}`,
			Out: "pw\nn1\nACTIVE",
		},
		{
			Line: "server migrate --live-migration --wait web1",
			API: `POST compute /servers/server-web1/action {"os-migrateLive":{"host":null,"block_migration":"auto"}} = 202
				` + get + server1("MIGRATING") + `
				` + get + server1("ACTIVE"),
		},
		{
			Line: "server image create --wait -f value -c id web1", Compat: true,
			API: `POST compute /servers/server-web1/action {"createImage":{"name":"web1"}} = 202 {"image_id":"image-cirros"}
				GET image /images/image-cirros = {"id":"image-cirros","status":"queued"}
				GET image /images/image-cirros = {"id":"image-cirros","status":"active"}
				GET image /images/image-cirros = {"id":"image-cirros","status":"active"}`,
			Out: "image-cirros",
		},
	})
}

func server1(status string) string {
	return `{"server":{"id":"server-web1","status":"` + status + `"}}`
}

func TestOfKocAlone(t *testing.T) {
	t.Parallel()
	post := func(id, body string) string { return `POST compute /servers/` + id + `/action ` + body + ` = 202` }
	made := `= 202 {"server":{"id":"server-web1"}}`
	run(t, []koctest.Case{
		{
			Line: "server create --image cirros --flavor 2 --nic net-id=private --boot-from-volume 20 --boot-volume-type ssd --config-drive new",
			API: `POST compute /servers {"server":{"name":"new","imageRef":"","flavorRef":"2","config_drive":true,"min_count":1,"max_count":1,
				"block_device_mapping_v2":[{"uuid":"image-cirros","boot_index":"0","source_type":"image","destination_type":"volume","volume_size":20,"volume_type":"ssd"}],
				"networks":[{"uuid":"network-private"}]}} ` + made,
		},
		{
			Line: "server create --image cirros --flavor 2 --network private --server-group pack --hint different_host=a --hint different_host=b new",
			API: `POST compute /servers {"server":{"name":"new","imageRef":"image-cirros","flavorRef":"2","min_count":1,"max_count":1,"networks":[{"uuid":"network-private"}]},
				"os:scheduler_hints":{"different_host":["a","b"],"group":"sg1"}} ` + made,
		},
		{
			Line: "server create --image cirros --flavor 2 --no-network --no-security-group --config-drive True new",
			API: `POST compute /servers {"server":{"name":"new","imageRef":"image-cirros","flavorRef":"2","config_drive":true,"min_count":1,"max_count":1,"networks":"none","security_groups":[]}}
				H X-OpenStack-Nova-API-Version: latest
				` + made,
		},
		{
			Line: "server create --flavor 2 --nic network=private,fixed-ip=10.0.0.7 --block-device uuid=v,source_type=volume,boot_index=0 new",
			API: `POST compute /servers {"server":{"name":"new","imageRef":"","flavorRef":"2","min_count":1,"max_count":1,
				"block_device_mapping_v2":[{"uuid":"v","source_type":"volume","boot_index":0,"destination_type":"volume"}],
				"networks":[{"uuid":"network-private","fixed_ip":"10.0.0.7"}]}} ` + made,
		},
		{
			Line: "server create --image-property os_distro=cirros --flavor 2 --nic private --file /etc/x=testdata/f.txt --min 3 new",
			API: `POST compute /servers {"server":{"name":"new","imageRef":"image-cirros","flavorRef":"2","min_count":3,"max_count":3,"networks":[{"uuid":"network-private"}],
				"personality":[{"path":"/etc/x","contents":"ZmlsZSBjb250ZW50Cg=="}]}}
				H X-OpenStack-Nova-API-Version: 2.56
				` + made,
		},
		{Line: "server create --flavor 2 new", Err: "nothing to boot from"},
		{Line: "server create --flavor 2 --image cirros --nic auto --network private new", Err: "--nic auto cannot be used with any other"},
		{Line: "server create --flavor 2 --image cirros --nic v4-fixed-ip=1.2.3.4 new", Err: "give a network or a port"},
		{Line: "server create --flavor 2 --image cirros --nic net-id=a,colour=b new", Err: `"colour" is not known`},
		{Line: "server create --flavor 2 --image cirros --max 1 --min 2 new", Err: "--min 2 is more than --max 1"},
		{Line: "server create --flavor 2 --image cirros --block-device source_type=cloud new", Err: "none of volume, image, snapshot, blank"},
		{Line: "server create --flavor 2 --image cirros --block-device-mapping vda=a:b new", Err: "the type is one of"},
		{Line: "server create --flavor 2 --volume vol-data --boot-from-volume 3 new", Err: "goes with neither --volume nor --snapshot"},
		{Line: "server create --flavor 2 --image nothing --network private new", Err: `no image has the name or id "nothing"`},
		{Line: "server create --flavor 2 --image cirros --user-data nowhere new", Err: "--user-data: open nowhere"},
		{Line: "server create --flavor 2 --image cirros --hostname h new", Set: map[string]string{"compute_api_version": "2.89"}, Err: "--hostname requires compute API microversion 2.90"},
		{Line: "server add server-group web1 pack", API: post("server-web1", `{"addServerGroup":{"server_group_id":"sg1"}}`)},
		{
			Line: "server add server-group web1 pack", Err: "KeyStack",
			API: `POST compute /servers/server-web1/action {"addServerGroup":{"server_group_id":"sg1"}} = 400 {"badRequest":{"message":"There is no such action"}}`,
		},
		{Line: "server remove server-group web1", API: post("server-web1", `{"removeServerGroup":null}`)},
		{Line: "server set --availability-zone az2 web1", API: `PUT compute /servers/server-web1 {"server":{"availability_zone":"az2"}} = {}`},
		{Line: "server set --tag a/b web1", Err: "has no slash"},
		{
			Line: "server set --root-password web1", Stdin: "new one\nnew one\n",
			API: post("server-web1", `{"changePassword":{"adminPass":"new one"}}`),
		},
		{Line: "server set --root-password web1", Stdin: "new one\nother\n", Err: "passwords do not match"},
		{
			Line: "server unset --all-properties --all-tags web1",
			API: `PUT compute /servers/server-web1/metadata {"metadata":{}} = {}
				DELETE compute /servers/server-web1/tags`,
		},
		{Line: "server show --user-data web1", Out: "hello"},
		{Line: "server show --user-data 11111111-1111-1111-1111-111111111111", API: `GET compute /servers/11111111-1111-1111-1111-111111111111 = {"server":{"id":"server-web2","status":"x","OS-EXT-SRV-ATTR:user_data":null}}`, Err: "server has no user_data"},
		{Line: "server evacuate --preserve-ephemeral -c id -f value web1", API: post("server-web1", `{"evacuate":{"preserve_ephemeral":true}}`), Out: "server-web1"},
		{
			Line: "server rebuild --reimage-boot-volume --image cirros -c id -f value web1",
			API: `POST compute /servers/server-web1/action {"rebuild":{"imageRef":"image-cirros"}}
				= 202 {"server":{"id":"server-web1","status":"REBUILD"}}`,
			Out: "server-web1",
		},
		{Line: "server dump create web1", API: post("server-web1", `{"trigger_crash_dump":null}`)},
		{
			Line: "server remove fixed ip web1 10.0.0.9",
			API: `POST compute /servers/server-web1/action {"removeFixedIp":{"address":"10.0.0.9"}}
				H X-OpenStack-Nova-API-Version: 2.43
				= 202`,
		},
		{
			Line: "server remove fixed ip web1 10.0.0.9", Set: map[string]string{"compute_api_version": "2.90"},
			API: `GET compute /servers/server-web1/os-interface = {"interfaceAttachments":[{"port_id":"p","fixed_ips":[{"ip_address":"10.0.0.9"}]}]}
				DELETE compute /servers/server-web1/os-interface/p`,
		},
		{
			Line: "server remove network web1 private",
			API: `GET compute /servers/server-web1/os-interface = {"interfaceAttachments":[{"port_id":"p","net_id":"network-private"},{"port_id":"q","net_id":"other"}]}
				DELETE compute /servers/server-web1/os-interface/p`,
		},
		{Line: "server remove floating ip web1 172.24.4.24", API: `PUT network /floatingips/floating-172.24.4.24 {"floatingip":{"port_id":null}}`},
		{
			Line: "server migrate --block-migration web1", Err: "give --live-migration",
		},
		{
			Line: "server add share --tag t web1 s1 -f value",
			API: `POST compute /servers/server-web1/shares {"share":{"share_id":"s1","tag":"t"}}
				= {"share":{"uuid":"u","share_id":"s1","status":"attaching","tag":"t","export_location":null}}`,
			Out: "u\ns1\nattaching\nt",
		},
		{Line: "server remove share web1 s1", API: `DELETE compute /servers/server-web1/shares/s1`},
		{Line: "server share list web1 -f value", API: `GET compute /servers/server-web1/shares = {"shares":[{"share_id":"s1","status":"active","tag":"t"}]}`, Out: "s1\tactive\tt"},
		{Line: "server share show web1 s1 -f value", API: `GET compute /servers/server-web1/shares/s1 = {"share":{"share_id":"s1","status":"active","tag":"t"}}`, Out: "s1\nactive\nt"},
		{Line: "server volume set web1 vol-data", Out: "-"},
		{
			Line: "server volume list web1 -f csv",
			API:  `GET compute /servers/server-web1/os-volume_attachments = {"volumeAttachments":[{"device":"/dev/vdb","serverId":"s","volumeId":"v","tag":null,"delete_on_termination":true,"attachment_id":"a","bdm_uuid":"b"}]}`,
			Out:  "Device,Server ID,Volume ID,Tag,Delete On Termination?,Attachment ID,BlockDeviceMapping UUID\n/dev/vdb,s,v,,true,a,b",
		},
		{Line: "server backup create --rotate 0 web1", API: post("server-web1", `{"createBackup":{"name":"web1","backup_type":"","rotation":0}}`)},
		{Line: "server password show web1 -f value", API: `GET compute /servers/server-web1/os-server-password = {"password":"c2VjcmV0"}`, Out: "c2VjcmV0"},
		{Line: "server password show web1", API: `GET compute /servers/server-web1/os-server-password = {"password":""}`, Err: "has reported no password"},
	})
}

func TestServerReads(t *testing.T) {
	t.Parallel()
	run(t, []koctest.Case{
		{
			Line: "server show 11111111-1111-1111-1111-111111111111",
			API: `GET compute /servers/11111111-1111-1111-1111-111111111111 = {"server":{"id":"server-web1","name":"web1","status":"ACTIVE","tenant_id":"p1","metadata":{"a":"b"},"image":{"id":"image-cirros"},
				"flavor":{"original_name":"m1.tiny","vcpus":1,"extra_specs":{}},"addresses":{"b":[{"addr":"9"},{"addr":"10"}],"a":[{"addr":"1"}]},"links":[],
				"OS-EXT-STS:power_state":4,"server_groups":[],"tags":["z","y"],"security_groups":[{"name":"default"}],"os-extended-volumes:volumes_attached":[],"locked":false,"key_name":null}}`,
			Out: `
				+------------------------+------------------------------------+
				| Field                  | Value                              |
				+------------------------+------------------------------------+
				| OS-EXT-STS:power_state | Shutdown                           |
				| addresses              | a=1; b=9, 10                       |
				| flavor                 | original_name='m1.tiny', vcpus='1' |
				| id                     | server-web1                        |
				| image                  | cirros (image-cirros)              |
				| key_name               |                                    |
				| locked                 | false                              |
				| name                   | web1                               |
				| project_id             | p1                                 |
				| properties             | a='b'                              |
				| security_groups        | name='default'                     |
				| server_groups          | []                                 |
				| status                 | ACTIVE                             |
				| tags                   | y, z                               |
				| volumes_attached       |                                    |
				+------------------------+------------------------------------+`,
		},
		{Line: "server show web1 -f value -c flavor -c image", Compat: true, Out: "m1.tiny (2)\ncirros (image-cirros)"},
		{
			Line: "server show 11111111-1111-1111-1111-111111111111 -f json -c fault",
			API:  `GET compute /servers/11111111-1111-1111-1111-111111111111 = {"server":{"id":"server-web1","status":"ERROR","image":"","flavor":{"original_name":"m"},"fault":{"code":500,"message":"token-1 is wrong"}}}`,
			Out:  "{\n  \"fault\": \"code='500', message='<redacted> is wrong'\"\n}",
		},
		{Line: "server show web1 --diagnostics -f value", API: `GET compute /servers/server-web1/diagnostics = {"state":"running","cpu":[{"id":0}]}`},
		{
			Line: "server show web1 --topology -f value -c topology", API: `GET compute /servers/server-web1/topology = {"nodes":[],"pagesize_kb":4}`,
			Out: "nodes='[]', pagesize_kb='4'",
		},
		{Line: "server show web1 --topology", Compat: true, Err: "--topology requires compute API microversion 2.78"},
		{
			Line: "server event list --long --limit 5 --changes-since 2020-01-01 --changes-before 2021-01-01 --marker req-1 web1 -f value",
			API: `GET compute /servers/server-web1/os-instance-actions?changes-before=2021-01-01&changes-since=2020-01-01&limit=5&marker=req-1
				= {"instanceActions":[{"request_id":"r","instance_uuid":"u","action":"create","start_time":"2026-01-01T00:00:00.000000","message":null,"project_id":"p","user_id":"x"}]}`,
		},
		{
			Line: "server event list 22222222-2222-2222-2222-222222222222 -f value -c Action",
			API: `GET compute /servers?name=%5E22222222-2222-2222-2222-222222222222%24 = {"servers":[]}
				GET compute /servers/22222222-2222-2222-2222-222222222222/os-instance-actions = {"instanceActions":[{"action":"delete"}]}`,
			Out: "delete",
		},
		{Line: "server event list web1 --limit 5", Compat: true, Err: "--limit requires compute API microversion 2.58"},
		{
			Line: "server event show web1 req-1 -f value",
			API:  `GET compute /servers/server-web1/os-instance-actions/req-1 = {"instanceAction":{"request_id":"req-1","action":"create","events":[]}}`,
			Out:  "create\n[]\nreq-1",
		},
		{Line: "server group list --long --all-projects --limit 3 -f csv", API: `GET compute /os-server-groups?all_projects=True&limit=3 = {"server_groups":[]}`},
		{Line: "server group show pack -f value", Out: "sg1\na, b\npack\naffinity\np1\n\nu1"},
		{Line: "server group delete pack", API: `DELETE compute /os-server-groups/sg1`},
		{
			Line: "server group create --policy soft-affinity g -f value -c policies", Set: map[string]string{"compute_api_version": "2.20"},
			API: `POST compute /os-server-groups {"server_group":{"name":"g","policies":["soft-affinity"]}} = {"server_group":{"id":"g","policies":["soft-affinity"]}}`,
			Out: "soft-affinity",
		},
		{Line: "server group create --policy soft-affinity g", Set: map[string]string{"compute_api_version": "2.1"}, Err: "--policy soft-affinity requires"},
		{
			Line: "server migration list --server web1 --host h --status s --type cold-migration --limit 2 --marker m --changes-since 2020-01-01 --project admin --user admin -f csv",
			API: `GET compute /os-migrations?changes-since=2020-01-01&host=h&instance_uuid=server-web1&limit=2&marker=m&migration_type=migration&project_id=p1&status=s&user_id=u1
				= {"migrations":[{"id":1,"uuid":"u","source_node":"sn","dest_node":"dn","source_compute":"sc","dest_compute":"dc","dest_host":null,"status":"done","instance_uuid":"i",
				"old_instance_type_id":1,"new_instance_type_id":2,"migration_type":"resize","project_id":"p1","user_id":"u1","created_at":"c","updated_at":"d"}]}`,
			Out: "Id,UUID,Source Node,Dest Node,Source Compute,Dest Compute,Dest Host,Status,Server UUID,Old Flavor,New Flavor,Type,Project,User,Created At,Updated At\n1,u,sn,dn,sc,dc,,done,i,1,2,resize,p1,u1,c,d",
		},
		{
			Line: "server migration list -f csv", Compat: true, API: `GET compute /os-migrations = {"migrations":[{"id":1,"status":"done"}]}`,
			Out: `
				"Source Node","Dest Node","Source Compute","Dest Compute","Dest Host","Status","Server UUID","Old Flavor","New Flavor","Created At","Updated At"
				"","","","","","done","","","","",""`,
		},
		{
			Line: "server migration show web1 7 -f value -c ID -c 'Dest Host'", API: `GET compute /servers/server-web1/migrations/7 = {"migration":{"id":7,"dest_host":"h"}}`,
			Out: "7\nh",
		},
		{
			Line: "server migration abort web1 33333333-3333-3333-3333-333333333333",
			API: `GET compute /servers/server-web1/migrations = {"migrations":[{"id":9,"uuid":"33333333-3333-3333-3333-333333333333"}]}
				DELETE compute /servers/server-web1/migrations/9`,
		},
		{Line: "server migration abort web1 soon", Err: `"soon" is no migration`},
		{Line: "server migration abort web1 7", Compat: true, Err: "server migration abort requires compute API microversion 2.24"},
	})
}
