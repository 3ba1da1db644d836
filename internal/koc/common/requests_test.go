package common_test

import (
	"os"
	"strings"
	"testing"

	"github.com/holdfast-ops/holdfast/internal/koc/common"
	"github.com/holdfast-ops/holdfast/internal/koc/koctest"
)

const demo = "11111111-0000-0000-0000-000000000001"

// have is what the fake cloud has: a project with one of everything, beside things
// of another one.
func have() []koctest.Stock {
	kind := func(service, path, keys, key, items string) koctest.Stock {
		return koctest.Stock{Service: service, Path: path, Keys: keys, Key: key, Items: items}
	}
	of := func(attr string) string { return `"` + attr + `":"` + demo + `"` }
	return []koctest.Stock{
		kind("identity", "/projects", "projects", "project", `[{"id":"`+demo+`","name":"demo"},{"id":"p2","name":"other"}]`),
		kind("identity", "/domains", "domains", "domain", `[{"id":"d1","name":"corp"}]`),
		kind("network", "/extensions", "extensions", "extension", `[{"alias":"agent","name":"Agents","description":"d","updated":"2013-02-03T10:00:00-00:00","links":[]}]`),
		kind("compute", "/extensions", "extensions", "extension", `[]`),
		kind("volume", "/extensions", "extensions", "extension", `[{"alias":"os-hosts","name":"Hosts","description":"h","namespace":"n","updated":"u","links":[]}]`),
		kind("network", "/floatingips", "floatingips", "floatingip", `[{"id":"f1",`+of("project_id")+`,"name":""},{"id":"f2","project_id":"p2"}]`),
		kind("network", "/routers", "routers", "router", `[{"id":"r1","name":"r",`+of("tenant_id")+`,"created_at":"2026-01-01T00:00:00Z"}]`),
		kind("network", "/ports", "ports", "port", `[{"id":"po1",`+of("project_id")+`,"device_owner":""},{"id":"po2",`+of("project_id")+`,"device_owner":"network:router_interface","device_id":"r1"}]`),
		kind("network", "/subnets", "subnets", "subnet", `[]`), kind("network", "/networks", "networks", "network", `[{"id":"n1","name":"n",`+of("project_id")+`}]`),
		kind("network", "/security-groups", "security_groups", "security_group", `[{"id":"sg0","name":"default",`+of("project_id")+`},{"id":"sg1","name":"web",`+of("project_id")+`}]`),
		kind("image", "/images", "images", "", `[{"id":"i1","name":"i","owner":"`+demo+`"},{"id":"i2","owner":"p2"}]`),
	}
}

const empty = `
	GET compute /servers/detail?all_tenants=1&project_id=` + demo + `
	= {"servers":[]}
	GET volume /snapshots/detail?all_tenants=1&project_id=` + demo + `
	= {"snapshots":[]}
	GET volume /backups/detail?all_tenants=1&project_id=` + demo + `
	= {"backups":[]}
	GET volume /volumes/detail?all_tenants=1&project_id=` + demo + `
	= {"volumes":[{"id":"v1","name":"v","os-vol-tenant-attr:tenant_id":"` + demo + `"},{"id":"v2","os-vol-tenant-attr:tenant_id":"p2"}]}`

// removed is what clearing the project removes, in its order.
const removed = `
	DELETE network /floatingips/f1
	GET network /ports?device_id=r1
	= {"ports":[{"id":"po2","device_owner":"network:router_interface"}]}
	PUT network /routers/r1/remove_router_interface {"port_id":"po2"}
	DELETE network /routers/r1
	DELETE network /ports/po1
	DELETE network /networks/n1
	DELETE network /security-groups/sg1
	DELETE volume /volumes/v1
	= 202`

func TestCommandsSendWhatTheyShould(t *testing.T) {
	t.Parallel()
	zones := `
		GET compute /os-availability-zone/detail
		= 403 {"forbidden":{"message":"no"}}
		GET compute /os-availability-zone
		= {"availabilityZoneInfo":[{"zoneName":"az1","zoneState":{"available":true},"hosts":null},{"zoneName":"az2","zoneState":{"available":false},"hosts":null}]}`
	koctest.Test(t, common.Commands(), have(), []koctest.Case{
		{Line: "availability zone list --compute", API: zones, Out: `
			+-----------+---------------+
			| Zone Name | Zone Status   |
			+-----------+---------------+
			| az1       | available     |
			| az2       | not available |
			+-----------+---------------+`},
		{
			Line: "availability zone list --compute --long -f value", API: `GET compute /os-availability-zone/detail
			= {"availabilityZoneInfo":[{"zoneName":"az1","zoneState":{"available":true},"hosts":{"h1":{"nova-compute":{"available":true,"active":true,"updated_at":"T"},"x":{"available":false,"active":false,"updated_at":null}}}}]}`,
			Out: "az1\tavailable\t\th1\tnova-compute\tenabled :-) T\naz1\tavailable\t\th1\tx\tdisabled XXX None",
		},
		{Line: "availability zone list --volume --network --long -f value", API: `
			GET volume /os-availability-zone
			= {"availabilityZoneInfo":[{"zoneName":"nova","zoneState":{"available":true}}]}
			GET network /availability_zones
			= {"availability_zones":[{"name":"n","state":"unavailable","resource":"router"}]}`, Out: "nova\tavailable\t\t\t\t\nn\tnot available\trouter"},
		{Line: "availability zone list --network", API: "GET network /availability_zones\n= 404 {\"message\":\"no\"}", Err: "404"},
		{Line: "availability zone list -f value", API: zones + "\nGET volume /os-availability-zone\n= 400 {\"badRequest\":{\"message\":\"x\"}}\nGET network /availability_zones\n= {\"availability_zones\":[]}", Out: "az1\tavailable\naz2\tnot available"},
		{Line: "availability zone list", API: "GET compute /os-availability-zone/detail\n= 403\nGET compute /os-availability-zone\n= 403\nGET volume /os-availability-zone\n= 403\nGET network /availability_zones\n= 404", Err: "no service tells its availability zones"},
		{Line: "extension list --network --volume --long -f value", Out: "Hosts\tos-hosts\th\tn\tu\t\nAgents\tagent\td\t\t2013-02-03T10:00:00-00:00"},
		{Line: "extension list --network --long -f value", Compat: true, Out: "Agents agent d   []"},
		{Line: "extension list --identity", API: "GET identity /extensions\n= 404", Err: "404"},
		{Line: "extension show Agents -f value -c alias", Out: "agent"},
		{Line: "extension show nope", Err: `no network extension has the name or id "nope"`},
		{Line: "limits show --absolute --reserved --project demo --domain corp -f value", API: `
			GET identity /projects?domain_id=d1&name=demo
			= {"projects":[{"id":"` + demo + `","name":"demo"}]}
			GET compute /limits?reserved=1&tenant_id=` + demo + `
			= {"limits":{"absolute":{"maxTotalCores":20,"totalCoresUsed":1},"rate":[]}}
			GET volume /limits
			= {"limits":{"absolute":{"maxTotalVolumes":10}}}`, Out: "maxTotalCores\t20\ntotalCoresUsed\t1\nmaxTotalVolumes\t10"},
		{Line: "limits show --rate -f value", API: `
			GET compute /limits
			= {"limits":{"rate":[{"uri":"*","limit":[{"verb":"POST","value":10,"remaining":2,"unit":"MINUTE","next-available":"T"}]}]}}
			GET volume /limits
			= {"limits":{"rate":[]}}`, Out: "POST\t*\t10\t2\tMINUTE\tT"},
		{Line: "limits show", Err: "--absolute"},
		{Line: "quota show demo --compute -f value", API: "GET compute /os-quota-sets/" + demo + "\n" + `= {"quota_set":{"id":"x","cores":20,"metadata_items":128,"floating_ips":-1}}`, Out: "20\n-1\n" + demo + "\ndemo\n128"},
		{Line: "quota show --default --network -f json", API: "GET network /quotas/p1/default\n" + `= {"quota":{"network":100,"floatingip":50,"subnetpool":-1,"trunk":-1}}`},
		{Line: "quota show --class default --volume -f value", API: "GET volume /os-quota-class-sets/default\n" + `= {"quota_class_set":{"id":"default","volumes":10,"gigabytes_fast":-1}}`, Out: "-1\ndefault\n\n10"},
		{Line: "quota show --class", Err: "name the class"},
		{Line: "quota show nope", Err: `no project has the name or id "nope"`},
		{Line: "quota list --volume -f value", API: `
			GET volume /os-quota-sets/` + demo + `
			= {"quota_set":{"volumes":11,"gigabytes":1000}}
			GET volume /os-quota-sets/` + demo + `/defaults
			= {"quota_set":{"volumes":10,"gigabytes":1000}}
			GET volume /os-quota-sets/p2
			= {"quota_set":{"volumes":10}}
			GET volume /os-quota-sets/p2/defaults
			= {"quota_set":{"volumes":10}}`, Out: demo + "\t\t\t1000\t\t\t11"},
		{Line: "quota list --network --detail --project demo -f value", API: "GET network /quotas/" + demo + "/details.json\n" +
			`= {"quota":{"port":{"used":1,"reserved":0,"limit":5},"floatingip":{"used":2,"reserved":0,"limit":50}}}`, Out: "floating_ips\t2\t0\t50\nports\t1\t0\t5"},
		{Line: "quota list", Err: "--compute"},
		{Line: "quota set demo --cores 5 --volumes 6 --gigabytes 7 --volume-type fast --ports 8 --force", API: `
			PUT compute /os-quota-sets/` + demo + ` {"quota_set":{"cores":5,"force":true}}
			PUT volume /os-quota-sets/` + demo + ` {"quota_set":{"gigabytes_fast":7,"volumes_fast":6}}
			PUT network /quotas/` + demo + ` {"quota":{"port":8,"force":true}}`},
		{Line: "quota set default --class --cores 5", API: `PUT compute /os-quota-class-sets/default {"quota_class_set":{"cores":5}}`},
		{Line: "quota set default --class --ports 5", Err: "no classes of quotas"},
		{Line: "quota set demo --cores many", Err: "many"},
		{Line: "quota set demo --ports 1 --check-limit", API: `PUT network /quotas/` + demo + ` {"quota":{"port":1,"check_limit":true}}`},
		{Line: "configuration show -f value -c auth.password", Out: "<redacted>"},
		{Line: "project cleanup --project demo --dry-run -f value", Err: "-f"},
		{Line: "project cleanup --project demo --dry-run", API: empty, Out: `
			+---------------+-----+------+
			| Type          | ID  | Name |
			+---------------+-----+------+
			| FloatingIP    | f1  |      |
			| Router        | r1  | r    |
			| Port          | po1 |      |
			| Network       | n1  | n    |
			| SecurityGroup | sg1 | web  |
			| Volume        | v1  | v    |
			+---------------+-----+------+`},
		{Line: "project cleanup --project demo", Stdin: "y\n", API: empty + removed},
		{Line: "project cleanup --project demo --yes", API: empty + removed},
		{Line: "project cleanup --project demo", Stdin: "no\n", API: empty},
		{Line: "project cleanup --project demo", API: empty, Err: "nothing was deleted"},
		{Line: "project cleanup --project demo --created-before 2026-06-01T00:00:00 --dry-run", API: empty, Out: `
			+--------+----+------+
			| Type   | ID | Name |
			+--------+----+------+
			| Router | r1 | r    |
			+--------+----+------+`},
		{Line: "project cleanup --project demo --created-before yesterday", Err: "--created-before"},
		{Line: "project cleanup", Err: "--auth-project"},
		{Line: "project purge --project demo --dry-run", API: empty},
		{Line: "project purge --project demo", API: empty + `
			DELETE image /images/i1
			DELETE volume /volumes/v1
			= 202
			DELETE identity /projects/` + demo},
		{Line: "project purge --project demo", API: empty + `
			DELETE image /images/i1
			= 403 {"message":"protected"}
			DELETE volume /volumes/v1
			= 202`, Err: "was not deleted"},
		{Line: "project purge --project demo --keep-project", API: empty + `
			DELETE image /images/i1
			DELETE volume /volumes/v1
			= 202`},
		{Line: "versions show --service compute -f value", API: "GET compute /\n" + `= {"versions":[{"id":"v2.1","status":"CURRENT","version":"2.93","min_version":"2.1","links":[{"rel":"self","href":"http://compute.test/v2.1/"}]}]}`},
	})
}

func TestEveryCommandIsTried(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("requests_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range common.Commands() {
		if !strings.Contains(string(text), "Line: \""+e.Name) {
			t.Errorf("no case tries %q", e.Name)
		}
	}
}
