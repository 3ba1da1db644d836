// Package sweep asks AWS what clusters have left there, and removes it.
//
// It knows three answers: a resource is there, it is confirmed to be absent by the
// code AWS has for that, or it is not known, which is never taken for absent. Only
// what is named in the configuration, or carries the ownership tag of a cluster of
// the configuration, is ever touched.
//
//	Look  : what is there of a unit      -> present, absent, unknown with reasons
//	Sweep : remove it, wait until it is gone, go on with the next where that fails
//	Verify: look at every unit again     -> an error with what is left
package sweep

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsretry "github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/rds"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/servicequotas"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go/middleware"

	"github.com/holdfast-ops/holdfast/internal/retry"
)

// Options is how AWS is reached. The zero Options are those of a run.
type Options struct {
	// Load overrides where credentials and endpoints come from, after the standard
	// chain of the SDK: tests set an endpoint of their own.
	Load []func(*awsconfig.LoadOptions) error
	// Attempt is how long one request may take, Call a call with all its attempts.
	Attempt, Call time.Duration
	// Backoff is the longest pause between two attempts.
	Backoff time.Duration
	Budgets Budgets
}

// A Budget is how long something may take, and how often to look.
type Budget struct{ Within, Every time.Duration }

// Budgets are those of everything that is waited for.
type Budgets struct{ NodeGroup, Cluster, Database, VPC, Address, Stack, Identity Budget }

// attempts is how often a call is tried that fails in a way that may pass.
const attempts = 4

func (o Options) filled() Options {
	preset := func(d *time.Duration, value time.Duration) {
		if *d == 0 {
			*d = value
		}
	}
	budget := func(b *Budget, within, every time.Duration) {
		preset(&b.Within, within)
		preset(&b.Every, every)
	}
	preset(&o.Attempt, 20*time.Second)
	preset(&o.Call, time.Minute)
	preset(&o.Backoff, 5*time.Second)
	budget(&o.Budgets.NodeGroup, 40*time.Minute, 30*time.Second)
	budget(&o.Budgets.Cluster, 20*time.Minute, 30*time.Second)
	budget(&o.Budgets.Database, 30*time.Minute, 30*time.Second)
	budget(&o.Budgets.VPC, 20*time.Minute, 15*time.Second)
	budget(&o.Budgets.Address, 5*time.Minute, 10*time.Second)
	budget(&o.Budgets.Stack, 15*time.Minute, 15*time.Second)
	budget(&o.Budgets.Identity, time.Minute, 2*time.Second)
	return o
}

// Cloud is AWS with the credentials of one run. It may be used by many goroutines.
type Cloud struct {
	o     Options
	home  string // the region that is asked for what has none
	rules rules

	mu      sync.Mutex
	config  *aws.Config
	without error    // why there are no credentials: they are looked for once, which may take a while
	secrets []string // never shown
	account string
	regions map[string]*region
	buckets map[string]*s3.Client // by region
}

// Open returns AWS as seen from a region. Nothing is asked yet.
func Open(o Options, home string) *Cloud {
	return &Cloud{o: o.filled(), home: home, rules: ours(), regions: map[string]*region{}, buckets: map[string]*s3.Client{}}
}

// region has the clients of a region.
type region struct {
	name      string
	ec2       *ec2.Client
	eks       *eks.Client
	rds       *rds.Client
	elb       *elb.Client
	elbv2     *elbv2.Client
	stacks    *cloudformation.Client
	quotas    *servicequotas.Client
	identity  *iam.Client
	sts       *sts.Client
	awsConfig aws.Config
}

// load runs the standard chain once.
func (c *Cloud) load(ctx context.Context) (aws.Config, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.config != nil:
		return *c.config, nil
	case c.without != nil:
		return aws.Config{}, c.without
	}
	retryer := func() aws.Retryer {
		return awsretry.NewStandard(func(o *awsretry.StandardOptions) { o.MaxAttempts, o.MaxBackoff = attempts, c.o.Backoff })
	}
	options := append([]func(*awsconfig.LoadOptions) error{
		awsconfig.WithDefaultRegion(c.home),
		awsconfig.WithRetryer(retryer),
		awsconfig.WithHTTPClient(awshttp.NewBuildableClient().WithTimeout(c.o.Attempt)),
		awsconfig.WithAPIOptions([]func(*middleware.Stack) error{genuine}),
	}, c.o.Load...)
	ctx, cancel := context.WithTimeout(ctx, c.o.Call)
	defer cancel()
	cfg, err := awsconfig.LoadDefaultConfig(ctx, options...)
	if err != nil {
		return aws.Config{}, fmt.Errorf("read the configuration of AWS: %w", err)
	}
	credentials, err := cfg.Credentials.Retrieve(ctx)
	if err != nil {
		err = c.failure("credentials", err)
		if ctx.Err() == nil {
			c.without = err
		}
		return aws.Config{}, err
	}
	for _, s := range []string{credentials.SecretAccessKey, credentials.SessionToken} {
		if s != "" {
			c.secrets = append(c.secrets, s)
		}
	}
	c.config = &cfg
	return cfg, nil
}

// in returns the clients of a region.
func (c *Cloud) in(ctx context.Context, name string) (*region, error) {
	cfg, err := c.load(ctx)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if r := c.regions[name]; r != nil {
		return r, nil
	}
	cfg.Region = name
	r := &region{
		name: name, awsConfig: cfg,
		ec2: ec2.NewFromConfig(cfg), eks: eks.NewFromConfig(cfg), rds: rds.NewFromConfig(cfg), elb: elb.NewFromConfig(cfg), elbv2: elbv2.NewFromConfig(cfg),
		stacks: cloudformation.NewFromConfig(cfg), quotas: servicequotas.NewFromConfig(cfg), identity: iam.NewFromConfig(cfg), sts: sts.NewFromConfig(cfg),
	}
	c.regions[name] = r
	return r, nil
}

// bucketsIn returns the client of the buckets of a region.
func (c *Cloud) bucketsIn(ctx context.Context, name string) (*s3.Client, error) {
	cfg, err := c.load(ctx)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if client := c.buckets[name]; client != nil {
		return client, nil
	}
	cfg.Region = name
	client := s3.NewFromConfig(cfg, func(o *s3.Options) {
		// What is not AWS itself is seldom reached by names of buckets.
		o.UsePathStyle = o.BaseEndpoint != nil
	})
	c.buckets[name] = client
	return client, nil
}

// call makes one call, within the deadline of a call.
func call[I, O, P any](ctx context.Context, c *Cloud, operation func(context.Context, *I, ...func(*P)) (*O, error), in *I) (*O, error) {
	ctx, cancel := context.WithTimeout(ctx, c.o.Call)
	defer cancel()
	out, err := operation(ctx, in)
	if err != nil {
		return nil, c.failure("", err)
	}
	return out, nil
}

// pages asks for one page after the other. ask gets the mark of the page, nil for
// the first, and returns that of the next.
func pages(ask func(mark *string) (next *string, err error)) error {
	seen := map[string]bool{}
	var mark *string
	for {
		next, err := ask(mark)
		if err != nil || aws.ToString(next) == "" {
			return err
		}
		if seen[*next] {
			return &CallError{Kind: Garbled, Text: "a listing that comes back to where it was"}
		}
		seen[*next] = true
		mark = next
	}
}

// until waits for something that goes. probe tells what it is held up by, "" once
// it is done; v hears of it each time that changes.
func (c *Cloud) until(ctx context.Context, v Voice, b Budget, what string, probe func(ctx context.Context) (held string, err error)) error {
	var held, told string
	limited, cancel := context.WithTimeout(ctx, b.Within)
	defer cancel()
	err := retry.Until(limited, retry.Policy{Interval: b.Every}, func(context.Context) (bool, error) {
		// A call that is under way at the end of the budget still counts.
		var err error
		if held, err = probe(ctx); held != "" && held != told {
			v.Detail("%s: %s", what, held)
			told = held
		}
		return held == "", err
	})
	if err != nil && limited.Err() != nil && ctx.Err() == nil && held != "" {
		return fmt.Errorf("%s is not gone within %s: %s", what, b.Within, held)
	}
	return err
}

// several names the first few of many.
func several(names []string) string {
	const shown = 3
	if len(names) <= shown {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:shown], ", "), len(names)-shown)
}
