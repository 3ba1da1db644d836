package event_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-ops/holdfast/internal/om/event"
	"github.com/holdfast-ops/holdfast/internal/om/event/eventtest"
)

func TestTheKindOfAnEventIsTheNameOfItsType(t *testing.T) {
	t.Parallel()
	var kinds []string
	for _, e := range eventtest.Every() {
		if name := reflect.TypeOf(e).Name(); e.Kind() != name {
			t.Errorf("%s says it is a %s", name, e.Kind())
		}
		kinds = append(kinds, e.Kind())
	}
	slices.Sort(kinds)
	if !slices.Equal(kinds, event.Kinds()) {
		t.Errorf("listed kinds %q, known %q", kinds, event.Kinds())
	}
}

// The fields readers rely on, in the words of the API documentation.
func TestFieldsOfTheWire(t *testing.T) {
	t.Parallel()
	for _, e := range eventtest.Every() {
		b, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		var fields map[string]json.RawMessage
		if err := json.Unmarshal(b, &fields); err != nil {
			t.Fatal(err)
		}
		for _, name := range wanted(e.Kind()) {
			if _, ok := fields[name]; !ok {
				t.Errorf("%s has no field %s: %s", e.Kind(), name, b)
			}
		}
	}
}

func wanted(kind string) []string {
	return strings.Fields(map[string]string{
		"ClusterConfigUpdated":        "node cluster_config nodes_added nodes_removed network_changed",
		"ClusterStatusUpdated":        "node cluster_status",
		"ArbitratorError":             "node name error",
		"NodeFence":                   "node peer fence",
		"NodeSplitAction":             "node action node_votes arbitrator_votes voting pro_voters",
		"NodeRejoin":                  "IsUpgrading LastShutdownAt Nodes",
		"ConfigFileConflict":          "path node file backup kept lost",
		"ConfigFileUpdated":           "path file",
		"InstanceConfigFor":           "path node orchestrate scope updated_at",
		"DaemonStatusUpdated":         "node version status",
		"DaemonHeartbeatUpdated":      "node heartbeat",
		"ForgetPeer":                  "node",
		"HeartbeatAlive":              "node hb_id at",
		"HeartbeatMessageTypeUpdated": "node old_type new_type nodes joined_nodes installed_gens",
		"HeartbeatRotateError":        "id reason",
		"HeartbeatRotateRequest":      "id",
		"HeartbeatRotateSuccess":      "id",
		"HeartbeatStale":              "node hb_id at",
		"NodeAlive":                   "node",
		"NodeStale":                   "node",
		"Exec":                        "command node origin title session_id exec_id",
		"ExecFailed":                  "command duration error node origin title session_id exec_id",
		"ExecSuccess":                 "command duration node origin title session_id exec_id",
		"FileInstalled":               "path node rid files",
		"InstanceConfigUpdated":       "path node instance_config",
		"InstanceMonitorAction":       "path node action rid",
		"InstanceMonitorDeleted":      "path node orchestration_end",
		"InstanceMonitorUpdated":      "path node instance_monitor",
		"InstanceStatusDeleted":       "path node peer_drop_at",
		"InstanceStatusUpdated":       "path node instance_status",
		"JoinError":                   "candidate_node reason",
		"JoinIgnored":                 "candidate_node",
		"JoinSuccess":                 "added_node",
		"LeaveError":                  "candidate_node reason",
		"LeaveIgnored":                "candidate_node",
		"LeaveSuccess":                "removed_node",
		"NodeConfigUpdated":           "node node_config",
		"NodeFrozen":                  "node is_frozen frozen_at",
		"NodeMonitorUpdated":          "node node_monitor",
		"NodeStatsUpdated":            "node node_stats",
		"NodeStatusUpdated":           "node node_status",
		"ObjectOrchestrationAccepted": "id node path global_expect global_expect_updated_at",
		"ObjectOrchestrationEnd":      "id node path global_expect global_expect_updated_at aborted",
		"ObjectOrchestrationRefused":  "id node path reason global_expect",
		"ObjectStatusUpdated":         "path node object_status source_event",
		"ProgressInstanceMonitor":     "path node instance_monitor_state session_id is_partial",
		"RunFileUpdated":              "path file rid at",
		"SetInstanceMonitor":          "path node instance_monitor_update",
		"SetNodeMonitor":              "node node_monitor_update",
	}[kind])
}

func TestTheWordsOfEvents(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]string{
		"NodeFrozen": "NodeFrozen", "node_frozen": "NodeFrozen", "instance_status_updated": "InstanceStatusUpdated", "all": "",
	} {
		if kind, ok := event.KindNamed(word); kind != want || !ok {
			t.Errorf("%s: %q, %t", word, kind, ok)
		}
	}
	if kind, ok := event.KindNamed("nosuch"); ok {
		t.Errorf("nosuch is %q", kind)
	}
}
