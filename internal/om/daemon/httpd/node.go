package httpd

import (
	"context"
	"maps"
	"slices"

	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/event"
)

func (s *Server) getNodes(ctx context.Context, in *api.NodeQuery) (body, error) {
	v := s.o.State.View()
	names, err := s.nodes(v, in.Node)
	if err != nil {
		return nil, err
	}
	encoded := s.nodeItems.narrow(fields(ctx))
	value := func(name string) *cluster.Node { return v.Nodes[name] }
	items, err := encoded.of(names, value, func(name string) bool { return v.Nodes[name] != nil }, len(v.Nodes))
	if err != nil {
		return nil, err
	}
	return encoded.join(items).write, nil
}

// withoutKeys is an event as a reader who is not root sees it.
func withoutKeys(e *event.Envelope) *event.Envelope {
	updated, ok := e.Event.(event.NodeConfigUpdated)
	if !ok {
		return e
	}
	updated.Config = publicConfig(updated.Config)
	public := event.New(updated, e.At, e.Seq)
	public.Labels = e.Labels
	return public
}

// publicNodes are the nodes as a caller who is not root sees them.
func publicNodes(nodes map[string]*cluster.Node) map[string]*cluster.Node {
	public := make(map[string]*cluster.Node, len(nodes))
	for name, n := range nodes {
		seen := *n
		seen.Config = publicConfig(n.Config)
		public[name] = &seen
	}
	return public
}

// publicConfig leaves out the keys of a node: who holds the reservation key of a
// disk may take the disk.
func publicConfig(c cluster.NodeConfig) cluster.NodeConfig {
	c.PRKey, c.SSHKey = "", ""
	return c
}

func (s *Server) getNodesInfo(context.Context, *api.None) (api.NodesInfo, error) {
	v := s.o.State.View()
	info := make(api.NodesInfo, len(v.Nodes))
	for name, n := range v.Nodes {
		labels := make([]api.NodeLabel, 0, len(n.Config.Labels))
		for _, label := range slices.Sorted(maps.Keys(n.Config.Labels)) {
			labels = append(labels, api.NodeLabel{Name: label, Value: n.Config.Labels[label]})
		}
		info[name] = api.NodeInfo{
			Nodename: name, Env: n.Config.Env, Labels: labels, Paths: []struct{}{},
			Listener: api.NodeListener{Addr: v.Config.Listener.Addr, Port: v.Config.Listener.Port},
		}
	}
	return info, nil
}

func (s *Server) getNodePing(context.Context, *api.NodeName) (api.None, error) {
	return api.None{}, nil
}

func (s *Server) getNodeDrivers(context.Context, *api.NodeName) (api.DriverList, error) {
	list := api.DriverList{Kind: "DriversList", Items: []api.DriverItem{}}
	for _, spec := range s.o.Drivers.Specs() {
		list.Items = append(list.Items, api.DriverItem{
			Kind: "DriverItem", Meta: api.NodeMeta{Node: s.o.Node}, Data: api.DriverData{Name: spec.ID()},
		})
	}
	return list, nil
}
