package sweep

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/servicequotas"

	"github.com/holdfast-ops/holdfast/internal/krops/config"
)

// addressQuota is the code of the quota of Elastic IPs.
const addressQuota = "L-0263D0A3"

// Quota checks that each region has the Elastic IPs its clusters need. say is told
// of each region that has. All regions are checked before it fails, but for a
// question that fails.
func (c *Cloud) Quota(ctx context.Context, plans []config.AddressPlan, say func(string)) error {
	var short []string
	for _, p := range plans {
		limit, allocated, owned, err := c.quota(ctx, p)
		if err != nil {
			return fmt.Errorf("cannot check the Elastic IP quota of %s: check AWS credentials and permissions: %w", p.Region, err)
		}
		missing, desired := p.Shortfall(limit, allocated, owned)
		available := max(0, limit-max(0, allocated-owned))
		if missing == 0 {
			say(fmt.Sprintf("EIP quota in %s: %d available to krops (need %d, %d already owned) - OK", p.Region, available, p.Required, owned))
			continue
		}
		short = append(short, fmt.Sprintf(
			"  %s: %d available, %d required for %s, %d missing (limit %d, allocated %d, owned %d)\n"+
				"    aws service-quotas request-service-quota-increase --service-code ec2 --quota-code %s --desired-value %d --region %s",
			p.Region, available, p.Required, strings.Join(p.Clusters, ", "), missing, limit, allocated, owned, addressQuota, desired, p.Region))
	}
	if short != nil {
		return errors.New("insufficient EC2 Elastic IP quota:\n" + strings.Join(short, "\n"))
	}
	return nil
}

func (c *Cloud) quota(ctx context.Context, p config.AddressPlan) (limit, allocated, ownedCount int, err error) {
	r, err := c.in(ctx, p.Region)
	if err != nil {
		return 0, 0, 0, err
	}
	service, code := "ec2", addressQuota
	quota, err := call(ctx, c, r.quotas.GetServiceQuota, &servicequotas.GetServiceQuotaInput{ServiceCode: &service, QuotaCode: &code})
	if err != nil {
		return 0, 0, 0, err
	}
	if quota.Quota == nil || quota.Quota.Value == nil {
		return 0, 0, 0, &CallError{Kind: Garbled, Operation: "Service Quotas GetServiceQuota", Text: "no value"}
	}
	inVPC, err := call(ctx, c, r.ec2.DescribeAddresses, &ec2.DescribeAddressesInput{Filters: filter("domain", "vpc")})
	if err != nil {
		return 0, 0, 0, err
	}
	for _, tag := range p.OwnershipTags() {
		mine, err := call(ctx, c, r.ec2.DescribeAddresses, &ec2.DescribeAddressesInput{Filters: filter("tag:"+tag, owned)})
		if err != nil {
			return 0, 0, 0, err
		}
		ownedCount += len(mine.Addresses)
	}
	return int(*quota.Quota.Value), len(inVPC.Addresses), ownedCount, nil
}
