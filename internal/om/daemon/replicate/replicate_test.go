package replicate_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/event"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

func path(text string) object.Path {
	p, err := object.Parse(text)
	if err != nil {
		panic(err)
	}
	return p
}

func TestAnEditIsOnEveryNodeOfTheObjectWithItsTimeAndMode(t *testing.T) {
	t.Parallel()
	run(t, 3, func(net *network) {
		t := net.t
		n1, n2, n3 := net.nodes["n1"], net.nodes["n2"], net.nodes["n3"]
		for _, p := range []object.Path{path("web"), path("ns1/vol/data"), path("ns1/cfg/app"), path("ns1/usr/joe"), path("ns1/nscfg/namespace")} {
			if p.Kind.Runs() {
				n1.set(p, "nodes=n1 n2", "comment=made")
			} else {
				n1.set(p, "comment=made")
			}
			net.settle()
			n2.set(p, "comment=changed on n2")
			net.settle()

			names := []string{"n1", "n2", "n3"}
			if p.Kind.Runs() {
				names = names[:2]
				if text := n3.text(p); text != "" {
					t.Errorf("%s is not for n3, which has %s", p, text)
				}
			}
			net.same(p, "comment = changed on n2", names...)
			a, err := os.Stat(n1.store.FileName(p))
			if err != nil {
				t.Fatal(err)
			}
			b, err := os.Stat(n2.store.FileName(p))
			if err != nil {
				t.Fatal(err)
			}
			if !a.ModTime().Equal(b.ModTime()) || a.Mode() != 0o600 {
				t.Errorf("%s: %v %v, %v %v", p, a.ModTime(), a.Mode(), b.ModTime(), b.Mode())
			}
			for name, n := range net.nodes {
				if kept := n.backups(p); len(kept) > 0 {
					t.Errorf("%s archived %q", name, kept)
				}
			}
		}
		n3.set(object.Cluster(), "cluster.quorum=true")
		net.settle()
		net.same(object.Cluster(), "quorum = true", "n1", "n2", "n3")
	})
}

func TestTheTimeOfAFileIsNoChange(t *testing.T) {
	t.Parallel()
	run(t, 2, func(net *network) {
		t := net.t
		n1, n2, p := net.nodes["n1"], net.nodes["n2"], path("cfg/app")
		n1.set(p, "comment=made")
		net.settle()
		before := net.fetches
		later := time.Now().Add(time.Hour)
		if err := os.Chtimes(n1.store.FileName(p), later, later); err != nil {
			t.Fatal(err)
		}
		n1.seen(p)
		net.settle()

		if net.fetches != before || len(n2.conflicts()) > 0 {
			t.Errorf("%d fetches after a touch", net.fetches-before)
		}
	})
}

func TestAnObjectIsMadeOnANodeItIsNotFor(t *testing.T) {
	t.Parallel()
	run(t, 3, func(net *network) {
		t := net.t
		n1, n3, p := net.nodes["n1"], net.nodes["n3"], path("web")
		net.split("n2")
		n3.set(p, "nodes=n1 n2", "orchestrate=ha", "comment=made")
		net.settle()
		net.same(p, "comment = made", "n1", "n3") // n2 may still need it

		net.heal()
		net.settle()

		net.same(p, "comment = made", "n1", "n2")
		if text := n3.text(p); text != "" {
			t.Errorf("n3 kept %s", text)
		}
		if kept := n3.backups(p); len(kept) != 1 || kept[0] != n1.text(p) {
			t.Errorf("n3 archived %q", kept)
		}
		if !n1.frozen[p] || !net.nodes["n2"].frozen[p] {
			t.Error("the new instances are not frozen")
		}
		told, heard := told[event.InstanceConfigFor](n3), told[event.InstanceConfigFor](n1)
		if len(told) != 1 || !slices.Equal(told[0].Scope, []string{"n1", "n2"}) {
			t.Errorf("n3 told %v", told)
		}
		if len(heard) != 1 {
			t.Error("n1 did not hear that n3 has it for others")
		}
	})
}

func TestANodeThatIsLeftOutArchivesAndRemoves(t *testing.T) {
	t.Parallel()
	run(t, 3, func(net *network) {
		t := net.t
		p := path("web")
		net.nodes["n1"].set(p, "nodes=n1 n2", "comment=made")
		net.settle()
		net.nodes["n1"].set(p, "nodes=n2 n3")
		net.settle()

		net.same(p, "nodes = n2 n3", "n2", "n3")
		if text := net.nodes["n1"].text(p); text != "" {
			t.Errorf("n1 kept %s", text)
		}
		if kept := net.nodes["n1"].backups(p); len(kept) != 1 {
			t.Errorf("n1 archived %q", kept)
		}
		net.nodes["n3"].set(p, "nodes=n1 n3")
		net.settle()
		net.same(p, "nodes = n1 n3", "n1", "n3")
	})
}

// Story 15.
func TestEditsOnBothSidesOfAPartition(t *testing.T) {
	t.Parallel()
	run(t, 3, func(net *network) {
		t := net.t
		n1, n2, n3 := net.nodes["n1"], net.nodes["n2"], net.nodes["n3"]
		for _, p := range []object.Path{path("cfg/app"), object.Cluster()} {
			comment := "comment"
			if p == object.Cluster() {
				comment = "env.side"
			}
			n1.set(p, comment+"=made")
			net.settle()
			net.split("n3")
			n3.set(p, comment+"=minority")
			net.pass(time.Minute)
			n2.set(p, comment+"=majority")
			net.settle()
			lost := n3.text(p)
			net.heal()
			net.settle()

			net.same(p, " = majority", "n1", "n2", "n3")
			if kept := n3.backups(p); !slices.Equal(kept, []string{lost}) {
				t.Errorf("%s: n3 archived %q, it lost %q", p, kept, lost)
			}
			for name, n := range net.nodes {
				told := n.conflicts()
				if len(told) != 1 {
					t.Errorf("%s: %s told %v", p, name, told)
					continue
				}
				e := told[0]
				if e.Node != "n3" || e.Kept.Node != "n2" || e.Lost.Node != "n3" || !strings.HasPrefix(filepath.Base(e.Backup), strings.ReplaceAll(p.FQN(), "/", ".")+"_") {
					t.Errorf("%s: %s told %+v", p, name, e)
				}
			}
			n1.set(p, comment+"=after")
			net.settle()
			net.same(p, " = after", "n1", "n2", "n3")
		}
	})
}

func TestTheSameEditOnBothSidesIsNoConflict(t *testing.T) {
	t.Parallel()
	run(t, 2, func(net *network) {
		t := net.t
		n1, n2, p := net.nodes["n1"], net.nodes["n2"], path("cfg/app")
		n1.set(p, "comment=made")
		net.settle()
		net.split("n2")
		n1.set(p, "comment=same")
		n2.set(p, "comment=same")
		net.heal()
		net.settle()

		net.same(p, "comment = same", "n1", "n2")
		for _, n := range net.nodes {
			if told := n.conflicts(); len(told) > 0 || len(n.backups(p)) > 0 {
				t.Errorf("%s told %v", n.name, told)
			}
		}
	})
}

// Story 14: a clock an hour ahead, then right again.
func TestAClockThatIsWrongLosesNoEdit(t *testing.T) {
	t.Parallel()
	run(t, 3, func(net *network) {
		t := net.t
		n1, n2, n3, p := net.nodes["n1"], net.nodes["n2"], net.nodes["n3"], path("cfg/app")
		ahead := time.Now().Add(time.Hour)
		n1.set(p, "comment=ahead")
		net.settle()
		// Written by hand where the clock is an hour ahead.
		write(t, n1, p, strings.Replace(n1.text(p), "ahead", "ahead by hand", 1), ahead)
		net.settle()
		net.same(p, "ahead by hand", "n1", "n2", "n3")
		// And by hand where it is an hour behind.
		write(t, n2, p, strings.Replace(n2.text(p), "ahead by hand", "behind by hand", 1), time.Now().Add(-time.Hour))
		net.settle()
		net.same(p, "behind by hand", "n1", "n2", "n3")
		n3.set(p, "comment=now")
		net.settle()

		net.same(p, "comment = now", "n1", "n2", "n3")
		for _, n := range net.nodes {
			if told := n.conflicts(); len(told) > 0 {
				t.Errorf("%s told %v", n.name, told)
			}
		}
	})
}

func write(t *testing.T, n *node, p object.Path, text string, at time.Time) {
	t.Helper()
	file := n.store.FileName(p)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(file, at, at); err != nil {
		t.Fatal(err)
	}
	n.seen(p)
}

func TestEditsMadeWhileTheDaemonIsDown(t *testing.T) {
	t.Parallel()
	run(t, 2, func(net *network) {
		t := net.t
		n1, n2, p := net.nodes["n1"], net.nodes["n2"], path("cfg/app")
		n1.set(p, "comment=made")
		net.settle()
		n1.stop()
		n1.set(p, "comment=offline")
		n1.set(path("cfg/new"), "comment=offline")
		n1.start()
		net.settle()
		net.same(p, "comment = offline", "n1", "n2")
		net.same(path("cfg/new"), "comment = offline", "n1", "n2")

		n1.stop()
		n2.set(p, "comment=while n1 was down")
		net.settle()
		n1.start()
		net.settle()

		net.same(p, "while n1 was down", "n1", "n2")
		for _, n := range net.nodes {
			if told := n.conflicts(); len(told) > 0 {
				t.Errorf("%s told %v", n.name, told)
			}
		}
	})
}

func TestAFileRemovedByHandComesBack(t *testing.T) {
	t.Parallel()
	run(t, 3, func(net *network) {
		t := net.t
		n1, p := net.nodes["n1"], path("cfg/app")
		n1.set(p, "comment=made")
		net.settle()
		rm(t, n1, p)
		net.settle()
		net.same(p, "comment = made", "n1", "n2", "n3")

		rm(t, n1, object.Cluster())
		net.settle()
		net.same(object.Cluster(), "name = test", "n1", "n2", "n3")

		// Nobody has it any more: that is a deletion.
		n1.stop()
		for _, n := range net.nodes {
			rm(t, n, p)
		}
		net.settle()
		n1.start()
		net.settle()
		for _, n := range net.nodes {
			if text := n.text(p); text != "" {
				t.Errorf("%s has %s", n.name, text)
			}
		}
	})
}

func rm(t *testing.T, n *node, p object.Path) {
	t.Helper()
	if err := os.Remove(n.store.FileName(p)); err != nil {
		t.Fatal(err)
	}
	n.seen(p)
}

func TestAnEditorMayTakeTheFileAway(t *testing.T) {
	t.Parallel()
	run(t, 2, func(net *network) {
		t := net.t
		n1, p := net.nodes["n1"], path("cfg/app")
		n1.set(p, "comment=made")
		net.settle()
		text := n1.text(p)
		rm(t, n1, p)
		net.pass(300 * time.Millisecond)
		write(t, n1, p, strings.Replace(text, "made", "edited", 1), time.Now())
		net.settle()

		net.same(p, "comment = edited", "n1", "n2")
	})
}

func TestANodeThatWasAwayResurrectsNothing(t *testing.T) {
	t.Parallel()
	run(t, 3, func(net *network) {
		t := net.t
		n1, n2, n3, p := net.nodes["n1"], net.nodes["n2"], net.nodes["n3"], path("cfg/app")
		n1.set(p, "comment=made")
		net.settle()
		n3.stop()
		n1.remove(p)
		n2.remove(p)
		net.settle()
		n3.set(p, "comment=edited meanwhile")
		lost := n3.text(p)
		n3.start()
		net.settle()

		for _, n := range net.nodes {
			if text := n.text(p); text != "" {
				t.Errorf("%s has %s", n.name, text)
			}
		}
		if kept := n3.backups(p); !slices.Equal(kept, []string{lost}) {
			t.Errorf("n3 archived %q", kept)
		}
		if told := n1.conflicts(); len(told) != 1 || !told[0].Kept.Deleted {
			t.Errorf("n1 heard %v", told)
		}
		// Long after, and with all daemons started again, it can be made again anywhere.
		net.pass(time.Hour)
		n3.stop()
		n3.start()
		n3.set(p, "comment=made again")
		net.settle()
		net.same(p, "made again", "n1", "n2", "n3")
	})
}

func TestAnObjectMadeAgainWhileANodeWasAwayIsNotLost(t *testing.T) {
	t.Parallel()
	run(t, 3, func(net *network) {
		t := net.t
		n1, n2, n3, p := net.nodes["n1"], net.nodes["n2"], net.nodes["n3"], path("cfg/app")
		n1.set(p, "comment=made")
		net.settle()
		n3.stop()
		n1.remove(p)
		n2.remove(p)
		net.settle()
		n1.set(p, "comment=made again")
		net.settle()
		n3.set(p, "comment=edited meanwhile")
		n3.start()
		net.settle()

		net.same(p, "made again", "n1", "n2", "n3")
		if kept := n3.backups(p); len(kept) != 1 || !strings.Contains(kept[0], "meanwhile") {
			t.Errorf("n3 archived %q", kept)
		}
	})
}

// Story 17: the part of the replication.
func TestAPurgeReachesANodeThatWasAway(t *testing.T) {
	t.Parallel()
	run(t, 3, func(net *network) {
		t := net.t
		n1, n2, n3, p := net.nodes["n1"], net.nodes["n2"], net.nodes["n3"], path("web")
		n1.set(p, "nodes=*", "comment=made")
		net.settle()
		n3.stop()
		for _, n := range []*node{n1, n2} {
			n.wants(p, "purged")
			synctest.Wait()
			n.remove(p)
		}
		net.settle()
		tries := 0
		n3.retiring = func(p object.Path, _ bool) error {
			if tries++; tries < 3 {
				return os.ErrDeadlineExceeded // it stops what runs, and removes the data
			}
			n3.remove(p)
			return nil
		}
		n3.start()
		net.settle()

		if n3.retired[p] != "purged" || tries != 3 {
			t.Errorf("n3 was asked %q, %d times", n3.retired[p], tries)
		}
		for _, n := range net.nodes {
			if text := n.text(p); text != "" {
				t.Errorf("%s has %s", n.name, text)
			}
		}
		if kept := n3.backups(p); len(kept) != 1 {
			t.Errorf("n3 archived %q", kept)
		}
	})
}

// Story 22, and everything that keeps one file from being written.
func TestWhatCannotBeWrittenIsTriedAgainAndHoldsUpNothing(t *testing.T) {
	t.Parallel()
	run(t, 2, func(net *network) {
		t := net.t
		n1, n2 := net.nodes["n1"], net.nodes["n2"]
		blocked, free := path("ns1/cfg/app"), path("ns2/cfg/app")
		n1.set(blocked, "comment=made")
		n1.set(free, "comment=made")
		net.settle()
		before := n2.text(blocked)
		if err := os.RemoveAll(filepath.Join(n2.paths.Var(), "replica")); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(n2.paths.Var(), "replica"), nil, 0o600); err != nil { // no record can be written
			t.Fatal(err)
		}
		n1.set(blocked, "comment=changed")
		net.settle()
		if text := n2.text(blocked); text != before {
			t.Errorf("the old file is not intact: %s", text)
		}
		if err := os.Remove(filepath.Join(n2.paths.Var(), "replica")); err != nil {
			t.Fatal(err)
		}
		net.settle()
		net.same(blocked, "changed", "n1", "n2")

		dir := filepath.Join(n2.paths.Etc(), "namespaces", "ns3")
		if err := os.WriteFile(dir, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		n1.set(path("ns3/cfg/app"), "comment=made")
		n1.set(free, "comment=changed")
		net.settle()
		net.same(free, "changed", "n1", "n2")
		if err := os.Remove(dir); err != nil {
			t.Fatal(err)
		}
		net.settle()
		net.same(path("ns3/cfg/app"), "made", "n1", "n2")
	})
}

func TestTheDeletionsThatAreRememberedAreBounded(t *testing.T) {
	t.Parallel()
	run(t, 2, func(net *network) {
		n1 := net.nodes["n1"]
		n1.copies.KeepGone(3)
		net.nodes["n2"].stop()
		for i := range 10 {
			p := path(fmt.Sprint("cfg/app", i))
			n1.set(p, "comment=made")
			synctest.Wait()
			n1.remove(p)
			synctest.Wait()
		}
		net.settle()

		records, err := filepath.Glob(filepath.Join(n1.paths.Var(), "replica", "root_cfg_app*.json"))
		if err != nil || len(records) != 3 || !strings.HasSuffix(records[2], "app9.json") {
			net.t.Errorf("%v %v", err, records)
		}
		if announced := len(n1.state.Announcements(func(key string) bool { return strings.Contains(key, "cfg/app") })); announced != 3 {
			net.t.Errorf("%d deletions are announced", announced)
		}
	})
}
