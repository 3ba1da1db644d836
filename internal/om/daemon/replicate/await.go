package replicate

import (
	"context"
	"slices"

	"github.com/holdfast-ops/holdfast/internal/om/event"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/replication"
)

// Await returns once every live node that the configuration of an object is for has
// it, as it is here. When ctx ends first it returns those that do not.
func (r *Replicator) Await(ctx context.Context, p object.Path) (missing []string) {
	key := keyOf(p)
	changes := r.o.State.Follow(func(k string) bool { return k == key })
	defer changes.Close()
	events := r.o.Bus.Latest("await", func(e *event.Envelope) (string, bool) {
		return "", e.Kind == event.NodeStale{}.Kind() || e.Kind == event.ForgetPeer{}.Kind()
	})
	defer events.Close()
	for {
		if missing = r.behind(p, key); len(missing) == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return missing
		case <-changes.C():
			changes.Take()
		case <-events.C():
			events.Take()
		}
	}
}

// behind lists the live nodes that do not have the configuration, this one when its
// version is not recorded yet.
func (r *Replicator) behind(p object.Path, key string) (nodes []string) {
	at, err := r.read(p)
	all := r.o.State.Announced(key)
	own, ownErr := replication.ParseTold(all[r.self])
	if err != nil || ownErr != nil || at.has && own.Checksum != at.checksum {
		return []string{r.self}
	}
	view := r.o.State.View()
	for _, node := range own.Scope {
		if node == r.self || !view.Peers[node].Beating {
			continue
		}
		told, err := replication.ParseTold(all[node])
		if err != nil || !told.Same(own.Version) && replication.Less(told.Version, own.Version) {
			nodes = append(nodes, node)
		}
	}
	slices.Sort(nodes)
	return nodes
}
