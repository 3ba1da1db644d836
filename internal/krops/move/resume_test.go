package move_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"pgregory.net/rapid"

	"github.com/holdfast-ops/holdfast/internal/krops/move"
)

func TestCrashesOneAfterTheOtherLoseNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		source, target := pair(t)
		var operator []string
		if rapid.Bool().Draw(rt, "an operator paused one") {
			plant(source, "quiet")
			source.change(clusters+"quiet", func(u *unstructured.Unstructured) { _ = unstructured.SetNestedField(u.Object, true, "spec", "paused") })
			operator = []string{"quiet"}
		}
		l := watch(source, target)
		for _, at := range rapid.SliceOfN(rapid.IntRange(1, 70), 1, 4).Draw(rt, "writes") {
			released := rapid.Bool().Draw(rt, "released")
			c := &crash{at: at, after: rapid.Bool().Draw(rt, "after")}
			if _, err := c.run(l); err != nil && !c.dead {
				rt.Fatalf("no crash, and yet: %v", err)
			}
			if released {
				if _, err := move.Release(context.Background(), source, ns); err != nil {
					rt.Fatal(err)
				}
			}
		}
		if _, err := move.Move(context.Background(), options(source, target)); err != nil {
			rt.Fatalf("the rerun: %v", err)
		}
		if err := l.moved(operator...); err != nil {
			rt.Error(err)
		}
	})
}

// died brings a move to its nth write, after which it is dead.
func died(t *testing.T, l *laws, at int) {
	t.Helper()
	c := &crash{at: at, after: true}
	if _, err := c.run(l); !c.dead {
		t.Fatalf("the process did not die: %v", err)
	}
}

// phase is how far a move is, by its record at the source.
func phase(s *server) string {
	u := s.at("/configmaps/" + ns + "/krops-move")
	if u == nil {
		return ""
	}
	p, _, _ := unstructured.NestedString(u.Object, "data", "phase")
	return p
}

// until is the first write after which something holds of the two servers, and so many more.
func until(t *testing.T, more int, holds func(source, target *server) bool) int {
	t.Helper()
	for at := 1; at < 100; at++ {
		source, target := pair(t)
		died(t, watch(source, target), at)
		if holds(source, target) {
			return at + more
		}
	}
	t.Fatal("no move ever comes there")
	return 0
}

func in(want string) func(source, target *server) bool {
	return func(source, _ *server) bool { return phase(source) == want }
}

func TestAStaleCopyIsRemovedBeforeTheTargetRuns(t *testing.T) {
	t.Parallel()
	source, target := pair(t)
	l := watch(source, target)
	died(t, l, until(t, 0, func(_, target *server) bool {
		return target.at("infrastructure.cluster.x-k8s.io/devmachines/"+ns+"/mgmt-b") != nil
	}))
	if phase(source) != "copying" {
		t.Fatal("the process did not die where it should")
	}
	if _, err := move.Release(context.Background(), source, ns); err != nil {
		t.Fatal(err)
	}
	// The controllers of the source replace a machine meanwhile.
	for id := range l.before {
		if strings.HasSuffix(id, "/mgmt-b") {
			delete(source.objects, id)
			delete(l.before, id)
		}
	}

	if _, err := move.Move(context.Background(), options(source, target)); err != nil {
		t.Fatal(err)
	}
	if err := l.moved(); err != nil {
		t.Error(err)
	}
}

func TestReleaseLetsTheSourceRunAgain(t *testing.T) {
	t.Parallel()
	source, target := pair(t)
	plant(source, "quiet")
	source.change(clusters+"quiet", func(u *unstructured.Unstructured) { _ = unstructured.SetNestedField(u.Object, true, "spec", "paused") })
	l := watch(source, target)
	died(t, l, until(t, 3, in("copying")))
	if !paused(source.at(clusters + "mgmt")) {
		t.Fatal("the move has paused nothing")
	}

	lifted, err := move.Release(context.Background(), source, ns)
	if err != nil || !lifted {
		t.Fatalf("lifted: %t, %v", lifted, err)
	}
	if paused(source.at(clusters+"mgmt")) || !paused(source.at(clusters+"quiet")) {
		t.Error("not exactly what the move paused runs again")
	}
	if again, err := move.Release(context.Background(), source, ns); err != nil || again {
		t.Errorf("a second time: %t, %v", again, err)
	}
}

func TestReleaseLeavesAMovePastThePointOfNoReturnAlone(t *testing.T) {
	t.Parallel()
	source, target := pair(t)
	l := watch(source, target)
	died(t, l, until(t, 3, in("removing")))

	lifted, err := move.Release(context.Background(), source, ns)
	if err != nil || lifted || !paused(source.at(clusters+"mgmt")) {
		t.Errorf("lifted: %t, %v", lifted, err)
	}
	ready, err := move.Ready(context.Background(), source, ns)
	if err != nil || !ready.Ready() {
		t.Errorf("the move cannot be finished: %v, %v", ready, err)
	}
	left, err := move.Look(context.Background(), source, ns)
	if err != nil || left.Empty() || !left.Unfinished {
		t.Errorf("the source has %+v, %v", left, err)
	}
	if err := move.Unpause(context.Background(), target, ns); err != nil {
		t.Errorf("the target, which has everything, cannot be resumed: %v", err)
	}
}

func TestThePartialCopyOfATargetIsNotResumed(t *testing.T) {
	t.Parallel()
	source, target := pair(t)
	died(t, watch(source, target), until(t, 10, in("copying")))

	say(t, move.Unpause(context.Background(), target, ns), "not complete")
	partial, err := move.Partial(context.Background(), target, ns)
	if err != nil || !partial {
		t.Errorf("partial: %t, %v", partial, err)
	}
}

func TestAnObjectMadeAnewAtTheSourceIsNotDeleted(t *testing.T) {
	t.Parallel()
	source, target := pair(t)
	l := watch(source, target)
	died(t, l, until(t, 1, in("removing")))
	source.change(clusters+"mgmt", func(u *unstructured.Unstructured) { u.SetUID("another") })

	_, err := move.Move(context.Background(), options(source, target))
	say(t, err, "the target cluster has everything", "Cluster fleet/mgmt", "something makes it anew")
	if source.at(clusters+"mgmt") == nil {
		t.Error("it is deleted")
	}
}

func TestNothingMoreIsDeletedWhenTheTargetLosesACopy(t *testing.T) {
	t.Parallel()
	source, target := pair(t)
	l := watch(source, target)
	died(t, l, until(t, 1, in("removing")))
	delete(target.objects, "/secrets/"+ns+"/mgmt-ca")
	had := len(source.ids())

	_, err := move.Move(context.Background(), options(source, target))
	say(t, err, "had Secret fleet/mgmt-ca and does not have it any more")
	if len(source.ids()) != had {
		t.Error("something was deleted")
	}
}

func TestCopiesOfAnotherSourceAreNotOverwritten(t *testing.T) {
	t.Parallel()
	source, target := pair(t)
	died(t, watch(source, target), until(t, 10, in("copying")))
	other := newServer(t, source.mu, "other")
	capi(other)
	plant(other, "mgmt")

	_, err := move.Move(context.Background(), options(other, target))
	say(t, err, "they came from another one")

	// Nor when that source has begun a move of its own.
	died(t, watch(other, newCapi(t, other)), 3)
	_, err = move.Move(context.Background(), options(other, target))
	say(t, err, "another move than the one this source cluster has begun")
}

func newCapi(t *testing.T, beside *server) *server {
	t.Helper()
	s := newServer(t, beside.mu, "third")
	capi(s)
	return s
}

func TestAMoveThatIsOverIsDoneAtOnce(t *testing.T) {
	t.Parallel()
	source, target := pair(t)
	l := watch(source, target)
	for range 2 {
		if _, err := move.Move(context.Background(), options(source, target)); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.moved(); err != nil {
		t.Error(err)
	}

	// What Flux makes anew at the source does not replace what runs at the target.
	plant(source, "mgmt")
	_, err := move.Move(context.Background(), options(source, target))
	say(t, err, "the target cluster has Cluster fleet/mgmt already")
}

func TestAnIdentityTheTargetHasIsLeftAloneAndOwnsItsSecrets(t *testing.T) {
	t.Parallel()
	source, target := pair(t)
	target.put(object(infra, "DevIdentity", "", "default", "spec.mine", "yes"))
	l := watch(source, target)
	if _, err := move.Move(context.Background(), options(source, target)); err != nil {
		t.Fatal(err)
	}
	if err := l.moved(); err != nil {
		t.Error(err)
	}
	if mine, _, _ := unstructured.NestedString(target.at("infrastructure.cluster.x-k8s.io/devidentities//default").Object, "spec", "mine"); mine != "yes" {
		t.Error("the identity is overwritten")
	}
}

func TestAnInterruptionLeavesTheSourceAsItWasOrFinishes(t *testing.T) {
	t.Parallel()
	for at := 1; at < 60; at += 4 {
		t.Run(strconv.Itoa(at), func(t *testing.T) {
			t.Parallel()
			source, target := pair(t)
			l := watch(source, target)
			ctx, interrupt := context.WithCancel(context.Background())
			defer interrupt()
			o, writes := options(source, target), 0
			o.Wrote = func() {
				if writes++; writes == at {
					interrupt()
				}
			}
			_, err := move.Move(ctx, o)
			if !errors.Is(err, context.Canceled) {
				t.Fatalf("the move says %v", err)
			}
			if phase(source) != "removing" {
				if err := l.untouched(); err != nil {
					t.Error(err)
				}
			}
			if _, err := move.Move(context.Background(), options(source, target)); err != nil {
				t.Fatal(err)
			}
			if err := l.moved(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestLookTellsWhatAMoveWouldTake(t *testing.T) {
	t.Parallel()
	source, target := pair(t)
	all, err := move.Look(context.Background(), source, ns)
	if err != nil || !slices.Equal(all.Clusters, []string{"fleet/mgmt"}) || all.Others != 19 || all.Unfinished {
		t.Errorf("the source has %+v, %v", all, err)
	}
	none, err := move.Look(context.Background(), target, ns)
	if err != nil || !none.Empty() {
		t.Errorf("the target has %+v, %v", none, err)
	}
	if _, err := move.Move(context.Background(), options(source, target)); err != nil {
		t.Fatal(err)
	}
	if none, err = move.Look(context.Background(), source, ns); err != nil || !none.Empty() || none.Unfinished {
		t.Errorf("the source has %+v after the move, %v", none, err)
	}
	source.http.Close()
	if _, err := move.Look(context.Background(), source, ns); err == nil {
		t.Error("a server that is gone has nothing")
	}
}
