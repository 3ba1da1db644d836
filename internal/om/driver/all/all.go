// Package all is the one list of every resource driver.
package all

import "github.com/holdfast-ops/holdfast/internal/om/resource"

// Registry returns the drivers of this build.
func Registry() *resource.Registry { return resource.NewRegistry() }
