// Package node declares the commands on nodes.
package node

import (
	"context"
	"strings"

	"github.com/spf13/pflag"

	"github.com/holdfast-ops/holdfast/internal/cli/output"
	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/command/configure"
	"github.com/holdfast-ops/holdfast/internal/om/command/verb"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// Lister knows the nodes and their state.
type Lister interface {
	Nodes(ctx context.Context, selector string) ([]api.NodeItem, error)
}

// Freezer freezes nodes.
type Freezer interface {
	// FreezeNode freezes or unfreezes a node, this one when it is "".
	FreezeNode(ctx context.Context, node string, frozen bool) error
	ExpandNodes(ctx context.Context, selector string) ([]string, error)
}

// Drivers knows the drivers of an agent.
type Drivers interface {
	Drivers(ctx context.Context) ([]Driver, error)
}

// Driver is a resource driver of an agent.
type Driver struct {
	Name string `json:"name"`
	Doc  string `json:"doc"`
}

// Verbs returns the commands on nodes.
func Verbs() []verb.Verb {
	verbs := append(placed(configure.Verbs(this)), orchestrated()...)
	verbs = append(verbs, inventories()...)
	return append(append(verbs, systems()...),
		verb.Verb{
			Path: "list", Aliases: []string{"ls"}, Group: "query", Short: "List the nodes and their state",
			New: verb.Needs(func(l Lister) verb.Runner { return &list{lister: l} }),
		},
		verb.Verb{
			Path: "freeze", Group: "actions", Short: "Forbid the daemon of the node to act by itself",
			New: verb.Needs(func(f Freezer) verb.Runner { return &freeze{freezer: f, frozen: true} }),
		},
		verb.Verb{
			Path: "unfreeze", Aliases: []string{"thaw"}, Group: "actions", Short: "Let the daemon of the node act by itself",
			New: verb.Needs(func(f Freezer) verb.Runner { return &freeze{freezer: f} }),
		},
		verb.Verb{
			Path: "drivers", Group: "query", Short: "List the resource drivers of the agent",
			New: verb.Does(drivers),
		},
	)
}

// this is the configuration of the node: the zero path.
func this(context.Context, *verb.Call) ([]object.Path, error) { return []object.Path{{}}, nil }

type list struct {
	lister   Lister
	selector string
}

func (l *list) Flags(f *pflag.FlagSet) {
	f.StringVar(&l.selector, "node", "", "only these `nodes`")
}

func (l *list) Run(ctx context.Context, c *verb.Call) error {
	items, err := l.lister.Nodes(ctx, l.selector)
	if err != nil {
		return err
	}
	return verb.Write(c, []output.Column[api.NodeItem]{
		{Name: "NAME", Value: func(i api.NodeItem) any { return i.Meta.Node }},
		{Name: "AGENT", Value: func(i api.NodeItem) any { return i.Data.Status.Agent }},
		{Name: "STATE", Value: func(i api.NodeItem) any { return state(i) }},
	}, items, items)
}

func state(i api.NodeItem) string {
	words := []string{i.Data.Monitor.State}
	if !i.Data.Status.FrozenAt.IsZero() {
		words = append(words, "frozen")
	}
	return strings.TrimSpace(strings.Join(words, " "))
}

func drivers(ctx context.Context, d Drivers, c *verb.Call) error {
	rows, err := d.Drivers(ctx)
	if err != nil {
		return err
	}
	return verb.Write(c, []output.Column[Driver]{
		{Name: "NAME", Value: func(d Driver) any { return d.Name }},
		{Name: "DOC", Value: func(d Driver) any { first, _, _ := strings.Cut(d.Doc, "\n"); return first }},
	}, rows, rows)
}
