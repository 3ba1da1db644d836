//go:build lab

package trial_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/test/om/bed"
	"github.com/holdfast-ops/holdfast/test/om/trial"
)

// judged is a cluster of node1 and node2, whose arbitrator is the agent of node3, a
// cluster of its own.
func judged(t *testing.T) *story {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	b, err := bed.New(ctx, bed.Options{Dir: t.TempDir(), Programs: programs})
	if err != nil {
		t.Fatal(err)
	}
	s := &story{Trial: trial.On(b), t: t}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("%s\n%s", s.Log(), s.Tails(40))
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	first, second := s.Node("node1"), s.Node("node2")
	etc := filepath.Join(first.Etc(), "opensvc")
	s.must(os.Mkdir(etc, 0o700))
	s.must(os.WriteFile(filepath.Join(etc, "cluster.conf"), []byte("[cluster]\nname = judged\nnodes = node1 node2\nquorum = true\n"+strings.Replace(trial.Short, "ready_period = 500ms", "ready_period = 15s", 1)+
		"\n[arbitrator#a1]\nuri = https://node3:1215\nexclusive = true\ninsecure = true\n"), 0o600))
	s.must(first.StartDaemon(ctx))
	s.must(os.CopyFS(filepath.Join(second.Etc(), "opensvc"), os.DirFS(etc)))
	s.must(second.StartDaemon(ctx))
	s.must(s.Node("node3").StartDaemon(ctx))
	s.om("node3", "system/usr/relay", "create", "--kw", "grant=heartbeat")
	s.om("node3", "system/usr/relay", "key", "add", "--name", "password", "--value", "s3cret")
	s.om("node1", "system/sec/relay", "create")
	s.om("node1", "system/sec/relay", "key", "add", "--name", "password", "--value", "s3cret")
	s.until("node2 has the password", func() bool {
		_, err := second.Run(t.Context(), "om", "system/sec/relay", "key", "decode", "--name", "password")
		return err == nil
	})
	s.until("both nodes see the arbitrator", func() bool {
		return s.node("node1", "node1").Status.Arbitrators["a1"].Status == cluster.Up && s.node("node2", "node2").Status.Arbitrators["a1"].Status == cluster.Up
	})
	s.until("both nodes are at work", func() bool {
		return s.node("node1", "node2").Monitor.State == "idle" && s.node("node2", "node1").Monitor.State == "idle"
	})
	return s
}

// node is what a node knows of another one.
func (s *story) node(from, of string) cluster.Node {
	s.t.Helper()
	v, err := s.View(s.t.Context(), s.Node(from))
	if err != nil {
		return cluster.Node{}
	}
	return v.Cluster.Node[of]
}

// The interconnect is cut, and both halves reach the arbitrator: an exclusive vote
// leaves one of them.
func TestTheVoteOfAnAgentLeavesOneHalfOfAClusterOfTwo(t *testing.T) {
	t.Parallel()
	s := judged(t)
	s.must(s.Create(t.Context(), svc("web"), trial.Failover("web")))
	for _, n := range []string{"node1", "node2"} {
		s.until(n+" knows of web", func() bool {
			_, err := s.Node(n).Run(t.Context(), "om", "web", "instance", "status")
			return err == nil
		})
	}
	s.om("node1", "web", "unfreeze", "--wait", "--time", "60s")
	s.ask(trial.Port, s.Node("node1").Address(0), s.Node("node2").Address(0))
	s.answers("node1")

	s.Network().Cut([]string{"node1"}, []string{"node2"})

	s.until("one of the nodes takes itself down", func() bool { return s.Node("node1").Up() != s.Node("node2").Up() })
	survivor, other := "node1", "node2"
	if !s.Node(survivor).Up() {
		survivor, other = other, survivor
	}
	s.answers(survivor)
	s.until("the survivor has the quorum", func() bool {
		q := s.node(survivor, survivor).Status.Quorum
		return q != nil && q.Held && q.Votes == 2 && q.Total == 3
	})
	s.quiet("the survivor goes on", func() bool { return s.Node(survivor).Up() && !s.Node(other).Up() })
	s.alone()
	s.Network().Heal()
	s.must(s.Revive(t.Context(), s.Node(other)))
	s.until("the vote is given back", func() bool { return s.node(survivor, survivor).Status.Quorum == nil })
	s.alone()
}

// Nothing takes the lost node down: its service waits until somebody says it is off.
func TestAFenceThatFailsBlocksATakeoverUntilSomebodySaysTheNodeIsOff(t *testing.T) {
	t.Parallel()
	s := &story{Trial: beginWith(t, bed.Options{}, "\n[cluster]\n"+trial.Short+"\n[stonith#node1]\ncommand = /bin/false\n"), t: t}
	s.create("web", strings.Replace(trial.Failover("web"), "orchestrate = ha\n", "orchestrate = ha\nstonith = true\n", 1))
	s.ask(trial.Port)
	s.answers("node1")

	s.must(s.Node("node1").PowerOff())

	s.until("the fencing of node1 fails", func() bool { return s.node("node2", "node2").Status.Fences["node1"].State == "failed" })
	s.quiet("the service is nowhere", func() bool { return s.client.Who() == "" })
	s.om("node2", "node", "stonith", "--node", "node1", "--confirmed")
	s.answers("node2")
	s.alone()
}

// A fence that succeeds is run once, and the service starts elsewhere after it.
func TestALostNodeIsFencedBeforeItsServiceStartsElsewhere(t *testing.T) {
	t.Parallel()
	s := &story{Trial: beginWith(t, bed.Options{}, "\n[cluster]\n"+trial.Short+"\n[stonith#node1]\ncommand = /bin/sh -c 'echo fenced >>/mnt/data/fences'\n"), t: t}
	s.create("web", strings.Replace(trial.Failover("web"), "orchestrate = ha\n", "orchestrate = ha\nstonith = true\n", 1))
	s.ask(trial.Port)
	s.answers("node1")

	s.must(s.Node("node1").PowerOff())

	s.answers("node2")
	text, err := os.ReadFile(filepath.Join(s.Shared(), "data", "fences"))
	s.must(err)
	if string(text) != "fenced\n" {
		t.Errorf("the fences are %q, want one", text)
	}
	s.alone()
}

// A daemon that is stopped says so: what it leaves running is left to it.
func TestADaemonThatIsStoppedKeepsItsServices(t *testing.T) {
	t.Parallel()
	s := tell(t, bed.Options{}, quorum+strings.Replace(trial.Short, "maintenance_grace_period = 3s", "maintenance_grace_period = 300s", 1))
	n := s.Node("node1")
	s.must(n.StopDaemon(t.Context()))
	s.until("the others know that node1 is in maintenance", func() bool { return s.node("node2", "node1").Monitor.State == "maintenance" })
	s.quiet("the service stays on node1", func() bool { return s.client.Who() == "node1" && s.starts() == 1 })
	s.must(n.StartDaemon(t.Context()))
	s.must(s.AwaitAll(t.Context()))
	s.quiet("the service stays on node1", func() bool { return s.client.Who() == "node1" && s.starts() == 1 })
	s.alone()
}
