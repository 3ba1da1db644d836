package remote

import (
	"cmp"
	"context"
	"errors"

	"github.com/holdfast-ops/holdfast/internal/cli/app"
	"github.com/holdfast-ops/holdfast/internal/om/api"
	cmdnode "github.com/holdfast-ops/holdfast/internal/om/command/node"
)

// named is a node of which something is asked that only it can do.
func named(node string) (api.NodeName, error) {
	if node == "" {
		return api.NodeName{}, app.Usage("say which nodes: --node <selector>, or --node '*' for all of them")
	}
	return api.NodeName{Node: node}, nil
}

// asked is the node whose inventory is asked for: that of the server by default.
func asked(node string) *api.NodeName {
	return &api.NodeName{Node: cmp.Or(node, api.Localhost)}
}

// report has a node make a report, and waits.
func (b *Backend) report(ctx context.Context, op api.Operation[api.NodeAction, api.NodeActionAccepted], node string, dry bool) error {
	if dry {
		return app.Usage("--dry-run is for the node itself: om node push")
	}
	name, err := named(node)
	if err != nil {
		return err
	}
	ids, err := do(ctx, b, op, api.NodeAction{NodeName: name, SessionID: b.NewSession()})
	if err != nil {
		return err
	}
	return b.ended(ctx, node, ids.ExecID, freezeLimit)
}

// PushAsset implements node.Inspector.
func (b *Backend) PushAsset(ctx context.Context, node string, dry bool) ([]api.PropertyItem, any, error) {
	if err := b.report(ctx, api.PostNodeActionPushAsset, node, dry); err != nil {
		return nil, nil, err
	}
	items, err := b.SystemProperties(ctx, node)
	return items, items, err
}

// PushDisk implements node.Inspector.
func (b *Backend) PushDisk(ctx context.Context, node string, dry bool) ([]api.DiskItem, any, error) {
	if err := b.report(ctx, api.PostNodeActionPushDisk, node, dry); err != nil {
		return nil, nil, err
	}
	items, err := b.SystemDisks(ctx, node)
	return items, items, err
}

// PushPkg implements node.Inspector.
func (b *Backend) PushPkg(ctx context.Context, node string, dry bool) ([]api.PackageItem, any, error) {
	if err := b.report(ctx, api.PostNodeActionPushPkg, node, dry); err != nil {
		return nil, nil, err
	}
	items, err := b.SystemPackages(ctx, node)
	return items, items, err
}

// Checks implements node.Inspector.
func (b *Backend) Checks(ctx context.Context, node string) ([]api.CheckItem, any, error) {
	if err := b.report(ctx, api.PostNodeActionChecks, node, false); err != nil {
		return nil, nil, err
	}
	list, err := do(ctx, b, api.GetNodeSystemCheck, *asked(node))
	return list.Items, list.Items, err
}

// Sysreport implements node.Inspector: the report stays on the node.
func (b *Backend) Sysreport(ctx context.Context, on string, force bool) ([]cmdnode.Change, any, error) {
	name, err := named(on)
	if err != nil {
		return nil, nil, err
	}
	ids, err := do(ctx, b, api.PostNodeActionSysreport, api.NodeSysreport{NodeName: name, Force: force, SessionID: b.NewSession()})
	if err != nil {
		return nil, nil, err
	}
	return nil, nil, b.ended(ctx, on, ids.ExecID, freezeLimit)
}

// ScanCapabilities implements node.Inspector.
func (b *Backend) ScanCapabilities(ctx context.Context, node string) error {
	return b.report(ctx, api.PostNodeActionScanCapabilities, node, false)
}

// Capabilities implements node.Inspector.
func (b *Backend) Capabilities(ctx context.Context, node string) ([]api.CapabilityItem, error) {
	list, err := do(ctx, b, api.GetNodeCapabilities, *asked(node))
	return list.Items, err
}

// PRKey implements node.Inspector: a key is made on the node only.
func (b *Backend) PRKey(ctx context.Context, node string) (string, error) {
	list, err := do(ctx, b, api.GetNodeConfig, api.NodeConfigQuery{
		NodeName: *asked(node), ConfigQuery: api.ConfigQuery{Keywords: []string{"node.prkey"}},
	})
	if err != nil {
		return "", err
	}
	for _, k := range list.Items {
		if k.Value != "" {
			return k.Value, nil
		}
	}
	return "", errors.New("the node has no key yet: `om node scsi prkey` on the node makes one")
}

// SystemDisks implements node.System.
func (b *Backend) SystemDisks(ctx context.Context, node string) ([]api.DiskItem, error) {
	list, err := do(ctx, b, api.GetNodeSystemDisk, *asked(node))
	return list.Items, err
}

// SystemGroups implements node.System.
func (b *Backend) SystemGroups(ctx context.Context, node string) ([]api.GroupItem, error) {
	list, err := do(ctx, b, api.GetNodeSystemGroup, *asked(node))
	return list.Items, err
}

// SystemHardware implements node.System.
func (b *Backend) SystemHardware(ctx context.Context, node string) ([]api.HardwareItem, error) {
	list, err := do(ctx, b, api.GetNodeSystemHardware, *asked(node))
	return list.Items, err
}

// SystemAddresses implements node.System.
func (b *Backend) SystemAddresses(ctx context.Context, node string) ([]api.IPAddressItem, error) {
	list, err := do(ctx, b, api.GetNodeSystemIPAddress, *asked(node))
	return list.Items, err
}

// SystemPackages implements node.System.
func (b *Backend) SystemPackages(ctx context.Context, node string) ([]api.PackageItem, error) {
	list, err := do(ctx, b, api.GetNodeSystemPackage, *asked(node))
	return list.Items, err
}

// SystemProperties implements node.System.
func (b *Backend) SystemProperties(ctx context.Context, node string) ([]api.PropertyItem, error) {
	list, err := do(ctx, b, api.GetNodeSystemProperty, *asked(node))
	return list.Items, err
}

// SystemInitiators implements node.System.
func (b *Backend) SystemInitiators(ctx context.Context, node string) ([]api.SANPathInitiatorItem, error) {
	list, err := do(ctx, b, api.GetNodeSystemSANInitiator, *asked(node))
	return list.Items, err
}

// SystemPaths implements node.System.
func (b *Backend) SystemPaths(ctx context.Context, node string) ([]api.SANPath, error) {
	list, err := do(ctx, b, api.GetNodeSystemSANPath, *asked(node))
	return list.Items, err
}

// SystemUsers implements node.System.
func (b *Backend) SystemUsers(ctx context.Context, node string) ([]api.UserItem, error) {
	list, err := do(ctx, b, api.GetNodeSystemUser, *asked(node))
	return list.Items, err
}

var (
	_ cmdnode.Inspector = (*Backend)(nil)
	_ cmdnode.System    = (*Backend)(nil)
)
