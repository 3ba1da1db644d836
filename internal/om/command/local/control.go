package local

import (
	"context"

	"github.com/holdfast-ops/holdfast/internal/om/command/configure"
	cmdobject "github.com/holdfast-ops/holdfast/internal/om/command/object"
	"github.com/holdfast-ops/holdfast/internal/om/instance"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// Disable implements object.Switcher: without a daemon too.
func (b *Backend) Disable(ctx context.Context, p object.Path, f cmdobject.Resources, disabled bool) error {
	set, unset, err := b.engine(nil).Switch(p, instance.Request{RID: f.RID, Subset: f.Subset, Tag: f.Tag}, disabled)
	if err != nil || len(set)+len(unset) == 0 {
		return err
	}
	_, err = b.ChangeConfig(ctx, p, configure.Change{Set: set, Unset: unset, WaitLock: instance.DefaultWaitLock})
	return err
}
