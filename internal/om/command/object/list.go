// Package object declares the commands on objects: list, create and deploy,
// and the orchestrated actions, which ask the cluster for a state.
package object

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/holdfast-ops/holdfast/internal/cli/output"
	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/command/verb"
)

// Lister knows the state of objects.
type Lister interface {
	// Objects returns the selected objects with their state, sorted by path.
	Objects(ctx context.Context, selector string) ([]api.ObjectItem, error)
}

// List lists objects.
var List = verb.Verb{
	Path: "list", Aliases: []string{"ls"}, Group: "query",
	Short:   "List the objects and their state",
	Example: "om '**' ls\nom 'web*' ls --status down,warn\nom 'app#1.type=simple' ls -o json",
	New:     verb.Needs(func(l Lister) verb.Runner { return &list{lister: l} }),
}

type list struct {
	lister   Lister
	statuses []string
}

func (l *list) Flags(f *pflag.FlagSet) {
	f.StringSliceVar(&l.statuses, "status", nil, "only the objects whose overall `status` is one of these")
}

func (l *list) Run(ctx context.Context, c *verb.Call) error {
	for _, s := range l.statuses {
		if _, err := cluster.ParseStatus(s); err != nil {
			return err
		}
	}
	selector, err := c.ListedSelector()
	if err != nil {
		return err
	}
	var items []api.ObjectItem
	if selector != "" {
		items, err = l.lister.Objects(ctx, selector)
		if err != nil {
			return err
		}
	}
	items = slices.DeleteFunc(items, func(i api.ObjectItem) bool {
		return len(l.statuses) > 0 && !slices.Contains(l.statuses, i.Data.Overall.String())
	})
	return verb.Write(c, []output.Column[api.ObjectItem]{
		{Name: "OBJECT", Value: func(i api.ObjectItem) any { return i.Meta.Object }},
		{Name: "AVAIL", Value: func(i api.ObjectItem) any { return i.Data.Avail.String() }},
		{Name: "OVERALL", Value: func(i api.ObjectItem) any { return i.Data.Overall.String() }},
		{Name: "PROVISIONED", Wide: true, Value: func(i api.ObjectItem) any { return i.Data.Provisioned.String() }},
		{Name: "FROZEN", Wide: true, Value: func(i api.ObjectItem) any { return i.Data.Frozen }},
		{Name: "ORCHESTRATE", Wide: true, Value: func(i api.ObjectItem) any { return i.Data.Orchestrate }},
		{Name: "NODES", Wide: true, Value: func(i api.ObjectItem) any { return strings.Join(i.Data.Scope, " ") }},
	}, items, items)
}
