package httpd_test

import (
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/client"
	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/store"
)

func storeCreate() store.CreateOptions { return store.CreateOptions{} }

// fill puts objects in the state, as large as real ones.
func (f *fixture) fill(n int) {
	for i := range n {
		p := object.Path{Namespace: "root", Kind: object.KindSvc, Name: fmt.Sprintf("svc%04d", i)}
		f.state.SetInstanceConfig(p, node1, cluster.InstanceConfig{
			Path: p, Nodename: node1, App: "default", Env: "TST", Orchestrate: "no", Topology: "failover", Scope: []string{node1},
			Resources: map[string]cluster.ResourceConfig{"app#1": {IsMonitored: true}, "fs#1": {}},
		})
		f.state.SetInstanceStatus(p, node1, cluster.InstanceStatus{
			Avail: cluster.Up, Overall: cluster.Up, Provisioned: cluster.ProvisionedTrue,
			Resources: map[string]cluster.ResourceStatus{
				"app#1": {Type: "app.simple", Label: "simple", Status: cluster.Up, Tags: []string{}, Info: map[string]any{}},
				"fs#1":  {Type: "fs.flag", Label: "flag", Status: cluster.Up, Tags: []string{}, Info: map[string]any{}},
			},
		})
		f.state.SetInstanceMonitor(p, node1, cluster.InstanceMonitor{State: "idle", GlobalExpect: "none", LocalExpect: "started"})
	}
}

func TestAListIsToldUnchanged(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.fill(3)
	token := "Bearer " + f.token(t, "guest")
	tag := func() string { return f.plain(t, "GET", "/api/object", token, nil).Header.Get("ETag") }

	first := tag()
	if first == "" || tag() != first {
		t.Fatalf("tags %q then %q", first, tag())
	}
	if got := f.conditional(t, "/api/object", token, first); got.Status != http.StatusNotModified || got.Body != "" {
		t.Errorf("status %d, %d bytes", got.Status, len(got.Body))
	}
	for _, header := range []string{"*", "W/" + first, `"other", ` + first, `"other",W/` + first + `, "more"`} {
		if got := f.conditional(t, "/api/object", token, header); got.Status != http.StatusNotModified {
			t.Errorf("If-None-Match: %s: status %d", header, got.Status)
		}
	}
	if got := f.conditional(t, "/api/object", token, `"other"`); got.Status != http.StatusOK {
		t.Errorf("another tag: status %d", got.Status)
	}
	if got := f.conditional(t, "/api/object?path=svc0001", token, first); got.Status != http.StatusOK {
		t.Errorf("another selection has the same tag: status %d", got.Status)
	}
	f.state.SetInstanceMonitor(object.Path{Namespace: "root", Kind: object.KindSvc, Name: "svc0002"}, node1,
		cluster.InstanceMonitor{State: "starting"})
	if got := f.conditional(t, "/api/object", token, first); got.Status != http.StatusOK || !strings.Contains(got.Body, "starting") {
		t.Errorf("a change is not seen: status %d", got.Status)
	}
}

func TestLongAnswersAreCompressedOverTheNetwork(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.fill(50)
	header := http.Header{"Authorization": {"Bearer " + f.token(t, "guest")}, "Accept-Encoding": {"gzip"}}

	got := f.request(t, "GET", "/api/object", header, nil)

	if got.Header.Get("Content-Encoding") != "gzip" {
		t.Fatalf("headers %v", got.Header)
	}
	z, err := gzip.NewReader(strings.NewReader(got.Body))
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(z)
	if err != nil || !strings.Contains(string(data), "svc0049") || len(got.Body) > len(data)/4 {
		t.Errorf("%d bytes for %d: %v", len(got.Body), len(data), err)
	}
	if got := f.request(t, "GET", "/api/auth/whoami", header, nil); got.Header.Get("Content-Encoding") != "" {
		t.Error("a short answer is compressed")
	}
	if items := do(t, f.remote(t, "guest"), api.GetObjects, api.ObjectQuery{}).Items; len(items) != 50 {
		t.Errorf("our client reads %d objects", len(items))
	}
}

func TestObjectsAreForgottenOnceGone(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.fill(3)
	c := f.local(t)
	do(t, c, api.GetObjects, api.ObjectQuery{})
	f.state.DeleteInstance(object.Path{Namespace: "root", Kind: object.KindSvc, Name: "svc0001"}, node1)

	var names []string
	for _, item := range do(t, c, api.GetObjects, api.ObjectQuery{}).Items {
		names = append(names, item.Meta.Object)
	}
	if got := strings.Join(names, " "); got != "svc0000 svc0002" {
		t.Errorf("objects %s", got)
	}
}

func TestClusterStatusHoldsTheSameObjects(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.fill(3)
	f.create(t, "ns1/svc/web1", app)
	c := f.local(t)

	all := do(t, c, api.GetClusterStatus, api.ClusterStatusQuery{})
	if len(all.Cluster.Object) != 4 || all.Cluster.Object["svc0001"].Instances[node1].Status.Avail != cluster.Up {
		t.Errorf("objects %+v", all.Cluster.Object)
	}
	if all.Daemon.Nodename != node1 || all.Daemon.Pid == 0 || all.Cluster.Node[node1].Status.Agent != "test" {
		t.Errorf("daemon %+v, nodes %+v", all.Daemon, all.Cluster.Node)
	}
	if some := do(t, c, api.GetClusterStatus, api.ClusterStatusQuery{Namespace: "ns1"}); len(some.Cluster.Object) != 1 {
		t.Errorf("objects of ns1 %+v", some.Cluster.Object)
	}
	if none := do(t, c, api.GetClusterStatus, api.ClusterStatusQuery{Selector: "nope"}); len(none.Cluster.Object) != 0 {
		t.Errorf("no object %+v", none.Cluster.Object)
	}
}

func BenchmarkGetObjects500(b *testing.B) {
	f := newFixture(b)
	f.fill(500)
	c, err := client.New(client.Options{Socket: f.socket})
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	raw := api.Operation[api.ObjectQuery, api.Document]{ID: "GetObjects", Method: "GET", Path: "/api/object"}
	for b.Loop() {
		out, err := client.Do(b.Context(), c, raw, api.ObjectQuery{})
		if err != nil {
			b.Fatal(err)
		}
		b.SetBytes(int64(len(out.RawBody)))
	}
}
