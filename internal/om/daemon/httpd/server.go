// Package httpd serves the API of the daemon: every operation of package api,
// on the unix socket of the node and on the TLS listener of the cluster.
//
//	request -> who calls (auth) -> which operation -> may the caller (rbac)
//	        -> decode, check (huma) -> handler -> encode
//
// A handler gets a decoded input and returns an output or an error; what status
// an error is, is decided in one place. Reads never wait for the rest of the
// daemon: they look at the immutable view.
package httpd

import (
	"context"
	"crypto/x509"
	"hash/maphash"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"syscall"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/holdfast-ops/holdfast/internal/om/auth"
	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/bus"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/executor"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/logs"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/monitor"
	"github.com/holdfast-ops/holdfast/internal/om/event"
	"github.com/holdfast-ops/holdfast/internal/om/instance"
	"github.com/holdfast-ops/holdfast/internal/om/logbook"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/resource"
	"github.com/holdfast-ops/holdfast/internal/om/store"
)

// State is the state of the cluster; *state.State is one.
type State interface {
	View() *cluster.View
	SetInstanceStatus(p object.Path, node string, v cluster.InstanceStatus) (known bool)
}

// Bus gives events to readers; *bus.Bus does it.
type Bus interface {
	Subscribe(name string, match func(*event.Envelope) bool) *bus.Subscription
	Publish(e event.Event)
}

// Discoverer reads a configuration now; *discover.Discovery does it.
type Discoverer interface {
	Refresh(p object.Path) error
}

// Orchestrator gives objects goals; *monitor.Monitor does it.
type Orchestrator interface {
	Orchestrate(ctx context.Context, p object.Path, g monitor.Goal) (string, error)
	Abort(ctx context.Context, p object.Path) (string, error)
	Clear(ctx context.Context, p object.Path) error
	Progress(ctx context.Context, p object.Path, sessionID, state string, partial bool) error
	Orchestrations() []monitor.Orchestration
	Orchestration(id string) (monitor.Orchestration, error)
	Wait(ctx context.Context, id string) (monitor.Orchestration, error)
}

// Executor runs actions; *executor.Executor does it.
type Executor interface {
	Submit(ctx context.Context, j executor.Job) (executor.IDs, error)
	Records(match func(executor.Record) bool) []executor.Record
	Record(execID string) (executor.Record, error)
	Wait(ctx context.Context, execID string) (executor.Record, error)
	Kill(match func(executor.Record) bool, sig syscall.Signal, dry bool) ([]executor.Record, error)
}

// Logs reads the log of the node; *logbook.Book does it.
type Logs interface {
	Read(f logbook.Filter, lines int) ([]logbook.Line, error)
	Follow(ctx context.Context, f logbook.Filter, lines int, emit func([]logbook.Line) error) error
}

// Informer tells what resources publish and what they can be asked;
// *instance.Engine does it.
type Informer interface {
	Check(p object.Path, r instance.Request) error
	Switch(p object.Path, r instance.Request, disabled bool) (set, unset []string, err error)
	Info(ctx context.Context, p object.Path, r instance.Request, refresh bool) ([]instance.ResourceInfo, error)
	// Installs returns the resources that made files of keys of an object.
	Installs(p, from object.Path, glob string) (rids []string, err error)
}

// Ending ends the daemon. Stop and Restart return at once.
type Ending interface {
	Stop()
	Restart()
	// Shutdown stops the svc and vol instances of the node first, and returns
	// once they are down.
	Shutdown(ctx context.Context) error
}

// Copies are the configurations of the objects on the nodes they are for.
type Copies interface {
	// Await returns once every live node has the configuration of an object, or with
	// those that do not when ctx ends.
	Await(ctx context.Context, p object.Path) (missing []string)
}

// Options are what the server works with.
type Options struct {
	Node    string
	Pid     int
	Owner   int // uid that may use the unix socket, besides root
	Started time.Time
	Log     *slog.Logger
	Tokens  *auth.Tokens
	// Credentials recognise the callers that present no token of the cluster.
	Credentials auth.Credentials
	// Limit is how often one address may ask; nil: as often as it likes.
	Limit func() auth.Limit

	State     State
	Bus       Bus
	Store     *store.Store
	Drivers   *resource.Registry
	Discover  Discoverer
	Monitor   Orchestrator
	Executor  Executor
	Instances Informer
	Inventory Inventory
	Schedules Schedules
	Ending    Ending
	Logs      Logs
	Nodes     NodeActions
	Listeners Listeners
	Members   Members
	Votes     Votes
	Relay     Relay
	Control   *logs.Control
	Copies    Copies // nil: this node is alone

	Heartbeats Heartbeats
	// HeartbeatDisks prepares the devices of heartbeats.
	HeartbeatDisks HeartbeatDisks
	// Relays tells what the relays of the heartbeats of this node have of its cluster.
	Relays Relays
	// Beats reads what a peer sends on a connection, until it closes; nil: nothing.
	Beats func(net.Conn)

	Peers Peers          // nil: this node is alone
	Roots *x509.CertPool // the authorities of the certificates of the peers
}

// Server serves the API.
type Server struct {
	o        Options
	mux      *http.ServeMux
	api      huma.API
	handled  map[string]bool // operation ids
	document func() ([]byte, error)
	index    index
	requests *auth.Requests

	seed      maphash.Seed // of the entity tags
	objects   *encodings[object.Path, *cluster.Object]
	instances *encodings[instanceKey, cluster.Instance]
	resources *encodings[resourceKey, cluster.Instance]
	nodeItems *encodings[string, *cluster.Node]

	proxy        *proxy
	measures     measures
	listenerLogs map[string]*slog.Logger
}

// New returns a server. [Server.Serve] runs it on listeners.
func New(o Options) *Server {
	s := &Server{o: o, mux: http.NewServeMux(), handled: map[string]bool{}, requests: auth.NewRequests(), seed: maphash.MakeSeed()}
	s.objects = newEncodings("ObjectList", s.seed, encodeObject)
	s.instances = newEncodings("InstanceList", s.seed, encodeInstance)
	s.resources = newEncodings("ResourceList", s.seed, encodeResource)
	s.nodeItems = newEncodings("NodeList", s.seed, encodeNode)
	s.proxy, s.measures, s.listenerLogs = newProxy(o), measures{}, map[string]*slog.Logger{}
	if o.Control != nil {
		for _, name := range []string{ListenerInet, ListenerUX} {
			s.listenerLogs[name] = o.Control.Logger(ListenerPart(name))
		}
	}
	s.api = newAPI(s.mux)
	s.api.UseMiddleware(plainStatus, s.count, s.authorize, selectFields, receive)
	s.routes()
	for id := range s.handled {
		s.measures[id] = &measure{}
	}
	s.document = sync.OnceValues(s.openAPI)
	return s
}

// Handles reports whether the operation of this id has a handler.
func (s *Server) Handles(id string) bool { return s.handled[id] }
