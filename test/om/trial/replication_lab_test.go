//go:build lab

package trial_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-ops/holdfast/test/om/bed"
	"github.com/holdfast-ops/holdfast/test/om/trial"
)

// reads is what a configuration file holds on a node, empty when it is not there.
func (s *story) reads(node, file string) string {
	data, _ := os.ReadFile(filepath.Join(s.Node(node).Etc(), "opensvc", file))
	return string(data)
}

// agree waits until nodes have one content of a file, with a line; without, no file.
func (s *story) agree(file, line string, nodes ...string) {
	s.t.Helper()
	s.until(strings.Join(nodes, ", ")+" have "+line+" in "+file, func() bool {
		first := s.reads(nodes[0], file)
		for _, n := range nodes {
			if text := s.reads(n, file); text != first || !strings.Contains(text, line) || line == "" && text != "" {
				return false
			}
		}
		return true
	})
}

// backups are the archived configurations of an object on a node.
func (s *story) backups(node, prefix string) (texts []string) {
	s.t.Helper()
	names, err := filepath.Glob(filepath.Join(s.Node(node).Var(), "lib/opensvc/backup", prefix+"_*.bck"))
	s.must(err)
	for _, name := range names {
		data, err := os.ReadFile(name)
		s.must(err)
		texts = append(texts, string(data))
	}
	return texts
}

func TestConfigurationsAreOneOnEveryNode(t *testing.T) {
	t.Parallel()
	s := &story{Trial: beginWith(t, bed.Options{}, trial.Short), t: t}
	all := []string{"node1", "node2", "node3"}
	s.om("node1", "cfg/app", "create")
	s.om("node1", "cfg/app", "key", "add", "--name", "a", "--value", "1")
	s.agree("cfg/app.conf", "a = ", all...)
	s.om("node2", "cfg/app", "key", "change", "--name", "a", "--value", "2")
	s.agree("cfg/app.conf", "2", all...)
	s.om("node3", "sec/app", "create")
	s.om("node3", "sec/app", "key", "add", "--name", "password", "--value", "x")
	s.agree("sec/app.conf", "password = crypt:", all...)
	if out := s.om("node1", "sec/app", "key", "decode", "--name", "password"); out != "x" {
		t.Errorf("node1 decodes %q", out)
	}
	s.om("node2", "cluster", "config", "update", "--set", "env.city=paris")
	s.agree("cluster.conf", "city = paris", all...)

	// For others than the node where it is made; they may not start it yet.
	s.om("node1", "web", "create", "--kw", "nodes=node2 node3", "--kw", "orchestrate=ha", "--kw", "app#1.start=/bin/true")
	s.agree("web.conf", "nodes = node2 node3", "node2", "node3")
	s.agree("web.conf", "", "node1")
	if kept := s.backups("node1", "root.svc.web"); len(kept) != 1 || kept[0] != s.reads("node2", "web.conf") {
		t.Errorf("node1 archived %q", kept)
	}
	s.om("node1", "web", "config", "update", "--set", "comment=from node1", "--wait")
	s.agree("web.conf", "comment = from node1", "node2", "node3")
	if _, err := s.Node("node1").Run(t.Context(), "om", "web", "create"); err == nil {
		t.Error("web is made again where it is not")
	}
	s.until("the new instances are frozen", func() bool {
		out, err := s.Node("node2").Run(t.Context(), "om", "web", "instance", "status")
		return err == nil && strings.Contains(out, "frozen")
	})

	// By hand: removed, then edited, with the daemon down.
	s.must(os.Remove(filepath.Join(s.Node("node3").Etc(), "opensvc/cfg/app.conf")))
	s.agree("cfg/app.conf", "2", all...)
	n := s.Node("node3")
	s.must(n.StopDaemon(t.Context()))
	s.om("node3", "cfg/app", "config", "update", "--set", "comment=offline")
	s.must(n.StartDaemon(t.Context()))
	s.agree("cfg/app.conf", "comment = offline", all...)

	s.om("node2", "cfg/app", "delete", "--wait", "--time", "60s")
	s.agree("cfg/app.conf", "", all...)
}

func TestBothSidesOfAPartitionEditTheSameObject(t *testing.T) {
	t.Parallel()
	s := &story{Trial: beginWith(t, bed.Options{}, trial.Short), t: t}
	all := []string{"node1", "node2", "node3"}
	s.om("node1", "cfg/app", "create", "--kw", "comment=made")
	s.agree("cfg/app.conf", "comment = made", all...)
	s.Network().Cut([]string{"node1"}, []string{"node2", "node3"})
	s.om("node1", "cfg/app", "config", "update", "--set", "comment=smaller")
	s.om("node2", "cfg/app", "config", "update", "--set", "comment=greater")
	s.agree("cfg/app.conf", "comment = greater", "node2", "node3")
	lost := s.reads("node1", "cfg/app.conf")
	s.Network().Heal()
	s.agree("cfg/app.conf", "comment = greater", all...)

	if kept := s.backups("node1", "root.cfg.app"); len(kept) != 1 || kept[0] != lost {
		t.Errorf("node1 archived %q, it lost %q", kept, lost)
	}
	for _, node := range all {
		s.until(node+" tells of it", func() bool {
			log, err := os.ReadFile(s.Node(node).DaemonLog())
			return err == nil && strings.Contains(string(log), "edited on two sides")
		})
	}
}

func TestAnObjectDeletedWhileANodeWasAwayStaysDeleted(t *testing.T) {
	t.Parallel()
	s := tell(t, bed.Options{}, trial.Short)
	all := []string{"node1", "node2", "node3"}
	n := s.Node("node3")
	s.om("node1", "cfg/app", "create", "--kw", "comment=made")
	s.agree("cfg/app.conf", "comment = made", all...)
	s.must(n.PowerOff())
	s.om("node1", "cfg/app", "delete", "--wait", "--time", "60s")
	s.om("node1", "web", "purge", "--wait", "--time", "60s")
	s.agree("web.conf", "", "node1", "node2")
	s.must(s.Revive(t.Context(), n))
	s.agree("web.conf", "", all...)
	s.agree("cfg/app.conf", "", all...)
	if kept := s.backups("node3", "root.svc.web"); len(kept) != 1 {
		t.Errorf("node3 archived %q", kept)
	}
	s.om("node3", "cfg/app", "create", "--kw", "comment=again")
	s.agree("cfg/app.conf", "comment = again", all...)
	s.alone()
}

func TestAFullDiskHoldsUpItsOwnNodeOnly(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("a file system of its own for /var takes root")
	}
	s := &story{Trial: beginWith(t, bed.Options{VarSize: "64M"}, trial.Short), t: t}
	all := []string{"node1", "node2", "node3"}
	s.om("node1", "cfg/app", "create", "--kw", "comment=made")
	s.agree("cfg/app.conf", "comment = made", all...)
	s.must(s.Node("node3").FillDisk(t.Context()))
	s.om("node1", "cfg/app", "config", "update", "--set", "comment=changed")
	s.agree("cfg/app.conf", "comment = changed", "node1", "node2")
	s.until("node3 says why it has not", func() bool {
		log, err := os.ReadFile(s.Node("node3").DaemonLog())
		return err == nil && strings.Contains(string(log), "no space left")
	})
	if text := s.reads("node3", "cfg/app.conf"); !strings.Contains(text, "comment = made") {
		t.Errorf("the old file is not intact: %q", text)
	}
	s.must(s.Node("node3").EmptyDisk(t.Context()))
	s.agree("cfg/app.conf", "comment = changed", all...)
	s.must(s.Node("node3").StopDaemon(context.WithoutCancel(t.Context())))
}
