package sweep_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/holdfast-ops/holdfast/internal/krops/sweep"
	"github.com/holdfast-ops/holdfast/internal/krops/sweep/awstest"
)

// names of clusters, many of which begin others.
func names() *rapid.Generator[[]string] {
	name := rapid.Custom(func(t *rapid.T) string {
		text := rapid.SampledFrom([]string{"eu-north-1", "eu-north-1-workload", "eu-north-1-work"}).Draw(t, "base")
		for range rapid.IntRange(0, 2).Draw(t, "parts") {
			text += rapid.SampledFrom([]string{"-2", "-x", "s", "-iam", "2", "-nodes"}).Draw(t, "part")
		}
		return text
	})
	return rapid.SliceOfNDistinct(name, 3, 3, rapid.ID)
}

// random makes an account of two clusters and a foreigner's. A foreigner whose
// roles have no tags leaves another trace: his network.
func random(t *rapid.T) (*awstest.Account, sweep.Scope) {
	list := names().Draw(t, "names")
	a := awstest.New()
	a.Page = rapid.IntRange(1, 4).Draw(t, "page")
	a.Looks = rapid.IntRange(1, 3).Draw(t, "looks")
	var scope sweep.Scope
	for i, name := range list {
		c := awstest.Cluster{Owner: me, Region: north, Name: name, Rich: rapid.Bool().Draw(t, "rich"), Bare: rapid.Bool().Draw(t, "bare")}
		if i == 2 {
			c.Owner = other
		} else {
			scope.Targets = append(scope.Targets, target(north, name))
		}
		if i == 1 && rapid.Bool().Draw(t, "elsewhere") {
			c.Region, scope.Targets[i].Region = west, west
		}
		a.AddCluster(c)
	}
	scope.Bucket = bucketName
	return a, scope
}

// law: ours is gone, the foreigner's is as it was.
func law(t *rapid.T, address string, a *awstest.Account, scope sweep.Scope, mutant string) error {
	foreign := a.Dump(other)
	c := sweep.Open(options(address), north)
	c.Mutate(mutant)
	var failed error
	for _, u := range sweep.Units() {
		if err := c.Sweep(t.Context(), u, scope, &notes{}); err != nil {
			failed = err
		}
	}
	switch {
	case foreign != a.Dump(other):
		return fmt.Errorf("another's things are touched: %v", failed)
	case failed != nil:
		return failed
	case len(a.Owned(me)) > 0:
		return fmt.Errorf("left: %v", a.Owned(me))
	}
	return nil
}

func TestAnotherIsNeverTouched(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		a, scope := random(r)
		address, closed := a.Listen()
		defer closed()
		if err := law(r, address, a, scope, ""); err != nil {
			r.Fatal(err)
		}
	})
}

// Each rule that is bent breaks the law on some account: the law can fail.
func TestTheLawNoticesEachMutant(t *testing.T) {
	t.Parallel()
	for _, mutant := range []string{"a prefix without its boundary", "no look at the tags of a role", "no rival", "any tag of ownership", "no tag"} {
		t.Run(mutant, func(t *testing.T) {
			t.Parallel()
			for seed := range 60 {
				example := rapid.Custom(func(r *rapid.T) error {
					a, scope := random(r)
					address, closed := a.Listen()
					defer closed()
					return law(r, address, a, scope, mutant)
				})
				if example.Example(seed) != nil {
					return
				}
			}
			t.Error("no account notices it")
		})
	}
}

func TestUnitsComeInTheOrderTheyDepend(t *testing.T) {
	t.Parallel()
	units := sweep.Units()
	before := func(a, b sweep.Unit) {
		if slices.Index(units, a) > slices.Index(units, b) {
			t.Errorf("%s comes before %s", b, a)
		}
	}
	before(sweep.NodeGroups, sweep.Clusters)
	before(sweep.Clusters, sweep.VPCs)
	before(sweep.Databases, sweep.VPCs)
	before(sweep.VPCs, sweep.Addresses)
}
