package httpd_test

import (
	"bufio"
	"context"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ops/holdfast/internal/om/api"
)

func here() api.NodeName { return api.NodeName{Node: api.Localhost} }

func TestTheNodeIsActedUpon(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	c := f.local(t)

	id := do(t, c, api.PostPeerActionDrain, here()).OrchestrationID
	do(t, c, api.PostPeerActionAbort, here())
	do(t, c, api.PostClusterActionAbort, api.None{})
	if got := do(t, c, api.PostNodeActionClear, here()); got.Status != http.StatusOK || !strings.Contains(got.Detail, "drain failed") {
		t.Errorf("%+v", got)
	}
	if diff := cmp.Diff([]string{"ask drained", "abort", "abort", "clear"}, f.deeds.all()); diff != "" {
		t.Error(diff)
	}

	// What the node does is followed as what is done to an object.
	if o := do(t, c, api.GetDaemonOrchestration, api.WaitQuery{NodeName: here(), ID: id}); o.GlobalExpect != "drained" || o.Path != "" {
		t.Errorf("%+v", o)
	}
	if o := do(t, c, api.GetDaemonOrchestration, api.WaitQuery{NodeName: here(), ID: id, Wait: "1m"}); o.State != api.StateSucceeded {
		t.Errorf("%+v", o)
	}
	listed := do(t, c, api.GetDaemonOrchestrations, api.OrchestrationQuery{NodeName: here()}).Items
	if !slices.ContainsFunc(listed, func(o api.Orchestration) bool { return o.OrchestrationID == id }) {
		t.Errorf("%+v", listed)
	}
	// It is for root: who reads objects only is told the id is unknown.
	refused(t, f.remote(t, "guest"), api.GetDaemonOrchestration, api.WaitQuery{NodeName: here(), ID: id}, http.StatusGone)
}

func TestListenersAreStartedAndStopped(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	c := f.local(t)
	inet := api.ListenerName{NodeName: here(), Name: "inet"}
	do(t, c, api.PostDaemonListenerStop, inet)
	do(t, c, api.PostDaemonListenerStart, inet)
	if got := do(t, c, api.PostDaemonListenerRestart, inet); got.Status != http.StatusOK || !strings.Contains(got.Detail, "inet") {
		t.Errorf("%+v", got)
	}
	if diff := cmp.Diff([]string{"stop inet", "start inet", "restart inet"}, f.deeds.all()); diff != "" {
		t.Error(diff)
	}
	if got := refused(t, c, api.PostDaemonListenerStop, api.ListenerName{NodeName: here(), Name: "ux"}, http.StatusConflict); !strings.Contains(got, "daemon") {
		t.Error(got)
	}
	if got := refused(t, c, api.PostDaemonListenerStop, api.ListenerName{NodeName: here(), Name: "lan"}, http.StatusNotFound); !strings.Contains(got, "lan") || !strings.Contains(got, "inet") {
		t.Error(got)
	}
}

func TestTheLogIsTurnedUpAndDown(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	c := f.local(t)
	if got := do(t, c, api.PostDaemonLogControl, api.LogControl{NodeName: here(), Body: api.LogLevel{Level: "none"}}); !strings.Contains(got.Detail, "none") {
		t.Errorf("%+v", got)
	}
	do(t, c, api.PostDaemonListenerLogControl, api.ListenerLogControl{ListenerName: api.ListenerName{NodeName: here(), Name: "ux"}, Body: api.LogLevel{Level: "info"}})
	refused(t, c, api.PostDaemonListenerLogControl, api.ListenerLogControl{ListenerName: api.ListenerName{NodeName: here(), Name: "lan"}, Body: api.LogLevel{Level: "info"}}, http.StatusNotFound)
	if got := refused(t, c, api.PostDaemonLogControl, api.LogControl{NodeName: here(), Body: api.LogLevel{Level: "loud"}}, http.StatusBadRequest); !strings.Contains(got, "level") {
		t.Error(got)
	}
}

func TestAnAuditSeesTheRequests(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	c := f.local(t)
	first := f.audit(t, "sub=listener.ux")
	if got := refused(t, c, api.PostDaemonAudit, api.AuditQuery{NodeName: here()}, http.StatusConflict); !strings.Contains(got, "preempt") {
		t.Error(got)
	}
	if got := refused(t, c, api.PostDaemonAudit, api.AuditQuery{NodeName: here(), Sub: []string{"nope"}}, http.StatusBadRequest); !strings.Contains(got, "nope") || !strings.Contains(got, "listener.inet") {
		t.Error(got)
	}

	do(t, c, api.PostPeerActionAbort, here())

	first.until(t, `"action":"PostPeerActionAbort"`)
	second := f.audit(t, "preempt=true&level=info")
	first.until(t, "took over")
	do(t, c, api.PostPeerActionAbort, here())
	second.until(t, "PostPeerActionAbort")
}

// heard is a log that is listened to.
type heard struct{ lines *bufio.Scanner }

// audit begins to listen to the log, by the root socket.
func (f *fixture) audit(t *testing.T, query string) heard {
	t.Helper()
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", f.socket)
	}}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost/api/node/name/localhost/daemon/audit?"+query, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = response.Body.Close()
		transport.CloseIdleConnections()
	})
	if response.StatusCode != http.StatusOK || response.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("status %d, %s", response.StatusCode, response.Header.Get("Content-Type"))
	}
	return heard{bufio.NewScanner(response.Body)}
}

// until waits for an event whose data hold a text.
func (h heard) until(t *testing.T, text string) {
	t.Helper()
	for h.lines.Scan() {
		if data, ok := strings.CutPrefix(h.lines.Text(), "data: "); ok && strings.Contains(data, text) {
			return
		}
	}
	t.Fatalf("the stream ended without %q: %v", text, h.lines.Err())
}

func TestMeasuresAreForWhoReadsSomething(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.fill(2)
	f.create(t, "ns1/svc/web1", "[env]\na = 1\n")
	do(t, f.local(t), api.GetObjects, api.ObjectQuery{})
	refused(t, f.nobody(t), api.GetNodeMetrics, here(), http.StatusUnauthorized)
	refused(t, f.remote(t, "heartbeat"), api.GetNodeMetrics, here(), http.StatusForbidden)

	all := string(do(t, f.remote(t, "root"), api.GetNodeMetrics, here()).RawBody)
	for _, line := range []string{
		`om_agent_info{node="node1",version="test",cluster=`, `om_instance_avail{object="svc0001",avail="up"} 1`, `om_instance_avail{object="ns1/svc/web1",avail="undef"} 1`,
		`om_api_requests_total{operation="GetObjects",code="2xx"} 1`, `om_api_request_seconds_count{operation="GetObjects"} 1`, `om_execs{state="running"} 1`,
		"# TYPE om_api_request_seconds histogram", `om_instance_frozen{object="svc0000"} 0`, `om_api_requests_total{operation="GetNodeMetrics",code="4xx"} 2`,
	} {
		if !strings.Contains(all, line) {
			t.Errorf("no line %s in\n%s", line, all)
		}
	}
	for line := range strings.Lines(all) {
		if !strings.HasPrefix(line, "# ") && len(strings.Split(strings.TrimSpace(line), " ")) != 2 {
			t.Errorf("no line of measures: %q", line)
		}
	}
	if guest := string(do(t, f.remote(t, "guest:ns1"), api.GetNodeMetrics, here()).RawBody); strings.Contains(guest, "svc0001") || !strings.Contains(guest, "web1") {
		t.Errorf("a guest of ns1 reads\n%s", guest)
	}
}

func TestWhatIsDeclaredAndCannotBeUsedIsNotListedEmpty(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	c := f.local(t)
	if got := do(t, c, api.GetPools, api.PoolQuery{}); got.Kind != "PoolList" || got.Items == nil || len(got.Items) != 0 {
		t.Errorf("%+v", got)
	}
	do(t, c, api.GetPoolVolumes, api.PoolVolumeQuery{})
	do(t, c, api.GetNetworks, api.NetworkQuery{})
	do(t, c, api.GetNetworkIP, api.NetworkQuery{})
	if got := refused(t, c, api.GetNetworkIP, api.NetworkQuery{Name: "backend1"}, http.StatusNotFound); !strings.Contains(got, "network backend1") {
		t.Error(got)
	}

	do(t, c, api.PatchClusterConfig, api.ConfigChange{Set: []string{"pool#tank.type=directory", "network#n1.type=bridge", "network#n1.network=10.10.10.0/24"}})

	for _, got := range []string{
		refused(t, c, api.GetPools, api.PoolQuery{}, http.StatusNotImplemented),
		refused(t, c, api.GetPoolVolumes, api.PoolVolumeQuery{Name: "tank"}, http.StatusNotImplemented),
	} {
		if !strings.Contains(got, "tank") {
			t.Error(got)
		}
	}
	refused(t, c, api.GetNetworks, api.NetworkQuery{}, http.StatusNotImplemented)
	refused(t, c, api.GetNetworks, api.NetworkQuery{Name: "n2"}, http.StatusNotFound)
	refused(t, c, api.GetPools, api.PoolQuery{Node: "["}, http.StatusBadRequest)
}

func TestAServiceIsDisabledAndEnabled(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	c := f.local(t)
	f.create(t, "web1", "[fs#1]\ntype = flag\n[fs#2]\ntype = flag\ntags = b\n[app#1]\nstart = /bin/true\n")
	web1 := api.SvcResources{Namespace: "root", Name: "web1"}
	config := func() string {
		return string(do(t, c, api.GetObjectConfigFile, api.ObjectName{Namespace: "root", Kind: "svc", Name: "web1"}).RawBody)
	}

	do(t, c, api.PostSvcDisable, web1)
	if got := config(); strings.Count(got, "disable = true") != 1 || strings.Index(got, "disable = true") > strings.Index(got, "[fs#1]") {
		t.Errorf("the service is disabled:\n%s", got)
	}
	do(t, c, api.PostSvcEnable, web1)
	if got := config(); strings.Contains(got, "disable") {
		t.Errorf("the service is enabled:\n%s", got)
	}
	do(t, c, api.PostSvcDisable, api.SvcResources{Namespace: "root", Name: "web1", Rid: "fs", Tag: "b"})
	got := config()
	if _, after, ok := strings.Cut(got, "[fs#2]"); !ok || strings.Count(got, "disable = true") != 1 || !strings.Contains(after, "disable = true") {
		t.Errorf("fs#2 is disabled:\n%s", got)
	}
	do(t, c, api.PatchObjectConfig, api.ObjectConfigChange{ObjectName: api.ObjectName{Namespace: "root", Kind: "svc", Name: "web1"}, ConfigChange: api.ConfigChange{Set: []string{"fs#1.disable@node1=true", "fs#1.disable=true"}}})
	do(t, c, api.PostSvcEnable, api.SvcResources{Namespace: "root", Name: "web1", Rid: "fs#1"})
	if got := config(); strings.Count(got, "disable") != 1 {
		t.Errorf("fs#1 is enabled on every node:\n%s", got)
	}

	refused(t, c, api.PostSvcDisable, api.SvcResources{Namespace: "root", Name: "nosuch"}, http.StatusNotFound)
	if got := refused(t, c, api.PostSvcDisable, api.SvcResources{Namespace: "root", Name: "web1", Rid: "fs#9"}, http.StatusBadRequest); !strings.Contains(got, "fs#9") {
		t.Error(got)
	}
	refused(t, f.remote(t, "operator"), api.PostSvcDisable, web1, http.StatusForbidden)
}
