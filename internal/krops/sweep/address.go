package sweep

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/holdfast-ops/holdfast/internal/krops/config"
)

// addresses are the Elastic IPs that carry the ownership tag of a target. AWS
// lists them on one page.
func (c *Cloud) addresses(ctx context.Context, t config.SweepTarget) ([]ec2types.Address, *region, error) {
	r, err := c.in(ctx, t.Region)
	if err != nil {
		return nil, nil, err
	}
	out, err := call(ctx, c, r.ec2.DescribeAddresses, &ec2.DescribeAddressesInput{Filters: c.rules.filter(t)})
	if err != nil {
		return nil, r, err
	}
	var found []ec2types.Address
	for _, a := range out.Addresses {
		if c.rules.tagged(tagsOf(a.Tags), t) {
			found = append(found, a)
		}
	}
	return found, r, nil
}

func (c *Cloud) lookAddresses(ctx context.Context, t config.SweepTarget) Found {
	list, _, err := c.addresses(ctx, t)
	var items []Item
	for _, a := range list {
		items = append(items, Item{Kind: "Elastic IP", Region: t.Region, ID: aws.ToString(a.AllocationId), Note: aws.ToString(a.PublicIp)})
	}
	return listed(items, "Elastic IPs", t, err)
}

func (c *Cloud) sweepAddresses(ctx context.Context, t config.SweepTarget, s Scope, v Voice) error {
	what := fmt.Sprintf("[%s] an Elastic IP of %s", t.Region, t.Cluster)
	var wrong []error
	first := true
	err := c.until(ctx, v, c.o.Budgets.Address, what, func(ctx context.Context) (string, error) {
		list, r, err := c.addresses(ctx, t)
		if err != nil {
			return "", fmt.Errorf("[%s] Elastic IPs of %s: %w", t.Region, t.Cluster, err)
		}
		if len(list) == 0 && first {
			v.Done("No CAPA-tagged Elastic IPs found for %s in %s", t.Cluster, t.Region)
		}
		first = false
		var busy []string
		wrong = nil
		for _, a := range list {
			id := aws.ToString(a.AllocationId)
			if other := c.rules.foreign(tagsOf(a.Tags), s); other != "" {
				wrong = append(wrong, fmt.Errorf("[%s] Elastic IP %s carries the tag of cluster %s too: left alone", t.Region, id, other))
				continue
			}
			if user := aws.ToString(a.NetworkInterfaceId); user != "" || a.AssociationId != nil {
				// AWS would call this a lack of rights.
				busy = append(busy, id+" is in use by "+strings.TrimSpace("network interface "+user))
				continue
			}
			_, err := call(ctx, c, r.ec2.ReleaseAddress, &ec2.ReleaseAddressInput{AllocationId: &id})
			switch {
			case err == nil:
				v.Detail("[%s] released Elastic IP %s", t.Region, id)
			case coded(err, gone()...):
			case coded(err, held()...):
				busy = append(busy, id+" is in use")
			default:
				wrong = append(wrong, fmt.Errorf("[%s] release Elastic IP %s: %w", t.Region, id, err))
			}
		}
		if len(wrong) > 0 {
			return "", errors.Join(wrong...)
		}
		return several(busy), nil
	})
	return err
}
