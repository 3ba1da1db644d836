package httpd_test

import (
	"context"
	"crypto/x509"
	"fmt"
	"log/slog"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-ops/holdfast/internal/host"
	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/auth"
	"github.com/holdfast-ops/holdfast/internal/om/client"
	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/arbitrator"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/bus"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/executor"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/heartbeat/relay"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/httpd"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/logs"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/monitor"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/setup"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/state"
	"github.com/holdfast-ops/holdfast/internal/om/datastore"
	"github.com/holdfast-ops/holdfast/internal/om/driver/all"
	"github.com/holdfast-ops/holdfast/internal/om/instance"
	"github.com/holdfast-ops/holdfast/internal/om/inventory"
	"github.com/holdfast-ops/holdfast/internal/om/logbook"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/rbac"
	"github.com/holdfast-ops/holdfast/internal/om/store"
)

// node1 is the node of the fixtures.
const node1 = "node1"

// fixture is a server on a unix socket and on a TLS listener, with a real store,
// bus and state. What acts is recorded in place of acting.
type fixture struct {
	server  *httpd.Server
	store   *store.Store
	state   *state.State
	bus     *bus.Bus
	tokens  *auth.Tokens
	deeds   *deeds
	logs    *logs.Control
	peers   httpd.Peers
	roots   *x509.CertPool
	socket  string
	address string // of the TLS listener
	ca      []byte
	change  func(*httpd.Options) // before it serves; may be nil
}

func newFixture(tb testing.TB) *fixture {
	tb.Helper()
	return newFixtureAt(tb, tb.TempDir())
}

func newFixtureAt(tb testing.TB, root string) *fixture {
	tb.Helper()
	return newFixtureWith(tb, root, func(*fixture) {})
}

// newFixtureWith returns a fixture that was prepared before it serves.
func newFixtureWith(tb testing.TB, root string, prepare func(*fixture)) *fixture {
	tb.Helper()
	h := host.Host{Paths: host.Paths{Root: root}, Hostname: node1}
	drivers := all.Registry()
	f := &fixture{store: store.New(h, drivers.Sections), bus: bus.New(node1), socket: h.Paths.Socket()}
	f.state = state.New(node1, f.bus)
	f.logs = logs.New(slog.DiscardHandler)
	log := f.logs.Logger("api")
	identity, err := setup.Run(tb.Context(), setup.Options{
		Node: node1, Store: f.store, Data: datastore.New(f.store), Log: log, Now: time.Now(),
	})
	if err != nil {
		tb.Fatal(err)
	}
	f.ca = identity.Authority
	if f.tokens, err = auth.NewTokens(identity.TokenKey, identity.ClusterID); err != nil {
		tb.Fatal(err)
	}
	prepare(f)
	f.deeds = &deeds{}
	f.state.SetNodeStatus(node1, cluster.NodeStatus{Agent: "test"})
	users := &auth.Directory{Store: f.store, Data: datastore.New(f.store)}
	options := httpd.Options{
		Node: node1, Pid: os.Getpid(), Owner: os.Geteuid(), Started: time.Now(), Log: log, Tokens: f.tokens,
		Credentials: auth.Credentials{Users: users, Passwords: auth.NewPasswords(users, auth.NewGuesses()), Certificates: &auth.Certificates{Known: users}},
		State:       f.state, Bus: f.bus, Store: f.store, Drivers: drivers,
		Discover: discoverer{f}, Monitor: objectives{f.deeds}, Executor: runs{f.deeds}, Logs: logbook.Open(h.Paths), Instances: informer{&instance.Engine{Host: h, Store: f.store, Registry: drivers}}, Inventory: inventory.Node{Host: h, Store: f.store, Root: root}, Ending: ending{f.deeds}, Schedules: jobs{},
		Nodes: nodeActions{f.deeds}, Votes: arbitrator.NewVotes(), Relay: relay.NewStore(), Relays: otherRelays, HeartbeatDisks: heartbeatDisks{f.deeds}, Members: members{}, Listeners: listeners{f.deeds}, Heartbeats: heartbeats{listeners{f.deeds}}, Control: f.logs, Peers: f.peers, Roots: f.roots,
	}
	if f.change != nil {
		f.change(&options)
	}
	f.server = httpd.New(options)
	socket, err := httpd.ListenSocket(f.socket)
	if err != nil {
		tb.Fatal(err)
	}
	listener, err := httpd.ListenTLS(tb.Context(), "127.0.0.1", 0, identity.Certificate)
	if err != nil {
		tb.Fatal(err)
	}
	f.address = listener.Addr().String()
	serve(tb, f.server, socket, listener)
	return f
}

// serve runs a server until the test ends.
func serve(tb testing.TB, s *httpd.Server, listeners ...net.Listener) {
	tb.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, listeners...) }()
	tb.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			tb.Error(err)
		}
	})
}

// local is a client of the unix socket.
func (f *fixture) local(t *testing.T) *client.Client {
	t.Helper()
	return newClient(t, client.Options{Socket: f.socket})
}

// remote is a client of the listener, with a token holding these grants.
func (f *fixture) remote(t *testing.T, grants string) *client.Client {
	t.Helper()
	parsed, err := rbac.Parse(grants)
	if err != nil {
		t.Fatal(err)
	}
	token, _, err := f.tokens.Issue("usr1", parsed, time.Hour, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return newClient(t, client.Options{Server: f.address, CA: f.ca, Token: token})
}

// nobody is a client of the listener without a token.
func (f *fixture) nobody(t *testing.T) *client.Client {
	t.Helper()
	return newClient(t, client.Options{Server: f.address, CA: f.ca})
}

func newClient(t *testing.T, o client.Options) *client.Client {
	t.Helper()
	c, err := client.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// do calls an operation that must succeed.
func do[In, Out any](t *testing.T, c *client.Client, op api.Operation[In, Out], in In) Out {
	t.Helper()
	out, err := client.Do(t.Context(), c, op, in)
	if err != nil {
		t.Fatalf("%s: %v", op.ID, err)
	}
	return out
}

// refused calls an operation that must be refused with a status.
func refused[In, Out any](t *testing.T, c *client.Client, op api.Operation[In, Out], in In, status int) string {
	t.Helper()
	_, err := client.Do(t.Context(), c, op, in)
	p, ok := err.(*api.Problem) //nolint:errorlint // exactly what the caller gets
	if !ok {
		t.Fatalf("%s: got %v, want a refusal", op.ID, err)
	}
	if p.Status != status {
		t.Errorf("%s: status %d, want %d: %s", op.ID, p.Status, status, p.Detail)
	}
	return p.Detail
}

func path(t *testing.T, s string) object.Path {
	t.Helper()
	p, err := object.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// create makes an object through the API.
func (f *fixture) create(t *testing.T, name, config string) object.Path {
	t.Helper()
	p := path(t, name)
	do(t, f.local(t), api.PostObjectConfigFile, api.ObjectConfigCreate{ObjectName: api.Named(p), RawBody: []byte(config)})
	return p
}

// nodeActions records what is asked of the node.
type nodeActions struct{ deeds *deeds }

func (n nodeActions) Ask(expect string) (string, error) {
	n.deeds.add("ask " + expect)
	return nodeID, nil
}

func (n nodeActions) Stonith(_ context.Context, node string, confirmed bool) error {
	n.deeds.add(fmt.Sprintf("stonith %s %t", node, confirmed))
	return nil
}

func (n nodeActions) Abort() string {
	n.deeds.add("abort")
	return nodeID
}

func (n nodeActions) Clear() string {
	n.deeds.add("clear")
	return "drain failed"
}

func (n nodeActions) Orchestrations() []monitor.Orchestration {
	return []monitor.Orchestration{{ID: nodeID, State: api.StateSucceeded, GlobalExpect: "drained", AcceptedBy: node1, StartedAt: time.Now(), EndedAt: time.Now()}}
}

func (n nodeActions) Wait(_ context.Context, id string) (monitor.Orchestration, error) {
	if id != nodeID {
		return monitor.Orchestration{}, &executor.ForgottenError{What: "orchestration", ID: id, Node: node1}
	}
	return n.Orchestrations()[0], nil
}

// listeners records what is asked of them.
type listeners struct{ deeds *deeds }

func (l listeners) Start(name string) error {
	l.deeds.add("start " + name)
	return nil
}

func (l listeners) Stop(name string) error {
	l.deeds.add("stop " + name)
	return nil
}

func (l listeners) Restart(name string) error {
	l.deeds.add("restart " + name)
	return nil
}

// heartbeats are those of a node that has one.
type heartbeats struct{ listeners }

func (heartbeats) Names() []string { return []string{"hb#1"} }

func (heartbeats) Gens() map[string]map[string]uint64 {
	return map[string]map[string]uint64{node1: {node1: 7}}
}

func (h heartbeats) Rotate(context.Context) (string, error) {
	h.deeds.add("rotate")
	return "3f0e0f5e-6a55-4c7e-a7d5-61a1b5b6f6ad", nil
}

// deeds records what would have been done.
type deeds struct {
	mu   sync.Mutex
	done []string
	jobs []executor.Job
}

func (d *deeds) add(deed string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.done = append(d.done, deed)
}

func (d *deeds) all() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]string(nil), d.done...)
}

// discoverer puts what the store holds in the state.
type discoverer struct{ f *fixture }

func (d discoverer) Refresh(p object.Path) error {
	file, err := d.f.store.Load(p)
	if err != nil {
		return err
	}
	if !p.IsZero() {
		d.f.state.SetInstanceConfig(p, node1, cluster.InstanceConfig{
			Path: p, Nodename: node1, Checksum: file.Checksum, UpdatedAt: file.ModTime, Scope: []string{node1},
		})
	}
	return nil
}

const (
	knownID   = "068b4fb0-ba3f-4d62-81e7-92ed88039239"
	runningID = "7b9772c8-9a5e-4f7e-8c3d-3f1d3c1b8f10"
	nodeID    = "0d1c8f9b-6a53-4e0a-8a57-5a1f7f1b2c3d"
)

// objectives records goals; one orchestration ended, another runs for ever.
type objectives struct{ deeds *deeds }

func (o objectives) Orchestrate(_ context.Context, p object.Path, g monitor.Goal) (string, error) {
	deed := g.Expect + " " + p.String()
	if g.Options["force"] == true {
		deed += " force"
	}
	if to, ok := g.Options["destination"].([]string); ok {
		deed += " " + strings.Join(to, " ")
	}
	o.deeds.add(deed)
	return knownID, nil
}

func (o objectives) Abort(_ context.Context, p object.Path) (string, error) {
	o.deeds.add("abort " + p.String())
	return knownID, nil
}

func (o objectives) Clear(_ context.Context, p object.Path) error {
	o.deeds.add("clear " + p.String())
	return nil
}

func (o objectives) Progress(_ context.Context, p object.Path, sid, state string, partial bool) error {
	o.deeds.add("progress " + p.String() + " " + sid + " " + state)
	return nil
}

func (o objectives) Orchestrations() []monitor.Orchestration {
	return []monitor.Orchestration{
		{ID: knownID, Path: object.Path{Namespace: "root", Kind: "svc", Name: "svc1"}, State: api.StateSucceeded, GlobalExpect: "started", AcceptedBy: node1, StartedAt: time.Now(), EndedAt: time.Now()},
		{ID: runningID, Path: object.Path{Namespace: "root", Kind: "svc", Name: "svc2"}, State: api.StateRunning, GlobalExpect: "stopped", StartedAt: time.Now()},
	}
}

func (o objectives) Orchestration(id string) (monitor.Orchestration, error) {
	for _, known := range o.Orchestrations() {
		if known.ID == id {
			return known, nil
		}
	}
	return monitor.Orchestration{}, &executor.ForgottenError{What: "orchestration", ID: id, Node: node1}
}

func (o objectives) Wait(ctx context.Context, id string) (monitor.Orchestration, error) {
	known, err := o.Orchestration(id)
	if err == nil && known.State == api.StateRunning {
		<-ctx.Done()
		return known, ctx.Err()
	}
	return known, err
}

// runs records jobs; one exec ended badly, another runs for ever.
type runs struct{ deeds *deeds }

func (r runs) Submit(_ context.Context, j executor.Job) (executor.IDs, error) {
	r.deeds.mu.Lock()
	defer r.deeds.mu.Unlock()
	r.deeds.jobs = append(r.deeds.jobs, j)
	return executor.IDs{SessionID: runningID, ExecID: knownID}, nil
}

func (r runs) Records(match func(executor.Record) bool) []executor.Record {
	return slices.DeleteFunc(r.all(), func(known executor.Record) bool { return match != nil && !match(known) })
}

func (r runs) all() []executor.Record {
	one := 1
	svc1 := object.Path{Namespace: "root", Kind: "svc", Name: "svc1"}
	return []executor.Record{
		{ExecID: knownID, SessionID: knownID, Node: node1, Path: svc1, Origin: executor.OriginAPI, State: executor.Failed, ExitCode: &one, StartedAt: time.Now(), EndedAt: time.Now(), Error: "exit status 1"},
		{ExecID: runningID, SessionID: knownID, Node: node1, Path: svc1, Origin: executor.OriginMonitor, State: executor.Running, Pid: 42, StartedAt: time.Now()},
	}
}

func (r runs) Record(id string) (executor.Record, error) {
	for _, known := range r.Records(nil) {
		if known.ExecID == id {
			return known, nil
		}
	}
	return executor.Record{}, &executor.ForgottenError{What: "exec", ID: id, Node: node1}
}

func (r runs) Wait(ctx context.Context, id string) (executor.Record, error) {
	known, err := r.Record(id)
	if err == nil && known.State == executor.Running {
		<-ctx.Done()
		return known, ctx.Err()
	}
	return known, err
}

func (r runs) Kill(match func(executor.Record) bool, sig syscall.Signal, dry bool) ([]executor.Record, error) {
	var hit []executor.Record
	for _, known := range r.Records(nil) {
		if known.State != executor.Running || !match(known) {
			continue
		}
		hit = append(hit, known)
		if !dry {
			r.deeds.add("signal " + strconv.Itoa(int(sig)) + " to " + known.ExecID)
		}
	}
	return hit, nil
}

type informer struct{ *instance.Engine }

func (informer) Info(_ context.Context, p object.Path, _ instance.Request, _ bool) ([]instance.ResourceInfo, error) {
	return []instance.ResourceInfo{{Object: p.String(), Node: node1, RID: "app#1", Key: "driver", Value: "app.simple"}}, nil
}

type ending struct{ deeds *deeds }

func (e ending) Stop()    { e.deeds.add("stop") }
func (e ending) Restart() { e.deeds.add("restart") }
func (e ending) Shutdown(context.Context) error {
	e.deeds.add("shutdown")
	return nil
}
