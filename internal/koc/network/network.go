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
		netCommands(), subnetCommands(), subnetPoolCommands(), portCommands(), routerCommands(), ndpProxyCommands(),
		agentCommands(), topologyCommands(), availabilityCommands(), flavorCommands(), profileCommands(),
		conntrackHelperCommands(), logCommands(), meterCommands(), meterRuleCommands(), onboardCommands(),
		qosPolicyCommands(), qosRuleCommands(), qosRuleTypeCommands(), rbacCommands(), segmentCommands(),
		segmentRangeCommands(), serviceProviderCommands(), trunkCommands(), defaultRuleCommands(), tapMirrorCommands(),
		extensionCommands(),
	)
}
