package engine

import (
	"context"
	"fmt"

	"github.com/moby/moby/client"
)

// A mark is an empty volume: what the engine itself remembers of an action that was
// begun, wherever the next run comes from.

// Mark sets a mark. A mark that is set already stays.
func (e *Engine) Mark(ctx context.Context, name string) error {
	ctx, cancel := query(ctx)
	defer cancel()
	if set, err := e.Marked(ctx, name); err != nil || set {
		return err
	}
	if _, err := e.api.VolumeCreate(ctx, client.VolumeCreateOptions{Name: name}); err != nil {
		return fmt.Errorf("set mark %s: %w", name, err)
	}
	return nil
}

// Marked tells whether a mark is set.
func (e *Engine) Marked(ctx context.Context, name string) (bool, error) {
	ctx, cancel := query(ctx)
	defer cancel()
	_, err := e.api.VolumeInspect(ctx, name, client.VolumeInspectOptions{})
	switch {
	case err == nil:
		return true, nil
	case absent(err):
		return false, nil
	}
	return false, fmt.Errorf("look for mark %s: %w", name, err)
}

// Unmark takes a mark away.
func (e *Engine) Unmark(ctx context.Context, name string) error {
	ctx, cancel := query(ctx)
	defer cancel()
	if _, err := e.api.VolumeRemove(ctx, name, client.VolumeRemoveOptions{Force: true}); err != nil && !absent(err) {
		return fmt.Errorf("take mark %s away: %w", name, err)
	}
	return nil
}

// RemoveLabelledVolumes removes the volumes that carry a label, whatever its value:
// kind gives those of its nodes the name of the node where podman is the engine.
func (e *Engine) RemoveLabelledVolumes(ctx context.Context, label string) error {
	ctx, cancel := query(ctx)
	defer cancel()
	list, err := e.api.VolumeList(ctx, client.VolumeListOptions{})
	if err != nil {
		return fmt.Errorf("list the volumes of %s: %w", e.Name, err)
	}
	for _, v := range list.Items {
		if _, has := v.Labels[label]; !has {
			continue
		}
		if _, err := e.api.VolumeRemove(ctx, v.Name, client.VolumeRemoveOptions{Force: true}); err != nil && !absent(err) {
			return fmt.Errorf("remove volume %s: %w", v.Name, err)
		}
	}
	return nil
}
