package sweep_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/holdfast-ops/holdfast/internal/krops/config"
	"github.com/holdfast-ops/holdfast/internal/krops/sweep"
	"github.com/holdfast-ops/holdfast/internal/krops/sweep/awstest"
)

// names of clusters, many of which begin others.
func names() *rapid.Generator[[]string] {
	name := rapid.Custom(func(t *rapid.T) string {
		parts := []string{rapid.SampledFrom([]string{"eu-north-1", "eu-north-1-workload", "eu-north-1-work"}).Draw(t, "base")}
		for range rapid.IntRange(0, 2).Draw(t, "parts") {
			parts = append(parts, rapid.SampledFrom([]string{"-2", "-x", "s", "-iam", "2", "-nodes"}).Draw(t, "part"))
		}
		return strings.Join(parts, "")
	})
	return rapid.SliceOfNDistinct(name, 3, 3, rapid.ID).Filter(func(list []string) bool {
		// Names of roles are those of one account: no two clusters have the same.
		seen := map[string]bool{}
		for _, name := range list {
			for _, role := range []string{name, name + "-iam-service-role", name + "-nodes"} {
				if seen[role] {
					return false
				}
				seen[role] = true
			}
		}
		return true
	})
}

// random makes an account of two clusters and a foreigner's. A foreigner whose
// roles have no tags leaves another trace: his network.
func random(t *rapid.T) (a *awstest.Account, scope sweep.Scope, foreigner string) {
	list := names().Draw(t, "names")
	a = awstest.New()
	a.Page = rapid.IntRange(1, 4).Draw(t, "page")
	a.Looks = rapid.IntRange(1, 3).Draw(t, "looks")
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
	// A role of no cluster, whose name goes on where that of one of ours ends.
	stray := scope.Targets[0].Cluster + "zz-app"
	if !slices.ContainsFunc(scope.Targets, func(t config.SweepTarget) bool { return strings.HasPrefix(stray, t.Cluster+"-") }) {
		a.AddRole(other, stray, nil)
	}
	scope.Bucket = bucketName
	return a, scope, list[2]
}

// law: ours is gone, the foreigner's is as it was.
func law(t *rapid.T, address string, a *awstest.Account, scope sweep.Scope, foreigner, mutant string) error {
	foreign := a.Dump(other)
	c := sweep.Open(options(address), north)
	c.Mutate(mutant)
	var failed error
	for _, u := range sweep.Units() {
		if err := c.Sweep(t.Context(), u, scope, &notes{}); err != nil {
			failed = err
		}
	}
	if foreign != a.Dump(other) {
		return fmt.Errorf("another's things are touched: %w", errors.Join(failed))
	}
	// Whose these are not even people could tell: they are left. The others are not.
	doubtful := func(name string) bool { return strings.HasPrefix(name+"-", "|role|"+foreigner+"-") }
	left := slices.DeleteFunc(a.Owned(me), func(name string) bool {
		return doubtful(name) || doubtful(strings.Replace(name, "|profile|", "|role|", 1))
	})
	if failed != nil && strings.Contains(failed.Error(), "carries no tag and could be that of cluster "+foreigner) {
		failed = nil
	}
	if failed != nil || len(left) > 0 {
		return fmt.Errorf("left: %v: %w", left, failed)
	}
	return nil
}

func TestAnotherIsNeverTouched(t *testing.T) {
	t.Parallel()
	runs, most := 0, 25 // an account takes a few hundred calls
	rapid.Check(t, func(r *rapid.T) {
		if runs++; runs > most {
			return
		}
		a, scope, foreigner := random(r)
		address, closed := a.Listen()
		defer closed()
		if err := law(r, address, a, scope, foreigner, ""); err != nil {
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
					a, scope, foreigner := random(r)
					address, closed := a.Listen()
					defer closed()
					return law(r, address, a, scope, foreigner, mutant)
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
