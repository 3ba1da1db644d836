// Package membership is how nodes come to a cluster and leave it.
//
//	cluster node                          node to enroll, alone in its cluster
//	enroll --- GET status (is it alone?) --->
//	       --- order to join --------------> reaches the cluster? -> accepted
//	join   <-- add me ----------------------
//	       --> JoinSuccess                   drain
//	files  <-- what do I need? ------------- prepared, checked, committed
//	                                         restart: Resume puts them in place
//
// Everything that can be refused is refused before anything changes. From then on
// each step can be done again: an order is kept in a file until it is over, and
// goes on after a crash. Until it is committed the node is alone, with what it had;
// from then on it is of the cluster, at the next start of its daemon. A node that
// leaves goes the same way, to a cluster of its own that is prepared before.
package membership

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-ops/holdfast/internal/host"
	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/auth"
	"github.com/holdfast-ops/holdfast/internal/om/certificate"
	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/config"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/bus"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/setup"
	"github.com/holdfast-ops/holdfast/internal/om/datastore"
	"github.com/holdfast-ops/holdfast/internal/om/event"
	"github.com/holdfast-ops/holdfast/internal/om/keyword"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/rbac"
	"github.com/holdfast-ops/holdfast/internal/om/renewal"
	"github.com/holdfast-ops/holdfast/internal/om/renewal/stored"
	"github.com/holdfast-ops/holdfast/internal/om/store"
	"github.com/holdfast-ops/holdfast/internal/retry"
)

// defaultLimit is how long a join or a leave may last, unless told.
const defaultLimit = time.Hour

// askLimit bounds what is asked of another node before an order is accepted.
const askLimit = 30 * time.Second

// State is the state of the cluster; *state.State is one.
type State interface{ View() *cluster.View }

// Discoverer reads a configuration now.
type Discoverer interface{ Refresh(p object.Path) error }

// Peers tells where the API of the nodes is reached.
type Peers interface {
	Address(node string) (string, error)
}

// Options are what membership works with.
type Options struct {
	Host      host.Host
	Store     *store.Store
	Data      *datastore.Data
	Sections  func(object.Kind) []keyword.Section // of the drivers
	Tokens    *auth.Tokens
	Authority []byte // PEM: of the certificates of the cluster
	State     State
	Bus       *bus.Bus
	Discover  Discoverer
	Peers     Peers
	Log       *slog.Logger
	Addresses func() []net.IP                 // of this node
	Sign      func() (tls.Certificate, error) // makes a certificate of this node alone; nil: none is

	Compat  uint64                          // of what daemons say to one another
	Drain   func(ctx context.Context) error // freezes the node, shuts its instances down
	Running func() []string                 // what runs on the node for its objects
	Restart func()                          // of the daemon
	Ready   <-chan struct{}                 // closed once the objects of the node are known

	step func(name string) // called along an order, for tests to stop there
}

// Manager enrolls and evicts nodes, and has this one join and leave.
type Manager struct {
	o      Options
	files  files
	orders chan *order

	mu      sync.Mutex
	current *order
}

// New returns a manager that [Manager.Run] makes act.
func New(o Options) *Manager {
	if o.step == nil {
		o.step = func(string) {}
	}
	return &Manager{o: o, files: files{o.Host.Paths}, orders: make(chan *order, 1)}
}

// problem is a refusal.
func problem(status int, format string, a ...any) *api.Problem {
	return api.NewProblem(status, fmt.Sprintf(format, a...))
}

func (m *Manager) self() string { return m.o.Host.Hostname }

// limit reads how long something may last.
func limit(text string) (time.Duration, error) {
	if text == "" {
		return defaultLimit, nil
	}
	d, err := config.ParseDuration(text)
	if err != nil {
		return 0, problem(http.StatusBadRequest, "timeout: %v", err)
	}
	if d < time.Second || d > auth.MaxLife {
		return 0, problem(http.StatusBadRequest, "timeout: %s: must be between 1s and %s", text, auth.MaxLife)
	}
	return d, nil
}

// foreign reads a token that another cluster made for a node to join.
func (m *Manager) foreign(token, hint string) (auth.Foreign, error) {
	f, err := auth.ReadForeign(strings.TrimSpace(token))
	switch {
	case err != nil:
		return f, problem(http.StatusBadRequest, "token: %v: %s", err, hint)
	case f.Cluster == m.o.State.View().Config.ID:
		return f, problem(http.StatusConflict, "token: it was made by the cluster of this node, %s: %s", m.self(), hint)
	case !f.Grants.Has(rbac.Join):
		return f, problem(http.StatusBadRequest, "token: it has no join role: %s", hint)
	case time.Until(f.Expires) <= 0:
		return f, problem(http.StatusBadRequest, "token: it expired at %s: %s", f.Expires.Format(time.RFC3339), hint)
	case f.Authority == nil:
		return f, problem(http.StatusBadRequest, "token: it has no ca claim, so the node that made it cannot be recognised: %s", hint)
	}
	return f, nil
}

// Enroll orders another node to join the cluster of this one.
func (m *Manager) Enroll(ctx context.Context, in api.EnrollOrder) (api.Enrolled, error) {
	const hint = "make one on the node to enroll, with om daemon auth --role join --duration 10m"
	var none api.Enrolled
	life, err := limit(in.Timeout)
	if err != nil {
		return none, err
	}
	f, err := m.foreign(in.Token, hint)
	if err != nil {
		return none, err
	}
	via, err := m.location(in.JoinAddr)
	if err != nil {
		return none, err
	}
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	there, err := connect(in.Node, strings.TrimSpace(in.Token), f.Authority)
	if err != nil {
		return none, problem(http.StatusBadRequest, "node: %v", err)
	}
	defer there.Close()
	what := "the node to enroll, " + in.Node
	status, err := ask(ctx, there, what, api.GetClusterStatus, api.ClusterStatusQuery{Namespace: object.SystemNamespace})
	if err != nil {
		return none, err
	}
	name := status.Daemon.Nodename
	if err := m.mayEnroll(name, status.Cluster); err != nil {
		return none, err
	}
	if err := m.certifies(name); err != nil {
		return none, err
	}
	token, _, err := m.o.Tokens.Issue(name, rbac.Grants{{Role: rbac.Join}, {Role: rbac.Leave}}, life, time.Now())
	if err != nil {
		return none, err
	}
	answer, err := ask(ctx, there, "node "+name, api.PostDaemonJoin, api.DaemonJoin{
		NodeName: api.NodeName{Node: api.Localhost}, Body: api.JoinOrder{Node: via, Token: token.Reveal(), Timeout: life.String()},
	})
	if err != nil {
		return none, err
	}
	m.o.Log.Info("a node accepted to join the cluster", slog.String("peer", answer.Node))
	return answer, nil
}

// mayEnroll refuses a node that is not alone, or that this cluster has already.
func (m *Manager) mayEnroll(name string, there api.ClusterState) error {
	v := m.o.State.View()
	switch {
	case there.Config.ID == v.Config.ID:
		return problem(http.StatusConflict, "node %s is of this cluster, %s, already", name, v.Config.Name)
	case len(there.Config.Nodes) > 1:
		return problem(http.StatusConflict, "node %s is of cluster %s with %s: its peers would keep it: evict it there first, or om cluster leave on it",
			name, there.Config.Name, strings.Join(others(there.Config.Nodes, name), ", "))
	case name == m.self():
		return problem(http.StatusConflict, "the node to enroll calls itself %s, as this node does: give it another host name, then try again", name)
	case slices.Contains(v.Config.Nodes, name) && heard(v, name):
		return problem(http.StatusConflict, "another node called %s is of this cluster, and alive: give the node to enroll another host name, then try again", name)
	}
	if n, ok := there.Node[name]; ok && n.Status.Compat != m.o.Compat {
		return problem(http.StatusConflict, "node %s runs agent %s, which does not understand this one: upgrade the older of them, then try again", name, n.Status.Agent)
	}
	return nil
}

func others(nodes []string, self string) []string {
	return slices.DeleteFunc(slices.Clone(nodes), func(n string) bool { return n == self })
}

// heard tells whether a node is alive, as far as this one knows.
func heard(v *cluster.View, name string) bool {
	n := v.Nodes[name]
	return n != nil && isAlive(n.Monitor)
}

// isAlive tells the state of a node that is heard from that of one which is not, or
// which said that its daemon ends.
func isAlive(m cluster.NodeMonitor) bool { return m.State != "" && m.State != "maintenance" }

// location is where another node is to reach this one. A place that the certificate
// of this node does not name is refused: it would not be recognised there.
func (m *Manager) location(asked string) (string, error) {
	if asked == "" {
		if err := m.isCalled(m.self()); err != nil {
			return "", problem(http.StatusConflict, "the certificate of this node does not name it: %v: say with join_addr which of its names the node to enroll reaches", err)
		}
		address, err := m.o.Peers.Address(m.self())
		if err != nil {
			return "", problem(http.StatusConflict, "%v", err)
		}
		return "https://" + address, nil
	}
	address, err := locate(asked)
	if err != nil {
		return "", problem(http.StatusBadRequest, "join_addr: %v", err)
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return "", problem(http.StatusBadRequest, "join_addr: %v", err)
	}
	if err := m.isCalled(host); err != nil {
		return "", problem(http.StatusBadRequest, "join_addr: the certificate of this node, %s, is not for it: %v", setup.Certificate(), err)
	}
	return "https://" + address, nil
}

// Admit adds a node to the cluster.
func (m *Manager) Admit(ctx context.Context, in api.Candidate) error {
	m.o.Bus.Publish(event.JoinRequest{CandidateNode: in.Node})
	v := m.o.State.View()
	if slices.Contains(v.Config.Nodes, in.Node) {
		m.o.Bus.Publish(event.JoinIgnored{CandidateNode: in.Node})
		if in.Node == m.self() || heard(v, in.Node) {
			return problem(http.StatusConflict, "a node called %s is of the cluster already, and alive", in.Node)
		}
		return m.name(ctx, in)
	}
	err := m.name(ctx, in)
	if err == nil {
		err = m.setMember(ctx, config.OpAdd, in.Node)
	}
	if err != nil {
		m.o.Log.Error("add a node to the cluster", slog.String("peer", in.Node), slog.Any("err", err))
		m.o.Bus.Publish(event.JoinError{CandidateNode: in.Node, Reason: err.Error()})
		return err
	}
	m.o.Log.Info("a node is added to the cluster", slog.String("peer", in.Node))
	m.o.Bus.Publish(event.JoinSuccess{AddedNode: in.Node})
	return nil
}

// Dismiss removes a node from the cluster.
func (m *Manager) Dismiss(ctx context.Context, in api.Member) error {
	m.o.Bus.Publish(event.LeaveRequest{CandidateNode: in.Node})
	if in.Reason != "" {
		m.o.Log.Error("a node gives up joining the cluster", slog.String("peer", in.Node), slog.String("reason", in.Reason))
		defer m.o.Bus.Publish(event.JoinError{CandidateNode: in.Node, Reason: in.Reason})
	}
	switch {
	case in.Node == m.self():
		err := problem(http.StatusConflict, "%s is this node: a node is removed by one of its peers", in.Node)
		m.o.Bus.Publish(event.LeaveError{CandidateNode: in.Node, Reason: err.Detail})
		return err
	case !slices.Contains(m.o.State.View().Config.Nodes, in.Node):
		m.o.Bus.Publish(event.LeaveIgnored{CandidateNode: in.Node})
		return nil
	case in.Reason != "": // it never was at work here
	default:
		if err := m.atRest(ctx, in.Node); err != nil {
			m.o.Bus.Publish(event.LeaveError{CandidateNode: in.Node, Reason: err.Error()})
			return err
		}
	}
	if err := m.setMember(ctx, config.OpRemove, in.Node); err != nil {
		m.o.Log.Error("remove a node from the cluster", slog.String("peer", in.Node), slog.Any("err", err))
		m.o.Bus.Publish(event.LeaveError{CandidateNode: in.Node, Reason: err.Error()})
		return err
	}
	m.o.Log.Info("a node is removed from the cluster", slog.String("peer", in.Node))
	m.o.Bus.Publish(event.LeaveSuccess{RemovedNode: in.Node})
	return nil
}

// restLag is how long a node that was just drained may be seen at work.
const restLag = 2 * time.Second

// atRest refuses a node that is heard and not drained: it would go on with the nodes
// it knows, take those that forget it for lost, and start what they run.
func (m *Manager) atRest(ctx context.Context, node string) error {
	var refused error
	look := func(context.Context) (bool, error) {
		v := m.o.State.View()
		refused = nil
		if heard(v, node) {
			refused = undrained(v, node)
		}
		return refused == nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, restLag)
	defer cancel()
	if err := retry.Until(ctx, retry.Policy{Interval: 50 * time.Millisecond}, look); err != nil && refused != nil {
		return refused
	}
	return nil
}

// undrained says what keeps a peer from being drained, as it is seen from here.
func undrained(v *cluster.View, node string) error {
	const hint = "drain it first, with om node drain --wait, or use om cluster evict"
	if v.Nodes[node].Status.FrozenAt.IsZero() {
		return problem(http.StatusConflict, "node %s is not frozen: %s", node, hint)
	}
	if up := atWork(v, node); len(up) > 0 {
		return problem(http.StatusConflict, "node %s is not drained: %s: %s", node, up[0], hint)
	}
	return nil
}

// setMember changes the nodes of the cluster, and has the daemon know at once.
func (m *Manager) setMember(ctx context.Context, operator config.Operator, node string) error {
	key := config.Key{Section: "cluster", Option: "nodes"}
	_, err := m.o.Store.Update(ctx, object.Cluster(), config.Change{Set: []config.Op{{Key: key, Operator: operator, Value: node}}})
	if err != nil {
		return fmt.Errorf("change the nodes of the cluster: %w", err)
	}
	if err := m.o.Discover.Refresh(object.Cluster()); err != nil {
		return fmt.Errorf("read the configuration of the cluster: %w", err)
	}
	return nil
}

// Files returns what a joining node needs. The configuration of the cluster is the
// same before and after the others are read: what they hold opens with its secret.
func (m *Manager) Files() (api.JoinFiles, error) {
	for range 10 {
		first, err := m.o.Store.Text(object.Cluster())
		if err != nil {
			return api.JoinFiles{}, err
		}
		settings, err := m.o.Store.Cluster()
		if err != nil {
			return api.JoinFiles{}, err
		}
		all := api.JoinFiles{Cluster: settings.ID, Name: settings.Name, Files: []api.JoinFile{file(object.Cluster(), first)}}
		paths, err := m.o.Store.List()
		if err != nil {
			return api.JoinFiles{}, err
		}
		for _, p := range paths {
			if p.Namespace != object.SystemNamespace || !p.Kind.Stores() {
				continue
			}
			text, err := m.o.Store.Text(p)
			if _, gone := errors.AsType[*object.NotFoundError](err); gone {
				continue
			}
			if err != nil {
				return api.JoinFiles{}, err
			}
			all.Files = append(all.Files, file(p, text))
		}
		last, err := m.o.Store.Text(object.Cluster())
		if err != nil {
			return api.JoinFiles{}, err
		}
		if string(first.Data) == string(last.Data) {
			return all, nil
		}
	}
	return api.JoinFiles{}, problem(http.StatusConflict, "the configuration of the cluster does not stop changing: try again")
}

func file(p object.Path, t store.Text) api.JoinFile {
	return api.JoinFile{Path: cmp.Or(p.String(), "node"), Modified: t.ModTime, Data: t.Data}
}

// renewer makes the certificate of the cluster again.
func (m *Manager) renewer() *renewal.Renewer {
	return &renewal.Renewer{Objects: stored.Objects{Store: m.o.Store, Node: m.self()}, Random: rand.Reader, Now: time.Now}
}

// pair reads the certificate of the cluster.
func (m *Manager) pair(p object.Path) (*certificate.Pair, error) {
	keys := map[string][]byte{}
	for _, name := range []string{certificate.KeyPrivate, certificate.KeyChain, certificate.KeyCertificate} {
		value, err := m.o.Data.Decode(p, name)
		if err != nil {
			return nil, err
		}
		keys[name] = value
	}
	pair, err := certificate.Parse(keys)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p, err)
	}
	return pair, nil
}
