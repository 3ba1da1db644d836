// Package network has the commands of the network service, Neutron.
package network

import (
	"slices"

	"github.com/holdfast-ops/holdfast/internal/koc/command"
)

// Commands are all commands of the service.
func Commands() []command.Entry { return append(networkCommands(), addressCommands()...) }

// networkCommands are those of networks and what they are made of.
func networkCommands() []command.Entry {
	return slices.Concat(
		of(netCommands, "network", "create", "delete", "list", "set", "show", "unset"),
		of(subnetCommands, "subnet", "create", "delete", "list", "set", "show", "unset"),
		of(subnetPoolCommands, "subnet pool", "create", "delete", "list", "set", "show", "unset"),
		of(portCommands, "port", "create", "delete", "list", "set", "show", "unset"),
		of(routerCommands, "router", "add gateway", "add port", "add route", "add subnet", "create", "delete", "list",
			"remove gateway", "remove port", "remove route", "remove subnet", "set", "show", "unset"),
		of(agentCommands, "network agent", "add network", "add router", "delete", "list", "remove network", "remove router", "set", "show"),
		of(extensionCommands, "network extension", "list", "show"),
		of(serviceProviderCommands, "network service provider", "list"),
		needing("l3-ndp-proxy", of(ndpProxyCommands, "router ndp proxy", "create", "delete", "list", "set", "show")),
		needing("auto-allocated-topology", of(topologyCommands, "network auto allocated topology", "create", "delete")),
		needing("network-ip-availability", of(availabilityCommands, "ip availability", "list", "show")),
		needing("flavors", of(flavorCommands, "network flavor", "add profile", "create", "delete", "list", "remove profile", "set", "show")),
		needing("flavors", of(profileCommands, "network flavor profile", "create", "delete", "list", "set", "show")),
		needing("l3-conntrack-helper", of(conntrackHelperCommands, "network l3 conntrack helper", "create", "delete", "list", "set", "show")),
		needing("logging", of(logCommands, "network", "log create", "log delete", "log list", "log set", "log show", "loggable resources list")),
		needing("metering", of(meterCommands, "network meter", "create", "delete", "list", "show")),
		needing("metering", of(meterRuleCommands, "network meter rule", "create", "delete", "list", "show")),
		needing("subnet_onboard", of(onboardCommands, "network onboard", "subnets")),
		needing("qos", of(qosPolicyCommands, "network qos policy", "create", "delete", "list", "set", "show")),
		needing("qos", of(qosRuleCommands, "network qos rule", "create", "delete", "list", "set", "show")),
		needing("qos", of(qosRuleTypeCommands, "network qos rule type", "list", "show")),
		needing("rbac-policies", of(rbacCommands, "network rbac", "create", "delete", "list", "set", "show")),
		needing("segment", of(segmentCommands, "network segment", "create", "delete", "list", "set", "show")),
		needing("network-segment-range", of(segmentRangeCommands, "network segment range", "create", "delete", "list", "set", "show")),
		needing("trunk", of(trunkCommands, "network", "subport list", "trunk create", "trunk delete", "trunk list", "trunk set",
			"trunk show", "trunk unset", "trunk subport add", "trunk subport list", "trunk subport remove")),
		needing("security-groups-default-rules", of(defaultRuleCommands, "default security group rule", "create", "delete", "list", "show")),
		needing("tap-mirror", of(tapMirrorCommands, "tap mirror", "create", "delete", "list", "show", "update")),
	)
}

// of are the commands of a noun by their verbs. Their declarations are made when
// one of them runs.
func of(declarations func() []command.Entry, noun string, verbs ...string) []command.Entry {
	entries := make([]command.Entry, len(verbs))
	for i, verb := range verbs {
		name := noun + " " + verb
		entries[i] = command.Entry{Name: name, Build: func() command.Command {
			all := declarations()
			at := slices.IndexFunc(all, func(e command.Entry) bool { return e.Name == name })
			return all[at].Build()
		}}
	}
	return entries
}
