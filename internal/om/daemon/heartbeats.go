package daemon

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strconv"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/heartbeat"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/httpd"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/standing"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/state"
	"github.com/holdfast-ops/holdfast/internal/om/datastore"
	"github.com/holdfast-ops/holdfast/internal/om/schema"
	"github.com/holdfast-ops/holdfast/internal/om/store"
	"github.com/holdfast-ops/holdfast/internal/secret"
)

// beats reads what the configuration says of the heartbeats.
type beats struct {
	store *store.Store
	self  string
	log   *slog.Logger
	said  *standing.Conditions
}

// read returns the heartbeats this node takes part in. A cluster that configures none
// has one, over the listeners of its nodes.
func (b beats) read(nodes []string) (heartbeat.Settings, error) {
	c, err := b.store.Cluster()
	if err != nil {
		return heartbeat.Settings{}, err
	}
	known, err := b.store.ClusterSecrets()
	if err == nil && known.Current.IsZero() {
		err = errors.New("cluster.secret is not set")
	}
	if err != nil {
		return heartbeat.Settings{}, err
	}
	all := heartbeat.Settings{Cluster: c.ID, Secrets: append([]secret.String{known.Current}, known.Former...)}
	own, err := b.store.Heartbeats(b.self)
	b.say(b.self, err)
	if len(own) == 0 && err == nil {
		own = []schema.HeartbeatSettings{fallback()}
	}
	others := map[string][]schema.HeartbeatSettings{}
	for _, node := range nodes {
		if node == b.self {
			continue
		}
		others[node], err = b.store.Heartbeats(node)
		b.say(node, err)
	}
	for _, h := range own {
		if len(h.Nodes) > 0 && !slices.Contains(h.Nodes, b.self) {
			continue
		}
		setup := heartbeat.Setup{HeartbeatSettings: h, Self: b.self, Cluster: c.ID, Peers: map[string]schema.HeartbeatSettings{}}
		for node, theirs := range others {
			if len(h.Nodes) > 0 && !slices.Contains(h.Nodes, node) {
				continue
			}
			setup.Peers[node] = asRead(h, theirs)
		}
		all.Heartbeats = append(all.Heartbeats, setup)
	}
	return all, nil
}

// asRead is a heartbeat as a peer reads it. One that only the files of this node
// have is the same there, at the address of its name.
func asRead(h schema.HeartbeatSettings, theirs []schema.HeartbeatSettings) schema.HeartbeatSettings {
	for _, t := range theirs {
		if t.Name == h.Name && t.Type == h.Type {
			return t
		}
	}
	if h.Type == "unicast" {
		h.Addr = ""
	}
	return h
}

// say reports sections that cannot be read, once.
func (b beats) say(node string, err error) {
	if err == nil {
		b.said.Over(node)
	} else if b.said.News(node, err.Error()) {
		b.log.Error("a heartbeat is left out", slog.String("node", node), slog.Any("err", err))
	}
}

// fallback is the heartbeat of a cluster that configures none.
func fallback() schema.HeartbeatSettings {
	return schema.HeartbeatSettings{Name: "hb#1", Type: "unicast", Interval: 5 * time.Second, Timeout: 15 * time.Second}
}

// listenerPort is the port a node serves the API on, as far as it is known.
func listenerPort(s *state.State) func(node string) int {
	return func(node string) int {
		v := s.View()
		if n := v.Nodes[node]; n != nil && n.Listener.State == cluster.ListenerRunning {
			if port, err := strconv.Atoi(n.Listener.Port); err == nil {
				return port
			}
		}
		return v.Config.Listener.Port
	}
}

// rotor changes the secret that heartbeats are sealed with, which is that of the
// cluster.
type rotor struct {
	*heartbeat.Manager

	data *datastore.Data
}

var _ httpd.Heartbeats = rotor{}

// Rotate implements [httpd.Heartbeats].
func (r rotor) Rotate(ctx context.Context) (string, error) {
	id, err := r.Manager.Rotate(ctx, func(ctx context.Context) error {
		to, err := datastore.NewSecret()
		if err == nil {
			_, err = r.data.Rotate(ctx, to)
		}
		return err
	})
	if errors.Is(err, heartbeat.ErrRotating) {
		err = httpd.ErrRotating
	}
	return id, err
}
