package common

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/holdfast-ops/holdfast/internal/koc/cloud"
	"github.com/holdfast-ops/holdfast/internal/koc/command"
	"github.com/holdfast-ops/holdfast/internal/koc/noun"
)

// kind is a kind of thing that clearing a project removes.
type kind struct {
	typ  string // how upstream's SDK names it
	noun noun.Noun
	path string // of the list with all attributes; "" is that of the noun
	// query selects the things of a project.
	query func(project string) url.Values
	keep  func(o noun.Object) bool // things that stay
	// before prepares the removal: an interface of a router is taken off first.
	before func(ctx context.Context, c *command.Call, o noun.Object) error
	// gone waits for the end of a thing that others depend on.
	gone bool
	// named is what the messages of project purge call it; "" is not purged.
	named string
}

func ofProject(name string) func(string) url.Values {
	return func(project string) url.Values { return url.Values{name: {project}} }
}

func ofAnyTenant(project string) url.Values {
	return url.Values{"all_tenants": {"1"}, "project_id": {project}}
}

// kinds are in the order in which they can be removed.
func kinds() []kind {
	backup := noun.Noun{Name: "volume backup", Service: "volume", Path: "/backups", Key: "backup"}
	return []kind{
		{typ: "Server", noun: noun.Server(), path: "/servers/detail", gone: true, named: "server", query: ofAnyTenant},
		{typ: "FloatingIP", noun: noun.FloatingIP(), query: ofProject("project_id")},
		{typ: "Router", noun: noun.Router(), query: ofProject("project_id"), before: emptyRouter},
		{typ: "Port", noun: noun.Port(), query: ofProject("project_id"), keep: func(o noun.Object) bool {
			return strings.HasPrefix(o.Text("device_owner"), "network:") || strings.HasPrefix(o.Text("device_owner"), "compute:")
		}},
		{typ: "Subnet", noun: noun.Subnet(), query: ofProject("project_id")},
		{typ: "Network", noun: noun.Network(), query: ofProject("project_id")},
		{typ: "SecurityGroup", noun: noun.SecurityGroup(), query: ofProject("project_id"), keep: func(o noun.Object) bool { return o.Text("name") == "default" }},
		{typ: "Image", noun: noun.Image(), named: "image", query: ofProject("owner")},
		{typ: "Snapshot", noun: noun.Snapshot(), path: "/snapshots/detail", gone: true, named: "volume snapshot", query: ofAnyTenant},
		{typ: "Backup", noun: backup, path: "/backups/detail", gone: true, named: "volume backup", query: ofAnyTenant},
		{typ: "Volume", noun: noun.Volume(), path: "/volumes/detail", named: "volume", query: ofAnyTenant},
	}
}

// thing is one thing of a project.
type thing struct {
	kind kind
	o    noun.Object
}

// thingsOf finds what a project has, of the kinds that want accepts.
func thingsOf(ctx context.Context, c *command.Call, project string, want func(kind) bool) ([]thing, error) {
	var found []thing
	for _, k := range kinds() {
		if !want(k) {
			continue
		}
		n := k.noun
		if k.path != "" {
			n.Path, n.Keys = k.path, k.noun.Key+"s"
		}
		for o, err := range n.All(ctx, c, k.query(project)) {
			if absent(err) {
				break
			}
			if err != nil {
				return nil, fmt.Errorf("list the %ss of the project: %w", k.noun.Name, err)
			}
			if !belongs(o, project) || k.keep != nil && k.keep(o) {
				continue
			}
			found = append(found, thing{k, o})
		}
	}
	return found, nil
}

// belongs makes sure that a service did filter: what is removed is never what a
// service that ignores a filter lists of others.
func belongs(o noun.Object, project string) bool {
	for _, attr := range []string{"project_id", "tenant_id", "owner", "os-vol-tenant-attr:tenant_id", "os-extended-snapshot-attributes:project_id", "os-backup-project-attr:project_id"} {
		if v := o.Text(attr); v != "" {
			return v == project
		}
	}
	return false
}

func emptyRouter(ctx context.Context, c *command.Call, router noun.Object) error {
	for port, err := range noun.Port().All(ctx, c, url.Values{"device_id": {router.Text("id")}}) {
		if err != nil {
			return err
		}
		if !strings.HasPrefix(port.Text("device_owner"), "network:router_interface") && port.Text("device_owner") != "network:ha_router_replicated_interface" {
			continue
		}
		r := cloud.Request{Method: "PUT", Path: "/routers/" + router.Text("id") + "/remove_router_interface", Body: noun.Object{{Name: "port_id", Value: port.Text("id")}}}
		if _, err := fetch(ctx, c, "network", r); err != nil {
			return err
		}
	}
	return nil
}

// remove removes one thing, and waits for its end when others depend on it.
func (t thing) remove(ctx context.Context, c *command.Call) error {
	id := t.o.Text("id")
	if t.kind.before != nil {
		if err := t.kind.before(ctx, c, t.o); err != nil {
			return err
		}
	}
	if _, err := t.kind.noun.Send(ctx, c, cloud.Request{Method: "DELETE", Path: t.kind.noun.Path + "/" + id}); err != nil && !noun.IsNotFound(err) {
		return err
	}
	if !t.kind.gone {
		return nil
	}
	return noun.Wait{
		What: fmt.Sprintf("the end of %s %s", t.kind.noun.Name, id), Timeout: 10 * time.Minute,
		Probe: t.kind.noun.Gone(c, id, "status", []string{"error", "error_deleting"}),
	}.Until(ctx, c)
}

// before reports whether a thing is older than a moment, by an attribute; a thing
// that does not say when is not.
func (t thing) before(moment time.Time, attrs ...string) bool {
	for _, attr := range attrs {
		text := t.o.Text(attr)
		if text == "" {
			continue
		}
		for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05.999999", "2006-01-02T15:04:05"} {
			if at, err := time.Parse(layout, text); err == nil {
				return !at.After(moment)
			}
		}
	}
	return false
}
