package event

import (
	"strings"

	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// Every kind and its labels: a struct that is not here is not an event.

// Kind implements [Event].
func (ConfigFileUpdated) Kind() string { return "ConfigFileUpdated" }

// Labels implements [Event].
func (e ConfigFileUpdated) Labels() map[string]string { return objectLabels(e.Path, "") }

// Kind implements [Event].
func (ConfigFileRemoved) Kind() string { return "ConfigFileRemoved" }

// Labels implements [Event].
func (e ConfigFileRemoved) Labels() map[string]string { return objectLabels(e.Path, "") }

// Kind implements [Event].
func (InstanceFrozenFileUpdated) Kind() string { return "InstanceFrozenFileUpdated" }

// Labels implements [Event].
func (e InstanceFrozenFileUpdated) Labels() map[string]string { return objectLabels(e.Path, "") }

// Kind implements [Event].
func (InstanceFrozenFileRemoved) Kind() string { return "InstanceFrozenFileRemoved" }

// Labels implements [Event].
func (e InstanceFrozenFileRemoved) Labels() map[string]string { return objectLabels(e.Path, "") }

// Kind implements [Event].
func (InstanceStoppedFileUpdated) Kind() string { return "InstanceStoppedFileUpdated" }

// Labels implements [Event].
func (e InstanceStoppedFileUpdated) Labels() map[string]string { return objectLabels(e.Path, "") }

// Kind implements [Event].
func (InstanceStoppedFileRemoved) Kind() string { return "InstanceStoppedFileRemoved" }

// Labels implements [Event].
func (e InstanceStoppedFileRemoved) Labels() map[string]string { return objectLabels(e.Path, "") }

// Kind implements [Event].
func (RunFileUpdated) Kind() string { return "RunFileUpdated" }

// Labels implements [Event].
func (e RunFileUpdated) Labels() map[string]string { return objectLabels(e.Path, "") }

// Kind implements [Event].
func (RunFileRemoved) Kind() string { return "RunFileRemoved" }

// Labels implements [Event].
func (e RunFileRemoved) Labels() map[string]string { return objectLabels(e.Path, "") }

// Kind implements [Event].
func (FileInstalled) Kind() string { return "FileInstalled" }

// Labels implements [Event].
func (e FileInstalled) Labels() map[string]string {
	l := objectLabels(e.Path, e.Node)
	l["rid"] = e.RID
	return l
}

// Kind implements [Event].
func (ObjectStatusDone) Kind() string { return "ObjectStatusDone" }

// Labels implements [Event].
func (e ObjectStatusDone) Labels() map[string]string { return objectLabels(e.Path, "") }

// Kind implements [Event].
func (InstanceConfigUpdated) Kind() string { return "InstanceConfigUpdated" }

// Labels implements [Event].
func (e InstanceConfigUpdated) Labels() map[string]string { return objectLabels(e.Path, e.Node) }

// Kind implements [Event].
func (InstanceConfigDeleted) Kind() string { return "InstanceConfigDeleted" }

// Labels implements [Event].
func (e InstanceConfigDeleted) Labels() map[string]string { return objectLabels(e.Path, e.Node) }

// Kind implements [Event].
func (InstanceStatusUpdated) Kind() string { return "InstanceStatusUpdated" }

// Labels implements [Event].
func (e InstanceStatusUpdated) Labels() map[string]string { return objectLabels(e.Path, e.Node) }

// Kind implements [Event].
func (InstanceStatusDeleted) Kind() string { return "InstanceStatusDeleted" }

// Labels implements [Event].
func (e InstanceStatusDeleted) Labels() map[string]string { return objectLabels(e.Path, e.Node) }

// Kind implements [Event].
func (InstanceStatusPost) Kind() string { return "InstanceStatusPost" }

// Labels implements [Event].
func (e InstanceStatusPost) Labels() map[string]string { return objectLabels(e.Path, e.Node) }

// Kind implements [Event].
func (InstanceMonitorUpdated) Kind() string { return "InstanceMonitorUpdated" }

// Labels implements [Event].
func (e InstanceMonitorUpdated) Labels() map[string]string { return objectLabels(e.Path, e.Node) }

// Kind implements [Event].
func (InstanceMonitorDeleted) Kind() string { return "InstanceMonitorDeleted" }

// Labels implements [Event].
func (e InstanceMonitorDeleted) Labels() map[string]string { return objectLabels(e.Path, e.Node) }

// Kind implements [Event].
func (InstanceMonitorAction) Kind() string { return "InstanceMonitorAction" }

// Labels implements [Event].
func (e InstanceMonitorAction) Labels() map[string]string { return objectLabels(e.Path, e.Node) }

// Kind implements [Event].
func (SetInstanceMonitor) Kind() string { return "SetInstanceMonitor" }

// Labels implements [Event].
func (e SetInstanceMonitor) Labels() map[string]string { return objectLabels(e.Path, e.Node) }

// Kind implements [Event].
func (SetInstanceMonitorRefused) Kind() string { return "SetInstanceMonitorRefused" }

// Labels implements [Event].
func (e SetInstanceMonitorRefused) Labels() map[string]string { return objectLabels(e.Path, e.Node) }

// Kind implements [Event].
func (ProgressInstanceMonitor) Kind() string { return "ProgressInstanceMonitor" }

// Labels implements [Event].
func (e ProgressInstanceMonitor) Labels() map[string]string { return objectLabels(e.Path, e.Node) }

// Kind implements [Event].
func (ObjectCreated) Kind() string { return "ObjectCreated" }

// Labels implements [Event].
func (e ObjectCreated) Labels() map[string]string { return objectLabels(e.Path, e.Node) }

// Kind implements [Event].
func (ObjectDeleted) Kind() string { return "ObjectDeleted" }

// Labels implements [Event].
func (e ObjectDeleted) Labels() map[string]string { return objectLabels(e.Path, e.Node) }

// Kind implements [Event].
func (ObjectStatusUpdated) Kind() string { return "ObjectStatusUpdated" }

// Labels implements [Event].
func (e ObjectStatusUpdated) Labels() map[string]string { return objectLabels(e.Path, e.Node) }

// Kind implements [Event].
func (ObjectStatusDeleted) Kind() string { return "ObjectStatusDeleted" }

// Labels implements [Event].
func (e ObjectStatusDeleted) Labels() map[string]string { return objectLabels(e.Path, e.Node) }

// Kind implements [Event].
func (ObjectOrchestrationAccepted) Kind() string { return "ObjectOrchestrationAccepted" }

// Labels implements [Event].
func (e ObjectOrchestrationAccepted) Labels() map[string]string {
	return orchestrationLabels(e.Path, e.Node, e.ID)
}

// Kind implements [Event].
func (ObjectOrchestrationRefused) Kind() string { return "ObjectOrchestrationRefused" }

// Labels implements [Event].
func (e ObjectOrchestrationRefused) Labels() map[string]string {
	return orchestrationLabels(e.Path, e.Node, e.ID)
}

// Kind implements [Event].
func (ObjectOrchestrationEnd) Kind() string { return "ObjectOrchestrationEnd" }

// Labels implements [Event].
func (e ObjectOrchestrationEnd) Labels() map[string]string {
	return orchestrationLabels(e.Path, e.Node, e.ID)
}

// Kind implements [Event].
func (Exec) Kind() string { return "Exec" }

// Labels implements [Event].
func (e Exec) Labels() map[string]string { return execLabels(e.Path, e.Node, e.Origin, e.SessionID) }

// Kind implements [Event].
func (ExecSuccess) Kind() string { return "ExecSuccess" }

// Labels implements [Event].
func (e ExecSuccess) Labels() map[string]string {
	return execLabels(e.Path, e.Node, e.Origin, e.SessionID)
}

// Kind implements [Event].
func (ExecFailed) Kind() string { return "ExecFailed" }

// Labels implements [Event].
func (e ExecFailed) Labels() map[string]string {
	return execLabels(e.Path, e.Node, e.Origin, e.SessionID)
}

// Kind implements [Event].
func (NodeConfigUpdated) Kind() string { return "NodeConfigUpdated" }

// Labels implements [Event].
func (e NodeConfigUpdated) Labels() map[string]string { return nodeLabels(e.Node) }

// Kind implements [Event].
func (NodeStatusUpdated) Kind() string { return "NodeStatusUpdated" }

// Labels implements [Event].
func (e NodeStatusUpdated) Labels() map[string]string { return nodeLabels(e.Node) }

// Kind implements [Event].
func (NodeMonitorUpdated) Kind() string { return "NodeMonitorUpdated" }

// Labels implements [Event].
func (e NodeMonitorUpdated) Labels() map[string]string { return nodeLabels(e.Node) }

// Kind implements [Event].
func (NodeStatsUpdated) Kind() string { return "NodeStatsUpdated" }

// Labels implements [Event].
func (e NodeStatsUpdated) Labels() map[string]string { return nodeLabels(e.Node) }

// Kind implements [Event].
func (NodeFrozen) Kind() string { return "NodeFrozen" }

// Labels implements [Event].
func (e NodeFrozen) Labels() map[string]string { return nodeLabels(e.Node) }

// Kind implements [Event].
func (SetNodeMonitor) Kind() string { return "SetNodeMonitor" }

// Labels implements [Event].
func (e SetNodeMonitor) Labels() map[string]string { return nodeLabels(e.Node) }

// Kind implements [Event].
func (ClusterConfigUpdated) Kind() string { return "ClusterConfigUpdated" }

// Labels implements [Event].
func (e ClusterConfigUpdated) Labels() map[string]string { return nodeLabels(e.Node) }

// Kind implements [Event].
func (ClusterStatusUpdated) Kind() string { return "ClusterStatusUpdated" }

// Labels implements [Event].
func (e ClusterStatusUpdated) Labels() map[string]string { return nodeLabels(e.Node) }

// Kind implements [Event].
func (DaemonStatusUpdated) Kind() string { return "DaemonStatusUpdated" }

// Labels implements [Event].
func (e DaemonStatusUpdated) Labels() map[string]string { return nodeLabels(e.Node) }

// Kind implements [Event].
func (DaemonListenerUpdated) Kind() string { return "DaemonListenerUpdated" }

// Labels implements [Event].
func (e DaemonListenerUpdated) Labels() map[string]string { return nodeLabels(e.Node) }

// Kind implements [Event].
func (NodeFrozenFileUpdated) Kind() string { return "NodeFrozenFileUpdated" }

// Labels implements [Event].
func (NodeFrozenFileUpdated) Labels() map[string]string { return nil }

// Kind implements [Event].
func (NodeFrozenFileRemoved) Kind() string { return "NodeFrozenFileRemoved" }

// Labels implements [Event].
func (NodeFrozenFileRemoved) Labels() map[string]string { return nil }

// Kind implements [Event].
func (NodeAlive) Kind() string { return "NodeAlive" }

// Labels implements [Event].
func (e NodeAlive) Labels() map[string]string { return nodeLabels(e.Node) }

// Kind implements [Event].
func (NodeStale) Kind() string { return "NodeStale" }

// Labels implements [Event].
func (e NodeStale) Labels() map[string]string { return nodeLabels(e.Node) }

// Kind implements [Event].
func (ForgetPeer) Kind() string { return "ForgetPeer" }

// Labels implements [Event].
func (e ForgetPeer) Labels() map[string]string { return nodeLabels(e.Node) }

// Kind implements [Event].
func (HeartbeatAlive) Kind() string { return "HeartbeatAlive" }

// Labels implements [Event].
func (e HeartbeatAlive) Labels() map[string]string { return heartbeatLabels(e.Node, e.HeartbeatID) }

// Kind implements [Event].
func (HeartbeatStale) Kind() string { return "HeartbeatStale" }

// Labels implements [Event].
func (e HeartbeatStale) Labels() map[string]string { return heartbeatLabels(e.Node, e.HeartbeatID) }

// Kind implements [Event].
func (HeartbeatMessageTypeUpdated) Kind() string { return "HeartbeatMessageTypeUpdated" }

// Labels implements [Event].
func (e HeartbeatMessageTypeUpdated) Labels() map[string]string { return nodeLabels(e.Node) }

// Kind implements [Event].
func (DaemonHeartbeatUpdated) Kind() string { return "DaemonHeartbeatUpdated" }

// Labels implements [Event].
func (e DaemonHeartbeatUpdated) Labels() map[string]string { return nodeLabels(e.Node) }

// Kind implements [Event].
func (HeartbeatRotateError) Kind() string { return "HeartbeatRotateError" }

// Labels implements [Event].
func (e HeartbeatRotateError) Labels() map[string]string { return map[string]string{"id": e.ID} }

// Kind implements [Event].
func (HeartbeatRotateRequest) Kind() string { return "HeartbeatRotateRequest" }

// Labels implements [Event].
func (e HeartbeatRotateRequest) Labels() map[string]string { return map[string]string{"id": e.ID} }

// Kind implements [Event].
func (HeartbeatRotateSuccess) Kind() string { return "HeartbeatRotateSuccess" }

// Labels implements [Event].
func (e HeartbeatRotateSuccess) Labels() map[string]string { return map[string]string{"id": e.ID} }

// Kind implements [Event].
func (Gap) Kind() string { return "resync" }

// Labels implements [Event].
func (Gap) Labels() map[string]string { return nil }

func orchestrationLabels(p object.Path, node, id string) map[string]string {
	l := objectLabels(p, node)
	l["id"] = id
	return l
}

func heartbeatLabels(node, id string) map[string]string {
	return map[string]string{"node": node, "hb": id}
}

func execLabels(p object.Path, node, origin, sid string) map[string]string {
	l := nodeLabels(node)
	if !p.IsZero() {
		l = objectLabels(p, node)
	}
	l["origin"], l["id"] = origin, sid
	return l
}

// KindNamed is the event that a word names: its kind, or the same in lower case
// with underscores; "" for the word all.
func KindNamed(word string) (kind string, known bool) {
	if word == "all" {
		return "", true
	}
	plain := strings.ToLower(strings.ReplaceAll(word, "_", ""))
	for _, k := range Kinds() {
		if strings.ToLower(k) == plain {
			return k, true
		}
	}
	return "", false
}

// Kinds lists the kind of every event, sorted.
func Kinds() []string {
	return []string{
		"ArbitratorError",
		"ClusterConfigUpdated",
		"ClusterStatusUpdated",
		"ConfigFileConflict",
		"ConfigFileRemoved",
		"ConfigFileUpdated",
		"DaemonHeartbeatUpdated",
		"DaemonListenerUpdated",
		"DaemonStatusUpdated",
		"EnterOverloadPeriod",
		"Exec",
		"ExecFailed",
		"ExecSuccess",
		"FileInstalled",
		"ForgetPeer",
		"HeartbeatAlive",
		"HeartbeatMessageTypeUpdated",
		"HeartbeatRotateError",
		"HeartbeatRotateRequest",
		"HeartbeatRotateSuccess",
		"HeartbeatStale",
		"InstanceConfigDeleted",
		"InstanceConfigFor",
		"InstanceConfigUpdated",
		"InstanceFrozenFileRemoved",
		"InstanceFrozenFileUpdated",
		"InstanceMonitorAction",
		"InstanceMonitorDeleted",
		"InstanceMonitorUpdated",
		"InstanceStatusDeleted",
		"InstanceStatusPost",
		"InstanceStatusUpdated",
		"InstanceStoppedFileRemoved",
		"InstanceStoppedFileUpdated",
		"JoinError",
		"JoinIgnored",
		"JoinRequest",
		"JoinSuccess",
		"LeaveError",
		"LeaveIgnored",
		"LeaveOverloadPeriod",
		"LeaveRequest",
		"LeaveSuccess",
		"NodeAlive",
		"NodeConfigUpdated",
		"NodeFence",
		"NodeFrozen",
		"NodeFrozenFileRemoved",
		"NodeFrozenFileUpdated",
		"NodeMonitorUpdated",
		"NodeRejoin",
		"NodeSplitAction",
		"NodeStale",
		"NodeStatsUpdated",
		"NodeStatusArbitratorsUpdated",
		"NodeStatusUpdated",
		"ObjectCreated",
		"ObjectDeleted",
		"ObjectOrchestrationAccepted",
		"ObjectOrchestrationEnd",
		"ObjectOrchestrationRefused",
		"ObjectStatusDeleted",
		"ObjectStatusDone",
		"ObjectStatusUpdated",
		"ProgressInstanceMonitor",
		"RunFileRemoved",
		"RunFileUpdated",
		"SetInstanceMonitor",
		"SetInstanceMonitorRefused",
		"SetNodeMonitor",
	}
}
