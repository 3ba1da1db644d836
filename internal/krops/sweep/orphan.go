package sweep

import (
	"context"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/holdfast-ops/holdfast/internal/krops/config"
)

// Tags that a run puts on what it makes.
const (
	runTag    = "krops.io/run-id"
	expiryTag = "krops.io/expires-at"
)

// Timestamp reads a time as AWS and runs write it.
func Timestamp(text string) (time.Time, bool) {
	t, err := time.Parse(time.RFC3339Nano, text)
	return t, err == nil
}

// began is when the run began that made a resource: its name ends with the time
// unless somebody gave it another.
func (t tags) began() *time.Time {
	const length = len("2006-01-02T15:04:05Z")
	id := t[runTag]
	if len(id) <= length || id[len(id)-length-1] != '-' {
		return nil
	}
	if at, ok := Timestamp(id[len(id)-length:]); ok {
		return &at
	}
	return nil
}

// expires is when a resource is meant to go.
func (t tags) expires() *time.Time {
	if at, ok := Timestamp(t[expiryTag]); ok {
		return &at
	}
	return nil
}

// scan collects the findings of a report.
type scan struct {
	*Cloud

	scope  Scope
	report *Report
}

// Orphans asks what clusters have left, and changes nothing. What cannot be asked
// is among the errors of the report, and the scan goes on.
func (c *Cloud) Orphans(ctx context.Context, s Scope, hours int, now time.Time) *Report {
	o := &scan{Cloud: c, scope: s, report: &Report{MinAge: hours, Scanned: now}}
	caller, err := c.Identity(ctx)
	if err != nil {
		o.fail("Failed to get account ID", err)
	}
	o.report.Account = caller.Account
	for _, t := range s.Targets {
		o.cluster(ctx, t)
		o.nodeGroups(ctx, t)
		o.database(ctx, t)
		o.vpcs(ctx, t)
		o.addresses(ctx, t)
	}
	o.buckets(ctx)
	o.report.judge()
	return o.report
}

func (o *scan) fail(what string, err error) {
	o.report.Errors = append(o.report.Errors, what+": "+err.Error())
}

func (o *scan) found(kind, id string, t config.SweepTarget, created *time.Time, labels tags) {
	o.report.Findings = append(o.report.Findings, Finding{Kind: kind, Region: t.Region, ID: id, Cluster: t.Cluster, created: created, expires: labels.expires()})
}

func (o *scan) cluster(ctx context.Context, t config.SweepTarget) {
	cluster, _, err := o.Cloud.cluster(ctx, t)
	if err != nil {
		o.fail("EKS cluster "+t.EKSName, err)
	}
	if cluster != nil {
		o.found("EKS Cluster", t.EKSName, t, cluster.CreatedAt, cluster.Tags)
	}
}

func (o *scan) nodeGroups(ctx context.Context, t config.SweepTarget) {
	names, err := o.Cloud.nodeGroups(ctx, t)
	if err != nil {
		o.fail("EKS nodegroup "+t.EKSName+"/*", err)
		return
	}
	r, err := o.in(ctx, t.Region)
	if err != nil {
		return // the listing has told
	}
	for _, name := range names {
		out, err := call(ctx, o.Cloud, r.eks.DescribeNodegroup, &eks.DescribeNodegroupInput{ClusterName: &t.EKSName, NodegroupName: &name})
		switch {
		case coded(err, eksNotFound):
		case err != nil:
			o.fail("EKS nodegroup "+t.EKSName+"/"+name, err)
		default:
			o.found("EKS Node Group", name, t, out.Nodegroup.CreatedAt, out.Nodegroup.Tags)
		}
	}
}

func (o *scan) database(ctx context.Context, t config.SweepTarget) {
	d, _, err := o.Cloud.database(ctx, t)
	if err != nil {
		o.fail("RDS instance "+t.RDSInstance, err)
	}
	if d != nil {
		labels := tags{}
		for _, tag := range d.TagList {
			labels[aws.ToString(tag.Key)] = aws.ToString(tag.Value)
		}
		o.found("RDS Instance", t.RDSInstance, t, d.InstanceCreateTime, labels)
	}
}

// vpcs are as old as the oldest NAT gateway in them, else as the run that made them.
func (o *scan) vpcs(ctx context.Context, t config.SweepTarget) {
	r, err := o.in(ctx, t.Region)
	if err == nil {
		err = pages(func(mark *string) (*string, error) {
			out, err := call(ctx, o.Cloud, r.ec2.DescribeVpcs, &ec2.DescribeVpcsInput{Filters: filter("tag-key", t.OwnershipTag()), NextToken: mark})
			if err != nil {
				return nil, err
			}
			for _, vpc := range out.Vpcs {
				labels, id := tagsOf(vpc.Tags), aws.ToString(vpc.VpcId)
				if _, ok := labels[t.OwnershipTag()]; !ok {
					continue
				}
				oldest, err := o.oldest(ctx, r, id)
				if err != nil {
					o.fail("VPC NAT discovery for "+id, err)
				}
				if oldest == nil {
					oldest = labels.began()
				}
				o.found("VPC", id, t, oldest, labels)
			}
			return out.NextToken, nil
		})
	}
	if err != nil {
		o.fail("VPC discovery for cluster "+t.Cluster, err)
	}
}

func (o *scan) oldest(ctx context.Context, r *region, vpc string) (*time.Time, error) {
	list, err := o.natGatewaysOf(ctx, r, vpc, ec2types.NatGatewayStatePending, ec2types.NatGatewayStateAvailable)
	var oldest *time.Time
	for _, n := range list {
		if n.CreateTime != nil && (oldest == nil || n.CreateTime.Before(*oldest)) {
			oldest = n.CreateTime
		}
	}
	return oldest, err
}

// addresses have no age of their own: it is that of the run that made them.
func (o *scan) addresses(ctx context.Context, t config.SweepTarget) {
	r, err := o.in(ctx, t.Region)
	if err == nil {
		var out *ec2.DescribeAddressesOutput
		if out, err = call(ctx, o.Cloud, r.ec2.DescribeAddresses, &ec2.DescribeAddressesInput{Filters: filter("tag-key", t.OwnershipTag())}); err == nil {
			for _, a := range out.Addresses {
				labels := tagsOf(a.Tags)
				if _, ok := labels[t.OwnershipTag()]; ok {
					o.found("Elastic IP", aws.ToString(a.AllocationId), t, labels.began(), labels)
				}
			}
		}
	}
	if err != nil {
		o.fail("EIP discovery for cluster "+t.Cluster, err)
	}
}

// buckets are found by their whole names. Without a pattern or an account there
// are no names to look for.
func (o *scan) buckets(ctx context.Context) {
	if o.scope.Bucket == nil || o.report.Account == "" {
		return
	}
	var wanted []string
	for _, t := range o.scope.Targets {
		if name := o.scope.Bucket(o.report.Account, t.Cluster); name != "" {
			wanted = append(wanted, name)
		}
	}
	if wanted == nil {
		return
	}
	client, err := o.bucketsIn(ctx, o.home)
	made := map[string]*time.Time{}
	if err == nil {
		err = pages(func(mark *string) (*string, error) {
			out, err := call(ctx, o.Cloud, client.ListBuckets, &s3.ListBucketsInput{ContinuationToken: mark, MaxBuckets: aws.Int32(bucketsAtOnce)})
			if err != nil {
				return nil, err
			}
			for _, b := range out.Buckets {
				if name := aws.ToString(b.Name); slices.Contains(wanted, name) {
					made[name] = b.CreationDate
				}
			}
			return out.ContinuationToken, nil
		})
	}
	if err != nil {
		o.fail("S3 bucket listing", err)
	}
	for _, t := range o.scope.Targets {
		name := o.scope.Bucket(o.report.Account, t.Cluster)
		if created, ok := made[name]; ok {
			o.found("S3 Bucket", name, t, created, nil)
		}
	}
}

const bucketsAtOnce = 1000
