package httpd_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ops/holdfast/internal/linux/socket"
	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/client"
	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/event"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// listen reads a stream in the background, from before it returns.
func (f *fixture) listen(t *testing.T, c *client.Client, q api.EventQuery) <-chan api.Event {
	t.Helper()
	before := len(f.bus.Readers())
	events := make(chan api.Event, 4096)
	go func() {
		defer close(events)
		for e, err := range client.Events(t.Context(), c, q) {
			if err != nil {
				if t.Context().Err() == nil {
					t.Error(err)
				}
				return
			}
			events <- e
		}
	}()
	if q.Limit == 0 {
		eventually(t, func() bool { return len(f.bus.Readers()) > before })
	}
	return events
}

// eventually waits for something another goroutine does.
func eventually(t *testing.T, done func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	limit := time.NewTimer(time.Minute)
	defer limit.Stop()
	for !done() {
		select {
		case <-tick.C:
		case <-limit.C:
			t.Fatal("nothing happens")
		}
	}
}

func next(t *testing.T, events <-chan api.Event) api.Event {
	t.Helper()
	limit := time.NewTimer(time.Minute)
	defer limit.Stop()
	select {
	case e := <-events:
		return e
	case <-limit.C:
		t.Fatal("no event")
		return api.Event{}
	}
}

func svc(name string) object.Path {
	return object.Path{Namespace: "root", Kind: object.KindSvc, Name: name}
}

func TestEventsAreStreamedAsTheyHappen(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	events := f.listen(t, f.local(t), api.EventQuery{})

	f.bus.Publish(event.ObjectCreated{Path: svc("svc1"), Node: node1})
	f.bus.Publish(event.ObjectDeleted{Path: svc("svc1"), Node: node1})

	first, second := next(t, events), next(t, events)
	if first.Kind != "ObjectCreated" || second.Kind != "ObjectDeleted" || first.ID != 0 || second.ID != 1 {
		t.Errorf("got %+v then %+v", first, second)
	}
	want := `{"labels":{"namespace":"root","node":"node1","path":"svc1"},"path":"svc1","node":"node1"}`
	if got := string(first.Data); got != want {
		t.Errorf("data %s, want %s", got, want)
	}
}

func TestFiltersChooseEvents(t *testing.T) {
	t.Parallel()
	publish := func(f *fixture) {
		for _, name := range []string{"svc1", "svc2"} {
			f.bus.Publish(event.ObjectCreated{Path: svc(name), Node: node1})
			f.bus.Publish(event.ObjectDeleted{Path: svc(name), Node: node1})
		}
		f.bus.Publish(event.ObjectOrchestrationEnd{ID: "last", Path: svc("svc2"), Node: node1, GlobalExpect: "started"})
	}
	last := "ObjectOrchestrationEnd"
	for name, want := range map[string]struct {
		query api.EventQuery
		kinds []string
	}{
		"by kind":                       {api.EventQuery{Filter: []string{"ObjectCreated", last}}, []string{"ObjectCreated", "ObjectCreated", last}},
		"by kind and label":             {api.EventQuery{Filter: []string{"ObjectCreated,path=svc1", last}}, []string{"ObjectCreated", last}},
		"by a field":                    {api.EventQuery{Filter: []string{",.global_expect=started"}}, []string{last}},
		"by selector":                   {api.EventQuery{Selector: "svc2"}, []string{"ObjectCreated", "ObjectDeleted", last}},
		"by glob":                       {api.EventQuery{Selector: "*2"}, []string{"ObjectCreated", "ObjectDeleted", last}},
		"both a filter and a selector":  {api.EventQuery{Selector: "svc2", Filter: []string{"ObjectDeleted", last}}, []string{"ObjectDeleted", last}},
		"all of them":                   {api.EventQuery{}, []string{"ObjectCreated", "ObjectDeleted", "ObjectCreated", "ObjectDeleted", last}},
		"of an object nobody has heard": {api.EventQuery{Selector: "svc9", Filter: []string{"ObjectCreated"}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			events := f.listen(t, f.local(t), want.query)
			publish(f)
			var kinds []string
			for range want.kinds {
				kinds = append(kinds, next(t, events).Kind)
			}
			if diff := cmp.Diff(want.kinds, kinds); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAStreamEndsAtItsLimit(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.fill(3)
	n := 0
	for _, err := range client.Events(t.Context(), f.local(t), api.EventQuery{Limit: 2, Replay: true}) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n != 2 {
		t.Errorf("%d events, want 2", n)
	}
	for _, err := range client.Events(t.Context(), f.local(t), api.EventQuery{Duration: "20ms"}) {
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestReplayTellsThePresentFirst(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.fill(2)
	events := f.listen(t, f.local(t), api.EventQuery{Replay: true, Filter: []string{"InstanceStatusUpdated", "ObjectCreated"}})

	seen := map[string]bool{}
	for range 2 {
		e := next(t, events)
		var data struct {
			Labels map[string]string `json:"labels"`
		}
		if err := json.Unmarshal(e.Data, &data); err != nil {
			t.Fatal(err)
		}
		if data.Labels["from"] != "cache" {
			t.Errorf("labels %v", data.Labels)
		}
		seen[data.Labels["path"]] = true
	}
	if !seen["svc0000"] || !seen["svc0001"] {
		t.Errorf("seen %v", seen)
	}
	f.bus.Publish(event.ObjectCreated{Path: svc("svc9"), Node: node1})
	if e := next(t, events); e.Kind != "ObjectCreated" || strings.Contains(string(e.Data), "cache") {
		t.Errorf("then %+v", e)
	}
}

func TestEventsOfOtherNamespacesAreNotShown(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	events := f.listen(t, f.remote(t, "guest:ns1"), api.EventQuery{Filter: []string{"ObjectCreated", "DaemonStatusUpdated"}})

	f.bus.Publish(event.ObjectCreated{Path: object.Path{Namespace: "ns2", Kind: "svc", Name: "x"}, Node: node1})
	f.bus.Publish(event.ObjectCreated{Path: object.Path{Namespace: "ns1", Kind: "svc", Name: "y"}, Node: node1})
	f.bus.Publish(event.DaemonStatusUpdated{Node: node1})

	if e := next(t, events); !strings.Contains(string(e.Data), "ns1") {
		t.Errorf("got %s", e.Data)
	}
	if e := next(t, events); e.Kind != "DaemonStatusUpdated" {
		t.Errorf("got %s", e.Data)
	}
}

// A client that reads nothing loses its own events, is told so once it reads
// again, and delays nobody.
func TestAStuckReaderDelaysNobody(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	stuck, err := socket.Dial(t.Context(), f.socket)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stuck.Close() }()
	if _, err := io.WriteString(stuck, "GET /api/node/name/localhost/daemon/event HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() bool { return len(f.bus.Readers()) == 1 })
	other := f.listen(t, f.local(t), api.EventQuery{Filter: []string{"ObjectStatusUpdated"}})

	const n = 1500 // more than the kernel, the server and the queue hold
	large := cluster.Object{Orchestrate: strings.Repeat("x", 4096)}
	// At once, for who is stuck for half a minute is cut off; but not more than the other
	// reader may have in its queue.
	const batch = 100
	for i := range n {
		f.bus.Publish(event.ObjectStatusUpdated{Path: svc(fmt.Sprintf("svc%d", i)), Node: node1, Status: large})
		if i%batch == batch-1 {
			for range batch {
				next(t, other)
			}
		}
	}

	if err := stuck.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	read := bufio.NewScanner(stuck)
	read.Buffer(nil, 1<<20)
	got, missed := 0, 0
	for missed == 0 && read.Scan() {
		switch read.Text() {
		case "event: ObjectStatusUpdated":
			got++
		case "event: " + api.Resync:
			read.Scan() // id
			read.Scan() // data
			if _, err := fmt.Sscanf(read.Text(), `data: {"labels":{},"lost":%d}`, &missed); err != nil {
				t.Fatalf("%s: %v", read.Text(), err)
			}
		}
	}
	if got+missed != n {
		t.Errorf("read %d events of %d and told %d are lost", got, n, missed)
	}
}

func TestStreamsEndWithTheDaemon(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- f.server.Serve(ctx, l) }()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+l.Addr().String()+"/api/node/name/localhost/daemon/event", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+f.token(t, "root"))
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()

	cancel()

	if _, err := io.ReadAll(response.Body); err != nil {
		t.Errorf("the stream is cut: %v", err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestASocketOfALongPathIsServed(t *testing.T) {
	t.Parallel()
	root := filepath.Join(t.TempDir(), strings.Repeat("long/", 40))
	if err := os.MkdirAll(root, 0o700); err != nil {
		t.Fatal(err)
	}
	f := newFixtureAt(t, root)
	if len(f.socket) < 200 {
		t.Fatalf("%s is not long", f.socket)
	}
	do(t, f.local(t), api.GetHealth, api.None{})
}

func TestWhereNobodyAnswersIsSaid(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	dead := filepath.Join(dir, "dead.sock")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: dead, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	if err := l.Close(); err != nil { // as after a crash: the file remains
		t.Fatal(err)
	}
	for _, o := range []client.Options{{Socket: filepath.Join(dir, "none.sock")}, {Socket: dead}, {Server: "127.0.0.1:1"}} {
		_, err := client.Do(t.Context(), newClient(t, o), api.GetHealth, api.None{})
		if !client.IsDown(err) || !strings.Contains(err.Error(), "no daemon answers on ") {
			t.Errorf("%+v: %v", o, err)
		}
	}
	f := newFixture(t)
	if _, err := client.Do(t.Context(), f.nobody(t), api.GetObjects, api.ObjectQuery{}); client.IsDown(err) {
		t.Errorf("a refusal is no absence: %v", err)
	}
	if strangers := newClient(t, client.Options{Server: f.address}); true {
		if _, err := client.Do(t.Context(), strangers, api.GetHealth, api.None{}); err == nil || !strings.Contains(err.Error(), "certificate") {
			t.Errorf("the certificate of an unknown authority is accepted: %v", err)
		}
	}
}

func TestTheListenerSpeaksHTTP2OverTLS13(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	got := f.plain(t, "GET", "/api/health", "", nil)
	if got.Status != http.StatusNoContent || got.Header.Get("OM-Served-By") != node1 {
		t.Errorf("status %d, headers %v", got.Status, got.Header)
	}
	if !slices.Contains([]string{"HTTP/2.0"}, got.Proto) {
		t.Errorf("protocol %s", got.Proto)
	}
}
