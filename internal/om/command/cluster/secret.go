package cluster

import (
	"context"
	"fmt"

	"github.com/holdfast-ops/holdfast/internal/om/command/verb"
)

// Rotator gives the cluster another secret.
type Rotator interface {
	RotateSecret(ctx context.Context) (Rotated, error)
}

// Rotated tells what a rotation did.
type Rotated struct {
	Keys       int      // sealed with the new secret
	Unreadable []string // keys that no known secret opens
	Pending    bool     // the former secret is still accepted
}

// rotate is the command that gives the cluster another secret.
var rotate = verb.Verb{
	Path: "secret rotate", Group: "configuration",
	Short: "Give the cluster another secret",
	Long: "Give the cluster another random secret, and seal the keys of every sec and usr object with it. The former secret is kept, and accepted, " +
		"until every key is sealed anew: an interruption loses nothing, the daemon goes on from there.",
	New: verb.Does(func(ctx context.Context, r Rotator, c *verb.Call) error {
		done, err := r.RotateSecret(ctx)
		if err != nil {
			return err
		}
		for _, key := range done.Unreadable {
			c.Say("Warning: %s: no known secret opens it: it is left as it is", key)
		}
		if done.Pending {
			c.Say("The former secret is still accepted, until the other nodes have the keys.")
		}
		return c.Print(fmt.Sprintf("keys sealed with the new secret: %d", done.Keys))
	}),
}
