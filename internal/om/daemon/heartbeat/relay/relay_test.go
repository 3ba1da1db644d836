package relay_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/holdfast-ops/holdfast/internal/om/api"
	daemon "github.com/holdfast-ops/holdfast/internal/om/daemon/heartbeat"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/heartbeat/heartbeattest"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/heartbeat/relay"
	"github.com/holdfast-ops/holdfast/internal/om/schema"
	"github.com/holdfast-ops/holdfast/internal/retry"
	"github.com/holdfast-ops/holdfast/internal/secret"
)

// server is a relay: the store behind two operations of the API.
type server struct {
	*httptest.Server

	store atomic.Pointer[relay.Store]
}

func newServer(t *testing.T) *server {
	t.Helper()
	s := &server{}
	s.store.Store(relay.NewStore())
	s.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		if password != "pass" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		if r.Method == http.MethodGet {
			m, ok := s.store.Load().Get(user, r.FormValue("cluster_id"), r.FormValue("nodename"))
			if !ok {
				w.WriteHeader(http.StatusNotFound)
				return
			}
			_ = json.NewEncoder(w).Encode(m)
			return
		}
		var m api.RelayPost
		if err := json.NewDecoder(r.Body).Decode(&m); err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		err := s.store.Load().Put(api.RelayMessage{
			RelaySlot: api.RelaySlot{User: user, ClusterID: m.ClusterID, ClusterName: m.ClusterName, Node: m.Node, UpdatedAt: time.Now()}, Message: m.Message,
		})
		if err != nil {
			w.WriteHeader(http.StatusInsufficientStorage)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *server) setup(self string, peers ...string) daemon.Setup {
	hb := schema.HeartbeatSettings{
		Name: "hb#1", Type: "relay", Relay: s.URL, Username: "relay", Password: "system/sec/relay", Insecure: true, Interval: time.Second, Timeout: 15 * time.Second,
	}
	setup := daemon.Setup{HeartbeatSettings: hb, Self: self, Cluster: "c1", Peers: map[string]schema.HeartbeatSettings{}}
	for _, p := range peers {
		setup.Peers[p] = hb
	}
	return setup
}

func options(password string) relay.Options {
	return relay.Options{
		Password:    func(string) (secret.String, error) { return secret.New(password), nil },
		ClusterName: func() string { return "east" },
	}
}

// run runs a driver until the test ends.
func run(t *testing.T, o relay.Options, setup daemon.Setup) *heartbeattest.Link {
	t.Helper()
	d, err := relay.New(o)(setup)
	if err != nil {
		t.Fatal(err)
	}
	link, done := &heartbeattest.Link{}, make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { done <- d.Run(ctx, link) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return link
}

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := retry.Until(ctx, retry.Policy{Interval: 5 * time.Millisecond}, func(context.Context) (bool, error) { return is(), nil }); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

func TestNodesHearOneAnotherThroughARelay(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	// A message of a former life of a node, which is no beat.
	if err := s.store.Load().Put(api.RelayMessage{RelaySlot: api.RelaySlot{User: "relay", ClusterID: "c1", Node: "n2", UpdatedAt: time.Now()}, Message: "b2xk"}); err != nil {
		t.Fatal(err)
	}
	n1 := run(t, options("pass"), s.setup("n1", "n2"))
	eventually(t, "n1 sends", func() bool { n1.Tell([]byte("one")); return n1.SentCount() > 0 })
	n2 := run(t, options("pass"), s.setup("n2", "n1"))
	beat := 0
	talk := func(said string) func() bool {
		return func() bool {
			beat++
			n1.Tell(fmt.Appendf(nil, "n1 %s %d", said, beat))
			n2.Tell(fmt.Appendf(nil, "n2 %s %d", said, beat))
			hears := func(l *heartbeattest.Link, node string) bool {
				return slices.ContainsFunc(l.Heard(), func(f string) bool { return strings.HasPrefix(f, node+" "+said) })
			}
			return hears(n1, "n2") && hears(n2, "n1")
		}
	}
	eventually(t, "both hear", talk("before"))
	if slices.Contains(n1.Heard(), "old") {
		t.Error("a message of a former life is a beat")
	}

	// The relay loses its memory: who uses it goes on.
	s.store.Store(relay.NewStore())

	eventually(t, "both hear again", talk("after"))
	if got := s.store.Load().List("relay", time.Now()); len(got) != 2 || got[0].ClusterName != "east" || got[0].Node != "n1" {
		t.Errorf("the relay has %v", got)
	}
}

func TestARelayThatRefusesIsNamed(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	link := run(t, options("wrong"), s.setup("n1", "n2"))
	link.Tell([]byte("beat"))
	eventually(t, "it is told", func() bool { return link.Failure("") != nil && link.Failure("n2") != nil })
	if got := link.Failure("").Error(); !strings.Contains(got, "does not know user relay with the password of system/sec/relay") || strings.Contains(got, "wrong") {
		t.Error(got)
	}
	verifying := s.setup("n1", "n2")
	verifying.Insecure = false
	link = run(t, options("pass"), verifying)
	link.Tell([]byte("beat"))
	eventually(t, "it is told", func() bool { return link.Failure("") != nil })
	if got := link.Failure("").Error(); !strings.Contains(got, "certificate") {
		t.Error(got)
	}
	for text, want := range map[string]string{"http://relay.example.com": "over https", "": "set relay"} {
		setup := s.setup("n1")
		setup.Relay = text
		if _, err := relay.New(options("pass"))(setup); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// A user sees what it left and nothing else, the last message of each node, and holds no
// more than its share.
func TestAStoreKeepsUsersApartAndBounded(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		s, now := relay.NewStore(), time.Unix(0, 0)
		want := map[[3]string]string{}
		for i := range rapid.IntRange(0, 40).Draw(rt, "n") {
			at := [3]string{}
			for j, from := range [][]string{{"u1", "u2"}, {"c1", "c2"}, {"n1", "n2", "n3"}} {
				at[j] = rapid.SampledFrom(from).Draw(rt, "place")
			}
			text := fmt.Sprint("message ", i)
			now = now.Add(time.Second)
			if err := s.Put(api.RelayMessage{RelaySlot: api.RelaySlot{User: at[0], ClusterID: at[1], Node: at[2], UpdatedAt: now}, Message: text}); err != nil {
				rt.Fatal(err)
			}
			want[at] = text
		}
		count := map[string]int{}
		for at, text := range want {
			count[at[0]]++
			if got, ok := s.Get(at[0], at[1], at[2]); !ok || got.Message != text {
				rt.Errorf("%v: %q, %v, want %q", at, got.Message, ok, text)
			}
		}
		for _, user := range []string{"u1", "u2"} {
			if got := s.List(user, now); len(got) != count[user] {
				rt.Errorf("user %s has %d, want %d", user, len(got), count[user])
			}
		}
		if got := s.List("", now); len(got) != len(want) {
			rt.Errorf("%d in all, want %d", len(got), len(want))
		}
		if got := s.List("", now.Add(2*time.Hour)); len(got) > 0 {
			rt.Errorf("%d are kept for ever", len(got))
		}
	})
}

func TestAUserFillsItsOwnShareOnly(t *testing.T) {
	t.Parallel()
	s, now := relay.NewStore(), time.Unix(0, 0)
	big := strings.Repeat("x", 1<<20)
	put := func(user, node string, at time.Time) error {
		return s.Put(api.RelayMessage{RelaySlot: api.RelaySlot{User: user, ClusterID: "c", Node: node, UpdatedAt: at}, Message: big})
	}
	var err error
	kept := 0
	for ; err == nil && kept < 1000; kept++ {
		err = put("greedy", fmt.Sprint("n", kept), now)
	}
	if !errors.Is(err, relay.ErrFull) || kept > 70 {
		t.Fatalf("%d messages, then %v", kept, err)
	}
	if err := put("greedy", "n0", now); err != nil {
		t.Error("what is there cannot be renewed:", err)
	}
	if err := put("modest", "n0", now); err != nil {
		t.Error("another user is refused:", err)
	}
	if err := put("greedy", "later", now.Add(2*time.Hour)); err != nil {
		t.Error("what is old is not forgotten:", err)
	}
	for i := range 5000 {
		err = put(fmt.Sprint("user", i), "n", now)
		if err != nil {
			break
		}
	}
	if !errors.Is(err, relay.ErrFull) {
		t.Error("any number of users is taken")
	}
}
