package awstest

import (
	"net/http"
	"time"
)

// rds finds an action of RDS.
func (c *request) rds() func() {
	find := func() *Thing {
		name := c.form.Get("DBInstanceIdentifier")
		t := c.find(c.region, "db", name)
		if t == nil || c.action == "DescribeDBInstances" && !c.look(t) {
			c.fail(http.StatusNotFound, "DBInstanceNotFound", "DBInstance "+name+" not found.")
			return nil
		}
		return t
	}
	show := func(t *Thing) []any {
		list := e("TagList")
		for _, k := range sorted(t.Tags) {
			list.kids = append(list.kids, e("Tag", e("Key", k), e("Value", t.Tags[k])))
		}
		shown := []any{e("DBInstanceIdentifier", t.ID), e("DBInstanceStatus", t.State), e("DeletionProtection", t.Refs["protected"] == "true"), list}
		if t.State != "creating" {
			shown = append(shown, e("InstanceCreateTime", t.Made.Format(time.RFC3339)))
		}
		return shown
	}
	switch c.action {
	case "DescribeDBInstances":
		return func() {
			if t := find(); t != nil {
				c.result(e("DBInstances", e("DBInstance", show(t)...)))
			}
		}
	case "DeleteDBInstance":
		return func() {
			t := find()
			switch {
			case t == nil:
			case t.Refs["protected"] == "true":
				c.fail(http.StatusBadRequest, "InvalidParameterCombination", "Cannot delete protected DB Instance, please disable deletion protection and try again.")
			case t.State != "available" && t.State != "stopped" && t.State != "failed":
				c.fail(http.StatusBadRequest, "InvalidDBInstanceState", "Instance "+t.ID+" is in state "+t.State)
			default:
				c.turn(t, "deleting", "")
				c.result(e("DBInstance", show(t)...))
			}
		}
	}
	return nil
}
