package httpd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/auth"
	"github.com/holdfast-ops/holdfast/internal/om/rbac"
)

// Relay keeps the messages of other clusters.
type Relay interface {
	Put(m api.RelayMessage) error // an error is that there is no room
	Get(user, clusterID, node string) (api.RelayMessage, bool)
	List(user string, now time.Time) []api.RelayMessage // of all users for ""
}

// Relays tells what the relays of the heartbeats of this node have of its cluster.
type Relays func(context.Context) []api.RelayStatus

// HeartbeatDisks prepares the devices of heartbeats.
type HeartbeatDisks interface {
	Sign(ctx context.Context, heartbeat string) error
	Wipe(ctx context.Context, heartbeat string) error
}

// RefusedDiskError tells why a device is not prepared.
type RefusedDiskError struct{ Err error }

// Error is the reason.
func (e *RefusedDiskError) Error() string { return e.Err.Error() }

// Unwrap returns the reason.
func (e *RefusedDiskError) Unwrap() error { return e.Err }

// remoteKey is where the address of the caller is in the context of a request.
type remoteKey struct{}

// remoteAddress is the address of the caller.
func remoteAddress(ctx context.Context) string {
	text, _ := ctx.Value(remoteKey{}).(string)
	if host, _, err := net.SplitHostPort(text); err == nil {
		return host
	}
	return text
}

// relay serves the operations of a relay of other clusters, and those on the devices of
// the heartbeats of this one.
func (s *Server) relay() {
	handle(s, api.PostRelayMessage, s.postRelayMessage)
	handle(s, api.GetRelayMessage, s.getRelayMessage)
	handle(s, api.GetRelayStatus, s.getRelayStatus)
	s.diskAction(api.PostDaemonHeartbeatSign, "has its device signed", HeartbeatDisks.Sign)
	s.diskAction(api.PostDaemonHeartbeatWipe, "has its device wiped", HeartbeatDisks.Wipe)
}

func (s *Server) postRelayMessage(ctx context.Context, in *api.RelayMessagePost) (api.Problem, error) {
	m := api.RelayMessage{RelaySlot: api.RelaySlot{
		Relay: s.o.Node, User: principal(ctx).Name, ClusterID: in.Body.ClusterID, ClusterName: in.Body.ClusterName, Node: in.Body.Node,
		NodeAddr: remoteAddress(ctx), UpdatedAt: time.Now().Round(0),
	}, Message: in.Body.Message}
	if err := s.o.Relay.Put(m); err != nil {
		return api.Problem{}, api.NewProblem(http.StatusInsufficientStorage, err.Error())
	}
	return said("the message of " + m.Node + " is kept"), nil
}

func (s *Server) getRelayMessage(ctx context.Context, in *api.RelayMessageQuery) (api.RelayMessage, error) {
	user := cmp.Or(in.User, principal(ctx).Name)
	if user != principal(ctx).Name && !isRoot(principal(ctx)) {
		return api.RelayMessage{}, api.NewProblem(http.StatusForbidden, "the messages of user "+user+" are read by that user, and by root")
	}
	m, ok := s.o.Relay.Get(user, in.ClusterID, in.Node)
	if !ok {
		return api.RelayMessage{}, api.NewProblem(http.StatusNotFound, fmt.Sprintf("user %s left no message of node %s of cluster %s here", user, in.Node, in.ClusterID))
	}
	return m, nil
}

func (s *Server) getRelayStatus(ctx context.Context, in *api.RelayStatusQuery) (api.RelayStatusList, error) {
	list := api.RelayStatusList{Kind: "RelayStatusList", Items: []api.RelayStatus{}}
	user := principal(ctx).Name
	if isRoot(principal(ctx)) {
		user = ""
	}
	if in.Remote {
		if user != "" { // the passwords are those of the cluster
			return list, api.NewProblem(http.StatusForbidden, "the relays of this cluster are asked for root only")
		}
		list.Items = append(list.Items, s.o.Relays(ctx)...)
	} else {
		for _, m := range s.o.Relay.List(user, time.Now()) {
			list.Items = append(list.Items, api.RelayStatus{RelaySlot: m.RelaySlot, Length: len(m.Message), Status: "ok"})
		}
	}
	if len(in.Relay) > 0 {
		list.Items = slices.DeleteFunc(list.Items, func(i api.RelayStatus) bool { return !slices.Contains(in.Relay, i.Relay) })
	}
	return list, nil
}

func isRoot(p auth.Principal) bool { return p.Caller().Allows(rbac.NeedRoot, "") }

// diskAction serves an operation on the device of a heartbeat.
func (s *Server) diskAction(op api.Operation[api.HeartbeatName, api.Problem], done string, act func(HeartbeatDisks, context.Context, string) error) {
	handle(s, op, func(ctx context.Context, in *api.HeartbeatName) (api.Problem, error) {
		err := act(s.o.HeartbeatDisks, ctx, in.Name)
		if refused, ok := errors.AsType[*RefusedDiskError](err); ok {
			return api.Problem{}, api.NewProblem(http.StatusConflict, refused.Error())
		}
		if err != nil {
			return api.Problem{}, err
		}
		return said("heartbeat " + in.Name + " of " + s.o.Node + " " + done), nil
	})
}
