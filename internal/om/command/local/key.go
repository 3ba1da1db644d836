package local

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/holdfast-ops/holdfast/internal/host"
	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/command/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/command/key"
	"github.com/holdfast-ops/holdfast/internal/om/command/remote"
	"github.com/holdfast-ops/holdfast/internal/om/command/verb"
	"github.com/holdfast-ops/holdfast/internal/om/datastore"
	"github.com/holdfast-ops/holdfast/internal/om/instance"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

func (b *Backend) data() *datastore.Data { return datastore.New(b.store()) }

// ListKeys implements key.Reader.
func (b *Backend) ListKeys(ctx context.Context, p object.Path) ([]api.DataKeyListItem, error) {
	if b.elsewhere(ctx, p) {
		return b.Backend.ListKeys(ctx, p)
	}
	infos, err := b.data().List(p)
	items := make([]api.DataKeyListItem, len(infos))
	for i, info := range infos {
		items[i] = api.DataKeyListItem{Node: b.host.Hostname, Object: p.String(), Name: info.Name, Size: info.Size}
	}
	return items, err
}

// DecodeKeys implements key.Reader.
func (b *Backend) DecodeKeys(ctx context.Context, p object.Path, pattern string) (api.DataKeys, error) {
	if b.elsewhere(ctx, p) {
		return b.Backend.DecodeKeys(ctx, p, pattern)
	}
	values, err := b.data().DecodeAll(p, []string{pattern})
	keys := make(api.DataKeys, len(values))
	for i, v := range values {
		keys[i] = api.DataKey{Name: v.Name, Bytes: v.Value}
	}
	return keys, err
}

// ChangeKeys implements key.Writer.
func (b *Backend) ChangeKeys(ctx context.Context, p object.Path, changes api.PatchDataKeys, waitLock time.Duration) error {
	if b.elsewhere(ctx, p) {
		return b.Backend.ChangeKeys(ctx, p, changes, waitLock)
	}
	s := b.store()
	if waitLock > 0 {
		s = s.WithWaitLock(waitLock)
	}
	ops := make([]datastore.Op, len(changes))
	for i, c := range changes {
		ops[i] = datastore.Op{Action: datastore.Action(c.Action), Name: c.Name, To: c.To}
		if c.Bytes != nil {
			ops[i].Value = *c.Bytes
		}
	}
	_, err := datastore.New(s).Apply(ctx, p, ops)
	return err
}

// KeyContent implements key.Editor.
func (b *Backend) KeyContent(ctx context.Context, p object.Path, name string) (api.DataKeyContent, error) {
	if b.elsewhere(ctx, p) {
		return b.Backend.KeyContent(ctx, p, name)
	}
	value, err := b.data().Decode(p, name)
	return api.DataKeyContent{RawBody: value}, err
}

// ReplaceKey implements key.Editor.
func (b *Backend) ReplaceKey(ctx context.Context, p object.Path, name string, seen api.DataKeyContent, value []byte) error {
	if b.elsewhere(ctx, p) {
		return b.Backend.ReplaceKey(ctx, p, name, seen, value)
	}
	_, err := b.data().Modify(ctx, p, func(tx *datastore.Tx) error {
		now, err := tx.Decode(name)
		if err != nil {
			return err
		}
		if !bytes.Equal(now, seen.RawBody) {
			return fmt.Errorf("%s: key %s was changed while it was edited: edit it again", p, name)
		}
		return tx.Change(name, value)
	})
	return err
}

// EditFile implements key.Editor.
func (b *Backend) EditFile(ctx context.Context, c *verb.Call, name string) error {
	argv, err := remote.EditorCommand(b.o.Process.Env)
	if err != nil {
		return err
	}
	streams := host.Terminal{In: c.Streams.In, Out: c.Streams.Out, Err: c.Streams.Err}
	if err := host.Foreground(ctx, host.Cmd{Argv: append(argv, name)}, streams); err != nil {
		return fmt.Errorf("edit %s: %w", name, err)
	}
	return nil
}

// InstallKeys implements key.Installer.
func (b *Backend) InstallKeys(ctx context.Context, c *verb.Call, p object.Path, pattern, nodes string) ([]key.Installed, error) {
	if nodes != "" && !b.isHere(nodes) {
		return b.Backend.InstallKeys(ctx, c, p, pattern, nodes)
	}
	if _, err := b.data().Keys(p); err != nil {
		return nil, err
	}
	instances, err := b.engine(c).Reinstall(ctx, p, pattern, instance.Request{})
	installed := make([]key.Installed, len(instances))
	for i, in := range instances {
		installed[i] = key.Installed{Object: p.String(), Instance: in.String(), Node: b.NodeName()}
	}
	return installed, err
}

// RotateSecret implements cluster.Rotator.
func (b *Backend) RotateSecret(ctx context.Context) (cluster.Rotated, error) {
	to, err := datastore.NewSecret()
	if err != nil {
		return cluster.Rotated{}, err
	}
	done, err := b.data().Rotate(ctx, to)
	return cluster.Rotated{Keys: done.Keys, Unreadable: done.Unreadable, Pending: done.Pending}, err
}
