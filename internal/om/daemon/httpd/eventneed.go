package httpd

import (
	"github.com/holdfast-ops/holdfast/internal/om/event"
	"github.com/holdfast-ops/holdfast/internal/om/rbac"
)

// eventNeed is what reading a kind of event asks.
type eventNeed struct {
	object rbac.Need // in the namespace of the object it is about
	node   rbac.Need // when it is about no object; undeclared: it always is
}

// needOf returns what the reader of a kind of event needs: what the operation does
// that answers the same. A kind that is not here is for root.
func needOf(kind string) eventNeed {
	switch kind {
	case "ClusterConfigUpdated", "ClusterStatusUpdated", "DaemonHeartbeatUpdated", "DaemonListenerUpdated", "DaemonStatusUpdated",
		"ForgetPeer", "HeartbeatAlive", "HeartbeatMessageTypeUpdated", "HeartbeatRotateError", "HeartbeatRotateRequest", "HeartbeatRotateSuccess", "HeartbeatStale", "NodeAlive", "NodeStale",
		"JoinError", "JoinIgnored", "JoinRequest", "JoinSuccess", "LeaveError", "LeaveIgnored", "LeaveRequest", "LeaveSuccess",
		"ArbitratorError", "EnterOverloadPeriod", "LeaveOverloadPeriod", "NodeFence", "NodeRejoin", "NodeSplitAction", "NodeStatusArbitratorsUpdated",
		"NodeConfigUpdated", "NodeFrozen", "NodeFrozenFileRemoved", "NodeFrozenFileUpdated",
		"NodeMonitorUpdated", "NodeStatsUpdated", "NodeStatusUpdated", "SetNodeMonitor":
		return eventNeed{node: rbac.AnyRole} // as the status of the cluster
	case "Exec", "ExecFailed", "ExecSuccess":
		return eventNeed{object: rbac.NeedGuest, node: rbac.NeedRoot} // as the lists of execs
	case "ConfigFileRemoved", "ConfigFileUpdated":
		return eventNeed{object: rbac.NeedGuest, node: rbac.AnyRole} // of the node: node.conf
	case "ConfigFileConflict", "FileInstalled",
		"InstanceConfigDeleted", "InstanceConfigFor", "InstanceConfigUpdated", "InstanceFrozenFileRemoved", "InstanceFrozenFileUpdated",
		"InstanceMonitorAction", "InstanceMonitorDeleted", "InstanceMonitorUpdated",
		"InstanceStatusDeleted", "InstanceStatusPost", "InstanceStatusUpdated",
		"InstanceStoppedFileRemoved", "InstanceStoppedFileUpdated",
		"ObjectCreated", "ObjectDeleted", "ObjectOrchestrationAccepted", "ObjectOrchestrationEnd", "ObjectOrchestrationRefused",
		"ObjectStatusDeleted", "ObjectStatusDone", "ObjectStatusUpdated", "ProgressInstanceMonitor",
		"RunFileRemoved", "RunFileUpdated", "SetInstanceMonitor", "SetInstanceMonitorRefused":
		return eventNeed{object: rbac.NeedGuest}
	case event.Gap{}.Kind():
		return eventNeed{node: rbac.Known}
	}
	return eventNeed{object: rbac.NeedRoot, node: rbac.NeedRoot}
}

// readable selects the events a caller may read. It is called while publishing:
// the rest of the selection is the work of the reader.
func readable(caller rbac.Caller) func(*event.Envelope) bool {
	return func(e *event.Envelope) bool {
		need, namespace := needOf(e.Kind), e.Labels["namespace"]
		if namespace == "" {
			return caller.Allows(need.node, "")
		}
		return caller.Allows(need.object, namespace)
	}
}
