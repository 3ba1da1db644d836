// Package identity has the commands of the identity service, Keystone.
package identity

import "github.com/holdfast-ops/holdfast/internal/koc/command"

// Commands are all commands of the service.
func Commands() []command.Entry { return nil }
