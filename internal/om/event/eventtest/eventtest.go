// Package eventtest has what tests of events share.
package eventtest

import "github.com/holdfast-ops/holdfast/internal/om/event"

// Every is one event of each kind, all empty.
func Every() []event.Event {
	return []event.Event{
		event.ClusterConfigUpdated{},
		event.ClusterStatusUpdated{},
		event.ConfigFileRemoved{},
		event.ConfigFileUpdated{},
		event.DaemonListenerUpdated{},
		event.DaemonStatusUpdated{},
		event.Exec{},
		event.ExecFailed{},
		event.ExecSuccess{},
		event.FileInstalled{},
		event.InstanceConfigDeleted{},
		event.InstanceConfigUpdated{},
		event.InstanceFrozenFileRemoved{},
		event.InstanceFrozenFileUpdated{},
		event.InstanceMonitorAction{},
		event.InstanceMonitorDeleted{},
		event.InstanceMonitorUpdated{},
		event.InstanceStatusDeleted{},
		event.InstanceStatusPost{},
		event.InstanceStatusUpdated{},
		event.InstanceStoppedFileRemoved{},
		event.InstanceStoppedFileUpdated{},
		event.NodeConfigUpdated{},
		event.NodeFrozen{},
		event.NodeFrozenFileRemoved{},
		event.NodeFrozenFileUpdated{},
		event.NodeMonitorUpdated{},
		event.NodeStatsUpdated{},
		event.NodeStatusUpdated{},
		event.ObjectCreated{},
		event.ObjectDeleted{},
		event.ObjectOrchestrationAccepted{},
		event.ObjectOrchestrationEnd{},
		event.ObjectOrchestrationRefused{},
		event.ObjectStatusDeleted{},
		event.ObjectStatusDone{},
		event.ObjectStatusUpdated{},
		event.ProgressInstanceMonitor{},
		event.RunFileRemoved{},
		event.RunFileUpdated{},
		event.SetInstanceMonitor{},
		event.SetInstanceMonitorRefused{},
		event.SetNodeMonitor{},
	}
}
