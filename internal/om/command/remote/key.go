package remote

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/command/key"
	"github.com/holdfast-ops/holdfast/internal/om/command/verb"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// ListKeys implements key.Reader.
func (b *Backend) ListKeys(ctx context.Context, p object.Path) ([]api.DataKeyListItem, error) {
	list, err := do(ctx, b, api.GetObjectDataKeys, api.Named(p))
	return list.Items, err
}

// DecodeKeys implements key.Reader.
func (b *Backend) DecodeKeys(ctx context.Context, p object.Path, pattern string) (api.DataKeys, error) {
	return do(ctx, b, api.GetObjectData, api.DataQuery{ObjectName: api.Named(p), Keys: []string{pattern}})
}

// ChangeKeys implements key.Writer. The daemon waits for another change.
func (b *Backend) ChangeKeys(ctx context.Context, p object.Path, changes api.PatchDataKeys, _ time.Duration) error {
	_, err := do(ctx, b, api.PatchObjectData, api.DataPatch{ObjectName: api.Named(p), Body: changes})
	return err
}

// KeyContent implements key.Editor.
func (b *Backend) KeyContent(ctx context.Context, p object.Path, name string) (api.DataKeyContent, error) {
	return do(ctx, b, api.GetObjectDataKey, keyOf(p, name))
}

// ReplaceKey implements key.Editor.
func (b *Backend) ReplaceKey(ctx context.Context, p object.Path, name string, seen api.DataKeyContent, value []byte) error {
	_, err := do(ctx, b, api.PutObjectDataKey, api.DataKeyChange{DataKeyName: keyOf(p, name), IfMatch: seen.ETag, RawBody: value})
	return err
}

// installLimit bounds the laying down of files in an instance.
const installLimit = 5 * time.Minute

// InstallKeys implements key.Installer.
func (b *Backend) InstallKeys(ctx context.Context, _ *verb.Call, p object.Path, pattern, nodes string) ([]key.Installed, error) {
	names, err := b.holders(ctx, p, nodes)
	if err != nil {
		return nil, err
	}
	session := b.NewSession()
	var installed []key.Installed
	var errs []error
	for _, node := range names {
		list, err := do(ctx, b, api.PostInstanceActionKeyInstall, api.KeyInstall{
			InstanceName: api.InstanceOf(node, p), Key: pattern, SessionID: session,
		})
		errs = append(errs, err)
		for _, item := range list.Items {
			if err := b.ended(ctx, node, item.Data.ExecID, installLimit); err != nil {
				errs = append(errs, fmt.Errorf("install in %s on %s: %w", item.Meta.Object, item.Meta.Node, err))
				continue
			}
			installed = append(installed, key.Installed{Object: p.String(), Instance: item.Meta.Object, Node: item.Meta.Node})
		}
	}
	return installed, errors.Join(errs...)
}

// holders are the nodes of a selector, of none those that have an instance of an object.
func (b *Backend) holders(ctx context.Context, p object.Path, nodes string) ([]string, error) {
	if nodes != "" {
		return b.ExpandNodes(ctx, nodes)
	}
	list, err := do(ctx, b, api.GetInstances, api.InstanceQuery{Path: p.FQN()})
	names := make([]string, len(list.Items))
	for i, item := range list.Items {
		names[i] = item.Meta.Node
	}
	return names, err
}

func keyOf(p object.Path, name string) api.DataKeyName {
	return api.DataKeyName{ObjectName: api.Named(p), Key: name}
}
