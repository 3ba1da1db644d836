// Package all is the one list of every resource driver.
package all

import (
	"github.com/holdfast-ops/holdfast/internal/om/driver/app"
	"github.com/holdfast-ops/holdfast/internal/om/driver/container"
	"github.com/holdfast-ops/holdfast/internal/om/driver/disk"
	"github.com/holdfast-ops/holdfast/internal/om/driver/fs"
	"github.com/holdfast-ops/holdfast/internal/om/driver/ip"
	"github.com/holdfast-ops/holdfast/internal/om/driver/task"
	"github.com/holdfast-ops/holdfast/internal/om/resource"
)

// Registry returns the drivers of this build.
func Registry() *resource.Registry {
	return resource.NewRegistry(
		ip.Host,
		disk.Loop,
		fs.Bind,
		fs.Directory,
		fs.Ext4,
		fs.Flag,
		fs.Tmpfs,
		fs.XFS,
		app.Forking,
		app.Simple,
		container.Docker,
		container.OCI,
		container.Podman,
		task.ACME,
		task.Host,
	)
}
