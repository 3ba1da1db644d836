package sweep

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/holdfast-ops/holdfast/internal/krops/config"
)

// bucket is the bucket of a cluster.
type bucket struct {
	*Cloud

	client *s3.Client
	name   string
	owner  string
	region string
}

// bucketOf finds the bucket of a target, wherever it is. It is nil when it is
// confirmed to be absent, or when the configuration knows no buckets.
func (c *Cloud) bucketOf(ctx context.Context, t config.SweepTarget, s Scope) (*bucket, error) {
	if s.Bucket == nil || s.Bucket("0", t.Cluster) == "" {
		return nil, nil
	}
	account, err := c.Account(ctx)
	if err != nil {
		return nil, err
	}
	b := &bucket{Cloud: c, name: s.Bucket(account, t.Cluster), owner: account, region: t.Region}
	for {
		if b.client, err = c.bucketsIn(ctx, b.region); err != nil {
			return nil, err
		}
		_, err = call(ctx, c, b.client.HeadBucket, &s3.HeadBucketInput{Bucket: &b.name, ExpectedBucketOwner: &account})
		elsewhere := bucketRegion(err)
		switch {
		case err == nil:
			return b, nil
		case coded(err, "NotFound", "NoSuchBucket"):
			return nil, nil
		case elsewhere == "" || elsewhere == b.region || b.region != t.Region:
			return nil, err
		}
		b.region = elsewhere
	}
}

// bucketRegion is where AWS says a bucket is that was looked for in another region.
func bucketRegion(err error) string {
	f, ok := errors.AsType[*CallError](err)
	if !ok {
		return ""
	}
	response, ok := errors.AsType[*awshttp.ResponseError](f.err)
	if !ok || response.Response == nil || response.HTTPStatusCode() == 403 {
		return ""
	}
	return response.Response.Header.Get("X-Amz-Bucket-Region")
}

func (c *Cloud) lookBucket(ctx context.Context, t config.SweepTarget, s Scope) Found {
	b, err := c.bucketOf(ctx, t, s)
	var items []Item
	if b != nil {
		items = []Item{{Kind: "S3 bucket", Region: b.region, ID: b.name}}
	}
	return listed(items, "S3 bucket", t, err)
}

func (c *Cloud) sweepBucket(ctx context.Context, t config.SweepTarget, s Scope, v Voice) error {
	b, err := c.bucketOf(ctx, t, s)
	if err != nil {
		return fmt.Errorf("[%s] S3 bucket of %s: %w", t.Region, t.Cluster, err)
	}
	if b == nil {
		if account, err := c.Account(ctx); err == nil && s.Bucket != nil {
			if name := s.Bucket(account, t.Cluster); name != "" {
				v.Done("S3 bucket %s not found", name)
			}
		}
		return nil
	}
	v.Detail("[%s] emptying and deleting S3 bucket %s", b.region, b.name)
	if err := b.remove(ctx); err != nil {
		return fmt.Errorf("[%s] S3 bucket %s: %w", b.region, b.name, err)
	}
	v.Done("S3 bucket %s deleted", b.name)
	return nil
}

// rounds is how often a bucket is emptied that others still write to.
const rounds = 5

func (b *bucket) remove(ctx context.Context) error {
	for round := 1; ; round++ {
		if err := b.empty(ctx); err != nil {
			return err
		}
		_, err := call(ctx, b.Cloud, b.client.DeleteBucket, &s3.DeleteBucketInput{Bucket: &b.name, ExpectedBucketOwner: &b.owner})
		switch {
		case err == nil, coded(err, "NoSuchBucket", "NotFound"):
			return nil
		case coded(err, "BucketNotEmpty") && round < rounds:
		case coded(err, "BucketNotEmpty"):
			return fmt.Errorf("it was emptied %d times and is not empty: something still writes to it", rounds)
		default:
			return err
		}
	}
}

// empty deletes every version and every delete marker, page by page. It stops at
// the end of a pass that has deleted nothing although something was there.
func (b *bucket) empty(ctx context.Context) error {
	for {
		seen, kept, err := b.pass(ctx)
		switch {
		case coded(err, "NoSuchBucket"):
			return nil
		case err != nil:
			return err
		case seen == 0:
			return nil
		case len(kept) >= seen:
			return b.stuck(ctx, kept)
		}
	}
}

// batch is how many versions go in one call.
const batch = 500

// pass goes once through the bucket. kept are the versions that could not be
// deleted, each with why.
func (b *bucket) pass(ctx context.Context) (seen int, kept []string, err error) {
	var version *string
	err = pages(func(key *string) (*string, error) {
		in := &s3.ListObjectVersionsInput{
			Bucket: &b.name, ExpectedBucketOwner: &b.owner, MaxKeys: aws.Int32(batch), EncodingType: s3types.EncodingTypeUrl, VersionIdMarker: version,
		}
		if key != nil {
			// The mark is made of both, so that it differs between the pages of one key.
			mark, _, _ := strings.Cut(*key, "\x00")
			in.KeyMarker = &mark
		}
		out, err := call(ctx, b.Cloud, b.client.ListObjectVersions, in)
		if err != nil {
			return nil, err
		}
		var ids []s3types.ObjectIdentifier
		for _, v := range out.Versions {
			ids = append(ids, s3types.ObjectIdentifier{Key: plainKey(v.Key), VersionId: v.VersionId})
		}
		for _, m := range out.DeleteMarkers {
			ids = append(ids, s3types.ObjectIdentifier{Key: plainKey(m.Key), VersionId: m.VersionId})
		}
		seen += len(ids)
		refused, err := b.drop(ctx, ids)
		kept = append(kept, refused...)
		if err != nil || !aws.ToBool(out.IsTruncated) {
			return nil, err
		}
		version = out.NextVersionIdMarker
		next := aws.ToString(plainKey(out.NextKeyMarker)) + "\x00" + aws.ToString(version)
		return &next, nil
	})
	return seen, kept, err
}

// plainKey undoes the encoding that lets XML carry any key.
func plainKey(key *string) *string {
	plain, err := url.QueryUnescape(aws.ToString(key))
	if err != nil || key == nil {
		return key
	}
	return &plain
}

// drop deletes a batch. The call succeeds although a deletion in it failed.
func (b *bucket) drop(ctx context.Context, ids []s3types.ObjectIdentifier) (kept []string, err error) {
	if len(ids) == 0 {
		return nil, nil
	}
	out, err := call(ctx, b.Cloud, b.client.DeleteObjects, &s3.DeleteObjectsInput{
		Bucket: &b.name, ExpectedBucketOwner: &b.owner, Delete: &s3types.Delete{Objects: ids, Quiet: aws.Bool(true)},
	})
	if err != nil {
		return nil, err
	}
	for _, e := range out.Errors {
		if aws.ToString(e.Code) == "NoSuchVersion" || aws.ToString(e.Code) == "NoSuchKey" {
			continue
		}
		kept = append(kept, fmt.Sprintf("%s: %s: %s", aws.ToString(e.Key), aws.ToString(e.Code), b.harmless(aws.ToString(e.Message))))
	}
	return kept, nil
}

// stuck says why a bucket cannot be emptied.
func (b *bucket) stuck(ctx context.Context, kept []string) error {
	slices.Sort(kept)
	kept = slices.Compact(kept)
	text := number(len(kept), "version cannot be deleted", "versions cannot be deleted")
	lock, err := call(ctx, b.Cloud, b.client.GetObjectLockConfiguration, &s3.GetObjectLockConfigurationInput{Bucket: &b.name, ExpectedBucketOwner: &b.owner})
	if err == nil && lock.ObjectLockConfiguration != nil && lock.ObjectLockConfiguration.ObjectLockEnabled == s3types.ObjectLockEnabledEnabled {
		text += "; the bucket has Object Lock: they can be deleted once their retention or legal hold ends"
	}
	const shown = 3
	text += "\n  " + strings.Join(kept[:min(shown, len(kept))], "\n  ")
	if more := len(kept) - shown; more > 0 {
		text += fmt.Sprintf("\n  and %d more", more)
	}
	return errors.New(text)
}
