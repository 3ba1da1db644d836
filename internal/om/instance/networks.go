package instance

import (
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-ops/holdfast/internal/om/config"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/resource"
)

// networks lists the networks of this node: those that are configured, and the
// two that every node has.
func (l *loaded) networks() ([]resource.Network, error) {
	doc, err := l.store.Merged()
	if err != nil {
		return nil, err
	}
	ev, err := l.store.Evaluator(object.Path{}, doc, "")
	if err != nil {
		return nil, err
	}
	known := map[string]resource.Network{
		"default": {Name: "default", Type: "bridge", Network: "10.22.0.0/16"},
		"lo":      {Name: "lo", Type: "lo", Network: "127.0.0.1/32"},
	}
	names := []string{"default", "lo"}
	for _, section := range doc.Sections() {
		name, ok := strings.CutPrefix(section, "network#")
		if !ok {
			continue
		}
		n, err := l.network(ev, section, known[name])
		if err != nil {
			return nil, err
		}
		n.Name = name
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
		known[name] = n
	}
	slices.Sort(names)
	list := make([]resource.Network, 0, len(names))
	for _, name := range names {
		n := known[name]
		if n.Subnet == "" {
			n.Subnet = n.Network
		}
		if n.Dev == "" && n.Type != "lo" {
			n.Dev = "obr_" + n.Name
		}
		n.Peers = []resource.Peer{}
		list = append(list, n)
	}
	return list, nil
}

func (l *loaded) network(ev *config.Evaluator, section string, n resource.Network) (resource.Network, error) {
	n.Type = "bridge"
	for option, to := range map[string]*string{"type": &n.Type, "network": &n.Network, "subnet": &n.Subnet, "dev": &n.Dev} {
		value, _, err := ev.Value(section, config.Option{Name: option, Scopable: true, Inherit: config.LeafOnly})
		if err != nil {
			return n, fmt.Errorf("%s.%s: %w", section, option, err)
		}
		if value != "" {
			*to = value
		}
	}
	if nodes := l.store.Nodes(); n.Type == "routed_bridge" && len(nodes) > 1 {
		return n, fmt.Errorf("%s: the peers of a routed bridge are not known to this version, in a cluster of %d nodes", section, len(nodes))
	}
	return n, nil
}
