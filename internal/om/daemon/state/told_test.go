package state_test

import (
	"encoding/json"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/bus"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/state"
	"github.com/holdfast-ops/holdfast/internal/om/event"
	"github.com/holdfast-ops/holdfast/internal/om/heartbeat"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

func two(node string) *state.State {
	s := state.New(node, bus.New(node))
	s.SetClusterConfig(cluster.Config{Nodes: []string{"n1", "n2"}})
	return s
}

// tell carries what n1 says of itself to n2, in pieces.
func tell(from, to *state.State, part *heartbeat.Part, limit int) {
	for {
		base := part.Gen
		entries, upTo, head, _ := from.Delta(base, limit)
		m := &heartbeat.Message{Node: "n1", Incarnation: part.Incarnation, Base: base, To: upTo, Head: head, Entries: entries}
		news, _ := part.Take(m)
		to.Apply("n1", news)
		if upTo == head {
			from.Known(head)
			return
		}
	}
}

// own is what a state says of n1, as text.
func own(s *state.State) string {
	v := s.View()
	instances := map[string]cluster.Instance{}
	for p, o := range v.Objects {
		if i, ok := o.Instances["n1"]; ok {
			instances[p.FQN()] = i
		}
	}
	text, err := json.MarshalIndent([]any{instances, v.Nodes["n1"]}, "", " ")
	if err != nil {
		panic(err)
	}
	return string(text)
}

// Whatever a node does to its part, and whenever the other hears of it, in whatever
// pieces, restarted or not, the other ends up knowing what it knows of itself.
func TestAPeerEndsUpKnowingWhatANodeSaysOfItself(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b := two("n1"), two("n2")
		part := &heartbeat.Part{Incarnation: "0"}
		for step := range rapid.IntRange(1, 40).Draw(t, "steps") {
			p := svc(rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "name"))
			switch rapid.IntRange(0, 9).Draw(t, "what") {
			case 0, 1:
				c := config()
				c.Path, c.Priority, c.UpdatedAt = p, step, time.Unix(int64(step), 0).UTC()
				a.SetInstanceConfig(p, "n1", c)
			case 2, 3:
				v := status(rapid.SampledFrom([]cluster.Status{cluster.Up, cluster.Down, cluster.Warn}).Draw(t, "avail"))
				v.UpdatedAt = time.Unix(100, 0).UTC()
				a.SetInstanceStatus(p, "n1", v)
			case 4:
				a.SetInstanceMonitor(p, "n1", cluster.InstanceMonitor{State: strconv.Itoa(step)})
			case 5:
				a.DeleteInstance(p, "n1")
			case 6:
				a.SetNodeFrozen("n1", time.Unix(int64(step), 0).UTC())
			case 7:
				b.Forget("n1")
				part.Forget()
			case 8: // the daemon of n1 restarts: another incarnation, another count
				a = two("n1")
				part.Begin(heartbeat.Incarnation(strconv.Itoa(step)))
			case 9:
				tell(a, b, part, rapid.IntRange(0, 2000).Draw(t, "piece"))
			}
		}
		tell(a, b, part, 100)
		if diff := cmp.Diff(own(a), own(b)); diff != "" {
			t.Fatalf("what n2 knows of n1 (-n1 +n2):\n%s", diff)
		}
		if own := b.View().Nodes["n2"]; own.Status.Compat != 0 {
			t.Fatal("what n1 says changed n2")
		}
	})
}

func TestWhatAPeerSaysIsAnnounced(t *testing.T) {
	t.Parallel()
	b := bus.New("n2")
	s := state.New("n2", b)
	s.SetClusterConfig(cluster.Config{Nodes: []string{"n1", "n2"}})
	events := b.Subscribe("test", nil)
	a := two("n1")
	part := &heartbeat.Part{}
	tell(a, s, part, 1000) // nothing yet, and listening from here on
	web := config()
	web.Path = svc("web")
	a.SetInstanceConfig(svc("web"), "n1", web)
	a.SetInstanceStatus(svc("web"), "n1", status(cluster.Up))
	a.Forward(event.JoinSuccess{AddedNode: "n3"})
	a.Forward(event.NodeFrozen{Node: "n1"}) // not one that is passed on
	kinds(events)

	tell(a, s, part, 1000)

	want := []string{"ObjectCreated", "InstanceConfigUpdated", "ObjectStatusUpdated", "InstanceStatusUpdated", "ObjectStatusUpdated", "JoinSuccess"}
	if diff := cmp.Diff(want, kinds(events)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	tell(a, s, part, 1000)
	if again := kinds(events); len(again) > 0 {
		t.Errorf("told again: %q", again)
	}

	s.SetPeer("n1", cluster.Peer{Beating: true, Heard: true, Synced: true})
	s.SetPeer("n1", cluster.Peer{Heard: true})
	s.Forget("n1")
	want = []string{
		"NodeAlive", "NodeStale",
		"InstanceConfigDeleted", "InstanceStatusDeleted", "ObjectStatusDeleted", "ObjectDeleted", "ObjectStatusDone", "ForgetPeer",
	}
	if diff := cmp.Diff(want, kinds(events)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if !s.View().Peers["n1"].Lost[svc("web")] || s.View().Nodes["n1"] == nil {
		t.Errorf("%+v", s.View().Peers)
	}
	s.SetPeer("n1", cluster.Peer{Beating: true, Heard: true, Synced: true})
	if s.View().Peers["n1"].Lost != nil {
		t.Error("what runs on a node that is heard is no longer guessed")
	}
}

func TestAnnouncementsReachThePeers(t *testing.T) {
	t.Parallel()
	a, b := two("n1"), two("n2")
	follower := b.Follow(func(key string) bool { return key == "cluster/version" })
	defer follower.Close()
	part := &heartbeat.Part{}
	if err := a.Announce("cluster/version", map[string]int{"n1": 3}); err != nil {
		t.Fatal(err)
	}
	if err := a.Announce("other", 1); err != nil {
		t.Fatal(err)
	}
	tell(a, b, part, 1000)

	<-follower.C()
	if got := follower.Take(); len(got) != 1 || got[0] != (state.Announcement{Node: "n1", Key: "cluster/version"}) {
		t.Errorf("%v", got)
	}
	if got := b.Announced("cluster/version"); string(got["n1"]) != `{"n1":3}` || len(got) != 1 {
		t.Errorf("%s", got)
	}
	if err := a.Announce("cluster/version", nil); err != nil {
		t.Fatal(err)
	}
	tell(a, b, part, 1000)
	if got := b.Announced("cluster/version"); len(got) != 0 {
		t.Errorf("%s", got)
	}
	b.Forget("n1")
	if got := b.Announcements(func(string) bool { return true }); len(got) != 0 {
		t.Errorf("%v", got)
	}
}

func TestWhatCannotBeReadIsPassedOver(t *testing.T) {
	t.Parallel()
	s := two("n2")
	entry := func(key, value string) heartbeat.Entry {
		return heartbeat.Entry{Key: key, Gen: 1, Value: json.RawMessage(value)}
	}
	unread := s.Apply("n1", []heartbeat.Entry{
		entry("node/status", `[]`), entry("instance/root/svc/a/config", `7`), entry("instance/root/svc/a/config", `{"path":"a"}`),
		entry("instance/root/svc/b/status", `{}`), entry("instance/x", `{}`), entry("node/monitor", `{"state":"idle"}`), entry("event/1", `{}`),
	})
	if diff := cmp.Diff([]string{"node/status", "instance/root/svc/a/config", "event/1"}, unread); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if v := s.View(); v.Nodes["n1"].Monitor.State != "idle" || v.Objects[svc("a")] == nil || v.Objects[svc("b")] != nil {
		t.Errorf("%+v", v.Objects)
	}
	if s.Apply("n3", []heartbeat.Entry{entry("node/monitor", `{"state":"idle"}`)}); s.View().Nodes["n3"] != nil {
		t.Error("a node that is not of the cluster is in the view")
	}
	if s.Apply("n2", []heartbeat.Entry{entry("node/monitor", `{"state":"idle"}`)}); s.View().Nodes["n2"].Monitor.State != "" {
		t.Error("a peer speaks for this node")
	}
}

func FuzzApply(f *testing.F) {
	f.Add("instance/root/svc/a/config", `{"path":"a","scope":["n1"]}`)
	f.Add("node/status", `{"frozen_at":"2026-01-01T00:00:00Z"}`)
	f.Add("event/1", `{"k":"JoinSuccess","d":{}}`)
	f.Fuzz(func(t *testing.T, key, value string) {
		s := two("n2")
		s.SetInstanceConfig(svc("a"), "n2", config())
		before, _ := json.Marshal(s.View().Objects[svc("a")].Instances["n2"])
		s.Apply("n1", []heartbeat.Entry{{Key: key, Gen: 1, Value: json.RawMessage(value)}, {Key: key, Gen: 2}})
		s.Forget("n1")
		after, _ := json.Marshal(s.View().Objects[svc("a")].Instances["n2"])
		if string(before) != string(after) {
			t.Errorf("what n1 says changed n2: %s", after)
		}
		for p := range s.View().Objects {
			if p != (object.Path{Namespace: "root", Kind: object.KindSvc, Name: "a"}) {
				t.Errorf("%s outlives the node that told of it", p)
			}
		}
	})
}
