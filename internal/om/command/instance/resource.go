package instance

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/holdfast-ops/holdfast/internal/cli/app"
	"github.com/holdfast-ops/holdfast/internal/cli/output"
	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/command/verb"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// Informer knows what the resources say they are made of.
type Informer interface {
	// ResourceInfo returns the key-values, asked again when refresh is set; rids
	// narrows the resources asked.
	ResourceInfo(ctx context.Context, p object.Path, rids []string, refresh bool) ([]api.ResourceInfoItem, error)
}

// Enterer opens shells in resources.
type Enterer interface {
	Enter(ctx context.Context, c *verb.Call, p object.Path, rid string) error
}

// Printer shows what resources have printed.
type Printer interface {
	Printed(ctx context.Context, c *verb.Call, p object.Path, rid string, lines int, follow bool) error
}

// Resources returns the commands on the resources of instances.
func Resources() []verb.Verb {
	runs := []object.Kind{object.KindSvc, object.KindVol}
	informing := func(group string) func(verb.Backend) verb.Runner {
		return verb.Needs(func(i Informer) verb.Runner { return &info{informer: i, group: group} })
	}
	verbs := []verb.Verb{
		{
			Path: "resource list", Aliases: []string{"ls"}, Group: "query", Kinds: runs,
			Short: "List the resources and their state",
			New:   verb.Needs(func(o Observer) verb.Runner { return &resources{observer: o} }),
		},
		{
			Path: "instance info", Also: []string{"resource info", "print resinfo", "instance resource info list"}, Group: "query", Kinds: runs,
			Args: verb.Args{Use: "[RESOURCE]", Max: 1}, Short: "List what the resources say they are made of",
			Long: "List the key-values each resource publishes about what it is made of, from the last refresh. Nothing is asked of the resources unless --refresh.",
			New:  informing(""),
		},
		{
			Path: "instance enter", Also: []string{"enter", "container enter"}, Group: "actions on this node", Kinds: runs,
			Short: "Open a shell in a resource",
			New:   verb.Needs(func(e Enterer) verb.Runner { return &enter{enterer: e} }),
		},
		{
			Path: "container logs", Aliases: []string{"log"}, Group: "query", Kinds: runs,
			Short: "Show what a container has printed",
			Long:  "Show the last lines a container has printed, as its engine keeps them.",
			New:   verb.Needs(func(p Printer) verb.Runner { return &printed{printer: p} }),
		},
	}
	for group := range strings.FieldsSeq(groupOrder) {
		verbs = append(verbs, verb.Verb{
			Path: group + " info", Hidden: true, Kinds: runs, Args: verb.Args{Use: "[INDEX]", Max: 1},
			Short: "List what the " + group + " resources say they are made of", New: informing(group),
		})
	}
	return verbs
}

type info struct {
	informer Informer
	group    string
	refresh  bool
	rids     []string
}

func (i *info) Flags(f *pflag.FlagSet) {
	f.BoolVar(&i.refresh, "refresh", false, "ask the resources again")
	f.StringSliceVar(&i.rids, "rid", nil, "only these `resources`: ids, groups or globs")
	f.String("node", "", "")
	hide(f, "node")
}

func (i *info) Run(ctx context.Context, c *verb.Call) error {
	paths, err := c.Objects(ctx)
	if err != nil {
		return err
	}
	rids := i.wanted(c.Args)
	items := []api.ResourceInfoItem{}
	for _, p := range paths {
		found, err := i.informer.ResourceInfo(ctx, p, rids, i.refresh)
		if err != nil {
			return err
		}
		for _, item := range found {
			if len(rids) == 0 || slices.ContainsFunc(rids, func(r string) bool { return designates(r, item.Rid) }) {
				items = append(items, item)
			}
		}
	}
	return verb.Write(c, []output.Column[api.ResourceInfoItem]{
		{Name: "OBJECT", Value: func(i api.ResourceInfoItem) any { return i.Object }},
		{Name: "NODE", Value: func(i api.ResourceInfoItem) any { return i.Node }},
		{Name: "RID", Value: func(i api.ResourceInfoItem) any { return i.Rid }},
		{Name: "KEY", Value: func(i api.ResourceInfoItem) any { return i.Key }},
		{Name: "VALUE", Value: func(i api.ResourceInfoItem) any { return i.Value }},
	}, items, items)
}

// wanted returns the resources named by the group of the command, its argument
// and --rid.
func (i *info) wanted(args []string) []string {
	rids := i.rids
	switch {
	case i.group != "" && len(args) > 0:
		rids = append(rids, i.group+"#"+strings.TrimPrefix(args[0], i.group+"#"))
	case i.group != "":
		rids = append(rids, i.group)
	case len(args) > 0:
		rids = append(rids, args[0])
	}
	return rids
}

// designates tells whether a resource id, a driver group or a glob names rid.
func designates(pattern, rid string) bool {
	group, _, _ := strings.Cut(rid, "#")
	return pattern == rid || pattern == group || object.Glob(pattern, rid)
}

type resources struct {
	observer Observer
	fresh    Fresh
	rids     []string
}

func (r *resources) Flags(f *pflag.FlagSet) {
	f.StringSliceVar(&r.rids, "rid", nil, "only these `resources`: ids, groups or globs")
	f.StringVar(&r.fresh.Node, "node", "", "only the instances of these `nodes`")
}

type resourceRow struct {
	Object   string                 `json:"object"`
	Node     string                 `json:"node"`
	RID      string                 `json:"rid"`
	Resource cluster.ResourceStatus `json:"resource"`
}

func (r *resources) Run(ctx context.Context, c *verb.Call) error {
	paths, err := c.Objects(ctx)
	if err != nil {
		return err
	}
	rows := []resourceRow{}
	for _, p := range paths {
		items, err := r.observer.Instances(ctx, p, r.fresh)
		if err != nil {
			return err
		}
		for _, i := range items {
			rows = append(rows, r.rows(i)...)
		}
	}
	return verb.Write(c, []output.Column[resourceRow]{
		{Name: "OBJECT", Value: func(r resourceRow) any { return r.Object }},
		{Name: "NODE", Value: func(r resourceRow) any { return r.Node }},
		{Name: "RID", Value: func(r resourceRow) any { return r.RID }},
		{Name: "TYPE", Value: func(r resourceRow) any { return r.Resource.Type }},
		{Name: "STATUS", Value: func(r resourceRow) any { return r.Resource.Status.String() }},
		{Name: "FLAGS", Value: func(r resourceRow) any { return cluster.ResourceFlags(r.Resource) }},
		{Name: "LABEL", Value: func(r resourceRow) any { return label(r.Resource) }},
	}, rows, rows)
}

func (r *resources) rows(i api.InstanceItem) []resourceRow {
	if i.Data.Status == nil {
		return nil
	}
	var rows []resourceRow
	for _, rid := range slices.SortedFunc(maps.Keys(i.Data.Status.Resources), compareRID) {
		if len(r.rids) > 0 && !slices.ContainsFunc(r.rids, func(p string) bool { return designates(p, rid) }) {
			continue
		}
		rows = append(rows, resourceRow{i.Meta.Object, i.Meta.Node, rid, i.Data.Status.Resources[rid]})
	}
	return rows
}

type enter struct {
	enterer Enterer
	rid     string
}

func (e *enter) Flags(f *pflag.FlagSet) {
	f.StringVar(&e.rid, "rid", "", "the `resource` to enter, when several could be")
}

func (e *enter) Run(ctx context.Context, c *verb.Call) error {
	paths, err := c.Objects(ctx)
	if err != nil {
		return err
	}
	for _, p := range paths {
		if err := e.enterer.Enter(ctx, c, p, e.rid); err != nil {
			return err
		}
	}
	return nil
}

type printed struct {
	printer Printer
	rid     string
	lines   int
	follow  bool
}

func (l *printed) Flags(f *pflag.FlagSet) {
	f.StringVar(&l.rid, "rid", "", "the `resource`, when several print")
	f.IntVarP(&l.lines, "lines", "n", 100, "how many `lines`, the last ones")
	f.BoolVarP(&l.follow, "follow", "f", false, "go on with the lines that come")
}

func (l *printed) Run(ctx context.Context, c *verb.Call) error {
	paths, err := c.Objects(ctx)
	if err != nil {
		return err
	}
	if l.lines < 0 {
		return app.Usage("--lines %d: a number of lines is not negative", l.lines)
	}
	for _, p := range paths {
		if err := l.printer.Printed(ctx, c, p, l.rid, l.lines, l.follow); err != nil {
			return err
		}
	}
	return nil
}
