package daemon

import (
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-ops/holdfast/internal/host"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/heartbeat"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/standing"
	"github.com/holdfast-ops/holdfast/internal/om/driver/all"
	"github.com/holdfast-ops/holdfast/internal/om/store"
)

// beatsOf reads the heartbeats of node1 out of cluster.conf and node.conf.
func beatsOf(t *testing.T, cluster, node string) (heartbeat.Settings, string) {
	t.Helper()
	h := host.Host{Hostname: "node1", Paths: host.Paths{Root: t.TempDir()}}
	for name, text := range map[string]string{"cluster.conf": "[cluster]\nid = c\nsecret = s\nnodes = node1 node2 node3\n" + cluster, "node.conf": node} {
		if err := os.MkdirAll(h.Paths.Etc(), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(h.Paths.Etc(), name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var said strings.Builder
	b := beats{store.New(h, all.Registry().Sections), "node1", slog.New(slog.NewTextHandler(&said, nil)), &standing.Conditions{}}
	s, err := b.read([]string{"node1", "node2", "node3"})
	if err != nil {
		t.Fatal(err)
	}
	return s, said.String()
}

func TestAClusterThatConfiguresNoHeartbeatHasOne(t *testing.T) {
	t.Parallel()
	s, _ := beatsOf(t, "", "")
	if len(s.Heartbeats) != 1 || s.Cluster != "c" || len(s.Secrets) != 1 {
		t.Fatalf("%+v", s)
	}
	h := s.Heartbeats[0]
	if peers := slices.Sorted(maps.Keys(h.Peers)); h.Name != "hb#1" || h.Type != "unicast" || h.Port != 0 || h.Interval*3 != h.Timeout || !slices.Equal(peers, []string{"node2", "node3"}) {
		t.Errorf("%+v", h)
	}
}

func TestAHeartbeatIsReadAsEachPeerReadsIt(t *testing.T) {
	t.Parallel()
	s, said := beatsOf(t, "[hb#1]\ntype = unicast\naddr@node1 = 192.0.2.1\naddr@node2 = 192.0.2.2\nport@node2 = 7\ntimeout@node3 = 20s\n"+
		"[hb#2]\ntype = multicast\nnodes = node2 node3\n[hb#3]\ntype = unicast\nnodes = node2 node3\n[hb#4]\ntype = unicast\nport = many\n[hb#5]\ntype = unicast\nnodes = node1 node3\n", "")
	names := []string{}
	for _, h := range s.Heartbeats {
		names = append(names, h.Name)
	}
	if !slices.Equal(names, []string{"hb#1", "hb#2", "hb#5"}) {
		t.Fatalf("%q", names)
	}
	one := s.Heartbeats[0]
	if two, three := one.Peers["node2"], one.Peers["node3"]; one.Addr != "192.0.2.1" || two.Addr != "192.0.2.2" || two.Port != 7 || three.Addr != "" || three.Timeout <= two.Timeout {
		t.Errorf("%+v", one)
	}
	if five := s.Heartbeats[2]; len(five.Peers) != 1 {
		t.Errorf("%+v", five)
	}
	if !strings.Contains(said, "hb#4") || strings.Count(said, "left out") != 3 {
		t.Errorf("what is wrong with one is not said, once for each node:\n%s", said)
	}
}

func TestWhatOnlyThisNodeConfiguresIsAtTheNamesOfThePeers(t *testing.T) {
	t.Parallel()
	s, _ := beatsOf(t, "", "[hb#9]\ntype = unicast\naddr = 192.0.2.1\nport = 9\n")
	if len(s.Heartbeats) != 1 {
		t.Fatalf("%+v", s)
	}
	if p := s.Heartbeats[0].Peers["node2"]; p.Addr != "" || p.Port != 9 {
		t.Errorf("%+v", p)
	}
}
