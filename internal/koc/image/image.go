// Package image has the commands of the image service, Glance.
package image

import "github.com/holdfast-ops/holdfast/internal/koc/command"

// Commands are all commands of the service.
func Commands() []command.Entry { return nil }
