package awstest

import (
	"net/http"
	"slices"
	"strings"
	"time"
)

// holding is a list that a role or user has, and how it is written.
type holding struct {
	kind, list   string // of the thing
	result, item string // of the answer; without an item its members are texts
	parameter    string // that names one in a deletion
}

// iam finds an action of IAM.
func (c *request) iam() func() {
	lists := map[string]holding{
		"ListAttachedRolePolicies":       {"role", "attached", "AttachedPolicies", "PolicyArn", ""},
		"ListRolePolicies":               {"role", "inline", "PolicyNames", "", ""},
		"ListAccessKeys":                 {"user", "key", "AccessKeyMetadata", "AccessKeyId", ""},
		"ListSigningCertificates":        {"user", "certificate", "Certificates", "CertificateId", ""},
		"ListSSHPublicKeys":              {"user", "ssh", "SSHPublicKeys", "SSHPublicKeyId", ""},
		"ListServiceSpecificCredentials": {"user", "service", "ServiceSpecificCredentials", "ServiceSpecificCredentialId", ""},
		"ListMFADevices":                 {"user", "mfa", "MFADevices", "SerialNumber", ""},
		"ListGroupsForUser":              {"user", "group", "Groups", "GroupName", ""},
		"ListAttachedUserPolicies":       {"user", "attached", "AttachedPolicies", "PolicyArn", ""},
		"ListUserPolicies":               {"user", "inline", "PolicyNames", "", ""},
	}
	drops := map[string]holding{
		"DetachRolePolicy":                {"role", "attached", "", "", "PolicyArn"},
		"DeleteRolePolicy":                {"role", "inline", "", "", "PolicyName"},
		"DeleteLoginProfile":              {"user", "login", "", "", "UserName"},
		"DeleteAccessKey":                 {"user", "key", "", "", "AccessKeyId"},
		"DeleteSigningCertificate":        {"user", "certificate", "", "", "CertificateId"},
		"DeleteSSHPublicKey":              {"user", "ssh", "", "", "SSHPublicKeyId"},
		"DeleteServiceSpecificCredential": {"user", "service", "", "", "ServiceSpecificCredentialId"},
		"DeactivateMFADevice":             {"user", "mfa", "", "", "SerialNumber"},
		"RemoveUserFromGroup":             {"user", "group", "", "", "GroupName"},
		"DetachUserPolicy":                {"user", "attached", "", "", "PolicyArn"},
		"DeleteUserPolicy":                {"user", "inline", "", "", "PolicyName"},
	}
	if h, ok := lists[c.action]; ok {
		return func() { c.holdings(h) }
	}
	if h, ok := drops[c.action]; ok {
		return func() { c.drop(h) }
	}
	switch c.action {
	case "ListRoles":
		return c.listRoles
	case "ListRoleTags":
		return func() { c.tagsOf("role", c.form.Get("RoleName")) }
	case "ListInstanceProfileTags":
		return func() { c.tagsOf("profile", c.form.Get("InstanceProfileName")) }
	case "ListInstanceProfilesForRole":
		return c.profilesOfRole
	case "ListInstanceProfiles":
		return c.profiles
	case "ListVirtualMFADevices":
		return c.devices
	case "RemoveRoleFromInstanceProfile":
		return func() {
			if t := c.entity("profile", c.form.Get("InstanceProfileName")); t != nil {
				delete(t.Refs, "role")
				c.result()
			}
		}
	case "DeleteInstanceProfile":
		return func() { c.deleteEntity("profile", c.form.Get("InstanceProfileName"), "role") }
	case "DeleteVirtualMFADevice":
		return func() { c.deleteEntity("mfa", c.form.Get("SerialNumber"), "user") }
	case "DeleteRole":
		return func() { c.deleteEntity("role", c.form.Get("RoleName"), "") }
	case "DeleteUser":
		return func() { c.deleteEntity("user", c.form.Get("UserName"), "") }
	case "GetUser":
		return func() {
			if t := c.entity("user", c.form.Get("UserName")); t != nil {
				c.result(e("User", e("UserName", t.ID), e("Path", "/"), e("UserId", "AIDA"), e("Arn", "arn:aws:iam::"+c.ID+":user/"+t.ID), e("CreateDate", t.Made.Format(time.RFC3339))))
			}
		}
	}
	return nil
}

func (c *request) entity(kind, name string) *Thing {
	t := c.find("", kind, name)
	if t == nil {
		c.fail(http.StatusNotFound, "NoSuchEntity", "The "+kind+" with name "+name+" cannot be found.")
	}
	return t
}

// page answers with one page of a list.
func (c *request) page(list string, items []el, next string) {
	content := []any{member(list, items), e("IsTruncated", next != "")}
	if next != "" && !c.Lost {
		content = append(content, e("Marker", next))
	}
	c.result(content...)
}

func (c *request) listRoles() {
	page, next := paged(c.all("", "role"), id, c.form.Get("Marker"), c.Page)
	var items []el
	for _, t := range page {
		path := t.Refs["path"]
		if path == "" {
			path = "/"
		}
		items = append(items, e("", e("RoleName", t.ID), e("Path", path), e("RoleId", "AROA"), e("Arn", "arn:aws:iam::"+c.ID+":role"+path+t.ID), e("CreateDate", t.Made.Format(time.RFC3339))))
	}
	c.page("Roles", items, next)
}

func (c *request) tagsOf(kind, name string) {
	t := c.entity(kind, name)
	if t == nil {
		return
	}
	page, next := paged(sorted(t.Tags), same, c.form.Get("Marker"), c.Page)
	var items []el
	for _, k := range page {
		items = append(items, e("", e("Key", k), e("Value", t.Tags[k])))
	}
	c.page("Tags", items, next)
}

func profileXML(t *Thing) el {
	roles := e("Roles")
	if r := t.Refs["role"]; r != "" {
		roles.kids = append(roles.kids, e("member", e("RoleName", r), e("Path", "/"), e("RoleId", "AROA"), e("Arn", "arn"), e("CreateDate", t.Made.Format(time.RFC3339))))
	}
	return e("", e("InstanceProfileName", t.ID), e("Path", "/"), e("InstanceProfileId", "AIPA"), e("Arn", "arn"), e("CreateDate", t.Made.Format(time.RFC3339)), roles)
}

func (c *request) profilesOfRole() {
	role := c.form.Get("RoleName")
	if c.entity("role", role) == nil {
		return
	}
	var items []el
	for _, t := range c.all("", "profile") {
		if t.Refs["role"] == role {
			items = append(items, profileXML(t))
		}
	}
	c.page("InstanceProfiles", items, "")
}

func (c *request) profiles() {
	page, next := paged(c.all("", "profile"), id, c.form.Get("Marker"), c.Page)
	var items []el
	for _, t := range page {
		items = append(items, profileXML(t))
	}
	c.page("InstanceProfiles", items, next)
}

func (c *request) devices() {
	var list []*Thing
	for _, t := range c.all("", "mfa") {
		if c.form.Get("AssignmentStatus") != "Unassigned" || t.Refs["user"] == "" {
			list = append(list, t)
		}
	}
	page, next := paged(list, id, c.form.Get("Marker"), c.Page)
	var items []el
	for _, t := range page {
		items = append(items, e("", e("SerialNumber", t.ID)))
	}
	c.page("VirtualMFADevices", items, next)
}

func (c *request) holdings(h holding) {
	t := c.entity(h.kind, c.form.Get(strings.ToUpper(h.kind[:1])+h.kind[1:]+"Name"))
	if t == nil {
		return
	}
	list := slices.Sorted(slices.Values(t.Lists[h.list]))
	page, next := paged(list, same, c.form.Get("Marker"), c.Page)
	var items []el
	for _, value := range page {
		if h.item == "" {
			items = append(items, e("", value))
		} else {
			items = append(items, e("", e(h.item, value)))
		}
	}
	c.page(h.result, items, next)
}

func (c *request) drop(h holding) {
	t := c.entity(h.kind, c.form.Get(strings.ToUpper(h.kind[:1])+h.kind[1:]+"Name"))
	if t == nil {
		return
	}
	value := c.form.Get(h.parameter)
	if !slices.Contains(t.Lists[h.list], value) {
		c.fail(http.StatusNotFound, "NoSuchEntity", value+" cannot be found.")
		return
	}
	t.Lists[h.list] = slices.DeleteFunc(slices.Clone(t.Lists[h.list]), func(v string) bool { return v == value })
	if h.list == "mfa" {
		if device := c.find("", "mfa", value); device != nil {
			delete(device.Refs, "user")
		}
	}
	c.result()
}

// deleteEntity deletes what has nothing any more.
func (c *request) deleteEntity(kind, name, held string) {
	t := c.entity(kind, name)
	if t == nil {
		return
	}
	for list, values := range t.Lists {
		if len(values) > 0 {
			c.fail(http.StatusConflict, "DeleteConflict", "Cannot delete entity, must remove "+list+" first.")
			return
		}
	}
	if held != "" && t.Refs[held] != "" {
		c.fail(http.StatusConflict, "DeleteConflict", "Cannot delete entity, must remove "+held+" first.")
		return
	}
	if kind == "role" {
		for _, p := range c.all("", "profile") {
			if p.Refs["role"] == name {
				c.fail(http.StatusConflict, "DeleteConflict", "Cannot delete entity, must remove roles from instance profile first.")
				return
			}
		}
	}
	c.remove(t)
	c.result()
}
