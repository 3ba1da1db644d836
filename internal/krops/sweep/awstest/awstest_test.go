package awstest_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	ekstypes "github.com/aws/aws-sdk-go-v2/service/eks/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	iamtypes "github.com/aws/aws-sdk-go-v2/service/iam/types"
	"github.com/aws/aws-sdk-go-v2/service/rds"
	rdstypes "github.com/aws/aws-sdk-go-v2/service/rds/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go"

	"github.com/holdfast-ops/holdfast/internal/krops/sweep/awstest"
)

const region = "eu-north-1"

// reach is how the SDK reaches an account.
func reach(t *testing.T, a *awstest.Account) aws.Config {
	t.Helper()
	return aws.Config{
		Region: region, BaseEndpoint: aws.String(a.Serve(t)), Credentials: credentials.NewStaticCredentialsProvider("AKIA", "secret", ""),
		Retryer: func() aws.Retryer { return aws.NopRetryer{} },
	}
}

func code(err error) string {
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		return api.ErrorCode()
	}
	return ""
}

func filter(name, value string) []ec2types.Filter {
	return []ec2types.Filter{{Name: &name, Values: []string{value}}}
}

func TestWhatDependsOnAnotherHoldsIt(t *testing.T) {
	t.Parallel()
	a := awstest.New()
	a.Add(awstest.Thing{Region: region, Kind: "vpc", ID: "vpc-1"})
	a.Add(awstest.Thing{Region: region, Kind: "subnet", ID: "subnet-1", VPC: "vpc-1"})
	a.Add(awstest.Thing{Region: region, Kind: "eni", ID: "eni-1", VPC: "vpc-1", State: "in-use", Refs: map[string]string{"subnet": "subnet-1", "holder": "nat-1"}})
	a.Add(awstest.Thing{Region: region, Kind: "igw", ID: "igw-1", VPC: "vpc-1"})
	a.Add(awstest.Thing{Region: region, Kind: "eip", ID: "eip-1", Refs: map[string]string{"eni": "eni-1"}})
	a.Add(awstest.Thing{Region: region, Kind: "nat", ID: "nat-1", VPC: "vpc-1", State: "available", Refs: map[string]string{"eip": "eip-1"}})
	c := ec2.NewFromConfig(reach(t, a))
	ctx := t.Context()

	for want, do := range map[string]func() error{
		"DependencyViolation": func() error {
			_, err := c.DeleteVpc(ctx, &ec2.DeleteVpcInput{VpcId: aws.String("vpc-1")})
			return err
		},
		"AuthFailure": func() error {
			_, err := c.ReleaseAddress(ctx, &ec2.ReleaseAddressInput{AllocationId: aws.String("eip-1")})
			return err
		},
		"InvalidNetworkInterface.InUse": func() error {
			_, err := c.DeleteNetworkInterface(ctx, &ec2.DeleteNetworkInterfaceInput{NetworkInterfaceId: aws.String("eni-1")})
			return err
		},
		"InvalidSubnetID.NotFound": func() error {
			_, err := c.DeleteSubnet(ctx, &ec2.DeleteSubnetInput{SubnetId: aws.String("subnet-2")})
			return err
		},
		"InvalidAction": func() error {
			_, err := c.DescribeInstances(ctx, &ec2.DescribeInstancesInput{})
			return err
		},
	} {
		if err := do(); code(err) != want {
			t.Errorf("%s: %v", want, err)
		}
	}
	for range 2 {
		if _, err := c.DetachInternetGateway(ctx, &ec2.DetachInternetGatewayInput{InternetGatewayId: aws.String("igw-1"), VpcId: aws.String("vpc-1")}); code(err) != "DependencyViolation" {
			t.Errorf("a gateway of mapped addresses: %v", err)
		}
	}
	if _, err := c.DeleteNatGateway(ctx, &ec2.DeleteNatGatewayInput{NatGatewayId: aws.String("nat-1")}); err != nil {
		t.Fatal(err)
	}
	var states []string
	for range 3 {
		out, err := c.DescribeNatGateways(ctx, &ec2.DescribeNatGatewaysInput{})
		if err != nil || len(out.NatGateways) != 1 {
			t.Fatal(out, err)
		}
		states = append(states, string(out.NatGateways[0].State))
	}
	if !slices.Equal(states, []string{"deleting", "deleted", "deleted"}) {
		t.Errorf("%v", states)
	}
	if _, err := c.ReleaseAddress(ctx, &ec2.ReleaseAddressInput{AllocationId: aws.String("eip-1")}); err != nil {
		t.Error(err)
	}
}

func TestFiltersAndPages(t *testing.T) {
	t.Parallel()
	a := awstest.New()
	a.Page = 2
	for range 5 {
		a.Add(awstest.Thing{Region: region, Kind: "vpc", Tags: map[string]string{"team/a": "owned"}})
	}
	a.Add(awstest.Thing{Region: region, Kind: "vpc", Tags: map[string]string{"team/a": "shared", "other": "owned"}})
	a.Add(awstest.Thing{Region: "eu-west-1", Kind: "vpc", Tags: map[string]string{"team/a": "owned"}})
	c := ec2.NewFromConfig(reach(t, a))
	count := func(name, value string) (things, pages int) {
		p := ec2.NewDescribeVpcsPaginator(c, &ec2.DescribeVpcsInput{Filters: filter(name, value)})
		for p.HasMorePages() {
			out, err := p.NextPage(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			things, pages = things+len(out.Vpcs), pages+1
		}
		return things, pages
	}
	for _, c := range []struct {
		name, value   string
		things, pages int
	}{
		{"tag:team/a", "owned", 5, 3}, {"tag:team/a", "*", 6, 3}, {"tag-key", "team/*", 6, 3}, {"tag-key", "oth", 0, 1}, {"tag-key", "other", 1, 1},
	} {
		if things, pages := count(c.name, c.value); things != c.things || pages != c.pages {
			t.Errorf("%s=%s: %d on %d pages", c.name, c.value, things, pages)
		}
	}
}

func TestEachServiceHasItsCodeForWhatDoesNotExist(t *testing.T) {
	t.Parallel()
	a := awstest.New()
	cfg := reach(t, a)
	ctx := t.Context()

	_, err := eks.NewFromConfig(cfg).DescribeCluster(ctx, &eks.DescribeClusterInput{Name: aws.String("x")})
	if _, ok := errors.AsType[*ekstypes.ResourceNotFoundException](err); !ok {
		t.Error(err)
	}
	_, err = rds.NewFromConfig(cfg).DescribeDBInstances(ctx, &rds.DescribeDBInstancesInput{DBInstanceIdentifier: aws.String("x")})
	if _, ok := errors.AsType[*rdstypes.DBInstanceNotFoundFault](err); !ok {
		t.Error(err)
	}
	_, err = iam.NewFromConfig(cfg).GetUser(ctx, &iam.GetUserInput{UserName: aws.String("x")})
	if _, ok := errors.AsType[*iamtypes.NoSuchEntityException](err); !ok {
		t.Error(err)
	}
	_, err = s3.NewFromConfig(cfg, func(o *s3.Options) { o.UsePathStyle = true }).HeadBucket(ctx, &s3.HeadBucketInput{Bucket: aws.String("x")})
	if _, ok := errors.AsType[*s3types.NotFound](err); !ok {
		t.Error(err)
	}
}

func TestARoleThatHasAnythingIsHeld(t *testing.T) {
	t.Parallel()
	a := awstest.New()
	a.AddRole("me", "r", nil)
	c := iam.NewFromConfig(reach(t, a))

	_, err := c.DeleteRole(t.Context(), &iam.DeleteRoleInput{RoleName: aws.String("r")})

	if _, ok := errors.AsType[*iamtypes.DeleteConflictException](err); !ok {
		t.Error(err)
	}
}
