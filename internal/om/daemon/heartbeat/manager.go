package heartbeat

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"log/slog"
	"reflect"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/bus"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/standing"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/state"
	"github.com/holdfast-ops/holdfast/internal/om/event"
	"github.com/holdfast-ops/holdfast/internal/om/heartbeat"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/secret"
)

// Settings are what the configuration says of the heartbeats.
type Settings struct {
	Cluster    string          // the id of the cluster
	Secrets    []secret.String // the current one, then the former ones
	Heartbeats []Setup
}

// Options are what a manager works with.
type Options struct {
	Node    string
	State   *state.State
	Bus     *bus.Bus
	Log     *slog.Logger
	Ready   <-chan struct{}  // closed once this node knows its own part
	Drivers map[string]Maker // by the type of heartbeat
	Compat  uint64           // version of what the nodes say to one another

	// Settings reads the configuration for these nodes of the cluster.
	Settings func(nodes []string) (Settings, error)
}

const (
	coalesce = 5 * time.Millisecond    // changes that come together are told together
	ackDelay = 20 * time.Millisecond   // a peer that told something hears that it is known
	watchGap = time.Second             // how often silence is looked at, at least
	pauseMin = time.Second             // this process stood still when it looks later than that
	hasty    = 5 * time.Second         // refusals that are further apart have nothing to do with each other
	goneFor  = 1500 * time.Millisecond // a peer that refuses for that long is gone: its daemon was not restarted at once
	refusals = 3

	rememberBeats = 1024 // an echo of an older one is none

	pieceMax = 256 << 10 // bytes of entries in a message
	pieceMin = 4 << 10
	bytesPer = 5 << 10 // what is told in a millisecond, at most
)

// Manager tells the peers what this node is and does, and takes what they tell.
//
//	state --Changed--> speak --payload--> outbox of each driver --frame--> peers
//	peers --frame--> driver --Received--> exchange --news--> state
//	                                         \-beat-> watch --> state.SetPeer, Forget
type Manager struct {
	o           Options
	incarnation heartbeat.Incarnation
	log         *standing.Conditions

	asked chan struct{} // the configuration is to be looked at, or a heartbeat by hand
	soon  chan struct{} // something is to be told
	quiet chan struct{} // a deadline moved closer

	mu       sync.Mutex
	keys     *heartbeat.Keyring
	settings Settings
	exchange *heartbeat.Exchange
	counter  uint64
	payload  heartbeat.Payload
	streams  map[string]*stream
	stopped  map[string]bool // by hand
	peers    map[string]*cluster.Peer
	last     map[string]cluster.HeartbeatMessage // by node
	due      time.Time                           // when to tell next; zero: nothing to tell
	spoke    time.Time
	gap      time.Duration // until it is told again, at least
	piece    int           // bytes of entries told at once
	acked    uint64        // by the slowest peer, when it was told last
	kind     string
	leaving  bool
	rotation rotation
	said     map[refusedKey]refusedSaid
	beats    [rememberBeats]time.Time // when the last messages were made, by number
	beaten   uint64                   // the number of the last one
	echoed   map[string]time.Time     // when the newest was made that a peer received
	grace    map[string]time.Time     // until when a node is taken for heard whose heartbeat was removed
}

// New returns a manager of one life of the daemon. Nothing is sent before
// [Manager.Run].
func New(o Options) *Manager {
	i := heartbeat.Incarnation(random(16))
	return &Manager{
		o: o, incarnation: i, log: &standing.Conditions{},
		asked: make(chan struct{}, 1), soon: make(chan struct{}, 1), quiet: make(chan struct{}, 1),
		exchange: heartbeat.NewExchange(o.Node, i, func() string { return random(8) }),
		streams:  map[string]*stream{}, stopped: map[string]bool{}, peers: map[string]*cluster.Peer{},
		last: map[string]cluster.HeartbeatMessage{}, piece: pieceMax, kind: heartbeat.KindPing, said: map[refusedKey]refusedSaid{}, grace: map[string]time.Time{}, echoed: map[string]time.Time{},
	}
}

func random(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // it never fails
	return hex.EncodeToString(b)
}

// Run beats until ctx ends.
func (m *Manager) Run(ctx context.Context) error {
	select {
	case <-m.o.Ready:
	case <-ctx.Done():
		return nil
	}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { m.configure(ctx); return nil })
	g.Go(func() error { m.speak(ctx); return nil })
	g.Go(func() error { m.watch(ctx); return nil })
	g.Go(func() error { m.forward(ctx); return nil })
	return g.Wait()
}

// configure runs the heartbeats that the configuration has, as it changes.
func (m *Manager) configure(ctx context.Context) {
	changes := m.o.Bus.Latest("heartbeat", func(e *event.Envelope) (string, bool) {
		switch ev := e.Event.(type) {
		case event.ClusterConfigUpdated:
			return "", true
		case event.ConfigFileUpdated:
			return "", ev.Path.IsZero() || ev.Path == object.Cluster()
		}
		return "", false
	})
	defer changes.Close()
	defer m.end()
	for {
		m.reconcile(ctx)
		select {
		case <-ctx.Done():
			return
		case <-m.asked:
		case <-changes.C():
			changes.Take()
		}
	}
}

// reconcile starts, stops and replaces what the configuration changed, and nothing
// else: what did not change keeps beating.
func (m *Manager) reconcile(ctx context.Context) {
	nodes := m.o.State.View().Config.Nodes
	settings := Settings{}
	if len(nodes) > 1 {
		var err error
		if settings, err = m.o.Settings(nodes); err != nil {
			if m.log.News("settings", err.Error()) {
				m.o.Log.Error("configuration of the heartbeats: those of before stay", slog.Any("err", err))
			}
			return
		}
		m.log.Over("settings")
	}
	keys, err := heartbeat.NewKeyring(settings.Cluster, settings.Secrets...)
	if err != nil {
		m.o.Log.Error("keys of the heartbeats: those of before stay", slog.Any("err", err))
		return
	}
	m.mu.Lock()
	if m.keys == nil || settings.Cluster != m.settings.Cluster || !slices.EqualFunc(settings.Secrets, m.settings.Secrets, secret.String.Equal) {
		m.keys = keys
	}
	m.settings = settings
	m.setPeers(nodes)
	var ending []*stream
	wanted := map[string]bool{}
	for _, setup := range settings.Heartbeats {
		wanted[setup.Name] = true
		was := m.streams[setup.Name]
		stopped := m.stopped[setup.Name]
		if was != nil && reflect.DeepEqual(was.setup, setup) && was.isStopped() == stopped && !was.again {
			continue
		}
		if was != nil {
			ending = append(ending, was)
		}
		m.streams[setup.Name] = m.newStream(setup, was)
	}
	for name, s := range m.streams {
		if !wanted[name] {
			m.outlive(s)
			ending = append(ending, s)
			delete(m.streams, name)
			delete(m.stopped, name)
		}
	}
	m.mu.Unlock()
	for _, s := range ending {
		s.stop() // before the next one takes its port or its device
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range m.streams {
		if !s.started && !m.stopped[s.setup.Name] {
			m.start(ctx, s)
		}
	}
	m.judge(time.Now())
	m.settle(time.Now())
	m.publish()
	m.tellSoon(0)
}

// setPeers follows the nodes of the cluster.
func (m *Manager) setPeers(nodes []string) {
	others := slices.DeleteFunc(slices.Clone(nodes), func(n string) bool { return n == m.o.Node })
	for _, gone := range m.exchange.SetPeers(others) {
		delete(m.peers, gone)
		delete(m.last, gone)
		delete(m.echoed, gone)
	}
	for _, node := range others {
		if m.peers[node] == nil {
			m.peers[node] = &cluster.Peer{}
			m.o.State.SetPeer(node, cluster.Peer{})
		}
	}
}

// outlive has those that only this heartbeat hears be heard until it would have missed
// them: another one takes its place.
func (m *Manager) outlive(s *stream) {
	for node, b := range s.rx {
		elsewhere := false
		for _, o := range m.streams {
			elsewhere = elsewhere || o != s && o.rx[node] != nil && o.rx[node].beating
		}
		if until := b.at.Add(s.setup.Timeout); b.beating && !elsewhere && until.After(m.grace[node]) {
			m.grace[node] = until
		}
	}
}

// end stops every heartbeat.
func (m *Manager) end() {
	m.mu.Lock()
	all := make([]*stream, 0, len(m.streams))
	for _, s := range m.streams {
		all = append(all, s)
	}
	m.mu.Unlock()
	for _, s := range all {
		s.stop()
	}
}

// forward passes on the events of this node that peers are told of.
func (m *Manager) forward(ctx context.Context) {
	kinds := event.Forwarded()
	events := m.o.Bus.Subscribe("heartbeat forward", func(e *event.Envelope) bool {
		return e.Labels["from"] == "" && slices.Contains(kinds, e.Kind)
	})
	defer events.Close()
	for {
		select {
		case <-ctx.Done():
			return
		case e, open := <-events.C():
			if !open {
				return
			}
			m.o.State.Forward(e.Event)
		}
	}
}

// ErrUnknown is the error of a heartbeat that is not configured.
var ErrUnknown = errors.New("no such heartbeat")

// Start runs a heartbeat that was stopped.
func (m *Manager) Start(name string) error { return m.order(name, false, false) }

// Stop stops a heartbeat, until it is started or the daemon restarts.
func (m *Manager) Stop(name string) error { return m.order(name, true, false) }

// Restart stops and starts a heartbeat.
func (m *Manager) Restart(name string) error { return m.order(name, false, true) }

func (m *Manager) order(name string, stopped, again bool) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.streams[name]
	if s == nil {
		return ErrUnknown
	}
	m.stopped[name], s.again = stopped, again
	select {
	case m.asked <- struct{}{}:
	default: // it is about to look
	}
	return nil
}

// Names lists the heartbeats, sorted.
func (m *Manager) Names() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var names []string
	for name := range m.streams {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Pace is within how long a peer that is well is heard: at once where a connection is
// made, else by the shortest interval.
func (m *Manager) Pace() time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	pace := time.Duration(-1)
	for _, s := range m.streams {
		every := s.setup.Interval
		if s.setup.Type == "unicast" {
			every = 0
		}
		if pace < 0 || every < pace {
			pace = every
		}
	}
	return max(pace, 0)
}

// Setup returns a heartbeat as it is configured.
func (m *Manager) Setup(name string) (Setup, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.streams[name]
	if s == nil {
		return Setup{}, ErrUnknown
	}
	return s.setup, nil
}
