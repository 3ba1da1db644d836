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
		{
			Name: "common", Title: "Quotas, limits, zones and the configuration", Entries: common.Commands,
			Words: "availability configuration extension limits project quota versions",
		},
		{
			Name: "compute", Title: "Servers and what they run on", Entries: compute.Commands,
			Words: "aggregate compute console flavor host hypervisor keypair server usage",
		},
		{
			Name: "identity", Title: "Users, projects, roles and the catalogue", Entries: identity.Commands,
			Words: "access application catalog consumer credential domain ec2 endpoint federation group identity implied limit mapping policy project region registered request role service token trust user",
		},
		{
			Name: "image", Title: "Images", Entries: image.Commands,
			Words: "cached image",
		},
		{
			Name: "network", Title: "Networks, subnets, ports and routers", Entries: network.Commands,
			Words: "address default floating ip local network port router security subnet tap",
		},
		{
			Name: "volume", Title: "Volumes, snapshots and backups", Entries: volume.Commands,
			Words: "block consistency volume",
		},
	}
}
