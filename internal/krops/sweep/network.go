package sweep

import (
	"context"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
)

func (p *pass) loadBalancers(ctx context.Context) error {
	return pages(func(mark *string) (*string, error) {
		out, err := call(ctx, p.Cloud, p.elbv2.DescribeLoadBalancers, &elbv2.DescribeLoadBalancersInput{Marker: mark})
		if err != nil {
			return nil, err
		}
		for _, lb := range out.LoadBalancers {
			if aws.ToString(lb.VpcId) != p.id {
				continue
			}
			_, err := call(ctx, p.Cloud, p.elbv2.DeleteLoadBalancer, &elbv2.DeleteLoadBalancerInput{LoadBalancerArn: lb.LoadBalancerArn})
			p.drop("load balancer", aws.ToString(lb.LoadBalancerName), err)
		}
		return out.NextMarker, nil
	})
}

func (p *pass) classicLoadBalancers(ctx context.Context) error {
	return pages(func(mark *string) (*string, error) {
		out, err := call(ctx, p.Cloud, p.elb.DescribeLoadBalancers, &elb.DescribeLoadBalancersInput{Marker: mark})
		if err != nil {
			return nil, err
		}
		for _, lb := range out.LoadBalancerDescriptions {
			if aws.ToString(lb.VPCId) != p.id {
				continue
			}
			_, err := call(ctx, p.Cloud, p.elb.DeleteLoadBalancer, &elb.DeleteLoadBalancerInput{LoadBalancerName: lb.LoadBalancerName})
			p.drop("load balancer", aws.ToString(lb.LoadBalancerName), err)
		}
		return out.NextMarker, nil
	})
}

func (p *pass) natGateways(ctx context.Context) error {
	list, err := p.natGatewaysOf(ctx, p.region, p.id, ec2types.NatGatewayStatePending, ec2types.NatGatewayStateAvailable, ec2types.NatGatewayStateDeleting)
	for _, n := range list {
		id := aws.ToString(n.NatGatewayId)
		if n.State != ec2types.NatGatewayStateDeleting {
			_, err := call(ctx, p.Cloud, p.ec2.DeleteNatGateway, &ec2.DeleteNatGatewayInput{NatGatewayId: &id})
			p.drop("NAT gateway", id, err)
			if err == nil {
				p.voice.Detail("[%s] deleting NAT gateway %s", p.name, id)
			}
		}
		p.wait("NAT gateway", id, "not deleted yet")
	}
	return err
}

// natGatewaysOf lists the NAT gateways of a VPC in some states.
func (c *Cloud) natGatewaysOf(ctx context.Context, r *region, vpc string, states ...ec2types.NatGatewayState) ([]ec2types.NatGateway, error) {
	var list []ec2types.NatGateway
	err := pages(func(mark *string) (*string, error) {
		out, err := call(ctx, c, r.ec2.DescribeNatGateways, &ec2.DescribeNatGatewaysInput{Filter: filter("vpc-id", vpc), NextToken: mark})
		if err != nil {
			return nil, err
		}
		for _, n := range out.NatGateways {
			if aws.ToString(n.VpcId) == vpc && slices.Contains(states, n.State) {
				list = append(list, n)
			}
		}
		return out.NextToken, nil
	})
	return list, err
}

func (p *pass) endpoints(ctx context.Context) error {
	var ids []string
	err := pages(func(mark *string) (*string, error) {
		out, err := call(ctx, p.Cloud, p.ec2.DescribeVpcEndpoints, &ec2.DescribeVpcEndpointsInput{Filters: filter("vpc-id", p.id), NextToken: mark})
		if err != nil {
			return nil, err
		}
		for _, e := range out.VpcEndpoints {
			if aws.ToString(e.VpcId) != p.id {
				continue
			}
			id := aws.ToString(e.VpcEndpointId)
			switch e.State { //nolint:exhaustive // the others can be deleted
			case "deleted", ec2types.StateDeleted:
				continue
			case "deleting", ec2types.StateDeleting:
			default:
				ids = append(ids, id)
			}
			p.wait("endpoint", id, "not deleted yet")
		}
		return out.NextToken, nil
	})
	if len(ids) == 0 {
		return err
	}
	out, failed := call(ctx, p.Cloud, p.ec2.DeleteVpcEndpoints, &ec2.DeleteVpcEndpointsInput{VpcEndpointIds: ids})
	if failed != nil {
		p.drop("endpoints of VPC", p.id, failed)
		return err
	}
	// The call succeeds although a deletion in it failed.
	for _, u := range out.Unsuccessful {
		f := &CallError{Kind: Other, Operation: "EC2 DeleteVpcEndpoints"}
		if u.Error != nil {
			f.Code, f.Text = aws.ToString(u.Error.Code), p.harmless(aws.ToString(u.Error.Message))
		}
		p.drop("endpoint", aws.ToString(u.ResourceId), f)
	}
	return err
}

func (p *pass) peerings(ctx context.Context) error {
	for _, side := range []string{"requester-vpc-info.vpc-id", "accepter-vpc-info.vpc-id"} {
		err := pages(func(mark *string) (*string, error) {
			out, err := call(ctx, p.Cloud, p.ec2.DescribeVpcPeeringConnections, &ec2.DescribeVpcPeeringConnectionsInput{Filters: filter(side, p.id), NextToken: mark})
			if err != nil {
				return nil, err
			}
			for _, c := range out.VpcPeeringConnections {
				p.peering(ctx, c)
			}
			return out.NextToken, nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (p *pass) peering(ctx context.Context, c ec2types.VpcPeeringConnection) {
	mine := func(side *ec2types.VpcPeeringConnectionVpcInfo) bool {
		return side != nil && aws.ToString(side.VpcId) == p.id
	}
	if !mine(c.RequesterVpcInfo) && !mine(c.AccepterVpcInfo) {
		return
	}
	if c.Status != nil {
		switch c.Status.Code { //nolint:exhaustive // the others can be deleted
		case ec2types.VpcPeeringConnectionStateReasonCodeDeleted, ec2types.VpcPeeringConnectionStateReasonCodeDeleting,
			ec2types.VpcPeeringConnectionStateReasonCodeRejected, ec2types.VpcPeeringConnectionStateReasonCodeExpired, ec2types.VpcPeeringConnectionStateReasonCodeFailed:
			return
		}
	}
	_, err := call(ctx, p.Cloud, p.ec2.DeleteVpcPeeringConnection, &ec2.DeleteVpcPeeringConnectionInput{VpcPeeringConnectionId: c.VpcPeeringConnectionId})
	p.drop("peering", aws.ToString(c.VpcPeeringConnectionId), err)
}

// interfaces removes those that services have left behind. One that is attached
// goes with what it is attached to, or holds the VPC and is told.
func (p *pass) interfaces(ctx context.Context) error {
	return pages(func(mark *string) (*string, error) {
		out, err := call(ctx, p.Cloud, p.ec2.DescribeNetworkInterfaces, &ec2.DescribeNetworkInterfacesInput{Filters: filter("vpc-id", p.id), NextToken: mark})
		if err != nil {
			return nil, err
		}
		for _, i := range out.NetworkInterfaces {
			if aws.ToString(i.VpcId) != p.id {
				continue
			}
			id := aws.ToString(i.NetworkInterfaceId)
			if i.Status != ec2types.NetworkInterfaceStatusAvailable {
				p.wait("network interface", id, fmt.Sprintf("%s by %s", i.Status, holder(i)))
				continue
			}
			_, err := call(ctx, p.Cloud, p.ec2.DeleteNetworkInterface, &ec2.DeleteNetworkInterfaceInput{NetworkInterfaceId: &id})
			p.drop("network interface", id, err)
		}
		return out.NextToken, nil
	})
}

// holder says what an interface belongs to.
func holder(i ec2types.NetworkInterface) string {
	if i.Attachment != nil && aws.ToString(i.Attachment.InstanceId) != "" {
		return "instance " + *i.Attachment.InstanceId
	}
	if text := aws.ToString(i.Description); text != "" {
		return text
	}
	return "something that does not say what it is"
}

func (p *pass) egressOnlyGateways(ctx context.Context) error {
	return pages(func(mark *string) (*string, error) {
		// AWS cannot filter these by VPC.
		out, err := call(ctx, p.Cloud, p.ec2.DescribeEgressOnlyInternetGateways, &ec2.DescribeEgressOnlyInternetGatewaysInput{NextToken: mark})
		if err != nil {
			return nil, err
		}
		for _, g := range out.EgressOnlyInternetGateways {
			if !attached(g.Attachments, p.id) {
				continue
			}
			_, err := call(ctx, p.Cloud, p.ec2.DeleteEgressOnlyInternetGateway,
				&ec2.DeleteEgressOnlyInternetGatewayInput{EgressOnlyInternetGatewayId: g.EgressOnlyInternetGatewayId})
			p.drop("egress-only gateway", aws.ToString(g.EgressOnlyInternetGatewayId), err)
		}
		return out.NextToken, nil
	})
}

func attached(list []ec2types.InternetGatewayAttachment, vpc string) bool {
	return slices.ContainsFunc(list, func(a ec2types.InternetGatewayAttachment) bool { return aws.ToString(a.VpcId) == vpc })
}

func (p *pass) internetGateways(ctx context.Context) error {
	return pages(func(mark *string) (*string, error) {
		out, err := call(ctx, p.Cloud, p.ec2.DescribeInternetGateways, &ec2.DescribeInternetGatewaysInput{Filters: filter("attachment.vpc-id", p.id), NextToken: mark})
		if err != nil {
			return nil, err
		}
		for _, g := range out.InternetGateways {
			if !attached(g.Attachments, p.id) {
				continue
			}
			id := aws.ToString(g.InternetGatewayId)
			_, err := call(ctx, p.Cloud, p.ec2.DetachInternetGateway, &ec2.DetachInternetGatewayInput{InternetGatewayId: &id, VpcId: &p.id})
			if err == nil || coded(err, gone()...) {
				_, err = call(ctx, p.Cloud, p.ec2.DeleteInternetGateway, &ec2.DeleteInternetGatewayInput{InternetGatewayId: &id})
			}
			p.drop("internet gateway", id, err)
		}
		return out.NextToken, nil
	})
}

func (p *pass) dropSubnets(ctx context.Context) error {
	list, err := p.subnets(ctx)
	for _, s := range list {
		_, err := call(ctx, p.Cloud, p.ec2.DeleteSubnet, &ec2.DeleteSubnetInput{SubnetId: s.SubnetId})
		p.drop("subnet", aws.ToString(s.SubnetId), err)
	}
	return err
}

func (p *pass) routeTables(ctx context.Context) error {
	return pages(func(mark *string) (*string, error) {
		out, err := call(ctx, p.Cloud, p.ec2.DescribeRouteTables, &ec2.DescribeRouteTablesInput{Filters: filter("vpc-id", p.id), NextToken: mark})
		if err != nil {
			return nil, err
		}
		for _, t := range out.RouteTables {
			main := slices.ContainsFunc(t.Associations, func(a ec2types.RouteTableAssociation) bool { return aws.ToBool(a.Main) })
			if main || aws.ToString(t.VpcId) != p.id {
				continue // the main one goes with the VPC
			}
			_, err := call(ctx, p.Cloud, p.ec2.DeleteRouteTable, &ec2.DeleteRouteTableInput{RouteTableId: t.RouteTableId})
			p.drop("route table", aws.ToString(t.RouteTableId), err)
		}
		return out.NextToken, nil
	})
}

func (p *pass) acls(ctx context.Context) error {
	return pages(func(mark *string) (*string, error) {
		out, err := call(ctx, p.Cloud, p.ec2.DescribeNetworkAcls, &ec2.DescribeNetworkAclsInput{Filters: filter("vpc-id", p.id), NextToken: mark})
		if err != nil {
			return nil, err
		}
		for _, a := range out.NetworkAcls {
			if aws.ToBool(a.IsDefault) || aws.ToString(a.VpcId) != p.id {
				continue
			}
			_, err := call(ctx, p.Cloud, p.ec2.DeleteNetworkAcl, &ec2.DeleteNetworkAclInput{NetworkAclId: a.NetworkAclId})
			p.drop("network ACL", aws.ToString(a.NetworkAclId), err)
		}
		return out.NextToken, nil
	})
}

// securityGroups empties all groups before the first is deleted: they name each
// other, the default one included.
func (p *pass) securityGroups(ctx context.Context) error {
	groups, err := p.groups(ctx)
	for _, g := range groups {
		id := aws.ToString(g.GroupId)
		if len(g.IpPermissions) > 0 {
			_, err := call(ctx, p.Cloud, p.ec2.RevokeSecurityGroupIngress, &ec2.RevokeSecurityGroupIngressInput{GroupId: &id, IpPermissions: g.IpPermissions})
			p.drop("rules into security group", id, err)
		}
		if len(g.IpPermissionsEgress) > 0 {
			_, err := call(ctx, p.Cloud, p.ec2.RevokeSecurityGroupEgress, &ec2.RevokeSecurityGroupEgressInput{GroupId: &id, IpPermissions: g.IpPermissionsEgress})
			p.drop("rules out of security group", id, err)
		}
	}
	for _, g := range groups {
		if aws.ToString(g.GroupName) == "default" {
			continue
		}
		_, err := call(ctx, p.Cloud, p.ec2.DeleteSecurityGroup, &ec2.DeleteSecurityGroupInput{GroupId: g.GroupId})
		p.drop("security group", aws.ToString(g.GroupId), err)
	}
	return err
}
