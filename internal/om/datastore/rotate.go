package datastore

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/holdfast-ops/holdfast/internal/om/config"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/secret"
)

// Resealed tells what [Data.Reseal] did.
type Resealed struct {
	Keys       int      // sealed with the current secret of the cluster
	Unreadable []string // "object: key": opened by no secret known, left as they are
	Pending    bool     // former secrets are still accepted
}

// maxPasses bounds how often the objects are gone through.
const maxPasses = 10

// Reseal seals with the secret of the cluster what one it had before sealed, then
// has the former ones forgotten.
//
// The commit that changed the secret kept the former one beside it, and both open
// keys until every key is sealed anew: a crash anywhere loses nothing, and
// another call goes on from there. The former secrets are forgotten once a pass
// under the lock of each object found nothing left, and only where the node is
// the whole cluster: a node that is away may bring back keys sealed before.
func (d *Data) Reseal(ctx context.Context) (done Resealed, err error) {
	return d.ResealOf(ctx, func(object.Path) bool { return true })
}

// ResealOf is [Data.Reseal] of the objects that mine selects: of the nodes that have an
// object, one seals it anew and the others get it from there.
func (d *Data) ResealOf(ctx context.Context, mine func(object.Path) bool) (done Resealed, err error) {
	known, err := d.store.ClusterSecrets()
	if err == nil {
		err = known.Damaged
	}
	if err != nil || len(known.Former) == 0 {
		return done, err
	}
	done.Pending = true
	for range maxPasses {
		keys, unreadable, err := d.resealAll(ctx, mine)
		done.Keys, done.Unreadable = done.Keys+keys, unreadable
		if err != nil {
			return done, err
		}
		if keys > 0 {
			continue
		}
		if len(d.store.Nodes()) != 1 {
			return done, nil
		}
		d.step("sealed")
		if err := d.store.ForgetSecrets(ctx, known.Former); err != nil {
			return done, err
		}
		done.Pending = false
		return done, nil
	}
	return done, errors.New("keys keep being sealed with a former secret of the cluster")
}

func (d *Data) resealAll(ctx context.Context, mine func(object.Path) bool) (keys int, unreadable []string, err error) {
	paths, err := d.store.List()
	if err != nil {
		return 0, nil, err
	}
	var errs []error
	for _, p := range paths {
		if p.Kind != object.KindSec && p.Kind != object.KindUsr || !mine(p) {
			continue
		}
		n, closed, err := d.resealOne(ctx, p)
		if _, gone := errors.AsType[*object.NotFoundError](err); gone {
			continue
		}
		keys, unreadable, errs = keys+n, append(unreadable, closed...), append(errs, err)
		d.step("object")
	}
	return keys, unreadable, errors.Join(errs...)
}

func (d *Data) resealOne(ctx context.Context, p object.Path) (keys int, unreadable []string, err error) {
	_, err = d.Modify(ctx, p, func(tx *Tx) error {
		keys, unreadable, err = tx.reseal()
		return err
	})
	return keys, unreadable, err
}

// reseal seals with the current secret what is sealed with a former one.
func (tx *Tx) reseal() (keys int, unreadable []string, err error) {
	for _, name := range tx.Names() {
		text, _ := tx.text(name)
		c := crypt{keys: tx.keys, associated: tx.place(name)}
		value, current, err := c.open(text)
		switch {
		case errors.Is(err, secret.ErrSealed), err != nil && sizeOf(text) < 0:
			unreadable = append(unreadable, fmt.Sprintf("%s: key %s", tx.path, name))
		case err != nil:
			return keys, unreadable, err
		case !current:
			if err := tx.put(name, value); err != nil {
				return keys, unreadable, err
			}
			keys++
		}
	}
	return keys, unreadable, nil
}

// NewSecret makes a secret for a cluster.
func NewSecret() (secret.String, error) {
	random := make([]byte, 16)
	if _, err := rand.Read(random); err != nil {
		return secret.String{}, err
	}
	return secret.New(hex.EncodeToString(random)), nil
}

// Rotate gives the cluster another secret, and seals the keys with it.
func (d *Data) Rotate(ctx context.Context, to secret.String) (Resealed, error) {
	_, err := d.store.Modify(ctx, object.Cluster(), func(doc *config.Document) error {
		return doc.Set(config.Key{Section: "cluster", Option: "secret"}, to.Reveal())
	})
	if err != nil {
		return Resealed{}, err
	}
	d.step("secret")
	return d.Reseal(ctx)
}
