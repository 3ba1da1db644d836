package compute

import "github.com/holdfast-ops/holdfast/internal/koc/command"

func operatorCommands() []command.Entry { return nil }
