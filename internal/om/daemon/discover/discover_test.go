package discover_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/holdfast-ops/holdfast/internal/host"
	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/bus"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/discover"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/state"
	"github.com/holdfast-ops/holdfast/internal/om/event"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// bench is a discovery over a directory, whose configurations are one word: the
// value of orchestrate, or "bad" for what cannot be evaluated.
type bench struct {
	*discover.Discovery

	t       *testing.T
	paths   host.Paths
	state   *state.State
	events  *bus.Subscription
	watcher watcher
	log     *logged
	site    struct {
		sync.Mutex
		name string
		err  error
	}
}

// logged is a log that can be read while it is written.
type logged struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logged) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

type watcher struct {
	mu        sync.Mutex
	requested map[object.Path]int
}

func (w *watcher) Request(p object.Path) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.requested[p]++
}

func (b *bench) Config(p object.Path) (cluster.InstanceConfig, error) {
	data, err := os.ReadFile(filepath.Join(b.paths.Etc(), p.ConfigFile()))
	if errors.Is(err, os.ErrNotExist) {
		return cluster.InstanceConfig{}, &object.NotFoundError{What: p.String()}
	}
	word := strings.TrimSpace(string(data))
	if err != nil || word == "bad" {
		return cluster.InstanceConfig{}, errors.Join(errors.New("line 1: not a section"), err)
	}
	return cluster.InstanceConfig{Path: p, Orchestrate: word}, nil
}

func (b *bench) settings() (cluster.Config, cluster.NodeConfig, error) {
	b.site.Lock()
	defer b.site.Unlock()
	return cluster.Config{Name: b.site.name, Nodes: []string{"n1"}}, cluster.NodeConfig{}, b.site.err
}

func newBench(t *testing.T) *bench {
	t.Helper()
	events := bus.New("n1")
	b := &bench{t: t, paths: host.Paths{Root: t.TempDir()}, state: state.New("n1", events), events: events.Subscribe("test", nil)}
	b.log = &logged{}
	b.watcher.requested = map[object.Path]int{}
	b.Discovery = discover.New(discover.Options{
		Paths: b.paths, Loader: b, Settings: b.settings, State: b.state, Bus: events, Evaluate: &b.watcher, Log: slog.New(slog.NewTextHandler(b.log, nil)),
	})
	return b
}

func (b *bench) run() *bench {
	b.t.Helper()
	ctx, cancel := context.WithCancel(b.t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := b.Run(ctx); err != nil {
			b.t.Error(err)
		}
	})
	b.t.Cleanup(func() { cancel(); wg.Wait() })
	select {
	case <-b.Ready():
	case <-time.NewTimer(time.Minute).C:
		b.t.Fatal("not ready")
	}
	return b
}

// write replaces a configuration the way a commit does.
func (b *bench) write(rel, text string) {
	b.t.Helper()
	b.put(filepath.Join(b.paths.Etc(), rel), text)
}

func (b *bench) put(file, text string) {
	b.t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		b.t.Fatal(err)
	}
	tmp := filepath.Join(filepath.Dir(file), "."+filepath.Base(file)+".tmp")
	if err := os.WriteFile(tmp, []byte(text), 0o600); err != nil {
		b.t.Fatal(err)
	}
	if err := os.Rename(tmp, file); err != nil {
		b.t.Fatal(err)
	}
}

// await reads events until one is of that kind, about that object.
func (b *bench) await(kind, path string) *event.Envelope {
	b.t.Helper()
	deadline := time.NewTimer(time.Minute)
	defer deadline.Stop()
	for {
		select {
		case e := <-b.events.C():
			if e.Kind == kind && (path == "" || e.Labels["path"] == path) {
				return e
			}
		case <-deadline.C:
			b.t.Fatalf("no %s of %q", kind, path)
		}
	}
}

// until reads events until the view is as wanted.
func (b *bench) until(wanted func() bool) {
	b.t.Helper()
	deadline := time.NewTimer(time.Minute)
	defer deadline.Stop()
	for !wanted() {
		select {
		case <-b.events.C():
		case <-deadline.C:
			b.t.Fatal("the view is not as wanted")
		}
	}
}

func (b *bench) config(path string) *cluster.InstanceConfig {
	b.t.Helper()
	p, err := object.Parse(path)
	if err != nil {
		b.t.Fatal(err)
	}
	o := b.state.View().Objects[p]
	if o == nil {
		return nil
	}
	return o.Instances["n1"].Config
}

func TestWhatIsThereAtTheStartIsKnownWhenReady(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.write("a.conf", "ha")
	b.write("vol/v.conf", "no")
	b.write("namespaces/ns1/svc/web.conf", "no")
	b.write("node.conf", "x")
	b.write("notes.txt", "x")
	b.write(".b.conf.swp", "x")
	b.run()

	for _, path := range []string{"a", "vol/v", "ns1/svc/web"} {
		if b.config(path) == nil {
			t.Errorf("%s is not known", path)
		}
	}
	if n := len(b.state.View().Objects); n != 3 {
		t.Errorf("%d objects, want 3", n)
	}
}

func TestChangesAreFollowed(t *testing.T) {
	t.Parallel()
	b := newBench(t).run()

	b.write("a.conf", "ha")
	b.await("ObjectCreated", "a")
	b.write("a.conf", "no")
	b.await("InstanceConfigUpdated", "a")
	e := b.await("InstanceConfigUpdated", "a")
	if u, ok := e.Event.(event.InstanceConfigUpdated); !ok || u.Config.Orchestrate != "no" {
		t.Errorf("%+v", e.Event)
	}
	if err := os.Remove(filepath.Join(b.paths.Etc(), "a.conf")); err != nil {
		t.Fatal(err)
	}
	b.await("ConfigFileRemoved", "a")
	b.await("InstanceConfigDeleted", "a")
	b.await("ObjectDeleted", "a")
}

func TestDirectoriesMadeLaterAreFollowed(t *testing.T) {
	t.Parallel()
	b := newBench(t).run()

	b.write("namespaces/new/svc/web.conf", "ha") // three directories at once
	b.await("ObjectCreated", "new/svc/web")
	b.write("namespaces/new/svc/web2.conf", "ha")
	b.await("ObjectCreated", "new/svc/web2")
	b.write("sec/s.conf", "no")
	b.await("ObjectCreated", "sec/s")

	if err := os.RemoveAll(filepath.Join(b.paths.Etc(), "namespaces", "new")); err != nil {
		t.Fatal(err)
	}
	b.await("ObjectDeleted", "")
	b.await("ObjectDeleted", "")
}

func TestADirectoryMovedAwayTakesItsObjectsAlong(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.write("namespaces/ns1/svc/web.conf", "ha")
	b.run()
	if err := os.Rename(filepath.Join(b.paths.Etc(), "namespaces"), filepath.Join(b.paths.Etc(), "old")); err != nil {
		t.Fatal(err)
	}
	b.await("ObjectDeleted", "ns1/svc/web")
}

func TestABadConfigurationIsNotADeletion(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.write("a.conf", "ha")
	b.write("new.conf", "bad")
	b.run()

	b.write("a.conf", "bad")
	b.await("InstanceConfigUpdated", "a")
	b.await("InstanceConfigUpdated", "a")

	if c := b.config("a"); c == nil || c.Orchestrate != "ha" || len(c.Issues) != 1 || !strings.Contains(c.Issues[0], "not a section") {
		t.Errorf("a: %+v", c)
	}
	if c := b.config("new"); c == nil || len(c.Issues) != 1 {
		t.Errorf("new: %+v", c)
	}
	b.write("a.conf", "no")
	b.await("InstanceConfigUpdated", "a")
	if c := b.config("a"); c == nil || c.Orchestrate != "no" || len(c.Issues) != 0 {
		t.Errorf("repaired: %+v", c)
	}
}

func TestAnUnreadableConfigurationIsNotADeletion(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.write("a.conf", "ha")
	b.run()
	// In the place of the file at once: between a removal and a link there is none.
	link := filepath.Join(b.paths.Etc(), "link")
	if err := os.Symlink("a.conf", link); err != nil { // too many links
		t.Fatal(err)
	}
	if err := os.Rename(link, filepath.Join(b.paths.Etc(), "a.conf")); err != nil {
		t.Fatal(err)
	}
	p := object.Path{Namespace: "root", Kind: object.KindSvc, Name: "a"}
	for c := b.config("a"); c == nil || len(c.Issues) == 0; c = b.config("a") {
		if err := b.Refresh(p); err == nil {
			continue
		}
	}
	if c := b.config("a"); c.Orchestrate != "ha" {
		t.Errorf("%+v", c)
	}
}

func TestRefreshReadsYourWrites(t *testing.T) {
	t.Parallel()
	b := newBench(t) // not running: nothing but Refresh reads
	p := object.Path{Namespace: "root", Kind: object.KindSvc, Name: "a"}
	var missing *object.NotFoundError
	if err := b.Refresh(p); !errors.As(err, &missing) {
		t.Errorf("a missing object: %v", err)
	}

	for i := range 20 { // within a tick of the clock of the file system
		word := []string{"no", "ha"}[i%2]
		b.write("a.conf", word)
		if err := b.Refresh(p); err != nil {
			t.Fatal(err)
		}
		if c := b.config("a"); c == nil || c.Orchestrate != word {
			t.Fatalf("after write %d: %+v", i, c)
		}
	}
	o := b.state.View().Objects[p]
	if err := b.Refresh(p); err != nil || b.state.View().Objects[p] != o {
		t.Error("refreshing what did not change changes the object")
	}
	if err := os.Remove(filepath.Join(b.paths.Etc(), "a.conf")); err != nil {
		t.Fatal(err)
	}
	if err := b.Refresh(p); !errors.As(err, &missing) || b.config("a") != nil {
		t.Errorf("after the removal: %v, %+v", err, b.config("a"))
	}
}

func TestAClockSetBackIsAChange(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	p := object.Path{Namespace: "root", Kind: object.KindSvc, Name: "a"}
	file := filepath.Join(b.paths.Etc(), "a.conf")
	b.write("a.conf", "ha")
	if err := b.Refresh(p); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("no"), 0o600); err != nil { // same size, in place
		t.Fatal(err)
	}
	if err := os.Chtimes(file, time.Time{}, time.Now().Add(-24*time.Hour)); err != nil {
		t.Fatal(err)
	}
	if err := b.Refresh(p); err != nil || b.config("a").Orchestrate != "no" {
		t.Errorf("%v, %+v", err, b.config("a"))
	}
}

// Two commits within a tick of the clock leave files of the same time and size.
func TestAnotherFileOfTheSameTimeIsAChange(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	p := object.Path{Namespace: "root", Kind: object.KindSvc, Name: "a"}
	at := time.Unix(1_000_000, 0)
	for _, word := range []string{"ha", "no"} {
		b.write("new", word)
		file := filepath.Join(b.paths.Etc(), "new")
		if err := os.Chtimes(file, at, at); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(file, filepath.Join(b.paths.Etc(), "a.conf")); err != nil {
			t.Fatal(err)
		}
		if err := b.Refresh(p); err != nil || b.config("a").Orchestrate != word {
			t.Errorf("%v, %+v, want %s", err, b.config("a"), word)
		}
	}
}

func TestFlagsAreFollowed(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.write("a.conf", "ha")
	b.run()
	frozen := filepath.Join(b.paths.Var(), "svc", "a", "frozen")

	b.put(frozen, "")
	b.await("InstanceFrozenFileUpdated", "a")
	b.put(filepath.Join(b.paths.Var(), "svc", "a", "stopped"), "")
	b.await("InstanceStoppedFileUpdated", "a")
	if err := os.Remove(frozen); err != nil {
		t.Fatal(err)
	}
	b.await("InstanceFrozenFileRemoved", "a")

	p := object.Path{Namespace: "root", Kind: object.KindSvc, Name: "a"}
	b.watcher.mu.Lock()
	defer b.watcher.mu.Unlock()
	if b.watcher.requested[p] < 2 {
		t.Errorf("evaluated %d times", b.watcher.requested[p])
	}
}

func TestTheFreezeOfTheNodeIsFollowed(t *testing.T) {
	t.Parallel()
	b := newBench(t).run()
	file := filepath.Join(b.paths.Var(), "node", "frozen")

	b.put(file, "")
	if e, ok := b.await("NodeFrozen", "").Event.(event.NodeFrozen); !ok || !e.IsFrozen {
		t.Errorf("%+v", e)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if e, ok := b.await("NodeFrozen", "").Event.(event.NodeFrozen); !ok || e.IsFrozen {
		t.Errorf("%+v", e)
	}
}

func TestSettingsThatChangeReachTheViewAndTheObjects(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.write("a.conf", "ha")
	b.write("cluster.conf", "x")
	b.run()
	b.site.Lock()
	b.site.name = "renamed"
	b.site.Unlock()

	b.write("cluster.conf", "y")
	b.until(func() bool { return b.state.View().Config.Name == "renamed" })
	b.await("ConfigFileUpdated", "a") // read again: it may refer to them

	b.site.Lock()
	b.site.err = errors.New("cluster.nodes: no such node")
	b.site.Unlock()
	b.write("cluster.conf", "z")
	b.await("ClusterConfigUpdated", "")
	if c := b.state.View().Config; c.Name != "renamed" || len(c.Issues) != 1 {
		t.Errorf("with bad settings: %+v", c)
	}
}

func TestManyFilesAtOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t).run()
	const n = 300
	for i := range n {
		b.write("s"+strings.Repeat("x", i%10)+string(rune('a'+i%26))+string(rune('a'+i/26%26))+".conf", "ha")
	}
	want := map[string]bool{}
	entries, err := os.ReadDir(b.paths.Etc())
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), ".conf"); ok && !strings.HasPrefix(name, ".") {
			want[name] = true
		}
	}
	b.until(func() bool { return len(b.state.View().Objects) == len(want) })
}

func TestWhatCannotBeWatchedIsLookedAt(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.Watch(func() (*fsnotify.Watcher, error) { return nil, syscall.EMFILE }, 10*time.Millisecond)
	b.write("a.conf", "ha")
	b.run()

	if log := b.log.String(); !strings.Contains(log, "max_user_instances") || strings.Count(log, "cannot be watched") != 1 {
		t.Errorf("said %s", log)
	}
	b.write("namespaces/ns1/svc/web.conf", "ha")
	b.await("ObjectCreated", "ns1/svc/web")
	if err := os.Remove(filepath.Join(b.paths.Etc(), "a.conf")); err != nil {
		t.Fatal(err)
	}
	b.await("ObjectDeleted", "a")
}

func TestChangesTheKernelLostAreFound(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	watcher := make(chan *fsnotify.Watcher, 1)
	b.Watch(func() (*fsnotify.Watcher, error) {
		w, err := fsnotify.NewWatcher()
		watcher <- w
		return w, err
	}, time.Hour)
	b.write("gone.conf", "ha")
	b.run()
	w := <-watcher
	for _, dir := range w.WatchList() {
		if err := w.Remove(dir); err != nil {
			t.Fatal(err)
		}
	}
	b.write("a.conf", "ha")
	if err := os.Remove(filepath.Join(b.paths.Etc(), "gone.conf")); err != nil {
		t.Fatal(err)
	}

	w.Errors <- fsnotify.ErrEventOverflow

	b.until(func() bool { return b.config("a") != nil && b.config("gone") == nil })
	b.write("b.conf", "ha") // watched again
	b.await("ObjectCreated", "b")
}

// Two look at once: the one that comes second must not go before the first has told.
func TestARefreshWaitsForTheSettingsBeingRead(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for i := range 100 {
		name := strings.Repeat("x", i+1)
		b.site.Lock()
		b.site.name = name
		b.site.Unlock()
		b.write("node.conf", name)
		var both sync.WaitGroup
		for range 2 {
			both.Go(func() {
				if err := b.Refresh(object.Path{}); err != nil || b.state.View().Config.Name != name {
					t.Errorf("the settings of %s, %v", name, err)
				}
			})
		}
		both.Wait()
	}
}
