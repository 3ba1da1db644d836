package sweep

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/holdfast-ops/holdfast/internal/krops/config"
)

func filter(name string, values ...string) []ec2types.Filter {
	return []ec2types.Filter{{Name: &name, Values: values}}
}

func tagsOf(list []ec2types.Tag) tags {
	t := tags{}
	for _, tag := range list {
		t[aws.ToString(tag.Key)] = aws.ToString(tag.Value)
	}
	return t
}

// vpcs are those that carry the ownership tag of a target.
func (c *Cloud) vpcs(ctx context.Context, t config.SweepTarget) ([]ec2types.Vpc, *region, error) {
	r, err := c.in(ctx, t.Region)
	if err != nil {
		return nil, nil, err
	}
	var found []ec2types.Vpc
	err = pages(func(mark *string) (*string, error) {
		out, err := call(ctx, c, r.ec2.DescribeVpcs, &ec2.DescribeVpcsInput{Filters: c.rules.filter(t), NextToken: mark})
		if err != nil {
			return nil, err
		}
		for _, vpc := range out.Vpcs {
			// Whoever answers may have overlooked the filter.
			if c.rules.tagged(tagsOf(vpc.Tags), t) {
				found = append(found, vpc)
			}
		}
		return out.NextToken, nil
	})
	return found, r, err
}

// loose are the internet gateways of a target that are in no VPC any more: a sweep
// that ended between the two halves of their removal leaves them.
func (c *Cloud) loose(ctx context.Context, t config.SweepTarget) ([]string, *region, error) {
	r, err := c.in(ctx, t.Region)
	if err != nil {
		return nil, nil, err
	}
	var ids []string
	err = pages(func(mark *string) (*string, error) {
		out, err := call(ctx, c, r.ec2.DescribeInternetGateways, &ec2.DescribeInternetGatewaysInput{Filters: c.rules.filter(t), NextToken: mark})
		if err != nil {
			return nil, err
		}
		for _, g := range out.InternetGateways {
			if len(g.Attachments) == 0 && c.rules.tagged(tagsOf(g.Tags), t) {
				ids = append(ids, aws.ToString(g.InternetGatewayId))
			}
		}
		return out.NextToken, nil
	})
	return ids, r, err
}

func (c *Cloud) lookVPCs(ctx context.Context, t config.SweepTarget) Found {
	list, _, err := c.vpcs(ctx, t)
	var items []Item
	for _, vpc := range list {
		items = append(items, Item{Kind: "VPC", Region: t.Region, ID: aws.ToString(vpc.VpcId), Note: t.Cluster})
	}
	found := listed(items, "VPCs", t, err)
	gateways, _, err := c.loose(ctx, t)
	items = nil
	for _, id := range gateways {
		items = append(items, Item{Kind: "internet gateway", Region: t.Region, ID: id, Note: t.Cluster})
	}
	found.add(listed(items, "internet gateways", t, err))
	return found
}

func (c *Cloud) sweepVPCs(ctx context.Context, t config.SweepTarget, s Scope, v Voice) error {
	list, r, err := c.vpcs(ctx, t)
	if err != nil {
		return fmt.Errorf("[%s] VPCs of %s: %w", t.Region, t.Cluster, err)
	}
	if len(list) == 0 {
		v.Done("No CAPA-tagged VPCs found for %s in %s", t.Cluster, t.Region)
	}
	var wrong []error
	for _, vpc := range list {
		n := &network{Cloud: c, region: r, id: aws.ToString(vpc.VpcId), voice: v}
		if other := c.rules.foreign(tagsOf(vpc.Tags), s); other != "" {
			wrong = append(wrong, fmt.Errorf("[%s] VPC %s is shared with cluster %s, which is none of this environment: left alone", t.Region, n.id, other))
			continue
		}
		if err := n.tenant(ctx, s); err != nil {
			wrong = append(wrong, err)
			continue
		}
		v.Detail("[%s] deleting VPC %s and what is in it", t.Region, n.id)
		if err := n.remove(ctx); err != nil {
			wrong = append(wrong, err)
			continue
		}
		v.Done("VPC %s deleted in %s", n.id, t.Region)
	}
	gateways, r, err := c.loose(ctx, t)
	if err != nil {
		wrong = append(wrong, fmt.Errorf("[%s] internet gateways of %s: %w", t.Region, t.Cluster, err))
	}
	for _, id := range gateways {
		_, err := call(ctx, c, r.ec2.DeleteInternetGateway, &ec2.DeleteInternetGatewayInput{InternetGatewayId: &id})
		if err != nil && !coded(err, gone()...) {
			wrong = append(wrong, fmt.Errorf("[%s] delete internet gateway %s: %w", t.Region, id, err))
		}
	}
	return errors.Join(wrong...)
}

// network is a VPC that is removed.
type network struct {
	*Cloud
	*region

	id    string
	voice Voice
}

// tenant fails when another cluster lives in the VPC: what is in one that is ours is
// not ours for that. Its provider tags the subnets it uses and the groups it makes, and
// not the VPC, which it did not make.
func (n *network) tenant(ctx context.Context, s Scope) error {
	refuse := func(what, id string, t tags) error {
		if other := n.rules.foreign(t, s); other != "" {
			return fmt.Errorf("[%s] VPC %s is also that of cluster %s, which is none of this environment: its tag is on %s %s; left alone", n.name, n.id, other, what, id)
		}
		return nil
	}
	subnets, err := n.subnets(ctx)
	if err != nil {
		return fmt.Errorf("[%s] VPC %s: who else is in it: %w", n.name, n.id, err)
	}
	for _, net := range subnets {
		if err := refuse("subnet", aws.ToString(net.SubnetId), tagsOf(net.Tags)); err != nil {
			return err
		}
	}
	groups, err := n.groups(ctx)
	if err != nil {
		return fmt.Errorf("[%s] VPC %s: who else is in it: %w", n.name, n.id, err)
	}
	for _, g := range groups {
		if err := refuse("security group", aws.ToString(g.GroupId), tagsOf(g.Tags)); err != nil {
			return err
		}
	}
	return nil
}

// subnets are those of the VPC.
func (n *network) subnets(ctx context.Context) ([]ec2types.Subnet, error) {
	var list []ec2types.Subnet
	err := pages(func(mark *string) (*string, error) {
		out, err := call(ctx, n.Cloud, n.ec2.DescribeSubnets, &ec2.DescribeSubnetsInput{Filters: filter("vpc-id", n.id), NextToken: mark})
		if err != nil {
			return nil, err
		}
		for _, s := range out.Subnets {
			if aws.ToString(s.VpcId) == n.id {
				list = append(list, s)
			}
		}
		return out.NextToken, nil
	})
	return list, err
}

// groups are the security groups of the VPC.
func (n *network) groups(ctx context.Context) ([]ec2types.SecurityGroup, error) {
	var list []ec2types.SecurityGroup
	err := pages(func(mark *string) (*string, error) {
		out, err := call(ctx, n.Cloud, n.ec2.DescribeSecurityGroups, &ec2.DescribeSecurityGroupsInput{Filters: filter("vpc-id", n.id), NextToken: mark})
		if err != nil {
			return nil, err
		}
		for _, g := range out.SecurityGroups {
			if aws.ToString(g.VpcId) == n.id {
				list = append(list, g)
			}
		}
		return out.NextToken, nil
	})
	return list, err
}

// remove does one pass after the other: each removes what can go now, until
// nothing is left. So it can be begun again at any point.
func (n *network) remove(ctx context.Context) error {
	what := fmt.Sprintf("[%s] VPC %s", n.name, n.id)
	return n.until(ctx, n.voice, n.o.Budgets.VPC, what, func(ctx context.Context) (string, error) {
		p := &pass{network: n, stuck: map[string][]string{}}
		p.run(ctx)
		if err := p.trouble(); err != nil {
			return "", fmt.Errorf("%s: %w", what, err)
		}
		return several(p.held), nil
	})
}

// pass is one attempt at a VPC.
type pass struct {
	*network

	held   []string            // what must go first, and has not yet
	wrong  []error             // what will not pass by itself
	stuck  map[string][]string // the same of deletions: why, and what of
	causes []string            // the keys of stuck, in their order
}

// trouble is all that will not pass by itself. Many things that cannot be deleted
// for one reason are told at once.
func (p *pass) trouble() error {
	wrong := p.wrong
	for _, cause := range p.causes {
		wrong = append(wrong, fmt.Errorf("delete %s: %s", several(p.stuck[cause]), cause))
	}
	return errors.Join(wrong...)
}

// run removes what holds others first. What takes a while ends the pass.
func (p *pass) run(ctx context.Context) {
	stages := [][]func(context.Context) error{
		{p.loadBalancers, p.classicLoadBalancers, p.natGateways, p.endpoints, p.peerings},
		{p.interfaces, p.egressOnlyGateways, p.internetGateways, p.dropSubnets, p.routeTables, p.acls, p.securityGroups},
		{p.vpc},
	}
	for _, stage := range stages {
		for _, part := range stage {
			if err := part(ctx); err != nil {
				p.wrong = append(p.wrong, err)
			}
		}
		if len(p.held)+len(p.wrong)+len(p.causes) > 0 {
			return
		}
	}
}

// gone lists the codes of things that are not there any more.
func gone() []string {
	return []string{
		"InvalidVpcID.NotFound", "InvalidSubnetID.NotFound", "InvalidInternetGatewayID.NotFound", "InvalidRouteTableID.NotFound", "InvalidGroup.NotFound",
		"NatGatewayNotFound", "InvalidNetworkInterfaceID.NotFound", "InvalidVpcEndpointId.NotFound", "InvalidVpcPeeringConnectionID.NotFound",
		"InvalidGatewayID.NotFound", "InvalidNetworkAclID.NotFound", "InvalidAttachmentID.NotFound", "Gateway.NotAttached", "InvalidAllocationID.NotFound",
		"InvalidEgressOnlyInternetGatewayId.NotFound", "LoadBalancerNotFound", "LoadBalancerNotFoundException", "AccessPointNotFound", "InvalidPermission.NotFound",
	}
}

// held lists the codes of things that cannot go before another.
func held() []string {
	return []string{
		"DependencyViolation", "InvalidNetworkInterface.InUse", "InvalidIPAddress.InUse", "ResourceInUse", "ResourceInUseException", "IncorrectState",
		"InvalidStateTransition", "InvalidGroup.InUse", "CannotDelete", "OperationInProgress", "Resource.AlreadyAssociated",
	}
}

// drop judges a deletion.
func (p *pass) drop(kind, id string, err error) {
	switch {
	case err == nil, coded(err, gone()...):
	case coded(err, held()...):
		p.held = append(p.held, kind+" "+id+" is still in use")
	default:
		cause := err.Error()
		if p.stuck[cause] == nil {
			p.causes = append(p.causes, cause)
		}
		p.stuck[cause] = append(p.stuck[cause], kind+" "+id)
	}
}

func (p *pass) wait(kind, id, state string) {
	p.held = append(p.held, kind+" "+id+" is "+state)
}

func (p *pass) vpc(ctx context.Context) error {
	_, err := call(ctx, p.Cloud, p.ec2.DeleteVpc, &ec2.DeleteVpcInput{VpcId: &p.id})
	p.drop("VPC", p.id, err)
	return nil
}
