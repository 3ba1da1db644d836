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
		netCommands(), subnetCommands(), subnetPoolCommands(), portCommands(), routerCommands(), agentCommands(),
		extensionCommands(), serviceProviderCommands(),
		needing("l3-ndp-proxy", ndpProxyCommands()),
		needing("auto-allocated-topology", topologyCommands()),
		needing("network-ip-availability", availabilityCommands()),
		needing("flavors", slices.Concat(flavorCommands(), profileCommands())),
		needing("l3-conntrack-helper", conntrackHelperCommands()),
		needing("logging", logCommands()),
		needing("metering", slices.Concat(meterCommands(), meterRuleCommands())),
		needing("subnet_onboard", onboardCommands()),
		needing("qos", slices.Concat(qosPolicyCommands(), qosRuleCommands(), qosRuleTypeCommands())),
		needing("rbac-policies", rbacCommands()),
		needing("segment", segmentCommands()),
		needing("network-segment-range", segmentRangeCommands()),
		needing("trunk", trunkCommands()),
		needing("security-groups-default-rules", defaultRuleCommands()),
		needing("tap-mirror", tapMirrorCommands()),
	)
}
