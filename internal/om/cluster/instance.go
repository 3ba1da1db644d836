package cluster

import (
	"strings"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// Resource status and configuration, keyed by resource id ("app#1").

// ResourceStatus is the last evaluation of a resource on a node.
type ResourceStatus struct {
	Type        string             `json:"type"` // driver, as "app.simple"
	Label       string             `json:"label"`
	Status      Status             `json:"status"`
	Provisioned ProvisionedAt      `json:"provisioned"`
	Disable     bool               `json:"disable"`
	Encap       bool               `json:"encap"`
	Monitor     bool               `json:"monitor"`
	Optional    bool               `json:"optional"`
	Standby     bool               `json:"standby"`
	Stopped     bool               `json:"stopped,omitempty"` // stopped on purpose, by resource id
	Running     bool               `json:"running,omitempty"`
	Subset      string             `json:"subset"`
	Tags        []string           `json:"tags"`
	Restart     int                `json:"restart,omitempty"` // configured restart budget
	Info        map[string]any     `json:"info"`
	Files       []struct{}         `json:"files"`
	Log         []ResourceLogEntry `json:"log"`
}

// ProvisionedAt is a provisioned state and when it was recorded.
type ProvisionedAt struct {
	State Provisioned `json:"state"`
	Mtime time.Time   `json:"mtime"`
}

// ResourceLogEntry is a remark made while a status was evaluated.
type ResourceLogEntry struct {
	Level   string `json:"level"` // info, warn or error
	Message string `json:"message"`
}

// ResourceConfig is what the monitor needs to know of a resource.
type ResourceConfig struct {
	IsDisabled   bool          `json:"is_disabled"`
	IsMonitored  bool          `json:"is_monitored"`
	IsStandby    bool          `json:"is_standby"`
	Restart      int           `json:"restart"`
	RestartDelay time.Duration `json:"restart_delay"`
}

// InstanceStatus is the last evaluation of an instance.
type InstanceStatus struct {
	Avail         Status                    `json:"avail"`
	Overall       Status                    `json:"overall"`
	Optional      Status                    `json:"optional"`
	Provisioned   Provisioned               `json:"provisioned"`
	FrozenAt      time.Time                 `json:"frozen_at"`  // zero when not frozen
	StoppedAt     time.Time                 `json:"stopped_at"` // zero when not stopped on purpose
	LastStartedAt time.Time                 `json:"last_started_at"`
	UpdatedAt     time.Time                 `json:"updated_at"`
	Csum          string                    `json:"csum"` // checksum of the configuration evaluated
	Encap         map[string]InstanceStatus `json:"encap"`
	Resources     map[string]ResourceStatus `json:"resources"`
	Running       []Running                 `json:"running"`
	IsPreserved   bool                      `json:"is_preserved"`
	Scale         int                       `json:"scale"`
}

// Running is a task execution in progress.
type Running struct {
	Rid       string    `json:"rid"`
	SessionID string    `json:"session_id"`
	Pid       int       `json:"pid"`
	At        time.Time `json:"at"`
}

// Flex are the bounds of a flex object.
type Flex struct {
	Min    int `json:"min"`
	Max    int `json:"max"`
	Target int `json:"target"`
}

// Subset is the configuration of a resource subset.
type Subset struct {
	Parallel bool `json:"parallel"`
}

// InstanceConfig is the evaluated configuration of an object on a node.
type InstanceConfig struct {
	Path             object.Path               `json:"path"`
	Nodename         string                    `json:"nodename"`
	ID               string                    `json:"id"`
	App              string                    `json:"app"`
	Checksum         string                    `json:"checksum"`
	Children         []string                  `json:"children"`
	Parents          []string                  `json:"parents"`
	Drp              bool                      `json:"drp"`
	Env              string                    `json:"env"`
	Disabled         bool                      `json:"disabled,omitempty"`
	Flex             *Flex                     `json:"flex,omitempty"`
	MonitorAction    []string                  `json:"monitor_action"`
	PreMonitorAction string                    `json:"pre_monitor_action"`
	Orchestrate      string                    `json:"orchestrate"`      // no, start or ha
	PlacementPolicy  string                    `json:"placement_policy"` // nodes order, ...
	Topology         string                    `json:"topology"`         // failover or flex
	Priority         int                       `json:"priority"`
	Resources        map[string]ResourceConfig `json:"resources"`
	Schedules        []ScheduleConfig          `json:"schedules"`
	Scope            []string                  `json:"scope"` // nodes and drpnodes, in order
	Stonith          bool                      `json:"stonith"`
	Subsets          map[string]Subset         `json:"subsets"`
	// StonithBestEffort: a fencing that fails does not keep from starting elsewhere.
	StonithBestEffort bool `json:"stonith_best_effort,omitempty"`
	// The objects whose company is wanted, or not, as written.
	HardAffinity     []string  `json:"hard_affinity,omitempty"`
	HardAntiAffinity []string  `json:"hard_anti_affinity,omitempty"`
	SoftAffinity     []string  `json:"soft_affinity,omitempty"`
	SoftAntiAffinity []string  `json:"soft_anti_affinity,omitempty"`
	UpdatedAt        time.Time `json:"updated_at"`
	Issues           []string  `json:"issues,omitempty"` // why the configuration could not be evaluated
}

// InstanceMonitor is what the monitor of a node wants of an instance, and what
// it is doing about it. The words are those of the documentation: State one of
// idle, starting, start failed..., GlobalExpect one of none, started, stopped...
type InstanceMonitor struct {
	State                   string                     `json:"state"`
	StateUpdatedAt          time.Time                  `json:"state_updated_at"`
	GlobalExpect            string                     `json:"global_expect"`
	GlobalExpectUpdatedAt   time.Time                  `json:"global_expect_updated_at"`
	GlobalExpectOptions     map[string]any             `json:"global_expect_options"`
	LocalExpect             string                     `json:"local_expect"`
	LocalExpectUpdatedAt    time.Time                  `json:"local_expect_updated_at"`
	OrchestrationID         string                     `json:"orchestration_id"`
	OrchestrationIsDone     bool                       `json:"orchestration_is_done"`
	OrchestrationFailure    string                     `json:"orchestration_failure,omitempty"` // why the part of this node failed
	Ended                   []OrchestrationEnd         `json:"ended,omitempty"`                 // the last ones, the latest last
	SessionID               string                     `json:"session_id"`
	IsLeader                bool                       `json:"is_leader"`
	IsHALeader              bool                       `json:"is_ha_leader"`
	IsPreserved             bool                       `json:"is_preserved"`
	MonitorActionExecutedAt time.Time                  `json:"monitor_action_executed_at"`
	Resources               map[string]ResourceMonitor `json:"resources"`
	Parents                 map[string]Status          `json:"parents"`
	Children                map[string]Status          `json:"children"`
	UpdatedAt               time.Time                  `json:"updated_at"`
}

// OrchestrationEnd is how an orchestration ended: what one node concluded, the
// others take over.
type OrchestrationEnd struct {
	ID           string    `json:"id"`
	GlobalExpect string    `json:"global_expect"`
	State        string    `json:"state"` // succeeded, failed or aborted
	Reason       string    `json:"reason,omitempty"`
	At           time.Time `json:"at"`
}

// ResourceMonitor counts the restarts of a resource.
type ResourceMonitor struct {
	Restart struct {
		Remaining int       `json:"remaining"`
		LastAt    time.Time `json:"last_at"`
	} `json:"restart"`
}

// Instance is an object on a node. A nil part is not known (yet).
type Instance struct {
	Config  *InstanceConfig  `json:"config,omitempty"`
	Monitor *InstanceMonitor `json:"monitor,omitempty"`
	Status  *InstanceStatus  `json:"status,omitempty"`
}

// MayRun tells whether something of an instance may run where it is, as far as is
// known: what is not known may.
func (i Instance) MayRun() bool {
	if m := i.Monitor; m != nil {
		switch {
		case strings.HasSuffix(m.State, "ing"), m.State == "ready", m.State == "started": // starting, stopping...
			return true
		case m.GlobalExpect != "" && m.GlobalExpect != "none" && !m.OrchestrationIsDone: // what it does next is not told
			return true
		case m.LocalExpect == "started": // it may have restarted something
			return true
		}
	}
	if i.Status == nil {
		return true
	}
	switch i.Status.Avail {
	case Down, StandbyDown, StandbyUp, StandbyUpWithDown, NotApplicable:
		return false
	case Undef, Up, Warn, StandbyUpWithUp:
	}
	return true
}
