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
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"slices"
	"strings"
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
			Step{m.path.String() + " object", func(ctx context.Context) error { return o.makeObject(ctx, m) }},
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

// LostClusterError says that the configuration of the cluster lacks what the
// secrets of this node were sealed with: making it again would lock them forever.
type LostClusterError struct {
	File    string
	Missing []string      // keywords
	Sealed  []object.Path // what cannot be opened without them
}

// Error says what to do: nothing was written.
func (e *LostClusterError) Error() string {
	sealed := make([]string, len(e.Sealed))
	for i, p := range e.Sealed {
		sealed[i] = p.String()
	}
	return fmt.Sprintf("%s sets no %s, yet this is no first start: %s are sealed for the cluster it described: restore %s from a backup or from another node; "+
		"only to give up what they hold and begin a new cluster, remove their configurations",
		e.File, strings.Join(e.Missing, ", "), strings.Join(sealed, ", "), filepath.Base(e.File))
}

// clusterConfig makes a cluster of this node alone, unless there is one.
func (o Options) clusterConfig(ctx context.Context) error {
	values := []value{
		{"cluster.id", newID},
		{"cluster.name", newName},
		{"cluster.secret", func() string { return randomHex(16) }},
		{"cluster.nodes", func() string { return o.Node }},
	}
	return o.complete(ctx, object.Cluster(), values, func(doc *config.Document, made []string) error {
		if sealed, err := o.sealed(); err != nil || len(sealed) > 0 {
			return cmp.Or(err, error(&LostClusterError{File: o.Store.FileName(object.Cluster()), Missing: made, Sealed: sealed}))
		}
		if slices.ContainsFunc(doc.Sections(), isHeartbeat) {
			return nil
		}
		return doc.Set(config.Key{Section: "hb#1", Option: "type"}, "unicast")
	})
}

// sealed lists the objects that hold keys sealed with the secret of the cluster.
func (o Options) sealed() ([]object.Path, error) {
	paths, err := o.Store.List()
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(paths, func(p object.Path) bool {
		if p.Kind != object.KindSec && p.Kind != object.KindUsr {
			return true
		}
		keys, err := o.Data.Keys(p)
		return err == nil && len(keys) == 0 // what cannot be read may hold some
	}), nil
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
// more may add what goes with them, or refuse. The values are secret: only names are logged.
func (o Options) complete(ctx context.Context, p object.Path, values []value, more func(doc *config.Document, made []string) error) error {
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
			return more(doc, made)
		}
		if len(made) == 0 {
			return errComplete
		}
		return nil
	})
	return o.report(p, made, err)
}
