package daemon

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/holdfast-ops/holdfast/internal/host"
	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/heartbeat"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/heartbeat/disk"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/heartbeat/multicast"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/heartbeat/relay"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/heartbeat/unicast"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/httpd"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/state"
	"github.com/holdfast-ops/holdfast/internal/om/datastore"
	"github.com/holdfast-ops/holdfast/internal/om/schema"
	"github.com/holdfast-ops/holdfast/internal/om/store"
)

// media are what heartbeats travel on.
func media(o unicast.Options, states *state.State, data *datastore.Data) map[string]heartbeat.Maker {
	return map[string]heartbeat.Maker{
		"unicast":   unicast.New(o),
		"multicast": multicast.New,
		"disk":      disk.New(disk.Options{}),
		"relay": relay.New(relay.Options{
			Password: passwords(data), ClusterName: func() string { return states.View().Config.Name },
		}),
	}
}

// disks prepares the devices of the heartbeats of this node, whether it has peers yet
// or not.
type disks struct {
	store *store.Store
	host  host.Host
}

var _ httpd.HeartbeatDisks = disks{}

// prepareTimeout bounds what is done to a device that does not answer.
const prepareTimeout = time.Minute

// Sign implements [httpd.HeartbeatDisks].
func (d disks) Sign(ctx context.Context, name string) error {
	return d.prepare(ctx, name, func(ctx context.Context, h schema.HeartbeatSettings) error {
		return disk.Sign(ctx, d.host.Runner, h.Dev, h.MaxSlots)
	})
}

// Wipe implements [httpd.HeartbeatDisks].
func (d disks) Wipe(ctx context.Context, name string) error {
	return d.prepare(ctx, name, func(ctx context.Context, h schema.HeartbeatSettings) error {
		return disk.Wipe(ctx, h.Dev, h.MaxSlots)
	})
}

func (d disks) prepare(ctx context.Context, name string, do func(context.Context, schema.HeartbeatSettings) error) error {
	all, err := d.store.Heartbeats(d.host.Hostname)
	for _, h := range all {
		if h.Name != name && h.Name != "hb#"+name {
			continue
		}
		if h.Type != "disk" {
			return &httpd.RefusedDiskError{Err: fmt.Errorf("%s is a heartbeat of type %s: only those of type disk have a device", h.Name, h.Type)}
		}
		limited, cancel := context.WithTimeout(ctx, prepareTimeout)
		defer cancel()
		err := do(limited, h)
		if refused, ok := errors.AsType[*disk.RefusedError](err); ok {
			return &httpd.RefusedDiskError{Err: refused}
		}
		return err
	}
	if err != nil {
		return err
	}
	return api.NewProblem(http.StatusNotFound, fmt.Sprintf("heartbeat %s does not exist: no section of the configuration is of that name", name))
}

// relays asks the relays of the heartbeats of this node what they have of its cluster.
func relays(s *store.Store, data *datastore.Data, self string) httpd.Relays {
	return func(ctx context.Context) []api.RelayStatus {
		all, err := s.Heartbeats(self)
		var list []api.RelayStatus
		if err != nil {
			list = append(list, api.RelayStatus{Status: err.Error()})
		}
		for _, h := range all {
			if h.Type == "relay" {
				list = append(list, askRelay(ctx, h, data)...)
			}
		}
		return list
	}
}

func askRelay(ctx context.Context, h schema.HeartbeatSettings, data *datastore.Data) []api.RelayStatus {
	const patience = 10 * time.Second
	limited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	client, err := relay.NewClient(h, passwords(data))
	var list []api.RelayStatus
	if err == nil {
		defer client.Close()
		list, err = client.Status(limited)
	}
	if err != nil {
		return []api.RelayStatus{{RelaySlot: api.RelaySlot{Relay: h.Relay, User: h.Username}, Status: err.Error()}}
	}
	for i := range list {
		list[i].Relay = h.Relay
	}
	return list
}
