// Package volume has the commands of the block storage service, Cinder.
package volume

import "github.com/holdfast-ops/holdfast/internal/koc/command"

// Commands are all commands of the service.
func Commands() []command.Entry { return nil }
