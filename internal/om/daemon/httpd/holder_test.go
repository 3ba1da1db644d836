package httpd_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/httpd"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

func TestAnObjectOfAnotherNodeIsReadAndWrittenThere(t *testing.T) {
	t.Parallel()
	f, _ := newPair(t)
	p := path(t, "svc1")
	f.state.SetClusterConfig(cluster.Config{Nodes: []string{node1, node2}})
	f.state.SetNodeMonitor(node2, cluster.NodeMonitor{State: "idle"})
	f.state.SetInstanceConfig(p, node2, cluster.InstanceConfig{Path: p, Scope: []string{node2}})
	c := f.remote(t, "root")

	do(t, c, api.PostObjectConfigFile, api.ObjectConfigCreate{ObjectName: api.Named(p), RawBody: []byte("[DEFAULT]\nnodes = node2\n")})
	do(t, c, api.PatchObjectConfig, api.ObjectConfigChange{ObjectName: api.Named(p), ConfigChange: api.ConfigChange{Set: []string{"env.a=b"}}})
	file := do(t, c, api.GetObjectConfigFile, api.Named(p))

	if !strings.Contains(string(file.RawBody), "a = b") || f.store.Exists(p) {
		t.Errorf("node2 has %s, node1 has it: %v", file.RawBody, f.store.Exists(p))
	}
	refused(t, c, api.PostObjectConfigFile, api.ObjectConfigCreate{ObjectName: api.Named(p), RawBody: []byte("[DEFAULT]\n")}, http.StatusConflict)
	// A node that is not heard is not asked.
	f.state.SetNodeMonitor(node2, cluster.NodeMonitor{})
	refused(t, c, api.GetObjectConfigFile, api.Named(p), http.StatusNotFound)
}

// late are copies that do not reach node2 in time.
type late struct{ asked chan object.Path }

func (l late) Await(ctx context.Context, p object.Path) []string {
	l.asked <- p
	<-ctx.Done()
	return []string{node2}
}

func TestAWaitForTheNodesOfAnObjectExpires(t *testing.T) {
	t.Parallel()
	asked := make(chan object.Path, 1)
	f := newFixtureWith(t, t.TempDir(), func(f *fixture) {
		f.change = func(o *httpd.Options) { o.Copies = late{asked} }
	})
	p := f.create(t, "cfg/app", "")

	got := refused(t, f.local(t), api.PatchObjectConfig, api.ObjectConfigChange{
		ObjectName: api.Named(p), ConfigChange: api.ConfigChange{Set: []string{"comment=x"}, Wait: "10ms"},
	}, http.StatusRequestTimeout)

	if !strings.Contains(got, node2) || !strings.Contains(got, "is committed") || <-asked != p {
		t.Error(got)
	}
}
