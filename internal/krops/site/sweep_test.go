package site_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/feature/ec2/imds"
	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ops/holdfast/internal/krops/config"
	"github.com/holdfast-ops/holdfast/internal/krops/configtest"
	"github.com/holdfast-ops/holdfast/internal/krops/plan"
	"github.com/holdfast-ops/holdfast/internal/krops/site"
	"github.com/holdfast-ops/holdfast/internal/krops/sweep"
	"github.com/holdfast-ops/holdfast/internal/krops/sweep/awstest"
)

// inAWS is a site of an environment on an account of AWS.
func inAWS(t *testing.T, a *awstest.Account, environment string) *site.Site {
	t.Helper()
	s := configtest.Settings(t, config.VerbBootstrap, environment, home)
	quick := sweep.Budget{Within: time.Minute, Every: time.Millisecond}
	return site.New(site.Options{Settings: s, AWS: sweep.Options{
		Backoff: time.Millisecond,
		Budgets: sweep.Budgets{NodeGroup: quick, Cluster: quick, Database: quick, VPC: quick, Address: quick, Stack: quick, Identity: quick},
		Load: []func(*awsconfig.LoadOptions) error{
			awsconfig.WithBaseEndpoint(a.Serve(t)), awsconfig.WithSharedConfigFiles([]string{}), awsconfig.WithSharedCredentialsFiles([]string{}),
			awsconfig.WithEC2IMDSClientEnableState(imds.ClientDisabled),
			awsconfig.WithCredentialsProvider(credentials.NewStaticCredentialsProvider("AKIA", "secret", "token")),
		},
	}})
}

func TestTheQuotaOfAddressesIsCheckedInEveryRegion(t *testing.T) {
	t.Parallel()
	v := &spoken{}
	a := awstest.New()

	err := inAWS(t, a, "aws").Do(t.Context(), plan.Step{ID: "preflight-eip-quota"}, v)

	want := []string{
		"EIP quota in eu-north-1: 50 available to krops (need 6, 0 already owned) - OK",
		"EIP quota in eu-west-1: 50 available to krops (need 3, 0 already owned) - OK",
	}
	if diff := cmp.Diff(want, v.lines); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	a.Quota = 2
	err = inAWS(t, a, "aws").Do(t.Context(), plan.Step{ID: "preflight-eip-quota"}, v)
	if err == nil || !strings.HasPrefix(err.Error(), "insufficient EC2 Elastic IP quota:\n") {
		t.Error(err)
	}
}

func TestE4ARegionThatCannotBeDerived(t *testing.T) {
	t.Parallel()
	s := configtest.Settings(t, config.VerbBootstrap, "aws", home)
	e := *s.Environment
	e.MgmtCluster = "eu-north-1-mgmt"
	s.Environment = &e

	err := site.New(site.Options{Settings: s}).Do(t.Context(), plan.Step{ID: "preflight-eip-quota"}, &spoken{})

	const want = "mgmt-cluster 'eu-north-1-mgmt' does not end with '-management'; cannot derive its AWS region for EIP quota check"
	if fmt.Sprint(err) != want {
		t.Error(err)
	}
}

func TestWhatIsLeftInAWSIsThereGoneOrNotKnown(t *testing.T) {
	t.Parallel()
	a := awstest.New()
	s := inAWS(t, a, "aws")
	look := func(unit string) plan.Presence {
		f := plan.Fact("aws/" + unit)
		return s.Observe(t.Context(), plan.World{}, f).Of(f)
	}
	for _, u := range sweep.Units() {
		if p := look(string(u)); !p.Gone() {
			t.Errorf("%s: %v", u, p)
		}
	}
	a.AddCluster(awstest.Cluster{Owner: "me", Region: "eu-west-1", Name: "eu-west-1-workload"})
	a.AddStack("me", "eu-west-1", "cluster-api-provider-aws-sigs-k8s-io", "")
	for _, u := range sweep.Units() {
		if p := look(string(u)); !p.There() {
			t.Errorf("%s: %v", u, p)
		}
	}
	if err := s.Do(t.Context(), plan.Step{ID: "verify"}, &spoken{}); err == nil || !strings.Contains(err.Error(), "VPC vpc-") {
		t.Errorf("verify: %v", err)
	}
	a.Fail(awstest.Fault{Region: "eu-west-1", How: awstest.Expire})
	a.Fail(awstest.Fault{Call: "iam:ListRoles", How: awstest.Expire})
	a.Fail(awstest.Fault{Call: "s3:HeadBucket", How: awstest.Deny})
	for _, u := range sweep.Units() {
		if p := look(string(u)); p.Gone() || p.There() {
			t.Errorf("%s: %v", u, p)
		}
	}
	if err := s.Do(t.Context(), plan.Step{ID: "verify"}, &spoken{}); err == nil || !strings.Contains(err.Error(), "questions were not answered") {
		t.Errorf("verify: %v", err)
	}
}

// Q35: an environment without clusters in AWS has nothing there, not even the roles
// and users that belong to the whole account.
func TestQ35AnEnvironmentWithoutClustersInAWSTouchesNothing(t *testing.T) {
	t.Parallel()
	a := awstest.New()
	a.AddUser("me", "krops-reader")
	for _, environment := range []string{"azure", "gcp", "local-talos"} {
		s := inAWS(t, a, environment)
		if err := s.Do(t.Context(), plan.Step{ID: "verify"}, &spoken{}); err != nil || len(a.Calls()) > 0 {
			t.Errorf("%s: %v, %v", environment, err, a.Calls())
		}
	}
	scope, err := sweep.ScopeOf(configtest.File(t), configtest.File(t).Environments[0])
	if err != nil || len(scope.Users)+len(scope.Roles) > 0 {
		t.Errorf("%v, %v", scope, err)
	}
}
