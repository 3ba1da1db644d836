package datastore

import (
	"context"
	"fmt"

	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/store"
)

// Action is what an [Op] does.
type Action string

// The actions.
const (
	Add    Action = "add"    // a key that does not exist
	Change Action = "change" // the value of one that does
	Remove Action = "remove"
	Rename Action = "rename"
)

// Op is one change of a key.
type Op struct {
	Action Action
	Name   string
	To     string // of a rename
	Value  []byte // of an add or a change
}

// Apply makes several changes in one commit, in order: each sees those before it.
func (d *Data) Apply(ctx context.Context, p object.Path, ops []Op) (store.Committed, error) {
	return d.Modify(ctx, p, func(tx *Tx) error { return tx.Apply(ops) })
}

// Apply makes several changes, in order. The error says which one is refused.
func (tx *Tx) Apply(ops []Op) error {
	for i, op := range ops {
		if err := tx.apply(op); err != nil {
			if len(ops) > 1 {
				err = fmt.Errorf("change %d of %d: %w", i+1, len(ops), err)
			}
			return err
		}
	}
	return nil
}

func (tx *Tx) apply(op Op) error {
	switch op.Action {
	case Add:
		return tx.Add(op.Name, op.Value)
	case Change:
		return tx.Change(op.Name, op.Value)
	case Remove:
		return tx.Remove(op.Name)
	case Rename:
		return tx.Rename(op.Name, op.To)
	}
	return fmt.Errorf("%s: action %q: write add, change, remove or rename", tx.path, op.Action)
}
