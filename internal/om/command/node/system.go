package node

import (
	"context"

	"github.com/holdfast-ops/holdfast/internal/cli/output"
	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/command/verb"
)

// System gives the parts of the last inventory of a node, through its daemon.
type System interface {
	ExpandNodes(ctx context.Context, selector string) ([]string, error)
	SystemDisks(ctx context.Context, node string) ([]api.DiskItem, error)
	SystemGroups(ctx context.Context, node string) ([]api.GroupItem, error)
	SystemHardware(ctx context.Context, node string) ([]api.HardwareItem, error)
	SystemAddresses(ctx context.Context, node string) ([]api.IPAddressItem, error)
	SystemPackages(ctx context.Context, node string) ([]api.PackageItem, error)
	SystemProperties(ctx context.Context, node string) ([]api.PropertyItem, error)
	SystemInitiators(ctx context.Context, node string) ([]api.SANPathInitiatorItem, error)
	SystemPaths(ctx context.Context, node string) ([]api.SANPath, error)
	SystemUsers(ctx context.Context, node string) ([]api.UserItem, error)
}

// systems are the commands that print a part of the last inventory.
func systems() []verb.Verb {
	v := func(path, short string, aliases []string, run func(ctx context.Context, s System, c *verb.Call, nodes []string) error) verb.Verb {
		return verb.Verb{
			Path: "system " + path, Aliases: aliases, Group: "inventory", Short: short,
			New: verb.Needs(func(i Inspector) verb.Runner {
				s, ok := i.(System)
				if !ok {
					return nil
				}
				return &selecting{inspector: i, run: func(ctx context.Context, _ Inspector, c *verb.Call, nodes []string) error {
					return run(ctx, s, c, nodes)
				}}
			}),
		}
	}
	return []verb.Verb{
		v("disk", "List the disks of the node", []string{"dsk"}, func(ctx context.Context, s System, c *verb.Call, nodes []string) error {
			return listed(c, nodes, func(n string) ([]api.DiskItem, error) { return s.SystemDisks(ctx, n) }, diskColumns())
		}),
		v("group", "List the groups of accounts of the node", []string{"grp"}, func(ctx context.Context, s System, c *verb.Call, nodes []string) error {
			return listed(c, nodes, func(n string) ([]api.GroupItem, error) { return s.SystemGroups(ctx, n) }, []output.Column[api.GroupItem]{
				{Name: "NODE", Value: func(g api.GroupItem) any { return g.Meta.Node }},
				{Name: "ID", Value: func(g api.GroupItem) any { return g.Data.ID }},
				{Name: "NAME", Value: func(g api.GroupItem) any { return g.Data.Name }},
			})
		}),
		v("hardware", "List the devices of the node", []string{"device"}, func(ctx context.Context, s System, c *verb.Call, nodes []string) error {
			return listed(c, nodes, func(n string) ([]api.HardwareItem, error) { return s.SystemHardware(ctx, n) }, []output.Column[api.HardwareItem]{
				{Name: "NODE", Value: func(h api.HardwareItem) any { return h.Meta.Node }},
				{Name: "TYPE", Value: func(h api.HardwareItem) any { return h.Data.Type }},
				{Name: "PATH", Value: func(h api.HardwareItem) any { return h.Data.Path }},
				{Name: "CLASS", Value: func(h api.HardwareItem) any { return h.Data.Class }},
				{Name: "DESCRIPTION", Value: func(h api.HardwareItem) any { return h.Data.Description }},
				{Name: "DRIVER", Value: func(h api.HardwareItem) any { return h.Data.Driver }},
			})
		}),
		v("ipaddress", "List the addresses of the node", []string{"addr", "ipaddr"}, func(ctx context.Context, s System, c *verb.Call, nodes []string) error {
			return listed(c, nodes, func(n string) ([]api.IPAddressItem, error) { return s.SystemAddresses(ctx, n) }, []output.Column[api.IPAddressItem]{
				{Name: "NODE", Value: func(a api.IPAddressItem) any { return a.Meta.Node }},
				{Name: "INTERFACE", Value: func(a api.IPAddressItem) any { return a.Data.Intf }},
				{Name: "ADDRESS", Value: func(a api.IPAddressItem) any { return a.Data.Address }},
				{Name: "MASK", Value: func(a api.IPAddressItem) any { return a.Data.Mask }},
				{Name: "MAC", Value: func(a api.IPAddressItem) any { return a.Data.Mac }},
			})
		}),
		v("package", "List the packages of the node", []string{"pkg"}, func(ctx context.Context, s System, c *verb.Call, nodes []string) error {
			return listed(c, nodes, func(n string) ([]api.PackageItem, error) { return s.SystemPackages(ctx, n) }, packageColumns())
		}),
		v("property", "List the properties of the node", []string{"prop"}, func(ctx context.Context, s System, c *verb.Call, nodes []string) error {
			return listed(c, nodes, func(n string) ([]api.PropertyItem, error) { return s.SystemProperties(ctx, n) }, []output.Column[api.PropertyItem]{
				{Name: "NODE", Value: func(p api.PropertyItem) any { return p.Meta.Node }},
				{Name: "NAME", Value: func(p api.PropertyItem) any { return p.Data.Name }},
				{Name: "VALUE", Value: func(p api.PropertyItem) any { return p.Data.Value }},
				{Name: "SOURCE", Value: func(p api.PropertyItem) any { return p.Data.Source }},
			})
		}),
		v("san initiator", "List the ports of the node on storage networks", []string{"init"}, func(ctx context.Context, s System, c *verb.Call, nodes []string) error {
			return listed(c, nodes, func(n string) ([]api.SANPathInitiatorItem, error) { return s.SystemInitiators(ctx, n) }, []output.Column[api.SANPathInitiatorItem]{
				{Name: "NODE", Value: func(p api.SANPathInitiatorItem) any { return p.Meta.Node }},
				{Name: "TYPE", Value: func(p api.SANPathInitiatorItem) any { return p.Data.Type }},
				{Name: "NAME", Value: func(p api.SANPathInitiatorItem) any { return p.Data.Name }},
			})
		}),
		v("san path", "List the ways from the node to storage arrays", nil, func(ctx context.Context, s System, c *verb.Call, nodes []string) error {
			return listed(c, nodes, func(n string) ([]api.SANPath, error) { return s.SystemPaths(ctx, n) }, []output.Column[api.SANPath]{
				{Name: "TYPE", Value: func(p api.SANPath) any { return p.Initiator.Type }},
				{Name: "INITIATOR", Value: func(p api.SANPath) any { return p.Initiator.Name }},
				{Name: "TARGET", Value: func(p api.SANPath) any { return p.Target.Name }},
			})
		}),
		v("user", "List the accounts of the node", []string{"usr"}, func(ctx context.Context, s System, c *verb.Call, nodes []string) error {
			return listed(c, nodes, func(n string) ([]api.UserItem, error) { return s.SystemUsers(ctx, n) }, []output.Column[api.UserItem]{
				{Name: "NODE", Value: func(u api.UserItem) any { return u.Meta.Node }},
				{Name: "ID", Value: func(u api.UserItem) any { return u.Data.ID }},
				{Name: "NAME", Value: func(u api.UserItem) any { return u.Data.Name }},
			})
		}),
	}
}
