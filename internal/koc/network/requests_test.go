package network_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-ops/holdfast/internal/koc/koctest"
	"github.com/holdfast-ops/holdfast/internal/koc/network"
)

const (
	net1   = "11111111-0000-0000-0000-000000000001"
	net2   = "11111111-0000-0000-0000-000000000002"
	sub1   = "22222222-0000-0000-0000-000000000001"
	sub2   = "22222222-0000-0000-0000-000000000002"
	port1  = "33333333-0000-0000-0000-000000000001"
	port2  = "33333333-0000-0000-0000-000000000002"
	rtr1   = "44444444-0000-0000-0000-000000000001"
	rtr2   = "44444444-0000-0000-0000-000000000002"
	pool1  = "55555555-0000-0000-0000-000000000001"
	agent1 = "66666666-0000-0000-0000-000000000001"
	qos1   = "77777777-0000-0000-0000-000000000001"
	demo   = "88888888-0000-0000-0000-000000000001"
	trunk1 = "99999999-0000-0000-0000-000000000001"
	group1 = "aaaaaaaa-0000-0000-0000-000000000001"
	scope1 = "bbbbbbbb-0000-0000-0000-000000000001"
	seg1   = "cccccccc-0000-0000-0000-000000000001"
	flav1  = "dddddddd-0000-0000-0000-000000000001"
	prof1  = "eeeeeeee-0000-0000-0000-000000000001"
	misc1  = "ffffffff-0000-0000-0000-000000000001"
)

// have is what the fake cloud has.
func have() []koctest.Stock {
	one := func(path, keys, key, items string) koctest.Stock {
		return koctest.Stock{Service: "network", Path: path, Keys: keys, Key: key, Items: items}
	}
	return []koctest.Stock{
		one("/networks", "networks", "network", `[{"id":"`+net1+`","name":"net1","admin_state_up":true,"tags":["old","blue"],"subnets":["b","a"],"router:external":true,"project_id":"`+demo+`","mtu":1450},{"id":"`+net2+`","name":"ext"}]`),
		one("/subnets", "subnets", "subnet", `[{"id":"`+sub1+`","name":"sub1","network_id":"`+net1+`","cidr":"10.0.0.0/24","dns_nameservers":["1.1.1.1"],"host_routes":[{"destination":"10.9.0.0/16","nexthop":"10.0.0.9"}],
			"allocation_pools":[{"start":"10.0.0.2","end":"10.0.0.99"}],"service_types":["compute:nova"],"gateway_ip":"10.0.0.1"},{"id":"`+sub2+`","name":"sub2","network_id":"`+net2+`"}]`),
		one("/ports", "ports", "port", `[{"id":"`+port1+`","name":"port1","device_id":"`+rtr1+`","device_owner":"network:router_interface","fixed_ips":[{"subnet_id":"`+sub1+`","ip_address":"10.0.0.5"},{"subnet_id":"`+sub1+`","ip_address":"10.0.0.6"}],
			"security_groups":["`+group1+`"],"allowed_address_pairs":[{"ip_address":"10.1.0.0/24","mac_address":"fa:16:3e:00:00:01"}],"binding:profile":{"a":"1","b":"2"}},
			{"id":"`+port2+`","name":"port2","device_id":"`+rtr1+`","device_owner":"network:router_gateway","fixed_ips":[{"subnet_id":"`+sub2+`","ip_address":"192.0.2.7"}]}]`),
		one("/routers", "routers", "router", `[{"id":"`+rtr1+`","name":"r1","admin_state_up":true,"routes":[{"destination":"10.8.0.0/16","nexthop":"10.0.0.8"}],"external_gateway_info":{"network_id":"`+net2+`","qos_policy_id":"q"},"ha":false,"project_id":"`+demo+`"},
			{"id":"`+rtr2+`","name":"r2","admin_state_up":false,"external_gateway_info":null}]`),
		one("/subnetpools", "subnetpools", "subnetpool", `[{"id":"`+pool1+`","name":"pool1","prefixes":["10.0.0.0/8"],"tags":["x"],"default_prefixlen":"26"}]`),
		one("/agents", "agents", "agent", `[{"id":"`+agent1+`","agent_type":"L3 agent","alive":true,"admin_state_up":true,"configurations":{"k":1}}]`),
		one("/qos/policies", "policies", "policy", `[{"id":"`+qos1+`","name":"gold","rules":[{"id":"bw","type":"bandwidth_limit","max_kbps":1000,"direction":"egress","qos_policy_id":"`+qos1+`"},{"id":"mark","type":"dscp_marking","dscp_mark":10},{"id":"odd","type":"brand_new"}]}]`),
		one("/trunks", "trunks", "trunk", `[{"id":"`+trunk1+`","name":"trunk1","port_id":"`+port1+`","sub_ports":[{"port_id":"`+port2+`","segmentation_type":"vlan","segmentation_id":5}]}]`),
		one("/security-groups", "security_groups", "security_group", `[{"id":"`+group1+`","name":"web"}]`),
		one("/address-scopes", "address_scopes", "address_scope", `[{"id":"`+scope1+`","name":"scope"}]`),
		one("/address-groups", "address_groups", "address_group", `[{"id":"`+misc1+`","name":"addresses"}]`),
		one("/segments", "segments", "segment", `[{"id":"`+seg1+`","name":"seg"}]`),
		one("/network_segment_ranges", "network_segment_ranges", "network_segment_range", `[{"id":"`+misc1+`","name":"range","available":[7,1,2,3,9,10],"used":{"5":"p2","4":"p1","6":"p2"}},{"id":"full","name":"full","available":[],"used":{}}]`),
		one("/flavors", "flavors", "flavor", `[{"id":"`+flav1+`","name":"f1","service_profiles":["`+prof1+`"]}]`),
		one("/service_profiles", "service_profiles", "service_profile", `[{"id":"`+prof1+`","driver":"d","metainfo":"m"}]`),
		one("/rbac-policies", "rbac_policies", "rbac_policy", `[{"id":"`+misc1+`","target_tenant":"*"}]`),
		one("/metering/metering-labels", "metering_labels", "metering_label", `[{"id":"`+misc1+`","name":"meter","shared":true}]`),
		one("/metering/metering-label-rules", "metering_label_rules", "metering_label_rule", `[{"id":"`+misc1+`","excluded":true,"direction":"ingress"}]`),
		one("/network-ip-availabilities", "network_ip_availabilities", "network_ip_availability", `[{"id":"`+net1+`","network_id":"`+net1+`","total_ips":253}]`),
		one("/log/logs", "logs", "log", `[{"id":"`+misc1+`","name":"log","event":"all","resource_type":"security_group","resource_id":"g","target_id":null,"extra":1}]`),
		one("/log/loggable-resources", "loggable_resources", "", `[{"type":"security_group"}]`),
		one("/ndp_proxies", "ndp_proxies", "ndp_proxy", `[{"id":"`+misc1+`","name":"ndp","ip_address":"2001:db8::1"}]`),
		one("/default-security-group-rules", "default_security_group_rules", "default_security_group_rule", `[
			{"id":"`+misc1+`","protocol":"tcp","ethertype":"IPv4","port_range_min":80,"port_range_max":90,"direction":"ingress"},
			{"id":"icmp","protocol":"icmp","ethertype":"IPv6","port_range_min":8,"direction":"ingress"},{"id":"all","protocol":null,"ethertype":"IPv4","remote_ip_prefix":"10.0.0.0/8"}]`),
		one("/taas/tap_mirrors", "tap_mirrors", "tap_mirror", `[{"id":"`+misc1+`","name":"tap","directions":{"IN":99}}]`),
		one("/service-providers", "service_providers", "", `[{"service_type":"L3_ROUTER_NAT","name":"dvr","default":false}]`),
		one("/extensions", "extensions", "extension", `[{"alias":"router","id":"router","name":"Neutron L3 Router"}]`),
		one("/qos/rule-types", "rule_types", "rule_type", `[{"type":"dscp_marking","id":"dscp_marking","drivers":[]}]`),
		one("/routers/"+rtr1+"/conntrack_helpers", "conntrack_helpers", "conntrack_helper", `[{"id":"`+misc1+`","helper":"ftp","protocol":"tcp","port":21}]`),
		{Service: "identity", Path: "/projects", Keys: "projects", Key: "project", Items: `[{"id":"` + demo + `","name":"demo","domain_id":"d1"},{"id":"other","name":"demo","domain_id":"d2"}]`},
		{Service: "identity", Path: "/domains", Keys: "domains", Key: "domain", Items: `[{"id":"d1","name":"corp"}]`},
		{Service: "compute", Path: "/servers", Keys: "servers", Key: "server", Items: `[{"id":"srv1","name":"web1"}]`},
	}
}

const corp = " --project demo --project-domain corp"

func TestNetworks(t *testing.T) {
	t.Parallel()
	koctest.Test(t, network.Commands(), have(), []koctest.Case{
		{Line: "network create n -f value -c id -c name", API: `POST network /networks {"network":{"name":"n"}}`, Out: "new\nn"},
		{
			Line: "network create n --share --disable --description d --mtu 1400 --disable-port-security --external --default --provider-network-type vlan " +
				"--provider-physical-network p --provider-segment 7 --dns-domain x.org. --availability-zone-hint a --availability-zone-hint b --qos-policy gold --transparent-vlan" + corp +
				" --extra-property type=int,name=x,value=5 --extra-property name=y,value=z --tag t2 --tag t1 --tag t2 -c tags -f value",
			API: `
			POST network /networks {"network":{"name":"n","shared":true,"admin_state_up":false,"description":"d","mtu":"1400","port_security_enabled":false,
				"router:external":true,"is_default":true,"provider:network_type":"vlan","provider:physical_network":"p","provider:segmentation_id":"7",
				"dns_domain":"x.org.","availability_zone_hints":["a","b"],"qos_policy_id":"` + qos1 + `","vlan_transparent":true,"project_id":"` + demo + `","x":5,"y":"z"}}
			PUT network /networks/new/tags {"tags":["t1","t2"]}`, Out: "t1, t2",
		},
		{
			Line: "network create n --no-share --enable --enable-port-security --internal --no-default --no-transparent-vlan --no-tag --no-qinq-vlan",
			API: `POST network /networks {"network":{"name":"n","shared":false,"admin_state_up":true,"port_security_enabled":true,"router:external":false,"is_default":false,
				"vlan_transparent":false,"vlan_qinq":false}}`,
		},
		{Line: "network create n --tag t", API: `
			POST network /networks {"network":{"name":"n"}}
			PUT network /networks/new/tags {"tags":["t"]}
			= 500 {}`, Err: "the network new was created, but not its tags"},
		{Line: "network create n --project demo", Err: `2 projects have the name "demo"`},
		{Line: "network create n --share --no-share", Err: "--no-share"},
		{Line: "network create n --qos-policy none", Err: `no qos policy has the name or id "none"`},
		{Line: "network create n --extra-property type=odd,name=a,value=b", Err: `the type "odd" is not one of`},
		{Line: "network create n --extra-property type=int,name=a,value=b", Err: `"b" is no integer`},
		{
			Line: "network create n --extra-property type=bool,name=a,value=TRUE --extra-property type=list,name=b,value=x;y --extra-property type=dict,name=c,value=k:v;w;l:m",
			API:  `POST network /networks {"network":{"name":"n","a":true,"b":["x","y"],"c":{"k":"v;w","l":"m"}}}`,
		},
		{Line: "network create n --extra-property type=dict,name=c,value=k", Err: "has no value"},
		{Line: "network delete net1 ext", API: "DELETE network /networks/" + net1 + "\nDELETE network /networks/" + net2, Out: "-"},
		{Line: "network delete gone", Err: `no network has the name or id "gone"`},
		{Line: "network list -f value", API: `
			GET network /networks?fields=id&fields=name&fields=subnets
			= {"networks":[{"id":"n","name":"x","subnets":["b","a"]}]}`, Out: "n\tx\ta, b"},
		{Line: "network list --long -f value -c State -c 'Router Type' -c Tags", API: `
			GET network /networks?fields=admin_state_up&fields=router:external&fields=tags
			= {"networks":[{"admin_state_up":false,"router:external":true,"tags":["b","a"]},{"admin_state_up":true}]}`, Out: "DOWN\tExternal\ta, b\nUP\tInternal"},
		{Line: "network list -f value -c ID --external --name x --enable --share --status DOWN --provider-network-type vlan --provider-physical-network p --provider-segment 7" +
			" --tags a,b --any-tags c --not-tags d --not-any-tags e,f" + corp, API: `
			GET network /networks?router:external=true&name=x&admin_state_up=true&shared=true&status=DOWN&provider:network_type=vlan&provider:physical_network=p&provider:segmentation_id=7&tags=a,b&tags-any=c&not-tags=d&not-tags-any=e,f&project_id=` + demo + `&fields=id
			= {"networks":[]}`},
		{Line: "network list -f value -c ID --internal --disable --no-share", API: `
			GET network /networks?router:external=false&admin_state_up=false&shared=false&fields=id
			= {"networks":[]}`},
		{Line: "network list --agent " + agent1 + " -f value -c ID", API: "GET network /agents/" + agent1 + "/dhcp-networks?fields=id\n= {\"networks\":[{\"id\":\"x\"}]}", Out: "x"},
		{Line: "network set net1 --name n2 --no-qos-policy --mtu 9000", API: `PUT network /networks/` + net1 + ` {"network":{"name":"n2","qos_policy_id":null,"mtu":"9000"}}`, Out: "-"},
		{Line: "network set net1 --tag new", API: `PUT network /networks/` + net1 + `/tags {"tags":["blue","new","old"]}`},
		{Line: "network set net1 --no-tag --tag new --qos-policy gold", API: `
			PUT network /networks/` + net1 + ` {"network":{"qos_policy_id":"` + qos1 + `"}}
			PUT network /networks/` + net1 + `/tags {"tags":["new"]}`},
		{Line: "network set net1 --tag blue", Out: "-"},
		{Line: "network set net1 --extra-property name=a,value=b", API: `PUT network /networks/` + net1 + ` {"network":{"a":"b"}}`},
		{Line: "network show net1 -f value -c subnets -c router:external -c admin_state_up", Out: "UP\nExternal\na, b"},
		{Line: "network show net1 -f json -c subnets -c admin_state_up", Compat: true, Out: "\n{\n  \"admin_state_up\": true,\n  \"subnets\": [\n    \"b\",\n    \"a\"\n  ]\n}"},
		{Line: "network unset net1 --tag blue --share", API: `
			PUT network /networks/` + net1 + ` {"network":{"shared":false}}
			PUT network /networks/` + net1 + `/tags {"tags":["old"]}`},
		{Line: "network unset net1 --all-tag --extra-property name=a,value=b", API: `
			PUT network /networks/` + net1 + ` {"network":{"a":null}}
			PUT network /networks/` + net1 + `/tags {"tags":[]}`},
		{Line: "network onboard subnets net1 pool1", API: `PUT network /subnetpools/` + pool1 + `/onboard_network_subnets {"network_id":"` + net1 + `"}`},
		{Line: "network auto allocated topology create -f value", API: "GET network /auto-allocated-topology/None\n= {\"auto_allocated_topology\":{\"id\":\"t\",\"tenant_id\":\"p\",\"project_id\":\"p\"}}", Out: "t\np"},
		{Line: "network auto allocated topology create --check-resources -f value" + corp, API: "GET network /auto-allocated-topology/" + demo + "?fields=dry-run\n= {\"auto_allocated_topology\":{\"id\":\"dry-run=pass\"}}", Out: "pass"},
		{Line: "network auto allocated topology delete", API: "DELETE network /auto-allocated-topology/None"},
		{Line: "ip availability list -f value", API: `
			GET network /network-ip-availabilities?ip_version=4&fields=network_id&fields=network_name&fields=total_ips&fields=used_ips
			= {"network_ip_availabilities":[{"network_id":"n","network_name":"x","total_ips":18446744073709551615,"used_ips":3}]}`, Out: "n\tx\t18446744073709551615\t3"},
		{Line: "ip availability list --ip-version 6 -f value -c 'Used IPs'" + corp, API: "GET network /network-ip-availabilities?ip_version=6&project_id=" + demo + "&fields=used_ips\n= {\"network_ip_availabilities\":[]}"},
		{Line: "ip availability show net1 -f value -c total_ips", Out: "253"},
		{Line: "network service provider list -f value", Out: "L3_ROUTER_NAT\tdvr\tfalse"},
		{Line: "network extension list -f value", Out: "Neutron L3 Router\trouter"},
		{Line: "network extension show router -f value -c name", Out: "Neutron L3 Router"},
	})
}

func TestSubnets(t *testing.T) {
	t.Parallel()
	koctest.Test(t, network.Commands(), have(), []koctest.Case{
		{Line: "subnet create s --network net1 --subnet-range 10.0.0.0/24", API: `POST network /subnets {"subnet":{"name":"s","network_id":"` + net1 + `","cidr":"10.0.0.0/24","ip_version":4}}`},
		{Line: "subnet create s --network net1 --subnet-pool pool1 --prefix-length 26 --ip-version 6 --ipv6-ra-mode slaac --ipv6-address-mode slaac --gateway none --no-dhcp --dns-publish-fixed-ip" +
			" --network-segment seg --description d --allocation-pool start=a,end=b --dns-nameserver 1.1.1.1 --dns-nameserver 9.9.9.9 --host-route destination=c,gateway=e --service-type x --tag t" + corp, API: `
			POST network /subnets {"subnet":{"name":"s","project_id":"` + demo + `","network_id":"` + net1 + `","subnetpool_id":"` + pool1 + `","prefixlen":"26","ip_version":6,"ipv6_ra_mode":"slaac","ipv6_address_mode":"slaac",
				"gateway_ip":null,"enable_dhcp":false,"dns_publish_fixed_ip":true,"segment_id":"` + seg1 + `","description":"d","allocation_pools":[{"start":"a","end":"b"}],"dns_nameservers":["1.1.1.1","9.9.9.9"],
				"host_routes":[{"destination":"c","nexthop":"e"}],"service_types":["x"]}}
			PUT network /subnets/new/tags {"tags":["t"]}`},
		{Line: "subnet create s --network net1 --use-default-subnet-pool --gateway 10.0.0.254", API: `POST network /subnets {"subnet":{"name":"s","network_id":"` + net1 + `","use_default_subnet_pool":true,"gateway_ip":"10.0.0.254","ip_version":4}}`},
		{Line: "subnet create s --network net1 --use-prefix-delegation yes", API: `POST network /subnets {"subnet":{"name":"s","network_id":"` + net1 + `","subnetpool_id":"prefix_delegation","ip_version":4}}`},
		{Line: "subnet create s --subnet-range 10.0.0.0/24", Err: "--network"},
		{Line: "subnet create s --network net1 --allocation-pool start=a", Err: "end"},
		{Line: "subnet delete sub1", API: "DELETE network /subnets/" + sub1},
		{Line: "subnet list -f value -c ID --ip-version 4 --dhcp --network net1 --gateway g --name n --subnet-range r --subnet-pool pool1 --tags a" + corp, API: `
			GET network /subnets?ip_version=4&enable_dhcp=true&network_id=` + net1 + `&gateway_ip=g&name=n&cidr=r&subnetpool_id=` + pool1 + `&tags=a&project_id=` + demo + `&fields=id&fields=service_types
			= {"subnets":[]}`},
		{Line: "subnet list --long -f value -c Name -c 'Allocation Pools' -c 'Host Routes' --no-dhcp", API: `
			GET network /subnets?enable_dhcp=false&fields=allocation_pools&fields=host_routes&fields=name&fields=service_types
			= {"subnets":[{"name":"s","allocation_pools":[{"start":"a","end":"b"},{"start":"c","end":"d"}],"host_routes":[{"destination":"x","nexthop":"y"}]}]}`, Out: "s\ta-b,c-d\tdestination='x', gateway='y'"},
		{Line: "subnet list --service-type compute:nova --service-type other -f value -c Name", Out: "sub1"},
		{Line: "subnet set sub1 --name n --dhcp --gateway none --description d", API: `PUT network /subnets/` + sub1 + ` {"subnet":{"name":"n","enable_dhcp":true,"description":"d","gateway_ip":null}}`},
		{Line: "subnet set sub1 --dns-nameserver 9.9.9.9 --host-route destination=c,gateway=e --allocation-pool start=a,end=b --service-type x", API: `
			PUT network /subnets/` + sub1 + ` {"subnet":{"dns_nameservers":["9.9.9.9","1.1.1.1"],"host_routes":[{"destination":"c","nexthop":"e"},{"destination":"10.9.0.0/16","nexthop":"10.0.0.9"}],
				"allocation_pools":[{"start":"a","end":"b"},{"start":"10.0.0.2","end":"10.0.0.99"}],"service_types":["x","compute:nova"]}}`},
		{Line: "subnet set sub1 --no-dns-nameservers --no-host-route --no-allocation-pool --allocation-pool start=a,end=b", API: `PUT network /subnets/` + sub1 + ` {"subnet":{"dns_nameservers":[],"host_routes":[],"allocation_pools":[{"start":"a","end":"b"}]}}`},
		{Line: "subnet set sub1 --gateway auto", Err: "--gateway auto is for new subnets"},
		{Line: "subnet set sub1 --no-gateway", API: `PUT network /subnets/` + sub1 + ` {"subnet":{"gateway_ip":null}}`},
		{Line: "subnet set sub1 --gateway 10.0.0.7 --tag t", API: `
			PUT network /subnets/` + sub1 + ` {"subnet":{"gateway_ip":"10.0.0.7"}}
			PUT network /subnets/` + sub1 + `/tags {"tags":["t"]}`},
		{Line: "subnet show sub1 -f value -c allocation_pools -c host_routes -c dns_nameservers", Out: "10.0.0.2-10.0.0.99\n1.1.1.1\ndestination='10.9.0.0/16', gateway='10.0.0.9'"},
		{
			Line: "subnet unset sub1 --gateway --dns-nameserver 1.1.1.1 --host-route destination=10.9.0.0/16,gateway=10.0.0.9 --allocation-pool start=10.0.0.2,end=10.0.0.99 --service-type compute:nova",
			API:  `PUT network /subnets/` + sub1 + ` {"subnet":{"gateway_ip":null,"allocation_pools":[],"dns_nameservers":[],"host_routes":[],"service_types":[]}}`,
		},
		{Line: "subnet unset sub1 --dns-nameserver 2.2.2.2", Err: "the subnet has no dns nameserver 2.2.2.2"},
		{Line: "subnet unset sub1 --host-route destination=a,gateway=b", Err: "the subnet has no host route destination=a,nexthop=b"},

		{Line: "subnet pool create p --pool-prefix 10.0.0.0/8 --pool-prefix 10.1.0.0/16 --default-prefix-length 26 --min-prefix-length 0 --max-prefix-length 30 --address-scope scope --default --share --description d --default-quota 9 --tag t" + corp, API: `
			POST network /subnetpools {"subnetpool":{"name":"p","prefixes":["10.0.0.0/8","10.1.0.0/16"],"default_prefixlen":26,"min_prefixlen":0,"max_prefixlen":30,"address_scope_id":"` + scope1 + `","is_default":true,"shared":true,
				"description":"d","default_quota":9,"project_id":"` + demo + `"}}
			PUT network /subnetpools/new/tags {"tags":["t"]}`},
		{Line: "subnet pool create p", Err: "--pool-prefix"},
		{Line: "subnet pool delete pool1", API: "DELETE network /subnetpools/" + pool1},
		{Line: "subnet pool list -f value -c Name --share --default --name n --address-scope scope --any-tags a,b" + corp, API: `
			GET network /subnetpools?shared=true&is_default=true&name=n&address_scope_id=` + scope1 + `&tags-any=a,b&project_id=` + demo + `&fields=name
			= {"subnetpools":[]}`},
		{Line: "subnet pool list --long -f value -c 'Default Prefix Length' -c Prefixes", Out: "26\t10.0.0.0/8"},
		{Line: "subnet pool set pool1 --name n --pool-prefix 10.1.0.0/16 --no-address-scope --no-default", API: `PUT network /subnetpools/` + pool1 + ` {"subnetpool":{"name":"n","address_scope_id":null,"is_default":false,"prefixes":["10.1.0.0/16","10.0.0.0/8"]}}`},
		{Line: "subnet pool show pool1 -f value -c default_prefixlen -c tags", Out: "26\nx"},
		{Line: "subnet pool unset pool1 --tag x", API: `PUT network /subnetpools/` + pool1 + `/tags {"tags":[]}`},
		{Line: "subnet pool unset pool1 --tag y", Out: "-"},
	})
}

func TestPorts(t *testing.T) {
	t.Parallel()
	koctest.Test(t, network.Commands(), have(), []koctest.Case{
		{Line: "port create p --network net1", API: `POST network /ports {"port":{"name":"p","network_id":"` + net1 + `"}}`},
		{Line: "port create p --network net1 --description d --device dev --mac-address m --device-owner o --vnic-type direct --host h --dns-domain x. --dns-name y --numa-policy-required --fixed-ip subnet=sub1,ip-address=10.0.0.9" +
			" --fixed-ip ip-address=10.0.0.8 --binding-profile a=b --binding-profile '{\"c\":[1]}' --disable --enable-uplink-status-propagation --extra-dhcp-option name=mtu,value=1400,ip-version=4 --security-group web" +
			" --qos-policy gold --disable-port-security --allowed-address ip-address=1.2.3.4,mac-address=mm --device-profile dp --tag t" + corp, API: `
			POST network /ports {"port":{"name":"p","network_id":"` + net1 + `","description":"d","device_id":"dev","mac_address":"m","device_owner":"o","binding:vnic_type":"direct","binding:host_id":"h","dns_domain":"x.","dns_name":"y",
				"numa_affinity_policy":"required","fixed_ips":[{"subnet_id":"` + sub1 + `","ip_address":"10.0.0.9"},{"ip_address":"10.0.0.8"}],"binding:profile":{"a":"b","c":[1]},"admin_state_up":false,"propagate_uplink_status":true,
				"extra_dhcp_opts":[{"opt_name":"mtu","opt_value":"1400","ip_version":"4"}],"security_groups":["` + group1 + `"],"qos_policy_id":"` + qos1 + `","port_security_enabled":false,
				"allowed_address_pairs":[{"ip_address":"1.2.3.4","mac_address":"mm"}],"device_profile":"dp","project_id":"` + demo + `"}}
			PUT network /ports/new/tags {"tags":["t"]}`},
		{Line: "port create p --network net1 --no-fixed-ip --no-security-group --numa-policy-legacy --hint ovs-tx-steering=hash --trusted", API: `
			POST network /ports {"port":{"name":"p","network_id":"` + net1 + `","fixed_ips":[],"security_groups":[],"numa_affinity_policy":"legacy","trusted":true,"hints":{"openvswitch":{"other_config":{"tx-steering":"hash"}}}}}`},
		{Line: "port create p --network net1 --numa-policy-preferred --numa-policy-required", Err: "--numa-policy"},
		{Line: "port create p --network net1 --hint ovs-tx-steering=odd", Err: "give thread or hash"},
		{Line: "port create p --network net1 --binding-profile odd", Err: "--binding-profile"},
		{Line: "port create p --network net1 --fixed-ip subnet=none", Err: `no subnet has the name or id "none"`},
		{Line: "port delete port1 port2", API: "DELETE network /ports/" + port1 + "\nDELETE network /ports/" + port2},
		{Line: "port delete port1", API: "DELETE network /ports/" + port1 + "\n= 409 {\"NeutronError\":{\"type\":\"ServicePortInUse\",\"message\":\"Port is in use\",\"detail\":\"\"}}", Err: "Port is in use"},
		{Line: "port list -f value", API: `
			GET network /ports?fields=fixed_ips&fields=id&fields=mac_address&fields=name&fields=status
			= {"ports":[{"id":"p","name":"n","mac_address":"m","fixed_ips":[{"subnet_id":"s","ip_address":"1.2.3.4"}],"status":"DOWN"}]}`, Out: "p\tn\tm\tip_address='1.2.3.4', subnet_id='s'\tDOWN"},
		{Line: "port list -f value -c ID --device-owner o --host h --network net1 --router r1 --mac-address m --name n --security-group web --security-group " + group1 + " --status DOWN --fixed-ip subnet=sub1,ip-address=1.2.3.4 --fixed-ip ip-substring=1.2 --not-tags t" + corp, API: `
			GET network /ports?device_owner=o&binding:host_id=h&network_id=` + net1 + `&device_id=` + rtr1 + `&mac_address=m&name=n&security_groups=` + group1 + `&security_groups=` + group1 + `&status=DOWN&fixed_ips=subnet_id=` + sub1 + `&fixed_ips=ip_address=1.2.3.4&fixed_ips=ip_address_substr=1.2&not-tags=t&project_id=` + demo + `&fields=id
			= {"ports":[]}`},
		{Line: "port list --server web1 -f value -c ID", API: "GET network /ports?device_id=srv1&fields=id\n= {\"ports\":[]}"},
		{Line: "port list --device-id d -f value -c ID -c device_owner", API: "GET network /ports?device_id=d&fields=device_owner&fields=id\n= {\"ports\":[{\"id\":\"p\",\"device_owner\":\"o\"}]}", Out: "p\to"},
		{Line: "port list --all-projects -f csv --device-id d -c ID -c 'Project ID'", API: "GET network /ports?device_id=d&fields=id&fields=project_id\n= {\"ports\":[{\"id\":\"p\",\"project_id\":\"x\"}]}", Out: "ID,Project ID\np,x"},
		{Line: "port list -f value -c Name -c 'project id' ", Env: map[string]string{"ALL_PROJECTS": "1"}, API: "GET network /ports?fields=name&fields=project_id\n= {\"ports\":[{\"name\":\"p\",\"project_id\":\"x\"}]}", Out: "p\tx"},
		{Line: "port list --all-projects --project demo", Err: "--project"},
		{Line: "port list --long -f value -c 'Security Groups'", API: "GET network /ports?fields=security_groups\n= {\"ports\":[{\"security_groups\":[\"b\",\"a\"]}]}", Out: "a, b"},
		{Line: "port set port1 --name n --fixed-ip ip-address=10.0.0.7 --security-group web --allowed-address ip-address=1.1.1.1 --binding-profile b=9 --data-plane-status DOWN --enable-port-security --enable", API: `
			PUT network /ports/` + port1 + ` {"port":{"name":"n","port_security_enabled":true,"admin_state_up":true,"data_plane_status":"DOWN","fixed_ips":[{"subnet_id":"` + sub1 + `","ip_address":"10.0.0.5"},{"subnet_id":"` + sub1 + `","ip_address":"10.0.0.6"},{"ip_address":"10.0.0.7"}],
				"security_groups":["` + group1 + `","` + group1 + `"],"allowed_address_pairs":[{"ip_address":"10.1.0.0/24","mac_address":"fa:16:3e:00:00:01"},{"ip_address":"1.1.1.1"}],"binding:profile":{"a":"1","b":"9"}}}`},
		{Line: "port set port1 --no-fixed-ip --fixed-ip subnet=sub2 --no-security-group --no-allowed-address --no-binding-profile --tag t", API: `
			PUT network /ports/` + port1 + ` {"port":{"fixed_ips":[{"subnet_id":"` + sub2 + `"}],"security_groups":[],"allowed_address_pairs":[],"binding:profile":{}}}
			PUT network /ports/` + port1 + `/tags {"tags":["t"]}`},
		{Line: "port set port1 --no-binding-profile --binding-profile x=y --qos-policy gold", API: `PUT network /ports/` + port1 + ` {"port":{"qos_policy_id":"` + qos1 + `","binding:profile":{"x":"y"}}}`},
		{Line: "port show port1 -f value -c security_group_ids -c binding_profile", Out: "a='1', b='2'\n" + group1},
		{Line: "port unset port1 --fixed-ip subnet=sub1,ip-address=10.0.0.5 --binding-profile a --security-group web --allowed-address ip-address=10.1.0.0/24 --qos-policy --data-plane-status --numa-policy --host", API: `
			PUT network /ports/` + port1 + ` {"port":{"qos_policy_id":null,"data_plane_status":null,"numa_affinity_policy":null,"binding:host_id":null,"fixed_ips":[{"subnet_id":"` + sub1 + `","ip_address":"10.0.0.6"}],
				"security_groups":[],"allowed_address_pairs":[],"binding:profile":{"b":"2"}}}`},
		{Line: "port unset port1 --fixed-ip ip-address=10.0.0.6", API: `PUT network /ports/` + port1 + ` {"port":{"fixed_ips":[{"subnet_id":"` + sub1 + `","ip_address":"10.0.0.5"}]}}`},
		{Line: "port unset port1 --fixed-ip subnet=sub1", Err: "more than one item is like"},
		{Line: "port unset port1 --fixed-ip ip-address=9.9.9.9", Err: "the port has no fixed address ip_address=9.9.9.9"},
		{Line: "port unset port2 --security-group web", Err: "the port is not in the security group"},
		{Line: "port unset port1 --binding-profile z", Err: `has no key "z"`},
		{Line: "port unset port1 --device --device-owner --hints", API: `PUT network /ports/` + port1 + ` {"port":{"device_id":"","device_owner":"","hints":null}}`},
	})
}

func TestRouters(t *testing.T) {
	t.Parallel()
	const noMultihoming = "GET network /extensions/external-gateway-multihoming\n= 404 {}\n"
	const multihoming = "GET network /extensions/external-gateway-multihoming\n= {\"extension\":{\"alias\":\"x\"}}\n"
	koctest.Test(t, network.Commands(), have(), []koctest.Case{
		{Line: "router create r", API: `POST network /routers {"router":{"name":"r"}}`},
		{Line: "router create r --disable --distributed --no-ha --description d --availability-zone-hint a --external-gateway ext --fixed-ip subnet=sub2,ip-address=192.0.2.9 --disable-snat --qos-policy gold --tag t" + corp, API: `
			POST network /routers {"router":{"name":"r","admin_state_up":false,"distributed":true,"ha":false,"description":"d","availability_zone_hints":["a"],"project_id":"` + demo + `",
				"external_gateway_info":{"network_id":"` + net2 + `","enable_snat":false,"external_fixed_ips":[{"subnet_id":"` + sub2 + `","ip_address":"192.0.2.9"}],"qos_policy_id":"` + qos1 + `"}}}
			PUT network /routers/new/tags {"tags":["t"]}`},
		{Line: "router create r --external-gateway ext --external-gateway net1 --fixed-ip subnet=sub1,ip-address=10.0.0.3 --enable-snat --flavor f1 --enable-ndp-proxy", API: `
			POST network /routers {"router":{"name":"r","enable_ndp_proxy":true,"flavor_id":"` + flav1 + `","external_gateways":[{"network_id":"` + net2 + `","enable_snat":true},
				{"network_id":"` + net1 + `","enable_snat":true,"external_fixed_ips":[{"subnet_id":"` + sub1 + `","ip_address":"10.0.0.3"}]}]}}`},
		{Line: "router create r --external-gateway ext --external-gateway net1 --fixed-ip ip-address=10.0.0.3", Err: "--fixed-ip needs a subnet"},
		{Line: "router create r --enable-snat", Err: "give --external-gateway too"},
		{Line: "router create r --qos-policy gold", Err: "give --external-gateway too"},
		{Line: "router delete r1 r2", API: "DELETE network /routers/" + rtr1 + "\nDELETE network /routers/" + rtr2},
		{Line: "router list -f csv", Out: "ID,Name,Status,State,Project,HA\n" + rtr1 + ",r1,,UP," + demo + ",false\n" + rtr2 + ",r2,,DOWN,,"},
		{Line: "router list -f value -c Name --name n --enable --tags a" + corp, API: "GET network /routers?name=n&admin_state_up=true&tags=a&project_id=" + demo +
			"&fields=admin_state_up&fields=name&fields=project_id&fields=tags\n= {\"routers\":[{\"name\":\"n\"}]}", Out: "n"},
		{Line: "router list --long -f value -c Name -c Routes -c 'External gateway info'", Out: "r1\tdestination='10.8.0.0/16', gateway='10.0.0.8'\t{\"network_id\": \"" + net2 + "\", \"qos_policy_id\": \"q\"}\nr2"},
		{Line: "router list --agent " + agent1 + " --disable -f value -c Name" + corp, API: "GET network /agents/" + agent1 + `/l3-routers?fields=admin_state_up&fields=name&fields=project_id&fields=tags
			= {"routers":[{"name":"a","admin_state_up":true,"project_id":"` + demo + `"},{"name":"b","admin_state_up":false,"project_id":"` + demo + `"},{"name":"c","admin_state_up":false,"project_id":"p"}]}`, Out: "b"},
		{Line: "router list --agent " + agent1 + " --tags a,b --any-tags c,d --not-tags x,y --not-any-tags z -f value -c Name", API: "GET network /agents/" + agent1 + `/l3-routers?fields=admin_state_up&fields=name&fields=project_id&fields=tags
			= {"routers":[{"name":"yes","tags":["a","b","c","x"]},{"name":"no1","tags":["a","c"]},{"name":"no2","tags":["a","b"]},{"name":"no3","tags":["a","b","c","x","y"]},{"name":"no4","tags":["a","b","d","z"]}]}`, Out: "yes"},
		{Line: "router set r1 --name n --centralized --ha --route destination=10.7.0.0/16,gateway=10.0.0.7 --external-gateway ext --no-qos-policy", API: `
			PUT network /routers/` + rtr1 + ` {"router":{"distributed":false,"ha":true,"name":"n","routes":[{"destination":"10.7.0.0/16","nexthop":"10.0.0.7"},{"destination":"10.8.0.0/16","nexthop":"10.0.0.8"}],
				"external_gateway_info":{"network_id":"` + net2 + `","qos_policy_id":null}}}`},
		{Line: "router set r1 --no-route --qos-policy gold", API: `PUT network /routers/` + rtr1 + ` {"router":{"routes":[],"external_gateway_info":{"network_id":"` + net2 + `","qos_policy_id":"` + qos1 + `"}}}`},
		{Line: "router set r2 --qos-policy gold", Err: "the router has none"},
		{Line: "router set r2 --fixed-ip subnet=sub2", Err: "give --external-gateway too"},
		{Line: "router set r1 --no-tag --enable", API: `PUT network /routers/` + rtr1 + ` {"router":{"admin_state_up":true}}`},
		{
			Line: "router show r1 -f value -c interfaces_info -c ha", API: "GET network /ports?device_id=" + rtr1 + "\n= {\"ports\":[{\"id\":\"p1\",\"device_owner\":\"x\",\"fixed_ips\":[{\"ip_address\":\"1.2.3.4\",\"subnet_id\":\"s\"}]},{\"id\":\"p2\",\"device_owner\":\"network:router_gateway\",\"fixed_ips\":[{}]}]}",
			Out: "false\n[{\"port_id\": \"p1\", \"ip_address\": \"1.2.3.4\", \"subnet_id\": \"s\"}]",
		},
		{Line: "router unset r1 --route destination=10.8.0.0/16,gateway=10.0.0.8 --qos-policy", API: `PUT network /routers/` + rtr1 + ` {"router":{"routes":[],"external_gateway_info":{"network_id":"` + net2 + `","qos_policy_id":null}}}`},
		{Line: "router unset r1 --external-gateway", API: `PUT network /routers/` + rtr1 + ` {"router":{"external_gateway_info":{}}}`},
		{Line: "router unset r1 --route destination=a,gateway=b", Err: "the router has no route destination=a,nexthop=b"},
		{Line: "router unset r2 --qos-policy", Err: "no external gateway with a QoS policy"},
		{Line: "router add port r1 port2", API: `PUT network /routers/` + rtr1 + `/add_router_interface {"port_id":"` + port2 + `"}`, Out: "-"},
		{Line: "router add subnet r1 sub1", API: `PUT network /routers/` + rtr1 + `/add_router_interface {"subnet_id":"` + sub1 + `"}`, Out: "-"},
		{Line: "router remove port r1 port2", API: `PUT network /routers/` + rtr1 + `/remove_router_interface {"port_id":"` + port2 + `"}`},
		{Line: "router remove subnet r1 sub1", API: `PUT network /routers/` + rtr1 + `/remove_router_interface {"subnet_id":"` + sub1 + `"}`},
		{Line: "router add route r1 --route destination=a,gateway=b -f value -c routes", API: `
			PUT network /routers/` + rtr1 + `/add_extraroutes {"router":{"routes":[{"destination":"a","nexthop":"b"}]}}`, Out: "destination='a', gateway='b'"},
		{Line: "router remove route r1 --route destination=a,gateway=b", API: `PUT network /routers/` + rtr1 + `/remove_extraroutes {"router":{"routes":[{"destination":"a","nexthop":"b"}]}}`},
		{Line: "router add gateway r2 ext --fixed-ip subnet=sub2", API: multihoming + `
			PUT network /routers/` + rtr2 + `/add_external_gateways {"router":{"external_gateways":[{"network_id":"` + net2 + `","external_fixed_ips":[{"subnet_id":"` + sub2 + `"}]}]}}`},
		{Line: "router add gateway r2 ext", API: noMultihoming + `PUT network /routers/` + rtr2 + ` {"router":{"external_gateway_info":{"network_id":"` + net2 + `"}}}`},
		{Line: "router add gateway r1 ext", API: noMultihoming, Err: "gives a router no more than one"},
		{Line: "router remove gateway r1 ext", API: multihoming + `PUT network /routers/` + rtr1 + `/remove_external_gateways {"router":{"external_gateways":[{"network_id":"` + net2 + `"}]}}`},
		{Line: "router remove gateway r1", API: noMultihoming + `PUT network /routers/` + rtr1 + ` {"router":{"external_gateway_info":{}}}`},
		{Line: "router remove gateway r1 net1", API: noMultihoming, Err: "the external gateway of the router is the network " + net2},
		{Line: "router remove gateway r2", API: noMultihoming, Err: "the router has no external gateway"},

		{Line: "router ndp proxy create r1 --name n --port port1 --ip-address 2001:db8::1 --description d", API: `POST network /ndp_proxies {"ndp_proxy":{"name":"n","port_id":"` + port1 + `","ip_address":"2001:db8::1","description":"d","router_id":"` + rtr1 + `"}}`},
		{Line: "router ndp proxy delete ndp", API: "DELETE network /ndp_proxies/" + misc1},
		{Line: "router ndp proxy list -f value -c ID --router r1 --port port1 --ip-address a --name n" + corp, API: "GET network /ndp_proxies?router_id=" + rtr1 + "&port_id=" + port1 + "&ip_address=a&name=n&project_id=" + demo + "&fields=id\n= {\"ndp_proxies\":[]}"},
		{Line: "router ndp proxy set ndp --name n --description d", API: `PUT network /ndp_proxies/` + misc1 + ` {"ndp_proxy":{"name":"n","description":"d"}}`},
		{Line: "router ndp proxy show ndp -f value -c ip_address", Out: "2001:db8::1"},

		{Line: "network l3 conntrack helper create r1 --helper ftp --protocol tcp --port 21", API: `POST network /routers/` + rtr1 + `/conntrack_helpers {"conntrack_helper":{"helper":"ftp","protocol":"tcp","port":21}}`},
		{Line: "network l3 conntrack helper delete r1 " + misc1, API: "DELETE network /routers/" + rtr1 + "/conntrack_helpers/" + misc1},
		{Line: "network l3 conntrack helper list r1 -f value", Out: misc1 + "\t" + rtr1 + "\tftp\ttcp\t21"},
		{Line: "network l3 conntrack helper list r1 --helper ftp --protocol tcp --port 21 -f value -c ID", API: "GET network /routers/" + rtr1 + "/conntrack_helpers?helper=ftp&protocol=tcp&port=21&fields=id\n= {\"conntrack_helpers\":[]}"},
		{Line: "network l3 conntrack helper set r1 " + misc1 + " --port 2121", API: `PUT network /routers/` + rtr1 + `/conntrack_helpers/` + misc1 + ` {"conntrack_helper":{"port":2121}}`},
		{Line: "network l3 conntrack helper show r1 " + misc1 + " -f value -c helper", Out: "ftp"},
	})
}

func TestAgents(t *testing.T) {
	t.Parallel()
	koctest.Test(t, network.Commands(), have(), []koctest.Case{
		{Line: "network agent add network " + agent1 + " net1 --dhcp", API: `POST network /agents/` + agent1 + `/dhcp-networks {"network_id":"` + net1 + `"}`, Out: "-"},
		{Line: "network agent add network " + agent1 + " net1", API: `POST network /agents/` + agent1 + `/dhcp-networks {"network_id":"` + net1 + `"}`},
		{Line: "network agent add network " + agent1 + " net1", Compat: true, Out: "-"},
		{Line: "network agent add router --l3 " + agent1 + " r1", API: `POST network /agents/` + agent1 + `/l3-routers {"router_id":"` + rtr1 + `"}`},
		{Line: "network agent remove network --dhcp " + agent1 + " net1", API: "DELETE network /agents/" + agent1 + "/dhcp-networks/" + net1},
		{Line: "network agent remove router --l3 " + agent1 + " r1", API: "DELETE network /agents/" + agent1 + "/l3-routers/" + rtr1},
		{Line: "network agent delete " + agent1 + " nonesuch", API: "DELETE network /agents/" + agent1, Err: `no network agent has the name or id "nonesuch"`},
		{Line: "network agent list -f value -c ID -c Alive -c State", API: "GET network /agents?fields=admin_state_up&fields=alive&fields=id\n= {\"agents\":[{\"id\":\"a\",\"alive\":true,\"admin_state_up\":false},{\"id\":\"b\",\"alive\":false}]}", Out: "a\t:-)\tDOWN\nb\tXXX\tDOWN"},
		{Line: "network agent list --agent-type nic --host h -f value -c ID", API: "GET network /agents?agent_type=NIC%20Switch%20agent&host=h&fields=id\n= {\"agents\":[]}"},
		{Line: "network agent list --network net1 -f value -c ID", API: "GET network /networks/" + net1 + "/dhcp-agents?fields=id\n= {\"agents\":[{\"id\":\"a\"}]}", Out: "a"},
		{Line: "network agent list --router r1 --long -f value -c ID -c 'HA State'", API: "GET network /routers/" + rtr1 + "/l3-agents?fields=ha_state&fields=id\n= {\"agents\":[{\"id\":\"a\",\"ha_state\":\"active\"}]}", Out: "a\tactive"},
		{Line: "network agent set " + agent1 + " --description d --disable", API: `PUT network /agents/` + agent1 + ` {"agent":{"description":"d","admin_state_up":false}}`},
		{Line: "network agent show " + agent1 + " -f value -c alive -c configuration", Out: ":-)\nk='1'"},
	})
}

func TestFlavorsAndMeters(t *testing.T) {
	t.Parallel()
	koctest.Test(t, network.Commands(), have(), []koctest.Case{
		{Line: "network flavor create f --service-type L3_ROUTER_NAT --description d --disable" + corp, API: `POST network /flavors {"flavor":{"name":"f","service_type":"L3_ROUTER_NAT","description":"d","enabled":false,"project_id":"` + demo + `"}}`},
		{Line: "network flavor delete f1", API: "DELETE network /flavors/" + flav1},
		{Line: "network flavor list -f value -c Name", Out: "f1"},
		{Line: "network flavor set f1 --name n --enable", API: `PUT network /flavors/` + flav1 + ` {"flavor":{"name":"n","enabled":true}}`},
		{Line: "network flavor show f1 -f value -c service_profile_ids", Out: prof1},
		{Line: "network flavor add profile f1 " + prof1, API: `POST network /flavors/` + flav1 + `/service_profiles {"service_profile":{"id":"` + prof1 + `"}}`, Out: "-"},
		{Line: "network flavor remove profile f1 " + prof1, API: "DELETE network /flavors/" + flav1 + "/service_profiles/" + prof1, Out: "-"},
		{Line: "network flavor profile create --driver d --metainfo m --enable" + corp, API: `POST network /service_profiles {"service_profile":{"enabled":true,"driver":"d","metainfo":"m","project_id":"` + demo + `"}}`},
		{Line: "network flavor profile create --description d", Err: "needs --driver or --metainfo"},
		{Line: "network flavor profile delete " + prof1, API: "DELETE network /service_profiles/" + prof1},
		{Line: "network flavor profile list -f value -c Metainfo", Out: "m"},
		{Line: "network flavor profile set " + prof1 + " --metainfo x --disable", API: `PUT network /service_profiles/` + prof1 + ` {"service_profile":{"enabled":false,"metainfo":"x"}}`},
		{Line: "network flavor profile show " + prof1 + " -f value -c meta_info", Out: "m"},
		{Line: "network meter create m --description d --share" + corp, API: `POST network /metering/metering-labels {"metering_label":{"name":"m","description":"d","shared":true,"project_id":"` + demo + `"}}`},
		{Line: "network meter delete meter", API: "DELETE network /metering/metering-labels/" + misc1},
		{Line: "network meter list -f value -c Name -c Shared", Out: "meter\ttrue"},
		{Line: "network meter list -f value -c Name -c Shared", Compat: true, Out: "meter"},
		{Line: "network meter show meter -f value -c shared", Out: "true"},
		{Line: "network meter rule create meter --exclude --egress --remote-ip-prefix r --source-ip-prefix s --destination-ip-prefix d" + corp, API: `
			POST network /metering/metering-label-rules {"metering_label_rule":{"excluded":true,"direction":"egress","remote_ip_prefix":"r","source_ip_prefix":"s","destination_ip_prefix":"d","project_id":"` + demo + `","metering_label_id":"` + misc1 + `"}}`},
		{Line: "network meter rule create meter --include", API: `POST network /metering/metering-label-rules {"metering_label_rule":{"excluded":false,"metering_label_id":"` + misc1 + `","direction":"ingress"}}`},
		{Line: "network meter rule delete " + misc1, API: "DELETE network /metering/metering-label-rules/" + misc1},
		{Line: "network meter rule list -f value -c Excluded", Out: "true"},
		{Line: "network meter rule show " + misc1 + " -f value -c is_excluded", Out: "true"},
	})
}

func TestQoS(t *testing.T) {
	t.Parallel()
	const rules = "/qos/policies/" + qos1
	koctest.Test(t, network.Commands(), have(), []koctest.Case{
		{Line: "network qos policy create q --description d --share --default" + corp, API: `POST network /qos/policies {"policy":{"name":"q","description":"d","shared":true,"is_default":true,"project_id":"` + demo + `"}}`},
		{Line: "network qos policy delete gold", API: "DELETE network /qos/policies/" + qos1},
		{Line: "network qos policy list -f value -c ID --no-share" + corp, API: "GET network /qos/policies?shared=false&project_id=" + demo + "&fields=id\n= {\"policies\":[]}"},
		{Line: "network qos policy set gold --name n --no-default --no-share", API: `PUT network /qos/policies/` + qos1 + ` {"policy":{"name":"n","shared":false,"is_default":false}}`},
		{Line: "network qos policy show gold -f value -c name", Out: "gold"},
		{Line: "network qos rule create gold --type bandwidth-limit --max-kbps 1000 --max-burst-kbits 9 --ingress", API: `POST network ` + rules + `/bandwidth_limit_rules {"bandwidth_limit_rule":{"max_kbps":1000,"max_burst_kbps":9,"direction":"ingress"}}`},
		{Line: "network qos rule create gold --type dscp-marking --dscp-mark 10", API: `POST network ` + rules + `/dscp_marking_rules {"dscp_marking_rule":{"dscp_mark":10}}`},
		{Line: "network qos rule create gold --type minimum-bandwidth --min-kbps 5 --egress", API: `POST network ` + rules + `/minimum_bandwidth_rules {"minimum_bandwidth_rule":{"min_kbps":5,"direction":"egress"}}`},
		{Line: "network qos rule create gold --type minimum-packet-rate --min-kpps 5 --any --extra-property name=x,value=y", API: `POST network ` + rules + `/minimum_packet_rate_rules {"minimum_packet_rate_rule":{"min_kpps":5,"direction":"any","x":"y"}}`},
		{Line: "network qos rule create gold --type packet-rate-limit --max-kpps 5 --max-burst-kpps 6 --direction ingress", API: `POST network ` + rules + `/packet_rate_limit_rules {"packet_rate_limit_rule":{"max_kpps":5,"max_burst_kpps":6,"direction":"ingress"}}`},
		{Line: "network qos rule create gold --type minimum-bandwidth --min-kbps 5", Err: "a minimum-bandwidth rule needs --ingress, --egress or --any"},
		{Line: "network qos rule create gold --type dscp-marking --dscp-mark 10 --max-kbps 1", Err: "a dscp-marking rule takes no --max-kbps"},
		{Line: "network qos rule create gold --type bandwidth-limit --max-kbps 1 --any", Err: "only minimum-packet-rate rules take --any"},
		{Line: "network qos rule delete gold bw", API: "DELETE network " + rules + "/bandwidth_limit_rules/bw", Out: "-"},
		{Line: "network qos rule delete gold none", Err: `the QoS policy "gold" has no rule "none"`},
		{Line: "network qos rule delete gold odd", Err: `of the kind "brand-new", which koc does not know`},
		{Line: "network qos rule list gold -f value -c ID -c Type -c 'Max Kbps' -c 'DSCP mark'", Out: "bw\tbandwidth_limit\t1000\t\nmark\tdscp_marking\t\t10\nodd\tbrand_new"},
		{Line: "network qos rule set gold bw --max-kbps 5 --egress", API: `PUT network ` + rules + `/bandwidth_limit_rules/bw {"bandwidth_limit_rule":{"max_kbps":5,"direction":"egress"}}`, Out: "-"},
		{Line: "network qos rule set gold mark --max-kbps 5", Err: "a dscp-marking rule takes no --max-kbps"},
		{Line: "network qos rule set gold mark", Out: "-"},
		{Line: "network qos rule show gold mark -f value", API: "GET network " + rules + "/dscp_marking_rules/mark\n= {\"dscp_marking_rule\":{\"id\":\"mark\",\"dscp_mark\":10}}", Out: "10\nmark"},
		{Line: "network qos rule type list -f value", Out: "dscp_marking"},
		{Line: "network qos rule type list --all-rules -f value", API: "GET network /qos/rule-types?all_rules=true&fields=type\n= {\"rule_types\":[]}"},
		{Line: "network qos rule type show dscp_marking -f value -c rule_type_name", Out: "dscp_marking"},
	})
}

func TestSharingAndSegments(t *testing.T) {
	t.Parallel()
	koctest.Test(t, network.Commands(), have(), []koctest.Case{
		{Line: "network rbac create net1 --type network --action access_as_shared --target-project demo --target-project-domain corp" + corp, API: `
			POST network /rbac-policies {"rbac_policy":{"object_type":"network","action":"access_as_shared","target_tenant":"` + demo + `","project_id":"` + demo + `","object_id":"` + net1 + `"}}`},
		{Line: "network rbac create web --type security_group --action access_as_shared --target-all-projects", API: `POST network /rbac-policies {"rbac_policy":{"object_type":"security_group","action":"access_as_shared","target_tenant":"*","object_id":"` + group1 + `"}}`},
		{Line: "network rbac create scope --type address_scope --action access_as_shared --target-all-projects", API: `POST network /rbac-policies {"rbac_policy":{"object_type":"address_scope","action":"access_as_shared","target_tenant":"*","object_id":"` + scope1 + `"}}`},
		{Line: "network rbac create addresses --type address_group --action access_as_shared --target-all-projects", API: `POST network /rbac-policies {"rbac_policy":{"object_type":"address_group","action":"access_as_shared","target_tenant":"*","object_id":"` + misc1 + `"}}`},
		{Line: "network rbac create pool1 --type subnetpool --action access_as_shared --target-all-projects", API: `POST network /rbac-policies {"rbac_policy":{"object_type":"subnetpool","action":"access_as_shared","target_tenant":"*","object_id":"` + pool1 + `"}}`},
		{Line: "network rbac create gold --type qos_policy --action access_as_shared --target-all-projects", API: `POST network /rbac-policies {"rbac_policy":{"object_type":"qos_policy","action":"access_as_shared","target_tenant":"*","object_id":"` + qos1 + `"}}`},
		{Line: "network rbac create net1 --type network --action access_as_shared", Err: "--target-project"},
		{Line: "network rbac delete " + misc1, API: "DELETE network /rbac-policies/" + misc1},
		{Line: "network rbac list --type network --action access_as_external --target-project " + demo + " --long -f value -c ID", API: "GET network /rbac-policies?object_type=network&action=access_as_external&target_tenant=" + demo + "&fields=id\n= {\"rbac_policies\":[]}"},
		{Line: "network rbac set " + misc1 + " --target-project demo --target-project-domain corp", API: `PUT network /rbac-policies/` + misc1 + ` {"rbac_policy":{"target_tenant":"` + demo + `"}}`},
		{Line: "network rbac show " + misc1 + " -f value -c target_project_id", Out: "*"},
		{Line: "network segment create s --network net1 --network-type vlan --physical-network p --segment 7 --description d", API: `POST network /segments {"segment":{"name":"s","description":"d","physical_network":"p","segmentation_id":7,"network_id":"` + net1 + `","network_type":"vlan"}}`},
		{Line: "network segment delete seg", API: "DELETE network /segments/" + seg1},
		{Line: "network segment list --network net1 --long -f value -c ID", API: "GET network /segments?network_id=" + net1 + "&fields=id\n= {\"segments\":[]}"},
		{Line: "network segment set seg --name n --description d", API: `PUT network /segments/` + seg1 + ` {"segment":{"description":"d","name":"n"}}`},
		{Line: "network segment show seg -f value -c name", Out: "seg"},
		{Line: "network segment range create r --network-type vlan --physical-network p --minimum 1 --maximum 9", API: `POST network /network_segment_ranges {"network_segment_range":{"name":"r","network_type":"vlan","physical_network":"p","minimum":1,"maximum":9,"shared":true}}`},
		{Line: "network segment range create r --private --network-type vxlan --minimum 1 --maximum 9", API: `POST network /network_segment_ranges {"network_segment_range":{"name":"r","network_type":"vxlan","minimum":1,"maximum":9,"shared":false,"project_id":"p1"}}`},
		{Line: "network segment range create r --private --network-type vxlan --minimum 1 --maximum 9" + corp, API: `POST network /network_segment_ranges {"network_segment_range":{"name":"r","network_type":"vxlan","minimum":1,"maximum":9,"shared":false,"project_id":"` + demo + `"}}`},
		{Line: "network segment range create r --network-type vxlan --minimum 1 --maximum 9" + corp, Err: "give --private too"},
		{Line: "network segment range create r --network-type gre --physical-network p --minimum 1 --maximum 9", Err: "--physical-network is for VLANs"},
		{Line: "network segment range delete range", API: "DELETE network /network_segment_ranges/" + misc1},
		{Line: "network segment range list -f value -c Name", Out: "range\nfull"},
		{Line: "network segment range list --used --available -f json -c Name -c Used -c Available", Compat: true, Out: `
			[
			  {
			    "Name": "range",
			    "Used": {
			      "p1": [
			        "4"
			      ],
			      "p2": [
			        "5-6"
			      ]
			    },
			    "Available": [
			      "1-3",
			      "7",
			      "9-10"
			    ]
			  }
			]`},
		{Line: "network segment range list --unused --unavailable -f value -c Name", Out: "full"},
		{Line: "network segment range set range --name n --minimum 1 --maximum 2", API: `PUT network /network_segment_ranges/` + misc1 + ` {"network_segment_range":{"name":"n","minimum":1,"maximum":2}}`},
		{Line: "network segment range set range --minimum 1", Err: "go together"},
		{Line: "network segment range show range -f value -c available", Out: "1-3, 7, 9-10"},
	})
}

func TestTrunksAndLogs(t *testing.T) {
	t.Parallel()
	koctest.Test(t, network.Commands(), have(), []koctest.Case{
		{Line: "network trunk create t --parent-port port1 --subport port=port2,segmentation-type=vlan,segmentation-id=5 --disable --description d --tag x" + corp, API: `
			POST network /trunks {"trunk":{"name":"t","description":"d","port_id":"` + port1 + `","sub_ports":[{"port_id":"` + port2 + `","segmentation_id":5,"segmentation_type":"vlan"}],"admin_state_up":false,"project_id":"` + demo + `"}}
			PUT network /trunks/new/tags {"tags":["x"]}`},
		{Line: "network trunk create t --parent-port port1 --subport port=port2,segmentation-id=x", Err: "segmentation-id=x is no integer"},
		{Line: "network trunk delete trunk1", API: "DELETE network /trunks/" + trunk1},
		{Line: "network trunk list --name n --port port1 --enable --status s -f value -c Name", API: "GET network /trunks?name=n&port_id=" + port1 + "&admin_state_up=true&status=s&fields=name\n= {\"trunks\":[]}"},
		{Line: "network trunk list --long -f value -c Name -c State", Out: "trunk1\tDOWN"},
		{Line: "network trunk set trunk1 --name n --enable --subport port=port2", API: `
			PUT network /trunks/` + trunk1 + ` {"trunk":{"name":"n","admin_state_up":true}}
			PUT network /trunks/` + trunk1 + `/add_subports {"sub_ports":[{"port_id":"` + port2 + `"}]}`},
		{Line: "network trunk set trunk1 --disable --subport port=port2", API: `
			PUT network /trunks/` + trunk1 + `/add_subports {"sub_ports":[{"port_id":"` + port2 + `"}]}
			PUT network /trunks/` + trunk1 + ` {"trunk":{"admin_state_up":false}}`},
		{Line: "network trunk set trunk1 --name n --subport port=none", Err: `no port has the name or id "none"`},
		{Line: "network trunk show trunk1 -f value -c sub_ports", Out: "port_id='" + port2 + "', segmentation_id='5', segmentation_type='vlan'"},
		{Line: "network trunk unset trunk1 --subport port2", API: `PUT network /trunks/` + trunk1 + `/remove_subports {"sub_ports":[{"port_id":"` + port2 + `"}]}`},
		{Line: "network trunk subport add trunk1 --subport port=port2", API: `PUT network /trunks/` + trunk1 + `/add_subports {"sub_ports":[{"port_id":"` + port2 + `"}]}`},
		{Line: "network trunk subport remove trunk1 --subport port2", API: `PUT network /trunks/` + trunk1 + `/remove_subports {"sub_ports":[{"port_id":"` + port2 + `"}]}`},
		{Line: "network trunk subport list trunk1 -f value", API: "GET network /trunks/" + trunk1 + "/get_subports\n= {\"sub_ports\":[{\"port_id\":\"p\",\"segmentation_type\":\"vlan\",\"segmentation_id\":5}]}", Out: "p\tvlan\t5"},
		{Line: "network subport list --trunk trunk1 -f value", API: "GET network /trunks/" + trunk1 + "/get_subports\n= {\"sub_ports\":[{\"port_id\":\"p\",\"segmentation_type\":\"vlan\",\"segmentation_id\":5}]}", Out: "p\tvlan\t5"},
		{Line: "network log create l --resource-type security_group --resource web --target port1 --event drop --disable --description d" + corp, API: `
			POST network /log/logs {"log":{"name":"l","description":"d","enabled":false,"event":"DROP","resource_type":"security_group","resource_id":"` + group1 + `","target_id":"` + port1 + `","project_id":"` + demo + `"}}`},
		{Line: "network log create l --resource-type firewall_group --resource x", API: `POST network /log/logs {"log":{"name":"l","resource_type":"firewall_group","resource_id":"x"}}`},
		{Line: "network log delete log", API: "DELETE network /log/logs/" + misc1},
		{Line: "network log list -f value -c Name -c Summary", Out: "log\tEvent: ALL,\nLogged: (security_group) g"},
		{Line: "network log list --long -f value -c Name -c Event", Out: "log\tall"},
		{Line: "network log set log --enable --name n", API: `PUT network /log/logs/` + misc1 + ` {"log":{"enabled":true,"name":"n"}}`},
		{Line: "network log show log -f value -c Resource -c extra", Out: "g\n1"},
		{Line: "network loggable resources list -f value", Out: "security_group"},
		{
			Line: "network log list", API: "GET network /log/logs?fields=enabled&fields=event&fields=id&fields=name&fields=resource_id&fields=resource_type&fields=target_id\n= 404 {}\nGET network /extensions/logging\n= 404 {}",
			Err: `this cloud cannot do "network log list": its network service has no extension "logging"`,
		},
	})
}

func TestRulesAndMirrors(t *testing.T) {
	t.Parallel()
	create := func(body string) string {
		return `POST network /default-security-group-rules {"default_security_group_rule":` + body + `}`
	}
	koctest.Test(t, network.Commands(), have(), []koctest.Case{
		{Line: "default security group rule create", API: create(`{"direction":"ingress","ethertype":"IPv4","used_in_non_default_sg":true}`)},
		{
			Line: "default security group rule create --egress --protocol TCP --dst-port 80:90 --remote-ip 2001:db8::/32 --for-default-sg --description d",
			API:  create(`{"description":"d","direction":"egress","remote_ip_prefix":"2001:db8::/32","used_in_default_sg":true,"protocol":"tcp","ethertype":"IPv6","port_range_min":80,"port_range_max":90}`),
		},
		{Line: "default security group rule create --protocol icmp --icmp-type 8 --icmp-code 0 --remote-group PARENT", API: create(`{"remote_group_id":"PARENT","protocol":"icmp","direction":"ingress","ethertype":"IPv4","used_in_non_default_sg":true,"port_range_min":8,"port_range_max":0}`)},
		{Line: "default security group rule create --protocol ipv6-icmp --remote-group web --for-custom-sg", API: create(`{"remote_group_id":"` + group1 + `","used_in_non_default_sg":true,"protocol":"ipv6-icmp","direction":"ingress","ethertype":"IPv6"}`)},
		{Line: "default security group rule create --ethertype ipv6 --dst-port 22 --protocol any --remote-address-group addresses", API: create(`{"remote_address_group_id":"` + misc1 + `","direction":"ingress","ethertype":"IPv6","used_in_non_default_sg":true,"port_range_min":22,"port_range_max":22}`)},
		{Line: "default security group rule create --ethertype odd", Err: "give IPv4 or IPv6"},
		{Line: "default security group rule create --icmp-type 8", Err: "give --protocol icmp"},
		{Line: "default security group rule create --protocol icmp --dst-port 8", Err: "--dst-port is for protocols with ports"},
		{Line: "default security group rule create --protocol tcp --dst-port x", Err: "--dst-port x"},
		{Line: "default security group rule create --protocol icmp --icmp-type x", Err: "--icmp-type x"},
		{Line: "default security group rule delete " + misc1, API: "DELETE network /default-security-group-rules/" + misc1},
		{Line: "default security group rule list -f value -c 'IP Protocol' -c 'IP Range' -c 'Port Range'", Out: "tcp\t0.0.0.0/0\t80:90\nicmp\t::/0\ttype=8\n\t10.0.0.0/8"},
		{Line: "default security group rule list --protocol TCP --egress -f value -c ID", API: "GET network /default-security-group-rules?protocol=tcp&direction=egress&fields=id\n= {\"default_security_group_rules\":[]}"},
		{Line: "default security group rule show " + misc1 + " -f value -c ether_type", Out: "IPv4"},
		{Line: "tap mirror create --name n --port port1 --directions IN=99 --directions OUT=100 --remote-ip 1.2.3.4 --mirror-type gre" + corp, API: `
			POST network /taas/tap_mirrors {"tap_mirror":{"name":"n","port_id":"` + port1 + `","directions":{"IN":"99","OUT":"100"},"remote_ip":"1.2.3.4","mirror_type":"gre","project_id":"` + demo + `"}}`},
		{Line: "tap mirror create --port port1 --directions UP=1 --remote-ip 1.2.3.4 --mirror-type gre", Err: "IN or OUT"},
		{Line: "tap mirror delete tap", API: "DELETE network /taas/tap_mirrors/" + misc1},
		{Line: "tap mirror list -f value -c Name -c Directions", Out: "tap\tIN='99'"},
		{Line: "tap mirror show tap -f value -c name", Out: "tap"},
		{Line: "tap mirror update tap --name n", API: `PUT network /taas/tap_mirrors/` + misc1 + ` {"tap_mirror":{"name":"n"}}`},
	})
}

// TestDeclarations builds every command: its names are unique, its help is a
// sentence without a full stop, its exclusive groups name flags it has.
func TestDeclarations(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, e := range network.Commands() {
		if seen[e.Name] {
			t.Errorf("%s is declared twice", e.Name)
		}
		seen[e.Name] = true
		cmd := e.Build()
		if cmd.Short == "" || strings.HasSuffix(cmd.Short, ".") || cmd.Run == nil {
			t.Errorf("%s: short help %q, or nothing to run", e.Name, cmd.Short)
		}
		var names []string
		for _, f := range cmd.Flags {
			if slices.Contains(names, f.Name) {
				t.Errorf("%s: --%s is declared twice", e.Name, f.Name)
			}
			names = append(names, f.Name)
			if f.Help == "" || strings.HasSuffix(f.Help, ".") {
				t.Errorf("%s: --%s: help %q", e.Name, f.Name, f.Help)
			}
		}
		for _, group := range cmd.Exclusive {
			for name := range strings.FieldsSeq(strings.TrimPrefix(group, "!")) {
				if !slices.Contains(names, name) {
					t.Errorf("%s: exclusive %q is no flag", e.Name, name)
				}
			}
		}
	}
}
