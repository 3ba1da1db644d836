package httpd_test

import (
	"net/http"
	"testing"

	"github.com/holdfast-ops/holdfast/internal/om/api"
)

func TestTheInventoryOfTheNode(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	c := f.local(t)
	n := api.NodeName{Node: node1}

	if list := do(t, c, api.GetNodeSystemProperty, n); len(list.Items) == 0 || list.Items[0].Meta.Node == "" {
		t.Errorf("properties: %+v", list)
	}
	if list := do(t, c, api.GetNodeSystemIPAddress, n); list.Kind != "IDAddressList" || list.Items == nil {
		t.Errorf("addresses: %+v", list)
	}
	if list := do(t, c, api.GetNodeSystemUser, n); list.Items == nil {
		t.Errorf("users: %+v", list)
	}
	if list := do(t, c, api.GetNodeCapabilities, n); list.Kind != "CapabilityList" {
		t.Errorf("capabilities: %+v", list)
	}
	ids := do(t, c, api.PostNodeActionSysreport, api.NodeSysreport{NodeName: n, Force: true})
	if ids.SessionID == "" || ids.ExecID == "" {
		t.Errorf("sysreport: %+v", ids)
	}
	refused(t, c, api.PostNodeActionPushAsset, api.NodeAction{NodeName: n, SessionID: "x"}, http.StatusBadRequest)
}

func TestTheFilesAResourceInstalledAreAnEvent(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	c := f.local(t)
	p := f.create(t, "svc1", app)
	events := f.bus.Subscribe("test", nil)
	defer events.Close()

	do(t, c, api.PostInstanceInstalled, api.InstanceInstalled{ObjectName: api.Named(p), Body: api.Installed{Rid: "fs#1", Files: []string{"/a"}}})

	for e := range events.C() {
		if e.Kind != "FileInstalled" {
			continue
		}
		if e.Labels["rid"] != "fs#1" || e.Labels["path"] != p.String() || e.Labels["node"] != node1 {
			t.Errorf("labels %v", e.Labels)
		}
		break
	}
	refused(t, c, api.PostInstanceInstalled, api.InstanceInstalled{ObjectName: api.Named(p), Body: api.Installed{Rid: "fs", Files: []string{"/a"}}}, http.StatusBadRequest)
	refused(t, c, api.PostInstanceInstalled, api.InstanceInstalled{ObjectName: api.Named(p), Body: api.Installed{Rid: "fs#1"}}, http.StatusBadRequest)
}
