package sweep

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/holdfast-ops/holdfast/internal/krops/config"
	"github.com/holdfast-ops/holdfast/internal/krops/plan"
)

// Unit is a kind of resources that are swept together.
type Unit string

// The units, in the order they are swept.
const (
	NodeGroups Unit = "nodegroups"
	Clusters   Unit = "eks"
	Databases  Unit = "rds"
	VPCs       Unit = "vpcs"
	Addresses  Unit = "eips"
	Buckets    Unit = "s3"
	Identities Unit = "iam"
	Stacks     Unit = "cloudformation"
)

// Units returns all of them in order.
func Units() []Unit {
	return []Unit{NodeGroups, Clusters, Databases, VPCs, Addresses, Buckets, Identities, Stacks}
}

// Voice is what a sweep tells while it works.
type Voice interface {
	Detail(format string, a ...any)
	Done(format string, a ...any)
	Warn(format string, a ...any)
}

// Item is a resource that is ours.
type Item struct {
	Kind   string // for people
	Region string // "" for what has none
	ID     string
	Note   string // its state, or what it belongs to
}

// String names it.
func (i Item) String() string {
	text := i.Kind + " " + i.ID
	if i.Note != "" {
		text += " (" + i.Note + ")"
	}
	if i.Region != "" {
		text += " in " + i.Region
	}
	return text
}

// Found is what a look at a unit has brought.
type Found struct {
	Items    []Item
	Failures []error // what could not be asked
}

// Presence is the answer: absent only if every question was answered. What is
// there is there, whatever else is not known.
func (f Found) Presence() plan.Presence {
	switch {
	case len(f.Items) > 0:
		return plan.Present()
	case len(f.Failures) > 0:
		texts := make([]string, len(f.Failures))
		for i, err := range f.Failures {
			texts[i] = err.Error()
		}
		return plan.Failed(strings.Join(texts, "; "))
	}
	return plan.Absent("AWS lists none")
}

func (f *Found) add(o Found) {
	f.Items = append(f.Items, o.Items...)
	f.Failures = append(f.Failures, o.Failures...)
}

// abreast is how many targets are worked on at a time.
const abreast = 4

// each works on all targets, a few at a time, and keeps what they bring in order.
func each[T any](targets []T, work func(T) error) error {
	errs := make([]error, len(targets))
	var group errgroup.Group
	group.SetLimit(abreast)
	for i, t := range targets {
		group.Go(func() error {
			errs[i] = work(t)
			return nil
		})
	}
	_ = group.Wait() // the errors are in errs
	return errors.Join(errs...)
}

// Look asks what there is of a unit.
func (c *Cloud) Look(ctx context.Context, u Unit, s Scope) Found {
	switch u {
	case NodeGroups:
		return c.over(s, func(t config.SweepTarget) Found { return c.lookNodeGroups(ctx, t) })
	case Clusters:
		return c.over(s, func(t config.SweepTarget) Found { return c.lookCluster(ctx, t) })
	case Databases:
		return c.over(s, func(t config.SweepTarget) Found { return c.lookDatabase(ctx, t) })
	case VPCs:
		return c.over(s, func(t config.SweepTarget) Found { return c.lookVPCs(ctx, t) })
	case Addresses:
		return c.over(s, func(t config.SweepTarget) Found { return c.lookAddresses(ctx, t) })
	case Buckets:
		return c.over(s, func(t config.SweepTarget) Found { return c.lookBucket(ctx, t, s) })
	case Identities:
		return c.lookIdentities(ctx, s)
	case Stacks:
		return c.lookStacks(ctx, s)
	}
	return Found{Failures: []error{fmt.Errorf("no such unit of AWS: %s", u)}}
}

// over looks at every target.
func (c *Cloud) over(s Scope, look func(config.SweepTarget) Found) Found {
	type place struct {
		i int
		t config.SweepTarget
	}
	places := make([]place, len(s.Targets))
	for i, t := range s.Targets {
		places[i] = place{i, t}
	}
	found := make([]Found, len(places))
	_ = each(places, func(p place) error { // a failure is in what was found
		found[p.i] = look(p.t)
		return nil
	})
	var sum Found
	for _, f := range found {
		sum.add(f)
	}
	return sum
}

// listed is what was found, or why it is not known.
func listed(items []Item, what string, t config.SweepTarget, err error) Found {
	f := Found{Items: items}
	if err != nil {
		f.Failures = []error{fmt.Errorf("[%s] %s of %s: %w", t.Region, what, t.Cluster, err)}
	}
	return f
}

// Sweep removes what there is of a unit. It goes on where one target fails, and
// returns all that went wrong.
func (c *Cloud) Sweep(ctx context.Context, u Unit, s Scope, v Voice) error {
	v = &locked{Voice: v}
	target := func(work func(config.SweepTarget) error) error { return each(s.Targets, work) }
	switch u {
	case NodeGroups:
		return target(func(t config.SweepTarget) error { return c.sweepNodeGroups(ctx, t, s, v) })
	case Clusters:
		return target(func(t config.SweepTarget) error { return c.sweepCluster(ctx, t, s, v) })
	case Databases:
		return target(func(t config.SweepTarget) error { return c.sweepDatabase(ctx, t, s, v) })
	case VPCs:
		return target(func(t config.SweepTarget) error { return c.sweepVPCs(ctx, t, s, v) })
	case Addresses:
		return target(func(t config.SweepTarget) error { return c.sweepAddresses(ctx, t, s, v) })
	case Buckets:
		return target(func(t config.SweepTarget) error { return c.sweepBucket(ctx, t, s, v) })
	case Identities:
		return c.sweepIdentities(ctx, s, v)
	case Stacks:
		return c.sweepStacks(ctx, s, v)
	}
	return fmt.Errorf("no such unit of AWS: %s", u)
}

// locked lets many targets speak, one at a time.
type locked struct {
	Voice

	mu sync.Mutex
}

func (l *locked) Detail(format string, a ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.Voice.Detail(format, a...)
}

func (l *locked) Done(format string, a ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.Voice.Done(format, a...)
}

func (l *locked) Warn(format string, a ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.Voice.Warn(format, a...)
}

// LeftError is what a sweep has not removed, or what is not known of it.
type LeftError struct{ Found }

// Error lists it.
func (l *LeftError) Error() string {
	var b strings.Builder
	if n := len(l.Items); n > 0 {
		b.WriteString(number(n, "resource is left", "resources are left") + " in AWS:")
		for _, i := range l.Items {
			b.WriteString("\n  " + i.String())
		}
	}
	if n := len(l.Failures); n > 0 {
		if b.Len() > 0 {
			b.WriteString("\n")
		}
		b.WriteString(number(n, "question was not answered", "questions were not answered") + ", so it is not known what is left:")
		for _, err := range l.Failures {
			b.WriteString("\n  " + err.Error())
		}
	}
	b.WriteString("\nrun the same command again once the cause is mended")
	return b.String()
}

func number(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// Verify looks at every unit. The error, a [*LeftError], lists what is left.
func (c *Cloud) Verify(ctx context.Context, s Scope) error {
	var sum Found
	if len(s.Targets) > 0 {
		for _, u := range Units() {
			sum.add(c.Look(ctx, u, s))
		}
	}
	if len(sum.Items)+len(sum.Failures) == 0 {
		return nil
	}
	slices.SortStableFunc(sum.Items, func(a, b Item) int { return strings.Compare(a.Region, b.Region) })
	return &LeftError{sum}
}
