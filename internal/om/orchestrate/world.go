// Package orchestrate decides what one node should do about one object.
//
// [Decide] is a function of a [World] and nothing else: no clock, no input or
// output, no randomness, no map order. Its [Decision] is the next state of the
// monitor of the local instance, at most one action, when to decide again if
// nothing happens, and why. The outcome of an action comes back in a later
// world, as what is observed.
//
//	World --> Decide --> Decision --> (the shell acts) --> World ...
//
// Which step a goal takes from a state is data, see transitions.go. Each goal
// has a file with its steps; ha.go has what is done without being asked.
package orchestrate

import (
	"fmt"
	"strings"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// World is what a node knows when it decides about its instance of an object.
type World struct {
	Now         time.Time
	Self        string
	Path        object.Path
	Config      cluster.InstanceConfig
	ReadyPeriod time.Duration
	Quorum      bool // the node may act for the cluster
	// Nodes are those in the scope of the object, Self included.
	Nodes map[string]Node
	// Parents and Children are the availability of the related objects.
	Parents, Children map[string]cluster.Status
	// Affinities say where the objects run that this one wants, or does not want,
	// the company of.
	Affinities []Affinity
	// Rejoin: the node has just come back and does not know its peers yet, nothing
	// is orchestrated.
	Rejoin bool
	// Votes is the count Quorum follows from, for the reasons; zero when there is none.
	Votes Tally
	// Fence are the peers that were lost while their instance was up, and how far
	// their fencing is. Nothing is started in their stead before.
	Fence map[string]FenceState
	Local Local
}

// Tally is a count of votes.
type Tally struct{ Have, Total int }

// words are the votes in brackets; empty when they were not counted.
func (t Tally) words() string {
	if t.Total == 0 {
		return ""
	}
	return fmt.Sprintf(" (%d votes of %d)", t.Have, t.Total)
}

// FenceState tells how far the fencing of a node is.
type FenceState int

// The states of a fencing. A node that needs none has [FenceNone].
const (
	FenceNone       FenceState = iota
	FenceDue                   // to be done by the node that is to take over
	FenceRunning               // its command runs
	FenceFailed                // it failed, and is due again later
	FenceDone                  // the node is known to be off
	FenceOverridden            // an operator said that it is off
)

// Blocks reports whether nothing may be started in the stead of the node.
func (f FenceState) Blocks() bool {
	return f == FenceDue || f == FenceRunning || f == FenceFailed
}

// String is the state in words.
func (f FenceState) String() string {
	switch f {
	case FenceDue:
		return "due"
	case FenceRunning:
		return "running"
	case FenceFailed:
		return "failed"
	case FenceDone:
		return "done"
	case FenceOverridden:
		return "overridden"
	case FenceNone:
	}
	return "none"
}

// Affinity is an object this one wants the company of, or does not.
type Affinity struct {
	Object string // as written
	Hard   bool   // a must, not a wish
	Anti   bool   // not on the same node
	// Up are the nodes where the object is up, or about to be.
	Up map[string]bool
}

// Node is a node in the scope of the object, and its instance as last told.
type Node struct {
	State  string // of the node monitor; empty when the node is not heard
	Frozen bool
	Drp    bool // it is for disasters, the daemon starts nothing there by itself
	// Heard: the node was heard since our start, at least once. Stale: it was, and
	// is not any more. Both false: nothing is known of it.
	Heard, Stale bool
	// Untold: it beats, and has not told all of its state since it does.
	Untold bool
	// Overloaded: the node starts nothing by itself.
	Overloaded bool
	// HeardBy are the nodes that are heard here and that hear the node themselves.
	HeardBy []string
	// Unacked: the node has not taken note of the present monitor of the local
	// instance yet.
	Unacked bool
	// Preserved: the node said that its daemon ends on purpose, and that its
	// instances go on; nobody takes them over.
	Preserved bool
	Load15M   float64
	Score     uint64
	Status    *cluster.InstanceStatus
	Monitor   *cluster.InstanceMonitor
}

// Local is what only the local daemon knows.
type Local struct {
	// Evaluating: a status evaluation is due or running, what is known of the
	// status is about to change.
	Evaluating bool
	// Job is the last action decided here, until its end was taken account of.
	Job *Job
	// Lock is the action of the process holding the action lock of the
	// instance, when that process is not the job: a command typed by hand, or an
	// action started before the daemon was.
	Lock string
	// BootID is that of the running kernel, LastBootID the one of the last boot
	// action of the instance: empty when there was none.
	BootID, LastBootID string
	// LeftAt is when a former daemon of this node was last alive, zero when that is
	// not known.
	LeftAt time.Time
	Memory Memory
}

// Memory is what a decision leaves to the next one beside the monitor, and that
// nobody else needs to see.
type Memory struct {
	// Autostart: the node has booted and the instance was not started since.
	Autostart bool
	// Booted: the boot was dealt with since the daemon started, and Recorded:
	// noted.
	Booted, Recorded bool
	// WellSince is since when the resources that may be restarted are seen well.
	WellSince map[string]time.Time
	// Resume: something of an ha instance was up when the daemon started, the
	// watch a former daemon kept over it is to go on.
	Resume bool
	// Failure is why the last action failed, empty when it did not.
	Failure string
	// RetryAt is when to write again a flag that could not be.
	RetryAt time.Time
	// Eviction is the monitor action under way.
	Eviction Eviction
	// Lost are the peers that are not heard, or whose flags were not looked at since
	// they are heard again, and since when. Nil before the first decision.
	Lost map[string]time.Time
	// Missed is what was asked of the others while this node was not heard.
	Missed Missed
}

// Missed are the flags that goals set or lifted, that this node was not told of.
type Missed struct {
	Hold, Freeze, Unfreeze bool
	Lift                   time.Time // when the flag of a stop was lifted
}

// Eviction is a monitor action under way.
type Eviction struct {
	RID      string   // the resource that failed for good
	Pending  []string // the monitor actions to try, the first one being tried
	Prepared bool     // pre_monitor_action was run
	Frozen   bool     // freezestop: the freeze was asked for
	Fired    bool     // reboot, crash: the node was asked to go down
}

// Job is an action decided here.
type Job struct {
	Action Action
	State  JobState
	Reason string // why it failed
	// OrchestrationID is that of the goal it was decided for.
	OrchestrationID string
}

// JobState tells how far a job is.
type JobState int

// The states of a job.
const (
	JobRunning JobState = iota
	JobSucceeded
	JobFailed
)

func (w World) self() Node { return w.Nodes[w.Self] }

// frozen reports whether the instance is left to its operator.
func (n Node) frozen() bool {
	return n.Frozen || n.Status != nil && !n.Status.FrozenAt.IsZero()
}

// held reports whether the instance was stopped on purpose.
func (n Node) held() bool { return n.Status != nil && !n.Status.StoppedAt.IsZero() }

func (n Node) avail() cluster.Status {
	if n.Status == nil {
		return cluster.Undef
	}
	return n.Status.Avail.Plain()
}

// blind reports whether the instance has resources to start and stop, and none
// that tells whether it runs: only the end of an action tells where it is.
func (n Node) blind() bool {
	if n.avail() != cluster.NotApplicable {
		return false
	}
	for rid, r := range n.Status.Resources {
		if acts(rid, r) {
			return true
		}
	}
	return false
}

// acts reports whether a start and a stop of the instance act on a resource.
func acts(rid string, r cluster.ResourceStatus) bool {
	group, _, _ := strings.Cut(rid, "#")
	return group != "sync" && group != "task" && !r.Disable
}

func (n Node) provisioned() cluster.Provisioned {
	if n.Status == nil {
		return cluster.ProvisionedUndef
	}
	return n.Status.Provisioned
}

// object is the availability of the object, by the rules of cluster.Aggregate.
func (w World) object() cluster.Object {
	instances := map[string]cluster.Instance{}
	for name, n := range w.Nodes {
		instances[name] = cluster.Instance{Status: n.Status, Monitor: n.Monitor}
	}
	self := instances[w.Self]
	self.Config = &w.Config
	instances[w.Self] = self
	return cluster.Aggregate(w.Path, instances)
}

// heard reports whether the daemon of the node answers.
func (n Node) heard() bool { return n.State != "" }

// active reports whether something of the instance runs, or is about to.
func (n Node) active() bool {
	switch n.avail() {
	case cluster.Up, cluster.Warn:
		return true
	case cluster.Down, cluster.Undef, cluster.NotApplicable, cluster.StandbyUp, cluster.StandbyDown,
		cluster.StandbyUpWithUp, cluster.StandbyUpWithDown:
	}
	return n.Monitor != nil && (n.Monitor.State == StateStarting || n.Monitor.State == StateStarted || n.Monitor.State == StateProvisioning)
}

// isStarted reports whether the object runs as it is wanted.
func (w World) isStarted() bool {
	o := w.object()
	if o.Topology == cluster.TopologyFlex && o.Flex != nil {
		return o.UpInstancesCount >= o.Flex.Target
	}
	return o.Avail == cluster.Up
}

// anyHeld reports whether an instance that can be reached was stopped on purpose.
func (w World) anyHeld() bool {
	for name, n := range w.Nodes {
		if n.held() && (name == w.Self || n.heard()) {
			return true
		}
	}
	return false
}

// after is a time for a new goal: later than that of every goal known, whatever
// the clocks say.
func (w World) after() time.Time {
	at := w.Now
	for _, n := range w.Nodes {
		if n.Monitor != nil && !at.After(n.Monitor.GlobalExpectUpdatedAt) {
			at = n.Monitor.GlobalExpectUpdatedAt.Add(1)
		}
	}
	return at
}

// alone reports whether no other node could act on the object.
func (w World) alone() bool { return len(w.Nodes) <= 1 }
