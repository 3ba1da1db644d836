// Package setup makes what a node needs the first time its daemon starts: the
// configurations of the cluster and of the node, the certificate authority, the
// certificate of the listener and the key that signs tokens.
//
// Each [Step] is one commit that makes something only when it is missing, so
// setup may be interrupted anywhere and run again. What exists is read, checked
// and never made again: a value that cannot be read is an error, since replacing
// it would cut this node from its peers or from its secrets.
package setup

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/config"
	"github.com/holdfast-ops/holdfast/internal/om/datastore"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/store"
)

// Options are what setup works with.
type Options struct {
	Node      string
	Store     *store.Store
	Data      *datastore.Data
	Log       *slog.Logger
	Now       time.Time
	Addresses []net.IP // of this node, for its certificate
}

// Step makes one thing, when it is missing.
type Step struct {
	Name string
	Do   func(ctx context.Context) error
}

// Steps lists the steps, in order: each needs those before it.
func Steps(o Options) []Step {
	steps := []Step{
		{"cluster configuration", o.clusterConfig},
		{"node configuration", o.nodeConfig},
	}
	for _, m := range o.materials() {
		steps = append(steps,
			Step{m.path.String() + " object", func(ctx context.Context) error { return o.makeObject(ctx, m.path) }},
			Step{m.path.String() + " keys", func(ctx context.Context) error { return o.makeKeys(ctx, m) }},
		)
	}
	return steps
}

// Run does every step, and returns what they made.
func Run(ctx context.Context, o Options) (Identity, error) {
	for _, step := range Steps(o) {
		if err := step.Do(ctx); err != nil {
			return Identity{}, fmt.Errorf("set up the %s: %w", step.Name, err)
		}
	}
	return o.load()
}

// clusterConfig makes a cluster of this node alone, unless there is one.
func (o Options) clusterConfig(ctx context.Context) error {
	values := []value{
		{"cluster.id", newID},
		{"cluster.name", newName},
		{"cluster.secret", func() string { return randomHex(16) }},
		{"cluster.nodes", func() string { return o.Node }},
	}
	return o.complete(ctx, object.Cluster(), values, func(doc *config.Document) error {
		if slices.ContainsFunc(doc.Sections(), isHeartbeat) {
			return nil
		}
		return doc.Set(config.Key{Section: "hb#1", Option: "type"}, "unicast")
	})
}

// nodeConfig gives the node its persistent reservation key.
func (o Options) nodeConfig(ctx context.Context) error {
	values := []value{{"node.prkey", func() string { return "0x" + randomHex(8) }}}
	return o.complete(ctx, object.Path{}, values, nil)
}

// value is a keyword and what makes its first value.
type value struct {
	key  string
	make func() string
}

// complete sets the keywords that are not, in one commit; when there were some,
// more may add what goes with them. The values are secret: only names are logged.
func (o Options) complete(ctx context.Context, p object.Path, values []value, more func(*config.Document) error) error {
	var made []string
	_, err := o.Store.Modify(ctx, p, func(doc *config.Document) error {
		made = nil
		for _, v := range values {
			key, err := config.ParseKey(v.key)
			if err != nil {
				return err
			}
			if _, ok := doc.Get(key); ok {
				continue
			}
			if err := doc.Set(key, v.make()); err != nil {
				return err
			}
			made = append(made, v.key)
		}
		if len(made) > 0 && more != nil {
			return more(doc)
		}
		if len(made) == 0 {
			return errComplete
		}
		return nil
	})
	return o.report(p, made, err)
}
