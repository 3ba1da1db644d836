package compute

import "github.com/holdfast-ops/holdfast/internal/koc/command"

// serverCommands are the commands about servers.
func serverCommands() []command.Entry { return nil }
