package remote

import (
	"context"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/api"
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

func keyOf(p object.Path, name string) api.DataKeyName {
	return api.DataKeyName{ObjectName: api.Named(p), Key: name}
}
