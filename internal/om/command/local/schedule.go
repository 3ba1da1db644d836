package local

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/client"
	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/instance"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/resource/stamp"
)

// Schedules implements schedule.Lister. Without a daemon nothing runs by itself:
// the configurations tell what would, and the stamps when it did.
func (b *Backend) Schedules(ctx context.Context, p object.Path, nodes string) ([]api.ScheduleItem, error) {
	items, err := b.Backend.Schedules(ctx, p, nodes)
	if !client.IsDown(err) || nodes != "" && !b.isHere(nodes) {
		return items, err
	}
	dir := filepath.Join(b.host.Paths.Var(), "node")
	meta := api.InstanceMeta{Node: b.host.Hostname}
	var jobs []cluster.ScheduleConfig
	if p.IsZero() {
		jobs, err = instance.NodeSchedules(b.store())
	} else {
		var config cluster.InstanceConfig
		config, err = b.engine(nil).Config(p)
		jobs, meta.Object = config.Schedules, p.String()
		dir = filepath.Join(b.host.Paths.Var(), filepath.FromSlash(p.StateDir()))
	}
	if err != nil {
		return nil, err
	}
	items = nil
	for _, c := range jobs {
		line := cluster.Schedule{ScheduleConfig: c}
		if c.Unavailable == "" {
			line.Waits = "the daemon does not run"
		}
		rid := ""
		if section, _, ok := strings.Cut(c.Key, "."); ok && !p.IsZero() {
			rid = section
		}
		if line.LastRunAt, line.LastSuccessAt, err = stamp.In(dir).Last(stamp.Job(c.Action, rid)); err != nil {
			return nil, err
		}
		items = append(items, api.ScheduleItem{Kind: "ScheduleItem", Meta: meta, Data: line})
	}
	return items, nil
}
