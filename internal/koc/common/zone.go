package common

import (
	"context"
	"net/http"

	"github.com/holdfast-ops/holdfast/internal/koc/cloud"
	"github.com/holdfast-ops/holdfast/internal/koc/command"
	"github.com/holdfast-ops/holdfast/internal/koc/noun"
	"github.com/holdfast-ops/holdfast/internal/koc/render"
)

func zoneList() command.Command {
	return command.Command{
		Short: "List availability zones and their status",
		Flags: []command.Flag{
			{Name: "compute", Help: "List the zones of the compute service"},
			{Name: "network", Help: "List the zones of the network service"},
			{Name: "volume", Help: "List the zones of the block storage service"},
			{Name: "long", Help: "Show more columns: the hosts and services of each zone"},
		},
		Output: command.Listed,
		Run: func(ctx context.Context, c *command.Call) error {
			all := !c.Is("compute") && !c.Is("network") && !c.Is("volume")
			found := parts{what: "availability zones"}
			for _, part := range []struct {
				service string
				read    func(context.Context, *command.Call) ([][]any, error)
			}{{"compute", computeZones}, {"volume", volumeZones}, {"network", networkZones}} {
				if !all && !c.Is(part.service) {
					continue
				}
				rows, err := part.read(ctx, c)
				if err := found.add(c, part.service, rows, err); err != nil {
					return err
				}
			}
			columns := []render.Column{{Title: "Zone Name"}, {Title: "Zone Status"}}
			if c.Is("long") {
				columns = append(columns, render.Column{Title: "Zone Resource"}, render.Column{Title: "Host Name"},
					render.Column{Title: "Service Name"}, render.Column{Title: "Service Status"})
			}
			return found.print(c, columns)
		},
	}
}

func zoneStatus(o noun.Object) string {
	if o.Bool("zoneState.available") {
		return "available"
	}
	return "not available"
}

func computeZones(ctx context.Context, c *command.Call) ([][]any, error) {
	o, err := fetch(ctx, c, "compute", cloud.Request{Path: "/os-availability-zone/detail"})
	var fault *cloud.Fault
	if err != nil && asFault(err, &fault) && fault.Status == http.StatusForbidden {
		o, err = fetch(ctx, c, "compute", cloud.Request{Path: "/os-availability-zone"})
	}
	if err != nil {
		return nil, err
	}
	var rows [][]any
	for _, zone := range o.Objects("availabilityZoneInfo") {
		name, status := zone.Get("zoneName"), zoneStatus(zone)
		hosts := zone.Object("hosts")
		if !c.Is("long") || len(hosts) == 0 {
			rows = append(rows, []any{name, status, "", "", "", ""})
			continue
		}
		for _, host := range hosts {
			services, _ := host.Value.(render.Ordered)
			for _, service := range services {
				state, _ := service.Value.(render.Ordered)
				rows = append(rows, []any{name, status, "", host.Name, service.Name, serviceStatus(noun.Object(state))})
			}
		}
	}
	return rows, nil
}

// serviceStatus is the state of a service of a host in one cell, smiling or not,
// as upstream writes it.
func serviceStatus(o noun.Object) string {
	enabled, face := "disabled", "XXX"
	if o.Bool("active") {
		enabled = "enabled"
	}
	if o.Bool("available") {
		face = ":-)"
	}
	updated := o.Text("updated_at")
	if updated == "" {
		updated = "None"
	}
	return enabled + " " + face + " " + updated
}

func volumeZones(ctx context.Context, c *command.Call) ([][]any, error) {
	o, err := fetch(ctx, c, "volume", cloud.Request{Path: "/os-availability-zone"})
	if err != nil {
		return nil, err
	}
	var rows [][]any
	for _, zone := range o.Objects("availabilityZoneInfo") {
		rows = append(rows, []any{zone.Get("zoneName"), zoneStatus(zone), "", "", "", ""})
	}
	return rows, nil
}

func networkZones(ctx context.Context, c *command.Call) ([][]any, error) {
	o, err := fetch(ctx, c, "network", cloud.Request{Path: "/availability_zones"})
	if err != nil {
		return nil, err
	}
	var rows [][]any
	for _, zone := range o.Objects("availability_zones") {
		status := zone.Text("state")
		if status == "unavailable" {
			status = "not available"
		}
		rows = append(rows, []any{zone.Get("name"), status, zone.Get("resource"), "", "", ""})
	}
	return rows, nil
}
