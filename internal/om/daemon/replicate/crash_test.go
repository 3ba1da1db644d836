package replicate_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/replication"
)

// record is what a node keeps beside a configuration.
type record struct {
	Path    object.Path          `json:"path"`
	Version replication.Version  `json:"version"`
	Next    *replication.Version `json:"next,omitempty"`
}

func (n *node) recordFile(p object.Path) string {
	return filepath.Join(n.paths.Var(), "replica", strings.ReplaceAll(p.FQN(), "/", "_")+".json")
}

func (n *node) record(p object.Path) (one record) {
	n.net.t.Helper()
	data, err := os.ReadFile(n.recordFile(p))
	if err == nil {
		err = json.Unmarshal(data, &one)
	}
	if err != nil {
		n.net.t.Fatal(err)
	}
	return one
}

func (n *node) putRecord(p object.Path, one record) {
	n.net.t.Helper()
	data, err := json.Marshal(one)
	if err == nil {
		err = os.WriteFile(n.recordFile(p), data, 0o600)
	}
	if err != nil {
		n.net.t.Fatal(err)
	}
}

// What a node that was killed leaves, at each step of an install, of an edit and of a
// deletion, heals without anybody noticing.
func TestANodeThatWasKilledAnywhereHeals(t *testing.T) {
	t.Parallel()
	p := path("cfg/app")
	install := func(n *node, next record, text string) {
		one := n.record(p)
		one.Next = &next.Version
		n.putRecord(p, one)
		if text != "" {
			n.put("cfg/app.conf", text)
		}
	}
	for name, c := range map[string]struct {
		left func(n2 *node, next record, text string) // by the kill of n2
		want string
		lost int // archived on n2
	}{
		"before an install":               {func(*node, record, string) {}, "changed", 0},
		"before the file of an install":   {func(n *node, next record, _ string) { install(n, next, "") }, "changed", 0},
		"after the file of an install":    {install, "changed", 0},
		"between a fetch and its record":  {func(n *node, _ record, text string) { n.put("cfg/app.conf", text) }, "changed", 0},
		"after an install":                {func(n *node, next record, text string) { n.put("cfg/app.conf", text); n.putRecord(p, next) }, "changed", 0},
		"with a record that is cut short": {func(n *node, _ record, _ string) { truncate(n, p) }, "changed", 1},
		"with a record that is lost": {func(n *node, _ record, _ string) {
			if err := os.RemoveAll(filepath.Join(n.paths.Var(), "replica")); err != nil {
				n.net.t.Fatal(err)
			}
		}, "changed", 1},
		"after the file of a deletion": {func(n *node, _ record, _ string) { n.remove(p) }, "", 0},
		"before the file of a deletion": {func(n *node, _ record, _ string) {
			text, at := n.text(p), n.modTime(p)
			n.remove(p)
			n.put("cfg/app.conf", text)
			if err := os.Chtimes(n.store.FileName(p), at, at); err != nil {
				n.net.t.Fatal(err)
			}
		}, "changed", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(t, 2, func(net *network) {
				t := net.t
				n1, n2 := net.nodes["n1"], net.nodes["n2"]
				n1.set(p, "comment=made")
				net.settle()
				n2.stop()
				n1.set(p, "comment=changed")
				net.settle()

				c.left(n2, n1.record(p), n1.text(p))
				n2.start()
				net.settle()

				if c.want != "" {
					net.same(p, "comment = "+c.want, "n1", "n2")
				} else if n1.text(p) != "" || n2.text(p) != "" {
					t.Errorf("n1 has %q, n2 has %q", n1.text(p), n2.text(p))
				}
				if kept := n2.backups(p); len(kept) != c.lost {
					t.Errorf("n2 archived %q", kept)
				}
				if c.want == "" {
					return
				}
				n2.set(p, "comment=goes on")
				net.settle()
				net.same(p, "goes on", "n1", "n2")
			})
		})
	}
}

func (n *node) modTime(p object.Path) time.Time {
	n.net.t.Helper()
	info, err := os.Stat(n.store.FileName(p))
	if err != nil {
		n.net.t.Fatal(err)
	}
	return info.ModTime()
}

func truncate(n *node, p object.Path) {
	n.net.t.Helper()
	if err := os.Truncate(n.recordFile(p), 10); err != nil {
		n.net.t.Fatal(err)
	}
}

// A node that is restored from a snapshot gets what the others have since.
func TestADiskThatGoesBackInTimeCatchesUp(t *testing.T) {
	t.Parallel()
	run(t, 2, func(net *network) {
		n1, p := net.nodes["n1"], path("cfg/app")
		n1.set(p, "comment=made")
		net.settle()
		old, text := n1.record(p), n1.text(p)
		n1.set(p, "comment=heard of")
		net.settle()
		n1.stop()
		n1.putRecord(p, old)
		n1.put("cfg/app.conf", text)
		n1.start()
		net.settle()

		net.same(p, "comment = heard of", "n1", "n2")
	})
}
