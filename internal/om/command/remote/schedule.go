package remote

import (
	"context"

	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// Schedules implements schedule.Lister.
func (b *Backend) Schedules(ctx context.Context, p object.Path, nodes string) ([]api.ScheduleItem, error) {
	if nodes == "" {
		list, err := b.schedule(ctx, p, "")
		return list.Items, err
	}
	names, err := b.ExpandNodes(ctx, nodes)
	if err != nil {
		return nil, err
	}
	var items []api.ScheduleItem
	for _, node := range names {
		list, err := b.schedule(ctx, p, node)
		if err != nil {
			return nil, err
		}
		items = append(items, list.Items...)
	}
	return items, nil
}

func (b *Backend) schedule(ctx context.Context, p object.Path, node string) (api.ScheduleList, error) {
	switch {
	case p.IsZero() && node == "":
		return do(ctx, b, api.GetNodeSchedule, b.there())
	case p.IsZero():
		return do(ctx, b, api.GetNodeSchedule, api.NodeName{Node: node})
	case node == "":
		return do(ctx, b, api.GetObjectSchedule, api.Named(p))
	}
	return do(ctx, b, api.GetInstanceSchedule, api.InstanceOf(node, p))
}
