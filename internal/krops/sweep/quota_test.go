package sweep_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ops/holdfast/internal/krops/config"
	"github.com/holdfast-ops/holdfast/internal/krops/sweep"
	"github.com/holdfast-ops/holdfast/internal/krops/sweep/awstest"
)

func plans() []config.AddressPlan {
	return []config.AddressPlan{
		{Region: north, Clusters: []string{"eu-north-1-workload", "eu-north-1-management"}, Required: 6},
		{Region: west, Clusters: []string{"eu-west-1-workload"}, Required: 3},
	}
}

// addresses adds Elastic IPs, some of which are ours.
func addresses(a *awstest.Account, region, cluster string, owned, all int) {
	for i := range all {
		labels := map[string]string{}
		if i < owned {
			labels["sigs.k8s.io/cluster-api-provider-aws/cluster/"+cluster] = "owned"
		}
		a.Add(awstest.Thing{Kind: "eip", Region: region, Tags: labels})
	}
}

func TestEnoughAddressesAreToldByRegion(t *testing.T) {
	t.Parallel()
	a := awstest.New()
	a.Quota = 8
	addresses(a, north, "eu-north-1-management", 3, 3)
	addresses(a, west, "eu-west-1-workload", 0, 5)
	var said []string

	err := sweep.Open(options(a.Serve(t)), north).Quota(t.Context(), plans(), func(line string) { said = append(said, line) })

	want := []string{
		"EIP quota in eu-north-1: 8 available to krops (need 6, 3 already owned) - OK",
		"EIP quota in eu-west-1: 3 available to krops (need 3, 0 already owned) - OK",
	}
	if diff := cmp.Diff(want, said); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
}

// E8, E10
func TestEveryShortRegionIsToldWithTheCommandThatHelps(t *testing.T) {
	t.Parallel()
	a := awstest.New()
	a.Quota = 5
	addresses(a, west, "eu-west-1-workload", 0, 7)

	err := sweep.Open(options(a.Serve(t)), north).Quota(t.Context(), plans(), func(string) {})

	want := `insufficient EC2 Elastic IP quota:
  eu-north-1: 5 available, 6 required for eu-north-1-workload, eu-north-1-management, 1 missing (limit 5, allocated 0, owned 0)
    aws service-quotas request-service-quota-increase --service-code ec2 --quota-code L-0263D0A3 --desired-value 6 --region eu-north-1
  eu-west-1: 0 available, 3 required for eu-west-1-workload, 3 missing (limit 5, allocated 7, owned 0)
    aws service-quotas request-service-quota-increase --service-code ec2 --quota-code L-0263D0A3 --desired-value 10 --region eu-west-1`
	if diff := cmp.Diff(want, fmt.Sprint(err)); diff != "" {
		t.Error(diff)
	}
}

func TestAQuotaThatCannotBeAskedNamesTheRegion(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"servicequotas:GetServiceQuota", "ec2:DescribeAddresses"} {
		for _, how := range awstest.Hows() {
			a := awstest.New()
			a.Fail(awstest.Fault{Call: name, Region: west, How: how})

			o := options(a.Serve(t))
			if how == awstest.Hang {
				o.Attempt, o.Call = time.Second, 3*time.Second // the other region answers within it
			}

			err := sweep.Open(o, north).Quota(t.Context(), plans(), func(string) {})

			if text := fmt.Sprint(err); !strings.Contains(text, west) || !strings.Contains(text, "check AWS credentials and permissions") || strings.Contains(text, sessionToken) {
				t.Errorf("%s %s: %v", name, how, err)
			}
		}
	}
}

func TestTheCallerIsTold(t *testing.T) {
	t.Parallel()
	a := awstest.New()

	caller, err := sweep.Open(options(a.Serve(t)), north).Identity(t.Context())

	if want := (sweep.Caller{Account: "123456789012", ARN: "arn:aws:iam::123456789012:user/op"}); caller != want || err != nil {
		t.Errorf("%v, %v", caller, err)
	}
}

// What is said of each failure tells what to do, and nothing that is secret.
func TestFailuresSayWhatToDo(t *testing.T) {
	t.Parallel()
	for how, want := range map[awstest.How]string{
		awstest.Deny:     "STS GetCallerIdentity: the credentials do not allow it (AccessDenied); allow the action, or use others",
		awstest.Expire:   "STS GetCallerIdentity: AWS does not take the credentials (ExpiredToken); renew them, or choose others with AWS_PROFILE",
		awstest.Leak:     "STS GetCallerIdentity: AWS does not take the credentials (SignatureDoesNotMatch); renew them, or choose others with AWS_PROFILE",
		awstest.Crash:    "STS GetCallerIdentity: InternalFailure: Internal error",
		awstest.Throttle: "STS GetCallerIdentity: AWS wants fewer calls (Throttling); try again later",
		awstest.Hang:     "STS GetCallerIdentity: AWS did not answer in time; try again",
		awstest.Garbage:  "STS GetCallerIdentity: unreadable answer: no answer of this call; something between here and AWS may have answered in its place",
		awstest.Empty:    "STS GetCallerIdentity: unreadable answer: no answer of this call; something between here and AWS may have answered in its place",
	} {
		a := awstest.New()
		a.Fail(awstest.Fault{How: how})
		o := options(a.Serve(t))
		if how == awstest.Hang {
			o = impatient(o)
		}

		_, err := sweep.Open(o, north).Identity(t.Context())

		if diff := cmp.Diff(want, fmt.Sprint(err)); diff != "" {
			t.Errorf("%s: %s", how, diff)
		}
	}
}

func TestWithoutAServerOrCredentialsItSaysSo(t *testing.T) {
	t.Parallel()
	address, closed := awstest.New().Listen()
	closed()
	_, err := sweep.Open(options(address), north).Identity(t.Context())
	if text := fmt.Sprint(err); !strings.Contains(text, "AWS cannot be reached: ") || !strings.Contains(text, "AWS_ENDPOINT_URL") {
		t.Error(err)
	}

	o := options(address)
	o.Load = append(o.Load, awsconfig.WithCredentialsProvider(credentials.NewStaticCredentialsProvider("", "", "")))
	for name, ask := range map[string]func(*sweep.Cloud) error{
		"identity": func(c *sweep.Cloud) error { _, err := c.Identity(t.Context()); return err },
		"profile":  func(c *sweep.Cloud) error { _, err := c.Profile(t.Context()); return err },
	} {
		if text := fmt.Sprint(ask(sweep.Open(o, north))); !strings.HasPrefix(text, "no AWS credentials can be had: ") || !strings.Contains(text, "AWS_PROFILE") {
			t.Errorf("%s: %s", name, text)
		}
	}
}

func TestTheProfileOfTheCredentials(t *testing.T) {
	t.Parallel()
	for token, want := range map[string]string{
		"":           "[default]\naws_access_key_id = AKIATEST\naws_secret_access_key = " + secretKey + "\nregion = eu-north-1\n",
		sessionToken: "[default]\naws_access_key_id = AKIATEST\naws_secret_access_key = " + secretKey + "\nregion = eu-north-1\naws_session_token = " + sessionToken + "\n",
	} {
		o := options("http://127.0.0.1:1")
		o.Load = append(o.Load, awsconfig.WithCredentialsProvider(credentials.NewStaticCredentialsProvider(accessKey, secretKey, token)))

		encoded, err := sweep.Open(o, north).Profile(t.Context())

		plain, wrong := base64.StdEncoding.DecodeString(encoded)
		if diff := cmp.Diff(want, string(plain)); diff != "" || err != nil || wrong != nil {
			t.Errorf("%v, %v\n%s", err, wrong, diff)
		}
	}
}

// Whoever asks for everything is interrupted at once.
func TestAnInterruptionEndsAWait(t *testing.T) {
	t.Parallel()
	a, scope := full()
	a.Looks = 1 << 30
	c := sweep.Open(options(a.Serve(t)), north)
	ctx, cancel := contextThatEnds(t, 50*time.Millisecond)
	defer cancel()
	begin := time.Now()

	err := c.Sweep(ctx, sweep.NodeGroups, scope, &notes{})

	if err == nil || time.Since(begin) > time.Minute {
		t.Errorf("%v after %s", err, time.Since(begin))
	}
}
