package compute

import (
	"slices"

	"github.com/holdfast-ops/holdfast/internal/koc/command"
)

// operatorCommands are the commands about what servers run on and are made of.
func operatorCommands() []command.Entry {
	return slices.Concat(
		aggregateCommands(),
		agentCommands(),
		serviceCommands(),
		consoleCommands(),
		flavorCommands(),
		hostCommands(),
		hypervisorCommands(),
		keypairCommands(),
		usageCommands(),
	)
}
