package sweep_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/feature/ec2/imds"

	"github.com/holdfast-ops/holdfast/internal/krops/config"
	"github.com/holdfast-ops/holdfast/internal/krops/sweep"
	"github.com/holdfast-ops/holdfast/internal/krops/sweep/awstest"
)

const (
	north, west = "eu-north-1", "eu-west-1"
	me, other   = "me", "other"

	accessKey    = "AKIATEST"
	secretKey    = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
	sessionToken = "FwoGZXIvYXdzEXAMPLETOKEN"
)

// options reach an account that is served at an address.
func options(address string) sweep.Options {
	quick := sweep.Budget{Within: 2 * time.Minute, Every: time.Millisecond}
	return sweep.Options{
		Attempt: time.Minute, Call: 2 * time.Minute, Backoff: time.Millisecond,
		Budgets: sweep.Budgets{NodeGroup: quick, Cluster: quick, Database: quick, VPC: quick, Address: quick, Stack: quick, Identity: quick},
		Load: []func(*awsconfig.LoadOptions) error{
			awsconfig.WithBaseEndpoint(address), awsconfig.WithSharedConfigFiles([]string{}), awsconfig.WithSharedCredentialsFiles([]string{}),
			awsconfig.WithEC2IMDSClientEnableState(imds.ClientDisabled),
			awsconfig.WithCredentialsProvider(credentials.NewStaticCredentialsProvider(accessKey, secretKey, sessionToken)),
		},
	}
}

// impatient gives up soon.
func impatient(o sweep.Options) sweep.Options {
	soon := sweep.Budget{Within: 100 * time.Millisecond, Every: time.Millisecond}
	o.Attempt, o.Call = 50*time.Millisecond, 300*time.Millisecond
	o.Budgets = sweep.Budgets{NodeGroup: soon, Cluster: soon, Database: soon, VPC: soon, Address: soon, Stack: soon, Identity: soon}
	return o
}

func target(region, name string) config.SweepTarget {
	return config.SweepTarget{Region: region, Cluster: name, EKSName: "default_" + name + "-control-plane", RDSInstance: "krops-" + name + "-db"}
}

func bucketName(account, cluster string) string { return "krops-" + account + "-" + cluster + "-data" }

func scopeOf(targets ...config.SweepTarget) sweep.Scope {
	return sweep.Scope{
		Targets: targets, Roles: []string{"krops-reader-role"}, Users: []string{"krops-reader"}, Stack: "capa", Bucket: bucketName,
	}
}

// notes keeps what a sweep says.
type notes struct {
	mu    sync.Mutex
	lines []string
}

func (n *notes) say(prefix, format string, a ...any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lines = append(n.lines, prefix+fmt.Sprintf(format, a...))
}

func (n *notes) Detail(format string, a ...any) { n.say(">>>   ", format, a...) }
func (n *notes) Done(format string, a ...any)   { n.say("✓   ", format, a...) }
func (n *notes) Warn(format string, a ...any)   { n.say("!   ", format, a...) }
func (n *notes) text() string                   { return strings.Join(n.lines, "\n") }

// sweepAll runs every unit as a teardown does: it goes on after a failure.
func sweepAll(t *testing.T, c *sweep.Cloud, s sweep.Scope) (text string, errs []error) {
	t.Helper()
	n := &notes{}
	for _, u := range sweep.Units() {
		if err := c.Sweep(t.Context(), u, s, n); err != nil {
			errs = append(errs, err)
		}
	}
	return n.text(), errs
}

// full is an account of two clusters of ours and one of another, whose name begins
// with that of one of ours.
func full() (*awstest.Account, sweep.Scope) {
	a := awstest.New()
	a.AddCluster(awstest.Cluster{Owner: me, Region: north, Name: "eu-north-1-workload", Rich: true})
	a.AddCluster(awstest.Cluster{Owner: me, Region: west, Name: "eu-west-1-workload", Rich: true, Bare: true})
	a.AddCluster(awstest.Cluster{Owner: other, Region: north, Name: "eu-north-1-workload-2", Rich: true, Bare: true})
	a.AddCluster(awstest.Cluster{Owner: other, Region: north, Name: "eu-north-1", Rich: true})
	a.AddUser(me, "krops-reader")
	a.AddRole(me, "krops-reader-role", nil)
	a.AddUser(other, "krops-reader-2")
	a.AddRole(other, "krops-reader-role-2", nil)
	a.AddRole(other, "eu-north-1-workloads", nil)
	for _, region := range []string{north, west} {
		a.AddStack(me, region, "capa", "")
		a.AddStack(other, region, "capa-2", "")
	}
	return a, scopeOf(target(north, "eu-north-1-workload"), target(west, "eu-west-1-workload"))
}

// contextThatEnds is interrupted after a while.
func contextThatEnds(t *testing.T, after time.Duration) (context.Context, context.CancelFunc) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	timer := time.AfterFunc(after, cancel)
	t.Cleanup(func() { timer.Stop() })
	return ctx, cancel
}
