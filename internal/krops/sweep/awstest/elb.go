package awstest

import (
	"net/http"
	"strings"
)

// elb finds an action of the load balancers. Both kinds share a host and names of
// actions; the version of the API tells them apart.
func (c *request) elb() func() {
	kind, missing := "elb", "LoadBalancerNotFound"
	if c.form.Get("Version") == "2015-12-01" {
		kind = "elbv2"
	}
	switch c.action {
	case "DescribeLoadBalancers":
		return func() {
			page, next := paged(c.all(c.region, kind), id, c.form.Get("Marker"), c.Page)
			var items []el
			for _, t := range page {
				if kind == "elb" {
					items = append(items, e("", e("LoadBalancerName", t.ID), e("VPCId", t.VPC)))
				} else {
					items = append(items, e("", e("LoadBalancerArn", "arn:"+t.ID), e("LoadBalancerName", t.ID), e("VpcId", t.VPC), e("Type", "network")))
				}
			}
			name := "LoadBalancers"
			if kind == "elb" {
				name = "LoadBalancerDescriptions"
			}
			content := []any{member(name, items)}
			if next != "" {
				content = append(content, e("NextMarker", next))
			}
			c.result(content...)
		}
	case "DeleteLoadBalancer":
		return func() {
			name := c.form.Get("LoadBalancerName")
			if kind == "elbv2" {
				name = strings.TrimPrefix(c.form.Get("LoadBalancerArn"), "arn:")
			}
			t := c.find(c.region, kind, name)
			switch {
			case t == nil && kind == "elbv2":
				c.fail(http.StatusBadRequest, missing, "One or more load balancers not found")
				return
			case t == nil: // the older kind calls that a success
			case t.Refs["protected"] != "":
				c.fail(http.StatusBadRequest, "OperationNotPermitted", "Load balancer '"+name+"' cannot be deleted because deletion protection is enabled")
				return
			default:
				// Its interfaces stay for a moment.
				for _, eni := range c.all(t.Region, "eni") {
					if eni.Refs["holder"] == t.ID {
						c.turn(eni, "in-use", "")
					}
				}
				c.remove(t)
			}
			c.result()
		}
	}
	return nil
}
