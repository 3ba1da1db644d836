package node

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/pflag"

	"github.com/holdfast-ops/holdfast/internal/cli/output"
	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/command/verb"
)

// Inspector says what nodes are made of. The node "" is this one.
type Inspector interface {
	ExpandNodes(ctx context.Context, selector string) ([]string, error)
	// PushAsset, PushDisk and PushPkg make an inventory, which becomes the last one
	// unless dry is set. The report is what programs get.
	PushAsset(ctx context.Context, node string, dry bool) (items []api.PropertyItem, report any, err error)
	PushDisk(ctx context.Context, node string, dry bool) (items []api.DiskItem, report any, err error)
	PushPkg(ctx context.Context, node string, dry bool) (items []api.PackageItem, report any, err error)
	// Sysreport reports what changed in the configuration of a node.
	Sysreport(ctx context.Context, node string, force bool) (changes []Change, report any, err error)
	// Checks measures the health of a node.
	Checks(ctx context.Context, node string) (items []api.CheckItem, report any, err error)
	ScanCapabilities(ctx context.Context, node string) error
	Capabilities(ctx context.Context, node string) ([]api.CapabilityItem, error)
	// PRKey is the key of the node in SCSI persistent reservations.
	PRKey(ctx context.Context, node string) (string, error)
}

// Change is a tracked file or command, and what happened to it.
type Change struct {
	Node  string `json:"node"`
	Path  string `json:"path"`
	State string `json:"state"` // changed, deleted, or error
	Error string `json:"error,omitempty"`
}

// inventories are the commands that say what a node is made of.
func inventories() []verb.Verb {
	const group = "inventory"
	return []verb.Verb{
		{
			Path: "push asset", Also: []string{"pushasset"}, Group: group, Short: "Make the inventory of the node",
			Long: "Look at the node and keep what is found as the last inventory, which the API gives. The keywords of the node section of the same name win over what is found. With -o json, the whole inventory is printed: devices, accounts, addresses and storage ports too.",
			New: push(func(ctx context.Context, i Inspector, node string, dry bool) ([]api.PropertyItem, any, error) {
				return i.PushAsset(ctx, node, dry)
			}, []output.Column[api.PropertyItem]{
				{Name: "NODE", Value: func(p api.PropertyItem) any { return p.Meta.Node }},
				{Name: "NAME", Value: func(p api.PropertyItem) any { return p.Data.Name }},
				{Name: "VALUE", Value: func(p api.PropertyItem) any { return p.Data.Value }},
				{Name: "SOURCE", Value: func(p api.PropertyItem) any { return p.Data.Source }},
				{Name: "ERROR", Value: func(p api.PropertyItem) any { return p.Data.Error }},
			}),
		},
		{
			Path: "push disk", Aliases: []string{"disks"}, Also: []string{"pushdisk", "pushdisks"}, Group: group, Short: "Make the inventory of the disks of the node",
			New: push(func(ctx context.Context, i Inspector, node string, dry bool) ([]api.DiskItem, any, error) {
				return i.PushDisk(ctx, node, dry)
			}, diskColumns()),
		},
		{
			Path: "push pkg", Also: []string{"pushpkg"}, Group: group, Short: "Make the inventory of the packages of the node",
			New: push(func(ctx context.Context, i Inspector, node string, dry bool) ([]api.PackageItem, any, error) {
				return i.PushPkg(ctx, node, dry)
			}, packageColumns()),
		},
		{
			Path: "sysreport", Group: group, Short: "Report what changed in the configuration of the node",
			Long: "Report the tracked files and outputs that changed since the last report. The configurations of the agent are always tracked, their secrets masked; the files of sysreport.conf.d, in the configuration directory, list what else is: FILE, DIR, GLOB, EXC and CMD lines. With -o json, the contents are printed.",
			New:  verb.Needs(func(i Inspector) verb.Runner { return &sysreport{inspector: i} }),
		},
		{
			Path: "checks", Aliases: []string{"check"}, Group: group, Short: "Measure the health of the node",
			Long: "Measure how full filesystems, memory and swap are, and the state of links, bonds and arrays.",
			New:  onNodes(checks),
		},
		{
			Path: "capabilities list", Aliases: []string{"ls"}, Group: group, Short: "List what the node can do",
			Long: "List the drivers and the tools that the last scan found. The daemon scans when it starts.",
			New: onNodes(func(ctx context.Context, i Inspector, c *verb.Call, nodes []string) error {
				return listed(c, nodes, func(node string) ([]api.CapabilityItem, error) { return i.Capabilities(ctx, node) }, []output.Column[api.CapabilityItem]{
					{Name: "NODE", Value: func(p api.CapabilityItem) any { return p.Meta.Node }},
					{Name: "NAME", Value: func(p api.CapabilityItem) any { return p.Data.Name }},
				})
			}),
		},
		{
			Path: "capabilities scan", Also: []string{"scan capabilities"}, Group: group, Short: "Look again for what the node can do",
			New: onNodes(func(ctx context.Context, i Inspector, _ *verb.Call, nodes []string) error {
				return eachNode(nodes, func(node string) error { return i.ScanCapabilities(ctx, node) })
			}),
		},
		{
			Path: "scsi prkey", Also: []string{"prkey"}, Group: group, Short: "Print the key of the node in SCSI persistent reservations",
			Long: "Print the key of the node in SCSI persistent reservations, node.prkey. The first time, a random one is made and written in node.conf.",
			New: onNodes(func(ctx context.Context, i Inspector, c *verb.Call, nodes []string) error {
				return eachNode(nodes, func(node string) error {
					key, err := i.PRKey(ctx, node)
					if err != nil {
						return err
					}
					_, err = fmt.Fprintln(c.Streams.Out, key)
					return err
				})
			}),
		},
	}
}

// checks measures the health of nodes.
func checks(ctx context.Context, i Inspector, c *verb.Call, nodes []string) error {
	return reported(c, nodes, func(node string) ([]api.CheckItem, any, error) { return i.Checks(ctx, node) }, []output.Column[api.CheckItem]{
		{Name: "NODE", Value: func(k api.CheckItem) any { return k.Meta.Node }},
		{Name: "DRIVER", Value: func(k api.CheckItem) any { return k.Data.Driver }},
		{Name: "PATH", Value: func(k api.CheckItem) any { return k.Data.Path }},
		{Name: "NAME", Value: func(k api.CheckItem) any { return k.Data.Name }},
		{Name: "VALUE", Value: func(k api.CheckItem) any { return k.Data.Value }},
		{Name: "UNIT", Value: func(k api.CheckItem) any { return k.Data.Unit }},
	})
}

func diskColumns() []output.Column[api.DiskItem] {
	return []output.Column[api.DiskItem]{
		{Name: "NODE", Value: func(d api.DiskItem) any { return d.Meta.Node }},
		{Name: "ID", Value: func(d api.DiskItem) any { return d.Data.ID }},
		{Name: "DEVPATH", Value: func(d api.DiskItem) any { return d.Data.Devpath }},
		{Name: "SIZE_MB", Value: func(d api.DiskItem) any { return d.Data.Size }},
		{Name: "VENDOR", Value: func(d api.DiskItem) any { return d.Data.Vendor }},
		{Name: "MODEL", Value: func(d api.DiskItem) any { return d.Data.Model }},
		{Name: "TYPE", Value: func(d api.DiskItem) any { return d.Data.Type }},
	}
}

func packageColumns() []output.Column[api.PackageItem] {
	return []output.Column[api.PackageItem]{
		{Name: "NODE", Value: func(p api.PackageItem) any { return p.Meta.Node }},
		{Name: "NAME", Value: func(p api.PackageItem) any { return p.Data.Name }},
		{Name: "VERSION", Value: func(p api.PackageItem) any { return p.Data.Version }},
		{Name: "ARCH", Value: func(p api.PackageItem) any { return p.Data.Arch }},
		{Name: "TYPE", Value: func(p api.PackageItem) any { return p.Data.Type }},
		{Name: "INSTALLED_AT", Value: func(p api.PackageItem) any { return p.Data.InstalledAt }},
	}
}

// chosen returns the nodes of a selector, this one when it is empty.
func chosen(ctx context.Context, i Inspector, selector string) ([]string, error) {
	if selector == "" {
		return []string{""}, nil
	}
	return i.ExpandNodes(ctx, selector)
}

// eachNode does something for each node, one after the other, and joins the errors.
func eachNode(nodes []string, do func(node string) error) error {
	var errs []error
	for _, n := range nodes {
		err := do(n)
		if err != nil && n != "" {
			err = fmt.Errorf("node %s: %w", n, err)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// listed prints a list of items of several nodes.
func listed[T any](c *verb.Call, nodes []string, get func(node string) ([]T, error), columns []output.Column[T]) error {
	all := []T{}
	err := eachNode(nodes, func(node string) error {
		items, err := get(node)
		all = append(all, items...)
		return err
	})
	if err != nil && len(all) == 0 {
		return err
	}
	return errors.Join(verb.Write(c, columns, all, all), err)
}

// onNodes runs a command that only takes a selector of nodes.
func onNodes(run func(ctx context.Context, i Inspector, c *verb.Call, nodes []string) error) func(verb.Backend) verb.Runner {
	return verb.Needs(func(i Inspector) verb.Runner { return &selecting{inspector: i, run: run} })
}

type selecting struct {
	inspector Inspector
	run       func(ctx context.Context, i Inspector, c *verb.Call, nodes []string) error
	nodes     string
}

func (s *selecting) Flags(f *pflag.FlagSet) {
	f.StringVar(&s.nodes, "node", "", "these `nodes`, this one by default")
}

func (s *selecting) Run(ctx context.Context, c *verb.Call) error {
	nodes, err := chosen(ctx, s.inspector, s.nodes)
	if err != nil {
		return err
	}
	return s.run(ctx, s.inspector, c, nodes)
}

// push makes the command of an inventory.
func push[T any](
	inspect func(ctx context.Context, i Inspector, node string, dry bool) ([]T, any, error), columns []output.Column[T],
) func(verb.Backend) verb.Runner {
	return verb.Needs(func(i Inspector) verb.Runner { return &pushing[T]{inspector: i, inspect: inspect, columns: columns} })
}

type pushing[T any] struct {
	inspector Inspector
	inspect   func(ctx context.Context, i Inspector, node string, dry bool) ([]T, any, error)
	columns   []output.Column[T]
	nodes     string
	dry       bool
}

func (p *pushing[T]) Flags(f *pflag.FlagSet) {
	f.StringVar(&p.nodes, "node", "", "these `nodes`, this one by default")
	f.BoolVar(&p.dry, "dry-run", false, "do not keep what is found as the last inventory")
	quietly(f)
}

// quietly takes the flags that change nothing here: what is found stays on the node.
func quietly(f *pflag.FlagSet) {
	for _, name := range []string{"local", "ignore-no-collector-configured"} {
		f.Bool(name, false, "")
		f.Lookup(name).Hidden = true
	}
}

func (p *pushing[T]) Run(ctx context.Context, c *verb.Call) error {
	nodes, err := chosen(ctx, p.inspector, p.nodes)
	if err != nil {
		return err
	}
	return reported(c, nodes, func(node string) ([]T, any, error) { return p.inspect(ctx, p.inspector, node, p.dry) }, p.columns)
}

// reported prints what is in the reports of several nodes, and to programs the
// reports. A node may have none.
func reported[T any](c *verb.Call, nodes []string, get func(node string) ([]T, any, error), columns []output.Column[T]) error {
	all := []T{}
	var reports []any
	err := eachNode(nodes, func(node string) error {
		items, report, err := get(node)
		if err == nil && report != nil {
			all, reports = append(all, items...), append(reports, report)
		}
		return err
	})
	if len(reports) == 0 {
		return err
	}
	var data any = reports
	if len(reports) == 1 {
		data = reports[0]
	}
	return errors.Join(verb.Write(c, columns, all, data), err)
}

type sysreport struct {
	inspector Inspector
	nodes     string
	force     bool
}

func (s *sysreport) Flags(f *pflag.FlagSet) {
	f.StringVar(&s.nodes, "node", "", "these `nodes`, this one by default")
	f.BoolVar(&s.force, "force", false, "report every tracked file, not only what changed")
	quietly(f)
}

func (s *sysreport) Run(ctx context.Context, c *verb.Call) error {
	nodes, err := chosen(ctx, s.inspector, s.nodes)
	if err != nil {
		return err
	}
	return reported(c, nodes, func(node string) ([]Change, any, error) { return s.inspector.Sysreport(ctx, node, s.force) }, []output.Column[Change]{
		{Name: "NODE", Value: func(f Change) any { return f.Node }},
		{Name: "STATE", Value: func(f Change) any { return f.State }},
		{Name: "PATH", Value: func(f Change) any { return f.Path }},
		{Name: "ERROR", Value: func(f Change) any { return f.Error }},
	})
}
