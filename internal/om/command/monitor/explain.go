package monitor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/holdfast-ops/holdfast/internal/cli/output"
	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/command/verb"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/orchestrate"
)

// Explain declares the explanation of what the daemon does, and does not do.
var Explain = verb.Verb{
	Path: "explain", Selects: true, Group: "query",
	Short: "Say why the instances are as they are, and what would change it",
	Long: "Say, for each instance, what the daemon does about it now and why, what keeps it from doing more, and what would change that: flags, failures, parents that are waited for, placement, restarts. " +
		"Resources are named when there is something to say of them.",
	New: verb.Needs(func(s Source) verb.Runner { return &explain{source: s} }),
}

type explain struct{ source Source }

func (*explain) Flags(*pflag.FlagSet) {}

func (x *explain) Run(ctx context.Context, c *verb.Call) error {
	paths, err := c.Described(ctx)
	if err != nil {
		return err
	}
	selector, err := c.ListedSelector()
	if err != nil {
		return err
	}
	status, err := x.source.ClusterStatus(ctx, selector)
	if err != nil {
		return hint(err)
	}
	if hasCompany(status.Cluster) { // where other objects run matters
		if status, err = x.source.ClusterStatus(ctx, ""); err != nil {
			return hint(err)
		}
	}
	all := []orchestrate.Explanation{}
	var unknown []error
	for _, p := range paths {
		found := Explanations(status.Cluster, p, time.Now())
		if len(found) == 0 {
			unknown = append(unknown, verb.Of(p, errors.New("the daemon knows no instance of it yet")))
		}
		all = append(all, found...)
	}
	if c.Structured() {
		err = verb.Write[struct{}](c, nil, nil, all)
	} else {
		err = c.Print(Text(all))
	}
	return errors.Join(append(unknown, err)...)
}

func hasCompany(s api.ClusterState) bool {
	for _, o := range s.Object {
		for _, i := range o.Instances {
			if c := i.Config; c != nil && len(c.HardAffinity)+len(c.HardAntiAffinity)+len(c.SoftAffinity)+len(c.SoftAntiAffinity) > 0 {
				return true
			}
		}
	}
	return false
}

// Explanations explains the instances of an object, by the names of their nodes: each
// as its own node sees it, as far as what all nodes know tells.
func Explanations(s api.ClusterState, p object.Path, now time.Time) []orchestrate.Explanation {
	view := viewOf(s)
	var all []orchestrate.Explanation
	for _, name := range slices.Sorted(maps.Keys(s.Object[p.String()].Instances)) {
		i := view.Objects[p].Instances[name]
		if i.Config == nil {
			i.Config = &cluster.InstanceConfig{Path: p, Scope: slices.Sorted(maps.Keys(view.Objects[p].Instances))}
			view.Objects[p].Instances[name] = i
		}
		f := orchestrate.Facts{Now: now}
		if n := s.Node[name]; n.Status.Quorum != nil {
			f.NoQuorum = !n.Status.Quorum.Held
			f.Votes = orchestrate.Tally{Have: n.Status.Quorum.Votes, Total: n.Status.Quorum.Total}
		}
		if i.Config.Stonith && i.Config.Topology != cluster.TopologyFlex {
			f.Fence = orchestrate.FencesTold(s.Node[name].Status.Fences)
		}
		w := orchestrate.Observe(view, name, p, f)
		if i.Monitor != nil {
			w.Parents, w.Children = i.Monitor.Parents, i.Monitor.Children
		}
		all = append(all, orchestrate.Explain(w))
	}
	return all
}

// viewOf is the view an answer of the daemon tells of.
func viewOf(s api.ClusterState) *cluster.View {
	view := &cluster.View{Nodes: map[string]*cluster.Node{}, Objects: map[object.Path]*cluster.Object{}}
	for name, n := range s.Node {
		view.Nodes[name] = &n
	}
	for name, o := range s.Object {
		if p, err := object.Parse(name); err == nil {
			o.Instances = maps.Clone(o.Instances)
			view.Objects[p] = &o
		}
	}
	return view
}

// placement says where an object may run, the best node first.
func placement(x orchestrate.Explanation) string {
	var fit, unfit []string
	for _, c := range x.Candidates {
		switch {
		case c.Why != "":
			unfit = append(unfit, "\n  not on "+c.Node+": "+output.EscapeLine(c.Why))
		case c.Leader:
			fit = append(fit, c.Node+" (leader)")
		default:
			fit = append(fit, c.Node)
		}
	}
	if len(fit) == 0 {
		fit = []string{"no node"}
	}
	return fmt.Sprintf("%s may run, by %q, on %s%s", x.Object, x.Policy, strings.Join(fit, ", "), strings.Join(unfit, ""))
}

// Text writes explanations for people.
func Text(all []orchestrate.Explanation) string {
	var b strings.Builder
	line := func(format string, a ...any) { fmt.Fprintf(&b, format+"\n", a...) }
	causes := func(indent string, list []orchestrate.Cause) {
		for _, cause := range list {
			line("%s%s", indent, output.EscapeLine(cause.Text))
			if cause.Change != "" {
				line("%s  -> %s", indent, output.EscapeLine(cause.Change))
			}
		}
	}
	for i, x := range all {
		if i > 0 {
			line("")
		}
		line("%s on %s: %s, %s", x.Object, x.Node, x.Avail.Plain(), x.State)
		if x.Next != "" {
			line("  now: %s", x.Next)
		}
		causes("  ", x.Because)
		for _, r := range x.Resources {
			line("  %s: %s", r.RID, r.Status.Plain())
			causes("    ", r.Because)
		}
		if len(x.Candidates) > 0 && (i+1 == len(all) || all[i+1].Object != x.Object) {
			line("\n%s", placement(x))
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}
