// Package volume has the commands of the block storage service, Cinder.
package volume

import (
	"slices"

	"github.com/holdfast-ops/holdfast/internal/koc/command"
)

// Commands are all commands of the service.
func Commands() []command.Entry {
	return slices.Concat(
		clusterCommands(), operatorCommands(), manageableCommands(), consistencyGroupCommands(), consistencySnapshotCommands(),
		diskCommands(), attachmentCommands(), backendCommands(), backupCommands(), groupCommands(), groupSnapshotCommands(),
		groupTypeCommands(), messageCommands(), qosCommands(), serviceCommands(), snapshotCommands(), transferCommands(),
		typeCommands(),
	)
}
