package replicate_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-ops/holdfast/internal/host"
	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/config"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/bus"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/replicate"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/state"
	"github.com/holdfast-ops/holdfast/internal/om/event"
	"github.com/holdfast-ops/holdfast/internal/om/heartbeat"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/store"
)

// network joins nodes that are directories and states of this process.
type network struct {
	t     *testing.T
	nodes map[string]*node

	mu      sync.Mutex
	cut     map[[2]string]bool
	parts   map[[2]string]*heartbeat.Part // what the second knows of the first
	fetches int
}

// node is one of the nodes, whose daemon runs or not.
type node struct {
	net   *network
	name  string
	paths host.Paths
	store *store.Store

	// Of the daemon, new at each start.
	live     *state.State // that peers reach, guarded by the lock of the network; nil: down
	cancel   context.CancelFunc
	done     chan struct{}
	life     int
	state    *state.State
	bus      *bus.Bus
	events   *bus.Subscription
	frozen   map[object.Path]bool
	retired  map[object.Path]string
	retiring func(p object.Path, purge bool) error
	copies   *replicate.Replicator
}

const clusterConf = `[DEFAULT]
id = 0e745444-6724-48f9-8167-e865b4f9ec94

[cluster]
id = 0e745444-6724-48f9-8167-e865b4f9ec95
name = test
nodes = %s
secret = 0123456789abcdef0123456789abcdef
`

// run plays a story on nodes n1, n2... whose daemons run, in virtual time.
func run(t *testing.T, count int, story func(net *network)) {
	t.Helper()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		t.Helper()
		net := &network{t: t, nodes: map[string]*node{}, cut: map[[2]string]bool{}, parts: map[[2]string]*heartbeat.Part{}}
		names := make([]string, count)
		for i := range names {
			names[i] = fmt.Sprint("n", i+1)
		}
		for _, name := range names {
			n := &node{net: net, name: name, paths: host.Paths{Root: filepath.Join(dir, name)}}
			n.store = store.New(host.Host{Paths: n.paths, Hostname: name}, nil)
			n.put("cluster.conf", fmt.Sprintf(clusterConf, strings.Join(names, " ")))
			net.nodes[name] = n
		}
		for _, name := range names {
			net.nodes[name].start()
		}
		synctest.Wait()
		story(net)
		for _, n := range net.nodes {
			n.stop()
		}
		synctest.Wait()
	})
}

func (n *node) put(name, text string) {
	n.net.t.Helper()
	file := filepath.Join(n.paths.Etc(), name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(text), 0o600)); err != nil {
		n.net.t.Fatal(err)
	}
}

// start starts the daemon of a node.
func (n *node) start() {
	n.bus = bus.New(n.name)
	n.state = state.New(n.name, n.bus)
	n.events = n.bus.Subscribe("test", func(e *event.Envelope) bool {
		return slices.Contains([]string{"ConfigFileConflict", "InstanceConfigFor"}, e.Kind)
	})
	passedOn := n.bus.Subscribe("pump", func(e *event.Envelope) bool {
		return slices.Contains(event.Forwarded(), e.Kind) && e.Labels["node"] == n.name
	})
	n.frozen, n.retired = map[object.Path]bool{}, map[object.Path]string{}
	ready := make(chan struct{})
	r := replicate.New(replicate.Options{
		Paths: n.paths, Store: n.store, State: n.state, Bus: n.bus, Discover: n, Fetch: n,
		Freeze: func(p object.Path) error { n.frozen[p] = true; return nil },
		Retire: func(_ context.Context, p object.Path, purge bool) error {
			n.retired[p] = map[bool]string{true: "purged", false: "deleted"}[purge]
			if n.retiring != nil {
				return n.retiring(p, purge)
			}
			return nil
		},
		Log: slog.New(slog.NewTextHandler(n.log(), &slog.HandlerOptions{Level: slog.LevelDebug})).With(slog.String("node", n.name)), Ready: ready,
	})
	n.copies = r
	ctx, cancel := context.WithCancel(n.net.t.Context())
	n.cancel, n.done = cancel, make(chan struct{})
	done := n.done
	paths, err := n.store.List()
	if err != nil {
		n.net.t.Fatal(err)
	}
	for _, p := range paths {
		n.read(p)
	}
	close(ready)
	n.net.mu.Lock()
	n.life++
	n.live = n.state
	for link, part := range n.net.parts {
		if link[0] == n.name || link[1] == n.name {
			*part = heartbeat.Part{}
		}
	}
	n.net.mu.Unlock()
	go func() {
		defer close(done)
		var wg sync.WaitGroup
		wg.Go(func() {
			if err := r.Run(ctx); err != nil {
				n.net.t.Error(err)
			}
		})
		wg.Go(func() { n.pump(ctx, passedOn) })
		wg.Wait()
	}()
	for _, peer := range n.net.nodes {
		if peer != n {
			peer.tell()
		}
	}
}

func (n *node) log() io.Writer {
	if testing.Verbose() {
		return os.Stderr
	}
	return io.Discard
}

func (n *node) stop() {
	if n.cancel == nil {
		return
	}
	n.cancel()
	<-n.done
	n.cancel = nil
	n.net.mu.Lock()
	n.live = nil
	n.net.mu.Unlock()
	for _, peer := range n.net.nodes {
		if s := n.net.reach(n.name, peer.name); s != nil {
			s.Forget(n.name)
		}
	}
}

// reach is the state of a running node, nil when it cannot be reached.
func (net *network) reach(from, to string) *state.State {
	net.mu.Lock()
	defer net.mu.Unlock()
	if from == to || net.cut[[2]string{min(from, to), max(from, to)}] {
		return nil
	}
	return net.nodes[to].live
}

// pump tells the peers that can be reached what the node says of itself.
func (n *node) pump(ctx context.Context, passedOn *bus.Subscription) {
	defer passedOn.Close()
	for {
		n.tell()
		select {
		case <-ctx.Done():
			return
		case e := <-passedOn.C():
			n.state.Forward(e.Event)
		case <-n.state.Changed():
		}
	}
}

func (n *node) tell() {
	for name := range n.net.nodes {
		own, peer := n.net.live(n.name), n.net.reach(n.name, name)
		if own == nil || peer == nil {
			continue
		}
		n.net.mu.Lock()
		link := [2]string{n.name, name}
		part := n.net.parts[link]
		if part == nil {
			part = &heartbeat.Part{}
			n.net.parts[link] = part
		}
		part.Incarnation = heartbeat.Incarnation(strconv.Itoa(n.life))
		entries, to, head, _ := own.Delta(part.Gen, 1<<20)
		news, _ := part.Take(&heartbeat.Message{Node: n.name, Incarnation: part.Incarnation, Base: part.Gen, To: to, Head: head, Entries: entries})
		n.net.mu.Unlock()
		peer.Apply(n.name, news)
	}
}

func (net *network) live(name string) *state.State {
	net.mu.Lock()
	defer net.mu.Unlock()
	return net.nodes[name].live
}

// split cuts some nodes from all others; forget tells whether they are dropped.
func (net *network) split(side ...string) {
	for a := range net.nodes {
		for b := range net.nodes {
			if slices.Contains(side, a) == slices.Contains(side, b) || a >= b {
				continue
			}
			net.mu.Lock()
			net.cut[[2]string{a, b}] = true
			net.mu.Unlock()
			for _, pair := range [][2]string{{a, b}, {b, a}} {
				if s := net.live(pair[0]); s != nil {
					s.Forget(pair[1])
				}
			}
		}
	}
	net.mu.Lock()
	for link, part := range net.parts {
		if net.cut[[2]string{min(link[0], link[1]), max(link[0], link[1])}] {
			*part = heartbeat.Part{}
		}
	}
	net.mu.Unlock()
}

func (net *network) heal() {
	net.mu.Lock()
	clear(net.cut)
	net.mu.Unlock()
	for _, n := range net.nodes {
		n.tell()
	}
}

// pass lets virtual time pass.
func (net *network) pass(d time.Duration) {
	<-time.NewTimer(d).C
	synctest.Wait()
}

// settle lets everything happen that does within a few minutes.
func (net *network) settle() {
	net.pass(3 * time.Minute)
}

// Refresh implements replicate.Reader.
func (n *node) Refresh(p object.Path) error {
	n.read(p)
	return nil
}

// read is what the discovery of the daemon does.
func (n *node) read(p object.Path) {
	f, err := n.store.Load(p)
	if missing := (*object.NotFoundError)(nil); errors.As(err, &missing) {
		n.bus.Publish(event.ConfigFileRemoved{Path: p})
		n.state.DeleteInstance(p, n.name)
		return
	}
	n.bus.Publish(event.ConfigFileUpdated{Path: p})
	if err != nil {
		return
	}
	if p == object.Cluster() {
		c, err := n.store.Cluster()
		if err != nil {
			n.net.t.Error(err)
			return
		}
		n.state.SetClusterConfig(cluster.Config{Nodes: c.Nodes})
		return
	}
	scope, err := n.store.Scope(p, f.Doc)
	if err != nil {
		n.net.t.Error(err)
	}
	if !slices.Contains(scope, n.name) {
		n.state.DeleteInstance(p, n.name)
		return
	}
	n.state.SetInstanceConfig(p, n.name, cluster.InstanceConfig{Path: p, Scope: scope, Checksum: f.Checksum})
	n.state.SetInstanceStatus(p, n.name, cluster.InstanceStatus{Avail: cluster.Down})
}

// Fetch implements replicate.Fetcher.
func (n *node) Fetch(_ context.Context, from string, p object.Path) (replicate.File, error) {
	n.net.mu.Lock()
	n.net.fetches++
	n.net.mu.Unlock()
	if n.net.reach(n.name, from) == nil {
		return replicate.File{}, errors.New("no route")
	}
	text, err := n.net.nodes[from].store.Text(p)
	return replicate.File{Data: text.Data, ModTime: text.ModTime}, err
}

// set changes an option, as om config update does on the node.
func (n *node) set(p object.Path, ops ...string) {
	n.net.t.Helper()
	c := config.Change{}
	for _, text := range ops {
		op, err := config.ParseOp(text)
		if err != nil {
			n.net.t.Fatal(err)
		}
		c.Set = append(c.Set, op)
	}
	var err error
	if n.store.Exists(p) {
		_, err = n.store.Update(n.net.t.Context(), p, c)
	} else {
		_, err = n.store.Create(n.net.t.Context(), p, nil, store.CreateOptions{Change: c})
	}
	if err != nil {
		n.net.t.Fatal(err)
	}
	n.seen(p)
}

// seen has a running daemon see a change.
func (n *node) seen(p object.Path) {
	if n.cancel != nil {
		n.read(p)
	}
}

// remove deletes the object on the node, as an orchestration does.
func (n *node) remove(p object.Path) {
	n.net.t.Helper()
	if err := n.store.DeleteEverywhere(n.net.t.Context(), p); err != nil {
		n.net.t.Fatal(err)
	}
	n.seen(p)
}

func (n *node) text(p object.Path) string {
	n.net.t.Helper()
	text, err := n.store.Text(p)
	if missing := (*object.NotFoundError)(nil); errors.As(err, &missing) {
		return ""
	}
	if err != nil {
		n.net.t.Fatal(err)
	}
	return string(text.Data)
}

// backups are the contents of the archive of an object.
func (n *node) backups(p object.Path) (texts []string) {
	n.net.t.Helper()
	names, err := filepath.Glob(filepath.Join(n.paths.Var(), "backup", strings.ReplaceAll(p.FQN(), "/", ".")+"_*.bck"))
	if err != nil {
		n.net.t.Fatal(err)
	}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			n.net.t.Fatal(err)
		}
		texts = append(texts, string(data))
	}
	return texts
}

// conflicts are those a node was told of.
func (n *node) conflicts() []event.ConfigFileConflict { return told[event.ConfigFileConflict](n) }

// told are the events of a kind on a node, since its daemon started.
func told[E event.Event](n *node) (all []E) {
	for {
		select {
		case e := <-n.events.C():
			if one, ok := e.Event.(E); ok {
				all = append(all, one)
			}
		default:
			return all
		}
	}
}

// same checks that the nodes have one content, which has a line.
func (net *network) same(p object.Path, line string, names ...string) {
	net.t.Helper()
	first := net.nodes[names[0]].text(p)
	for _, name := range names {
		text := net.nodes[name].text(p)
		if text != first {
			net.t.Errorf("%s differs:\n%s: %s\n%s: %s", p, names[0], first, name, text)
		}
		if !strings.Contains(text, line) {
			net.t.Errorf("%s on %s has no %q:\n%s", p, name, line, text)
		}
	}
}
