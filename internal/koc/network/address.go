package network

import (
	"slices"

	"github.com/holdfast-ops/holdfast/internal/koc/command"
)

// addressCommands are those of addresses and who may reach them.
func addressCommands() []command.Entry {
	return slices.Concat(
		floatingIPCommands(), securityGroupCommands(), securityGroupRuleCommands(),
		needing("address-group", addressGroupCommands()),
		needing("address-scope", addressScopeCommands()),
		needing("floatingip-pools", floatingIPPoolCommands()),
		needing("floating-ip-port-forwarding", portForwardingCommands()),
		needing("local_ip", slices.Concat(localIPCommands(), localIPAssociationCommands())),
	)
}
