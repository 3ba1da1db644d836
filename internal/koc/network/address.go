package network

import "github.com/holdfast-ops/holdfast/internal/koc/command"

// addressCommands are those of addresses and who may reach them.
func addressCommands() []command.Entry { return nil }
