package krops_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/feature/ec2/imds"
	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ops/holdfast/internal/cli/iostreams"
	"github.com/holdfast-ops/holdfast/internal/cli/program"
	"github.com/holdfast-ops/holdfast/internal/krops"
	"github.com/holdfast-ops/holdfast/internal/krops/site"
	"github.com/holdfast-ops/holdfast/internal/krops/sweep"
	"github.com/holdfast-ops/holdfast/internal/krops/sweep/awstest"
)

// inAWS runs the program on an account of AWS, ten hours after it was filled.
func inAWS(t *testing.T, a *awstest.Account, env []string, args ...string) (code int, out, errs string) {
	t.Helper()
	quick := sweep.Budget{Within: time.Minute, Every: time.Millisecond}
	address := a.Serve(t)
	s, _, o, e := iostreams.Test()
	p := program.Process{
		Args: args, Environ: append(append(configured(t), "HOME="+t.TempDir()), env...), Streams: s, Version: "v1",
		Env: func(string) string { return "" },
	}
	code = krops.RunWith(t.Context(), p, krops.Overrides{Site: func(o *site.Options) {
		o.Now = func() time.Time { return a.Epoch.Add(10 * time.Hour) }
		o.AWS = sweep.Options{
			Backoff: time.Millisecond,
			Budgets: sweep.Budgets{NodeGroup: quick, Cluster: quick, Database: quick, VPC: quick, Address: quick, Stack: quick, Identity: quick},
			Load: []func(*awsconfig.LoadOptions) error{
				awsconfig.WithBaseEndpoint(address), awsconfig.WithSharedConfigFiles([]string{}), awsconfig.WithSharedCredentialsFiles([]string{}),
				awsconfig.WithEC2IMDSClientEnableState(imds.ClientDisabled),
				awsconfig.WithCredentialsProvider(credentials.NewStaticCredentialsProvider("AKIA", "secret", "token")),
			},
		}
	}})
	return code, o.String(), e.String()
}

// peopled is an account with the clusters of the configuration and another's.
func peopled() *awstest.Account {
	a := awstest.New()
	for _, name := range []string{"eu-north-1-workload", "eu-north-1-management"} {
		a.AddCluster(awstest.Cluster{Owner: "me", Region: "eu-north-1", Name: name, Rich: true})
	}
	a.AddCluster(awstest.Cluster{Owner: "me", Region: "eu-west-1", Name: "eu-west-1-workload"})
	a.AddCluster(awstest.Cluster{Owner: "other", Region: "eu-north-1", Name: "eu-north-1-workload-2"})
	a.AddRole("me", "krops-eu-north-1-workload-reader", nil)
	a.AddUser("me", "krops-reader")
	for _, region := range []string{"eu-north-1", "eu-west-1"} {
		a.AddStack("me", region, "cluster-api-provider-aws-sigs-k8s-io", "")
	}
	return a
}

func TestOrphansAreReportedEverywhere(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	summary, report := filepath.Join(dir, "summary.md"), filepath.Join(dir, "report.json")
	if err := os.WriteFile(summary, []byte("# Before\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	env := []string{"GITHUB_STEP_SUMMARY=" + summary, "ORPHAN_REPORT_JSON=" + report}

	code, out, errs := inAWS(t, peopled(), env, "orphans", "aws")

	if code != 0 || errs != "" || !strings.HasPrefix(out, "# AWS e2e Orphan Report\n") || !strings.HasSuffix(out, "are not scanned\n\n") {
		t.Errorf("%d\n%s\n%s", code, out, errs)
	}
	appended, err := os.ReadFile(summary)
	if diff := cmp.Diff("# Before\n"+out, string(appended)); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	text, err := os.ReadFile(report)
	var counts map[string]any
	if err != nil || json.Unmarshal(text, &counts) != nil || counts["orphan_count"] != 18.0 || counts["account_id"] != "123456789012" {
		t.Errorf("%v %s", err, text)
	}

	code, _, _ = inAWS(t, peopled(), append(env, "ORPHAN_STEP_SUMMARY=0"), "orphans", "aws")

	if again, err := os.ReadFile(summary); code != 0 || err != nil || string(again) != string(appended) {
		t.Errorf("%d, %v: the summary is touched", code, err)
	}
}

func TestAScanThatFailedEndsWith1AfterItsReports(t *testing.T) {
	t.Parallel()
	report := filepath.Join(t.TempDir(), "report.json")
	a := peopled()
	a.Fail(awstest.Fault{Call: "rds:DescribeDBInstances", Region: "eu-west-1", How: awstest.Deny})

	code, out, errs := inAWS(t, a, []string{"ORPHAN_REPORT_JSON=" + report}, "orphans", "aws")

	if code != 1 || !strings.Contains(out, "- RDS instance krops-eu-west-1-workload-db: ") || errs != "Error: Orphan discovery completed with 1 error(s); see report above\n" {
		t.Errorf("%d\n%s\n%s", code, out, errs)
	}
	if text, err := os.ReadFile(report); err != nil || !strings.Contains(string(text), "RDS instance krops-eu-west-1-workload-db: ") {
		t.Errorf("%v %s", err, text)
	}
	code, _, errs = inAWS(t, peopled(), []string{"ORPHAN_REPORT_JSON=/nonexistent/r.json"}, "orphans", "aws")
	if code != 1 || !strings.Contains(errs, "failed to write /nonexistent/r.json") {
		t.Errorf("%d, %s", code, errs)
	}
}

func TestOrphansOfOtherProfilesAreRefused(t *testing.T) {
	t.Parallel()
	for _, profile := range []string{"local-host", "local-talos", "azure", "gcp"} {
		a := awstest.New()

		code, out, errs := inAWS(t, a, nil, "orphans", profile)

		want := "Error: Orphan discovery is only supported for the 'aws' profile.\n       The '" + profile + "' profile has no AWS workloads to scan.\n"
		if diff := cmp.Diff(want, errs); diff != "" || code != 1 || out != "" || len(a.Calls()) > 0 {
			t.Errorf("%d, %q\n%s", code, out, diff)
		}
	}
	// Q5
	code, out, errs := inAWS(t, awstest.New(), []string{"ORPHAN_MIN_AGE_HOURS=six"}, "orphans", "aws")
	if code != 1 || out != "" || !strings.Contains(errs, "ORPHAN_MIN_AGE_HOURS must be a number of hours") {
		t.Errorf("%d, %q, %q", code, out, errs)
	}
}

func TestATeardownOfAWSAloneRemovesExactlyOurs(t *testing.T) {
	t.Parallel()
	a := peopled()
	foreign := a.Dump("other")

	code, out, errs := inAWS(t, a, []string{"AWS_ONLY=1"}, "teardown", "aws")

	if code != 0 || !strings.Contains(out, "✓   AWS orphan cleanup complete") || !strings.Contains(out, "Teardown complete.") {
		t.Errorf("%d\n%s\n%s", code, out, errs)
	}
	if left := a.Owned("me"); len(left) > 0 || a.Dump("other") != foreign {
		t.Errorf("left: %v\n%s", left, out)
	}

	changes := len(a.Changes())
	code, out, errs = inAWS(t, a, []string{"AWS_ONLY=1"}, "teardown", "aws")
	if code != 0 || len(a.Changes()) != changes {
		t.Errorf("again: %d\n%s\n%s", code, out, errs)
	}
}

// Q16: what is denied or expired is not gone, and no such teardown is complete.
func TestATeardownThatCouldNotAskNeverEndsWell(t *testing.T) {
	t.Parallel()
	for _, f := range []awstest.Fault{
		{How: awstest.Expire},
		{Call: "ec2:DescribeVpcs", How: awstest.Deny},
		{Call: "eks:DescribeCluster", Region: "eu-west-1", How: awstest.Garbage},
		{Call: "ec2:DeleteSubnet", How: awstest.Deny},
		{Call: "iam:ListRoles", How: awstest.Expire},
		{Call: "s3:DeleteObjects", How: awstest.Deny},
		{Call: "cloudformation:ListStacks", Region: "eu-west-1", How: awstest.Empty},
	} {
		t.Run(f.Call+" "+string(f.How), func(t *testing.T) {
			t.Parallel()
			a := peopled()
			foreign := a.Dump("other")
			a.Fail(f)

			code, out, errs := inAWS(t, a, []string{"AWS_ONLY=1"}, "teardown", "aws")

			if code != 1 || strings.Contains(out, "Teardown complete.") || strings.Contains(out, "cleanup complete") || errs == "" {
				t.Errorf("%d\n%s\n%s", code, out, errs)
			}
			if a.Dump("other") != foreign {
				t.Error("another's things are touched")
			}
			a.Heal()
			if code, out, errs := inAWS(t, a, []string{"AWS_ONLY=1"}, "teardown", "aws"); code != 0 || len(a.Owned("me")) > 0 {
				t.Errorf("the rerun: %d\n%s\n%s", code, out, errs)
			}
		})
	}
}
