package unicast_test

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"slices"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/bus"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/heartbeat"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/heartbeat/unicast"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/state"
	"github.com/holdfast-ops/holdfast/internal/om/event"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/schema"
	"github.com/holdfast-ops/holdfast/internal/secret"
)

// network connects nodes in memory. A link that is cut answers nothing, a node that
// is down refuses.
type network struct {
	mu    sync.Mutex
	hubs  map[string]*unicast.Hub
	cut   map[[2]string]bool
	bytes map[string]int        // sent, by node
	conns map[string][]net.Conn // of each node
	dials int
}

func (n *network) isCut(from, to string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.cut[[2]string{from, to}]
}

// sever cuts, or mends, what one node sends to another.
func (n *network) sever(from, to string, cut bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.cut[[2]string{from, to}] = cut
}

func (n *network) dial(from string) func(context.Context, unicast.Target) (net.Conn, error) {
	return func(ctx context.Context, t unicast.Target) (net.Conn, error) {
		to, _, _ := net.SplitHostPort(t.Addr)
		if n.isCut(from, to) {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		n.mu.Lock()
		hub := n.hubs[to]
		n.mu.Unlock()
		if hub == nil {
			return nil, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
		}
		near, far := net.Pipe()
		n.mu.Lock()
		n.dials++
		n.conns[from], n.conns[to] = append(n.conns[from], near), append(n.conns[to], far)
		n.mu.Unlock()
		go hub.Serve(far)
		return &conn{near, n, from, to}, nil
	}
}

type conn struct {
	net.Conn

	n        *network
	from, to string
}

func (c *conn) Write(b []byte) (int, error) {
	if c.n.isCut(c.from, c.to) {
		return 0, os.ErrDeadlineExceeded
	}
	c.n.mu.Lock()
	c.n.bytes[c.from] += len(b)
	c.n.mu.Unlock()
	return c.Conn.Write(b)
}

// member is a node of the cluster under test.
type member struct {
	name    string
	net     *network
	state   *state.State
	bus     *bus.Bus
	manager *heartbeat.Manager
	cancel  context.CancelFunc
	done    chan error

	mu       sync.Mutex
	settings heartbeat.Settings
}

func setup(self string, names []string, hb schema.HeartbeatSettings) heartbeat.Setup {
	s := heartbeat.Setup{HeartbeatSettings: hb, Self: self, Cluster: "c", Peers: map[string]schema.HeartbeatSettings{}}
	for _, n := range names {
		if n != self {
			s.Peers[n] = hb
		}
	}
	return s
}

func hb(name string) schema.HeartbeatSettings {
	return schema.HeartbeatSettings{Name: name, Type: "unicast", Interval: 5 * time.Second, Timeout: 15 * time.Second}
}

func (n *network) start(tb testing.TB, name string, names ...string) *member {
	tb.Helper()
	b := bus.New(name)
	m := &member{name: name, net: n, bus: b, state: state.New(name, b), done: make(chan error, 1)}
	m.settings = heartbeat.Settings{Cluster: "c", Secrets: []secret.String{secret.New("secret")}, Heartbeats: []heartbeat.Setup{setup(name, names, hb("hb#1"))}}
	m.state.SetClusterConfig(cluster.Config{Nodes: names})
	m.state.SetNodeMonitor(name, cluster.NodeMonitor{State: "idle"})
	m.run(tb)
	return m
}

// run begins a life of the daemon of a node.
func (m *member) run(tb testing.TB) {
	tb.Helper()
	ready := make(chan struct{})
	close(ready)
	hub := unicast.NewHub()
	m.manager = heartbeat.New(heartbeat.Options{
		Node: m.name, State: m.state, Bus: m.bus, Log: slog.New(slog.DiscardHandler), Ready: ready, Compat: 1,
		Settings: func([]string) (heartbeat.Settings, error) {
			m.mu.Lock()
			defer m.mu.Unlock()
			return m.settings, nil
		},
		Drivers: map[string]heartbeat.Maker{"unicast": unicast.New(unicast.Options{
			Hub: hub, Shared: func(string) int { return 1215 }, Dial: m.net.dial(m.name),
		})},
	})
	m.net.mu.Lock()
	m.net.hubs[m.name] = hub
	m.net.mu.Unlock()
	ctx, cancel := context.WithCancel(tb.Context())
	m.cancel = cancel
	go func() { m.done <- m.manager.Run(ctx) }()
}

// kill ends the process: nobody listens any more.
func (m *member) kill(tb testing.TB) {
	tb.Helper()
	m.net.mu.Lock()
	delete(m.net.hubs, m.name)
	conns := m.net.conns[m.name]
	delete(m.net.conns, m.name)
	m.net.mu.Unlock()
	for _, c := range conns { // as the kernel does
		if err := c.Close(); err != nil {
			tb.Error(err)
		}
	}
	m.cancel()
	m.cancel = nil
	if err := <-m.done; err != nil {
		tb.Error(err)
	}
}

// configure changes the settings of a node.
func (m *member) configure(change func(*heartbeat.Settings)) {
	m.mu.Lock()
	change(&m.settings)
	m.mu.Unlock()
	m.bus.Publish(event.ConfigFileUpdated{Path: object.Cluster()})
}

func (m *member) hears(node string) bool { return m.state.View().Peers[node].Beating }

func (m *member) monitorOf(node string) string {
	n := m.state.View().Nodes[node]
	if n == nil {
		return ""
	}
	return n.Monitor.State
}

// within fails unless something comes true within a time, which passes at once.
func within(tb testing.TB, limit time.Duration, what string, is func() bool) time.Duration {
	tb.Helper()
	began := time.Now()
	for time.Since(began) <= limit {
		synctest.Wait()
		if is() {
			return time.Since(began)
		}
		pass(time.Millisecond)
	}
	tb.Fatalf("%s: not within %v", what, limit)
	return 0
}

// world is a cluster in virtual time.
type world struct {
	*testing.T

	nodes map[string]*member
}

// pass lets virtual time pass.
func pass(d time.Duration) { <-time.NewTimer(d).C }

// bubble runs a test of a cluster in virtual time.
func bubble(t *testing.T, names []string, test func(t world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		n := &network{hubs: map[string]*unicast.Hub{}, cut: map[[2]string]bool{}, bytes: map[string]int{}, conns: map[string][]net.Conn{}}
		nodes := map[string]*member{}
		for _, name := range names {
			nodes[name] = n.start(t, name, names...)
		}
		defer func() {
			for _, m := range nodes {
				if m.cancel != nil {
					m.kill(t)
				}
			}
			pass(time.Minute) // connections that are tried give up
		}()
		for _, m := range nodes {
			within(t, 10*time.Second, "the nodes hear one another", func() bool {
				return !slices.ContainsFunc(names, func(o string) bool { return o != m.name && (!m.hears(o) || m.monitorOf(o) != "idle") })
			})
		}
		pass(2 * time.Second) // connections are no longer new
		test(world{t, nodes})
	})
}

func TestAChangeIsKnownToThePeersWithin50Milliseconds(t *testing.T) {
	t.Parallel()
	bubble(t, []string{"n1", "n2", "n3"}, func(t world) {
		nodes := t.nodes
		for i := range 100 {
			pass(time.Duration(i) * 37 * time.Millisecond)
			state := "state " + string(rune('A'+i%26))
			nodes["n1"].state.SetNodeMonitor("n1", cluster.NodeMonitor{State: state})
			within(t, 50*time.Millisecond, "the change is known", func() bool {
				return nodes["n2"].monitorOf("n1") == state && nodes["n3"].monitorOf("n1") == state
			})
		}
	})
}

func TestASilentPeerIsForgottenAfterItsTimeoutAndComesBack(t *testing.T) {
	t.Parallel()
	bubble(t, []string{"n1", "n2"}, func(t world) {
		nodes := t.nodes
		n1, n2 := nodes["n1"], nodes["n2"]
		p := object.Path{Namespace: "root", Kind: object.KindSvc, Name: "web"}
		n2.state.SetInstanceConfig(p, "n2", cluster.InstanceConfig{Path: p, Scope: []string{"n1", "n2"}})
		within(t, time.Second, "the instance is known", func() bool { return n1.state.View().Objects[p] != nil })
		for range 20 { // a cut shorter than the timeout is nothing
			n1.net.sever("n2", "n1", true)
			pass(8 * time.Second)
			n1.net.sever("n2", "n1", false)
			pass(8 * time.Second)
			if synctest.Wait(); !n1.hears("n2") {
				t.Fatal("a short cut is a failure")
			}
		}
		n1.net.sever("n2", "n1", true)
		n1.net.sever("n1", "n2", true)
		took := within(t, 16*time.Second, "the peer is stale", func() bool { return !n1.hears("n2") && !n2.hears("n1") })
		if took < 9*time.Second {
			t.Errorf("stale after %v", took)
		}
		if n1.state.View().Objects[p] != nil || n1.monitorOf("n2") != "" || !n1.state.View().Peers["n2"].Heard {
			t.Errorf("what it told is not forgotten: %+v", n1.state.View().Peers)
		}
		pass(10 * time.Minute)
		n1.net.sever("n2", "n1", false)
		n1.net.sever("n1", "n2", false)
		within(t, 8*time.Second, "it is back", func() bool { return n1.hears("n2") && n1.state.View().Objects[p] != nil })
	})
}

func TestACutOneWayMakesTheOtherDeaf(t *testing.T) {
	t.Parallel()
	bubble(t, []string{"n1", "n2"}, func(t world) {
		nodes := t.nodes
		n1, n2 := nodes["n1"], nodes["n2"]
		pass(time.Hour)
		if synctest.Wait(); n1.state.View().Peers["n2"].Deaf || n2.state.View().Peers["n1"].Deaf {
			t.Fatal("who hears is deaf")
		}
		n1.net.sever("n1", "n2", true)
		within(t, 30*time.Second, "n1 knows that n2 may not hear it any more", func() bool {
			return n1.hears("n2") && n1.state.View().Peers["n2"].Deaf
		})
		if !n2.hears("n1") {
			t.Error("n2 took n1 for silent before n1 knew that it might")
		}
		within(t, 15*time.Second, "n2 does not hear n1", func() bool { return !n2.hears("n1") })
		n1.net.sever("n1", "n2", false)
		within(t, 15*time.Second, "both hear", func() bool {
			return n2.hears("n1") && !n1.state.View().Peers["n2"].Deaf && n2.monitorOf("n1") == "idle"
		})
	})
}

func TestADaemonThatIsGoneIsNoticedAtOnce(t *testing.T) {
	t.Parallel()
	bubble(t, []string{"n1", "n2"}, func(t world) {
		nodes := t.nodes
		n1, n2 := nodes["n1"], nodes["n2"]
		n2.kill(t)
		if took := within(t, 2500*time.Millisecond, "it is stale", func() bool { return !n1.hears("n2") }); took < 1500*time.Millisecond {
			t.Errorf("stale after %v: it may have been restarted", took)
		}
		pass(time.Hour)
		n2.run(t)
		within(t, 7*time.Second, "its next life is heard", func() bool { return n1.hears("n2") && n2.hears("n1") && n1.monitorOf("n2") == "idle" })
		// One that restarts within a moment was never away.
		alive := n1.bus.Subscribe("test", func(e *event.Envelope) bool { return e.Kind == event.NodeStale{}.Kind() })
		defer alive.Close()
		n2.kill(t)
		n2.run(t)
		pass(time.Minute)
		synctest.Wait()
		if len(alive.C()) > 0 || !n1.hears("n2") {
			t.Error("a restart is a failure")
		}
	})
}

func TestWhoLeavesIsNotForgotten(t *testing.T) {
	t.Parallel()
	bubble(t, []string{"n1", "n2"}, func(t world) {
		nodes := t.nodes
		n1, n2 := nodes["n1"], nodes["n2"]
		n2.state.SetNodeMonitor("n2", cluster.NodeMonitor{State: "maintenance"})
		n2.manager.Leave(t.Context())
		n2.kill(t)
		within(t, 3*time.Second, "it is not heard", func() bool { return !n1.hears("n2") })
		pass(time.Hour)
		if synctest.Wait(); n1.monitorOf("n2") != "maintenance" || !n1.state.View().Peers["n2"].Left {
			t.Error("what it told is forgotten")
		}
		n1.manager.Forget("n2")
		if n1.monitorOf("n2") != "" {
			t.Error("what it told is not forgotten")
		}
		n2.state.SetNodeMonitor("n2", cluster.NodeMonitor{State: "idle"})
		n2.run(t)
		within(t, 7*time.Second, "it is back", func() bool { return n1.monitorOf("n2") == "idle" && !n1.state.View().Peers["n2"].Left })
	})
}

func TestTheConfigurationChangesWithoutALostBeat(t *testing.T) {
	t.Parallel()
	names := []string{"n1", "n2"}
	bubble(t, names, func(t world) {
		nodes := t.nodes
		stale := nodes["n1"].bus.Subscribe("test", func(e *event.Envelope) bool { return e.Kind == event.NodeStale{}.Kind() })
		defer stale.Close()
		each := func(change func(m *member, s *heartbeat.Settings)) {
			for _, name := range names {
				m := nodes[name]
				m.configure(func(s *heartbeat.Settings) { change(m, s) })
				pass(3 * time.Second) // one node after the other
			}
			pass(20 * time.Second)
			synctest.Wait()
			if len(stale.C()) > 0 || !nodes["n1"].hears("n2") || !nodes["n2"].hears("n1") {
				t.Fatal("beats were lost")
			}
		}
		each(func(m *member, s *heartbeat.Settings) { // another interval
			h := hb("hb#1")
			h.Interval = 2 * time.Second
			s.Heartbeats = []heartbeat.Setup{setup(m.name, names, h)}
		})
		each(func(m *member, s *heartbeat.Settings) { // one more
			s.Heartbeats = append(s.Heartbeats, setup(m.name, names, hb("hb#2")))
		})
		if got := nodes["n1"].manager.Names(); !slices.Equal(got, []string{"hb#1", "hb#2"}) {
			t.Errorf("%q", got)
		}
		each(func(m *member, s *heartbeat.Settings) { // another name for it
			s.Heartbeats = []heartbeat.Setup{setup(m.name, names, hb("hb#3"))}
		})
		each(func(_ *member, s *heartbeat.Settings) { // another secret
			s.Secrets = []secret.String{secret.New("new"), secret.New("secret")}
		})
		each(func(_ *member, s *heartbeat.Settings) { // the former one is forgotten
			s.Secrets = s.Secrets[:1]
		})
		each(func(m *member, s *heartbeat.Settings) {
			s.Heartbeats = append(s.Heartbeats, setup(m.name, names, hb("hb#4")))
		})
		for _, m := range nodes {
			m.configure(func(s *heartbeat.Settings) { s.Heartbeats = s.Heartbeats[:1] })
		}
		pass(time.Second)
		nodes["n2"].kill(t)
		within(t, 3*time.Second, "what was removed hides nothing", func() bool { return !nodes["n1"].hears("n2") })
	})
}

func TestAHeartbeatStoppedByHandIsSilent(t *testing.T) {
	t.Parallel()
	bubble(t, []string{"n1", "n2"}, func(t world) {
		nodes := t.nodes
		n1, n2 := nodes["n1"], nodes["n2"]
		if err := n1.manager.Stop("hb#1"); err != nil {
			t.Fatal(err)
		}
		within(t, 25*time.Second, "it is silent", func() bool { return !n1.hears("n2") && !n2.hears("n1") })
		if s := n1.manager.Status().Streams; len(s) != 2 || s[0].State != "stopped" || s[0].Peers["n2"].IsBeating {
			t.Errorf("%+v", s)
		}
		if err := n1.manager.Start("hb#1"); err != nil {
			t.Fatal(err)
		}
		within(t, 15*time.Second, "it beats", func() bool { return n1.hears("n2") && n2.hears("n1") })
		if err := n1.manager.Restart("hb#2"); err == nil {
			t.Error("a heartbeat that is not there restarts")
		}
	})
}

func TestAStrangerIsNotHeard(t *testing.T) {
	t.Parallel()
	bubble(t, []string{"n1", "n2"}, func(t world) {
		nodes := t.nodes
		n1, n2 := nodes["n1"], nodes["n2"]
		n2.kill(t)
		within(t, 3*time.Second, "it is stale", func() bool { return !n1.hears("n2") })
		n2.settings.Secrets = []secret.String{secret.New("another one")}
		n2.run(t)
		pass(time.Minute)
		if synctest.Wait(); n1.hears("n2") || n2.hears("n1") {
			t.Error("a node with another secret is heard")
		}
	})
}

func TestIdleTrafficDoesNotGrowWithObjects(t *testing.T) {
	t.Parallel()
	bubble(t, []string{"n1", "n2"}, func(t world) {
		nodes := t.nodes
		idle := func() int {
			pass(time.Minute)
			synctest.Wait()
			n := nodes["n1"].net
			n.mu.Lock()
			before := n.bytes["n1"]
			n.mu.Unlock()
			pass(10 * time.Minute)
			synctest.Wait()
			n.mu.Lock()
			defer n.mu.Unlock()
			return n.bytes["n1"] - before
		}
		few := idle()
		for i := range 500 {
			p := object.Path{Namespace: "root", Kind: object.KindSvc, Name: fmt.Sprint("s", i)}
			nodes["n1"].state.SetInstanceConfig(p, "n1", cluster.InstanceConfig{Path: p, Scope: []string{"n1", "n2"}})
			nodes["n1"].state.SetInstanceStatus(p, "n1", cluster.InstanceStatus{Avail: cluster.Up})
		}
		within(t, time.Minute, "they are known", func() bool { return len(nodes["n2"].state.View().Objects) == 500 })
		many := idle()
		if many > few*12/10 {
			t.Errorf("%d bytes in ten minutes, %d with 500 objects", few, many)
		}
		t.Logf("%d bytes in ten minutes, %d with 500 objects", few, many)
	})
}

// A peer that takes connections and closes them, as one that does not have the heartbeat
// yet, is not dialed without end.
func TestAPeerThatHasNotTheHeartbeatYetIsLeftAMoment(t *testing.T) {
	t.Parallel()
	names := []string{"n1", "n2"}
	bubble(t, names, func(t world) {
		nodes := t.nodes
		n1, n2 := nodes["n1"], nodes["n2"]
		n1.configure(func(s *heartbeat.Settings) { s.Heartbeats = append(s.Heartbeats, setup("n1", names, hb("hb#2"))) })
		pass(time.Second)
		n1.net.mu.Lock()
		before := n1.net.dials
		n1.net.mu.Unlock()
		pass(time.Minute)
		synctest.Wait()
		n1.net.mu.Lock()
		dials := n1.net.dials - before
		n1.net.mu.Unlock()
		if dials < 10 || dials > 70 {
			t.Errorf("dialed %d times in a minute", dials)
		}
		n2.configure(func(s *heartbeat.Settings) { s.Heartbeats = append(s.Heartbeats, setup("n2", names, hb("hb#2"))) })
		within(t, 10*time.Second, "it beats", func() bool {
			return slices.ContainsFunc(n2.manager.Status().Streams, func(s cluster.HeartbeatStream) bool { return s.ID == "hb#2.rx" && s.Peers["n1"].IsBeating })
		})
	})
}

func TestARotationEndsWhenEveryNodeHasTheSecret(t *testing.T) {
	t.Parallel()
	names := []string{"n1", "n2"}
	bubble(t, names, func(t world) {
		nodes := t.nodes
		n1, n2 := nodes["n1"], nodes["n2"]
		ends := n2.bus.Subscribe("test", func(e *event.Envelope) bool {
			return e.Kind == event.HeartbeatRotateSuccess{}.Kind() || e.Kind == event.HeartbeatRotateError{}.Kind()
		})
		defer ends.Close()
		defer ends.Close()
		fresh := []secret.String{secret.New("new"), secret.New("secret")}
		rotate := func() string {
			id, err := n1.manager.Rotate(t.Context(), func(context.Context) error {
				n1.configure(func(s *heartbeat.Settings) { s.Secrets = fresh })
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			return id
		}
		id := rotate()
		if _, err := n1.manager.Rotate(t.Context(), nil); err == nil {
			t.Error("two rotations at once")
		}
		pass(time.Minute)
		if synctest.Wait(); len(ends.C()) > 0 {
			t.Fatal("it ended before n2 had the secret")
		}
		n2.configure(func(s *heartbeat.Settings) { s.Secrets = fresh })
		within(t, 10*time.Second, "it ends, and the peers are told", func() bool { return len(ends.C()) == 1 })
		if e := <-ends.C(); e.Event != (event.HeartbeatRotateSuccess{ID: id}) || e.Labels["from"] != "peer" {
			t.Errorf("%+v", e)
		}
		fresh = []secret.String{secret.New("newer"), secret.New("new")}
		rotate()
		within(t, 6*time.Minute, "that a node does not have it is said", func() bool { return len(ends.C()) == 1 })
		if e := (<-ends.C()).Event; e.Kind() != (event.HeartbeatRotateError{}).Kind() {
			t.Errorf("%+v", e)
		}
		if !n1.hears("n2") || !n2.hears("n1") {
			t.Error("beats were lost")
		}
	})
}

// A daemon that was gone for long decides soon after its start whether it is alone: its
// peers do not wait for their next try.
func TestADaemonThatComesBackHearsItsPeersAtOnce(t *testing.T) {
	t.Parallel()
	for _, away := range []int{17, 18, 19, 20, 21} { // wherever the next try is
		bubble(t, []string{"n1", "n2", "n3"}, func(t world) {
			n1, n2, n3 := "n1", "n2", t.nodes["n3"]
			n3.kill(t)
			pass(time.Duration(away) * time.Second)
			n3.run(t)
			took := within(t, time.Minute, "n3 hears the others", func() bool { return n3.hears(n1) && n3.hears(n2) })
			if took > time.Second {
				t.Errorf("after %d s it took %s", away, took)
			}
		})
	}
}
