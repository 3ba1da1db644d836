package resource

import (
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-ops/holdfast/internal/om/keyword"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// Group is a family of drivers, and the order it takes in the actions.
type Group struct {
	Name    string
	Doc     string
	Default string // driver used when a section sets no type
}

// Groups lists the groups in start order; a stop walks them in reverse.
func Groups() []Group {
	return []Group{
		{Name: "ip", Default: "host", Doc: "Network addresses and routes."},
		{Name: "volume", Doc: "Volumes, which are objects of their own that other objects consume."},
		{Name: "disk", Doc: "Disks, volume groups, logical volumes, pools."},
		{Name: "fs", Doc: "Filesystems, directories and flag files."},
		{Name: "share", Doc: "Network shares."},
		{Name: "container", Default: "oci", Doc: "Containers and virtual machines."},
		{Name: "app", Default: "forking", Doc: "Applications: processes that the agent starts, watches and stops."},
		{Name: "sync", Default: "rsync", Doc: "Data replications."},
		{Name: "task", Default: "host", Doc: "Tasks: commands run on demand or on a schedule."},
	}
}

// Rank is the place of a group in the start order.
func Rank(group string) (int, bool) {
	i := slices.IndexFunc(Groups(), func(g Group) bool { return g.Name == group })
	return i, i >= 0
}

// SplitID cuts a resource id into its group and its index: "app" and "1" of "app#1".
func SplitID(rid string) (group, index string, ok bool) {
	group, index, ok = strings.Cut(rid, "#")
	return group, index, ok && group != "" && index != ""
}

// Registry is an immutable list of drivers.
type Registry struct {
	specs map[string]Spec // by id
	order []Spec
}

// NewRegistry returns the registry of some drivers. Two of the same id, or one
// of an unknown group, is a wrong program: it panics.
func NewRegistry(specs ...Spec) *Registry {
	r := &Registry{specs: make(map[string]Spec, len(specs))}
	for _, s := range specs {
		if _, ok := Rank(s.Group); !ok {
			panic("driver " + s.ID() + ": unknown group")
		}
		if _, ok := r.specs[s.ID()]; ok {
			panic("driver " + s.ID() + " is registered twice")
		}
		r.specs[s.ID()] = s
		r.order = append(r.order, s)
	}
	return r
}

// Specs lists the drivers, in registration order.
func (r *Registry) Specs() []Spec { return slices.Clone(r.order) }

// Find returns the driver of a section; typ is the value of its type keyword,
// empty for the default driver of the group.
func (r *Registry) Find(group, typ string) (Spec, error) {
	rank, ok := Rank(group)
	if !ok {
		return Spec{}, fmt.Errorf("unknown resource group %q", group)
	}
	if typ == "" {
		typ = Groups()[rank].Default
	}
	if typ == "" {
		return Spec{}, fmt.Errorf("%s resources need a type: set one of %s", group, strings.Join(r.types(group), ", "))
	}
	s, ok := r.specs[group+"."+typ]
	if !ok {
		return Spec{}, fmt.Errorf("unknown driver %s.%s: use one of %s", group, typ, strings.Join(r.types(group), ", "))
	}
	return s, nil
}

func (r *Registry) types(group string) []string {
	var names []string
	for _, s := range r.order {
		if s.Group == group {
			names = append(names, s.Name)
		}
	}
	slices.Sort(names)
	return names
}

// Sections declares the sections of the resources an object of this kind may
// hold: one per group that has a driver for it.
func (r *Registry) Sections(kind object.Kind) []keyword.Section {
	var sections []keyword.Section
	for _, g := range Groups() {
		s := keyword.Section{Name: g.Name, Doc: g.Doc, Indexed: true, Types: map[string]func() *keyword.Table{}, TypeDocs: map[string]string{}}
		for _, spec := range r.order {
			if spec.Group != g.Name || !slices.Contains(spec.Kinds, kind) {
				continue
			}
			s.TypeDocs[spec.Name] = spec.Doc
			s.Types[spec.Name] = func() *keyword.Table { return Table(&Common{}, spec.New(Env{})) }
			if spec.Name == g.Default {
				s.DefaultType = spec.Name
			}
		}
		if len(s.Types) > 0 {
			sections = append(sections, s)
		}
	}
	return sections
}

// Resource is a driver with its place in an object.
type Resource struct {
	RID    string
	Spec   Spec
	Common Common
	Driver Driver
}

// Group is the driver group, as "app".
func (r *Resource) Group() string { return r.Spec.Group }

// SortKey orders the resource among those of its set.
func (r *Resource) SortKey() string {
	if s, ok := r.Driver.(Sorter); ok {
		return s.SortKey()
	}
	return r.RID
}
