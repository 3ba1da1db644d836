package network

import (
	"context"
	"net/url"
	"slices"
	"strings"

	"github.com/holdfast-ops/holdfast/internal/koc/command"
	"github.com/holdfast-ops/holdfast/internal/koc/noun"
	"github.com/holdfast-ops/holdfast/internal/koc/render"
)

func portCommands() []command.Entry {
	n := ports()
	return []command.Entry{
		{Name: "port create", Build: n.Create(tagged(n, extra(noun.Writing{
			Short: "Create a port",
			Args:  []command.Arg{{Name: "<name>", Help: "Name of the new port"}}, NameArg: "<name>",
			Fields: slices.Concat([]noun.Field{
				must(networks().Reference("network", "<network>", "network_id", "Network of the port, by name or id")),
			}, portFields("new port"), noun.InProject("Project that owns the port"), []noun.Field{
				noun.On("enable-uplink-status-propagation", "propagate_uplink_status", true, "Let the guest see the state of the uplink"),
				noun.On("disable-uplink-status-propagation", "propagate_uplink_status", false, "Do not let the guest see the state of the uplink"),
				noun.String("device-profile", "<device-profile>", "", "Cyborg profile of the device of the port"),
				{Flag: fixedIPFlag("Address of the port, by subnet (name or id), by itself, or both"), Attr: "fixed_ips", To: toFixedIPs},
				noun.On("no-fixed-ip", "fixed_ips", []any{}, "Give the port no address"),
				securityGroups().References("security-group", "<security-group>", "security_groups", "Security group of the port, by name or id"),
				noun.On("no-security-group", "security_groups", []any{}, "Put the port into no security group"),
				{Flag: allowedAddressFlag("Address that the port may use besides its own"), Attr: "allowed_address_pairs", To: toAddressPairs},
				{Flag: bindingProfileFlag("Data for whoever binds the port, as key=value or a JSON object"), Attr: "binding:profile", To: toProfile},
			}),
			Flags: []command.Flag{{Name: "hint", Value: "<alias=value>", Type: command.JSONKeyValue, Help: "Tell the back end something, as ALIAS=VALUE (ovs-tx-steering=hash) or a JSON object"}},
			Exclusive: append(portExclusive(), "fixed-ip no-fixed-ip", "security-group no-security-group",
				"enable-uplink-status-propagation disable-uplink-status-propagation"),
			Body: func(_ context.Context, c *command.Call, body *noun.Object, _ noun.Object) error {
				return setHints(c, body)
			},
			Shown: shownPort(),
		})))},
		{Name: "port delete", Build: n.Delete(noun.Deleting{
			Short: "Delete ports",
			Arg:   command.Arg{Name: "<port>", Help: "Ports to delete, by name or id", Many: true, Complete: "port"},
			Flags: []command.Flag{command.Parallel()},
		})},
		{Name: "port list", Build: n.List(listedPorts())},
		{Name: "port set", Build: n.Set(retagged(n, extra(noun.Writing{
			Short: "Change a port",
			Args:  []command.Arg{n.Ref("<port>", "change")}, RefArg: "<port>",
			Fields: slices.Concat([]noun.Field{noun.String("name", "<name>", "name", "Rename the port")}, portFields("port"), []noun.Field{
				noun.OneOf("data-plane-status", "<status>", "", "State of the network below the port", "ACTIVE", "DOWN"),
			}),
			Flags: []command.Flag{
				fixedIPFlag("Add this address, by subnet (name or id), by itself, or both"),
				{Name: "no-fixed-ip", Help: "Take all addresses off the port; together with --fixed-ip, replace them"},
				bindingProfileFlag("Data for whoever binds the port, as key=value or a JSON object"),
				{Name: "no-binding-profile", Help: "Clear that data; together with --binding-profile, replace it"},
				{Name: "security-group", Value: "<security-group>", Repeat: true, Complete: "security group", Help: "Put the port into this security group, by name or id"},
				{Name: "no-security-group", Help: "Take the port out of all security groups; together with --security-group, replace them"},
				allowedAddressFlag("Let the port use this address besides its own"),
				{Name: "no-allowed-address", Help: "Let the port use none but its own addresses; together with --allowed-address, replace them"},
				{Name: "hint", Value: "<alias=value>", Type: command.JSONKeyValue, Help: "Tell the back end something, as ALIAS=VALUE (ovs-tx-steering=hash) or a JSON object"},
			},
			Exclusive: portExclusive(),
			Body:      setPort,
		})))},
		{Name: "port show", Build: n.Show(noun.Showing{
			Short: "Show a port", Arg: n.Ref("<port>", "show"), Fields: shownPort(),
		})},
		{Name: "port unset", Build: n.Set(untagged(n, unextra(noun.Writing{
			Short: "Take properties off a port",
			Args:  []command.Arg{n.Ref("<port>", "change")}, RefArg: "<port>",
			Fields: []noun.Field{
				noun.On("qos-policy", "qos_policy_id", noun.Null{}, "Take the QoS policy off the port"),
				noun.On("data-plane-status", "data_plane_status", noun.Null{}, "Forget the state of the network below the port"),
				noun.On("numa-policy", "numa_affinity_policy", noun.Null{}, "Take the NUMA policy off the port"),
				noun.On("host", "binding:host_id", noun.Null{}, "Unbind the port from its host"),
				noun.On("hints", "hints", noun.Null{}, "Take the hints for the back end off the port"),
				noun.On("device", "device_id", "", "Take the device off the port"),
				noun.On("device-owner", "device_owner", "", "Take the owner of the device off the port"),
			},
			Flags: []command.Flag{
				fixedIPFlag("Take this address off the port, as it was given"),
				{Name: "binding-profile", Value: "<binding-profile-key>", Repeat: true, Help: "Remove this key from the data for whoever binds the port"},
				{Name: "security-group", Value: "<security-group>", Repeat: true, Complete: "security group", Help: "Take the port out of this security group, by name or id"},
				allowedAddressFlag("Do not let the port use this address any more"),
			},
			Body: unsetPort,
		})))},
	}
}

// portFields are what create and set have in common.
func portFields(of string) []noun.Field {
	return []noun.Field{
		description(of),
		noun.String("device", "<device-id>", "device_id", "Id of the device that uses the port"),
		noun.String("mac-address", "<mac-address>", "", "MAC address of the port"),
		noun.String("device-owner", "<device-owner>", "", "What uses the port, such as network:dhcp"),
		noun.OneOf("vnic-type", "<vnic-type>", "binding:vnic_type", "Kind of the network card that the guest gets",
			"direct", "direct-physical", "macvtap", "normal", "baremetal", "virtio-forwarder", "vdpa", "remote-managed"),
		noun.String("host", "<host-id>", "binding:host_id", "Bind the port to this host"),
		noun.String("dns-domain", "dns-domain", "", "DNS domain of the port"),
		noun.String("dns-name", "<dns-name>", "", "DNS name of the port"),
		noun.On("numa-policy-required", "numa_affinity_policy", "required", "The guest must run in the NUMA node of the network card"),
		noun.On("numa-policy-preferred", "numa_affinity_policy", "preferred", "The guest should run in the NUMA node of the network card"),
		noun.On("numa-policy-socket", "numa_affinity_policy", "socket", "The guest must run in the socket of the network card"),
		noun.On("numa-policy-legacy", "numa_affinity_policy", "legacy", "The guest runs in the NUMA node of the network card as it was before policies"),
		noun.On("enable", "admin_state_up", true, "Enable the port"),
		noun.On("disable", "admin_state_up", false, "Disable the port"),
		noun.On("enable-port-security", "port_security_enabled", true, "Secure the port"),
		noun.On("disable-port-security", "port_security_enabled", false, "Do not secure the port"),
		qosPolicies().Reference("qos-policy", "<qos-policy>", "qos_policy_id", "QoS policy of the port, by name or id"),
		{Flag: command.Flag{
			Name: "extra-dhcp-option", Value: "name=<name>[,value=<value>,ip-version={4,6}]", Type: command.Records, Keys: []string{"!name", "value", "ip-version"},
			LooseCommas: true, Help: "DHCP option that the guest gets",
		}, Attr: "extra_dhcp_opts", To: toDHCPOptions},
		noun.On("trusted", "trusted", true, "Trust the guest with the virtual function of the port"),
		noun.On("not-trusted", "trusted", false, "Do not trust the guest with the virtual function of the port"),
	}
}

func portExclusive() []string {
	return []string{
		"numa-policy-required numa-policy-preferred numa-policy-socket numa-policy-legacy", "enable disable",
		"enable-port-security disable-port-security", "trusted not-trusted",
	}
}

func allowedAddressFlag(help string) command.Flag {
	return command.Flag{
		Name: "allowed-address", Value: "ip-address=<ip-address>[,mac-address=<mac-address>]", Type: command.Records, Keys: []string{"!ip-address", "mac-address"}, Help: help,
	}
}

func bindingProfileFlag(help string) command.Flag {
	return command.Flag{Name: "binding-profile", Value: "<binding-profile>", Type: command.JSONKeyValue, Help: help}
}

func toFixedIPs(ctx context.Context, c *command.Call, flag string) (any, error) {
	return fixedIPs(ctx, c, flag)
}

func toAddressPairs(_ context.Context, c *command.Call, flag string) (any, error) {
	return records(c, flag, "ip-address", "ip_address", "mac-address", "mac_address"), nil
}

func toDHCPOptions(_ context.Context, c *command.Call, flag string) (any, error) {
	return records(c, flag, "name", "opt_name", "value", "opt_value", "ip-version", "ip_version"), nil
}

func toProfile(_ context.Context, c *command.Call, flag string) (any, error) {
	o, err := jsonPairs(c, flag)
	return render.Ordered(o), err
}

// jsonPairs is what a JSONKeyValue flag says: objects and pairs, the last of a key wins.
func jsonPairs(c *command.Call, flag string) (noun.Object, error) {
	all := noun.Object{}
	for _, text := range c.Texts(flag) {
		var o noun.Object
		if key, value, pair := cutPair(text); pair {
			all.Set(key, value)
		} else if err := o.UnmarshalJSON([]byte(text)); err != nil {
			return nil, command.Reject("--%s %q: give key=value or a JSON object: %v", flag, text, err)
		}
		for _, f := range o {
			all.Set(f.Name, f.Value)
		}
	}
	return all, nil
}

// cutPair splits key=value, unless the text is JSON.
func cutPair(text string) (key, value string, pair bool) {
	var o noun.Object
	if o.UnmarshalJSON([]byte(text)) == nil {
		return "", "", false
	}
	for i := range len(text) {
		if text[i] == '=' {
			return text[:i], text[i+1:], true
		}
	}
	return "", "", false
}

// setHints writes --hint: the alias of what OVS can be told, or the object as it is.
func setHints(c *command.Call, body *noun.Object) error {
	if !c.Given("hint") {
		return nil
	}
	given, err := jsonPairs(c, "hint")
	if err != nil {
		return err
	}
	hints := noun.Object{}
	for _, f := range given {
		if f.Name != "ovs-tx-steering" {
			hints.Set(f.Name, f.Value)
			continue
		}
		if f.Value != "thread" && f.Value != "hash" {
			return command.Reject("--hint ovs-tx-steering=%s: give thread or hash", noun.Text(f.Value))
		}
		hints.Set("openvswitch", render.Ordered{{Name: "other_config", Value: render.Ordered{{Name: "tx-steering", Value: f.Value}}}})
	}
	body.Set("hints", render.Ordered(hints))
	return nil
}

func setPort(ctx context.Context, c *command.Call, body *noun.Object, o noun.Object) error {
	ips, err := fixedIPs(ctx, c, "fixed-ip")
	if err != nil {
		return err
	}
	groups, err := securityGroups().ResolveAll(ctx, c, c.Texts("security-group"))
	if err != nil {
		return err
	}
	profile, err := jsonPairs(c, "binding-profile")
	if err != nil {
		return err
	}
	add := func(attr, cleared string, more []any) {
		switch {
		case c.Is(cleared):
			body.Set(attr, more)
		case len(more) > 0:
			body.Set(attr, append(items(o, attr), more...))
		}
	}
	add("fixed_ips", "no-fixed-ip", ips)
	add("security_groups", "no-security-group", anys(groups))
	add("allowed_address_pairs", "no-allowed-address", records(c, "allowed-address", "ip-address", "ip_address", "mac-address", "mac_address"))
	if cleared := c.Is("no-binding-profile"); cleared || len(profile) > 0 {
		all := noun.Object{}
		if !cleared {
			all = slices.Clone(o.Object("binding:profile"))
		}
		for _, f := range profile {
			all.Set(f.Name, f.Value)
		}
		body.Set("binding:profile", render.Ordered(all))
	}
	return setHints(c, body)
}

func unsetPort(ctx context.Context, c *command.Call, body *noun.Object, o noun.Object) error {
	ips, err := fixedIPs(ctx, c, "fixed-ip")
	if err != nil {
		return err
	}
	groups, err := securityGroups().ResolveAll(ctx, c, c.Texts("security-group"))
	if err != nil {
		return err
	}
	for _, l := range [...]struct {
		attr, what string
		gone       []any
	}{
		{"fixed_ips", "the port has no fixed address", ips},
		{"security_groups", "the port is not in the security group", anys(groups)},
		{"allowed_address_pairs", "the port has no allowed address", records(c, "allowed-address", "ip-address", "ip_address", "mac-address", "mac_address")},
	} {
		if len(l.gone) == 0 {
			continue
		}
		left, err := without(items(o, l.attr), l.gone, l.what)
		if err != nil {
			return err
		}
		body.Set(l.attr, left)
	}
	if c.Given("binding-profile") {
		profile := slices.Clone(o.Object("binding:profile"))
		for _, key := range c.Texts("binding-profile") {
			at := slices.IndexFunc(profile, func(f render.Field) bool { return f.Name == key })
			if at < 0 {
				return command.Reject("the binding profile of the port has no key %q", key)
			}
			profile = slices.Delete(profile, at, at+1)
		}
		body.Set("binding:profile", render.Ordered(profile))
	}
	return nil
}

func listedPorts() noun.Listing {
	return noun.Listing{
		Short: "List ports",
		Filters: slices.Concat([]noun.Field{
			noun.String("device-owner", "<device-owner>", "device_owner", "Only ports that are used by this, such as network:dhcp"),
			noun.String("host", "<host-id>", "binding:host_id", "Only ports that are bound to this host"),
			networks().Reference("network", "<network>", "network_id", "Only ports of this network, by name or id"),
			routers().Reference("router", "<router>", "device_id", "Only ports of this router, by name or id"),
			noun.Server().Reference("server", "<server>", "device_id", "Only ports of this server, by name or id"),
			noun.String("device-id", "<device-id>", "device_id", "Only ports of the device of this id"),
			noun.String("mac-address", "<mac-address>", "mac_address", "Only the port of this MAC address"),
		}, noun.InProject("Only ports of this project"), []noun.Field{
			nameFilter("ports"),
			securityGroups().References("security-group", "<security-group>", "security_groups", "Only ports in this security group, by name or id"),
			noun.OneOf("status", "<status>", "status", "Only ports in this status", "ACTIVE", "BUILD", "DOWN", "ERROR"),
		}, tagFilters("ports")),
		Flags: []command.Flag{
			{
				Name: "fixed-ip", Value: "subnet=<subnet>,ip-address=<ip-address>,ip-substring=<ip-substring>", Type: command.Records,
				Keys: []string{"subnet", "ip-address", "ip-substring"}, Help: "Only ports with this address, by subnet (name or id), by itself or by a part of it",
			},
			{Name: "all-projects", Koc: true, Help: "Show the project of each port: who may see all ports does without it"},
		},
		Exclusive: []string{"router server device-id", "all-projects project"},
		Columns: []noun.Column{
			{Title: "ID", Attr: "id"},
			{Title: "Name", Attr: "name"},
			{Title: "MAC Address", Attr: "mac_address"},
			{Title: "Fixed IP Addresses", Attr: "fixed_ips", Cell: listDict},
			{Title: "Status", Attr: "status"},
			{Title: "Security Groups", Attr: "security_groups", Cell: list, Long: true, Own: true},
			{Title: "Security Groups", Attr: "security_group_ids", Cell: list, Long: true, Compat: true}, // by that name there is nothing
			{Title: "Device Owner", Attr: "device_owner", Long: true},
			{Title: "Tags", Attr: "tags", Cell: tags, Long: true},
			{Title: "network_id", Attr: "network_id", OptIn: true},
			{Title: "device_id", Attr: "device_id", OptIn: true},
			{Title: "device_owner", Attr: "device_owner", OptIn: true},
			{Title: "project_id", Attr: "project_id", OptIn: true},
			{Title: "description", Attr: "description", OptIn: true},
			{Title: "fixed_ips", Attr: "fixed_ips", Cell: listDict, OptIn: true},
			{Title: "security_group_ids", Attr: "security_groups", Cell: list, OptIn: true},
			{Title: "allowed_address_pairs", Attr: "allowed_address_pairs", Cell: listDict, OptIn: true},
			{Title: "is_admin_state_up", Attr: "admin_state_up", Cell: upDown, OptIn: true},
			{Title: "binding_host_id", Attr: "binding:host_id", OptIn: true},
			{Title: "binding_profile", Attr: "binding:profile", Cell: dict, OptIn: true},
			{Title: "binding_vif_type", Attr: "binding:vif_type", OptIn: true},
			{Title: "binding_vif_details", Attr: "binding:vif_details", Cell: dict, OptIn: true},
			{Title: "binding_vnic_type", Attr: "binding:vnic_type", OptIn: true},
			{Title: "dns_name", Attr: "dns_name", OptIn: true},
			{Title: "dns_domain", Attr: "dns_domain", OptIn: true},
			{Title: "dns_assignment", Attr: "dns_assignment", Cell: listDict, OptIn: true},
			{Title: "is_port_security_enabled", Attr: "port_security_enabled", Cell: orFalse, OptIn: true},
			{Title: "qos_policy_id", Attr: "qos_policy_id", OptIn: true},
			{Title: "trunk_details", Attr: "trunk_details", OptIn: true},
			{Title: "created_at", Attr: "created_at", OptIn: true},
			{Title: "updated_at", Attr: "updated_at", OptIn: true},
			{Title: "revision_number", Attr: "revision_number", OptIn: true},
		},
		Query: func(ctx context.Context, c *command.Call, q url.Values) error {
			for _, r := range c.Records("fixed-ip") {
				if r["subnet"] != "" {
					id, err := subnets().Resolve(ctx, c, r["subnet"])
					if err != nil {
						return err
					}
					q.Add("fixed_ips", "subnet_id="+id)
				}
				if v, has := r["ip-address"]; has {
					q.Add("fixed_ips", "ip_address="+v)
				}
				if v, has := r["ip-substring"]; has {
					q.Add("fixed_ips", "ip_address_substr="+v)
				}
			}
			return nil
		},
		Prepare: func(_ context.Context, c *command.Call, columns []noun.Column) ([]noun.Column, error) {
			if !allProjects(c) {
				return columns, nil
			}
			return slices.Insert(columns, 2, noun.Column{Title: "Project ID", Attr: "project_id"}), nil
		},
	}
}

// allProjects reports whether --all-projects, or its variable, asks for the column
// of the project.
func allProjects(c *command.Call) bool {
	if c.Given("all-projects") || c.Given("project") {
		return c.Is("all-projects")
	}
	switch strings.ToLower(strings.TrimSpace(c.Env("ALL_PROJECTS"))) {
	case "1", "t", "true", "on", "y", "yes":
		return !c.Compat()
	}
	return false
}

func shownPort() noun.Fields {
	return fields(
		noun.Column{Title: "admin_state_up", Cell: upDown},
		noun.Column{Title: "allowed_address_pairs", Cell: listDict},
		noun.Column{Title: "binding_host_id", Attr: "binding:host_id"},
		noun.Column{Title: "binding_profile", Attr: "binding:profile", Cell: dict},
		noun.Column{Title: "binding_vif_details", Attr: "binding:vif_details", Cell: dict},
		noun.Column{Title: "binding_vif_type", Attr: "binding:vif_type"},
		noun.Column{Title: "binding_vnic_type", Attr: "binding:vnic_type"},
		noun.Column{Title: "created_at"},
		noun.Column{Title: "data_plane_status"},
		noun.Column{Title: "description"},
		noun.Column{Title: "device_id"},
		noun.Column{Title: "device_owner"},
		noun.Column{Title: "device_profile"},
		noun.Column{Title: "dns_assignment", Cell: listDict},
		noun.Column{Title: "dns_domain"},
		noun.Column{Title: "dns_name"},
		noun.Column{Title: "extra_dhcp_opts", Cell: listDict},
		noun.Column{Title: "fixed_ips", Cell: listDict},
		noun.Column{Title: "id"},
		noun.Column{Title: "ip_allocation"},
		noun.Column{Title: "mac_address"},
		noun.Column{Title: "name"},
		noun.Column{Title: "network_id"},
		noun.Column{Title: "numa_affinity_policy"},
		noun.Column{Title: "port_security_enabled", Cell: orFalse},
		noun.Column{Title: "project_id"},
		noun.Column{Title: "propagate_uplink_status"},
		noun.Column{Title: "qos_network_policy_id"},
		noun.Column{Title: "qos_policy_id"},
		noun.Column{Title: "resource_request"},
		noun.Column{Title: "revision_number"},
		noun.Column{Title: "security_group_ids", Attr: "security_groups", Cell: list},
		noun.Column{Title: "status"},
		noun.Column{Title: "tags", Cell: tags},
		noun.Column{Title: "trunk_details"},
		noun.Column{Title: "updated_at"},
		newer("hardware_offload_type", "hardware_offload_type"),
		newer("hints", "hints"),
		newer("trusted", "trusted"),
	)
}
