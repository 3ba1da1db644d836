package cluster_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ops/holdfast/internal/om/cluster"
)

func TestADelayTravelsAsADuration(t *testing.T) {
	t.Parallel()
	c := cluster.ResourceConfig{IsMonitored: true, IsStandby: true, IsDisabled: true, Restart: 2, RestartDelay: 1500 * time.Millisecond}
	data, err := json.Marshal(map[string]cluster.ResourceConfig{"app#1": c})
	if want := `{"app#1":{"is_disabled":true,"is_monitored":true,"is_standby":true,"restart":2,"restart_delay":"1.5s"}}`; err != nil || string(data) != want {
		t.Fatalf("%s, %v", data, err)
	}
	var back map[string]cluster.ResourceConfig
	if err := json.Unmarshal(data, &back); err != nil || back["app#1"] != c {
		t.Errorf("%+v, %v", back, err)
	}
	if err := json.Unmarshal([]byte(`{"restart_delay":"soon"}`), &c); err == nil || !strings.Contains(err.Error(), "restart_delay") {
		t.Errorf("got %v", err)
	}
}

func TestAMonitorHasItsMaps(t *testing.T) {
	t.Parallel()
	data, err := json.Marshal(cluster.Instance{Monitor: &cluster.InstanceMonitor{State: "idle"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"global_expect_options", "resources", "parents", "children"} {
		if !strings.Contains(string(data), `"`+name+`":{}`) {
			t.Errorf("%s is not empty in %s", name, data)
		}
	}
	full := cluster.InstanceMonitor{
		State: "idle", GlobalExpectOptions: map[string]any{"force": true}, Resources: map[string]cluster.ResourceMonitor{"a#1": {}},
		Parents: map[string]cluster.Status{"x": cluster.Up}, Children: map[string]cluster.Status{"y": cluster.Down},
	}
	var back cluster.InstanceMonitor
	if data, err = json.Marshal(full); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &back); err != nil || cmp.Diff(full, back) != "" {
		t.Errorf("%v %s", err, cmp.Diff(full, back))
	}
}
