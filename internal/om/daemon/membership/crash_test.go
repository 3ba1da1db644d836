package membership_test

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/membership"
)

// killed is what ends a daemon at once.
type killed struct{ step string }

// dies calls f until the step it dies at, and reports which; "" when f ended by itself.
func dies(f func()) (step string) {
	defer func() {
		if k, ok := recover().(killed); ok {
			step = k.step
		}
	}()
	f()
	return ""
}

// crashes kills the daemon of a node at its n-th step, then starts it again.
func (s *site) crashes(n int, check func(step string)) (step string) {
	s.t.Helper()
	s.step = func(name string) {
		if n--; n == 0 {
			panic(killed{name})
		}
	}
	step = dies(func() {
		s.manager.Work(s.t.Context())
		s.begin()
	})
	s.step = func(string) {}
	if step != "" {
		check(step)
		s.begin()
		s.settle()
	}
	return step
}

// Killed at any step, a node that joins is alone with what it had, or joins when its
// daemon starts again: it is never half of either, and nothing it had is lost.
func TestANodeThatIsKilledWhileItJoinsJoins(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for n := 1; ; n++ {
		one, two := newSite(t, "node1"), newSite(t, "node2")
		two.create("old")
		former := tree(t, two.host.Paths.Etc())
		if err := one.enroll(two, asIs); err != nil {
			t.Fatal(err)
		}
		step := two.crashes(n, func(step string) {
			etc := tree(t, two.host.Paths.Etc())
			if pending := membership.Pending(two.host.Paths); pending != "ready" && !cmp.Equal(former, etc) {
				t.Errorf("killed when %s, the order %s: %s", step, pending, cmp.Diff(former, etc))
			}
		})
		if two.identity.ClusterID != one.identity.ClusterID || two.nodes() != "node1 node2" || one.nodes() != "node1 node2" || two.isFrozen() {
			t.Errorf("killed when %s: of cluster %s with %s, frozen %t", step, two.identity.ClusterID, two.nodes(), two.isFrozen())
		}
		if etc := tree(t, two.host.Paths.Etc()); etc["old.conf"] != "" {
			t.Errorf("killed when %s: the node has %v", step, etc)
		}
		kept, err := filepath.Glob(filepath.Join(two.host.Paths.Var(), "backup", ".pre-cluster-join-etc-*"))
		if err != nil || len(kept) != 1 {
			t.Fatalf("killed when %s: backups: %q, %v", step, kept, err)
		}
		if diff := cmp.Diff(former, tree(t, kept[0])); diff != "" {
			t.Errorf("killed when %s: the backup is not what was there: %s", step, diff)
		}
		if step == "" {
			break
		}
		seen[step] = true
	}
	for _, step := range []string{"accepted", "marked asked", "added", "fetched", "drained", "fetched again", "backup begun", "backup done", "state set aside", "file installed", "former removed", "installed"} {
		if !seen[step] {
			t.Errorf("never killed when %s", step)
		}
	}
}

// The same for a node that leaves: the cluster and the node agree in the end.
func TestANodeThatIsKilledWhileItLeavesLeaves(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for n := 1; ; n++ {
		one, two := newCluster(t)
		former := two.identity.ClusterID
		if err := one.manager.Evict(t.Context(), root(), api.EvictOrder{Node: "node2", Credential: "admin:s3cret"}); err != nil {
			t.Fatal(err)
		}
		step := two.crashes(n, func(string) {})
		if two.identity.ClusterID == former || two.nodes() != "node2" || one.nodes() != "node1" {
			t.Errorf("killed when %s: the nodes are %s and %s", step, two.nodes(), one.nodes())
		}
		if !two.store.Exists(path(t, "system/usr/admin")) {
			t.Errorf("killed when %s: the user is not there", step)
		}
		if step == "" {
			break
		}
		seen[step] = true
	}
	for _, step := range []string{"drained", "marked asked", "removed", "backup begun", "file installed", "installed"} {
		if !seen[step] {
			t.Errorf("never killed when %s", step)
		}
	}
}

// An operator who does not wait for the daemon may enroll the node again: the order
// that was interrupted gives way.
func TestANodeThatWasKilledIsEnrolledAgain(t *testing.T) {
	t.Parallel()
	one, two := newSite(t, "node1"), newSite(t, "node2")
	if err := one.enroll(two, asIs); err != nil {
		t.Fatal(err)
	}
	two.step = func(name string) {
		if name == "added" {
			panic(killed{name})
		}
	}
	if dies(func() { two.manager.Work(t.Context()) }) == "" {
		t.Fatal("it did not come that far")
	}
	two.step = func(string) {}
	two.begin()
	if err := one.enroll(two, asIs); err != nil {
		t.Fatal(err)
	}
	two.settle()
	if two.nodes() != "node1 node2" || two.identity.ClusterID != one.identity.ClusterID {
		t.Errorf("the nodes are %s", two.nodes())
	}
}
