package compute_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"

	"github.com/holdfast-ops/holdfast/internal/koc/compute"
	"github.com/holdfast-ops/holdfast/internal/koc/koctest"
)

const allAggregates = `[
	{"id":1,"uuid":"agg-uuid-1","name":"az1","availability_zone":"az1","hosts":["cmp2","cmp1"],"metadata":{"availability_zone":"az1","ssd":"true"},"created_at":"2026-03-04T06:27:59.000000","deleted":false,"deleted_at":null,"updated_at":null},
	{"id":2,"uuid":"agg-uuid-2","name":"twin","availability_zone":null,"hosts":[],"metadata":{}},
	{"id":3,"uuid":"agg-uuid-3","name":"twin","availability_zone":null,"hosts":["cmp3"],"metadata":{}}]`

const allServices = `[
	{"id":"s1","binary":"nova-compute","host":"cmp1","zone":"az1","status":"enabled","state":"up","updated_at":"2026-03-04T06:27:59.000000","disabled_reason":null,"forced_down":false},
	{"id":"s2","binary":"nova-compute","host":"cmp2","zone":"az1","status":"enabled","state":"up","updated_at":null,"disabled_reason":null,"forced_down":false},
	{"id":"s3","binary":"nova-compute","host":"cmp3","zone":"az2","status":"disabled","state":"down","updated_at":null,"disabled_reason":"broken","forced_down":true}]`

const allFlavors = `[
	{"id":"1","name":"m1.tiny","ram":512,"disk":1,"vcpus":1,"swap":0,"rxtx_factor":1.0,"description":null,"os-flavor-access:is_public":true,"OS-FLV-EXT-DATA:ephemeral":0,"OS-FLV-DISABLED:disabled":false,"extra_specs":{"b":"2","a":"1"}},
	{"id":"2","name":"secret","ram":512,"disk":1,"vcpus":1,"swap":0,"rxtx_factor":1.0,"description":"x","os-flavor-access:is_public":false,"OS-FLV-EXT-DATA:ephemeral":0,"OS-FLV-DISABLED:disabled":false,"extra_specs":{}}]`

// hypervisor is one as the service shows it at the first microversion.
func hypervisor(id, host, state string) string {
	return `{"id":` + id + `,"hypervisor_hostname":"` + host + `","hypervisor_type":"QEMU","host_ip":"10.0.0.` + id + `","state":"` + state + `","status":"enabled",
		"vcpus":4,"vcpus_used":1,"memory_mb":1024,"memory_mb_used":512,"local_gb":100,"local_gb_used":10,"running_vms":` + id + `,
		"cpu_info":"{\"model\":\"Nehalem\",\"vendor\":\"Intel\"}","service":{"id":5,"host":"` + host + `","disabled_reason":null}}`
}

func operatorStock() []koctest.Stock {
	return append(
		[]koctest.Stock{
			{Service: "compute", Path: "/os-aggregates", Keys: "aggregates", Key: "aggregate", Items: allAggregates},
			{Service: "compute", Path: "/os-services", Keys: "services", Key: "service", Items: allServices},
			{Service: "compute", Path: "/flavors", Keys: "flavors", Key: "flavor", Items: allFlavors},
			{
				Service: "compute", Path: "/os-hypervisors", Keys: "hypervisors", Key: "hypervisor",
				Items: "[" + hypervisor("1", "cmp1", "up") + "," + hypervisor("2", "cmp2", "up") + "," + hypervisor("3", "cmp3", "down") + "]",
			},
			{
				Service: "compute", Path: "/os-agents", Keys: "agents",
				Items: `[{"agent_id":7,"hypervisor":"xen","os":"win","architecture":"x86","version":"1","md5hash":"m","url":"u"}]`,
			},
			{Service: "compute", Path: "/os-hosts", Keys: "hosts", Items: `[{"host_name":"cmp1","service":"compute","zone":"az1"}]`},
			{
				Service: "placement", Path: "/resource_providers", Keys: "resource_providers",
				Items: `[{"uuid":"rp1","name":"cmp1","root_provider_uuid":"rp1"},{"uuid":"rp1-numa","name":"cmp1_numa","root_provider_uuid":"rp1"}]`,
			},
			{Service: "identity", Path: "/users", Keys: "users", Key: "user", Items: `[{"id":"u9","name":"bob"}]`},
		},
		stock()...,
	)
}

// testCases runs cases, whose answers may stand behind their requests.
func testCases(t *testing.T, cases []koctest.Case) {
	t.Helper()
	for i := range cases {
		cases[i].API = strings.ReplaceAll(cases[i].API, " = ", "\n= ")
	}
	koctest.Test(t, compute.Commands(), operatorStock(), cases)
}

func runOne(t *testing.T, k koctest.Case) (out string, err error) {
	t.Helper()
	k.API = strings.ReplaceAll(k.API, " = ", "\n= ")
	return koctest.Run(t, compute.Commands(), nil, k)
}

func TestOperatorRequests(t *testing.T) {
	t.Parallel()
	testCases(t, []koctest.Case{
		// aggregate
		{
			Line: "aggregate add host az1 cmp3",
			API: `POST compute /os-aggregates/1/action {"add_host":{"host":"cmp3"}}
				H OpenStack-API-Version: compute latest
				= {"aggregate":{"id":1,"name":"az1","hosts":["cmp3"],"metadata":{}}}`,
		},
		{
			Line: "aggregate remove host 1 cmp1", Compat: true,
			API: `POST compute /os-aggregates/1/action {"remove_host":{"host":"cmp1"}}
				H OpenStack-API-Version: compute 2.81
				= {"aggregate":{"id":1,"name":"az1","hosts":[],"metadata":{}}}`,
		},
		{Line: "aggregate show twin", Err: "2 aggregates have the name"},
		{Line: "aggregate show nonesuch", Err: `no aggregate has the name or id "nonesuch"`},
		{Line: "aggregate show agg-uuid-1 -f value -c properties -c hosts", Out: "cmp1, cmp2\nssd='true'"},
		{Line: "aggregate list --long -f value", Out: "1\taz1\taz1\tssd='true'\tcmp1, cmp2\n2\ttwin\t\t\t\n3\ttwin\t\t\tcmp3"},
		{
			Line: "aggregate create --zone az9 --property a=1 new", Out: "",
			API: `POST compute /os-aggregates {"aggregate":{"name":"new","availability_zone":"az9"}}
				= {"aggregate":{"id":9,"name":"new"}}
				POST compute /os-aggregates/9/action {"set_metadata":{"metadata":{"a":"1"}}}
				= {"aggregate":{"id":9,"name":"new","hosts":[],"metadata":{"a":"1"}}}`,
		},
		{
			Line: "aggregate set --name az2 --zone az2 --no-property --property x=y az1",
			API: `PUT compute /os-aggregates/1 {"aggregate":{"name":"az2","availability_zone":"az2"}}
				POST compute /os-aggregates/1/action {"set_metadata":{"metadata":{"ssd":null,"x":"y"}}}
				= {"aggregate":{}}`,
		},
		{Line: "aggregate set az1", Out: "-"},
		{Line: "aggregate unset --property ssd az1", API: `POST compute /os-aggregates/1/action {"set_metadata":{"metadata":{"ssd":null}}} = {"aggregate":{}}`},
		{Line: "aggregate delete az1 3 nope", API: `DELETE compute /os-aggregates/1
			DELETE compute /os-aggregates/3`, Err: `1 of 3 aggregates failed to delete`},
		{Line: "aggregate cache image az1 cirros tiny-raw", API: `POST compute /os-aggregates/1/images {"cache":[{"id":"image-cirros"},{"id":"image-tiny-raw"}]}`},
		{Line: "aggregate cache image az1 nope", Err: `no image has the name or id "nope"`},

		// agents
		{
			Line: "compute agent create win x86 2 http://x abc xen -f value -c agent_id",
			API: `POST compute /os-agents {"agent":{"os":"win","architecture":"x86","version":"2","url":"http://x","md5hash":"abc","hypervisor":"xen"}}
				= {"agent":{"agent_id":8,"os":"win"}}`, Out: "8",
		},
		{Line: "compute agent delete 7 8", API: "DELETE compute /os-agents/7\nDELETE compute /os-agents/8"},
		{Line: "compute agent list --hypervisor xen -f value", Out: "7\txen\twin\tx86\t1\tm\tu"},
		{Line: "compute agent set --agent-version 3 7", API: `PUT compute /os-agents/7 {"para":{"url":"u","md5hash":"m","version":"3"}}`},
		{Line: "compute agent set --url x 9", Err: `no agent has the name or id "9"`},

		// services
		{Line: "compute service list --status disabled -f value -c Host -c State", Out: "cmp3\tdown"},
		{Line: "compute service list --long --host cmp1 -f csv", Out: "ID,Binary,Host,Zone,Status,State,Updated At,Disabled Reason,Forced Down\ns1,nova-compute,cmp1,az1,enabled,up,2026-03-04T06:27:59Z,,false"},
		{
			Line: "compute service list --long --service nova-compute -f value -c 'Admin State' -c 'Error Details'", Out: "Fenced\tno heartbeat",
			API: `GET compute /os-services?binary=nova-compute = {"services":[{"id":"s1","admin_state":"Fenced","error_details":"no heartbeat"}]}`,
		},
		{Line: "compute service delete s1", API: "DELETE compute /os-services/s1"},
		{Line: "compute service set --disable --disable-reason repair --down cmp1 nova-compute", API: `PUT compute /os-services/s1 {"status":"disabled","disabled_reason":"repair","forced_down":true}`},
		{Line: "compute service set --enable --up cmp1 nova-compute", API: `PUT compute /os-services/s1 {"status":"enabled","forced_down":false}`},
		{Line: "compute service set cmp1 nova-compute", Out: "-"},
		{Line: "compute service set --enable cmp9 nova-compute", Err: `host "cmp9" has no service "nova-compute"`},
		{Line: "compute service set --disable-reason x cmp1 nova-compute", Err: "--disable-reason needs --disable"},
		{Line: "compute service set --disable-reason x cmp1 nova-compute", Compat: true, Err: "--disable-reason needs --disable"},
		{
			Line: "compute service set --admin-state fenced --error-details broken --status disabled --reason why cmp1 nova-compute",
			API:  `PUT compute /os-services/s1 {"admin_state":"Fenced","error_details":"broken","status":"disabled","disabled_reason":"why"}`,
		},
		{
			Line: "compute service set --admin-state Active cmp1 nova-compute", Err: "KeyStack service admin state nova extension",
			API: `PUT compute /os-services/s1 {"admin_state":"Active"} = 400 {"badRequest":{"message":"Additional properties are not allowed"}}`,
		},
		{Line: "compute service set --admin-state Active --enable cmp1 nova-compute", Err: "exclude each other"},
		{Line: "compute service set --reason x cmp1 nova-compute", Err: "--reason needs --admin-state"},

		// consoles
		{Line: "console log show --lines 2 web1", API: `POST compute /servers/server-web1/action {"os-getConsoleOutput":{"length":2}} = {"output":"a\nb"}`, Out: "a\nb"},
		{Line: "console log show web1", API: `POST compute /servers/server-web1/action {"os-getConsoleOutput":{}} = {"output":""}`, Out: "-"},
		{
			Line: "console url show --spice web1 -f value", Out: "spice\nspice-html5\nhttp://x",
			API: `POST compute /servers/server-web1/remote-consoles {"remote_console":{"protocol":"spice","type":"spice-html5"}}
				= {"remote_console":{"protocol":"spice","type":"spice-html5","url":"http://x"}}`,
		},
		{Line: "console url show --type webmks web1 -f value -c url", API: `POST compute /servers/server-web1/remote-consoles {"remote_console":{"protocol":"mks","type":"webmks"}} = {"remote_console":{"url":"u"}}`, Out: "u"},
		{Line: "console url show web1", API: `POST compute /servers/server-web1/remote-consoles {"remote_console":{"protocol":"vnc","type":"novnc"}} = 400 {"badRequest":{"message":"off"}}`, Err: `console novnc of server "web1": off`},
		{
			Line: "console connection show tok -f value", Out: "10.0.0.1\nserver-web1\n\n5900",
			API: `GET compute /os-console-auth-tokens/tok = {"console":{"host":"10.0.0.1","instance_uuid":"server-web1","internal_access_path":null,"port":5900}}`,
		},

		// flavors
		{
			Line: "flavor create --ram 1024 --disk 5 --vcpus 2 --swap 3 --ephemeral 4 --rxtx-factor 1.5 --id f9 --description d --private --project admin --property a=b new -f value -c properties",
			API: `POST compute /flavors {"flavor":{"name":"new","ram":1024,"vcpus":2,"disk":5,"id":"f9","OS-FLV-EXT-DATA:ephemeral":4,"swap":3,"rxtx_factor":1.5,"os-flavor-access:is_public":false,"description":"d"}}
				= {"flavor":{"id":"f9","name":"new"}}
				POST compute /flavors/f9/action {"addTenantAccess":{"tenant":"p1"}}
				POST compute /flavors/f9/os-extra_specs {"extra_specs":{"a":"b"}} = {"extra_specs":{"a":"b"}}`, Out: "a='b'",
		},
		{
			Line: "flavor create new", Compat: true,
			API: `POST compute /flavors {"flavor":{"name":"new","ram":256,"vcpus":1,"disk":0,"OS-FLV-EXT-DATA:ephemeral":0,"swap":0,"rxtx_factor":1,"os-flavor-access:is_public":true}}
				H OpenStack-API-Version: compute 2.61`,
		},
		{Line: "flavor create --project admin new", Err: "--project needs --private"},
		{
			Line: "flavor create --property a=b new", Err: "the flavor is made, but without its properties: no",
			API: `POST compute /flavors {"flavor":{"name":"new","ram":256,"vcpus":1,"disk":0,"OS-FLV-EXT-DATA:ephemeral":0,"swap":0,"rxtx_factor":1,"os-flavor-access:is_public":true}}
				POST compute /flavors/new/os-extra_specs {"extra_specs":{"a":"b"}} = 400 {"badRequest":{"message":"no"}}`,
		},
		{Line: "flavor delete m1.tiny 2", API: "DELETE compute /flavors/1\nDELETE compute /flavors/2"},
		{Line: "flavor list --all --min-ram 512 --min-disk 1 -f value -c Name", API: "GET compute /flavors/detail?is_public=None&minRam=512&minDisk=1 = {\"flavors\":[{\"name\":\"x\"}]}", Out: "x"},
		{Line: "flavor list --private --limit 1", API: `GET compute /flavors/detail?is_public=False&limit=1 = {"flavors":[]}`},
		{Line: "flavor list --long -f value", API: `GET compute /flavors/detail?is_public=True = {"flavors":` + allFlavors + `}`, Out: "1\tm1.tiny\t512\t1\t0\t1\ttrue\t0\t1\ta='1', b='2'\n2\tsecret\t512\t1\t0\t1\tfalse\t0\t1\t"},
		{Line: "flavor show m1.tiny -f value -c properties -c id", Out: "1\na='1', b='2'"},
		{Line: "flavor show secret -f json -c access_project_ids", API: `GET compute /flavors/2/os-flavor-access = {"flavor_access":[{"flavor_id":"2","tenant_id":"p1"}]}`, Compat: true, Out: "{\n  \"access_project_ids\": [\n    \"p1\"\n  ]\n}"},
		{
			Line: "flavor set --description d --no-property --property c=3 m1.tiny",
			API: `PUT compute /flavors/1 {"flavor":{"description":"d"}}
				DELETE compute /flavors/1/os-extra_specs/a
				DELETE compute /flavors/1/os-extra_specs/b
				POST compute /flavors/1/os-extra_specs {"extra_specs":{"c":"3"}}`,
		},
		{Line: "flavor set --project admin secret", API: `POST compute /flavors/2/action {"addTenantAccess":{"tenant":"p1"}} = {"flavor_access":[]}`},
		{Line: "flavor set --project admin m1.tiny", Err: `all projects may use the flavor "m1.tiny"`},
		{
			Line: "flavor unset --property a --property b --project admin secret", Err: `remove property "b": no such`,
			API: `DELETE compute /flavors/2/os-extra_specs/a
				DELETE compute /flavors/2/os-extra_specs/b = 404 {"itemNotFound":{"message":"no such"}}
				POST compute /flavors/2/action {"removeTenantAccess":{"tenant":"p1"}} = {"flavor_access":[]}`,
		},

		// hosts
		{Line: "host list --zone az1 -f value", Out: "cmp1\tcompute\taz1"},
		{Line: "host set --disable --enable-maintenance cmp1", API: `PUT compute /os-hosts/cmp1 {"status":"disable","maintenance_mode":"enable"}
			H OpenStack-API-Version: compute 2.1`},
		{Line: "host set cmp1", Out: "-"},
		{
			Line: "host show cmp1 -f value", Out: "cmp1\t(total)\t4\t8\t9",
			API: `GET compute /os-hosts/cmp1 = {"host":[{"resource":{"host":"cmp1","project":"(total)","cpu":4,"memory_mb":8,"disk_gb":9}}]}`,
		},

		// hypervisors
		{Line: "hypervisor list --matching CMP2 --long -f value", Out: "2\tcmp2\tQEMU\t10.0.0.2\tup\t1\t4\t512\t1024"},
		{Line: "hypervisor list --matching nope", Err: `no hypervisor matches "nope"`},
		{
			Line: "hypervisor list --matching cmp -f value", Compat: true, Out: "1 cmp1   up",
			API: `GET compute /os-hypervisors/cmp/search
				H OpenStack-API-Version: compute 2.1
				= {"hypervisors":[{"id":1,"hypervisor_hostname":"cmp1","state":"up"}]}`,
		},
		{Line: "hypervisor list --matching x --limit 1", Err: "--matching excludes"},
		{Line: "hypervisor list --matching x --limit 1", Compat: true, Err: "--matching is not compatible"},
		{Line: "hypervisor list --limit 1", Compat: true, Err: "--limit requires compute API microversion 2.33"},
		{Line: "hypervisor list --ascii", Err: "--ascii needs --gauge"},
		{
			Line: "hypervisor show cmp1 -f value -c aggregates -c cpu_info -c users -c uptime -c service_host", Compat: true,
			API: `GET compute /os-hypervisors/1/uptime = {"hypervisor":{"id":1,"uptime":" 08:32:11 up 93 days, 18:25,  2 users,  load average: 0.20, 0.12, 0.14"}}`,
			Out: "['az1']\n{'model': 'Nehalem', 'vendor': 'Intel'}\ncmp1\n93 days, 18:25\n2",
		},
		{Line: "hypervisor show 2 -f value -c state", API: `GET compute /os-hypervisors/2/uptime = 501 {"notImplemented":{"message":"no"}}`, Out: "up"},
		{Line: "hypervisor show nope", Err: `no hypervisor has the name or id "nope"`},
		{Line: "hypervisor stats show -f value", API: `GET compute /os-hypervisors/statistics = {"hypervisor_statistics":{"vcpus":4,"count":1}}`, Out: "1\n4"},

		// keypairs
		{Line: "keypair list -f value", API: `GET compute /os-keypairs = {"keypairs":[{"keypair":{"name":"k","fingerprint":"f","type":"x509"}}]}`, Out: "k\tf\tx509"},
		{Line: "keypair list --user bob --limit 1 -f value -c Name", API: `GET compute /os-keypairs?user_id=u9&limit=1 = {"keypairs":[{"keypair":{"name":"k"}}]}`, Out: "k"},
		{
			Line: "keypair list --project admin -f value -c Name", Out: "one\ntwo",
			API: `GET identity /role_assignments?scope.project.id=p1&effective= = {"role_assignments":[{"user":{"id":"u1"}},{"user":{"id":"u1"}},{"group":{"id":"g"}},{"user":{"id":"u2"}}]}
				GET compute /os-keypairs?user_id=u1 = {"keypairs":[{"keypair":{"name":"one"}}]}
				GET compute /os-keypairs?user_id=u2 = {"keypairs":[{"keypair":{"name":"two"}}]}`,
		},
		{Line: "keypair show --public-key k", API: `GET compute /os-keypairs/k = {"keypair":{"name":"k","public_key":"ssh-rsa A"}}`, Out: "ssh-rsa A"},
		{Line: "keypair show --user bob k -f value", API: `GET compute /os-keypairs/k?user_id=u9 = {"keypair":{"name":"k","fingerprint":"f","type":"ssh","user_id":"u9","created_at":"2026-03-04T06:27:59.000000","deleted":false,"public_key":"ssh-rsa A","id":3}}`, Out: "2026-03-04T06:27:59Z\nf\nk\nfalse\nk\nssh\nu9"},
		{Line: "keypair delete --user bob a b", API: "DELETE compute /os-keypairs/a?user_id=u9\nDELETE compute /os-keypairs/b?user_id=u9"},
		{
			Line: "keypair create k", Out: "PRIVATE",
			API: `POST compute /os-keypairs {"keypair":{"name":"k"}}
				H OpenStack-API-Version: compute 2.10
				= {"keypair":{"name":"k","private_key":"PRIVATE\n"}}`,
		},
		{Line: "keypair create --public-key /nonesuch/key k", Err: "public key: open /nonesuch/key"},
		{Line: "keypair create --private-key /nonesuch/key k", Err: "private key: create /nonesuch/key: no such file"},
	})
}

func TestUsage(t *testing.T) {
	t.Parallel()
	const web = `{"instance_id":"i1","name":"web"}`
	testCases(t, []koctest.Case{
		{
			Line: "usage list --start 2026-01-01 --end 2026-02-01 -f value", Out: "admin\t2\t3.33\t1.5\t2\nother\t0\t0\t0\t0",
			API: `GET compute /os-simple-tenant-usage?detailed=1&start=2026-01-01T00:00:00&end=2026-02-01T00:00:00
				= {"tenant_usages":[{"tenant_id":"p1","server_usages":[` + web + `],"total_memory_mb_usage":1.111,"total_vcpus_usage":1.0,"total_local_gb_usage":1,"total_hours":1}],
				"tenant_usages_links":[{"rel":"next","href":"https://compute.test/v2.1/os-simple-tenant-usage?marker=i1"}]}
				GET compute /os-simple-tenant-usage?marker=i1
				= {"tenant_usages":[{"tenant_id":"p1","server_usages":[` + web + `],"total_memory_mb_usage":2.22,"total_vcpus_usage":0.5,"total_local_gb_usage":1,"total_hours":1},
				{"tenant_id":"other","server_usages":[],"total_memory_mb_usage":0.0,"total_vcpus_usage":0.0,"total_local_gb_usage":0.0,"total_hours":0.0}]}`,
		},
		{
			Line: "usage show --project admin --start 2026-01-01 --end 2026-02-01", Compat: true,
			API: `GET compute /os-simple-tenant-usage/p1?start=2026-01-01T00:00:00&end=2026-02-01T00:00:00
				= {"tenant_usage":{"tenant_id":"p1","server_usages":[` + web + `],"total_memory_mb_usage":1.0,"total_vcpus_usage":1.0,"total_local_gb_usage":1.0}}`,
			Out: "Usage from 2026-01-01 to 2026-02-01 on project p1: \n+---------------+-------+\n| Field         | Value |\n+---------------+-------+\n| Project       | p1    |\n| Servers       | 1     |\n| RAM MB-Hours  | 1.0   |\n| CPU Hours     | 1.0   |\n| Disk GB-Hours | 1.0   |\n+---------------+-------+",
		},
		{
			Line: "usage show --start 2026-01-01 --end 2026-02-01 -f value -c Servers -c 'CPU Hours'", Out: "2\n2",
			API: `GET compute /os-simple-tenant-usage/p1?start=2026-01-01T00:00:00&end=2026-02-01T00:00:00
				= {"tenant_usage":{"tenant_id":"p1","server_usages":[` + web + `],"total_vcpus_usage":1.0},"tenant_usage_links":[{"rel":"next","href":"x"}]}
				GET compute /os-simple-tenant-usage/p1?start=2026-01-01T00:00:00&end=2026-02-01T00:00:00&marker=i1
				= {"tenant_usage":{"tenant_id":"p1","server_usages":[{"instance_id":"i2"}],"total_vcpus_usage":1.0}}`,
		},
		{Line: "usage list --start yesterday", Err: `--start "yesterday" is no date`},
	})
}

func TestGauges(t *testing.T) {
	t.Parallel()
	const placed = `GET placement /resource_providers/rp1/inventories
		H OpenStack-API-Version: placement 1.14
		= {"inventories":{"VCPU":{"total":4,"reserved":0,"allocation_ratio":16.0},"MEMORY_MB":{"total":1024,"reserved":24,"allocation_ratio":1.5}}}
		GET placement /resource_providers/rp1/usages = {"usages":{"VCPU":8,"MEMORY_MB":256}}
		GET placement /resource_providers/rp1-numa/inventories = {"inventories":{"MEMORY_MB":{"total":1024,"reserved":0,"allocation_ratio":1.0}}}
		GET placement /resource_providers/rp1-numa/usages = {"usages":{"MEMORY_MB":256}}`
	testCases(t, []koctest.Case{
		{
			Line: "hypervisor list --gauge --ascii --width 80", API: placed,
			Out: `
				+------+--------+-----+-------+----------------+----------------+
				| Name | Health | VMs | OC    | RAM            | Disk           |
				+------+--------+-----+-------+----------------+----------------+
				| cmp1 | up     | 1   | 2.00x | [##------] 25% | [#-------] 10% |
				| cmp2 | up     | 2   | 0.25x | [####----] 50% | [#-------] 10% |
				| cmp3 | DOWN   | 3   | 0.25x | -- stale --    | -- stale --    |
				+------+--------+-----+-------+----------------+----------------+

				3 hypervisors  |  2 up  |  1 down  |  0 disabled`,
		},
		{
			Line: "hypervisor list --gauge --effective --aggregate 1 --sort vms --reverse -f value -c Name -c Aggregate -c Overcommit -c 'RAM %' -c 'RAM Total GiB' -c 'CPU Model'", API: placed,
			Out: "cmp2\taz1\t0.25\t50\t1\tNehalem\ncmp1\taz1\t0.13\t20.29\t2.46\tNehalem",
		},
		{
			Line: "hypervisor list --gauge --matching cmp2 -f value -c Name -c 'RAM %'", Out: "cmp2\t50",
			API: `GET placement /resource_providers = 503 {"errors":[{"detail":"away"}]}
				GET placement /resource_providers = 503 {"errors":[{"detail":"away"}]}
				GET placement /resource_providers = 503 {"errors":[{"detail":"away"}]}`,
		},
		{Line: "hypervisor list --gauge --matching nope", Out: "No hypervisors matched your filters."},
		{Line: "hypervisor list --gauge --aggregate nope", Err: `no aggregate has the name or id "nope"`},
		{Line: "hypervisor list --gauge --long", Err: "--gauge and --long exclude each other"},
		{Line: "hypervisor list --gauge --warn-pct 95", Err: "--warn-pct 95 is more than --crit-pct 90"},
		{Line: "hypervisor list --gauge --ne-timeout 0", Err: "must be more than 0"},
		{Line: "hypervisor list --gauge --sort nope", Err: "nope"},
	})
}

// onHost is a server as it is on a host.
func onHost(id, host, status, task string) string {
	return `{"id":"` + id + `","name":"` + id + `","status":"` + status + `","OS-EXT-SRV-ATTR:host":"` + host + `","OS-EXT-STS:task_state":` + task + `,"flavor":{"ram":64}}`
}

// TestAnExporterThatIsNotThere asks for a name that there is none of, which is
// nothing for virtual time: the resolver outlives it.
func TestAnExporterThatIsNotThere(t *testing.T) {
	t.Parallel()

	out, err := koctest.Run(t, compute.Commands(), operatorStock(), koctest.Case{
		Line: "hypervisor list --gauge --matching cmp2 --check-actual --ne-address-from hostname --ne-domain-suffix .invalid. --ne-timeout 0.001 -f value -c Name -c 'CPU Phys %'",
	})

	if err != nil || strings.TrimSpace(out) != "cmp2" {
		t.Errorf("%q, %v", out, err)
	}
}

func TestHostsAreEmptied(t *testing.T) {
	t.Parallel()
	list := func(host string, servers ...string) string {
		return "GET compute /servers/detail?all_tenants=True&host=" + host + "\n= {\"servers\":[" + strings.Join(servers, ",") + "]}\n"
	}
	get := func(server string) string {
		return "GET compute /servers/a = {\"server\":" + server + "}\n"
	}
	testCases(t, []koctest.Case{
		{
			Line: "compute host drain cmp1 --wait -f value",
			API: list("cmp1", onHost("a", "cmp1", "ACTIVE", "null"), onHost("b", "cmp1", "SHUTOFF", "null")) +
				"POST compute /servers/a/action {\"os-migrateLive\":{\"host\":null,\"block_migration\":\"auto\"}}\nH OpenStack-API-Version: compute 2.79\n= 202\n" +
				get(onHost("a", "cmp1", "MIGRATING", `"migrating"`)) + get(onHost("a", "cmp2", "ACTIVE", "null")) +
				list("cmp1", onHost("b", "cmp1", "SHUTOFF", "null"), onHost("c", "cmp1", "ACTIVE", "null")),
			Out: "a\ta\tACTIVE\tmoved\tcmp2\t\n" +
				"b\tb\tSHUTOFF\tskipped\t\t'compute host drain --cold' can move a server in SHUTOFF\n" +
				"c\tc\tACTIVE\tarrived\t\tit came to the host meanwhile: run this again",
		},
		{
			Line: "compute host drain cmp1 --cold --target-host cmp2 --disable -f value -c Result",
			API: "PUT compute /os-services/s1 {\"status\":\"disabled\",\"disabled_reason\":\"koc compute host drain\"}\n" +
				list("cmp1", onHost("a", "cmp1", "ACTIVE", "null")) +
				"POST compute /servers/a/action {\"migrate\":{\"host\":\"cmp2\"}}\n= 202\n" +
				get(onHost("a", "cmp2", "VERIFY_RESIZE", "null")) +
				"POST compute /servers/a/action {\"confirmResize\":null}\n= 204\n" +
				get(onHost("a", "cmp2", "ACTIVE", "null")) + list("cmp1"),
			Out: "moved",
		},
		{
			Line: "compute host drain cmp1 --cold --confirm=false -f value -c Result", Out: "unconfirmed",
			API: list("cmp1", onHost("a", "cmp1", "ACTIVE", "null")) +
				"POST compute /servers/a/action {\"migrate\":null}\n= 202\n" + get(onHost("a", "cmp2", "VERIFY_RESIZE", "null")) + list("cmp1"),
		},
		{
			Line: "compute host evacuate cmp3 --target-host cmp1 -f value -c Result -c 'Target Host'", Out: "accepted\tcmp1",
			API: list("cmp3", onHost("a", "cmp3", "ERROR", "null")) + "POST compute /servers/a/action {\"evacuate\":{\"host\":\"cmp1\"}}\n= 200 {\"adminPass\":\"x\"}\n" + list("cmp3"),
		},
		{
			Line: "compute host evacuate cmp3 -f value -c Detail", Err: `1 of 1 servers could not be moved off host "cmp3"`, Out: "",
			API: list("cmp3", onHost("a", "cmp3", "ACTIVE", "null")) + "POST compute /servers/a/action {\"evacuate\":{}}\n= 409 {\"conflictingRequest\":{\"message\":\"busy\"}}\n" + list("cmp3"),
		},
		{
			Line: "compute host drain cmp1 --wait", Err: "1 of 1 servers",
			API: list("cmp1", onHost("a", "cmp1", "ACTIVE", "null")) + "POST compute /servers/a/action {\"os-migrateLive\":{\"host\":null,\"block_migration\":\"auto\"}}\n= 202\n" +
				strings.Repeat(get(onHost("a", "cmp1", "ACTIVE", "null")), 3) +
				"GET compute /servers/a/os-instance-actions?limit=1 = {\"instanceActions\":[{\"request_id\":\"req-1\"}]}\n" +
				"GET compute /servers/a/os-instance-actions/req-1\nH OpenStack-API-Version: compute 2.84\n" +
				"= {\"instanceAction\":{\"events\":[{\"result\":\"Success\"},{\"result\":\"Error\",\"details\":\"No valid host was found.\"}]}}\n" + list("cmp1"),
		},
		{Line: "compute host drain cmp1 --dry-run -f value -c Result", API: list("cmp1", onHost("a", "cmp1", "ACTIVE", "null")), Out: "would move"},
		{Line: "compute host drain cmp1 --dry-run", API: list("cmp1")},
		{Line: "compute host drain cmp1", API: list("cmp1", onHost("a", "", "ACTIVE", "null")), Err: "this takes an administrator"},
		{Line: "compute host drain cmp3", Err: "'compute host evacuate' rebuilds its servers elsewhere"},
		{Line: "compute host evacuate cmp1", Err: "'compute host drain' moves its servers"},
		{Line: "compute host drain cmp9", Err: `host "cmp9" has no service "nova-compute"`},
		{Line: "compute host drain cmp1 --target-host cmp1", Err: "is the host itself"},
		{Line: "compute host drain cmp1 --target-host cmp3", Err: `--target-host: host "cmp3" is down`},
		{Line: "compute host drain cmp1 --target-host cmp9", Err: `--target-host: host "cmp9" has no service`},
		{Line: "compute host drain cmp1 --confirm=false", Err: "--confirm needs --cold"},
		{Line: "compute host drain cmp1 --disable-reason x", Err: "--disable-reason needs --disable"},
		{Line: "compute host drain cmp1 --wait-timeout soon", Err: "--wait-timeout"},
	})
}

// TestPrivateKeysAreKept writes a key to a file.
func TestPrivateKeysAreKept(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "key")
	create := koctest.Case{
		Line: "keypair create --private-key " + file + " k",
		API:  `POST compute /os-keypairs {"keypair":{"name":"k"}} = {"keypair":{"name":"k","private_key":"PRIVATE\n","fingerprint":"f"}}`,
	}
	if out, err := runOne(t, create); err != nil || strings.Contains(out, "PRIVATE") {
		t.Fatalf("%v\n%s", err, out)
	}
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
	if text, _ := os.ReadFile(file); string(text) != "PRIVATE\n" {
		t.Errorf("%q", text)
	}
	create.API = ""
	if _, err := runOne(t, create); err == nil || !strings.Contains(err.Error(), "move it away first") {
		t.Errorf("an existing key is overwritten: %v", err)
	}
	refused := koctest.Case{
		Line: "keypair create --private-key " + filepath.Join(dir, "other") + " k", Err: "conflict",
		API: `POST compute /os-keypairs {"keypair":{"name":"k"}} = 409 {"conflictingRequest":{"message":"conflict"}}`,
	}
	if _, err := runOne(t, refused); err == nil {
		t.Error("no error")
	}
	if files, _ := os.ReadDir(dir); len(files) != 1 {
		t.Errorf("left behind: %v", files)
	}
}

// TestKeysThatAreMadeHere makes a pair where the service does not.
func TestKeysThatAreMadeHere(t *testing.T) {
	t.Parallel()
	public, private, err := compute.NewKey("k é")
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.ParsePrivateKey([]byte(private))
	if err != nil {
		t.Fatalf("%v\n%s", err, private)
	}
	if got := string(ssh.MarshalAuthorizedKey(signer.PublicKey())); got != public {
		t.Errorf("the public key of the private one is %q, want %q", got, public)
	}
	k := koctest.Case{Line: "keypair create --type x509 k", Set: pinned("2.92")}
	if _, err := runOne(t, k); err == nil || !strings.Contains(err.Error(), "no service makes x509 keys") {
		t.Error(err)
	}
}

func pinned(version string) map[string]string {
	return map[string]string{"compute_api_version": version}
}

// TestOldServices asks services of microversions that the commands do not ask for.
func TestOldServices(t *testing.T) {
	t.Parallel()
	testCases(t, []koctest.Case{
		{
			Line: "compute service set --disable --disable-reason why --down cmp1 nova-compute", Set: pinned("2.52"),
			API: `PUT compute /os-services/disable-log-reason {"host":"cmp1","binary":"nova-compute","disabled_reason":"why"}
				PUT compute /os-services/force-down {"host":"cmp1","binary":"nova-compute","forced_down":true}`,
		},
		{Line: "compute service set --enable cmp1 nova-compute", Set: pinned("2.1"), API: `PUT compute /os-services/enable {"host":"cmp1","binary":"nova-compute"}`},
		{Line: "compute service set --disable cmp1 nova-compute", Set: pinned("2.1"), API: `PUT compute /os-services/disable {"host":"cmp1","binary":"nova-compute"}`},
		{Line: "compute service set --up cmp1 nova-compute", Set: pinned("2.10"), Err: "--up requires compute API microversion 2.11"},
		{Line: "compute service set --admin-state Active cmp1 nova-compute", Set: pinned("2.52"), Err: "--admin-state requires"},
		{
			Line: "compute service list --long -f value", Set: pinned("2.10"), Out: "1\tb\th\tz\tenabled\tup\t\twhy",
			API: `GET compute /os-services = {"services":[{"id":1,"binary":"b","host":"h","zone":"z","status":"enabled","state":"up","disabled_reason":"why"}]}`,
		},
		{
			Line: "flavor list --long -f value -c Properties", Set: pinned("2.1"), Out: "a='1'",
			API: `GET compute /flavors/detail?is_public=True = {"flavors":[{"id":"9","name":"x"}]}
				GET compute /flavors/9/os-extra_specs = {"extra_specs":{"a":"1"}}`,
		},
		{
			Line: "flavor show 9 -f value -c properties", Set: pinned("2.1"), Out: "a='1'",
			API: `GET compute /flavors/9 = {"flavor":{"id":"9","name":"x","ram":1}}
				GET compute /flavors/9/os-extra_specs = {"extra_specs":{"a":"1"}}`,
		},
		{Line: "flavor set --description d m1.tiny", Set: pinned("2.54"), Err: "--description requires"},
		{Line: "aggregate cache image az1 cirros", Set: pinned("2.80"), Err: "aggregate cache image requires compute API microversion 2.81"},
		{
			Line: "console url show --serial web1 -f value", Set: pinned("2.5"), Out: "serial\nws://x",
			API: `POST compute /servers/server-web1/action {"os-getSerialConsole":{"type":"serial"}} = {"console":{"type":"serial","url":"ws://x"}}`,
		},
		{Line: "console url show --mks web1", Set: pinned("2.5"), Err: "--mks requires"},
		{Line: "console connection show x", Set: pinned("2.30"), Err: "console connection show requires"},
		{Line: "hypervisor stats show", Set: pinned("2.90"), Err: "hypervisor stats show requires compute API microversion 2.87 or earlier"},
		{
			Line: "hypervisor list --matching cmp -f value", Compat: true, Set: pinned("2.53"), Out: "u1 cmp1   up",
			API: `GET compute /os-hypervisors?hypervisor_hostname_pattern=cmp = {"hypervisors":[{"id":"u1","hypervisor_hostname":"cmp1","state":"up"}]}`,
		},
		{Line: "keypair list --user bob", Set: pinned("2.9"), Err: "--user requires"},
		{Line: "keypair list --project admin", Set: pinned("2.9"), Err: "--project requires"},
		{Line: "keypair list --project admin --marker x", Err: "--project excludes --marker"},
		{Line: "keypair list -f value", Set: pinned("2.1"), API: `GET compute /os-keypairs = {"keypairs":[{"keypair":{"name":"k","fingerprint":"f"}}]}`, Out: "k\tf"},
		{Line: "keypair create --type ssh k", Set: pinned("2.1"), Err: "--type requires"},
		{Line: "compute host drain cmp1", Set: pinned("2.55"), Err: "compute host drain requires compute API microversion 2.56"},
		{Line: "compute host drain cmp1 --wait-timeout 0 --dry-run", API: `GET compute /servers/detail?all_tenants=True&host=cmp1 = {"servers":[]}`},
	})
}
