package local

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"

	"github.com/holdfast-ops/holdfast/internal/om/api"
	cmdnode "github.com/holdfast-ops/holdfast/internal/om/command/node"
	"github.com/holdfast-ops/holdfast/internal/om/config"
	"github.com/holdfast-ops/holdfast/internal/om/inventory"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

func (b *Backend) inspect() inventory.Node {
	n := inventory.Node{Host: b.host, Store: b.store(), Version: b.o.Process.Version}
	for _, spec := range b.registry().Specs() {
		n.Drivers = append(n.Drivers, spec.ID())
	}
	return n
}

func (b *Backend) mine(node string) bool { return node == "" || b.isHere(node) }

// PushAsset implements node.Inspector.
func (b *Backend) PushAsset(ctx context.Context, node string, dry bool) ([]api.PropertyItem, any, error) {
	if !b.mine(node) {
		return b.Backend.PushAsset(ctx, node, dry)
	}
	n := b.inspect()
	asset, err := n.Asset()
	if err == nil && !dry {
		err = n.Keep(inventory.ReportAsset, asset)
	}
	return inventory.PropertyItems(asset), asset, err
}

// PushDisk implements node.Inspector.
func (b *Backend) PushDisk(ctx context.Context, node string, dry bool) ([]api.DiskItem, any, error) {
	if !b.mine(node) {
		return b.Backend.PushDisk(ctx, node, dry)
	}
	n := b.inspect()
	disks := n.Disks()
	var err error
	if !dry {
		err = n.Keep(inventory.ReportDisk, disks)
	}
	return inventory.DiskItems(disks), disks, err
}

// PushPkg implements node.Inspector.
func (b *Backend) PushPkg(ctx context.Context, node string, dry bool) ([]api.PackageItem, any, error) {
	if !b.mine(node) {
		return b.Backend.PushPkg(ctx, node, dry)
	}
	n := b.inspect()
	packages, err := n.Packages(ctx)
	if err == nil && !dry {
		err = n.Keep(inventory.ReportPkg, packages)
	}
	return inventory.PackageItems(packages), packages, err
}

// Sysreport implements node.Inspector.
func (b *Backend) Sysreport(ctx context.Context, node string, force bool) ([]cmdnode.Change, any, error) {
	if !b.mine(node) {
		return b.Backend.Sysreport(ctx, node, force)
	}
	r, err := b.inspect().Report(ctx, force)
	if err != nil {
		return nil, nil, err
	}
	var changes []cmdnode.Change
	for _, f := range r.Changed {
		changes = append(changes, cmdnode.Change{Node: r.Node, Path: f.Path, State: "changed"})
	}
	for _, name := range r.Deleted {
		changes = append(changes, cmdnode.Change{Node: r.Node, Path: name, State: "deleted"})
	}
	for _, e := range r.Errors {
		changes = append(changes, cmdnode.Change{Node: r.Node, State: "error", Error: e})
	}
	return changes, r, nil
}

// Checks implements node.Inspector.
func (b *Backend) Checks(ctx context.Context, node string) ([]api.CheckItem, any, error) {
	if !b.mine(node) {
		return b.Backend.Checks(ctx, node)
	}
	n := b.inspect()
	report := n.Check()
	return inventory.CheckItems(report), report, n.Keep(inventory.ReportChecks, report)
}

// ScanCapabilities implements node.Inspector.
func (b *Backend) ScanCapabilities(ctx context.Context, node string) error {
	if !b.mine(node) {
		return b.Backend.ScanCapabilities(ctx, node)
	}
	_, err := b.inspect().Scan()
	return err
}

// Capabilities implements node.Inspector.
func (b *Backend) Capabilities(ctx context.Context, node string) ([]api.CapabilityItem, error) {
	if !b.mine(node) {
		return b.Backend.Capabilities(ctx, node)
	}
	n := b.inspect()
	names, err := n.Capabilities()
	return inventory.CapabilityItems(n.Host.Hostname, names), err
}

// PRKey implements node.Inspector: the first time, a key is made.
func (b *Backend) PRKey(ctx context.Context, node string) (string, error) {
	if !b.mine(node) {
		return b.Backend.PRKey(ctx, node)
	}
	settings, err := b.store().Node()
	if err != nil {
		return "", err
	}
	if settings.PRKey != "" {
		return settings.PRKey, nil
	}
	random := make([]byte, 8)
	if _, err := rand.Read(random); err != nil {
		return "", fmt.Errorf("make a key: %w", err)
	}
	key := "0x" + hex.EncodeToString(random)
	at := config.Key{Section: "node", Option: "prkey"}
	_, err = b.store().Modify(ctx, object.Path{}, func(doc *config.Document) error {
		if known, ok := doc.Get(at); ok && known != "" {
			key = known // somebody was faster
			return nil
		}
		return doc.Set(at, key)
	})
	return key, err
}

var _ cmdnode.Inspector = (*Backend)(nil)
