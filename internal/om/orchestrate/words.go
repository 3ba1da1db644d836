package orchestrate

import "slices"

// The goals an object may be given, as [cluster.InstanceMonitor.GlobalExpect].
const (
	None          = "none"
	Started       = "started"
	Stopped       = "stopped"
	Restarted     = "restarted"
	Frozen        = "frozen"
	Unfrozen      = "unfrozen"
	Provisioned   = "provisioned"
	Unprovisioned = "unprovisioned"
	Purged        = "purged"
	Deleted       = "deleted"
	PlacedAt      = "placed@" // on the nodes of option destination
	Placed        = "placed"  // where the placement policy says
	Aborted       = "aborted" // gives up the goal in progress, is never pursued
)

// Goals lists the goals that are pursued.
func Goals() []string {
	return []string{Started, Stopped, Restarted, Frozen, Unfrozen, Provisioned, Unprovisioned, Purged, Deleted, PlacedAt, Placed}
}

// What the monitor of a node wants of its own instance, as
// [cluster.InstanceMonitor.LocalExpect]. The others are [None] and [Started].
const (
	Evicted = "evicted" // a monitor action is under way
)

// The states of the monitor of an instance, as [cluster.InstanceMonitor.State].
const (
	StateInit              = "init"
	StateIdle              = "idle"
	StateReady             = "ready"
	StateBooting           = "booting"
	StateBooted            = "booted"
	StateBootFailed        = "boot failed"
	StateShutting          = "shutting"
	StateShutdown          = "shutdown"
	StateShutdownFailed    = "shutdown failed"
	StateStarting          = "starting"
	StateStarted           = "started"
	StateStartFailed       = "start failed"
	StateStopping          = "stopping"
	StateStopped           = "stopped"
	StateStopFailed        = "stop failed"
	StateRestarted         = "restarted"
	StateFreezing          = "freezing"
	StateFrozen            = "frozen"
	StateFreezeFailed      = "freeze failed"
	StateUnfreezing        = "unfreezing"
	StateUnfrozen          = "unfrozen"
	StateUnfreezeFailed    = "unfreeze failed"
	StateProvisioning      = "provisioning"
	StateProvisioned       = "provisioned"
	StateProvisionFailed   = "provision failed"
	StateUnprovisioning    = "unprovisioning"
	StateUnprovisioned     = "unprovisioned"
	StateUnprovisionFailed = "unprovision failed"
	StatePurgeFailed       = "purge failed"
	StateDeleting          = "deleting"
	StateDeleted           = "deleted"
	StateDeleteFailed      = "delete failed"
	StateRunning           = "running"
	StateSyncing           = "syncing"
	StateWaitChildren      = "wait children"
	StateWaitParents       = "wait parents"
	StateWaitLeader        = "wait leader"
	StateWaitNonLeader     = "wait non-leader"
	StateWaitPriors        = "wait priors"
)

// States lists every state.
func States() []string {
	return []string{
		StateInit, StateIdle, StateReady,
		StateBooting, StateBooted, StateBootFailed,
		StateShutting, StateShutdown, StateShutdownFailed,
		StateStarting, StateStarted, StateStartFailed,
		StateStopping, StateStopped, StateStopFailed, StateRestarted,
		StateFreezing, StateFrozen, StateFreezeFailed,
		StateUnfreezing, StateUnfrozen, StateUnfreezeFailed,
		StateProvisioning, StateProvisioned, StateProvisionFailed,
		StateUnprovisioning, StateUnprovisioned, StateUnprovisionFailed, StatePurgeFailed,
		StateDeleting, StateDeleted, StateDeleteFailed,
		StateRunning, StateSyncing,
		StateWaitChildren, StateWaitParents, StateWaitLeader, StateWaitNonLeader, StateWaitPriors,
	}
}

// IsFailure reports whether a state is a failure: final until it is cleared or
// another goal is accepted.
func IsFailure(state string) bool {
	switch state {
	case StateBootFailed, StateShutdownFailed, StateStartFailed, StateStopFailed, StateFreezeFailed, StateUnfreezeFailed,
		StateProvisionFailed, StateUnprovisionFailed, StatePurgeFailed, StateDeleteFailed:
		return true
	}
	return false
}

// IsActing reports whether a state says that an action is under way.
func IsActing(state string) bool {
	switch state {
	case StateBooting, StateShutting, StateStarting, StateStopping, StateFreezing, StateUnfreezing,
		StateProvisioning, StateUnprovisioning, StateDeleting, StateRunning, StateSyncing:
		return true
	}
	return false
}

// IsWaiting reports whether a state says that something is waited for before acting.
func IsWaiting(state string) bool {
	switch state {
	case StateReady, StateWaitChildren, StateWaitParents, StateWaitLeader, StateWaitNonLeader, StateWaitPriors:
		return true
	}
	return false
}

// KnownState reports whether s is a state.
func KnownState(s string) bool { return slices.Contains(States(), s) }
