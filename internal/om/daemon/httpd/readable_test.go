package httpd_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/client"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// vault is a fixture with a value of each confidence, all of them known to the
// daemon.
func vault(t *testing.T) *fixture {
	t.Helper()
	f := newFixture(t)
	f.create(t, "ns1/svc/web1", "[env]\ncolor = green\n")
	f.create(t, "ns1/sec/pw1", "[DEFAULT]\ncomment = sealed\n")
	f.create(t, "ns1/usr/joe", "[DEFAULT]\ngrant = guest:ns1\n")
	f.create(t, "system/usr/ann", "[DEFAULT]\ngrant = root\n")
	for _, p := range []object.Path{object.Cluster(), path(t, "system/sec/ca"), path(t, "system/sec/cert")} {
		if err := (discoverer{f}).Refresh(p); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

// A selector answers yes or no about any value it may look at: asked often
// enough, it gives the value away.
func TestSelectorsOnlyLookAtWhatTheCallerMayRead(t *testing.T) {
	t.Parallel()
	f := vault(t)
	for _, c := range []struct {
		expr    string
		visible map[string][]string // by grants
	}{
		{"cluster.secret~.", nil},
		{"cluster.secret:", nil},
		{"cluster.secret~^.", nil},
		{"cluster.secret!=x", nil},
		{"data.private_key~.", nil},
		{"data.private_key:", nil},
		{".certificate_chain~.", nil},
		{"cluster.name~.", map[string][]string{"root": {"cluster"}}},
		{"cluster:", map[string][]string{"root": {"cluster"}}},
		{"env.color=green", map[string][]string{"guest": {"ns1/svc/web1"}, "guest:ns1": {"ns1/svc/web1"}, "admin:ns1": {"ns1/svc/web1"}, "admin": {"ns1/svc/web1"}, "root": {"ns1/svc/web1"}}},
		{"comment=sealed", map[string][]string{"admin:ns1": {"ns1/sec/pw1"}, "admin": {"ns1/sec/pw1"}, "root": {"ns1/sec/pw1"}}},
		{"grant~.", map[string][]string{"admin:ns1": {"ns1/usr/joe"}, "admin": {"ns1/usr/joe"}, "root": {"ns1/usr/joe", "system/usr/ann"}}},
	} {
		for _, grants := range []string{"guest", "guest:ns1", "guest:root", "guest:system", "admin:ns1", "admin", "root"} {
			remote, want := f.remote(t, grants), c.visible[grants]
			for operation, got := range map[string][]string{
				"paths":     do(t, remote, api.GetObjectPaths, api.ObjectPathQuery{Path: c.expr}),
				"objects":   objects(do(t, remote, api.GetObjects, api.ObjectQuery{Path: c.expr})),
				"instances": instances(do(t, remote, api.GetInstances, api.InstanceQuery{Path: c.expr})),
				"status":    states(do(t, remote, api.GetClusterStatus, api.ClusterStatusQuery{Selector: c.expr})),
				"events":    f.streamed(t, grants, c.expr),
			} {
				slices.Sort(got)
				if strings.Join(got, " ") != strings.Join(want, " ") {
					t.Errorf("%s by %s: %s shows %v, want %v", c.expr, grants, operation, got, want)
				}
			}
		}
	}
}

func objects(list api.ObjectList) (names []string) {
	for _, item := range list.Items {
		names = append(names, item.Meta.Object)
	}
	return names
}

func instances(list api.InstanceList) (names []string) {
	for _, item := range list.Items {
		names = append(names, item.Meta.Object)
	}
	return names
}

func states(s api.ClusterStatus) (names []string) {
	for name := range s.Cluster.Object {
		names = append(names, name)
	}
	return names
}

// streamed returns the objects whose present state a reader of events gets.
func (f *fixture) streamed(t *testing.T, grants, selector string) (names []string) {
	t.Helper()
	q := api.EventQuery{Selector: selector, Filter: []string{"ObjectStatusUpdated"}, Replay: true, Duration: "1ms"}
	for e, err := range client.Events(t.Context(), f.remote(t, grants), q) {
		if err != nil {
			t.Fatal(err)
		}
		var data struct {
			Path string `json:"path"`
		}
		if err := json.Unmarshal(e.Data, &data); err != nil {
			t.Fatal(err)
		}
		names = append(names, data.Path)
	}
	return names
}

func TestSealedKeysAreForThoseWhoMayChangeThem(t *testing.T) {
	t.Parallel()
	f := vault(t)
	for _, c := range []struct {
		name    string
		allowed []string
	}{
		{"ns1/svc/web1", []string{"guest:ns1", "operator:ns1", "admin:ns1", "admin", "root"}},
		{"ns1/sec/pw1", []string{"admin:ns1", "admin", "root"}},
		{"ns1/usr/joe", []string{"admin:ns1", "admin", "root"}},
		{"system/sec/ca", []string{"root"}},
		{"system/usr/ann", []string{"root"}},
		{"cluster", []string{"root"}},
	} {
		name := api.Named(path(t, c.name))
		for _, grants := range []string{"guest:ns1", "guest:system", "operator:ns1", "admin:ns1", "admin:system", "admin", "root"} {
			remote := f.remote(t, grants)
			if slices.Contains(c.allowed, grants) {
				do(t, remote, api.GetObjectConfigFile, name)
				do(t, remote, api.GetObjectConfig, api.ObjectConfigQuery{ObjectName: name})
				do(t, remote, api.GetInstanceConfigFile, api.InstanceName{ObjectName: name})
				continue
			}
			refused(t, remote, api.GetObjectConfigFile, name, http.StatusForbidden)
			refused(t, remote, api.GetObjectConfig, api.ObjectConfigQuery{ObjectName: name}, http.StatusForbidden)
			refused(t, remote, api.GetInstanceConfigFile, api.InstanceName{ObjectName: name}, http.StatusForbidden)
		}
	}
}
