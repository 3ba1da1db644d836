package orchestrate

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/cluster"
)

// Verb is what an action does.
type Verb string

// The verbs. Those up to [Delete] and [Boot] act on resources, in a child
// process; the others are a matter of a file, done in place.
const (
	Start        Verb = "start"
	StartStandby Verb = "startstandby"
	Stop         Verb = "stop"
	Shutdown     Verb = "shutdown"
	Provision    Verb = "provision"
	Unprovision  Verb = "unprovision"
	Delete       Verb = "delete"
	Boot         Verb = "boot"

	Freeze     Verb = "freeze"
	Unfreeze   Verb = "unfreeze"
	Hold       Verb = "hold"    // flag the instance stopped on purpose
	Release    Verb = "release" // lift that flag
	RecordBoot Verb = "record boot"

	Prepare Verb = "prepare" // run pre_monitor_action
	Reboot  Verb = "reboot"  // the node, at once
	Crash   Verb = "crash"   // the node, at once

	Fence Verb = "fence" // a lost node, see [Action.Node]
)

// Forks reports whether a verb acts on resources, in a child process. Such an action,
// and one that sets a flag, is followed by an evaluation of the status; see
// [Verb.Evaluates].
func (v Verb) Forks() bool {
	switch v {
	case Start, StartStandby, Stop, Shutdown, Provision, Unprovision, Delete, Boot:
		return true
	case Freeze, Unfreeze, Hold, Release, RecordBoot, Prepare, Reboot, Crash, Fence, Drain, FreezeInstances:
	}
	return false
}

// Evaluates reports whether the status is evaluated after an action, before its end
// is taken account of; failed: whether it failed. What a deletion leaves is looked
// for on disk instead.
func (v Verb) Evaluates(failed bool) bool {
	switch v {
	case Freeze, Unfreeze, Hold, Release:
		return !failed
	case Start, StartStandby, Stop, Shutdown, Provision, Unprovision, Boot:
		return true
	case Delete, RecordBoot, Prepare, Reboot, Crash, Fence, Drain, FreezeInstances:
	}
	return false
}

// Gone is what the removal of the configuration means for the goal of a monitor:
// how it ended and why, nothing when there was none.
func Gone(m cluster.InstanceMonitor) (how, why string) {
	switch {
	case m.OrchestrationID == "":
		return "", ""
	case m.GlobalExpect == Deleted || m.GlobalExpect == Purged:
		return Succeeded, ""
	}
	return Failed, "the configuration of the object was removed meanwhile"
}

// Action is something to do to the local instance.
type Action struct {
	Verb   Verb
	RID    []string // some resources only
	Leader bool     // act on the shared resources too
	Force  bool
	Node   string // to fence
}

// String returns the action as a person would say it.
func (a Action) String() string {
	s := string(a.Verb)
	if len(a.RID) > 0 {
		s += " " + strings.Join(a.RID, ",")
	}
	if a.Node != "" {
		s += " " + a.Node
	}
	if a.Leader {
		s += " as leader"
	}
	if a.Force {
		s += " by force"
	}
	return s
}

// states of the monitor while a verb runs, and after it. A verb without states
// leaves that of the monitor alone.
func (v Verb) states() (acting, done, failed string) {
	switch v {
	case Start, StartStandby:
		return StateStarting, StateStarted, StateStartFailed
	case Stop:
		return StateStopping, StateStopped, StateStopFailed
	case Shutdown:
		return StateShutting, StateShutdown, StateShutdownFailed
	case Provision:
		return StateProvisioning, StateProvisioned, StateProvisionFailed
	case Unprovision:
		return StateUnprovisioning, StateUnprovisioned, StateUnprovisionFailed
	case Delete:
		return StateDeleting, StateDeleted, StateDeleteFailed
	case Boot:
		return StateBooting, StateBooted, StateBootFailed
	case Freeze, Unfreeze, Hold, Release, RecordBoot, Prepare, Reboot, Crash, Fence, Drain, FreezeInstances:
	}
	return "", "", ""
}

// How an orchestration ends.
const (
	Succeeded = "succeeded"
	Failed    = "failed"
	GivenUp   = "aborted"
)

// Decision is what to do next about the local instance.
type Decision struct {
	// Monitor replaces that of the local instance.
	Monitor cluster.InstanceMonitor
	// Memory and Job replace those of the world.
	Memory Memory
	Job    *Job
	// Action is to be done now; nothing when its verb is empty. It is in Job too.
	Action Action
	// Ended is how the orchestration ended with this decision, empty when it did not.
	Ended string
	// Why it ended so.
	Why string
	// Evict is the monitor action that starts with this decision, if one does.
	Evict Eviction
	// WakeAt is when to decide again if nothing happens; zero for never.
	WakeAt time.Time
	// Because says why, the weightiest last.
	Because []Reason
}

// Reason says why a decision is what it is. The ID is stable and meant for
// programs, the text for people.
type Reason struct {
	ID   string `json:"id"`
	Text string `json:"text"`
}

// String returns the id and the text.
func (r Reason) String() string { return r.ID + ": " + r.Text }

// decider is a decision in the making.
type decider struct {
	World
	d      Decision
	me     Node
	asking bool // a goal is being accepted: what is not known yet is given the benefit of the doubt
}

// because adds a reason.
func (d *decider) because(id, format string, a ...any) {
	d.d.Because = append(d.d.Because, Reason{ID: id, Text: fmt.Sprintf(format, a...)})
}

func (d *decider) state() string { return d.d.Monitor.State }

// become sets the state of the monitor.
func (d *decider) become(state string) {
	if d.d.Monitor.State != state {
		d.d.Monitor.State, d.d.Monitor.StateUpdatedAt = state, d.Now
	}
}

// expect sets what is wanted of the local instance.
func (d *decider) expect(local string) {
	if d.d.Monitor.LocalExpect != local {
		d.d.Monitor.LocalExpect, d.d.Monitor.LocalExpectUpdatedAt = local, d.Now
	}
}

// act decides an action. It does nothing when one is decided already.
func (d *decider) act(a Action) {
	if d.d.Action.Verb != "" {
		return
	}
	if acting, _, _ := a.Verb.states(); acting != "" {
		d.become(acting)
	}
	d.d.Action = a
	d.d.Job = &Job{Action: a, State: JobRunning, OrchestrationID: d.d.Monitor.OrchestrationID}
}

// wake asks to decide again at that time, unless sooner is asked already.
func (d *decider) wake(at time.Time) {
	if d.d.WakeAt.IsZero() || at.Before(d.d.WakeAt) {
		d.d.WakeAt = at
	}
}

// peers lists the other nodes in scope, sorted.
func (d *decider) peers() []string {
	var names []string
	for name := range d.Nodes {
		if name != d.Self {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
