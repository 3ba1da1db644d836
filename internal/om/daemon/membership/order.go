package membership

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/google/renameio/v2"

	"github.com/holdfast-ops/holdfast/internal/host"
)

// The kinds of orders.
const (
	kindJoin  = "join"
	kindLeave = "leave"
)

// The states of an order. What is done in one of them is done again after a crash.
const (
	stateAccepted = "accepted" // nothing was asked of the cluster
	stateAsked    = "asked"    // the cluster was asked, and may have done it
	stateReady    = "ready"    // the configurations that take over are complete: no way back
)

// order is what this node was asked, in a file: a crash does not lose it.
type order struct {
	Kind     string    `json:"kind"`
	State    string    `json:"state"`
	Via      string    `json:"via,omitempty"`     // location of the node of the cluster that is asked
	Cluster  string    `json:"cluster,omitempty"` // id, of the one to join
	Name     string    `json:"name,omitempty"`    // of the one to join, or to leave
	Token    string    `json:"token,omitempty"`   // for the cluster to join
	Frozen   bool      `json:"frozen"`            // the node was, before it was drained
	Drain    bool      `json:"drain"`
	At       time.Time `json:"at"`
	Deadline time.Time `json:"deadline"`
}

// purpose is what an order is for.
func (o *order) purpose() string { return o.Kind + " cluster " + o.Name }

// files are where orders and what they prepare are kept.
type files struct{ paths host.Paths }

func (f files) dir() string   { return filepath.Join(f.paths.Var(), "membership") }
func (f files) order() string { return filepath.Join(f.dir(), "order.json") }

// fresh is the root of the configurations that are to take over.
func (f files) fresh() host.Paths { return host.Paths{Root: filepath.Join(f.dir(), "new")} }

// backup is where the configurations go that an order replaces.
func (f files) backup(o *order, what string) string {
	name := fmt.Sprintf(".pre-cluster-%s-%s-%s", o.Kind, what, o.At.UTC().Format("2006-01-02T15-04-05Z"))
	return filepath.Join(f.paths.Var(), "backup", name)
}

// load returns the order there is, nil when there is none.
func (f files) load() (*order, error) {
	data, err := os.ReadFile(f.order())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil //nolint:nilnil // no order is no error
	}
	if err != nil {
		return nil, fmt.Errorf("read the order to join or to leave: %w", err)
	}
	var o order
	if err := json.Unmarshal(data, &o); err != nil || o.Kind != kindJoin && o.Kind != kindLeave {
		return nil, fmt.Errorf("%s is no order to join or to leave: remove it, then ask again", f.order())
	}
	return &o, nil
}

// save replaces the order, durably.
func (f files) save(o *order) error {
	data, err := json.Marshal(o)
	if err != nil {
		return fmt.Errorf("keep the order to %s: %w", o.Kind, err)
	}
	if err := os.MkdirAll(f.dir(), 0o700); err != nil {
		return fmt.Errorf("keep the order to %s: %w", o.Kind, err)
	}
	if err := renameio.WriteFile(f.order(), data, 0o600); err != nil {
		return fmt.Errorf("keep the order to %s: %w", o.Kind, err)
	}
	if err := syncDir(f.dir()); err != nil {
		return fmt.Errorf("keep the order to %s: %w", o.Kind, err)
	}
	return nil
}

// forget removes the order first: what it prepared means nothing without it.
func (f files) forget() error {
	if err := os.Remove(f.order()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("forget an order: %w", err)
	}
	if err := os.RemoveAll(f.dir()); err != nil {
		return fmt.Errorf("forget an order: %w", err)
	}
	return nil
}
