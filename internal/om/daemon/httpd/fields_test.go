package httpd_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

func TestAListKeepsTheFieldsAskedFor(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.fill(2)
	token := "Bearer " + f.token(t, "root")

	for target, want := range map[string]string{
		"/api/object?fields=meta.object,data.avail":                               `{"kind":"ObjectList","items":[{"data":{"avail":"up"},"meta":{"object":"svc0000"}},{"data":{"avail":"up"},"meta":{"object":"svc0001"}}]}`,
		"/api/object?path=svc0001&fields=data.instances.*.status.avail":           `{"kind":"ObjectList","items":[{"data":{"instances":{"node1":{"status":{"avail":"up"}}}}}]}`,
		"/api/object?path=svc0001&fields=data.instances.node1.monitor.state":      `{"kind":"ObjectList","items":[{"data":{"instances":{"node1":{"monitor":{"state":"idle"}}}}}]}`,
		"/api/object?path=svc0001&fields=data.avail&fields=data.orchestrate":      `{"kind":"ObjectList","items":[{"data":{"avail":"up","orchestrate":"no"}}]}`,
		"/api/instance?path=svc0000&fields=meta":                                  `{"kind":"InstanceList","items":[{"meta":{"object":"svc0000","node":"node1"}}]}`,
		"/api/instance?path=svc0000&fields=meta.node,meta":                        `{"kind":"InstanceList","items":[{"meta":{"object":"svc0000","node":"node1"}}]}`,
		"/api/resource?path=svc0000&resource=fs&fields=meta.rid,data.status.type": `{"kind":"ResourceList","items":[{"data":{"status":{"type":"fs.flag"}},"meta":{"rid":"fs#1"}}]}`,
		"/api/node?fields=meta.node,data.status.agent":                            `{"kind":"NodeList","items":[{"data":{"status":{"agent":"test"}},"meta":{"node":"node1"}}]}`,
		"/api/node/name/node1/daemon/exec?fields=state,origin":                    `{"kind":"ExecList","items":[{"origin":"api","state":"failed"},{"origin":"imon","state":"running"}]}`,
	} {
		got := f.plain(t, http.MethodGet, target, token, nil)
		if got.Status != http.StatusOK || strings.TrimSpace(got.Body) != want {
			t.Errorf("%s: status %d\n got %s\nwant %s", target, got.Status, got.Body, want)
		}
	}
}

func TestAFieldThatIsNoneIsRefusedByName(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	token := "Bearer " + f.token(t, "root")
	for fields, word := range map[string]string{
		"data.availability": "avail", "nope": "meta", "data.avail.x": "data.avail has no fields", "data..avail": "two dots",
		"data.instances.node1.nope": "monitor", ",": "meta.object",
	} {
		got := f.plain(t, http.MethodGet, "/api/object?fields="+url.QueryEscape(fields), token, nil)
		if got.Status != http.StatusBadRequest || !strings.Contains(got.Body, word) {
			t.Errorf("%q: status %d: %s", fields, got.Status, got.Body)
		}
	}
	// What is no list has no fields to choose from.
	got := f.plain(t, http.MethodGet, "/api/auth/whoami?fields=name", token, nil)
	if got.Status != http.StatusBadRequest || !strings.Contains(got.Body, "query.fields: unknown query parameter") {
		t.Errorf("status %d: %s", got.Status, got.Body)
	}
}

// A narrowed list is remembered as the whole one is, and is never older.
func TestANarrowedListFollowsItsObjects(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.fill(3)
	token := "Bearer " + f.token(t, "root")
	const target = "/api/object?fields=meta.object,data.instances.*.monitor.state"
	first := f.plain(t, http.MethodGet, target, token, nil)
	if got := f.conditional(t, target, token, first.Header.Get("ETag")); got.Status != http.StatusNotModified {
		t.Errorf("asked again: status %d", got.Status)
	}

	f.state.SetInstanceMonitor(object.Path{Namespace: "root", Kind: object.KindSvc, Name: "svc0002"}, node1, cluster.InstanceMonitor{State: "starting"})

	got := f.conditional(t, target, token, first.Header.Get("ETag"))
	if got.Status != http.StatusOK || !strings.Contains(got.Body, `{"state":"starting"}`) || strings.Contains(got.Body, "avail") {
		t.Errorf("status %d: %s", got.Status, got.Body)
	}
}

// Whatever is selected, what is kept is in the whole answer, at the same place.
func TestWhatIsKeptIsPartOfTheWhole(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.fill(1)
	token := "Bearer " + f.token(t, "root")
	var whole any
	decode(t, f.plain(t, http.MethodGet, "/api/object", token, nil).Body, &whole)
	for _, fields := range []string{
		"kind", "meta", "data", "data.scope", "data.instances", "data.instances.*", "data.instances.node1,data.instances.*.status",
		"data.instances.*.status.resources.*.type,data.instances.node1.status.resources.fs#1.label", "data.instances.*.config.resources.*.restart_delay",
		"data.instances.node1.status.avail,data.instances.*.status", "data.updated_at,data.flex.min",
	} {
		var part any
		decode(t, f.plain(t, http.MethodGet, "/api/object?fields="+url.QueryEscape(fields), token, nil).Body, &part)
		if !contains(whole, part) {
			t.Errorf("%s: %v", fields, part)
		}
	}
	if contains(whole, map[string]any{"kind": "Other"}) {
		t.Error("anything is part of the whole")
	}
}

func contains(whole, part any) bool {
	switch part := part.(type) {
	case map[string]any:
		whole, ok := whole.(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(part)) {
			ok = ok && contains(whole[name], part[name])
		}
		return ok
	case []any:
		whole, ok := whole.([]any)
		ok = ok && len(whole) == len(part)
		for i := 0; ok && i < len(part); i++ {
			ok = contains(whole[i], part[i])
		}
		return ok
	}
	return cmp.Equal(whole, part)
}

func decode(t *testing.T, text string, v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), v); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
}

// Every answer that is read is told unchanged to who holds it.
func TestReadsAreToldUnchanged(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.fill(2)
	f.create(t, "web1", "[env]\na = 1\n")
	token := "Bearer " + f.token(t, "root")
	for _, target := range []string{
		"/api/object", "/api/object/path?path=**", "/api/object/path/root/svc/svc0001", "/api/instance", "/api/resource", "/api/node",
		"/api/object/path/root/svc/web1/config", "/api/object/path/root/svc/web1/config/file", "/api/cluster/config", "/api/pool",
		"/api/object/path/root/svc/web1/config/keywords", "/api/node/name/node1/drivers", "/api/openapi",
	} {
		first := f.plain(t, http.MethodGet, target, token, nil)
		tag := first.Header.Get("ETag")
		if first.Status != http.StatusOK || tag == "" {
			t.Errorf("%s: status %d, tag %q: %s", target, first.Status, tag, first.Body)
			continue
		}
		if got := f.conditional(t, target, token, tag); got.Status != http.StatusNotModified || got.Body != "" || got.Header.Get("ETag") != tag {
			t.Errorf("%s, held already: status %d, tag %s, %d bytes", target, got.Status, got.Header.Get("ETag"), len(got.Body))
		}
	}
}

func TestAWeightOfZeroRefusesCompression(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.fill(50)
	for accepted, want := range map[string]string{
		"gzip": "gzip", "br, gzip;q=0.5": "gzip", "*": "gzip", "gzip;q=0": "", "gzip; q=0.0, *": "", "identity": "", "br": "", "*;q=0": "", "GZIP": "gzip",
	} {
		header := http.Header{"Authorization": {"Bearer " + f.token(t, "guest")}, "Accept-Encoding": {accepted}}
		for _, target := range []string{"/api/object", "/api/instance", "/api/cluster/status", "/api/object?fields=meta,data"} {
			if got := f.request(t, http.MethodGet, target, header, nil).Header.Get("Content-Encoding"); got != want {
				t.Errorf("%s, Accept-Encoding: %s: %q, want %q", target, accepted, got, want)
			}
		}
	}
}

func TestListsDocumentTheirFields(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	data, err := f.server.Document()
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Paths map[string]map[string]struct {
			Parameters []struct{ Name string }
		}
	}
	decode(t, string(data), &doc)
	for path, want := range map[string]bool{"/api/object": true, "/api/node/name/{nodename}/daemon/exec": true, "/api/auth/whoami": false} {
		got := slices.ContainsFunc(doc.Paths[path]["get"].Parameters, func(p struct{ Name string }) bool { return p.Name == "fields" })
		if got != want {
			t.Errorf("%s: %t", path, got)
		}
	}
}
