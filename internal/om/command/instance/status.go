package instance

import (
	"context"
	"errors"

	"github.com/spf13/pflag"

	"github.com/holdfast-ops/holdfast/internal/cli/output"
	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/command/grid"
	"github.com/holdfast-ops/holdfast/internal/om/command/verb"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// Fresh tells how recent a status must be.
type Fresh struct {
	Refresh   bool   // evaluate again
	Monitored bool   // evaluate the monitored resources again
	Node      string // only the instances of these nodes
}

// Observer knows the state of instances.
type Observer interface {
	// Instances returns the known instances of an object. An object which has
	// none on this node, and that no daemon knows of, is an error.
	Instances(ctx context.Context, p object.Path, f Fresh) ([]api.InstanceItem, error)
}

// Status declares the status of instances, as a tree.
var Status = verb.Verb{
	Path: "instance status", Also: []string{"print status", "status"}, Aliases: []string{"statu", "stat", "sta", "st"}, Group: "query",
	Short: "Draw the instances, their resources and their state",
	Long: "Draw the instances, their resources and their state. The eight marks of a resource are: R running, M monitored, D disabled, O optional, E encapsulated; " +
		"P not provisioned, p partly, / nothing to provision, ? not known; S standby; the restarts left.",
	New: verb.Needs(func(o Observer) verb.Runner { return &status{observer: o} }),
}

// List declares the list of instances.
var List = verb.Verb{
	Path: "instance list", Aliases: []string{"ls"}, Group: "query",
	Short: "List the instances and their state",
	New:   verb.Needs(func(o Observer) verb.Runner { return &list{observer: o} }),
}

type status struct {
	observer Observer
	fresh    Fresh
}

func (s *status) Flags(f *pflag.FlagSet) {
	f.BoolVarP(&s.fresh.Refresh, "refresh", "r", false, "evaluate the resources again")
	f.BoolVarP(&s.fresh.Monitored, "monitor", "m", false, "evaluate the monitored resources again")
	f.StringVar(&s.fresh.Node, "node", "", "only the instances of these `nodes`")
	for _, name := range []string{"local", "no-lock"} {
		f.Bool(name, false, "")
	}
	f.Duration("waitlock", 0, "")
	hide(f, "local", "no-lock", "waitlock")
}

func (s *status) Run(ctx context.Context, c *verb.Call) error {
	paths, err := c.Described(ctx)
	if err != nil {
		return err
	}
	all := []api.InstanceItem{}
	var rows []grid.Row
	var errs []error
	for _, p := range paths {
		items, err := s.observer.Instances(ctx, p, s.fresh)
		if missing(err) && c.Selector == "" {
			continue // its instances are elsewhere
		}
		if err != nil {
			errs = append(errs, verb.Of(p, err))
			continue
		}
		all = append(all, items...)
		byNode := map[string]cluster.Instance{}
		for _, i := range items {
			byNode[i.Meta.Node] = i.Data
		}
		rows = append(rows, Tree(p, byNode).Rows()...)
	}
	if c.Structured() {
		err = verb.Write(c, columns(), all, all)
	} else {
		err = grid.Write(c.Streams, rows)
	}
	return errors.Join(append(errs, err)...)
}

type list struct {
	observer Observer
	fresh    Fresh
}

func (l *list) Flags(f *pflag.FlagSet) {
	f.StringVar(&l.fresh.Node, "node", "", "only the instances of these `nodes`")
}

func (l *list) Run(ctx context.Context, c *verb.Call) error {
	paths, err := c.Listed(ctx)
	if err != nil {
		return err
	}
	all := []api.InstanceItem{}
	for _, p := range paths {
		items, err := l.observer.Instances(ctx, p, l.fresh)
		if missing(err) && len(paths) > 1 {
			continue
		}
		if err != nil {
			return err
		}
		all = append(all, items...)
	}
	return verb.Write(c, columns(), all, all)
}

// missing tells that the object is known but has no instance here.
func missing(err error) bool {
	var coded interface {
		error
		ExitCode() int
	}
	return errors.As(err, &coded) && coded.ExitCode() == 3
}

func columns() []output.Column[api.InstanceItem] {
	status := func(i api.InstanceItem) cluster.InstanceStatus {
		if i.Data.Status == nil {
			return cluster.InstanceStatus{}
		}
		return *i.Data.Status
	}
	return []output.Column[api.InstanceItem]{
		{Name: "OBJECT", Value: func(i api.InstanceItem) any { return i.Meta.Object }},
		{Name: "NODE", Value: func(i api.InstanceItem) any { return i.Meta.Node }},
		{Name: "AVAIL", Value: func(i api.InstanceItem) any { return status(i).Avail.String() }},
		{Name: "OVERALL", Value: func(i api.InstanceItem) any { return status(i).Overall.String() }},
		{Name: "PROVISIONED", Wide: true, Value: func(i api.InstanceItem) any { return status(i).Provisioned.String() }},
		{Name: "STATE", Value: func(i api.InstanceItem) any { return remarks(i.Data, status(i)).String() }},
	}
}
