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

// Explanations explains the instances of an object, by the names of their nodes.
func Explanations(s api.ClusterState, p object.Path, now time.Time) []orchestrate.Explanation {
	o := s.Object[p.String()]
	nodes := map[string]orchestrate.Node{}
	var scope []string
	for _, i := range o.Instances {
		if i.Config != nil {
			scope = i.Config.Scope
		}
	}
	for _, name := range append(slices.Collect(maps.Keys(o.Instances)), scope...) {
		var n orchestrate.Node
		if known, ok := s.Node[name]; ok {
			n.State, n.Frozen = known.Monitor.State, !known.Status.FrozenAt.IsZero()
			n.Load15M, n.Score = known.Stats.Load15M, known.Stats.Score
		}
		n.Status, n.Monitor = o.Instances[name].Status, o.Instances[name].Monitor
		nodes[name] = n
	}
	var all []orchestrate.Explanation
	for _, name := range slices.Sorted(maps.Keys(o.Instances)) {
		i := o.Instances[name]
		w := orchestrate.World{Now: now, Self: name, Path: p, Quorum: true, Nodes: nodes, ReadyPeriod: s.Node[name].Config.ReadyPeriod}
		if i.Config != nil {
			w.Config = *i.Config
		}
		if i.Monitor != nil {
			w.Parents, w.Children = i.Monitor.Parents, i.Monitor.Children
		}
		all = append(all, orchestrate.Explain(w))
	}
	return all
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
	}
	return strings.TrimSuffix(b.String(), "\n")
}
