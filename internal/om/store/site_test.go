package store_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/schema"
)

func writeInfo(s site, text string) error {
	if err := os.MkdirAll(s.paths.Var(), 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(s.paths.Var(), "nodes_info.json"), []byte(text), 0o600)
}

func TestNodeConfWinsKeywordByKeyword(t *testing.T) {
	t.Parallel()
	s := empty(t)
	s.write(t, "cluster.conf", "[cluster]\nname = c1\n\n[node]\nenv = PRD\nready_period@n1 = 3s\nready_period = 4s\nmin_avail_mem_pct = 7\nmax_parallel = 3\nsplit_action = reboot\n")
	s.write(t, "node.conf", "[node]\nready_period = 2s\nmin_avail_mem = 9\nsplit_action@n1 = disabled\nprkey = 0x1\n")

	n, err := s.Node()
	if err != nil {
		t.Fatal(err)
	}
	want := &schema.NodeSettings{
		Env: "PRD", ReadyPeriod: 2 * time.Second, MinAvailMemPct: 9, MinAvailSwapPct: 10, MaxParallel: 3, SplitAction: "disabled", PRKey: "0x1",
		MaintenanceGracePeriod: time.Minute, MaxKeySize: 1000000, RejoinGracePeriod: 90 * time.Second, SecureFetch: true, SSHKey: "opensvc",
	}
	if diff := cmp.Diff(*want, *n, cmp.AllowUnexported(schema.NodeSettings{})); diff != "" {
		t.Error(diff)
	}
}

func TestTheMergeFollowsTheFiles(t *testing.T) {
	t.Parallel()
	s := open(t)
	if n, err := s.Node(); err != nil || n.ReadyPeriod != 2*time.Second {
		t.Fatalf("got %+v, %v", n, err)
	}

	if _, err := s.Update(t.Context(), object.Path{}, set(t, "node.ready_period=9s")); err != nil {
		t.Fatal(err)
	}

	if n, err := s.Node(); err != nil || n.ReadyPeriod != 9*time.Second {
		t.Errorf("got %+v, %v", n, err)
	}
	if err := os.Remove(s.file("node.conf")); err != nil {
		t.Fatal(err)
	}
	if n, err := s.Node(); err != nil || n.ReadyPeriod != 3*time.Second {
		t.Errorf("without node.conf: %+v, %v", n, err)
	}
}

func TestTheMergedDocumentIsTheCallersToEdit(t *testing.T) {
	t.Parallel()
	s := open(t)
	doc, err := s.Merged()
	if err != nil {
		t.Fatal(err)
	}

	doc.DeleteSection("cluster")

	if c, err := s.Cluster(); err != nil || c.Name != "c1" {
		t.Errorf("got %+v, %v", c, err)
	}
}

func TestClusterSettings(t *testing.T) {
	t.Parallel()
	s := open(t)

	c, err := s.Cluster()
	if err != nil {
		t.Fatal(err)
	}
	want := schema.ClusterSettings{
		ID: "c1id", Name: "c1", Nodes: []string{"n1", "n2", "n3"}, DNS: []string{"192.0.2.1", "192.0.2.2"},
		CA: []string{"system/sec/ca"}, Cert: "system/sec/cert", Envs: c.Envs,
	}
	if diff := cmp.Diff(want, *c); diff != "" || len(c.Envs) < 10 {
		t.Error(diff, c.Envs)
	}
	if diff := cmp.Diff([]string{"n1", "n2", "n3"}, s.Nodes()); diff != "" {
		t.Error(diff)
	}
	secret, err := s.ClusterSecret()
	if err != nil || secret.Reveal() != "abcdef" {
		t.Errorf("the secret is %q, %v", secret.Reveal(), err)
	}
}

func TestWithoutClusterConfigurationTheNodeIsAlone(t *testing.T) {
	t.Parallel()
	s := empty(t)

	c, err := s.Cluster()

	if err != nil || cmp.Diff([]string{"n1"}, c.Nodes) != "" || cmp.Diff([]string{"n1"}, s.Nodes()) != "" {
		t.Errorf("got %+v, %v", c, err)
	}
	if secret, err := s.ClusterSecret(); err != nil || !secret.IsZero() {
		t.Errorf("got a secret, %v", err)
	}
	if l, err := s.Listener(); err != nil || l.Port != 1215 || l.RateLimiterExpires != time.Minute || l.CRL != filepath.Join(s.paths.Var(), "certs/ca_crl") {
		t.Errorf("got %+v, %v", l, err)
	}
}

func TestHeartbeats(t *testing.T) {
	t.Parallel()
	s := open(t)
	if _, err := s.Update(t.Context(), object.Cluster(), set(t, "hb#2.type=multicast", "hb#2.timeout@n1=20s", "hb#1.type=unicast", "hb#1.addr@n2=192.0.2.9", "hb#d.type=disk", "hb#d.dev=/dev/x")); err != nil {
		t.Fatal(err)
	}

	got, err := s.Heartbeats("")

	want := []schema.HeartbeatSettings{
		{Name: "hb#2", Type: "multicast", Interval: 5 * time.Second, Timeout: 20 * time.Second, Addr: "224.3.29.71", Port: 10000},
		{Name: "hb#1", Type: "unicast", Interval: 5 * time.Second, Timeout: 15 * time.Second},
		{Name: "hb#d", Type: "disk", Interval: 5 * time.Second, Timeout: 15 * time.Second, Dev: "/dev/x", MaxSlots: 1024},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(err, diff)
	}
}

func TestLabels(t *testing.T) {
	t.Parallel()
	s := open(t)
	if err := writeInfo(s, `{"n1": {"labels": {"az": "stale"}}, "n2": {"labels": {"az": "west"}}}`); err != nil {
		t.Fatal(err)
	}

	own, err := s.Labels()

	if diff := cmp.Diff(map[string]string{"az": "east"}, own); diff != "" || err != nil {
		t.Error(err, diff)
	}
	want := map[string]map[string]string{"n1": {"az": "east"}, "n2": {"az": "west"}}
	if diff := cmp.Diff(want, s.NodeLabels()); diff != "" {
		t.Error(diff)
	}
}
