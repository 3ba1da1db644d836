package instance

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/resource"
)

// Plan is what an action will do, in order.
type Plan struct {
	Path   object.Path `json:"path"`
	Action Action      `json:"action"`
	Sets   []Set       `json:"sets"`
}

// Set is a list of resources done together: one after the other, or at once.
type Set struct {
	Group    string `json:"group"`            // "app"
	Subset   string `json:"subset,omitempty"` // empty: the resources without a subset
	Parallel bool   `json:"parallel,omitempty"`
	Steps    []Step `json:"steps"`
}

// Step is what is done to one resource.
type Step struct {
	RID  string `json:"rid"`
	Verb Action `json:"verb"`           // start, stop, provision...
	Skip string `json:"skip,omitempty"` // why nothing is done, empty when something is
}

// String prints the plan, a line for each step.
func (p Plan) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s\n", p.Path, p.Action)
	if len(p.Sets) == 0 {
		b.WriteString("  nothing to do\n")
	}
	for _, s := range p.Sets {
		name := s.Group
		if s.Subset != "" {
			name += ":" + s.Subset
		}
		if s.Parallel {
			name += " (parallel)"
		}
		fmt.Fprintf(&b, "  %s\n", name)
		for _, step := range s.Steps {
			fmt.Fprintf(&b, "    %s %s", step.Verb, step.RID)
			if step.Skip != "" {
				fmt.Fprintf(&b, " (skipped: %s)", step.Skip)
			}
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// facts are what a plan depends on, for one resource.
type facts struct {
	rid, group, subset, sort string
	tags                     []string
	disabled, standby        bool
	unknown                  bool // there is no such driver: acting on it fails
	remains                  bool // something of it runs, though its status may be down
	status                   cluster.Status
	provisioned              cluster.Provisioned
	// What the driver can do.
	starts, stops, runs, boots, provisions bool
}

func (m *member) facts() facts {
	f := facts{
		rid: m.RID, group: m.Spec.Group, subset: m.Common.Subset, sort: m.RID, tags: m.Common.Tags,
		disabled: m.Common.Disable, standby: m.Common.Standby, unknown: m.Driver == nil,
	}
	if m.Driver == nil {
		return f
	}
	f.sort = m.SortKey()
	_, f.starts = m.Driver.(resource.Starter)
	_, f.stops = m.Driver.(resource.Stopper)
	_, f.runs = m.Driver.(resource.Runner)
	_, f.boots = m.Driver.(resource.Booter)
	_, f.provisions = m.Driver.(resource.Provisioner)
	return f
}

// compare is the start order: group, subset (none first), then the key of the
// driver, then the id.
func compare(a, b facts) int {
	ra, _ := resource.Rank(a.group)
	rb, _ := resource.Rank(b.group)
	return cmp.Or(cmp.Compare(ra, rb), cmp.Compare(a.subset, b.subset), cmp.Compare(a.sort, b.sort), cmp.Compare(a.rid, b.rid))
}

// build plans an action. It depends on nothing but its arguments.
func build(all []facts, parallel func(group, subset string) bool, r Request) ([]Set, error) {
	t, _ := r.Action.traits()
	if !t.walks {
		return nil, nil
	}
	if r.Action == Restart {
		return buildRestart(all, parallel, r)
	}
	selected, err := choose(all, r)
	if err != nil {
		return nil, err
	}
	all = slices.Clone(all)
	slices.SortStableFunc(all, compare)
	if t.descending {
		slices.Reverse(all)
	}
	last, err := barrier(all, r.To)
	if err != nil {
		return nil, err
	}
	var sets []Set
	for _, f := range all[:last] {
		if !selected(f) || !concerns(r.Action, f) {
			continue
		}
		if n := len(sets); n == 0 || sets[n-1].Group != f.group || sets[n-1].Subset != f.subset {
			sets = append(sets, Set{Group: f.group, Subset: f.subset, Parallel: parallel(f.group, f.subset)})
		}
		s := &sets[len(sets)-1]
		s.Steps = append(s.Steps, Step{RID: f.rid, Verb: r.Action, Skip: skip(r, f)})
	}
	if r.Action == Run && len(sets) == 0 && r.Partial() {
		return nil, fmt.Errorf("no task to run: %s selects none%s", strings.Join(filters(r), " "), tasks(all))
	}
	return sets, nil
}

// buildRestart plans a stop of what is selected, then its start.
func buildRestart(all []facts, parallel func(group, subset string) bool, r Request) ([]Set, error) {
	stop, start := r, r
	stop.Action, start.Action = Stop, Start
	first, err := build(all, parallel, stop)
	if err != nil {
		return nil, err
	}
	stopped := slices.Clone(all)
	for i, f := range stopped {
		if f.stops && skip(stop, f) == "" && touched(first, f.rid) {
			stopped[i].status, stopped[i].remains = cluster.Down, false
		}
	}
	then, err := build(stopped, parallel, start)
	return append(first, then...), err
}

func touched(sets []Set, rid string) bool {
	return slices.ContainsFunc(sets, func(s Set) bool {
		return slices.ContainsFunc(s.Steps, func(step Step) bool { return step.RID == rid && step.Skip == "" })
	})
}

// choose applies the filters of the request. Each given filter must agree: two
// of them select less than one. A filter that selects nothing is an error.
func choose(all []facts, r Request) (func(facts) bool, error) {
	if err := empty(r); err != nil {
		return nil, err
	}
	match := func(f facts) bool {
		return (len(r.RID) == 0 || slices.ContainsFunc(r.RID, f.named)) &&
			(len(r.Tag) == 0 || slices.ContainsFunc(r.Tag, f.tagged)) &&
			(len(r.Subset) == 0 || slices.Contains(r.Subset, f.subset))
	}
	for _, name := range r.RID {
		if _, err := path.Match(name, ""); err != nil {
			return nil, fmt.Errorf("--rid %s: not a glob: %w", name, err)
		}
		if _, group := resource.Rank(name); !group && !slices.ContainsFunc(all, func(f facts) bool { return f.named(name) }) {
			return nil, fmt.Errorf("resource does not exist: --rid %s%s", name, existing(all))
		}
	}
	if (len(r.RID) > 0 || len(r.Tag) > 0 || len(r.Subset) > 0) && !slices.ContainsFunc(all, match) {
		return nil, fmt.Errorf("resource does not exist: none matches %s%s", strings.Join(filters(r), " "), existing(all))
	}
	return match, nil
}

// named reports whether an item of --rid designates the resource.
func (f facts) named(item string) bool {
	if item == f.rid || item == f.group {
		return true
	}
	ok, err := path.Match(item, f.rid)
	return err == nil && ok
}

// tagged reports whether the resource has all the tags of an item of --tag.
func (f facts) tagged(item string) bool {
	for tag := range strings.SplitSeq(item, "+") {
		if !slices.Contains(f.tags, tag) {
			return false
		}
	}
	return true
}

func filters(r Request) []string {
	return Request{RID: r.RID, Tag: r.Tag, Subset: r.Subset, To: r.To}.Args()
}

// empty refuses the filters that name nothing: taken for no filter at all, they
// would select everything.
func empty(r Request) error {
	for _, f := range []struct {
		name   string
		values []string
	}{{"rid", r.RID}, {"tag", r.Tag}, {"subset", r.Subset}} {
		if slices.ContainsFunc(f.values, func(v string) bool { return strings.TrimSpace(v) == "" }) {
			return fmt.Errorf("--%s is empty: name what to select, or leave the filter out", f.name)
		}
	}
	return nil
}

func existing(all []facts) string {
	if len(all) == 0 {
		return ": the object has no resource"
	}
	ids := make([]string, len(all))
	for i, f := range all {
		ids[i] = f.rid
	}
	return ": the object has " + strings.Join(ids, ", ")
}

// tasks names what a run can be asked of.
func tasks(all []facts) string {
	all = slices.DeleteFunc(slices.Clone(all), func(f facts) bool { return !f.runs })
	if len(all) == 0 {
		return ": the object has no task"
	}
	return existing(all)
}

// barrier is how many of the resources, in walk order, come up to the one named
// by --to, which is included.
func barrier(all []facts, to string) (int, error) {
	if to == "" {
		return len(all), nil
	}
	for i, f := range slices.Backward(all) {
		if f.named(to) {
			return i + 1, nil
		}
	}
	return 0, fmt.Errorf("resource does not exist: --to %s%s", to, existing(all))
}

// concerns reports whether the action has anything to do with the resource.
func concerns(a Action, f facts) bool {
	switch a {
	case Start:
		return f.starts || f.unknown
	case StartStandby:
		return f.starts && f.standby
	case Stop, Shutdown:
		return f.stops || f.unknown
	case Boot:
		return f.boots
	case Run:
		return f.runs || f.unknown && f.group == "task"
	case Provision, Unprovision, Purge:
		return f.provisions || f.starts || f.unknown
	case Restart, Freeze, Unfreeze, Clear, Delete, Info, Install:
		return false
	}
	return false
}

// skip says why the resource is left alone, as far as can be told beforehand.
func skip(r Request, f facts) string {
	if f.disabled {
		return "disabled"
	}
	up := isUp(f.status)
	down := isDown(f.status) && !f.remains
	switch r.Action {
	case Start, StartStandby:
		if up {
			return "already up"
		}
	case Stop:
		if f.standby && !r.Force {
			return "standby"
		}
		if down {
			return "already down"
		}
	case Shutdown:
		if down {
			return "already down"
		}
	case Provision:
		if r.StateOnly && !f.provisions {
			return "nothing to provision"
		}
		if r.StateOnly && f.provisioned == cluster.ProvisionedTrue {
			return "already provisioned"
		}
	case Unprovision, Purge:
		if r.StateOnly && f.provisioned != cluster.ProvisionedTrue {
			return "not provisioned"
		}
	case Boot, Restart, Run, Freeze, Unfreeze, Clear, Delete, Info, Install:
	}
	return ""
}
