package awstest

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ec2 finds an action of EC2.
func (c *request) ec2() func() {
	switch c.action {
	case "DescribeVpcs":
		return c.describe("vpc", "vpcSet", func(t *Thing) el {
			return e("item", e("vpcId", t.ID), e("state", t.State), e("cidrBlock", "10.0.0.0/16"), e("isDefault", "false"), e("ownerId", c.ID), tagSet(t))
		})
	case "DescribeNatGateways":
		return c.describe("nat", "natGatewaySet", func(t *Thing) el {
			return e("item", e("natGatewayId", t.ID), e("vpcId", t.VPC), e("subnetId", t.Refs["subnet"]), e("state", t.State), e("createTime", t.Made.Format(time.RFC3339)),
				e("natGatewayAddressSet", e("item", e("allocationId", t.Refs["eip"]))), tagSet(t))
		})
	case "DescribeAddresses":
		return c.addresses
	case "DescribeNetworkInterfaces":
		return c.describe("eni", "networkInterfaceSet", networkInterface)
	case "DescribeVpcEndpoints":
		return c.describe("vpce", "vpcEndpointSet", func(t *Thing) el {
			return e("item", e("vpcEndpointId", t.ID), e("vpcId", t.VPC), e("state", t.State), e("vpcEndpointType", "Interface"), tagSet(t))
		})
	case "DescribeVpcPeeringConnections":
		return c.describe("pcx", "vpcPeeringConnectionSet", func(t *Thing) el {
			return e("item", e("vpcPeeringConnectionId", t.ID), e("requesterVpcInfo", e("vpcId", t.VPC)), e("accepterVpcInfo", e("vpcId", t.Refs["accepter"])), e("status", e("code", t.State)))
		})
	case "DescribeEgressOnlyInternetGateways":
		return c.describe("eigw", "egressOnlyInternetGatewaySet", func(t *Thing) el {
			return e("item", e("egressOnlyInternetGatewayId", t.ID), attachments(t), tagSet(t))
		})
	case "DescribeInternetGateways":
		return c.describe("igw", "internetGatewaySet", func(t *Thing) el {
			return e("item", e("internetGatewayId", t.ID), attachments(t), tagSet(t))
		})
	case "DescribeSubnets":
		return c.describe("subnet", "subnetSet", func(t *Thing) el {
			return e("item", e("subnetId", t.ID), e("vpcId", t.VPC), e("state", "available"), tagSet(t))
		})
	case "DescribeRouteTables":
		return c.describe("rtb", "routeTableSet", routeTable)
	case "DescribeNetworkAcls":
		return c.describe("acl", "networkAclSet", func(t *Thing) el {
			return e("item", e("networkAclId", t.ID), e("vpcId", t.VPC), e("default", t.Refs["default"]))
		})
	case "DescribeSecurityGroups":
		return c.describe("sg", "securityGroupInfo", func(t *Thing) el {
			return e("item", e("groupId", t.ID), e("groupName", t.Refs["name"]), e("vpcId", t.VPC),
				permissions("ipPermissions", t.Lists["ingress"]), permissions("ipPermissionsEgress", t.Lists["egress"]), tagSet(t))
		})
	}
	return c.ec2Change()
}

func tagSet(t *Thing) el {
	list := e("tagSet")
	for _, k := range sorted(t.Tags) {
		list.kids = append(list.kids, e("item", e("key", k), e("value", t.Tags[k])))
	}
	return list
}

func sorted(m map[string]string) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func attachments(t *Thing) el {
	if t.VPC == "" {
		return e("attachmentSet")
	}
	return e("attachmentSet", e("item", e("vpcId", t.VPC), e("state", "available")))
}

func networkInterface(t *Thing) el {
	item := e("item", e("networkInterfaceId", t.ID), e("vpcId", t.VPC), e("subnetId", t.Refs["subnet"]), e("status", t.State), e("description", t.Refs["what"]))
	if t.State == "in-use" {
		item.kids = append(item.kids, e("attachment", e("attachmentId", "eni-attach-"+t.ID), e("status", "attached")))
	}
	return item
}

func routeTable(t *Thing) el {
	associations := e("associationSet")
	if t.Refs["main"] == "true" {
		associations.kids = append(associations.kids, e("item", e("main", "true"), e("routeTableAssociationId", "rtbassoc-"+t.ID)))
	}
	if s := t.Refs["subnet"]; s != "" {
		associations.kids = append(associations.kids, e("item", e("main", "false"), e("routeTableAssociationId", "rtbassoc-"+t.ID), e("subnetId", s)))
	}
	return e("item", e("routeTableId", t.ID), e("vpcId", t.VPC), associations, tagSet(t))
}

// permissions writes rules: groups, or ranges of addresses.
func permissions(name string, rules []string) el {
	list := e(name)
	for _, rule := range rules {
		item := e("item", e("ipProtocol", "tcp"), e("fromPort", 1), e("toPort", 65535))
		if strings.HasPrefix(rule, "sg-") {
			item.kids = append(item.kids, e("groups", e("item", e("groupId", rule), e("userId", "123456789012"))))
		} else {
			item.kids = append(item.kids, e("ipRanges", e("item", e("cidrIp", rule))))
		}
		list.kids = append(list.kids, item)
	}
	return list
}

// filtered tells whether a thing passes the filters of a call.
func (c *request) filtered(t *Thing) bool {
	for i := range c.list("Filter") {
		at := "Filter." + strconv.Itoa(i+1)
		name := c.form.Get(at + ".Name")
		var have []string
		switch {
		case strings.HasPrefix(name, "tag:"):
			if value, ok := t.Tags[strings.TrimPrefix(name, "tag:")]; ok {
				have = []string{value}
			}
		case name == "tag-key":
			have = sorted(t.Tags)
		case name == "vpc-id", name == "attachment.vpc-id", name == "requester-vpc-info.vpc-id":
			have = []string{t.VPC}
		case name == "accepter-vpc-info.vpc-id":
			have = []string{t.Refs["accepter"]}
		case name == "state":
			have = []string{t.State}
		case name == "domain":
			have = []string{"vpc"}
		}
		if !slices.ContainsFunc(c.list(at+".Value"), func(want string) bool {
			return slices.ContainsFunc(have, func(h string) bool { return like(h, want) })
		}) {
			return false
		}
	}
	return true
}

// like compares as the filters of EC2 do: * is any text.
func like(text, pattern string) bool {
	begin, rest, more := strings.Cut(pattern, "*")
	if !more {
		return text == pattern
	}
	text, ok := strings.CutPrefix(text, begin)
	for i := 0; ok && i <= len(text); i++ {
		if like(text[i:], rest) {
			return true
		}
	}
	return false
}

func (c *request) describe(kind, set string, show func(*Thing) el) func() {
	return func() {
		var list []*Thing
		for _, t := range c.all(c.region, kind) {
			if c.filtered(t) && c.look(t) {
				list = append(list, t)
			}
		}
		page, next := paged(list, id, c.form.Get("NextToken"), c.Page)
		items := e(set)
		for _, t := range page {
			items.kids = append(items.kids, show(t))
		}
		content := []any{items}
		if next != "" {
			content = append(content, e("nextToken", next))
		}
		c.reply(content...)
	}
}

// addresses come on one page.
func (c *request) addresses() {
	items := e("addressesSet")
	for i, t := range c.all(c.region, "eip") {
		if !c.filtered(t) {
			continue
		}
		item := e("item", e("allocationId", t.ID), e("publicIp", fmt.Sprintf("203.0.113.%d", i)), e("domain", "vpc"), tagSet(t))
		if eni := t.Refs["eni"]; eni != "" {
			item.kids = append(item.kids, e("networkInterfaceId", eni), e("associationId", "eipassoc-"+t.ID))
		}
		items.kids = append(items.kids, item)
	}
	c.reply(items)
}

// deletion is how a thing of EC2 is deleted.
type deletion struct {
	kind, parameter, missing string
	holds                    func(*Thing) string // what keeps it, as "code message"
	do                       func(*Thing)
}

func (c *request) ec2Change() func() {
	const busy = "DependencyViolation "
	in := func(t *Thing, kinds ...string) string {
		for _, kind := range kinds {
			for _, other := range c.all(t.Region, kind) {
				if other.VPC == t.ID && other.State != "deleted" && other.Refs["main"] != "true" && other.Refs["default"] != "true" && other.Refs["name"] != "default" {
					return busy + "The vpc '" + t.ID + "' has dependencies and cannot be deleted."
				}
			}
		}
		return ""
	}
	deletions := map[string]deletion{
		"DeleteVpc": {"vpc", "VpcId", "InvalidVpcID.NotFound", func(t *Thing) string {
			return in(t, "subnet", "igw", "eigw", "nat", "rtb", "acl", "sg", "eni", "vpce", "pcx")
		}, func(t *Thing) {
			for _, kind := range []string{"rtb", "acl", "sg"} {
				for _, other := range c.all(t.Region, kind) {
					if other.VPC == t.ID {
						c.remove(other)
					}
				}
			}
			// NAT gateways that are gone are still shown for a while.
			for _, nat := range c.all(t.Region, "nat") {
				if nat.VPC == t.ID {
					c.remove(nat)
				}
			}
			c.remove(t)
		}},
		"DeleteSubnet": {"subnet", "SubnetId", "InvalidSubnetID.NotFound", func(t *Thing) string {
			for _, eni := range c.all(t.Region, "eni") {
				if eni.Refs["subnet"] == t.ID {
					return busy + "The subnet '" + t.ID + "' has dependencies and cannot be deleted."
				}
			}
			return ""
		}, func(t *Thing) {
			for _, rtb := range c.all(t.Region, "rtb") {
				if rtb.Refs["subnet"] == t.ID {
					delete(rtb.Refs, "subnet")
				}
			}
			c.remove(t)
		}},
		"DeleteInternetGateway": {"igw", "InternetGatewayId", "InvalidInternetGatewayID.NotFound", func(t *Thing) string {
			if t.VPC != "" {
				return busy + "The internetGateway '" + t.ID + "' has dependencies and cannot be deleted."
			}
			return ""
		}, c.remove},
		"DeleteEgressOnlyInternetGateway": {"eigw", "EgressOnlyInternetGatewayId", "InvalidGatewayID.NotFound", nil, c.remove},
		"DeleteRouteTable": {"rtb", "RouteTableId", "InvalidRouteTableID.NotFound", func(t *Thing) string {
			if t.Refs["main"] == "true" || t.Refs["subnet"] != "" {
				return busy + "The routeTable '" + t.ID + "' has dependencies and cannot be deleted."
			}
			return ""
		}, c.remove},
		"DeleteNetworkAcl": {"acl", "NetworkAclId", "InvalidNetworkAclID.NotFound", func(t *Thing) string {
			if t.Refs["default"] == "true" {
				return "InvalidParameterValue cannot delete default network ACL"
			}
			return ""
		}, c.remove},
		"DeleteSecurityGroup": {"sg", "GroupId", "InvalidGroup.NotFound", func(t *Thing) string {
			if t.Refs["name"] == "default" {
				return "CannotDelete the specified group: the default group cannot be deleted"
			}
			for _, g := range c.all(t.Region, "sg") {
				if g != t && (slices.Contains(g.Lists["ingress"], t.ID) || slices.Contains(g.Lists["egress"], t.ID)) {
					return busy + "resource " + t.ID + " has a dependent object"
				}
			}
			return ""
		}, c.remove},
		"DeleteNetworkInterface": {"eni", "NetworkInterfaceId", "InvalidNetworkInterfaceID.NotFound", func(t *Thing) string {
			if t.State != "available" {
				return "InvalidNetworkInterface.InUse Interface is currently in use"
			}
			return ""
		}, c.remove},
		"DeleteNatGateway": {"nat", "NatGatewayId", "NatGatewayNotFound", nil, func(t *Thing) {
			if t.State == "available" || t.State == "pending" {
				c.turn(t, "deleting", "deleted")
			}
		}},
		"DeleteVpcPeeringConnection": {"pcx", "VpcPeeringConnectionId", "InvalidVpcPeeringConnectionID.NotFound", nil, c.remove},
		"ReleaseAddress": {"eip", "AllocationId", "InvalidAllocationID.NotFound", func(t *Thing) string {
			if t.Refs["eni"] != "" {
				return "AuthFailure You do not have permission to access the specified resource."
			}
			return ""
		}, c.remove},
	}
	if d, ok := deletions[c.action]; ok {
		return func() { c.delete(d) }
	}
	switch c.action {
	case "DetachInternetGateway":
		return c.detachGateway
	case "DeleteVpcEndpoints":
		return c.deleteEndpoints
	case "RevokeSecurityGroupIngress":
		return func() { c.revoke("ingress") }
	case "RevokeSecurityGroupEgress":
		return func() { c.revoke("egress") }
	}
	return nil
}

func (c *request) delete(d deletion) {
	name := c.form.Get(d.parameter)
	t := c.find(c.region, d.kind, name)
	if t == nil {
		c.fail(http.StatusBadRequest, d.missing, "The "+d.kind+" ID '"+name+"' does not exist")
		return
	}
	if d.holds != nil {
		if why := d.holds(t); why != "" {
			code, message, _ := strings.Cut(why, " ")
			c.fail(http.StatusBadRequest, code, message)
			return
		}
	}
	d.do(t)
	c.reply(e("return", "true"))
}

func (c *request) detachGateway() {
	gateway, vpc := c.form.Get("InternetGatewayId"), c.form.Get("VpcId")
	t := c.find(c.region, "igw", gateway)
	switch {
	case t == nil:
		c.fail(http.StatusBadRequest, "InvalidInternetGatewayID.NotFound", "The internetGateway ID '"+gateway+"' does not exist")
		return
	case t.VPC != vpc:
		c.fail(http.StatusBadRequest, "Gateway.NotAttached", "resource "+gateway+" is not attached to network "+vpc)
		return
	}
	for _, eip := range c.all(c.region, "eip") {
		if eni := c.find(c.region, "eni", eip.Refs["eni"]); eni != nil && eni.VPC == vpc {
			c.fail(http.StatusBadRequest, "DependencyViolation", "Network "+vpc+" has some mapped public address(es). Please unmap those public address(es) before detaching the gateway.")
			return
		}
	}
	t.VPC = ""
	c.reply(e("return", "true"))
}

func (c *request) deleteEndpoints() {
	failed := e("unsuccessful")
	for _, name := range c.list("VpcEndpointId") {
		t := c.find(c.region, "vpce", name)
		if t == nil {
			failed.kids = append(failed.kids, e("item", e("resourceId", name), e("error", e("code", "InvalidVpcEndpoint.NotFound"), e("message", "it does not exist"))))
			continue
		}
		if why := t.Refs["refuse"]; why != "" {
			failed.kids = append(failed.kids, e("item", e("resourceId", name), e("error", e("code", why), e("message", "it cannot be deleted"))))
			continue
		}
		if t.State != "deleting" {
			c.turn(t, "deleting", "")
		}
	}
	c.reply(failed)
}

func (c *request) revoke(direction string) {
	name := c.form.Get("GroupId")
	t := c.find(c.region, "sg", name)
	if t == nil {
		c.fail(http.StatusBadRequest, "InvalidGroup.NotFound", "The security group '"+name+"' does not exist")
		return
	}
	for i := range c.list("IpPermissions") {
		at := "IpPermissions." + strconv.Itoa(i+1)
		var rules []string
		for j := range c.list(at + ".Groups") {
			rules = append(rules, c.form.Get(fmt.Sprintf("%s.Groups.%d.GroupId", at, j+1)))
		}
		for j := range c.list(at + ".IpRanges") {
			rules = append(rules, c.form.Get(fmt.Sprintf("%s.IpRanges.%d.CidrIp", at, j+1)))
		}
		for _, rule := range rules {
			if !slices.Contains(t.Lists[direction], rule) {
				c.fail(http.StatusBadRequest, "InvalidPermission.NotFound", "The specified rule does not exist in this security group.")
				return
			}
		}
		t.Lists[direction] = slices.DeleteFunc(slices.Clone(t.Lists[direction]), func(r string) bool { return slices.Contains(rules, r) })
	}
	c.reply(e("return", "true"))
}
