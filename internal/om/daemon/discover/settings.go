package discover

import (
	"fmt"

	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/store"
)

// Settings returns the function that reads the configuration of the cluster and
// of the node from a store.
func Settings(s *store.Store) func() (cluster.Config, cluster.NodeConfig, error) {
	return func() (cluster.Config, cluster.NodeConfig, error) {
		var none cluster.Config
		c, err := s.Cluster()
		if err != nil {
			return none, cluster.NodeConfig{}, fmt.Errorf("settings of the cluster: %w", err)
		}
		n, err := s.Node()
		if err != nil {
			return none, cluster.NodeConfig{}, fmt.Errorf("settings of the node: %w", err)
		}
		l, err := s.Listener()
		if err != nil {
			return none, cluster.NodeConfig{}, fmt.Errorf("settings of the listener: %w", err)
		}
		labels, err := s.Labels()
		if err != nil {
			return none, cluster.NodeConfig{}, fmt.Errorf("labels of the node: %w", err)
		}
		return cluster.Config{
				ID: c.ID, Name: c.Name, Nodes: c.Nodes, DNS: c.DNS, CASecPaths: c.CA, Quorum: c.Quorum,
				Listener: cluster.ListenerConfig{Addr: l.Addr, Port: l.Port}, Issues: []string{},
			}, cluster.NodeConfig{
				Env: n.Env, Labels: labels, MaintenanceGracePeriod: n.MaintenanceGracePeriod, MaxParallel: n.MaxParallel,
				MinAvailMemPct: n.MinAvailMemPct, MinAvailSwapPct: n.MinAvailSwapPct, ReadyPeriod: n.ReadyPeriod,
				RejoinGracePeriod: n.RejoinGracePeriod, SplitAction: n.SplitAction, SSHKey: n.SSHKey, PRKey: n.PRKey,
				Hooks: []struct{}{},
			}, nil
	}
}
