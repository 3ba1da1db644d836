package membership_test

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-ops/holdfast/internal/host"
	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/auth"
	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/config"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/bus"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/membership"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/setup"
	"github.com/holdfast-ops/holdfast/internal/om/datastore"
	"github.com/holdfast-ops/holdfast/internal/om/event"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/rbac"
	"github.com/holdfast-ops/holdfast/internal/om/store"
)

// site is a node: its files, its manager, and the part of its API that nodes ask.
type site struct {
	t        *testing.T
	name     string
	host     host.Host
	store    *store.Store
	data     *datastore.Data
	identity setup.Identity
	tokens   *auth.Tokens
	bus      *bus.Bus
	heard    *bus.Subscription
	manager  *membership.Manager
	server   *httptest.Server
	where    map[string]string // of the peers
	alive    []string          // peers that are heard

	frozenPeers bool

	objects  map[object.Path]*cluster.Object
	running  []string
	state    string // of the monitor of the node
	nodename string // that its status tells, when it is another

	drained, restarted int
	drainFails         error
	step               func(string)
}

func newSite(t *testing.T, name string) *site {
	t.Helper()
	s := &site{
		t: t, name: name, host: host.Host{Hostname: name, Paths: host.Paths{Root: t.TempDir()}}, where: map[string]string{},
		objects: map[object.Path]*cluster.Object{}, state: "idle", step: func(string) {},
	}
	s.begin()
	mux := http.NewServeMux()
	serve(mux, api.GetClusterStatus, func(context.Context, *http.Request) (any, error) { return s.status(), nil })
	serve(mux, api.PostClusterJoin, func(ctx context.Context, r *http.Request) (any, error) {
		return nil, s.manager.Admit(ctx, api.Candidate{Node: r.FormValue("node"), Addr: r.URL.Query()["addr"]})
	})
	serve(mux, api.GetClusterJoin, func(context.Context, *http.Request) (any, error) { return s.manager.Files() })
	serve(mux, api.PostClusterLeave, func(ctx context.Context, r *http.Request) (any, error) {
		return nil, s.manager.Dismiss(ctx, api.Member{Node: r.FormValue("node"), Reason: r.FormValue("reason")})
	})
	serve(mux, api.PostDaemonJoin, func(ctx context.Context, r *http.Request) (any, error) {
		var in api.JoinOrder
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			return nil, err
		}
		return s.manager.Join(ctx, in)
	})
	serve(mux, api.PostDaemonLeave, func(ctx context.Context, r *http.Request) (any, error) {
		var in api.LeaveOrder
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			return nil, err
		}
		return api.Problem{Status: 200}, s.manager.Leave(ctx, in)
	})
	s.server = httptest.NewUnstartedServer(s.believing(mux))
	s.server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug)
	s.server.Listener = tls.NewListener(s.server.Listener, &tls.Config{MinVersion: tls.VersionTLS13, GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		return &s.identity.Certificate, nil
	}})
	s.server.Start()
	t.Cleanup(s.server.Close)
	s.where[name] = s.server.Listener.Addr().String()
	return s
}

// begin is what the daemon does at its start.
func (s *site) begin() {
	s.t.Helper()
	if err := membership.ResumeStopping(s.host.Paths, slog.New(slog.DiscardHandler), s.at); err != nil {
		s.t.Fatal(err)
	}
	s.store = store.New(s.host, nil)
	s.data = datastore.New(s.store)
	identity, err := setup.Run(s.t.Context(), setup.Options{Node: s.name, Store: s.store, Data: s.data, Log: slog.New(slog.DiscardHandler), Now: time.Now()})
	if err != nil {
		s.t.Fatal(err)
	}
	s.identity = identity
	tokens, err := auth.NewTokens(identity.TokenKey, identity.ClusterID)
	if err != nil {
		s.t.Fatal(err)
	}
	s.tokens = tokens.Naming(identity.Authority)
	s.bus = bus.New(s.name)
	s.heard = s.bus.Subscribe("test", func(*event.Envelope) bool { return true })
	ready := make(chan struct{})
	close(ready)
	s.manager = membership.New(membership.Stopping(membership.Options{
		Host: s.host, Store: s.store, Data: s.data, Tokens: s.tokens, Authority: identity.Authority, State: s, Bus: s.bus, Discover: s, Peers: s,
		Log: slog.New(slog.DiscardHandler), Addresses: func() []net.IP { return []net.IP{net.ParseIP("192.0.2.7")} }, Compat: 1,
		Drain: s.drain, Running: func() []string { return s.running }, Restart: func() { s.restarted++ }, Ready: ready,
	}, s.at))
}

// at is where an order is: tests stop there.
func (s *site) at(name string) { s.step(name) }

// believing lets those pass who have a token of this cluster.
func (s *site) believing(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		if _, err := s.tokens.Verify(token, time.Now()); err != nil {
			refuse(w, api.NewProblem(http.StatusUnauthorized, "authentication required"))
			return
		}
		next.ServeHTTP(w, r)
	})
}

func serve(mux *http.ServeMux, op api.Endpoint, do func(context.Context, *http.Request) (any, error)) {
	d := op.Describe()
	mux.HandleFunc(d.Method+" "+strings.ReplaceAll(d.Path, "{nodename}", api.Localhost), func(w http.ResponseWriter, r *http.Request) {
		out, err := do(r.Context(), r)
		if p, ok := errors.AsType[*api.Problem](err); ok {
			refuse(w, p)
			return
		}
		if err != nil {
			refuse(w, api.NewProblem(http.StatusInternalServerError, err.Error()))
			return
		}
		if out != nil {
			_ = json.NewEncoder(w).Encode(out)
		}
	})
}

func refuse(w http.ResponseWriter, p *api.Problem) {
	w.WriteHeader(p.Status)
	_ = json.NewEncoder(w).Encode(p)
}

// View implements membership.State.
func (s *site) View() *cluster.View {
	settings, err := s.store.Cluster()
	if err != nil {
		s.t.Error(err)
		return &cluster.View{}
	}
	v := &cluster.View{
		Config: cluster.Config{ID: settings.ID, Name: settings.Name, Nodes: settings.Nodes}, Objects: s.objects,
		Nodes: map[string]*cluster.Node{s.name: {Status: cluster.NodeStatus{Compat: 1}, Monitor: cluster.NodeMonitor{State: s.state}}},
	}
	for _, name := range s.alive {
		n := &cluster.Node{Status: cluster.NodeStatus{Compat: 1}, Monitor: cluster.NodeMonitor{State: "idle"}}
		if s.frozenPeers {
			n.Status.FrozenAt = time.Unix(1, 0)
		}
		v.Nodes[name] = n
	}
	return v
}

func (s *site) status() api.ClusterStatus {
	v := s.View()
	status := api.ClusterStatus{Cluster: api.ClusterState{Config: v.Config, Node: map[string]cluster.Node{}}, Daemon: api.DaemonLocal{Nodename: cmp.Or(s.nodename, s.name)}}
	for name, n := range v.Nodes {
		status.Cluster.Node[name] = *n
	}
	return status
}

// Refresh implements membership.Discoverer.
func (s *site) Refresh(object.Path) error { return nil }

// Address implements membership.Peers.
func (s *site) Address(node string) (string, error) {
	if where, ok := s.where[node]; ok {
		return where, nil
	}
	return "", fmt.Errorf("the port of the API of %s is not known", node)
}

func (s *site) frozen() string { return filepath.Join(s.host.Paths.Var(), "node", "frozen") }

// freeze is what a drain does first.
func (s *site) freeze() {
	s.t.Helper()
	if err := os.MkdirAll(filepath.Dir(s.frozen()), 0o700); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(s.frozen(), nil, 0o600); err != nil {
		s.t.Fatal(err)
	}
}

func (s *site) isFrozen() bool {
	_, err := os.Stat(s.frozen())
	return err == nil
}

func (s *site) drain(context.Context) error {
	s.drained++
	s.freeze()
	return s.drainFails
}

// told lists what was published since, without what nobody asked about.
func (s *site) told() []string {
	var all []string
	for {
		select {
		case e := <-s.heard.C():
			all = append(all, e.Kind+" "+string(e.Data()))
		default:
			return all
		}
	}
}

// token is one that lets a node join.
func (s *site) token() string {
	s.t.Helper()
	token, _, err := s.tokens.Issue("root", rbac.Grants{{Role: rbac.Join}, {Role: rbac.Leave}}, time.Hour, time.Now())
	if err != nil {
		s.t.Fatal(err)
	}
	return token.Reveal()
}

// create makes an object that belongs to the site.
func (s *site) create(name string) {
	s.t.Helper()
	p, err := object.Parse(name)
	if err != nil {
		s.t.Fatal(err)
	}
	if _, err := s.store.Create(s.t.Context(), p, config.NewDocument(), store.CreateOptions{}); err != nil {
		s.t.Fatal(err)
	}
	state := filepath.Join(s.host.Paths.Var(), p.StateDir())
	if err := os.MkdirAll(state, 0o700); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(state, "frozen"), nil, 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// tree is what is below a directory: names, and sums of what files hold.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, name)
		all[rel] = fmt.Sprintf("%x", sha256.Sum256(data))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func update(s *site, p object.Path, section, option, value string) {
	s.t.Helper()
	key := config.Key{Section: section, Option: option}
	_, err := s.store.Update(s.t.Context(), p, config.Change{Set: []config.Op{{Key: key, Operator: config.OpSet, Value: value}}})
	if err != nil {
		s.t.Fatal(err)
	}
}
