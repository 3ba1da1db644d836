package sweep_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ops/holdfast/internal/krops/config"
	"github.com/holdfast-ops/holdfast/internal/krops/sweep"
	"github.com/holdfast-ops/holdfast/internal/krops/sweep/awstest"
)

var update = flag.Bool("update", false, "rewrite the golden reports")

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-update rewrites it):\n%s", path, diff)
	}
}

func TestReports(t *testing.T) {
	t.Parallel()
	north1 := awstest.Cluster{Owner: me, Region: north, Name: "eu-north-1-workload"}
	with := func(c awstest.Cluster, id, expires string) awstest.Cluster {
		c.Tags = map[string]string{"krops.io/run-id": id, "krops.io/expires-at": expires}
		return c
	}
	for name, c := range map[string]struct {
		prepare func(*awstest.Account)
		hours   int
		want    [3]int // orphans, recent, unknown
		wrong   int
	}{
		"nothing": {func(*awstest.Account) {}, 6, [3]int{}, 0},
		"orphans": {func(a *awstest.Account) {
			a.AddCluster(with(north1, "aws-2026-11-29T22:00:00Z", "2026-11-30T22:00:00Z"))
			a.AddCluster(awstest.Cluster{Owner: other, Region: north, Name: "eu-north-1-workload-2"})
		}, 6, [3]int{9, 0, 0}, 0},
		"recent": {func(a *awstest.Account) { a.AddCluster(with(north1, "aws-2026-11-30T00:00:00Z", "never")) }, 24, [3]int{0, 9, 0}, 0},
		// The addresses have nothing that tells their age.
		"unknown-age": {func(a *awstest.Account) { a.AddCluster(with(north1, "nightly", "never")) }, 24, [3]int{0, 6, 3}, 0},
		"expired":     {func(a *awstest.Account) { a.AddCluster(with(north1, "nightly", "2026-11-30T09:59:59Z")) }, 24, [3]int{3, 6, 0}, 0},
		// Exactly the least age is not older than it.
		"at-the-least-age": {func(a *awstest.Account) { a.AddCluster(with(north1, "aws-2026-11-30T00:00:00Z", "never")) }, 10, [3]int{0, 9, 0}, 0},
		"no-gateway": {func(a *awstest.Account) {
			a.AddCluster(north1)
			for _, name := range a.Owned(me) {
				if part := strings.Split(name, "|"); part[1] == "nat" {
					a.Remove("nat", part[2])
				}
			}
		}, 6, [3]int{5, 0, 4}, 0},
		"errors": {func(a *awstest.Account) {
			a.AddCluster(north1)
			a.Fail(awstest.Fault{Region: west, How: awstest.Deny})
			a.Fail(awstest.Fault{Call: "eks:DescribeNodegroup", How: awstest.Crash})
			a.Fail(awstest.Fault{Call: "ec2:DescribeNatGateways", How: awstest.Garbage})
		}, 6, [3]int{3, 0, 4}, 8},
		"errors-only": {func(a *awstest.Account) { a.Fail(awstest.Fault{How: awstest.Expire}) }, 6, [3]int{}, 11},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := awstest.New()
			c.prepare(a)
			cloud := sweep.Open(options(a.Serve(t)), north)
			scope := scopeOf(target(north, "eu-north-1-workload"), target(west, "eu-west-1-workload"))

			r := cloud.Orphans(t.Context(), scope, c.hours, a.Epoch.Add(10*time.Hour))

			text, err := r.JSON()
			if err != nil {
				t.Fatal(err)
			}
			golden(t, name+".md", r.Markdown())
			golden(t, name+".json", string(text))
			var counts struct {
				Orphans int `json:"orphan_count"`
				Recent  int `json:"recent_count"`
				Unknown int `json:"unknown_age_count"`
				Errors  []string
			}
			if err := json.Unmarshal(text, &counts); err != nil {
				t.Fatal(err)
			}
			if got := [3]int{counts.Orphans, counts.Recent, counts.Unknown}; got != c.want || len(counts.Errors) != c.wrong {
				t.Errorf("%v and %d errors: %q", got, len(counts.Errors), counts.Errors)
			}
			if changes := a.Changes(); len(changes) > 0 {
				t.Errorf("it changes: %v", changes)
			}
		})
	}
}

func TestO1Timestamps(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"2026-11-30T10:00:00Z": "2026-11-30T10:00:00Z", "2026-11-30T12:00:00+02:00": "2026-11-30T10:00:00Z", "2026-11-30T10:00:00.125Z": "2026-11-30T10:00:00.125Z",
		"not-a-timestamp": "", "": "", "2026-11-30": "", "2026-11-30T10:00:00": "", "never": "",
	} {
		got, ok := sweep.Timestamp(text)
		if ok != (want != "") || ok && got.UTC().Format(time.RFC3339Nano) != want {
			t.Errorf("%q: %v, %v", text, got, ok)
		}
	}
}

func TestO2TheBucketIsNamedExactly(t *testing.T) {
	t.Parallel()
	a := awstest.New()
	a.Add(awstest.Thing{Kind: "bucket", ID: "krops-123456789012-eu-north-1-workload-data", Refs: map[string]string{"region": north}})
	a.Add(awstest.Thing{Kind: "bucket", ID: "krops-123456789012-eu-north-1-workload-data-2", Refs: map[string]string{"region": north}})
	f := &config.File{}
	f.Teardown.S3BucketPattern = "krops-{account_id}-{cluster_name}-data"
	scope := sweep.Scope{Targets: []config.SweepTarget{target(north, "eu-north-1-workload")}, Bucket: f.Bucket}

	r := sweep.Open(options(a.Serve(t)), north).Orphans(t.Context(), scope, 6, a.Epoch.Add(10*time.Hour))

	if len(r.Findings) != 1 || r.Findings[0].ID != "krops-123456789012-eu-north-1-workload-data" || !r.Findings[0].Orphan {
		t.Errorf("%v %v", r.Findings, r.Errors)
	}
}

func TestO3WithoutAPatternOrAnAccountNoBucketIsLookedFor(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		pattern string
		fail    awstest.Fault
	}{
		"no pattern": {"", awstest.Fault{Call: "none"}},
		"no account": {"krops-{account_id}", awstest.Fault{Call: "sts:GetCallerIdentity", How: awstest.Deny}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := awstest.New()
			a.Fail(c.fail)
			f := &config.File{}
			f.Teardown.S3BucketPattern = c.pattern
			scope := sweep.Scope{Targets: []config.SweepTarget{target(north, "eu-north-1-workload")}, Bucket: f.Bucket}

			r := sweep.Open(options(a.Serve(t)), north).Orphans(t.Context(), scope, 6, a.Epoch)

			if slices.ContainsFunc(a.Calls(), func(call string) bool { return strings.HasPrefix(call, "s3:") }) {
				t.Errorf("%v", a.Calls())
			}
			if told := strings.Join(r.Errors, "\n"); (name == "no account") != strings.HasPrefix(told, "Failed to get account ID: ") {
				t.Errorf("%q", told)
			}
		})
	}
}
