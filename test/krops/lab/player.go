package lab

import (
	"context"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Players are the controllers that the lab plays on one API server. What a player
// cannot do now it does at its next turn.
type Players struct {
	stop  context.CancelFunc
	turns sync.WaitGroup
}

// A Player takes one turn after the other.
type Player interface {
	Turn(ctx context.Context) error
}

// pause is the pause between two turns of a player.
const pause = 300 * time.Millisecond

// patience is how long a test waits for what has to come true.
const patience = 2 * time.Minute

// Play lets players play until Stop. hear gets what a turn fails with; it may be nil.
func Play(ctx context.Context, hear func(Player, error), players ...Player) *Players {
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	p := &Players{stop: stop}
	for _, player := range players {
		p.turns.Go(func() {
			tick := time.NewTicker(pause)
			defer tick.Stop()
			for {
				if err := player.Turn(ctx); err != nil && hear != nil && ctx.Err() == nil {
					hear(player, err)
				}
				select {
				case <-ctx.Done():
					return
				case <-tick.C:
				}
			}
		})
	}
	return p
}

// Stop ends the play and waits for the last turns.
func (p *Players) Stop() {
	p.stop()
	p.turns.Wait()
}

// listed returns the objects of a kind, none where the kind is not served yet.
func (c *Client) listed(ctx context.Context, gk schema.GroupKind, ns string) ([]Object, error) {
	if there, err := c.serves(ctx, gk.Group); !there {
		return nil, err
	}
	list, err := c.List(ctx, gk, ns)
	if meta.IsNoMatchError(err) || apierrors.IsNotFound(err) {
		return nil, nil
	}
	return list, err
}

// settle writes the status of an object where it is another one.
func (c *Client) settle(ctx context.Context, o *Object, status map[string]any) error {
	is, _, _ := unstructured.NestedMap(o.Object, "status") // none is an empty one
	if contains(is, status) {
		return nil
	}
	return c.Patch(ctx, o.GroupVersionKind().GroupKind(), o.GetNamespace(), o.GetName(), map[string]any{"status": status}, "status")
}

// contains tells whether a has all of b, times of transition left out.
func contains(a, b any) bool {
	switch want := b.(type) {
	case map[string]any:
		is, ok := a.(map[string]any)
		for key, value := range want {
			if !ok || key != "lastTransitionTime" && !contains(is[key], value) {
				return false
			}
		}
		return ok
	case []any:
		is, ok := a.([]any)
		if !ok || len(is) != len(want) {
			return false
		}
		for i := range want {
			if !contains(is[i], want[i]) {
				return false
			}
		}
		return true
	case int:
		return a == int64(want)
	default:
		return a == b
	}
}

// condition is an entry of a list of conditions.
func condition(kind string, met bool, reason, message string) map[string]any {
	status := "False"
	if met {
		status = "True"
	}
	return map[string]any{
		"type": kind, "status": status, "reason": reason, "message": message,
		"lastTransitionTime": time.Now().UTC().Format(time.RFC3339),
	}
}
