// Package replicate has the configurations of the objects, and of the cluster, become
// one on every node they are for.
//
//	file here, record beside it ----> look ---> announce <path>/version ----> peers
//	announcements of the peers  ----> replication.Decide
//	                                      |-> fetch from a peer, install
//	                                      |-> archive and remove
//	                                      \-> have the object deleted
//
// What is decided is in package replication; here is what sees and what does. One
// goroutine hears what changed; each configuration is looked at in a goroutine of its
// own, one at a time, so that a peer that hangs, or a file that cannot be written,
// holds up no other.
//
// The checksum of a file says that it changed, never its time. A version is durable
// before it is announced.
package replicate

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-ops/holdfast/internal/host"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/bus"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/standing"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/state"
	"github.com/holdfast-ops/holdfast/internal/om/event"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/store"
)

// File is the configuration of an object on a peer.
type File struct {
	Data    []byte
	ModTime time.Time
}

// Fetcher gets configurations from peers.
type Fetcher interface {
	Fetch(ctx context.Context, node string, p object.Path) (File, error)
}

// Reader has the daemon read a configuration that was installed or removed;
// *discover.Discovery is one.
type Reader interface {
	Refresh(p object.Path) error
}

// Options are what a replicator works with.
type Options struct {
	Paths    host.Paths
	Store    *store.Store
	State    *state.State
	Bus      *bus.Bus
	Discover Reader
	Fetch    Fetcher
	// Freeze freezes the local instance of an object.
	Freeze func(p object.Path) error
	// Retire has the local instance of an object that was deleted elsewhere deleted, with
	// its data when it was purged. It returns once that is under way.
	Retire func(ctx context.Context, p object.Path, purge bool) error
	// Local tells the objects that each node has its own of; nil: none.
	Local func(p object.Path) bool
	Log   *slog.Logger
	Ready <-chan struct{} // closed once the configurations are known
}

const (
	// removalDelay is how long a file must be gone to be removed by hand: editors take
	// a file away before they write it again.
	removalDelay = time.Second
	// busyDelay is how long after somebody was seen writing a file it is looked at again.
	busyDelay = 20 * time.Millisecond
	// What fails is tried again after firstRetry, then after twice as long each time, up
	// to lastRetry.
	firstRetry = time.Second
	lastRetry  = time.Minute
	// fetchTimeout bounds one fetch from one peer.
	fetchTimeout = 15 * time.Second
	// forgetAfter is how long everybody must have known of a deletion before it is
	// forgotten.
	forgetAfter = 10 * time.Minute
	// maxGone bounds the deletions that are remembered for nodes that stay away.
	maxGone = 10000
	// Configurations looked at, and fetched from one peer, at once.
	maxLooks   = 8
	maxFetches = 8
)

const (
	suffix     = "/version"
	objectKey  = "instance/"
	clusterKey = "cluster" + suffix
	// toldKey is announced once everything that is here is: what is not announced then
	// is not here.
	toldKey = "cluster/versions"
)

func keyOf(p object.Path) string {
	if p == object.Cluster() {
		return clusterKey
	}
	return objectKey + p.FQN() + suffix
}

func pathOf(key string) (object.Path, bool) {
	if key == clusterKey {
		return object.Cluster(), true
	}
	rest, ok := strings.CutPrefix(key, objectKey)
	if !ok {
		return object.Path{}, false
	}
	parts := strings.Split(strings.TrimSuffix(rest, suffix), "/")
	if len(parts) != 3 || !strings.HasSuffix(rest, suffix) {
		return object.Path{}, false
	}
	p := object.Path{Namespace: parts[0], Kind: object.Kind(parts[1]), Name: parts[2]}
	return p, p.Validate() == nil && p != object.Cluster()
}

// Replicator replicates. Make one with [New], and run it.
type Replicator struct {
	o        Options
	self     string
	records  records
	said     standing.Conditions
	events   *bus.Latest
	announce *state.Follower
	looks    chan struct{} // one for each look in progress
	expired  chan object.Path

	mu      sync.Mutex
	items   map[object.Path]*item
	fetches map[string]chan struct{} // by peer
	stamp   uint64                   // the greatest one seen, of anything
	gone    map[object.Path]uint64   // when the objects were deleted whose end is remembered
	maxGone int
	first   int // looks left before everything that is here is announced
	ended   bool
	wg      sync.WaitGroup
}

// item is one configuration. The lock of the replicator guards the first part; the
// rest belongs to the look in progress.
type item struct {
	path    object.Path
	running bool
	again   bool
	timer   *time.Timer
	cancel  context.CancelFunc // of the fetch in progress
	goal    string             // the last deletion that was asked for

	record    *record   // nil: nothing is known
	legacy    bool      // it was there before this began, and no version of it is recorded
	missing   time.Time // since when the file is not there
	idle      time.Time // since when its deletion serves nobody
	tries     int
	overruled map[string]string // checksums, by peer, of what was said to lose
	retired   bool              // it was asked to be deleted here
	scope     []string          // of the file here
	has       bool
}

// New returns a replicator, which follows what changes from here on.
func New(o Options) *Replicator {
	if o.Local == nil {
		o.Local = func(object.Path) bool { return false }
	}
	r := &Replicator{
		o: o, self: o.State.Node(), records: records{filepath.Join(o.Paths.Var(), "replica")}, looks: make(chan struct{}, maxLooks), expired: make(chan object.Path, 1),
		items: map[object.Path]*item{}, fetches: map[string]chan struct{}{},
		gone: map[object.Path]uint64{}, maxGone: maxGone,
	}
	r.events = o.Bus.Latest("replicate", r.heard)
	r.announce = o.State.Follow(func(key string) bool { return key == toldKey || strings.HasSuffix(key, suffix) })
	return r
}

// heard is the key of an event that matters.
func (r *Replicator) heard(e *event.Envelope) (key string, wanted bool) {
	switch ev := e.Event.(type) {
	case event.ConfigFileUpdated:
		return "file " + ev.Path.FQN(), !ev.Path.IsZero()
	case event.ConfigFileRemoved:
		return "file " + ev.Path.FQN(), !ev.Path.IsZero()
	case event.ClusterConfigUpdated:
		return "cluster", true
	case event.InstanceMonitorUpdated:
		return "goal " + ev.Path.FQN(), ev.Node == r.self && isEnd(ev.Monitor.GlobalExpect)
	case event.InstanceStatusUpdated:
		return "status " + ev.Path.FQN(), ev.Node == r.self && r.waits(ev.Path)
	}
	return "", false
}

const (
	purged  = "purged"
	deleted = "deleted"
)

func isEnd(goal string) bool { return goal == purged || goal == deleted }

// waits tells whether the end of what runs here is waited for.
func (r *Replicator) waits(p object.Path) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := r.items[p]
	return i != nil && i.timer != nil
}

// Run replicates until ctx ends.
func (r *Replicator) Run(ctx context.Context) error {
	defer r.end()
	defer r.events.Close()
	defer r.announce.Close()
	select {
	case <-r.o.Ready:
	case <-ctx.Done():
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if err := r.begin(ctx); err != nil {
		return err
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-r.events.C():
			r.takeEvents(ctx)
		case <-r.announce.C():
			r.takeAnnouncements(ctx)
		case p := <-r.expired:
			r.wake(ctx, p, false)
		}
	}
}

// end waits for the looks in progress. None begins any more.
func (r *Replicator) end() {
	r.mu.Lock()
	r.ended = true
	for _, i := range r.items {
		if i.timer != nil {
			i.timer.Stop()
		}
	}
	r.mu.Unlock()
	r.wg.Wait()
}

// begin looks at everything there is.
func (r *Replicator) begin(ctx context.Context) error {
	known, err := r.records.load()
	if err != nil {
		r.o.Log.Warn("versions of configurations", slog.Any("err", err))
	}
	here, err := r.o.Store.List()
	if err != nil {
		return fmt.Errorf("replicate the configurations: %w", err)
	}
	gone, err := r.o.Store.Deletions()
	if err != nil {
		r.o.Log.Warn("deletions", slog.Any("err", err))
	}
	paths := map[object.Path]bool{object.Cluster(): true}
	for _, p := range slices.Concat(here, gone) {
		paths[p] = true
	}
	r.mu.Lock()
	for p, one := range known {
		paths[p] = true
		r.items[p] = &item{path: p, record: one}
		r.seen(one.Version.At, one.Version.Born)
		if one.Version.IsGone() {
			r.gone[p] = one.Version.At
		}
	}
	for _, p := range here {
		if known[p] == nil {
			r.items[p] = &item{path: p, legacy: true}
		}
	}
	r.first = 1
	r.mu.Unlock()
	r.wakeAll(ctx, paths, true)
	r.looked()
	for _, a := range r.o.State.Announcements(func(key string) bool { return strings.HasSuffix(key, suffix) }) {
		if p, ok := pathOf(a.Key); ok && a.Node != r.self && !paths[p] {
			r.wake(ctx, p, false)
		}
	}
	return nil
}

// looked counts the looks at what was here at first: then everything is announced.
func (r *Replicator) looked() {
	r.mu.Lock()
	r.first--
	done := r.first == 0
	r.mu.Unlock()
	if done {
		r.say(toldKey, struct{}{})
	}
}

func (r *Replicator) wakeAll(ctx context.Context, paths map[object.Path]bool, counts bool) {
	for p := range paths {
		if counts {
			r.mu.Lock()
			r.first++
			r.mu.Unlock()
		}
		r.wakeWith(ctx, p, false, counts)
	}
}

func (r *Replicator) takeEvents(ctx context.Context) {
	all := r.events.Take()
	for _, e := range all { // why something is removed is known first
		if ev, ok := e.Event.(event.InstanceMonitorUpdated); ok {
			r.mu.Lock()
			r.item(ev.Path).goal = ev.Monitor.GlobalExpect
			r.mu.Unlock()
		}
	}
	for _, e := range all {
		switch ev := e.Event.(type) {
		case event.ConfigFileUpdated:
			r.wake(ctx, ev.Path, false)
		case event.ConfigFileRemoved:
			r.wake(ctx, ev.Path, false)
		case event.InstanceStatusUpdated:
			r.wake(ctx, ev.Path, false)
		case event.ClusterConfigUpdated:
			r.wakeKnown(ctx)
		}
	}
}

func (r *Replicator) takeAnnouncements(ctx context.Context) {
	for _, a := range r.announce.Take() {
		if a.Node == r.self {
			continue
		}
		if a.Key == toldKey {
			r.wakeKnown(ctx) // what a node does not have is known by what it says it has
			continue
		}
		if p, ok := pathOf(a.Key); ok {
			r.wake(ctx, p, true)
		}
	}
}

func (r *Replicator) wakeKnown(ctx context.Context) {
	paths := map[object.Path]bool{}
	r.mu.Lock()
	for p := range r.items {
		paths[p] = true
	}
	r.mu.Unlock()
	for _, a := range r.o.State.Announcements(func(key string) bool { return strings.HasSuffix(key, suffix) }) {
		if p, ok := pathOf(a.Key); ok {
			paths[p] = true
		}
	}
	r.wakeAll(ctx, paths, false)
}

// item is that of a path; the lock is held.
func (r *Replicator) item(p object.Path) *item {
	i := r.items[p]
	if i == nil {
		i = &item{path: p}
		r.items[p] = i
	}
	return i
}

// wake has a configuration looked at. A fetch in progress is given up when another
// version was announced meanwhile.
func (r *Replicator) wake(ctx context.Context, p object.Path, announced bool) {
	r.wakeWith(ctx, p, announced, false)
}

func (r *Replicator) wakeWith(ctx context.Context, p object.Path, announced, counts bool) {
	if p.IsZero() || r.o.Local(p) || ctx.Err() != nil {
		if counts {
			r.looked()
		}
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return
	}
	i := r.item(p)
	if i.running {
		i.again = true
		if announced && i.cancel != nil {
			i.cancel()
		}
		return
	}
	if i.timer != nil {
		i.timer.Stop()
		i.timer = nil
	}
	i.running = true
	r.wg.Go(func() {
		r.run(ctx, i)
		if counts {
			r.looked()
		}
	})
}

// run looks at a configuration until nothing more is to be seen of it now.
func (r *Replicator) run(ctx context.Context, i *item) {
	for {
		wait, err := r.look(ctx, i)
		if err != nil && ctx.Err() == nil {
			wait = r.failed(i, err)
		} else if err == nil {
			i.tries = 0
		}
		r.mu.Lock()
		if i.again && ctx.Err() == nil {
			i.again = false
			r.mu.Unlock()
			continue
		}
		i.running = false
		switch {
		case ctx.Err() != nil:
		case wait > 0:
			i.timer = time.AfterFunc(wait, func() { r.wake(ctx, i.path, false) })
		case i.record == nil && !i.has && i.goal == "":
			delete(r.items, i.path)
		}
		r.mu.Unlock()
		return
	}
}

// failed says once what fails, and when it is tried again.
func (r *Replicator) failed(i *item, err error) time.Duration {
	i.tries++
	wait := min(firstRetry<<min(i.tries-1, 10), lastRetry)
	if r.said.News(i.path.String(), err.Error()) {
		r.o.Log.Error("replicate a configuration: it is tried again", slog.String("object", i.path.String()), slog.Any("err", err))
	}
	return wait
}

// seen takes note of a stamp; the lock is held.
func (r *Replicator) seen(stamps ...uint64) {
	for _, s := range stamps {
		r.stamp = max(r.stamp, s)
	}
}

// say announces a value. One that cannot be encoded is a mistake of this program.
func (r *Replicator) say(key string, v any) {
	if err := r.o.State.Announce(key, v); err != nil {
		r.o.Log.Error("announce", slog.Any("err", err))
	}
}
