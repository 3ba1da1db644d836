// Package schedule declares the commands on what runs by itself.
package schedule

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/holdfast-ops/holdfast/internal/cli/output"
	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/command/verb"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// Lister knows what runs by itself.
type Lister interface {
	// Schedules lists the jobs of an object on some nodes, on all of them when
	// none are named; those of the nodes for the zero path, of the one that
	// answers when none are named.
	Schedules(ctx context.Context, p object.Path, nodes string) ([]api.ScheduleItem, error)
}

const long = "List what the daemon runs by itself, when it last did and when it will. Times are those of the node. A job that does not run by itself, or that waits, says why."

// Objects lists the jobs of objects.
var Objects = verb.Verb{
	Path: "schedule list", Also: []string{"print schedule", "print sched"}, Aliases: []string{"ls"}, Group: "query",
	Kinds: []object.Kind{object.KindSvc, object.KindVol},
	Short: "List what runs by itself, and when", Long: long,
	Example: "om 'web*' schedule list\nom web1 schedule list -o json",
	New:     verb.Needs(func(l Lister) verb.Runner { return &list{lister: l} }),
}

// Node lists the jobs of nodes.
var Node = verb.Verb{
	Path: "schedule list", Also: []string{"print schedule", "print sched"}, Aliases: []string{"ls"}, Group: "query",
	Short: "List what the node runs by itself, and when", Long: long,
	Example: "om node schedule list\nom node config update --set checks.schedule=@10m",
	New:     verb.Needs(func(l Lister) verb.Runner { return &list{lister: l, ofNode: true} }),
}

type list struct {
	lister Lister
	ofNode bool
	nodes  string
}

func (l *list) Flags(f *pflag.FlagSet) {
	f.StringVar(&l.nodes, "node", "", "only on these `nodes`")
	f.Bool("local", false, "")
	f.Lookup("local").Hidden = true
}

func (l *list) Run(ctx context.Context, c *verb.Call) error {
	items := []api.ScheduleItem{}
	paths := []object.Path{{}}
	if !l.ofNode {
		var err error
		if paths, err = c.Described(ctx); err != nil {
			return err
		}
	}
	for _, p := range paths {
		if !p.IsZero() && !p.Kind.Runs() {
			continue
		}
		found, err := l.lister.Schedules(ctx, p, l.nodes)
		if err != nil {
			return err
		}
		items = append(items, found...)
	}
	columns := []output.Column[api.ScheduleItem]{
		{Name: "NODE", Value: func(i api.ScheduleItem) any { return i.Meta.Node }},
		{Name: "ACTION", Value: func(i api.ScheduleItem) any { return i.Data.Action }},
		{Name: "KEY", Wide: l.ofNode, Value: func(i api.ScheduleItem) any { return i.Data.Key }},
		{Name: "LAST_RUN_AT", Value: func(i api.ScheduleItem) any { return when(i.Data.LastRunAt) }},
		{Name: "NEXT_RUN_AT", Value: func(i api.ScheduleItem) any { return when(i.Data.NextRunAt) }},
		{Name: "SCHEDULE", Value: func(i api.ScheduleItem) any { return i.Data.Schedule }},
		{Name: "NOTE", Value: func(i api.ScheduleItem) any { return note(i) }},
	}
	if !l.ofNode {
		columns = append([]output.Column[api.ScheduleItem]{{Name: "OBJECT", Value: func(i api.ScheduleItem) any { return i.Meta.Object }}}, columns...)
	}
	return verb.Write(c, columns, items, items)
}

// when is a time to the second, "-" for never.
func when(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.Format(time.RFC3339)
}

// note says what the times do not.
func note(i api.ScheduleItem) string {
	var words []string
	if i.Data.Unavailable != "" {
		words = append(words, "not available: "+i.Data.Unavailable)
	}
	if i.Data.Waits != "" {
		words = append(words, "waits: "+i.Data.Waits)
	}
	if i.Data.On != "" {
		words = append(words, "on "+i.Data.On)
	}
	failed := i.Data.LastRunAt.After(i.Data.LastSuccessAt) && !i.Data.LastSuccessAt.IsZero()
	return cmp.Or(strings.Join(words, ", "), map[bool]string{true: "the last run did not succeed, or goes on"}[failed])
}
