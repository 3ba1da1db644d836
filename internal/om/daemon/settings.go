package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/bus"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/executor"
	"github.com/holdfast-ops/holdfast/internal/om/event"
	"github.com/holdfast-ops/holdfast/internal/om/instance"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/store"
)

// settings evaluates the configurations of the cluster and of the node.
type settings struct {
	store *store.Store
	log   *slog.Logger
}

// read returns both, without any secret.
func (s settings) read() (cluster.Config, cluster.NodeConfig, error) {
	c, clusterErr := s.store.Cluster()
	l, listenerErr := s.store.Listener()
	n, nodeErr := s.store.Node()
	labels, labelsErr := s.store.Labels()
	schedules, schedulesErr := instance.NodeSchedules(s.store)
	if clusterErr == nil {
		clusterErr = s.identified()
	}
	if clusterErr != nil { // a file that cannot be read fails them all
		return cluster.Config{}, cluster.NodeConfig{}, clusterErr
	}
	if err := errors.Join(listenerErr, nodeErr, labelsErr, schedulesErr); err != nil {
		return cluster.Config{}, cluster.NodeConfig{}, fmt.Errorf("cluster and node configurations: %w", err)
	}
	ofCluster := cluster.Config{
		ID: c.ID, Name: c.Name, Nodes: c.Nodes, DNS: c.DNS, CASecPaths: c.CA, Quorum: c.Quorum, Issues: []string{},
		Listener: cluster.ListenerConfig{Addr: l.Addr, Port: l.Port}, UXOwnerGroup: l.UXOwnerGroup,
	}
	arbitrators, err := s.store.Arbitrators()
	if err != nil { // none of them votes, and the configuration says so
		ofCluster.Issues = append(ofCluster.Issues, err.Error())
	}
	for _, a := range arbitrators {
		ofCluster.Arbitrators = append(ofCluster.Arbitrators, cluster.Arbitrator{
			Name: a.Name, URI: a.URI, Insecure: a.Insecure, Weight: a.Weight, Exclusive: a.Exclusive, Username: a.Username, Password: a.Password,
		})
	}
	ofNode := cluster.NodeConfig{
		Env: n.Env, Labels: labels, MaintenanceGracePeriod: n.MaintenanceGracePeriod, MaxParallel: n.MaxParallel,
		MinAvailMemPct: n.MinAvailMemPct, MinAvailSwapPct: n.MinAvailSwapPct, ReadyPeriod: n.ReadyPeriod,
		RejoinGracePeriod: n.RejoinGracePeriod, SplitAction: n.SplitAction, Hooks: []struct{}{}, SSHKey: n.SSHKey, PRKey: n.PRKey,
		Schedules: schedules,
	}
	return ofCluster, ofNode, nil
}

// identified refuses a cluster without identity. Setup gave it one: its
// configuration was removed or emptied since. What is written counts, not what
// evaluates: the id of the file would do for that of the cluster.
func (s settings) identified() error {
	doc, err := s.store.Merged()
	if err != nil {
		return err
	}
	missing := []string{"id", "name", "secret"}
	for _, key := range doc.Keys("cluster") {
		if value, _ := doc.Get(key); strings.TrimSpace(value) != "" {
			missing = slices.DeleteFunc(missing, func(option string) bool { return option == key.Option })
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return fmt.Errorf("%s sets no cluster.%s any more: restore it from a backup", s.store.FileName(object.Cluster()), strings.Join(missing, ", cluster."))
}

// followMaxParallel runs as many actions at once as the node configuration says.
func followMaxParallel(b *bus.Bus, x *executor.Executor) func(context.Context) error {
	return func(ctx context.Context) error {
		changes := b.Latest("max parallel", func(e *event.Envelope) (string, bool) {
			return "", e.Kind == event.NodeConfigUpdated{}.Kind() && e.Labels["node"] == b.Node()
		})
		defer changes.Close()
		for {
			select {
			case <-ctx.Done():
				return nil
			case <-changes.C():
				for _, e := range changes.Take() {
					if updated, ok := e.Event.(event.NodeConfigUpdated); ok {
						x.SetMaxParallel(updated.Config.MaxParallel)
					}
				}
			}
		}
	}
}
