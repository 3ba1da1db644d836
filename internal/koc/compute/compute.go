// Package compute has the commands of the compute service, Nova: servers and what
// they are made of, and what operators need of the hosts below them.
package compute

import "github.com/holdfast-ops/holdfast/internal/koc/command"

// Commands are all commands of the service.
func Commands() []command.Entry {
	return append(serverCommands(), operatorCommands()...)
}
