package awstest

import (
	"net/http"
	"net/url"
	"strings"
)

// eks finds an action of EKS by its path.
func (c *request) eks() (action string, answer func()) {
	path, err := url.PathUnescape(c.http.URL.EscapedPath())
	part := strings.Split(strings.Trim(path, "/"), "/")
	if err != nil || len(part) < 2 || part[0] != "clusters" {
		return path, nil
	}
	name := part[1]
	get, del := c.http.Method == http.MethodGet, c.http.Method == http.MethodDelete
	switch {
	case len(part) == 2 && get:
		return "DescribeCluster", func() {
			if t := c.clusterNamed(name); t != nil {
				c.json(map[string]any{"cluster": c.clusterJSON(t)})
			}
		}
	case len(part) == 2 && del:
		return "DeleteCluster", func() { c.deleteCluster(name) }
	case len(part) == 3 && part[2] == "node-groups" && get:
		return "ListNodegroups", func() { c.listNodeGroups(name) }
	case len(part) == 4 && part[2] == "node-groups" && get:
		return "DescribeNodegroup", func() {
			if t := c.nodeGroup(name, part[3]); t != nil {
				c.json(map[string]any{"nodegroup": c.nodeGroupJSON(t)})
			}
		}
	case len(part) == 4 && part[2] == "node-groups" && del:
		return "DeleteNodegroup", func() {
			if t := c.nodeGroup(name, part[3]); t != nil {
				if t.Refs["trouble"] != "" {
					c.turn(t, "DELETING", "DELETE_FAILED")
				} else if t.State != "DELETING" {
					c.turn(t, "DELETING", "")
				}
				c.json(map[string]any{"nodegroup": c.nodeGroupJSON(t)})
			}
		}
	}
	return path, nil
}

func (c *request) clusterJSON(t *Thing) map[string]any {
	return map[string]any{"name": t.ID, "status": t.State, "createdAt": float64(t.Made.Unix()), "tags": t.Tags}
}

func (c *request) nodeGroupJSON(t *Thing) map[string]any {
	_, name, _ := strings.Cut(t.ID, "/")
	shown := map[string]any{"nodegroupName": name, "clusterName": t.Refs["cluster"], "status": t.State, "createdAt": float64(t.Made.Unix()), "tags": t.Tags}
	if t.State == "DELETE_FAILED" {
		shown["health"] = map[string]any{"issues": []any{map[string]any{"code": "Ec2SecurityGroupDeletionFailure", "message": t.Refs["trouble"], "resourceIds": []string{"sg-1"}}}}
	}
	return shown
}

func (c *request) noCluster(name string) {
	c.fail(http.StatusNotFound, "ResourceNotFoundException", "No cluster found for name: "+name+".")
}

func (c *request) clusterNamed(name string) *Thing {
	t := c.find(c.region, "cluster", name)
	if t == nil || !c.look(t) {
		c.noCluster(name)
		return nil
	}
	return t
}

func (c *request) deleteCluster(name string) {
	t := c.find(c.region, "cluster", name)
	if t == nil {
		c.noCluster(name)
		return
	}
	for _, g := range c.all(c.region, "nodegroup") {
		if g.Refs["cluster"] == name {
			c.fail(http.StatusConflict, "ResourceInUseException", "Cluster has nodegroups attached")
			return
		}
	}
	if t.State == "DELETING" {
		c.fail(http.StatusConflict, "ResourceInUseException", "Cluster is in DELETING state")
		return
	}
	c.turn(t, "DELETING", "")
	c.json(map[string]any{"cluster": c.clusterJSON(t)})
}

func (c *request) listNodeGroups(name string) {
	if c.find(c.region, "cluster", name) == nil {
		c.noCluster(name)
		return
	}
	var groups []string
	for _, g := range c.all(c.region, "nodegroup") {
		if g.Refs["cluster"] == name {
			_, short, _ := strings.Cut(g.ID, "/")
			groups = append(groups, short)
		}
	}
	page, next := paged(groups, same, c.http.URL.Query().Get("nextToken"), c.Page)
	if page == nil {
		page = []string{}
	}
	answer := map[string]any{"nodegroups": page}
	if next != "" {
		answer["nextToken"] = next
	}
	c.json(answer)
}

func (c *request) nodeGroup(cluster, name string) *Thing {
	t := c.find(c.region, "nodegroup", cluster+"/"+name)
	if t == nil || !c.look(t) {
		c.fail(http.StatusNotFound, "ResourceNotFoundException", "No node group found for name: "+name+".")
		return nil
	}
	return t
}
