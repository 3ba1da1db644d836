package network_test

import (
	"testing"

	"github.com/holdfast-ops/holdfast/internal/koc/koctest"
	"github.com/holdfast-ops/holdfast/internal/koc/network"
)

const (
	fip1   = "12121212-0000-0000-0000-000000000001"
	local1 = "13131313-0000-0000-0000-000000000001"
	rule1  = "14141414-0000-0000-0000-000000000001"
)

// addresses is what the fake cloud has of the nouns below, and what they refer to.
func addresses() []koctest.Stock {
	one := func(path, keys, key, items string) koctest.Stock {
		return koctest.Stock{Service: "network", Path: path, Keys: keys, Key: key, Items: items}
	}
	mine := []koctest.Stock{
		one("/floatingips", "floatingips", "floatingip", `[{"id":"`+fip1+`","floating_ip_address":"192.0.2.9","port_id":"`+port1+`","tags":["old"],"port_details":{"name":"port1","status":"DOWN"}},
			{"id":"free","floating_ip_address":"192.0.2.10","port_id":null}]`),
		one("/floatingips/"+fip1+"/port_forwardings", "port_forwardings", "port_forwarding", `[{"id":"pf1","internal_port":22,"external_port":2222,"internal_port_range":"22:22","external_port_range":"2222:2222","protocol":"tcp"}]`),
		one("/floatingip_pools", "floatingip_pools", "", `[{"subnet_id":"s","subnet_name":"pub","cidr":"192.0.2.0/24","network_id":"n","project_id":"p"}]`),
		one("/local_ips", "local_ips", "local_ip", `[{"id":"`+local1+`","name":"lip","local_ip_address":"10.0.0.7","ip_mode":"translate"}]`),
		one("/local_ips/"+local1+"/port_associations", "port_associations", "", `[{"local_ip_id":"`+local1+`","fixed_port_id":"`+port1+`","host":"h1"}]`),
		one("/security-groups", "security_groups", "security_group", `[{"id":"`+group1+`","name":"web","stateful":true,"tags":["b","a"],"shared":false,"security_group_rules":[
			{"id":"x","ethertype":"IPv4","project_id":"p","tenant_id":"p","security_group_id":"`+group1+`","port_range_min":8,"port_range_max":0,"description":"","tags":[],"revision_number":0,"protocol":"icmp"}]}]`),
		one("/security-group-rules", "security_group_rules", "security_group_rule", `[
			{"id":"`+rule1+`","security_group_id":"`+group1+`","protocol":"tcp","ethertype":"IPv4","direction":"ingress","port_range_min":80,"port_range_max":90},
			{"id":"ping","security_group_id":"`+group1+`","protocol":"icmp","ethertype":"IPv6","direction":"egress","port_range_min":8,"port_range_max":0},
			{"id":"half","security_group_id":"`+group1+`","protocol":"udp","ethertype":"IPv4","direction":"egress","port_range_max":53},
			{"id":"other","security_group_id":"`+group1+`","protocol":"udp","ethertype":"IPv4","direction":"egress","port_range_min":53,"remote_ip_prefix":"10.0.0.0/8"},
			{"id":"all","security_group_id":"z","protocol":null,"ethertype":"IPv4","direction":"egress"}]`),
		one("/address-groups", "address_groups", "address_group", `[{"id":"`+misc1+`","name":"addresses","description":"d","project_id":"p","addresses":["10.0.0.0/8"]}]`),
		one("/address-scopes", "address_scopes", "address_scope", `[{"id":"`+scope1+`","name":"scope","ip_version":6,"shared":true,"project_id":"p"}]`),
	}
	return append(mine, have()...)
}

func TestFloatingIPs(t *testing.T) {
	t.Parallel()
	const forwardings = "/floatingips/" + fip1 + "/port_forwardings"
	forward := func(ports string) string {
		return `POST network ` + forwardings + ` {"port_forwarding":{"internal_ip_address":"10.0.0.5","internal_port_id":"` + port1 + `","protocol":"tcp",` + ports + `}}`
	}
	const to = "floating ip port forwarding create 192.0.2.9 --internal-ip-address 10.0.0.5 --port port1"
	koctest.Test(t, network.Commands(), addresses(), []koctest.Case{
		{Line: "floating ip create ext", API: `POST network /floatingips {"floatingip":{"floating_network_id":"` + net2 + `"}}`},
		{Line: "floating ip create ext --subnet sub2 --port port1 --floating-ip-address 192.0.2.11 --fixed-ip-address 10.0.0.5 --qos-policy gold --description d" +
			" --dns-domain x.org. --dns-name n --tag b --tag a --extra-property name=y,value=z -f value -c subnet_id -c tags -c name" + corp, API: `
			POST network /floatingips {"floatingip":{"floating_network_id":"` + net2 + `","subnet_id":"` + sub2 + `","port_id":"` + port1 + `","floating_ip_address":"192.0.2.11",
				"fixed_ip_address":"10.0.0.5","qos_policy_id":"` + qos1 + `","description":"d","project_id":"` + demo + `","dns_domain":"x.org.","dns_name":"n","y":"z"}}
			= 201 {"floatingip":{"id":"new","floating_ip_address":"192.0.2.11"}}
			PUT network /floatingips/new/tags {"tags":["a","b"]}`, Out: "192.0.2.11\n" + sub2 + "\na, b"},
		{Line: "floating ip create nowhere", Err: `no network has the name or id "nowhere"`},
		{Line: "floating ip delete 192.0.2.9 free", API: "DELETE network /floatingips/" + fip1, Err: `"free"`},
		{Line: "floating ip list -f value -c ID", Out: fip1 + "\nfree"},
		{Line: "floating ip list --long -f value -c Status -c Tags", API: `
			GET network /floatingips?fields=status&fields=tags
			= {"floatingips":[{"status":"DOWN"}]}`, Out: "DOWN"},
		{Line: "floating ip list -f value -c ID --network ext --port port1 --port port2 --router r1 --fixed-ip-address 10.0.0.5 --floating-ip-address 192.0.2.9 --status DOWN" +
			" --tags a,b --any-tags c --not-tags d --not-any-tags e" + corp, API: `
			GET network /floatingips?floating_network_id=` + net2 + `&port_id=` + port1 + `&port_id=` + port2 + `&router_id=` + rtr1 +
			`&fixed_ip_address=10.0.0.5&floating_ip_address=192.0.2.9&status=DOWN&tags=a,b&tags-any=c&not-tags=d&not-tags-any=e&project_id=` + demo + `&fields=id
			= {"floatingips":[]}`},
		{Line: "floating ip set 192.0.2.9 --port port2 --fixed-ip-address 192.0.2.7 --description '' --qos-policy gold --tag new", API: `
			PUT network /floatingips/` + fip1 + ` {"floatingip":{"port_id":"` + port2 + `","fixed_ip_address":"192.0.2.7","description":"","qos_policy_id":"` + qos1 + `"}}
			PUT network /floatingips/` + fip1 + `/tags {"tags":["new","old"]}`, Out: "-"},
		{Line: "floating ip set " + fip1 + " --fixed-ip-address 10.0.0.6", API: `PUT network /floatingips/` + fip1 + ` {"floatingip":{"fixed_ip_address":"10.0.0.6","port_id":"` + port1 + `"}}`},
		{Line: "floating ip set 192.0.2.10 --fixed-ip-address 10.0.0.6", Err: "leads to no port"},
		{Line: "floating ip set 192.0.2.9 --no-qos-policy --no-tag", API: `
			PUT network /floatingips/` + fip1 + ` {"floatingip":{"qos_policy_id":null}}
			PUT network /floatingips/` + fip1 + `/tags {"tags":[]}`},
		{Line: "floating ip set 192.0.2.9", Out: "-"},
		{Line: "floating ip show 192.0.2.9 -f value -c port_details -c name", Out: "192.0.2.9\nname='port1', status='DOWN'"},
		{Line: "floating ip show 192.0.2.9 -f json -c port_details", Compat: true, Out: "{\n  \"port_details\": \"name='port1', status='DOWN'\"\n}"},
		{Line: "floating ip unset 192.0.2.9 --port --qos-policy --tag old --extra-property name=a,value=b", API: `
			PUT network /floatingips/` + fip1 + ` {"floatingip":{"port_id":null,"qos_policy_id":null,"a":null}}
			PUT network /floatingips/` + fip1 + `/tags {"tags":[]}`, Out: "-"},
		{Line: "floating ip pool list -f value", Out: "pub\ts\t192.0.2.0/24\tn\tp"},
		{Line: "floating ip pool list", Compat: true, Err: "floating ip create takes an external network"},
		{Line: "floating ip pool list", API: "GET network /floatingip_pools?fields=cidr&fields=network_id&fields=project_id&fields=subnet_id&fields=subnet_name\n= 404 {}", Err: `has no extension "floatingip-pools"`},

		{Line: to + " --internal-protocol-port 22 --external-protocol-port 2222 -f value -c id -c external_port", API: forward(`"internal_port":22,"external_port":2222`), Out: "2222\nnew"},
		{Line: to + " --internal-protocol-port 22 --external-protocol-port 2222 --protocol udp --description d --extra-property type=int,name=x,value=1", API: `
			POST network ` + forwardings + ` {"port_forwarding":{"internal_ip_address":"10.0.0.5","internal_port_id":"` + port1 + `","protocol":"udp","description":"d","internal_port":22,"external_port":2222,"x":1}}`},
		{Line: to + " --internal-protocol-port 80:90 --external-protocol-port-range 8080:8090", API: forward(`"internal_port_range":"80:90","external_port_range":"8080:8090"`)},
		{Line: to + " --internal-protocol-port 80 --external-protocol-port 8080:8090", API: forward(`"internal_port":80,"external_port_range":"8080:8090"`)},
		{Line: to + " --internal-protocol-port-range 80 --external-protocol-port 8080", API: forward(`"internal_port_range":"80:80","external_port":8080`)},
		{Line: to + " --internal-protocol-port 80:90 --external-protocol-port 8080", Err: "1 ports cannot lead to 11"},
		{Line: to + " --internal-protocol-port 0 --external-protocol-port 8080", Err: "ports are 1 to 65535"},
		{Line: to + " --internal-protocol-port 1 --external-protocol-port 65536", Err: "ports are 1 to 65535"},
		{Line: to + " --internal-protocol-port x --external-protocol-port 1", Err: "give a port or a range"},
		{Line: to + " --internal-protocol-port 2:1 --external-protocol-port 1", Err: "ends before it begins"},
		{Line: to + " --internal-protocol-port 2", Err: "--external-protocol-port"},
		{Line: "floating ip port forwarding delete 192.0.2.9 pf1", API: "DELETE network " + forwardings + "/pf1"},
		{Line: "floating ip port forwarding list 192.0.2.9 -f csv -c ID -c 'External Port' -c 'External Port Range'", Out: "ID,External Port,External Port Range\npf1,2222,"},
		{
			Line: "floating ip port forwarding list 192.0.2.9 -f csv", Compat: true, API: "GET network " + forwardings +
				"?fields=description&fields=external_port&fields=id&fields=internal_ip_address&fields=internal_port&fields=internal_port_id&fields=protocol\n= " +
				`{"port_forwardings":[{"id":"a","external_port":1}]}`,
			Out: "\"ID\",\"Internal Port ID\",\"Internal IP Address\",\"Internal Port\",\"External Port\",\"Protocol\",\"Description\"\n\"a\",\"\",\"\",\"\",1,\"\",\"\"",
		},
		{Line: "floating ip port forwarding list 192.0.2.9 -f value -c ID -c 'External Port Range' --external-protocol-port 80:90 --port port1 --protocol udp", API: `
			GET network ` + forwardings + `?external_port_range=80:90&internal_port_id=` + port1 + `&protocol=udp&fields=external_port_range&fields=id
			= {"port_forwardings":[{"id":"a","external_port_range":"80:90"}]}`, Out: "a\t80:90"},
		{Line: "floating ip port forwarding list 192.0.2.9 --external-protocol-port 80 -f value -c ID", API: "GET network " + forwardings + "?external_port=80&fields=id\n= {\"port_forwardings\":[]}"},
		{
			Line: "floating ip port forwarding set 192.0.2.9 pf1 --port port2 --internal-ip-address 10.0.0.6 --internal-protocol-port 23 --external-protocol-port 2323 --protocol udp --description ''",
			API:  `PUT network ` + forwardings + `/pf1 {"port_forwarding":{"internal_port_id":"` + port2 + `","internal_ip_address":"10.0.0.6","protocol":"udp","description":"","internal_port":23,"external_port":2323}}`, Out: "-",
		},
		{Line: "floating ip port forwarding set 192.0.2.9 pf1", Out: "-"},
		{Line: "floating ip port forwarding show 192.0.2.9 pf1 -f value -c protocol -c external_port_range", Out: "2222:2222\ntcp"},
		{Line: "floating ip port forwarding show 192.0.2.9 pf1 -f value -c protocol -c external_port", Compat: true, Out: "2222\ntcp"},
		{Line: "floating ip port forwarding show 192.0.2.9 gone", Err: `no floating ip port forwarding has the name or id "gone"`},
	})
}

func TestAddressGroupsAndScopes(t *testing.T) {
	t.Parallel()
	koctest.Test(t, network.Commands(), addresses(), []koctest.Case{
		{Line: "address group create g -f value -c id -c addresses -c name", API: `POST network /address-groups {"address_group":{"name":"g","addresses":[]}}`, Out: "new\ng"},
		{
			Line: "address group create g --description d --address 10.0.0.1 --address 10.1.2.3/255.255.0.0 --address 2001:DB8::/32 --address 2001:db8::1 --extra-property name=x,value=y" + corp,
			API:  `POST network /address-groups {"address_group":{"name":"g","description":"d","project_id":"` + demo + `","addresses":["10.0.0.1/32","10.1.2.3/16","2001:db8::/32","2001:db8::1/128"],"x":"y"}}`,
		},
		{Line: "address group create g --address 10.0.0.300", Err: "--address 10.0.0.300: give an IP address"},
		{Line: "address group create g --address 10.0.0.1/255.0.255.0", Err: "give an IP address"},
		{Line: "address group create g --address 10.0.0.1/33", Err: "give an IP address"},
		{Line: "address group create g --address fe80::1%eth0", Err: "give an IP address"},
		{Line: "address group delete addresses", API: "DELETE network /address-groups/" + misc1, Out: "-"},
		{Line: "address group list -f value", Out: misc1 + "\taddresses\td\tp\t10.0.0.0/8"},
		{Line: "address group list -f value -c Addresses", Compat: true, Out: "['10.0.0.0/8']"},
		{Line: "address group list --name g -f value -c ID" + corp, API: "GET network /address-groups?name=g&project_id=" + demo + "&fields=id\n= {\"address_groups\":[]}"},
		{Line: "address group set addresses --name n --description '' --address 10.0.0.1", API: `
			PUT network /address-groups/` + misc1 + ` {"address_group":{"name":"n","description":""}}
			PUT network /address-groups/` + misc1 + `/add_addresses {"addresses":["10.0.0.1/32"]}`, Out: "-"},
		{Line: "address group set addresses --name n --address x", Err: "give an IP address"},
		{Line: "address group set addresses", Out: "-"},
		{Line: "address group show addresses -f value", Out: "10.0.0.0/8\nd\n" + misc1 + "\naddresses\np"},
		{Line: "address group unset addresses --address 10.0.0.0/8", API: `PUT network /address-groups/` + misc1 + `/remove_addresses {"addresses":["10.0.0.0/8"]}`, Out: "-"},
		{Line: "address group unset addresses", Out: "-"},

		{Line: "address scope create s", API: `POST network /address-scopes {"address_scope":{"name":"s","ip_version":4}}`},
		{
			Line: "address scope create s --ip-version 6 --share --extra-property name=x,value=y" + corp,
			API:  `POST network /address-scopes {"address_scope":{"name":"s","ip_version":6,"shared":true,"project_id":"` + demo + `","x":"y"}}`,
		},
		{Line: "address scope create s --ip-version 5", Err: "--ip-version"},
		{Line: "address scope create s --share --no-share", Err: "--no-share"},
		{Line: "address scope delete scope gone", API: "DELETE network /address-scopes/" + scope1, Err: `no address scope has the name or id "gone"`},
		{Line: "address scope list -f value", Out: scope1 + "\tscope\t6\ttrue\tp"},
		{Line: "address scope list --name x --ip-version 6 --share -f value -c ID" + corp, API: "GET network /address-scopes?name=x&ip_version=6&shared=true&project_id=" + demo + "&fields=id\n= {\"address_scopes\":[]}"},
		{Line: "address scope list --no-share -f value -c ID", API: "GET network /address-scopes?shared=false&fields=id\n= {\"address_scopes\":[]}"},
		{Line: "address scope set scope --name n --no-share --extra-property name=x,value=y", API: `PUT network /address-scopes/` + scope1 + ` {"address_scope":{"name":"n","shared":false,"x":"y"}}`, Out: "-"},
		{Line: "address scope set scope", Out: "-"},
		{Line: "address scope show scope -f value", Out: scope1 + "\n6\nscope\np\ntrue"},
	})
}

func TestLocalIPs(t *testing.T) {
	t.Parallel()
	const associations = "/local_ips/" + local1 + "/port_associations"
	koctest.Test(t, network.Commands(), addresses(), []koctest.Case{
		{Line: "local ip create", API: `POST network /local_ips {"local_ip":{}}`},
		{Line: "local ip create --name n --description d --network net1 --local-port port1 --local-ip-address 10.0.0.7 --ip-mode passthrough" + corp, API: `
			POST network /local_ips {"local_ip":{"name":"n","description":"d","network_id":"` + net1 + `","local_port_id":"` + port1 + `","local_ip_address":"10.0.0.7","ip_mode":"passthrough","project_id":"` + demo + `"}}`},
		{Line: "local ip delete lip", API: "DELETE network /local_ips/" + local1},
		{Line: "local ip list -f value -c ID -c Name -c 'IP mode'", Out: local1 + "\tlip\ttranslate"},
		{Line: "local ip list -f value -c ID --name x --network net1 --local-port port1 --local-ip-address 10.0.0.7 --ip-mode translate" + corp, API: `
			GET network /local_ips?name=x&network_id=` + net1 + `&local_port_id=` + port1 + `&local_ip_address=10.0.0.7&ip_mode=translate&project_id=` + demo + `&fields=id
			= {"local_ips":[]}`},
		{Line: "local ip list -f value -c ID", API: "GET network /local_ips?fields=id\n= 404 {}", Err: `this cloud cannot do "local ip list": its network service has no extension "local_ip"`},
		{Line: "local ip set lip --name n --description ''", API: `PUT network /local_ips/` + local1 + ` {"local_ip":{"name":"n","description":""}}`, Out: "-"},
		{Line: "local ip show lip -f value -c name -c ip_mode", Out: "translate\nlip"},
		{Line: "local ip association create lip port1 --fixed-ip 10.0.0.5 -f value -c fixed_port_id", API: `
			POST network ` + associations + ` {"port_association":{"fixed_ip":"10.0.0.5","fixed_port_id":"` + port1 + `"}}`, Out: port1},
		{Line: "local ip association delete lip port1 " + port2, API: "DELETE network " + associations + "/" + port1 + "\nDELETE network " + associations + "/" + port2, Out: "-"},
		{Line: "local ip association delete lip gone", Err: `no port has the name or id "gone"`},
		{Line: "local ip association list lip -f value -c 'Fixed port ID' -c Host", Out: port1 + "\th1"},
		{Line: "local ip association list lip --fixed-port port1 --fixed-ip 10.0.0.5 --host h -f value -c Host", API: "GET network " + associations +
			"?fixed_port_id=" + port1 + "&fixed_ip=10.0.0.5&host=h&fields=host\n= {\"port_associations\":[]}"},
	})
}

func TestSecurityGroups(t *testing.T) {
	t.Parallel()
	koctest.Test(t, network.Commands(), addresses(), []koctest.Case{
		{Line: "security group create g -f value -c id -c description", API: `POST network /security-groups {"security_group":{"name":"g","description":"g"}}`, Out: "g\nnew"},
		{Line: "security group create g --description '' --stateless --tag b --tag a --extra-property name=x,value=y" + corp, API: `
			POST network /security-groups {"security_group":{"name":"g","description":"","project_id":"` + demo + `","stateful":false,"x":"y"}}
			PUT network /security-groups/new/tags {"tags":["a","b"]}`},
		{Line: "security group create g --stateful --stateless", Err: "--stateless"},
		{Line: "security group delete web", API: "DELETE network /security-groups/" + group1},
		{Line: "security group list -f value -c ID -c Name -c Tags", Out: group1 + "\tweb\tb, a"},
		{Line: "security group list -f value -c Name -c Tags", Compat: true, Out: "web ['b', 'a']"},
		{Line: "security group list --all-projects --share -f value -c ID --tags a --any-tags b --not-tags c --not-any-tags d" + corp, API: `
			GET network /security-groups?shared=true&tags=a&tags-any=b&not-tags=c&not-tags-any=d&project_id=` + demo + `&fields=id
			= {"security_groups":[]}`},
		{Line: "security group list --no-share -f value -c Shared", Out: "false"},
		{Line: "security group set web --name n --description d --stateful --tag c --extra-property name=x,value=y", API: `
			PUT network /security-groups/` + group1 + ` {"security_group":{"name":"n","description":"d","stateful":true,"x":"y"}}
			PUT network /security-groups/` + group1 + `/tags {"tags":["a","b","c"]}`, Out: "-"},
		{Line: "security group set web", Out: "-"},
		{Line: "security group show web -f value -c rules -c is_shared", Out: "false\nethertype='IPv4', id='x', port_range_max='0', port_range_min='8', protocol='icmp'"},
		{Line: "security group show web -f value -c rules", Compat: true, Out: `[{'description': '', 'ethertype': 'IPv4', 'id': 'x', 'port_range_max': 0, 'port_range_min': 8, 'project_id': 'p', 'protocol': 'icmp', 'revision_number': 0, ` +
			`'security_group_id': '` + group1 + `', 'tags': [], 'tenant_id': 'p'}]`},
		{Line: "security group show web -c rules", Compat: true, Out: `
			+-------+---------------------------------------------------------------+
			| Field | Value                                                         |
			+-------+---------------------------------------------------------------+
			| rules | ethertype='IPv4', id='x', port_range_min='8', protocol='icmp' |
			+-------+---------------------------------------------------------------+`},
		{Line: "security group unset web --tag a", API: "PUT network /security-groups/" + group1 + `/tags {"tags":["b"]}`, Out: "-"},
		{Line: "security group unset web --all-tag", API: "PUT network /security-groups/" + group1 + `/tags {"tags":[]}`},
		{Line: "security group unset web --all-tag --tag a", Err: "--all-tag"},
	})
}

func TestSecurityGroupRules(t *testing.T) {
	t.Parallel()
	create := func(rule string) string {
		return `POST network /security-group-rules {"security_group_rule":{"security_group_id":"` + group1 + `",` + rule + `}}`
	}
	const all4 = `"ethertype":"IPv4","remote_ip_prefix":"0.0.0.0/0"`
	const all6 = `"ethertype":"IPv6","remote_ip_prefix":"::/0"`
	koctest.Test(t, network.Commands(), addresses(), []koctest.Case{
		{Line: "security group rule create web", API: create(`"protocol":null,"direction":"ingress",` + all4)},
		{
			Line: "security group rule create web --protocol any --egress --ethertype ipv6 --description d --extra-property name=x,value=y" + corp,
			API:  create(`"protocol":null,"direction":"egress","description":"d","project_id":"` + demo + `","x":"y",` + all6),
		},
		{Line: "security group rule create web --protocol TCP --dst-port 80:90 --remote-group web --ingress", API: create(`"protocol":"tcp","direction":"ingress","ethertype":"IPv4","port_range_min":80,"port_range_max":90,"remote_group_id":"` + group1 + `"`)},
		{Line: "security group rule create web --proto udp --dst-port 53 --remote-address-group addresses", API: create(`"protocol":"udp","direction":"ingress","ethertype":"IPv4","port_range_min":53,"port_range_max":53,"remote_address_group_id":"` + misc1 + `"`)},
		{Line: "security group rule create web --protocol tcp --remote-ip 2001:db8::/32", API: create(`"protocol":"tcp","direction":"ingress","ethertype":"IPv6","remote_ip_prefix":"2001:db8::/32"`)},
		{Line: "security group rule create web --protocol 58 --icmp-type 128", API: create(`"protocol":"58","direction":"ingress","port_range_min":128,` + all6)},
		{Line: "security group rule create web --protocol icmp --icmp-type 0 --icmp-code 0", API: create(`"protocol":"icmp","direction":"ingress","port_range_min":0,"port_range_max":0,` + all4)},
		{Line: "security group rule create web --protocol icmp --icmp-type -1 --icmp-code -1", API: create(`"protocol":"icmp","direction":"ingress",` + all4)},
		{Line: "security group rule create web --protocol icmp --dst-port 1:2", API: create(`"protocol":"icmp","direction":"ingress",` + all4)},
		{Line: "security group rule create web --protocol icmp --dst-port 1 --icmp-type 8", Err: "--dst-port does not go with"},
		{Line: "security group rule create web --protocol icmp --icmp-code 8", Err: "give --icmp-type too"},
		{Line: "security group rule create web --protocol tcp --icmp-type 8", Err: "give --protocol icmp"},
		{Line: "security group rule create web --protocol tcp --dst-port 9:8", Err: "ends before it begins"},
		{Line: "security group rule create web --protocol tcp --dst-port http", Err: "give a port or a range"},
		{Line: "security group rule create web --ethertype ipx", Err: "--ethertype"},
		{Line: "security group rule create web --remote-ip 10.0.0.0/8 --remote-group web", Err: "--remote-group"},
		{Line: "security group rule create gone", Err: `no security group has the name or id "gone"`},
		{Line: "security group rule delete " + rule1, API: "DELETE network /security-group-rules/" + rule1, Out: "-"},
		{
			Line: "security group rule list -f value -c 'IP Protocol' -c 'IP Range' -c 'Port Range'",
			Out:  "tcp\t0.0.0.0/0\t80:90\nicmp\t::/0\ttype=8:code=0\nudp\t0.0.0.0/0\t53:53\nudp\t10.0.0.0/8\t53:53\n\t0.0.0.0/0",
		},
		{
			Line: "security group rule list -f value -c 'IP Protocol' -c 'IP Range' -c 'Port Range'", Compat: true,
			Out: "tcp 0.0.0.0/0 80:90\nicmp ::/0 type=8\nudp 0.0.0.0/0 53:53\nudp 10.0.0.0/8 53:53\nNone 0.0.0.0/0",
		},
		{Line: "security group rule list web -f csv --long", API: `
			GET network /security-group-rules?security_group_id=` + group1 + `&fields=direction&fields=ethertype&fields=id&fields=port_range_max&fields=port_range_min&fields=protocol&fields=remote_address_group_id&fields=remote_group_id&fields=remote_ip_prefix
			= {"security_group_rules":[]}`, Out: "ID,IP Protocol,Ethertype,IP Range,Port Range,Direction,Remote Security Group,Remote Address Group"},
		{Line: "security group rule list -f value -c ID --protocol TCP --ethertype ipv6 --egress --all-projects", API: "GET network /security-group-rules?protocol=tcp&ethertype=IPv6&direction=egress&fields=id\n= {\"security_group_rules\":[]}"},
		{Line: "security group rule list -f value -c ID --protocol any --ethertype IPv4 --ingress", API: "GET network /security-group-rules?ethertype=IPv4&direction=ingress&fields=id\n= {\"security_group_rules\":[]}"},
		{Line: "security group rule list -f value -c ID --protocol any --ethertype odd", Compat: true, API: "GET network /security-group-rules?protocol=any&fields=id\n= {\"security_group_rules\":[]}"},
		{Line: "security group rule list --ethertype odd", Err: "give IPv4 or IPv6"},
		{Line: "security group rule show " + rule1 + " -f value -c ether_type -c remote_ip_prefix -c port_range_max", Out: "IPv4\n90\n0.0.0.0/0"},
		{Line: "security group rule show gone", Err: `no security group rule has the name or id "gone"`},
	})
}
