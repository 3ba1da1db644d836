package koc

import (
	"github.com/holdfast-ops/holdfast/internal/koc/command"
	"github.com/holdfast-ops/holdfast/internal/koc/common"
	"github.com/holdfast-ops/holdfast/internal/koc/compute"
	"github.com/holdfast-ops/holdfast/internal/koc/identity"
	"github.com/holdfast-ops/holdfast/internal/koc/image"
	"github.com/holdfast-ops/holdfast/internal/koc/network"
	"github.com/holdfast-ops/holdfast/internal/koc/volume"
)

// Services are all commands, by service.
func Services() []command.Service {
	return []command.Service{
		{Name: "common", Title: "Quotas, limits, zones and the configuration", Entries: common.Commands()},
		{Name: "compute", Title: "Servers and what they run on", Entries: compute.Commands()},
		{Name: "identity", Title: "Users, projects, roles and the catalogue", Entries: identity.Commands()},
		{Name: "image", Title: "Images", Entries: image.Commands()},
		{Name: "network", Title: "Networks, subnets, ports and routers", Entries: network.Commands()},
		{Name: "volume", Title: "Volumes, snapshots and backups", Entries: volume.Commands()},
	}
}
