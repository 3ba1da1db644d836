package sweep

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/rds"
	rdstypes "github.com/aws/aws-sdk-go-v2/service/rds/types"

	"github.com/holdfast-ops/holdfast/internal/krops/config"
)

// Codes of RDS. The first is what it sends, the second what its model names.
const (
	rdsNotFound  = "DBInstanceNotFound"
	rdsNotFound2 = "DBInstanceNotFoundFault"
	rdsState     = "InvalidDBInstanceState"
	rdsState2    = "InvalidDBInstanceStateFault"
)

// database returns the instance, nil when it is confirmed to be absent.
func (c *Cloud) database(ctx context.Context, t config.SweepTarget) (*rdstypes.DBInstance, *region, error) {
	r, err := c.in(ctx, t.Region)
	if err != nil || t.RDSInstance == "" {
		return nil, r, err
	}
	out, err := call(ctx, c, r.rds.DescribeDBInstances, &rds.DescribeDBInstancesInput{DBInstanceIdentifier: &t.RDSInstance})
	if coded(err, rdsNotFound, rdsNotFound2) {
		return nil, r, nil
	}
	if err != nil {
		return nil, r, err
	}
	for _, d := range out.DBInstances {
		if aws.ToString(d.DBInstanceIdentifier) == t.RDSInstance {
			return &d, r, nil
		}
	}
	// AWS has a code for what is not there; an empty list is not it.
	return nil, r, &CallError{Kind: Garbled, Operation: "RDS DescribeDBInstances", Text: "neither the instance nor that it does not exist"}
}

func (c *Cloud) lookDatabase(ctx context.Context, t config.SweepTarget) Found {
	d, _, err := c.database(ctx, t)
	var items []Item
	if d != nil {
		items = []Item{{Kind: "RDS instance", Region: t.Region, ID: t.RDSInstance, Note: aws.ToString(d.DBInstanceStatus)}}
	}
	return listed(items, "RDS instance", t, err)
}

func (c *Cloud) sweepDatabase(ctx context.Context, t config.SweepTarget, s Scope, v Voice) error {
	what := fmt.Sprintf("[%s] RDS instance %s", t.Region, t.RDSInstance)
	there, r, err := c.database(ctx, t)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	if there == nil {
		if t.RDSInstance != "" {
			v.Done("RDS instance %s not found in %s", t.RDSInstance, t.Region)
		}
		return nil
	}
	list := tags{}
	for _, tag := range there.TagList {
		list[aws.ToString(tag.Key)] = aws.ToString(tag.Value)
	}
	if other := c.rules.foreign(list, s); other != "" {
		return fmt.Errorf("%s carries the tag of cluster %s, which is none of this environment: left alone", what, other)
	}
	if aws.ToString(there.DBInstanceStatus) != "deleting" {
		v.Detail("[%s] deleting RDS instance %s, without a final snapshot", t.Region, t.RDSInstance)
	}
	// Its interfaces hold the subnets of the VPC: what comes next needs it gone.
	err = c.until(ctx, v, c.o.Budgets.Database, what, func(ctx context.Context) (string, error) {
		now, _, err := c.database(ctx, t)
		switch {
		case err != nil:
			return "", fmt.Errorf("%s: %w", what, err)
		case now == nil:
			return "", nil
		case aws.ToString(now.DBInstanceStatus) == "deleting":
			return "deleting", nil
		case aws.ToBool(now.DeletionProtection):
			return "", fmt.Errorf("%s is protected against deletion: switch that off, then run again", what)
		}
		_, err = call(ctx, c, r.rds.DeleteDBInstance, &rds.DeleteDBInstanceInput{
			DBInstanceIdentifier: &t.RDSInstance, SkipFinalSnapshot: aws.Bool(true), DeleteAutomatedBackups: aws.Bool(true),
		})
		switch {
		case coded(err, rdsState, rdsState2):
			return err.Error(), nil
		case err != nil && !coded(err, rdsNotFound, rdsNotFound2):
			return "", fmt.Errorf("delete %s: %w", what, err)
		}
		return "deleting", nil
	})
	if err == nil {
		v.Done("RDS instance %s deleted in %s", t.RDSInstance, t.Region)
	}
	return err
}
