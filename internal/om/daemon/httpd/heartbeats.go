package httpd

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/cluster"
)

// Heartbeats are how this node and its peers hear of each other.
type Heartbeats interface {
	// Names lists the heartbeats of this node.
	Names() []string
	Start(name string) error
	Stop(name string) error
	Restart(name string) error
	// Gens are the generations up to which each node knows the parts of the others.
	Gens() map[string]map[string]uint64
	// Rotate changes what the heartbeats are sealed with, and returns the id of the
	// change. It is [ErrRotating] while another one goes on.
	Rotate(ctx context.Context) (id string, err error)
}

// ErrRotating is the error of a rotation that another one is in the way of.
var ErrRotating = errors.New("another rotation of the secret is in progress: wait until every node has the new one")

func (s *Server) heartbeats() {
	s.heartbeatAction(api.PostDaemonHeartbeatStart, "is started", Heartbeats.Start)
	s.heartbeatAction(api.PostDaemonHeartbeatStop, "is stopped", Heartbeats.Stop)
	s.heartbeatAction(api.PostDaemonHeartbeatRestart, "is restarted", Heartbeats.Restart)
	handle(s, api.PostClusterHeartbeatRotate, func(ctx context.Context, _ *api.None) (api.HeartbeatRotation, error) {
		id, err := s.o.Heartbeats.Rotate(ctx)
		if errors.Is(err, ErrRotating) {
			return api.HeartbeatRotation{}, api.NewProblem(http.StatusConflict, err.Error())
		}
		return api.HeartbeatRotation{ID: id}, err
	})
}

// heartbeatAction serves an operation on a heartbeat.
func (s *Server) heartbeatAction(op api.Operation[api.HeartbeatName, api.Problem], done string, act func(Heartbeats, string) error) {
	handle(s, op, func(_ context.Context, in *api.HeartbeatName) (api.Problem, error) {
		name, err := s.heartbeat(in.Name)
		if err == nil {
			err = act(s.o.Heartbeats, name)
		}
		if err != nil {
			return api.Problem{}, err
		}
		return said("heartbeat " + name + " of " + s.o.Node + " " + done), nil
	})
}

// heartbeat is the heartbeat that a caller names: hb#1, 1, or a direction of it.
func (s *Server) heartbeat(name string) (string, error) {
	known := s.o.Heartbeats.Names()
	plain := strings.TrimSuffix(strings.TrimSuffix(name, ".rx"), ".tx")
	for _, word := range []string{plain, "hb#" + plain} {
		if slices.Contains(known, word) {
			return word, nil
		}
	}
	if len(known) == 0 {
		return "", api.NewProblem(http.StatusNotFound, fmt.Sprintf("heartbeat %s does not exist: %s has no heartbeat, for it has no peer", name, s.o.Node))
	}
	return "", api.NewProblem(http.StatusNotFound, fmt.Sprintf("heartbeat %s does not exist: use %s", name, strings.Join(known, ", ")))
}

// withGens says of each node how far it knows the others.
func withGens(nodes map[string]*cluster.Node, gens map[string]map[string]uint64) map[string]*cluster.Node {
	all := make(map[string]*cluster.Node, len(nodes))
	for name, n := range nodes {
		known := *n
		if known.Status.Gen = gens[name]; known.Status.Gen == nil {
			known.Status.Gen = map[string]uint64{}
		}
		all[name] = &known
	}
	return all
}
