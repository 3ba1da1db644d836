package awstest

import (
	"encoding/json"
	"net/http"
	"time"
)

// stacks finds an action of CloudFormation.
func (c *request) stacks() func() {
	switch c.action {
	case "ListStacks":
		return func() {
			wanted := c.list("StackStatusFilter.member")
			var list []*Thing
			for _, t := range c.all(c.region, "stack") {
				for _, w := range wanted {
					if w == t.State {
						list = append(list, t)
					}
				}
			}
			page, next := paged(list, id, c.form.Get("NextToken"), c.Page)
			var items []el
			for _, t := range page {
				items = append(items, c.stackXML(t))
			}
			content := []any{member("StackSummaries", items)}
			if next != "" {
				content = append(content, e("NextToken", next))
			}
			c.result(content...)
		}
	case "DescribeStacks":
		return func() {
			if t := c.stackNamed(); t != nil {
				c.look(t)
				c.result(member("Stacks", []el{c.stackXML(t)}))
			}
		}
	case "DeleteStack":
		return func() {
			// To delete what does not exist is a success.
			if t := c.find(c.region, "stack", c.form.Get("StackName")); t != nil {
				if t.Refs["trouble"] != "" {
					c.turn(t, "DELETE_IN_PROGRESS", "DELETE_FAILED")
				} else if t.State != "DELETE_COMPLETE" {
					c.turn(t, "DELETE_IN_PROGRESS", "DELETE_COMPLETE")
				}
			}
			c.result()
		}
	case "DescribeStackEvents":
		return func() {
			if t := c.stackNamed(); t != nil {
				var events []el
				if t.State == "DELETE_FAILED" {
					events = append(events, e("", e("StackId", t.ID), e("EventId", "1"), e("StackName", t.Refs["name"]), e("LogicalResourceId", "ControllerRole"),
						e("PhysicalResourceId", "controllers"), e("ResourceStatus", "DELETE_FAILED"), e("ResourceStatusReason", t.Refs["trouble"]), e("Timestamp", t.Made.Format(time.RFC3339))))
				}
				c.result(member("StackEvents", events))
			}
		}
	}
	return nil
}

func (c *request) stackXML(t *Thing) el {
	shown := e("", e("StackId", t.ID), e("StackName", t.Refs["name"]), e("StackStatus", t.State), e("CreationTime", t.Made.Format(time.RFC3339)))
	if t.State == "DELETE_FAILED" {
		shown.kids = append(shown.kids, e("StackStatusReason", "The following resource(s) failed to delete: [ControllerRole]."))
	}
	return shown
}

func (c *request) stackNamed() *Thing {
	name := c.form.Get("StackName")
	for _, t := range c.all(c.region, "stack") {
		if t.ID == name || t.Refs["name"] == name && t.State != "DELETE_COMPLETE" {
			return t
		}
	}
	c.fail(http.StatusBadRequest, "ValidationError", "Stack with id "+name+" does not exist")
	return nil
}

// quota answers the one question there is about quotas.
func (c *request) quota() {
	var asked struct{ ServiceCode, QuotaCode string }
	if err := json.Unmarshal(c.body, &asked); err != nil || c.action != "GetServiceQuota" || asked.ServiceCode != "ec2" || asked.QuotaCode != "L-0263D0A3" {
		c.fail(http.StatusBadRequest, "NoSuchResourceException", "The specified resource does not exist.")
		return
	}
	c.json(map[string]any{"Quota": map[string]any{"ServiceCode": "ec2", "QuotaCode": asked.QuotaCode, "QuotaName": "EC2-VPC Elastic IPs", "Value": float64(c.Quota)}})
}
