package local

import (
	"context"
	"errors"
	"slices"

	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	cmdinstance "github.com/holdfast-ops/holdfast/internal/om/command/instance"
	"github.com/holdfast-ops/holdfast/internal/om/instance"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// Instances implements instance.Observer: the local instance as it is now, with
// what the daemon does about it, and the others as the daemon knows them.
func (b *Backend) Instances(ctx context.Context, p object.Path, f cmdinstance.Fresh) ([]api.InstanceItem, error) {
	items, err := b.known(ctx, p, f.Node)
	if err != nil {
		return nil, err
	}
	wanted, err := b.wantsHere(f.Node)
	if err != nil || !wanted {
		return items, err
	}
	here, err := b.here(ctx, p, f)
	var none *instance.NotFoundError
	if len(items) > 0 && errors.As(err, &none) {
		return items, nil
	}
	at := slices.IndexFunc(items, func(i api.InstanceItem) bool { return i.Meta.Node == b.host.Hostname })
	if err != nil {
		return b.lastKnown(p, items, at, err)
	}
	if at < 0 {
		return append(items, here), nil
	}
	here.Data.Monitor = items[at].Data.Monitor
	items[at] = here
	return items, nil
}

// lastKnown is what was known of the local instance before it could not be
// evaluated, with the reason; the reason alone when nothing was. at is where the
// daemon tells it in items, negative when it does not.
func (b *Backend) lastKnown(p object.Path, items []api.InstanceItem, at int, cause error) ([]api.InstanceItem, error) {
	if _, gone := errors.AsType[*object.NotFoundError](cause); gone {
		return nil, cause
	}
	if at < 0 {
		last, err := b.engine(nil).Last(p)
		if err != nil {
			return nil, cause
		}
		at = len(items)
		items = append(items, api.InstanceItem{
			Kind: "InstanceItem", Meta: api.InstanceMeta{Object: p.String(), Node: b.host.Hostname}, Data: cluster.Instance{Status: &last},
		})
	}
	config := cluster.InstanceConfig{Path: p, Nodename: b.host.Hostname}
	if known := items[at].Data.Config; known != nil {
		config = *known
	}
	config.Issues = []string{cause.Error()}
	items[at].Data.Config = &config
	return items, nil
}

// known returns what the daemon knows; nothing when there is none.
func (b *Backend) known(ctx context.Context, p object.Path, nodes string) ([]api.InstanceItem, error) {
	items, err := b.Backend.Instances(ctx, p, cmdinstance.Fresh{Node: nodes})
	if absent(err) {
		return nil, nil
	}
	return items, err
}

// here evaluates the local instance.
func (b *Backend) here(ctx context.Context, p object.Path, f cmdinstance.Fresh) (api.InstanceItem, error) {
	engine := b.engine(nil)
	engine.Log = b.warner()
	// What died since the last evaluation must be seen, whoever made that one.
	status, err := engine.Status(ctx, p, instance.StatusOptions{Refresh: !f.Monitored, MonitoredOnly: f.Monitored})
	if err != nil {
		return api.InstanceItem{}, err
	}
	item := api.InstanceItem{
		Kind: "InstanceItem", Meta: api.InstanceMeta{Object: p.String(), Node: b.host.Hostname},
		Data: cluster.Instance{Status: &status},
	}
	config, err := engine.Config(p)
	if err != nil {
		config.Issues = append(config.Issues, err.Error())
	}
	item.Data.Config = &config
	return item, nil
}

func (b *Backend) wantsHere(selector string) (bool, error) {
	if selector == "" {
		return true, nil
	}
	parsed, err := object.ParseNodeSelector(selector)
	if err != nil {
		return false, err
	}
	return slices.Contains(parsed.Expand(b.store().Nodes(), b.store().NodeLabels()), b.host.Hostname), nil
}

// Objects implements object.Lister.
func (b *Backend) Objects(ctx context.Context, selector string) ([]api.ObjectItem, error) {
	paths, err := b.Select(ctx, selector)
	if err != nil {
		return nil, err
	}
	known, err := b.Backend.Objects(ctx, selector)
	if err != nil && !absent(err) {
		return nil, err
	}
	byName := map[string]api.ObjectItem{}
	for _, i := range known {
		byName[i.Meta.Object] = i
	}
	items := make([]api.ObjectItem, 0, len(paths))
	for _, p := range paths {
		item, ok := byName[p.String()]
		if !ok {
			item = b.alone(ctx, p)
		}
		items = append(items, item)
	}
	return items, nil
}

// alone is the state of an object judged by its local instance only.
func (b *Backend) alone(ctx context.Context, p object.Path) api.ObjectItem {
	item := api.ObjectItem{Kind: "ObjectItem", Meta: api.ObjectMeta{Object: p.String()}, Data: cluster.Object{
		Avail: cluster.NotApplicable, Overall: cluster.NotApplicable, Frozen: "n/a", PlacementState: "n/a",
		Instances: map[string]cluster.Instance{},
	}}
	if !p.Kind.Runs() {
		return item
	}
	here, err := b.here(ctx, p, cmdinstance.Fresh{})
	if err != nil {
		// The listing says undef; the status of the instance says why.
		item.Data.Avail, item.Data.Overall = cluster.Undef, cluster.Undef
		return item
	}
	status, config := here.Data.Status, here.Data.Config
	item.Data.Avail, item.Data.Overall, item.Data.Provisioned = status.Avail, status.Overall, status.Provisioned
	item.Data.Frozen = "unfrozen"
	if !status.FrozenAt.IsZero() {
		item.Data.Frozen = "frozen"
	}
	item.Data.Orchestrate, item.Data.Topology, item.Data.Scope = config.Orchestrate, config.Topology, config.Scope
	item.Data.Instances[b.host.Hostname] = here.Data
	return item
}
