package instance

import (
	"fmt"
	"slices"
)

// Action names what may be asked of an instance.
type Action string

// The actions.
const (
	Boot         Action = "boot"
	Start        Action = "start"
	StartStandby Action = "startstandby"
	Stop         Action = "stop"
	Shutdown     Action = "shutdown"
	Restart      Action = "restart"
	Provision    Action = "provision"
	Unprovision  Action = "unprovision"
	Purge        Action = "purge"
	Run          Action = "run"
	Freeze       Action = "freeze"
	Unfreeze     Action = "unfreeze"
	Clear        Action = "clear"
	Delete       Action = "delete"
	Info         Action = "info"
	Install      Action = "install"
)

// traits are what the frame of an action depends on.
type traits struct {
	progress, failed string // states of the monitor while it runs, and when it fails
	descending       bool   // walks the resources in reverse order
	walks            bool   // acts on resources
	selects          bool   // may be restricted to some resources
	locks            bool
	rollback         bool
	provisions       bool
}

// needsCluster reports whether the action is refused while the configuration of
// the cluster cannot be read. What starts, makes or destroys nothing is not: to
// look at what runs, and to stop it, must always be possible.
func (a Action) needsCluster() bool {
	switch a {
	case Stop, Shutdown, Freeze, Unfreeze, Clear, Info, "status":
		return false
	case Boot, Start, StartStandby, Restart, Provision, Unprovision, Purge, Run, Delete, Install:
	}
	return true
}

// idle is the state of the monitor once an action is done.
const idle = "idle"

// traits returns what is particular to the action; false for an unknown one.
func (a Action) traits() (traits, bool) {
	switch a {
	case Boot:
		return traits{progress: "booting", failed: "boot failed", descending: true, walks: true, selects: true, locks: true}, true
	case Start:
		return traits{progress: "starting", failed: "start failed", walks: true, selects: true, locks: true, rollback: true}, true
	case StartStandby:
		return traits{progress: "starting", failed: "start failed", walks: true, selects: true, locks: true, rollback: true}, true
	case Stop:
		return traits{progress: "stopping", failed: "stop failed", descending: true, walks: true, selects: true, locks: true}, true
	case Shutdown:
		return traits{progress: "shutting", failed: "shutdown failed", descending: true, walks: true, selects: true, locks: true}, true
	case Restart:
		return traits{progress: "starting", failed: "start failed", walks: true, selects: true, locks: true, rollback: true}, true
	case Provision:
		return traits{progress: "provisioning", failed: "provision failed", walks: true, selects: true, locks: true, rollback: true, provisions: true}, true
	case Unprovision:
		return traits{progress: "unprovisioning", failed: "unprovision failed", descending: true, walks: true, selects: true, locks: true, provisions: true}, true
	case Purge:
		return traits{progress: "unprovisioning", failed: "purge failed", descending: true, walks: true, locks: true, provisions: true}, true
	case Run:
		return traits{progress: "running", failed: "idle", walks: true, selects: true, locks: true}, true
	case Delete:
		return traits{progress: "deleting", failed: "delete failed", locks: true}, true
	case Info:
		return traits{selects: true}, true
	case Install:
		return traits{selects: true, locks: true}, true
	case Freeze:
		return traits{progress: "freezing", failed: "freeze failed"}, true
	case Unfreeze:
		return traits{progress: "unfreezing", failed: "unfreeze failed"}, true
	case Clear:
		return traits{}, true
	}
	return traits{}, false
}

// Actions lists every action.
func Actions() []Action {
	return []Action{
		Boot, Start, StartStandby, Stop, Shutdown, Restart, Provision, Unprovision, Purge, Run,
		Freeze, Unfreeze, Clear, Delete, Info, Install,
	}
}

// ParseAction returns the action named s.
func ParseAction(s string) (Action, error) {
	if i := slices.Index(Actions(), Action(s)); i >= 0 {
		return Actions()[i], nil
	}
	return "", fmt.Errorf("unknown instance action %q: use one of %v", s, Actions())
}
