package sweep_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ops/holdfast/internal/krops/sweep"
	"github.com/holdfast-ops/holdfast/internal/krops/sweep/awstest"
)

func TestASweepRemovesExactlyOurs(t *testing.T) {
	t.Parallel()
	a, scope := full()
	c := sweep.Open(options(a.Serve(t)), north)
	foreign, count := a.Dump(other), len(a.Owned(me))+len(a.Owned(other))
	if count < 200 {
		t.Errorf("only %d resources", count)
	}
	for _, u := range sweep.Units() {
		if found := c.Look(t.Context(), u, scope); !found.Presence().There() {
			t.Errorf("%s: %v", u, found.Presence())
		}
	}

	said, errs := sweepAll(t, c, scope)

	for _, err := range errs {
		t.Error(err)
	}
	if diff := cmp.Diff([]string(nil), a.Owned(me)); diff != "" {
		t.Errorf("left:\n%s\nsaid:\n%s", diff, said)
	}
	if diff := cmp.Diff(foreign, a.Dump(other)); diff != "" {
		t.Errorf("another's:\n%s", diff)
	}
	for _, u := range sweep.Units() {
		if found := c.Look(t.Context(), u, scope); !found.Presence().Gone() {
			t.Errorf("%s: %v", u, found.Presence())
		}
	}
	if err := c.Verify(t.Context(), scope); err != nil {
		t.Error(err)
	}
	before := len(a.Changes())
	if _, errs := sweepAll(t, c, scope); len(errs) > 0 || len(a.Changes()) != before {
		t.Errorf("a second sweep: %v, %v", errs, a.Changes()[before:])
	}
}

// D24
func TestD24WithoutElasticIPsOneQuestionIsAsked(t *testing.T) {
	t.Parallel()
	a := awstest.New()
	n := &notes{}

	err := sweep.Open(options(a.Serve(t)), north).Sweep(t.Context(), sweep.Addresses, scopeOf(target(north, "eu-north-1-workload")), n)

	if diff := cmp.Diff([]string{"ec2:DescribeAddresses"}, a.Calls()); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	if want := "✓   No CAPA-tagged Elastic IPs found for eu-north-1-workload in eu-north-1"; n.text() != want {
		t.Errorf("%q", n.text())
	}
}

func TestABucketIsFoundInWhateverRegion(t *testing.T) {
	t.Parallel()
	a := awstest.New()
	a.AddCluster(awstest.Cluster{Owner: me, Region: west, Name: "eu-north-1-workload"})
	c := sweep.Open(options(a.Serve(t)), north)
	scope := scopeOf(target(north, "eu-north-1-workload"))

	found := c.Look(t.Context(), sweep.Buckets, scope)
	err := c.Sweep(t.Context(), sweep.Buckets, scope, &notes{})

	if len(found.Items) != 1 || found.Items[0].Region != west || len(found.Failures) > 0 || err != nil {
		t.Errorf("%v, %v", found, err)
	}
	if p := c.Look(t.Context(), sweep.Buckets, scope).Presence(); !p.Gone() {
		t.Errorf("%v", p)
	}
}

// A bucket that is written to while it is emptied is emptied again, a few times.
func TestABucketThatIsStillWrittenTo(t *testing.T) {
	t.Parallel()
	a := awstest.New()
	a.AddCluster(awstest.Cluster{Owner: me, Region: north, Name: "eu-north-1-workload"})
	bucket := a.Thing("bucket", bucketName(a.ID, "eu-north-1-workload"))
	writes := 0
	a.OnCall(func(_ int, call string) {
		if call == "s3:ListObjectVersions" && writes < 3 {
			writes++
			bucket.Objects = append(bucket.Objects, awstest.Version{Key: fmt.Sprint("late ", writes), ID: "v"})
		}
	})

	err := sweep.Open(options(a.Serve(t)), north).Sweep(t.Context(), sweep.Buckets, scopeOf(target(north, "eu-north-1-workload")), &notes{})

	left := slices.DeleteFunc(a.Owned(me), func(name string) bool { return !strings.Contains(name, "|bucket|") })
	if err != nil || len(left) > 0 || writes != 3 {
		t.Errorf("%v, %v, %d", err, left, writes)
	}
}
