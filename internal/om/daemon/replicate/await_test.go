package replicate_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/cluster"
)

func TestAWaitEndsWhenEveryLiveNodeOfTheObjectHasIt(t *testing.T) {
	t.Parallel()
	run(t, 3, func(net *network) {
		t := net.t
		n1, p := net.nodes["n1"], path("cfg/app")
		n1.state.SetPeer("n2", cluster.Peer{Beating: true})
		n1.state.SetPeer("n3", cluster.Peer{})
		await := func() []string {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			return n1.copies.Await(ctx, p)
		}
		net.split("n3")
		n1.set(p, "comment=made")
		if missing := await(); len(missing) > 0 {
			t.Errorf("waits for %v", missing)
		}
		net.split("n2")
		n1.set(p, "comment=changed")
		if missing := await(); !slices.Equal(missing, []string{"n2"}) {
			t.Errorf("waits for %v", missing)
		}
		net.heal()
		if missing := await(); len(missing) > 0 {
			t.Errorf("waits for %v", missing)
		}
		net.same(p, "changed", "n1", "n2")
	})
}
