package event

import (
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// ConfigFileUpdated says that a configuration file was created or changed. The
// zero Path is the configuration of the node.
type ConfigFileUpdated struct {
	Path object.Path `json:"path"`
	File string      `json:"file"`
}

// ConfigFileRemoved says that a configuration file is gone.
type ConfigFileRemoved struct {
	Path object.Path `json:"path"`
	File string      `json:"file"`
}

// InstanceConfigUpdated carries the evaluated configuration of an instance.
type InstanceConfigUpdated struct {
	Path   object.Path            `json:"path"`
	Node   string                 `json:"node"`
	Config cluster.InstanceConfig `json:"instance_config"`
}

// InstanceConfigDeleted says that an instance has no configuration any more.
type InstanceConfigDeleted struct {
	Path object.Path `json:"path"`
	Node string      `json:"node"`
}

// InstanceStatusUpdated carries the status of an instance.
type InstanceStatusUpdated struct {
	Path   object.Path            `json:"path"`
	Node   string                 `json:"node"`
	Status cluster.InstanceStatus `json:"instance_status"`
}

// InstanceStatusDeleted says that an instance is gone.
type InstanceStatusDeleted struct {
	Path       object.Path `json:"path"`
	Node       string      `json:"node"`
	PeerDropAt time.Time   `json:"peer_drop_at"`
}

// InstanceStatusPost carries a status told by a command, before it is merged.
type InstanceStatusPost struct {
	Path   object.Path            `json:"path"`
	Node   string                 `json:"node"`
	Status cluster.InstanceStatus `json:"instance_status"`
}

// InstanceMonitorUpdated carries what the monitor of an instance does and wants.
type InstanceMonitorUpdated struct {
	Path    object.Path             `json:"path"`
	Node    string                  `json:"node"`
	Monitor cluster.InstanceMonitor `json:"instance_monitor"`
}

// InstanceMonitorDeleted says that an instance is not monitored any more; it
// carries the end of the orchestration that led there, if one did.
type InstanceMonitorDeleted struct {
	Path             object.Path             `json:"path"`
	Node             string                  `json:"node"`
	OrchestrationEnd *ObjectOrchestrationEnd `json:"orchestration_end"`
}

// InstanceMonitorAction says that a monitor action is due for a resource.
type InstanceMonitorAction struct {
	Path   object.Path `json:"path"`
	Node   string      `json:"node"`
	Action string      `json:"action"`
	RID    string      `json:"rid"`
}

// InstanceFrozenFileUpdated says that the freeze flag of an instance was set.
type InstanceFrozenFileUpdated struct {
	Path object.Path `json:"path"`
	File string      `json:"file"`
	At   time.Time   `json:"at"`
}

// InstanceFrozenFileRemoved says that the freeze flag of an instance was lifted.
type InstanceFrozenFileRemoved struct {
	Path object.Path `json:"path"`
	File string      `json:"file"`
	At   time.Time   `json:"at"`
}

// InstanceStoppedFileUpdated says that an instance was flagged stopped on purpose.
type InstanceStoppedFileUpdated struct {
	Path object.Path `json:"path"`
	File string      `json:"file"`
	At   time.Time   `json:"at"`
}

// InstanceStoppedFileRemoved says that an instance is not flagged stopped any more.
type InstanceStoppedFileRemoved struct {
	Path object.Path `json:"path"`
	File string      `json:"file"`
	At   time.Time   `json:"at"`
}

// InstanceMonitorUpdate is a change asked of the monitor of an instance; a nil
// member is left as it is.
type InstanceMonitorUpdate struct {
	GlobalExpect        *string        `json:"global_expect,omitempty"`
	GlobalExpectOptions map[string]any `json:"global_expect_options,omitempty"`
	LocalExpect         *string        `json:"local_expect,omitempty"`
	State               *string        `json:"state,omitempty"`
	OrchestrationID     string         `json:"orchestration_id,omitempty"`
}

// SetInstanceMonitor says that a change was asked of the monitor of an instance.
type SetInstanceMonitor struct {
	Path   object.Path           `json:"path"`
	Node   string                `json:"node"`
	Update InstanceMonitorUpdate `json:"instance_monitor_update"`
}

// SetInstanceMonitorRefused says that such a change was refused.
type SetInstanceMonitorRefused struct {
	Path   object.Path           `json:"path"`
	Node   string                `json:"node"`
	Update InstanceMonitorUpdate `json:"instance_monitor_update"`
	Reason string                `json:"reason"`
}

// ProgressInstanceMonitor says that a command announced what it is doing to an
// instance; IsPartial when it acts on a selection of resources only.
type ProgressInstanceMonitor struct {
	Path      object.Path `json:"path"`
	Node      string      `json:"node"`
	State     string      `json:"instance_monitor_state"`
	SessionID string      `json:"session_id"`
	IsPartial bool        `json:"is_partial"`
}

// RunFileUpdated says that an execution of a task or sync resource began.
type RunFileUpdated struct {
	Path object.Path `json:"path"`
	File string      `json:"file"`
	RID  string      `json:"rid"`
	At   time.Time   `json:"at"`
}

// RunFileRemoved says that an execution of a task or sync resource ended.
type RunFileRemoved struct {
	Path object.Path `json:"path"`
	File string      `json:"file"`
	RID  string      `json:"rid"`
	At   time.Time   `json:"at"`
}

// FileInstalled says that a resource laid keys down as files: those whose content
// changed.
type FileInstalled struct {
	Path  object.Path `json:"path"`
	Node  string      `json:"node"`
	RID   string      `json:"rid"`
	Files []string    `json:"files"`
}
