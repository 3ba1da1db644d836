package httpd_test

import (
	"context"
	"crypto/x509"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-ops/holdfast/internal/host"
	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/auth"
	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/bus"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/httpd"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/setup"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/state"
	"github.com/holdfast-ops/holdfast/internal/om/datastore"
	"github.com/holdfast-ops/holdfast/internal/om/driver/all"
	"github.com/holdfast-ops/holdfast/internal/om/event"
	"github.com/holdfast-ops/holdfast/internal/om/store"
)

const node2 = "node2"

// addresses are where the nodes of a test are.
type addresses map[string]string

func (a addresses) Peers() []string { return []string{node1, node2, "node3"} }

func (a addresses) Address(node string) (string, error) {
	if addr, ok := a[node]; ok {
		return addr, nil
	}
	return "", fmt.Errorf("%s has no address", node)
}

// second is a daemon of node2, in a cluster of its own making.
type second struct {
	state   *state.State
	bus     *bus.Bus
	deeds   *deeds
	tokens  *auth.Tokens
	roots   *x509.CertPool
	address string
}

func newSecond(t *testing.T) *second {
	t.Helper()
	h := host.Host{Paths: host.Paths{Root: t.TempDir()}, Hostname: node2}
	drivers := all.Registry()
	configs := store.New(h, drivers.Sections)
	log := slog.New(slog.DiscardHandler)
	identity, err := setup.Run(t.Context(), setup.Options{Node: node2, Store: configs, Data: datastore.New(configs), Log: log, Now: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	n := &second{bus: bus.New(node2), deeds: &deeds{}, roots: x509.NewCertPool()}
	n.roots.AppendCertsFromPEM(identity.Authority)
	if n.tokens, err = auth.NewTokens(identity.TokenKey, identity.ClusterID); err != nil {
		t.Fatal(err)
	}
	n.state = state.New(node2, n.bus)
	n.state.SetNodeStatus(node2, cluster.NodeStatus{Agent: "test"})
	server := httpd.New(httpd.Options{
		Node: node2, Pid: 2, Owner: os.Geteuid(), Started: time.Now(), Log: log, Tokens: n.tokens,
		State: n.state, Bus: n.bus, Store: configs, Drivers: drivers, Discover: discoverer{&fixture{store: configs, state: n.state}}, Monitor: objectives{n.deeds},
		Executor: runs{n.deeds}, Ending: ending{n.deeds}, Nodes: nodeActions{n.deeds}, Peers: addresses{},
	})
	listener, err := httpd.ListenTLS(t.Context(), "127.0.0.1", 0, identity.Certificate)
	if err != nil {
		t.Fatal(err)
	}
	n.address = listener.Addr().String()
	serve(t, server, listener)
	return n
}

// newPair returns the daemons of two nodes of one cluster.
func newPair(t *testing.T) (*fixture, *second) {
	t.Helper()
	other := newSecond(t)
	f := newFixtureWith(t, t.TempDir(), func(f *fixture) {
		f.tokens, f.roots, f.peers = other.tokens, other.roots, addresses{node2: other.address}
	})
	return f, other
}

func TestARequestForAnotherNodeIsPassedOn(t *testing.T) {
	t.Parallel()
	f, other := newPair(t)
	admin := f.remote(t, "root")

	if got := do(t, admin, api.PostDaemonStop, api.NodeName{Node: node2}); got.Pid != 2 {
		t.Errorf("pid %d", got.Pid)
	}
	if got := other.deeds.all(); len(got) != 1 || got[0] != "stop" || len(f.deeds.all()) != 0 {
		t.Errorf("done there %v, done here %v", got, f.deeds.all())
	}
	got := f.plain(t, http.MethodGet, "/api/node/name/node2/ping", "Bearer "+f.token(t, "root"), nil)
	if got.Status != http.StatusNoContent || got.Header.Get("OM-Served-By") != node2 || len(got.Header.Values("OM-Served-By")) != 1 {
		t.Errorf("status %d, served by %v", got.Status, got.Header.Values("OM-Served-By"))
	}
	// Through the root socket, whose caller has no token to pass on.
	if items := do(t, f.local(t), api.GetNodeDrivers, api.NodeName{Node: node2}).Items; len(items) == 0 || items[0].Meta.Node != node2 {
		t.Errorf("drivers %v", items)
	}
}

func TestParametersAndBodiesArePassedOn(t *testing.T) {
	t.Parallel()
	f, _ := newPair(t)
	c := f.remote(t, "root")
	do(t, c, api.PatchNodeConfig, api.NodeConfigChange{NodeName: api.NodeName{Node: node2}, ConfigChange: api.ConfigChange{Set: []string{"node.env=PRD", "env.a=b&c=d #1"}}})
	file := do(t, c, api.GetNodeConfigFile, api.NodeName{Node: node2})
	if !strings.Contains(string(file.RawBody), "env = PRD") || !strings.Contains(string(file.RawBody), "b&c=d #1") || file.ETag == "" {
		t.Errorf("%s\n%s", file.ETag, file.RawBody)
	}
	do(t, c, api.PutNodeConfigFile, api.NodeConfigFile{NodeName: api.NodeName{Node: node2}, ConfigCondition: api.ConfigCondition{IfMatch: file.ETag}, RawBody: []byte("[node]\nenv = DEV\n")})
	if got := do(t, c, api.GetNodeConfig, api.NodeConfigQuery{NodeName: api.NodeName{Node: node2}, ConfigQuery: api.ConfigQuery{Keywords: []string{"node.env"}}}); got.Items[0].Value != "DEV" || got.Items[0].Node != node2 {
		t.Errorf("%+v", got.Items)
	}
	// A refusal there is the refusal here.
	if got := refused(t, c, api.PatchNodeConfig, api.NodeConfigChange{NodeName: api.NodeName{Node: node2}, ConfigChange: api.ConfigChange{Set: []string{"node.nosuch=1"}}}, http.StatusBadRequest); !strings.Contains(got, "nosuch") {
		t.Error(got)
	}
}

func TestEventsOfAnotherNodeArePassedOnAsTheyHappen(t *testing.T) {
	t.Parallel()
	f, other := newPair(t)
	events := f.listen(t, f.remote(t, "root"), api.EventQuery{NodeName: api.NodeName{Node: node2}, Filter: []string{"NodeMonitorUpdated"}, Limit: 1})
	eventually(t, func() bool { return len(other.bus.Readers()) > 0 })
	other.bus.Publish(event.NodeMonitorUpdated{Node: node2, Monitor: cluster.NodeMonitor{State: "draining"}})
	if e := <-events; !strings.Contains(string(e.Data), "draining") {
		t.Errorf("got %s", e.Data)
	}
}

// Who may not do it here does not get as far as the other node.
func TestACallerIsAuthorizedBeforeItIsPassedOn(t *testing.T) {
	t.Parallel()
	f, other := newPair(t)
	refused(t, f.remote(t, "admin"), api.PostDaemonStop, api.NodeName{Node: node2}, http.StatusForbidden)
	refused(t, f.nobody(t), api.PostDaemonStop, api.NodeName{Node: node2}, http.StatusUnauthorized)
	if got := other.deeds.all(); len(got) != 0 {
		t.Errorf("done there: %v", got)
	}
}

func TestANodeThatIsNotReachedIsNamed(t *testing.T) {
	t.Parallel()
	other := newSecond(t)
	closed := httptest.NewUnstartedServer(nil)
	nowhere := closed.Listener.Addr().String()
	closed.Close()
	stranger := newFixtureWith(t, t.TempDir(), func(f *fixture) {
		// The certificate of node2 is believed, its tokens are of another cluster.
		f.roots, f.peers = other.roots, addresses{node2: other.address, "node3": nowhere}
	})
	c := stranger.remote(t, "root")

	for node, want := range map[string]struct {
		status int
		words  []string
	}{
		"node9": {http.StatusNotFound, []string{"node9", node1, node2}},
		"node3": {http.StatusBadGateway, []string{"node3", "refused"}},
		node2:   {http.StatusBadGateway, []string{node2, "same cluster"}},
	} {
		got := refused(t, c, api.GetNodePing, api.NodeName{Node: node}, want.status)
		for _, word := range want.words {
			if !strings.Contains(got, word) {
				t.Errorf("%s: %q does not tell %q", node, got, word)
			}
		}
	}
	distrust := newFixtureWith(t, t.TempDir(), func(f *fixture) {
		f.roots, f.peers = x509.NewCertPool(), addresses{node2: other.address}
	})
	if got := refused(t, distrust.remote(t, "root"), api.GetNodePing, api.NodeName{Node: node2}, http.StatusBadGateway); !strings.Contains(got, "certificate") {
		t.Error(got)
	}
}

// A request is passed on once, or two nodes that are wrong about each other would
// do so for ever. What the caller proved its name with is not passed on at all.
func TestARequestIsPassedOnOnceAndWithoutTheCredentials(t *testing.T) {
	t.Parallel()
	seen := make(chan http.Header, 1)
	fake := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen <- r.Header.Clone()
		w.WriteHeader(http.StatusNoContent)
	}))
	fake.StartTLS()
	defer fake.Close()
	roots := x509.NewCertPool()
	roots.AddCert(fake.Certificate())
	f := newFixtureWith(t, t.TempDir(), func(f *fixture) {
		f.roots, f.peers = roots, named{"example.com": fake.Listener.Addr().String()}
	})
	header := http.Header{"Authorization": {"Bearer " + f.token(t, "root")}, "Cookie": {"a=b"}}
	if got := f.request(t, http.MethodGet, "/api/node/name/example.com/ping", header, nil); got.Status != http.StatusNoContent {
		t.Fatalf("status %d: %s", got.Status, got.Body)
	}
	passed := <-seen
	if passed.Get("Authorization") == header.Get("Authorization") || passed.Get("Cookie") != "" || passed.Get("OM-Proxied-By") != node1 {
		t.Errorf("passed on: %v", passed)
	}
	who, err := f.tokens.Verify(strings.TrimPrefix(passed.Get("Authorization"), "Bearer "), time.Now())
	if err != nil || who.Name != "usr1" || who.Grants.String() != "root" {
		t.Errorf("passed on for %v, %v", who, err)
	}
	header.Set("OM-Proxied-By", "node7")
	if got := f.request(t, http.MethodGet, "/api/node/name/example.com/ping", header, nil); got.Status != http.StatusNotFound || !strings.Contains(got.Body, "node7") {
		t.Errorf("passed on twice: status %d: %s", got.Status, got.Body)
	}
}

// named are nodes that have these names.
type named map[string]string

func (n named) Peers() []string {
	var names []string
	for name := range n {
		names = append(names, name)
	}
	return names
}

func (n named) Address(node string) (string, error) { return n[node], nil }

func TestBothListenersSpeakHTTP2(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	if got := f.plain(t, http.MethodGet, "/api/health", "", nil); got.Proto != "HTTP/2.0" {
		t.Errorf("the network: %s", got.Proto)
	}
	for _, want := range []string{"HTTP/2.0", "HTTP/1.1"} {
		protocols := new(http.Protocols)
		protocols.SetHTTP1(want == "HTTP/1.1")
		protocols.SetUnencryptedHTTP2(want == "HTTP/2.0")
		transport := &http.Transport{Protocols: protocols, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", f.socket)
		}}
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost/api/auth/whoami", nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := (&http.Client{Transport: transport}).Do(request)
		if err != nil {
			t.Fatal(err)
		}
		if err := response.Body.Close(); err != nil {
			t.Fatal(err)
		}
		if response.Proto != want || response.StatusCode != http.StatusOK {
			t.Errorf("the root socket: %s, status %d", response.Proto, response.StatusCode)
		}
		transport.CloseIdleConnections()
	}
}
